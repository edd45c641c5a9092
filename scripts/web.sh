#!/usr/bin/env bash
# Builds and tests the web client.
#
#   build     builds the files that the server embeds
#   check     builds, and runs the linters and the tests that need no server
#   browser   tests in the browser, against the server binary that was built for the other tests
set -euo pipefail
cd "$(dirname "$0")/../web"

# Debian 12 and Ubuntu 24.04 have a version that is sufficient to build; the test tools need a newer one.
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

# Whether Node.js of at least this version is installed. Otherwise sets `reason`.
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

# Reports the reason for the table of checks, and exits as skipped.
skip() {
    echo "$reason" >>"${CHECK_NOTE:-/dev/stderr}"
    exit 77
}

# Not `npm ci`: it refuses a lock file that lacks optional packages for some platform, and registries differ in the packages
# that they list. With --no-save, `npm install` installs the versions of the lock file and does not change the file.
install_packages() {
    [[ node_modules/.package-lock.json -nt package-lock.json ]] ||
        npm install --no-save --prefer-offline --no-audit --no-fund
}

# Whether the build is up to date.
is_built() {
    local built=app/dist/index.html
    [[ -e $built ]] || return 1
    local newer
    newer=$(find app sdk ../docs/openapi.json ../docs/asyncapi.json package-lock.json \
        \( -name node_modules -o -name dist -o -name generated \) -prune -o -type f -newer $built -print -quit)
    [[ -z $newer ]]
}

main "$@"
