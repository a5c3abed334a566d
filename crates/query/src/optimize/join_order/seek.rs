//! Conditions on one variable, and the indexes that serve them.

use std::sync::Arc;

use telar_graph::index_kind::IndexPredicate;
use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{PropertyType, Value};

use super::Solver;
use crate::batch::Slot;
use crate::expr::area::{Area, areas};
use crate::expr::{Binary, Expr, GraphFunction, Labels, conjuncts};
use crate::plan::{NextKey, Sought};

/// Condition `property op value`, where the value is bound.
type Comparison = (Binary, Arc<str>, Expr);

/// Test whether a variable is bound.
pub(super) type IsBound<'k> = &'k dyn Fn(Slot) -> bool;

/// Index that serves some conditions.
pub(super) struct Candidate {
    /// Label or type that it indexes.
    pub(super) name: Arc<str>,
    pub(super) sought: Sought,
    /// Estimated objects that it finds.
    pub(super) rows: f64,
}

/// Ids that a condition gives a node or relationship.
pub(super) struct Ids {
    /// An id, or a list of ids.
    pub(super) value: Expr,
    /// True for element ids.
    pub(super) element: bool,
    /// True for a list of ids.
    pub(super) any: bool,
}

/// The ids of `id(x) = value`, of `id(x) IN list`, or of several such that are joined by `OR`.
fn ids_given(condition: &Expr, object: Slot, is_bound: IsBound<'_>) -> Option<Ids> {
    let is_element = |id: &Expr| {
        let Expr::GraphFunction(function, arguments) = id else { return None };
        let element = match function {
            GraphFunction::Id => false,
            GraphFunction::ElementId => true,
            _ => return None,
        };
        matches!(arguments[..], [Expr::Slot(slot)] if slot == object).then_some(element)
    };
    let of = |id: &Expr, value: &Expr, any: bool| {
        let element = is_element(id)?;
        value.is_bound(is_bound).then(|| Ids { value: value.clone(), element, any })
    };
    match condition {
        Expr::Binary(Binary::Equal, left, right) => {
            of(left, right, false).or_else(|| of(right, left, false))
        }
        Expr::Binary(Binary::In, id, list) => of(id, list, true),
        Expr::Or(parts) => {
            let given = |part: &Expr| {
                let conjuncts = conjuncts(part.clone());
                conjuncts.iter().find_map(|c| ids_given(c, object, is_bound).filter(|i| !i.any))
            };
            let all: Vec<Ids> = parts.iter().map(given).collect::<Option<_>>()?;
            let element = all.first()?.element;
            let same = all.iter().all(|ids| ids.element == element);
            let values = all.into_iter().map(|ids| ids.value).collect();
            same.then(|| Ids { value: Expr::List(values), element, any: true })
        }
        _ => None,
    }
}

