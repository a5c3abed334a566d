//! What is known of the variables of a row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use telar_graph::{EdgeEnd, EdgeTypeId, Value};

use super::kind::Kind;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{NextKey, Plan, Sought};

/// Projections of which it is kept how many rows there were.
const TOGETHER_MAX: usize = 4;

/// What is known of the variables of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    by_slot: HashMap<Slot, Fact>,
    /// How many different values a variable has at most, in all rows together.
    different: HashMap<Slot, f64>,
    /// The same of some variables together: as many rows as there once were of these.
    together: Vec<(Vec<Slot>, f64)>,
}

/// What is known of one variable.
#[derive(Debug, Clone, Default)]
pub(super) struct Fact {
    /// What a node may be.
    pub(super) kind: Option<Kind>,
    /// The type of a relationship.
    pub(super) ty: Option<EdgeTypeId>,
    /// Properties that a seek has compared already.
    pub(super) sought: Vec<Arc<str>>,
    /// Relationships that a node is known to have, as it was found by them: for each what it may
    /// be, type and direction.
    pub(super) reached: Vec<Vec<EdgeEnd>>,
    /// It was asked for: a node by a value that no other has.
    pub(super) asked_for: bool,
    /// How long a list is, and what is known of its elements.
    pub(super) list: Option<(f64, Box<Self>)>,
}

impl Facts {
    pub(super) fn at(&mut self, slot: Slot) -> &mut Fact {
        self.by_slot.entry(slot).or_default()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Fact> {
        self.by_slot.get(&slot)
    }

    /// Whether a variable is known to be a node or a relationship.
    pub(crate) fn is_thing(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|fact| fact.kind.is_some() || fact.ty.is_some())
    }

    /// A seek has seen to these properties.
    pub(crate) fn has_sought(&mut self, slot: Slot, sought: &Sought) {
        let next = usize::from(!matches!(sought.next, NextKey::Anything));
        let keys = sought.keys.iter().take(sought.prefix.len() + next);
        let fact = self.at(slot);
        fact.sought.extend(keys.cloned());
        fact.asked_for |= sought.is_unique() && !sought.any;
    }

    /// A node is the only one with some value, which is given.
    pub(crate) fn is_asked_for(&mut self, slot: Slot) {
        self.at(slot).asked_for = true;
    }

    /// Whether a seek has compared a property already.
    pub(crate) fn was_sought(&self, slot: Slot, key: &Arc<str>) -> bool {
        self.get(slot).is_some_and(|fact| fact.sought.contains(key))
    }

    /// A node was found by a relationship, which is one of these.
    pub(crate) fn has(&mut self, slot: Slot, tables: Vec<EdgeEnd>) {
        let reached = &mut self.at(slot).reached;
        if !reached.contains(&tables) {
            reached.push(tables);
        }
    }

    /// A variable is what an expression says of others.
    pub(crate) fn is_same(&mut self, slot: Slot, expr: &Expr) {
        if let Expr::Slot(same) = expr
            && let Some(fact) = self.by_slot.get(same)
        {
            self.by_slot.insert(slot, fact.clone());
        }
    }

    /// A variable is a list of so many of what an expression says.
    pub(crate) fn collects(&mut self, slot: Slot, length: f64, element: Option<&Expr>) {
        let fact = match element {
            Some(Expr::Slot(element)) => self.by_slot.get(element).cloned(),
            _ => None,
        };
        self.at(slot).list = Some((length, Box::new(fact.unwrap_or_default())));
    }

    /// A variable is an element of a list.
    pub(crate) fn is_element(&mut self, slot: Slot, list: &Expr) {
        let fact = match list {
            Expr::Slot(list) => self.get(*list).and_then(|fact| fact.list.as_ref()),
            _ => None,
        };
        if let Some((_, fact)) = fact {
            let fact = Fact::clone(fact);
            self.by_slot.insert(slot, fact);
        }
    }

