//! Nodes that several known nodes lead to: what their lists have in common.
//!
//! A triangle whose third node is looked for from both others at once costs as much as the shorter
//! of their lists is long; to follow one of the two and test the other costs the rows in between,
//! of which hubs make too many. For each row:
//!
//! ```text
//!  a: 3 ─ 7 ─── 9 ─ 12 ─ 40        the shortest list leads;
//!  b: 1 ─ 7 ─ 8 ─ 9 ─ ... ─ 5000   the others are galloped through, or, where they are much
//!         ▼       ▼                longer than all that is looked for in them, searched in place
//!  found: 7       9
//! ```
//!
//! Parallel relationships are found as often as there are combinations of them. Of what a row has
//! used, and of what another of the lists uses at the same time, nothing is found again.
//!
//! Cost: of a row, the shortest list, times the logarithm of the others.
//! Source: H. Ngo, C. Ré, A. Rudra, "Skew strikes back", SIGMOD Record 2013; T. Veldhuizen,
//! "Leapfrog triejoin", ICDT 2014.

use std::borrow::Cow;
use std::sync::Arc;

use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, Graph, ReadError, VertexId};

use super::degrees::{leads, used_edges};
use super::expand::{columns, edge_of, is_used};
use super::feed::Feed;
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

/// A list is read whole if it is no longer than so many times what is looked for in it.
const READ_TIMES: u64 = 8;

pub(crate) struct Intersect<'p> {
    feed: Feed<'p>,
    plan: &'p plan::Intersect,
    expansion: Expansion,
}

/// A leg, for some rows.
struct Leg<'p> {
    plan: &'p plan::Leg,
    types: Cow<'p, [EdgeTypeId]>,
    used: Vec<Arc<Column>>,
    /// Earlier legs that it may share no relationship with.
    others: Vec<usize>,
    /// Nodes, neighbours in the rows but once, and which of them each row has.
    sources: Vec<VertexId>,
    source_of: Vec<u32>,
    degrees: Vec<u64>,
    /// The sorted list of each node that is read whole.
    lists: Vec<Option<std::ops::Range<usize>>>,
    neighbours: Vec<VertexId>,
}

/// What is added to rows.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    neighbours: Vec<VertexId>,
    /// By leg; of those whose relationships somebody reads.
    edges: Vec<Vec<EdgeId>>,
}

/// A node that all legs lead to, and by how many relationships each.
struct Common {
    node: VertexId,
    times: Vec<u32>,
}

