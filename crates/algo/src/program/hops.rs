//! Hops from one vertex as a vertex program: the result of [`crate::bfs`].
//!
//! Result: for each vertex the number of edges on a shortest path from the source,
//! [`UNREACHED`] if there is none.
//!
//! Method: a vertex that learns of a shorter way offers its neighbours one hop more; the combiner
//! keeps the least.
//!
//! Cost: one step per hop. *Memory*: 4 bytes per vertex and 16 for inboxes.
//!
//! Source: Malewicz et al., "Pregel", SIGMOD 2010 (shortest paths).

use super::{Step, VertexProgram};
pub use crate::bfs::UNREACHED;

/// The program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hops {
    /// Vertex from which hops are counted; without effect if there is no such vertex.
    pub source: u32,
}

impl VertexProgram for Hops {
    type Vertex = u32;
    type Message = u32;
    type Aggregate = ();
    const COMBINES: bool = true;

    fn init(&self, _: u32) -> u32 {
        UNREACHED
    }

    fn combine(&self, into: &mut u32, message: u32) {
        *into = message.min(*into);
    }

    fn apply(&self, hops: &mut u32, messages: &mut [u32], step: &mut Step<'_, Self>) {
        let start = step.number() == 0 && step.vertex() == self.source;
        let offer = if start { 0 } else { messages.first().copied().unwrap_or(UNREACHED) };
        if offer < *hops {
            *hops = offer;
            step.scatter(offer + 1);
        }
        step.halt();
    }
}

#[test]
fn program_gives_the_hops_of_the_kernel() {
    use super::{Settings, run};
    use crate::control::Control;
    use crate::testing::{Lists, random_edges};
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for seed in 0..40 {
        let n = 2 + 29 * seed as u32;
        let edges = random_edges(seed, n, n as usize * 3 / 2);
        let source = seed as u32 % n;
        for is_asynchronous in [false, true] {
            let settings = Settings {
                max_iterations: 10_000,
                is_asynchronous,
                block: 8,
                ..Settings::default()
            };
            let control = Control::default().on(&pool);
            let graph = Lists::out(n, &edges);
            let found = run(&Hops { source }, &graph, n, &settings, &control).unwrap();
            assert_eq!(found.vertices, crate::bfs::verify(n, &edges, source), "seed {seed}");
        }
    }
    let few = Lists::out(2, &[(0, 1)]);
    let found = run(&Hops { source: 0 }, &few, 4, &Settings::default(), &Control::default());
    assert_eq!(found.unwrap().vertices, [0, 1, UNREACHED, UNREACHED]);
}
