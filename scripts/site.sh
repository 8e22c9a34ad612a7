#!/usr/bin/env bash
# Builds the documentation's site into target/site. Installs mdbook below
# target/ the first time, which takes a few minutes and needs a registry; the
# site itself is built and checked without a network.
set -euo pipefail
cd "$(dirname "$0")/.."

# The version is also in xtask/src/site.rs, which says so when they differ.
version=0.5.4
tools="${CARGO_TARGET_DIR:-target}/tools"
if ! "$tools/bin/mdbook" --version 2>/dev/null | grep -qF "v$version"; then
    cargo install mdbook --version "$version" --locked --no-default-features --features search --root "$tools"
fi
cargo xtask site
