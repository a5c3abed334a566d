"""Tables that become nodes and relationships."""

import polars as pl
import pyarrow as pa
import pytest
import telar

PEOPLE = {"id": [1, 2, 3], "name": ["Ada", "Bob", None]}


@pytest.mark.parametrize(
    "table",
    [
        PEOPLE,
        pl.DataFrame(PEOPLE),
        pa.table(PEOPLE),
        pa.table(PEOPLE).to_pandas(),
        [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bob"}, {"id": 3}],
        pa.table(PEOPLE).to_reader(max_chunksize=1),
    ],
    ids=lambda table: type(table).__name__,
)
@pytest.mark.parametrize("unique", [[], ["Person.id"]])
def test_tables_of_all_kinds(db, table, unique):
    if isinstance(table, pa.RecordBatchReader) and unique:
        table = pa.table(PEOPLE).to_reader(max_chunksize=2)
    elif isinstance(table, pa.RecordBatchReader):
        table = pa.table(PEOPLE).to_reader(max_chunksize=1)
    report = db.create_nodes(["Person", "Human"], table, unique=unique)
    assert (report["nodes"], report["properties"], report["rejected"]) == (3, 5, [])
    rows = db.query("MATCH (p:Person:Human) RETURN p.id, p.name ORDER BY p.id").tuples()
    assert rows == [(1, "Ada"), (2, "Bob"), (3, None)]
    assert len(db.query("SHOW CONSTRAINTS")) == len(unique)


def test_relationships_find_their_ends(db):
    db.create_nodes("Person", PEOPLE, unique=["Person.id"])
    db.create_nodes("City", {"name": ["Ulm"]})
    edges = pl.DataFrame({"a": [1, 1], "b": [2, 3], "since": [1840, None]})
    report = db.create_relationships("KNOWS", edges, src="a", dst="b", label="Person")
    assert (report["relationships"], report["properties"]) == (2, 1)
    lives = {"who": [2], "where": ["Ulm"]}
    ends = {"src": "who", "src_label": "Person", "dst": "where", "dst_label": "City", "dst_key": "name"}
    db.create_relationships("LIVES_IN", lives, **ends)
    rows = db.query("MATCH (a)-[r]->(b) RETURN a.id, type(r), b.id, r.since, b.name").tuples()
    assert sorted(rows, key=str) == [
        (1, "KNOWS", 2, 1840, "Bob"),
        (1, "KNOWS", 3, None, None),
        (2, "LIVES_IN", None, None, "Ulm"),
    ]


def test_a_load_is_one_commit(folder):
    with telar.open(folder) as db:
        with db.load(unique=["Person.id"]) as load:
            load.nodes("Person", PEOPLE)
            load.relationships("KNOWS", {"a": [3], "b": [1]}, src="a", dst="b", label="Person")
            assert load.report is None and db.query("MATCH (n) RETURN count(n)").value() == 0
        assert load.report["nodes"] == 3 and "committed" in repr(load)
        with pytest.raises(telar.ClosedError):
            load.commit()
        with pytest.raises(ZeroDivisionError):
            with db.load() as load:
                load.nodes("Person", {"id": [4]})
                1 / 0
        assert db.query("MATCH (n) RETURN count(n)").value() == 3
    with telar.open(folder) as db:
        assert db.query("MATCH (:Person {id: 3})-[:KNOWS]->(p) RETURN p.name").values() == ["Ada"]


def test_rows_that_cannot_come_in(db):
    db.create_nodes("Person", PEOPLE, unique=["Person.id"])
    edges = {"a": [1, 9, 2], "b": [2, 1, 3]}
    with pytest.raises(telar.Error, match="9"):
        db.create_relationships("KNOWS", edges, src="a", dst="b", label="Person")
    assert db.query("MATCH ()-[r]->() RETURN count(r)").value() == 0
    report = db.create_relationships("KNOWS", edges, src="a", dst="b", label="Person", bad_rows=1)
    assert report["relationships"] == 2 and [row["row"] for row in report["rejected"]] == [1]
    with pytest.raises(telar.ConstraintError):
        db.create_nodes("Person", {"id": [7, 1]})
    assert db.query("MATCH (p:Person) RETURN count(p)").value() == 3
    with pytest.raises(telar.Error, match="MAP|map"):
        db.create_nodes("Person", [{"id": 8, "m": {"a": 1}}])


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda db: db.create_nodes("P", "text"), TypeError, "a table is"),
        (lambda db: db.create_nodes("P", 7), TypeError, "a table is"),
        (lambda db: db.create_nodes("P", [{"a": 2**70}]), OverflowError, "64 bits"),
        (lambda db: db.create_nodes("P", [1]), TypeError, "a row of a table is a dict"),
        (lambda db: db.create_nodes("P", {"a": [1], "b": []}), ValueError, "same length"),
        (lambda db: db.create_nodes(7, {"a": [1]}), TypeError, "labels are"),
        (lambda db: db.create_nodes("P", {"a": [1]}, unique=["id"]), ValueError, "Person.id"),
        (lambda db: db.create_relationships("K", {"a": [1]}, src="a", dst="a"), TypeError, "label"),
        (lambda db: db.create_relationships("K", {"a": [1]}, src="a", dst="a", label="P"), ValueError, "UNIQUE"),
        (
            lambda db: db.create_relationships("K", {"a": [1]}, src="a", dst="b", label="P", key="a"),
            telar.Error,
            "no column 'b'",
        ),
    ],
)
def test_what_is_no_table_is_refused(db, call, error, words):
    with pytest.raises(error, match=words):
        call(db)
    assert db.query("MATCH (n) RETURN count(n)").value() == 0


def test_empty_tables_and_many_rows(db):
    assert db.create_nodes("P", {"id": []})["nodes"] == 0
    n = 30_000
    with db.load(unique=["P.id"]) as load:
        load.nodes("P", pl.DataFrame({"id": range(n)}))
        edges = pl.DataFrame({"a": range(n), "b": [(i * 7 + 1) % n for i in range(n)], "w": [0.5] * n})
        load.relationships("E", edges, src="a", dst="b", label="P")
    text = "MATCH (a:P)-[r:E]->(b) RETURN count(*), sum(r.w), sum((a.id * 7 + 1) % $n - b.id)"
    assert db.query(text, n=n).tuples() == [(n, n * 0.5, 0)]
