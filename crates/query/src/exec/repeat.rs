//! Quantified path patterns: `((a)-[r:T]->(b) WHERE ...){1,3}`.
//!
//! Depth first over bundles of paths: the plan of one repetition runs for some hundred paths at
//! once, and what it finds is a bundle of paths that are one repetition longer. Cost: proportional
//! to the number of paths; memory to the length times what one bundle expands to. Where only the
//! shortest paths between two nodes are wanted it is breadth first, and a path that leads to a node
//! that shorter ones reached is given up: the cost is that of the edges, once for each depth.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use telar_graph::{EdgeId, Value, VertexId};

use super::branches::Branches;
use super::memory::Held;
use super::{Exec, Operator, Source, for_each};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::plan;
use crate::query_error::QueryError;

pub(crate) struct Repeat<'p> {
    input: Source<'p>,
    plan: &'p plan::Repeat,
    /// The rows searched from, and bundles of paths from them that may go on.
    state: Option<(Batch, Search)>,
    /// Bundles that may go on.
    held: Held,
    /// Nodes that were reached.
    reached: Held,
}

#[derive(Default)]
struct Search {
    open: VecDeque<Bundle>,
    /// Where only shortest paths are wanted: the nodes reached from each row, and how soon.
    reached: HashMap<(u32, VertexId), u64>,
    /// The same of rows from a node back to itself.
    branches: Branches,
}

/// Paths of so many repetitions, column by column.
struct Bundle {
    repetitions: u64,
    /// The row each began with.
    rows: Vec<u32>,
    ends: Vec<VertexId>,
    /// Lists of all relationships, then those of the variables.
    lists: Vec<Vec<Value>>,
}

impl Bundle {
    fn len(&self) -> usize {
        self.rows.len()
    }

    /// Leaves only these.
    fn keep(&mut self, kept: &[bool]) {
        fn only<T>(values: &mut Vec<T>, kept: &[bool]) {
            let mut kept = kept.iter();
            values.retain(|_| kept.next() == Some(&true));
        }
        only(&mut self.rows, kept);
        only(&mut self.ends, kept);
        self.lists.iter_mut().for_each(|list| only(list, kept));
    }

    /// Cuts off all but the first few.
    fn split_off(&mut self, at: usize) -> Self {
        Self {
            repetitions: self.repetitions,
            rows: self.rows.split_off(at),
            ends: self.ends.split_off(at),
            lists: self.lists.iter_mut().map(|list| list.split_off(at)).collect(),
        }
    }

    fn bytes(&self, plan: &plan::Repeat) -> usize {
        /// An element, and what a relationship takes beside it.
        const ELEMENT_BYTES: usize = size_of::<Value>() + 16 + size_of::<telar_graph::EdgeId>();
        let elements = self.repetitions as usize * (plan.relationships.len() + plan.lists.len());
        let lists = self.lists.len() * (size_of::<Value>() + 16);
        self.len() * (elements * ELEMENT_BYTES + lists + size_of::<(u32, VertexId)>())
    }
}

/// The list with more elements at its end, or before its start.
fn longer(list: &Value, more: impl Iterator<Item = Value>, before: bool) -> Value {
    let Value::List(list) = list else { unreachable!("INVARIANT: begun as a list") };
    let list = list.iter().cloned();
    Value::List(if before { more.chain(list).collect() } else { list.chain(more).collect() })
}

/// The relationship that a path begins with; a reversed one grows at its front.
fn first_edge(list: &Value, reversed: bool) -> EdgeId {
    let Value::List(list) = list else { unreachable!("INVARIANT: begun as a list") };
    match if reversed { list.last() } else { list.first() } {
        Some(Value::Edge(edge)) => **edge,
        _ => unreachable!("INVARIANT: a list of relationships, of one repetition at least"),
    }
}

