//! Columns: values of many rows, of one type where they have one, with nulls beside them.
//!
//! Reads fill them ([`View::vertex_properties`](crate::View::vertex_properties)), expressions and
//! aggregates work on them, results and Arrow are made of them.
//!
//! ```text
//!  Column ─┬─ Vertices, Edges, Bools, Ints, Floats   Nullable: values in a row, a bit for each
//!          ├─ Texts                                   shared with storage, null is no pointer
//!          ├─ Packed                                  texts behind each other, if asked for
//!          ├─ Same                                    one value for all rows, null for example
//!          ├─ FloatLists                              lists and vectors, shared with storage
//!          ├─ Maps                                    the rows of a table, key by key
//!          └─ Values                                  anything else, and mixtures
//! ```
//!
//! Byte strings, temporal values, points, other lists, vectors and maps are in
//! [`Column::Values`]: storage holds them as values, too, so that a type of their own would be one
//! more copy.
//!
//! *Rows that are appended one after the other give the type*: a column of one type stays of it as
//! long as what comes is of that type or null, and becomes [`Column::Values`] otherwise. Nulls
//! alone have no type: they are [`Column::Same`].

mod append;
mod float_lists;
mod maps;
mod nullable;
mod packed;

use std::sync::Arc;

use crate::value::{heap_bytes, heap_bytes_of};
use crate::{EdgeId, Value, VertexId};

pub use append::Element;
pub use float_lists::{FloatBlock, FloatLists, Floats};
pub use maps::Maps;
pub use nullable::Nullable;
pub use packed::PackedTexts;

/// Values of many rows.
#[derive(Debug, Clone)]
pub enum Column {
    /// Vertices.
    Vertices(Nullable<VertexId>),
    /// Edges.
    Edges(Nullable<EdgeId>),
    /// Truth values.
    Bools(Nullable<bool>),
    /// Integers.
    Ints(Nullable<i64>),
    /// Floats.
    Floats(Nullable<f64>),
    /// Texts, shared with where they come from.
    Texts(Vec<Option<Arc<str>>>),
    /// Texts of those who look at each once. A column is of this type if it began as
    /// [`Column::packed`].
    Packed(PackedTexts),
    /// Lists of floats, shared with where they come from.
    FloatLists(FloatLists),
    /// Maps of the same keys, none of them null.
    Maps(Maps),
    /// The same value in every row, and how many rows there are.
    Same(Value, usize),
    /// Any values.
    Values(Vec<Value>),
}

impl Default for Column {
    /// No rows, and no type yet.
    fn default() -> Self {
        Self::Same(Value::Null, 0)
    }
}

impl From<Vec<VertexId>> for Column {
    fn from(vertices: Vec<VertexId>) -> Self {
        Self::Vertices(vertices.into())
    }
}

impl From<Vec<EdgeId>> for Column {
    fn from(edges: Vec<EdgeId>) -> Self {
        Self::Edges(edges.into())
    }
}

impl From<Vec<i64>> for Column {
    fn from(ints: Vec<i64>) -> Self {
        Self::Ints(ints.into())
    }
}

impl From<Vec<f64>> for Column {
    fn from(floats: Vec<f64>) -> Self {
        Self::Floats(floats.into())
    }
}

impl From<Vec<bool>> for Column {
    fn from(truths: Vec<bool>) -> Self {
        Self::Bools(truths.into())
    }
}

/// A match on the type of a column, with one arm for all lists of [`Nullable`] values.
macro_rules! by_type {
    ($column:expr, $all:ident => $list:expr, $($rest:tt)*) => {
        match $column {
            Column::Vertices($all) => $list,
            Column::Edges($all) => $list,
            Column::Bools($all) => $list,
            Column::Ints($all) => $list,
            Column::Floats($all) => $list,
            $($rest)*
        }
    };
}
use by_type;

impl Column {
    /// So many nulls.
    #[must_use]
    pub const fn nulls(rows: usize) -> Self {
        Self::Same(Value::Null, rows)
    }

