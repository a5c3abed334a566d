//! The graph as it must be: the imported one, and the scripts played as far as each writer came.

use std::collections::HashMap;

use super::edges::Edge;
use super::script::{Op, Plan};

/// The graph that must have been recovered.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Sorted.
    pub(super) edges: Vec<Edge>,
    /// Edges that writers added, with their property.
    pub(super) added: Vec<(Edge, i64)>,
    /// Likes of every vertex that has any.
    pub(super) likes: HashMap<u32, i64>,
}

impl Model {
    /// Plays `steps[w]` transactions of each writer `w`.
    pub(super) fn play(plan: &Plan<'_>, steps: &[u64]) -> Self {
        let mut model = Self::default();
        for (writer, &steps) in steps.iter().enumerate().take(plan.writers()) {
            let mut script = plan.script(writer);
            for _ in 0..steps {
                if let Op::Like { vertex } = script.next() {
                    *model.likes.entry(vertex).or_insert(0) += 1;
                }
            }
            model.edges.extend(script.imported());
            model.added.extend_from_slice(script.added());
        }
        model.edges.extend(model.added.iter().map(|(edge, _)| *edge));
        model.edges.sort_unstable();
        model
    }
}
