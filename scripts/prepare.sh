# shellcheck shell=bash
# Sourced by test.sh and try.sh: makes sure that Rust and a few programs are
# there. As root on a Debian-like system it installs what is missing;
# elsewhere it says what to install and stops.

# prepare <command>:<Debian package>...
prepare() {
    # A fresh shell may not know where rustup put its programs.
    command -v cargo >/dev/null 2>&1 || PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"

    local missing
    missing_of "$@"
    if ! command -v cargo >/dev/null 2>&1 && ! command -v rustup >/dev/null 2>&1; then
        missing+=(rustup)
    fi
    if [ "${#missing[@]}" -gt 0 ]; then
        install_packages "${missing[@]}"
    fi
    install_toolchain
}

# prepare_optional <command>:<Debian package>...: tests skip what is not there.
prepare_optional() {
    local missing
    missing_of "$@"
    if [ "${#missing[@]}" -gt 0 ] && can_install; then
        install_packages "${missing[@]}" || echo "Not installed: ${missing[*]}"
    fi
}

# The packages of commands that are not there, into the caller's `missing`.
missing_of() {
    local pair
    missing=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null 2>&1 || missing+=("${pair##*:}")
    done
}

can_install() {
    command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]
}

install_packages() {
    if ! can_install; then
        echo "error: These are missing: $*" >&2
        echo >&2
        echo "hint: On Debian or Ubuntu: sudo apt-get install libc6-dev $*" >&2
        exit 1
    fi
    echo "Installing $*"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        ca-certificates libc6-dev "$@" >/dev/null
}

# rustup reads rust-toolchain.toml in this directory. Old versions install by
# themselves when cargo is asked for anything, new ones want to be told. A Rust
# that did not come from rustup is taken as it is.
install_toolchain() {
    command -v rustup >/dev/null 2>&1 || return 0
    cargo --version >/dev/null 2>&1 || rustup toolchain install
    cargo fmt --version >/dev/null 2>&1 || rustup component add rustfmt
    cargo clippy --version >/dev/null 2>&1 || rustup component add clippy
}
