#!/usr/bin/env bash
# Writes a report as a comment on a pull request, or renews the one that an
# earlier run wrote: comment.sh FILE NUMBER
set -euo pipefail
report="${1:?comment.sh FILE NUMBER}"
number="${2:?comment.sh FILE NUMBER}"
repository="${GITHUB_REPOSITORY:?is not set}"
mark='<!-- memory-forge: report -->'

earlier="$(gh api --paginate "repos/$repository/issues/$number/comments" \
    --jq ".[] | select(.user.type == \"Bot\" and (.body | startswith(\"$mark\"))) | .id" | head -n 1)"
if [ -n "$earlier" ]; then
    gh api --method PATCH "repos/$repository/issues/comments/$earlier" -F "body=@$report" >/dev/null
    echo "Renewed the comment on #$number"
else
    gh api --method POST "repos/$repository/issues/$number/comments" -F "body=@$report" >/dev/null
    echo "Wrote a comment on #$number"
fi
