//! `USING INDEX`, `USING SCAN`, `USING JOIN ON`: what a query wishes of its plan.
//!
//! A wish that can be fulfilled is, whatever it costs; one that cannot (there is no such index, or
//! no condition that it serves) changes nothing, as in Neo4j unless it is told to refuse.

use std::sync::Arc;

use telar_cypher::ast::{Hint, HintKind, IndexKind};

use super::Binder;
use crate::batch::Slot;
use crate::plan::Sought;
use crate::query_error::QueryError;

/// The wishes of a clause.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    indexes: Vec<IndexHint>,
    /// Nodes that are to be found by a scan of a label.
    scans: Vec<(Slot, Arc<str>)>,
    /// Nodes that two parts of the pattern are to be joined on.
    pub(crate) joins: Vec<Slot>,
}

/// An index that a node or relationship is to be found by.
#[derive(Debug, Clone)]
pub(crate) struct IndexHint {
    slot: Slot,
    /// Its label or type.
    name: Arc<str>,
    keys: Vec<Arc<str>>,
    /// Of this kind; any if missing.
    kind: Option<IndexKind>,
}

impl IndexHint {
    /// Whether this is what is wished for.
    pub(crate) fn is(&self, name: &str, sought: &Sought) -> bool {
        let of_kind = self.kind.is_none_or(|kind| kind.word() == sought.kind.name());
        of_kind && *self.name == *name && self.keys == sought.keys
    }
}

impl Hints {
    /// True if nothing is wished for.
    pub(crate) fn is_empty(&self) -> bool {
        self.indexes.is_empty() && self.scans.is_empty() && self.joins.is_empty()
    }

    /// The index that this is to be found by.
    pub(crate) fn index(&self, slot: Slot) -> Option<&IndexHint> {
        self.indexes.iter().find(|hint| hint.slot == slot)
    }

    /// The label whose scan is to find this node.
    pub(crate) fn scan(&self, slot: Slot) -> Option<&Arc<str>> {
        self.scans.iter().find(|(node, _)| *node == slot).map(|(_, label)| label)
    }
}

impl Binder<'_> {
    /// Binds hints, which are about variables of the query.
    pub(super) fn hints(&mut self, hints: &[Hint]) -> Result<Hints, QueryError> {
        let mut found = Hints::default();
        for hint in hints {
            match &hint.kind {
                HintKind::Index { kind, variable, label, keys, .. } => {
                    let slot = self.variable(variable)?.slot;
                    let name = label.text.as_ref().into();
                    let keys = keys.iter().map(|key| key.text.as_ref().into()).collect();
                    found.indexes.push(IndexHint { slot, name, keys, kind: *kind });
                }
                HintKind::Scan { variable, label } => {
                    let slot = self.variable(variable)?.slot;
                    found.scans.push((slot, label.text.as_ref().into()));
                }
                HintKind::Join { variables } => {
                    for variable in variables {
                        found.joins.push(self.variable(variable)?.slot);
                    }
                }
            }
        }
        Ok(found)
    }
}
