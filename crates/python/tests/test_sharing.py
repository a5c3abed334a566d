"""One folder, several processes: an owner, its guests, and what happens when one of them dies."""

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest
import telar
from waits import LONG, in_time, interrupt, interrupted, once_running, until


class Worker:
    """A process with the folder open, which runs lines of Python as they are sent."""

    PROGRAM = """
import sys, time, telar
folder = sys.argv[1]
db = telar.open(folder)
print("open", db.is_owner, flush=True)
for line in sys.stdin:
    try:
        print(repr(eval(line)), flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.PROGRAM, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        word, owner = self.process.stdout.readline().split()
        assert word == "open"
        self.was_owner = owner == "True"

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def receive(self):
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.send(line)
        return self.receive()

    def stop(self):
        """Stops it, and waits until it has."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitpid(self.process.pid, os.WUNTRACED)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(60) == 0


@pytest.fixture
def worker(folder):
    with contextlib.ExitStack() as stack:

        def start():
            one = Worker(folder)
            stack.callback(one.kill)
            return one

        yield start


def test_the_second_process_asks_the_first(folder, worker):
    first, second = worker(), worker()
    assert first.was_owner and not second.was_owner
    first.ask("db.query(\"CREATE (:P {name: 'Ada'})-[:KNOWS]->(:P {name: 'Bob'})\").counters")
    names = "db.query('MATCH (p:P) RETURN p.name ORDER BY p.name').values()"
    assert second.ask(names) == "['Ada', 'Bob']"
    with telar.open(folder) as db:
        assert not db.is_owner
        row = db.query("MATCH (a)-[r]->(b) RETURN a, r, b.name AS name")[0]
        assert row["a"]["name"] == "Ada" and row["r"].type == "KNOWS" and row["name"] == "Bob"
        db.query("CREATE (:P {name: 'Cleo'})")
    assert first.ask(names) == "['Ada', 'Bob', 'Cleo']"
    second.end()
    first.end()


def test_a_guest_does_what_an_owner_does(folder, worker):
    worker()
    with telar.open(folder) as db:
        assert not db.is_owner
        db.query("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE")
        report = db.create_nodes("P", [{"id": n, "x": n / 2} for n in range(20_000)])
        assert report["nodes"] == 20_000
        report = db.create_relationships(
            "NEXT", {"a": [0, 1], "b": [1, 2]}, src="a", dst="b", label="P"
        )
        assert report["relationships"] == 2
        frame = db.query("UNWIND $rows AS row RETURN row.n * 2 AS m", rows=[{"n": 1}, {"n": 2}])
        assert frame.values("m") == [2, 4]
        assert db.query("MATCH (p:P) RETURN p.id AS id, p.x AS x").to_arrow().num_rows == 20_000
        with db.stream("MATCH (p:P) RETURN p.id AS id") as rows:
            assert sum(row["id"] for row in rows) == sum(range(20_000))
        with db.transaction() as tx:
            tx.query("CREATE (:Q)")
            assert tx.query("MATCH (q:Q) RETURN count(q)").value() == 1
        with pytest.raises(ZeroDivisionError), db.transaction() as tx:
            tx.query("CREATE (:Q)")
            raise ZeroDivisionError
        assert db.write(lambda tx: tx.query("MATCH (q:Q) RETURN count(q)").value()) == 1
        with pytest.raises(telar.ConstraintError):
            db.query("CREATE (:P {id: 7})")
        with pytest.raises(telar.CypherSyntaxError) as error:
            db.query("RETURN 1 +")
        assert error.value.line == 1
        with pytest.raises(telar.TimeLimitError):
            db.session(timeout=0.1).query(LONG)
        db.create_function("my.shout", lambda text: text.upper() + "!")
        assert db.query("RETURN my.shout('weave')").value() == "WEAVE!"
        found = db.algo.page_rank(nodes="P", relationships="NEXT").to_arrow()
        assert found.num_rows == 20_000
        db.checkpoint()
        db.backup(folder.with_suffix(".backup"))
    assert folder.with_suffix(".backup").exists()


def test_files_are_read_from_the_folder_of_the_process_that_asks(folder, worker, tmp_path):
    worker()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cities.csv").write_text("name,people\nUlm,128928\n")
    with telar.open(folder, import_folder=tmp_path / "in", export_folder=tmp_path) as db:
        db.query("COPY City FROM 'cities.csv'")
        assert db.query("MATCH (c:City) RETURN c.people").value() == 128928
        db.query("COPY (MATCH (c:City) RETURN c.name AS name) TO 'out.csv'")
    assert (tmp_path / "out.csv").read_text().split() == ["name", "Ulm"]


