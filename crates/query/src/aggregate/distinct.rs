//! Values seen before.

use std::collections::HashSet;

use telar_graph::Value;

use super::value_bytes;

/// A set of values by equivalence: `1` and `1.0` are one, and so are two NaNs.
#[derive(Debug, Default)]
pub(super) struct Distinct {
    values: HashSet<Value, foldhash::fast::RandomState>,
    /// What the values take beyond their places in the table.
    bytes: usize,
}

impl Distinct {
    pub(super) fn contains(&self, value: &Value) -> bool {
        self.values.contains(value)
    }

    pub(super) fn insert(&mut self, value: Value) {
        self.bytes += value_bytes(&value) - size_of::<Value>();
        self.values.insert(value);
    }

    pub(super) fn into_values(self) -> impl Iterator<Item = Value> {
        self.values.into_iter()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // The table has eight places for seven values, and a control byte for each place.
        size_of::<Self>() + self.bytes + self.values.capacity() * 8 / 7 * (size_of::<Value>() + 1)
    }
}
