//! Operators that find nodes: by scan, through an index, by number.

use std::collections::{HashSet, VecDeque};
use std::ops;

use telar_graph::update::IndexedObjects;
use telar_graph::{IndexRange, Value, VertexId};

use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// Each of `rows` with its part of `found`, as one batch: row number and vertex in step.
fn joined(rows: &Batch, numbers: &[u32], slot: usize, found: Vec<VertexId>) -> Batch {
    let mut out = rows.gather(numbers);
    out.set(slot, Column::Vertices(found));
    out
}

/// Every node, or every node with a label, for each row of the input.
pub(crate) struct NodeScan<'p> {
    input: Source<'p>,
    plan: &'p plan::NodeScan,
    /// The rows being joined, which of them comes next, and up to where its scan is.
    state: Option<(Batch, usize, u64)>,
}

impl<'p> NodeScan<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::NodeScan) -> Self {
        Self { input, plan, state: None }
    }
}

impl Operator for NodeScan<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        /// Vertex numbers looked at in one step.
        const STEP: u64 = 4096;
        loop {
            let (rows, row, from) = match self.state.take() {
                Some(state) => state,
                None => match self.input.next(cx)? {
                    Some(rows) => (rows, 0, 0),
                    None => return Ok(None),
                },
            };
            cx.check()?;
            let graph = cx.graph();
            let label = self.plan.label.as_deref().map(|name| graph.find_label(name));
            let bound = match label {
                // Nothing ever had this label.
                Some(None) => 0,
                _ => graph.vertex_bound().get(),
            };
            let mut found = Vec::new();
            let mut at = from;
            while at < bound && found.len() < BATCH_ROWS {
                let to = bound.min(at + STEP);
                let range = (VertexId::from_raw(at), VertexId::from_raw(to));
                graph.scan(label.flatten(), range.0, range.1, &mut found);
                at = to;
            }
            if at < bound {
                self.state = Some((rows.clone(), row, at));
            } else if row + 1 < rows.rows() {
                self.state = Some((rows.clone(), row + 1, 0));
            }
            if !found.is_empty() {
                let numbers = vec![row as u32; found.len()];
                return Ok(Some(joined(&rows, &numbers, self.plan.slot, found)));
            }
        }
    }
}

/// The nodes that an index has for the key or range of each row.
pub(crate) struct IndexSeek<'p> {
    input: Source<'p>,
    plan: &'p plan::IndexSeek,
    ready: VecDeque<Batch>,
}

impl<'p> IndexSeek<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::IndexSeek) -> Self {
        Self { input, plan, ready: VecDeque::new() }
    }

    fn seek(
        &self,
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<(Vec<u32>, Vec<VertexId>), QueryError> {
        let p = self.plan;
        let mut prefix = Vec::new();
        for expr in &p.prefix {
            prefix.push(eval(expr, rows, cx)?);
        }
        let mut bound = |side: &Option<(crate::expr::Expr, bool)>| match side {
            Some((expr, inclusive)) => Ok(Some((eval(expr, rows, cx)?, *inclusive))),
            None => Ok::<_, QueryError>(None),
        };
        let (from, to) = (bound(&p.from)?, bound(&p.to)?);
        let graph = cx.graph();
        let index = graph.find_label(&p.label).and_then(|label| {
            let keys: Option<Vec<_>> = p.keys.iter().map(|k| graph.find_property_key(k)).collect();
            let objects = IndexedObjects::Vertices(label);
            let keys = keys?;
            let mut indexes = graph.readable_indexes().into_iter();
            Some((label, indexes.find(|i| i.objects == objects && i.properties == keys)))
        });
        let (mut numbers, mut found) = (Vec::new(), Vec::new());
        for row in 0..rows.rows() {
            let prefix: Vec<Value> = prefix.iter().map(|column| column.get(row)).collect();
            let side = |side: &Option<(std::sync::Arc<Column>, bool)>| match side {
                None => Some(ops::Bound::Unbounded),
                Some((column, _)) if column.is_null(row) => None,
                Some((column, true)) => Some(ops::Bound::Included(column.get(row))),
                Some((column, false)) => Some(ops::Bound::Excluded(column.get(row))),
            };
            // Null equals nothing and is below and above nothing.
            let (Some(from), Some(to)) = (side(&from), side(&to)) else { continue };
            if prefix.iter().any(Value::is_null) {
                continue;
            }
            let start = found.len();
            match &index {
                None => {}
                Some((_, Some(index))) => {
                    for prefix in alternatives(prefix, p.any)? {
                        let (from, to) = (from.clone(), to.clone());
                        let range = IndexRange { prefix, from, to, ..IndexRange::default() };
                        graph
                            .index_vertices(index.id, &range, &mut found)
                            .map_err(|e| QueryError::database(&e))?;
                    }
                }
                // The index was dropped since the plan was made. The conditions are tested anyway.
                Some((label, None)) => {
                    let bounds = (VertexId::from_raw(0), graph.vertex_bound());
                    graph.scan(Some(*label), bounds.0, bounds.1, &mut found);
                }
            }
            numbers.resize(numbers.len() + found.len() - start, row as u32);
        }
        Ok((numbers, found))
    }
}

/// The prefixes to be looked for: one, or one for each value in the list at its end, null left out.
fn alternatives(mut prefix: Vec<Value>, any: bool) -> Result<Vec<Vec<Value>>, QueryError> {
    if !any {
        return Ok(vec![prefix]);
    }
    let values = match prefix.pop() {
        Some(Value::List(values)) => values,
        Some(other) => return Err(QueryError::wrong_type("a list", &other, "IN")),
        None => return Ok(Vec::new()),
    };
    let mut seen: HashSet<&Value> = HashSet::new();
    let each = values.iter().filter(|value| !value.is_null() && seen.insert(*value));
    Ok(each.map(|value| prefix.iter().chain([value]).cloned().collect()).collect())
}

impl Operator for IndexSeek<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                return Ok(Some(batch));
            }
            let Some(rows) = self.input.next(cx)? else { return Ok(None) };
            cx.check()?;
            let (numbers, found) = self.seek(&rows, cx)?;
            for (numbers, found) in numbers.chunks(BATCH_ROWS).zip(found.chunks(BATCH_ROWS)) {
                self.ready.push_back(joined(&rows, numbers, self.plan.slot, found.to_vec()));
            }
        }
    }
}

/// The node whose number each row gives.
pub(crate) struct NodeById<'p> {
    input: Source<'p>,
    plan: &'p plan::NodeById,
}

impl<'p> NodeById<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::NodeById) -> Self {
        Self { input, plan }
    }
}

impl Operator for NodeById<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            let ids = eval(&self.plan.id, &rows, cx)?;
            let (mut numbers, mut found) = (Vec::new(), Vec::new());
            for row in 0..rows.rows() {
                let raw = match (ids.get(row), self.plan.element) {
                    (Value::Int(id), false) => u64::try_from(id).ok(),
                    (Value::String(id), true) => crate::result::vertex_of_element_id(&id),
                    _ => None,
                };
                let vertex = raw.map(VertexId::from_raw);
                if let Some(vertex) = vertex.filter(|v| cx.graph().labels(*v).is_some()) {
                    numbers.push(row as u32);
                    found.push(vertex);
                }
            }
            if !found.is_empty() {
                return Ok(Some(joined(&rows, &numbers, self.plan.slot, found)));
            }
        }
        Ok(None)
    }
}
