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
from concurrent.futures import ThreadPoolExecutor as _ThreadPoolExecutor

from . import _telar

__all__ = ["AsyncDatabase", "AsyncSession", "AsyncTransaction", "open"]


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

    async def close(self):
        """Writes a checkpoint and closes the database."""
        await _in_thread(self._executor, self._session.close)
        self._executor.shutdown(wait=False)


def open(path=None, *, threads=8, **settings):
    """Opens a database, as ``telar.open``; at most ``threads`` statements run at once.

    Await it, or use it in an ``async with``.
    """
    return AsyncDatabase(_functools.partial(_telar.open, path, **settings), threads)
