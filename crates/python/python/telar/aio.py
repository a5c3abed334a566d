"""The same database for ``asyncio``: statements run in threads, and the event loop goes on.

>>> import asyncio, telar, telar.aio
>>> async def main():
...     async with telar.aio.open() as db:
...         await db.query("CREATE (:City {name: $name})", name="Ulm")
...         return (await db.query("MATCH (c:City) RETURN c.name")).value()
>>> asyncio.run(main())
'Ulm'

A task that is cancelled ends its statement.
"""

import asyncio as _asyncio
import functools as _functools
import time as _time
from concurrent.futures import ThreadPoolExecutor as _ThreadPoolExecutor

from . import _telar
from ._algorithms import Algorithms as _Algorithms

__all__ = [
    "AsyncAlgorithms",
    "AsyncDatabase",
    "AsyncLoad",
    "AsyncSession",
    "AsyncStream",
    "AsyncTransaction",
    "open",
]

# Rows of a stream that come over from their thread at once, at most, and for how many seconds more
# are waited for.
_ROWS = 1000
_SECONDS = 0.01


async def _in_thread(executor, function, cancel=None):
    """Calls a function in a thread. If the task is cancelled, calls `cancel` and waits for it to end."""
    task = _asyncio.get_running_loop().run_in_executor(executor, function)
    try:
        return await _asyncio.shield(task)
    except _asyncio.CancelledError:
        if cancel is not None:
            cancel()
        # Nothing goes on behind the back of who was cancelled.
        await _asyncio.wait([task])
        task.cancelled() or task.exception()
        raise


class AsyncTransaction:
    """Several statements in one transaction, in an ``async with``."""

    def __init__(self, transaction, executor):
        self._transaction = transaction
        self._executor = executor

    async def query(self, text, parameters=None, /, **named):
        """Runs a statement, as ``telar.Transaction.query``."""
        query = _functools.partial(self._transaction.query, text, parameters, **named)
        return await _in_thread(self._executor, query, self._transaction._cancel)

    async def commit(self):
        """Commits, and returns the commit timestamp."""
        return await _in_thread(self._executor, self._transaction.commit)

    async def rollback(self):
        """Undoes everything."""
        await _in_thread(self._executor, self._transaction.rollback)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, traceback):
        if kind is not None:
            await self.rollback()
        elif self._transaction.open:
            await self.commit()


class _Begin:
    """A transaction that begins when it is awaited, or entered."""

    def __init__(self, session):
        self._session = session
        self._begun = None

    def __await__(self):
        return self._begin().__await__()

    async def _begin(self):
        begin = _functools.partial(self._session._session.transaction, _token=_telar.Token())
        begun = await _in_thread(self._session._executor, begin)
        return AsyncTransaction(begun, self._session._executor)

    async def __aenter__(self):
        self._begun = await self._begin()
        return self._begun

    async def __aexit__(self, kind, value, traceback):
        await self._begun.__aexit__(kind, value, traceback)


class AsyncStream:
    """Rows of a statement as they come: ``async for row in session.stream(...)``.

    Leaving the loop does not end the statement; an ``async with``, or ``close``, does.
    """

    def __init__(self, stream, executor):
        self._stream = stream
        self._executor = executor
        self._rows = iter(())
        self._ended = False

    def _some(self):
        """The next rows: one at least, unless it is the end."""
        rows, until = [], None
        for row in self._stream:
            rows.append(row)
            now = _time.monotonic()
            until = until or now + _SECONDS
            if len(rows) >= _ROWS or now > until:
                return rows
        self._ended = True
        return rows

    def __aiter__(self):
        return self

    async def __anext__(self):
        while True:
            for row in self._rows:
                return row
            if self._ended:
                raise StopAsyncIteration
            self._rows = iter(await _in_thread(self._executor, self._some, self._stream._cancel))

    async def close(self):
        """Ends the statement."""
        self._ended = True
        await _in_thread(self._executor, self._stream.close)

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, traceback):
        await self.close()


class _Tokened:
    """A session as algorithms see it: statements that a token ends."""

    def __init__(self, session, token):
        self.token = token
        self.query = _functools.partial(session.query, _token=token)
        self.transaction = _functools.partial(session.transaction, _token=token)


class AsyncAlgorithms:
    """Graph algorithms to be awaited: ``await db.algo.page_rank(...)``, as ``telar.Session.algo``."""

    def __init__(self, session, names=()):
        self._session = session
        self._names = names

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return AsyncAlgorithms(self._session, (*self._names, name))

    async def __call__(self, *program, **settings):
        """Runs the algorithm, or a vertex program in Python. Cancelling the task ends its statements."""
        token = _telar.Token()

        def run():
            algorithm = _Algorithms(_Tokened(self._session._session, token))
            return _functools.reduce(getattr, self._names, algorithm)(*program, **settings)

        return await _in_thread(self._session._executor, run, token.cancel)


