"""Results: rows as they come, and what the summary says of them."""

import threading
import time

from behaviour import behaviour, equal, resident_mib


@behaviour
def keys_and_records(server):
    with server.driver() as driver, driver.session() as session:
        result = session.run("UNWIND [1, 2] AS x RETURN x, x * 2 AS `two x`, 'c' AS c ORDER BY x")
        equal(list(result.keys()), ["x", "two x", "c"])
        equal([record.values() for record in result], [[1, 2, "c"], [2, 4, "c"]])
        nothing = session.run("MATCH (n:Nobody) RETURN n.a AS a, n.b")
        equal(list(nothing.keys()), ["a", "n.b"])
        equal(list(nothing), [])
        equal(list(session.run("CREATE (:A)").keys()), [])


@behaviour
def query_types(server):
    with server.driver() as driver, driver.session() as session:
        for query, kind in {
            "RETURN 1": "r",
            "CREATE (:A)": "w",
            "MERGE (a:A) RETURN a": "rw",
            "CREATE CONSTRAINT FOR (n:Kind) REQUIRE n.id IS UNIQUE": "s",
        }.items():
            equal(session.run(query).consume().query_type, kind, query)


@behaviour
def counters(server):
    with server.driver() as driver, driver.session() as session:
        def count(query):
            return session.run(query).consume().counters

        made = count("CREATE (a:A:B {x: 1, y: 2})-[:R {z: 1}]->(b:B)")
        equal((made.nodes_created, made.relationships_created), (2, 1))
        equal((made.properties_set, made.labels_added), (3, 3))
        assert made.contains_updates and not made.contains_system_updates
        changed = count("MATCH (a:A) SET a.x = 5, a:C REMOVE a:B REMOVE a.y")
        equal((changed.properties_set, changed.labels_added, changed.labels_removed), (2, 1, 1))
        gone = count("MATCH (a) DETACH DELETE a")
        equal((gone.nodes_deleted, gone.relationships_deleted), (2, 1))
        read = count("MATCH (a) RETURN a")
        assert not read.contains_updates
        schema = count("CREATE CONSTRAINT counted FOR (n:Counted) REQUIRE n.id IS UNIQUE")
        equal(schema.constraints_added, 1)
        equal(count("DROP CONSTRAINT counted").constraints_removed, 1)
        equal(count("CREATE INDEX counted FOR (n:Counted) ON (n.id)").indexes_added, 1)
        equal(count("DROP INDEX counted").indexes_removed, 1)


def operators(plan):
    return [plan] + [below for child in plan.get("children", []) for below in operators(child)]


@behaviour
def plans_and_profiles(server):
    with server.driver() as driver, driver.session() as session:
        session.run("UNWIND range(1, 10) AS i CREATE (:P {i: i})").consume()
        result = session.run("EXPLAIN MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i")
        equal(list(result), [])
        summary = result.consume()
        assert summary.plan and summary.profile is None
        assert len(operators(summary.plan)) >= 2 and all(p["operatorType"] for p in operators(summary.plan))
        result = session.run("PROFILE MATCH (n:P) WHERE n.i > 5 RETURN n.i AS i")
        equal(len(list(result)), 5)
        profile = result.consume().profile
        assert all("dbHits" in operator and "rows" in operator for operator in operators(profile))
        equal(profile["rows"], 5)
        assert sum(operator["dbHits"] for operator in operators(profile)) > 0
        plain = session.run("MATCH (n:P) RETURN n").consume()
        assert plain.plan is None and plain.profile is None


@behaviour
def notifications(server):
    with server.driver() as driver, driver.session() as session:
        summary = session.run("MATCH (n:NoSuchLabelAnywhere) RETURN n").consume()
        codes = [n["code"] for n in summary.notifications or []]
        assert "Neo.ClientNotification.Statement.UnknownLabelWarning" in codes, codes
        equal(summary.summary_notifications[0].position.line, 1)
        statuses = [status.gql_status for status in summary.gql_status_objects]
        assert "01N50" in statuses, statuses
    with server.driver(notifications_min_severity="OFF") as driver, driver.session() as session:
        summary = session.run("MATCH (n:NoSuchLabelAnywhere) RETURN n").consume()
        equal(summary.notifications or [], [], "switched off")


