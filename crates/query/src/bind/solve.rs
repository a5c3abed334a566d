//! In which order the parts of a pattern are found.
//!
//! Greedy: conditions as soon as they can be tested; relationships between two known nodes; then
//! from a known node to an unknown one; and only where nothing is known a new node, by number,
//! index, label or scan, in this order of preference.

use std::collections::HashSet;
use std::sync::Arc;

use telar_graph::update::{IndexedObjects, ReadableIndex};

use super::Binder;
use super::group::Group;
use super::pattern::{Length, Pattern, Relationship};
use super::select::Selection;
use crate::batch::Slot;
use crate::expr::{Binary, Expr, GraphFunction, Labels};
use crate::plan::{
    Expand, IndexSeek, NodeById, NodeScan, Plan, Repeat, Select, ShortestPath, Types, VarExpand,
    Way,
};

/// A pattern being solved.
struct Solver<'b, 'a> {
    binder: &'b mut Binder<'a>,
    plan: Plan,
    bound: HashSet<Slot>,
    pattern: Pattern,
    /// Relationships found so far that others may have to differ from.
    found: Vec<(Slot, Types)>,
}

impl Binder<'_> {
    /// The plan that finds `pattern` for each row of `input`, in which `bound` are known.
    pub(crate) fn solve(
        &mut self,
        input: Plan,
        bound: impl IntoIterator<Item = Slot>,
        pattern: Pattern,
    ) -> Plan {
        self.solve_after(input, bound.into_iter().collect(), Vec::new(), pattern)
    }

    /// As [`solve`](Self::solve), where relationships must differ from those found before.
    fn solve_after(
        &mut self,
        input: Plan,
        bound: HashSet<Slot>,
        found: Vec<(Slot, Types)>,
        pattern: Pattern,
    ) -> Plan {
        let mut solver = Solver { binder: self, plan: input, bound, pattern, found };
        solver.run();
        solver.plan
    }
}

/// Whether a relationship can be of both.
fn overlap(a: &Types, b: &Types) -> bool {
    match (a, b) {
        (Types::Of(a), Types::Of(b)) => a.iter().any(|name| b.contains(name)),
        _ => true,
    }
}

impl Solver<'_, '_> {
    fn wrap(&mut self, f: impl FnOnce(Plan) -> Plan) {
        let plan = std::mem::replace(&mut self.plan, Plan::Unit);
        self.plan = f(plan);
    }

    fn run(&mut self) {
        self.test_known_nodes();
        loop {
            self.test_conditions();
            if let Some(at) = self.next_relationship() {
                let relationship = self.pattern.relationships.remove(at);
                self.follow(relationship);
            } else if let Some(at) = self.next_selection() {
                let selection = self.pattern.selections.remove(at);
                self.select(selection);
            } else if let Some(node) = self.next_node() {
                self.find_node(node);
            } else if let Some(relationship) = self.pattern.relationships.pop() {
                // Its condition names what only it would bind: evaluating that says so.
                self.follow(relationship);
            } else if let Some(selection) = self.pattern.selections.pop() {
                self.select(selection);
            } else {
                break;
            }
        }
        let paths = std::mem::take(&mut self.pattern.paths);
        if !paths.is_empty() {
            self.bound.extend(paths.iter().map(|(slot, _)| *slot));
            self.wrap(|plan| Plan::Extend(Box::new(plan), paths));
        }
        self.test_conditions();
        // What is left names variables of no row; evaluating it says so.
        for condition in std::mem::take(&mut self.pattern.conditions) {
            self.wrap(|plan| Plan::Filter(Box::new(plan), condition));
        }
    }

    /// A node that is known already may be null, which matches nothing. Relationships that begin at
    /// it see to that themselves.
    fn test_known_nodes(&mut self) {
        let pattern = &self.pattern;
        let touched = |node: Slot| {
            pattern.relationships.iter().any(|r| r.from == node || r.to == node)
                || pattern.selections.iter().any(|s| s.slots.contains(&node))
        };
        let alone = |node: &Slot| self.knows(*node) && !touched(*node);
        let tests: Vec<Expr> = (pattern.nodes.iter().copied().filter(alone))
            .map(|node| Expr::IsNull(Box::new(Expr::Slot(node)), true))
            .collect();
        self.pattern.conditions.extend(tests);
    }

    /// Tests every condition that can be.
    fn test_conditions(&mut self) {
        let conditions = std::mem::take(&mut self.pattern.conditions);
        let bound = &self.bound;
        let (ready, left): (Vec<Expr>, Vec<Expr>) =
            conditions.into_iter().partition(|c| c.is_bound(&|slot| bound.contains(&slot)));
        self.pattern.conditions = left;
        if !ready.is_empty() {
            self.wrap(|plan| Plan::Filter(Box::new(plan), Expr::all(ready)));
        }
    }

