#!/usr/bin/env bash
# Checks that the protocol crate builds for browsers. Passes its arguments to cargo.
set -euo pipefail
cd "$(dirname "$0")/.."

target=wasm32-unknown-unknown
if ! [[ -d $(rustc --print target-libdir --target $target) ]] && ! rustup target add $target; then
    echo "the standard library for $target could not be downloaded" >>"${CHECK_NOTE:-/dev/stderr}"
    exit 77
fi
cargo check "$@" --package godwit-protocol --target $target
