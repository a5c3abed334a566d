//! What a commit changed, typed.

use telar_graph::name::NameKind;
use telar_graph::{
    CommitTs, EdgeId, EdgeTypeId, IndexId, LabelId, PropertyKeyId, SchemaKind, Value, VertexId,
};

use crate::adjacency::vertex_id;
use crate::catalog::{EdgeTypeOptions, is_placeholder};
use crate::commit::record::{self, IndexChange, Record};
use crate::commit::write_set::{EdgeOp, EdgeWrite, WriteSet};
use crate::format;
use crate::index::IndexTarget;
use crate::shared::Shared;

/// One commit and what it changed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CommitChanges {
    /// Its timestamp: one more than that of the commit before it.
    pub ts: CommitTs,
    /// When it was made, in milliseconds since 1970 by the clock of its machine; `None` for schema
    /// records and commits of format version 1. Commits that ran at once may be out of order by
    /// this clock.
    pub time_ms: Option<u64>,
    /// What it changed, in an order in which it can be applied. Applying a change to what has it
    /// already changes nothing.
    pub changes: Vec<Change>,
}

/// A change.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Change {
    /// A vertex came to be. Its id may have been another vertex's before.
    VertexCreated {
        /// The vertex.
        vertex: VertexId,
        /// Its labels, ascending.
        labels: Vec<LabelId>,
    },
    /// A vertex has these labels now.
    LabelsSet {
        /// The vertex.
        vertex: VertexId,
        /// All of its labels, ascending.
        labels: Vec<LabelId>,
    },
    /// A vertex is gone; its edges went before it.
    VertexDeleted {
        /// The vertex.
        vertex: VertexId,
    },
    /// A vertex property has this value now; null if it has none.
    VertexPropertySet {
        /// The vertex.
        vertex: VertexId,
        /// The property.
        key: PropertyKeyId,
        /// The value.
        value: Value,
    },
    /// An edge came to be; its properties follow.
    EdgeCreated {
        /// The edge.
        edge: EdgeId,
        /// What it is sorted by, in a type that is sorted by a property.
        sort_key: Option<i64>,
    },
    /// An edge of a simple type is there now; perhaps it was before.
    EdgeEnsured {
        /// The edge.
        edge: EdgeId,
    },
    /// An edge is not there now; one of a simple type perhaps was not before.
    EdgeDeleted {
        /// The edge.
        edge: EdgeId,
    },
    /// An edge property has this value now; null if it has none.
    EdgePropertySet {
        /// The edge.
        edge: EdgeId,
        /// The property.
        key: PropertyKeyId,
        /// The value.
        value: Value,
    },
    /// A label got its number.
    LabelMade {
        /// The number.
        label: LabelId,
        /// The name.
        name: String,
    },
    /// A property key got its number.
    PropertyKeyMade {
        /// The number.
        key: PropertyKeyId,
        /// The name.
        name: String,
    },
    /// An edge type got its number.
    EdgeTypeMade {
        /// The number.
        ty: EdgeTypeId,
        /// The name.
        name: String,
        /// How its lists are kept.
        options: EdgeTypeOptions,
    },
    /// An index or constraint was built.
    IndexMade {
        /// Its number.
        index: IndexId,
        /// Its name.
        name: String,
        /// What it is about.
        target: IndexTarget,
        /// Its properties.
        properties: Vec<PropertyKeyId>,
        /// Its kind.
        kind: SchemaKind,
    },
    /// An index or constraint was dropped.
    IndexDropped {
        /// Its number.
        index: IndexId,
    },
    /// A bulk load came in here: vertices, edges, names and properties that the stream does not
    /// hold. Go on from a snapshot at this timestamp or later. (A load that failed at its last step
    /// may leave this event and nothing else.)
    BulkLoaded,
    /// A leadership of a replicated log began here; nothing of the graph changed.
    EpochBegan {
        /// Its number: larger than those before it.
        epoch: u64,
        /// The node that leads.
        node: String,
    },
}

