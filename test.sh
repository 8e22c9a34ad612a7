#!/usr/bin/env bash
# Every check of this repository, in the order in which they are cheap: format,
# lints, tests. Installs what is missing where it can and says what to install
# where it cannot. Ends with one line: `N passed, N failed, N skipped`.
#
# `./test.sh --quick` leaves out what needs other programs or takes long: real
# clients, browsers and servers, the incidents and the hostile clone.
set -euo pipefail
cd "$(dirname "$0")"

is_quick=no
if [ "${1:-}" = --quick ]; then
    is_quick=yes
    shift
fi

# shellcheck source=scripts/prepare.sh
. scripts/prepare.sh
prepare git:git rg:ripgrep cc:gcc
[ "$is_quick" = yes ] || prepare_optional zsh:zsh fish:fish strace:strace

echo "== cargo fmt --all --check"
cargo fmt --all --check
echo "== cargo clippy --workspace --all-targets -- -D warnings"
cargo clippy --workspace --all-targets -- -D warnings

# Crates of other platforms too, whose licences and build scripts are looked at.
echo "== cargo fetch --locked"
cargo fetch --locked --quiet || echo "Some crates could not be fetched; tests that look at them are skipped"

tests=(--workspace)
if [ "$is_quick" = yes ]; then
    tests+=(--lib --bins --test it --test 'spec_*')
else
    echo "== scripts/clients.sh, scripts/mcp-tools.sh, scripts/browser.sh, scripts/page-tools.sh, scripts/engines.sh"
    ./scripts/clients.sh
    ./scripts/mcp-tools.sh
    ./scripts/browser.sh
    ./scripts/page-tools.sh
    ./scripts/engines.sh
fi

# Property tests draw the same cases on every machine here, so that a change is
# judged by itself; CONTRIBUTING.md says how to look for new ones.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-20261115}"

# Tests of the first program start the second one, which lies beside it.
echo "== cargo build --workspace --bin memory-forge-engines"
cargo build --quiet --workspace --bin memory-forge-engines
export MEMORY_FORGE_WORKER_IS_BUILT=1

echo "== cargo test ${tests[*]}"
log="$(mktemp)"
skips="$(mktemp)"
trap 'rm -f "$log" "$skips"' EXIT
export MEMORY_FORGE_SKIP_LOG="$skips"
status=0
# Without --no-fail-fast the first failing binary would hide the others.
cargo test "${tests[@]}" --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?

# A test that cannot run here returns early after saying why, and cargo counts
# it as passed; those are told and counted as skipped, like ignored ones.
skipped="$(sort -u "$skips" | wc -l)"
if [ "$skipped" -gt 0 ]; then
    printf '\nSkipped here:\n'
    sort -u "$skips" | sed 's/^/  /'
fi
# `test result: ok. 3 passed; 0 failed; 1 ignored; …`, once a test binary.
awk -v early="$skipped" '
    /^test result:/ {
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) passed += $(i - 1)
            if ($i ~ /^failed/) failed += $(i - 1)
            if ($i ~ /^ignored/) skipped += $(i - 1)
        }
    }
    END { printf "\n%d passed, %d failed, %d skipped\n", passed - early, failed, skipped + early }
' "$log"
exit "$status"
