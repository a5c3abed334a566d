//! Maps of the same keys, key by key.

use std::sync::Arc;

use super::Column;
use crate::Value;

/// Maps that all have the same keys, held key by key: the rows of a table. None is null.
///
/// *Invariant*: keys are different; there is a column for each, of as many rows as there are maps.
#[derive(Debug, Clone)]
pub struct Maps {
    keys: Arc<[Arc<str>]>,
    columns: Vec<Arc<Column>>,
    rows: usize,
}

impl Maps {
    /// The rows of these columns, as maps.
    ///
    /// # Panics
    /// If two keys are equal, or the columns have different lengths, or there are none.
    #[must_use]
    pub fn new(columns: impl IntoIterator<Item = (Arc<str>, Column)>) -> Self {
        let (keys, columns): (Vec<_>, Vec<_>) =
            columns.into_iter().map(|(key, column)| (key, Arc::new(column))).unzip();
        let rows = columns.first().expect("maps need a key").len();
        assert!(columns.iter().all(|column| column.len() == rows), "columns of different lengths");
        let twice = |at: usize| keys[..at].contains(&keys[at]);
        assert!(!(0..keys.len()).any(twice), "two columns have one name");
        Self { keys: keys.into(), columns, rows }
    }

    /// Number of maps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The keys of each map.
    #[must_use]
    pub fn keys(&self) -> &[Arc<str>] {
        &self.keys
    }

    /// What the maps have below a key; none if they have no such key.
    #[must_use]
    pub fn column(&self, key: &str) -> Option<&Arc<Column>> {
        let at = self.keys.iter().position(|own| **own == *key)?;
        Some(&self.columns[at])
    }

    /// A map.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Value {
        let entries = self.keys.iter().zip(&self.columns);
        Value::map(entries.map(|(key, column)| (Arc::clone(key), column.get(row))))
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        self.each(rows.len(), |column| column.gather(rows))
    }

    /// The rows `from..to`.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        self.each(to - from, |column| column.slice(from, to))
    }

    fn each(&self, rows: usize, part: impl Fn(&Column) -> Column) -> Self {
        let columns = self.columns.iter().map(|column| Arc::new(part(column))).collect();
        Self { keys: Arc::clone(&self.keys), columns, rows }
    }

    /// Appends maps, and returns true, if they have the same keys in the same order.
    pub fn append(&mut self, other: &Self) -> bool {
        let same = self.keys == other.keys;
        if same {
            for (own, column) in self.columns.iter_mut().zip(&other.columns) {
                Arc::make_mut(own).append(column);
            }
            self.rows += other.rows;
        }
        same
    }

    /// Heap bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(|column| size_of::<Column>() + column.bytes()).sum()
    }
}
