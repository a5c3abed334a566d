//! `USING INDEX`, `USING SCAN`, `USING JOIN ON`: what a query wishes of its plan.
//!
//! A wish that can be fulfilled is, whatever it costs; one that cannot (there is no such index, or
//! no condition that it serves) changes nothing, as in Neo4j unless it is told to refuse.

use telar_cypher::ast::{Hint, HintKind};

use super::Binder;
use crate::plan::pattern::{Hints, IndexHint};
use crate::query_error::QueryError;

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
