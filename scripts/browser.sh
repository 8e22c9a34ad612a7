#!/usr/bin/env bash
# Makes sure that the tests of the page have a browser: Debian's Chromium with
# its driver, installed where this runs as root, and axe-core, which looks for
# what keeps people from using a page. target/browser/paths.env names each, or
# the reason why there is none. It never fails: tests without a browser count
# as skipped, and the reason is printed.
#
# MEMORY_FORGE_BROWSER=off installs and fetches nothing (about 110 MB).
set -uo pipefail
cd "$(dirname "$0")/.." || exit
# shellcheck source=scripts/fetch.sh
. scripts/fetch.sh

# To move this pin: `npm view axe-core@<version> dist.integrity`.
axe_package='axe-core@4.14.0'
axe_sum=sha512-9WTZxEjsZ7b13TH8JPmbV2z8CHbl80/2hm3XPEG4JgNdQLK81IBRXmSxHfMAOkSqQeRxT/0dwNDz2GOm3zzpcQ==

mkdir -p "${CARGO_TARGET_DIR:-target}/browser"
folder="$(cd "${CARGO_TARGET_DIR:-target}/browser" && pwd)"
paths="$(mktemp "$folder/.paths-XXXXXX")"
off=""
[ "${MEMORY_FORGE_BROWSER:-}" != off ] || off="MEMORY_FORGE_BROWSER=off"

if [ -z "$off" ] && ! { command -v chromium && command -v chromedriver; } >/dev/null 2>&1 &&
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing chromium and chromium-driver"
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive timeout 400 apt-get install -y -qq \
        --no-install-recommends chromium chromium-driver fonts-dejavu-core; } >"$folder/log" 2>&1
fi

# told <name> <path, or nothing> <reason>
told() {
    if [ -n "$2" ]; then
        printf '%s=%s\n' "$1" "$2" >>"$paths"
    else
        echo "warning: no $1 here, tests of the page are skipped: $3" >&2
        printf '%s!%s\n' "$1" "$3" >>"$paths"
    fi
}
for name in chromium chromedriver; do
    found=""
    [ -n "$off" ] || found="$(command -v "$name")"
    told "$name" "$found" "${off:-it is not installed; on Debian: apt-get install chromium chromium-driver}"
done

why="$off"
[ -n "$why" ] || command -v npm >/dev/null 2>&1 || why="npm is not installed"
to="$folder/axe-${axe_package##*@}"
if [ -z "$why" ] && [ ! -d "$to" ]; then
    echo "Fetching $axe_package"
    why="$(fetch "$axe_package" "$to" "$axe_sum")"
fi
axe=""
[ -n "$why" ] || axe="$to/axe.min.js"
told axe "$axe" "$why"
mv "$paths" "$folder/paths.env"
exit 0
