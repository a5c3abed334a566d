"""Telar and Neo4j over Bolt: same machine, same client, same data, in one run.

    python bench/compare/bolt.py TELAR [--folder FOLDER] [--workloads NAME ...] [--seconds S] [--rounds N]
    python bench/compare/bolt.py TELAR --startup

Needs the official Python driver (tools/drivers.sh installs it), Go, and what bench/compare/neo4j.sh
needs. Starts both servers without authentication, each with its own defaults (both wait for the disk before they
acknowledge a commit), loads the same graph, compares answers, warms both up until Java has
compiled what it will, and then measures in turns. The client is bench/compare/bolt (Go, raw Bolt
5.4): the official drivers take more time for a point read than Telar does and would measure themselves.
The time of the processors is read per server process, so that a ratio per server CPU can be
told apart from what the client took on the same cores. Each figure is the median of the rounds.

`--startup` measures how long Telar takes until it answers a query, by the size of the store.
"""

import argparse
import contextlib
import functools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time

import neo4j

HERE = pathlib.Path(__file__).resolve().parent
KNOWS = 5
TELAR_PORT, NEO4J_PORT = 17711, 17721
WORKLOADS = [("one", "RETURN 1"), ("point", "point read"), ("neighbours", "5 neighbours"), ("update", "update")]


