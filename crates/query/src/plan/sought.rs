//! Keys of an index seek.

use std::sync::Arc;

use telar_graph::{IndexId, IndexKind};

use super::HasExprs;
use crate::expr::Expr;
use crate::expr::area::Area;
use crate::expr::print::{self, Printer};

/// Index seek: the index, and the keys that are sought in it.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    pub(crate) index: IndexId,
    /// Properties of the index.
    pub(crate) keys: Vec<Arc<str>>,
    pub(crate) kind: IndexKind,
    /// True if a constraint owns it: no two objects have the same values.
    pub(crate) unique: bool,
    /// Values of the leading keys.
    pub(crate) prefix: Vec<Expr>,
    /// True if the last value of `prefix` is a list: each element is sought.
    pub(crate) any: bool,
    /// Predicate on the key after `prefix`.
    pub(crate) next: NextKey,
    /// Order in which the objects are found, if it matters.
    pub(crate) order: Option<SeekOrder>,
    /// Conditions that the seek makes true. They are tested only if they compare with a value for
    /// which `=` and the order of the index differ.
    pub(crate) test: Vec<Expr>,
}

impl Sought {
    /// True if the seek finds at most one object, or at most one for each element of a list.
    pub(crate) fn is_unique(&self) -> bool {
        self.unique && self.prefix.len() == self.keys.len()
    }

    /// Keys of the index and conditions on them, as text.
    pub(super) fn explain(&self, p: &Printer<'_>, slot: &str) -> (String, String) {
        let property = |at: usize| format!("{slot}.{}", print::name(&self.keys[at]));
        let last = self.prefix.len();
        let mut conditions: Vec<String> = Vec::new();
        for (at, e) in self.prefix.iter().enumerate() {
            let sign = if self.any && at + 1 == last { "IN" } else { "=" };
            conditions.push(format!("{} {sign} {}", property(at), p.expr(e)));
        }
        match &self.next {
            NextKey::Anything if last == 0 => {
                conditions.push(format!("{} IS NOT NULL", property(last)));
            }
            NextKey::Anything => {}
            NextKey::Between(from, to) => {
                for (bound, sign) in [(from, ">"), (to, "<")] {
                    let Some((e, inclusive)) = bound else { continue };
                    let equal = if *inclusive { "=" } else { "" };
                    conditions.push(format!("{} {sign}{equal} {}", property(last), p.expr(e)));
                }
            }
            NextKey::StartsWith(e) => {
                conditions.push(format!("{} STARTS WITH {}", property(last), p.expr(e)));
            }
            NextKey::EndsWith(e) => {
                conditions.push(format!("{} ENDS WITH {}", property(last), p.expr(e)));
            }
            NextKey::Contains(e) => {
                conditions.push(format!("{} CONTAINS {}", property(last), p.expr(e)));
            }
            NextKey::In(area) => conditions.push(match area.map(|e| p.expr(e)) {
                Area::Box(low, high) => {
                    format!("point.withinBBox({}, {low}, {high})", property(last))
                }
                Area::Circle { center, radius, inclusive } => {
                    let sign = if inclusive { "<=" } else { "<" };
                    format!("point.distance({}, {center}) {sign} {radius}", property(last))
                }
            }),
        }
        let keys: Vec<String> = self.keys.iter().map(|key| print::name(key)).collect();
        let mut conditions = conditions.join(" AND ");
        if let Some(order) = &self.order {
            conditions += &format!(" ORDER BY {}", p.sort_key(&order.key, order.descending));
        }
        (keys.join(", "), conditions)
    }
}

/// Order of what a seek finds: by the key after those with a value.
#[derive(Debug, Clone)]
pub(crate) struct SeekOrder {
    /// The property, for objects that are not found by the index.
    pub(crate) key: Expr,
    pub(crate) descending: bool,
}

/// Predicate of a seek on the key after those with a value.
#[derive(Debug, Clone)]
pub(crate) enum NextKey {
    Anything,
    /// Lower and upper bound, at least one: the value, and true if it belongs to the range.
    Between(Option<(Expr, bool)>, Option<(Expr, bool)>),
    StartsWith(Expr),
    EndsWith(Expr),
    Contains(Expr),
    In(Area<Expr>),
}

/// Walk over the expressions of a seek, shared or mutable.
macro_rules! exprs {
    ($of:expr, $f:ident, $exprs:ident) => {{
        let Sought { prefix, next, order, test, .. } = $of;
        prefix.$exprs($f);
        if let Some(SeekOrder { key, .. }) = order {
            $f(key);
        }
        match next {
            NextKey::Anything => {}
            NextKey::Between(from, to) => {
                from.$exprs($f);
                to.$exprs($f);
            }
            NextKey::StartsWith(e) | NextKey::EndsWith(e) | NextKey::Contains(e) => $f(e),
            NextKey::In(Area::Box(a, b)) => {
                $f(a);
                $f(b);
            }
            NextKey::In(Area::Circle { center, radius, .. }) => {
                $f(center);
                $f(radius);
            }
        }
        test.$exprs($f);
    }};
}

impl HasExprs for Sought {
    fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        exprs!(self, f, exprs);
    }

    fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        exprs!(self, f, exprs_mut);
    }
}
