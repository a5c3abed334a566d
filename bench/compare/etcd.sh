#!/usr/bin/env bash
# Three nodes of etcd on the loopback, for measurements of a replicated database.
#
#   bench/compare/etcd.sh start FOLDER PORT   # clients at PORT, PORT + 1, PORT + 2; prints the store's URL
#   bench/compare/etcd.sh kill FOLDER         # kill -9 of the leader, and a start after a second
#   bench/compare/etcd.sh stop FOLDER
#
# The program is `etcd` on the path (Debian's package etcd-server has it).
set -euo pipefail
command=${1:?start, kill or stop}
folder=$(realpath -m "${2:?a folder}")

# node NUMBER: starts one of the three.
node() {
    local port peers='' at own=$1
    port=$(<"$folder/port")
    for at in 0 1 2; do peers+="${peers:+,}n$at=http://127.0.0.1:$((port + 10 + at))"; done
    setsid nohup etcd --name "n$own" --data-dir "$folder/n$own" --quota-backend-bytes 8589934592 \
        --auto-compaction-retention 5m \
        --listen-client-urls "http://127.0.0.1:$((port + own))" \
        --advertise-client-urls "http://127.0.0.1:$((port + own))" \
        --listen-peer-urls "http://127.0.0.1:$((port + 10 + own))" \
        --initial-advertise-peer-urls "http://127.0.0.1:$((port + 10 + own))" \
        --initial-cluster "$peers" --initial-cluster-state new </dev/null >>"$folder/n$own.log" 2>&1 &
    printf '%s\n' "$!" >"$folder/n$own.pid"
}

# status NUMBER FIELD: a number of what a node says of itself.
status() {
    curl -sf -m 2 "http://127.0.0.1:$(($(<"$folder/port") + $1))/v3/maintenance/status" -d '{}' |
        grep -o "\"$2\":\"[0-9]*\"" | head -n 1 | tr -dc 0-9
}

case $command in
start)
    mkdir -p "$folder"
    printf '%s' "${3:?a port}" >"$folder/port"
    for own in 0 1 2; do node "$own"; done
    until [[ -n $(status 0 leader || true) ]]; do
        sleep 0.2
        for own in 0 1 2; do
            kill -0 "$(<"$folder/n$own.pid")" 2>/dev/null && continue
            printf 'node %s has ended: %s\n' "$own" "$(tail -n 1 "$folder/n$own.log")" >&2
            exit 1
        done
    done
    port=$3
    printf 'etcd://127.0.0.1:%s,127.0.0.1:%s,127.0.0.1:%s\n' "$port" "$((port + 1))" "$((port + 2))"
    ;;
kill)
    for ((try = 0; try < 30; try++)); do
        own=$((try % 3))
        leader=$(status "$own" leader || true)
        if [[ -n $leader && $leader == "$(status "$own" member_id || true)" ]]; then
            kill -9 "$(<"$folder/n$own.pid")"
            sleep 1
            node "$own"
            exit 0
        fi
        sleep 0.1
    done
    printf 'no node leads\n' >&2
    exit 1
    ;;
stop)
    for own in 0 1 2; do kill -9 "$(<"$folder/n$own.pid")" || true; done
    ;;
*)
    printf 'no such command: %s\n' "$command" >&2
    exit 2
    ;;
esac
