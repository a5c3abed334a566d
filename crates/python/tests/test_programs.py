"""Vertex programs in Python, beside the algorithms of the engine and what is worked out by hand."""

import asyncio
import random
import subprocess
import sys
import time

import numpy as np
import pyarrow.compute as pc
import pytest
import telar
import telar.aio
from telar import _topology


def filled(db, seed, nodes=40, relationships=120):
    """A random graph with parallel relationships, loops, two types and lone nodes."""
    chance = random.Random(seed)
    db.query("UNWIND range(0, $n - 1) AS n CREATE (:N {n: n})", n=nodes)
    rows = [
        {"a": chance.randrange(nodes), "b": chance.randrange(nodes), "w": chance.randrange(1, 9)}
        for _ in range(relationships)
    ]
    for of, some in (("A", rows[::2]), ("B", rows[1::2])):
        text = f"UNWIND $rows AS r MATCH (a:N {{n: r.a}}), (b:N {{n: r.b}}) CREATE (a)-[:{of} {{w: r.w}}]->(b)"
        db.query(text, rows=some)
    return [(row["a"], row["b"], row["w"]) for row in rows]


def nearer(step, far, told, degrees):
    near = np.minimum(far, told)
    return near, near, (near < far) | (step == 0)


def told_nearer(vertex, messages):
    near = min([vertex.value, *messages])
    if near < vertex.value or vertex.step == 0:
        vertex.value = near
        vertex.scatter(near)
    vertex.halt()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("orientation", ["NATURAL", "REVERSE", "UNDIRECTED"])
def test_distances_are_those_of_bellman_and_ford(db, seed, orientation):
    edges = filled(db, seed)
    forward = [] if orientation == "REVERSE" else edges
    back = [] if orientation == "NATURAL" else [(b, a, w) for a, b, w in edges]
    expected = [0.0] + [float("inf")] * 39
    for _ in range(40):
        for a, b, w in forward + back:
            expected[b] = min(expected[b], expected[a] + w)
    graph = {"nodes": "N", "orientation": orientation, "weight": "w", "key": "n"}
    arrays = db.algo.vertex_program(
        nearer,
        takes="numpy",
        init=lambda n: np.where(n == 0, 0.0, np.inf),
        combine=np.minimum,
        along=np.add,
        **graph,
    )
    assert arrays.columns == ["node", "value"]
    assert sorted(arrays.tuples()) == list(enumerate(expected))
    for combine in (None, min):
        values = db.algo.vertex_program(
            told_nearer,
            init=lambda n: 0.0 if n == 0 else float("inf"),
            combine=combine,
            along=lambda far, w: far + w,
            **graph,
        )
        assert values.tuples() == arrays.tuples()


@pytest.mark.parametrize("takes", ["numpy", "values"])
def test_page_rank_is_that_of_the_engine(db, takes):
    filled(db, 7)

    def arrays(step, score, told, degrees):
        if step > 0:
            lost = score[degrees == 0].sum()
            score = 0.15 / len(score) + 0.85 * (told + lost / len(score))
        return score, score / np.maximum(degrees, 1), degrees > 0

    def values(vertex, messages):
        if vertex.step > 0:
            told = sum(messages) + vertex.aggregated / vertex.count
            vertex.value = 0.15 / vertex.count + 0.85 * told
        if vertex.degree > 0:
            vertex.scatter(vertex.value / vertex.degree)
        vertex.aggregate(vertex.value if vertex.degree == 0 else 0.0)

    program = arrays if takes == "numpy" else values
    ranks = db.algo.vertex_program(program, takes=takes, init=1 / 40, max_iterations=31, key="n")
    expected = db.algo.page_rank(key="n", max_iterations=30, tolerance=0)
    assert dict(ranks.tuples()) == pytest.approx(dict(expected.tuples()), abs=1e-9)


def test_components_are_those_of_the_engine(db):
    filled(db, 3, relationships=30)

    def least(step, label, told, degrees):
        now = np.minimum(label, told)
        return now, now, (now < label) | (step == 0)

    labels = db.algo.vertex_program(
        least, takes="numpy", init=lambda n: n, combine=np.minimum, orientation="UNDIRECTED", key="n"
    )
    parts = {}
    for node, label in labels.tuples():
        parts.setdefault(label, set()).add(node)
    expected = {}
    for node, component in db.algo.wcc(key="n").tuples():
        expected.setdefault(component, set()).add(node)
    assert len(parts) > 3
    assert sorted(map(sorted, parts.values())) == sorted(map(sorted, expected.values()))
    assert all(label == min(nodes) for label, nodes in parts.items())


