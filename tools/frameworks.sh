#!/usr/bin/env bash
# Runs frameworks for agents and GraphRAG against the server, unmodified and offline: each with an example of its own
# (set-up, writes, retrieval), an embedder that hashes words and a model that answers from a table.
#
#   tools/frameworks.sh [TELAR] [NAME]...
#   tools/frameworks.sh --compare [TELAR] [NAME]...
#
# TELAR is the binary, by default target/debug/telar; nothing is built here. Names: graphiti langchain mcp lightrag
# graphrag mem0 telar_mcp cognee llamaindex haystack (all if none is named). The cases are
# tests/frameworks/NAME_cases.py; what is installed for them is tests/frameworks/pins/NAME.txt, below target/frameworks, once. A framework that cannot be
# fetched because there is no network is skipped with a word. Every framework gets a server of its own, with a user, on a
# free port of the loopback, with its store in a temporary folder. The comparison below is tested first.
#
# With FRAMEWORKS_BOLT=HOST:PORT, FRAMEWORKS_PASSWORD and FRAMEWORKS_KIND=neo4j they run against that server, whose graph
# they delete; what is expected to fail in Telar has to pass there.
#
# --compare runs each framework against Telar and against a Neo4j of its own (bench/compare/neo4j.sh, with APOC and GDS),
# records what is sent through the driver for Python, what comes back and the graphs that are left
# (tests/frameworks/record.py), and compares (compare.py there): graphs and hit sets are equal, and rankings have a Kendall
# tau of 0.95 at least. It is skipped without mvn and Java. telar_mcp is not compared, as it calls Telar's own tools.
# FRAMEWORKS_RECORDINGS=FOLDER keeps the recordings.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
target=${CARGO_TARGET_DIR:-$root/target}
cases=$root/tests/frameworks
NAMES=(graphiti langchain mcp lightrag graphrag mem0 telar_mcp cognee llamaindex haystack)
# Seconds after which one framework hangs.
SECONDS_MAX=${FRAMEWORKS_SECONDS:-600}

compare=
if [[ ${1:-} == --compare ]]; then
    compare=1
    shift
fi
telar=$target/debug/telar
if [[ ${1:-} == */* ]]; then
    telar=$(realpath "$1")
    shift
fi
names=("$@")
if ((${#names[@]} == 0)); then names=("${NAMES[@]}"); fi
if [[ -n $compare ]] && ! { command -v mvn && command -v java; } >/dev/null; then
    printf 'skipped: frameworks are not compared with Neo4j: that needs mvn and Java\n'
    exit 0
fi
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
# Ends the Neo4j that was started here, and deletes its store.
neo4j_stop() {
    if [[ -e $scratch/neo4j/pid ]]; then bench/compare/neo4j.sh stop "$scratch/neo4j"; fi
    rm -rf "$scratch/neo4j"
}
cleanup() {
    stop
    neo4j_stop
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
if [[ -n $compare ]]; then
    FRAMEWORKS_KIND=telar
    recordings=${FRAMEWORKS_RECORDINGS:-$scratch/recordings}
    mkdir -p "$recordings"
    recordings=$(realpath "$recordings")
fi
# For cases that start it themselves.
export FRAMEWORKS_TELAR=$(realpath "$telar")
# Nothing is asked for outside, and nothing is told.
export PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=ignore DO_NOT_TRACK=1 HF_HUB_OFFLINE=1 NO_PROXY='*'

# cases_of NAME ADDRESS KIND: runs the cases of a framework against a server, and counts them.
cases_of() {
    local name=$1 output=$scratch/$1.$3.output p f i
    (cd "$scratch" && FRAMEWORKS_BOLT=$2 FRAMEWORKS_KIND=$3 FRAMEWORKS_RECORD=${compare:+$recordings/$3} \
        timeout "$SECONDS_MAX" "$installed/$name/bin/python" "$cases/${name}_cases.py") 2>&1 | tee "$output" || true
    read -r p f i < <(awk -v name="$name:" '$1 == name && $2 == "result" { print $4, $6, $8; found = 1 }
        END { if (!found) print 0, 1, 0 }' "$output")
    passed=$((passed + p)) failed=$((failed + f)) ignored=$((ignored + i))
}

# neo4j_start: starts a Neo4j with an empty store at `port`. What a store has held shows in ids and orders.
neo4j_start() {
    # It needs the next port, too; below those that clients are given.
    port=$("$python" -c '
import random, socket
while True:
    port = random.randrange(20000, 32000)
    try:
        for at in (port, port + 1):
            socket.socket().bind(("127.0.0.1", at))
    except OSError:
        continue
    print(port)
    break')
    APOC=1 GDS=1 bench/compare/neo4j.sh start "$scratch/neo4j" "$port" "$FRAMEWORKS_PASSWORD"
}

passed=0 failed=0 ignored=0 compared=()
if ! "$python" "$cases/compare_tests.py" -q; then failed=1; fi
for name in "${names[@]}"; do
    if [[ -n $compare && $name == telar_mcp ]]; then continue; fi
    printf -- '--- %s\n' "$name"
    if [[ ! -e $cases/${name}_cases.py ]]; then
        printf 'no such framework: %s\n' "$name" >&2
        exit 2
    fi
    fetched "$name" || continue
    if [[ -n $compare ]]; then
        rm -rf "$recordings"/{telar,neo4j}/"$name"
        compared+=("$name")
        neo4j_start
        cases_of "$name" "127.0.0.1:$port" neo4j
        neo4j_stop
    fi
    if [[ -z $compare && -n ${FRAMEWORKS_BOLT:-} ]]; then
        cases_of "$name" "$FRAMEWORKS_BOLT" "$FRAMEWORKS_KIND"
    else
        start "$name"
        cases_of "$name" "$address" "$FRAMEWORKS_KIND"
        stop
    fi
done
if ((${#compared[@]} > 0)) &&
    ! "$python" "$cases/compare.py" "$recordings/telar" "$recordings/neo4j" "${compared[@]}"; then
    failed=$((failed + 1))
fi
printf 'test result: frameworks. %d passed; %d failed; %d ignored\n' "$passed" "$failed" "$ignored"
if ((failed > 0)); then exit 1; fi
