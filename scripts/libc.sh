# shellcheck shell=bash
# Sourced by fetch.sh and engines.sh, whose pinned programs need glibc.

# The loader of musl alone says nothing: musl-tools brings it to other systems.
has_musl() {
    case "$(ldd --version 2>&1 || true)" in
        *musl*) return 0 ;;
        *) return 1 ;;
    esac
}
