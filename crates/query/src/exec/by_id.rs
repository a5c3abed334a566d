//! Nodes and relationships whose ids are given.

use std::collections::VecDeque;

use telar_graph::{EdgeId, Graph, ReadError, Value, VertexId};

use super::eval::eval;
use super::expand::{columns, is_used};
use super::feed::Feed;
use super::memory::Held;
use super::relationship_seek::{Ends, Found};
use super::scan::joined;
use super::seek::MANY;
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch};
use crate::expr::Expr;
use crate::plan;
use crate::query_error::QueryError;
use crate::result::{edge_of_element_id, vertex_of_element_id};

/// A plan that says what is found by ids.
pub(crate) trait Ids: Sync {
    /// Identity of what is found.
    type Id: Copy + Ord;
    const NAME: &'static str;

    /// The ids of a row, and whether they are a list.
    fn ids(&self) -> (&Expr, bool);

    /// For a row of these and an id, what it names, if that is wanted.
    fn namer<'s>(
        &'s self,
        rows: &Batch,
        cx: &Exec<'_>,
    ) -> impl Fn(usize, &Value) -> Option<Self::Id> + use<'s, Self>;

    fn exist(graph: &dyn Graph, ids: &[Self::Id], out: &mut Vec<bool>) -> Result<(), ReadError>;

    /// Rows with these numbers, each with what was found for it.
    fn batch(&self, rows: &Batch, numbers: &[u32], found: &[Self::Id]) -> Batch;
}

impl Ids for plan::NodeById {
    type Id = VertexId;
    const NAME: &'static str = "NodeById";

    fn ids(&self) -> (&Expr, bool) {
        (&self.id, self.any)
    }

    fn namer<'s>(
        &'s self,
        _: &Batch,
        _: &Exec<'_>,
    ) -> impl Fn(usize, &Value) -> Option<VertexId> + use<'s> {
        |_, id| {
            let number = match (id, self.element) {
                (Value::Int(id), false) => u64::try_from(*id).ok(),
                // `1.0 = 1`; the condition itself is tested above.
                (Value::Float(id), false) => {
                    (*id >= 0.0 && id.fract() == 0.0).then_some(*id as u64)
                }
                (Value::String(id), true) => vertex_of_element_id(id),
                _ => None,
            };
            number.map(VertexId::from_raw)
        }
    }

    fn exist(graph: &dyn Graph, ids: &[VertexId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        graph.vertices_exist(ids, out)
    }

    fn batch(&self, rows: &Batch, numbers: &[u32], found: &[VertexId]) -> Batch {
        joined(rows, numbers, self.slot, found.to_vec())
    }
}

impl Ids for plan::RelationshipById {
    type Id = EdgeId;
    const NAME: &'static str = "RelationshipById";

    fn ids(&self) -> (&Expr, bool) {
        (&self.id, self.any)
    }

    fn namer<'s>(
        &'s self,
        rows: &Batch,
        cx: &Exec<'_>,
    ) -> impl Fn(usize, &Value) -> Option<EdgeId> + use<'s> {
        let used = columns(rows, &self.distinct_from);
        let types = self.types.ids(cx.graph());
        move |row, id| {
            let Value::String(id) = id else { return None };
            edge_of_element_id(id)
                .filter(|e| types.binary_search(&e.ty).is_ok() && !is_used(*e, &used, row))
        }
    }

    fn exist(graph: &dyn Graph, ids: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        graph.edges_exist(ids, out)
    }

    fn batch(&self, rows: &Batch, numbers: &[u32], found: &[EdgeId]) -> Batch {
        let ends = Ends { from: self.from, to: self.to, way: self.way };
        let mut both = Found::default();
        for (row, edge) in numbers.iter().zip(found) {
            both.add(*row, *edge, ends);
        }
        both.batch(rows, 0..both.len(), self.edge, ends)
    }
}

/// The elements whose place is true.
fn keep_marked<T>(all: &mut Vec<T>, marks: &[bool]) {
    let mut marks = marks.iter();
    all.retain(|_| marks.next() == Some(&true));
}

/// Nodes or relationships whose ids each row gives.
pub(crate) struct ById<'p, P> {
    input: Feed<'p>,
    plan: &'p P,
    ready: VecDeque<Batch>,
    /// Bytes of the batches that are ready.
    held: Held,
}

impl<'p, P: Ids> ById<'p, P> {
    pub(crate) fn new(input: Source<'p>, plan: &'p P) -> Self {
        Self { input: Feed::new(input), plan, ready: VecDeque::new(), held: Held::of(P::NAME) }
    }

    /// Finds what rows from this one on name, and says which row comes next.
    fn find(
        &mut self,
        (rows, from): (&Batch, usize),
        cx: &mut Exec<'_>,
    ) -> Result<usize, QueryError> {
        let (ids, any) = self.plan.ids();
        let ids = eval(ids, rows, cx)?;
        let name = self.plan.namer(rows, cx);
        let (mut numbers, mut found, mut next) = (Vec::new(), Vec::new(), from);
        while next < rows.rows() && found.len() < MANY {
            cx.check()?;
            found.append(&mut named(&ids.get(next), any, |id| name(next, id), cx)?);
            numbers.resize(found.len(), next as u32);
            next += 1;
        }
        let bytes = found.capacity() * (size_of::<P::Id>() + size_of::<u32>());
        self.held.set(bytes, cx)?;
        let mut exist = Vec::with_capacity(found.len());
        P::exist(cx.graph(), &found, &mut exist)?;
        keep_marked(&mut found, &exist);
        keep_marked(&mut numbers, &exist);
        for (numbers, found) in numbers.chunks(BATCH_ROWS).zip(found.chunks(BATCH_ROWS)) {
            cx.check()?;
            let out = self.plan.batch(rows, numbers, found);
            if out.rows() > 0 {
                self.held.grow(out.bytes(), cx)?;
                self.ready.push_back(out);
            }
        }
        self.held.shrink(bytes);
        Ok(next)
    }
}

/// Everything that an id, or a list of ids, names: each once.
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

impl<P: Ids> Operator for ById<'_, P> {
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
