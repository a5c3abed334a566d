//! Parallel execution.

use super::prelude::*;

/// Rows of its input, computed by several threads if there is enough work for them.
#[derive(Debug, Clone)]
pub(crate) struct Parallel {
    pub(crate) input: Plan,
    /// Depths below `input` of the sources: plans whose rows can be split into morsels, the lowest
    /// first.
    pub(crate) sources: Vec<usize>,
}

impl Parallel {
    /// Source at a level; the lowest is used if it has enough rows.
    pub(crate) fn source(&self, level: usize) -> &Plan {
        let mut at = &self.input;
        for _ in 0..self.sources[level] {
            at = at.input().expect("INVARIANT: it was walked when it was made");
        }
        at
    }
}

impl Operator for Parallel {
    input!(input);
    inner!();
    exprs!();

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn shape(&self) -> Shape {
        Shape::Combines
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first
    }

    fn explain(&self, _: &Printer<'_>) -> (&'static str, String) {
        ("Parallel", String::new())
    }
}
