"""Signals, forks, threads, and the end of the program."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
import telar
from waits import LONG, interrupt, once_running, runs, terminate, until


@pytest.mark.parametrize("use", ["query", "transaction", "stream", "write"])
def test_ctrl_c_ends_a_statement_at_once(db, use):
    with pytest.raises(KeyboardInterrupt), once_running(db, interrupt):
        if use == "query":
            db.query(LONG)
        elif use == "transaction":
            with db.transaction() as tx:
                tx.query(LONG)
        elif use == "write":
            db.write(lambda tx: tx.query(LONG))
        else:
            list(db.stream(LONG))
    assert db.query("RETURN 1").value() == 1


def test_a_handler_that_does_not_raise_ends_the_statement_with_an_error(db):
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with pytest.raises(telar.InterruptedError), once_running(db, interrupt):
            db.query(LONG)
        assert seen == [signal.SIGINT]
        assert db.query("RETURN 1").value() == 1
    finally:
        signal.signal(signal.SIGINT, before)


def run_over_a_signal(db):
    """Runs a statement that another signal than Ctrl-C does not end."""
    still = []

    def act():
        os.kill(os.getpid(), signal.SIGUSR1)
        time.sleep(0.3)
        still.append(runs(db))
        terminate(db)

    with pytest.raises(telar.InterruptedError), once_running(db, act):
        db.query(LONG)
    assert still == [True]


def test_other_signals_do_not_end_a_statement(db):
    seen = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        run_over_a_signal(db)
        assert seen == [signal.SIGUSR1]
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_the_wakeup_pipe_of_others_gets_its_signals(db):
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.signal(signal.SIGUSR1, lambda number, frame: None)
    pipe = signal.set_wakeup_fd(write)
    try:
        run_over_a_signal(db)
        assert os.read(read, 8) == bytes([signal.SIGUSR1])
        assert signal.set_wakeup_fd(pipe) == write
    finally:
        signal.signal(signal.SIGUSR1, before)
        os.close(read)
        os.close(write)


def test_a_token_ends_a_statement_of_another_thread(db):
    token = telar.Token()
    failed = []

    def run():
        try:
            db.query(LONG, _token=token)
        except telar.InterruptedError as error:
            failed.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: runs(db))
    token.cancel()
    thread.join(60)
    assert len(failed) == 1 and token.cancelled


def test_other_threads_go_on_while_a_statement_runs(db):
    def count():
        for _ in range(21):
            time.sleep(0.001)
        terminate(db)

    with pytest.raises(telar.InterruptedError) as error, once_running(db, count):
        db.session(timeout=60).query(LONG)
    assert error.type is telar.InterruptedError, "they did not go on until its time was over"


def in_child(work):
    """What a forked child says of itself."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, work().encode())
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


def test_a_forked_child_is_refused_and_harms_nothing(folder):
    db = telar.open(folder)
    session, tx, rows = db.session(), db.transaction(), db.stream("UNWIND range(1, 9) AS n RETURN n")
    next(rows)
    tx.query("CREATE (:Parent)")
    for use in (
        lambda: db.query("CREATE (:Child)"),
        lambda: session.query("CREATE (:Child)"),
        lambda: tx.query("CREATE (:Child)"),
        lambda: tx.commit(),
        lambda: tx.rollback(),
        lambda: next(rows),
        lambda: db.close(),
        lambda: db.checkpoint(),
    ):
        assert in_child(use).startswith("ForkedError: the database was opened before")

    def drop():
        nonlocal db, session, tx, rows
        del db, session, tx, rows
        return "dropped"

    assert in_child(drop) == "dropped"

    def own():
        with telar.open() as own:
            return str(own.query("CREATE (n:Child) RETURN count(n)").value())

    assert in_child(own) == "1"
    tx.commit()
    assert db.query("MATCH (n) RETURN labels(n)").values() == [["Parent"]]
    db.close()
    with telar.open(folder) as again:
        assert again.query("MATCH (n) RETURN count(n)").value() == 1


def child_of_a_pool(folder):
    with telar.open(folder) as db:
        return db.query("MATCH (n) RETURN count(n)").value()


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_of_multiprocessing_open_it_themselves(folder, method):
    with telar.open(folder) as db:
        db.query("UNWIND range(1, 7) AS n CREATE ()")
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply(child_of_a_pool, (folder,)) == 7


@pytest.mark.parametrize(
    "last",
    [
        "",
        "result = db.query('MATCH (n) RETURN n'); rows = iter(result)",
        "tx = db.transaction(); tx.query('CREATE (:Lost)')",
        "rows = db.stream('UNWIND range(1, 1000000000) AS n RETURN n'); next(rows)",
        "import threading; threading.Thread(target=lambda: db.query('RETURN 1'), daemon=True).start()",
        "import sys; sys.exit(0)",
        "raise RuntimeError('mine')",
    ],
)
def test_the_end_of_the_program_loses_nothing(folder, last):
    program = f"""
import telar
db = telar.open({str(folder)!r}, durability="async")
db.query("UNWIND range(1, 1000) AS n CREATE (:City)")
{last}
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == (1 if "mine" in last else 0), done.stderr
    assert "panicked" not in done.stderr and "Fatal" not in done.stderr
    with telar.open(folder) as db:
        assert db.query("MATCH (n) RETURN count(n)").value() == 1000


def test_a_killed_program_loses_nothing_that_was_returned(folder):
    program = f"""
import telar
db = telar.open({str(folder)!r})
for n in range(1_000_000):
    db.query("CREATE (:City {{n: $n}})", n=n)
    print(n, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    said = -1
    for line in child.stdout:
        said = int(line)
        if said == 200:
            child.kill()
            break
    said = max([said, *map(int, child.stdout.read().split())])
    child.wait()
    with telar.open(folder) as db:
        stored = db.query("MATCH (c:City) RETURN c.n ORDER BY c.n").values()
    assert stored[: said + 1] == list(range(said + 1)) and len(stored) <= said + 2


def test_eight_threads_share_a_database(folder):
    db = telar.open(folder, durability="async")
    db.query("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE")
    errors = []

    def work(thread):
        try:
            for n in range(100):
                db.query("CREATE (:Person {id: $id})", id=thread * 1000 + n)
                with db.transaction() as tx:
                    tx.query("MATCH (p:Person {id: $id}) SET p.seen = true", id=thread * 1000 + n)
                row = db.query("MATCH (p:Person {id: $id}) RETURN p", id=thread * 1000 + n).one()
                assert row["p"]["seen"] is True
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert db.query("MATCH (p:Person {seen: true}) RETURN count(p)").value() == 800
    db.close()


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_stays_flat(db):
    db.query("CREATE (:Person {name: 'Ada', tags: ['a', 'b']})-[:KNOWS]->(:Person {name: 'Bob'})")

    def use(times):
        for n in range(times):
            result = db.query("MATCH p = (a)-[r]->(b) RETURN p, a, r, b.name AS b, $l AS l", l=[n, "x"])
            result.dicts(), list(result), result[0]["a"].properties, result.to_numpy()
            try:
                db.query("RETURN 1 / $zero", zero=0)
            except telar.StatementError:
                pass

    use(2000)
    before = resident()
    use(8000)
    assert resident() - before < 8 << 20
