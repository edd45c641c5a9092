#!/usr/bin/env bash
# Installs missing tools: distribution packages through apt if run as root (otherwise it prints the command), and the Rust
# toolchain that rust-toolchain.toml names. Returns quickly if nothing is missing.
#
# Without Node.js the server is built without its web client. `setup.sh tests` also installs Java, Maven, Redis and Chromium
# for the tests and the development cluster. Tests that do not need these tools run without them.
set -euo pipefail
cd "$(dirname "$0")/.."

RUSTUP_INIT="${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}/rustup-init.sh"
readonly JAVA_PACKAGE=openjdk-17-jre-headless
# The minimum version for building the web client.
readonly NODE_MIN=18

main() {
    local needed useful=() for_tests=()
    read -ra needed <<<"$(missing_packages)"
    command -v npm >/dev/null || useful+=(nodejs npm)
    [[ ${1:-} != tests ]] || read -ra for_tests <<<"$(missing_test_packages)"
    useful+=("${for_tests[@]}")
    install_packages
    install_rustup
    install_toolchain
}

# Installs the packages in `needed` and `useful` of main.
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

# Prints a message, and exits if a required package is missing.
complain() {
    say "$*"
    [[ ${#needed[@]} -eq 0 ]] || exit 1
}

install_by_apt() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq -o Acquire::Retries=3 update
    local package packages=()
    for package in "${missing[@]}"; do
        case $package in
        # Newer distributions only have a newer Java.
        "$JAVA_PACKAGE") packages+=("$(can_install "$JAVA_PACKAGE" && echo "$JAVA_PACKAGE" || echo default-jre-headless)") ;;
        # Older distributions have a Node.js that is too old.
        nodejs | npm) [[ $(major_version nodejs) -lt $NODE_MIN ]] || packages+=("$package") ;;
        # Ubuntu ships Chromium only as a snap.
        chromium) ! can_install chromium || packages+=(chromium) ;;
        *) packages+=("$package") ;;
        esac
    done
    [[ ${#packages[@]} -gt 0 ]] || return 0
    say "installing ${packages[*]}"
    without_services apt-get -qq -o Acquire::Retries=3 install --yes --no-install-recommends "${packages[@]}" </dev/null
}

can_install() { apt-cache show "$1" >/dev/null 2>&1; }

# The major version of the package that apt would install; 0 if there is none.
major_version() {
    local version
    version=$(apt-cache show "$1" 2>/dev/null | sed -n 's/^Version: \([0-9]*\).*/\1/p' | head -n 1)
    echo "${version:-0}"
}

# Prevents packages from starting their service. Tests start their own Redis on a port of its own.
without_services() {
    local policy=/usr/sbin/policy-rc.d
    if [[ ! -e $policy ]]; then
        # shellcheck disable=SC2064  # $policy is local, so it must be expanded now
        trap "rm -f $policy" EXIT
        printf '#!/bin/sh\nexit 101\n' >$policy
        chmod +x $policy
    fi
    "$@"
}

missing_packages() {
    local packages=()
    can_compile || packages+=(build-essential)
    # cargo-deny needs git to fetch the advisory database.
    command -v git >/dev/null || packages+=(git)
    # Only the installation of rustup needs these two.
    if ! command -v rustup >/dev/null; then
        command -v curl >/dev/null || packages+=(curl)
        [[ -e /etc/ssl/certs/ca-certificates.crt ]] || packages+=(ca-certificates)
    fi
    echo "${packages[*]}"
}

missing_test_packages() {
    local packages=()
    [[ -n ${JAVA_HOME:-} ]] || command -v java >/dev/null || packages+=("$JAVA_PACKAGE")
    command -v mvn >/dev/null || packages+=(maven)
    command -v redis-server >/dev/null || packages+=(redis-server)
    command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
        packages+=(chromium fonts-noto-color-emoji)
    echo "${packages[*]}"
}

# Compiles a program, because a compiler may lack the headers and start files of the C library.
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
    # Otherwise rustup would silently download the toolchain for `cargo --version`.
    export RUSTUP_AUTO_INSTALL=0
    if cargo --version && cargo clippy --version && cargo fmt --version; then
        return
    fi >/dev/null 2>&1
    say "installing the Rust toolchain of rust-toolchain.toml"
    # Without a name, this installs the toolchain of rust-toolchain.toml with its components.
    rustup toolchain install --no-self-update
}

say() { printf 'setup: %s\n' "$*" >&2; }

main "$@"
