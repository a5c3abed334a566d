//! `SET` and `REMOVE`.

use super::LabelName;
use super::create::has_exprs;
use super::prelude::*;

/// Changes properties and labels for every row.
#[derive(Debug, Clone)]
pub(crate) struct Set {
    pub(crate) input: Plan,
    pub(crate) items: Vec<SetItem>,
}

/// Change of a node or relationship.
#[derive(Debug, Clone)]
pub(crate) enum SetItem {
    Property {
        object: Expr,
        key: Expr,
        value: Expr,
    },
    /// As a null that is set, but what was not there does not count.
    RemoveProperty {
        object: Expr,
        key: Expr,
    },
    /// All properties: a map replaces them, or is added to them.
    Properties {
        object: Expr,
        value: Expr,
        replace: bool,
    },
    AddLabels {
        node: Expr,
        labels: Vec<LabelName>,
    },
    RemoveLabels {
        node: Expr,
        labels: Vec<LabelName>,
    },
}

impl Operator for Set {
    input!(input);
    inner!();
    exprs!(items);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Changes
    }

    fn effects(&self, effects: &mut Effects) {
        self.items.iter().for_each(|item| effects.sets(item));
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
        ("Set", p.set(&self.items))
    }
}

macro_rules! item {
    ($item:expr, $f:ident, $exprs:ident) => {
        match $item {
            SetItem::Property { object, key, value } => {
                object.$exprs($f);
                key.$exprs($f);
                value.$exprs($f);
            }
            SetItem::RemoveProperty { object, key } => {
                object.$exprs($f);
                key.$exprs($f);
            }
            SetItem::Properties { object, value, .. } => {
                object.$exprs($f);
                value.$exprs($f);
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                node.$exprs($f);
                labels.$exprs($f);
            }
        }
    };
}
has_exprs!(SetItem, item);
