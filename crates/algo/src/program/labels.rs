//! Community detection by label propagation as a vertex program, synchronous, as LDBC Graphalytics
//! defines it (CDLP).
//!
//! Result: a label per vertex, one of the vertex numbers.
//!
//! Method: in each iteration a vertex takes the label that most of its neighbours have, the
//! smallest of them if several are as frequent; a vertex without neighbours keeps its own. Counting
//! needs all messages, so there is no combiner. The graph has to hold each edge in both directions
//! ([`Both`](super::both::Both) makes one of two directions; an edge both ways then counts twice,
//! as the definition wants it).
//!
//! Cost: a message per edge and iteration. *Memory*: 4 bytes per vertex and about 16 per edge.
//!
//! Source: Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures
//! in large-scale networks", 2007; Iosup et al., "LDBC Graphalytics", VLDB 2016.

use super::{Step, VertexProgram};

/// The program; give the run at least one step more than iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labels {
    /// Times that every vertex changes its label.
    pub iterations: u32,
}

impl VertexProgram for Labels {
    type Vertex = u32;
    type Message = u32;
    type Aggregate = ();

    fn init(&self, v: u32) -> u32 {
        v
    }

    fn apply(&self, label: &mut u32, messages: &mut [u32], step: &mut Step<'_, Self>) {
        messages.sort_unstable();
        let mut most = 0;
        for same in messages.chunk_by(|a, b| a == b) {
            if same.len() > most {
                (most, *label) = (same.len(), same[0]);
            }
        }
        if step.number() < self.iterations {
            step.scatter(*label);
        } else {
            step.halt();
        }
    }
}

#[test]
fn program_gives_the_labels_of_the_definition() {
    use super::both::Both;
    use super::{Ended, Settings, run};
    use crate::control::Control;
    use crate::testing::{Lists, random_edges};
    let verify = |n: u32, edges: &[(u32, u32)], iterations: u32| {
        let mut labels: Vec<u32> = (0..n).collect();
        for _ in 0..iterations {
            let mut counts = vec![std::collections::BTreeMap::new(); n as usize];
            for &(u, v) in edges {
                *counts[u as usize].entry(labels[v as usize]).or_insert(0) += 1;
                *counts[v as usize].entry(labels[u as usize]).or_insert(0) += 1;
            }
            for (label, counts) in labels.iter_mut().zip(counts) {
                let best = counts.iter().max_by_key(|(l, count)| (**count, u32::MAX - **l));
                *label = best.map_or(*label, |(l, _)| *l);
            }
        }
        labels
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for seed in 0..30 {
        let n = 1 + 19 * seed as u32;
        let edges = random_edges(seed, n, 2 * n as usize);
        let (out, incoming) = (Lists::out(n, &edges), Lists::incoming(n, &edges));
        for batching in [false, true] {
            let settings = Settings { batching, block: 32, ..Settings::default() };
            let control = Control::default().on(&pool);
            let program = Labels { iterations: 5 };
            let found = run(&program, &Both(&out, &incoming), n, &settings, &control).unwrap();
            assert_eq!(found.vertices, verify(n, &edges, 5), "seed {seed}");
            assert_eq!((found.steps, found.ended), (6, Ended::Halted));
        }
    }
    let none = Lists::out(0, &[]);
    let settings = Settings { is_asynchronous: true, ..Settings::default() };
    assert!(run(&Labels { iterations: 1 }, &none, 0, &settings, &Control::default()).is_err());
}
