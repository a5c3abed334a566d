"""Faults that a stranger found in folders that several processes share: each stays mended."""

import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time

import pytest
import telar
from test_sharing import Worker, worker  # noqa: F401: the fixture
from waits import LONG, in_time, interrupted, until

COUNT = "MATCH (a:A) RETURN count(a)"


def test_a_guest_finds_the_same_database_after_the_current_folder_changed(tmp_path, worker, monkeypatch, folder):
    monkeypatch.chdir(tmp_path)
    first = worker()
    first.ask("db.query('CREATE (:A)').counters")
    (tmp_path / "sub").mkdir()
    with telar.open(folder.name) as db:
        monkeypatch.chdir(tmp_path / "sub")
        assert db.query(COUNT).value() == 1 and not db.is_owner
        first.kill()
        assert db.query(COUNT).value() == 1 and db.is_owner
    assert not list((tmp_path / "sub").iterdir())


@pytest.mark.parametrize("how", ["moved", "removed", "replaced"])
def test_a_guest_makes_no_new_database_where_the_old_one_was(folder, worker, how):
    first = worker()
    first.ask("db.query('CREATE (:A)').counters")
    with telar.open(folder) as db:
        assert db.query(COUNT).value() == 1
        first.kill()
        if how == "removed":
            shutil.rmtree(folder)
        else:
            folder.rename(folder.with_suffix(".moved"))
        if how == "replaced":
            telar.open(folder).close()
        with pytest.raises(telar.LockedError, match="moved, removed or replaced"):
            in_time(60, lambda: db.query(COUNT))
    assert folder.exists() == (how == "replaced")


def test_an_owner_whose_socket_was_removed_can_close(folder):
    db = telar.open(folder)
    db.query("CREATE (:A)")
    (folder / "share.sock").unlink()
    in_time(60, db.close)
    with telar.open(folder, share=False) as db:
        assert db.query(COUNT).value() == 1


ORPHAN = """
import os, sys, time, telar
db = telar.open(sys.argv[1])
db.query("CREATE (:A)")
print("up", flush=True)
sys.stdin.readline()
pid = os.fork()
if pid == 0:
    time.sleep(600)
    os._exit(0)
print(pid, flush=True)
time.sleep(600)
"""


def test_guests_of_an_owner_that_forked_hear_of_its_end(folder):
    command = [sys.executable, "-W", "ignore", "-c", ORPHAN, str(folder)]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert owner.stdout.readline() == "up\n"
    child = None
    try:
        with telar.open(folder) as db:
            assert db.query(COUNT).value() == 1 and not db.is_owner
            owner.stdin.write("\n")
            owner.stdin.flush()
            child = int(owner.stdout.readline())
            owner.kill()
            owner.wait()
            assert in_time(60, lambda: db.query(COUNT).value()) == 1 and db.is_owner
    finally:
        owner.kill()
        if child is not None:
            os.kill(child, signal.SIGKILL)


def test_a_database_that_nobody_has_any_more_is_closed(folder):
    threads = threading.active_count()
    files = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        db = telar.open(folder)
        session = db.session(timeout=5)
        db.query("CREATE (:A)")
        del db
        gc.collect()
        assert session.query(COUNT).value() > 0
        del session
        gc.collect()
    with telar.open(folder, share=False) as db:
        assert db.query(COUNT).value() == 3
    assert threading.active_count() == threads
    assert len(os.listdir("/proc/self/fd")) <= files + 2


def test_what_was_committed_and_whose_rows_are_lost_says_so(folder, worker):
    """The owner dies after the commit, before the rows are over."""
    first, second = worker(), worker()
    first.ask("db.query('CREATE (:C {n: 0})').counters")
    # More than fits on the way: who asks is stopped, so the rows are not over.
    rows = "UNWIND range(1, 8000) AS i RETURN c.n, i, $text AS text"
    second.send(f"db.query(\"MATCH (c:C) SET c.n = c.n + 1 WITH c {rows}\", text='x' * 3000)")
    # Longer and longer: on a busy machine it hardly gets to run in a millisecond.
    until, pause = time.monotonic() + 60, 0.001
    while first.ask("db.query('MATCH (c:C) RETURN c.n').value()") != "1":
        second.process.send_signal(signal.SIGCONT)
        time.sleep(pause)
        second.process.send_signal(signal.SIGSTOP)
        pause = min(pause * 1.1, 0.1)
        assert time.monotonic() < until
    first.kill()
    second.process.send_signal(signal.SIGCONT)
    assert second.receive() in ("ResultLostError", "<Result: 8000 rows of (c.n, i, text)>")
    assert second.ask("db.query('MATCH (c:C) RETURN c.n').value()") == "1"


