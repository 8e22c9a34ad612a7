#!/usr/bin/env bash
# Runs the program in a copy of examples/lantern and draws what it prints:
# docs/images/first-hour.svg. The same program draws the same bytes. Give the
# program to run; without one, that of the debug build. With --check it compares
# the drawing with the one that is there and writes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

check=
if [ "${1:-}" = --check ]; then
    check=1
    shift
fi
forge="$(realpath "${1:-${CARGO_TARGET_DIR:-target}/debug/memory-forge}")"
place="$(mktemp -d)"
trap 'rm -rf "$place"' EXIT
mkdir "$place/home"
cp -R examples/lantern "$place/lantern"

# Nothing of this machine is in the picture.
run() {
    (cd "$place/lantern" && env -i PATH="$(dirname "$forge"):/usr/bin:/bin" HOME="$place/home" \
        XDG_STATE_HOME="$place/home/state" NO_COLOR=1 COLUMNS=92 LC_ALL=C.UTF-8 TZ=UTC \
        MEMORY_FORGE_NOW=2026-03-01T09:00:00Z GIT_CONFIG_NOSYSTEM=1 "$@" 2>&1) || true
}
run git init --quiet

# A line `$ …` is typed; of each answer the first lines are shown.
scene() {
    local lines="$1"
    shift
    local word typed='$'
    for word in "$@"; do
        case "$word" in
        *' '*) typed="$typed \"$word\"" ;;
        *) typed="$typed $word" ;;
        esac
    done
    printf '%s\n' "$typed"
    run "$@" | fold -s -w 92 | sed -n "1,${lines}p"
    printf '\n'
}
run memory-forge init --yes >"$place/init"
{
    printf '$ memory-forge init --yes\n'
    grep -E '^(Found|✓)' "$place/init"
    printf '\n'
    # Vectors are complete, so that the answer does not depend on the machine.
    run memory-forge index --quiet --no-readme >/dev/null
    scene 6 memory-forge search 'both sides changed the same file, which one wins' -n 1
    scene 4 memory-forge search 'how do I print a shipping label'
    scene 9 memory-forge audit
} >"$place/screen"

# Columns are 8.4 wide and lines 18 high; every command appears two seconds
# after the one before, with its answer.
awk '
    function escape(text) {
        gsub(/&/, "\\&amp;", text); gsub(/</, "\\&lt;", text); gsub(/>/, "\\&gt;", text)
        return text
    }
    { lines[NR] = $0 }
    END {
        while (NR > 0 && lines[NR] == "") NR--
        height = NR * 18 + 52
        printf "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 820 %d\" role=\"img\" aria-label=\"Memory Forge in a terminal\">\n", height
        print "<style>"
        print "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d5d9e0;white-space:pre}"
        print ".c{fill:#8fd6a0}"
        print "g{opacity:1}"
        print "@media (prefers-reduced-motion:no-preference){g{animation:show .3s both;animation-delay:calc(var(--n)*2s)}}"
        print "@keyframes show{from{opacity:0}}"
        print "</style>"
        printf "<rect width=\"820\" height=\"%d\" rx=\"8\" fill=\"#1b1f27\"/>\n", height
        print "<circle cx=\"20\" cy=\"18\" r=\"5\" fill=\"#e06c60\"/><circle cx=\"38\" cy=\"18\" r=\"5\" fill=\"#e0b45c\"/><circle cx=\"56\" cy=\"18\" r=\"5\" fill=\"#6cba6c\"/>"
        scene = 0
        for (i = 1; i <= NR; i++) {
            if (lines[i] ~ /^\$ /) {
                if (scene) print "</g>"
                printf "<g style=\"--n:%d\">\n", scene++
            }
            if (lines[i] == "") continue
            class = lines[i] ~ /^\$ / ? " class=\"c\"" : ""
            printf "<text x=\"16\" y=\"%d\"%s xml:space=\"preserve\">%s</text>\n", i * 18 + 32, class, escape(lines[i])
        }
        print "</g>"
        print "</svg>"
    }
' "$place/screen" >"$place/first-hour.svg"

if [ -n "$check" ]; then
    diff "$place/first-hour.svg" docs/images/first-hour.svg
else
    cp "$place/first-hour.svg" docs/images/first-hour.svg
fi
