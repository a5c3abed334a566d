"""What a stranger's review broke, once."""

import asyncio
import datetime as dt
import os
import signal
import threading
import time
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
import telar
import telar.aio
from waits import LONG, interrupt, once_running, runs, terminate, until


@pytest.fixture
def folder_of_files(tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,1\n1,9\n")
    return tmp_path


def opened(folder):
    db = telar.open(folder / "own", import_folder=folder)
    db.create_nodes("A", {"id": [1]}, unique=["A.id"])
    return db


COPY = "COPY T FROM 'bad.csv' (from = 'A', to = 'A', rejects = '{}')"


def test_rejected_rows_overwrite_nothing(folder_of_files):
    folder = folder_of_files
    (folder / "precious.py").write_text("precious")
    victim = folder.parent / f"{folder.name}.victim"
    victim.write_text("outside")
    (folder / "link").symlink_to(victim)
    (folder / "dangling").symlink_to(folder.parent / "nothing")
    (folder / "dir").mkdir()
    os.mkfifo(folder / "fifo")
    with opened(folder) as db:
        for name in ("precious.py", "bad.csv", "link", "dangling", "dir", "fifo"):
            with pytest.raises(telar.Error):
                db.query(COPY.format(name))
            again = COPY.format(name)[:-1] + ", overwrite = true)"
            if name == "precious.py":
                db.query(again)
                continue
            with pytest.raises(telar.Error):
                db.query(again)
        assert victim.read_text() == "outside" and not (folder.parent / "nothing").exists()
        assert (folder / "bad.csv").read_text() == "a,b\n1,1\n1,9\n"
        assert "9" in (folder / "precious.py").read_text()
        assert db.query("MATCH ()-[r:T]->() RETURN count(r)").value() == 1
        assert db.query(COPY.format("rejects.txt")).one()["rejected"] == 1
        assert "9" in (folder / "rejects.txt").read_text()
        assert not list(folder.glob("*.unfinished"))


def test_no_statement_writes_into_the_folder_of_the_database(folder_of_files):
    folder = folder_of_files
    with opened(folder) as db:
        for name in ("own/FORMAT", "own/new.csv"):
            with pytest.raises(telar.Error, match="folder of the database"):
                db.query(f"COPY (RETURN 1 AS a) TO '{name}' (format = 'csv', overwrite = true)")
            with pytest.raises(telar.Error, match="folder of the database"):
                db.query(COPY.format(name))
    with telar.open(folder / "own") as db:
        assert db.query("MATCH (a:A) RETURN count(a)").value() == 1


def test_files_of_copy_are_what_their_names_say(folder_of_files):
    folder = folder_of_files
    with opened(folder) as db:
        for name in ("z.csv.gz", "z.parquet.zst"):
            with pytest.raises(telar.Error, match="compressed"):
                db.query(f"COPY (RETURN 1 AS a) TO '{name}'")
        db.query("COPY (RETURN 1 AS a, 2 AS b) TO 'Z.TSV'")
        assert (folder / "Z.TSV").read_text() == "a\tb\n1\t2\n"
        db.query("COPY (RETURN 1 AS a, 2 AS b) TO 'x.tsv.csv'")
        assert (folder / "x.tsv.csv").read_text() == "a,b\n1,2\n"
        for delimiter in ('"', "\\n", "é"):
            with pytest.raises(telar.Error):
                db.query(f"COPY (RETURN 1 AS a) TO 'd.csv' (delim = '{delimiter}')")
        twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
        parquet.write_table(twice, folder / "twice.parquet")
        for text in ("LOAD PARQUET FROM 'twice.parquet' AS r RETURN r", "COPY B FROM 'twice.parquet'"):
            with pytest.raises(telar.Error, match="'a'"):
                db.query(text)
        for value in ("COLLECT { MATCH (n) RETURN n.f }[0]", "[(a)-->(b) | a.name][0]"):
            with pytest.raises(telar.StatementError, match="no subqueries"):
                db.query(f"COPY B FROM {value}")
        with pytest.raises(telar.StatementError, match="no subqueries"):
            db.query("COPY B FROM 'bad.csv' (rejects_max = COUNT { MATCH (n) RETURN n })")


def test_a_unique_key_that_is_there_keeps_history(tmp_path):
    with telar.open(tmp_path / "h", history=3600.0) as db:
        db.create_nodes("A", {"id": [1]}, unique=["A.id"])
        then = db.query("CREATE (:B)").timestamp
        db.create_nodes("A", {"id": [2]}, unique=["A.id"])
        assert db.query("MATCH (a:A) RETURN count(a)").value() == 2
        past = db.query(f"AT TIMESTAMP {then} MATCH (a:A) RETURN count(a)")
        assert past.value() == 1


def test_a_stream_that_another_thread_reads_is_refused(db):
    stream = db.stream(LONG)
    reader = threading.Thread(target=lambda: pytest.raises(telar.Error, lambda: next(stream)))
    reader.start()
    until(lambda: runs(db))
    with pytest.raises(telar.ClosedError, match="another thread"):
        stream.__arrow_c_stream__()
    stream.close()
    reader.join(60)
    assert not reader.is_alive()


def test_a_table_may_look_at_its_load_when_it_goes(db):
    class Looks:
        def __del__(self):
            seen.append(repr(load))

    def batches(looks):
        yield pa.record_batch({"a": [1]})

    seen = []
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches(Looks()))
    with pytest.raises(ZeroDivisionError):
        with db.load() as load:
            load.nodes("A", reader)
            del reader
            1 / 0
    assert len(seen) <= 1


