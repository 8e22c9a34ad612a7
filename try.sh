#!/usr/bin/env bash
# Builds the program, lays out a small sample workspace and shows an index, a
# search and an audit in it. Everything stays below target/; running it again
# starts afresh.
set -euo pipefail
cd "$(dirname "$0")"

# shellcheck source=scripts/prepare.sh
. scripts/prepare.sh
prepare git:git cc:gcc

target="${CARGO_TARGET_DIR:-target}"
echo "Building (the first time takes a few minutes)"
# Cargo draws its progress on a terminal; elsewhere its hundred lines say little.
quiet=--quiet
[ -t 2 ] && quiet=
# shellcheck disable=SC2086 # empty means no argument
cargo build $quiet --release --package memory-forge
forge="$(cd "$target" && pwd)/release/memory-forge"

sample="$(cd "$target" && pwd)/sample"
rm -rf "$sample"
mkdir -p "$sample"
cp -R examples/sample/. "$sample/"

show() {
    local word
    printf '\n$ memory-forge'
    for word in "$@"; do
        case "$word" in
            *' '*) printf ' "%s"' "$word" ;;
            *) printf ' %s' "$word" ;;
        esac
    done
    printf '\n'
    "$forge" --root "$sample" "$@"
}

show index
show search "how long do we wait before retrying a webhook" -n 3
show audit

cat <<END

The sample lies in $sample
Go on there:
  cd $sample
  alias memory-forge=$forge
  memory-forge search "who may approve a refund"
  memory-forge doctor --fix --dry-run
docs/tutorial.md begins with a project of your own.
END