    /// No rows, and no type yet; texts that are appended are copied behind each other.
    #[must_use]
    pub fn packed() -> Self {
        Self::Packed(PackedTexts::default())
    }

    /// The numbers of so many rows.
    #[must_use]
    pub fn numbers(rows: usize) -> Self {
        Self::from((0..rows as i64).collect::<Vec<_>>())
    }

    /// A column of these values: of their type, if it is one type that has columns.
    #[must_use]
    pub fn of(values: Vec<Value>) -> Self {
        fn typed<T: Element>(values: &[Value]) -> Column {
            T::column(values.iter().map(T::of).collect())
        }
        let Some(first) = values.iter().find(|value| !value.is_null()) else {
            return Self::nulls(values.len());
        };
        let kind = std::mem::discriminant(first);
        if values.iter().any(|v| !v.is_null() && std::mem::discriminant(v) != kind) {
            return Self::Values(values);
        }
        match first {
            Value::Vertex(_) => typed::<VertexId>(&values),
            Value::Edge(_) => typed::<EdgeId>(&values),
            Value::Bool(_) => typed::<bool>(&values),
            Value::Int(_) => typed::<i64>(&values),
            Value::Float(_) => typed::<f64>(&values),
            Value::String(_) => {
                let text = |value| if let Value::String(text) = value { Some(text) } else { None };
                Self::Texts(values.into_iter().map(text).collect())
            }
            _ => Self::Values(values),
        }
    }

    /// A column of truth values, where unknown is `None`.
    #[must_use]
    pub fn of_truths(truths: impl IntoIterator<Item = Option<bool>>) -> Self {
        Self::Bools(truths.into_iter().collect())
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        by_type!(self, all => all.len(),
            Self::Texts(all) => all.len(),
            Self::Packed(all) => all.len(),
            Self::FloatLists(all) => all.len(),
            Self::Maps(all) => all.len(),
            Self::Values(all) => all.len(),
            Self::Same(_, rows) => *rows,
        )
    }

