//! How many relationships an expansion would find, without finding them.
//!
//! Where only those count that lead to a label, and every relationship of their types does, degrees
//! are enough as well. That is so if all nodes have the label; otherwise it is seen by adding up
//! the degrees of all nodes that have it, which is done when rows enough have come to pay for it.
//!
//! What a row has used already is not counted, as an expansion would not find it; a loop, which is
//! in both lists of its node, is one relationship. Relationships to a node that is excluded
//! (`a <> b`) are looked for and taken off.

use std::collections::HashMap;
use std::sync::Arc;

use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, Graph, LabelId, ReadError, Value, VertexId,
};

use super::count_store::each_step;
use super::expand::{columns, is_used};
use super::{Access, Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::error::{Detail, EvalError};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

/// Rows whose neighbours are looked at together.
const STEP: usize = BATCH_ROWS / 4;

/// Whether an edge is among those of a node that a way leads along.
pub(super) fn leads(edge: EdgeId, from: VertexId, types: &[EdgeTypeId], way: Way) -> bool {
    let ends = match way {
        Way::Out => edge.src == from,
        Way::In => edge.dst == from,
        Way::Both => edge.src == from || edge.dst == from,
    };
    ends && types.contains(&edge.ty)
}

/// The relationships that a row has used, each once, in `out`.
pub(super) fn used_edges(used: &[Arc<Column>], row: usize, out: &mut Vec<EdgeId>) {
    out.clear();
    let mut add = |edge: EdgeId| {
        if !out.contains(&edge) {
            out.push(edge);
        }
    };
    for column in used {
        match column.edges() {
            Some(edges) => add(edges[row]),
            None => match column.get(row) {
                Value::Edge(edge) => add(*edge),
                Value::List(list) => {
                    let edges = list.iter().filter_map(|value| match value {
                        Value::Edge(edge) => Some(**edge),
                        _ => None,
                    });
                    edges.for_each(&mut add);
                }
                _ => {}
            },
        }
    }
}

/// What is known of the nodes that relationships of some types lead to.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Rows that were counted before anything was known.
    rows: u64,
    /// Whether all of them have the label.
    all_labelled: Option<bool>,
}

/// The same by operator of the plan.
pub(super) type KnownEnds = HashMap<usize, Ends>;

/// Each row with a count, where that is not 0.
pub(crate) struct Degrees<'p> {
    input: Source<'p>,
    plan: &'p plan::Degrees,
    expansion: Expansion,
}

/// Nodes with the label for which one row pays: to look at the degree of each of them takes about
/// as long as to test the neighbours of one row.
const NODES_PER_ROW: u64 = 16;