class AsyncLoad:
    """Tables that come in together: ``async with db.load() as load``, as ``telar.Load``."""

    def __init__(self, load, executor):
        self._load = load
        self._executor = executor

    def nodes(self, labels, table):
        """Adds a table of nodes, as ``telar.Load.nodes``."""
        self._load.nodes(labels, table)

    def relationships(self, type, table, **ends):
        """Adds a table of relationships, as ``telar.Load.relationships``."""
        self._load.relationships(type, table, **ends)

    async def commit(self):
        """Brings everything in, as one commit. Returns the report."""
        return await _in_thread(self._executor, self._load.commit)

    @property
    def report(self):
        """The report; None before the commit."""
        return self._load.report

    async def __aenter__(self):
        return self

    async def __aexit__(self, kind, value, traceback):
        if kind is not None:
            self._load.__exit__(kind, value, traceback)
        elif self._load.report is None:
            await self.commit()


class AsyncSession:
    """A session whose statements are awaited."""

    def __init__(self, session, executor):
        self._session = session
        self._executor = executor

    async def query(self, text, parameters=None, /, **named):
        """Runs a statement, as ``telar.Session.query``. Cancelling the task ends it."""
        token = _telar.Token()
        query = _functools.partial(self._session.query, text, parameters, _token=token, **named)
        return await _in_thread(self._executor, query, token.cancel)

    def stream(self, text, parameters=None, /, **named):
        """Rows of a statement as they come, as ``telar.Session.stream``."""
        return AsyncStream(self._session.stream(text, parameters, **named), self._executor)

    @property
    def algo(self):
        """Graph algorithms: ``await db.algo.page_rank(nodes='Account', relationships='PAYS')``."""
        return AsyncAlgorithms(self)

    def transaction(self):
        """Begins a transaction: ``async with session.transaction() as tx``."""
        return _Begin(self)

    async def write(self, work, /, *arguments, tries=30, **named):
        """Awaits ``work(transaction, ...)`` and commits; again, as long as it loses conflicts."""
        pause = 0.001
        for attempt in range(1, tries + 1):
            try:
                async with self.transaction() as transaction:
                    return await work(transaction, *arguments, **named)
            except _telar.ConflictError:
                if attempt == tries:
                    raise
            await _asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    def session(self, **settings):
        """The same session with other settings, as ``telar.Session.session``."""
        return AsyncSession(self._session.session(**settings), self._executor)


class AsyncDatabase(AsyncSession):
    """A database whose statements are awaited. It is opened by ``telar.aio.open``."""

    def __init__(self, open, threads):
        super().__init__(None, _ThreadPoolExecutor(threads, thread_name_prefix="telar"))
        self._open = open

    async def _opened(self):
        if self._session is None:
            self._session = await _in_thread(self._executor, self._open)
        return self

    def __await__(self):
        return self._opened().__await__()

    async def __aenter__(self):
        return await self._opened()

    async def __aexit__(self, kind, value, traceback):
        await self.close()

    def load(self, *, unique=(), bad_rows=None):
        """Begins a load of tables that come in together, as ``telar.Database.load``."""
        return AsyncLoad(self._session.load(unique=list(unique), bad_rows=bad_rows), self._executor)

    async def create_nodes(self, labels, table, *, unique=(), bad_rows=None):
        """Makes a node of each row of a table, as ``telar.Database.create_nodes``."""
        async with self.load(unique=unique, bad_rows=bad_rows) as load:
            load.nodes(labels, table)
        return load.report

    async def create_relationships(self, type, table, *, bad_rows=None, **ends):
        """Makes a relationship of each row, as ``telar.Database.create_relationships``."""
        async with self.load(bad_rows=bad_rows) as load:
            load.relationships(type, table, **ends)
        return load.report

    def create_function(self, name, function, *, takes="values"):
        """Makes a function of Python one of statements, as ``telar.Database.create_function``."""
        self._session.create_function(name, function, takes=takes)

    @property
    def is_owner(self):
        """Whether this process has the database open itself, as ``telar.Database.is_owner``."""
        return self._session.is_owner

    async def checkpoint(self):
        """Writes a checkpoint."""
        await _in_thread(self._executor, self._session.checkpoint)

    async def backup(self, path):
        """Copies the database into a new folder while it is used."""
        await _in_thread(self._executor, _functools.partial(self._session.backup, path))

    async def close(self):
        """Writes a checkpoint and closes the database."""
        await _in_thread(self._executor, self._session.close)
        self._executor.shutdown(wait=False)


def open(path=None, *, threads=8, **settings):
    """Opens a database, as ``telar.open``; at most ``threads`` statements run at once.

    Await it, or use it in an ``async with``.
    """
    return AsyncDatabase(_functools.partial(_telar.open, path, **settings), threads)
