#!/usr/bin/env bash
# Checks the dependencies against deny.toml.
#
#   policy       licences, bans and sources; needs only the crates themselves
#   advisories   known vulnerabilities and yanked versions; needs the RustSec database, and exits with 77 (skipped) if it
#                cannot fetch the database
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VERSION=0.20.2
readonly FETCH_TIMEOUT_SECONDS=120
tools=${CARGO_TARGET_DIR:-target}/tools

main() {
    case ${1:-} in
    policy) deny check bans licenses sources ;;
    advisories) check_advisories ;;
    *) echo "usage: $0 policy | advisories" >&2 && exit 2 ;;
    esac
}

check_advisories() {
    install_cargo_deny
    if ! GIT_TERMINAL_PROMPT=0 timeout "$FETCH_TIMEOUT_SECONDS" "$(find_cargo_deny)" fetch db </dev/null; then
        echo "the advisory database cannot be fetched; vulnerabilities and yanked versions NOT checked" \
            >>"${CHECK_NOTE:-/dev/stderr}"
        exit 77
    fi
    deny check advisories
}

deny() {
    install_cargo_deny
    # Inclusion graphs under every duplicate would bury the results. Run `cargo deny check` by hand to see them.
    "$(find_cargo_deny)" ${CI:+--locked} "$@" --hide-inclusion-graph
}

# Accepts an installed cargo-deny only of this version, because another one may interpret deny.toml differently.
find_cargo_deny() {
    local candidate
    for candidate in "$tools/bin/cargo-deny" cargo-deny; do
        if [[ $("$candidate" --version 2>/dev/null) == "cargo-deny $VERSION" ]]; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# cargo-deny runs for seconds but takes minutes to compile, so this builds it without optimisation (about one minute on two
# cores).
install_cargo_deny() {
    find_cargo_deny >/dev/null && return
    echo "building cargo-deny $VERSION into $tools"
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=0 \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install --quiet --locked --no-default-features --root "$tools" --target-dir "$tools/build" \
        "cargo-deny@$VERSION"
    rm -rf "$tools/build"
}

main "$@"
