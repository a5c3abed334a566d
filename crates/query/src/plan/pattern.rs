//! Patterns: nodes and relationships as things to be found, and conditions on them.
//!
//! What [`Match`](super::Match) asks for, before the optimiser has chosen how it is found.

use std::sync::Arc;

use telar_cypher::ast::IndexKind;

use super::{Paths, Sought, Types, Way};
use crate::batch::Slot;
use crate::expr::Expr;

/// What `MATCH` has to find.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pattern {
    /// Slots of nodes.
    pub(crate) nodes: Vec<Slot>,
    pub(crate) relationships: Vec<Relationship>,
    /// Conditions, each to be tested as soon as all it needs is found.
    pub(crate) conditions: Vec<Expr>,
    /// Variables for paths, computed when all they need is found.
    pub(crate) paths: Vec<(Slot, Expr)>,
    /// Paths of which only some of those that match are wanted.
    pub(crate) selections: Vec<Selection>,
    pub(crate) hints: Hints,
}

impl Pattern {
    /// Adds what another one has to find.
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

/// Walks over the expressions of a pattern, borrowed one way or the other.
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

    /// The same, to be changed.
    pub(crate) fn exprs_mut<'p>(&'p mut self, f: &mut dyn FnMut(&'p mut Expr)) {
        exprs!(self, f, iter_mut, exprs_mut, mut);
    }

    /// Calls `f` with every variable that it finds, or whose value it is about.
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

/// A relationship of a pattern.
#[derive(Debug, Clone)]
pub(crate) struct Relationship {
    pub(crate) slot: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Several in a row: the list is in `slot`.
    pub(crate) length: Option<Length>,
    /// A path that is repeated; the list of all its relationships is in `slot`.
    pub(crate) group: Option<Box<Group>>,
    /// The variable was bound before the clause.
    pub(crate) bound: bool,
    /// It must differ from the other relationships of its clause.
    pub(crate) distinct: bool,
    /// Which of the clauses of the pattern it is of.
    pub(crate) clause: u32,
}

impl Relationship {
    /// True if no relationship may be both this one and another one.
    pub(crate) fn must_differ(&self, other: &Self) -> bool {
        self.distinct
            && other.distinct
            && self.clause == other.clause
            && overlap(&self.types, &other.types)
    }

    /// Whether it is one, not several in a row.
    pub(crate) fn is_single(&self) -> bool {
        self.length.is_none() && self.group.is_none()
    }
}

/// True if a relationship can be of both.
pub(crate) fn overlap(a: &Types, b: &Types) -> bool {
    match (a, b) {
        (Types::Of(a), Types::Of(b)) => a.iter().any(|name| b.contains(name)),
        _ => true,
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Length {
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// What each one must satisfy.
    pub(crate) filter: Option<(Slot, Expr)>,
    /// A relationship may come again.
    pub(crate) repeats: bool,
    pub(crate) shortest: Option<Shortest>,
}

/// Only the shortest of a relationship's paths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortest {
    /// All of them, not one.
    pub(crate) all: bool,
    /// It is `shortestPath()`: conditions on the path in `WHERE` belong to the search.
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

/// A path that is repeated.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// What is found in each repetition.
    pub(crate) pattern: Pattern,
    /// The node it begins at and the one it leads to, which begins the next.
    pub(crate) first: Slot,
    pub(crate) last: Slot,
    /// Its relationships in the order of the path.
    pub(crate) relationships: Vec<Slot>,
    /// Variables, and outside the lists of what they were.
    pub(crate) lists: Vec<(Slot, Slot)>,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Only shortest paths are wanted, and those lead to no node again.
    pub(crate) shortest: Option<Shortest>,
}

impl Group {
    /// True if what its conditions ask for outside of it is known.
    pub(crate) fn is_ready(&self, knows: &dyn Fn(Slot) -> bool) -> bool {
        let Pattern { nodes, relationships, conditions, .. } = &self.pattern;
        let own = |slot| {
            nodes.contains(&slot)
                || relationships.iter().any(|r| r.slot == slot)
                || self.lists.iter().any(|(inner, _)| *inner == slot)
        };
        conditions.iter().all(|condition| condition.is_bound(&|slot| own(slot) || knows(slot)))
    }
}

/// A path of which only some are wanted.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    /// Finds all of them; both ends are known before.
    pub(crate) pattern: Pattern,
    /// Nodes, relationships and lists of relationships, from end to end.
    pub(crate) slots: Vec<Slot>,
    pub(crate) paths: Paths,
    /// It was `shortestPath()`, with a condition on the path.
    pub(crate) function: bool,
}

impl Selection {
    /// The nodes that a path begins and ends at.
    pub(crate) fn ends(&self) -> (Slot, Slot) {
        (self.slots[0], self.slots[self.slots.len() - 1])
    }

    /// Whether the conditions inside need nothing that is not known or found inside.
    pub(crate) fn is_ready(&self, nodes: &[Slot], known: &dyn Fn(Slot) -> bool) -> bool {
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
        let shared = inner.nodes.iter().all(|node| !nodes.contains(node) || known(*node));
        let needs = |c: &Expr| c.is_bound(&|slot| own(slot) || known(slot));
        known(from) && known(to) && shared && inner.conditions.iter().all(needs)
    }
}

/// The wishes of a clause.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hints {
    pub(crate) indexes: Vec<IndexHint>,
    /// Nodes that are to be found by a scan of a label.
    pub(crate) scans: Vec<(Slot, Arc<str>)>,
    /// Nodes that two parts of the pattern are to be joined on.
    pub(crate) joins: Vec<Slot>,
}

/// An index that a node or relationship is to be found by.
#[derive(Debug, Clone)]
pub(crate) struct IndexHint {
    pub(crate) slot: Slot,
    /// Its label or type.
    pub(crate) name: Arc<str>,
    pub(crate) keys: Vec<Arc<str>>,
    /// Of this kind; any if missing.
    pub(crate) kind: Option<IndexKind>,
}

impl IndexHint {
    /// Whether this is what is wished for.
    pub(crate) fn is(&self, name: &str, sought: &Sought) -> bool {
        let of_kind = self.kind.is_none_or(|kind| kind.word() == sought.kind.name());
        of_kind && *self.name == *name && self.keys == sought.keys
    }
}

impl Hints {
    /// True if nothing is wished for.
    pub(crate) fn is_empty(&self) -> bool {
        self.indexes.is_empty() && self.scans.is_empty() && self.joins.is_empty()
    }

    /// The index that this is to be found by.
    pub(crate) fn index(&self, slot: Slot) -> Option<&IndexHint> {
        self.indexes.iter().find(|hint| hint.slot == slot)
    }

    /// The label whose scan is to find this node.
    pub(crate) fn scan(&self, slot: Slot) -> Option<&Arc<str>> {
        self.scans.iter().find(|(node, _)| *node == slot).map(|(_, label)| label)
    }
}
