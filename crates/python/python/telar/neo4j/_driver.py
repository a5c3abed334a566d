"""Drivers: databases by their addresses."""

# mypy: ignore-errors

import os
import threading
import urllib.parse

import telar

from . import exceptions
from ._installed import module
from ._result import Result, ServerInfo
from ._session import READ_ACCESS, WRITE_ACCESS, Session, _all, _text_of

# Databases that are open by their folders, and by how many drivers.
_open = {}
_lock = threading.Lock()


def _path(uri):
    """The folder that an address names; None for a database in memory."""
    rest = uri.split("://", 1)[1]
    path = urllib.parse.unquote(rest)
    if path in ("", "/", "memory"):
        return None
    # telar:///srv/graph.telar is a path from the root, telar://graph.telar one from here.
    return os.path.realpath(path)


class Driver:
    """A database in this process."""

    def __init__(self, uri, **settings):
        known = {name: settings.pop(name) for name in list(settings) if name in ("durability", "memory_limit")}
        self._path = _path(uri)
        self._closed = False
        with _lock:
            held = _open.get(self._path) if self._path else None
            try:
                self._held, count = held or (telar.open(self._path, **known), 0)
            except telar.Error as error:
                raise exceptions.ServiceUnavailable(str(error)) from error
            if self._path:
                _open[self._path] = self._held, count + 1

    @property
    def database(self):
        """The database of Telar."""
        return self._held

    encrypted = False

    def session(self, database=None, default_access_mode=WRITE_ACCESS, **_config):
        """A session; bookmarks, sizes of fetches and the like say nothing here."""
        if self._closed:
            raise exceptions.DriverError("Driver closed")
        return Session(self._held, database, default_access_mode)

    def execute_query(
        self,
        query_,
        parameters_=None,
        routing_="w",
        database_=None,
        impersonated_user_=None,
        bookmark_manager_=None,
        auth_=None,
        result_transformer_=Result.to_eager_result,
        **kwargs,
    ):
        """Runs a statement as a transaction of its own, again as long as it loses conflicts."""
        text, _ = _text_of(query_)
        access = READ_ACCESS if str(getattr(routing_, "value", routing_)) in ("r", "READ") else WRITE_ACCESS

        def work(transaction):
            result = transaction.run(text, _all(parameters_, kwargs))
            # The driver's own functions take a result of any kind.
            return result_transformer_(result)

        with self.session(database=database_) as session:
            return session._managed(access, work, (), {})

    def verify_connectivity(self, **_config):
        """Raises an error unless statements run."""
        with self.session() as session:
            session.run("RETURN 1").consume()

    def verify_authentication(self, auth=None, **_config):
        """Always: nobody logs in."""
        return True

    def get_server_info(self, **_config):
        """Description in place of a server's."""
        return ServerInfo()

    def supports_multi_db(self):
        """One database for each driver."""
        return False

    def supports_session_auth(self):
        """Nobody logs in."""
        return False

    def close(self):
        """Closes the database, if no other driver has it open."""
        with _lock:
            if self._closed:
                return
            self._closed = True
            if self._path:
                held, count = _open[self._path]
                if count > 1:
                    _open[self._path] = held, count - 1
                    return
                del _open[self._path]
            self._held.close()

    def __enter__(self):
        return self

    def __exit__(self, _kind, _value, _traceback):
        self.close()


class GraphDatabase:
    """Factory of drivers."""

    @classmethod
    def driver(cls, uri, *, auth=None, **config):
        """A driver for an address: ``telar:///path`` here, others by the package ``neo4j``."""
        if uri.startswith("telar://"):
            return Driver(uri, **config)
        real = module()
        if real is None:
            raise exceptions.ConfigurationError(f"{uri}: needs the package neo4j; telar:///path runs in this process")
        return _real_driver(real)(uri, auth=auth, **config)


_real = []


def _real_driver(real):
    return _real[0] if _real else real.GraphDatabase.driver


def register():
    """Makes ``neo4j.GraphDatabase.driver`` take addresses like ``telar:///path``."""
    real = module()
    if real is None:
        raise ImportError("register() needs the package neo4j: pip install neo4j")
    if not _real:
        _real.append(real.GraphDatabase.driver)

        def driver(cls, uri, *, auth=None, **config):
            return GraphDatabase.driver(uri, auth=auth, **config)

        real.GraphDatabase.driver = classmethod(driver)
