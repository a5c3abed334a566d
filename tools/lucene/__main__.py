"""Generated queries in Lucene's syntax: full-text search of Telar against Neo4j 5.26.

    bench/compare/neo4j.sh start /tmp/neo4j 17861
    target/drivers/python/bin/python tools/lucene --telar target/release/telar --neo4j bolt://127.0.0.1:17861
    bench/compare/neo4j.sh stop /tmp/neo4j

Starts Telar in memory, empties Neo4j, and writes the same graph to both. Asks both each query; one in six is malformed.
Compares failures and their codes, sets of hits, scores and their order. Differences that docs/search.md documents
(ARGUED in known.py) are counted. Others are printed with a smaller query that differs in the same way, and the exit
code is 1; of each reason in OPEN, what Telar is to mend, only the first one is printed.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
from collections import Counter, namedtuple
from pathlib import Path

from answers import Figures, difference
from known import ARGUED, OPEN, reason_of
from queries import ALL, Documents, Queries, minimised, text
from servers import INDEXES, Server

sys.path.append(str(Path(__file__).resolve().parents[1]))
from differential import start_telar

Outcome = namedtuple("Outcome", "here there kind different argued open")


class Comparison:
    def __init__(self, telar, other, documents):
        self.telar, self.other, self.documents, self.figures = telar, other, documents, Figures()
        self.causes = Counter()

    def outcome(self, index, query, options):
        """The answers, the kind of their difference, the documents that differ, and the reason if it is known."""
        here, there = (server.answer(index, query, options) for server in (self.telar, self.other))
        kind, ids = difference(here, there, options)
        if kind and options["limit"] != ALL:
            # What moves one document past the limit is seen where all are compared.
            whole = self.outcome(index, query, {"limit": ALL})
            if whole.kind:
                return whole
        stored = self.documents.nodes if index.of_nodes else self.documents.relationships
        different = [stored[at] for at in sorted(ids)]
        reasons = [kind and reason_of(entries, kind, index, query, different) for entries in (ARGUED, OPEN)]
        return Outcome(here, there, kind, different, *reasons)

    def ask(self, index, tree, options):
        outcome = self.outcome(index, text(tree), options)
        self.figures.count(outcome.here, outcome.there)
        if outcome.argued:
            self.figures.argued[outcome.argued] += 1
        elif outcome.open:
            self.figures.open[outcome.open] += 1
        elif outcome.kind:
            self.figures["differences"] += 1
        if outcome.kind and not outcome.argued and (not outcome.open or self.figures.open[outcome.open] == 1):
            self.show(index, tree, options, outcome)

    def show(self, index, tree, options, outcome):
        """Prints a difference with the smallest query found that differs in the same way."""
        whole, same = text(tree), outcome[2:3] + outcome[4:]

        def differs(less):
            found = self.outcome(index, text(less), options)
            return found[2:3] + found[4:] == same
        query = text(minimised(tree, differs))
        self.causes[outcome.kind, query] += 1
        if self.causes[outcome.kind, query] > 1:
            return
        here, there, _, different, _, _ = self.outcome(index, query, options)
        print(f"{outcome.kind}: {query!r} on {index.name} {options}, of {whole!r}: {outcome.open or 'not known'}")
        for server, answer in ((self.telar, here), (self.other, there)):
            if isinstance(answer, str):
                print(f"  {server.name}: {answer}: {server.message:.200}")
            else:
                scores = dict(map(tuple, answer))
                some = answer[:8] if not different else [(at["id"], scores.get(at["id"])) for at in different[:4]]
                print(f"  {server.name}: {len(answer)} hits, of them {some}")
        for properties in sorted(different, key=lambda one: len(repr(one)))[:2]:
            print(f"  document {properties}")
        print(flush=True)


def self_test():
    """Fails unless the comparison tells apart answers that differ, and makes a query smaller."""
    every, hits = {"limit": ALL}, [[1, 3.0], [2, 2.0], [3, 2.0], [4, 1.0]]
    tied = [hits[0], hits[2], hits[1], hits[3]]
    for expected, here, options in [
            (None, hits, every), (None, tied, every), (None, [[1, 3.0001], *hits[1:]], every),
            ("hits", hits[:-1], every), ("hits", [*hits, [5, 0.5]], every), ("hits", [[9, 3.0], *hits[1:]], every),
            ("scores", [[1, 3.01], *hits[1:]], every), ("order", [hits[1], hits[0], *hits[2:]], every),
            ("failure", "Neo.ClientError.Statement.SyntaxError", every),
            (None, [*hits[:3], [5, 1.0]], {"limit": 4}), ("hits", [hits[0], [5, 2.5], *hits[2:]], {"limit": 4})]:
        found, _ = difference(here, hits, options)
        assert found == expected, f"{here}: {found} instead of {expected}"
    assert difference("one", "other", every)[0] == "code" and difference("one", "one", every)[0] is None
    found = text(minimised(["a", [" AND ", ["(", ["b", [" OR ", "c*"]], ")"]]], lambda less: "*" in text(less)))
    assert found == "*", found
    print("self-test passed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--telar", metavar="BINARY", type=os.path.realpath, help="Telar's binary, which is started")
    parser.add_argument("--neo4j", metavar="BOLT_URI", help="a running Neo4j without authentication; it is emptied")
    parser.add_argument("--queries", metavar="N", type=int, default=2000, help="how many queries (default 2000)")
    parser.add_argument("--seed", metavar="S", type=int, default=1, help="seed of graph and queries (default 1)")
    parser.add_argument("--self-test", action="store_true", help="only prove that the comparison can fail")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if not options.telar or not options.neo4j:
        parser.error("--telar and --neo4j are needed")
    if not os.access(options.telar, os.X_OK):
        parser.error(f"{options.telar} is no program")
    other = Server("Neo4j", options.neo4j)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as folder:
        process, address = start_telar(options.telar, folder)
        try:
            comparison = Comparison(Server("Telar", f"bolt://{address}"), other, Documents(rng))
            comparison.telar.fill(comparison.documents)
            other.fill(comparison.documents)
            queries = Queries(rng)
            for _ in range(options.queries):
                comparison.ask(*queries.case(INDEXES))
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()
    figures = comparison.figures
    for name, reasons in (("argued", figures.argued), ("open", figures.open)):
        for reason, count in reasons.most_common():
            print(f"{name} {count:5}  {reason}")
    print(f"{figures['queries']} queries: {figures['equal errors']} equal errors, "
          f"{figures['equal hit sets']} equal hit sets ({figures['with hits']} with hits), "
          f"{figures['scores']} scores compared, "
          f"greatest error {figures.error:.1e}, {figures.argued.total()} argued, {figures.open.total()} open, "
          f"{figures['differences']} other differences")
    return figures.open.total() + figures["differences"] > 0


if __name__ == "__main__":
    sys.exit(main())
