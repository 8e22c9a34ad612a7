#!/usr/bin/env bash
# Signs a file with the key in MEMORY_FORGE_SIGNING_KEY, into FILE.minisig:
# sign.sh FILE
set -euo pipefail
file="${1:?sign.sh FILE}"
: "${MEMORY_FORGE_SIGNING_KEY:?is not set}"

# The key is in a file for as long as minisign reads it, and never in the
# arguments, which every process of the machine can read.
key="$(mktemp)"
trap 'rm -f "$key"' EXIT
chmod 600 "$key"
printf '%s\n' "$MEMORY_FORGE_SIGNING_KEY" >"$key"
minisign -S -W -s "$key" -t "$(basename "$file")" -m "$file"
