//! Weakly connected components as a vertex program: the result of [`crate::wcc`].
//!
//! Result: for each vertex the smallest vertex number of its component.
//!
//! Method: each vertex tells its neighbours when it learns of a smaller number. The graph has to
//! hold each edge in both directions ([`Both`](super::both::Both) makes one of two directions).
//!
//! Cost: as many steps as the longest shortest path has edges; fewer when asynchronous. *Memory*: 4
//! bytes per vertex and 16 for inboxes.
//!
//! Source: Kang, Tsourakakis and Faloutsos, "PEGASUS", ICDM 2009 (HCC).

use super::{Step, VertexProgram};

/// The program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Components;

impl VertexProgram for Components {
    type Vertex = u32;
    type Message = u32;
    type Aggregate = ();
    const COMBINES: bool = true;

    fn init(&self, v: u32) -> u32 {
        v
    }

    fn combine(&self, into: &mut u32, message: u32) {
        *into = message.min(*into);
    }

    fn apply(&self, least: &mut u32, messages: &mut [u32], step: &mut Step<'_, Self>) {
        let found = messages.first().copied().unwrap_or(*least);
        if step.number() == 0 || found < *least {
            *least = found.min(*least);
            step.scatter(*least);
        }
        step.halt();
    }
}

#[test]
fn program_gives_the_components_of_the_kernel() {
    use super::both::Both;
    use super::{Ended, Settings, run};
    use crate::control::Control;
    use crate::testing::{Lists, random_edges};
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    for seed in 0..40 {
        let n = 1 + 31 * seed as u32;
        let edges = random_edges(seed, n, n as usize * (seed as usize % 4) / 2);
        let (out, incoming) = (Lists::out(n, &edges), Lists::incoming(n, &edges));
        for way in 0..8u32 {
            let settings = Settings {
                max_iterations: 10_000,
                is_asynchronous: way & 1 == 1,
                batching: way & 2 == 0,
                sharing: way & 4 == 0,
                block: 16,
                ..Settings::default()
            };
            let control = Control::default().on(&pool);
            let found = run(&Components, &Both(&out, &incoming), n, &settings, &control).unwrap();
            assert_eq!(found.vertices, crate::wcc::verify(n, &edges), "seed {seed}, way {way}");
            assert_eq!(found.ended, Ended::Halted);
        }
    }
}