CHOICES = [
    {},
    {"nodes": "*", "relationships": "*"},
    {"relationships": "A"},
    {"relationships": ["A", "B"], "orientation": "REVERSE"},
    {"relationships": {"A": "UNDIRECTED", "B": "NATURAL"}},
    {"relationships": {"*": {"orientation": "REVERSE"}}},
    {"relationships": {"*": {"orientation": "REVERSE"}, "A": {}}},
    {"relationships": {"one": {"type": "A", "orientation": "UNDIRECTED"}, "two": {"type": "B"}}},
    {"relationships": ["A", "A"]},
    {"nodes": [], "relationships": []},
    {"orientation": "undirected"},
    {"nodes": "Odd"},
    {"nodes": ["Odd", "Low"], "relationships": "B"},
    {"relationships": "A", "weight": "w"},
    {"weight": "half", "default_weight": 0.5},
]


@pytest.mark.parametrize("chosen", CHOICES)
def test_the_graph_is_that_of_an_algorithm(db, chosen):
    filled(db, 5)
    db.query("MATCH (n:N) WHERE n.n % 2 = 1 SET n:Odd")
    db.query("MATCH (n:N) WHERE n.n < 15 SET n:Low")
    db.query("MATCH ()-[r:B]->() SET r.half = r.w / 2.0")

    turned = {"NATURAL": "REVERSE", "REVERSE": "NATURAL", "UNDIRECTED": "UNDIRECTED"}

    def turn(way):
        return turned[way.upper()]

    # What arrives is the degree in the other direction.
    other = dict(chosen)
    if isinstance(chosen.get("relationships"), dict):
        of = chosen["relationships"].items()
        plain = {name: own if isinstance(own, dict) else {"orientation": own} for name, own in of}
        way = plain.get("*", {}).get("orientation", "NATURAL")
        other["relationships"] = {
            name: {**own, "orientation": turn(own.get("orientation", way))} for name, own in plain.items()
        }
    else:
        other["orientation"] = turn(chosen.get("orientation", "NATURAL"))
    expected = dict(db.algo.degree(**other).tuples())
    sums = db.algo.vertex_program(arrived, takes="numpy", init=0.0, along=np.multiply, **chosen)
    assert dict(sums.tuples()) == pytest.approx(expected)
    degrees = db.algo.vertex_program(lambda s, v, m, degrees: degrees, takes="numpy", init=0, **chosen)
    unweighted = {name: value for name, value in chosen.items() if "eight" not in name}
    assert dict(degrees.tuples()) == dict(db.algo.degree(**unweighted).tuples())


def test_pairs_instead_of_relationships(db):
    filled(db, 1, nodes=4, relationships=0)
    nodes = db.query("MATCH (n:N) RETURN n ORDER BY n.n").values()
    db.query("CREATE (:Other)")
    other = db.query("MATCH (o:Other) RETURN id(o)").value()
    pairs = [(nodes[0], nodes[1]), (nodes[0].id, nodes[2].id, 5), (nodes[0], other)]

    settings = {"takes": "numpy", "init": 0.0, "along": np.multiply, "nodes": "N", "key": "n"}
    sums = db.algo.vertex_program(arrived, pairs=pairs, **settings)
    assert sums.tuples() == [(0, 0.0), (1, 1.0), (2, 5.0), (3, 0.0)]
    back = db.algo.vertex_program(arrived, pairs=pairs, orientation="REVERSE", **settings)
    assert back.tuples() == [(0, 6.0), (1, 0.0), (2, 0.0), (3, 0.0)]
    assert db.algo.vertex_program(arrived, pairs=[], **settings).values("value") == [0.0] * 4
    for wrong in ([(1,)], [(1, 2, 3, 4)], [(1.5, 2)], [(nodes[0], nodes[1], "x")], [(nodes[0], nodes[1], None)]):
        with pytest.raises(ValueError, match="pair"):
            db.algo.vertex_program(arrived, pairs=wrong, **settings)
    with pytest.raises(ValueError, match="stand instead of relationships"):
        db.algo.vertex_program(arrived, pairs=pairs, relationships="T", **settings)


