//! Walks over bound expressions.

use super::{Binary, Expr, Labels, Unary};
use telar_graph::value::heap_bytes;

use crate::batch::Slot;
use crate::plan::Plan;

/// Walks over the direct parts of an expression, borrowed one way or the other.
macro_rules! parts {
    ($e:expr, $f:ident, $iter:ident, $visit:ident $(, $mut:tt)?) => {
        match $e {
            Self::Const(_)
            | Self::Param(_)
            | Self::Slot(_)
            | Self::Path(_)
            | Self::Subquery(_) => {}
            Self::List(parts)
            | Self::And(parts)
            | Self::Or(parts)
            | Self::Xor(parts)
            | Self::Function(_, parts)
            | Self::UserFunction(_, parts)
            | Self::GraphFunction(_, parts) => parts.$iter().for_each($f),
            Self::Map(entries) => entries.$iter().for_each(|(_, e)| $f(e)),
            Self::Property(e, _)
            | Self::Unary(_, e)
            | Self::IsNull(e, _)
            | Self::IsTyped(e, ..)
            | Self::IsNormalized(e, ..) => $f(e),
            Self::HasLabels(e, labels) => {
                $f(e);
                labels.$visit($f);
            }
            Self::Index(a, b) | Self::Binary(_, a, b) => {
                $f(a);
                $f(b);
            }
            Self::Chain(first, rest) => {
                $f(first);
                rest.$iter().for_each(|(_, e)| $f(e));
            }
            Self::Slice(list, from, to) => {
                $f(list);
                from.$iter().chain(to.$iter()).for_each(|e| $f(e));
            }
            Self::Case(case) => {
                case.operand.$iter().for_each(|(_, e)| $f(e));
                for (condition, value) in &$($mut)? case.branches {
                    $f(condition);
                    $f(value);
                }
                $f(&$($mut)? case.default);
            }
            Self::ListComprehension(c) | Self::Quantifier(_, c) => {
                $f(&$($mut)? c.list);
                c.filter.$iter().chain(c.projection.$iter()).for_each($f);
            }
            Self::Reduce(r) => {
                $f(&$($mut)? r.initial);
                $f(&$($mut)? r.list);
                $f(&$($mut)? r.step);
            }
            Self::MapProjection(m) => {
                $f(&$($mut)? m.object);
                m.entries.$iter().for_each(|(_, e)| $f(e));
            }
        }
    };
}

/// The same for the names of labels or types that are computed.
macro_rules! names {
    ($labels:expr, $f:ident, $iter:ident, $visit:ident) => {
        match $labels {
            Self::Name(_) | Self::Wildcard => {}
            Self::Dynamic(names, _) => $f(names),
            Self::Not(inner) => inner.$visit($f),
            Self::And(parts) | Self::Or(parts) => {
                parts.$iter().for_each(|part| part.$visit($f));
            }
        }
    };
}

impl Labels {
    /// True if a name in it is known row by row only.
    pub(crate) fn is_dynamic(&self) -> bool {
        let mut found = false;
        self.visit(&mut |_| found = true);
        found
    }

    /// Calls `f` with every expression that computes names.
    pub(crate) fn visit<'e>(&'e self, f: &mut dyn FnMut(&'e Expr)) {
        names!(self, f, iter, visit);
    }

    fn visit_mut<'e>(&'e mut self, f: &mut dyn FnMut(&'e mut Expr)) {
        names!(self, f, iter_mut, visit_mut);
    }
}

impl Expr {
    /// Calls `f` with every direct part.
    pub(crate) fn parts<'e>(&'e self, f: &mut dyn FnMut(&'e Self)) {
        parts!(self, f, iter, visit);
    }

    /// The same, to be changed.
    pub(crate) fn parts_mut<'e>(&'e mut self, f: &mut dyn FnMut(&'e mut Self)) {
        parts!(self, f, iter_mut, visit_mut, mut);
    }

