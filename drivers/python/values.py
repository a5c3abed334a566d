"""Every type there is, as parameter and as result."""

import math
from datetime import timezone

import pytz
from neo4j.spatial import CartesianPoint, WGS84Point
from neo4j.time import Date, DateTime, Duration, Time

try:
    from neo4j.vector import Vector
except ImportError:  # a driver before Bolt 6
    Vector = None

from behaviour import behaviour, equal


def round_trip(server, values):
    """Each of `values` comes back as it was sent: alone, in a list, in a map, in a property."""
    with server.driver() as driver, driver.session() as session:
        for value in values:
            query = "RETURN $v AS alone, [$v] AS list, {key: $v} AS map"
            record = session.run(query, v=value).single(strict=True)
            equal(record["alone"], value, "alone")
            equal(record["list"], [value], "in a list")
            equal(record["map"], {"key": value}, "in a map")
        equal(session.run("RETURN $v AS v", v=values).single()["v"], values, "all")


def made_by_server(server, expected):
    """Cypher expressions give what the driver's own type says."""
    with server.driver() as driver, driver.session() as session:
        for expression, value in expected.items():
            equal(session.run(f"RETURN {expression} AS v").single()["v"], value, expression)


def stored(server, values):
    """Each of `values` is a legal property and comes back from the graph."""
    with server.driver() as driver, driver.session() as session:
        for value in values:
            session.run("MERGE (n:Store) SET n.v = $v", v=value).consume()
            equal(session.run("MATCH (n:Store) RETURN n.v AS v").single()["v"], value, "stored")


@behaviour
def null_and_booleans(server):
    round_trip(server, [None, True, False])
    stored(server, [True, False])


@behaviour
def integers(server):
    edges = [0, 1, -1, -16, -17, 127, 128, -128, -129, 32767, 32768, -32768, -32769]
    edges += [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1, -(2**63)]
    round_trip(server, edges)
    stored(server, edges)
    made_by_server(server, {"9223372036854775807": 2**63 - 1, "-9223372036854775808": -(2**63)})


@behaviour
def floats(server):
    edges = [0.0, 1.5, -2.25, 0.1, 1.7976931348623157e308, 5e-324, math.inf, -math.inf]
    round_trip(server, edges)
    stored(server, edges)
    with server.driver() as driver, driver.session() as session:
        record = session.run("RETURN $nan AS nan, $zero AS zero", nan=math.nan, zero=-0.0).single()
        assert math.isnan(record["nan"])
        equal(math.copysign(1, record["zero"]), -1.0, "sign of -0.0")
    made_by_server(server, {"1.0 / 4": 0.25, "toFloat(3)": 3.0})


@behaviour
def strings(server):
    texts = ["", "a", "ä", "日本語", "👩‍👩‍👧 e\u0301", "a\0b", "'\"\\\n`$", "\U0010ffff"]
    texts += ["x" * size for size in (15, 16, 255, 256, 65535, 65536)]
    round_trip(server, texts)
    stored(server, texts)
    made_by_server(server, {"'\\u00e4' + \"ö\"": "äö"})


@behaviour
def bytes_values(server):
    values = [b"", b"\0", bytes(range(256)), b"x" * 255, b"x" * 256, b"y" * 70000]
    round_trip(server, values)
    stored(server, values)
    with server.driver() as driver, driver.session() as session:
        equal(session.run("RETURN $v AS v", v=bytearray(b"ab")).single()["v"], b"ab")


@behaviour
def lists_and_maps(server):
    nested = {"a": [1, "two", 3.0, None, [True, {"b": []}]], "": {}, "ключ`": {"c": {"d": [[]]}}}
    round_trip(server, [[], {}, [[]], nested, list(range(300)), {str(i): i for i in range(300)}])
    stored(server, [[1, 2, 3], ["a", ""], [1.5], [True, False], list(range(70000))])
    made_by_server(server, {"range(1, 3)": [1, 2, 3], "{a: 1, b: [null]}": {"a": 1, "b": [None]}})


@behaviour
def nodes(server):
    with server.driver() as driver, driver.session() as session:
        query = "CREATE (n:A:`B c` {name: 'x', list: [1, 2]}) RETURN n"
        node = session.run(query).single()["n"]
        equal(node.labels, frozenset(["A", "B c"]))
        equal(dict(node), {"name": "x", "list": [1, 2]})
        equal(node["name"], "x")
        assert isinstance(node.element_id, str) and node.element_id
        again = session.run("MATCH (n:A) RETURN n, [n] AS l, {m: n} AS m").single()
        assert again["n"] == node or again["n"].element_id == node.element_id
        equal(again["l"][0].element_id, node.element_id)
        equal(again["m"]["m"].element_id, node.element_id)
        bare = session.run("CREATE (n) RETURN n").single()["n"]
        equal((bare.labels, dict(bare)), (frozenset(), {}))


