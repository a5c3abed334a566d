#!/usr/bin/env bash
# Runs frameworks for agents and GraphRAG against the server, unmodified and offline: each with an example of its own
# (set-up, writes, retrieval), an embedder that hashes words and a model that answers from a table.
#
#   tools/frameworks.sh [TELAR] [NAME]...
#
# TELAR is the binary, by default target/debug/telar; nothing is built here. Names: graphiti langchain mcp lightrag
# graphrag mem0 telar_mcp cognee llamaindex haystack (all if none is named). The cases are
# tests/frameworks/NAME_cases.py; what is installed for them is tests/frameworks/pins/NAME.txt, below target/frameworks, once. A framework that cannot be
# fetched because there is no network is skipped with a word. Every framework gets a server of its own, with a user, on a
# free port of the loopback, with its store in a temporary folder.
#
# With FRAMEWORKS_BOLT=HOST:PORT, FRAMEWORKS_PASSWORD and FRAMEWORKS_KIND=neo4j they run against that server, whose graph
# they delete; what is expected to fail in Telar has to pass there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
cases=$root/tests/frameworks
NAMES=(graphiti langchain mcp lightrag graphrag mem0 telar_mcp cognee llamaindex haystack)
# Seconds after which one framework hangs.
SECONDS_MAX=${FRAMEWORKS_SECONDS:-600}

telar=$target/debug/telar
if [[ ${1:-} == */* ]]; then
    telar=$(realpath "$1")
    shift
fi
names=("$@")
if ((${#names[@]} == 0)); then names=("${NAMES[@]}"); fi
python=${PYTHON:-$(command -v python3.11 || command -v python3)}
installed=$target/frameworks
mkdir -p "$installed"

scratch=$(mktemp -d)
server=

# Ends the server that was started here, and nothing else.
stop() {
    if [[ -n $server ]]; then
        kill -9 "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
cleanup() {
    stop
    rm -rf "$scratch"
}
trap cleanup EXIT

# start NAME: starts a server and sets `address`.
start() {
    local log=$scratch/$1.log waited
    TELAR_AUTH_INITIAL_PASSWORD=$FRAMEWORKS_PASSWORD \
        "$telar" serve "$scratch/$1.telar" --bolt 127.0.0.1:0 --no-http >"$log" 2>&1 &
    server=$!
    for ((waited = 0; waited < 300; waited++)); do
        address=$(grep -o 'bolt://[0-9.:]*' "$log" 2>/dev/null | head -n 1 | sed 's#bolt://##') || true
        if [[ -n $address ]]; then return; fi
        if ! kill -0 "$server" 2>/dev/null; then break; fi
        sleep 0.1
    done
    printf 'telar serve did not start:\n'
    cat "$log"
    exit 1
}

# fetched NAME: installs what a framework needs, once. Returns 1 where there is no network.
fetched() {
    local folder=$installed/$1 pins=$cases/pins/$1.txt output=$scratch/$1.install
    if cmp -s "$pins" "$folder/installed"; then return 0; fi
    if "$python" -m venv --clear "$folder" >"$output" 2>&1 &&
        "$folder/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$pins" >>"$output" 2>&1; then
        cp "$pins" "$folder/installed"
        return 0
    fi
    if grep -Eiq 'name resolution|name or service not known|network is unreachable|connection refused' "$output"; then
        printf 'skipped: %s: it is not installed and there is no network\n' "$1"
        return 1
    fi
    cat "$output"
    printf 'FAILED: %s could not be installed\n' "$1"
    exit 1
}

export FRAMEWORKS_PASSWORD=${FRAMEWORKS_PASSWORD:-frameworks-password}
export FRAMEWORKS_KIND=${FRAMEWORKS_KIND:-telar}
# For cases that start it themselves.
export FRAMEWORKS_TELAR=$(realpath "$telar")
# Nothing is asked for outside, and nothing is told.
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore DO_NOT_TRACK=1 HF_HUB_OFFLINE=1 NO_PROXY='*'

passed=0 failed=0 ignored=0
for name in "${names[@]}"; do
    printf -- '--- %s\n' "$name"
    if [[ ! -e $cases/${name}_cases.py ]]; then
        printf 'no such framework: %s\n' "$name" >&2
        exit 2
    fi
    fetched "$name" || continue
    if [[ -n ${FRAMEWORKS_BOLT:-} ]]; then address=$FRAMEWORKS_BOLT; else start "$name"; fi
    output=$scratch/$name.output
    (cd "$scratch" && FRAMEWORKS_BOLT=$address timeout "$SECONDS_MAX" "$installed/$name/bin/python" \
        "$cases/${name}_cases.py") 2>&1 | tee "$output" || true
    stop
    read -r p f i < <(awk -v name="$name:" '$1 == name && $2 == "result" { print $4, $6, $8; found = 1 }
        END { if (!found) print 0, 1, 0 }' "$output")
    passed=$((passed + p)) failed=$((failed + f)) ignored=$((ignored + i))
done
printf 'test result: frameworks. %d passed; %d failed; %d ignored\n' "$passed" "$failed" "$ignored"
if ((failed > 0)); then exit 1; fi
