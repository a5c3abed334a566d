"""LDBC's social network on Telar, embedded and over Bolt, and on Neo4j over Bolt: same machine, same data.

    python bench/compare/snb.py prepare FOLDER --telar BINARY --data snb/sf0.1-gen.tar.zst
    python bench/compare/snb.py reads FOLDER --telar BINARY --data ...     # any number of times: medians count
    python bench/compare/snb.py mixed FOLDER --telar BINARY --data ...     # once: it changes the stores
    python bench/compare/snb.py table FOLDER

Needs Go, what bench/compare/neo4j.sh needs, and `telar-bench` beside BINARY (`cargo build --release
-p telar-server -p telar-bench`). `prepare` has `telar bench snb` write the data, the
questions with their answers and the operations of the mixed run, imports the data into both servers
with the same constraints and indexes, and compares the answers of all reads with the expected ones.
`reads` warms both servers up and measures each read alone with its sets of parameters in turn, in
turns of the servers; `mixed` runs the same operations in the same order. Both have `telar bench snb`
measure Telar embedded in the same run. Bolt's client is bench/compare/bolt. Pieces are short so that
other work can be stopped meanwhile.

A figure "ms" is the mean over the sets of parameters of the median time, on the wall, seen by the
client. Results on this data are not LDBC benchmark results.
"""

import argparse
import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
SERVERS = ("telar", "neo4j")


class Telar:
    def __init__(self, folder, binary):
        self.folder, self.binary, self.store = folder, binary, folder / "telar"

    def load(self, data):
        options = ["--delimiter", "|", "--quote", "\x01", "--id-type", "integer"]
        for names, files in data["nodes"]:
            options += ["--nodes", ":".join(names) + "=" + ",".join(files)]
        for names, files in data["relationships"]:
            options += ["--relationships", ":".join(names) + "=" + ",".join(files)]
        subprocess.run([self.binary, "import", self.store, *options], check=True)

    def start(self):
        command = [self.binary, "serve", self.store, "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"]
        log = self.folder / "telar.log"
        self.server = subprocess.Popen(command, stdout=open(log, "w", encoding="utf-8"), stderr=subprocess.STDOUT)
        while "bolt://" not in (text := log.read_text("utf-8")):
            if self.server.poll() is not None:
                raise RuntimeError(f"telar serve ended: {text}")
            time.sleep(0.01)
        return text.split("bolt://")[1].split()[0], self.server.pid

    def stop(self):
        self.server.send_signal(signal.SIGTERM)
        self.server.wait()


class Neo4j:
    PORT = 17731

    def __init__(self, folder, _):
        self.store = folder / "neo4j"

    def load(self, data):
        options = ["--delimiter=|", "--array-delimiter=;", "--quote=U+0001", "--id-type=integer"]
        for names, files in data["nodes"]:
            options.append("--nodes=" + ":".join(names) + "=" + ",".join(files))
        for names, files in data["relationships"]:
            options.append("--relationships=" + ":".join(names) + "=" + ",".join(files))
        subprocess.run([HERE / "neo4j.sh", "import", self.store, str(self.PORT), *options], check=True)

    def start(self):
        said = subprocess.run([HERE / "neo4j.sh", "start", self.store, str(self.PORT)], check=True,
                              capture_output=True, text=True)
        return f"127.0.0.1:{self.PORT}", int(said.stdout.split()[-1])

    def stop(self):
        subprocess.run([HERE / "neo4j.sh", "stop", self.store], check=True)


