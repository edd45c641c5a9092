#!/usr/bin/env bash
# Runs the named checks one after the other, goes on after a failure, and ends with a table of what ran, what did not
# and why, and how long each took. Exits with 1 when a check failed (with STRICT=1: also when one was skipped).
set -euo pipefail
cd "$(dirname "$0")/.."

# A check that cannot run here exits with this and writes the reason into $CHECK_NOTE.
readonly SKIPPED=77

locked=${CI:+--locked}
failures=0
table=""
CHECK_NOTE=$(mktemp)
export CHECK_NOTE
trap 'rm -f "$CHECK_NOTE"' EXIT
trap 'exit 130' INT TERM

main() {
    for check in "$@"; do
        run "$check"
    done
    printf '\n==> summary\n%s%10s  total\n' "$table" "${SECONDS} s"
    [[ $failures -eq 0 ]]
}

# shellcheck disable=SC2086  # $locked is one word or none
start() {
    case $1 in
    fmt) cargo fmt --all -- --check ;;
    clippy) cargo clippy $locked --workspace --all-targets -- -D warnings ;;
    test) cargo test $locked --workspace --no-fail-fast ;;
    wasm) scripts/wasm.sh $locked ;;
    deny) scripts/deny.sh policy ;;
    advisories) scripts/deny.sh advisories ;;
    *) echo "unknown check: $1" && return 2 ;;
    esac
}

run() {
    local began=$SECONDS status=0 word
    : >"$CHECK_NOTE"
    printf '\n==> %s\n' "$1"
    start "$1" || status=$?
    case $status in
    0) word=ok ;;
    "$SKIPPED") word=SKIPPED ;;
    *) word=FAILED ;;
    esac
    if [[ $word == FAILED || ($word == SKIPPED && ${STRICT:-} == 1) ]]; then
        failures=$((failures + 1))
    fi
    [[ $word == ok ]] || printf '==> %s: %s %s\n' "$1" "$word" "$(<"$CHECK_NOTE")"
    table+=$(printf '%10s  %-10s %-7s %s' "$((SECONDS - began)) s" "$1" "$word" "$(<"$CHECK_NOTE")")$'\n'
}

main "$@"
