#!/usr/bin/env python3
"""Counts how many queries of others Neo4j and Telar answer alike.

    agree.py FOLDER-OR-FILE... --neo4j bolt://127.0.0.1:17687 --telar bolt://127.0.0.1:27687

The files have the form of tests/cypher/manual (tests/src/cases.rs) without the answers: graphs, and
queries as somebody published them. They are not part of this repository. Each query is asked on a graph
of its own, on servers whose data may be deleted, and is answered alike if columns, rows, counters and
the code of an error are the same. The order of rows does not count, nor that of the elements of a list
(`collect`, `keys` and `labels` have none), nor digits of a floating-point number after the ninth.

With `--import FOLDER FOLDER`, of Neo4j and of Telar, files for LOAD CSV are written there; without, the
files' queries are left out, as are those that need Neo4j's Enterprise Edition.
"""

import argparse
import collections
import pathlib
import re

import neo4j

import ask

ENTERPRISE = re.compile(
    "Neo4j Enterprise Edition|Unsupported administration command|not supported in community|Unrecognised runtime", re.I)


def answer(server, case, graph):
    try:
        return server.answer(case, graph, loose=True) or [""]
    except neo4j.exceptions.Neo4jError as error:
        server.changed, server.message = True, error.message
        return [f"the graph: {error.code}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--neo4j", required=True)
    parser.add_argument("--telar", required=True)
    parser.add_argument("--import", dest="folders", nargs=2, type=pathlib.Path)
    options = parser.parse_args()
    neo, telar = ask.Server(options.neo4j), ask.Server(options.telar)
    total = collections.Counter()
    for path in ask.files(options.files):
        counts = collections.Counter()
        _, blocks = ask.read(path)
        for block in blocks:
            if block.title.startswith("file ") and options.folders:
                for folder in options.folders:
                    folder.joinpath(block.title[5:].strip()).write_text("\n".join(block.text) + "\n")
        for case, graph in ask.cases(blocks):
            if "LOAD CSV" in "\n".join(case.text).upper() and not options.folders:
                counts["left out"] += 1
                continue
            expected, found = answer(neo, case, graph), answer(telar, case, graph)
            if expected[0].startswith("the graph") or ENTERPRISE.search(neo.message):
                counts["left out"] += 1
            elif expected == found:
                counts["alike"] += 1
                counts["errors"] += expected[0].startswith("error")
            else:
                counts["different"] += 1
                print(f"### {path.name}: {case.title}")
                print("\n".join(case.text).strip())
                print("  neo4j:", *expected[:12], neo.message[:300], sep="\n    ")
                print("  telar:", *found[:12], telar.message[:300], sep="\n    ")
        print(f"=== {path.name}: {dict(counts)}", flush=True)
        total += counts
    asked = total["alike"] + total["different"]
    print(f"{asked} queries, {total['alike']} answered alike ({total['alike'] / max(asked, 1):.2%}; {total['errors']} of "
          f"them with the same error), {total['different']} not; {total['left out']} left out")


if __name__ == "__main__":
    main()
