//! Paths of several relationships: `-[:TYPE*1..3]->`.
//!
//! Depth first from each row's node, no relationship twice on a path. Cost: proportional to the
//! number of paths, which grows with the power of the length.

use std::borrow::Cow;
use std::sync::Arc;

use telar_graph::value::heap_bytes;
use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, ReadError, Value, VertexId};

use super::expand::{columns, edge_of, is_used};
use super::memory::Held;
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column};
use crate::exec::eval;
use crate::expr::Expr;
use crate::plan::{self, Way};
use crate::query_error::QueryError;

/// The relationships of `vertex` that a pattern may follow, with the node each leads to.
pub(crate) fn steps(
    vertex: VertexId,
    types: &[EdgeTypeId],
    way: Way,
    expansion: &mut Expansion,
    cx: &Exec<'_>,
) -> Result<Vec<(EdgeId, VertexId)>, ReadError> {
    let mut found = Vec::new();
    for ty in types {
        for direction in way.directions() {
            cx.graph().expand(&[vertex], *ty, *direction, expansion)?;
            for (neighbour, ordinal) in expansion.neighbours.iter().zip(&expansion.ordinals) {
                let again = *neighbour == vertex && *direction == Direction::In;
                if way == Way::Both && again {
                    continue;
                }
                found.push((edge_of(*ty, vertex, *neighbour, *ordinal, *direction), *neighbour));
            }
        }
    }
    Ok(found)
}

/// Of `found`, what satisfies a condition on the relationship in the given slot, beside the other
/// variables of a row.
pub(crate) fn satisfying(
    found: Vec<(EdgeId, VertexId)>,
    filter: Option<&(usize, Expr)>,
    rows: &Batch,
    row: usize,
    cx: &mut Exec<'_>,
) -> Result<Vec<(EdgeId, VertexId)>, QueryError> {
    let Some((slot, condition)) = filter else { return Ok(found) };
    if found.is_empty() {
        return Ok(found);
    }
    let mut candidates = rows.gather(&vec![row as u32; found.len()]);
    candidates.set(*slot, Column::from(found.iter().map(|(edge, _)| *edge).collect::<Vec<_>>()));
    let holds = eval::condition(condition, &candidates, cx)?;
    let holds = |at: &usize| holds.truth(*at) == Some(true);
    Ok((0..found.len()).filter(holds).map(|at| found[at]).collect())
}

pub(crate) struct VarExpand<'p> {
    input: Source<'p>,
    plan: &'p plan::VarExpand,
    state: Option<State<'p>>,
    expansion: Expansion,
    ramp: Ramp,
    /// What is still open, and what was found last.
    held: Held,
}

/// A search under way: the rows, the row searched from, and the path walked with, for each of its
/// nodes, the steps still to be taken.
struct State<'p> {
    rows: Batch,
    used: Vec<Arc<Column>>,
    types: Cow<'p, [EdgeTypeId]>,
    row: usize,
    path: Vec<EdgeId>,
    open: Vec<Vec<(EdgeId, VertexId)>>,
    /// Bytes of the steps.
    bytes: usize,
}

/// Bytes held that make it worth while to account for them.
const HELD_STEP: usize = 64 << 10;

impl State<'_> {
    fn push(&mut self, steps: Vec<(EdgeId, VertexId)>) {
        self.bytes += steps.capacity() * size_of::<(EdgeId, VertexId)>();
        self.open.push(steps);
    }

    fn pop(&mut self) {
        let steps = self.open.pop().unwrap_or_default();
        self.bytes -= steps.capacity() * size_of::<(EdgeId, VertexId)>();
    }
}

/// Paths found, one for each row of the output.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    paths: Vec<Value>,
    ends: Vec<VertexId>,
    /// Bytes of the paths.
    bytes: usize,
}