    fn knows(&self, slot: Slot) -> bool {
        self.bound.contains(&slot)
    }

    /// The relationship to be followed next: one between two known nodes, else one from a known
    /// node, or known itself.
    fn next_relationship(&self) -> Option<usize> {
        let relationships = &self.pattern.relationships;
        let both = |r: &Relationship| self.knows(r.from) && self.knows(r.to);
        // A condition on each relationship of a list is tested on the way.
        let ready = |r: &Relationship| match r.length.as_ref().and_then(|l| l.filter.as_ref()) {
            Some((each, condition)) => {
                condition.is_bound(&|slot| slot == *each || self.knows(slot))
            }
            None => true,
        };
        let both = |r: &Relationship| both(r) && ready(r);
        let one = |r: &Relationship| {
            let needs_both = r.length.as_ref().is_some_and(|l| l.shortest.is_some());
            let known = r.bound && r.length.is_none();
            !needs_both && ready(r) && (known || self.knows(r.from) || self.knows(r.to))
        };
        // Several steps may find very much: single ones come first.
        let single = |r: &Relationship| one(r) && r.length.is_none() && r.group.is_none();
        let position = |f: &dyn Fn(&Relationship) -> bool| relationships.iter().position(f);
        position(&both).or_else(|| position(&single)).or_else(|| position(&one))
    }

    fn follow(&mut self, r: Relationship) {
        if r.bound && r.length.is_none() {
            return self.follow_known(r);
        }
        let distinct_from: Vec<Slot> = match r.distinct {
            true => {
                let clash = |(_, types): &&(Slot, Types)| overlap(types, &r.types);
                self.found.iter().filter(clash).map(|(slot, _)| *slot).collect()
            }
            false => Vec::new(),
        };
        let forward = self.knows(r.from);
        let (from, to, way) = match forward {
            true => (r.from, r.to, r.way),
            false => (r.to, r.from, r.way.reverse()),
        };
        let into = self.knows(to);
        if r.distinct {
            self.found.push((r.slot, r.types.clone()));
        }
        let (slot, types) = (r.slot, r.types);
        if let Some(group) = r.group {
            self.repeat(*group, slot, (from, to), forward);
            return;
        }
        match r.length {
            None => self.wrap(|input| {
                let (edge, keeps_edge) = (slot, true);
                Plan::Expand(Box::new(Expand {
                    input,
                    from,
                    to,
                    into,
                    edge,
                    keeps_edge,
                    kept: None,
                    types,
                    way,
                    distinct_from,
                }))
            }),
            Some(Length { min, max, filter, shortest: Some(shortest), .. }) => self.wrap(|input| {
                let all = shortest.all;
                let edges = slot;
                let p = ShortestPath { input, from, to, edges, types, way, min, max, filter, all };
                Plan::ShortestPath(Box::new(p))
            }),
            Some(Length { min, max, filter, repeats, shortest: None }) => {
                // Where several ends meet, a loop returns to its own start: `(a)-[*]->(a)`.
                let bound = r.bound;
                self.wrap(|input| {
                    let reversed = !forward;
                    let edges = slot;
                    Plan::VarExpand(Box::new(VarExpand {
                        input,
                        from,
                        to,
                        into,
                        edges,
                        lists: true,
                        reversed,
                        types,
                        way,
                        min,
                        max,
                        filter,
                        distinct_from,
                        repeats,
                        bound,
                    }))
                });
            }
        }
        self.bound.extend([slot, to]);
    }

    /// Follows a path that is repeated, from a known node on.
    fn repeat(&mut self, group: Group, edges: Slot, (from, to): (Slot, Slot), forward: bool) {
        let Group { pattern, first, last, relationships, lists, min, max, shortest } = group;
        let (first, last) = if forward { (first, last) } else { (last, first) };
        let mut bound = self.bound.clone();
        bound.insert(first);
        // The list of what earlier repetitions found is one of those to differ from.
        let found = self.found.clone();
        let inner = self.binder.solve_after(Plan::Argument, bound, found, pattern);
        let row = self.binder.new_slot();
        let into = self.knows(to);
        self.bound.extend([edges, to]);
        self.bound.extend(lists.iter().map(|(_, list)| *list));
        let reversed = !forward;
        self.wrap(|input| {
            Plan::Repeat(Box::new(Repeat {
                input,
                inner,
                row,
                from,
                to,
                into,
                first,
                last,
                relationships,
                edges,
                lists,
                reversed,
                min,
                max,
                shortest: shortest.map(|shortest| shortest.all),
            }))
        });
    }