def test_when_the_owner_is_killed_another_takes_over(folder, worker):
    first, second, third = worker(), worker(), worker()
    second.ask("db.query('CREATE (:A)').counters")
    transaction = second.ask("globals().update(tx=db.transaction()) or tx.query('CREATE (:B)').counters")
    assert "nodes_created" in transaction
    first.kill()
    count = "db.query('MATCH (a:A) RETURN count(a)').value()"
    assert third.ask(count) == "1" and third.ask("db.is_owner") == "True"
    assert second.ask("tx.query('CREATE (:B)')") == "ConflictError"
    assert second.ask("tx.commit()") in ("ConflictError", "ClosedError")
    assert second.ask("db.write(lambda tx: tx.query('CREATE (:A)').counters['nodes_created'])") == "1"
    assert second.ask("db.is_owner") == "False"
    third.kill()
    assert second.ask(count) == "2" and second.ask("db.is_owner") == "True"
    assert second.ask("db.query('MATCH (b:B) RETURN count(b)').value()") == "0"


def test_what_runs_while_the_owner_is_killed(folder, worker):
    first, second = worker(), worker()
    reads = "UNWIND range(1, 20000000) AS n WITH n WHERE n % 7 = 1 RETURN count(*)"
    second.send(f"db.query('{reads}').value()")
    time.sleep(0.3)
    first.kill()
    # It is sent again to this process itself.
    assert second.receive() == "2857143"
    assert second.ask("db.is_owner") == "True"


def test_a_guest_that_is_killed_holds_up_nobody(folder, worker):
    first, second = worker(), worker()
    first.ask("db.query('CREATE (:A {n: 0})').counters")
    second.ask("globals().update(tx=db.transaction()) or tx.query('MATCH (a:A) SET a.n = 1').counters")
    second.kill()
    began = time.monotonic()
    assert first.ask("db.query('MATCH (a:A) SET a.n = a.n + 2 RETURN a.n').value()") == "2"
    assert time.monotonic() - began < 60
    third = worker()
    third.send(f"db.query('{LONG}')")
    shown = "[q for q in db.query('SHOW TRANSACTIONS YIELD currentQuery AS q').values('q') if '000000' in q]"
    until(lambda: first.ask(shown) != "[]")
    third.kill()
    until(lambda: first.ask(shown) == "[]")


def test_ctrl_c_ends_a_statement_of_a_guest(folder, worker):
    worker()
    with telar.open(folder) as db:
        with pytest.raises(KeyboardInterrupt), once_running(db, interrupt):
            db.query(LONG)
        assert db.query("RETURN 1").value() == 1


def test_ctrl_c_comes_through_when_the_owner_hangs(folder, worker):
    first = worker()
    with telar.open(folder) as db:
        first.stop()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt), interrupted():
            db.query("RETURN 1")
        assert time.monotonic() - began < 30
        first.go_on()
        assert db.query("RETURN 1").value() == 1
        assert not db.is_owner


def test_who_does_not_share_is_refused(folder, worker):
    first = worker()
    with pytest.raises(telar.LockedError, match=str(first.process.pid)):
        telar.open(folder, share=False)
    first.end()
    with telar.open(folder, share=False):
        alone = subprocess.run(
            [sys.executable, "-c", "import sys, telar; telar.open(sys.argv[1])", str(folder)],
            capture_output=True,
            text=True,
        )
        assert "LockedError" in alone.stderr


def test_durability_must_fit(folder):
    with telar.open(folder, durability="async"):
        with pytest.raises(telar.LockedError, match="asynchronous"):
            telar.open(folder)
        with telar.open(folder, durability="async") as guest:
            assert not guest.is_owner


def forked(folder, results):
    try:
        with telar.open(folder) as db:
            results.put((db.is_owner, db.query("MATCH (a:A) RETURN count(a)").value()))
    except BaseException as error:
        results.put(repr(error))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_open_what_their_parent_has_open(folder):
    with telar.open(folder) as db:
        db.query("CREATE (:A)")
        for method in ("fork", "spawn"):
            context = multiprocessing.get_context(method)
            results = context.Queue()
            children = [context.Process(target=forked, args=(folder, results)) for _ in range(3)]
            [child.start() for child in children]
            assert [results.get(timeout=60) for _ in children] == [(False, 1)] * 3
            [child.join() for child in children]
        assert db.is_owner and db.query("MATCH (a:A) RETURN count(a)").value() == 1