impl Leg<'_> {
    fn source(&self, at: usize) -> VertexId {
        self.sources[self.source_of[at] as usize]
    }

    fn degree(&self, at: usize) -> u64 {
        self.degrees[self.source_of[at] as usize]
    }

    /// Types with the directions of storage that the leg goes along.
    fn tables(&self) -> Vec<(EdgeTypeId, Direction)> {
        let ways = self.plan.way.directions();
        self.types.iter().flat_map(|ty| ways.iter().map(|way| (*ty, *way))).collect()
    }

    /// Whether an entry stands for what is in the other list of the node as well.
    fn is_twice(&self, direction: Direction, source: VertexId, neighbour: VertexId) -> bool {
        self.plan.way == Way::Both && direction == Direction::In && source == neighbour
    }

    /// Reads the lists of the sources for which `wanted` says so.
    fn read(
        &mut self,
        wanted: &[bool],
        graph: &dyn Graph,
        expansion: &mut Expansion,
    ) -> Result<(), ReadError> {
        let chosen: Vec<usize> = (0..wanted.len()).filter(|at| wanted[*at]).collect();
        let vertices: Vec<VertexId> = chosen.iter().map(|at| self.sources[*at]).collect();
        self.lists = vec![None; self.sources.len()];
        let tables = self.tables();
        if let [(ty, direction)] = tables[..] {
            graph.expand_ids(&vertices, ty, direction, expansion)?;
            std::mem::swap(&mut self.neighbours, &mut expansion.neighbours);
            for (at, ends) in chosen.iter().zip(expansion.offsets.windows(2)) {
                self.lists[*at] = Some(ends[0] as usize..ends[1] as usize);
            }
        } else {
            let mut parts: Vec<Vec<VertexId>> = vec![Vec::new(); vertices.len()];
            for (ty, direction) in tables {
                graph.expand_ids(&vertices, ty, direction, expansion)?;
                for (at, (part, source)) in parts.iter_mut().zip(&vertices).enumerate() {
                    let once = |n: &&VertexId| !self.is_twice(direction, *source, **n);
                    part.extend(expansion.of(at).iter().filter(once));
                }
            }
            self.neighbours.clear();
            for (at, part) in chosen.iter().zip(&parts) {
                let from = self.neighbours.len();
                self.neighbours.extend_from_slice(part);
                self.lists[*at] = Some(from..self.neighbours.len());
            }
        }
        // Settled lists are sorted but for types with an order of their own.
        for list in self.lists.iter().flatten() {
            let list = &mut self.neighbours[list.clone()];
            if !list.is_sorted() {
                list.sort_unstable();
            }
        }
        Ok(())
    }

    fn list(&self, at: usize) -> Option<&[VertexId]> {
        let range = self.lists[self.source_of[at] as usize].clone()?;
        Some(&self.neighbours[range])
    }

    /// The relationships to each of some nodes.
    fn edges_to(
        &self,
        source: VertexId,
        nodes: &[Common],
        graph: &dyn Graph,
        expansion: &mut Expansion,
    ) -> Result<Vec<Vec<EdgeId>>, ReadError> {
        let mut found = vec![Vec::new(); nodes.len()];
        for (ty, direction) in self.tables() {
            let pair = |common: &Common| match direction {
                Direction::Out => (source, common.node),
                Direction::In => (common.node, source),
            };
            let pairs: Vec<_> = nodes.iter().map(pair).collect();
            graph.edges_between(&pairs, ty, expansion)?;
            for ((found, ends), common) in
                found.iter_mut().zip(expansion.offsets.windows(2)).zip(nodes)
            {
                if !self.is_twice(direction, source, common.node) {
                    let ordinals = &expansion.ordinals[ends[0] as usize..ends[1] as usize];
                    let edge = |o: &u32| edge_of(ty, source, common.node, *o, direction);
                    found.extend(ordinals.iter().map(edge));
                }
            }
        }
        Ok(found)
    }
}

/// The place of the first id in sorted `ids` from `from` on that is not below `id`.
fn gallop(ids: &[VertexId], from: usize, id: VertexId) -> usize {
    let mut step = 1;
    let mut low = from;
    while low + step < ids.len() && ids[low + step] < id {
        low += step;
        step *= 2;
    }
    let high = ids.len().min(low + step + 1);
    low + ids[low..high].partition_point(|other| *other < id)
}

/// How often `id` stands at the beginning of `ids`.
fn times(ids: &[VertexId], id: VertexId) -> u32 {
    ids.iter().take_while(|other| **other == id).count() as u32
}

