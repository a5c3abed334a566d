"""Transactions: of all kinds, their ends, their limits, and what others see of them."""

import threading
import time

import neo4j
from neo4j.exceptions import ClientError, Neo4jError, ResultError, TransactionError, TransientError

from behaviour import Proxy, behaviour, equal, eventually, fails

# Takes about for ever, without taking memory.
ENDLESS = "UNWIND range(1, 1000000000) AS i WITH i WHERE i % 7 = 9 RETURN count(i)"


def count(session, label):
    return session.run(f"MATCH (n:{label}) RETURN count(n) AS c").single()["c"]


@behaviour
def auto_commit(server):
    with server.driver() as driver:
        with driver.session() as one, driver.session() as other:
            one.run("CREATE (:A)").consume()
            equal(count(other, "A"), 1)
            # Without reading the result: closing the session sees to it.
            one.run("CREATE (:A)")
        with driver.session() as session:
            equal(count(session, "A"), 2)


@behaviour
def execute_query(server):
    with server.driver() as driver:
        records, summary, keys = driver.execute_query("CREATE (n:A {x: $x}) RETURN n.x AS x", x=3)
        equal((records[0]["x"], keys, summary.counters.nodes_created), (3, ["x"], 1))
        read = driver.execute_query("MATCH (n:A) RETURN n.x AS x", routing_="r", database_="neo4j")
        equal(read.records[0]["x"], 3)


@behaviour
def managed_transactions(server):
    with server.driver() as driver, driver.session() as session:
        equal(session.execute_write(lambda tx: tx.run("CREATE (n:A) RETURN 1 AS x").single()["x"]), 1)
        equal(session.execute_read(lambda tx: count(tx, "A")), 1)
        with fails(ZeroDivisionError):
            session.execute_write(lambda tx: (tx.run("CREATE (:A)").consume(), 1 / 0))
        equal(session.execute_read(lambda tx: count(tx, "A")), 1)


@behaviour
def conflicts_are_retried(server):
    threads, rounds, runs = 8, 25, [0]

    def work():
        def add(transaction):
            runs[0] += 1
            value = transaction.run("MATCH (n:Counter) SET n.lock = 1 RETURN n.value AS v").single()["v"]
            transaction.run("MATCH (n:Counter) SET n.value = $v", v=value + 1).consume()

        with driver.session() as session:
            for _ in range(rounds):
                session.execute_write(add)

    with server.driver(max_transaction_retry_time=60) as driver:
        driver.execute_query("CREATE (:Counter {value: 0})")
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        value = driver.execute_query("MATCH (n:Counter) RETURN n.value AS v").records[0]["v"]
        equal(value, threads * rounds, f"after {runs[0]} runs")


@behaviour
def conflicts_are_marked_retryable(server):
    if not server.is_telar:
        return  # Neo4j locks: the second writer waits for the first, and nothing fails.
    with server.driver() as driver, driver.session() as one, driver.session() as two:
        one.run("CREATE (:A {x: 0})").consume()
        first, second = one.begin_transaction(), two.begin_transaction()
        first.run("MATCH (n:A) SET n.x = 1").consume()
        try:
            second.run("MATCH (n:A) SET n.x = 2").consume()
            first.commit()
            second.commit()
        except TransientError as error:
            assert error.is_retryable(), error.code
        else:
            raise AssertionError("both committed")
        if not first.closed():
            first.commit()
        equal(two.run("MATCH (n:A) RETURN n.x AS x").single()["x"], 1)


@behaviour
def explicit_commit_and_rollback(server):
    with server.driver() as driver, driver.session() as session, driver.session() as other:
        transaction = session.begin_transaction()
        transaction.run("CREATE (:A)").consume()
        equal((count(transaction, "A"), count(other, "A")), (1, 0))
        transaction.commit()
        equal(count(other, "A"), 1)
        transaction = session.begin_transaction()
        transaction.run("CREATE (:A)").consume()
        transaction.rollback()
        equal(count(session, "A"), 1)
        with fails(TransactionError):
            transaction.run("RETURN 1")


@behaviour
def closing_rolls_back(server):
    with server.driver() as driver:
        with driver.session() as session:
            transaction = session.begin_transaction()
            transaction.run("CREATE (:A)").consume()
            transaction.close()
        with driver.session() as session:
            session.begin_transaction().run("CREATE (:A)").consume()
        lost = server.driver()
        lost.session().begin_transaction().run("CREATE (:A)").consume()
        lost.close()
        with driver.session() as session:
            equal(count(session, "A"), 0)


@behaviour
def failed_transactions(server):
    with server.driver() as driver, driver.session() as session:
        transaction = session.begin_transaction()
        transaction.run("CREATE (:A)").consume()
        with fails(ClientError, "Neo.ClientError.Statement.SyntaxError"):
            transaction.run("NONSENSE").consume()
        with fails(TransactionError):
            transaction.run("RETURN 1").consume()
        with fails(TransactionError):
            transaction.commit()
        transaction.close()
        equal(count(session, "A"), 0)
        # An error after the first rows undoes the auto-commit transaction.
        with fails(ClientError, "Neo.ClientError.Statement.ArithmeticError"):
            session.run("UNWIND [1, 0] AS x CREATE (:A) RETURN 1 / x").consume()
        equal(count(session, "A"), 0)


