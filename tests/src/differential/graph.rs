//! Small random graphs, with loops, parallel edges and missing properties.

use crate::Rng;
use crate::tck::value::{Entries, Node, Relationship, TckValue};

/// Labels of vertices.
pub(super) const LABELS: [&str; 3] = ["A", "B", "C"];
/// Types of edges.
pub(super) const TYPES: [&str; 3] = ["R", "S", "T"];
/// Texts that properties hold.
pub(super) const TEXTS: [&str; 5] = ["", "a", "b", "ab", "ba"];

/// A graph that queries run on. Each property key holds values of one type: `i` integers, `f`
/// floats, `s` texts, `b` truth values.
#[derive(Debug, Clone, Default)]
pub struct RandomGraph {
    pub(super) nodes: Vec<Node>,
    pub(super) edges: Vec<Edge>,
}

/// An edge between two vertices of the list.
#[derive(Debug, Clone)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) relationship: Relationship,
}

impl RandomGraph {
    /// A graph of 1 to 6 vertices and up to 10 edges.
    #[must_use]
    pub fn new(rng: &mut Rng) -> Self {
        Self::of(rng, 6, 10)
    }

    /// A graph of 1 to `nodes` vertices and up to `edges` edges.
    pub(super) fn of(rng: &mut Rng, nodes: u64, edges: u64) -> Self {
        let mut graph = Self::default();
        for _ in 0..1 + rng.below(nodes) {
            let labels = LABELS.iter().filter(|_| rng.one_in(2)).map(|&l| l.to_owned());
            let labels = labels.collect();
            graph.nodes.push(Node { labels, properties: properties(rng) });
        }
        for _ in 0..rng.below(edges + 1) {
            let node = |rng: &mut Rng| rng.below(graph.nodes.len() as u64) as usize;
            let (from, to) = (node(rng), node(rng));
            let ty = (*pick(rng, &TYPES)).to_owned();
            let relationship = Relationship { ty, properties: properties(rng) };
            graph.edges.push(Edge { from, to, relationship });
        }
        graph
    }

    /// The query that makes the graph.
    #[must_use]
    pub fn create(&self) -> String {
        let mut parts = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let text = node.to_string();
            let blank = if text.starts_with("({") { " " } else { "" };
            parts.push(format!("(n{number}{blank}{}", &text[1..]));
        }
        for Edge { from, to, relationship } in &self.edges {
            parts.push(format!("(n{from})-{relationship}->(n{to})"));
        }
        format!("CREATE {}", parts.join(",\n       "))
    }
}

/// One of these.
pub(super) fn pick<'l, T>(rng: &mut Rng, list: &'l [T]) -> &'l T {
    &list[rng.below(list.len() as u64) as usize]
}

fn properties(rng: &mut Rng) -> Entries {
    let mut properties = Entries::new();
    let mut set = |key: &str, value| drop(properties.insert(key.to_owned(), value));
    if !rng.one_in(3) {
        set("i", TckValue::Int(rng.below(4) as i64));
    }
    if rng.one_in(2) {
        // Halves add up without rounding.
        set("f", TckValue::float(rng.below(5) as f64 / 2.0));
    }
    if rng.one_in(2) {
        set("s", TckValue::string(*pick(rng, &TEXTS)));
    }
    if rng.one_in(3) {
        set("b", TckValue::Bool(rng.one_in(2)));
    }
    properties
}
