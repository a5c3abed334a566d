"""Frames as parameters: lists of maps to a statement, columns to `UNWIND`."""

import polars as pl
import pyarrow as pa
import pytest
import telar

DB = telar.open()
FRAME = pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "z"]})
ROWS = [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": "z"}]


@pytest.mark.parametrize("rows", [FRAME, ROWS], ids=["frame", "list"])
@pytest.mark.parametrize(
    "text, expected",
    [
        ("UNWIND $rows AS r RETURN r.a AS a, r.b AS b, r.none AS c", [(1, "x", None), (2, None, None), (None, "z", None)]),
        ("UNWIND $rows AS r RETURN r", [(row,) for row in ROWS]),
        ("UNWIND $rows AS r RETURN keys(r) AS k, r['a'] AS a", [(["a", "b"], 1), (["a", "b"], 2), (["a", "b"], None)]),
        ("RETURN size($rows) AS n, $rows[1].a AS a", [(3, 2)]),
        ("RETURN [r IN $rows WHERE r.a > 1 | r.b] AS l", [([None],)]),
        ("UNWIND $rows AS r WITH r WHERE r.a = 2 RETURN r", [(ROWS[1],)]),
        ("UNWIND $rows AS r WITH r ORDER BY r.a DESC, r.b RETURN r.b AS b", [("z",), (None,), ("x",)]),
        ("UNWIND $rows AS r RETURN DISTINCT r IS NULL AS n", [(False,)]),
        ("UNWIND $rows AS r WITH collect(r) AS l RETURN l = $rows AS same", [(None,)]),
        ("UNWIND [1, 2] AS x UNWIND $rows AS r RETURN x, r.a AS a", [(1, 1), (1, 2), (1, None), (2, 1), (2, 2), (2, None)]),
        ("UNWIND $rows AS r UNWIND $rows AS s RETURN count(*) AS n, sum(r.a) AS a", [(9, 9)]),
        ("UNWIND $rows AS r OPTIONAL MATCH (n:None {a: r.a}) RETURN count(r) AS n", [(3,)]),
        ("UNWIND $rows AS r CALL { WITH r RETURN r.a AS a } RETURN a", [(1,), (2,), (None,)]),
        ("UNWIND $rows AS r RETURN r.a AS a, count(*) AS n ORDER BY a", [(1, 1), (2, 1), (None, 1)]),
        ("UNWIND $rows AS r RETURN r {.a, c: r.b} AS m LIMIT 1", [({"a": 1, "c": "x"},)]),
        ("FOREACH (r IN $rows | CREATE (:None2 {a: r.a}))", []),
    ],
)
def test_a_frame_is_a_list_of_maps(rows, text, expected):
    assert DB.query(text, rows=rows).tuples() == expected


@pytest.mark.parametrize("rows", [FRAME, ROWS], ids=["frame", "list"])
def test_frames_write(db, rows):
    db.query("UNWIND $rows AS r CREATE (n:P) SET n = r", rows=rows)
    db.query("UNWIND $rows AS r MERGE (n:Q {a: coalesce(r.a, 0)}) SET n += r", rows=rows)
    got = db.query("MATCH (n) RETURN labels(n)[0] AS l, n.a AS a, n.b AS b").tuples()
    expected = [("P", 1, "x"), ("P", 2, None), ("P", None, "z"), ("Q", 1, "x"), ("Q", 2, None), ("Q", None, "z")]
    assert sorted(got, key=str) == sorted(expected, key=str)
    with db.transaction() as tx:
        tx.query("UNWIND $rows AS r CREATE (:T {a: r.a})", rows=rows)
        assert tx.query("MATCH (t:T) RETURN count(t)").value() == 3
        with pytest.raises(telar.StatementError, match="rows"):
            tx.query("UNWIND $rows AS r RETURN r")
    text = "UNWIND $rows AS r CALL { WITH r CREATE (:B {a: r.a}) } IN TRANSACTIONS OF 2 ROWS"
    db.query(text, rows=rows)
    assert db.query("MATCH (b:B) RETURN count(b)").value() == 3
    assert [row["a"] for row in db.stream("UNWIND $rows AS r RETURN r.a AS a", rows=rows)] == [1, 2, None]


def test_a_parameter_that_is_named_twice():
    assert DB.query("RETURN $a", {"a": FRAME}, a=1).value() == 1
    assert len(DB.query("RETURN $a", {"a": 1}, a=FRAME).value()) == 3


def test_frames_of_odd_shapes():
    assert DB.query("UNWIND $t AS r RETURN r", t=FRAME.head(0)).tuples() == []
    assert DB.query("RETURN size($t)", t=FRAME.head(0)).value() == 0
    assert DB.query("UNWIND $t AS r RETURN r", t=pl.DataFrame()).tuples() == []
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        DB.query("UNWIND $t AS r RETURN r", t=twice)
    assert DB.query("RETURN $t", t=[FRAME]).value() == [ROWS]
    chunks = pa.concat_tables([pa.table({"a": [n]}) for n in range(3000)])
    assert DB.query("UNWIND $t AS r RETURN sum(r.a)", t=chunks).value() == 2999 * 1500


def test_large_frames_and_sorting_beyond_memory():
    n = 200_000
    frame = pl.DataFrame({"a": range(n), "b": [f"text {i % 1000}" for i in range(n)]})
    with telar.open() as db:
        small = db.session(memory=64 << 20)
        text = "UNWIND $t AS r WITH r ORDER BY r.b, r.a RETURN r.a AS a, r.b AS b LIMIT 2"
        assert small.query(text, t=frame).tuples() == [(0, "text 0"), (1000, "text 0")]
        db.query("UNWIND $t AS r CREATE (:N {a: r.a, b: r.b})", t=frame)
        assert db.query("MATCH (n:N) RETURN count(*), sum(n.a)").tuples() == [(n, n * (n - 1) // 2)]