def test_a_cancelled_task_ends_the_statement_of_its_transaction():
    async def main():
        async with telar.aio.open() as db:
            began = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                async with db.transaction() as tx:
                    await asyncio.wait_for(tx.query(LONG), 0.2)
            assert time.monotonic() - began < 5
            running = await db.query("SHOW TRANSACTIONS YIELD currentQuery AS q RETURN count(*)")
            return running.value()

    assert asyncio.run(main()) == 1


def test_a_transaction_is_not_rolled_back_behind_its_statement(db):
    tx = db.transaction()
    errors = []

    def run():
        try:
            tx.query(LONG)
        except telar.Error as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    until(lambda: runs(db))
    with pytest.raises(telar.ClosedError, match="another thread"):
        tx.rollback()
    terminate(db)
    thread.join(60)
    assert len(errors) == 1
    tx.rollback()


def raises(number, frame):
    raise RuntimeError("mine")


def alarm():
    os.kill(os.getpid(), signal.SIGALRM)


def later_alarm():
    # Time to get to where the rows are waited for.
    time.sleep(0.3)
    alarm()


def test_a_signal_while_a_stream_becomes_arrow(db):
    before = signal.signal(signal.SIGALRM, raises)
    try:
        stream = db.stream(LONG)
        with pytest.raises(RuntimeError, match="mine"), once_running(db, alarm):
            stream.__arrow_c_stream__()
        until(lambda: len(db.query("SHOW TRANSACTIONS")) == 1)
        text = "UNWIND range(1, 1000000000000) AS n WITH n WHERE n < 9000 OR n % 1000000000000 = 0 RETURN n"
        reader = pa.RecordBatchReader.from_stream(db.stream(text))
        with pytest.raises((RuntimeError, pa.ArrowInvalid), match="mine"), once_running(db, later_alarm, text):
            reader.read_all()
    finally:
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c_in_a_generator_that_a_load_reads(db):
    def batches():
        yield pa.record_batch({"a": [1]})
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
        yield pa.record_batch({"a": [2]})

    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), batches())
    with pytest.raises(KeyboardInterrupt):
        db.create_nodes("A", reader)
        time.sleep(1)
    assert db.query("MATCH (n) RETURN count(n)").value() == 0


