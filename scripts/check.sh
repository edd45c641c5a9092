#!/usr/bin/env bash
# Runs the named checks one after the other, goes on after a failure, and ends with a table of what ran, what did not
# and why, and how long each took. Exits with 1 when a check failed; with STRICT=1 also when one was skipped; with CI set
# when one of NEEDED_IN_CI was.
set -euo pipefail
cd "$(dirname "$0")/.."

# A check that cannot run here exits with this and writes the reason into $CHECK_NOTE.
readonly SKIPPED=77

# What CI must not skip: nobody reads the table of a run that passed. The others need a server that is not ours: that of the
# advisory database, that of the Rust toolchain.
readonly NEEDED_IN_CI=(web browser cassandra)

# What `test` runs while a cluster runs, which is started once for all of them.
readonly ON_CLUSTER=(tests e2e-cassandra)

# Many tests wait for something most of the time: for a row to end, for a node to be back.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

locked=${CI:+--locked}
failures=0
CHECK_NOTE=$(mktemp)
export CHECK_NOTE

main() {
    # Within the cluster this script runs once more, and adds to the table of the first.
    if [[ -n ${CHECK_TABLE:-} ]]; then
        trap 'rm -f "$CHECK_NOTE"' EXIT
        report cassandra "$CHECK_CLUSTER_BEGAN" 0
        run_each "$@"
    else
        CHECK_TABLE=$(mktemp)
        export CHECK_TABLE
        trap 'rm -f "$CHECK_NOTE" "$CHECK_TABLE"' EXIT
        trap 'exit 130' INT TERM
        [[ " $* " != *" test "* ]] || fetch_cassandra
        run_each "$@"
        printf '\n==> summary\n%s\n%10s  total\n' "$(<"$CHECK_TABLE")" "${SECONDS} s"
    fi
    [[ $failures -eq 0 ]]
}

run_each() {
    local check
    for check in "$@"; do
        case $check in
        test) run_tests ;;
        *) run "$check" || true ;;
        esac
    done
}

# shellcheck disable=SC2086  # $locked is one word or none
start() {
    case $1 in
    fmt) cargo fmt --all -- --check ;;
    clippy) cargo clippy $locked --workspace --all-targets -- -D warnings ;;
    build) cargo test $locked --workspace --no-run ;;
    tests) cargo test $locked --workspace --no-fail-fast ;;
    # The end-to-end tests in which a store has something to say, on the other store. In who may do what it has not. Of the
    # whole workspace, though only the server has some: for a single package cargo would compile it anew.
    e2e-cassandra)
        GODWIT_TEST_STORE=cassandra cargo test $locked --workspace --test it -- \
            --skip on_cassandra:: --skip embedded:: --skip groups::rules \
            conversation:: crash:: groups:: idempotency:: resume::
        ;;
    # Every test that needs the cluster has this in its path.
    other-tests) cargo test $locked --workspace --no-fail-fast -- --skip cassandra ;;
    wasm) scripts/wasm.sh $locked ;;
    # Before anything is compiled: the server brings it along.
    web) scripts/web.sh check ;;
    browser) scripts/web.sh browser ;;
    deny) scripts/deny.sh policy ;;
    advisories) scripts/deny.sh advisories ;;
    *) echo "unknown check: $1" && return 2 ;;
    esac
}

# Fetching it is little but waiting, so that is done while the compiler works. If it fails, it is tried again when it is
# needed, and then said why.
# shellcheck disable=SC2086  # $locked is one word or none
fetch_cassandra() {
    cargo build $locked --package godwit-testbed || return 0
    "${CARGO_TARGET_DIR:-target}/debug/godwit-testbed" fetch >/dev/null 2>&1 &
}

# Builds first: a cluster that waits for the compiler only slows it down.
run_tests() {
    local status=0
    run build || return 0
    CHECK_CLUSTER_BEGAN=$(date +%s)
    export CHECK_CLUSTER_BEGAN
    : >"$CHECK_NOTE"
    printf '\n==> cassandra\n'
    "${CARGO_TARGET_DIR:-target}/debug/godwit-testbed" exec --reason "$CHECK_NOTE" -- \
        scripts/check.sh "${ON_CLUSTER[@]}" || status=$?
    if [[ -s $CHECK_NOTE ]]; then
        report cassandra "$CHECK_CLUSTER_BEGAN" "$status"
        run other-tests || true
    elif [[ $status -eq 1 ]]; then
        # The table says which.
        failures=$((failures + 1))
    elif [[ $status -ne 0 ]]; then
        report cassandra "$CHECK_CLUSTER_BEGAN" "$status"
    fi
}

# The status is that of the check.
run() {
    local began status=0
    began=$(date +%s)
    : >"$CHECK_NOTE"
    printf '\n==> %s\n' "$1"
    start "$1" || status=$?
    report "$1" "$began" "$status"
    return "$status"
}

# Whether it is a failure that a check cannot run here.
must_run() {
    [[ ${STRICT:-} == 1 || (-n ${CI:-} && " ${NEEDED_IN_CI[*]} " == *" $1 "*) ]]
}

# Adds a line to the table: the check, when it began, and its exit status.
report() {
    local word note
    case $3 in
    0) word=ok ;;
    "$SKIPPED") word=SKIPPED ;;
    *) word=FAILED ;;
    esac
    if [[ $word == SKIPPED ]] && must_run "$1"; then
        word=FAILED
    fi
    if [[ $word == FAILED ]]; then
        failures=$((failures + 1))
    fi
    note=$(head -n 1 "$CHECK_NOTE")
    [[ $word == ok ]] || printf '==> %s: %s %s\n' "$1" "$word" "$note"
    printf '%10s  %-14s %-7s %s\n' "$(($(date +%s) - $2)) s" "$1" "$word" "$note" >>"$CHECK_TABLE"
}

main "$@"
