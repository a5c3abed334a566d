#!/usr/bin/env python3
"""Asks servers the cases of tests/cypher/manual, and writes down or compares what they answer.

    ask.py record  FOLDER-OR-FILE... --neo4j bolt://127.0.0.1:17687
    ask.py compare FOLDER-OR-FILE... --neo4j ... --telar bolt://127.0.0.1:27687

`record` writes Neo4j's answers into the files; `compare` changes nothing and prints where the two
servers differ. Needs the driver (pip install neo4j) and servers whose data may be deleted.
tests/tests/manual.rs asks Telar alone the same files; tests/src/cases.rs describes their form.
Files for LOAD CSV (`== file NAME`) are not given to the servers.
"""

import argparse
import json
import pathlib
import re
import sys

import neo4j
from neo4j.graph import Node, Path, Relationship
from neo4j.spatial import Point
from neo4j.time import Date, DateTime, Duration, Time

RULES = ("INDEX", "CONSTRAINT")


class Case:
    """A case: its lines before the answer, and the answer."""

    def __init__(self, title):
        self.title, self.text, self.answer, self.own = title, [], [], []
        self.ordered = False

    def statements(self):
        """Parameters, the statements that prepare, and the one that is asked."""
        parameters, lines = {}, []
        for line in self.text:
            if line.startswith("$$ "):
                parameters = json.loads(line[3:])
            else:
                lines.append(line)
        parts = [part.strip() for part in re.split(r";\s*\n", "\n".join(lines).strip())]
        return parameters, [p.rstrip(";") for p in parts[:-1]], parts[-1].rstrip(";")


def read(path):
    """Blocks of a file: lines of a head, then graphs and cases."""
    head, blocks, block = [], [], None
    for line in path.read_text().splitlines():
        if line.startswith("== "):
            block = Case(line[3:].strip())
            blocks.append(block)
            part = block.text
        elif block is None:
            head.append(line)
        elif line.startswith("---- telar"):
            part = block.own
            part.append(line)
        elif line.startswith("----"):
            block.ordered = line.strip() == "---- in order"
            part = block.answer
        else:
            part.append(line)
    return head, blocks


def key(text):
    plain = re.fullmatch(r"[^\W\d]\w*", text)
    return text if plain else "`" + text.replace("`", "``") + "`"


def entries(values, loose=False):
    return "{" + ", ".join(f"{key(k)}: {show(values[k], loose)}" for k in sorted(values)) + "}"


def node(n):
    labels = "".join(":" + key(label) for label in sorted(n.labels))
    if not n.keys():
        return f"({labels})"
    return f"({labels}{' ' if labels else ''}{entries(dict(n))})"


def relationship(r):
    return f"[:{key(r.type)}{' ' + entries(dict(r)) if r.keys() else ''}]"


def clock(t):
    text = f"{t.hour:02}:{t.minute:02}"
    if t.second or t.nanosecond:
        text += f":{t.second:02}"
    if t.nanosecond:
        text += f".{t.nanosecond:09}".rstrip("0")
    return text


def zone(t):
    offset = t.utcoffset()
    if offset is None:
        return ""
    seconds = int(offset.total_seconds())
    if seconds == 0:
        text = "Z"
    else:
        sign, seconds = ("-" if seconds < 0 else "+"), abs(seconds)
        text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}"
        if seconds % 60:
            text += f":{seconds % 60:02}"
    name = getattr(t.tzinfo, "zone", None)
    # The driver knows no zone but UTC for an offset of nothing.
    return text + (f"[{name}]" if name and name != "UTC" else "")


def real(x):
    if x != x:
        return "NaN"
    if x in (float("inf"), float("-inf")):
        return "Inf" if x > 0 else "-Inf"
    if x == 0:
        return "0.0"
    text = repr(x)
    if "e" not in text and abs(x) >= 1e-5:
        return text
    mantissa, exponent = (text.split("e") + ["0"])[:2]
    exponent = int(exponent)
    if exponent == -5:
        digits = mantissa.lstrip("-").replace(".", "")
        return ("-" if x < 0 else "") + "0.0000" + digits.removesuffix("0")
    return f"{mantissa.removesuffix('.0')}e{exponent}"


def show(v, loose=False):
    """A value as the runner writes it; `loose`: lists are sorted, numbers have 9 digits."""
    if v is None:
        return "null"
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, int):
        return str(v)
    if isinstance(v, float):
        return real(float(f"{v:.9g}")) if loose else real(v)
    if isinstance(v, (str, Duration, Date)) or hasattr(v, "iso_format"):
        if isinstance(v, Duration):
            v = v.iso_format()
        elif isinstance(v, DateTime):
            v = f"{v.date().iso_format()}T{clock(v.time())}{zone(v)}"
        elif isinstance(v, Time):
            v = clock(v) + zone(v)
        elif isinstance(v, Date):
            v = v.iso_format()
        text = v.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
        return "'" + text + "'"
    if isinstance(v, Point):
        names = {7203: "cartesian", 9157: "cartesian-3d", 4326: "wgs-84", 4979: "wgs-84-3d"}
        axes = ", ".join(f"{a}: {real(c)}" for a, c in zip("xyz", v))
        return show(f"point({{{axes}, crs: '{names[v.srid]}'}})")
    if isinstance(v, (list, tuple)) and not isinstance(v, Point):
        elements = [show(e, loose) for e in v]
        return "[" + ", ".join(sorted(elements) if loose else elements) + "]"
    if isinstance(v, Node):
        return node(v)
    if isinstance(v, Relationship):
        return relationship(v)
    if isinstance(v, Path):
        text = "<" + node(v.start_node)
        at = v.start_node
        for r in v.relationships:
            forward = r.start_node == at
            at = r.end_node if forward else r.start_node
            text += f"{'-' if forward else '<-'}{relationship(r)}{'->' if forward else '-'}{node(at)}"
        return text + ">"
    if isinstance(v, dict):
        return entries(v, loose)
    if isinstance(v, bytes):
        return "bytes " + v.hex()
    raise TypeError(type(v))


