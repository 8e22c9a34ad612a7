#!/usr/bin/env bash
# Runs actionlint over the workflows. Builds a pinned actionlint into
# target/lint, once, which needs Go; its modules are checked against the sums
# that Go's own log has.
#
# MEMORY_FORGE_ACTIONLINT=/path/to/actionlint uses that one instead.
set -euo pipefail
cd "$(dirname "$0")/.."

pin=github.com/rhysd/actionlint/cmd/actionlint@v1.7.12

mkdir -p "${CARGO_TARGET_DIR:-target}/lint"
folder="$(cd "${CARGO_TARGET_DIR:-target}/lint" && pwd)"
actionlint="${MEMORY_FORGE_ACTIONLINT:-$folder/actionlint}"
if [ ! -x "$actionlint" ]; then
    if ! command -v go >/dev/null 2>&1; then
        echo "error: actionlint is built with Go, which is not here" >&2
        exit 1
    fi
    GOBIN="$folder" go install "$pin"
fi
"$actionlint" -color .github/workflows/*.yml
echo "the workflows have no findings"
