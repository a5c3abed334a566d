"""What every behaviour stands on: the servers under test, the list, and the runner.

A behaviour is a function decorated with `@behaviour`; its name is the one in `../behaviours.txt`.
It gets a `Server` and fails by raising. Nothing here knows what is tested.
"""

import contextlib
import logging
import os
import pathlib
import socket
import threading
import time
import traceback
import warnings

import neo4j

# What the driver says about the queries on purpose wrong, and about its own previews.
logging.getLogger("neo4j").setLevel(logging.CRITICAL)
warnings.simplefilter("ignore")

BEHAVIOURS = {}


def behaviour(function):
    """Adds `function` to the list under its name."""
    assert function.__name__ not in BEHAVIOURS, f"two behaviours named {function.__name__}"
    BEHAVIOURS[function.__name__] = function
    return function


class Server:
    """The addresses under test, from the environment (README.md says which)."""

    def __init__(self):
        # Without authentication and without TLS.
        self.address = os.environ["DRIVERS_BOLT"]
        # With both.
        self.secure_address = os.environ["DRIVERS_BOLT_SECURE"]
        self.password = os.environ["DRIVERS_PASSWORD"]
        self.certificate = os.environ["DRIVERS_CERTIFICATE"]
        self.process = int(os.environ["DRIVERS_PROCESS"])
        # "bolt", or "neo4j": then it is one of a cluster's nodes, whose leader is killed meanwhile.
        self.scheme = os.environ.get("DRIVERS_SCHEME", "bolt")
        self.fails_over = self.scheme == "neo4j"
        # "telar" or "neo4j": where the two rightly differ.
        self.kind = os.environ.get("DRIVERS_KIND", "telar")
        self.is_telar = self.kind == "telar"
        # What the server calls the database that is also called neo4j.
        self.database = self.kind

    def uri(self, scheme=None):
        return f"{scheme or self.scheme}://{self.address}"

    def secure_uri(self, scheme):
        return f"{scheme}://{self.secure_address}"

    def driver(self, uri=None, **settings):
        return neo4j.GraphDatabase.driver(uri or self.uri(), **settings)

    def resident_mib(self):
        """Memory of the server's process that is in use."""
        return resident_mib(self.process)


def resident_mib(process="self"):
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def equal(got, expected, what=""):
    """Fails unless both are equal and of one type."""
    if type(got) is not type(expected) or got != expected:
        raise AssertionError(f"{what}: got {got!r:.300}, expected {expected!r:.300}")


@contextlib.contextmanager
def fails(kind, code=None, contains=""):
    """The block raises `kind` with one of the codes `code`, and a message that holds `contains`."""
    try:
        yield
    except kind as error:
        codes = code if isinstance(code, tuple) else (code,)
        if code is not None and error.code not in codes:
            raise AssertionError(f"code {error.code} ({error}), expected {code}") from error
        if contains not in str(error):
            raise AssertionError(f"message {error}, expected one with {contains}") from error
        return
    raise AssertionError(f"no error, expected {kind.__name__} {code or ''}")


def eventually(condition, what, seconds=10):
    """Waits until `condition()` is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.02)


class Proxy:
    """A TCP proxy in front of a server, to cut connections in the middle of something."""

    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.target = (host, int(port))
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.sockets = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                for pair in ((client, server), (server, client)):
                    threading.Thread(target=self._copy, args=pair, daemon=True).start()

    @staticmethod
    def _copy(source, target):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)

    def cut(self):
        """Cuts all connections there are; new ones are served."""
        for cut in self.sockets:
            with contextlib.suppress(OSError):
                cut.shutdown(socket.SHUT_RDWR)
            cut.close()
        self.sockets = []

    def close(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)  # Ends the thread that accepts.
        self.listener.close()
        self.cut()


def empty(server):
    """An empty graph without schema, for the next behaviour."""
    with server.driver() as driver, driver.session() as session:
        for row in session.run("SHOW CONSTRAINTS YIELD name").data():
            session.run(f"DROP CONSTRAINT `{row['name']}`").consume()
        session.run("MATCH (n) DETACH DELETE n").consume()


# Seconds in which a behaviour has to hold that a failover may break.
FAILOVER_SECONDS = 30


def holds(server, function):
    """Runs a behaviour. One that a failover breaks is run again, with an empty graph; the runner counts them."""
    end = time.monotonic() + (FAILOVER_SECONDS if server.fails_over else 0)
    while True:
        try:
            empty(server)
            return function(server)
        except Exception as error:
            if time.monotonic() >= end:
                raise
            print(f"test {function.__name__} ... again: {error!r:.120}", flush=True)
            time.sleep(0.2)


def run(selected):
    """Runs all behaviours, or those whose name holds one of `selected`; the exit status."""
    listed = (pathlib.Path(__file__).parent.parent / "behaviours.txt").read_text("utf-8")
    listed = [line.split(":")[0] for line in listed.splitlines() if line and line[0] != "#"]
    assert listed == list(BEHAVIOURS), f"differs from behaviours.txt: {listed} {list(BEHAVIOURS)}"
    server = Server()
    passed, failed = 0, []
    skipped = os.environ.get("DRIVERS_SKIP", "").split()
    for name, function in BEHAVIOURS.items():
        if selected and not any(part in name for part in selected):
            continue
        if name in skipped:
            continue
        started = time.monotonic()
        try:
            holds(server, function)
        except Exception:
            failed.append(name)
            print(f"test {name} ... FAILED\n{traceback.format_exc()}", flush=True)
        else:
            passed += 1
            print(f"test {name} ... ok ({time.monotonic() - started:.2f} s)", flush=True)
    status = "FAILED" if failed else "ok"
    print(f"python, neo4j {neo4j.__version__}, {server.kind}; failed: {failed or 'none'}")
    print(f"test result: {status}. {passed} passed; {len(failed)} failed")
    return 1 if failed else 0
