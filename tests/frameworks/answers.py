"""Compares two answers to one statement: failures, columns, counters, hit sets, scores, rankings."""

import json
import os
import re
from collections import Counter, defaultdict

from argued import ARGUED, OPEN
from canonical import loosened, text

SCORE = re.compile(r"score|similarity|distance", re.I)
NEAR = 1e-4
TAU = 0.95
# Scores that differ by less are tied.
TIED = 1e-6
SHOWN = 8


class Figures(Counter):
    """What was compared of a framework."""

    def __init__(self):
        super().__init__()
        self.differences, self.argued, self.taus, self.error = [], Counter(), [], 0.0

    def add(self, other):
        self.update(other)
        self.argued.update(other.argued)
        self.differences += other.differences
        self.taus += other.taus
        self.error = max(self.error, other.error)


def near(a, b, limit):
    return abs(a - b) <= limit * max(abs(a), abs(b), 1e-9)


def tau(pairs):
    """Kendall's tau of (rank here, rank there, score here, score there), over pairs with scores that differ.

    None where all are tied.
    """
    agree = counted = 0
    for at, one in enumerate(pairs):
        for other in pairs[:at]:
            if near(one[2], other[2], TIED) and near(one[3], other[3], TIED):
                continue
            counted += 1
            agree += (one[0] - other[0]) * (one[1] - other[1]) > 0
    return (2 * agree - counted) / counted if counted else None


def score_columns(columns, *answers):
    return [at for at, name in enumerate(columns) if SCORE.search(name) and all(
        isinstance(row[at], (int, float)) for rows in answers for row in rows)]


def best_first(scores):
    return all(a > b or near(a, b, TIED) for a, b in zip(scores, scores[1:]))


def ranks(scores):
    """Positions, of rows that come best first; otherwise what a reader would make of the scores."""
    return list(range(len(scores))) if best_first(scores) else [-score for score in scores]


def shown(rows, other):
    """The texts that the other side lacks; of one in place of another the part that differs."""
    missing, lacking = (list((Counter(a) - Counter(b)).elements()) for a, b in ((rows, other), (other, rows)))
    same = len(os.path.commonprefix([*missing, *lacking])) if len(missing) == len(lacking) == 1 else 0
    return "".join(f"\n      {row[max(0, same - 100):]:.300}" for row in missing[:SHOWN]) or " none"


def compare_rows(here, there, figures):
    """What differs between the rows of two answers, whose rows are named texts of lists of values."""
    columns, limit = here["columns"], here.get("near", NEAR)
    here, there = ([json.loads(row) for row in answer["rows"]] for answer in (here, there))
    scores = score_columns(columns, here, there)
    keys = [[[value for at, value in enumerate(row) if at not in scores] for row in rows] for rows in (here, there)]
    strict = [[text(key) for key in part] for part in keys]
    if Counter(strict[0]) != Counter(strict[1]):
        loose = [[text(loosened(key)) for key in part] for part in keys]
        if Counter(loose[0]) != Counter(loose[1]):
            return [f"rows only in Telar's:{shown(*strict)}\n    rows only in Neo4j's:{shown(*strict[::-1])}"]
        figures["unordered"] += 1
        strict = loose
    found = []
    for at in scores:
        of = [defaultdict(list), defaultdict(list)]
        for side, rows in enumerate((here, there)):
            column = [row[at] for row in rows]
            for key, rank, score in zip(strict[side], ranks(column), column):
                of[side][key].append((score, rank))
        pairs = [(rank, rank_there, score, score_there) for key in of[0] for (score, rank), (score_there, rank_there)
                 in zip(sorted(of[0][key]), sorted(of[1][key]))]
        error = max((abs(a - b) / max(abs(a), abs(b), 1e-9) for _, _, a, b in pairs), default=0.0)
        figures["scored"] += len(pairs)
        if best_first([row[at] for row in there]) and not best_first([row[at] for row in here]):
            found.append(f"{columns[at]}: Telar's rows are not in the order of scores, Neo4j's are")
        if limit == NEAR:
            figures.error = max(figures.error, error)
        if error > limit:
            found.append(f"{columns[at]}: error {error:.2e} of scores {[pair[2:] for pair in pairs]}")
        found += compare_rankings(columns[at], pairs, figures)
    return found


def compare_rankings(name, pairs, figures):
    ranking = tau(pairs)
    if ranking is None:
        return []
    figures.taus.append(ranking)
    return [] if ranking >= TAU else [f"{name}: ranking with tau {ranking:.3f} of {[pair[2:] for pair in pairs]}"]


def differences(here, there, figures):
    found = [f"{what}: {here[what]!r:.300} here, {there[what]!r:.300} in Neo4j"
             for what in ("failure", "columns", "counters") if here[what] != there[what]]
    if here["columns"] == there["columns"]:
        found += compare_rows(here, there, figures)
    return found


def without(what, statement):
    """The statement without what is argued about it."""
    if isinstance(what, str):
        return {**statement, what: []}
    if isinstance(what, float):
        return {**statement, "near": what}
    rows = [json.loads(row) for row in statement["rows"]]
    if callable(what):
        return {**statement, "rows": [text([what(value) for value in row]) for row in rows]}
    kept = [at for at, name in enumerate(statement["columns"]) if name not in what]
    return {**statement, "columns": [statement["columns"][at] for at in kept],
            "rows": [text([row[at] for at in kept]) for row in rows]}


def entries(statement):
    """What is argued about a statement, with the reason; last what is to be mended."""
    return [(what, reason) for cases, pattern, what, reason in ARGUED + OPEN
            if re.fullmatch(cases, statement["case"]) and re.search(pattern, statement["text"])]


def compare_answers(here, there, figures):
    """What differs between two answers to one statement, and is not argued."""
    last, needed = Figures(), []
    found = differences(here, there, last)
    for what, reason in entries(here):
        if found:
            before, last = found, Figures()
            here, there = without(what, here), without(what, there)
            found = differences(here, there, last)
            needed += [reason] * (found != before)
    figures.add(last)
    figures.argued.update(needed)
    return found