def test_messages_to_any_node_and_sums_that_all_see(db):
    filled(db, 2, nodes=5, relationships=0)
    seen = []

    def program(vertex, messages):
        seen.append((vertex.step, vertex.node, list(messages), vertex.aggregated))
        if vertex.step == 0:
            vertex.aggregate(vertex.node)
            if vertex.node < 2:
                vertex.send(4, vertex.node)
        vertex.value += len(messages)
        vertex.halt()

    result = db.algo.vertex_program(program, init=0, reduce=max, key="n")
    assert seen[5:] == [(1, 4, [0, 1], 4)]
    assert result.tuples() == [(0, 0), (1, 0), (2, 0), (3, 0), (4, 2)]
    # Those that do not halt are called again, up to the last step.
    result = db.algo.vertex_program(lambda v, m: setattr(v, "value", v.step), init=0, max_iterations=7)
    assert set(result.values("value")) == {6}
    with pytest.raises(ValueError, match="99 is none of the nodes"):
        db.algo.vertex_program(lambda vertex, messages: vertex.send(99, 1), init=0, key="n")


def test_values_of_any_type(db):
    db.query("CREATE (a:N {n: 'a'})-[:T]->(b:N {n: 'b'}), (a)-[:T]->(:N {n: 'c'})")

    def heard(vertex, messages):
        if vertex.step == 0:
            vertex.scatter([vertex.node])
        vertex.value = vertex.value + messages
        vertex.halt()

    result = db.algo.vertex_program(heard, init=lambda n: [], key="n")
    assert result.tuples() == [("a", []), ("b", [["a"]]), ("c", [["a"]])]

    def rows(step, values, told, degrees):
        return (values, np.tile([1.0, 2.0], (3, 1))) if step == 0 else told

    result = db.algo.vertex_program(rows, takes="numpy", init=0.0, key="n")
    assert result.tuples() == [("a", [0.0, 0.0]), ("b", [1.0, 2.0]), ("c", [1.0, 2.0])]
    assert result.to_polars().shape == (3, 2)


def test_arrow(db):
    filled(db, 4)

    def most(step, value, told, degrees):
        now = pc.max_element_wise(value, told)
        return now, now, pc.or_(pc.greater(now, value), step == 0)

    def most_of(step, value, told, degrees):
        now = np.maximum(value, told)
        return now, now, (now > value) | (step == 0)

    settings = {"init": lambda n: n, "combine": np.maximum, "key": "n"}
    arrow = db.algo.vertex_program(most, takes="arrow", **settings)
    assert arrow.tuples() == db.algo.vertex_program(most_of, takes="numpy", **settings).tuples()
    assert len(set(arrow.values("value"))) < 40


@pytest.mark.parametrize("takes", ["values", "numpy", "arrow"])
def test_no_nodes_and_one(db, takes):
    def arrays(step, values, told, degrees):
        return values, values

    def values(vertex, messages):
        vertex.halt()

    program = values if takes == "values" else arrays
    assert db.algo.vertex_program(program, init=0, takes=takes).tuples() == []
    db.query("CREATE (n:N {n: 1})")
    result = db.algo.vertex_program(program, init=3, takes=takes, key="n")
    assert result.tuples() == [(1, 3)] and result.columns == ["node", "value"]


def test_what_is_wrong_is_said(db):
    filled(db, 6)

    def fine(step, values, told, degrees):
        return values

    run = db.algo.vertex_program
    with pytest.raises(telar.StatementError, match="Nobody"):
        run(fine, takes="numpy", init=0, nodes="Nobody")
    with pytest.raises(telar.StatementError, match="NOTHING"):
        run(fine, takes="numpy", init=0, relationships="NOTHING")
    with pytest.raises(ValueError, match="knows no 'aggregation'"):
        run(fine, takes="numpy", init=0, relationships={"A": {"aggregation": "SUM"}})
    db.query("MATCH ()-[r:A]->() WITH r LIMIT 1 SET r.text = 'far'")
    with pytest.raises((ValueError, telar.StatementError), match="text"):
        run(fine, takes="numpy", init=0, weight="text")
    with pytest.raises(TypeError, match="'labels' is none of what chooses a graph"):
        run(fine, takes="numpy", init=0, labels="N")
    with pytest.raises(ValueError, match="takes 'values', 'numpy' or 'arrow', not 'rows'"):
        run(fine, takes="rows", init=0)
    with pytest.raises(ValueError, match="at least 1 step"):
        run(fine, init=0, max_iterations=0)
    with pytest.raises(ValueError, match="gave values for 3 nodes, and there are 40"):
        run(lambda *all: np.zeros(3), takes="numpy", init=0)
    with pytest.raises(ValueError, match="gave messages for 3 nodes"):
        run(lambda *all: (np.zeros(40), np.zeros(3)), takes="numpy", init=0)
    for given in (None, (np.zeros(40),)):
        with pytest.raises(TypeError, match="the program gave"):
            run(lambda *all, given=given: given, takes="numpy", init=0)
    with pytest.raises(TypeError, match="numpy.add or numpy.minimum"):
        run(fine, takes="numpy", init=0, combine=min)
    with pytest.raises(ValueError, match="`empty`"):
        run(fine, takes="numpy", init=0, combine=np.subtract)
    with pytest.raises(TypeError, match="`reduce` is for"):
        run(fine, takes="numpy", init=0, reduce=max)
    with pytest.raises(TypeError, match="`empty` is for arrays"):
        run(lambda vertex, messages: None, init=0, empty=0)
    with pytest.raises(TypeError, match="method of `algo` itself"):
        db.algo.wcc.vertex_program(fine, init=0)

    def fails(vertex, messages):
        raise KeyError("not this one")

    with pytest.raises(KeyError, match="not this one"):
        run(fails, init=0)
    assert db.query("MATCH (n) RETURN count(n)").value() == 40


