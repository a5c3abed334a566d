"""A row."""

# mypy: ignore-errors

from collections.abc import Mapping

from . import _installed
from ._graph import Node, Path, Relationship


def _plain(value):
    """A value without identities, as ``Record.data`` has it."""
    if isinstance(value, Node):
        return dict(value)
    if isinstance(value, Relationship):
        return dict(value.start_node), value.type, dict(value.end_node)
    if isinstance(value, Path):
        parts = [_plain(value.start_node)]
        for before, relationship in zip(value.nodes, value.relationships):
            after = relationship.end_node if relationship.start_node == before else relationship.start_node
            parts += [relationship.type, _plain(after)]
        return parts
    if isinstance(value, list):
        return [_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: _plain(element) for key, element in value.items()}
    return value


class Record(*(_installed.bases("", "Record") or (tuple, Mapping))):
    """A row: a tuple of values with names."""

    def __new__(cls, iterable=()):
        pairs = list(dict(iterable).items())
        made = tuple.__new__(cls, [value for _, value in pairs])
        made.__keys = tuple(key for key, _ in pairs)
        return made

    def __repr__(self):
        return "<Record " + " ".join(f"{key}={value!r}" for key, value in self.items()) + ">"

    def __eq__(self, other):
        if isinstance(other, Mapping):
            return self.__keys == tuple(other.keys()) and tuple(self) == tuple(other[key] for key in self.__keys)
        return tuple(self) == tuple(other) if hasattr(other, "__iter__") else False

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self.__keys, tuple(self)))

    def __iter__(self):
        return tuple.__iter__(self)

    def __getitem__(self, key):
        if isinstance(key, slice):
            return Record(list(zip(self.__keys, tuple(self)))[key])
        try:
            return tuple(self)[self.index(key)]
        except IndexError:
            return None

    def index(self, key):
        """The position of a name or number."""
        if isinstance(key, int):
            if not 0 <= key < len(self.__keys):
                raise IndexError(key)
            return key
        if not isinstance(key, str):
            raise TypeError(key)
        if key not in self.__keys:
            raise KeyError(key)
        return self.__keys.index(key)

    def get(self, key, default=None):
        """The value of a name, or a default."""
        return tuple(self)[self.__keys.index(str(key))] if str(key) in self.__keys else default

    def value(self, key=0, default=None):
        """The value of a name or number, or a default."""
        try:
            return tuple(self)[self.index(key)]
        except (IndexError, KeyError):
            return default

    def keys(self):
        """The names."""
        return list(self.__keys)

    def values(self, *keys):
        """The values, or those of some names and numbers."""
        if not keys:
            return list(self)
        own = tuple(self)
        return [own[self.index(key)] if isinstance(key, int) else self.get(key) for key in keys]

    def items(self, *keys):
        """Pairs of names and values."""
        if not keys:
            return list(zip(self.__keys, tuple(self)))
        named = [(self.__keys[key] if isinstance(key, int) else key) for key in keys]
        return [(name, self.get(name)) for name in named]

    def data(self, *keys):
        """The row as a dict, without identities."""
        return {name: _plain(value) for name, value in self.items(*keys)}
