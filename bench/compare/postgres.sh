#!/usr/bin/env bash
# PostgreSQL for measurements of a replicated database: a primary, and a synchronous standby beside it.
#
#   bench/compare/postgres.sh start FOLDER PORT [standby]
#   bench/compare/postgres.sh kill FOLDER          # kill -9 of the primary and all that it started, and a start
#   bench/compare/postgres.sh stop FOLDER
#
# Commits of the primary wait for the disks of both where there is a standby (its port is PORT + 1). As root it runs as
# the user postgres. The store's URL is postgres://telar@127.0.0.1:PORT/postgres.
set -euo pipefail
command=${1:?start, kill or stop}
folder=$(realpath -m "${2:?a folder}")
port=${3:-}
standby=${4:-}

# As a user that PostgreSQL runs under: it refuses root.
as() {
    if ((EUID == 0)); then
        (cd / && setpriv --reuid=postgres --regid=postgres --clear-groups "$@")
    else
        "$@"
    fi
}

server() {
    as pg_ctl -s -D "$folder/$1" -l "$folder/$1.log" -w -t 120 "${@:2}"
}

case $command in
start)
    mkdir -p "$folder"
    if ((EUID == 0)); then chown postgres "$folder"; fi
    as initdb -D "$folder/primary" -U telar -A trust -E UTF8 --no-locale >"/dev/null"
    as tee -a "$folder/primary/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
port = $port
unix_socket_directories = ''
max_connections = 200
CONF
    server primary start
    if [[ -n $standby ]]; then
        as pg_basebackup -D "$folder/standby" -h 127.0.0.1 -p "$port" -U telar -R -X stream -C -S standby
        as tee -a "$folder/standby/postgresql.conf" >/dev/null <<<"port = $((port + 1))"
        server standby start
        as tee -a "$folder/primary/postgresql.conf" >/dev/null <<<"synchronous_standby_names = '*'"
        server primary reload
    fi
    ;;
kill)
    mapfile -t started < <(pgrep -P "$(head -n 1 "$folder/primary/postmaster.pid")")
    kill -9 "$(head -n 1 "$folder/primary/postmaster.pid")" "${started[@]}" || true
    sleep 1
    # It is dead, but where nobody collects the dead its number is taken still.
    rm "$folder/primary/postmaster.pid"
    server primary start
    ;;
stop)
    for name in standby primary; do
        if [[ -e $folder/$name/postmaster.pid ]]; then server "$name" -m immediate stop; fi
    done
    ;;
*)
    printf 'no such command: %s\n' "$command" >&2
    exit 2
    ;;
esac
