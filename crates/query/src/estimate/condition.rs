//! The share of rows that a condition keeps, and how many groups there are of rows.

use std::collections::HashSet;

use telar_graph::Value;
use telar_graph::update::IndexedObjects;

use super::{AREA, Counts, EQUAL, Facts, LIST, OTHER, RANGE, drawn, slot_of};
use crate::batch::Slot;
use crate::expr::area::areas;
use crate::expr::{Binary, Expr, Labels, SubqueryKind, Unary};

/// What a condition keeps at most, and leaves out at least, unless it is written down: its opposite
/// keeps something, too.
const MOST: f64 = 0.95;

impl Counts<'_> {
    /// The share of rows for which a condition holds; what it says of labels is noted.
    pub(crate) fn share(&self, condition: &Expr, facts: &mut Facts) -> f64 {
        if let Some(share) = area_share(condition, facts) {
            return share;
        }
        match condition {
            Expr::And(parts) => parts.iter().map(|part| self.share(part, facts)).product(),
            Expr::Or(parts) => {
                // A comparison notes nothing: of thousands of them none needs a copy of the facts.
                let fails = |part: &Expr| match part {
                    Expr::Binary(op, a, b) => 1.0 - self.comparison(*op, a, b, facts),
                    _ => 1.0 - self.share(part, &mut facts.clone()),
                };
                1.0 - parts.iter().map(fails).product::<f64>()
            }
            Expr::Unary(Unary::Not, inner) => 1.0 - self.share(inner, &mut facts.clone()),
            Expr::Subquery(s) if s.kind == SubqueryKind::Exists => {
                let mut facts = facts.clone();
                let rows = facts.inside(|facts| self.estimate(&s.plan, facts));
                (-(-rows).exp_m1()).clamp(1.0 - MOST, MOST)
            }
            Expr::HasLabels(object, labels) => match **object {
                Expr::Slot(slot) => self.labels(slot, labels, facts),
                _ => OTHER,
            },
            Expr::Binary(op, left, right) => self.comparison(*op, left, right, facts),
            Expr::Const(Value::Bool(true)) => 1.0,
            Expr::Const(_) => 0.0,
            _ => OTHER,
        }
    }

    fn labels(&self, slot: Slot, labels: &Labels, facts: &mut Facts) -> f64 {
        match labels {
            Labels::Name(name) => {
                // Of a relationship it is the type.
                if facts.get(slot).is_some_and(|fact| fact.ty.is_some()) {
                    return 1.0;
                }
                self.node_objects(name).map_or(0.0, |objects| self.is(facts, slot, objects))
            }
            Labels::And(parts) => parts.iter().map(|part| self.labels(slot, part, facts)).product(),
            Labels::Or(parts) => {
                let of = |part: &Labels| match part {
                    // One that nothing has says nothing: of thousands, few need a copy.
                    Labels::Name(name) if self.graph.find_label(name).is_none() => {
                        self.labels(slot, part, facts)
                    }
                    _ => self.labels(slot, part, &mut facts.clone()),
                };
                parts.iter().map(of).sum::<f64>().min(1.0)
            }
            Labels::Not(inner) => 1.0 - self.labels(slot, inner, &mut facts.clone()),
            Labels::Wildcard | Labels::Dynamic(..) => OTHER,
        }
    }

    pub(crate) fn comparison(&self, op: Binary, left: &Expr, right: &Expr, facts: &Facts) -> f64 {
        let property = [left, right].into_iter().find_map(|side| match side {
            Expr::Property(object, key) => match **object {
                Expr::Slot(slot) => Some((slot, key)),
                _ => None,
            },
            _ => None,
        });
        if property.is_some_and(|(slot, key)| facts.was_sought(slot, key)) {
            return 1.0;
        }
        let equal = || match (property, left, right) {
            (Some((slot, key)), ..) => self.equal(slot, key, facts),
            // One of all that it may be.
            (None, Expr::Slot(a), _) if facts.is_thing(*a) => 1.0 / self.ends(facts, *a),
            (None, _, Expr::Slot(b)) if facts.is_thing(*b) => 1.0 / self.ends(facts, *b),
            _ => EQUAL,
        };
        match op {
            Binary::Equal => equal(),
            Binary::NotEqual => 1.0 - equal(),
            Binary::In => (equal() * facts.length(right, LIST)).min(MOST),
            Binary::Less | Binary::LessOrEqual | Binary::Greater | Binary::GreaterOrEqual => RANGE,
            Binary::StartsWith => RANGE,
            _ => OTHER,
        }
    }

    fn equal(&self, slot: Slot, key: &str, facts: &Facts) -> f64 {
        self.values(slot, key, facts).map_or(EQUAL, |values| 1.0 / values)
    }

    /// Different values of a property of a variable, if that is known.
    fn values(&self, slot: Slot, key: &str, facts: &Facts) -> Option<f64> {
        let key = self.graph.find_property_key(key);
        let values = self.indexes.iter().filter_map(|index| {
            let of_it = match index.objects {
                IndexedObjects::Vertices(label) => self.has_label(facts, slot, label) > 0.5,
                IndexedObjects::Edges(ty) => facts.get(slot).is_some_and(|f| f.ty == Some(ty)),
            };
            let only = key.is_some_and(|key| index.properties == [key]);
            (of_it && only && index.kind.holds_all_values()).then(|| self.distinct(index)).flatten()
        });
        values.max_by(f64::total_cmp)
    }

    /// Groups of so many rows, by these keys.
    pub(crate) fn groups<'e>(
        &self,
        keys: impl Iterator<Item = &'e Expr> + Clone,
        rows: f64,
        facts: &Facts,
    ) -> f64 {
        let nodes: HashSet<Slot> = keys.clone().filter_map(slot_of).collect();
        // What a node has goes with it.
        let goes_along = |key: &Expr| match key {
            Expr::Property(object, _) => slot_of(object).is_some_and(|node| nodes.contains(&node)),
            _ => false,
        };
        let (mut values, mut others) = (Vec::new(), 1.0);
        for key in keys.filter(|key| !goes_along(key)) {
            match (slot_of(key), self.different(key, rows, facts)) {
                (Some(slot), different) => values.push((slot, different)),
                (None, different) => others *= different,
            }
        }
        drawn(rows, others * facts.combinations(&values))
    }

    /// How many different values an expression has in so many rows, at most. Of values that nobody
    /// knows there are as many as the root of what there could be.
    pub(crate) fn different(&self, expr: &Expr, rows: f64, facts: &Facts) -> f64 {
        let all = match expr {
            Expr::Const(_) | Expr::Param(_) => 1.0,
            Expr::Slot(slot) => {
                let most = facts.different(*slot).unwrap_or(rows);
                if facts.is_thing(*slot) { most.min(self.ends(facts, *slot)) } else { most }
            }
            Expr::Property(object, key) if let Expr::Slot(slot) = **object => {
                let most = self.different(object, rows, facts);
                self.values(slot, key, facts).map_or(most.sqrt(), |values| values.min(most))
            }
            _ => rows.sqrt(),
        };
        all.min(rows).max(1.0)
    }
}

/// The share of rows whose points lie where a condition says, if that is what it says.
fn area_share(condition: &Expr, facts: &Facts) -> Option<f64> {
    let areas = areas(condition);
    let was_sought = |point: &Expr| match point {
        Expr::Property(object, key) => {
            slot_of(object).is_some_and(|slot| facts.was_sought(slot, key))
        }
        _ => false,
    };
    let sought = areas.iter().any(|(point, _)| was_sought(point));
    (!areas.is_empty()).then_some(if sought { 1.0 } else { AREA })
}
