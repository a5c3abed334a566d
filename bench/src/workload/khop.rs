//! Vertices within some hops of a source.

use telar_graph::topology::Topology;

/// Counts what is within reach; keeps its memory between queries.
pub struct Hops {
    /// Number of the last query that met each vertex.
    met: Vec<u32>,
    query: u32,
    frontier: Vec<u32>,
    next: Vec<u32>,
}

/// What a query found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Vertices at most so many hops away, the source not among them.
    pub vertices: u64,
    /// Entries read on the way.
    pub entries: u64,
}

impl Hops {
    /// Returns a counter for graphs of `n` vertices.
    pub fn new(n: u32) -> Self {
        Self { met: vec![0; n as usize], query: 0, frontier: Vec::new(), next: Vec::new() }
    }

    /// Returns what is at most `hops` hops away from `source`, level by level.
    ///
    /// # Panics
    /// If the topology has more vertices than this counter is for.
    pub fn count<T: Topology>(&mut self, topology: &T, source: u32, hops: u32) -> Reached {
        let Self { met, query, frontier, next } = self;
        if *query == u32::MAX {
            met.fill(0);
            *query = 0;
        }
        *query += 1;
        met[source as usize] = *query;
        frontier.clear();
        frontier.push(source);
        let mut reached = Reached::default();
        for _ in 0..hops {
            next.clear();
            topology.visit(frontier, |_, run| {
                reached.entries += run.len() as u64;
                for &v in run {
                    if std::mem::replace(&mut met[v as usize], *query) != *query {
                        next.push(v);
                    }
                }
            });
            reached.vertices += next.len() as u64;
            std::mem::swap(frontier, next);
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use telar_generate::csr::Csr;

    use super::*;

    #[test]
    fn every_vertex_counts_once_and_the_source_never() {
        // A triangle with a tail: 0 -> 1 -> 2 -> 0, 2 -> 3 -> 4, and 0 -> 2.
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (0, 2), (4, 4)];
        let csr: Csr = Csr::outgoing(6, &edges);
        let mut hops = Hops::new(6);
        let count = |hops: &mut Hops, source, far| {
            let Reached { vertices, entries } = hops.count(&csr, source, far);
            (vertices, entries)
        };
        assert_eq!(count(&mut hops, 0, 0), (0, 0));
        assert_eq!(count(&mut hops, 0, 1), (2, 2));
        assert_eq!(count(&mut hops, 0, 2), (3, 5));
        assert_eq!(count(&mut hops, 0, 3), (4, 6));
        assert_eq!(count(&mut hops, 0, 9), (4, 7));
        assert_eq!(count(&mut hops, 5, 3), (0, 0));
        hops.query = u32::MAX - 1;
        for _ in 0..3 {
            assert_eq!(count(&mut hops, 0, 3), (4, 6));
        }
    }
}
