#!/usr/bin/env bash
# The web client: `web.sh build` makes what the server brings along, `web.sh check` checks and tests it.
set -euo pipefail
cd "$(dirname "$0")/../web"

readonly NODE_MIN=20

main() {
    case ${1:-} in
    build)
        can_build || { echo "the server is built without its web client: $reason" >&2 && return; }
        install_packages
        is_built || npm run --silent build
        ;;
    check)
        can_build || { echo "$reason" >>"${CHECK_NOTE:-/dev/stderr}" && exit 77; }
        install_packages
        check
        ;;
    *) echo "usage: web.sh build|check" >&2 && return 2 ;;
    esac
}

can_build() {
    if ! command -v npm >/dev/null; then
        reason="Node.js is not installed"
        return 1
    fi
    local version
    version=$(node --version)
    reason="Node.js $version is too old, $NODE_MIN is needed"
    [[ $(cut -d. -f1 <<<"${version#v}") -ge $NODE_MIN ]]
}

# Not `npm ci`: it wants the packages of all platforms in the lock file, also where a registry has only some.
install_packages() {
    [[ node_modules/.package-lock.json -nt package-lock.json ]] ||
        npm install --prefer-offline --no-audit --no-fund
}

# Whether nothing has changed since.
is_built() {
    local built=app/dist/index.html
    [[ -e $built ]] || return 1
    local newer
    newer=$(find app sdk ../docs/openapi.json ../docs/asyncapi.json package-lock.json \
        \( -name node_modules -o -name dist -o -name generated \) -prune -o -type f -newer $built -print -quit)
    [[ -z $newer ]]
}

# The server that was built for the other tests is talked to.
check() {
    npm run lint
    npm run typecheck
    npm test
    GODWIT_BIN=$(realpath "${CARGO_TARGET_DIR:-../target}/debug/godwit")
    export GODWIT_BIN
    npm run test:server
}

main "$@"
