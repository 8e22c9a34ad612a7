#!/usr/bin/env bash
# Publishes a folder of files as a draft release of a tag, with the section of
# the changelog as its text: publish.sh TAG FOLDER
#
# The owner of the release reads the draft and publishes it; package managers
# are served from there by hand (CONTRIBUTING.md, "Releases").
set -euo pipefail
cd "$(dirname "$0")/../.."
tag="${1:?publish.sh TAG FOLDER}"
folder="${2:?publish.sh TAG FOLDER}"

notes="$(mktemp)"
trap 'rm -f "$notes"' EXIT
# From the heading of the version to the next heading of a version.
awk -v heading="## [${tag#v}]" '
    index($0, "## ") == 1 { inside = index($0, heading) == 1; next }
    inside { print }
' CHANGELOG.md >"$notes"
gh release create "$tag" --draft --verify-tag --title "$tag" --notes-file "$notes" "$folder"/*
