//! State of a live algorithm at one commit, and how it gets from one to the next.

use telar_algo::control::Control;
use telar_algo::live::Touched;
use telar_graph::{Direction, EdgeTypeId, Graph, Lists as Batch, Run, VertexId};
use telar_query::QueryError;

use super::changes::Changes;
use super::definition::Definition;
use super::kernel::{self, Kernel, Values};
use super::lists::SlotLists;
use super::slots::Slots;
use crate::algorithms::list::failed;
use crate::algorithms::projection::{Source, choose};
use crate::algorithms::selection::Resolved;

/// Values at one commit, for readers.
#[derive(Debug)]
pub(super) struct Answer {
    /// Timestamp of the commit.
    pub(super) as_of: u64,
    /// Nodes, ascending.
    pub(super) nodes: Vec<VertexId>,
    /// Value of each.
    pub(super) values: Values,
}

/// State of a live algorithm at one commit.
#[derive(Debug)]
pub(super) struct State {
    /// Timestamp of the commit.
    pub(super) as_of: u64,
    /// Relationships that there were when it was computed from scratch, as often as they stand in
    /// lists.
    pub(super) edges: u64,
    pub(super) slots: Slots,
    pub(super) kernel: Kernel,
}

impl State {
    /// Computes the state from scratch. `room` fails if there is no memory for so many bytes.
    pub(super) fn build(
        definition: &Definition,
        source: &Source<'_>,
        control: &Control<'_>,
        room: &dyn Fn(u64) -> Result<(), QueryError>,
    ) -> Result<Self, QueryError> {
        let both = definition.algorithm.follows_both();
        let chosen = choose(source, &definition.selection, both)?;
        let (n, m) = (chosen.size.nodes, chosen.size.relationships);
        let m = if both { 2 * m } else { m };
        room(chosen.size.bytes() + kernel::bytes(definition.algorithm, n, m) + 16 * n)?;
        let projection = chosen.project(source, control)?;
        let kernel = Kernel::new(definition, &projection.graph, control).map_err(failed)?;
        let (slots, edges) = (Slots::new(&projection.nodes), projection.graph.edges());
        Ok(Self { as_of: source.graph.read_ts().get(), edges, slots, kernel })
    }

    /// Follows changes up to the state that `graph` shows; false if that does not pay, and the
    /// state is of no use any more.
    pub(super) fn apply(
        &mut self,
        changes: &Changes,
        graph: &dyn Graph,
        resolved: &Resolved,
        control: &Control<'_>,
    ) -> Result<bool, QueryError> {
        let (came, went) = self.members(changes, graph, resolved)?;
        let came: Vec<u32> = came.iter().map(|node| self.slots.insert(node.get())).collect();
        let n = self.slots.len() as u32;
        let mut pairs = Pairs { parts: &resolved.parts, slots: &self.slots, found: Vec::new() };
        changes.edges.iter().for_each(|(ty, from, to)| pairs.add(*ty, *from, *to));
        // Those whose labels changed have relationships that the stream does not tell of.
        let both_ways = |slots: &[u32]| -> Vec<VertexId> {
            slots.iter().map(|slot| self.slots.id(*slot)).collect()
        };
        for nodes in [both_ways(&came), both_ways(&went)] {
            pairs.add_all(graph, &nodes)?;
        }
        let mut pairs = pairs.found;
        pairs.sort_unstable();
        pairs.dedup();
        went.iter().for_each(|slot| self.slots.remove(*slot));
        let lists = SlotLists::new(graph, &resolved.parts, &self.slots);
        let touched = Touched { n, came: &came, went: &went, pairs: &pairs };
        let updated = self.kernel.update(&touched, &lists, self.edges, control);
        if let Some(error) = lists.failed() {
            return Err(error);
        }
        let updated = updated.map_err(failed)?;
        self.slots.free(&went);
        self.as_of = graph.read_ts().get();
        Ok(updated)
    }

    /// Nodes that are chosen now and were not, and slots of those that are not any more.
    fn members(
        &self,
        changes: &Changes,
        graph: &dyn Graph,
        resolved: &Resolved,
    ) -> Result<(Vec<VertexId>, Vec<u32>), QueryError> {
        let mut nodes: Vec<VertexId> = changes.vertices.iter().copied().collect();
        nodes.sort_unstable();
        let mut chosen = Vec::with_capacity(nodes.len());
        if resolved.labels.is_empty() {
            graph.vertices_exist(&nodes, &mut chosen)?;
        } else {
            let mut labels = Batch::default();
            graph.labels(&nodes, &mut labels)?;
            let is_chosen = |at| labels.of(at).iter().any(|label| resolved.labels.contains(label));
            chosen.extend((0..nodes.len()).map(is_chosen));
        }
        let (mut came, mut went) = (Vec::new(), Vec::new());
        for (node, chosen) in nodes.into_iter().zip(chosen) {
            match (self.slots.get(node.get()), chosen) {
                (None, true) => came.push(node),
                (Some(slot), false) => went.push(slot),
                _ => {}
            }
        }
        Ok((came, went))
    }

    /// The values of all nodes.
    pub(super) fn answer(&mut self) -> Answer {
        let values = self.kernel.values(&self.slots);
        let mut order: Vec<(VertexId, u32)> =
            self.slots.iter().map(|(slot, node)| (node, slot)).collect();
        order.sort_unstable();
        let slots = || order.iter().map(|(_, slot)| *slot as usize);
        let values = match values {
            Values::Floats(values) => Values::Floats(slots().map(|slot| values[slot]).collect()),
            Values::Ints(values) => Values::Ints(slots().map(|slot| values[slot]).collect()),
        };
        let nodes = order.iter().map(|(node, _)| *node).collect();
        Answer { as_of: self.as_of, nodes, values }
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        self.slots.bytes() + self.kernel.bytes()
    }
}

/// Pairs of slots whose edges may have changed.
struct Pairs<'a> {
    parts: &'a [(EdgeTypeId, Direction)],
    slots: &'a Slots,
    found: Vec<(u32, u32)>,
}

impl Pairs<'_> {
    /// Adds an edge in the directions in which it is followed.
    fn add(&mut self, ty: EdgeTypeId, from: VertexId, to: VertexId) {
        let ends = (self.slots.get(from.get()), self.slots.get(to.get()));
        let (Some(from), Some(to)) = ends else { return };
        for (_, direction) in self.parts.iter().filter(|(of, _)| *of == ty) {
            self.found.push(match direction {
                Direction::Out => (from, to),
                Direction::In => (to, from),
            });
        }
    }

    /// Adds all edges of nodes.
    fn add_all(&mut self, graph: &dyn Graph, nodes: &[VertexId]) -> Result<(), QueryError> {
        let mut types: Vec<EdgeTypeId> = self.parts.iter().map(|(ty, _)| *ty).collect();
        types.dedup();
        for ty in types {
            for direction in Direction::ALL {
                let mut edges = Vec::new();
                graph.for_each_run(nodes, ty, direction, &mut |place, run: Run<'_>| {
                    edges.extend(run.ids().map(|other| (nodes[place], other)));
                })?;
                for (node, other) in edges {
                    match direction {
                        Direction::Out => self.add(ty, node, other),
                        Direction::In => self.add(ty, other, node),
                    }
                }
            }
        }
        Ok(())
    }
}