    fn next_selection(&self) -> Option<usize> {
        let nodes = &self.pattern.nodes;
        let ready = |s: &Selection| s.is_ready(nodes, &|slot| self.knows(slot));
        self.pattern.selections.iter().position(ready)
    }

    /// Finds paths between two known nodes and takes as many as are wanted.
    fn select(&mut self, selection: Selection) {
        let (from, to) = selection.ends();
        let Selection { pattern, slots, paths, .. } = selection;
        let bound = self.bound.iter().copied().chain([from, to]);
        let inner = self.binder.solve(Plan::Argument, bound.collect::<Vec<_>>(), pattern);
        let mut own = Vec::new();
        inner.own_slots(&mut own);
        self.bound.extend(own);
        self.wrap(|input| Plan::Select(Box::new(Select { input, inner, slots, paths })));
    }

    /// A relationship that is known already: its nodes are what it connects.
    fn follow_known(&mut self, r: Relationship) {
        let ends = |f| Expr::GraphFunction(f, vec![Expr::Slot(r.slot)]);
        let (start, end) = (ends(GraphFunction::StartNode), ends(GraphFunction::EndNode));
        if !self.knows(r.from) && !self.knows(r.to) {
            let first = match r.way {
                Way::Out => Expr::List(vec![start]),
                Way::In => Expr::List(vec![end]),
                // A loop has one node: it is met once.
                Way::Both => {
                    let one = Expr::List(vec![start.clone()]);
                    let both = Expr::List(vec![start.clone(), end.clone()]);
                    let same = Expr::Binary(Binary::Equal, Box::new(start), Box::new(end));
                    let branches = vec![(same, one)];
                    let default = both;
                    let operand = None;
                    Expr::Case(Box::new(crate::expr::Case { branches, default, operand }))
                }
            };
            let from = r.from;
            self.wrap(|plan| Plan::Unwind(Box::new(plan), from, first));
            self.bound.insert(from);
        }
        let edge = self.binder.new_slot();
        let known = r.slot;
        self.follow(Relationship { slot: edge, bound: false, ..r });
        let (a, b) = (Box::new(Expr::Slot(edge)), Box::new(Expr::Slot(known)));
        let same = Expr::Binary(Binary::Equal, a, b);
        self.wrap(|plan| Plan::Filter(Box::new(plan), same));
    }

