"""Frames and graphs of other libraries, both ways."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import telar
from hypothesis import given, settings, strategies as st

DB = telar.open()
ROWS = "UNWIND $rows AS row RETURN row.a AS a, row.b AS b"


def columns(strategy):
    return st.lists(st.none() | strategy, min_size=1, max_size=30)


TABLES = st.one_of(
    columns(st.integers(-(2**63), 2**63 - 1)),
    columns(st.floats()),
    columns(st.booleans()),
    columns(st.text()),
    columns(st.binary()),
    columns(st.dates()),
    columns(st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1))),
    columns(
        st.datetimes(
            dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.timezone.utc)
        )
    ),
    columns(st.times()),
)


def equal(one, other):
    return one == other or (one != one and other != other)


@given(TABLES)
@settings(max_examples=200, deadline=None)
def test_columns_go_to_arrow_and_back(values):
    result = DB.query("UNWIND $values AS v RETURN v", values=values)
    table = result.to_arrow()
    got = table.column("v").to_pylist()
    assert len(got) == len(values) and all(map(equal, got, values))
    again = DB.query("UNWIND $rows AS row RETURN row.v AS v", rows=table).values()
    assert all(map(equal, again, values))


def test_types_of_arrow():
    text = """RETURN 1 AS i, 1.5 AS f, 'x' AS s, true AS b, date('2024-01-01') AS d,
              localtime('12:00') AS t, localdatetime('2024-01-01T00:00') AS l,
              datetime('2024-01-01T00:00Z') AS z, [1] AS list, null AS n"""
    schema = DB.query(text).to_arrow().schema
    expected = [pa.int64(), pa.float64(), pa.large_string(), pa.bool_(), pa.date32()]
    expected += [pa.time64("ns"), pa.timestamp("ns"), pa.timestamp("ns", tz="UTC")]
    assert schema.types[:8] == expected and schema.names[8:] == ["list", "n"]


def test_a_column_of_integers_and_floats_becomes_floats_wherever_they_stand():
    text = "UNWIND range(1, 20000) AS n RETURN CASE n WHEN 20000 THEN 0.5 ELSE n END AS n"
    values = DB.query(text).to_arrow().column("n")
    assert values.type == pa.float64() and values[-1].as_py() == 0.5 and values[0].as_py() == 1.0


def test_results_without_rows_keep_their_columns():
    table = DB.query("MATCH (x:Nothing) RETURN x.a AS a, x.b AS b").to_arrow()
    assert table.num_rows == 0 and table.column_names == ["a", "b"]
    assert DB.query("MATCH (x:Nothing) RETURN x.a AS a").to_polars().shape == (0, 1)
    assert DB.query("MATCH (x:Nothing) RETURN x.a AS a").to_pandas().shape == (0, 1)


def test_polars_pandas_numpy():
    result = DB.query("UNWIND range(1, 5) AS n RETURN n, n / 2.0 AS f, toString(n) AS s, n > 2 AS b")
    assert result.to_polars()["n"].to_list() == [1, 2, 3, 4, 5]
    assert list(result.to_pandas()["s"]) == ["1", "2", "3", "4", "5"]
    arrays = result.to_numpy()
    assert [arrays[name].dtype.kind for name in "nfsb"] == ["i", "f", "O", "b"]
    assert arrays["b"].tolist() == [False, False, True, True, True]
    arrays = DB.query("UNWIND [1, null] AS n RETURN n, n > 0 AS b").to_numpy()
    assert math.isnan(arrays["n"][1]) and arrays["b"].tolist() == [True, None]


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"a": [1, 2, None], "b": ["x", None, "z"]}),
        pa.table({"a": [1, 2, None], "b": ["x", None, "z"]}),
        pa.table({"a": [1, 2, None], "b": pa.array(["x", None, "z"]).dictionary_encode()}),
        pd.DataFrame({"a": pd.array([1, 2, None], "Int64"), "b": ["x", None, "z"]}),
        pa.RecordBatch.from_pydict({"a": [1, 2, None], "b": ["x", None, "z"]}),
        [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": "z"}],
    ],
    ids=lambda frame: type(frame).__module__,
)
def test_frames_are_parameters(frame):
    expected = [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": None, "b": "z"}]
    assert DB.query(ROWS, rows=frame).dicts() == expected


def test_a_result_is_a_frame_for_another_database():
    people = DB.query("UNWIND ['Ada', 'Bob'] AS name RETURN name, size(name) AS size")
    with telar.open() as other:
        other.query("UNWIND $people AS p CREATE (:Person {name: p.name})", people=people)
        assert other.query("MATCH (p:Person) RETURN count(p)").value() == 2


def test_frames_of_no_rows_and_of_many():
    assert DB.query(ROWS, rows=pl.DataFrame({"a": [], "b": []})).dicts() == []
    frame = pl.DataFrame({"a": range(100_000), "b": ["x"] * 100_000})
    text = "UNWIND $rows AS row RETURN sum(row.a) AS s, count(row.b) AS n"
    assert DB.query(text, rows=frame).tuples() == [(99_999 * 50_000, 100_000)]


def test_what_arrow_has_and_telar_has_not_is_refused():
    table = pa.table({"a": pa.array([2**64 - 1], pa.uint64())})
    with pytest.raises(telar.StatementError, match="column 'a', row 1"):
        DB.query("UNWIND $rows AS row RETURN row", rows=table)


def test_streams_are_read_as_arrow():
    text = "UNWIND range(1, 100000) AS n RETURN n, toString(n) AS s"
    reader = pa.RecordBatchReader.from_stream(DB.stream(text))
    sizes = [batch.num_rows for batch in reader]
    assert sum(sizes) == 100_000 and len(sizes) > 5
    assert pl.DataFrame(DB.stream(text)).shape == (100_000, 2)
    stream = DB.stream(text)
    assert next(stream)["n"] == 1
    assert pl.DataFrame(stream)["n"].to_list()[0] == 2
    with pytest.raises(telar.ClosedError):
        stream.__arrow_c_stream__()
    assert pl.DataFrame(DB.stream("UNWIND [] AS n RETURN n")).shape == (0, 1)
    with pytest.raises(telar.StatementError):
        pl.DataFrame(DB.stream("UNWIND [1, 0] AS n RETURN 1 / n AS n"))


GRAPH = """CREATE (a:Person {name: 'Ada', labels: 'odd'})-[:KNOWS {since: 1840}]->(b:City {name: 'Ulm'}),
           (a)-[:KNOWS]->(b), (b)-[:IN]->(b)"""


def test_networkx(db):
    db.query(GRAPH)
    result = db.query("MATCH (a)-[r]->(b) RETURN a, r, b")
    graph = result.to_networkx()
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (2, 3)
    assert graph.nodes[0] == {"labels": {"Person"}, "name": "Ada", "labels_": "odd"}
    graph = result.to_networkx(key="name")
    assert sorted(graph.nodes) == ["Ada", "Ulm"] and graph.number_of_edges("Ada", "Ulm") == 2
    assert [d.get("since") for _, _, d in graph.edges(data=True)].count(1840) == 1
    with pytest.raises(ValueError, match="no property 'nothing'"):
        result.to_networkx(key="nothing")
    only = db.query("MATCH ()-[r]->() RETURN r")
    assert only.to_networkx().number_of_nodes() == 2
    with pytest.raises(ValueError, match="return them"):
        only.to_networkx(key="name")
    db.query("CREATE (:City {name: 'Ulm'})")
    with pytest.raises(ValueError, match="two nodes have name = 'Ulm'"):
        db.query("MATCH (n) RETURN n").to_networkx(key="name")


def test_igraph(db):
    db.query(GRAPH)
    graph = db.query("MATCH (a)-[r]->(b) RETURN a, r, b").to_igraph()
    assert (graph.vcount(), graph.ecount(), graph.is_directed()) == (2, 3, True)
    assert graph.vs["name"] == ["Ada", "Ulm"] and graph.vs["labels_"] == ["odd", None]
    assert sorted(graph.es["type"]) == ["IN", "KNOWS", "KNOWS"]
    assert db.query("MATCH ()-[r]->() RETURN r").to_igraph().vcount() == 2


def test_edge_index(db):
    db.query(GRAPH)
    index, ids = db.query("MATCH (a)-[:KNOWS]->(b) RETURN a, b").edge_index()
    assert index.tolist() == [[0, 0], [1, 1]] and ids.tolist() == [0, 1]
    result = db.query("MATCH (a)-[r]->(b) RETURN r.since AS since, id(b) AS b, id(a) AS a")
    index, ids = result.edge_index("a", "b", ids=np.array([1, 0]))
    assert sorted(zip(*index.tolist())) == [(0, 0), (1, 0), (1, 0)]
    with pytest.raises(ValueError, match="not among ids"):
        result.edge_index("a", "b", ids=[1])
    with pytest.raises(TypeError, match="'since'"):
        result.edge_index("since", "b")
    index, ids = db.query("MATCH (a)-[:NONE]->(b) RETURN a, b").edge_index()
    assert index.shape == (2, 0) and ids.shape == (0,)
