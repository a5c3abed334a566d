//! What is looked for in an index.

use std::sync::Arc;

use telar_graph::{IndexId, IndexKind};

use super::HasExprs;
use crate::expr::Expr;
use crate::expr::area::Area;
use crate::expr::print::{self, Printer};

/// What is looked for in an index.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    pub(crate) index: IndexId,
    /// The properties of the index.
    pub(crate) keys: Vec<Arc<str>>,
    /// The kind of the index.
    pub(crate) kind: IndexKind,
    /// True if a constraint owns it: no two objects have the same values.
    pub(crate) unique: bool,
    /// Values of the leading keys.
    pub(crate) prefix: Vec<Expr>,
    /// The last of them is a list: any of its elements will do.
    pub(crate) any: bool,
    /// What is asked of the next key.
    pub(crate) next: NextKey,
    /// The conditions that the index stands for. It finds exactly what they hold for, unless they
    /// compare with a value of which `=` says other than the order of the index does.
    pub(crate) test: Vec<Expr>,
}

impl Sought {
    /// Whether no more than one object can be found for each value of a list, or in all.
    pub(crate) fn is_unique(&self) -> bool {
        self.unique && self.prefix.len() == self.keys.len()
    }

    /// The keys of an index, and what is asked of them, for people.
    pub(super) fn explain(&self, p: &Printer<'_>, slot: &str) -> (String, String) {
        let property = |at: usize| format!("{slot}.{}", print::name(&self.keys[at]));
        let last = self.prefix.len();
        let mut conditions: Vec<String> = Vec::new();
        for (at, e) in self.prefix.iter().enumerate() {
            let sign = if self.any && at + 1 == last { "IN" } else { "=" };
            conditions.push(format!("{} {sign} {}", property(at), p.expr(e)));
        }
        match &self.next {
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
        (keys.join(", "), conditions.join(" AND "))
    }
}

/// What a seek asks of the key after those whose values it knows.
#[derive(Debug, Clone)]
pub(crate) enum NextKey {
    Anything,
    /// Lower and upper bound: the value, and whether it belongs to the range. At least one.
    Between(Option<(Expr, bool)>, Option<(Expr, bool)>),
    StartsWith(Expr),
    EndsWith(Expr),
    Contains(Expr),
    In(Area<Expr>),
}

/// Walks over the expressions of what is sought, borrowed one way or the other.
macro_rules! exprs {
    ($of:expr, $f:ident, $exprs:ident) => {{
        let Sought { prefix, next, test, .. } = $of;
        prefix.$exprs($f);
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