def arrived(step, sum, told, degrees):
    return (sum, np.ones(len(sum))) if step == 0 else told


def test_a_snapshot_and_read_only_sessions(db, monkeypatch):
    filled(db, 8)
    before = db.query("MATCH (n:N) RETURN n.n, COUNT { (n)<--() }").tuples()
    read = _topology._of_type

    def read_later(*arguments):
        db.query("MATCH (n:N) DETACH DELETE n")
        return read(*arguments)

    monkeypatch.setattr(_topology, "_of_type", read_later)
    for session in (db.session(read_only=True), db, db.session(isolation="serializable")):
        result = session.algo.vertex_program(arrived, takes="numpy", init=0, key="n")
        assert dict(result.tuples()) == (dict(before) if before else {})
        before = []
    assert db.query("MATCH (n) RETURN count(n)").value() == 0


def test_names_that_are_missing_or_not_unique(db):
    db.query("CREATE (a:N {n: 1})-[:T]->(b:N {n: 2})-[:T]->(:N), (b)-[:T]->(:N {n: 2})")
    result = db.algo.vertex_program(arrived, takes="numpy", init=-1, key="n")
    assert sorted(result.tuples(), key=str) == [(1, 0.0), (2, 1.0), (2, 1.0), (None, 1.0)]
    assert all(node is None or type(node) is int for node in result.values("node"))
    ids = db.query("MATCH (n) RETURN id(n)").values()
    nodes = db.query("MATCH (n) RETURN n").values()
    assert db.algo.vertex_program(arrived, takes="numpy", init=0).values("node") == ids
    for name in (2, 7, ids[0] + 1000):
        with pytest.raises(ValueError, match="more than one" if name == 2 else "is none"):
            db.algo.vertex_program(lambda vertex, messages, name=name: vertex.send(name, 1), init=0, key="n")

    def all_to(vertex, messages):
        if vertex.step == 0:
            vertex.send(nodes[3], 1)
        vertex.value = sum(messages)
        vertex.halt()

    assert db.algo.vertex_program(all_to, init=0, key="n").values("value") == [0, 0, 0, 4]


def test_types_of_messages(db):
    db.query("UNWIND range(1, 300) AS n CREATE (:From {n: n}) WITH collect(n) AS all CREATE (:To {n: 0})")
    db.query("MATCH (a:From), (b:To) CREATE (a)-[:T]->(b)")

    def last(program, **settings):
        return db.algo.vertex_program(program, takes="numpy", key="n", **settings).values("value")[-1]

    for kind in ("bool", "uint8", "int32", "float32"):
        ones = np.ones(301, dtype=kind)
        assert last(lambda s, v, told, d, ones=ones: (v, ones) if s == 0 else told, init=0) == 300

    def smallest(kind, empty=None):
        sent = np.arange(301).astype(kind)
        program = lambda s, v, told, d: (v, sent) if s == 0 else told  # noqa: E731
        return db.algo.vertex_program(
            program, takes="numpy", key="n", init=0, combine=np.minimum, empty=empty
        ).values("value")

    assert smallest("float32")[0] == float("inf") and smallest("float32")[-1] == 0
    assert smallest("int16")[0] == 2**15 - 1 and smallest("int16", empty=-0.5)[0] == -0.5
    assert smallest("int16", empty=-1)[0] == -1
    with pytest.raises(ValueError, match="`empty`"):
        smallest("bool")
    day = np.datetime64("2026-01-01", "ns")
    assert str(last(lambda *all: np.full(301, day), init=0)).startswith("2026-01-01")

    def rows(step, values, told, degrees):
        return (values, np.tile([1.0, 2.0], (301, 1))) if step == 0 else told

    assert last(rows, init=0, along=np.multiply) == [300.0, 600.0]
    assert last(rows, init=0, empty=[5.0, 6.0]) == [300.0, 600.0]