    /// The labels that conditions ask of a node.
    fn labels_of(&self, node: Slot) -> Vec<Arc<str>> {
        fn names(labels: &Labels, out: &mut Vec<Arc<str>>) {
            match labels {
                Labels::Name(name) => out.push(name.clone()),
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

    /// A condition on a property of a node, as `property op value` with a known value.
    fn comparison(&self, condition: &Expr, node: Slot) -> Option<(Binary, Arc<str>, Expr)> {
        let Expr::Binary(op, left, right) = condition else { return None };
        let mirrored = match op {
            Binary::Equal => Some(Binary::Equal),
            Binary::Less => Some(Binary::Greater),
            Binary::LessOrEqual => Some(Binary::GreaterOrEqual),
            Binary::Greater => Some(Binary::Less),
            Binary::GreaterOrEqual => Some(Binary::LessOrEqual),
            Binary::In => None,
            _ => return None,
        };
        let sides = [(Some(*op), left, right), (mirrored, right, left)];
        sides.into_iter().find_map(|(op, property, value)| {
            let Expr::Property(object, key) = &**property else { return None };
            let of_node = matches!(**object, Expr::Slot(slot) if slot == node);
            let known = value.is_bound(&|slot| self.knows(slot));
            (of_node && known).then(|| Some((op?, key.clone(), (**value).clone()))).flatten()
        })
    }

    /// `x.a = 1 AND .. OR x.a = 2 AND ..` as `x.a IN [1, 2]`.
    fn alternatives(&self, parts: &[Expr], node: Slot) -> Vec<(Binary, Arc<str>, Expr)> {
        let equalities = |part: &Expr| -> Vec<(Arc<str>, Expr)> {
            let conjuncts = super::subquery::conjuncts(part.clone());
            let equal = conjuncts.iter().filter_map(|c| self.comparison(c, node));
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

    /// What conditions say of a property of a node, as `property op value` with a known value.
    fn comparisons(&self, node: Slot) -> Vec<(Binary, Arc<str>, Expr)> {
        let mut found = Vec::new();
        for condition in &self.pattern.conditions {
            match condition {
                Expr::Or(parts) => found.extend(self.alternatives(parts, node)),
                _ => found.extend(self.comparison(condition, node)),
            }
        }
        found
    }

    /// The number that a condition gives a node: the value, and whether it is an element id.
    fn id_of(&self, node: Slot) -> Option<(Expr, bool)> {
        self.pattern.conditions.iter().find_map(|condition| {
            let Expr::Binary(Binary::Equal, left, right) = condition else { return None };
            [(left, right), (right, left)].into_iter().find_map(|(id, value)| {
                let Expr::GraphFunction(function, arguments) = &**id else { return None };
                let element = match function {
                    GraphFunction::Id => false,
                    GraphFunction::ElementId => true,
                    _ => return None,
                };
                let of_node = matches!(arguments[..], [Expr::Slot(slot)] if slot == node);
                let known = value.is_bound(&|slot| self.knows(slot));
                (of_node && known).then(|| ((**value).clone(), element))
            })
        })
    }

    /// The index that serves the conditions on a node best.
    fn index_for(&self, node: Slot) -> Option<(Arc<str>, ReadableIndex)> {
        let comparisons = self.comparisons(node);
        if comparisons.is_empty() {
            return None;
        }
        let graph = self.binder.graph;
        let compared = |op: Binary, index: &ReadableIndex, at: usize| {
            let key = index.properties.get(at);
            comparisons
                .iter()
                .any(|(o, name, _)| *o == op && graph.find_property_key(name).as_ref() == key)
        };
        let mut best: Option<(usize, Arc<str>, ReadableIndex)> = None;
        for label in self.labels_of(node) {
            let Some(id) = graph.find_label(&label) else { continue };
            for index in graph.readable_indexes() {
                if index.objects != IndexedObjects::Vertices(id) {
                    continue;
                }
                let equal = (0..index.properties.len())
                    .take_while(|at| compared(Binary::Equal, &index, *at))
                    .count();
                let ranges =
                    [Binary::Less, Binary::LessOrEqual, Binary::Greater, Binary::GreaterOrEqual];
                let range = ranges.iter().any(|op| compared(*op, &index, equal));
                let any = usize::from(compared(Binary::In, &index, equal));
                let score = if index.unique && equal + any == index.properties.len() {
                    1000 - any
                } else {
                    3 * equal + 2 * any + usize::from(range && any == 0)
                };
                if score > best.as_ref().map_or(0, |(score, ..)| *score) {
                    best = Some((score, label.clone(), index));
                }
            }
        }
        best.map(|(_, label, index)| (label, index))
    }

    /// The unknown node to be found next.
    fn next_node(&self) -> Option<Slot> {
        let unknown = self.pattern.nodes.iter().copied().filter(|node| !self.knows(*node));
        let rank = |node: &Slot| {
            if self.id_of(*node).is_some() {
                0
            } else if let Some((_, index)) = self.index_for(*node) {
                if index.unique { 1 } else { 2 }
            } else if !self.labels_of(*node).is_empty() {
                3
            } else {
                4
            }
        };
        unknown.min_by_key(rank)
    }

    fn find_node(&mut self, slot: Slot) {
        if let Some((id, element)) = self.id_of(slot) {
            self.wrap(|input| Plan::NodeById(Box::new(NodeById { input, slot, id, element })));
        } else if let Some((label, index)) = self.index_for(slot) {
            self.seek(slot, label, &index);
        } else {
            let label = self.labels_of(slot).into_iter().next();
            self.wrap(|input| Plan::NodeScan(Box::new(NodeScan { input, slot, label })));
        }
        self.bound.insert(slot);
    }

    fn seek(&mut self, slot: Slot, label: Arc<str>, index: &ReadableIndex) {
        let comparisons = self.comparisons(slot);
        let names = self.binder.graph.property_key_names();
        let keys: Vec<Arc<str>> = index
            .properties
            .iter()
            .map(|key| names[usize::from(key.get())].as_str().into())
            .collect();
        let value = |op: Binary, key: &Arc<str>| {
            comparisons.iter().find(|(o, k, _)| *o == op && k == key).map(|(_, _, v)| v.clone())
        };
        let mut prefix: Vec<Expr> =
            keys.iter().map_while(|key| value(Binary::Equal, key)).collect();
        let list = keys.get(prefix.len()).and_then(|key| value(Binary::In, key));
        let any = list.is_some();
        prefix.extend(list);
        let (mut from, mut to) = (None, None);
        if let Some(key) = keys.get(prefix.len()).filter(|_| !any) {
            from = value(Binary::Greater, key).map(|v| (v, false));
            from = from.or_else(|| value(Binary::GreaterOrEqual, key).map(|v| (v, true)));
            to = value(Binary::Less, key).map(|v| (v, false));
            to = to.or_else(|| value(Binary::LessOrEqual, key).map(|v| (v, true)));
        }
        self.wrap(|input| {
            let seek = IndexSeek { input, slot, label, keys, prefix, any, from, to };
            Plan::IndexSeek(Box::new(seek))
        });
    }
}
