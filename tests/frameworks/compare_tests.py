"""The comparison itself: two recordings that differ by chance only are equal, and each change of one is found."""

import copy
import unittest
import uuid

import answers
import compare
from canonical import Recording

NAMES = ["Ada", "Bob", "Cem", "Dag", "Eva", "Fay"]
SCORES = [3.5, 3.1, 2.5, 2.0, 1.5, 1.0]
RANKED = "CALL db.index.fulltext.queryNodes($i, $q) YIELD node, score RETURN node.uuid AS uuid, score"


def recorded(started, element):
    """The lines of a case: people with UUIDs who know the next; a search, and a count that a write changes."""
    uuids = [str(uuid.uuid4()) for _ in NAMES]
    time = "2026-11-29T05:00:00.123456+00:00" if started == FIRST else "2026-11-30T06:00:00.5Z"
    nodes = [{"kind": "node", "id": element(at), "labels": ["Person"],
              "properties": {"uuid": uuids[at], "name": name, "created": {"$": "datetime", "value": time},
                             "embedding": [0.5, at]}} for at, name in enumerate(NAMES)]
    edges = [{"kind": "relationship", "id": element(100 + at), "type": "KNOWS", "start": element(at),
              "end": element(at + 1), "properties": {"next": uuids[at + 1], "at": int(started) * 1000}}
             for at in range(len(NAMES) - 1)]
    return [
        {"kind": "case", "framework": "f", "case": "c", "started": started, "ended": started + 1},
        sent("MATCH (n) RETURN count(n) AS c", {}, ["c"], [[0]]),
        sent("CREATE (:Person {uuid: $u})", {"u": uuids[0]}, [], [], {"nodes-created": 1}),
        sent("MATCH (n) RETURN count(n) AS c", {}, ["c"], [[6]]),
        sent(RANKED, {"i": "people", "q": "ada"}, ["uuid", "score"], [list(row) for row in zip(uuids, SCORES)]),
        sent("MATCH (n) RETURN collect(n.name) AS names", {}, ["names"], [[list(NAMES)]]),
        *nodes, *edges,
        {"kind": "index", "name": "people", "type": "FULLTEXT", "of": ["Person"], "properties": ["name"]},
        {"kind": "constraint", "name": f"constraint_{uuid.uuid4().hex[:8]}", "type": "UNIQUENESS", "of": ["Person"]},
    ]


def sent(text, parameters, columns, rows, counters=None, failure=None):
    return {"kind": "statement", "text": text, "parameters": parameters, "columns": columns, "rows": rows,
            "counters": counters or {}, "failure": failure}


FIRST, SECOND = 1795928400.0, 1796018400.0  # 2026-11-29T05:00:00Z and 2026-11-30T06:00:00Z.
SERVER = str(uuid.uuid4())


