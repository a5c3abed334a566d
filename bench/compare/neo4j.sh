#!/usr/bin/env bash
# Starts and stops Neo4j 5 community, the real thing that Telar is compared with, from its Maven
# artefacts: nothing is installed and nothing is committed, all of it lies below target/neo4j.
#
#   bench/compare/neo4j.sh start FOLDER BOLT_PORT [PASSWORD [CERT KEY]]
#   bench/compare/neo4j.sh stop FOLDER
#   bench/compare/neo4j.sh import FOLDER BOLT_PORT OPTION...
#
# FOLDER holds the store, the logs and the process id. Without PASSWORD (or with an empty one)
# there is no authentication; with CERT and KEY (PEM, PKCS#8) TLS is offered beside plain Bolt.
# HTTP is served on BOLT_PORT + 1. With GDS=1 in the environment its Graph Data Science library (the
# open part, at most four threads) is loaded, too, and with APOC=1 the core of APOC. `import` fills a
# new store with files (neo4j-admin database import full). The heap is of HEAP (1g), the page cache of
# a new store's server of PAGE_CACHE (512m). `start` returns when the server answers on its port. Needs
# mvn and Java 17 or later.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
version=5.26.30
gds_version=2.13.9
apoc_version=5.26.0
artefacts=${CARGO_TARGET_DIR:-$root/target}/neo4j/$version

# Copies artefacts GROUP:NAME:VERSION and all that they need into the folder lib of FOLDER, once.
copy_artefacts() {
    local folder=$1 of group name dependencies=
    shift
    if [[ -e $folder/complete ]]; then return; fi
    mkdir -p "$folder"
    for of in "$@"; do
        IFS=: read -r group name of <<<"$of"
        dependencies+="<dependency><groupId>$group</groupId><artifactId>$name</artifactId>"
        dependencies+="<version>$of</version></dependency>"
    done
    cat >"$folder/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>telar</groupId><artifactId>neo4j</artifactId><version>1</version>
  <dependencies>$dependencies</dependencies>
</project>
POM
    mvn -q -B -f "$folder/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib" >&2
    touch "$folder/complete"
}

fetch() {
    copy_artefacts "$artefacts" "org.neo4j:neo4j:$version" "org.neo4j:cypher-shell:$version"
}

# fetch_plugins NAME VERSION ARTEFACT...: fetches a library into the folder plugins of NAME, once. A plugin is only
# what Neo4j itself does not have.
fetch_plugins() {
    local version=$2 jar base folder=$artefacts/$1
    shift 2
    if [[ -e $folder/plugins ]]; then return; fi
    copy_artefacts "$folder" "$@"
    mkdir -p "$folder/plugins.new"
    for jar in "$folder"/lib/*.jar; do
        base=$(basename "$jar" | sed 's/-[0-9].*//')
        if [[ $jar == *-$version.jar ]] || ! compgen -G "$artefacts/lib/$base-[0-9]*.jar" >/dev/null; then
            cp "$jar" "$folder/plugins.new/"
        fi
    done
    mv "$folder/plugins.new" "$folder/plugins"
}

