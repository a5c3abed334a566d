#!/usr/bin/env bash
# Proves the server with what others wrote: Neo4j's official drivers, the openCypher TCK over Bolt,
# load, kills, a cluster whose leaders are killed, and attacks.
#
#   tools/drivers.sh TELAR [PART]...
#
# TELAR is the binary; nothing is built here. Parts: python python6 javascript javascript6 browser load cluster failover
# attacks (all of these if none is named), and with TELAR_LONG=1 also java go failover-long gds tck. Servers run on free ports of the
# loopback with stores in a temporary folder. Drivers are installed below target/drivers, once, from
# their registries; a driver that cannot be fetched because there is no network is skipped with a word.
# Ends with the sum of all parts in the form of `cargo test`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
shared=${TELAR_SHARED:-$root/../shared}
installed=$(mkdir -p "${CARGO_TARGET_DIR:-target}/drivers" && cd "${CARGO_TARGET_DIR:-target}/drivers" && pwd)

# What is installed, pinned: a driver's release never turns the gate red by itself.
PYTHON_PACKAGES=("neo4j==5.28.8" "tzdata==2026.6" "gherkin-official==42.0.1")
GDS_PACKAGES=("graphdatascience==1.22" "tzdata==2026.6")
PYTHON6_PACKAGES=("neo4j==6.4.1" "tzdata==2026.6")
JAVASCRIPT_PACKAGE=neo4j-driver@5.28.3
JAVASCRIPT6_PACKAGE=neo4j-driver@6.3.0
BROWSER_PACKAGES=("$JAVASCRIPT_PACKAGE" "neo4j-driver6@npm:$JAVASCRIPT6_PACKAGE" "playwright-core@1.64.1" "neovis.js@2.1.0")