def test_an_old_ctrl_c_ends_nothing_else(db):
    tx = db.transaction()
    with pytest.raises(KeyboardInterrupt), once_running(db, interrupt):
        db.query(LONG)
    found = []
    thread = threading.Thread(target=lambda: found.append(tx.query("RETURN 1").value()))
    thread.start()
    thread.join()
    assert found == [1]


def test_a_closed_stream_lets_go_of_the_folder(folder):
    for _ in range(20):
        db = telar.open(folder)
        stream = db.stream("UNWIND range(1, 100000000) AS n RETURN n")
        next(stream)
        stream.close()
        db.close()


def back(db, value):
    return db.query("RETURN $v", v=value).value()


def test_times_of_numpy_and_pandas_keep_their_nanoseconds(db):
    array = np.array(["2024-01-01", "NaT"], "datetime64[ns]")
    assert back(db, array) == [dt.datetime(2024, 1, 1), None]
    assert str(back(db, np.datetime64("2024-01-01T00:00:00.000000001"))).endswith(".000000001")
    assert back(db, np.datetime64("2024-01-01", "D")) == dt.date(2024, 1, 1)
    assert back(db, np.array([1], "timedelta64[ns]")) == [telar.Duration(nanoseconds=1)]
    assert back(db, np.timedelta64(-1, "s")) == telar.Duration(seconds=-1)
    assert str(back(db, pd.Timestamp("2024-01-01T00:00:00.000000001"))).endswith(".000000001")
    assert back(db, pd.Timedelta(1, "ns")) == telar.Duration(nanoseconds=1)
    assert back(db, pd.NaT) is None
    assert back(db, [pd.Timestamp("2024-01-01"), pd.NaT]) == [dt.datetime(2024, 1, 1), None]


@pytest.mark.parametrize(
    "column",
    [pd.Series([1, 2]), pl.Series([1, 2]), pa.chunked_array([[1], [2]]), pa.array([1, 2]), np.array([1, 2])],
    ids=lambda column: f"{type(column).__module__}.{type(column).__name__}",
)
def test_columns_are_lists(db, column):
    assert back(db, column) == [1, 2]
    db.create_nodes("A", {"a": column})
    assert db.query("MATCH (a:A) RETURN sum(a.a)").value() == 3


def test_a_result_keeps_its_values_as_a_parameter(db):
    text = "UNWIND [9007199254740993, 0.5] AS x RETURN x, duration('P1D') AS d, point({x: 1, y: 2}) AS p"
    result = db.query(text)
    db.create_nodes("C", result)
    stored = db.query("MATCH (n:C) RETURN n.x AS x, n.d AS d, n.p AS p").tuples()
    given = db.query("UNWIND $r AS r RETURN r.x AS x, r.d AS d, r.p AS p", r=result).tuples()
    assert stored == given == result.tuples() and stored[0][0] == 9007199254740993
    nodes = db.query("MATCH (n:C) RETURN n")
    for use in (lambda: back(db, nodes), lambda: db.create_nodes("D", nodes)):
        with pytest.raises(TypeError, match="nodes or relationships"):
            use()


def test_a_time_that_clocks_skip_is_the_moment_that_it_stands_for(db):
    berlin = ZoneInfo("Europe/Berlin")
    gap = dt.datetime(2024, 3, 31, 2, 30, tzinfo=berlin)
    got = db.query("CREATE (n {at: $at}) RETURN n.at", at=gap).value()
    assert got.astimezone(dt.timezone.utc) == gap.astimezone(dt.timezone.utc)
    assert db.query("MATCH (n) RETURN datetime(toString(n.at)) = n.at").value() is True


def test_nan_is_nobodys_key(db):
    db.create_nodes("P", {"id": [float("nan"), 1.0]})
    with pytest.raises(telar.Error, match="NaN"):
        db.create_relationships("K", {"a": [float("nan")], "b": [1.0]}, src="a", dst="b", label="P", key="id")


def test_a_list_of_nothing_is_a_table_of_nothing(db):
    assert db.create_nodes("A", [])["nodes"] == 0
    assert db.query("MATCH (n) RETURN count(n)").value() == 0
