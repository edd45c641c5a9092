#!/usr/bin/env bash
# Checks and tests the TypeScript client, also against the server that was built for the other tests.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly NODE_MIN=20

skip() {
    echo "$1" >>"${CHECK_NOTE:-/dev/stderr}"
    exit 77
}

command -v npm >/dev/null || skip "Node.js is not installed"
version=$(node --version)
[[ $(cut -d. -f1 <<<"${version#v}") -ge $NODE_MIN ]] || skip "Node.js $version is too old, $NODE_MIN is needed"

cd web
npm ci --prefer-offline --no-audit --no-fund
npm run lint
npm run typecheck
npm test
GODWIT_BIN=$(realpath "${CARGO_TARGET_DIR:-../target}/debug/godwit")
export GODWIT_BIN
npm run test:server
