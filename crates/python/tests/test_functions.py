"""Functions of Python in statements."""

import threading

import numpy as np
import pyarrow.compute as pc
import pytest
import telar


def test_values_of_all_types(db):
    db.create_function("my.echo", lambda value: value)
    text = """UNWIND [1, null, 2.5, 'x', true, [1, null], {a: 1}, date('2024-01-01'), duration('P1D')] AS v
              RETURN v, my.echo(v) AS w"""
    rows = db.query(text).tuples()
    assert len(rows) == 9 and all(v == w and type(v) is type(w) for v, w in rows)


def test_arguments_are_counted_and_optional(db):
    db.create_function("my.f", lambda a, b=10, *rest: [a, b, *rest])
    assert db.query("RETURN MY.F(1) AS a, my.f(1, 2, 3) AS b").tuples() == [([1, 10], [1, 2, 3])]
    db.create_function("my.one", lambda a: a)
    for call in ("my.one()", "my.one(1, 2)", "my.one(DISTINCT 1)"):
        with pytest.raises(telar.StatementError):
            db.query(f"RETURN {call}")
    db.create_function("my.none", lambda: 7)
    assert db.query("UNWIND [1, 2] AS n RETURN my.none() + n AS n").values() == [8, 9]


def test_a_function_is_replaced(db):
    text = "RETURN my.f(1)"
    with pytest.raises(telar.StatementError, match="there is no function `my.f`"):
        db.query(text)
    db.create_function("my.f", lambda a: a + 1)
    assert db.query(text).value() == 2
    db.create_function("my.f", lambda a: a + 2)
    assert db.query(text).value() == 3


@pytest.mark.parametrize("name", ["f", "", "my.", ".f", "my f.g", "date.truncate", "1.f"])
def test_names_have_a_namespace(db, name):
    with pytest.raises(telar.StatementError):
        db.create_function(name, lambda a: a)


def test_arrays(db):
    db.query("UNWIND range(1, 5000) AS n CREATE (:N {n: n, half: n / 2.0})")
    db.create_function("np.hypot", np.hypot, takes="numpy")
    db.create_function("pc.upper", pc.utf8_upper, takes="arrow")
    text = "MATCH (n:N) RETURN sum(np.hypot(n.n, n.half)) AS sum"
    expected = sum(np.hypot(n, n / 2) for n in range(1, 5001))
    assert db.query(text).value() == pytest.approx(expected)
    assert db.query("UNWIND [3, 4] AS n RETURN np.hypot(n, 4.0) AS h").values()[0] == 5.0
    text = "UNWIND ['a', null, 'b'] AS s RETURN pc.upper(s) AS s"
    assert db.query(text).values() == ["A", None, "B"]
    db.create_function("np.bad", lambda a: a[:1], takes="numpy")
    with pytest.raises(telar.StatementError, match="returned 1 values for 3 rows"):
        db.query("UNWIND [1, 2, 3] AS n RETURN np.bad(n)")
    with pytest.raises(ValueError, match="takes 'values'"):
        db.create_function("my.f", len, takes="rows")


def test_in_every_clause(db):
    db.create_function("my.double", lambda a: None if a is None else a * 2)
    db.query("UNWIND range(1, 10) AS n CREATE (:N {n: my.double(n)})")
    assert db.query("MATCH (n:N) WHERE my.double(n.n) > 36 RETURN n.n").values() == [20]
    text = "MATCH (n:N) RETURN my.double(n.n) AS m ORDER BY my.double(-n.n) LIMIT 2"
    assert db.query(text).values() == [40, 36]
    text = "MATCH (n:N) RETURN [x IN [1, 2] | my.double(x)] AS l, my.double(count(*)) AS c"
    assert db.query(text).tuples() == [([2, 4], 20)]
    assert db.query("MATCH (n:N {n: my.double(1)}) SET n.n = my.double(null) RETURN n.n").values() == [None]
    assert "my.double" in db.query("EXPLAIN MATCH (n:N) WHERE my.double(n.n) > 1 RETURN n").plan
    with pytest.raises(telar.StatementError, match="give it their properties"):
        db.query("MATCH (n:N) RETURN my.double(n)")


def test_what_it_raises_ends_the_statement(db):
    def fails(a):
        raise KeyError(f"not {a}")

    db.create_function("my.fails", fails)
    with pytest.raises(telar.StatementError, match=r"my.fails\(\): KeyError: 'not 1'"):
        db.query("CREATE (:N {n: my.fails(1)})")
    assert db.query("MATCH (n) RETURN count(n)").value() == 0
    db.create_function("my.odd", lambda a: object())
    with pytest.raises(telar.StatementError, match="no value of Cypher"):
        db.query("RETURN my.odd(1)")


def test_it_may_query_and_run_in_many_threads(db):
    db.query("CREATE (:K {k: 2})")
    db.create_function("my.look", lambda a: a * db.query("MATCH (k:K) RETURN k.k").value())
    assert db.query("UNWIND range(1, 100) AS n RETURN sum(my.look(n)) AS s").value() == 10100
    found = []
    work = lambda: found.append(db.query("UNWIND range(1, 50) AS n RETURN sum(my.look(n)) AS s").value())
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [2550] * 8


def test_ctrl_c_in_a_function(db):
    import os
    import signal
    import time

    def slow(a):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            time.sleep(0.001)
        return a

    db.create_function("my.slow", slow)
    with pytest.raises(KeyboardInterrupt):
        db.query("RETURN my.slow(1)").value()
        time.sleep(1)
    assert db.query("RETURN 1").value() == 1


def test_an_interrupt_ends_no_statement_but_the_one_it_came_in(db):
    import os
    import signal

    def tripped(a):
        os.kill(os.getpid(), signal.SIGINT)
        return a

    db.create_function("my.tripped", tripped)
    for _ in range(300):
        with pytest.raises((KeyboardInterrupt, telar.InterruptedError)):
            db.query("RETURN my.tripped(1)")
            for _ in range(100):
                pass
            raise telar.InterruptedError
        assert db.query("RETURN 1").value() == 1
