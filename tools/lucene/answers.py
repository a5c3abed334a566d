"""Compares two answers to one search: failures, sets of hits, scores, order."""

from collections import Counter

from queries import ALL

NEAR = 1e-4
# Scores that differ by less are tied.
TIED = 1e-6


def near(a, b, limit=NEAR):
    return a == b or abs(a - b) <= limit * max(abs(a), abs(b))


def difference(here, there, options):
    """The kind of the first difference, or None, and the ids of documents that differ."""
    if isinstance(here, str) or isinstance(there, str):
        if here == there:
            return None, set()
        return "code" if isinstance(here, str) and isinstance(there, str) else "failure", set()
    scores, scores_there = dict(map(tuple, here)), dict(map(tuple, there))
    if len(scores) != len(here) or len(here) != len(there):
        return "hits", set(scores) ^ set(scores_there)
    different = set(scores) ^ set(scores_there)
    if different and options["limit"] != ALL:
        # Of tied hits either may be within the limit.
        ends = there[0][1], there[-1][1]
        different = {key for key in different
                     if not any(near(scores.get(key, scores_there.get(key)), end) for end in ends)}
    if different:
        return "hits", different
    different = {key for key in scores if key in scores_there and not near(scores[key], scores_there[key])}
    if different:
        return "scores", different
    if any(before < after and not near(before, after, TIED) for (_, before), (_, after) in zip(here, here[1:])) or any(
            not near(score, score_there) for (_, score), (_, score_there) in zip(here, there)):
        return "order", set()
    return None, set()


class Figures(Counter):
    """What was compared."""

    def __init__(self):
        super().__init__()
        self.argued, self.open, self.error = Counter(), Counter(), 0.0

    def count(self, here, there):
        self["queries"] += 1
        if isinstance(here, str) or isinstance(there, str):
            self["equal errors"] += here == there
            return
        scores, scores_there = dict(map(tuple, here)), dict(map(tuple, there))
        self["equal hit sets"] += scores.keys() == scores_there.keys()
        self["with hits"] += bool(there)
        shared = scores.keys() & scores_there.keys()
        self["scores"] += len(shared)
        errors = [abs(scores[key] - scores_there[key]) / (abs(scores_there[key]) or 1) for key in shared]
        self.error = max([self.error, *(error for error in errors if error <= NEAR)])