impl<'p> Repeat<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Repeat) -> Self {
        let (held, reached) = (Held::of("Repeat"), Held::of("Repeat"));
        Self { input, plan, state: None, held, reached }
    }

    /// The paths without a repetition.
    fn begin(&self, rows: &Batch) -> Bundle {
        let starts = rows.column(self.plan.from);
        let start = |row: usize| Some((row as u32, starts.vertex(row)?));
        let (numbers, ends): (Vec<u32>, Vec<VertexId>) = (0..rows.rows()).filter_map(start).unzip();
        let empty = Value::List(Vec::new().into());
        let lists = vec![vec![empty; ends.len()]; 1 + self.plan.lists.len()];
        Bundle { repetitions: 0, rows: numbers, ends, lists }
    }

    /// The rows of the paths that are long enough and end where they should.
    fn accept(&self, rows: &Batch, bundle: &Bundle) -> Option<Batch> {
        let p = self.plan;
        if bundle.repetitions < p.min {
            return None;
        }
        let targets = p.into.then(|| rows.column(p.to));
        let fits = |at: &usize| {
            let end = Some(bundle.ends[*at]);
            targets.is_none_or(|targets| targets.vertex(bundle.rows[*at] as usize) == end)
        };
        let taken: Vec<usize> = (0..bundle.len()).filter(fits).collect();
        if taken.is_empty() {
            return None;
        }
        let numbers: Vec<u32> = taken.iter().map(|at| bundle.rows[*at]).collect();
        let mut out = rows.gather(&numbers);
        let slots = std::iter::once(p.edges).chain(p.lists.iter().map(|(_, list)| *list));
        for (slot, lists) in slots.zip(&bundle.lists) {
            out.set(slot, Column::Values(taken.iter().map(|at| lists[*at].clone()).collect()));
        }
        if !p.into {
            out.set(
                p.to,
                Column::from(taken.iter().map(|at| bundle.ends[*at]).collect::<Vec<_>>()),
            );
        }
        Some(out)
    }

    /// The paths of one more repetition.
    fn advance(
        &self,
        rows: &Batch,
        bundle: &Bundle,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Bundle>, QueryError> {
        let p = self.plan;
        let mut argument = rows.gather(&bundle.rows);
        argument.set(p.first, Column::from(bundle.ends.clone()));
        argument.set(p.edges, Column::Values(bundle.lists[0].clone()));
        argument.set(p.row, Column::numbers(bundle.len()));
        let mut longer_ones = Vec::new();
        for_each(&p.inner, &argument, cx, |found, cx| {
            cx.check_now()?;
            let numbers = found.column(p.row);
            let from = |at: usize| match numbers.get(at) {
                Value::Int(row) => row as usize,
                _ => unreachable!("INVARIANT: rows are numbered"),
            };
            let mut next = Bundle {
                repetitions: bundle.repetitions + 1,
                rows: Vec::with_capacity(found.rows()),
                ends: Vec::with_capacity(found.rows()),
                lists: vec![Vec::with_capacity(found.rows()); bundle.lists.len()],
            };
            let ends = found.column(p.last);
            for at in 0..found.rows() {
                let Some(end) = ends.vertex(at) else { continue };
                let from = from(at);
                next.rows.push(bundle.rows[from]);
                next.ends.push(end);
                let edges = p.relationships.iter().map(|slot| found.column(*slot).get(at));
                next.lists[0].push(longer(&bundle.lists[0][from], edges, p.reversed));
                for (i, (slot, _)) in p.lists.iter().enumerate() {
                    let one = std::iter::once(found.column(*slot).get(at));
                    next.lists[i + 1].push(longer(&bundle.lists[i + 1][from], one, p.reversed));
                }
            }
            longer_ones.push(next);
            Ok(())
        })?;
        Ok(longer_ones)
    }

    /// Goes on until some paths are found or none is left.
    fn search(
        &mut self,
        rows: &Batch,
        search: &mut Search,
        cx: &mut Exec<'_>,
    ) -> Result<Option<Batch>, QueryError> {
        let p = self.plan;
        let breadth_first = p.shortest.is_some();
        loop {
            let open = &mut search.open;
            let next = if breadth_first { open.pop_front() } else { open.pop_back() };
            let Some(mut bundle) = next else { return Ok(None) };
            cx.check()?;
            self.held.shrink(bundle.bytes(p));
            if bundle.len() > BATCH_ROWS / 4 {
                let rest = bundle.split_off(BATCH_ROWS / 4);
                self.held.grow(rest.bytes(p), cx)?;
                if breadth_first { open.push_front(rest) } else { open.push_back(rest) }
            }
            let length = bundle.repetitions * p.relationships.len() as u64;
            let done = p.max.is_some_and(|max| bundle.repetitions >= max);
            if !done && cx.may_grow(length) {
                for mut longer in self.advance(rows, &bundle, cx)? {
                    if let Some(all) = p.shortest {
                        self.prune(rows, &mut longer, search, all);
                    }
                    if longer.len() > 0 {
                        self.held.grow(longer.bytes(p), cx)?;
                        search.open.push_back(longer);
                    }
                }
            }
            let reached = search.reached.capacity() * size_of::<((u32, VertexId), u64)>();
            self.reached.set(reached * 8 / 7 + search.branches.bytes(), cx)?;
            let accepted = self.accept(rows, &bundle);
            if accepted.is_some() {
                return Ok(accepted);
            }
        }
    }

    /// Gives up paths to nodes that shorter ones reached, and but for `all` those as short. From a
    /// node back to itself it depends on how they begin.
    fn prune(&self, rows: &Batch, bundle: &mut Bundle, search: &mut Search, all: bool) {
        let p = self.plan;
        let end = |slot: usize, row: u32| rows.column(slot).vertex(row as usize);
        let length = bundle.repetitions;
        let mut kept = Vec::with_capacity(bundle.len());
        for (at, (row, node)) in bundle.rows.iter().zip(&bundle.ends).enumerate() {
            if !p.into {
                kept.push(true);
                continue;
            }
            let reached = (*row, *node);
            if end(p.from, *row) == end(p.to, *row) {
                let first = first_edge(&bundle.lists[0][at], p.reversed);
                kept.push(search.branches.visit(reached, (first, length), 2, all));
                continue;
            }
            kept.push(match search.reached.entry(reached) {
                Entry::Vacant(entry) => {
                    entry.insert(length);
                    true
                }
                Entry::Occupied(entry) => all && *entry.get() == length,
            });
        }
        bundle.keep(&kept);
    }
}

impl Operator for Repeat<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let (rows, mut search) = match self.state.take() {
                Some(state) => state,
                None => {
                    let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                    let begun = self.begin(&rows);
                    self.held.set(begun.bytes(self.plan), cx)?;
                    let open = VecDeque::from([begun]);
                    (rows, Search { open, ..Search::default() })
                }
            };
            let found = self.search(&rows, &mut search, cx)?;
            if !search.open.is_empty() {
                self.state = Some((rows, search));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}