ORPHAN = """
import os, sys, time, telar
db = telar.open(sys.argv[1])
db.query("CREATE (:A)")
if os.fork() == 0:
    print("child", os.getpid(), flush=True)
    time.sleep(600)
    os._exit(0)
time.sleep(600)
"""


def test_a_child_that_outlives_its_parent_does_not_keep_the_folder(folder):
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", ORPHAN, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    )
    child = int(parent.stdout.readline().split()[1])
    try:
        parent.kill()
        parent.wait()
        with in_time(60, lambda: telar.open(folder)) as db:
            assert db.is_owner
            assert db.query("MATCH (a:A) RETURN count(a)").value() == 1
    finally:
        os.kill(child, signal.SIGKILL)


WRITER = """
import sys, threading, telar
folder, number, durability = sys.argv[1:]
db = telar.open(folder, durability=durability)
lock = threading.Lock()

def say(*words):
    with lock:
        print(*words, flush=True)

def work(thread):
    n = 0
    while True:
        n += 1
        key = f"{number}.{thread}.{n}"
        say("try", key)
        if n % 3 == 0:
            def add(tx):
                tx.query("MATCH (s:Sum) SET s.n = s.n + 1")
                tx.query("CREATE (:K {k: $key})", key=key)
            db.write(add)
        else:
            db.query("MATCH (s:Sum) SET s.n = s.n + 1 CREATE (:K {k: $key})", key=key)
        say("done", key)

say("open", "-")
for thread in range(2):
    threading.Thread(target=work, args=(thread,), daemon=True).start()
sys.stdin.read()
import os
os._exit(0)
"""


class Writer:
    """A process that writes with two threads, and says what it tries and what was committed."""

    def __init__(self, folder, number):
        self.tried, self.done, self.failed = set(), set(), []
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder), str(number), "full"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.opened = threading.Event()
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.errors = threading.Thread(target=lambda: self.failed.append(self.process.stderr.read()))
        self.errors.start()

    def read(self):
        for line in self.process.stdout:
            words = line.split()
            if not line.endswith("\n") or len(words) != 2:
                continue
            if words[0] == "open":
                self.opened.set()
            {"try": self.tried, "done": self.done}.get(words[0], set()).add(words[1])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.errors.join()


def test_processes_that_are_killed_lose_nothing_and_do_nothing_twice(folder):
    rounds = int(os.environ.get("TELAR_LONG", "0")) or 12
    with telar.open(folder) as db:
        db.query("CREATE CONSTRAINT FOR (k:K) REQUIRE k.k IS UNIQUE")
        db.query("CREATE (:Sum {n: 0})")
    seed = random.randrange(1 << 30)
    print("seed", seed)
    chance = random.Random(seed)
    running, ended, number = [], [], 0
    longest = 0.0
    try:
        for _ in range(4):
            running.append(Writer(folder, number))
            assert running[-1].opened.wait(60)
            number += 1
        for _ in range(rounds):
            time.sleep(0.2 + chance.random() / 2)
            # The oldest is the owner, most of the time.
            victim = running.pop(0 if chance.random() < 0.7 else chance.randrange(len(running)))
            victim.kill()
            ended.append(victim)
            before = sum(len(writer.done) for writer in running)
            began = time.monotonic()
            while sum(len(writer.done) for writer in running) == before:
                assert time.monotonic() - began < 60, "nobody goes on"
                time.sleep(0.01)
            longest = max(longest, time.monotonic() - began)
            running.append(Writer(folder, number))
            assert running[-1].opened.wait(60)
            number += 1
    finally:
        for writer in running:
            writer.kill()
        ended += running
    tried = set().union(*(writer.tried for writer in ended))
    done = set().union(*(writer.done for writer in ended))
    with telar.open(folder) as db:
        assert db.is_owner
        found = db.query("MATCH (k:K) RETURN k.k AS k").values("k")
        assert len(found) == len(set(found)), "something was done twice"
        assert done <= set(found), f"lost: {done - set(found)}"
        assert set(found) <= tried
        assert db.query("MATCH (s:Sum) RETURN s.n").value() == len(found), "half of something"
    print(f"{len(done)} commits, {rounds} kills, longest until the next commit {longest:.2f} s")
    wrong = [text for writer in ended for text in writer.failed if text]
    assert not wrong, wrong