impl Solver<'_, '_> {
    /// Labels that the conditions ask of a node.
    pub(super) fn labels_of(&self, node: Slot) -> Vec<Arc<str>> {
        fn names(labels: &Labels, out: &mut Vec<Arc<str>>) {
            match labels {
                Labels::Name(name) => out.push(name.text().clone()),
                Labels::And(parts) => parts.iter().for_each(|part| names(part, out)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        for condition in &self.pattern.conditions {
            if let Expr::HasLabels(object, labels) = condition
                && matches!(**object, Expr::Slot(slot) if slot == node)
            {
                names(labels, &mut found);
            }
        }
        found
    }

    /// A condition on a property of a variable, as `property op value` with a bound value.
    fn comparison(
        &self,
        condition: &Expr,
        slot: Slot,
        is_bound: IsBound<'_>,
    ) -> Option<Comparison> {
        let Expr::Binary(op, left, right) = condition else { return None };
        let mirrored = match op {
            Binary::Equal => Some(Binary::Equal),
            Binary::Less => Some(Binary::Greater),
            Binary::LessOrEqual => Some(Binary::GreaterOrEqual),
            Binary::Greater => Some(Binary::Less),
            Binary::GreaterOrEqual => Some(Binary::LessOrEqual),
            Binary::In | Binary::StartsWith | Binary::EndsWith | Binary::Contains => None,
            _ => return None,
        };
        let sides = [(Some(*op), left, right), (mirrored, right, left)];
        sides.into_iter().find_map(|(op, property, value)| {
            let Expr::Property(object, key) = &**property else { return None };
            let known = value.is_bound(is_bound);
            (object.is_slot(slot) && known)
                .then(|| Some((op?, key.text().clone(), (**value).clone())))
                .flatten()
        })
    }

    /// `x.a = 1 AND .. OR x.a = 2 AND ..` as `x.a IN [1, 2]`.
    fn alternatives(&self, parts: &[Expr], slot: Slot, is_bound: IsBound<'_>) -> Vec<Comparison> {
        let equalities = |part: &Expr| -> Vec<(Arc<str>, Expr)> {
            let conjuncts = conjuncts(part.clone());
            let equal = conjuncts.iter().filter_map(|c| self.comparison(c, slot, is_bound));
            equal.filter(|c| c.0 == Binary::Equal).map(|(_, key, value)| (key, value)).collect()
        };
        let parts: Vec<_> = parts.iter().map(equalities).collect();
        let Some(first) = parts.first() else { return Vec::new() };
        let of_key = |key: &Arc<str>| {
            let value = |part: &Vec<(Arc<str>, Expr)>| {
                part.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
            };
            let values: Option<Vec<Expr>> = parts.iter().map(value).collect();
            values.map(|values| (Binary::In, key.clone(), Expr::List(values)))
        };
        first.iter().filter_map(|(key, _)| of_key(key)).collect()
    }

    /// All conditions on properties of a variable, as `property op value` with a bound value.
    fn comparisons(&self, slot: Slot, is_bound: IsBound<'_>) -> Vec<Comparison> {
        let mut found = Vec::new();
        for condition in &self.pattern.conditions {
            match condition {
                Expr::Or(parts) => found.extend(self.alternatives(parts, slot, is_bound)),
                _ => found.extend(self.comparison(condition, slot, is_bound)),
            }
        }
        found
    }

    /// Areas in which the conditions ask properties of a variable to lie, where the area is bound.
    fn areas_of(&self, slot: Slot, is_bound: IsBound<'_>) -> Vec<(Arc<str>, Area<Expr>)> {
        let all = self.pattern.conditions.iter().flat_map(areas);
        let of_property = |(point, area): (&Expr, Area<&Expr>)| match point {
            Expr::Property(object, key) if object.is_slot(slot) => {
                let known = area.parts().iter().all(|part| part.is_bound(is_bound));
                known.then(|| (key.text().clone(), area.map(|part| (*part).clone())))
            }
            _ => None,
        };
        all.filter_map(of_property).collect()
    }

    /// Ids that the conditions give a node or relationship: one, if there is, else a list.
    pub(super) fn ids_of(&self, object: Slot, is_bound: IsBound<'_>) -> Option<Ids> {
        let conditions = &self.pattern.conditions;
        let found = || conditions.iter().filter_map(|c| ids_given(c, object, is_bound));
        found().find(|ids| !ids.any).or_else(|| found().next())
    }

    /// Removes the condition that a scan by label makes true.
    pub(super) fn take_label(&mut self, slot: Slot, label: &str) {
        let tested = |condition: &Expr| match condition {
            Expr::HasLabels(object, Labels::Name(name)) => object.is_slot(slot) && **name == *label,
            _ => false,
        };
        self.pattern.conditions.retain(|condition| !tested(condition));
    }

    /// Moves the conditions that a seek makes true into `sought.test`: equalities with whole keys,
    /// and the label.
    pub(super) fn take_tested(&mut self, slot: Slot, label: Option<&str>, sought: &mut Sought) {
        let mut left: Vec<Option<Binary>> = vec![Some(Binary::Equal); sought.prefix.len()];
        if let Some(last) = left.last_mut().filter(|_| sought.any) {
            *last = Some(Binary::In);
        }
        let mut kept = Vec::new();
        let is_bound = |slot: Slot| self.bound.contains(&slot);
        for condition in std::mem::take(&mut self.pattern.conditions) {
            let compared = match &condition {
                Expr::HasLabels(object, Labels::Name(name)) if object.is_slot(slot) => {
                    label == Some(&**name)
                }
                // An `OR` that stands for `IN` comes first: it is no comparison itself.
                Expr::Or(parts) => {
                    for (op, key, _) in self.alternatives(parts, slot, &is_bound) {
                        let at = sought.keys.iter().position(|k| *k == key);
                        let place = at.and_then(|at| left.get_mut(at));
                        place.into_iter().filter(|p| **p == Some(op)).for_each(|p| *p = None);
                    }
                    false
                }
                _ => self.comparison(&condition, slot, &is_bound).is_some_and(|(op, key, _)| {
                    let at = sought.keys.iter().position(|k| *k == key);
                    let place = at.and_then(|at| left.get_mut(at));
                    place.is_some_and(|place| *place == Some(op) && place.take().is_some())
                }),
            };
            if compared { sought.test.push(condition) } else { kept.push(condition) }
        }
        self.pattern.conditions = kept;
    }

    /// Best index for the conditions on a node.
    pub(super) fn node_index(&self, node: Slot, is_bound: IsBound<'_>) -> Option<Candidate> {
        let graph = self.planner.graph;
        let of = |label: Arc<str>| {
            graph.find_label(&label).map(|id| (label, IndexedObjects::Vertices(id)))
        };
        self.best_index(node, self.labels_of(node).into_iter().filter_map(of).collect(), is_bound)
    }

    /// Best index for the conditions on a relationship of a type.
    pub(super) fn relationship_index(
        &self,
        edge: Slot,
        ty: &Arc<str>,
        is_bound: IsBound<'_>,
    ) -> Option<Candidate> {
        let id = self.planner.graph.find_edge_type(ty)?;
        self.best_index(edge, vec![(ty.clone(), IndexedObjects::Edges(id))], is_bound)
    }

    /// Best index on these labels or types: the one with the fewest estimated rows; of equal ones
    /// the one that compares most.
    fn best_index(
        &self,
        slot: Slot,
        objects: Vec<(Arc<str>, IndexedObjects)>,
        is_bound: IsBound<'_>,
    ) -> Option<Candidate> {
        let comparisons = self.comparisons(slot, is_bound);
        let areas = self.areas_of(slot, is_bound);
        if comparisons.is_empty() && areas.is_empty() || objects.is_empty() {
            return None;
        }
        let (graph, counts) = (self.planner.graph, self.planner.counts());
        let names = graph.property_key_names();
        let mut best: Option<(Candidate, usize, bool)> = None;
        let indexes = graph.readable_indexes();
        for index in &indexes {
            let Some((name, objects)) = objects.iter().find(|(_, o)| *o == index.objects) else {
                continue;
            };
            let Some(sought) = sought(&comparisons, &areas, index, &names) else { continue };
            let hinted = self.pattern.hints.index(slot).map(|hint| hint.is(name, &sought));
            if hinted == Some(false) && best.as_ref().is_some_and(|best| best.2) {
                continue;
            }
            let hinted = hinted == Some(true);
            // A parameter may have another type at run time: an index of all values has it.
            let holds_more = |other: &ReadableIndex| {
                other.kind.holds_all_values()
                    && (other.objects, &other.properties) == (index.objects, &index.properties)
            };
            let is_narrow = !index.kind.holds_all_values() && !sought.prefix.is_empty();
            if is_narrow && !hinted && indexes.iter().any(holds_more) {
                continue;
            }
            let rows = counts.seek_rows(*objects, &sought, &self.facts);
            let compared = 2 * sought.prefix.len()
                + usize::from(!matches!(sought.next, NextKey::Anything))
                + usize::from(index.kind.holds_all_values())
                + 100 * usize::from(sought.is_unique());
            let better = best.as_ref().is_none_or(|(best, so_far, best_hinted)| {
                hinted && !best_hinted
                    || rows < best.rows
                    || rows == best.rows && compared > *so_far
            });
            if better {
                let candidate = Candidate { name: name.clone(), sought, rows };
                best = Some((candidate, compared, hinted));
            }
        }
        best.map(|(candidate, ..)| candidate)
    }
}

/// Keys of a seek in an index, if it can serve one of the conditions: values of the leading
/// properties, and a predicate on the next one.
fn sought(
    comparisons: &[Comparison],
    areas: &[(Arc<str>, Area<Expr>)],
    index: &ReadableIndex,
    names: &[String],
) -> Option<Sought> {
    let capability = index.kind.capability();
    let name = |key: &telar_graph::PropertyKeyId| names[usize::from(key.get())].as_str().into();
    let keys: Vec<Arc<str>> = index.properties.iter().map(name).collect();
    // A comparison that a value outside of the index may satisfy is not served.
    let is_held = |op: Binary, value: &Expr| match (capability.holds, op) {
        (Some(ty), Binary::Equal) => yields(value, ty),
        (Some(ty), Binary::In) => yields_all(value, ty),
        _ => true,
    };
    let value = |op: Binary, key: &Arc<str>| {
        let mut all = comparisons.iter().filter(|(o, k, _)| *o == op && k == key);
        let found = all.find(|(.., value)| is_held(op, value));
        found.filter(|_| predicate(op).is_some_and(|p| capability.serves(p))).map(|c| c.2.clone())
    };
    let mut prefix: Vec<Expr> = keys.iter().map_while(|key| value(Binary::Equal, key)).collect();
    let list = keys.get(prefix.len()).and_then(|key| value(Binary::In, key));
    let any = list.is_some();
    prefix.extend(list);
    let mut next = NextKey::Anything;
    if let Some(key) = keys.get(prefix.len()).filter(|_| !any) {
        let from = value(Binary::Greater, key).map(|v| (v, false));
        let from = from.or_else(|| value(Binary::GreaterOrEqual, key).map(|v| (v, true)));
        let to = value(Binary::Less, key).map(|v| (v, false));
        let to = to.or_else(|| value(Binary::LessOrEqual, key).map(|v| (v, true)));
        let area = areas.iter().find(|(k, _)| k == key).map(|(_, area)| area);
        if let Some(start) = value(Binary::StartsWith, key) {
            next = NextKey::StartsWith(start);
        } else if from.is_some() || to.is_some() {
            next = NextKey::Between(from, to);
        } else if let Some(end) = value(Binary::EndsWith, key) {
            next = NextKey::EndsWith(end);
        } else if let Some(part) = value(Binary::Contains, key) {
            next = NextKey::Contains(part);
        } else if let Some(area) = area.filter(|_| capability.serves(IndexPredicate::Within)) {
            next = NextKey::In(area.clone());
        }
    }
    let bounded = usize::from(!matches!(next, NextKey::Anything));
    // An object that lacks one of the properties is not in the index, so conditions must compare
    // all.
    let is_compared = |key: &Arc<str>| comparisons.iter().any(|(_, k, _)| k == key);
    let useful =
        prefix.len() + bounded > 0 && keys.iter().skip(prefix.len() + bounded).all(is_compared);
    let ReadableIndex { id: index, kind, unique, .. } = *index;
    let (order, test) = (None, Vec::new());
    useful.then_some(Sought { index, keys, kind, unique, prefix, any, next, order, test })
}

/// Predicate on an index that a comparison with a property needs.
fn predicate(op: Binary) -> Option<IndexPredicate> {
    Some(match op {
        Binary::Equal => IndexPredicate::Equals,
        Binary::In => IndexPredicate::In,
        Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => {
            IndexPredicate::Between
        }
        Binary::StartsWith => IndexPredicate::StartsWith,
        Binary::EndsWith => IndexPredicate::EndsWith,
        Binary::Contains => IndexPredicate::Contains,
        _ => return None,
    })
}

/// True if an expression yields a value of a type, or null, as far as the planner knows. A
/// parameter is checked at run time.
fn yields(e: &Expr, ty: PropertyType) -> bool {
    match e {
        Expr::Const(value) => ty.admits(value),
        Expr::Param(_) => true,
        Expr::Function(f, _) => f.signature.rsplit(":: ").next() == Some(&*ty.name()),
        _ => false,
    }
}

/// True if every element of a list is a value of a type, or null.
fn yields_all(e: &Expr, ty: PropertyType) -> bool {
    match e {
        Expr::Const(Value::List(values)) => values.iter().all(|value| ty.admits(value)),
        Expr::List(items) => items.iter().all(|item| yields(item, ty)),
        Expr::Param(_) => true,
        _ => false,
    }
}
