//! Breadth-first ordering: vertices near each other in the order in which a search meets them.
//!
//! Result: the new position of each vertex. Components follow each other by their smallest vertex,
//! and each is searched from it; neighbours come in the order of the lists.
//!
//! Cost: O(n + m). *Memory*: 13 bytes per vertex.
//!
//! Source: Moore, "The shortest path through a maze", 1959.

use crate::control::{Control, Result};
use crate::csr::Csr;

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    13 * n
}

/// New position of each vertex by breadth-first search.
pub fn breadth_first(graph: &Csr, control: &Control<'_>) -> Result<Vec<u32>> {
    Ok(super::positions(&traversal(graph, control)?.vertices))
}

/// Vertices in the order of a search.
pub(crate) struct Traversal {
    pub(crate) vertices: Vec<u32>,
    /// Place of the first vertex of each component.
    starts: Vec<u32>,
}

impl Traversal {
    /// Vertices of each component.
    pub(crate) fn components(&self) -> impl Iterator<Item = &[u32]> {
        let ends = self.starts.iter().skip(1).copied().chain([self.vertices.len() as u32]);
        self.starts
            .iter()
            .zip(ends)
            .map(|(start, end)| &self.vertices[*start as usize..end as usize])
    }
}

/// Breadth-first search of all components.
pub(crate) fn traversal(graph: &Csr, control: &Control<'_>) -> Result<Traversal> {
    let n = graph.vertices();
    let mut found = Traversal { vertices: Vec::with_capacity(n as usize), starts: Vec::new() };
    let mut seen = vec![false; n as usize];
    let (mut at, mut work) = (0, 1 << 16);
    for start in 0..n {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        found.starts.push(at as u32);
        found.vertices.push(start);
        while let Some(&v) = found.vertices.get(at) {
            at += 1;
            work += graph.of(v).len() + 1;
            if work >= 1 << 16 {
                control.check()?;
                work = 0;
                control.report(at as u64, u64::from(n));
            }
            for &u in graph.of(v) {
                if !std::mem::replace(&mut seen[u as usize], true) {
                    found.vertices.push(u);
                }
            }
        }
    }
    Ok(found)
}

#[test]
fn breadth_first_follows_the_levels() {
    super::tests::check(breadth_first, Some(6.0));
    let graph = Csr::from_edges(6, &[(0, 4), (4, 2), (0, 3), (1, 5)]).undirected();
    let found = breadth_first(&graph, &Control::default()).unwrap();
    assert_eq!(found, [0, 4, 3, 1, 2, 5]);
}