impl<'p> Degrees<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Degrees) -> Self {
        Self { input, plan, expansion: Expansion::default() }
    }

    /// Whether every relationship of the types leads to a node with the label: then the nodes that
    /// have it have all of them. Looked at once in a query, when it pays; false until then.
    fn all_lead_to(
        &self,
        label: LabelId,
        rows: usize,
        types: &[EdgeTypeId],
        cx: &mut Exec<'_>,
    ) -> Result<bool, QueryError> {
        // What is true now need not be true after a write.
        if !matches!(cx.graph, Access::Read(_)) {
            return Ok(false);
        }
        // The other threads of the query wait meanwhile for what they need as well.
        let ends = cx.ends();
        let mut ends = ends.lock();
        let ends = ends.entry(std::ptr::from_ref(self.plan).addr()).or_default();
        if let Some(known) = ends.all_labelled {
            return Ok(known);
        }
        ends.rows += rows as u64;
        let labelled = cx.graph().count_vertices(Some(label))?;
        if labelled.is_some() && labelled == cx.graph().count_vertices(None)? {
            ends.all_labelled = Some(true);
            return Ok(true);
        }
        match labelled {
            Some(nodes) if nodes <= ends.rows.saturating_mul(NODES_PER_ROW) => {}
            _ => return Ok(false),
        }
        let (mut all, mut degrees) = (true, Vec::new());
        for ty in types {
            for direction in self.plan.way.directions() {
                let mut found = 0;
                each_step(Some(label), cx, |graph, nodes| {
                    degrees.clear();
                    graph.degrees(nodes, *ty, direction.reverse(), &mut degrees)?;
                    found += degrees.iter().sum::<u64>();
                    Ok(())
                })?;
                all &= cx.graph().count_edges(*ty)? == Some(found);
            }
        }
        ends.all_labelled = Some(all);
        Ok(all)
    }

    /// The rows whose count is not 0, and their counts.
    fn count(
        &mut self,
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<(Vec<u32>, Vec<i64>), QueryError> {
        let p = self.plan;
        let sources = rows.column(p.from);
        let (mut places, mut vertices) = (Vec::new(), Vec::new());
        for row in 0..rows.rows() {
            if let Some(vertex) = sources.vertex(row) {
                places.push(row as u32);
                vertices.push(vertex);
            }
        }
        let types = p.types.ids(cx.graph());
        let mut label = None;
        if let Some(name) = &p.label {
            // Nothing leads to a node with a label that there is not.
            let Some(id) = name.find(cx.graph()) else {
                return Ok(match p.optional {
                    true => ((0..rows.rows() as u32).collect(), vec![1; rows.rows()]),
                    false => Default::default(),
                });
            };
            let all = self.all_lead_to(id, vertices.len(), &types, cx)?;
            label = Some(id).filter(|_| !all);
        }
        let graph = cx.graph();
        let have_label = |nodes: &[VertexId]| {
            let mut has = Vec::new();
            match label {
                Some(label) => graph.have_label(nodes, label, &mut has)?,
                None => has.resize(nodes.len(), true),
            }
            Ok::<_, ReadError>(has)
        };
        let mut counts = vec![0_u64; vertices.len()];
        let mut used = Vec::new();
        let left = p.scans && !graph.deleted_connected().is_empty();
        for ty in types.iter() {
            if left {
                self.add_left(&vertices, *ty, label, graph, &mut counts)?;
                continue;
            }
            for direction in p.way.directions() {
                self.add_degrees(&vertices, (*ty, *direction), label, graph, &mut counts)?;
            }
            if p.way == Way::Both {
                let loops: Vec<_> = vertices.iter().map(|v| (*v, *v)).collect();
                graph.edges_between(&loops, *ty, &mut self.expansion)?;
                let has = have_label(&vertices)?;
                for (at, count) in counts.iter_mut().enumerate() {
                    let loops = &self.expansion.offsets[at..at + 2];
                    if has[at] {
                        *count -= u64::from(loops[1] - loops[0]);
                    }
                }
            }
        }
        let columns = columns(rows, &p.distinct_from);
        if !columns.is_empty() {
            for ((count, vertex), row) in counts.iter_mut().zip(&vertices).zip(&places) {
                used_edges(&columns, *row as usize, &mut used);
                let leading = used.iter().filter(|edge| leads(**edge, *vertex, &types, p.way));
                let ends = leading.map(|e| if e.src == *vertex { e.dst } else { e.src });
                let has = have_label(&ends.collect::<Vec<_>>())?;
                *count -= has.iter().filter(|has| **has).count() as u64;
            }
        }
        if !p.except.is_empty() {
            self.take_off(rows, (&places, &vertices), (&types, label), graph, &mut counts)?;
        }
        if p.optional {
            let mut all = vec![1; rows.rows()];
            let found = places.iter().zip(counts);
            found.for_each(|(row, count)| all[*row as usize] = count.max(1) as i64);
            return Ok(((0..rows.rows() as u32).collect(), all));
        }
        let left = places.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        Ok(left.map(|(row, count)| (row, count as i64)).unzip())
    }

    /// Takes off what leads to nodes that are excluded, but for what the row has used, which is not
    /// counted anyway.
    fn take_off(
        &mut self,
        rows: &Batch,
        (places, vertices): (&[u32], &[VertexId]),
        (types, label): (&[EdgeTypeId], Option<LabelId>),
        graph: &dyn Graph,
        counts: &mut [u64],
    ) -> Result<(), ReadError> {
        let p = self.plan;
        let (excluded, used) = (columns(rows, &p.except), columns(rows, &p.distinct_from));
        let (mut at, mut pairs): (Vec<usize>, Vec<(VertexId, VertexId)>) = Default::default();
        for (place, (row, vertex)) in places.iter().zip(vertices).enumerate() {
            let row = *row as usize;
            if excluded.iter().any(|column| column.is_null(row)) {
                counts[place] = 0;
                continue;
            }
            let first = pairs.len();
            for node in excluded.iter().filter_map(|column| column.vertex(row)) {
                if !pairs[first..].contains(&(*vertex, node)) {
                    at.push(place);
                    pairs.push((*vertex, node));
                }
            }
        }
        let mut has = Vec::new();
        if let Some(label) = label {
            let ends: Vec<VertexId> = pairs.iter().map(|(_, node)| *node).collect();
            graph.have_label(&ends, label, &mut has)?;
        }
        for ty in types {
            for direction in p.way.directions() {
                if *direction == Direction::In {
                    pairs.iter_mut().for_each(|(from, to)| std::mem::swap(from, to));
                }
                self.find_between(&pairs, *ty, graph)?;
                let found = self.expansion.offsets.windows(2).zip(&pairs).zip(&at);
                for (number, ((ends, (src, dst)), place)) in found.enumerate() {
                    // A loop was found the other way already.
                    let twice = p.way == Way::Both && *direction == Direction::In && src == dst;
                    if twice || has.get(number).is_some_and(|has| !has) {
                        continue;
                    }
                    let ordinals = &self.expansion.ordinals[ends[0] as usize..ends[1] as usize];
                    let is_counted = |ordinal: &&u32| {
                        let edge = EdgeId { ty: *ty, src: *src, dst: *dst, ordinal: **ordinal };
                        !is_used(edge, &used, places[*place] as usize)
                    };
                    let fewer = ordinals.iter().filter(is_counted).count() as u64;
                    counts[*place] = counts[*place].saturating_sub(fewer);
                }
                if *direction == Direction::In {
                    pairs.iter_mut().for_each(|(from, to)| std::mem::swap(from, to));
                }
            }
        }
        Ok(())
    }

    /// Multiplies the counts of these rows by those that they have already.
    fn multiply(&self, rows: &Batch, places: &[u32], counts: &mut [i64]) -> Result<(), QueryError> {
        let Some(times) = self.plan.times else { return Ok(()) };
        let times = &**rows.column(times);
        for (row, count) in places.iter().zip(counts) {
            let more = match times.ints() {
                Some(times) => times[*row as usize],
                None => match times.get(*row as usize) {
                    Value::Int(times) => times,
                    _ => unreachable!("INVARIANT: a count is an integer"),
                },
            };
            let product = count.checked_mul(more);
            *count = product.ok_or_else(|| {
                EvalError::new(Detail::IntegerOverflow, "there are more rows than can be counted")
            })?;
        }
        Ok(())
    }

    /// The relationships of each pair, those that are left of deleted nodes included where they are
    /// counted.
    fn find_between(
        &mut self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        graph: &dyn Graph,
    ) -> Result<(), ReadError> {
        let found = &mut self.expansion;
        if !self.plan.scans || graph.deleted_connected().is_empty() {
            return graph.edges_between(pairs, ty, found);
        }
        let sources: Vec<VertexId> = pairs.iter().map(|(source, _)| *source).collect();
        let mut lists = Expansion::default();
        graph.expand_left(&sources, ty, Direction::Out, &mut lists)?;
        found.set_between(&lists, pairs);
        Ok(())
    }

    /// Adds up the relationships of a type, those that are left of deleted nodes included.
    fn add_left(
        &mut self,
        vertices: &[VertexId],
        ty: EdgeTypeId,
        label: Option<LabelId>,
        graph: &dyn Graph,
        counts: &mut [u64],
    ) -> Result<(), ReadError> {
        let (expansion, mut has) = (&mut self.expansion, Vec::new());
        for direction in self.plan.way.directions() {
            let twice = self.plan.way == Way::Both && *direction == Direction::In;
            for (vertices, counts) in vertices.chunks(STEP).zip(counts.chunks_mut(STEP)) {
                graph.expand_left(vertices, ty, *direction, expansion)?;
                has.clear();
                match label {
                    Some(label) => graph.have_label(&expansion.neighbours, label, &mut has)?,
                    None => has.resize(expansion.neighbours.len(), true),
                }
                for (at, (source, count)) in vertices.iter().zip(counts).enumerate() {
                    let list = expansion.offsets[at] as usize..expansion.offsets[at + 1] as usize;
                    // A loop is in both lists of its node.
                    let counted =
                        |i: &usize| has[*i] && !(twice && expansion.neighbours[*i] == *source);
                    *count += list.filter(counted).count() as u64;
                }
            }
        }
        Ok(())
    }

    /// Adds up the relationships in one list of each vertex: all, or those that lead to the label.
    fn add_degrees(
        &mut self,
        vertices: &[VertexId],
        (ty, direction): (EdgeTypeId, Direction),
        label: Option<LabelId>,
        graph: &dyn Graph,
        counts: &mut [u64],
    ) -> Result<(), ReadError> {
        let Some(label) = label else {
            let mut degrees = Vec::with_capacity(vertices.len());
            graph.degrees(vertices, ty, direction, &mut degrees)?;
            counts.iter_mut().zip(&degrees).for_each(|(count, degree)| *count += degree);
            return Ok(());
        };
        let (expansion, mut has) = (&mut self.expansion, Vec::new());
        // Few at a time: one of them may have very many neighbours.
        for (vertices, counts) in vertices.chunks(STEP).zip(counts.chunks_mut(STEP)) {
            graph.expand_ids(vertices, ty, direction, expansion)?;
            has.clear();
            graph.have_label(&expansion.neighbours, label, &mut has)?;
            for (count, at) in counts.iter_mut().zip(expansion.offsets.windows(2)) {
                let has = &has[at[0] as usize..at[1] as usize];
                *count += has.iter().filter(|has| **has).count() as u64;
            }
        }
        Ok(())
    }
}

impl Operator for Degrees<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(mut rows) = self.input.next(cx)? {
            cx.check()?;
            let (places, mut counts) = self.count(&rows, cx)?;
            self.multiply(&rows, &places, &mut counts)?;
            if !places.is_empty() {
                if let Some(kept) = &self.plan.kept {
                    rows.retain(kept);
                }
                let mut out = match places.len() == rows.rows() {
                    true => rows,
                    false => rows.gather(&places),
                };
                out.set(self.plan.count, Column::from(counts));
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}