def client(folder, do, address, process, *options):
    command = [folder / "bolt-client", "-do", do, "-folder", folder, "-address", address, "-server", str(process)]
    said = subprocess.run([*command, *map(str, options)], check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(said.stdout)


def embedded(options, *more):
    """What `telar bench snb` measures, as a dictionary of its figures."""
    file = options.folder / "embedded.json"
    command = [options.telar, "bench", "snb", "--data", options.data, "--json", file, "--dir", options.folder]
    subprocess.run([*command, *map(str, more)], check=True, stdout=subprocess.DEVNULL)
    return json.loads(file.read_text())["figures"]


def normal(order, rows):
    """Rows so that those whose order is open are the same in any order."""
    if order is None:
        return rows
    rows = [[sorted(v, key=repr) if at in order["lists"] else v for at, v in enumerate(row)] for row in rows]
    key = lambda row: [row[at] for at in order["keys"]]  # noqa: E731
    sorted_rows, at = [], 0
    while at < len(rows):
        end = at
        while end < len(rows) and key(rows[end]) == key(rows[at]):
            end += 1
        sorted_rows += sorted(rows[at:end], key=repr)
        at = end
    return sorted_rows


def differences(questions, answers):
    for read in questions["reads"]:
        for at, asked in enumerate(read["sets"]):
            found, expected = (normal(read["order"], rows) for rows in (answers[read["name"]][at], asked["rows"]))
            # 1 and 1.0 are equal here; the embedded run tells them apart.
            if found != expected:
                yield f'{read["name"]} {asked["parameters"]}: {found[:1]} instead of {expected[:1]}'


@contextlib.contextmanager
def running(options, names=SERVERS):
    """Addresses and processes of the servers, by name."""
    with contextlib.ExitStack() as stack:
        started = {}
        for name in names:
            server = {"telar": Telar, "neo4j": Neo4j}[name](options.folder, options.telar)
            started[name] = server.start()
            stack.callback(server.stop)
        yield started


def prepare(options):
    folder = options.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(["go", "build", "-o", folder / "bolt-client", "."], cwd=HERE / "bolt", check=True)
    subprocess.run([options.telar, "bench", "snb", "--data", options.data, "--export", folder, "--mixed", "0",
                    "--rounds", "0", "--operations", str(options.operations)], check=True)
    data = json.loads((folder / "import.json").read_text())
    for server in (Telar, Neo4j):
        print(f"importing into {server.__name__}", file=sys.stderr)
        server(folder, options.telar).load(data)
    questions = json.loads((folder / "questions.json").read_text())
    # The schema runs as queries: both servers are told the same, and wait until indexes are filled.
    schema = {f"schema-{at}": text for at, text in enumerate(data["schema"])}
    schema["schema-wait"] = "CALL db.awaitIndexes(300)"
    with running(options) as started:
        for name, (address, process) in started.items():
            for text in schema.values():
                if name == "neo4j" or "CALL" not in text:
                    client(folder, "query", address, process, "-text", text)
            wrong = list(differences(questions, client(folder, "answers", address, process)))
            if wrong:
                raise SystemExit(f"{name} answers otherwise:\n" + "\n".join(wrong))
            print(f"{name}: all answers are right", file=sys.stderr)
    (folder / "found.json").write_text(json.dumps({"reads": {name: [] for name in (*SERVERS, "embedded")}, "mixed": {}}))


def reads(options):
    found = json.loads((options.folder / "found.json").read_text())
    with running(options) as started:
        for name, (address, process) in started.items():
            for _ in range(2):
                client(options.folder, "reads", address, process, "-seconds", options.warm / 2)
        for _ in range(options.rounds):
            for name, (address, process) in started.items():
                result = client(options.folder, "reads", address, process, "-seconds", options.seconds)
                found["reads"][name].append(result)
    figures = embedded(options, "--mixed", 0, "--rounds", options.rounds, "--turn", int(options.seconds * 1000))
    result = {}
    for key, value in figures.items():
        read, figure = key.split("/")
        result.setdefault(read, {})[figure] = value
    found["reads"]["embedded"].append(result)
    (options.folder / "found.json").write_text(json.dumps(found))


def mixed(options):
    found = json.loads((options.folder / "found.json").read_text())
    for name in SERVERS:
        with running(options, [name]) as started:
            address, process = started[name]
            # Java compiles what it runs often, so the first operations do not count.
            found["mixed"][name] = client(options.folder, "mixed", address, process, "-warm", options.warm,
                                          "-seconds", options.mixed, "-connections", options.threads)
            if missing := {"complex", "short", "update"} - found["mixed"][name].keys():
                raise SystemExit(f"{name} ran no {' and no '.join(missing)} in time: the machine is too busy to compare")
    figures = embedded(options, "--mixed", options.mixed, "--rounds", 1, "--threads", options.threads)
    found["mixed"]["embedded"] = {
        "per_s": figures["mixed/per_s"], "operations": figures["mixed/operations"], "CPU_us": figures["mixed/CPU_us"],
        **{kind: {part: figures[f"mixed/{kind}/{part}"] for part in ("count", "p50_ms", "p99_ms")}
           for kind in ("complex", "short", "update")}}
    found["mixed"]["threads"] = options.threads
    (options.folder / "found.json").write_text(json.dumps(found))


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(options):
    found = json.loads((options.folder / "found.json").read_text())
    names = ("embedded", *SERVERS)
    medians = {name: {} for name in names}
    for name in names:
        for read in found["reads"]["neo4j"][0]:
            runs = [run[read] for run in found["reads"][name]]
            medians[name][read] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
    print("| read | Telar embedded ms | p99 | CPU ms | Telar Bolt ms | p99 | CPU ms "
          "| Neo4j Bolt ms | p99 | CPU ms | embedded x | Bolt x |")
    print("|---|" + "---:|" * 11)
    ratios = {}
    for read in sorted(found["reads"]["neo4j"][0], key=lambda name: (name.split("-")[0], int(name.split("-")[1]))):
        cells = [digits(medians[name][read][key]) for name in names for key in ("ms", "p99_ms", "CPU_ms")]
        for name in ("embedded", "telar"):
            for key in ("ms", "CPU_ms"):
                ratio = medians["neo4j"][read][key] / max(medians[name][read][key], 1e-6)
                ratios.setdefault((name, read.split("-")[0], key), []).append(ratio)
            cells.append(digits(ratios[name, read.split("-")[0], "ms"][-1]))
        print(f"| {read} | " + " | ".join(cells) + " |")
    for (name, kind, key), some in ratios.items():
        mean = math.exp(statistics.mean(map(math.log, some)))
        what = "time" if key == "ms" else "server's processor time"
        print(f"\n{kind} reads, {name} against Neo4j, {what}: geometric mean {mean:.1f}x, least {min(some):.1f}x")
    if not found["mixed"]:
        return
    print("\n| mixed, clients: {} | operations/s | CPU µs | complex p50 | p99 ms | short p50 | p99 ms | update p50 | p99 ms |"
          .format(found["mixed"]["threads"]))
    print("|---|" + "---:|" * 8)
    for name in names:
        run = found["mixed"][name]
        cells = [digits(run["per_s"]), digits(run["CPU_us"])]
        cells += [digits(run[kind][part]) for kind in ("complex", "short", "update") for part in ("p50_ms", "p99_ms")]
        print(f"| {name} | " + " | ".join(cells) + " |")
    for name in ("embedded", "telar"):
        print(f"\n{name}: {found['mixed'][name]['per_s'] / found['mixed']['neo4j']['per_s']:.1f}x Neo4j's throughput")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("do", choices=("prepare", "reads", "mixed", "table"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--telar", type=os.path.realpath, default=HERE.parents[1] / "target" / "release" / "telar")
    parser.add_argument("--data", type=os.path.realpath, help="the data set, as telar bench snb takes it")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each read in a round, at least")
    parser.add_argument("--warm", type=float, default=1, help="seconds of each read, or of the mixed run, before anything counts")
    parser.add_argument("--mixed", type=int, default=20, help="seconds of the mixed run")
    parser.add_argument("--threads", type=int, default=1, help="clients of the mixed run")
    parser.add_argument("--operations", type=int, default=500_000, help="the most operations of the mixed run")
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    if options.data is None and options.do != "table":
        parser.error("--data is missing")
    {"prepare": prepare, "reads": reads, "mixed": mixed, "table": table}[options.do](options)


if __name__ == "__main__":
    main()