class Server:
    """A server, and the graph that it holds now."""

    def __init__(self, address, password=None):
        auth = ("neo4j", password) if password else None
        self.driver = neo4j.GraphDatabase.driver(address, auth=auth, notifications_min_severity="OFF")
        self.graph, self.changed = None, True

    def run(self, text, parameters=None):
        with self.driver.session() as session:
            result = session.run(neo4j.Query(text, timeout=20), parameters or {})
            rows = [list(record.values()) for record in result]
            return result.keys(), rows, result.consume()

    def prepare(self, graph):
        if not self.changed and self.graph == graph:
            return
        for what in ("CONSTRAINT", "INDEX"):
            column = "name, type" if what == "INDEX" else "name"
            for row in self.run(f"SHOW {what}ES YIELD {column}" if what == "INDEX"
                                else f"SHOW {what}S YIELD {column}")[1]:
                if row[-1] != "LOOKUP":
                    self.run(f"DROP {what} `{row[0]}` IF EXISTS")
        self.run("MATCH (n) DETACH DELETE n")
        for statement in graph:
            self.run(statement)
        self.graph, self.changed = graph, False

    def answer(self, case, graph, loose=False):
        """The lines of the answer of a case."""
        parameters, before, last = case.statements()
        self.prepare(graph)
        wrote = bool(before)
        try:
            for statement in before:
                self.run(statement, parameters)
            names, rows, summary = self.run(last, parameters)
        except neo4j.exceptions.Neo4jError as e:
            self.changed = True
            self.message = e.message
            return [f"error {e.code}"]
        except neo4j.exceptions.DriverError as e:
            self.changed = True
            return [f"driver {e}"]
        self.message = ""
        lines = []
        if names:
            lines = [" | ".join(names)]
            rows = [" | ".join(show(v, loose) for v in row) for row in rows]
            lines += rows if case.ordered else sorted(rows)
        counters = summary.counters
        kept = {k: v for k, v in sorted(vars(counters).items())
                if not k.startswith("_") and isinstance(v, int) and not isinstance(v, bool) and v}
        if kept:
            lines.append("counters " + ", ".join(f"{k} {v}" for k, v in kept.items()))
        self.changed = wrote or bool(kept) or any(r in last for r in RULES)
        return lines


def files(names):
    for name in map(pathlib.Path, names):
        yield from sorted(name.glob("**/*.test")) if name.is_dir() else [name]


def cases(blocks):
    """The cases among the blocks of a file, each with the statements of its graph."""
    graph = []
    for block in blocks:
        if block.title.startswith("graph"):
            text = "\n".join(block.text)
            graph = [s.strip().rstrip(";") for s in re.split(r";\s*\n", text) if s.strip()]
        elif not block.title.startswith("file "):
            yield block, graph


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["record", "compare"])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--neo4j")
    parser.add_argument("--telar")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    neo = Server(options.neo4j)
    telar = Server(options.telar) if options.telar else None
    asked = differ = 0
    for path in files(options.files):
        head, blocks = read(path)
        for case, graph in cases(blocks):
            if options.only not in case.title:
                continue
            asked += 1
            try:
                expected = neo.answer(case, graph)
            except Exception as e:
                sys.exit(f"{path}: {case.title}: {e}")
            if telar:
                try:
                    found = telar.answer(case, graph)
                except Exception as e:
                    found = [f"graph: {e}"]
                    telar.changed = True
                own = [line for line in case.own[1:] if line]
                if found != (own or expected):
                    differ += 1
                    print(f"### {path.name}: {case.title}")
                    print("\n".join(case.text).strip())
                    print("  neo4j:", *expected[:12], neo.message[:300], sep="\n    ")
                    print("  telar:", *found[:12], getattr(telar, "message", "")[:300], sep="\n    ")
            if options.command == "record":
                case.answer = expected
        if options.command == "record":
            out = list(head)
            for case in blocks:
                while case.text and not case.text[-1].strip():
                    case.text.pop()
                out += [f"== {case.title}", *case.text]
                if not case.title.startswith(("graph", "file ")):
                    out += ["---- in order" if case.ordered else "----", *case.answer]
                    own = [line for line in case.own if line]
                    out += own
                out.append("")
            path.write_text("\n".join(out).rstrip("\n") + "\n")
    print(f"{asked} asked, {differ} differ", file=sys.stderr)


if __name__ == "__main__":
    main()