def test_arrays_may_be_changed_in_place(db):
    filled(db, 9)
    least = {"takes": "numpy", "combine": np.minimum, "key": "n", "max_iterations": 50}

    def in_place(step, label, told, degrees):
        before = label.copy()
        np.minimum(label, told, out=label)
        return label, label, (label < before) | (step == 0)

    def not_in_place(step, label, told, degrees):
        now = np.minimum(label, told)
        return now, now, (now < label) | (step == 0)

    expected = db.algo.vertex_program(not_in_place, init=lambda n: n, **least).tuples()
    assert db.algo.vertex_program(in_place, init=lambda n: n, **least).tuples() == expected
    given = np.zeros(40)
    db.algo.vertex_program(lambda s, v, told, d: v.fill(7) or v, takes="numpy", init=given)
    assert (given == 0).all()
    for changed in (lambda s, v, told, degrees: degrees.fill(0), lambda s, v, told, d: None):
        with pytest.raises((ValueError, TypeError)):
            db.algo.vertex_program(changed, takes="numpy", init=0)


def test_lists_are_not_shared_and_all_that_is_scattered_arrives(db):
    db.query("CREATE (:N {n: 1})-[:T]->(:N {n: 2})")

    def program(vertex, messages):
        vertex.value.extend(messages)
        if vertex.step == 0 and vertex.degree:
            vertex.scatter("a")
            vertex.scatter("b")
        vertex.halt()

    assert db.algo.vertex_program(program, init=[], key="n").tuples() == [(1, []), (2, ["a", "b"])]
    with pytest.raises(TypeError, match="returns nothing"):
        db.algo.vertex_program(lambda vertex, messages: 1, init=0)


def test_who_does_not_send_any_more_ends_the_run(db):
    db.query("CREATE (:N {n: 1}), (:N {n: 2})")
    steps = []

    def program(step, values, told, degrees):
        steps.append(step)
        return (values, values, step < 3) if step < 5 else values

    assert db.algo.vertex_program(program, takes="numpy", init=-1).values("value") == [-1, -1]
    assert steps == [0, 1, 2, 3]
    assert db.algo.vertex_program(lambda s, v, m, d: (v, None), takes="numpy", init=1).values("value") == [1, 1]
    # Where there are no relationships, nobody has messages.
    assert db.algo.vertex_program(arrived, takes="numpy", init=-1).values("value") == [0, 0]


def test_awaited():
    async def main():
        async with telar.aio.open() as db:
            await db.query("CREATE (:N {n: 1})-[:T]->(:N {n: 2})")

            def program(step, values, told, degrees):
                return (values, np.ones(2)) if step == 0 else told

            result = await db.algo.vertex_program(program, takes="numpy", init=0, key="n")
            assert result.tuples() == [(1, 0.0), (2, 1.0)]
            # A task that is cancelled does not go on.
            steps = []

            def endless(step, values, told, degrees):
                steps.append(step)
                time.sleep(0.01)
                return values, values

            with pytest.raises(asyncio.TimeoutError):
                running = db.algo.vertex_program(endless, takes="numpy", init=0, max_iterations=10**6)
                await asyncio.wait_for(running, 0.2)
            assert 0 < len(steps) < 10**5

    asyncio.run(main())


OTHER = """
import sys, telar
with telar.open(sys.argv[1]) as db:
    assert not db.is_owner
    def program(vertex, messages):
        if vertex.step == 0:
            vertex.scatter(vertex.node)
        vertex.value = sum(messages)
        vertex.halt()
    print(db.algo.vertex_program(program, init=0, key="n").tuples())
"""


def test_in_a_process_that_asks_the_owner(tmp_path):
    with telar.open(tmp_path / "graph") as db:
        db.query("CREATE (:N {n: 1})-[:T]->(:N {n: 2})")
        asked = subprocess.run(
            [sys.executable, "-c", OTHER, str(tmp_path / "graph")], capture_output=True, text=True, timeout=60
        )
        assert asked.stdout.strip() == "[(1, 0), (2, 1)]", asked.stderr
