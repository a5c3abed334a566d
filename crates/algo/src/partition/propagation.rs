//! Partitioning by label propagation with a size limit.
//!
//! Result: a part per vertex; no part above [`Settings::slack`] times its share, by more than a
//! cluster of a sixteenth of it.
//!
//! Method: three phases. Vertices first gather in clusters of limited size: each in turn joins the
//! cluster with most of its neighbours that has room. Clusters then go, in the order of a
//! breadth-first search, to the part with most edges to them that has room. Last, vertices move
//! between parts by the first rule.
//!
//! Cost: O(m) per iteration, two times [`Settings::max_iterations`] at most. *Memory*: 60 bytes per
//! vertex.
//!
//! Source: Meyerhenke, Sanders and Schulz, "Partitioning complex networks via size-constrained
//! clustering", SEA 2014; Ugander and Backstrom, "Balanced label propagation", WSDM 2013.

use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::ordering::breadth;
use crate::random::Random;

/// Clusters that fill a part.
const CLUSTERS_OF_PART: u32 = 16;

/// Settings of [`label_propagation`].
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Number of parts; 1 to [`PARTS_MAX`](super::PARTS_MAX).
    pub parts: u32,
    /// Largest size of a part over its share of the vertices; at least 1.
    pub slack: f64,
    /// Passes of each of the phases, which end earlier when nothing moves; at least 1.
    pub max_iterations: u32,
    /// Seed of the order in which vertices take their turn.
    pub seed: u64,
}