class Comparison(unittest.TestCase):
    def setUp(self):
        self.here = recorded(FIRST, lambda at: f"n:{at}" if at < 100 else f"r:1:{at}")
        self.there = recorded(SECOND, lambda at: f"4:{SERVER}:{at + 7}")

    def figures(self):
        figures = answers.Figures()
        compare.compare_case("f", Recording(self.here), Recording(copy.deepcopy(self.there)), figures)
        return figures

    def node(self, name):
        return next(line for line in self.there if line["kind"] == "node" and line["properties"]["name"] == name)

    def statement(self, text):
        return next(line for line in self.there if line.get("text", "").startswith(text))

    def differs(self, words, count=1):
        found = self.figures().differences
        self.assertEqual(len(found), count, found)
        self.assertIn(words, "\n".join(found))

    def test_chance_is_no_difference(self):
        self.there[1:] = self.there[:0:-1]  # In any order.
        figures = self.figures()
        self.assertEqual(figures.differences, [])
        self.assertEqual((figures["cases"], figures["dumps"], figures["statements"], figures["rows"]), (1, 1, 5, 9))
        self.assertEqual((figures["records"], figures["scored"], figures.taus), (13, 6, [1.0]))

    def test_a_changed_property(self):
        self.node("Cem")["properties"]["embedding"][1] = 2.001
        self.differs("the graph")

    def test_a_time_that_is_not_of_the_run(self):
        self.node("Cem")["properties"]["created"]["value"] = "2026-11-30T03:00:00Z"
        self.differs("the graph")

    def test_a_label(self):
        self.node("Cem")["labels"].append("Other")
        self.differs("the graph")

    def test_a_missing_relationship(self):
        self.there.remove(next(line for line in self.there if line["kind"] == "relationship"))
        self.differs("the graph")

    def test_a_relationship_that_leads_elsewhere(self):
        next(line for line in self.there if line["kind"] == "relationship")["end"] = self.node("Fay")["id"]
        self.differs("the graph")

    def test_a_uuid_of_another_node(self):
        edges = [line["properties"] for line in self.there if line["kind"] == "relationship"]
        edges[0]["next"], edges[2]["next"] = edges[2]["next"], edges[0]["next"]
        self.assertIn("the graph", "\n".join(self.figures().differences))

    def test_an_index(self):
        self.there[-2]["properties"] = ["name", "uuid"]
        self.differs("the graph")

    def test_a_row(self):
        self.statement("MATCH (n) RETURN count")["rows"] = [[7]]
        self.differs("MATCH (n) RETURN count")

    def test_a_row_more(self):
        self.statement("MATCH (n) RETURN collect")["rows"].append([[]])
        self.differs("rows only in Neo4j's")

    def test_a_hit_that_is_another_node(self):
        self.statement("CALL")["rows"][5][0] = self.node("Ada")["properties"]["uuid"]
        self.differs("queryNodes")

    def test_a_list_in_another_order_is_counted(self):
        self.statement("MATCH (n) RETURN collect")["rows"][0][0].reverse()
        figures = self.figures()
        self.assertEqual((figures.differences, figures["unordered"]), ([], 1))

    def test_a_swapped_ranking(self):
        rows = self.statement("CALL")["rows"]
        rows[0][0], rows[1][0] = rows[1][0], rows[0][0]
        self.differs("tau 0.867")

    def test_rows_in_another_order_than_their_scores(self):
        rows = next(line for line in self.here if line.get("text") == RANKED)["rows"]
        rows[0], rows[1] = rows[1], rows[0]
        self.differs("not in the order")

    def test_a_score(self):
        self.statement("CALL")["rows"][0][1] = 3.501
        self.differs("error 2.86e-04")

    def test_ties_may_come_in_any_order(self):
        for lines in (self.here, self.there):
            rows = next(line for line in lines if line.get("text") == RANKED)["rows"]
            rows[0][1] = rows[1][1] = 3.0
        rows[0], rows[1] = rows[1], rows[0]
        figures = self.figures()
        self.assertEqual((figures.differences, figures.taus), ([], [1.0]))

    def test_counters_failures_and_columns(self):
        self.statement("CREATE")["counters"] = {"nodes-created": 2}
        self.differs("counters")
        self.statement("CREATE")["counters"] = {"nodes-created": 1}
        self.statement("CREATE")["failure"] = "Neo.ClientError.Schema.ConstraintValidationFailed"
        self.differs("failure")
        self.statement("CREATE")["failure"] = None
        self.statement("MATCH (n) RETURN collect")["columns"] = ["other"]
        self.differs("columns")

    def test_statements_that_one_server_was_not_sent(self):
        self.there.remove(self.statement("MATCH (n) RETURN count"))
        self.differs("sent to Telar only")
        self.here, self.there = self.there, self.here
        self.differs("sent to Neo4j only")

    def test_another_parameter(self):
        self.statement("CALL")["parameters"]["q"] = "bob"
        self.differs("sent to", 2)


if __name__ == "__main__":
    unittest.main()
