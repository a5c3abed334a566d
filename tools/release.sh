#!/usr/bin/env bash
# Builds what a release consists of, into target/release-files, and tries each piece that can run here.
#
#   tools/release.sh [PIECE]...
#
# Pieces (default: binary static wheel):
#   binary         the program, stripped, for the C library of this system
#   static         the same without any library (musl): needs `rustup target add x86_64-unknown-linux-musl` and musl-gcc
#   wheel          the Python package for this machine
#   wheel-aarch64  the Python package for ARM, cross-built: needs the target aarch64-unknown-linux-gnu and its gcc
#
# Ends with the sizes, and fails, with all pieces built, if the program is larger than BINARY_MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
files=$target/release-files
BINARY_MB=25
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
machine=$(uname -m)

mkdir -p "$files"

# needs PROGRAM WHAT: says how to get what a piece needs.
needs() {
    if ! command -v "$1" >/dev/null; then
        printf 'error: %s is missing: %s\n' "$1" "$2" >&2
        exit 1
    fi
}

# try PROGRAM: a database is made, asked and checked with it.
try() {
    local folder
    folder=$(mktemp -d)
    "$1" --version
    printf '1 2\n2 3\n3 1\n' >"$folder/edges.txt"
    "$1" import "$folder/g" "$folder/edges.txt" --label N --type TO >/dev/null
    local found
    found=$("$1" shell "$folder/g" -c 'MATCH (:N)-[r:TO]->(:N) RETURN count(r) AS n' --format csv | tail -n 1)
    if [[ ${found//\"/} != 3 ]]; then
        printf 'error: %s finds %s relationships, not 3\n' "$1" "$found" >&2
        exit 1
    fi
    "$1" check "$folder/g" >/dev/null
    rm -rf "$folder"
}

# ships FILE: fails if a program or library can be told to fail, as those for tests can.
ships() {
    if grep -qa 'wal::before_sync' "$1"; then
        printf 'error: %s has failpoints: it was compiled for tests\n' "$1" >&2
        exit 1
    fi
}

# pack PROGRAM NAME: an archive of the program with its licence.
pack() {
    local folder=$files/$2
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$1" "$folder/telar"
    strip "$folder/telar"
    ships "$folder/telar"
    cp LICENSE README.md CHANGELOG.md "$folder/"
    try "$folder/telar"
    tar -C "$files" -czf "$files/$2.tar.gz" "$2"
    sizes+=("$2: program $(stat -c %s "$folder/telar") bytes, archive $(stat -c %s "$files/$2.tar.gz") bytes")
    if (($(stat -c %s "$folder/telar") > BINARY_MB * 1000000)); then
        printf 'error: the program of %s is larger than %s MB\n' "$2" "$BINARY_MB" >&2
        too_large=1
    fi
    rm -rf "$folder"
}

tools/page.sh
sizes=()
too_large=0
pieces=("$@")
if ((${#pieces[@]} == 0)); then pieces=(binary static wheel); fi
for piece in "${pieces[@]}"; do
    printf '%s\n' "== $piece"
    case $piece in
    binary)
        cargo build --release --locked -p telar-server
        pack "$target/release/telar" "telar-$version-$machine-linux"
        ;;
    static)
        needs musl-gcc 'install musl-tools'
        triple=$machine-unknown-linux-musl
        CC_x86_64_unknown_linux_musl=musl-gcc CC_aarch64_unknown_linux_musl=musl-gcc \
            cargo build --release --locked -p telar-server --target "$triple"
        pack "$target/$triple/release/telar" "telar-$version-$machine-linux-static"
        ;;
    wheel)
        tools/python.sh --wheel
        cp "$target"/python/wheels/telar-*.whl "$files/"
        ;;
    wheel-aarch64)
        needs aarch64-linux-gnu-gcc 'install gcc-aarch64-linux-gnu'
        maturin=$target/python/venv/bin/maturin
        needs "$maturin" 'run tools/python.sh first, which installs it'
        (cd crates/python && CARGO_TARGET_DIR=$target \
            CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
            CC_aarch64_unknown_linux_gnu=aarch64-linux-gnu-gcc \
            "$maturin" build --quiet --locked --profile release --target aarch64-unknown-linux-gnu --out "$files")
        ;;
    *)
        printf 'error: no piece is called %s: see the head of tools/release.sh\n' "$piece" >&2
        exit 2
        ;;
    esac
done
for wheel in "$files"/*.whl; do
    if [[ ! -e $wheel ]]; then continue; fi
    unpacked=$(mktemp -d)
    python3 -m zipfile -e "$wheel" "$unpacked"
    for library in "$unpacked"/telar/*.so; do ships "$library"; done
    rm -rf "$unpacked"
    sizes+=("$(basename "$wheel"): $(stat -c %s "$wheel") bytes")
done
(cd "$files" && sha256sum -- *.tar.gz *.whl 2>/dev/null >SHA256SUMS || true)
printf '\n'
printf '%s\n' "${sizes[@]}"
exit "$too_large"
