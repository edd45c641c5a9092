#!/usr/bin/env bash
# The web client: `web.sh build` makes what the server brings along, `web.sh check` does that too and tests what needs no
# server, `web.sh browser` tests it against the server that was built for the other tests.
set -euo pipefail
cd "$(dirname "$0")/../web"

# That which Debian 12 and Ubuntu 24.04 have is enough to build with; the tools of the tests want a newer one.
readonly NODE_TO_BUILD=18
readonly NODE_TO_TEST=20

main() {
    case ${1:-} in
    build)
        has_node $NODE_TO_BUILD || { echo "the server is built without its web client: $reason" >&2 && return; }
        install_packages
        is_built || npm run --silent build
        ;;
    check)
        has_node $NODE_TO_BUILD || skip
        install_packages
        is_built || npm run --silent build
        has_node $NODE_TO_TEST || skip
        npm run lint
        npm run typecheck
        npm test
        ;;
    browser)
        has_node $NODE_TO_TEST && has_browser || skip
        install_packages
        GODWIT_BIN=$(realpath "${CARGO_TARGET_DIR:-../target}/debug/godwit")
        export GODWIT_BIN CHROMIUM
        npm run test:server
        npm run test:browser
        ;;
    *) echo "usage: web.sh build|check|browser" >&2 && return 2 ;;
    esac
}

# Of this version at least.
has_node() {
    if ! command -v npm >/dev/null; then
        reason="Node.js is not installed"
        return 1
    fi
    local version
    version=$(node --version)
    reason="Node.js $version is too old, $1 is needed"
    [[ $(cut -d. -f1 <<<"${version#v}") -ge $1 ]]
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

# `npm ci` refuses a lock file that lacks the optional packages of some platform, and registries differ in which they have.
# `npm install` would add them to the lock file; with --no-save it installs what the file says and leaves it as it is.
install_packages() {
    [[ node_modules/.package-lock.json -nt package-lock.json ]] ||
        npm install --no-save --prefer-offline --no-audit --no-fund
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
