//! Paths of which only some are wanted: `SHORTEST k`, `ALL SHORTEST`, `ANY k`, `SHORTEST k GROUPS`.
//!
//! Of all paths that match the pattern, as many as wanted are taken for each pair of end nodes.
//! What stands inside of the pattern is a condition on the paths to choose from; what `WHERE`
//! behind it says is tested on those chosen. The old `shortestPath()` is another matter: there
//! conditions on the path in `WHERE` belong to the search.

use std::collections::HashSet;

use telar_cypher::ast::{Count, PathSearch};
use telar_graph::Value;

use super::Binder;
use super::pattern::{Declared, Part};
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::Paths;
use crate::plan::pattern::{Pattern, Selection, Shortest};
use crate::query_error::QueryError;

/// Which paths are wanted, if not all.
pub(crate) enum Wanted {
    /// One relationship, perhaps of variable length, between two nodes: a search breadth first.
    Simple(Shortest),
    General(Paths),
}

impl Selection {
    /// The pattern that finds the ends of a path, and selects from what else it has to find.
    pub(crate) fn of(
        mut inner: Pattern,
        slots: Vec<Slot>,
        paths: Paths,
        before: &HashSet<Slot>,
    ) -> Pattern {
        let ends = [slots[0], slots[slots.len() - 1]];
        let known = |slot: Slot| ends.contains(&slot) || before.contains(&slot);
        let conditions = std::mem::take(&mut inner.conditions);
        let (of_ends, rest): (Vec<Expr>, _) =
            conditions.into_iter().partition(|c| c.is_bound(&known));
        inner.conditions = rest;
        // A shortest path over single relationships leads to no node again.
        if let ([_, _, _], [r], []) =
            (&slots[..], &mut inner.relationships[..], &inner.conditions[..])
            && let Some(group) = &mut r.group
            && group.relationships.len() == 1
            && group.min <= 1
            && matches!(paths.count, Expr::Const(Value::Int(1)))
        {
            group.shortest = Some(Shortest { all: paths.groups, function: false });
        }
        inner.nodes.retain(|node| !ends.contains(node));
        let mut nodes = ends.to_vec();
        nodes.dedup();
        let selections = vec![Self { pattern: inner, slots, paths, function: false }];
        Pattern { nodes, conditions: of_ends, selections, ..Pattern::default() }
    }
}

impl Pattern {
    /// Adds the conditions of `WHERE`. Those on a path of `shortestPath()` are for the search.
    pub(crate) fn filter(&mut self, conditions: Vec<Expr>) {
        for condition in conditions {
            match self.searched(&condition) {
                Some(at) => self.selections[at].pattern.conditions.push(condition),
                None => self.conditions.push(condition),
            }
        }
    }

    /// The one `shortestPath()` whose path a condition is on.
    fn searched(&mut self, condition: &Expr) -> Option<usize> {
        let mut read = HashSet::new();
        condition.slots(&mut |slot| {
            read.insert(slot);
        });
        let path_of = |paths: &[(Slot, Expr)], edges: Slot| {
            let through = |e: &Expr| matches!(e, Expr::Path(slots) if slots.contains(&edges));
            paths.iter().position(|(_, e)| through(e))
        };
        let mut found = Vec::new();
        for (at, r) in self.relationships.iter().enumerate() {
            let shortest = r.length.as_ref().and_then(|length| length.shortest);
            let path = path_of(&self.paths, r.slot);
            let named = path.is_some_and(|path| read.contains(&self.paths[path].0));
            let of_path = |s: &Shortest| s.function && (named || read.contains(&r.slot));
            if let Some(shortest) = shortest.filter(of_path) {
                found.push((at, path, shortest));
            }
        }
        let searched = |s: &Selection| {
            let path = s.pattern.paths.iter().any(|(path, _)| read.contains(path));
            s.function && (path || read.contains(&s.slots[1]))
        };
        match (&found[..], self.selections.iter().position(searched)) {
            ([], known) => known,
            ([(at, path, shortest)], None) => {
                let (at, path, shortest) = (*at, *path, *shortest);
                let mut r = self.relationships.remove(at);
                let slots = vec![r.from, r.slot, r.to];
                if let Some(length) = &mut r.length {
                    length.shortest = None;
                }
                r.distinct = true;
                let paths = path.map(|path| self.paths.remove(path)).into_iter().collect();
                let count = Expr::Const(Value::Int(1));
                let groups = shortest.all;
                let relationships = vec![r];
                let pattern = Self { relationships, paths, ..Self::default() };
                let paths = Paths { count, groups };
                self.selections.push(Selection { pattern, slots, paths, function: true });
                Some(self.selections.len() - 1)
            }
            // On several at once: tested when all are found.
            _ => None,
        }
    }
}

impl Binder<'_> {
    /// Which of the paths that match are wanted.
    pub(crate) fn wanted(&mut self, path: &Declared<'_>) -> Result<Option<Wanted>, QueryError> {
        let (count, groups) = match &path.path.search {
            PathSearch::All => return Ok(None),
            PathSearch::ShortestPath | PathSearch::AllShortestPaths => {
                let all = path.path.search == PathSearch::AllShortestPaths;
                return Ok(Some(Wanted::Simple(Shortest { all, function: true })));
            }
            PathSearch::Any(None) => (&Count::Literal(1), false),
            PathSearch::Any(Some(count)) | PathSearch::Shortest(count) => (count, false),
            PathSearch::AllShortest => (&Count::Literal(1), true),
            PathSearch::ShortestGroups(count) => (count, true),
        };
        let one = matches!(count, Count::Literal(1));
        let count = match count {
            Count::Literal(0) => {
                let message = "at least one path must be asked for";
                return Err(self.syntax("InvalidPathPattern", message, path.path.span));
            }
            Count::Literal(count) => {
                Expr::Const(Value::Int(i64::try_from(*count).unwrap_or(i64::MAX)))
            }
            Count::Parameter(name) => self.parameter(&name.text),
        };
        let simple = match &path.parts[..] {
            [_, (_, Part::Relationship(r, times)), _] => {
                path.filters.is_empty() && (r.length.is_some() || times.is_some())
            }
            // Of a node alone there is one path.
            [_] => return Ok(None),
            _ => false,
        };
        Ok(Some(match one && simple {
            true => Wanted::Simple(Shortest { all: groups, function: false }),
            false => Wanted::General(Paths { count, groups }),
        }))
    }
}
