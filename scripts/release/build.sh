#!/usr/bin/env bash
# Builds both programs for a target into FOLDER/TARGET: build.sh TARGET FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
target="${1:?build.sh TARGET FOLDER}"
folder="${2:?build.sh TARGET FOLDER}"

if command -v rustup >/dev/null 2>&1; then
    rustup target add "$target"
fi
case "$target" in
    *-musl)
        if ! command -v musl-gcc >/dev/null 2>&1; then
            sudo apt-get update
            sudo apt-get install --yes --no-install-recommends musl-tools
        fi
        ;;
esac
# Older systems than the one that builds can run the program too.
export MACOSX_DEPLOYMENT_TARGET="${MACOSX_DEPLOYMENT_TARGET:-11.0}"
# The list of crates goes into the program, so that a scanner finds it there.
tools="$PWD/target/tools"
cargo install cargo-auditable --version 0.7.7 --locked --root "$tools"
export PATH="$tools/bin:$PATH"
cargo xtask dist --build "$target" --out "$folder"
