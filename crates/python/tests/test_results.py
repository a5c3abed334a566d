"""Results, rows, nodes and relationships."""

import pytest
import telar


def test_a_result_is_a_sequence_of_rows(db):
    result = db.query("UNWIND range(0, 9) AS n RETURN n, toString(n) AS s")
    assert len(result) == 10 and result.columns == ["n", "s"]
    assert result[0] == (0, "0") and result[-1] == (9, "9")
    assert [tuple(row) for row in result] == result.tuples()
    assert [row.dict() for row in result] == result.dicts()
    assert result.values() == list(range(10)) and result.values("s")[3] == "3"
    assert result.values(-1) == result.values(1)
    for wrong in (10, -11):
        with pytest.raises(IndexError, match="there are 10 rows"):
            result[wrong]
    with pytest.raises(KeyError, match="no column is named 'x'; there are n, s"):
        result.values("x")


def test_a_row(db):
    row = db.query("RETURN 1 AS one, [2] AS two").one()
    one, two = row
    assert (one, two) == (1, [2])
    assert row["one"] == row[0] == row[-2] == 1 and row[:] == (1, [2])
    assert dict(row) == {"one": 1, "two": [2]} and row.get("three") is None
    assert row.get("three", 3) == 3 and 1 in row and len(row) == 2
    assert repr(row) == "Row(one=1, two=[2])"
    assert row == db.query("RETURN 1 AS a, [2] AS b").one()
    for key, error in (("three", KeyError), (2, IndexError), (1.5, IndexError)):
        with pytest.raises(error):
            row[key]


def test_results_of_no_rows_and_no_columns(db):
    result = db.query("MATCH (n) RETURN n, n.a AS a")
    assert (len(result), result.columns, list(result), result.dicts()) == (0, ["n", "a"], [], [])
    assert result and result.kind == "read"
    for method in (result.one, result.value):
        with pytest.raises(ValueError, match="0 rows"):
            method()
    result = db.query("CREATE ()")
    assert (len(result), result.columns) == (0, [])
    assert result.counters == {"nodes_created": 1} and result.kind == "write"
    assert result.to_numpy() == {} and result._repr_html_()


def test_columns_of_all_kinds_and_mixed(db):
    text = "UNWIND [1, null, 2.5, 'x', true, [1], {a: 1}, date('2024-01-01')] AS v RETURN v"
    values = db.query(text).values()
    assert values[:7] == [1, None, 2.5, "x", True, [1], {"a": 1}]
    big = db.query("UNWIND range(1, 20000) AS n RETURN CASE WHEN n < 19999 THEN n END AS n, 'c' AS c")
    assert big.values("n")[-3:] == [19998, None, None] and set(big.values("c")) == {"c"}


def test_nodes_relationships_and_paths(db):
    text = """CREATE p = (a:Person:Author {name: 'Ada'})-[:KNOWS {since: 1840}]->(b)<-[:LIKES]-(a)
              RETURN a, b, p, relationships(p) AS rs, {inner: [a]} AS m"""
    a, b, path, relationships, inner = db.query(text).one()
    assert a.labels == {"Author", "Person"} and b.labels == frozenset()
    assert a["name"] == a.get("name") == "Ada" and "name" in a and list(a) == a.keys() == ["name"]
    assert a.properties == {"name": "Ada"} and len(b) == 0 and b
    with pytest.raises(KeyError, match="age"):
        a["age"]
    knows, likes = relationships
    assert (knows.type, knows["since"], knows.start_id, knows.end_id) == ("KNOWS", 1840, a.id, b.id)
    assert (likes.start_id, likes.end_id) == (a.id, b.id)
    assert path.nodes == [a, b, a] and path.relationships == [knows, likes] and len(path) == 2
    assert repr(path) == "<Path (0)-[:KNOWS]->(1)<-[:LIKES]-(0)>"
    assert inner == {"inner": [a]} and inner["inner"][0]["name"] == "Ada"
    assert len({a, b, *path.nodes}) == 2 and len({knows, likes}) == 2
    again = db.query("MATCH (n) WHERE id(n) = $id RETURN n", id=a.id).value()
    assert again == a and hash(again) == hash(a) and a != b and a != knows


def test_a_result_is_what_it_was(db):
    node = db.query("CREATE (n:City {name: 'Ulm'}) RETURN n").value()
    db.query("MATCH (n) DETACH DELETE n")
    assert node["name"] == "Ulm" and node.labels == {"City"}


def test_results_live_longer_than_their_database():
    db = telar.open()
    result = db.query("CREATE (n:City {name: 'Ulm'}) RETURN n")
    db.close()
    del db
    assert result.value()["name"] == "Ulm"


def test_plans_and_remarks(db):
    assert db.query("RETURN 1").plan is None
    assert "AllNodesScan" in db.query("EXPLAIN MATCH (n) RETURN n").plan
    assert "Rows" in db.query("PROFILE MATCH (n) RETURN n").plan
    assert any("City" in remark for remark in db.query("MATCH (c:City) RETURN c").notifications)
    assert db.query("CREATE INDEX FOR (c:City) ON (c.name)").counters == {"indexes_added": 1}


def test_streams(db):
    with db.stream("UNWIND range(1, 50000) AS n RETURN n, 'x' AS s") as rows:
        assert sum(row["n"] for row in rows) == 50000 * 50001 // 2
        assert list(rows) == []
    assert [row[0] for row in db.stream("UNWIND [] AS n RETURN n")] == []
    assert list(db.stream("CREATE (:City)")) == []
    assert db.query("MATCH (c:City) RETURN count(*)").value() == 1
    with pytest.raises(telar.CypherSyntaxError):
        next(db.stream("RETRUN 1"))
    rows = db.stream("UNWIND [1, 1, 0] AS n RETURN 1 / n AS n")
    with pytest.raises(telar.StatementError, match="zero"):
        list(rows)
    assert list(rows) == []


def test_a_stream_that_is_closed_ends_its_statement(db):
    rows = db.stream("UNWIND range(1, 1000000000000) AS n RETURN n")
    assert next(rows)["n"] == 1
    assert db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN q").values().__len__() == 2
    rows.close()
    for _ in range(100):
        if len(db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN q")) == 1:
            break
        __import__("time").sleep(0.05)
    else:
        pytest.fail("the statement of a closed stream goes on")
    assert list(rows) == []


def test_html_draws_graphs_and_tables(db):
    text = """CREATE (a:Person {name: '<Ada>'})-[:KNOWS {since: 1}]->(b:City {name: 'Ulm & co'}),
              (a)-[:KNOWS]->(b), (b)-[:IN]->(b) RETURN a, b"""
    html = db.query(text)._repr_html_()
    db.query("MATCH (a)-[r]->(b) RETURN a, r, b")
    assert "<svg" in html and html.count("<circle") == 2 and "&lt;Ada&gt;" in html
    assert "<Ada>" not in html and "relationships created: 3" in html
    html = db.query("MATCH (a)-[r]->(b) RETURN a, r, b")._repr_html_()
    assert html.count("marker-end") == 3
    html = db.query("UNWIND range(1, 100) AS n RETURN n, '<b>' AS s")._repr_html_()
    assert "<svg" not in html and "100 rows, the first 20" in html and "<b>" not in html
    db.query("UNWIND range(1, 500) AS n CREATE ()")
    assert "<svg" not in db.query("MATCH (n) RETURN n")._repr_html_()
