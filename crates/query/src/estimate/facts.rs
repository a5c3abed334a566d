//! Facts about the variables of a row: labels, types, distinct counts, and list lengths.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use telar_graph::{EdgeEnd, EdgeTypeId, Value};

use super::label_sets::LabelSets;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{NextKey, Plan, Sought};

/// Upper bound on the number of joint distinct counts that are kept: those of the last projections.
const JOINT_MAX: usize = 4;

/// Facts about the variables of a row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    by_slot: HashMap<Slot, Fact>,
    /// Upper bound on the distinct values of a variable, over all rows.
    distinct: HashMap<Slot, f64>,
    joint_distinct: Vec<JointDistinct>,
}

/// Upper bound on the distinct combinations of values of some variables: the number of rows at a
/// point of the plan where a row had no other variables.
#[derive(Debug, Clone)]
struct JointDistinct {
    slots: Vec<Slot>,
    max: f64,
}

/// Facts about one variable.
#[derive(Debug, Clone, Default)]
pub(super) struct Fact {
    /// Label sets that a node may have.
    pub(super) labels: Option<LabelSets>,
    /// Type of a relationship.
    pub(super) ty: Option<EdgeTypeId>,
    /// Properties that an index seek has compared already.
    pub(super) sought: Vec<Arc<str>>,
    /// Relationships by which a node was found, so it has at least one of each entry. An entry
    /// lists the types and directions that the relationship may have.
    pub(super) reached: Vec<Vec<EdgeEnd>>,
    /// True for a node that was found by a value that no other node has.
    pub(super) unique: bool,
    pub(super) list: Option<ListFact>,
}

/// Facts about a list.
#[derive(Debug, Clone)]
pub(super) struct ListFact {
    length: f64,
    element: Box<Fact>,
}

impl Facts {
    pub(super) fn at(&mut self, slot: Slot) -> &mut Fact {
        self.by_slot.entry(slot).or_default()
    }

    pub(super) fn get(&self, slot: Slot) -> Option<&Fact> {
        self.by_slot.get(&slot)
    }

    /// True if a variable is known to be a node or a relationship.
    pub(crate) fn is_object(&self, slot: Slot) -> bool {
        self.get(slot).is_some_and(|fact| fact.labels.is_some() || fact.ty.is_some())
    }

    /// Notes the properties that a seek compares, and whether it finds one object only.
    pub(crate) fn note_seek(&mut self, slot: Slot, sought: &Sought) {
        let next = usize::from(!matches!(sought.next, NextKey::Anything));
        let keys = sought.keys.iter().take(sought.prefix.len() + next);
        let fact = self.at(slot);
        fact.sought.extend(keys.cloned());
        fact.unique |= sought.is_unique() && !sought.any;
    }

    /// Notes that a node is found by a value that no other node has.
    pub(crate) fn note_unique(&mut self, slot: Slot) {
        self.at(slot).unique = true;
    }

    /// True if a seek has compared a property already.
    pub(crate) fn was_sought(&self, slot: Slot, key: &Arc<str>) -> bool {
        self.get(slot).is_some_and(|fact| fact.sought.contains(key))
    }

    /// Notes that a node was found by a relationship with one of these types and directions.
    pub(crate) fn note_reached(&mut self, slot: Slot, by: Vec<EdgeEnd>) {
        let reached = &mut self.at(slot).reached;
        if !reached.contains(&by) {
            reached.push(by);
        }
    }

    /// Copies the facts of a variable to `slot`, if `expr` is a variable.
    pub(crate) fn alias(&mut self, slot: Slot, expr: &Expr) {
        if let Expr::Slot(same) = expr
            && let Some(fact) = self.by_slot.get(same)
        {
            self.by_slot.insert(slot, fact.clone());
        }
    }

    /// Notes that a variable is a list of this length, with elements like those of `element`.
    pub(crate) fn bind_list(&mut self, slot: Slot, length: f64, element: Option<&Expr>) {
        let fact = match element {
            Some(Expr::Slot(element)) => self.by_slot.get(element).cloned(),
            _ => None,
        };
        let element = Box::new(fact.unwrap_or_default());
        self.at(slot).list = Some(ListFact { length, element });
    }

    /// Notes that a variable is an element of a list.
    pub(crate) fn bind_element(&mut self, slot: Slot, list: &Expr) {
        let list = match list {
            Expr::Slot(list) => self.get(*list).and_then(|fact| fact.list.as_ref()),
            _ => None,
        };
        if let Some(list) = list {
            let fact = Fact::clone(&list.element);
            self.by_slot.insert(slot, fact);
        }
    }

