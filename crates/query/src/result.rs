//! What a query returns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use telar_graph::{CommitTs, EdgeId, EdgeTypeId, Value, VertexId};

use crate::description::PlanDescription;
use crate::entities::Entities;
use crate::notification::Notification;

/// What a query may do, whatever it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum StatementKind {
    /// Reads.
    #[default]
    Read,
    /// Changes the graph and returns nothing.
    Write,
    /// Changes the graph and returns rows.
    ReadWrite,
    /// Makes or drops an index or constraint.
    Schema,
}

/// What a query changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Nodes created.
    pub nodes_created: u64,
    /// Nodes deleted.
    pub nodes_deleted: u64,
    /// Relationships created.
    pub relationships_created: u64,
    /// Relationships deleted.
    pub relationships_deleted: u64,
    /// Properties set or removed.
    pub properties_set: u64,
    /// Labels added to nodes.
    pub labels_added: u64,
    /// Labels removed from nodes.
    pub labels_removed: u64,
    /// Indexes created.
    pub indexes_added: u64,
    /// Indexes dropped.
    pub indexes_removed: u64,
    /// Constraints created.
    pub constraints_added: u64,
    /// Constraints dropped.
    pub constraints_removed: u64,
    /// Users, roles and databases created, changed or dropped.
    pub system_updates: u64,
}

impl Counters {
    /// Whether anything was changed.
    #[must_use]
    pub fn any(&self) -> bool {
        *self != Self::default()
    }

    /// Whether anything of the graph or its schema was changed.
    #[must_use]
    pub fn changes_graph(&self) -> bool {
        Self { system_updates: 0, ..*self }.any()
    }

    /// The counts with their names.
    #[must_use]
    pub fn named(&self) -> [(&'static str, u64); 12] {
        [
            ("nodes_created", self.nodes_created),
            ("nodes_deleted", self.nodes_deleted),
            ("relationships_created", self.relationships_created),
            ("relationships_deleted", self.relationships_deleted),
            ("properties_set", self.properties_set),
            ("labels_added", self.labels_added),
            ("labels_removed", self.labels_removed),
            ("indexes_added", self.indexes_added),
            ("indexes_removed", self.indexes_removed),
            ("constraints_added", self.constraints_added),
            ("constraints_removed", self.constraints_removed),
            ("system_updates", self.system_updates),
        ]
    }

    /// Adds what another one counted.
    pub(crate) fn add(&mut self, other: &Self) {
        let Self {
            nodes_created,
            nodes_deleted,
            relationships_created,
            relationships_deleted,
            properties_set,
            labels_added,
            labels_removed,
            indexes_added,
            indexes_removed,
            constraints_added,
            constraints_removed,
            system_updates,
        } = other;
        self.nodes_created += nodes_created;
        self.nodes_deleted += nodes_deleted;
        self.relationships_created += relationships_created;
        self.relationships_deleted += relationships_deleted;
        self.properties_set += properties_set;
        self.labels_added += labels_added;
        self.labels_removed += labels_removed;
        self.indexes_added += indexes_added;
        self.indexes_removed += indexes_removed;
        self.constraints_added += constraints_added;
        self.constraints_removed += constraints_removed;
        self.system_updates += system_updates;
    }
}

/// A whole result.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryResult {
    /// Names of the columns.
    pub columns: Vec<Arc<str>>,
    /// Rows, one value per column.
    pub rows: Vec<Vec<Value>>,
    /// What the nodes and relationships in the rows are.
    pub entities: Entities,
    /// What it may do.
    pub kind: StatementKind,
    /// What was changed.
    pub counters: Counters,
    /// The commit timestamp that it was committed with, or that it read at if it changed nothing.
    /// An open transaction has not been given one: then it is the one it reads at.
    pub at: CommitTs,
    /// The plan, where it was asked for.
    pub plan: Option<PlanDescription>,
    /// What is probably not meant as it is written.
    pub notifications: Vec<Notification>,
}

