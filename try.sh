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
# Cargo draws a progress bar on a terminal. Elsewhere every twentieth crate is
# enough to see that it works.
build=(cargo build --profile try --package memory-forge)
if [ -t 2 ]; then
    "${build[@]}"
else
    crates="$(cargo tree --package memory-forge --edges normal,build --prefix none --format '{p}' |
        sort -u | wc -l)"
    "${build[@]}" 2>&1 | awk -v crates="$crates" '
        /^ *Compiling/ {
            if (++done % 20 == 0) { printf "  %d of about %d crates\n", done, crates; fflush() }
            next
        }
        /^ *(Downloaded|Downloading|Updating|Locking|Finished)/ { next }
        { print; fflush() }'
fi
forge="$(cd "$target" && pwd)/try/memory-forge"

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
docs/tutorial.md begins with a project of your own. An index or a graph on a
server needs a second program: cargo build --profile try -p memory-forge-engines
puts it beside this one.
END
