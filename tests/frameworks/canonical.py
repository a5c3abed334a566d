"""Names for what differs by chance between two recordings of a case (record.py): UUIDs, ids of elements, moments.

A moment is a time within the case's own run; all are the same word. A UUID that both recordings hold was computed, and
stands for itself. Any other random text is named by where it occurs in the dump of the graph: at first by its kind, and in
each further round by a digest of all records that hold it, with the names of the round before. Texts with equal names
have then the same place in the graph, as far as colour refinement (Weisfeiler and Leman) tells places apart.
"""

import datetime
import hashlib
import json
import re

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
RANDOM = re.compile(rf"""(?P<id>\d+:{UUID}:\d+|^n:\d+$|^r(?::\d+)+$)|(?P<name>^(?:index|constraint)_[0-9a-f]+$)
                    |(?P<uuid>{UUID}|(?<![0-9a-zA-Z])[0-9a-f]{{32}}(?![0-9a-zA-Z]))""", re.X)
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?(?:\[[\w/]+\])?")
# Random texts in canonical ones stand between these, which JSON does not escape.
MARKED = re.compile("\ue000(.*?)\ue001")
# Seconds that a moment may lie outside of the run: clocks are read in different grains.
SLACK = 2
ROUNDS = 4


class Recording:
    """One case of one server."""

    def __init__(self, lines):
        self.case = next(line for line in lines if line["kind"] == "case")
        self.window = self.case["started"] - SLACK, self.case["ended"] + SLACK
        self.days = {datetime.datetime.fromtimestamp(time, datetime.timezone.utc).date().isoformat()
                     for time in self.window}
        self.found = {}
        self.statements = [
            {**line, "text": self.canonical(line["text"]), "parameters": self.canonical(line["parameters"]),
             "rows": [[self.canonical(value) for value in row] for row in line["rows"]]}
            for line in lines if line["kind"] == "statement"]
        self.dump = [text(self.canonical({**line, "labels": sorted(line.get("labels", []))}))
                     for line in lines if line["kind"] not in ("case", "statement")]

    def canonical(self, value):
        """`value` with moments masked and random texts marked."""
        if isinstance(value, str):
            value = TIME.sub(lambda found: "<moment>" if self.now(seconds(found[0])) else found[0], value)
            return RANDOM.sub(self.marked, value)
        if isinstance(value, list):
            return [self.canonical(part) for part in value]
        if isinstance(value, dict) and value.get("$") == "date" and value["value"] in self.days:
            return "<today>"
        if isinstance(value, dict):
            return {self.canonical(key): self.canonical(part) for key, part in value.items()}
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.now(
                *(value / unit for unit in (1, 1e3, 1e6, 1e9))):
            return "<moment>"
        return value

    def now(self, *times):
        return any(self.window[0] <= time <= self.window[1] for time in times)

    def marked(self, found):
        self.found[found[0]] = found.lastgroup
        return f"\ue000{found[0]}\ue001"

    def names(self, fixed):
        """The names of random texts, round by round."""
        names = {of: of if of in fixed and kind == "uuid" else f"<{kind}>" for of, kind in self.found.items()}
        yield names
        holders = {}
        for record in self.dump:
            for of in set(MARKED.findall(record)):
                if names[of] != of:
                    holders.setdefault(of, []).append(record)
        for _ in range(ROUNDS):
            names = {**names, **{of: f"<{self.found[of]} {digest(of, records, names)}>"
                                 for of, records in holders.items()}}
            yield names


def seconds(written):
    """Seconds since 1970 of an ISO time; one without a zone is UTC's."""
    written = re.sub(r"\[.*\]|(?<=\.\d{6})\d+", "", written)
    try:
        time = datetime.datetime.fromisoformat(written)
    except ValueError:
        return 0
    return (time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)).timestamp()


def text(value):
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def named(written, names):
    """A canonical text with random texts by their names."""
    return MARKED.sub(lambda found: names[found[1]], written)


def digest(of, records, names):
    named_records = sorted(named(record, {**names, of: "@"}) for record in records)
    return hashlib.sha256("\n".join(named_records).encode()).hexdigest()[:12]


def loosened(value):
    """`value` with its lists sorted, unless they are of numbers: collected from rows without an order."""
    if isinstance(value, list):
        parts = [loosened(part) for part in value]
        return parts if all(isinstance(part, (int, float)) for part in parts) else sorted(parts, key=text)
    if isinstance(value, dict):
        return {key: loosened(part) for key, part in value.items()}
    return value