@behaviour
def summaries(server):
    with server.driver() as driver, driver.session() as session:
        summary = session.run("RETURN $x AS x", x=1).consume()
        equal(summary.database, server.database)
        equal((summary.query, summary.parameters), ("RETURN $x AS x", {"x": 1}))
        assert summary.result_available_after >= 0 and summary.result_consumed_after >= 0
        equal(f"{summary.server.address[0]}:{summary.server.address[1]}", server.address)
        statuses = [status.gql_status for status in summary.gql_status_objects]
        equal(statuses, ["00000"])
        empty = session.run("MATCH (n:P {x: 1}) RETURN n.x").consume()
        assert "02000" in [status.gql_status for status in empty.gql_status_objects]
        omitted = session.run("CREATE (:P {x: 1})").consume()
        equal([status.gql_status for status in omitted.gql_status_objects], ["00001"])


MILLION = 1_000_000
# A row holds 100 characters, so that a result kept in memory as a whole would take some 150 MiB.
ROWS = "UNWIND range(1, $rows) AS i RETURN i, $text + i AS text"


@behaviour
def million_rows_in_constant_memory(server):
    text = "x" * 100
    with server.driver() as driver, driver.session() as session:
        session.run(ROWS, rows=1000, text=text).consume()
        highest = {"server": 0.0, "client": 0.0}
        done = threading.Event()

        def sample():
            while not done.wait(0.02):
                highest["server"] = max(highest["server"], server.resident_mib())
                highest["client"] = max(highest["client"], resident_mib())

        before = {"server": server.resident_mib(), "client": resident_mib()}
        sampler = threading.Thread(target=sample)
        sampler.start()
        try:
            count = total = 0
            for record in session.run(ROWS, rows=MILLION, text=text):
                count += 1
                total += record[0]
        finally:
            done.set()
            sampler.join()
        equal((count, total), (MILLION, MILLION * (MILLION + 1) // 2))
        for side in ("client", "server") if server.is_telar else ("client",):
            grown = highest[side] - before[side]
            assert grown < 64, f"the {side} grew by {grown:.0f} MiB"


@behaviour
def slow_reader_holds_no_memory(server):
    with server.driver() as driver, driver.session(fetch_size=10) as session:
        session.run("RETURN 1").consume()
        before = server.resident_mib()
        result = iter(session.run(ROWS, rows=10 * MILLION, text="x" * 100))
        for _ in range(50):
            next(result)
            time.sleep(0.01)
        grown = server.resident_mib() - before
        assert grown < 64 or not server.is_telar, f"the server grew by {grown:.0f} MiB"


@behaviour
def early_end_of_a_result(server):
    with server.driver() as driver, driver.session(fetch_size=10) as session:
        started = time.monotonic()
        result = session.run(ROWS, rows=1000 * MILLION, text="")
        equal([record["i"] for _, record in zip(range(5), result)], [1, 2, 3, 4, 5])
        summary = result.consume()
        equal(summary.query_type, "r")
        equal(session.run("RETURN 1 AS x").single()["x"], 1, "the session goes on")
        assert time.monotonic() - started < 20, "discarding does not compute the rest"


@behaviour
def two_open_results(server):
    with server.driver() as driver, driver.session(fetch_size=2) as session:
        with session.begin_transaction() as transaction:
            first = transaction.run("UNWIND range(1, 9) AS i RETURN i")
            second = transaction.run("UNWIND range(11, 19) AS i RETURN i")
            pairs = [(a["i"], b["i"]) for a, b in zip(first, second)]
            equal(pairs, [(i, i + 10) for i in range(1, 10)])
            left = transaction.run("UNWIND range(1, 100) AS i RETURN i")
            equal(next(iter(left))["i"], 1)
            transaction.run("CREATE (:A)").consume()
            equal(len(list(left)), 99, "rows of the first after the second was run")
            transaction.commit()
