"""Transactions, sessions, errors, folders."""

import threading

import pytest
import telar


def count(db):
    return db.query("MATCH (n) RETURN count(n)").value()


def test_with_commits_or_undoes(db):
    with db.transaction() as tx:
        tx.query("CREATE ()")
        assert count(tx) == 1 and count(db) == 0 and tx.open
    assert count(db) == 1 and not tx.open and "committed" in repr(tx)
    with pytest.raises(RuntimeError, match="mine"):
        with db.transaction() as tx:
            tx.query("CREATE ()")
            raise RuntimeError("mine")
    assert count(db) == 1 and "rolled back" in repr(tx)
    with db.transaction() as tx:
        tx.query("CREATE ()")
        tx.rollback()
        tx.rollback()
    assert count(db) == 1
    with db.transaction() as tx:
        tx.query("CREATE ()")
        assert tx.commit() > 0
    assert count(db) == 2
    for use in (lambda: tx.query("RETURN 1"), tx.commit):
        with pytest.raises(telar.ClosedError, match="committed"):
            use()


def test_a_transaction_that_is_dropped_is_undone(db):
    tx = db.transaction()
    tx.query("CREATE ()")
    del tx
    assert count(db) == 0


def test_an_error_ends_a_transaction(db):
    tx = db.transaction()
    tx.query("CREATE ()")
    with pytest.raises(telar.StatementError):
        tx.query("RETURN 1 / 0")
    with pytest.raises(telar.Error):
        tx.commit()
    assert count(db) == 0


def test_conflicts(db):
    db.query("CREATE (:Counter {n: 0})")
    quick = db.session(write_wait=0)
    one, other = quick.transaction(), quick.transaction()
    add = "MATCH (c:Counter) SET c.n = c.n + 1"
    for tx in (one, other):
        tx.query("MATCH (c:Counter) RETURN c.n")
    one.query(add)
    with pytest.raises(telar.ConflictError) as error:
        other.query(add)
        one.commit()
        other.commit()
    assert error.value.code.startswith("Neo.TransientError")
    if one.open:
        one.commit()
    assert db.query("MATCH (c:Counter) RETURN c.n").value() == 1


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_managed_transactions_are_run_again(db, isolation):
    db.query("CREATE (:Counter {n: 0})")
    session = db.session(isolation=isolation, write_wait=0)
    runs = [0] * 8

    def add(tx, thread, by=1):
        runs[thread] += 1
        n = tx.query("MATCH (c:Counter) RETURN c.n").value()
        tx.query("MATCH (c:Counter) SET c.n = $n", n=n + by)
        return n

    def work(thread):
        for _ in range(25):
            session.write(add, thread, by=1, tries=1000)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert db.query("MATCH (c:Counter) RETURN c.n").value() == 200
    assert sum(runs) >= 200


def test_managed_transactions_hand_errors_on(db):
    def fails(tx):
        tx.query("CREATE ()")
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        db.write(fails)
    assert count(db) == 0
    tries = []

    def loses(tx):
        tries.append(tx)
        raise telar.ConflictError("again")

    with pytest.raises(telar.ConflictError):
        db.write(loses, tries=3)
    assert len(tries) == 3 and not any(tx.open for tx in tries)


def test_settings_of_sessions(db):
    with pytest.raises(telar.ReadOnlyError):
        db.session(read_only=True).query("CREATE ()")
    with pytest.raises(telar.TimeLimitError):
        db.session(timeout=0.05).query("UNWIND range(1, 100000000000) AS n RETURN sum(n)")
    with pytest.raises(telar.MemoryLimitError):
        db.session(memory=1 << 20).query("RETURN size(range(1, 1000000))")
    both = db.session(timeout=0.05).session(read_only=True)
    with pytest.raises(telar.TimeLimitError):
        both.query("UNWIND range(1, 100000000000) AS n RETURN sum(n)")
    with pytest.raises(telar.ReadOnlyError):
        both.query("CREATE ()")
    for wrong in ({"isolation": "none"}, {"timeout": -1}, {"timeout": float("nan")}):
        with pytest.raises(ValueError):
            db.session(**wrong)
    with pytest.raises(ValueError, match="durability is 'full'"):
        telar.open(durability="maybe")
    with pytest.raises(TypeError, match="nothing"):
        telar.open(nothing=1)


def test_errors_say_what_and_where(db):
    with pytest.raises(telar.CypherSyntaxError) as error:
        db.query("MATCH (n)\nRETRUN n")
    assert (error.value.line, error.value.column) == (2, 1)
    assert error.value.code == "Neo.ClientError.Statement.SyntaxError"
    assert "RETRUN n\n^^^^^^" in str(error.value)
    db.query("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS UNIQUE")
    db.query("CREATE (:Person {name: 'Ada'})")
    with pytest.raises(telar.ConstraintError) as error:
        db.query("CREATE (:Person {name: 'Ada'})")
    assert error.value.line is None and isinstance(error.value, telar.StatementError)
    for kind in vars(telar).values():
        if isinstance(kind, type) and issubclass(kind, Exception):
            assert issubclass(kind, telar.Error)


def test_folders(folder):
    with telar.open(folder) as db:
        assert db.path == folder and not db.closed
        db.query("CREATE (:City {name: 'Ulm'})")
        with pytest.raises(telar.LockedError):
            telar.open(folder, share=False)
    assert db.closed and "closed" in repr(db)
    for use in (lambda: db.query("RETURN 1"), db.transaction, db.checkpoint, db.session):
        with pytest.raises(telar.ClosedError):
            use()
    db.close()
    with telar.open(str(folder)) as db:
        assert db.query("MATCH (c:City) RETURN c.name").values() == ["Ulm"]
        db.backup(folder.with_suffix(".backup"))
    assert folder.with_suffix(".backup").exists()
    folder.joinpath("other").mkdir()
    folder.parent.joinpath("file").write_text("no database")
    with pytest.raises(telar.StorageError):
        telar.open(folder.parent / "file")


def test_sessions_end_with_their_database(folder):
    db = telar.open(folder)
    session = db.session(timeout=10)
    session.query("CREATE ()")
    db.close()
    with pytest.raises(telar.ClosedError):
        session.query("RETURN 1")
    # Nobody holds the folder any more, although the session is still there.
    with telar.open(folder) as again:
        assert count(again) == 1


def test_many_sessions_are_forgotten(db):
    for _ in range(10_000):
        db.session(timeout=1)
    assert db.session().query("RETURN 1").value() == 1