    /// Calls `f` with the plan of every subquery in it.
    pub(crate) fn subqueries<'e>(&'e self, f: &mut dyn FnMut(&'e Plan)) {
        match self {
            Self::Subquery(subquery) => f(&subquery.plan),
            _ => self.parts(&mut |part| part.subqueries(f)),
        }
    }

    /// True if there is a subquery in it.
    pub(crate) fn has_subqueries(&self) -> bool {
        let mut found = false;
        self.subqueries(&mut |_| found = true);
        found
    }

    /// True if it is the same for the same row of the same graph at any time.
    pub(crate) fn is_fixed(&self) -> bool {
        let mut fixed = match self {
            Self::Function(function, _) => function.deterministic,
            Self::UserFunction(..) => false,
            Self::Subquery(subquery) => subquery.plan.is_fixed_whole(),
            _ => true,
        };
        self.parts(&mut |part| fixed &= part.is_fixed());
        fixed
    }

    /// Levels of expressions and operators, the deepest way down.
    pub(crate) fn height(&self) -> usize {
        let mut below = match self {
            Self::Subquery(subquery) => subquery.plan.height(),
            _ => 0,
        };
        self.parts(&mut |part| below = below.max(part.height()));
        below.saturating_add(1)
    }

    /// Bytes that it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let mut bytes = size_of::<Self>();
        bytes += match self {
            Self::Const(value) => heap_bytes(value),
            Self::Subquery(subquery) => subquery.plan.bytes(),
            _ => 0,
        };
        self.parts(&mut |part| bytes += part.bytes());
        bytes
    }

    /// Calls `f` with every variable it reads; those it brings along itself included.
    pub(crate) fn slots(&self, f: &mut dyn FnMut(Slot)) {
        match self {
            Self::Slot(slot) => f(*slot),
            Self::Path(slots) => slots.iter().copied().for_each(f),
            Self::Subquery(subquery) => subquery.plan.slots(f),
            _ => self.parts(&mut |part| part.slots(f)),
        }
    }

    /// True if evaluating a condition for more rows than before can do no harm.
    pub(crate) fn never_fails(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) | Self::Slot(_) => true,
            Self::Property(object, _) => matches!(**object, Self::Slot(_)),
            Self::List(parts) | Self::And(parts) | Self::Or(parts) => {
                parts.iter().all(Self::never_fails)
            }
            Self::Unary(Unary::Not, operand) | Self::IsNull(operand, _) => operand.never_fails(),
            Self::Binary(op, a, b) => {
                let compares = matches!(
                    op,
                    Binary::Equal
                        | Binary::NotEqual
                        | Binary::Less
                        | Binary::LessOrEqual
                        | Binary::Greater
                        | Binary::GreaterOrEqual
                        | Binary::StartsWith
                        | Binary::EndsWith
                        | Binary::Contains
                        | Binary::In
                );
                compares && a.never_fails() && b.never_fails()
            }
            Self::HasLabels(object, labels) => {
                matches!(**object, Self::Slot(_)) && matches!(labels, Labels::Name(_))
            }
            _ => false,
        }
    }

    /// Whether all variables it needs from outside are in `bound`. Variables it brings along itself
    /// are in `own`.
    pub(crate) fn is_bound(&self, bound: &dyn Fn(Slot) -> bool) -> bool {
        let mut all = true;
        let own = self.own_slots();
        self.slots(&mut |slot| all &= own.contains(&slot) || bound(slot));
        all
    }

    /// Variables that exist only inside the expression.
    pub(crate) fn own_slots(&self) -> Vec<Slot> {
        let mut own = Vec::new();
        self.collect_own(&mut own);
        own
    }

    fn collect_own(&self, own: &mut Vec<Slot>) {
        match self {
            Self::ListComprehension(c) | Self::Quantifier(_, c) => own.push(c.variable),
            Self::Reduce(r) => own.extend([r.accumulator, r.variable]),
            Self::Case(case) => own.extend(case.operand.iter().map(|(slot, _)| *slot)),
            Self::Subquery(subquery) => {
                own.push(subquery.row);
                subquery.plan.own_slots(own);
            }
            _ => {}
        }
        self.parts(&mut |part| part.collect_own(own));
    }
}
