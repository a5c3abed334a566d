"""The nine counting queries of LDBC's subgraph benchmark (LSQB) on one or more builds of Telar, over Bolt.

    python bench/compare/lsqb.py --telar BINARY [--telar BINARY ...] --data snb/sf0.1-gen.tar.zst
                                 [--rounds N] [--only q3,q6] [--json FILE] [--profile]

Needs the official Python driver (tools/drivers.sh installs it), and `telar-bench` beside the first
BINARY: `cargo build --release -p telar-server -p telar-bench`. `telar bench snb --export` writes the
data as CSV with headers; each build imports it into a store of its own and serves it. The expected
counts are computed here from the CSV files, in plain Python and before anything is timed; every answer
is compared with them. Then the builds are asked in turns, query by query, after a warm-up round. A
figure is the median of a round's time on the wall, in ms, seen by the client; with two builds the
last column is the first one's figure over the last one's.

The queries follow Szarnyas et al., "LSQB: A Large-Scale Subgraph Query Benchmark" (GRADES-NDA 2021).
Results on this data are not LDBC benchmark results.
"""

import argparse
import contextlib
import csv
import json
import os
import pathlib
import signal
import statistics
import subprocess
import tempfile
import time
from collections import Counter, defaultdict

ROOT = pathlib.Path(__file__).resolve().parents[2]

QUERIES = {
    "q1": """MATCH (:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(:Person)<-[:HAS_MEMBER]-(:Forum)
        -[:CONTAINER_OF]->(:Post)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass)
        RETURN count(*) AS n""",
    "q2": """MATCH (a:Person)-[:KNOWS]-(b:Person),
        (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(b)
        RETURN count(*) AS n""",
    "q3": """MATCH (country:Country)
        MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
        MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
        MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
        MATCH (a)-[:KNOWS]-(b)-[:KNOWS]-(c)-[:KNOWS]-(a)
        RETURN count(*) AS n""",
    "q4": """MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person),
        (m)<-[:LIKES]-(:Person), (m)<-[:REPLY_OF]-(:Comment)
        RETURN count(*) AS n""",
    "q5": """MATCH (t:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_TAG]->(u:Tag)
        WHERE t <> u
        RETURN count(*) AS n""",
    "q6": """MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)
        WHERE a <> c
        RETURN count(*) AS n""",
    "q7": """MATCH (:Tag)<-[:HAS_TAG]-(m:Message)-[:HAS_CREATOR]->(:Person)
        OPTIONAL MATCH (m)<-[:LIKES]-(:Person)
        OPTIONAL MATCH (m)<-[:REPLY_OF]-(:Comment)
        RETURN count(*) AS n""",
    "q8": """MATCH (t:Tag)<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(c:Comment)-[:HAS_TAG]->(u:Tag)
        WHERE t <> u AND NOT (c)-[:HAS_TAG]->(t)
        RETURN count(*) AS n""",
    "q9": """MATCH (a:Person)-[:KNOWS]-(:Person)-[:KNOWS]-(c:Person)-[:HAS_INTEREST]->(:Tag)
        WHERE a <> c AND NOT (a)-[:KNOWS]-(c)
        RETURN count(*) AS n""",
}


class Data:
    """The relationships of the CSV files, by the names of the files."""

    def __init__(self, folder):
        self.folder = folder

    def pairs(self, *names):
        for name in names:
            with open(self.folder / f"{name}_0_0.csv", encoding="utf-8", newline="") as file:
                rows = csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)
                next(rows)
                for row in rows:
                    yield int(row[0]), int(row[1])

    def labels(self, name):
        with open(self.folder / f"{name}_0_0.csv", encoding="utf-8", newline="") as file:
            rows = csv.reader(file, delimiter="|", quoting=csv.QUOTE_NONE)
            column = next(rows).index(":LABEL")
            return {int(row[0]): row[column] for row in rows}


def lists(pairs):
    found = defaultdict(list)
    for a, b in pairs:
        found[a].append(b)
    return found


def expected(data):
    """The counts, by query. Ids of posts and comments are distinct, so they need no types here; every
    pair of ids stands in a file once at most, so that lists of neighbours are sets."""
    place = data.labels("static_place")
    country = {a: b for a, b in data.pairs("static_place_isPartOf_place")
               if place[a] == "City" and place[b] == "Country"}
    city = dict(data.pairs("dynamic_person_isLocatedIn_place"))
    home = {person: country[at] for person, at in city.items() if at in country}
    class_count = Counter(tag for tag, _ in data.pairs("static_tag_hasType_tagclass"))
    tags = lists(data.pairs("dynamic_post_hasTag_tag", "dynamic_comment_hasTag_tag"))
    creator = dict(data.pairs("dynamic_post_hasCreator_person", "dynamic_comment_hasCreator_person"))
    to_post = list(data.pairs("dynamic_comment_replyOf_post"))
    replies = to_post + list(data.pairs("dynamic_comment_replyOf_comment"))
    reply_count = Counter(message for _, message in replies)
    likes = Counter(message for _, message in data.pairs(
        "dynamic_person_likes_post", "dynamic_person_likes_comment"))
    knows = defaultdict(Counter)
    for a, b in data.pairs("dynamic_person_knows_person"):
        knows[a][b] += 1
        knows[b][a] += 1
        assert a != b and knows[a][b] == 1, "the formulas below are for single relationships"
    interests = Counter(person for person, _ in data.pairs("dynamic_person_hasInterest_tag"))

    counts = dict.fromkeys(QUERIES, 0)
    members = Counter(forum for forum, person in data.pairs("dynamic_forum_hasMember_person") if person in home)
    forum_of = {post: forum for forum, post in data.pairs("dynamic_forum_containerOf_post")}
    for comment, post in to_post:
        if forum := members[forum_of[post]]:
            counts["q1"] += forum * sum(class_count[tag] for tag in tags[comment])
        counts["q2"] += knows[creator[comment]][creator[post]]
    for a, others in knows.items():
        for b in others:
            if b in home and home.get(a) == home[b]:
                counts["q3"] += sum(home.get(c) == home[a] for c in knows[b] if c in others)
    for message, of_message in tags.items():
        each = len(of_message)
        counts["q4"] += each * likes[message] * reply_count[message]
        counts["q7"] += each * max(likes[message], 1) * max(reply_count[message], 1)
    for comment, message in replies:
        of_comment = set(tags[comment])
        for tag in tags[message]:
            others = len(of_comment) - (tag in of_comment)
            counts["q5"] += others
            counts["q8"] += 0 if tag in of_comment else others
    for others in knows.values():
        for a in others:
            for c in others:
                if a != c:
                    counts["q6"] += interests[c]
                    counts["q9"] += 0 if c in knows[a] else interests[c]
    return counts


