//! An algorithm as an entry of a list.

use std::borrow::Cow;

use telar_algo::control::Control;
use telar_algo::csr::Csr;
use telar_graph::{Direction, EdgeTypeId, Graph};
use telar_query::QueryError;

use super::config::Config;
use super::in_place::InPlace;
use super::output::Output;
use super::procedure::Dialect;
use super::projection::Projection;

/// Type of a column of an algorithm's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A node: `NODE` in `algo`, its number in `gds`.
    Node,
    /// A list of nodes, likewise.
    Nodes,
    /// An integer.
    Integer,
    /// A float.
    Float,
    /// A list of floats.
    Floats,
    /// A truth value.
    Boolean,
    /// A list of integers.
    Integers,
    /// A list of relationships.
    Relationships,
    /// A path along the nodes of the row; null where two of them are not connected.
    Path,
    /// Whatever a property holds.
    Any,
}

/// Column of an algorithm's rows. That of the node is called `nodeId` in `gds`, `node` in `algo`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ColumnOf(pub(super) &'static str, pub(super) Kind);

/// Directions in which relationships are followed, unless the caller says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// As they were chosen; in their direction by default.
    Chosen,
    /// In both directions, whatever was chosen: the algorithm knows no direction.
    Both,
}

/// Input of a kernel.
pub(super) struct Input<'a> {
    pub(super) graph: &'a Projection,
    /// The statement's graph, for properties of nodes.
    pub(super) view: &'a dyn Graph,
    /// True if every edge stands in the lists of both its ends.
    pub(super) both: bool,
    /// Types and directions of the relationships chosen; none if pairs were.
    pub(super) parts: &'a [(EdgeTypeId, Direction)],
    pub(super) config: &'a Config<'a>,
    pub(super) control: &'a Control<'a>,
}

impl Input<'_> {
    /// The packed lists.
    pub(super) fn lists(&self) -> &Csr {
        &self.graph.graph
    }

    /// The packed lists the other way round.
    pub(super) fn incoming(&self) -> Cow<'_, Csr> {
        match self.both {
            true => Cow::Borrowed(self.lists()),
            false => Cow::Owned(self.lists().reversed()),
        }
    }

    /// The number of a node that must be given.
    pub(super) fn vertex(&self, setting: &str) -> Result<u32, QueryError> {
        self.graph.number(self.config.node(setting)?, setting)
    }

    /// The numbers of nodes, if some are given.
    pub(super) fn vertices(&self, setting: &str) -> Result<Option<Vec<u32>>, QueryError> {
        let Some(nodes) = self.config.nodes(setting)? else { return Ok(None) };
        let numbers = nodes.into_iter().map(|node| self.graph.number(node, setting));
        numbers.collect::<Result<_, _>>().map(Some)
    }
}

/// Input of a kernel that reads storage in place.
pub(super) struct InPlaceInput<'a> {
    pub(super) outgoing: &'a InPlace<'a>,
    pub(super) incoming: &'a InPlace<'a>,
    pub(super) n: u32,
    pub(super) config: &'a Config<'a>,
    pub(super) control: &'a Control<'a>,
}

/// Runs a kernel in place; nothing, if its settings ask for what needs a packed graph.
pub(super) type RunInPlace = fn(&InPlaceInput<'_>) -> Result<Option<Output>, QueryError>;

/// Bytes that a kernel holds beyond the graph, of its numbers of nodes and relationships.
pub(super) type Bytes = fn(n: u64, m: u64, config: &Config<'_>) -> Result<u64, QueryError>;

/// An algorithm.
#[derive(Debug)]
pub(super) struct Algorithm {
    /// Name behind `algo.` and `gds.`.
    pub(super) name: &'static str,
    /// The names under which it is, if not both.
    pub(super) only: Option<Dialect>,
    /// One line for `SHOW PROCEDURES`.
    pub(super) about: &'static str,
    /// Columns of its rows.
    pub(super) columns: &'static [ColumnOf],
    /// Columns of its figures, beside those that all have.
    pub(super) figures: &'static [(&'static str, &'static str)],
    /// Names of its settings.
    pub(super) settings: &'static [&'static str],
    pub(super) follows: Follows,
    /// True if its rows are some of the nodes: `write` stores 1 for them, and 0 for the others.
    pub(super) marks: bool,
    /// True if the kernel wants lists the other way round, too.
    pub(super) reverses: bool,
    pub(super) bytes: Bytes,
    /// Setting that names a property with vectors, which the kernel has beside that.
    pub(super) vectors: Option<&'static str>,
    pub(super) run: fn(&Input<'_>) -> Result<Output, QueryError>,
    /// The same without a copy of the lists.
    pub(super) in_place: Option<RunInPlace>,
}

impl Algorithm {
    /// The first column with values that a property can hold; `index` only counts rows.
    pub(super) fn value_column(&self) -> Option<usize> {
        self.columns.iter().position(|column| {
            matches!(
                column.1,
                Kind::Integer | Kind::Float | Kind::Floats | Kind::Boolean | Kind::Integers
            ) && column.0 != "index"
        })
    }

    /// Column that `write` stores; none if rows are not about nodes.
    pub(super) fn written(&self) -> Option<usize> {
        self.value_column().filter(|_| self.node_columns().next().is_some())
    }

    /// Columns that hold one node each.
    pub(super) fn node_columns(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|at| self.columns[*at].1 == Kind::Node)
    }

    /// True if its rows are about pairs of nodes: `write` makes relationships of them.
    pub(super) fn is_of_pairs(&self) -> bool {
        self.node_columns().count() == 2
    }
}
