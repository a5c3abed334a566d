//! Subqueries of `CREATE`, which ask the graph before it makes anything.
//!
//! The subqueries of a clause see the graph as it is before the clause, in whichever of its
//! elements they stand and whatever the rows before have made. So they are computed below the
//! operator, as if they stood in a `WITH` before it: the placement of `Eager` then sees what is
//! read and what is written. What uses a variable of the clause itself can only be computed in it.

use std::collections::HashSet;

use super::Binder;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{CreateStep, LabelName};

/// Variables for expressions that are computed before.
type Items = Vec<(Slot, Expr)>;

fn made(step: &CreateStep) -> Slot {
    match step {
        CreateStep::Node { slot, .. }
        | CreateStep::Relationship { slot, .. }
        | CreateStep::Extend(slot, _) => *slot,
    }
}

impl Binder<'_> {
    /// Takes the expressions with subqueries out of the steps of a clause, and returns them, to be
    /// computed before.
    pub(super) fn computed_before(&mut self, steps: &mut [CreateStep]) -> Items {
        let own: HashSet<Slot> = steps.iter().map(made).collect();
        let mut items = Items::new();
        for step in steps {
            let (names, properties) = match step {
                CreateStep::Node { labels, properties, .. } => (labels.as_mut_slice(), properties),
                CreateStep::Relationship { ty, properties, .. } => {
                    (std::slice::from_mut(ty), properties)
                }
                CreateStep::Extend(..) => continue,
            };
            for name in names {
                if let LabelName::Dynamic(names) = name {
                    self.take(names, "name", &own, &mut items);
                }
            }
            match properties {
                Some(Expr::Map(entries)) => {
                    for (key, value) in entries {
                        self.take(value, key, &own, &mut items);
                    }
                }
                Some(map) => self.take(map, "properties", &own, &mut items),
                None => {}
            }
        }
        items
    }

    fn take(&mut self, e: &mut Expr, name: &str, own: &HashSet<Slot>, items: &mut Items) {
        if !e.has_subqueries() {
            return;
        }
        let mut uses_own = false;
        e.slots(&mut |slot| uses_own |= own.contains(&slot));
        if uses_own {
            return;
        }
        let slot = self.new_slot();
        self.name_slot(slot, name);
        items.push((slot, std::mem::replace(e, Expr::Slot(slot))));
    }
}