impl<'p> Intersect<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Intersect) -> Self {
        Self { feed: Feed::new(input), plan, expansion: Expansion::default() }
    }

    /// The legs for the rows at these places, their lists read where that pays.
    fn legs(
        &mut self,
        rows: &Batch,
        places: &[u32],
        graph: &dyn Graph,
    ) -> Result<Vec<Leg<'p>>, ReadError> {
        let edges: Vec<_> = self.plan.legs.iter().map(|leg| leg.edge).collect();
        let mut legs: Vec<Leg<'p>> = Vec::with_capacity(edges.len());
        for plan in &self.plan.legs {
            let column = rows.column(plan.from);
            let (mut sources, mut source_of): (Vec<VertexId>, Vec<u32>) = Default::default();
            for vertex in places.iter().filter_map(|row| column.vertex(*row as usize)) {
                if sources.last() != Some(&vertex) {
                    sources.push(vertex);
                }
                source_of.push(sources.len() as u32 - 1);
            }
            let is_leg = |slot: &usize| edges.contains(slot);
            let outer: Vec<usize> =
                plan.distinct_from.iter().copied().filter(|slot| !is_leg(slot)).collect();
            let others =
                plan.distinct_from.iter().filter_map(|s| edges.iter().position(|e| e == s));
            let mut leg = Leg {
                plan,
                types: plan.types.ids(graph),
                used: columns(rows, &outer),
                others: others.collect(),
                degrees: vec![0; sources.len()],
                lists: Vec::new(),
                neighbours: Vec::new(),
                sources,
                source_of,
            };
            let mut degrees = Vec::new();
            for (ty, direction) in leg.tables() {
                degrees.clear();
                graph.degrees(&leg.sources, ty, direction, &mut degrees)?;
                leg.degrees.iter_mut().zip(&degrees).for_each(|(sum, degree)| *sum += degree);
            }
            legs.push(leg);
        }
        // How much is looked for in the list of each source; the list that leads is read.
        let mut sought: Vec<Vec<u64>> = legs.iter().map(|l| vec![0; l.sources.len()]).collect();
        for at in 0..places.len() {
            let leading = leading(&legs, at);
            let shortest = legs[leading].degree(at);
            for (number, leg) in legs.iter().enumerate() {
                let sought = &mut sought[number][leg.source_of[at] as usize];
                let more = if number == leading { u64::MAX } else { shortest };
                *sought = sought.saturating_add(more);
            }
        }
        for (leg, sought) in legs.iter_mut().zip(&sought) {
            let pays = |(sought, degree): (&u64, &u64)| {
                sought.saturating_mul(READ_TIMES).saturating_add(READ_TIMES) >= *degree
            };
            let wanted: Vec<bool> = sought.iter().zip(&leg.degrees).map(pays).collect();
            leg.read(&wanted, graph, &mut self.expansion)?;
        }
        Ok(legs)
    }

    /// Nodes that all legs of a row lead to.
    fn common(
        &mut self,
        legs: &[Leg<'p>],
        at: usize,
        graph: &dyn Graph,
    ) -> Result<Vec<Common>, ReadError> {
        let first = leading(legs, at);
        let mut found: Vec<Common> = Vec::new();
        let list = legs[first].list(at).unwrap_or_default();
        let (mut from, mut each) = (vec![0; legs.len()], vec![0; legs.len()]);
        let mut place = 0;
        'nodes: while place < list.len() {
            let node = list[place];
            each[first] = times(&list[place..], node);
            place += each[first] as usize;
            for (number, leg) in legs.iter().enumerate().filter(|(number, _)| *number != first) {
                each[number] = 0;
                let Some(other) = leg.list(at) else { continue };
                let place = gallop(other, from[number], node);
                from[number] = place;
                each[number] = times(&other[place..], node);
                match each[number] {
                    0 if place == other.len() => break 'nodes,
                    0 => continue 'nodes,
                    _ => {}
                }
            }
            found.push(Common { node, times: each.clone() });
        }
        for (number, leg) in legs.iter().enumerate() {
            if leg.list(at).is_none() {
                let edges = leg.edges_to(leg.source(at), &found, graph, &mut self.expansion)?;
                for (common, edges) in found.iter_mut().zip(&edges) {
                    common.times[number] = edges.len() as u32;
                }
                found.retain(|common| common.times[number] > 0);
            }
        }
        Ok(found)
    }

    fn part(
        &mut self,
        rows: &Batch,
        range: std::ops::Range<usize>,
        cx: &mut Exec<'_>,
    ) -> Result<Found, QueryError> {
        let froms: Vec<_> = self.plan.legs.iter().map(|leg| rows.column(leg.from)).collect();
        let mut places = Vec::new();
        for row in range {
            if froms.iter().all(|from| from.vertex(row).is_some()) {
                places.push(row as u32);
            }
        }
        let legs = self.legs(rows, &places, cx.graph())?;
        let keeps = legs.iter().any(|leg| leg.plan.keeps_edge);
        let mut found = Found { edges: vec![Vec::new(); legs.len()], ..Found::default() };
        let mut used = vec![Vec::new(); legs.len()];
        for (at, row) in places.iter().enumerate() {
            cx.check()?;
            let mut common = self.common(&legs, at, cx.graph())?;
            if common.is_empty() {
                continue;
            }
            // From the same node two legs may go along the same relationship.
            let meets =
                |leg: &Leg<'_>| leg.others.iter().any(|o| legs[*o].source(at) == leg.source(at));
            if keeps || legs.iter().any(meets) {
                let edges: Vec<_> = legs
                    .iter()
                    .map(|leg| {
                        leg.edges_to(leg.source(at), &common, cx.graph(), &mut self.expansion)
                    })
                    .collect::<Result<_, _>>()?;
                for (number, common) in common.iter().enumerate() {
                    let of = |leg: usize| &edges[leg][number][..];
                    combine(&legs, &of, *row, common.node, &mut Vec::new(), &mut found);
                }
                continue;
            }
            for (leg, used) in legs.iter().zip(&mut used) {
                used_edges(&leg.used, *row as usize, used);
                used.retain(|e| leads(*e, leg.source(at), &leg.types, leg.plan.way));
            }
            for common in &mut common {
                let mut ways = 1;
                for ((leg, used), times) in legs.iter().zip(&used).zip(&common.times) {
                    let ends = |e: &&EdgeId| {
                        let from = leg.source(at);
                        (e.src, e.dst) == (from, common.node)
                            || (e.dst, e.src) == (from, common.node)
                    };
                    ways *= (*times as usize).saturating_sub(used.iter().filter(ends).count());
                }
                found.rows.resize(found.rows.len() + ways, *row);
                found.neighbours.resize(found.rows.len(), common.node);
            }
        }
        Ok(found)
    }
}

