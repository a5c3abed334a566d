//! Hash join.

use super::prelude::*;
use crate::expr::Binary;

/// Joins the rows of the input, the probe side, with rows of another plan that have equal keys.
#[derive(Debug, Clone)]
pub(crate) struct HashJoin {
    pub(crate) input: Plan,
    /// Build side: begins with `Unit`, is read once and kept in a hash table.
    pub(crate) build: Plan,
    /// Pairs of equal keys: one of the input, one of the build side. Without keys, a cross product.
    pub(crate) keys: Vec<(Expr, Expr)>,
}

impl Operator for HashJoin {
    input!(input);
    inner!();
    exprs!(keys);

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

    fn estimate(&self, counts: &Counts<'_>, rows: InputRows<'_>, facts: &mut Facts) -> f64 {
        let selectivity = |(a, b): &(Expr, Expr)| match (a, b) {
            (Expr::Slot(node), Expr::Slot(other)) => {
                // Nodes with many relationships are often found on both sides.
                let here = counts.reached_by(&self.input, *node);
                let there = counts.reached_by(&self.build, *other);
                counts.join_skew(facts, *node, here, &there) / counts.candidates(facts, *node)
            }
            (a, b) => counts.comparison_selectivity(Binary::Equal, a, b, facts),
        };
        rows.first * rows.second * self.keys.iter().map(selectivity).product::<f64>()
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        let key = |(a, b): &(Expr, Expr)| match (a, b) {
            (Expr::Slot(a), Expr::Slot(b)) if a == b => p.slot(*a),
            _ => format!("{} = {}", p.expr(a), p.expr(b)),
        };
        let nodes = |(a, _): &(Expr, Expr)| matches!(a, Expr::Slot(_));
        let name = match &self.keys[..] {
            [] => "CartesianProduct",
            keys if keys.iter().all(nodes) => "NodeHashJoin",
            _ => "ValueHashJoin",
        };
        (name, self.keys.iter().map(key).collect::<Vec<_>>().join(", "))
    }
}
