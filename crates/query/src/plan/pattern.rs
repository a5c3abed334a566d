//! Patterns: nodes and relationships to find, and conditions on them.
//!
//! A [`Match`](super::Match) holds a pattern until the optimiser has chosen a join order for it.

use std::sync::Arc;

use telar_cypher::ast::IndexKind;

use super::{Paths, Sought, Types, Way};
use crate::batch::Slot;
use crate::estimate::Hop;
use crate::expr::Expr;

/// Pattern of a `MATCH`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    /// Slots of nodes.
    pub(crate) nodes: Vec<Slot>,
    pub(crate) relationships: Vec<Relationship>,
    /// Conditions, each tested as soon as its variables are bound.
    pub(crate) conditions: Vec<Expr>,
    /// Variables of paths, computed once their nodes and relationships are bound.
    pub(crate) paths: Vec<(Slot, Expr)>,
    /// Path patterns of which some matches are kept only.
    pub(crate) selections: Vec<Selection>,
    pub(crate) hints: Hints,
}

impl Pattern {
    /// Adds the parts of another pattern.
    pub(crate) fn absorb(&mut self, other: Self) {
        let new = other.nodes.into_iter().filter(|node| !self.nodes.contains(node));
        let new: Vec<Slot> = new.collect();
        self.nodes.extend(new);
        self.relationships.extend(other.relationships);
        self.conditions.extend(other.conditions);
        self.paths.extend(other.paths);
        self.selections.extend(other.selections);
    }
}

/// Walk over the expressions of a pattern, shared or mutable.
macro_rules! exprs {
    ($pattern:expr, $f:ident, $iter:ident, $exprs:ident $(, $mut:tt)?) => {{
        let Pattern { nodes: _, relationships, conditions, paths, selections, hints: _ } = $pattern;
        for r in relationships {
            r.length.$iter().flat_map(|length| length.filter.$iter()).for_each(|(_, e)| $f(e));
            r.group.$iter().for_each(|group| group.pattern.$exprs($f));
        }
        for selection in selections {
            selection.pattern.$exprs($f);
            $f(&$($mut)? selection.paths.count);
        }
        conditions.$iter().for_each(|e| $f(e));
        paths.$iter().for_each(|(_, e)| $f(e));
    }};
}

impl Pattern {
    /// Calls `f` with every expression in it.
    pub(crate) fn exprs<'p>(&'p self, f: &mut dyn FnMut(&'p Expr)) {
        exprs!(self, f, iter, exprs);
    }

    /// Mutable [`exprs`](Self::exprs).
    pub(crate) fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        exprs!(self, f, iter_mut, exprs_mut, mut);
    }

    /// Calls `f` with every variable of its nodes, relationships and paths.
    pub(crate) fn variables(&self, f: &mut dyn FnMut(Slot)) {
        let Self { nodes, relationships, conditions: _, paths, selections, hints: _ } = self;
        nodes.iter().for_each(|node| f(*node));
        for r in relationships {
            [r.slot, r.from, r.to].into_iter().for_each(&mut *f);
            let each = r.length.iter().flat_map(|length| &length.filter);
            each.for_each(|(slot, _)| f(*slot));
            if let Some(group) = &r.group {
                group.pattern.variables(f);
                [group.first, group.last].into_iter().for_each(&mut *f);
                group.lists.iter().for_each(|(_, list)| f(*list));
            }
        }
        paths.iter().for_each(|(path, _)| f(*path));
        for selection in selections {
            selection.pattern.variables(f);
            selection.slots.iter().for_each(|slot| f(*slot));
        }
    }
}

/// Relationship of a pattern.
#[derive(Debug, Clone)]
pub(crate) struct Relationship {
    pub(crate) slot: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Bounds of a variable-length relationship: the list is in `slot`.
    pub(crate) length: Option<Length>,
    /// Quantified path pattern; the list of all its relationships is in `slot`.
    pub(crate) group: Option<Box<Group>>,
    /// True if the variable was bound before the clause.
    pub(crate) bound: bool,
    /// True if it must differ from the other relationships of its clause.
    pub(crate) distinct: bool,
    /// Number of its clause among those of the pattern.
    pub(crate) clause: u32,
}

impl Relationship {
    /// True if no graph relationship may match both this one and another one.
    pub(crate) fn must_differ(&self, other: &Self) -> bool {
        self.distinct
            && other.distinct
            && self.clause == other.clause
            && overlap(&self.types, &other.types)
    }

    /// True for one relationship, false for a path.
    pub(crate) fn is_single(&self) -> bool {
        self.length.is_none() && self.group.is_none()
    }

    /// The hop along it: forward, or from its end to its start.
    pub(crate) fn hop_from(&self, forward: bool) -> Hop<'_> {
        let hop = Hop { from: self.from, to: self.to, types: &self.types, way: self.way };
        if forward { hop } else { hop.reverse() }
    }
}

/// True if one relationship can have a type of both.
pub(crate) fn overlap(a: &Types, b: &Types) -> bool {
    match (a, b) {
        (Types::Of(a), Types::Of(b)) => a.iter().any(|name| b.contains(name)),
        _ => true,
    }
}

