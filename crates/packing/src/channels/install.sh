#!/bin/sh
# Installs @NAME@ @VERSION@ into a folder of yours, without root:
#
#   curl -fsSL @FOLDER@/install.sh | sh
#
# MEMORY_FORGE_INSTALL_DIR   where to put the program (default: ~/.local/bin)
# MEMORY_FORGE_DOWNLOAD_URL  where to get the archive (default: the release)
#
# The checksum of every archive is in this script. An archive with another one
# is not unpacked.
set -eu

main() {
    folder="${MEMORY_FORGE_INSTALL_DIR:-$HOME/.local/bin}"
    from="${MEMORY_FORGE_DOWNLOAD_URL:-@FOLDER@}"
    target="$(detect_target)"
    case "$target" in
@SUMS@
        *) fail "there is no archive for $target; build it with cargo instead" ;;
    esac

    temporary="$(mktemp -d)"
    trap 'rm -rf "$temporary"' EXIT
    trap 'exit 1' HUP INT TERM
    archive="$temporary/archive.tar.gz"
    echo "Fetching @NAME@ @VERSION@ for $target"
    fetch "$from/@NAME@-v@VERSION@-$target.tar.gz" "$archive"
    found="$(sha256 "$archive")"
    [ "$found" = "$sum" ] ||
        fail "the archive has the checksum $found instead of $sum; nothing was installed"

    tar -xzf "$archive" -C "$temporary"
    unpacked="$temporary/@NAME@-v@VERSION@-$target"
    "$unpacked/@NAME@" --version >/dev/null ||
        fail "the program for $target does not start here; nothing was installed"
    mkdir -p "$folder"
    # A name of its own first: a program that is running cannot be overwritten,
    # but its name can be given to another file.
    for file in @FILES@; do
        [ -f "$unpacked/$file" ] || continue
        cp "$unpacked/$file" "$folder/.$file.$$"
        mv -f "$folder/.$file.$$" "$folder/$file"
    done
    echo "Installed $folder/@NAME@"
    case ":$PATH:" in
        *":$folder:"*) ;;
        *) echo "Add $folder to your PATH, so that agent clients find the program" ;;
    esac
}

fail() {
    printf 'error: %s\n' "$1" >&2
    exit 1
}

detect_target() {
    case "$(uname -m)" in
        x86_64 | amd64) processor=x86_64 ;;
        aarch64 | arm64) processor=aarch64 ;;
        *) fail "there is no program for the processor $(uname -m)" ;;
    esac
    case "$(uname -s)" in
        Linux)
            if is_glibc_new_enough "$processor"; then
                echo "$processor-unknown-linux-gnu"
            else
                echo "$processor-unknown-linux-musl"
            fi
            ;;
        Darwin)
            # A shell that is translated from x86 hides the real processor.
            if [ "$(sysctl -n hw.optional.arm64 2>/dev/null || echo 0)" = 1 ]; then
                processor=aarch64
            fi
            echo "$processor-apple-darwin"
            ;;
        *) fail "there is no program for $(uname -s); on Windows use install.ps1" ;;
    esac
}

# The static program is for systems without glibc, or with an older one than the
# other program was linked with.
is_glibc_new_enough() {
    case "$1" in
@GLIBC@
        *) return 1 ;;
    esac
    version="$(getconf GNU_LIBC_VERSION 2>/dev/null)" || return 1
    minor="${version##*.}"
    case "$minor" in
        '' | *[!0-9]*) return 1 ;;
    esac
    [ "$minor" -ge "$needed" ]
}

fetch() {
    if command -v curl >/dev/null 2>&1; then
        curl -fsSL --retry 2 -o "$2" "$1" || fail "cannot fetch $1"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$2" "$1" || fail "cannot fetch $1"
    else
        fail "neither curl nor wget is here"
    fi
}

sha256() {
    if command -v sha256sum >/dev/null 2>&1; then
        sum_line="$(sha256sum "$1")"
    elif command -v shasum >/dev/null 2>&1; then
        sum_line="$(shasum -a 256 "$1")"
    else
        fail "neither sha256sum nor shasum is here, so the archive cannot be checked"
    fi
    echo "${sum_line%% *}"
}

# The last line, so that a script which arrived in part does nothing.
main
