"""Nodes, relationships and paths of one result."""

# mypy: ignore-errors

from collections.abc import Mapping

import telar

from . import _installed
from ._values import to_driver


class _Entity(Mapping):
    """Base of nodes and relationships."""

    def __init__(self, graph, element_id, id_, properties):
        self._graph, self._element_id, self._id, self._properties = graph, element_id, id_, properties

    @property
    def graph(self):
        """The graph of the result."""
        return self._graph

    @property
    def id(self):
        """The number, as ``id()`` in Cypher."""
        return self._id

    @property
    def element_id(self):
        """The identity as text, as ``elementId()`` in Cypher."""
        return self._element_id

    def __getitem__(self, name):
        return self._properties[name]

    def __len__(self):
        return len(self._properties)

    def __iter__(self):
        return iter(self._properties)

    def __contains__(self, name):
        return name in self._properties

    def get(self, name, default=None):
        """A property, or a default."""
        return self._properties.get(name, default)

    def keys(self):
        """Names of the properties."""
        return self._properties.keys()

    def values(self):
        """Values of the properties."""
        return self._properties.values()

    def items(self):
        """Names and values of the properties."""
        return self._properties.items()

    def __eq__(self, other):
        return type(self) is type(other) and self._element_id == other._element_id

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self._element_id)


class Node(_Entity, *_installed.bases("graph", "Node")):
    """A node."""

    _labels = frozenset()

    @property
    def labels(self):
        """Its labels."""
        return self._labels

    def __repr__(self):
        return f"<Node element_id={self._element_id!r} labels={self._labels!r} properties={self._properties!r}>"


class Relationship(_Entity, *_installed.bases("graph", "Relationship")):
    """A relationship."""

    _start_node = _end_node = None
    _type = ""

    @property
    def nodes(self):
        """Both ends, which may have an identity only."""
        return self._start_node, self._end_node

    @property
    def start_node(self):
        """The node that it leaves."""
        return self._start_node

    @property
    def end_node(self):
        """The node that it leads to."""
        return self._end_node

    @property
    def type(self):
        """Its type."""
        return self._type

    def __repr__(self):
        ends = f"nodes={self.nodes!r} type={self._type!r}"
        return f"<Relationship element_id={self._element_id!r} {ends} properties={self._properties!r}>"


class Path(*_installed.bases("graph", "Path")):
    """A path."""

    def __init__(self, nodes, relationships):
        self._nodes, self._relationships = tuple(nodes), tuple(relationships)

    @property
    def graph(self):
        """The graph of the result."""
        return self._nodes[0].graph

    @property
    def nodes(self):
        """Its nodes, in order."""
        return self._nodes

    @property
    def start_node(self):
        """The first node."""
        return self._nodes[0]

    @property
    def end_node(self):
        """The last node."""
        return self._nodes[-1]

    @property
    def relationships(self):
        """Its relationships, in order."""
        return self._relationships

    def __len__(self):
        return len(self._relationships)

    def __iter__(self):
        return iter(self._relationships)

    def __eq__(self, other):
        return isinstance(other, Path) and (self._nodes, self._relationships) == (other._nodes, other._relationships)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash((self._nodes, self._relationships))

    def __repr__(self):
        return f"<Path start={self.start_node!r} end={self.end_node!r} size={len(self)}>"


class Graph:
    """All nodes and relationships of a result, each once."""

    def __init__(self):
        self._nodes, self._relationships, self._unknown = {}, {}, {}

    @property
    def nodes(self):
        """The nodes."""
        return _Set(self._nodes.values())

    @property
    def relationships(self):
        """The relationships."""
        return _Set(self._relationships.values())

    def relationship_type(self, name):
        """The class of relationships."""
        return Relationship

    def value(self, value):
        """A value of Telar's with what it holds."""
        if isinstance(value, telar.Node):
            return self._node(value)
        if isinstance(value, telar.Relationship):
            return self._relationship(value)
        if isinstance(value, telar.Path):
            return Path(map(self._node, value.nodes), map(self._relationship, value.relationships))
        if isinstance(value, list):
            return [self.value(element) for element in value]
        if isinstance(value, dict):
            return {key: self.value(element) for key, element in value.items()}
        return to_driver(value)

    def _node(self, node):
        found = self._nodes.get(node.id)
        if found is None:
            # One without properties is false, as an empty mapping is.
            found = self._unknown.pop(node.id, None)
            if found is None:
                found = Node(self, node.element_id, node.id, {})
            found._labels = node.labels
            found._properties = {key: self.value(value) for key, value in node.properties.items()}
            self._nodes[node.id] = found
        return found

    def _end(self, number):
        """A node that is named, and may not be in the result."""
        if number in self._nodes:
            return self._nodes[number]
        return self._unknown.setdefault(number, Node(self, f"n:{number}", number, {}))

    def _relationship(self, relationship):
        found = self._relationships.get(relationship.element_id)
        if found is None:
            own = {key: self.value(value) for key, value in relationship.properties.items()}
            found = Relationship(self, relationship.element_id, relationship.id, own)
            found._type = relationship.type
            found._start_node, found._end_node = self._end(relationship.start_id), self._end(relationship.end_id)
            self._relationships[relationship.element_id] = found
        return found


class _Set:
    """Nodes or relationships, by position or in turn."""

    def __init__(self, all_of):
        self._all = tuple(all_of)

    def __len__(self):
        return len(self._all)

    def __iter__(self):
        return iter(self._all)

    def __contains__(self, one):
        return one in self._all