/// The leg with the shortest list for a row.
fn leading(legs: &[Leg<'_>], at: usize) -> usize {
    (0..legs.len()).min_by_key(|number| legs[*number].degree(at)).unwrap_or(0)
}

/// Every choice of a relationship for each leg, none twice where they must differ.
fn combine<'e>(
    legs: &[Leg<'_>],
    edges: &dyn Fn(usize) -> &'e [EdgeId],
    row: u32,
    node: VertexId,
    chosen: &mut Vec<EdgeId>,
    found: &mut Found,
) {
    let Some(leg) = legs.get(chosen.len()) else {
        found.rows.push(row);
        found.neighbours.push(node);
        let kept = found.edges.iter_mut().zip(legs).zip(chosen);
        kept.filter(|((_, leg), _)| leg.plan.keeps_edge).for_each(|((all, _), e)| all.push(*e));
        return;
    };
    for edge in edges(chosen.len()) {
        let again = leg.others.iter().any(|other| chosen[*other] == *edge);
        if !again && !is_used(*edge, &leg.used, row as usize) {
            chosen.push(*edge);
            combine(legs, edges, row, node, chosen, found);
            chosen.pop();
        }
    }
}

impl Operator for Intersect<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let Some((rows, from)) = self.feed.next(cx)? else { return Ok(None) };
            let to = rows.rows().min(from + BATCH_ROWS / 4);
            let found = self.part(&rows, from..to, cx)?;
            let mut handed_on = rows.clone();
            if let Some(kept) = &self.plan.kept {
                handed_on.retain(kept);
            }
            self.feed.keep(rows, to);
            if !found.rows.is_empty() {
                let mut out = handed_on.gather(&found.rows);
                for (leg, edges) in self.plan.legs.iter().zip(found.edges) {
                    if leg.keeps_edge {
                        out.set(leg.edge, Column::from(edges));
                    }
                }
                out.set(self.plan.to, Column::from(found.neighbours));
                return Ok(Some(out));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn galloping_finds_what_a_scan_finds() {
        let ids: Vec<VertexId> = (0..200).map(|i| VertexId::from_raw(i / 3 * 4)).collect();
        for from in [0, 1, 7, 150, 199, 200] {
            for id in (0..300).map(VertexId::from_raw) {
                let want = from + ids[from..].iter().take_while(|other| **other < id).count();
                assert_eq!(gallop(&ids, from, id), want, "{id:?} from {from}");
            }
        }
        assert_eq!(times(&ids, VertexId::from_raw(0)), 3);
        assert_eq!(times(&ids, VertexId::from_raw(4)), 0);
    }
}
