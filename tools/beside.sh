#!/usr/bin/env bash
# Runs test programs beside each other: many wait more than they compute. The runner of `cargo test`,
# which starts one after the other:
#
#   export TELAR_BESIDE=FOLDER
#   CARGO_TARGET_<TRIPLE>_RUNNER=tools/beside.sh cargo test ...
#   tools/beside.sh --wait
#
# Starts a program as soon as a place is free, and returns; a program's output is shown when it has
# ended. `--wait` waits for all, names those that failed, and fails if one did.
set -euo pipefail

# Each has as many threads as there are processors, but many wait, or have one slow test left.
PLACES=3

folder=${TELAR_BESIDE:?the folder where notes are kept}

if [[ $1 == --wait ]]; then
    for ((place = 0; place < PLACES; place++)); do
        flock "$folder/place$place" true
    done
    if [[ -s $folder/failed ]]; then
        printf '\ntest programs that failed:\n'
        sed 's/^/    /' "$folder/failed"
        exit 1
    fi
    exit 0
fi

# Holds the place of descriptor 9, which the program itself does not get: what it leaves running
# would hold it, too.
run() {
    local output status=0
    output=$(mktemp "$folder/output.XXXXXX")
    "$@" >"$output" 2>&1 9>&- || status=$?
    if ((status != 0)); then printf '%s (exit %d)\n' "$*" "$status" >>"$folder/failed"; fi
    {
        flock 8
        printf '     Ran %s\n' "$*"
        cat "$output"
    } 8>"$folder/shown"
    rm "$output"
}

while true; do
    for ((place = 0; place < PLACES; place++)); do
        exec 9>"$folder/place$place"
        if flock --nonblock 9; then
            run "$@" &
            exit 0
        fi
    done
    sleep 0.05
done
