"""The graph that is searched, and queries in Lucene's syntax, from the grammar of docs/search.md."""

import re

NODES, RELATIONSHIPS = 300, 120
# A limit that no query reaches.
ALL = 100_000
# Attempts to make one query smaller.
ATTEMPTS = 600

FIELDS = ["title", "body", "tags"]
WORDS = """graph graphs Graph graphing graphic run running runs runner connect connected connection connections data
database databases GraphDB the a of is not and to or TO AND café cafe Café naïve naive straße strasse ÉTÉ été 42
3.14 2024-01-02 v2 v2.0 don't O'Brien node's foo-bar foo_bar foobar user@example.com C++ A&B x:y 1,000 new york
New-York happy happily happiness fly flies flying 日本 日本語 état l'état hello (hello) [x] "quoted" a/b 50% #tag""".split()
WEIGHTS = [6] * 14 + [2] * (len(WORDS) - 14)
MARKS = list('()[]{}"/\\~^:+-!&|*?<># ') + [" AND ", " OR ", " NOT ", " TO ", "&&", "||", "~2", "^2", "title:"]
ESCAPED = re.compile(r'([-+&|!(){}\[\]^"~*?:\\/])')


class Documents:
    """The graph: properties of nodes and of relationships."""

    def __init__(self, rng):
        self.rng = rng
        self.nodes = [self.properties(at) for at in range(NODES)]
        self.relationships = [self.properties(at) for at in range(RELATIONSHIPS)]

    def text(self):
        words = self.rng.choices(WORDS, WEIGHTS, k=self.rng.choice([1, 1, 2, 3, 4, 6, 9, 14]))
        return self.rng.choice([" ", " ", " ", ", ", "-", ". ", "/"]).join(words)

    def properties(self, at):
        texts = [[self.text() for _ in range(self.rng.randrange(4))], self.text(), self.text()]
        tags = self.rng.choice([texts[0], texts[0], texts[1], None])
        body = self.rng.choice([texts[2]] * 4 + [None, self.rng.randrange(50)])
        return {"id": at, "title": self.rng.choice([texts[1]] * 5 + [None]), "body": body, "tags": tags,
                "blank": self.rng.choice(["", "graph", "", None])}


class Queries:
    """Makes queries: trees of lists, whose leaves are texts, so that parts can be left out."""

    def __init__(self, rng):
        self.rng = rng

    def word(self):
        word, = self.rng.choices(WORDS, WEIGHTS)
        return self.rng.choice([word] * 12 + [word.lower(), word.upper(), word[:-1], word + "x", "absent"]) or "a"

    def escaped(self):
        return ESCAPED.sub(r"\\\1", self.word())

    def wildcard(self):
        word, at = self.escaped(), self.rng.randrange(4)
        return self.rng.choice([word[:at] + "*", "*" + word[at:], word[:at] + "?" + word[at + 1:],
                                word[:at] + "*" + word[at + 1:], "*", "?", "*:*", word[:1] + "*" + word[-1:] + "*"])

    def phrase(self):
        words = [[self.word().replace('"', '\\"'), " "] for _ in range(self.rng.choice([1, 2, 2, 2, 3]))]
        if self.rng.random() < 0.1:
            words.append(words[0])
        return ['"', *words, '"', self.rng.choice(["", "", "~1", "~2", "~5", "~0"])]

    def range(self):
        ends = [self.rng.choice([self.escaped(), self.word()[:1] or "a", "*"]) for _ in range(2)]
        if self.rng.random() < 0.2:
            ends = [f'"{end}"' for end in ends]
        return [self.rng.choice("[[{"), ends[0], " TO ", ends[1], self.rng.choice("]]}")]

    def expression(self):
        word, at = re.sub(r"\W", "", self.word()) or "a", self.rng.randrange(3)
        return ["/", word[:at], self.rng.choice([".*", ".", "[a-z]+", "[^a-d]", "(a|r)", "a?", "{2}", "o{1,2}", "\\w*",
                                                 "\\.", "", "|run", "@", '"a"', "\\d+"]), word[at + 1:], "/"]

    def fuzzy(self):
        return [self.escaped(), self.rng.choice(["~", "~", "~1", "~2", "~0", "~0.8", "~0.5", "~3", "~9"])]

    def atom(self, depth):
        made = self.rng.choice([self.escaped] * 3 + [self.phrase] * 2 + [
            self.word, self.wildcard, self.range, self.expression, self.fuzzy] + [None] * 2 * (depth > 0))
        return made() if made else ["(", self.query(depth - 1), ")"]

    def clause(self, depth):
        field = self.rng.choice([""] * 12 + ["title:", "title:", "body:", "body:", "tags:", "other:"])
        boost = self.rng.choice([""] * 8 + ["^2", "^0.5", "^10", "^0", "^1.5"])
        return [self.rng.choice([""] * 24 + ["+", "+", "-", "!", "NOT "]), field, self.atom(depth), boost]

    def query(self, depth=2):
        operators = [" "] * 6 + [" AND ", " OR ", " && ", " || "] * 2 + [" AND NOT ", " NOT "]
        more = [[self.rng.choice(operators), self.clause(depth)] for _ in range(self.rng.choice([0, 0, 1, 1, 2, 3]))]
        return [self.clause(depth), *more]

    def malformed(self):
        parts = list(text(self.query()))
        for _ in range(self.rng.randrange(1, 3)):
            at = self.rng.randrange(len(parts) + 1)
            parts[at:at + self.rng.randrange(2)] = self.rng.choice([[self.rng.choice(MARKS)], []])
        return parts

    def case(self, indexes):
        tree = self.malformed() if self.rng.random() < 1 / 6 else self.query()
        options = self.rng.choice([{"limit": ALL}] * 4 + [{"limit": 10}, {"limit": 5, "skip": 3}])
        return self.rng.choice(indexes), tree, options


def text(tree):
    return tree if isinstance(tree, str) else "".join(map(text, tree))


def smaller(tree):
    """The tree with a part in place of the whole, without a part, or with a part made smaller."""
    if isinstance(tree, str):
        yield from (tree[:at] + tree[at + 1:] for at in range(len(tree)))
        return
    yield from tree
    yield from (tree[:at] + tree[at + 1:] for at in range(len(tree)))
    for at, part in enumerate(tree):
        yield from (tree[:at] + [less] + tree[at + 1:] for less in smaller(part))


def minimised(tree, differs):
    attempts = 0
    candidates = smaller(tree)
    while attempts < ATTEMPTS and (less := next(candidates, None)) is not None:
        if len(text(less)) < len(text(tree)):
            attempts += 1
            if differs(less):
                tree, candidates = less, smaller(less)
    return tree