    /// True if there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value in a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Value {
        fn value<T: Copy + Default + Into<Value>>(all: &Nullable<T>, row: usize) -> Value {
            all.get(row).map_or(Value::Null, Into::into)
        }
        by_type!(self, all => value(all, row),
            Self::Texts(all) => all[row].clone().map_or(Value::Null, Value::String),
            Self::Packed(all) => all.get(row).map_or(Value::Null, Value::from),
            Self::FloatLists(all) => all.value(row),
            Self::Maps(all) => all.get(row),
            Self::Same(value, _) => value.clone(),
            Self::Values(all) => all[row].clone(),
        )
    }

    /// The value in a row of a column of conditions: null, or what is no truth value, is `None`.
    #[inline]
    #[must_use]
    pub fn truth(&self, row: usize) -> Option<bool> {
        match self {
            Self::Bools(all) => all.get(row),
            Self::Same(Value::Bool(is), _) => Some(*is),
            Self::Values(all) => match all[row] {
                Value::Bool(is) => Some(is),
                _ => None,
            },
            _ => None,
        }
    }

    /// True if the value in a row is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        by_type!(self, all => all.is_null(row),
            Self::Texts(all) => all[row].is_none(),
            Self::Packed(all) => all.is_null(row),
            Self::FloatLists(all) => all.is_null(row),
            Self::Maps(_) => false,
            Self::Same(value, _) => value.is_null(),
            Self::Values(all) => all[row].is_null(),
        )
    }

    /// False if it is known without a look at each row that none is null.
    #[must_use]
    pub fn may_have_nulls(&self) -> bool {
        by_type!(self, all => all.has_nulls(),
            Self::Packed(all) => all.has_nulls(),
            Self::FloatLists(all) => all.has_nulls(),
            Self::Maps(_) => false,
            Self::Same(value, _) => value.is_null(),
            Self::Texts(_) | Self::Values(_) => true,
        )
    }

    /// The vertex in a row, if it is one.
    #[inline]
    #[must_use]
    pub fn vertex(&self, row: usize) -> Option<VertexId> {
        match self {
            Self::Vertices(all) => all.get(row),
            Self::Same(Value::Vertex(vertex), _) => Some(*vertex),
            Self::Values(all) => match all[row] {
                Value::Vertex(vertex) => Some(vertex),
                _ => None,
            },
            _ => None,
        }
    }

    /// All rows as vertices, if it is a column of them and none is null.
    #[must_use]
    pub fn vertices(&self) -> Option<&[VertexId]> {
        VertexId::list(self)?.full()
    }

    /// All rows as edges, if it is a column of them and none is null.
    #[must_use]
    pub fn edges(&self) -> Option<&[EdgeId]> {
        EdgeId::list(self)?.full()
    }

    /// All rows as integers, if it is a column of them and none is null.
    #[must_use]
    pub fn ints(&self) -> Option<&[i64]> {
        i64::list(self)?.full()
    }

    /// All rows as floats, if it is a column of them and none is null.
    #[must_use]
    pub fn floats(&self) -> Option<&[f64]> {
        f64::list(self)?.full()
    }

    /// All rows as truth values, if it is a column of them and none is null.
    #[must_use]
    pub fn bools(&self) -> Option<&[bool]> {
        bool::list(self)?.full()
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        fn pick<T: Clone>(from: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|row| from[*row as usize].clone()).collect()
        }
        by_type!(self, all => Element::column(all.gather(rows)),
            Self::Texts(all) => Self::Texts(pick(all, rows)),
            Self::Packed(all) => Self::Packed(all.gather(rows)),
            Self::FloatLists(all) => Self::FloatLists(all.gather(rows)),
            Self::Maps(all) => Self::Maps(all.gather(rows)),
            Self::Same(value, _) => Self::Same(value.clone(), rows.len()),
            // PERF: `telar bench snb --only complex-12`: a list that was collected into one row
            // stays one value, and threads do not count its users up and down together.
            Self::Values(all) if all.len() == 1 => Self::Same(all[0].clone(), rows.len()),
            Self::Values(all) => Self::Values(pick(all, rows)),
        )
    }

    /// The rows `from..to`.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        by_type!(self, all => Element::column(all.slice(from, to)),
            Self::Texts(all) => Self::Texts(all[from..to].to_vec()),
            Self::Packed(all) => Self::Packed(all.slice(from, to)),
            Self::FloatLists(all) => Self::FloatLists(all.slice(from, to)),
            Self::Maps(all) => Self::Maps(all.slice(from, to)),
            Self::Same(value, _) => Self::Same(value.clone(), to - from),
            Self::Values(all) => Self::Values(all[from..to].to_vec()),
        )
    }

    /// The values of several columns, one after the other.
    #[must_use]
    pub fn concat(columns: &[&Self]) -> Self {
        let mut rest = columns.iter();
        let Some(first) = rest.next() else { return Self::default() };
        let mut all = (*first).clone();
        all.reserve(rest.clone().map(|column| column.len()).sum());
        rest.for_each(|column| all.append(column));
        all
    }

    /// Values of several columns: of each the number of its column, and of its row in there.
    ///
    /// # Panics
    /// If there is no such column or row.
    #[must_use]
    pub fn pick(columns: &[&Self], picks: &[(u32, u32)]) -> Self {
        /// The picked values, if every column is of this type.
        fn typed<T: Element>(columns: &[&Column], picks: &[(u32, u32)]) -> Option<Column> {
            let all = columns.iter().map(|column| T::list(column));
            let all = all.collect::<Option<Vec<_>>>()?;
            let value = |(at, row): &(u32, u32)| all[*at as usize].get(*row as usize);
            Some(T::column(picks.iter().map(value).collect()))
        }
        let found = match columns.first() {
            Some(Self::Vertices(_)) => typed::<VertexId>(columns, picks),
            Some(Self::Edges(_)) => typed::<EdgeId>(columns, picks),
            Some(Self::Bools(_)) => typed::<bool>(columns, picks),
            Some(Self::Ints(_)) => typed::<i64>(columns, picks),
            Some(Self::Floats(_)) => typed::<f64>(columns, picks),
            _ => None,
        };
        if let Some(found) = found {
            return found;
        }
        if columns.iter().all(|column| matches!(column, Self::FloatLists(_))) {
            let mut all = FloatLists::default();
            for (at, row) in picks {
                match columns[*at as usize] {
                    Self::FloatLists(lists) => all.push_from(lists, *row as usize),
                    _ => unreachable!("INVARIANT: all were tested"),
                }
            }
            return Self::FloatLists(all);
        }
        if columns.iter().all(|column| matches!(column, Self::Packed(_))) {
            let text = |(at, row): &(u32, u32)| match columns[*at as usize] {
                Self::Packed(all) => all.get(*row as usize),
                _ => unreachable!("INVARIANT: all were tested"),
            };
            return Self::Packed(picks.iter().map(text).collect());
        }
        if columns.iter().all(|column| matches!(column, Self::Texts(_))) {
            let text = |(at, row): &(u32, u32)| match columns[*at as usize] {
                Self::Texts(all) => all[*row as usize].clone(),
                _ => unreachable!("INVARIANT: all were tested"),
            };
            return Self::Texts(picks.iter().map(text).collect());
        }
        let value = |(at, row): &(u32, u32)| columns[*at as usize].get(*row as usize);
        Self::of(picks.iter().map(value).collect())
    }

    /// All values, in order.
    #[must_use]
    pub fn into_values(self) -> Vec<Value> {
        match self {
            Self::Values(all) => all,
            Self::Same(value, rows) => vec![value; rows],
            Self::Texts(all) => {
                all.into_iter().map(|text| text.map_or(Value::Null, Value::String)).collect()
            }
            other => (0..other.len()).map(|row| other.get(row)).collect(),
        }
    }

    /// Bytes that it takes, on the heap and where it is shared from. Of equal texts, lists and maps
    /// next to each other, which are often one, the first counts.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let own = by_type!(self, all => all.bytes(),
            Self::Texts(all) => all.capacity() * size_of::<Option<Arc<str>>>() + text_bytes(all),
            Self::Packed(all) => all.bytes(),
            Self::FloatLists(all) => all.bytes(),
            Self::Maps(all) => all.bytes(),
            Self::Same(value, _) => heap_bytes(value),
            Self::Values(all) => all.capacity() * size_of::<Value>() + heap_bytes_of(all),
        );
        SHARED_BYTES + size_of::<Self>() + own
    }

    /// Bytes of its values beside their places, once each is a [`Value`].
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        match self {
            Self::Values(all) => heap_bytes_of(all),
            Self::Texts(all) => text_bytes(all),
            Self::Packed(all) => all.text_bytes() + all.len() * SHARED_BYTES,
            Self::FloatLists(all) => all.value_bytes(),
            Self::Maps(all) => (0..all.len()).map(|row| heap_bytes(&all.get(row))).sum(),
            // An edge is too large for the place of a value.
            Self::Edges(all) => all.len() * (SHARED_BYTES + size_of::<EdgeId>()),
            Self::Same(value, rows) if *rows > 0 => heap_bytes(value),
            _ => 0,
        }
    }
}

/// Reference counts of an `Arc`.
const SHARED_BYTES: usize = 16;

/// Bytes of texts beside their places; of the same text next to each other the first counts.
fn text_bytes(texts: &[Option<Arc<str>>]) -> usize {
    let mut bytes = 0;
    let mut before: Option<&Arc<str>> = None;
    for text in texts {
        if let Some(text) = text
            && !before.is_some_and(|before| Arc::ptr_eq(before, text))
        {
            bytes += SHARED_BYTES + text.len();
        }
        before = text.as_ref();
    }
    bytes
}

#[cfg(test)]
mod tests;
