#!/usr/bin/env bash
# Compares a running server with its OpenAPI document: schemathesis makes requests that the document
# allows and requests that it does not, and looks whether status, headers and bodies are as written.
#
#   tools/openapi.sh [TELAR]                some hundred requests per address
#   TELAR_LONG=1 tools/openapi.sh [TELAR]   ten times as many
#
# TELAR is the binary; without it a debug build is made.
# Needs python3 with venv; schemathesis is installed below the target directory.
set -euo pipefail
telar=${1:+$(realpath "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VERSION=4.32.5
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target"
target=$(cd "$target" && pwd)
venv=$target/schemathesis-$VERSION
tools=$PWD/tools
work=$(mktemp -d)
server=
cleanup() {
    if [[ -n $server ]]; then kill "$server" 2>/dev/null || true; fi
    rm -rf "$work"
}
trap cleanup EXIT

if [[ ! -x $venv/bin/schemathesis ]]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$VERSION"
fi

if [[ -z $telar ]]; then
    cargo build --locked --quiet -p telar-server
    telar=$target/debug/telar
fi
export TELAR_AUTH_INITIAL_PASSWORD=correct-horse
"$telar" serve --memory --bolt 127.0.0.1:0 --http 127.0.0.1:0 \
    --set limits.statement_timeout=5s --set http.transaction_idle=10s \
    --set auth.failed_logins=1000000 >"$work/addresses" 2>"$work/log" &
server=$!
for _ in $(seq 300); do
    if grep -q '^HTTP at ' "$work/addresses"; then break; fi
    sleep 0.1
done
url=$(sed -n 's/^HTTP at //p' "$work/addresses")
if [[ -z $url ]]; then
    printf 'the server did not start:\n'
    cat "$work/log"
    exit 1
fi

# A statement is any text for the document, and Cypher for the server: that it is refused says nothing.
export PYTHONPATH=$tools PYTHONDONTWRITEBYTECODE=1
cd "$work" # it writes down what it found, where it is
"$venv/bin/schemathesis" --config-file "$tools/openapi.toml" run "$url/openapi.json" --auth neo4j:correct-horse \
    --checks all --exclude-checks positive_data_acceptance \
    --max-examples "$((${TELAR_LONG:+9} + 1))0" --request-timeout 60 --seed 5 --no-color \
    --continue-on-failure --suppress-health-check all --generation-database none
kill -0 "$server" || { printf 'the server has ended:\n'; cat "$work/log"; exit 1; }
if grep -i panicked "$work/log"; then exit 1; fi
