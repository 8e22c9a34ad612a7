#!/usr/bin/env bash
# Fetches the agent clients that the tests in crates/memory-forge/tests/clients
# run: pinned versions, checked against the sums below, unpacked once into
# target/clients. Writes target/clients/paths.env, which names each client's
# program, or the reason why there is none. It never fails: a client that
# cannot be had is told here, and its tests count as skipped.
#
# MEMORY_FORGE_CLIENTS=off fetches nothing (all of it is about 550 MB, 1.2 GB
# unpacked); MEMORY_FORGE_CLIENTS="claude codex" fetches these alone.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/fetch.sh
. scripts/fetch.sh

# To move a pin: change the version, and take the sum from
# `npm view <package>@<version> dist.integrity`. CONTRIBUTING.md says more.
#
# name | package@version | program inside | integrity
table='
claude|@anthropic-ai/claude-code-linux-x64@2.1.325|claude|sha512-BqZzMvP/zgLLL34S+7OzbG+cyoFp7gwWHU5koVwsyMlTAz+0zZAmbY+UkzvtN2RXxp6AcMenbYIjQJxoXfUY3w==
codex|@openai/codex@0.166.0-linux-x64|vendor/x86_64-unknown-linux-musl/bin/codex|sha512-CxDm3+D1cpbGJeHrdzINoG+3wn9BVncP4qpZaaNYkxe8iPtRJOYyCJnnPoVjWRIBvI9vPKbRoifsMSA5xDaUpw==
opencode|opencode-linux-x64@1.18.33|bin/opencode|sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==
gemini|@google/gemini-cli@0.61.0|bundle/gemini.js|sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==
copilot|@github/copilot-linux-x64@1.0.102|copilot|sha512-eGHPbsP0p2QgfVZCjtbGBFZPBOJQ0DN7xIbBRAo7oG8b1zfLirQIdfI4h8Iy68Dv2cKJGJZg2/EO7W7KpIMJOw==
'

mkdir -p "${CARGO_TARGET_DIR:-target}/clients"
folder="$(cd "${CARGO_TARGET_DIR:-target}/clients" && pwd)"
wanted="${MEMORY_FORGE_CLIENTS:-claude codex opencode gemini copilot}"

absent="$(general_reason)"
[ "$wanted" != off ] || absent="MEMORY_FORGE_CLIENTS=off"
paths="$(mktemp "$folder/.paths-XXXXXX")"
missing=0
while IFS='|' read -r name package program sum; do
    [ -n "$name" ] || continue
    to="$folder/$name-${package##*@}"
    why="$absent"
    if [ -z "$why" ] && [[ " $wanted " != *" $name "* ]]; then
        why="MEMORY_FORGE_CLIENTS does not name it"
    fi
    if [ -z "$why" ] && [ ! -d "$to" ]; then
        echo "Fetching $package"
        why="$(fetch "$package" "$to" "$sum")"
    fi
    if [ -z "$why" ] && [ ! -e "$to/$program" ]; then
        why="$package has no $program"
    fi
    if [ -n "$why" ]; then
        missing=$((missing + 1))
        echo "warning: no $name here, its tests are skipped: $why" >&2
        printf '%s!%s\n' "$name" "$why" >>"$paths"
    else
        printf '%s=%s\n' "$name" "$to/$program" >>"$paths"
    fi
done <<<"$table"
# Gemini CLI is a script, and runs on the Node that npm came with.
if command -v node >/dev/null 2>&1; then
    printf 'node=%s\n' "$(command -v node)" >>"$paths"
fi
mv "$paths" "$folder/paths.env"
[ "$missing" -eq 0 ] || echo "warning: $missing of 5 clients are missing" >&2
exit 0
