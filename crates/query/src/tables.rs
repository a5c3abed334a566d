//! Parameters that are tables: data frames, results of other statements.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use telar_graph::Value;
use telar_graph::column::{Column, Maps};

/// Parameters that are tables, by name. To a statement each is a list of maps, of which the keys
/// are the names of the columns; `UNWIND $table AS row` reads the columns and makes no map.
///
/// # Examples
/// ```
/// use telar_graph::column::Column;
/// use telar_query::Tables;
///
/// let columns = [("name".into(), Column::of(vec!["Ulm".into(), "Bonn".into()]))];
/// let mut tables = Tables::default();
/// tables.add("cities", columns);
/// assert!(tables.has("cities"));
/// ```
#[derive(Debug, Default)]
pub struct Tables(HashMap<Arc<str>, Table>);

struct Table {
    rows: Column,
    /// The rows as a list, once somebody wants it.
    list: OnceLock<Value>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Tables {
    /// Adds a table, in place of one of the same name.
    ///
    /// # Panics
    /// As [`Maps::new`].
    pub fn add(
        &mut self,
        name: impl Into<Arc<str>>,
        columns: impl IntoIterator<Item = (Arc<str>, Column)>,
    ) {
        let rows = Column::Maps(Maps::new(columns));
        self.0.insert(name.into(), Table { rows, list: OnceLock::new() });
    }

    /// The tables with their names, each a column of maps.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Column)> {
        self.0.iter().map(|(name, table)| (name, &table.rows))
    }

    /// Whether there is a table of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows of a table.
    pub(crate) fn rows(&self, name: &str) -> Option<&Column> {
        self.0.get(name).map(|table| &table.rows)
    }

    /// The same as a list of maps.
    pub(crate) fn list(&self, name: &str) -> Option<Value> {
        let Table { rows, list } = self.0.get(name)?;
        let made = || Value::List((0..rows.len()).map(|row| rows.get(row)).collect());
        Some(list.get_or_init(made).clone())
    }
}