@behaviour
def bookmarks(server):
    with server.driver() as driver:
        with driver.session() as session:
            session.run("CREATE (:A)").consume()
            first = session.last_bookmarks()
            session.run("CREATE (:A)").consume()
            second = session.last_bookmarks()
        assert first.raw_values and second.raw_values and first != second
        for seen in (first, second, first + second):
            with driver.session(bookmarks=seen) as session:
                equal(count(session, "A"), 2)
        for _ in range(50):
            with driver.session() as session:
                session.execute_write(lambda tx: tx.run("CREATE (:A)").consume())
                seen = session.last_bookmarks()
            with driver.session(bookmarks=seen) as session:
                assert count(session, "A") > 2
        with driver.session(bookmarks=neo4j.Bookmarks.from_raw_values(["nonsense"])) as session:
            with fails(Neo4jError, ("Neo.ClientError.Transaction.InvalidBookmark",
                                    "Neo.ClientError.Transaction.InvalidBookmarkMixture")):
                session.run("RETURN 1").consume()


TIMED_OUT = ("Neo.ClientError.Transaction.TransactionTimedOut",
             "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration")


@behaviour
def timeouts(server):
    with server.driver() as driver, driver.session() as session:
        started = time.monotonic()
        with fails(ClientError, TIMED_OUT):
            session.run(neo4j.Query(ENDLESS, timeout=0.3)).consume()
        assert time.monotonic() - started < 10, "it ended about when it had to"
        with fails(ClientError, TIMED_OUT):
            with session.begin_transaction(timeout=0.3) as transaction:
                transaction.run("CREATE (:A)").consume()
                transaction.run(ENDLESS).consume()
        equal(count(session, "A"), 0)
        equal(session.run(neo4j.Query("RETURN 1 AS x", timeout=30)).single()["x"], 1)


def running(session, text):
    # Neo4j shows the query of the SHOW command itself, too; the text is a parameter for that.
    query = "SHOW TRANSACTIONS YIELD transactionId, currentQuery WHERE currentQuery CONTAINS $text RETURN transactionId"
    return [row["transactionId"] for row in session.run(query, text=text)]


@behaviour
def cancellation(server):
    with server.driver() as watcher, watcher.session() as watch:
        # Losing the connection in the middle of a query ends the query.
        mark, failure = "lost in the middle", []
        proxy = Proxy(server.address)

        def work():
            try:
                with server.driver(f"bolt://{proxy.address}") as driver, driver.session() as session:
                    session.run(f"/* {mark} */ " + ENDLESS).consume()
            except Exception as error:
                failure.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        eventually(lambda: running(watch, mark), "the query runs")
        proxy.close()
        worker.join(20)
        assert not worker.is_alive() and failure, "the client was told"
        eventually(lambda: not running(watch, mark), "the query ended on the server")
        # Leaving a result half read frees what it held.
        with server.driver() as other, other.session(fetch_size=1) as session:
            mark = "half read"
            result = session.run(f"UNWIND range(1, 100000000) AS i RETURN i // {mark}")
            next(iter(result))
        eventually(lambda: not running(watch, mark), "the query of the closed session ended")


@behaviour
def terminated_transactions(server):
    with server.driver() as driver, driver.session() as session:
        mark, failure = "terminated by another", []

        def work():
            try:
                with driver.session() as other:
                    other.run(f"/* {mark} */ " + ENDLESS).consume()
            except Neo4jError as error:
                failure.append(error)

        worker = threading.Thread(target=work)
        worker.start()
        eventually(lambda: running(session, mark), "the query runs")
        transaction = running(session, mark)[0]
        rows = session.run("TERMINATE TRANSACTIONS $id", id=transaction).data()
        equal(rows[0]["message"], "Transaction terminated.")
        worker.join(20)
        assert not worker.is_alive()
        assert "Terminated" in failure[0].code, failure[0].code


@behaviour
def transaction_metadata(server):
    with server.driver() as driver, driver.session() as session, driver.session() as other:
        with session.begin_transaction(metadata={"app": "drivers", "n": 7}) as transaction:
            transaction.run("RETURN 1").consume()
            query = "SHOW TRANSACTIONS YIELD metaData, database, username WHERE metaData.app = 'drivers' RETURN *"
            rows = other.run(query).data()
            equal([row["metaData"] for row in rows], [{"app": "drivers", "n": 7}])
            equal(rows[0]["database"], server.database)
        query = neo4j.Query("SHOW TRANSACTIONS YIELD metaData RETURN metaData", metadata={"auto": True})
        assert {"auto": True} in [row["metaData"] for row in session.run(query).data()]


@behaviour
def read_mode_refuses_writes(server):
    with server.driver() as driver:
        with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
            with fails(ClientError, "Neo.ClientError.Statement.AccessMode"):
                session.run("CREATE (:A)").consume()
            with fails(ClientError, "Neo.ClientError.Statement.AccessMode"):
                session.execute_read(lambda tx: tx.run("CREATE (:A)").consume())
            equal(session.run("MATCH (n:A) RETURN count(n) AS c").single()["c"], 0)


@behaviour
def concurrent_sessions(server):
    sessions, rounds, failures = 50, 10, []

    def work(number):
        try:
            for i in range(rounds):
                with driver.session() as session:
                    session.run("CREATE (:S {by: $by, i: $i})", by=number, i=i).consume()
                    query = "MATCH (n:S {by: $by}) RETURN count(n) AS c"
                    equal(session.run(query, by=number).single()["c"], i + 1)
        except Exception as error:
            failures.append(error)

    with server.driver(max_connection_pool_size=10) as driver:
        workers = [threading.Thread(target=work, args=(i,)) for i in range(sessions)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        equal(failures, [])
        with driver.session() as session:
            equal(count(session, "S"), sessions * rounds)
