#!/usr/bin/env bash
# Fails unless a tag such as v1.2.3 is the version of the programs and has a
# section in the changelog: check-version.sh TAG
set -euo pipefail
cd "$(dirname "$0")/../.."
tag="${1:?check-version.sh TAG}"

version="$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)"
if [ "$tag" != "v$version" ]; then
    echo "error: the tag is $tag and the version is $version" >&2
    exit 1
fi
if ! grep -q "^## \[$version\]" CHANGELOG.md; then
    echo "error: CHANGELOG.md has no section [$version]" >&2
    exit 1
fi
echo "$tag is the version, and the changelog knows it"
