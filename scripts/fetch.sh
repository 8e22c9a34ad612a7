# shellcheck shell=bash
# Sourced by clients.sh, mcp-tools.sh, browser.sh and page-tools.sh: packages of
# npm, pinned, checked against a sum, and unpacked once. Nothing here fails; what
# cannot be had is told as a reason.

seconds_a_download="${seconds_a_download:-180}"

# shellcheck source=scripts/libc.sh
. scripts/libc.sh

# Why no pinned program can run or be had here, or nothing.
general_reason() {
    if [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ]; then
        echo "the pinned programs are for Linux on x86_64, this is $(uname -s) on $(uname -m)"
    elif has_musl; then
        echo "the pinned programs need glibc"
    elif ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
        echo "npm is not installed"
    fi
}

# The sum of a file, as npm writes it.
integrity() {
    node -e '
        const sum = require("crypto").createHash("sha512")
        require("fs").createReadStream(process.argv[1])
            .on("data", (part) => sum.update(part))
            .on("end", () => console.log("sha512-" + sum.digest("base64")))' "$1"
}

# fetch <package@version> <folder> <integrity>: prints the reason where it fails.
fetch() {
    local package="$1" to="$2" sum="$3" work tarball found
    work="$(mktemp -d "$(dirname "$to")/.fetch-XXXXXX")" || return 1
    if ! timeout "$seconds_a_download" npm pack --loglevel=error --ignore-scripts \
        --pack-destination "$work" "$package" >"$work/log" 2>&1; then
        # The first line is `npm error code …`, and the rest repeats it at length.
        found="$(grep -m 1 'npm error' "$work/log")"
        echo "npm pack $package failed: ${found:-not done after $seconds_a_download seconds}"
        rm -rf "$work"
        return 1
    fi
    tarball="$(find "$work" -name '*.tgz' | head -n 1)"
    found="$(integrity "$tarball")"
    if [ "$found" != "$sum" ]; then
        echo "$package has the sum $found, which is not the pinned one"
        rm -rf "$work"
        return 1
    fi
    # Unpacked beside its place and then moved, so that half of it is never
    # taken for the whole.
    if ! { mkdir "$work/new" && tar -xzf "$tarball" -C "$work/new" --strip-components=1; }; then
        echo "$package cannot be unpacked"
        rm -rf "$work"
        return 1
    fi
    mv -T "$work/new" "$to" 2>/dev/null || [ -d "$to" ]
    rm -rf "$work"
}