    /// Number of ids that are given: one, or those of a list.
    pub(crate) fn given_ids(&self, ids: &Expr, any: bool) -> f64 {
        if any { self.list_length(ids, super::SEEK_LIST) } else { 1.0 }
    }

    /// Number of elements of a list; `unknown` where no fact says it.
    pub(crate) fn list_length(&self, list: &Expr, unknown: f64) -> f64 {
        match list {
            Expr::List(items) => items.len() as f64,
            Expr::Const(Value::List(items)) => items.len() as f64,
            Expr::Slot(slot) => {
                let list = self.get(*slot).and_then(|fact| fact.list.as_ref());
                list.map_or(unknown, |list| list.length)
            }
            _ => unknown,
        }
    }

    // ---- distinct counts ----

    /// Upper bound on the distinct values of a variable, if one is known.
    pub(crate) fn distinct(&self, slot: Slot) -> Option<f64> {
        self.distinct.get(&slot).map(|values| values.max(1.0))
    }

    /// Sets the upper bound on the distinct values of a variable.
    pub(crate) fn cap_distinct(&mut self, slot: Slot, values: f64) {
        self.distinct.insert(slot, values);
    }

    /// Notes that an operator returns `rows` rows: a variable that it binds has no more distinct
    /// values. If it returns fewer rows than its input, this holds for every variable.
    pub(crate) fn note_rows(&mut self, plan: &Plan, input: f64, rows: f64) {
        if rows < input {
            self.distinct.values_mut().for_each(|values| *values = values.min(rows));
        }
        for slot in plan.bound_slots() {
            self.distinct.entry(slot).and_modify(|v| *v = v.min(rows)).or_insert(rows);
        }
        if let Plan::Keep(p) = plan {
            let kept: HashSet<Slot> = p.slots.iter().copied().collect();
            self.distinct.retain(|slot, _| kept.contains(slot));
            self.joint_distinct.iter_mut().for_each(|j| j.slots.retain(|s| kept.contains(s)));
            self.joint_distinct.retain(|joint| joint.slots.len() > 1 && joint.max < rows);
            self.joint_distinct.truncate(JOINT_MAX - 1);
            self.joint_distinct.push(JointDistinct { slots: p.slots.clone(), max: rows });
        }
    }

    /// Upper bound on the distinct combinations of values of some variables, each given with its
    /// own distinct count.
    pub(crate) fn combinations(&self, values: &[(Slot, f64)]) -> f64 {
        let all = |values: &mut dyn Iterator<Item = f64>| values.product::<f64>();
        let with = |JointDistinct { slots, max }: &JointDistinct| {
            let inside = |(slot, _): &&(Slot, f64)| slots.contains(slot);
            let one = all(&mut values.iter().filter(inside).map(|(_, v)| *v));
            one.min(max.max(1.0)) * all(&mut values.iter().filter(|v| !inside(v)).map(|(_, v)| *v))
        };
        let least = self.joint_distinct.iter().map(with).min_by(f64::total_cmp);
        least.unwrap_or_else(|| all(&mut values.iter().map(|(_, v)| *v)))
    }

    /// Runs `f` for the rows of an inner plan. The distinct counts of the outer rows do not hold
    /// there, and those of the inner rows do not hold outside.
    pub(crate) fn in_inner_plan<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let distinct = std::mem::take(&mut self.distinct);
        let joint_distinct = std::mem::take(&mut self.joint_distinct);
        let found = f(self);
        (self.distinct, self.joint_distinct) = (distinct, joint_distinct);
        found
    }

    // ---- parts, and the sum of two ----

    /// Facts about these variables only.
    pub(crate) fn only(&self, slots: &HashSet<Slot>) -> Self {
        let some = |slot: &Slot| Some((*slot, self.by_slot.get(slot)?.clone()));
        let by_slot = slots.iter().filter_map(some).collect();
        let some = |slot: &Slot| Some((*slot, *self.distinct.get(slot)?));
        let distinct = slots.iter().filter_map(some).collect();
        Self { by_slot, distinct, joint_distinct: self.joint_distinct.clone() }
    }

    /// Label sets of a node, and nothing else.
    pub(crate) fn only_labels(&self, slot: Slot) -> Self {
        let labels = self.get(slot).and_then(|fact| fact.labels.clone());
        let fact = Fact { labels, ..Fact::default() };
        Self { by_slot: HashMap::from([(slot, fact)]), ..Self::default() }
    }

    /// Adds newer facts; they replace older ones about the same variable.
    pub(crate) fn absorb(&mut self, newer: Self) {
        self.by_slot.extend(newer.by_slot);
        self.distinct.extend(newer.distinct);
        if !newer.joint_distinct.is_empty() {
            self.joint_distinct = newer.joint_distinct;
        }
    }
}
