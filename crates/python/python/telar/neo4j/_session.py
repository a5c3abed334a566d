"""Sessions and transactions."""

# mypy: ignore-errors

import time
import weakref

from . import exceptions
from ._installed import module
from ._result import Result, failing
from ._values import to_telar

READ_ACCESS = "READ"
WRITE_ACCESS = "WRITE"
# Seconds for which managed transactions are tried again.
_RETRY_S = 30.0


class Query:
    """A text with settings of its transaction."""

    def __init__(self, text, metadata=None, timeout=None):
        self.text, self.metadata, self.timeout = text, metadata, timeout


def unit_of_work(metadata=None, timeout=None):
    """Settings of the transactions of a function."""

    def decorate(work):
        def wrapped(*arguments, **named):
            return work(*arguments, **named)

        wrapped.metadata, wrapped.timeout = metadata, timeout
        return wrapped

    return decorate


def _text_of(query):
    """The text of a query, and its time limit."""
    return getattr(query, "text", query), getattr(query, "timeout", None)


def _all(parameters, named):
    return {**(parameters or {}), **named}


class Transaction:
    """Several statements, all of which are committed or none."""

    def __init__(self, session, transaction):
        self._session, self._transaction, self._failed = session, transaction, False
        self._results = weakref.WeakSet()

    def run(self, query, parameters=None, **kwparameters):
        """Runs a statement."""
        if self.closed():
            raise exceptions.TransactionError(self, "Transaction closed")
        if self._failed:
            raise exceptions.TransactionError(self, "Transaction failed")
        if not isinstance(query, str):
            raise ValueError("Query object is only supported for session.run")
        parameters = _all(parameters, kwparameters)
        try:
            found = failing(self._transaction.query, query, to_telar(parameters))
        except exceptions.Neo4jError:
            self._failed = True
            raise
        result = Result(found, query, parameters, self._session._database)
        self._results.add(result)
        return result

    def _ended(self):
        for result in self._results:
            result._end("The result is out of scope: its transaction is closed.")
        self._session._transaction, self._transaction = None, None

    def commit(self):
        """Commits."""
        if self.closed():
            raise exceptions.TransactionError(self, "Transaction closed")
        transaction, failed = self._transaction, self._failed
        self._ended()
        if failed:
            transaction.rollback()
            raise exceptions.TransactionError(self, "Transaction failed")
        failing(transaction.commit)

    def rollback(self):
        """Undoes everything."""
        if self.closed():
            raise exceptions.TransactionError(self, "Transaction closed")
        transaction = self._transaction
        self._ended()
        failing(transaction.rollback)

    def close(self):
        """Undoes everything, unless it is committed."""
        if not self.closed():
            self.rollback()

    def closed(self):
        """True if it is committed or undone."""
        return self._transaction is None

    def __enter__(self):
        return self

    def __exit__(self, kind, _value, _traceback):
        if not self.closed():
            self.commit() if kind is None and not self._failed else self.rollback()


class ManagedTransaction(Transaction):
    """A transaction that a session begins and ends."""


class Session:
    """Statements, one after the other."""

    def __init__(self, held, database, access, timeout=None):
        self._held, self._database, self._access = held, database, access
        self._transaction = None
        self._results = weakref.WeakSet()
        self._closed = False

    def _ready(self):
        if self._closed:
            raise exceptions.DriverError("Session closed")
        if self._transaction is not None:
            text = "Explicit Transaction must be handled explicitly"
            raise exceptions.TransactionError(self._transaction, text)

    def _on(self, access, timeout=None):
        return self._held.session(read_only=access == READ_ACCESS, timeout=timeout)

    def run(self, query, parameters=None, **kwargs):
        """Runs a statement as a transaction of its own."""
        self._ready()
        text, timeout = _text_of(query)
        if not text:
            raise ValueError("Cannot run an empty query")
        parameters = _all(parameters, kwargs)
        found = failing(self._on(self._access, timeout).query, text, to_telar(parameters))
        result = Result(found, text, parameters, self._database)
        self._results.add(result)
        return result

    def begin_transaction(self, metadata=None, timeout=None):
        """Begins a transaction of several statements."""
        return self._begin(Transaction, self._access, timeout)

    def _begin(self, of, access, timeout):
        self._ready()
        begun = failing(self._on(access, timeout).transaction)
        self._transaction = of(self, begun)
        return self._transaction

    def _managed(self, access, work, arguments, named):
        ends, pause = time.monotonic() + _RETRY_S, 0.001
        while True:
            transaction = self._begin(ManagedTransaction, access, getattr(work, "timeout", None))
            try:
                done = work(transaction, *arguments, **named)
                if not transaction.closed():
                    transaction.commit()
                return done
            except exceptions.TransientError:
                transaction.close()
                if time.monotonic() > ends:
                    raise
            except BaseException:
                transaction.close()
                raise
            time.sleep(pause)
            pause = min(2 * pause, 0.1)

    def execute_read(self, transaction_function, *args, **kwargs):
        """Calls a function with a transaction that only reads."""
        return self._managed(READ_ACCESS, transaction_function, args, kwargs)

    def execute_write(self, transaction_function, *args, **kwargs):
        """Calls a function with a transaction, and commits; again, as long as it loses conflicts."""
        return self._managed(WRITE_ACCESS, transaction_function, args, kwargs)

    read_transaction, write_transaction = execute_read, execute_write

    def last_bookmarks(self):
        """Empty bookmarks: here every session sees all that was committed."""
        of = module()
        return of.Bookmarks() if of is not None else frozenset()

    def close(self):
        """Ends what is open."""
        if self._transaction is not None:
            self._transaction.close()
        for result in self._results:
            result._end("The result is out of scope: its session is closed.")
        self._closed = True

    def closed(self):
        """True if it was closed."""
        return self._closed

    def __enter__(self):
        return self

    def __exit__(self, _kind, _value, _traceback):
        self.close()
