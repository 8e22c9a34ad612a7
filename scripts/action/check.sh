#!/usr/bin/env bash
# Runs `audit --ci` and `check` in a folder and writes one report in Markdown,
# whose path is the output `report`. Fails if one of them found something, after
# both have run: check.sh [FOLDER]
set -uo pipefail
cd "${1:-.}" || exit 2

report="$(mktemp "${RUNNER_TEMP:-/tmp}/memory-forge-report-XXXXXX")"
mark='<!-- memory-forge: report -->'
# The reports quote files of the pull request, which its author wrote: a fence
# that is longer than any in the text keeps them text.
status=0
{
    printf '%s\n## Memory Forge\n' "$mark"
    for command in 'audit --ci' 'check'; do
        # shellcheck disable=SC2086  # Two words are meant.
        text="$(memory-forge $command 2>&1)"
        code=$?
        [ "$code" -le "$status" ] || status=$code
        longest="$(printf '%s\n' "$text" | grep -o '`\{3,\}' | awk 'length > n { n = length } END { print n + 0 }')"
        fence="$(printf '%*s' "$((longest > 2 ? longest + 1 : 3))" '' | tr ' ' '`')"
        if [ "$code" -eq 0 ]; then result=passed; else result="failed ($code)"; fi
        printf '\n### `memory-forge %s`: %s\n\n' "$command" "$result"
        # A comment has room for 65,536 characters.
        printf '%stext\n%s\n%s\n' "$fence" "$(printf '%s' "$text" | head -c 25000)" "$fence"
    done
} >"$report"

cat "$report"
if [ -n "${GITHUB_OUTPUT:-}" ]; then
    printf 'report=%s\n' "$report" >>"$GITHUB_OUTPUT"
fi
exit "$status"
