"""Compares two folders of recordings (record.py), of Telar and of Neo4j.

    compare.py TELAR NEO4J [NAME]...

Of each case of the frameworks that are named (all, if none is): graphs, indexes and constraints are equal; each
statement was sent as often to both, and has equal columns, counters, failures and multisets of rows without scores.
Scores are near each other, and rankings have a Kendall tau of 0.95 at least, over pairs with scores that differ.
Statements are matched by text and parameters, in any order. What may differ is listed in argued.py. Ends with 1 if
anything differs.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

from answers import Figures, compare_answers, entries, shown
from argued import OPEN
from canonical import Recording, loosened, named, text


def statements_of(recording, names, case):
    """The statements with names."""
    for statement in recording.statements:
        sent = json.loads(named(text(statement["parameters"]), names))
        statement = {**statement, "case": case, "text": named(statement["text"], names),
                     "rows": [named(text(row), names) for row in statement["rows"]]}
        statement["values"] = text(loosened(sent))
        statement["sent"] = f"{statement['text']} {statement['values']}"
        yield statement


def exactly(statement):
    return statement["sent"]


def in_words(statement):
    """A statement that is made of names in no order, as those that count the values of each property."""
    return text([sorted(re.findall(r"\w+", statement["text"])), statement["values"]])


def pairs_by(key, here, there):
    """Pairs of statements with equal keys, those of equal answers first; takes them out of both lists."""
    # Those of one text may have been sent in another order, with other answers before and after a write.
    waiting = defaultdict(list)
    for statement in there:
        waiting[key(statement)].append(statement)
    left = defaultdict(list)
    for statement in here:
        left[key(statement)].append(statement)
    here.clear()
    there.clear()
    for sent, ours in left.items():
        theirs = waiting.pop(sent, [])
        for equal in (True, False):
            for one in list(ours):
                at = next((at for at, other in enumerate(theirs)
                           if not equal or not compare_answers(one, other, Figures())), None)
                if at is not None:
                    ours.remove(one)
                    yield one, theirs.pop(at)
        here += ours
        there += theirs
    there += [statement for statements in waiting.values() for statement in statements]


def compare_statements(here, there, figures):
    found = []
    for key in (exactly, in_words):
        for one, other in pairs_by(key, here, there):
            figures["statements"] += 1
            figures["reworded"] += key is in_words
            figures["rows"] += len(one["rows"])
            problems = compare_answers(one, other, figures)
            if problems:
                found.append(f"{one['sent']:.600}\n    " + "\n    ".join(problems))
    for server, left in (("Telar", here), ("Neo4j", there)):
        for statement in left:
            reason = next((reason for what, reason in entries(statement) if what == "sent"), None)
            if reason:
                figures.argued[reason] += 1
            else:
                found.append(f"sent to {server} only: {statement['sent']:.600}")
    return found


def compare_dumps(here, there):
    left, right = Counter(here), Counter(there)
    if left == right:
        return []
    return [f"the graph; only in Telar's:{shown(here, there)}\n    only in Neo4j's:{shown(there, here)}"]


def compare_case(framework, here, there, figures):
    """Compares by rougher names first, so that a difference is shown where it is and not all around it."""
    case = f"{framework}::{here.case['case']}"
    fixed = set(here.found) & set(there.found)
    for names in zip(here.names(fixed), there.names(fixed)):
        last = Figures()
        dumps = [[named(record, of) for record in recording.dump] for recording, of in zip((here, there), names)]
        found = compare_dumps(*dumps)
        last["dumps"], last["records"] = int(not found), len(dumps[0])
        found += compare_statements(*(list(statements_of(recording, of, case))
                                      for recording, of in zip((here, there), names)), last)
        if found:
            break
    last["cases"] = 1
    last.differences = [f"{case}: {difference}" for difference in found]
    figures.add(last)


def read(path):
    with open(path, encoding="utf-8") as file:
        return Recording([json.loads(line) for line in file])


def compare_framework(framework, here, there):
    figures = Figures()
    paths = [{path.stem: path for path in folder.glob("*.jsonl")} for folder in (here / framework, there / framework)]
    for case in sorted({**paths[0], **paths[1]}):
        if case in paths[0] and case in paths[1]:
            compare_case(framework, read(paths[0][case]), read(paths[1][case]), figures)
        else:
            figures.differences.append(f"{framework}::{case}: recorded of one server only")
    for cases, _, _, reason in OPEN:
        if cases.startswith(f"{framework}::") and not figures.argued[reason]:
            figures.differences.append(f"{framework}: does not differ any more, take it from argued.py: {reason}")
    if not figures["cases"]:
        figures.differences.append(f"{framework}: nothing was recorded")
    return figures


def line(name, figures):
    least = f"{min(figures.taus):.4f}" if figures.taus else "-"
    return (f"{name}: {figures['cases']} cases, {figures['dumps']} equal dumps of {figures['records']} records, "
            f"{figures['statements']} statements ({figures['reworded']} with names in another order), {figures['rows']} rows, {figures['scored']} scores "
            f"(greatest error {figures.error:.1e}), {len(figures.taus)} rankings (least tau {least}), "
            f"{figures['unordered']} answers with lists in another order, {len(figures.differences)} differences")


def main(here, there, *names):
    here, there = Path(here), Path(there)
    names = names or sorted({path.name for folder in (here, there) for path in folder.iterdir()})
    whole = Figures()
    for name in names:
        figures = compare_framework(name, here, there)
        print(f"compare {line(name, figures)}")
        for reason, count in sorted(figures.argued.items()):
            print(f"  argued, {count} times: {reason}")
        for difference in figures.differences:
            print(f"  DIFFERS {difference}")
        whole.add(figures)
    print(f"compare {line('all', whole)}")
    return 1 if whole.differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