class Server:
    """A build that serves a store of its own."""

    def __init__(self, binary, folder, export):
        self.binary, self.store, self.log = binary, folder / "store", folder / "log"
        folder.mkdir()
        data = json.loads((export / "import.json").read_text())
        options = ["--delimiter", "|", "--quote", "\x01", "--id-type", "integer"]
        for kind in ("nodes", "relationships"):
            for names, files in data[kind]:
                options += [f"--{kind}", ":".join(names) + "=" + ",".join(files)]
        subprocess.run([binary, "import", self.store, *options], check=True, stdout=subprocess.DEVNULL)

    def __enter__(self):
        command = [self.binary, "serve", self.store, "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        end = time.monotonic() + 60
        while "bolt://" not in (text := self.log.read_text("utf-8")):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"telar serve did not start: {text}")
            time.sleep(0.01)
        import neo4j
        self.driver = neo4j.GraphDatabase.driver("bolt://" + text.split("bolt://")[1].split()[0])
        self.session = self.driver.session()
        return self

    def __exit__(self, *_):
        self.session.close()
        self.driver.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    def ask(self, text):
        begun = time.perf_counter()
        [record] = self.session.run(text)
        return record["n"], (time.perf_counter() - begun) * 1e3

    def plan(self, text):
        result = self.session.run("PROFILE " + text)
        return result.consume().profile

    def wait(self, schema):
        for text in schema:
            self.session.run(text).consume()
        self.session.run("CALL db.awaitIndexes(300)").consume()


def show(plan, depth=0):
    details = plan.get("args", {}).get("Details", "")
    time_ms = plan.get("args", {}).get("Time", 0) / 1e6
    print(f"{'  ' * depth}{plan['operatorType']} {details} rows={plan.get('rows')} "
          f"hits={plan.get('dbHits')} ms={time_ms:.2f}")
    for child in plan.get("children", []):
        show(child, depth + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--telar", type=os.path.realpath, action="append")
    parser.add_argument("--data", type=os.path.realpath, required=True,
                        help="the data set, as telar bench snb takes it")
    parser.add_argument("--queries", type=os.path.realpath, help="as telar bench snb takes it")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(QUERIES))
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--folder", help="where stores are made, and removed again")
    parser.add_argument("--profile", action="store_true", help="also print the plans of the last build")
    options = parser.parse_args()
    binaries = options.telar or [ROOT / "target" / "release" / "telar"]
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        queries = ["--queries", options.queries] if options.queries else []
        subprocess.run([binaries[0], "bench", "snb", "--data", options.data, *queries, "--export", folder, "--mixed", "0",
                        "--rounds", "0", "--operations", "1", "--dir", folder], check=True, stdout=subprocess.DEVNULL)
        counts = expected(Data(folder / "csv"))
        servers = [stack.enter_context(Server(binary, folder / str(at), folder)) for at, binary in enumerate(binaries)]
        schema = json.loads((folder / "import.json").read_text())["schema"]
        for server in servers:
            server.wait(schema)
            for name in options.only:
                found = server.ask(QUERIES[name])[0]
                if found != counts[name]:
                    raise SystemExit(f"{server.binary} finds {found} for {name}, not {counts[name]}")
        times = {name: [[] for _ in servers] for name in options.only}
        for name in options.only:
            for number in range(options.rounds + 1):
                for server, found in zip(servers, times[name]):
                    count, ms = server.ask(QUERIES[name])
                    assert count == counts[name], (name, count)
                    if number > 0:
                        found.append(ms)
        print("| query | count | " + " | ".join(f"{binary} ms" for binary in binaries) + " | first / last |")
        print("|---|---:|" + "---:|" * (len(binaries) + 1))
        medians = {name: [statistics.median(of) for of in found] for name, found in times.items()}
        for name, of in medians.items():
            cells = " | ".join(f"{ms:.1f}" for ms in of)
            print(f"| {name} | {counts[name]:,} | {cells} | {of[0] / of[-1]:.2f} |")
        if options.profile:
            for name in options.only:
                print(name)
                show(servers[-1].plan(QUERIES[name]))
        if options.json:
            options.json.write_text(json.dumps({"counts": counts, "ms": medians, "rounds": options.rounds}))


if __name__ == "__main__":
    main()
