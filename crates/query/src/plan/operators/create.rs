//! `CREATE`.

use super::prelude::*;

/// Creates nodes and relationships for every row.
#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub(crate) input: Plan,
    pub(crate) steps: Vec<CreateStep>,
}

/// Step of `CREATE` and `MERGE`: a node, a relationship, or a variable.
#[derive(Debug, Clone)]
pub(crate) enum CreateStep {
    Node {
        slot: Slot,
        labels: Vec<LabelName>,
        properties: Option<Expr>,
    },
    Relationship {
        slot: Slot,
        ty: LabelName,
        from: Slot,
        to: Slot,
        properties: Option<Expr>,
    },
    /// A variable for an expression of what was created.
    Extend(Slot, Expr),
}

/// A label or type by name, or by a value that names it.
#[derive(Debug, Clone)]
pub(crate) enum LabelName {
    Static(Arc<str>),
    Dynamic(Expr),
}

impl Operator for Create {
    input!(input);
    inner!();
    exprs!(steps);

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
        ("Create", p.steps(&self.steps))
    }
}

impl CreateStep {
    /// Nodes at the ends of created relationships.
    pub(super) fn ends(steps: &[Self]) -> Vec<Slot> {
        let ends = |step: &Self| match step {
            Self::Relationship { from, to, .. } => vec![*from, *to],
            Self::Node { .. } | Self::Extend(..) => Vec::new(),
        };
        steps.iter().flat_map(ends).collect()
    }

    /// Variables of all steps.
    pub(super) fn slots(steps: &[Self]) -> Vec<Slot> {
        let slot = |step: &Self| match step {
            Self::Node { slot, .. } | Self::Relationship { slot, .. } | Self::Extend(slot, _) => {
                *slot
            }
        };
        steps.iter().map(slot).collect()
    }
}

/// Walk over the expressions of a part of a clause, shared or mutable.
macro_rules! has_exprs {
    ($part:ty, $walk:ident) => {
        impl HasExprs for $part {
            fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
                $walk!(self, f, exprs);
            }

            fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
                $walk!(self, f, exprs_mut);
            }
        }
    };
}
pub(super) use has_exprs;

macro_rules! step {
    ($step:expr, $f:ident, $exprs:ident) => {
        match $step {
            CreateStep::Node { labels, properties, .. } => {
                labels.$exprs($f);
                properties.$exprs($f);
            }
            CreateStep::Relationship { ty, properties, .. } => {
                ty.$exprs($f);
                properties.$exprs($f);
            }
            CreateStep::Extend(_, e) => e.$exprs($f),
        }
    };
}
has_exprs!(CreateStep, step);

macro_rules! name {
    ($name:expr, $f:ident, $exprs:ident) => {
        match $name {
            LabelName::Static(_) => {}
            LabelName::Dynamic(e) => e.$exprs($f),
        }
    };
}
has_exprs!(LabelName, name);