fn edge(w: &EdgeWrite) -> EdgeId {
    EdgeId { ty: w.ty, src: vertex_id(w.src), dst: vertex_id(w.dst), ordinal: w.ordinal }
}

impl CommitChanges {
    /// What the log's record of commit `ts` says.
    pub(crate) fn decode(ts: u64, payload: &[u8], shared: &Shared) -> Result<Self, String> {
        let changes = match record::decode(payload, &shared.catalog.label_sets)? {
            Record::Commit(_) if payload == format::EMPTY_COMMIT => vec![Change::BulkLoaded],
            Record::Commit(writes) => changes_of(&writes, shared)?,
            Record::Name { name, .. } | Record::EdgeType { name, .. } if is_placeholder(&name) => {
                Vec::new()
            }
            Record::Name { kind: NameKind::Label, number, name } => {
                vec![Change::LabelMade { label: LabelId::from_raw(number), name }]
            }
            Record::Name { number, name, .. } => {
                vec![Change::PropertyKeyMade { key: PropertyKeyId::from_raw(number), name }]
            }
            Record::EdgeType { number, name, options } => {
                vec![Change::EdgeTypeMade { ty: EdgeTypeId::from_raw(number), name, options }]
            }
            Record::Epoch { number: epoch, node } => vec![Change::EpochBegan { epoch, node }],
            Record::Indexes(changes) => changes.into_iter().map(index_change).collect(),
        };
        Ok(Self { ts: CommitTs::from_raw(ts), time_ms: record::time_ms(payload), changes })
    }
}

fn index_change(change: IndexChange) -> Change {
    match change {
        IndexChange::Made { id: index, definition: d } => {
            let (name, target, properties, kind) = (d.name, d.target, d.properties, d.kind);
            Change::IndexMade { index, name, target, properties, kind }
        }
        IndexChange::Dropped { id: index } => Change::IndexDropped { index },
    }
}

fn changes_of(writes: &WriteSet, shared: &Shared) -> Result<Vec<Change>, String> {
    let mut changes = Vec::new();
    for w in writes.states.items().iter().filter(|w| w.state != 0) {
        let labels = shared.catalog.label_sets.labels(w.state).to_vec();
        let vertex = vertex_id(w.vertex);
        changes.push(match w.created {
            true => Change::VertexCreated { vertex, labels },
            false => Change::LabelsSet { vertex, labels },
        });
    }
    let is_deleted = |v: u32| writes.states.get(v.into()).is_some_and(|w| w.state == 0);
    let kept = writes.vertex_properties.items().iter().filter(|w| !is_deleted(w.vertex));
    changes.extend(kept.map(|w| Change::VertexPropertySet {
        vertex: vertex_id(w.vertex),
        key: w.key,
        value: w.value.clone(),
    }));
    for w in writes.edges.items() {
        let edge = edge(w);
        match w.op {
            EdgeOp::Create => {
                let ty = shared.catalog.edge_type(w.ty).map_err(|e| e.to_string())?;
                let sorted = matches!(ty.options.order, crate::EdgeOrder::NewestFirst(_));
                changes.push(Change::EdgeCreated { edge, sort_key: sorted.then_some(w.sort_key) });
            }
            EdgeOp::Upsert => changes.push(Change::EdgeEnsured { edge }),
            EdgeOp::Delete => changes.push(Change::EdgeDeleted { edge }),
            EdgeOp::Nothing => {}
        }
    }
    changes.extend(writes.edge_properties.items().iter().map(|w| Change::EdgePropertySet {
        edge: EdgeId {
            ty: w.ty,
            src: vertex_id(w.src),
            dst: vertex_id(w.dst),
            ordinal: w.ordinal(),
        },
        key: w.key,
        value: w.value.clone(),
    }));
    // One that was made in the same commit was never there.
    let gone = writes.states.items().iter().filter(|w| w.state == 0 && !w.created);
    changes.extend(gone.map(|w| Change::VertexDeleted { vertex: vertex_id(w.vertex) }));
    Ok(changes)
}
