"""Differences between full-text search of Telar and of Neo4j that are known, each with its reason.

An entry: (kinds, names of indexes, part of the query, documents that may differ, reason). The part is a regular
expression or a function of the query. An entry counts where all documents that differ are accepted.
"""

import re

from queries import FIELDS


def of_list(properties):
    return isinstance(properties["tags"], list) and len(properties["tags"]) > 1


def of_porter(properties):
    """Has a word that Porter's first and second algorithm stem differently."""
    return re.search("fly|flies|x:y", repr(properties), re.I) is not None


def of_empty_list(properties):
    return properties["tags"] == [] and not any(isinstance(properties[name], str) for name in FIELDS)


def any_document(_):
    return True


def sloppy_repeats(query):
    """Has a sloppy phrase with two words that begin alike, as those of one stem do."""
    phrases = re.findall(r'"((?:[^"\\]|\\.)*)"~[1-9]', query.lower())
    return any(len({word[:4] for word in words}) < len(words) for words in (re.findall(r"\w+", one) for one in phrases))


def unsupported_expression(query):
    """Has a regular expression with a complement, an intersection, an interval or the empty language."""
    expressions = re.findall(r"(?:\\.|[^/\\])*/((?:\\.|[^/\\])*)/", query)
    return any(re.search(r"(?<!\\)[~&<#]", expression) for expression in expressions)


# Documented differences.
ARGUED = [
    ("hits scores", ".*", '"', of_list, "phrases do not reach from one element of a list to the next (docs/search.md)"),
    ("hits scores", ".*english.*", "", of_porter, "English stems of a few words (docs/search.md)"),
    ("hits scores", ".*", sloppy_repeats, any_document, "sloppy phrases that repeat a word (docs/search.md)"),
    ("failure", ".*", unsupported_expression, any_document,
     "complements, intersections and intervals (docs/search.md)"),
]

# Where Telar is to be mended, or docs/search.md to say so.
OPEN = [
    ("hits", ".*", r"\*:\*", of_empty_list, "*:* finds documents whose only text is an empty list in Neo4j alone"),
    ("hits scores", "n_blank", "", any_document, "an empty string is a term of Lucene's analyzer keyword"),
    ("failure hits scores", ".*", r'~\d*(\.\d*)?([^]\s\d.()\[{}^"~*?:\\/!]|\\.)', any_document,
     "letters behind the number of `~` belong to it in Lucene (and make it no number), are the next term in Telar"),
    ("failure", ".*", r"([*?][^\s()]*|/)\s*~", any_document,
     "`~` behind a wildcard or a regular expression is ignored by Lucene"),
    ("failure", ".*", r"[\[{][^]}]*\\[]} ]", any_document,
     "a backslash does not escape `]`, `}` and spaces in Lucene's ranges"),
    ("failure", ".*", r'[\[{][^]}]*"[^]}]*', any_document,
     "a quotation mark that is not closed is a character in Lucene's ranges"),
    ("failure", ".*", r"/[^/]*\\[a-ce-rt-vx-zA-CE-RT-VX-Z]", any_document,
     "Lucene refuses backslashes before letters other than those of classes"),
    ("failure", ".*", '/[^/]*"', any_document, "a quotation mark in a regular expression has to be closed in Lucene"),
    ("hits scores", "n_standard_folding", r"[*?/~\[{].*[^\x00-\x7f]|[^\x00-\x7f].*[*?~]", any_document,
     "Neo4j's standard-folding leaves accents in wildcards, ranges, fuzzy terms and regular expressions"),
    ("hits scores", ".*", r"/[^/]*\\[wdsWDS]", any_document,
     r"\w, \d and \s are of ASCII in Lucene, of Unicode in Telar"),
    ("failure hits", ".*", "[/(|@][*+?{|]", any_document,
     "Lucene takes *, +, ?, { and | at the start of an expression as they are"),
    ("failure", ".*", r"/[^/]*-\]", any_document, "Lucene refuses a hyphen at the end of a class of characters"),
    ("failure", ".*", r"~[\d.]*\^[\d.]+~", any_document, "Lucene refuses a second `~`, behind a boost"),
    ("hits", "n_(standard|english|stop|simple|cjk).*|r_.*",
     r'(?i)(\b(an?|of|is|to|or|and|not?|the|s|t)\b|(^|[\s(:])[^\sa-z]+)["\s)]*(\^[\d.]+)?\s*(AND|&&)', any_document,
     "of `x stop AND y` Lucene needs x and y, Telar only y: a word that is left out is no clause there"),
    ("hits", "n_(standard|english|stop|cjk).*|r_english",
     r"(?i)\b(?!title:|body:|tags:)\w+:.*\b(an?|of|is|to|or|and|not?|the|s|t)\b", any_document,
     "a stop word in a property that is not indexed finds nothing in Telar, is left out of the query in Neo4j"),
    ("hits", "._english.*", r"(?i)\b(?!title:)\w+:.*\b(an?|of|is|to|or|and|not?|the)\b", any_document,
     "a stop word in a property that is not indexed finds nothing in Telar, is left out of the query in Neo4j"),
    ("failure", ".*", r"\\u", any_document, r"\u without four hexadecimal digits behind it fails in Lucene"),
    ("failure", ".*", r"\w:.*/", any_document,
     "a regular expression in a property that is not indexed is not checked in Telar, fails in Neo4j"),
]


def reason_of(entries, kind, index, query, documents):
    for kinds, indexes, part, accepts, reason in entries:
        found = part(query) if callable(part) else re.search(part, query)
        if found and kind in kinds.split() and re.fullmatch(indexes, index.name) and all(map(accepts, documents)):
            return reason
    return None
