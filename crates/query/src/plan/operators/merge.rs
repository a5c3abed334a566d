//! `MERGE`.

use super::prelude::*;
use super::{CreateStep, SetItem};

/// Finds a pattern for every row, or creates it.
#[derive(Debug, Clone)]
pub(crate) struct Merge {
    pub(crate) input: Plan,
    /// Inner plan that finds it; begins with `Argument`.
    pub(crate) matching: Plan,
    /// Steps that create it.
    pub(crate) steps: Vec<CreateStep>,
    /// Variables that it binds.
    pub(crate) slots: Vec<Slot>,
    pub(crate) on_create: Vec<SetItem>,
    pub(crate) on_match: Vec<SetItem>,
    /// Property maps of the pattern, in which null is an error. They are a part of the steps, too.
    pub(crate) properties: Vec<Expr>,
    /// Relationships that no other transaction may create meanwhile.
    pub(crate) claims: Vec<Claimed>,
}

/// Relationship that `MERGE` creates if it finds no match.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub(crate) slot: Slot,
    /// True if both of its nodes are bound before.
    pub(crate) bound: bool,
    /// True if it is matched in both directions.
    pub(crate) either_way: bool,
}

impl Operator for Merge {
    input!(input);
    inner!(matching);
    exprs!(steps, on_create, on_match);

    fn reads(&self) -> Vec<Slot> {
        CreateStep::ends(&self.steps)
    }

    fn binds(&self) -> Vec<Slot> {
        CreateStep::slots(&self.steps)
    }

    fn shape(&self) -> Shape {
        Shape::Changes
    }

    fn effects(&self, effects: &mut Effects) {
        effects.makes(&self.steps);
        self.properties.iter().for_each(|e| effects.expr(e));
        self.on_create.iter().chain(&self.on_match).for_each(|item| effects.sets(item));
    }

    fn writes(&self) -> bool {
        true
    }

    fn is_repeatable(&self) -> bool {
        true
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let set = |on: &str, items: &[SetItem]| match items.is_empty() {
            true => String::new(),
            false => format!(" ON {on} SET {}", p.set(items)),
        };
        let (created, matched) = (set("CREATE", &self.on_create), set("MATCH", &self.on_match));
        ("Merge", format!("{}{created}{matched}", p.steps(&self.steps)))
    }
}
