#!/usr/bin/env bash
# PostgreSQL under Patroni for measurements of a replicated database: two servers, one of them the synchronous standby.
#
#   bench/compare/patroni.sh start FOLDER PORT   # servers at PORT and PORT + 1; prints the store's URL
#   bench/compare/patroni.sh kill FOLDER         # kill -9 of the primary and of its Patroni; returns with it as standby
#   bench/compare/patroni.sh stop FOLDER
#
# PATRONI is its program (pip install 'patroni[etcd3]' 'psycopg[binary]'), `etcd` is on the path: one node at PORT + 10.
# Patroni answers at PORT + 20 and PORT + 21. It takes a dead machine's place after 20 s, the least that it may be told,
# and the primary waits for its standby whatever happens (synchronous_mode_strict). As root all but etcd runs as the user
# postgres.
set -euo pipefail
command=${1:?start, kill or stop}
folder=$(realpath -m "${2:?a folder}")
patroni=${PATRONI:-patroni}

failed() {
    printf '%s\n' "$*" >&2
    exit 1
}

# port_of NAME: where its server is.
port_of() {
    local port
    port=$(<"$folder/port")
    if [[ $1 == second ]]; then ((port += 1)); fi
    printf '%d' "$port"
}

# run NAME FILE PROGRAM ...: starts a program, and keeps what it says and its number.
run() {
    local name=$1 as=()
    if ((EUID == 0)) && [[ $name != etcd ]]; then as=(setpriv --reuid=postgres --regid=postgres --clear-groups); fi
    (cd / && exec setsid nohup "${as[@]}" "${@:2}") </dev/null >>"$folder/$name.log" 2>&1 &
    printf '%s\n' "$!" >"$folder/$name.pid"
}

# is NAME ROLE: true if Patroni says that the server has this role: primary, or sync.
is() {
    curl -sf -m 2 -o "/dev/null" "http://127.0.0.1:$(($(port_of "$1") + 20))/$2"
}

# wait_for NAME ROLE
wait_for() {
    local waited
    for ((waited = 0; waited < 900; waited++)); do
        if is "$1" "$2"; then return; fi
        sleep 0.2
    done
    failed "$1 does not become $2: $(tail -n 1 "$folder/$1.log")"
}

configure() {
    local port
    port=$(port_of "$1")
    cat >"$folder/$1.yml" <<YAML
scope: telar
name: $1
restapi: {listen: "127.0.0.1:$((port + 20))", connect_address: "127.0.0.1:$((port + 20))"}
etcd3: {hosts: "127.0.0.1:$(($(<"$folder/port") + 10))"}
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 2
    retry_timeout: 3
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql: {use_pg_rewind: true, parameters: {max_connections: 200}}
  initdb: [encoding: UTF8, no-locale]
postgresql:
  listen: "127.0.0.1:$port"
  connect_address: "127.0.0.1:$port"
  data_dir: $folder/$1
  pgpass: $folder/$1.pgpass
  bin_dir: $(dirname "$(readlink -f "$(command -v pg_ctl)")")
  authentication: {superuser: {username: telar}, replication: {username: telar}}
  parameters: {unix_socket_directories: ""}
  pg_hba: ["host all all 127.0.0.1/32 trust", "host replication all 127.0.0.1/32 trust"]
YAML
}

case $command in
start)
    mkdir -p "$folder"
    port=${3:?a port}
    printf '%s\n' "$port" >"$folder/port"
    if ((EUID == 0)); then chown postgres "$folder"; fi
    client=http://127.0.0.1:$((port + 10)) peer=http://127.0.0.1:$((port + 11))
    run etcd etcd --name etcd --data-dir "$folder/etcd" --listen-client-urls "$client" --advertise-client-urls "$client" \
        --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "etcd=$peer"
    for name in first second; do
        configure "$name"
        run "$name" "$patroni" "$folder/$name.yml"
        if [[ $name == first ]]; then wait_for first primary; fi
    done
    wait_for second sync
    printf 'postgres://telar@127.0.0.1:%s,127.0.0.1:%s/postgres\n' "$port" "$((port + 1))"
    ;;
kill)
    old=first new=second
    if ! is first primary; then old=second new=first; fi
    is "$old" primary || failed "there is no primary in $folder"
    is "$new" sync || failed "$old has no standby"
    server=$(head -n 1 "$folder/$old/postmaster.pid")
    # Stopped first, so that neither starts anything meanwhile.
    kill -STOP "$(<"$folder/$old.pid")" "$server"
    mapfile -t started < <(pgrep -P "$server")
    kill -9 "$(<"$folder/$old.pid")" "$server" "${started[@]}" || true
    wait_for "$new" primary
    run "$old" "$patroni" "$folder/$old.yml"
    wait_for "$old" sync
    ;;
stop)
    for name in second first etcd; do
        if [[ -e $folder/$name.pid ]]; then kill "$(<"$folder/$name.pid")" || true; fi
        # Patroni stops its server.
        while [[ -e $folder/$name/postmaster.pid ]]; do sleep 0.2; done
    done
    ;;
*)
    printf 'no such command: %s\n' "$command" >&2
    exit 2
    ;;
esac
