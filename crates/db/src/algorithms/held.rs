//! Parts of a graph with a name that it holds itself: relationships that a query made, values that
//! an algorithm left (`mutate`), and nodes that are fixed.
//!
//! Nothing of it is stored: it is gone with the name, or when the database is closed. Nodes are
//! held by id; one that is deleted later is left out where the graph is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use telar_algo::csr::Csr;
use telar_graph::{Column, Graph, ReadError, Value, VertexId};
use telar_query::QueryError;
use telar_query::cypher::suggest::closest;

use super::config::wrong;
use super::selection::Orientation;

/// All that a graph holds itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Held {
    /// Nodes, if the graph has no others: those that a query named.
    pub(super) nodes: Option<Arc<HeldNodes>>,
    /// True if the graph has no relationships but these.
    pub(super) alone: bool,
    pub(super) types: Vec<Arc<HeldType>>,
    /// Values of nodes by the name of the property.
    pub(super) values: BTreeMap<Arc<str>, Arc<HeldValues>>,
    /// Properties of the database that have another name in the graph, or a default.
    pub(super) renamed: BTreeMap<Arc<str>, Renamed>,
}

/// A property of nodes as the graph shows it.
#[derive(Debug, Clone)]
pub(super) struct Renamed {
    /// Its name in the database.
    pub(super) property: Arc<str>,
    /// Value of nodes that do not have it.
    pub(super) default: Value,
}

/// Nodes that are fixed.
#[derive(Debug, Clone, Default)]
pub(super) struct HeldNodes {
    /// All of them, ascending.
    pub(super) ids: Vec<VertexId>,
    /// Nodes of each label, ascending.
    pub(super) labels: BTreeMap<Arc<str>, Vec<VertexId>>,
}

/// Relationships of one type.
#[derive(Debug, Clone)]
pub(super) struct HeldType {
    pub(super) name: Arc<str>,
    /// True if they have no direction.
    pub(super) undirected: bool,
    pub(super) ends: Vec<(VertexId, VertexId)>,
    /// Numbers, one for each relationship; NaN where there is none.
    pub(super) properties: Vec<(Arc<str>, Vec<f64>)>,
}

/// Values of a property of nodes.
#[derive(Debug, Clone)]
pub(super) struct HeldValues {
    /// Nodes that have a value, or null, ascending.
    pub(super) nodes: Arc<[VertexId]>,
    /// As many values.
    pub(super) column: Column,
}

impl Held {
    /// The relationships of this type.
    pub(super) fn of_type(&self, name: &str) -> Option<&Arc<HeldType>> {
        self.types.iter().find(|ty| *ty.name == *name)
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let nodes = self.nodes.as_ref().map_or(0, |nodes| {
            let labels = nodes.labels.values().map(|ids| size_of_val(&**ids));
            size_of_val(&*nodes.ids) + labels.sum::<usize>()
        });
        let types = self.types.iter().map(|ty| ty.bytes()).sum::<usize>();
        let values = self.values.values();
        let of_values =
            |values: &Arc<HeldValues>| size_of_val(&*values.nodes) + values.column.bytes();
        nodes + types + values.map(of_values).sum::<usize>()
    }
}

impl HeldNodes {
    /// Nodes in `graph` with at least one of the labels, or all if none is named.
    pub(super) fn chosen(
        &self,
        labels: &[Arc<str>],
        graph: &dyn Graph,
    ) -> Result<Vec<VertexId>, QueryError> {
        let mut nodes = match labels {
            [] => self.ids.clone(),
            labels => {
                let mut nodes = Vec::new();
                for label in labels {
                    let Some(of) = self.labels.get(label) else {
                        let near = closest(label, self.labels.keys().map(|name| &**name));
                        let hint = near.map(|n| format!("; did you mean {n}?")).unwrap_or_default();
                        return Err(wrong(format!("the graph has no label {label}{hint}")));
                    };
                    nodes.extend_from_slice(of);
                }
                nodes.sort_unstable();
                nodes.dedup();
                nodes
            }
        };
        retain_existing(graph, &mut nodes)?;
        Ok(nodes)
    }
}

/// Leaves out nodes that are not in the graph.
fn retain_existing(graph: &dyn Graph, nodes: &mut Vec<VertexId>) -> Result<(), ReadError> {
    let mut exist = Vec::with_capacity(nodes.len());
    graph.vertices_exist(nodes, &mut exist)?;
    let mut exist = exist.into_iter();
    nodes.retain(|_| exist.next().unwrap_or(false));
    Ok(())
}

impl HeldType {
    fn bytes(&self) -> usize {
        let properties = self.properties.iter().map(|(_, values)| size_of_val(&**values));
        size_of_val(&*self.ends) + properties.sum::<usize>()
    }

    /// Values of a property, one for each relationship.
    pub(super) fn values(&self, property: &str) -> Option<&[f64]> {
        let found = self.properties.iter().find(|(name, _)| **name == *property);
        found.map(|(_, values)| &**values)
    }

    /// Number of entries in lists: each relationship stands in one, or in two.
    pub(super) fn entries(&self, orientation: Orientation, both: bool) -> u64 {
        let each = if self.is_symmetric(orientation) || both { 2 } else { 1 };
        self.ends.len() as u64 * each
    }

