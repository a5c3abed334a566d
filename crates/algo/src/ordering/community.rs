//! Community ordering: the vertices of a community follow each other.
//!
//! Result: the new position of each vertex.
//!
//! Method: label propagation, one vertex after the other, finds communities. A community comes
//! where a breadth-first search of the whole graph first meets it, and inside of one vertices come
//! in the order of a search that does not leave it.
//!
//! Cost: O(m) per iteration. *Memory*: 36 bytes per vertex.
//!
//! Source: Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures
//! in large-scale networks", 2007; Arai et al., "Rabbit order", IPDPS 2016 (communities as an
//! ordering).

use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Settings of [`community`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Iterations of label propagation, which ends earlier when nothing changes; 0 leaves every
    /// vertex by itself, which is the breadth-first order.
    pub max_iterations: u32,
    /// Seed of the choice between labels that are as frequent.
    pub seed: u64,
}

impl Default for Settings {
    /// 10 iterations, as in GDS, seed 0.
    fn default() -> Self {
        Self { max_iterations: 10, seed: 0 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    36 * n
}

/// New position of each vertex, community by community.
pub fn community(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    let whole = super::breadth::traversal(graph, control)?.vertices;
    let labels = labels(graph, &whole, settings, control)?;
    // Of each community the members in the order of the search, communities by their first one.
    let n = graph.vertices() as usize;
    let mut order = Vec::with_capacity(n);
    let mut seen = vec![false; n];
    let mut members: Vec<u32> = whole.clone();
    let mut first = vec![u32::MAX; n];
    for (place, &v) in whole.iter().enumerate() {
        let label = labels[v as usize] as usize;
        first[label] = first[label].min(place as u32);
    }
    members.sort_by_key(|v| first[labels[*v as usize] as usize]);
    let mut work = 0;
    let mut at = 0;
    for start in members {
        if std::mem::replace(&mut seen[start as usize], true) {
            continue;
        }
        order.push(start);
        while let Some(&v) = order.get(at) {
            at += 1;
            work += graph.of(v).len() + 1;
            if work >= 1 << 16 {
                control.check()?;
                work = 0;
            }
            for &u in graph.of(v) {
                let near = labels[u as usize] == labels[v as usize];
                if near && !std::mem::replace(&mut seen[u as usize], true) {
                    order.push(u);
                }
            }
        }
    }
    Ok(super::positions(&order))
}

/// Label of each vertex: the most frequent of its neighbours' labels; of several its own, or else
/// one by chance, because a rule would carry one label through the whole graph.
fn labels(
    graph: &Csr,
    turns: &[u32],
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let n = graph.vertices();
    let mut labels: Vec<u32> = (0..n).collect();
    let mut near = vec![0u32; n as usize];
    let mut touched: Vec<u32> = Vec::new();
    let mut work = 0;
    for iteration in 0..settings.max_iterations {
        control.check()?;
        let mut changed = false;
        for &v in turns {
            for piece in graph.of(v).chunks(1 << 16) {
                work += piece.len() + 1;
                if work >= 1 << 16 {
                    control.check()?;
                    work = 0;
                }
                for &u in piece.iter().filter(|u| **u != v) {
                    let label = labels[u as usize];
                    if near[label as usize] == 0 {
                        touched.push(label);
                    }
                    near[label as usize] += 1;
                }
            }
            let own = labels[v as usize];
            let chance =
                |label: u32| Random::new(settings.seed ^ u64::from(v), label.into()).next();
            let best = touched.iter().copied().max_by(|a, b| {
                let count = near[*a as usize].cmp(&near[*b as usize]);
                count.then((*a == own).cmp(&(*b == own))).then_with(|| chance(*a).cmp(&chance(*b)))
            });
            if let Some(best) = best {
                changed |= own != best;
                labels[v as usize] = best;
            }
            touched.drain(..).for_each(|label| near[label as usize] = 0);
        }
        control.report(u64::from(iteration) + 1, u64::from(settings.max_iterations));
        if !changed {
            break;
        }
    }
    Ok(labels)
}

#[test]
fn communities_follow_each_other() {
    super::tests::check(
        |graph, control| community(graph, &Settings::default(), control),
        Some(6.0),
    );
    // Two cliques of eight, the even and the odd numbers, joined by an edge.
    let mut edges = vec![(0, 1)];
    edges.extend((0..16u32).flat_map(|u| (u % 2..u).step_by(2).map(move |v| (u, v))));
    let graph = Csr::from_edges(16, &edges).undirected();
    let together = |seed: u64| {
        let settings = Settings { seed, ..Settings::default() };
        let found = community(&graph, &settings, &Control::default()).unwrap();
        let even = found.iter().step_by(2).filter(|place| **place < 8).count();
        even == 0 || even == 8
    };
    let count = (0..20).filter(|seed| together(*seed)).count();
    assert!(count >= 16, "{count} of 20");
    let settings = Settings { max_iterations: 0, seed: 0 };
    let none = community(&graph, &settings, &Control::default()).unwrap();
    assert_eq!(none, super::breadth_first(&graph, &Control::default()).unwrap());
}