def test_functions_of_a_guest_may_ask_and_several_run_at_once(folder, worker):
    worker()
    with telar.open(folder) as db:
        db.create_function("my.inner", lambda x: x + 1)
        db.create_function("my.outer", lambda x: db.query("RETURN my.inner($x)", x=x).value())
        assert in_time(60, lambda: db.query("RETURN my.outer(1)").value()) == 2
        together, came = threading.Barrier(4), []
        db.create_function("my.meet", lambda x: together.wait(60) + x)

        def meet():
            came.append(db.query("RETURN my.meet(0)").value())

        threads = [threading.Thread(target=meet) for _ in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert sorted(came) == [0, 1, 2, 3]
        goes_on, ended = threading.Event(), []
        db.create_function("my.hang", lambda x: goes_on.wait(120) or ended.append(x))
        with pytest.raises(telar.TimeLimitError):
            db.session(timeout=0.5).query("RETURN my.hang(1)")
        assert ended == []
        goes_on.set()
        assert db.query("RETURN my.inner(1)").value() == 2


def test_an_owner_closes_though_a_function_of_a_guest_hangs(folder, worker, tmp_path):
    second, called = None, tmp_path / "called"
    with telar.open(folder) as db:
        second = worker()
        hangs = f"lambda x: open({str(called)!r}, 'w').close() or time.sleep(x) or x"
        second.ask(f"db.create_function('my.sleep', {hangs})")
        second.send("db.query('RETURN my.sleep(600)').value()")
        until(called.exists)
        in_time(60, db.close)
    with telar.open(folder, share=False) as db:
        assert db.query("RETURN 1").value() == 1
    second.kill()


def test_a_function_may_return_what_nests_deeply(folder, worker):
    second = worker()
    third = worker()
    third.ask("db.create_function('my.deep', lambda x: __import__('functools').reduce(lambda a, _: [a], range(200), 1))")
    assert third.ask("db.query('RETURN my.deep(1)')").endswith("Error")
    assert third.ask("db.query('RETURN 1').value()") == "1"
    second.end()


def test_schema_changes_in_a_transaction_of_a_guest(folder, worker):
    worker()
    with telar.open(folder) as db:
        with db.transaction() as tx:
            tx.query("CREATE INDEX ix IF NOT EXISTS FOR (a:A) ON (a.n)")
        with db.transaction() as tx:
            tx.query("CREATE CONSTRAINT k IF NOT EXISTS FOR (a:A) REQUIRE a.k IS UNIQUE")
        names = db.query("SHOW INDEXES YIELD name RETURN name").values()
        assert {"ix", "k"} <= set(names)
        with db.session(read_only=True).transaction() as tx, pytest.raises(telar.ReadOnlyError):
            tx.query("CREATE INDEX other FOR (a:A) ON (a.m)")


def test_long_messages_take_no_quadratic_time(folder, worker):
    worker()
    with telar.open(folder) as db:
        began = time.monotonic()
        text = "x" * 64_000_000
        assert db.query("RETURN size($text)", text=text).value() == len(text)
        assert db.query("RETURN $text", text=text).value() == text
        assert time.monotonic() - began < 60


def test_ctrl_c_and_time_limits_hold_everywhere_when_the_owner_hangs(folder, worker):
    first = worker()
    with telar.open(folder) as db:
        tx = db.transaction()
        tx.query("CREATE (:A)")
        other = db.transaction()
        first.stop()
        for act in (tx.commit, other.rollback, db.transaction):
            began = time.monotonic()
            with pytest.raises(KeyboardInterrupt), interrupted():
                act()
                # It need not wait for the owner.
                threading.Event().wait(60)
            assert time.monotonic() - began < 30
        with pytest.raises((telar.TimeLimitError, telar.UnknownOutcomeError)):
            db.session(timeout=0.2).query("CREATE (:A)")
        first.go_on()
        assert db.query("MATCH (a:A) RETURN count(a) <= 2").value()


def test_an_owner_that_closes_with_a_transaction_hands_over_when_that_ends(folder, worker):
    first, second = worker(), worker()
    first.ask("globals().update(tx=db.transaction()) or tx.query('CREATE (:A)').counters")
    first.ask("db.close()")
    second.send("db.query('MATCH (a:A) RETURN count(a)').value()")
    time.sleep(1)
    first.ask("globals().pop('tx').rollback()")
    assert second.receive() == "0" and second.ask("db.is_owner") == "True"


def test_durability_of_a_new_owner_that_does_not_fit(folder, worker):
    first = worker()
    loose = subprocess.Popen(
        [sys.executable, "-c", Worker.PROGRAM.replace("telar.open(folder)", "telar.open(folder, durability='async')"), str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert loose.stdout.readline().split() == ["open", "False"]
        with telar.open(folder) as db:
            first.kill()
            loose.stdin.write("db.query('RETURN 1').value()\n")
            loose.stdin.flush()
            assert loose.stdout.readline() == "1\n"
            with pytest.raises(telar.LockedError, match="asynchronous"):
                db.query("RETURN 1")
    finally:
        loose.kill()


def test_close_does_not_wait_for_who_looks_for_the_database(folder, worker):
    first = worker()
    db = telar.open(folder)
    first.stop()
    (folder / "share.sock").unlink()
    ended = []
    threads = []
    for _ in range(3):
        thread = threading.Thread(target=lambda: ended.append(pytest.raises(telar.Error, db.query, LONG)), daemon=True)
        thread.start()
        threads.append(thread)
    time.sleep(0.5)
    in_time(60, db.close)


def test_a_stream_in_a_child_is_refused(folder):
    with telar.open(folder) as db:
        stream = db.stream("UNWIND range(1, 1000000) AS x RETURN x")
        next(stream)
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                stream.close()
                said = "nothing"
            except BaseException as error:
                said = type(error).__name__
            os.write(write, said.encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 100) == b"ForkedError"
        os.wait()
        stream.close()


def test_a_value_that_nests_too_deep_is_refused_alike(folder, worker):
    worker()
    deep = 1
    for _ in range(200):
        deep = [deep]
    said = []
    for shared in (telar.open(folder), telar.open()):
        with shared as db:
            with pytest.raises(telar.Error) as error:
                db.query("RETURN $deep", deep=deep)
            said.append(type(error.value))
    assert said[0] is said[1]
