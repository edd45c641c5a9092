#!/usr/bin/env bash
# Runs the named checks one after the other, continues after a failure, and ends with a table of all checks: the result, the
# duration, and why a check was skipped. Exits with 1 if a check failed. A skipped check counts as failed with STRICT=1, and,
# if CI is set, when NEEDED_IN_CI lists it.
set -euo pipefail
cd "$(dirname "$0")/.."

# A check that cannot run on this machine exits with this status and writes the reason to $CHECK_NOTE.
readonly SKIPPED=77

# Checks that CI must not skip, because nobody reads the table of a run that passed. The other checks depend on servers of
# third parties: the advisory database and the Rust toolchain.
readonly NEEDED_IN_CI=(web browser cassandra)

# The checks that `test` runs on a Cassandra cluster. It starts one cluster for all of them.
readonly ON_CLUSTER=(tests e2e-cassandra)

# Checks that run one after the other beside those on the cluster, which leave much of two processors idle: they wait for
# nodes to start and for rows to expire. Their output follows when they are done.
readonly BESIDE_CLUSTER=(browser deny)

# Many tests mostly wait, for example for a row to expire or a node to restart, so more threads than cores pay off.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(nproc)))}

locked=${CI:+--locked}
beside=
beside_log=$(mktemp)
CHECK_NOTE=$(mktemp)
export CHECK_NOTE

main() {
    # While the cluster runs, this script runs again as a child process and adds to the table of its parent.
    if [[ -n ${CHECK_TABLE:-} ]]; then
        trap 'rm -f "$CHECK_NOTE" "$beside_log"' EXIT
        report cassandra "$CHECK_CLUSTER_BEGAN" 0
        run_each "$@"
    else
        CHECK_TABLE=$(mktemp)
        export CHECK_TABLE
        trap 'stop_beside; rm -f "$CHECK_NOTE" "$CHECK_TABLE" "$beside_log"' EXIT
        trap 'exit 130' INT TERM
        [[ " $* " != *" test "* ]] || fetch_cassandra
        run_each "$@"
        printf '\n==> summary\n%s\n%10s  total\n' "$(<"$CHECK_TABLE")" "${SECONDS} s"
    fi
    ! grep -q "^ *[0-9]* s  [^ ]* *FAILED" "$CHECK_TABLE"
}

run_each() {
    local check
    for check in "$@"; do
        case $check in
        test) run_tests "$@" ;;
        # Has run beside the cluster.
        browser | deny) [[ -n $beside ]] || run "$check" || true ;;
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
    # The end-to-end tests that depend on the store, on Cassandra. Tests of permissions do not depend on it. This names the
    # whole workspace, because cargo would rebuild a single package with other features.
    e2e-cassandra)
        GODWIT_TEST_STORE=cassandra cargo test $locked --workspace --test it -- \
            --skip on_cassandra:: --skip embedded:: --skip groups::rules \
            conversation:: crash:: groups:: idempotency:: resume::
        ;;
    # Every test that needs Cassandra has `cassandra` in its path.
    other-tests) cargo test $locked --workspace --no-fail-fast -- --skip cassandra ;;
    wasm) scripts/wasm.sh $locked ;;
    # Runs before the server is compiled, because the server embeds the web client.
    web) scripts/web.sh check ;;
    browser) scripts/web.sh browser ;;
    deny) scripts/deny.sh policy ;;
    advisories) scripts/deny.sh advisories ;;
    *) echo "unknown check: $1" && return 2 ;;
    esac
}

# Downloads Cassandra in the background while the compiler works. If the download fails, the tests retry it later and then
# report the error.
# shellcheck disable=SC2086  # $locked is one word or none
fetch_cassandra() {
    cargo build $locked --package godwit-testbed || return 0
    "${CARGO_TARGET_DIR:-target}/debug/godwit-testbed" fetch >/dev/null 2>&1 &
}

# Starts those of the named checks that may run beside the cluster.
start_beside() {
    local check checks=()
    for check in "${BESIDE_CLUSTER[@]}"; do
        [[ " $* " != *" $check "* ]] || checks+=("$check")
    done
    [[ ${#checks[@]} -gt 0 ]] || return 0
    printf '\n==> %s: running beside the tests, output follows\n' "${checks[*]}"
    # In a process group of its own, so that all of it can be ended.
    set -m
    (
        trap - EXIT
        CHECK_NOTE=$(mktemp)
        for check in "${checks[@]}"; do
            run "$check" || true
        done
        rm -f "$CHECK_NOTE"
    ) >"$beside_log" 2>&1 </dev/null &
    set +m
    beside=$!
}

wait_beside() {
    [[ -n $beside ]] || return 0
    wait "$beside" || true
    cat "$beside_log"
}

# When this script is interrupted.
stop_beside() {
    [[ -z $beside ]] || kill -- "-$beside" 2>/dev/null || true
}

# Builds before it starts the cluster, which would only slow the compiler down. The arguments are all checks of this run.
run_tests() {
    local status=0
    run build || return 0
    start_beside "$@"
    CHECK_CLUSTER_BEGAN=$(date +%s)
    export CHECK_CLUSTER_BEGAN
    : >"$CHECK_NOTE"
    printf '\n==> cassandra\n'
    "${CARGO_TARGET_DIR:-target}/debug/godwit-testbed" exec --reason "$CHECK_NOTE" -- \
        scripts/check.sh "${ON_CLUSTER[@]}" || status=$?
    if [[ -s $CHECK_NOTE ]]; then
        report cassandra "$CHECK_CLUSTER_BEGAN" "$status"
        run other-tests || true
    # With 1, the child process has added the failed checks to the table.
    elif [[ $status -gt 1 ]]; then
        report cassandra "$CHECK_CLUSTER_BEGAN" "$status"
    fi
    wait_beside
}

# Runs a check, adds it to the table, and returns its exit status.
run() {
    local began status=0
    began=$(date +%s)
    : >"$CHECK_NOTE"
    printf '\n==> %s\n' "$1"
    start "$1" || status=$?
    report "$1" "$began" "$status"
    return "$status"
}

# Whether skipping this check counts as a failure.
must_run() {
    [[ ${STRICT:-} == 1 || (-n ${CI:-} && " ${NEEDED_IN_CI[*]} " == *" $1 "*) ]]
}

# Adds a line to the table. Arguments: the check, its start time, and its exit status.
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
    note=$(head -n 1 "$CHECK_NOTE")
    [[ $word == ok ]] || printf '==> %s: %s %s\n' "$1" "$word" "$note"
    printf '%10s  %-14s %-7s %s\n' "$(($(date +%s) - $2)) s" "$1" "$word" "$note" >>"$CHECK_TABLE"
}

main "$@"
