#!/usr/bin/env bash
# Installs the program for the action from the release of its own version, whose
# installer compares the checksum. A program that is on the PATH is used.
set -euo pipefail
root="$(cd "$(dirname "$0")/../.." && pwd)"

if command -v memory-forge >/dev/null 2>&1; then
    echo "Using $(command -v memory-forge)"
    exit 0
fi
version="$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")"
from="${MEMORY_FORGE_DOWNLOAD_URL:-https://github.com/memory-forge/memory-forge/releases/download/v$version}"
folder="${RUNNER_TEMP:-$(mktemp -d)}/memory-forge"
mkdir -p "$folder"
curl -fsSL --retry 2 -o "$folder/install.sh" "$from/install.sh"
MEMORY_FORGE_INSTALL_DIR="$folder/bin" MEMORY_FORGE_DOWNLOAD_URL="$from" sh "$folder/install.sh"
if [ -n "${GITHUB_PATH:-}" ]; then
    printf '%s\n' "$folder/bin" >>"$GITHUB_PATH"
fi