impl Default for QueryResult {
    /// Nothing, at the beginning of time.
    fn default() -> Self {
        Self {
            columns: Vec::new(),
            rows: Vec::new(),
            entities: Entities::default(),
            kind: StatementKind::Read,
            counters: Counters::default(),
            at: CommitTs::ZERO,
            plan: None,
            notifications: Vec::new(),
        }
    }
}

/// `elementId()` of a node.
#[must_use]
pub fn element_id_of_vertex(vertex: VertexId) -> String {
    format!("n:{vertex}")
}

/// The node with an element id.
pub(crate) fn vertex_of_element_id(id: &str) -> Option<u64> {
    id.strip_prefix("n:")?.parse().ok()
}

/// `elementId()` of a relationship: its type, ends and which of the parallel ones it is.
#[must_use]
pub fn element_id_of_edge(edge: &EdgeId) -> String {
    format!("r:{}:{}:{}:{}", edge.ty, edge.src, edge.dst, edge.ordinal)
}

/// The relationship with an element id, if there is one.
pub(crate) fn edge_of_element_id(id: &str) -> Option<EdgeId> {
    let mut parts = id.strip_prefix("r:")?.split(':');
    let ty = EdgeTypeId::from_raw(parts.next()?.parse().ok()?);
    let src = VertexId::from_raw(parts.next()?.parse().ok()?);
    let dst = VertexId::from_raw(parts.next()?.parse().ok()?);
    let ordinal = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(EdgeId { ty, src, dst, ordinal })
}

/// `id()` of a relationship. It has no number of its own: this one tells it from others.
///
/// One with an ordinal is told by type and ordinal, below 2^48. Others, of which there is one from
/// one node to another, have a number from 2^52 on: type and ends if they fit (types below 2^7,
/// nodes below 2^22), else a hash of them, which two of a million share with a probability of 1 in
/// 4,000. All are below 2^53, so that a number of JavaScript holds them.
#[must_use]
pub fn number_of_edge(edge: &EdgeId) -> i64 {
    const UNNUMBERED: u64 = 1 << 52;
    const HASHED: u64 = 1 << 51;
    let (ty, src, dst) = (u64::from(edge.ty.get()), edge.src.get(), edge.dst.get());
    let number = if edge.ordinal != 0 {
        ty << 32 | u64::from(edge.ordinal)
    } else if ty >> 7 == 0 && (src | dst) >> 22 == 0 {
        UNNUMBERED | ty << 44 | src << 22 | dst
    } else {
        let mix = |word: u64| {
            let word = (word ^ (word >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            word ^ (word >> 29)
        };
        UNNUMBERED | HASHED | mix(mix(mix(ty).wrapping_add(src)).wrapping_add(dst)) >> 13
    };
    number.cast_signed()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn numbers_tell_relationships_apart() {
        let mut seen = HashSet::new();
        let mut add = |ty: u16, src: u64, dst: u64, ordinal: u32| {
            let (src, dst) = (VertexId::from_raw(src), VertexId::from_raw(dst));
            let number =
                number_of_edge(&EdgeId { ty: EdgeTypeId::from_raw(ty), src, dst, ordinal });
            assert!((0..1 << 53).contains(&number), "{number} for {ty}:{src}->{dst}");
            assert!(seen.insert(number), "{number} twice");
        };
        for ty in [0, 1, 127, 128, u16::MAX] {
            for src in (0..40).chain([(1 << 22) - 1, 1 << 22, u64::from(u32::MAX)]) {
                for dst in (0..40).chain([(1 << 22) - 1, 1 << 22, u64::from(u32::MAX)]) {
                    add(ty, src, dst, 0);
                }
            }
            [1, 2, u32::MAX].into_iter().for_each(|ordinal| add(ty, 3, 4, ordinal));
        }
    }
}
