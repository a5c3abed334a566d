"""Waiting for statements that run, and what comes while they do."""

import contextlib
import os
import signal
import threading
import time

# A statement that ends only when it is told to.
LONG = "UNWIND range(1, 1000000000000) AS n RETURN sum(n)"


def until(holds, seconds=60):
    """Waits until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"it does not hold within {seconds} s"
        time.sleep(0.005)


def statements(db):
    """What runs: ids of transactions and texts."""
    return db.query("SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS q RETURN id, q").tuples()


def runs(db, text=LONG):
    """True while a statement of this text runs."""
    return any(running == text for _, running in statements(db))


def terminate(db, text=LONG):
    """Ends the statements of this text."""
    for number, running in statements(db):
        if running == text:
            db.query(f"TERMINATE TRANSACTIONS '{number}'")


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def once_running(db, act, text=LONG):
    """Calls `act` in another thread once a statement of this text runs. The block has to end soon after."""
    acted = []

    def run():
        until(lambda: runs(db, text))
        act()
        acted.append(time.monotonic())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join()
        assert acted and time.monotonic() - acted[0] < 30


@contextlib.contextmanager
def interrupted():
    """Ctrl-C in a block that does not end by itself."""
    timer = threading.Timer(0.3, interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def in_time(seconds, act):
    """Calls a function, which must not take longer."""
    done = []

    def run():
        try:
            done.append((act(), None))
        except BaseException as error:
            done.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert done, f"it takes longer than {seconds} s"
    value, error = done[0]
    if error is not None:
        raise error
    return value
