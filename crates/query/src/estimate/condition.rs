//! Selectivity of conditions, and distinct counts of expressions.

use std::collections::HashSet;

use telar_graph::Value;
use telar_graph::update::IndexedObjects;

use super::{AREA, Counts, EQUAL, Facts, LIST, OTHER, RANGE, distinct_of_draws, slot_of};
use crate::batch::Slot;
use crate::expr::area::areas;
use crate::expr::{Binary, Expr, Labels, SubqueryKind, Unary};

/// Upper bound on the selectivity of a condition that is no constant; 1 minus it is the lower
/// bound. A condition that keeps every row would make its negation keep none.
const SELECTIVITY_MAX: f64 = 0.95;

impl Counts<'_> {
    /// Selectivity of a condition: the part of the rows for which it holds. Notes the facts about
    /// labels that it implies.
    pub(crate) fn selectivity(&self, condition: &Expr, facts: &mut Facts) -> f64 {
        if let Some(selectivity) = area_selectivity(condition, facts) {
            return selectivity;
        }
        match condition {
            Expr::And(parts) => parts.iter().map(|part| self.selectivity(part, facts)).product(),
            Expr::Or(parts) => {
                // A comparison notes no facts, so that thousands of them need no copies.
                let fails = |part: &Expr| match part {
                    Expr::Binary(op, a, b) => 1.0 - self.comparison_selectivity(*op, a, b, facts),
                    _ => 1.0 - self.selectivity(part, &mut facts.clone()),
                };
                1.0 - parts.iter().map(fails).product::<f64>()
            }
            Expr::Unary(Unary::Not, inner) => 1.0 - self.selectivity(inner, &mut facts.clone()),
            Expr::Subquery(s) if s.kind == SubqueryKind::Exists => {
                let mut facts = facts.clone();
                let rows = facts.in_inner_plan(|facts| self.plan_rows(&s.plan, facts));
                (-(-rows).exp_m1()).clamp(1.0 - SELECTIVITY_MAX, SELECTIVITY_MAX)
            }
            Expr::HasLabels(object, labels) => match **object {
                Expr::Slot(slot) => self.label_selectivity(slot, labels, facts),
                _ => OTHER,
            },
            Expr::Binary(op, left, right) => self.comparison_selectivity(*op, left, right, facts),
            Expr::Const(Value::Bool(true)) => 1.0,
            Expr::Const(_) => 0.0,
            _ => OTHER,
        }
    }

    fn label_selectivity(&self, slot: Slot, labels: &Labels, facts: &mut Facts) -> f64 {
        match labels {
            Labels::Name(name) => {
                // For a relationship, the name is its type.
                if facts.get(slot).is_some_and(|fact| fact.ty.is_some()) {
                    return 1.0;
                }
                self.node_objects(name).map_or(0.0, |objects| self.narrow_to(facts, slot, objects))
            }
            Labels::And(parts) => {
                parts.iter().map(|part| self.label_selectivity(slot, part, facts)).product()
            }
            Labels::Or(parts) => {
                let of = |part: &Labels| match part {
                    // An unknown label implies no facts, so that thousands of them need no copies.
                    Labels::Name(name) if self.graph.find_label(name).is_none() => {
                        self.label_selectivity(slot, part, facts)
                    }
                    _ => self.label_selectivity(slot, part, &mut facts.clone()),
                };
                parts.iter().map(of).sum::<f64>().min(1.0)
            }
            Labels::Not(inner) => 1.0 - self.label_selectivity(slot, inner, &mut facts.clone()),
            Labels::Wildcard | Labels::Dynamic(..) => OTHER,
        }
    }

    pub(crate) fn comparison_selectivity(
        &self,
        op: Binary,
        left: &Expr,
        right: &Expr,
        facts: &Facts,
    ) -> f64 {
        let property = [left, right].into_iter().find_map(|side| match side {
            Expr::Property(object, key) => match **object {
                Expr::Slot(slot) => Some((slot, key)),
                _ => None,
            },
            _ => None,
        });
        if property.is_some_and(|(slot, key)| facts.was_sought(slot, key.text())) {
            return 1.0;
        }
        let equal = || match (property, left, right) {
            (Some((slot, key)), ..) => self.equality_selectivity(slot, key, facts),
            // One of the candidates.
            (None, Expr::Slot(a), _) if facts.is_object(*a) => 1.0 / self.candidates(facts, *a),
            (None, _, Expr::Slot(b)) if facts.is_object(*b) => 1.0 / self.candidates(facts, *b),
            _ => EQUAL,
        };
        match op {
            Binary::Equal => equal(),
            Binary::NotEqual => 1.0 - equal(),
            Binary::In => (equal() * facts.list_length(right, LIST)).min(SELECTIVITY_MAX),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => RANGE,
            Binary::StartsWith => RANGE,
            _ => OTHER,
        }
    }

    fn equality_selectivity(&self, slot: Slot, key: &str, facts: &Facts) -> f64 {
        self.distinct_property_values(slot, key, facts).map_or(EQUAL, |values| 1.0 / values)
    }

    /// Distinct values of a property of a variable, if an index tells.
    fn distinct_property_values(&self, slot: Slot, key: &str, facts: &Facts) -> Option<f64> {
        let key = self.graph.find_property_key(key);
        let values = self.indexes.iter().filter_map(|index| {
            let of_it = match index.objects {
                IndexedObjects::Vertices(label) => self.label_probability(facts, slot, label) > 0.5,
                IndexedObjects::Edges(ty) => facts.get(slot).is_some_and(|f| f.ty == Some(ty)),
            };
            let only = key.is_some_and(|key| index.properties == [key]);
            (of_it && only && index.kind.holds_all_values())
                .then(|| self.distinct_keys(index))
                .flatten()
        });
        values.max_by(f64::total_cmp)
    }

    /// Number of groups that `rows` rows make, by these keys.
    pub(crate) fn group_count<'e>(
        &self,
        keys: impl Iterator<Item = &'e Expr> + Clone,
        rows: f64,
        facts: &Facts,
    ) -> f64 {
        let nodes: HashSet<Slot> = keys.clone().filter_map(slot_of).collect();
        // A property of a node that is a key itself makes no more groups.
        let is_implied = |key: &Expr| match key {
            Expr::Property(object, _) => slot_of(object).is_some_and(|node| nodes.contains(&node)),
            _ => false,
        };
        let (mut values, mut others) = (Vec::new(), 1.0);
        for key in keys.filter(|key| !is_implied(key)) {
            match (slot_of(key), self.distinct_values(key, rows, facts)) {
                (Some(slot), distinct) => values.push((slot, distinct)),
                (None, distinct) => others *= distinct,
            }
        }
        distinct_of_draws(rows, others * facts.combinations(&values))
    }

    /// Upper bound on the distinct values of an expression in `rows` rows. Without statistics, the
    /// square root of the possible number.
    pub(crate) fn distinct_values(&self, expr: &Expr, rows: f64, facts: &Facts) -> f64 {
        let all = match expr {
            Expr::Const(_) | Expr::Param(_) => 1.0,
            Expr::Slot(slot) => {
                let most = facts.distinct(*slot).unwrap_or(rows);
                if facts.is_object(*slot) { most.min(self.candidates(facts, *slot)) } else { most }
            }
            Expr::Property(object, key) if let Expr::Slot(slot) = **object => {
                let most = self.distinct_values(object, rows, facts);
                self.distinct_property_values(slot, key, facts)
                    .map_or(most.sqrt(), |values| values.min(most))
            }
            _ => rows.sqrt(),
        };
        all.min(rows).max(1.0)
    }
}

/// Selectivity of a condition that a point lies in an area; `None` for any other condition.
fn area_selectivity(condition: &Expr, facts: &Facts) -> Option<f64> {
    let areas = areas(condition);
    let was_sought = |point: &Expr| match point {
        Expr::Property(object, key) => {
            slot_of(object).is_some_and(|slot| facts.was_sought(slot, key.text()))
        }
        _ => false,
    };
    let sought = areas.iter().any(|(point, _)| was_sought(point));
    (!areas.is_empty()).then_some(if sought { 1.0 } else { AREA })
}
