#!/usr/bin/env bash
# Installs what is missing and is done in a moment when nothing is: distribution packages through apt when run as
# root (otherwise it prints the command), and the Rust toolchain that rust-toolchain.toml names.
#
# `setup.sh cluster` is for tests and the development cluster, which also use Java, Maven and Redis. Without these the
# tests still run, except those on Cassandra.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTUP_INIT="${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}/rustup-init.sh"
readonly JAVA_PACKAGE=openjdk-17-jre-headless

main() {
    local needed useful=()
    read -ra needed <<<"$(missing_packages)"
    [[ ${1:-} != cluster ]] || read -ra useful <<<"$(missing_cluster_packages)"
    install_packages
    install_rustup
    install_toolchain
}

# Of main: what is needed and what is useful.
install_packages() {
    local missing=("${needed[@]}" "${useful[@]}")
    [[ ${#missing[@]} -eq 0 ]] && return

    if ! command -v apt-get >/dev/null; then
        complain "please install the equivalents of these Debian packages: ${missing[*]}"
    elif [[ $(id -u) -ne 0 ]]; then
        complain "packages are missing. Please run:

    sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing[*]}
"
    else
        install_by_apt
    fi
}

# Nothing works without what is needed.
complain() {
    say "$*"
    [[ ${#needed[@]} -eq 0 ]] || exit 1
}

install_by_apt() {
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o Acquire::Retries=3 update
    # Newer distributions have a newer Java only.
    if ! apt-cache show "$JAVA_PACKAGE" >/dev/null 2>&1; then
        missing=("${missing[@]/#$JAVA_PACKAGE/default-jre-headless}")
    fi
    without_services apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends "${missing[@]}" </dev/null
}

# A server's package would start the server; ours is started by whoever needs it, on a port of its own.
without_services() {
    local policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        # shellcheck disable=SC2064  # the name is known now, and not later
        trap "rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    "$@"
}

missing_packages() {
    local packages=()
    can_compile || packages+=(build-essential)
    # Fetches the advisory database.
    command -v git >/dev/null || packages+=(git)
    # Only what follows needs these two, and only when Rust itself is missing.
    if ! command -v rustup >/dev/null; then
        command -v curl >/dev/null || packages+=(curl)
        [[ -e /etc/ssl/certs/ca-certificates.crt ]] || packages+=(ca-certificates)
    fi
    echo "${packages[*]}"
}

missing_cluster_packages() {
    local packages=()
    [[ -n ${JAVA_HOME:-} ]] || command -v java >/dev/null || packages+=("$JAVA_PACKAGE")
    command -v mvn >/dev/null || packages+=(maven)
    command -v redis-server >/dev/null || packages+=(redis-server)
    echo "${packages[*]}"
}

# A compiler without the C library's headers and start files is found only by using it.
can_compile() {
    command -v cc >/dev/null || return 1
    local out status=0
    out=$(mktemp)
    echo '#include <stdlib.h>
int main(void) { return EXIT_SUCCESS; }' | cc -x c - -o "$out" 2>/dev/null || status=1
    rm -f "$out"
    return $status
}

install_rustup() {
    command -v rustup >/dev/null && return
    say "installing rustup into ${CARGO_HOME:-$HOME/.cargo}"
    local script
    script=$(mktemp)
    curl --proto '=https' --tlsv1.2 --fail --silent --show-error --location --retry 3 "$RUSTUP_INIT" --output "$script"
    sh "$script" -y --quiet --no-modify-path --profile minimal --default-toolchain none
    rm -f "$script"
    say "to use cargo outside make: . \"${CARGO_HOME:-$HOME/.cargo}/env\""
}

install_toolchain() {
    # The question must not start a silent download.
    export RUSTUP_AUTO_INSTALL=0
    if cargo --version && cargo clippy --version && cargo fmt --version; then
        return
    fi >/dev/null 2>&1
    say "installing the Rust toolchain of rust-toolchain.toml"
    # Without a name this means "the one this directory asks for", with its components.
    rustup toolchain install --no-self-update
}

say() { printf 'setup: %s\n' "$*" >&2; }

main "$@"