/// Variable-length relationship.
#[derive(Debug, Clone)]
pub(crate) struct Length {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Condition on each relationship, which is in the slot.
    pub(crate) filter: Option<(Slot, Expr)>,
    /// True if a relationship may come twice in a path.
    pub(crate) repeats: bool,
    pub(crate) shortest: Option<Shortest>,
}

/// Restriction of a path to the shortest ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortest {
    /// True for all shortest paths, false for one.
    pub(crate) all: bool,
    /// True for `shortestPath()`: conditions on the path in `WHERE` belong to its search.
    pub(crate) function: bool,
}

impl Pattern {
    /// Lets relationships be used more than once, in the groups as well.
    pub(crate) fn allow_repeats(&mut self) {
        for r in &mut self.relationships {
            r.distinct = false;
            if let Some(length) = &mut r.length {
                length.repeats = true;
            }
            if let Some(group) = &mut r.group {
                group.pattern.allow_repeats();
            }
        }
    }
}

/// Quantified path pattern: a path that is repeated.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// Pattern of one repetition.
    pub(crate) pattern: Pattern,
    /// First and last node of a repetition; the last one is the first of the next repetition.
    pub(crate) first: Slot,
    pub(crate) last: Slot,
    /// Its relationships in the order of the path.
    pub(crate) relationships: Vec<Slot>,
    /// Variables of a repetition, each with the list of its values outside.
    pub(crate) lists: Vec<(Slot, Slot)>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Restriction to shortest paths, which visit no node twice.
    pub(crate) shortest: Option<Shortest>,
}

impl Group {
    /// True if the outer variables that its conditions need are bound.
    pub(crate) fn is_ready(&self, is_bound: &dyn Fn(Slot) -> bool) -> bool {
        let Pattern { nodes, relationships, conditions, .. } = &self.pattern;
        let own = |slot| {
            nodes.contains(&slot)
                || relationships.iter().any(|r| r.slot == slot)
                || self.lists.iter().any(|(inner, _)| *inner == slot)
        };
        conditions.iter().all(|condition| condition.is_bound(&|slot| own(slot) || is_bound(slot)))
    }
}

/// Path pattern of which some matches are kept only.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Pattern of all paths; both ends are bound before.
    pub(crate) pattern: Pattern,
    /// Nodes, relationships and lists of relationships, from end to end.
    pub(crate) slots: Vec<Slot>,
    pub(crate) paths: Paths,
    /// True if it was written as `shortestPath()`, with a condition on the path.
    pub(crate) function: bool,
}

impl Selection {
    /// First and last node of a path.
    pub(crate) fn ends(&self) -> (Slot, Slot) {
        (self.slots[0], self.slots[self.slots.len() - 1])
    }

    /// True if both ends and all outer variables that its conditions need are bound.
    pub(crate) fn is_ready(&self, nodes: &[Slot], is_bound: &dyn Fn(Slot) -> bool) -> bool {
        let inner = &self.pattern;
        let own = |slot: Slot| {
            inner.nodes.contains(&slot)
                || self.slots.contains(&slot)
                || inner.paths.iter().any(|(path, _)| *path == slot)
                || inner.relationships.iter().any(|r| {
                    let lists = r.group.iter().flat_map(|group| &group.lists);
                    lists.into_iter().any(|(_, list)| *list == slot)
                })
        };
        let (from, to) = self.ends();
        let shared = inner.nodes.iter().all(|node| !nodes.contains(node) || is_bound(*node));
        let needs = |c: &Expr| c.is_bound(&|slot| own(slot) || is_bound(slot));
        is_bound(from) && is_bound(to) && shared && inner.conditions.iter().all(needs)
    }
}

/// Planner hints of a clause (`USING`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    pub(crate) indexes: Vec<IndexHint>,
    /// Nodes to find by a scan of a label.
    pub(crate) scans: Vec<(Slot, Arc<str>)>,
    /// Nodes to join two parts of the pattern on.
    pub(crate) joins: Vec<Slot>,
}

/// Index to find a node or relationship by.
#[derive(Debug, Clone)]
pub(crate) struct IndexHint {
    pub(crate) slot: Slot,
    /// Indexed label or type.
    pub(crate) name: Arc<str>,
    pub(crate) keys: Vec<Arc<str>>,
    /// Kind of the index; `None` for any.
    pub(crate) kind: Option<IndexKind>,
}

impl IndexHint {
    /// True if an index seek satisfies the hint.
    pub(crate) fn is(&self, name: &str, sought: &Sought) -> bool {
        let of_kind = self.kind.is_none_or(|kind| kind.word() == sought.kind.name());
        of_kind && *self.name == *name && self.keys == sought.keys
    }
}

impl Hints {
    /// True if there are no hints.
    pub(crate) fn is_empty(&self) -> bool {
        self.indexes.is_empty() && self.scans.is_empty() && self.joins.is_empty()
    }

    /// Index hint for a node or relationship.
    pub(crate) fn index(&self, slot: Slot) -> Option<&IndexHint> {
        self.indexes.iter().find(|hint| hint.slot == slot)
    }

    /// Label of the scan hint for a node.
    pub(crate) fn scan(&self, slot: Slot) -> Option<&Arc<str>> {
        self.scans.iter().find(|(node, _)| *node == slot).map(|(_, label)| label)
    }
}
