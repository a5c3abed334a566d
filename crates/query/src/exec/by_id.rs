//! Nodes and relationships whose ids are given.

use std::collections::VecDeque;

use telar_graph::{EdgeId, EdgeTypeId, Value, VertexId};

use super::eval::eval;
use super::expand::{columns, is_used};
use super::feed::Feed;
use super::memory::Held;
use super::relationship_seek::{Ends, Found};
use super::scan::joined;
use super::seek::MANY;
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch};
use crate::plan;
use crate::query_error::QueryError;
use crate::result::{edge_of_element_id, vertex_of_element_id};

/// What the id of a row names, or the ids of its list: each once.
fn named<T: Ord>(
    id: &Value,
    any: bool,
    name: impl Fn(&Value) -> Option<T>,
    cx: &mut Exec<'_>,
) -> Result<Vec<T>, QueryError> {
    let mut found: Vec<T> = Vec::new();
    match id {
        Value::List(list) if any => {
            for (at, id) in list.iter().enumerate() {
                if at.is_multiple_of(BATCH_ROWS) {
                    cx.check()?;
                }
                found.extend(name(id));
            }
        }
        _ if any => {}
        id => found.extend(name(id)),
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

fn node(id: &Value, element: bool) -> Option<VertexId> {
    let number = match id {
        Value::Int(id) if !element => u64::try_from(*id).ok(),
        // `1.0 = 1`; the condition itself is tested above.
        Value::Float(id) if !element => (*id >= 0.0 && id.fract() == 0.0).then_some(*id as u64),
        Value::String(id) if element => vertex_of_element_id(id),
        _ => None,
    };
    number.map(VertexId::from_raw)
}

fn relationship(id: &Value) -> Option<EdgeId> {
    match id {
        Value::String(id) => edge_of_element_id(id),
        _ => None,
    }
}

/// The elements whose place is true.
fn keep_marked<T>(all: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    all.retain(|_| marks.next() == Some(&true));
}

/// The nodes whose ids each row gives.
pub(crate) struct NodeById<'p> {
    input: Feed<'p>,
    plan: &'p plan::NodeById,
    ready: VecDeque<Batch>,
    /// What is ready.
    held: Held,
}

impl<'p> NodeById<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::NodeById) -> Self {
        let input = Feed::new(input);
        Self { input, plan, ready: VecDeque::new(), held: Held::of("NodeById") }
    }

    /// Finds the nodes for rows from this one on, and says which comes next.
    fn find(
        &mut self,
        (rows, from): (&Batch, usize),
        cx: &mut Exec<'_>,
    ) -> Result<usize, QueryError> {
        let plan = self.plan;
        let ids = eval(&plan.id, rows, cx)?;
        let (mut numbers, mut nodes, mut next) = (Vec::new(), Vec::new(), from);
        while next < rows.rows() && nodes.len() < MANY {
            cx.check()?;
            let name = |id: &Value| node(id, plan.element);
            nodes.append(&mut named(&ids.get(next), plan.any, name, cx)?);
            numbers.resize(nodes.len(), next as u32);
            next += 1;
        }
        self.held.set(nodes.capacity() * (size_of::<VertexId>() + size_of::<u32>()), cx)?;
        let mut exist = Vec::with_capacity(nodes.len());
        cx.graph().vertices_exist(&nodes, &mut exist)?;
        keep_marked(&mut nodes, &exist);
        keep_marked(&mut numbers, &exist);
        for (numbers, nodes) in numbers.chunks(BATCH_ROWS).zip(nodes.chunks(BATCH_ROWS)) {
            cx.check()?;
            let out = joined(rows, numbers, plan.slot, nodes.to_vec());
            self.held.grow(out.bytes(), cx)?;
            self.ready.push_back(out);
        }
        Ok(next)
    }
}

impl Operator for NodeById<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.held.shrink(batch.bytes());
                return Ok(Some(batch));
            }
            let Some((rows, from)) = self.input.next(cx)? else { return Ok(None) };
            let next = self.find((&rows, from), cx)?;
            self.input.keep(rows, next);
        }
    }
}

/// The relationships whose element ids each row gives.
pub(crate) struct RelationshipById<'p> {
    input: Feed<'p>,
    plan: &'p plan::RelationshipById,
    ready: VecDeque<Batch>,
    /// What is ready.
    held: Held,
}

impl<'p> RelationshipById<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::RelationshipById) -> Self {
        let input = Feed::new(input);
        Self { input, plan, ready: VecDeque::new(), held: Held::of("RelationshipById") }
    }

    /// Finds the relationships for rows from this one on, and says which comes next.
    fn find(
        &mut self,
        (rows, from): (&Batch, usize),
        cx: &mut Exec<'_>,
    ) -> Result<usize, QueryError> {
        let plan = self.plan;
        let ids = eval(&plan.id, rows, cx)?;
        let used = columns(rows, &plan.distinct_from);
        let types = plan.types.ids(cx.graph());
        let has_type = |ty: &EdgeTypeId| types.binary_search(ty).is_ok();
        let (mut numbers, mut edges, mut next) = (Vec::new(), Vec::new(), from);
        while next < rows.rows() && edges.len() < MANY {
            cx.check()?;
            let mut named = named(&ids.get(next), plan.any, relationship, cx)?;
            named.retain(|edge| has_type(&edge.ty) && !is_used(*edge, &used, next));
            edges.append(&mut named);
            numbers.resize(edges.len(), next as u32);
            next += 1;
        }
        self.held.set(edges.capacity() * (size_of::<EdgeId>() + size_of::<u32>()), cx)?;
        let mut exist = Vec::with_capacity(edges.len());
        cx.graph().edges_exist(&edges, &mut exist)?;
        keep_marked(&mut edges, &exist);
        keep_marked(&mut numbers, &exist);
        let ends = Ends { from: plan.from, to: plan.to, way: plan.way };
        for (numbers, edges) in numbers.chunks(BATCH_ROWS).zip(edges.chunks(BATCH_ROWS)) {
            cx.check()?;
            let mut found = Found::default();
            for (row, edge) in numbers.iter().zip(edges) {
                found.add(*row, *edge, ends);
            }
            if !found.is_empty() {
                let out = found.batch(rows, 0..found.len(), plan.edge, ends);
                self.held.grow(out.bytes(), cx)?;
                self.ready.push_back(out);
            }
        }
        Ok(next)
    }
}

impl Operator for RelationshipById<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.held.shrink(batch.bytes());
                return Ok(Some(batch));
            }
            let Some((rows, from)) = self.input.next(cx)? else { return Ok(None) };
            let next = self.find((&rows, from), cx)?;
            self.input.keep(rows, next);
        }
    }
}
