#!/usr/bin/env bash
# Fetches Biome, which formats and lints the page of `view`: one program
# without dependencies, which needs no Node. target/page-tools/paths.env names
# it, or the reason why there is none. It never fails: the test that runs it is
# skipped then.
#
# MEMORY_FORGE_PAGE_TOOLS=off fetches nothing (34 MB, 98 MB unpacked).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/fetch.sh
. scripts/fetch.sh

# To move this pin: `npm view @biomejs/cli-linux-x64@<version> dist.integrity`.
biome_package=@biomejs/cli-linux-x64@2.6.7
biome_sum=sha512-VpHQ33CPNYrlIn0vyDdRS1KUlS3AiM17FiyEE2gwU000NwzyY4MgjzVHEv2KrmMb5D9Ksm3gFkwg+IOx/ULJNQ==

mkdir -p "${CARGO_TARGET_DIR:-target}/page-tools"
folder="$(cd "${CARGO_TARGET_DIR:-target}/page-tools" && pwd)"
paths="$(mktemp "$folder/.paths-XXXXXX")"
why="$(general_reason)"
[ "${MEMORY_FORGE_PAGE_TOOLS:-}" != off ] || why="MEMORY_FORGE_PAGE_TOOLS=off"
to="$folder/biome-${biome_package##*@}"
if [ -z "$why" ] && [ ! -d "$to" ]; then
    echo "Fetching $biome_package"
    why="$(fetch "$biome_package" "$to" "$biome_sum")"
fi
if [ -n "$why" ]; then
    echo "warning: no biome here, the page is not linted: $why" >&2
    printf 'biome!%s\n' "$why" >"$paths"
else
    printf 'biome=%s\n' "$to/biome" >"$paths"
fi
mv "$paths" "$folder/paths.env"
exit 0