    /// True if each relationship is followed from both ends.
    pub(super) fn is_symmetric(&self, orientation: Orientation) -> bool {
        self.undirected || orientation == Orientation::Undirected
    }
}

/// Weight and directions with which held relationships are read.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    /// Property that is the weight, and its value where there is none.
    pub(super) weight: Option<(Arc<str>, f64)>,
    pub(super) orientation: Orientation,
    /// True if all are followed from both ends.
    pub(super) both: bool,
}

/// Lists of `n` vertices, whose numbers `number` says: those of `stored`, and of the held ones.
/// Relationships to nodes without a number are left out.
pub(super) fn lists(
    n: u32,
    number: &dyn Fn(VertexId) -> Option<u32>,
    types: &[Arc<HeldType>],
    reading: &Reading,
    stored: Vec<Csr>,
) -> Csr {
    let entries = types.iter().map(|ty| ty.entries(reading.orientation, reading.both)).sum::<u64>();
    let stored_edges = stored.iter().map(Csr::edges).sum::<u64>();
    let mut edges = Vec::with_capacity((entries + stored_edges) as usize);
    for lists in stored {
        edges.extend(lists.all_edges());
    }
    for ty in types {
        let weights = reading.weight.as_ref().and_then(|(name, _)| ty.values(name));
        let default = reading.weight.as_ref().map_or(1.0, |(_, default)| *default);
        let symmetric = reading.both || ty.is_symmetric(reading.orientation);
        for (at, (from, to)) in ty.ends.iter().enumerate() {
            let (Some(from), Some(to)) = (number(*from), number(*to)) else { continue };
            let weight = weights.map(|weights| weights[at]).filter(|weight| !weight.is_nan());
            let weight = weight.unwrap_or(default);
            if symmetric || reading.orientation != Orientation::Reverse {
                edges.push((from, to, weight));
            }
            if symmetric || reading.orientation == Orientation::Reverse {
                edges.push((to, from, weight));
            }
        }
    }
    match reading.weight {
        Some(_) => Csr::from_weighted(n, &edges),
        None => {
            let plain: Vec<_> = edges.into_iter().map(|(from, to, _)| (from, to)).collect();
            Csr::from_edges(n, &plain)
        }
    }
}

impl HeldValues {
    /// Values of these nodes, which are ascending; null where there is none.
    pub(super) fn of(&self, nodes: &[VertexId]) -> Column {
        if *self.nodes == *nodes {
            return self.column.clone();
        }
        let mut at = 0;
        let value = |node: &VertexId| {
            at += self.nodes[at..].partition_point(|held| held < node);
            match self.nodes.get(at) == Some(node) {
                true => self.column.get(at),
                false => Value::Null,
            }
        };
        Column::of(nodes.iter().map(value).collect())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    fn ids(ids: &[u64]) -> Vec<VertexId> {
        ids.iter().map(|id| VertexId::from_raw(*id)).collect()
    }

    #[test]
    fn values_are_found_by_node_and_missing_ones_are_null() {
        let column = Column::of(vec![Value::Int(1), Value::Int(2), Value::Int(3)]);
        let held = HeldValues { nodes: ids(&[2, 5, 9]).into(), column };
        let found = held.of(&ids(&[0, 2, 3, 9, 10])).into_values();
        let null = Value::Null;
        assert_eq!(found, [null.clone(), 1.into(), null.clone(), 3.into(), null.clone()]);
        assert_eq!(held.of(&ids(&[2, 5, 9])).into_values(), [1, 2, 3].map(Value::Int));
        assert_eq!(held.of(&[]).into_values(), [] as [Value; 0]);
    }

    #[test]
    fn lists_follow_the_orientation_and_leave_out_nodes_without_a_number() {
        let pair = |from, to| (VertexId::from_raw(from), VertexId::from_raw(to));
        let directed = HeldType {
            name: "A".into(),
            undirected: false,
            ends: vec![pair(10, 11), pair(11, 12), pair(10, 99)],
            properties: vec![("w".into(), vec![2.0, 3.0, 4.0])],
        };
        let undirected = HeldType { undirected: true, properties: Vec::new(), ..directed.clone() };
        let number = |v: VertexId| (v.get() < 20).then(|| (v.get() - 10) as u32);
        let read = |ty: &HeldType, weight: Option<&str>, orientation, both| {
            let weight = weight.map(|name| (name.into(), 0.5));
            let reading = Reading { weight, orientation, both };
            let lists = lists(3, &number, &[Arc::new(ty.clone())], &reading, Vec::new());
            lists.all_edges().collect::<Vec<_>>()
        };
        let natural = Orientation::Natural;
        assert_eq!(read(&directed, None, natural, false), [(0, 1, 1.0), (1, 2, 1.0)]);
        assert_eq!(
            read(&directed, Some("w"), Orientation::Reverse, false),
            [(1, 0, 2.0), (2, 1, 3.0)]
        );
        let symmetric = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (2, 1, 1.0)];
        assert_eq!(read(&directed, None, natural, true), symmetric);
        assert_eq!(read(&undirected, None, Orientation::Reverse, false), symmetric);
        let weights = read(&undirected, Some("w"), natural, false);
        assert!(weights.iter().all(|edge| edge.2 == 0.5), "{weights:?}");
    }
}
