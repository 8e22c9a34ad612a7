#!/usr/bin/env bash
# Every check of this repository, in the order in which they are cheap: format,
# lints, tests. Installs what is missing where it can and says what to install
# where it cannot. Ends with one line: `N passed, N failed, N skipped`.
set -euo pipefail
cd "$(dirname "$0")"

# shellcheck source=scripts/prepare.sh
. scripts/prepare.sh
prepare git:git rg:ripgrep cc:gcc

echo "== cargo fmt --all --check"
cargo fmt --all --check
echo "== cargo clippy --workspace --all-targets -- -D warnings"
cargo clippy --workspace --all-targets -- -D warnings

echo "== cargo test --workspace"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
status=0
# Without --no-fail-fast the first failing binary would hide the others.
cargo test --workspace --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?

# `test result: ok. 3 passed; 0 failed; 1 ignored; …`, once a test binary.
# A test that cannot run here says `skipped:` and counts as passed by cargo;
# ignored ones are what `skipped` counts.
awk '
    /^test result:/ {
        for (i = 2; i <= NF; i++) {
            if ($i ~ /^passed/) passed += $(i - 1)
            if ($i ~ /^failed/) failed += $(i - 1)
            if ($i ~ /^ignored/) skipped += $(i - 1)
        }
    }
    END { printf "\n%d passed, %d failed, %d skipped\n", passed, failed, skipped }
' "$log"
exit "$status"