@behaviour
def relationships(server):
    with server.driver() as driver, driver.session() as session:
        query = "CREATE (a:A)-[r:`KNOWS of` {since: 1999}]->(b:B) RETURN a, r, b"
        record = session.run(query).single()
        relationship = record["r"]
        equal(relationship.type, "KNOWS of")
        equal(dict(relationship), {"since": 1999})
        equal(relationship.start_node.element_id, record["a"].element_id)
        equal(relationship.end_node.element_id, record["b"].element_id)
        loop = session.run("CREATE (a)-[r:LOOP]->(a) RETURN r").single()["r"]
        equal(loop.start_node.element_id, loop.end_node.element_id)
        query = "MATCH (a:A), (b:B) CREATE (a)-[r:P]->(b), (a)-[s:P]->(b) RETURN r, s"
        first, second = session.run(query).single()
        assert first.element_id != second.element_id, "parallel relationships are two"


@behaviour
def paths(server):
    with server.driver() as driver, driver.session() as session:
        session.run("CREATE (:P {i: 0})-[:X {w: 1}]->(:P {i: 1})<-[:Y]-(:P {i: 2})").consume()
        query = "MATCH p = (:P {i: 0})-->()<--() RETURN p"
        path = session.run(query).single()["p"]
        equal([node["i"] for node in path.nodes], [0, 1, 2])
        equal([step.type for step in path.relationships], ["X", "Y"])
        equal(path.relationships[0]["w"], 1)
        equal(path.relationships[1].start_node.element_id, path.nodes[2].element_id)
        equal((path.start_node["i"], path.end_node["i"], len(path)), (0, 2, 2))
        back = session.run("MATCH p = (:P {i: 2})-->()<--() RETURN p").single()["p"]
        equal([node["i"] for node in back.nodes], [2, 1, 0])
        alone = session.run("MATCH p = (:P {i: 1}) RETURN p").single()["p"]
        equal((len(alone), alone.start_node["i"]), (0, 1))
        session.run("CREATE (a:C {i: 0})-[:X]->(b:C {i: 1})-[:X]->(a)").consume()
        circle = session.run("MATCH p = (:C {i: 0})-[:X*2]->() RETURN p").single()["p"]
        equal([node["i"] for node in circle.nodes], [0, 1, 0])


@behaviour
def dates_and_times(server):
    zone = pytz.timezone("Europe/Stockholm")
    east = pytz.FixedOffset(5 * 60 + 45)
    clock = (12, 34, 56, 123456789)
    values = {
        "date('2024-02-29')": Date(2024, 2, 29),
        "date('0001-01-01')": Date(1, 1, 1),
        "localtime('12:34:56.123456789')": Time(*clock),
        "time('12:34:56.123456789+05:45')": Time(*clock, tzinfo=east),
        "localdatetime('1969-12-31T12:34:56.123456789')": DateTime(1969, 12, 31, *clock),
        "datetime('2024-07-01T12:34:56.123456789+05:45')": DateTime(2024, 7, 1, *clock, tzinfo=east),
        "datetime('1955-01-01T12:34:56.123456789Z')": DateTime(1955, 1, 1, *clock, tzinfo=timezone.utc),
    }
    for month in (1, 7):
        text = f"datetime('2024-{month:02}-01T12:34:56.123456789[Europe/Stockholm]')"
        values[text] = zone.localize(DateTime(2024, month, 1, *clock))
    with server.driver() as driver, driver.session() as session:
        for text, value in values.items():
            query = f"MERGE (n:T) SET n.v = $v RETURN $v AS back, {text} AS made, $v = {text} AS equal, n.v AS v"
            record = session.run(query, v=value).single()
            assert record["equal"], f"{text} is not the parameter {value}"
            for key in ("back", "made", "v"):
                equal(record[key].iso_format(), value.iso_format(), f"{key} {text}")
                equal(record[key], value, text)
        name = session.run("RETURN datetime('2024-07-01T00:00[Europe/Stockholm]') AS d").single()["d"]
        assert "Stockholm" in str(name.tzinfo), f"the zone is kept: {name.tzinfo!r}"


@behaviour
def durations(server):
    values = [Duration(), Duration(months=14, days=3, seconds=5, nanoseconds=7),
              Duration(months=-1, days=40, seconds=-61), Duration(nanoseconds=-1)]
    round_trip(server, values)
    stored(server, values)
    made_by_server(server, {
        "duration('P1Y2M3DT4H5M6.000000007S')": Duration(
            months=14, days=3, seconds=4 * 3600 + 5 * 60 + 6, nanoseconds=7),
        "duration({days: -1, seconds: 90000})": Duration(days=-1, seconds=90000),
    })