def cpu_seconds(process):
    """User and system time of a process, all threads."""
    with open(f"/proc/{process}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Telar:
    name = "Telar"

    def __init__(self, binary, folder, port=0, http=("--no-http",)):
        self.binary, self.folder, self.port, self.http = binary, folder, port, http

    def start(self):
        command = [self.binary, "serve", self.folder, "--no-auth", "--bolt", f"127.0.0.1:{self.port}", *self.http]
        self.log = open(f"{self.folder}.log", "w+", encoding="utf-8")
        self.started = time.monotonic()
        self.server = subprocess.Popen(command, stdout=self.log, stderr=self.log)
        while "bolt://" not in (text := pathlib.Path(self.log.name).read_text("utf-8")):
            if self.server.poll() is not None:
                raise RuntimeError(f"telar serve ended: {text}")
            time.sleep(0.001)
        self.address = text.split("bolt://")[1].split()[0]
        self.process = self.server.pid

    def stop(self, how=signal.SIGTERM):
        self.server.send_signal(how)
        self.server.wait()


class Neo4j:
    name = "Neo4j"

    def __init__(self, folder, port):
        self.folder, self.address = folder, f"127.0.0.1:{port}"

    def start(self):
        port = self.address.rsplit(":", 1)[1]
        said = subprocess.run([HERE / "neo4j.sh", "start", self.folder, port], check=True, capture_output=True, text=True)
        self.process = int(said.stdout.split()[-1])

    def stop(self):
        subprocess.run([HERE / "neo4j.sh", "stop", self.folder], check=True)


def load(address, persons):
    """The same persons and the same acquaintances, by arithmetic."""
    with neo4j.GraphDatabase.driver(f"bolt://{address}") as driver:
        with driver.session() as session:
            session.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE").consume()
        for first in range(0, persons, 10000):
            driver.execute_query(
                "UNWIND range($first, $last) AS i CREATE (:Person {id: i, name: 'person ' + i, age: i % 90})",
                first=first, last=min(first + 10000, persons) - 1)
        for first in range(0, persons, 10000):
            driver.execute_query(
                "UNWIND range($first, $last) AS i MATCH (p:Person {id: i}) UNWIND range(1, $knows) AS k "
                "MATCH (q:Person {id: (i * 7 + k * k * 31) % $persons}) CREATE (p)-[:KNOWS]->(q)",
                first=first, last=min(first + 10000, persons) - 1, knows=KNOWS, persons=persons)


def answers(ask, persons):
    """What has to be equal between the two before anything is timed; `ask` gives the rows of a query."""
    ids = list(range(0, persons, max(1, persons // 500)))
    return [
        ask("MATCH (p:Person) RETURN count(p), sum(p.id)"),
        ask("MATCH (:Person)-[k:KNOWS]->() RETURN count(k)"),
        ask("UNWIND $ids AS id MATCH (p:Person {id: id}) RETURN p.name ORDER BY id", ids=ids),
        ask("UNWIND $ids AS id MATCH (p:Person {id: id})-[:KNOWS]->(f) RETURN id, f.id, f.name ORDER BY id, f.id",
            ids=ids),
        *[ask("MATCH (p:Person {id: $id}) RETURN p.name AS name", id=id) for id in ids[:50]],
    ]


def ask(server, query, **parameters):
    """The rows of a query over Bolt."""
    with neo4j.GraphDatabase.driver(f"bolt://{server.address}") as driver:
        return [list(row.values()) for row in driver.execute_query(query, parameters).records]


def build(client, folder):
    """A client, made of its sources beside this file."""
    program = os.path.join(folder, f"{client}-client")
    subprocess.run(["go", "build", "-o", program, "."], cwd=HERE / client, check=True)
    return program


def measure(client, server, workload, connections, seconds, persons):
    """What the client, a command, says of one run, and what the server's processors did for it."""
    before = cpu_seconds(server.process)
    said = subprocess.run(
        [*client, "-workload", workload, "-connections", str(connections), "-seconds", str(seconds),
         "-persons", str(persons)], check=True, stdout=subprocess.PIPE, text=True)
    result = json.loads(said.stdout)
    result["server_cpu_us"] = (cpu_seconds(server.process) - before) * 1e6 / result["operations"]
    result["client_cpu_us"] = result["client_cpu_seconds"] * 1e6 / result["operations"]
    return result


def table(results, connections, workloads):
    """One line for each workload: figures of both, and ratios."""
    print("| workload | connections | | per second | p50 µs | p99 µs | server CPU µs | client CPU µs |")
    print("|---|---|---|---|---|---|---|---|")
    for workload in workloads:
        title = dict(WORKLOADS)[workload]
        for count in connections:
            medians = {}
            for server in ("Telar", "Neo4j"):
                runs = results[server, workload, count]
                medians[server] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
                m = medians[server]
                print(f"| {title} | {count} | {server} | {m['per_second']:,.0f} | {m['p50_us']:,.0f} | "
                      f"{m['p99_us']:,.0f} | {m['server_cpu_us']:,.1f} | {m['client_cpu_us']:,.1f} |")
            telar, other = medians["Telar"], medians["Neo4j"]
            print(f"| | | ratio | {telar['per_second'] / other['per_second']:.1f} x | "
                  f"{telar['p50_us'] / other['p50_us']:.2f} x | {telar['p99_us'] / other['p99_us']:.2f} x | "
                  f"{telar['server_cpu_us'] / other['server_cpu_us']:.3f} x | |")


def compare(options, folder, servers, client, ask):
    """Compares what both answer to `ask(server, query, ...)`, and measures in turns with `client(server)`, a command."""
    def run(server, workload, connections, seconds):
        return measure(client(server), server, workload, connections, seconds, options.persons)

    results = {}
    with contextlib.ExitStack() as stack:
        for server in servers:
            new = not os.path.exists(server.folder)
            server.start()
            stack.callback(server.stop)
            if new:
                load(server.address, options.persons)
        first, second = (answers(functools.partial(ask, server), options.persons) for server in servers)
        if first != second:
            raise SystemExit("the answers differ: nothing was measured")
        if options.prepare:
            return
        for server in servers:
            for workload in options.workloads:
                run(server, workload, 32, options.warm)
                run(server, workload, 1, options.warm / 4)
        for _ in range(options.rounds):
            for workload in options.workloads:
                for connections in (1, 32):
                    for server in servers:
                        result = run(server, workload, connections, options.seconds)
                        results.setdefault((server.name, workload, connections), []).append(result)
    table(results, (1, 32), options.workloads)


def over_bolt(options, folder):
    program = build("bolt", folder)
    servers = [Telar(options.telar, os.path.join(folder, "telar"), TELAR_PORT),
               Neo4j(os.path.join(folder, "neo4j"), NEO4J_PORT)]
    compare(options, folder, servers, lambda server: [program, "-address", server.address], ask)


def startup(options, folder):
    """Seconds from the start of the process until it answered a query, after a stop and after a kill."""
    print("| persons | store MiB | ready after a stop, s | after `kill -9`, s |")
    print("|---|---|---|---|")
    for persons in (1000, 100_000, 1_000_000):
        store = os.path.join(folder, f"start-{persons}")
        new = not os.path.exists(store)
        server = Telar(options.telar, store)
        server.start()
        if new:
            load(server.address, persons)
        times = {signal.SIGTERM: [], signal.SIGKILL: []}
        for how, list_of_times in times.items():
            for _ in range(5):
                server.stop(how)
                server.start()
                with neo4j.GraphDatabase.driver(f"bolt://{server.address}") as driver:
                    driver.execute_query("MATCH (p:Person {id: 7}) RETURN p.name")
                list_of_times.append(time.monotonic() - server.started)
        server.stop()
        size = sum(file.stat().st_blocks * 512 for file in pathlib.Path(store).rglob("*") if file.is_file())
        stopped, killed = (statistics.median(list_of_times) for list_of_times in times.values())
        print(f"| {persons:,} | {size / 2**20:,.0f} | {stopped:.3f} | {killed:.3f} |", flush=True)


def arguments(description):
    """A parser of what comparisons can be told."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("telar", type=os.path.realpath)
    parser.add_argument("--folder", help="keeps the stores here for the next run (default: a temporary folder)")
    parser.add_argument("--prepare", action="store_true", help="load and compare, measure nothing")
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--warm", type=float, default=8, help="seconds of warming up per workload")
    parser.add_argument("--rounds", type=int, default=3)
    every = [workload for workload, _ in WORKLOADS]
    parser.add_argument("--workloads", nargs="+", choices=every, default=every)
    return parser


def within(options, run):
    """Runs it with the folder that was named, or with one for this time."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = os.path.realpath(options.folder or scratch)
        os.makedirs(folder, exist_ok=True)
        run(options, folder)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--startup", action="store_true")
    options = parser.parse_args()
    within(options, startup if options.startup else over_bolt)


if __name__ == "__main__":
    main()
