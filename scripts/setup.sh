#!/usr/bin/env bash
# Installs what is missing and is done in a moment when nothing is: distribution packages through apt when run as
# root (otherwise it prints the command), and the Rust toolchain that rust-toolchain.toml names.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTUP_INIT="${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}/rustup-init.sh"

main() {
    install_packages
    install_rustup
    install_toolchain
}

install_packages() {
    local missing
    read -ra missing <<<"$(missing_packages)"
    [[ ${#missing[@]} -eq 0 ]] && return

    if ! command -v apt-get >/dev/null; then
        fail "please install the equivalents of these Debian packages: ${missing[*]}"
    elif [[ $(id -u) -ne 0 ]]; then
        fail "packages are missing. Please run:

    sudo apt-get update && sudo apt-get install --yes --no-install-recommends ${missing[*]}
"
    fi
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o Acquire::Retries=3 update
    apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends "${missing[@]}" </dev/null
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
fail() { say "$*"; exit 1; }

main