# The plugins that were asked for, linked into the folder plugins of FOLDER.
plugins() {
    mkdir -p "$1/plugins"
    if [[ -n ${GDS:-} ]]; then
        fetch_plugins gds "$gds_version" "org.neo4j.gds:opengds-extension:$gds_version" \
            "org.neo4j.gds:proc:$gds_version"
        ln -sf "$artefacts"/gds/plugins/*.jar "$1/plugins/"
    fi
    if [[ -n ${APOC:-} ]]; then
        # Guava is in APOC's own archive of all, but not among what it says it needs.
        fetch_plugins apoc "$apoc_version" "org.neo4j.procedure:apoc-core:$apoc_version" \
            "org.neo4j.procedure:apoc-common:$apoc_version" com.google.guava:guava:32.1.3-jre
        ln -sf "$artefacts"/apoc/plugins/*.jar "$1/plugins/"
    fi
}

# The options that Neo4j's own start script gives to Java, and a fixed heap.
java_options=(
    "-Xms${HEAP:-1g}" "-Xmx${HEAP:-1g}" -XX:+UseG1GC -XX:-OmitStackTraceInFastThrow -XX:+UnlockExperimentalVMOptions
    -XX:+TrustFinalNonStaticFields -XX:+DisableExplicitGC -Dfile.encoding=UTF-8
    -Djdk.nio.maxCachedBufferSize=1024 -Dio.netty.tryReflectionSetAccessible=true
    --add-opens=java.base/java.nio=ALL-UNNAMED --add-opens=java.base/java.io=ALL-UNNAMED
    --add-opens=java.base/sun.nio.ch=ALL-UNNAMED
)

write_settings() {
    local folder=$1 port=$2 password=$3 certificate=$4 key=$5
    mkdir -p "$folder/conf" "$folder/import" "$folder/certificates"
    cat >"$folder/conf/neo4j.conf" <<CONF
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:$port
server.bolt.advertised_address=127.0.0.1:$port
server.http.listen_address=127.0.0.1:$((port + 1))
server.https.enabled=false
server.directories.import=import
server.memory.pagecache.size=${PAGE_CACHE:-512m}
dbms.usage_report.enabled=false
dbms.security.auth_enabled=$([[ -n $password ]] && echo true || echo false)
CONF
    if [[ -n ${GDS:-}${APOC:-} ]]; then
        printf 'dbms.security.procedures.unrestricted=gds.*,apoc.*\n' >>"$folder/conf/neo4j.conf"
    fi
    if [[ -n $certificate ]]; then
        cp "$certificate" "$folder/certificates/public.crt"
        cp "$key" "$folder/certificates/private.key"
        cat >>"$folder/conf/neo4j.conf" <<CONF
server.bolt.tls_level=OPTIONAL
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory=certificates
dbms.ssl.policy.bolt.client_auth=NONE
CONF
    fi
    if [[ -n $password ]]; then
        NEO4J_HOME=$folder NEO4J_CONF=$folder/conf java -cp "$artefacts/lib/*" \
            org.neo4j.cli.AdminTool dbms set-initial-password "$password" >"$folder/password.log" 2>&1
    fi
}

start() {
    local folder=$1 port=$2 password=${3:-} certificate=${4:-} key=${5:-}
    fetch
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    plugins "$folder"
    if [[ ! -e $folder/conf/neo4j.conf ]]; then
        write_settings "$folder" "$port" "$password" "$certificate" "$key"
    fi
    rm -f "$folder/logs/neo4j.log"
    java "${java_options[@]}" -cp "$artefacts/lib/*:$folder/plugins/*" \
        org.neo4j.server.CommunityEntryPoint \
        --home-dir="$folder" --config-dir="$folder/conf" >"$folder/console.log" 2>&1 &
    echo $! >"$folder/pid"
    local waited
    for ((waited = 0; waited < 600; waited++)); do
        if grep -q 'Started\.' "$folder/logs/neo4j.log" 2>/dev/null; then
            printf 'bolt://127.0.0.1:%d pid %d\n' "$port" "$(cat "$folder/pid")"
            return
        fi
        if ! kill -0 "$(cat "$folder/pid")" 2>/dev/null; then break; fi
        sleep 0.2
    done
    tail -n 20 "$folder/console.log" "$folder/logs/neo4j.log" >&2
    return 1
}

import() {
    local folder=$1 port=$2
    shift 2
    fetch
    mkdir -p "$folder"
    folder=$(cd "$folder" && pwd)
    write_settings "$folder" "$port" "" "" ""
    NEO4J_HOME=$folder NEO4J_CONF=$folder/conf java "-Xmx${HEAP:-1g}" -cp "$artefacts/lib/*" \
        org.neo4j.cli.AdminTool database import full neo4j --report-file="$folder/import.report" "$@" >"$folder/import.log" 2>&1 || {
        tail -n 20 "$folder/import.log" >&2
        return 1
    }
}

stop() {
    local pid waited
    pid=$(cat "$1/pid")
    kill "$pid" 2>/dev/null || true
    for ((waited = 0; waited < 300; waited++)); do
        kill -0 "$pid" 2>/dev/null || break
        sleep 0.1
    done
    kill -9 "$pid" 2>/dev/null || true
    rm -f "$1/pid"
}

command=${1:-}
shift || true
case $command in
fetch) fetch ;;
start) start "$@" ;;
stop) stop "$@" ;;
import) import "$@" ;;
*)
    grep '^#  ' "${BASH_SOURCE[0]}" >&2
    exit 2
    ;;
esac