    /// The elements of a list; `unknown` where nothing says.
    pub(crate) fn length(&self, list: &Expr, unknown: f64) -> f64 {
        match list {
            Expr::List(items) => items.len() as f64,
            Expr::Const(Value::List(items)) => items.len() as f64,
            Expr::Slot(slot) => {
                let list = self.get(*slot).and_then(|fact| fact.list.as_ref());
                list.map_or(unknown, |(length, _)| *length)
            }
            _ => unknown,
        }
    }

    // ---- different values ----

    /// How many different values a variable has, if that is known.
    pub(crate) fn different(&self, slot: Slot) -> Option<f64> {
        self.different.get(&slot).map(|values| values.max(1.0))
    }

    /// A variable has no more different values than these.
    pub(crate) fn has_at_most(&mut self, slot: Slot, values: f64) {
        self.different.insert(slot, values);
    }

    /// An operator returns so many rows: what it binds, and what it lets through, is no more.
    pub(crate) fn returned(&mut self, plan: &Plan, input: f64, rows: f64) {
        if rows < input {
            self.different.values_mut().for_each(|values| *values = values.min(rows));
        }
        for slot in plan.bound_slots() {
            self.different.entry(slot).and_modify(|v| *v = v.min(rows)).or_insert(rows);
        }
        if let Plan::Keep(p) = plan {
            let kept: HashSet<Slot> = p.slots.iter().copied().collect();
            self.different.retain(|slot, _| kept.contains(slot));
            self.together.iter_mut().for_each(|(known, _)| known.retain(|s| kept.contains(s)));
            self.together.retain(|(known, values)| known.len() > 1 && *values < rows);
            self.together.truncate(TOGETHER_MAX - 1);
            self.together.push((p.slots.clone(), rows));
        }
    }

    /// How many combinations of values some variables have at most, of each of which it is known.
    pub(crate) fn combinations(&self, values: &[(Slot, f64)]) -> f64 {
        let all = |values: &mut dyn Iterator<Item = f64>| values.product::<f64>();
        let with = |(slots, most): &(Vec<Slot>, f64)| {
            let inside = |(slot, _): &&(Slot, f64)| slots.contains(slot);
            let one = all(&mut values.iter().filter(inside).map(|(_, v)| *v));
            one.min(most.max(1.0)) * all(&mut values.iter().filter(|v| !inside(v)).map(|(_, v)| *v))
        };
        let least = self.together.iter().map(with).min_by(f64::total_cmp);
        least.unwrap_or_else(|| all(&mut values.iter().map(|(_, v)| *v)))
    }

    /// What `f` finds in rows that do not say how many values there are in those outside.
    pub(crate) fn inside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let different = std::mem::take(&mut self.different);
        let together = std::mem::take(&mut self.together);
        let found = f(self);
        (self.different, self.together) = (different, together);
        found
    }

    // ---- of plans and parts of them ----

    /// What is known of some variables.
    pub(crate) fn only(&self, slots: &HashSet<Slot>) -> Self {
        let some = |slot: &Slot| Some((*slot, self.by_slot.get(slot)?.clone()));
        let by_slot = slots.iter().filter_map(some).collect();
        let some = |slot: &Slot| Some((*slot, *self.different.get(slot)?));
        let different = slots.iter().filter_map(some).collect();
        Self { by_slot, different, together: self.together.clone() }
    }

    /// What a node may be, and nothing else.
    pub(crate) fn kind_of(&self, slot: Slot) -> Self {
        let kind = self.get(slot).and_then(|fact| fact.kind.clone());
        let fact = Fact { kind, ..Fact::default() };
        Self { by_slot: HashMap::from([(slot, fact)]), ..Self::default() }
    }

    /// Adds what is known elsewhere; of what both know, that is newer.
    pub(crate) fn absorb(&mut self, newer: Self) {
        self.by_slot.extend(newer.by_slot);
        self.different.extend(newer.different);
        if !newer.together.is_empty() {
            self.together = newer.together;
        }
    }
}
