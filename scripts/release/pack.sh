#!/usr/bin/env bash
# Makes everything that a release publishes from built programs, signs it and
# checks it: pack.sh BINARIES FOLDER
#
# MEMORY_FORGE_SIGNING_KEY is the text of a minisign key without a password.
# Without it nothing is signed, and that is reported.
set -euo pipefail
cd "$(dirname "$0")/../.."
binaries="${1:?pack.sh BINARIES FOLDER}"
folder="${2:?pack.sh BINARIES FOLDER}"

arguments=(--binaries "$binaries" --out "$folder")
if [ -n "${MEMORY_FORGE_SIGNING_KEY:-}" ]; then
    arguments+=(--signer scripts/release/sign.sh)
else
    echo "warning: MEMORY_FORGE_SIGNING_KEY is not set, so nothing is signed" >&2
fi
# Artifacts lose the mode on their way.
find "$binaries" -type f -exec chmod 755 {} +
cargo xtask dist "${arguments[@]}"
cargo xtask dist --verify "$folder"
