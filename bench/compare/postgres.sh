#!/usr/bin/env bash
# PostgreSQL for measurements of a replicated database: a primary, and a synchronous standby beside it.
#
#   bench/compare/postgres.sh start FOLDER PORT [standby]    # prints the store's URL
#   bench/compare/postgres.sh kill FOLDER          # kill -9 of the primary and all that it started, and a start
#   bench/compare/postgres.sh failover FOLDER      # the same kill; the standby is promoted, and gets a standby
#   bench/compare/postgres.sh stop FOLDER
#
# Two servers, `first` at PORT and `second` at PORT + 1; the first is the primary until a failover. The URL names both,
# and Telar asks the one that takes writes. Commits wait for the disks of both at any time: a standby that was promoted
# takes none until the killed primary, whose data is copied anew from it, is its standby. `failover` returns then, and
# may be called again. As root it runs as the user postgres.
set -euo pipefail
command=${1:?start, kill, failover or stop}
folder=$(realpath -m "${2:?a folder}")
port=${3:-}
standby=${4:-}

failed() {
    printf '%s\n' "$*" >&2
    exit 1
}

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

# port_of NAME: its port, which stays when the roles change.
port_of() {
    local port
    port=$(<"$folder/port")
    if [[ $1 == second ]]; then ((port += 1)); fi
    printf '%d' "$port"
}

start_server() {
    server "$1" -o "-p $(port_of "$1")" start
}

# primary: the name of the server that takes writes.
primary() {
    local name
    for name in first second; do
        if [[ -e $folder/$name/PG_VERSION && ! -e $folder/$name/standby.signal ]]; then
            printf '%s' "$name"
            return
        fi
    done
    failed "there is no primary in $folder"
}

# make_standby NAME PRIMARY: copies the primary's data and starts NAME with it; returns once commits wait for NAME.
make_standby() {
    local name=$1 from waited
    local count="SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"
    from=$(port_of "$2")
    rm -rf "${folder:?}/$name"
    as pg_basebackup -D "$folder/$name" -h 127.0.0.1 -p "$from" -U telar -R -X stream -c fast -C -S standby
    start_server "$name"
    for ((waited = 0; waited < 600; waited++)); do
        if [[ $(as psql -X -h 127.0.0.1 -p "$from" -U telar -d postgres -Atc "$count") == 1 ]]; then return; fi
        sleep 0.1
    done
    failed "no commit of $2 waits for $name"
}

# kill_server NAME: kills it and all that it started; it is stopped first, so that it starts nothing meanwhile.
kill_server() {
    local server started killed
    server=$(head -n 1 "$folder/$1/postmaster.pid")
    kill -STOP "$server"
    mapfile -t started < <(pgrep -P "$server")
    kill -9 "$server" "${started[@]}" || true
    killed=$(IFS=, && printf '%s' "$server${started[*]:+,${started[*]}}")
    while ps -o stat= -p "$killed" | grep '^[^Z]' >/dev/null; do sleep 0.02; done
    # It is dead, but where nobody collects the dead its number is taken still.
    rm "$folder/$1/postmaster.pid"
}

case $command in
start)
    mkdir -p "$folder"
    if ((EUID == 0)); then chown postgres "$folder"; fi
    printf '%s\n' "${port:?a port}" >"$folder/port"
    as initdb -D "$folder/first" -U telar -A trust -E UTF8 --no-locale >"/dev/null"
    as tee -a "$folder/first/postgresql.conf" >/dev/null <<CONF
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
CONF
    hosts=127.0.0.1:$port
    if [[ -n $standby ]]; then
        # The name by which standbys log in: with '*' pg_basebackup, which uses a slot, would count as one. A standby has
        # the same setting, and it holds from the moment of its promotion.
        as tee -a "$folder/first/postgresql.conf" >/dev/null <<<"synchronous_standby_names = 'walreceiver'"
        hosts+=,127.0.0.1:$((port + 1))
    fi
    start_server first
    if [[ -n $standby ]]; then make_standby second first; fi
    printf 'postgres://telar@%s/postgres\n' "$hosts"
    ;;
kill)
    name=$(primary)
    kill_server "$name"
    sleep 1
    start_server "$name"
    ;;
failover)
    old=$(primary)
    if [[ $old == first ]]; then new=second; else new=first; fi
    if [[ ! -e $folder/$new/standby.signal ]]; then failed "$old has no standby"; fi
    kill_server "$old"
    server "$new" promote
    make_standby "$old" "$new"
    ;;
stop)
    for name in second first; do
        if [[ -e $folder/$name/postmaster.pid ]]; then server "$name" -m immediate stop; fi
    done
    ;;
*)
    printf 'no such command: %s\n' "$command" >&2
    exit 2
    ;;
esac
