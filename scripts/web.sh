#!/usr/bin/env bash
# The web client: `web.sh build` makes what the server brings along, `web.sh check` does that too and tests what needs no
# server, `web.sh browser` tests it against the server that was built for the other tests.
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
        can_build || skip
        install_packages
        npm run lint
        npm run typecheck
        npm test
        is_built || npm run --silent build
        ;;
    browser)
        can_build && has_browser || skip
        install_packages
        GODWIT_BIN=$(realpath "${CARGO_TARGET_DIR:-../target}/debug/godwit")
        export GODWIT_BIN CHROMIUM
        npm run test:server
        npm run test:browser
        ;;
    *) echo "usage: web.sh build|check|browser" >&2 && return 2 ;;
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

has_browser() {
    reason="Chromium is not installed"
    : "${CHROMIUM:=$(command -v chromium || command -v chromium-browser || command -v google-chrome)}"
    [[ -n $CHROMIUM ]]
}

# Says why, for the table of checks.
skip() {
    echo "$reason" >>"${CHECK_NOTE:-/dev/stderr}"
    exit 77
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

main "$@"
