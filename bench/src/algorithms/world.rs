//! Graphs that are measured, flat and in a database, in the states of its lists.

use telar_engine::SettleState;
use telar_generate::csr::Csr;
use telar_generate::{Edge, Rmat, edges, rmat};
use telar_graph::Topology;

use super::Failed;
use super::kernel::Lists;
use crate::container::{Container, Snapshot, Telar, Writer};

/// Seed of the graph and of the order of its edges.
const SEED: u64 = 42;

/// A graph whose edges come in parts.
pub(super) struct World {
    pub(super) n: u32,
    /// Distinct edges without loops, in random order.
    pub(super) edges: Vec<Edge>,
    /// Edges that the graph has not, a ninth as many: a writer adds and removes them.
    pub(super) spare: Vec<Edge>,
    pub(super) out: Csr,
    pub(super) incoming: Csr,
    /// The vertex with the most edges, where searches begin.
    pub(super) source: u32,
}

impl World {
    /// An RMAT graph with 16 edges drawn per vertex; repetitions are dropped.
    pub(super) fn directed(scale: u32) -> Self {
        let parameters = Rmat { scale, edge_factor: 16, seed: SEED };
        let mut all = rmat(&parameters);
        edges::dedup(&mut all);
        Self::new(parameters.vertices(), all)
    }

    /// The same without direction, for counts of triangles: vertices are numbered by ascending
    /// degree, and each edge leads from its smaller end to its larger one.
    pub(super) fn oriented(scale: u32) -> Self {
        let parameters = Rmat { scale, edge_factor: 16, seed: SEED };
        let n = parameters.vertices();
        let mut all = rmat(&parameters);
        edges::dedup_undirected(&mut all);
        let mut degrees = vec![0u32; n as usize];
        all.iter().for_each(|&(u, v)| {
            degrees[u as usize] += 1;
            degrees[v as usize] += 1;
        });
        let mut order: Vec<u32> = (0..n).collect();
        order.sort_by_key(|&v| degrees[v as usize]);
        let mut places = vec![0u32; n as usize];
        (0..).zip(&order).for_each(|(place, &v)| places[v as usize] = place);
        for (u, v) in &mut all {
            (*u, *v) = (places[*u as usize], places[*v as usize]);
        }
        edges::orient(&mut all);
        Self::new(n, all)
    }

    fn new(n: u32, mut all: Vec<Edge>) -> Self {
        edges::shuffle(&mut all, SEED + 1);
        let spare = all.split_off(all.len() * 9 / 10);
        let (out, incoming) = (Csr::outgoing(n, &all), Csr::incoming(n, &all));
        let source = (0..n).max_by_key(|v| out.degree(*v)).unwrap_or(0);
        Self { n, edges: all, spare, out, incoming, source }
    }

    /// Lists of flat arrays.
    pub(super) fn flat(&self) -> Lists<'_, Csr> {
        Lists { out: &self.out, incoming: &self.incoming, n: self.n, source: self.source }
    }

    /// A database with all edges, settled.
    pub(super) fn settled(&self) -> Telar {
        Telar::filled(self.n, self.edges.clone())
    }

    /// Hands `work` a database with all edges, the last tenth of them committed one by one beside
    /// an open snapshot, which keeps them from being settled until `work` has begun.
    pub(super) fn unsettled<R>(&self, work: impl FnOnce(&Telar) -> R) -> R {
        let (first, last) = self.edges.split_at(self.edges.len() * 9 / 10);
        let telar = Telar::filled(self.n, first.to_vec());
        let hold = telar.snapshot();
        let mut writer = telar.writer();
        for &(u, v) in last {
            writer.insert_edge(u, v);
        }
        drop(hold);
        work(&telar)
    }
}

/// A snapshot as flat arrays.
pub(super) fn copied<S: Snapshot>(snapshot: &S, n: u32) -> (Csr, Csr) {
    let lists = snapshot.out();
    let mut edges = Vec::new();
    lists.scan(0..lists.vertex_bound(), |u, run| edges.extend(run.iter().map(|&v| (u, v))));
    (Csr::outgoing(n, &edges), Csr::incoming(n, &edges))
}

/// Share of the entries that are not settled.
pub(super) fn unsettled_share(telar: &Telar) -> Result<f64, Failed> {
    let SettleState { settled, unsettled, .. } = telar.engine().settle_state(telar.edge_type())?;
    Ok(unsettled as f64 / (settled + unsettled).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use telar_algo::triangles::triangles;

    #[test]
    fn a_database_holds_the_edges_of_the_flat_arrays_in_every_state() {
        let world = World::directed(8);
        let same = |telar: &Telar| {
            let (out, incoming) = copied(&telar.snapshot(), world.n);
            for v in 0..world.n {
                assert_eq!(out.list(v), world.out.list(v));
                assert_eq!(incoming.list(v), world.incoming.list(v));
            }
        };
        same(&world.settled());
        assert_eq!(unsettled_share(&world.settled()).unwrap(), 0.0);
        world.unsettled(|telar| {
            same(telar);
            assert!(unsettled_share(telar).unwrap() > 0.05);
        });
    }

    #[test]
    fn numbering_by_degree_keeps_the_triangles() {
        let world = World::oriented(8);
        let mut edges = rmat(&Rmat { scale: 8, edge_factor: 16, seed: SEED });
        edges::dedup_undirected(&mut edges);
        edges::orient(&mut edges);
        let mut all = world.edges.clone();
        all.extend(&world.spare);
        assert!(all.iter().all(|(u, v)| u < v));
        let found = triangles(&Csr::<u32>::outgoing(world.n, &all));
        assert_eq!(found, triangles(&Csr::<u32>::outgoing(world.n, &edges)));
        assert!(found > 0);
    }
}