impl<'p> VarExpand<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::VarExpand, ramp: Ramp) -> Self {
        let (expansion, held) = (Expansion::default(), Held::of("VarExpand"));
        Self { input, plan, state: None, expansion, ramp, held }
    }

    fn accept(&self, state: &State<'_>, end: VertexId, found: &mut Found) {
        let p = self.plan;
        let length = state.path.len() as u64;
        let target = p.into.then(|| state.rows.column(p.to).vertex(state.row));
        if length < p.min || target.is_some_and(|target| target != Some(end)) {
            return;
        }
        found.rows.push(state.row as u32);
        if p.lists {
            let edges = state.path.iter().map(|edge| Value::from(*edge));
            let path = if p.reversed { edges.rev().collect() } else { edges.collect() };
            let path = Value::List(path);
            found.bytes += size_of::<Value>() + heap_bytes(&path);
            found.paths.push(path);
        }
        found.ends.push(end);
    }

    /// The steps from `vertex` that continue the path; none if it is long enough.
    fn open(
        &mut self,
        state: &State<'_>,
        vertex: VertexId,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<(EdgeId, VertexId)>, QueryError> {
        let p = self.plan;
        cx.check()?;
        if p.max.is_some_and(|max| state.path.len() as u64 >= max) {
            return Ok(Vec::new());
        }
        if !cx.may_grow(state.path.len() as u64) {
            return Ok(Vec::new());
        }
        let mut found = steps(vertex, &state.types, p.way, &mut self.expansion, cx)?;
        found.retain(|(e, _)| {
            (p.repeats || !state.path.contains(e)) && !is_used(*e, &state.used, state.row)
        });
        satisfying(found, p.filter.as_ref(), &state.rows, state.row, cx)
    }

    /// Goes on with the search until enough paths are found or the rows are done.
    fn search(&mut self, state: &mut State<'_>, cx: &mut Exec<'_>) -> Result<Found, QueryError> {
        let mut found = Found::default();
        let wanted = self.ramp.step();
        while found.rows.len() < wanted {
            let bytes = state.bytes + found.bytes;
            if bytes.abs_diff(self.held.bytes()) > HELD_STEP {
                self.held.set(bytes, cx)?;
            }
            match state.open.last_mut() {
                Some(steps) => match steps.pop() {
                    Some((edge, vertex)) => {
                        state.path.push(edge);
                        self.accept(state, vertex, &mut found);
                        let steps = self.open(state, vertex, cx)?;
                        state.push(steps);
                    }
                    None => {
                        state.pop();
                        state.path.pop();
                        if state.open.is_empty() {
                            state.row += 1;
                        }
                    }
                },
                None => {
                    if state.row == state.rows.rows() {
                        break;
                    }
                    let start = state.rows.column(self.plan.from).vertex(state.row);
                    let Some(start) = start else {
                        state.row += 1;
                        continue;
                    };
                    self.accept(state, start, &mut found);
                    let mut steps = self.open(state, start, cx)?;
                    // Popped from the back: the first step is taken first.
                    steps.reverse();
                    state.push(steps);
                }
            }
        }
        Ok(found)
    }

    /// Follows lists of relationships that are bound already.
    fn follow(&self, rows: &Batch, cx: &Exec<'_>) -> Found {
        let p = self.plan;
        let mut found = Found::default();
        for row in 0..rows.rows() {
            let (Some(start), Value::List(list)) =
                (rows.column(p.from).vertex(row), rows.column(p.edges).get(row))
            else {
                continue;
            };
            let length = list.len() as u64;
            if length < p.min || p.max.is_some_and(|max| length > max) {
                continue;
            }
            let mut at = Some(start);
            let forward: Vec<&Value> =
                if p.reversed { list.iter().rev().collect() } else { list.iter().collect() };
            for value in forward {
                let Value::Edge(edge) = value else {
                    at = None;
                    break;
                };
                at = match (at, p.way) {
                    (Some(v), Way::Out | Way::Both) if edge.src == v => Some(edge.dst),
                    (Some(v), Way::In | Way::Both) if edge.dst == v => Some(edge.src),
                    _ => None,
                };
            }
            let target = p.into.then(|| rows.column(p.to).vertex(row));
            let Some(end) = at.filter(|end| target.is_none_or(|t| t == Some(*end))) else {
                continue;
            };
            let types = p.types.ids(cx.graph());
            let typed = |v: &Value| matches!(v, Value::Edge(e) if types.contains(&e.ty));
            if list.iter().all(typed) {
                found.rows.push(row as u32);
                found.paths.push(Value::List(list.clone()));
                found.ends.push(end);
            }
        }
        found
    }

    fn output(&self, rows: &Batch, found: Found) -> Option<Batch> {
        if found.rows.is_empty() {
            return None;
        }
        let mut out = rows.gather(&found.rows);
        if !found.paths.is_empty() {
            out.set(self.plan.edges, Column::Values(found.paths));
        }
        if !self.plan.into {
            out.set(self.plan.to, Column::from(found.ends));
        }
        Some(out)
    }
}

impl Operator for VarExpand<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let mut state = match self.state.take() {
                Some(state) => state,
                None => {
                    let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                    if self.plan.bound {
                        let found = self.follow(&rows, cx);
                        match self.output(&rows, found) {
                            None => continue,
                            some => return Ok(some),
                        }
                    }
                    let used = columns(&rows, &self.plan.distinct_from);
                    let types = self.plan.types.ids(cx.graph());
                    State {
                        rows,
                        used,
                        types,
                        row: 0,
                        path: Vec::new(),
                        open: Vec::new(),
                        bytes: 0,
                    }
                }
            };
            let found = self.search(&mut state, cx)?;
            self.held.set(state.bytes + found.bytes, cx)?;
            let out = self.output(&state.rows, found);
            if state.row < state.rows.rows() {
                self.state = Some(state);
            }
            if out.is_some() {
                return Ok(out);
            }
        }
    }
}