impl Default for Settings {
    /// 2 parts, slack 1.05, 10 passes, seed 0.
    fn default() -> Self {
        Self { parts: 2, slack: 1.05, max_iterations: 10, seed: 0 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64, settings: &Settings) -> u64 {
    60 * n + 16 * u64::from(settings.parts)
}

/// Part of each vertex by label propagation with a size limit.
pub fn label_propagation(
    graph: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    super::require_parts(settings.parts)?;
    if settings.max_iterations == 0 {
        return Err(Error::invalid("max_iterations is 0; label propagation takes at least 1"));
    }
    let n = graph.vertices();
    let capacity = super::capacity(n, settings.parts, settings.slack)?;
    let mut turns: Vec<u32> = (0..n).collect();
    let mut random = Random::new(settings.seed, 0);
    for at in (1..n).rev() {
        turns.swap(at as usize, random.below(at + 1) as usize);
    }
    let mut labels: Vec<u32> = (0..n).collect();
    let mut sizes = vec![1; n as usize];
    let total = 2 * u64::from(settings.max_iterations);
    let passes = settings.max_iterations;
    let run = |labels: &mut [u32], sizes: &mut [u32], limit: u32, done: u32| {
        let mut count = Count { near: vec![0; sizes.len()], touched: Vec::new(), work: 0 };
        for pass in 0..passes {
            let moved = count.pass(graph, &turns, (&mut *labels, &mut *sizes), limit, control)?;
            control.report(u64::from(done + pass) + 1, total);
            if moved == 0 {
                break;
            }
        }
        Ok(())
    };
    let cluster = (n / settings.parts / CLUSTERS_OF_PART).max(1);
    run(&mut labels, &mut sizes, cluster, 0)?;
    let mut sizes = vec![0; settings.parts as usize];
    let mut parts = pack(graph, &labels, capacity, &mut sizes, control)?;
    run(&mut parts, &mut sizes, capacity, passes)?;
    Ok(parts)
}

/// Neighbours of a vertex by label.
struct Count {
    near: Vec<u32>,
    touched: Vec<u32>,
    work: usize,
}

impl Count {
    /// Counts the labels of the neighbours of `v`, `NONE` left out.
    fn of(&mut self, graph: &Csr, v: u32, labels: &[u32], control: &Control<'_>) -> Result<()> {
        for piece in graph.of(v).chunks(1 << 16) {
            self.work += piece.len() + 1;
            if self.work >= 1 << 16 {
                control.check()?;
                self.work = 0;
            }
            for &u in piece.iter().filter(|u| **u != v) {
                let label = labels[u as usize];
                if label != NONE {
                    if self.near[label as usize] == 0 {
                        self.touched.push(label);
                    }
                    self.near[label as usize] += 1;
                }
            }
        }
        Ok(())
    }

    fn clear(&mut self) {
        self.touched.drain(..).for_each(|label| self.near[label as usize] = 0);
    }

    /// Moves every vertex to the label with most of its neighbours that has room; returns how many
    /// moved.
    fn pass(
        &mut self,
        graph: &Csr,
        turns: &[u32],
        (labels, sizes): (&mut [u32], &mut [u32]),
        limit: u32,
        control: &Control<'_>,
    ) -> Result<u32> {
        control.check()?;
        let mut moved = 0;
        for &v in turns {
            self.of(graph, v, labels, control)?;
            let own = labels[v as usize];
            let mut best = own;
            for &label in &self.touched {
                let (near, known) = (self.near[label as usize], self.near[best as usize]);
                let fits = label == own || sizes[label as usize] < limit;
                let smaller = sizes[label as usize] < sizes[best as usize];
                if fits && (near > known || near == known && best != own && smaller) {
                    best = label;
                }
            }
            self.clear();
            if best != own {
                sizes[own as usize] -= 1;
                sizes[best as usize] += 1;
                labels[v as usize] = best;
                moved += 1;
            }
        }
        Ok(moved)
    }
}

/// Part of a vertex that has none yet.
const NONE: u32 = u32::MAX;

/// Puts clusters into parts, in the order of a search, so that parts grow from where they began.
fn pack(
    graph: &Csr,
    labels: &[u32],
    capacity: u32,
    sizes: &mut [u32],
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = (0..graph.vertices()).collect();
    order.sort_unstable_by_key(|v| (labels[*v as usize], *v));
    let same = |a: &u32, b: &u32| labels[*a as usize] == labels[*b as usize];
    let mut clusters: Vec<&[u32]> = order.chunk_by(same).collect();
    let mut first = vec![NONE; labels.len()];
    for (place, &v) in breadth::traversal(graph, control)?.vertices.iter().enumerate() {
        let first = &mut first[labels[v as usize] as usize];
        *first = (place as u32).min(*first);
    }
    clusters.sort_by_key(|cluster| first[labels[cluster[0] as usize] as usize]);
    let mut parts = vec![NONE; labels.len()];
    let mut count = Count { near: vec![0; sizes.len()], touched: Vec::new(), work: 0 };
    // The smallest part is found by a heap whose entries may be out of date.
    let mut heap: std::collections::BinaryHeap<_> =
        (0..sizes.len() as u32).map(|part| std::cmp::Reverse((0, part))).collect();
    for cluster in clusters {
        for &v in cluster {
            count.of(graph, v, &parts, control)?;
        }
        let len = cluster.len() as u32;
        let room = |part: &&u32| sizes[**part as usize] + len <= capacity;
        let near = count.touched.iter().filter(room).max_by_key(|part| {
            (count.near[**part as usize], std::cmp::Reverse((sizes[**part as usize], **part)))
        });
        let part = match near {
            Some(part) => *part,
            None => loop {
                match heap.peek_mut() {
                    Some(mut top) if top.0.0 != sizes[top.0.1 as usize] => {
                        top.0.0 = sizes[top.0.1 as usize];
                    }
                    Some(top) => break top.0.1,
                    None => break 0,
                }
            },
        };
        count.clear();
        sizes[part as usize] += len;
        cluster.iter().for_each(|v| parts[*v as usize] = part);
    }
    Ok(parts)
}

#[test]
fn label_propagation_finds_the_groups() {
    let go = |graph: &Csr, parts: u32, control: &Control<'_>| {
        label_propagation(graph, &Settings { parts, ..Settings::default() }, control)
    };
    super::tests::check(go, 0.2, 1.12);
    let settings = Settings { max_iterations: 0, ..Settings::default() };
    assert!(label_propagation(&Csr::from_edges(1, &[]), &settings, &Control::default()).is_err());
}
