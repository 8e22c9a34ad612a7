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
cargo build --quiet --release --package memory-forge
forge="$(cd "$target" && pwd)/release/memory-forge"

sample="$(cd "$target" && pwd)/sample"
rm -rf "$sample"
mkdir -p "$sample"
cp -R examples/sample/. "$sample/"

show() {
    printf '\n$ memory-forge'
    printf ' %q' "$@"
    printf '\n'
    "$forge" --root "$sample" "$@"
}

show index
show search "how long do we wait before retrying a webhook" -n 3
show audit

cat <<END

The sample lies in $sample
Try it:  $forge --root $sample search "who may approve a refund"
         $forge --root $sample doctor --fix --dry-run
END
