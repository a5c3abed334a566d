//! Values seen before.

use std::collections::HashSet;

use telar_graph::{Value, VertexId};

use super::value_bytes;
use crate::vertices::VertexSet;

/// A set of values by equivalence: `1` and `1.0` are one, and so are two NaNs.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    vertices: VertexSet,
    /// All that are no vertices.
    values: HashSet<Value, foldhash::fast::RandomState>,
    /// What the values take beyond their places in the table.
    bytes: usize,
}

impl Distinct {
    /// Adds a value; whether it was not there.
    pub(super) fn insert(&mut self, value: &Value) -> bool {
        match value {
            Value::Vertex(vertex) => self.vertices.insert(*vertex),
            value if self.values.contains(value) => false,
            value => {
                self.bytes += value_bytes(value) - size_of::<Value>();
                self.values.insert(value.clone())
            }
        }
    }

    /// Adds vertices; how many were not there.
    pub(super) fn insert_vertices(&mut self, vertices: &[VertexId]) -> usize {
        self.vertices.insert_all(vertices)
    }

    /// Adds what another one has; how many were not there.
    pub(super) fn absorb(&mut self, other: Self) -> usize {
        let fresh = self.vertices.absorb(other.vertices);
        fresh + other.values.iter().filter(|value| self.insert(value)).count()
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        match value {
            Value::Vertex(vertex) => self.vertices.contains(*vertex),
            value => self.values.contains(value),
        }
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = Value> {
        let vertices = self.vertices.into_vertices().map(Value::Vertex);
        vertices.chain(self.values)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // The table has eight places for seven values, and a control byte for each place.
        let table = self.values.capacity() * 8 / 7 * (size_of::<Value>() + 1);
        size_of::<Self>() + self.bytes + table + self.vertices.memory_bytes()
    }
}