@behaviour
def points(server):
    values = [CartesianPoint((1.5, -2.0)), CartesianPoint((1.0, 2.0, 3.5)),
              WGS84Point((12.5, 56.25)), WGS84Point((-12.5, -56.25, 100.0))]
    round_trip(server, values)
    stored(server, values)
    made_by_server(server, {
        "point({x: 1, y: 2})": CartesianPoint((1.0, 2.0)),
        "point({x: 1, y: 2, z: 3})": CartesianPoint((1.0, 2.0, 3.0)),
        "point({longitude: 1, latitude: 2})": WGS84Point((1.0, 2.0)),
        "point({longitude: 1, latitude: 2, height: 3})": WGS84Point((1.0, 2.0, 3.0)),
    })
    with server.driver() as driver, driver.session() as session:
        equal([session.run("RETURN $v AS v", v=v).single()["v"].srid for v in values],
              [7203, 9157, 4326, 4979])


@behaviour
def vectors(server):
    if not server.is_telar:
        return  # The vectors of Neo4j are those of its block format.
    kinds = {"i8": "INT8", "i16": "INT16", "i32": "INT32", "i64": "INT64", "f32": "FLOAT32", "f64": "FLOAT64"}
    if Vector is None:
        made_by_server(server, {
            "vector([1, -2], 2, INT8)": [1, -2],
            "vector([1, 0.5], 2, FLOAT32)": [1.0, 0.5],
        })
        return
    values = [Vector([1, -2, 3], dtype) for dtype in kinds if dtype[0] == "i"]
    values += [Vector([1.0, -0.5, 1e30], dtype) for dtype in kinds if dtype[0] == "f"]
    values += [Vector([0.0] * 4096, "f64"), Vector([127, -128], "i8"), Vector([2**63 - 1, -2**63], "i64")]

    def same(got, expected, what):
        # Vectors of this driver are equal only to themselves.
        equal((type(got), got.dtype, got.raw()), (Vector, expected.dtype, expected.raw()), what)

    with server.driver() as driver, driver.session() as session:
        for value in values:
            record = session.run("RETURN $v AS alone, [$v] AS list, {key: $v} AS map", v=value).single()
            same(record["alone"], value, "alone")
            same(record["list"][0], value, "in a list")
            same(record["map"]["key"], value, "in a map")
            session.run("MERGE (n:Store) SET n.v = $v", v=value).consume()
            same(session.run("MATCH (n:Store) RETURN n AS n").single()["n"]["v"], value, "stored")
        for dtype, name in kinds.items():
            made = session.run(f"RETURN vector([1, -2], 2, {name}) AS v").single()["v"]
            same(made, Vector([1, -2] if dtype[0] == "i" else [1.0, -2.0], dtype), name)
        query = "UNWIND $all AS v CREATE (:Embedded {v: v})"
        session.run(query, all=[Vector([float(i), 1.0], "f32") for i in range(100)]).consume()
        found = session.run(
            "MATCH (n:Embedded) RETURN n.v AS v ORDER BY vector_distance(n.v, $to, EUCLIDEAN) LIMIT 1",
            to=Vector([7.2, 1.0], "f64")).single()["v"]
        same(found, Vector([7.0, 1.0], "f32"), "nearest")


@behaviour
def thousand_parameters(server):
    parameters = {f"p{i}": i for i in range(1000)}
    query = "RETURN [" + ", ".join(f"$p{i}" for i in range(1000)) + "] AS all"
    with server.driver() as driver:
        equal(driver.execute_query(query, parameters).records[0]["all"], list(range(1000)))


@behaviour
def large_strings(server):
    text = "0123456789abcdeä" * (10 * 2**20 // 17)
    with server.driver() as driver, driver.session() as session:
        record = session.run("CREATE (n:Big {v: $v}) RETURN n.v AS v, size($v) AS size", v=text).single()
        equal(record["size"], len(text))
        assert record["v"] == text
        assert session.run("MATCH (n:Big) RETURN n.v AS v").single()["v"] == text


@behaviour
def deep_lists(server):
    deep = 0
    for _ in range(60):
        deep = [deep]
    round_trip(server, [deep])
    with server.driver() as driver:
        made = driver.execute_query("RETURN " + "[" * 50 + "]" * 50 + " AS v").records[0]["v"]
        for _ in range(49):
            equal(len(made), 1)
            made = made[0]
        equal(made, [])
