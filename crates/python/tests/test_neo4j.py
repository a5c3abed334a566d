"""The same program on Neo4j's driver with `telar serve`, and on the adapter: the same is said."""

import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
import telar
import telar.neo4j

neo4j = pytest.importorskip("neo4j")
TELAR = os.environ.get("TELAR")


@pytest.fixture(scope="module")
def server():
    assert TELAR and Path(TELAR).exists(), "TELAR names the program telar: tools/python.sh sets it"
    command = [TELAR, "serve", "--memory", "--no-auth", "--no-http", "--bolt", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if line.startswith("Bolt at "):
            break
    yield line.split()[2]
    process.terminate()
    process.wait()


@pytest.fixture(params=["embedded", "server"])
def driver(request):
    if request.param == "embedded":
        uri, of = "telar://", telar.neo4j.GraphDatabase
    else:
        uri, of = request.getfixturevalue("server"), neo4j.GraphDatabase
    with of.driver(uri, auth=("neo4j", "x") if request.param == "embedded" else None) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        for (name,) in driver.execute_query("SHOW CONSTRAINTS YIELD name").records:
            driver.execute_query(f"DROP CONSTRAINT `{name}`")
        yield driver


def test_records(driver):
    with driver.session() as session:
        result = session.run("UNWIND $all AS x RETURN x, x * 2 AS y", all=[1, 2, 3])
        assert list(result.keys()) == ["x", "y"] and result.peek()["y"] == 2
        record = next(result)
        assert isinstance(record, neo4j.Record) and isinstance(record, tuple)
        assert (record["x"], record[1], record.get("z"), record.get("z", 7)) == (1, 2, None, 7)
        assert (record.keys(), record.values(), record.items()) == (["x", "y"], [1, 2], [("x", 1), ("y", 2)])
        assert (record.data(), dict(record), record.value(), record.value("y")) == ({"x": 1, "y": 2},) * 2 + (1, 2)
        assert (record.index("y"), len(record), list(record)) == (1, 2, [1, 2])
        assert record[0:1].data() == {"x": 1} and record.values("y", "q") == [2, None]
        x, y = record
        assert (x, y) == (1, 2) and record == (1, 2)
        with pytest.raises(KeyError):
            record["z"]
        assert record[9] is None and record.value(9, "d") == "d"
        with pytest.raises(IndexError):
            record.index(9)
        assert [r["x"] for r in result] == [2, 3] and result.peek() is None
        assert list(result) == []
        assert session.run("RETURN 1 AS a, 2 AS b").data() == [{"a": 1, "b": 2}]
        assert session.run("UNWIND [1, 2] AS a RETURN a, 3 AS b").values() == [[1, 3], [2, 3]]
        assert session.run("UNWIND [1, 2] AS a RETURN a, 3 AS b").value("b") == [3, 3]
        assert len(session.run("UNWIND range(1, 9) AS n RETURN n").fetch(4)) == 4


def test_single(driver):
    with driver.session() as session:
        assert session.run("RETURN 1 AS x").single()["x"] == 1
        assert session.run("UNWIND [] AS x RETURN x").single() is None
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert session.run("UNWIND [1, 2] AS x RETURN x").single()["x"] == 1
        assert len(seen) == 1
        for query in ("UNWIND [] AS x RETURN x", "UNWIND [1, 2] AS x RETURN x"):
            with pytest.raises(neo4j.exceptions.ResultNotSingleError):
                session.run(query).single(strict=True)


def test_graph(driver):
    with driver.session() as session:
        query = "CREATE p = (a:Person:Author {name: 'Ada'})-[k:KNOWS {since: 1840}]->(b:Person {name: 'Bob'}) RETURN a, k, b, p"
        record = session.run(query).single()
        ada, knows, bob, path = record
        assert isinstance(ada, neo4j.graph.Node) and isinstance(knows, neo4j.graph.Relationship)
        assert isinstance(path, neo4j.graph.Path)
        assert ada.labels == {"Person", "Author"} and ada["name"] == "Ada" and dict(ada) == {"name": "Ada"}
        assert list(ada.items()) == [("name", "Ada")] and ada.get("x", 3) == 3 and "name" in ada and len(ada) == 1
        assert (knows.type, knows["since"], knows.nodes) == ("KNOWS", 1840, (ada, bob))
        assert knows.start_node == ada and knows.end_node["name"] == "Bob"
        assert path.nodes == (ada, bob) and path.relationships == (knows,) and len(path) == 1
        assert (path.start_node, path.end_node, list(path)) == (ada, bob, [knows])
        assert ada.element_id != bob.element_id and len({ada, bob, path.start_node}) == 2
        ids = session.run("MATCH (a:Author)-[k]->() RETURN elementId(a), elementId(k)").single().values()
        assert ids == [ada.element_id, knows.element_id]
        alone = session.run("MATCH ()-[k:KNOWS]->() RETURN k").single()["k"]
        assert dict(alone.start_node) == {} and alone.start_node.element_id == ada.element_id
        assert alone.start_node.labels == frozenset()
        both = {"name": "Ada"}, "KNOWS", {"name": "Bob"}
        assert record.data() == {"a": both[0], "k": both, "b": both[2], "p": list(both)}
        back = session.run("MATCH p = (b {name: 'Bob'})<-[]-(a) RETURN p").single().data()
        assert back == {"p": [both[2], "KNOWS", both[0]]}
        graph = session.run("MATCH (a)-[k]->(b) RETURN a, [k, b] AS more").graph()
        assert (len(graph.nodes), len(graph.relationships)) == (2, 1)


VALUES = [
    "NULL", "true", "1", "1.5", "'ä\\n'", "[1, [2, 'x'], NULL]", "{a: 1, b: {c: [date('2024-02-29')]}}",
    "date('2024-02-29')", "time('12:00:00.5+02:00')", "localtime('23:59:59.999999999')",
    "localdatetime('2024-02-29T13:05:00')", "datetime('2024-02-29T13:05:00.123456789+05:30')",
    "datetime('2024-07-01T13:05:00[Europe/Berlin]')", "datetime('2024-01-01T13:05:00.000000001[Europe/Berlin]')",
    "duration('P1Y2M3DT4H5M6.007S')", "duration({days: -1, seconds: -2, nanoseconds: 5})",
    "point({x: 1, y: 2})", "point({x: 1, y: 2, z: 3})", "point({longitude: 8, latitude: 49})",
    "point({longitude: 8, latitude: 49, height: 5})",
]


@pytest.mark.parametrize("text", VALUES)
def test_values_there_and_back(driver, text):
    with driver.session() as session:
        value = session.run(f"RETURN {text} AS v").single()["v"]
        same = session.run(f"RETURN $v = {text} OR ($v IS NULL AND {text} IS NULL) AS same, $v AS v", v=value).single()
        assert same["same"] is True or text.startswith("["), (text, value)
        assert same["v"] == value and type(same["v"]) is type(value)


def test_values_are_the_drivers(driver, server):
    real = neo4j.GraphDatabase.driver(server)
    with driver.session() as session, real.session() as other, real:
        for text in VALUES:
            value, expected = (s.run(f"RETURN {text} AS v").single()["v"] for s in (session, other))
            assert value == expected and type(value) is type(expected), text
            if hasattr(expected, "iso_format"):
                assert value.iso_format() == expected.iso_format(), text
            if hasattr(expected, "tzinfo"):
                assert str(value.tzinfo) == str(expected.tzinfo), text


def test_transactions(driver):
    def add(tx, name, times=1):
        return tx.run("UNWIND range(1, $n) AS i CREATE (p:Person {name: $name}) RETURN p.name", name=name, n=times).value()

    def count(tx):
        return tx.run("MATCH (p:Person) RETURN count(p)").single().value()

    with driver.session() as session:
        assert session.execute_write(add, "Ada", times=2) == ["Ada", "Ada"]
        assert session.execute_read(count) == 2
        with session.begin_transaction() as tx:
            add(tx, "Bob")
            assert count(tx) == 3
            tx.rollback()
        assert tx.closed() and session.execute_read(count) == 2
        with session.begin_transaction() as tx:
            result = tx.run("CREATE (:Person) RETURN 1 AS one")
            assert result.single()["one"] == 1
        assert session.execute_read(count) == 3
        with pytest.raises(RuntimeError), session.begin_transaction() as tx:
            add(tx, "Cleo")
            raise RuntimeError
        assert session.execute_read(count) == 3
        with pytest.raises(neo4j.exceptions.ClientError):
            session.execute_read(add, "nobody")
        with pytest.raises(ZeroDivisionError):
            session.execute_write(lambda tx: add(tx, "x") and 1 // 0)
        assert session.execute_read(count) == 3
        tx = session.begin_transaction()
        with pytest.raises(neo4j.exceptions.TransactionError):
            session.run("RETURN 1")
        tx.commit()
        with pytest.raises(neo4j.exceptions.TransactionError):
            tx.run("RETURN 1")
        left = session.execute_read(lambda tx: tx.run("RETURN 1"))
        with pytest.raises(neo4j.exceptions.ResultConsumedError):
            list(left)


def test_counts_survive_conflicts(driver):
    driver.execute_query("CREATE (:Counter {n: 0})")

    def add():
        def work(tx):
            n = tx.run("MATCH (c:Counter) RETURN c.n").single().value()
            tx.run("MATCH (c:Counter) SET c.n = $n", n=n + 1)

        with driver.session() as session:
            for _ in range(20):
                session.execute_write(work)

    threads = [threading.Thread(target=add) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert driver.execute_query("MATCH (c:Counter) RETURN c.n").records[0][0] == 80


def test_execute_query(driver):
    records, summary, keys = driver.execute_query("CREATE (p:P {x: $x}) RETURN p.x AS x", x=1, database_="neo4j")
    assert (records[0]["x"], keys) == (1, ["x"])
    counters = summary.counters
    assert (counters.nodes_created, counters.properties_set, counters.labels_added) == (1, 1, 1)
    assert counters.contains_updates and not counters.contains_system_updates
    assert (summary.query_type, summary.query, summary.parameters) == ("rw", "CREATE (p:P {x: $x}) RETURN p.x AS x", {"x": 1})
    found = driver.execute_query("MATCH (p:P) RETURN p.x", {"y": 1}, routing_="r", result_transformer_=lambda r: r.value())
    assert found == [1]
    frame = driver.execute_query("UNWIND [1, 2] AS a RETURN a, 'x' AS b", result_transformer_=lambda r: r.to_df())
    assert frame.to_dict("list") == {"a": [1, 2], "b": ["x", "x"]}
    driver.verify_connectivity()
    with driver.session() as session:
        summary = session.run("MATCH (p:P) DELETE p").consume()
        assert (summary.counters.nodes_deleted, summary.query_type) == (1, "w")


def test_errors(driver):
    driver.execute_query("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
    driver.execute_query("CREATE (:P {id: 1})")
    errors = neo4j.exceptions
    for query, of, code in [
        ("RETRN 1", errors.CypherSyntaxError, "Neo.ClientError.Statement.SyntaxError"),
        ("CREATE (:P {id: 1})", errors.ConstraintError, "Neo.ClientError.Schema.ConstraintValidationFailed"),
        ("RETURN $missing", errors.ClientError, "Neo.ClientError.Statement.ParameterMissing"),
        ("RETURN 1 / 0", errors.ClientError, "Neo.ClientError.Statement.ArithmeticError"),
    ]:
        with driver.session() as session, pytest.raises(of) as caught:
            session.run(query).consume()
        assert caught.value.code == code and isinstance(caught.value, errors.Neo4jError)
        assert caught.value.message and not caught.value.is_retryable()
    with driver.session() as session:
        tx = session.begin_transaction()
        with pytest.raises(errors.CypherSyntaxError):
            tx.run("RETRN 1").consume()
        with pytest.raises(errors.TransactionError):
            tx.run("RETURN 1").consume()
        tx.close()
        result = session.run("UNWIND [1, 2] AS x RETURN x")
        result.consume()
        with pytest.raises(errors.ResultConsumedError):
            next(result)
    with pytest.raises(errors.DriverError), warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        session.run("RETURN 1")


def test_a_program_changes_its_address_alone(tmp_path):
    program = """
import sys
import telar.neo4j
telar.neo4j.register()
from neo4j import GraphDatabase
uri = sys.argv[1]
with GraphDatabase.driver(uri, auth=("neo4j", "x"), max_connection_pool_size=5) as driver:
    with driver.session(database="neo4j", fetch_size=10) as session:
        session.run("MERGE (p:Person {name: 'Ada'})").consume()
with GraphDatabase.driver(uri) as one, GraphDatabase.driver(uri) as two:
    one.close()
    print(two.execute_query("MATCH (p:Person) RETURN count(p) AS n").records[0]["n"])
"""
    for _ in range(2):
        uri = f"telar://{tmp_path}/a%20graph.telar"
        done = subprocess.run([sys.executable, "-c", program, uri], capture_output=True, text=True)
        assert (done.stdout, done.stderr) == ("1\n", "")
    assert (tmp_path / "a graph.telar").is_dir()


def test_the_driver_need_not_be_installed():
    program = """
import sys
sys.modules["neo4j"] = None
from telar.neo4j import GraphDatabase, exceptions
with GraphDatabase.driver("telar://") as driver, driver.session() as session:
    record = session.run("CREATE p = (a:A {d: date('2024-02-29'), t: duration('P1D')})-[r:R]->(:B) RETURN a, r, p").single()
    print(record["a"]["d"], record["a"]["t"], record["r"].type, len(record["p"]), record.data()["r"][1])
    try:
        session.run("RETRN")
    except exceptions.CypherSyntaxError as error:
        print(error.code)
try:
    GraphDatabase.driver("bolt://localhost")
except exceptions.ConfigurationError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    expected = (
        "2024-02-29 P1D R 1 R\nNeo.ClientError.Statement.SyntaxError\n"
        "bolt://localhost: needs the package neo4j; telar:///path runs in this process\n"
    )
    assert (done.stdout, done.stderr) == (expected, "")