telar=$(realpath "${1:?the path of the telar binary}")
shift
parts=("$@")
if ((${#parts[@]} == 0)); then
    parts=(python python6 javascript javascript6 browser load cluster failover attacks)
    if [[ -n ${TELAR_LONG:-} ]]; then parts+=(java go failover-long gds tck); fi
fi

scratch=$(mktemp -d)
log=$scratch/log
servers=()

# Ends the servers that were started here, and nothing else.
cleanup() {
    local server
    for server in "${servers[@]}"; do kill -9 "$server" 2>/dev/null || true; done
    if [[ -e $scratch/nodes ]]; then
        while read -r server; do kill -9 "$server" 2>/dev/null || true; done <"$scratch/nodes"
    fi
    rm -rf "$scratch"
}
trap cleanup EXIT

# start NAME ARGUMENT...: starts a server without HTTP and sets `address` and `process` to where it is.
start() {
    start_with "$1" --no-http "${@:2}"
}

# start_with NAME ARGUMENT...: the same, with HTTP unless an argument says otherwise.
start_with() {
    local name=$1 waited
    shift
    "$telar" serve "$scratch/$name.telar" --bolt 127.0.0.1:0 "$@" >"$scratch/$name.log" 2>&1 &
    process=$!
    servers+=("$process")
    for ((waited = 0; waited < 300; waited++)); do
        address=$(grep -o 'bolt://[0-9.:]*' "$scratch/$name.log" | head -n 1 | sed 's#bolt://##') || true
        if [[ -n $address ]]; then return; fi
        if ! kill -0 "$process" 2>/dev/null; then break; fi
        sleep 0.1
    done
    printf 'telar serve did not start:\n'
    cat "$scratch/$name.log"
    return 1
}

# fetched NAME COMMAND...: runs an installation once. Says why and returns 1 where there is no network.
fetched() {
    local name=$1
    shift
    local done=$installed/$name.done output=$scratch/$name.install
    if [[ -e $done && $(<"$done") == "$*" ]]; then return 0; fi
    if "$@" >"$output" 2>&1; then
        printf '%s' "$*" >"$done"
        return 0
    fi
    if grep -Eiq 'name resolution|ENOTFOUND|EAI_AGAIN|ENETUNREACH|no such host|network is unreachable|unknown host' \
        "$output"; then
        printf 'skipped: %s: its driver is not installed and there is no network\n' "$name"
        return 1
    fi
    cat "$output"
    printf 'FAILED: %s could not be installed\n' "$name"
    exit 1
}

install_python() {
    local folder=$installed/$1
    shift
    python3 -m venv --clear "$folder" && "$folder/bin/pip" install --quiet "$@"
}

install_javascript() {
    mkdir -p "$installed/$1"
    printf '{"private": true}\n' >"$installed/$1/package.json"
    npm install --silent --no-audit --no-fund --prefix "$installed/$1" "${@:2}"
}

install_java() {
    mvn -q -B -f drivers/java/pom.xml -DbuildDirectory="$installed/java" package
}

install_go() {
    (cd drivers/go && go build -o "$installed/go-behaviours" .)
}

# The servers that behaviours run against: one open and plain, one with a user and TLS.
behaviour_servers() {
    if [[ -n ${DRIVERS_BOLT:-} ]]; then return; fi
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 \
        -keyout "$scratch/key.pem" -out "$scratch/certificate.pem" -subj /CN=localhost \
        -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
    # The part `browser` serves a page there, which may connect over WebSocket: a process keeps the port until then.
    node -e 'const s = net.createServer().listen(0, "127.0.0.1", () => console.log(s.address().port))' \
        >"$scratch/page.port" 2>/dev/null &
    DRIVERS_PAGE_HOLDER=$!
    servers+=("$DRIVERS_PAGE_HOLDER")
    disown
    while [[ ! -s $scratch/page.port ]] && kill -0 "$DRIVERS_PAGE_HOLDER" 2>/dev/null; do sleep 0.05; done
    DRIVERS_PAGE_PORT=$(<"$scratch/page.port")
    DRIVERS_PAGE_PORT=${DRIVERS_PAGE_PORT:-0}
    export DRIVERS_PAGE_PORT DRIVERS_PAGE_HOLDER
    local pages=http.allowed_origins=http://localhost:$DRIVERS_PAGE_PORT
    start plain --no-auth --set "$pages" || return 1
    export DRIVERS_BOLT=$address DRIVERS_PROCESS=$process
    export DRIVERS_PASSWORD=drivers-password DRIVERS_CERTIFICATE=$scratch/certificate.pem
    # The password of the first start, which nobody has to change.
    export TELAR_AUTH_INITIAL_PASSWORD=$DRIVERS_PASSWORD
    start secure --tls-cert "$scratch/certificate.pem" --tls-key "$scratch/key.pem" --tls-required \
        --set "$pages" || return 1
    export DRIVERS_BOLT_SECURE=$address DRIVERS_PROCESS_SECURE=$process
}

python_behaviours() {
    fetched "$1" install_python "$@" || return 0
    behaviour_servers || return 1
    "$installed/$1/bin/python" drivers/python/main.py
}

javascript_behaviours() {
    fetched "$1" install_javascript "$@" || return 0
    behaviour_servers || return 1
    DRIVERS_NODE_FOLDER=$installed/$1 node --expose-gc drivers/javascript/main.mjs
}

# chromium_browser: sets `chromium` to the path of a browser, which it installs if it may.
chromium_browser() {
    local name
    for name in chromium chromium-browser google-chrome; do
        if chromium=$(command -v "$name"); then return; fi
    done
    if ((EUID == 0)) && apt-get install -y -qq chromium >"$scratch/chromium.install" 2>&1; then
        chromium=$(command -v chromium)
        return
    fi
    printf 'skipped: browser: there is no Chromium, and it cannot be installed (apt-get install chromium)\n'
    return 1
}

# The same driver in a page: Bolt over WebSocket.
browser_behaviours() {
    local chromium
    chromium_browser || return 0
    fetched browser install_javascript browser "${BROWSER_PACKAGES[@]}" || return 0
    behaviour_servers || return 1
    start_with own --no-auth --http 127.0.0.1:0 || return 1
    DRIVERS_BOLT_OWN=$address DRIVERS_HTTP_OWN=$(grep -o 'http://[0-9.:]*' "$scratch/own.log" | head -n 1 | sed 's#http://##') \
        DRIVERS_NODE_FOLDER=$installed/browser node drivers/javascript/browser.mjs "$chromium"
}

java_behaviours() {
    fetched java install_java || return 0
    behaviour_servers || return 1
    java -Xmx128m -cp "$installed/java/classes:$installed/java/dependency/*" behaviours.Main
}

go_behaviours() {
    fetched go install_go || return 0
    behaviour_servers || return 1
    "$installed/go-behaviours"
}

# What a cluster cannot do like one server by design, or what is about one server: where a summary comes from, the
# memory of a process, connections that a proxy cuts in front of one node, and the node behind an address.
FAILOVER_SKIPS="summaries million_rows_in_constant_memory slow_reader_holds_no_memory early_end_of_a_result
    cancellation lost_connections connectivity_and_server_info"
# Behaviours that have passed when the leader is killed.
FAILOVER_AFTER=12
# Behaviours that a change of the leader may break: what is open at that moment, and what begins before another node
# leads. A leader that the machine lets wait for longer than its lease is replaced, too.
FAILOVER_BREAKS_MAX=5

# cluster_node NAME BOLT: starts a node of the cluster in `store` and sets `process`; it ends with this script.
cluster_node() {
    "$telar" serve "$folder/$1" --bolt "$2" --no-http --no-auth --cluster "$store" --node "$1" >>"$folder/$1.log" 2>&1 &
    process=$!
    disown
    printf '%s\n' "$process" >>"$scratch/nodes"
}

# leadership: says who leads the cluster in `store`, and the number of the leadership.
leadership() {
    "$telar" cluster status "$store" 2>/dev/null | grep -E '^│ *telar ' | head -n 1 | awk '{print $4, $6}' || true
}

# The behaviours of a driver over neo4j://, through a follower of a cluster whose leader is killed in the middle of them
# and started again.
failover() {
    behaviour_servers || return 1
    local folder=$scratch/failover-$1 store name leader='' first waited processes=() addresses=() output
    mkdir -p "$folder"
    store=dir:$folder/store
    output=$folder/output
    touch "$output"
    for name in a b c; do
        cluster_node "$name" 127.0.0.1:0
        processes+=("$process")
        for ((waited = 0; waited < 300; waited++)); do
            address=$(grep -o 'bolt://[0-9.:]*' "$folder/$name.log" 2>/dev/null | head -n 1 | sed 's#bolt://##') || true
            if [[ -n $address ]]; then break; fi
            sleep 0.1
        done
        addresses+=("$address")
    done
    for ((waited = 0; waited < 300; waited++)); do
        read -r leader first < <(leadership) || true
        if [[ $leader == [abc] ]]; then break; fi
        sleep 0.1
    done
    local names=(a b c) at=0 seed
    while [[ ${names[at]} != "$leader" ]]; do
        if ((++at == 3)); then
            printf 'FAILED: no leader\n'
            return 1
        fi
    done
    seed=$(((at + 1) % 3))
    (
        until (($(grep -c ' ok ' "$output" || true) >= FAILOVER_AFTER)); do sleep 0.05; done
        kill -9 "${processes[at]}"
        printf 'the leader, %s, was killed\n' "$leader"
        sleep 5
        cluster_node "$leader" "${addresses[at]}"
    ) &
    servers+=("$!")
    local status=0 last broken changes
    DRIVERS_SCHEME=neo4j DRIVERS_BOLT=${addresses[seed]} DRIVERS_PROCESS=${processes[seed]} \
        DRIVERS_SKIP=$(tr -s '\n ' ' ' <<<"$FAILOVER_SKIPS") "${@:2}" 2>&1 | tee "$output" || status=$?
    if ! grep -q '^test result: ok' "$output" || ((status != 0)); then return 1; fi
    read -r _ last < <(leadership) || true
    changes=$((last > first ? last - first : 1))
    broken=$(grep -o '^test [^ ]* \.\.\. again' "$output" | sort -u | wc -l) || true
    printf 'behaviours that were broken: %d, changes of the leader: %d\n' "$broken" "$changes"
    if ((broken > FAILOVER_BREAKS_MAX * changes)); then
        printf 'FAILED: a failover breaks too many behaviours\n'
        return 1
    fi
}

failover_gate() {
    fetched python install_python python "${PYTHON_PACKAGES[@]}" || return 0
    failover python "$installed/python/bin/python" drivers/python/main.py || return 1
    fetched javascript install_javascript javascript "$JAVASCRIPT_PACKAGE" || return 0
    DRIVERS_NODE_FOLDER=$installed/javascript failover javascript node --expose-gc drivers/javascript/main.mjs || return 1
}

failover_long() {
    fetched java install_java || return 0
    failover java java -Xmx128m -cp "$installed/java/classes:$installed/java/dependency/*" behaviours.Main || return 1
    fetched go install_go || return 0
    failover go "$installed/go-behaviours" || return 1
}

# The client of Neo4j's Graph Data Science library.
gds() {
    fetched gds install_python gds "${GDS_PACKAGES[@]}" || return 0
    start gds --no-auth || return 1
    "$installed/gds/bin/python" drivers/python/gds_client.py "bolt://$address"
}

# The TCK through the official driver: what passes in process passes over the wire.
tck() {
    if [[ ! -e $shared/tck/tck_runner.py ]]; then
        printf 'skipped: tck: no %s\n' tck/tck_runner.py
        return
    fi
    fetched python install_python python "${PYTHON_PACKAGES[@]}" || return 0
    start tck --no-auth || return 1
    local status=0
    "$installed/python/bin/python" "$shared/tck/tck_runner.py" "bolt://$address" \
        --features "$shared/tck/features" --graphs "$shared/tck/graphs" \
        --json "$scratch/tck.json" --failures 20 --fail-under 100 || status=$?
    # Scenarios with a procedure of their own are skipped: nobody can make procedures over Bolt.
    "$installed/python/bin/python" - "$scratch/tck.json" <<'PYTHON'
import collections, json, sys
results = json.load(open(sys.argv[1], encoding="utf-8"))["results"]
count = collections.Counter(result["status"] for result in results)
failed = len(results) - count["pass"] - count["skip"]
print(f"tck over bolt: {count['skip']} scenarios skipped")
print(f"test result: {'FAILED' if failed else 'ok'}. {count['pass']} passed; {failed} failed")
PYTHON
    return "$status"
}

# Many sessions at once, then a kill under load: what was acknowledged is there.
load() {
    fetched python install_python python "${PYTHON_PACKAGES[@]}" || return 0
    "$installed/python/bin/python" drivers/load.py "$telar" --seconds "${DRIVERS_LOAD_SECONDS:-20}" --kills 2
}

# Three servers over one store: routes, bookmarks, users, and leaders that are killed and stopped under load; and a look for
# anomalies in what clients saw, by the program of `telar-tests` that is built beside the binary.
cluster() {
    fetched python install_python python "${PYTHON_PACKAGES[@]}" || return 0
    local checker
    checker=$(dirname "$telar")/check-history
    "$installed/python/bin/python" drivers/python/cluster.py "$telar" "$scratch/cluster" "${DRIVERS_CLUSTER_KILLS:-3}" \
        --freeze "${DRIVERS_CLUSTER_FREEZE:-5}" --history "$scratch/history" || return 1
    if [[ ! -x $checker ]]; then
        printf 'skipped: anomalies: no %s (cargo build -p telar-tests --bins)\n' "$checker"
        return 0
    fi
    "$checker" "$scratch/history" || return 1
}

# What those send who want the server to end, or all of its memory. Whatever the build: sizes and times
# are for the slow one of the gate, and for machines where others are at work.
attacks() {
    fetched python install_python python "${PYTHON_PACKAGES[@]}" || return 0
    "$installed/python/bin/python" drivers/attacks.py "$telar" --memory 512MiB --part 10 --seconds 60
}

status=0
for part in "${parts[@]}"; do
    printf -- '--- %s\n' "$part"
    case $part in
    python) command=(python_behaviours python "${PYTHON_PACKAGES[@]}") ;;
    python6) command=(python_behaviours python6 "${PYTHON6_PACKAGES[@]}") ;;
    javascript) command=(javascript_behaviours javascript "$JAVASCRIPT_PACKAGE") ;;
    javascript6) command=(javascript_behaviours javascript6 "$JAVASCRIPT6_PACKAGE") ;;
    browser) command=(browser_behaviours) ;;
    java) command=(java_behaviours) ;;
    go) command=(go_behaviours) ;;
    failover) command=(failover_gate) ;;
    failover-long) command=(failover_long) ;;
    gds | tck | load | cluster | attacks) command=("$part") ;;
    *)
        printf 'no such part: %s\n' "$part" >&2
        exit 2
        ;;
    esac
    # Not in a pipe: a part may start servers that the next ones use.
    "${command[@]}" > >(tee -a "$log") 2>&1 || status=1
done
exit "$status"
