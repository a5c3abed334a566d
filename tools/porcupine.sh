#!/usr/bin/env bash
# Checks histories of the cluster's stores with Porcupine, a checker of linearizability in Go: slots, which are written
# once, and values with versions, which leases are.
#
#   tools/porcupine.sh FOLDER
#   tools/porcupine.sh --runs N
#
# FOLDER holds the histories that tests wrote while TELAR_HISTORIES was its path
# (crates/cluster/tests/conformance/histories.rs). --runs makes new ones: N runs of these tests on every store that this
# machine has (TELAR_ETCD, or etcd and postgres on the path). The checker is tools/porcupine; its own tests come first.
# Skipped without Go, or where its module cannot be fetched.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(mkdir -p "${CARGO_TARGET_DIR:-target}" && cd "${CARGO_TARGET_DIR:-target}" && pwd)

skip() {
    printf 'skipped: %s\n' "$1"
    if [[ -n ${TELAR_SKIPPED:-} ]]; then printf '%s\n' "$1" >>"$TELAR_SKIPPED"; fi
    exit 0
}

if (($# == 0)); then
    sed -n '2,/^set /s/^# \?//p' "$0" | head -n -1
    exit 2
fi
command -v go >/dev/null || skip 'Go, for histories of stores'
(cd tools/porcupine && go mod download) || skip 'the module of Porcupine, for histories of stores'
(cd tools/porcupine && go vet . && go test . && go build -o "$target/porcupine" .)

folder=$1
if [[ $folder == --runs ]]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    for ((run = 0; run < ${2:?how many runs}; run++)); do
        TELAR_HISTORIES=$folder cargo test --quiet --locked -p telar-cluster --test conformance linearizable
    done
fi
shopt -s nullglob
histories=("$folder"/*.jsonl)
if ((${#histories[@]} == 0)); then
    printf 'there are no histories in %s\n' "$folder"
    exit 1
fi
"$target/porcupine" "${histories[@]}"
