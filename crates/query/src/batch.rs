//! Batches of rows, column by column.
//!
//! A query's variables are numbered: each has a [`Slot`], and a [`Batch`] holds one column per slot
//! that is live. Columns are typed where every value is of one type and none is null; anything else
//! is a column of [`Value`]s. Columns are shared, so that an operator that only adds one costs
//! nothing for the others.

use std::sync::Arc;

use telar_graph::{EdgeId, Value, VertexId};

use crate::aggregate::value_bytes;

/// Rows that an operator hands on at once, at most; what one row expands to may be more.
pub(crate) const BATCH_ROWS: usize = 1024;

/// Number of a variable in a query.
pub(crate) type Slot = usize;

/// Values of one variable.
#[derive(Debug, Clone)]
pub(crate) enum Column {
    /// Vertices, none null.
    Vertices(Vec<VertexId>),
    /// Edges, none null.
    Edges(Vec<EdgeId>),
    /// Integers, none null.
    Ints(Vec<i64>),
    /// Truth values, none null.
    Bools(Vec<bool>),
    /// The same value in every row, and how many rows there are.
    Same(Value, usize),
    /// Any values.
    Values(Vec<Value>),
}

impl Column {
    /// The numbers of so many rows, for plans that run for many rows at once.
    pub(crate) fn numbers(rows: usize) -> Self {
        Self::Ints((0..rows as i64).collect())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Vertices(v) => v.len(),
            Self::Edges(v) => v.len(),
            Self::Ints(v) => v.len(),
            Self::Bools(v) => v.len(),
            Self::Same(_, len) => *len,
            Self::Values(v) => v.len(),
        }
    }

    /// The value in a row.
    pub(crate) fn get(&self, row: usize) -> Value {
        match self {
            Self::Vertices(v) => Value::Vertex(v[row]),
            Self::Edges(v) => Value::from(v[row]),
            Self::Ints(v) => Value::Int(v[row]),
            Self::Bools(v) => Value::Bool(v[row]),
            Self::Same(value, _) => value.clone(),
            Self::Values(v) => v[row].clone(),
        }
    }

    /// The value in a row of a column of conditions: null is `None`.
    pub(crate) fn truth(&self, row: usize) -> Option<bool> {
        match self {
            Self::Bools(v) => Some(v[row]),
            Self::Same(Value::Bool(b), _) => Some(*b),
            Self::Values(v) => match v[row] {
                Value::Bool(b) => Some(b),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        match self {
            Self::Values(v) => v[row].is_null(),
            Self::Same(value, _) => value.is_null(),
            _ => false,
        }
    }

    /// The vertex in a row, if it is one.
    pub(crate) fn vertex(&self, row: usize) -> Option<VertexId> {
        match self {
            Self::Vertices(v) => Some(v[row]),
            Self::Values(v) => match v[row] {
                Value::Vertex(v) => Some(v),
                _ => None,
            },
            Self::Same(Value::Vertex(v), _) => Some(*v),
            _ => None,
        }
    }

    /// The rows with these numbers, in this order.
    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        fn pick<T: Clone>(from: &[T], rows: &[u32]) -> Vec<T> {
            rows.iter().map(|r| from[*r as usize].clone()).collect()
        }
        match self {
            Self::Vertices(v) => Self::Vertices(pick(v, rows)),
            Self::Edges(v) => Self::Edges(pick(v, rows)),
            Self::Ints(v) => Self::Ints(pick(v, rows)),
            Self::Bools(v) => Self::Bools(pick(v, rows)),
            Self::Same(value, _) => Self::Same(value.clone(), rows.len()),
            Self::Values(v) => Self::Values(pick(v, rows)),
        }
    }

    /// The rows `from..to`.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        match self {
            Self::Vertices(v) => Self::Vertices(v[from..to].to_vec()),
            Self::Edges(v) => Self::Edges(v[from..to].to_vec()),
            Self::Ints(v) => Self::Ints(v[from..to].to_vec()),
            Self::Bools(v) => Self::Bools(v[from..to].to_vec()),
            Self::Same(value, _) => Self::Same(value.clone(), to - from),
            Self::Values(v) => Self::Values(v[from..to].to_vec()),
        }
    }

    /// The values of several columns, one after the other.
    fn concat(columns: &[&Self], rows: usize) -> Self {
        /// All of them, if `of` finds a list of this type in every column.
        fn typed<'c, T: Copy + 'c>(
            columns: &[&'c Column],
            of: impl Fn(&'c Column) -> Option<&'c Vec<T>>,
        ) -> Option<Vec<T>> {
            let parts: Option<Vec<_>> = columns.iter().map(|column| of(column)).collect();
            parts.map(|parts| parts.into_iter().flatten().copied().collect())
        }
        macro_rules! typed {
            ($($kind:ident),*) => {$(
                if let Some(v) = typed(columns, |c| match c {
                    Self::$kind(v) => Some(v),
                    _ => None,
                }) {
                    return Self::$kind(v);
                }
            )*};
        }
        typed!(Vertices, Edges, Ints, Bools);
        let mut values = Vec::with_capacity(rows);
        for column in columns {
            match column {
                Self::Values(v) => values.extend_from_slice(v),
                other => values.extend((0..other.len()).map(|row| other.get(row))),
            }
        }
        Self::of(values)
    }

    /// Values of several columns: of each the number of its column, and of its row in there.
    fn pick(columns: &[&Self], picks: &[(u32, u32)]) -> Self {
        /// The picked values, if `of` finds a list of this type in every column.
        fn typed<'c, T: Copy + 'c>(
            columns: &[&'c Column],
            picks: &[(u32, u32)],
            of: impl Fn(&'c Column) -> Option<&'c Vec<T>>,
        ) -> Option<Vec<T>> {
            let all: Option<Vec<_>> = columns.iter().map(|column| of(column)).collect();
            let all = all?;
            Some(picks.iter().map(|(at, row)| all[*at as usize][*row as usize]).collect())
        }
        macro_rules! typed {
            ($($kind:ident),*) => {$(
                if let Some(v) = typed(columns, picks, |c| match c {
                    Self::$kind(v) => Some(v),
                    _ => None,
                }) {
                    return Self::$kind(v);
                }
            )*};
        }
        typed!(Vertices, Edges, Ints, Bools);
        let value = |(at, row): &(u32, u32)| columns[*at as usize].get(*row as usize);
        Self::of(picks.iter().map(value).collect())
    }

    /// Bytes that it takes, on the heap and where it is shared from. Of equal texts, lists and maps
    /// next to each other, which are often one, the first counts.
    pub(crate) fn bytes(&self) -> usize {
        let own = match self {
            Self::Vertices(v) => v.capacity() * size_of::<VertexId>(),
            Self::Edges(v) => v.capacity() * size_of::<EdgeId>(),
            Self::Ints(v) => v.capacity() * size_of::<i64>(),
            Self::Bools(v) => v.capacity(),
            Self::Same(value, _) => heap_bytes(value),
            Self::Values(v) => v.capacity() * size_of::<Value>() + heap_bytes_of(v),
        };
        SHARED_BYTES + size_of::<Self>() + own
    }

    /// Bytes of its values beside their places, once each is a [`Value`].
    pub(crate) fn heap_bytes(&self) -> usize {
        match self {
            Self::Values(v) => heap_bytes_of(v),
            // A relationship is too large for the place of a value.
            Self::Edges(v) => v.len() * (SHARED_BYTES + size_of::<EdgeId>()),
            Self::Same(value, rows) if *rows > 0 => heap_bytes(value),
            _ => 0,
        }
    }

    /// All values, in order.
    pub(crate) fn into_values(self) -> Vec<Value> {
        match self {
            Self::Values(v) => v,
            Self::Same(value, len) => vec![value; len],
            other => (0..other.len()).map(|row| other.get(row)).collect(),
        }
    }

    /// A column of these values, typed if they are all vertices or all edges, the types that
    /// operators look for.
    pub(crate) fn of(values: Vec<Value>) -> Self {
        match values.first() {
            Some(Value::Vertex(_)) if values.iter().all(|v| matches!(v, Value::Vertex(_))) => {
                let vertex = |v: &Value| match v {
                    Value::Vertex(v) => *v,
                    _ => unreachable!("INVARIANT: all were tested"),
                };
                Self::Vertices(values.iter().map(vertex).collect())
            }
            Some(Value::Edge(_)) if values.iter().all(|v| matches!(v, Value::Edge(_))) => {
                let edge = |v: &Value| match v {
                    Value::Edge(e) => **e,
                    _ => unreachable!("INVARIANT: all were tested"),
                };
                Self::Edges(values.iter().map(edge).collect())
            }
            _ => Self::Values(values),
        }
    }

    /// A column of truth values, where unknown is `None`.
    pub(crate) fn of_truths(values: Vec<Option<bool>>) -> Self {
        match values.iter().copied().collect::<Option<Vec<bool>>>() {
            Some(known) => Self::Bools(known),
            None => Self::Values(values.into_iter().map(Value::from).collect()),
        }
    }
}

/// Reference counts of an `Arc`.
const SHARED_BYTES: usize = 16;

/// Bytes of a value beside its own place.
pub(crate) fn heap_bytes(value: &Value) -> usize {
    value_bytes(value) - size_of::<Value>()
}

/// Bytes of values beside their own places; what a value shares with the one before it counts once.
pub(crate) fn heap_bytes_of(values: &[Value]) -> usize {
    let (mut bytes, mut before) = (0, &Value::Null);
    for value in values {
        let shared = match (before, value) {
            (Value::String(a), Value::String(b)) => Arc::ptr_eq(a, b),
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        if !shared {
            bytes += heap_bytes(value);
        }
        before = value;
    }
    bytes
}

/// Rows, column by column.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    rows: usize,
    columns: Vec<Option<Arc<Column>>>,
}

impl Batch {
    /// Rows without columns.
    pub(crate) fn empty(rows: usize) -> Self {
        Self { rows, columns: Vec::new() }
    }

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// The column of a live variable.
    pub(crate) fn column(&self, slot: Slot) -> &Arc<Column> {
        self.columns
            .get(slot)
            .and_then(Option::as_ref)
            .expect("INVARIANT: the plan reads variables that are live")
    }

    pub(crate) fn has(&self, slot: Slot) -> bool {
        self.columns.get(slot).is_some_and(Option::is_some)
    }

    /// Adds or replaces a column.
    pub(crate) fn set(&mut self, slot: Slot, column: impl Into<Arc<Column>>) {
        let column = column.into();
        debug_assert_eq!(column.len(), self.rows, "slot {slot}");
        if self.columns.len() <= slot {
            self.columns.resize(slot + 1, None);
        }
        self.columns[slot] = Some(column);
    }

    /// The rows with these numbers, in this order.
    pub(crate) fn gather(&self, rows: &[u32]) -> Self {
        let column = |c: &Arc<Column>| Arc::new(c.gather(rows));
        let columns = self.columns.iter().map(|c| c.as_ref().map(column)).collect();
        Self { rows: rows.len(), columns }
    }

    /// The rows with these numbers, in this order, with those of their columns that are in `slots`.
    pub(crate) fn gather_some(&self, rows: &[u32], slots: &[Slot]) -> Self {
        let mut some = Self::empty(rows.len());
        for slot in slots {
            if self.has(*slot) && !some.has(*slot) {
                some.set(*slot, self.column(*slot).gather(rows));
            }
        }
        some
    }

    /// The rows for which the condition is true.
    pub(crate) fn filter(self, condition: &Column) -> Self {
        if let Column::Bools(all) = condition
            && all.iter().all(|is| *is)
        {
            return self;
        }
        let rows: Vec<u32> =
            (0..self.rows as u32).filter(|r| condition.truth(*r as usize) == Some(true)).collect();
        if rows.len() == self.rows { self } else { self.gather(&rows) }
    }

    /// The rows `from..to`.
    pub(crate) fn slice(&self, from: usize, to: usize) -> Self {
        let column = |c: &Arc<Column>| Arc::new(c.slice(from, to));
        let columns = self.columns.iter().map(|c| c.as_ref().map(column)).collect();
        Self { rows: to - from, columns }
    }

    /// The same rows with these columns only.
    pub(crate) fn keep(&self, slots: &[Slot]) -> Self {
        let mut kept = Self::empty(self.rows);
        for slot in slots {
            kept.set(*slot, Arc::clone(self.column(*slot)));
        }
        kept
    }

    /// Drops the columns that are not in `slots`, which ascend.
    pub(crate) fn retain(&mut self, slots: &[Slot]) {
        for (slot, column) in self.columns.iter_mut().enumerate() {
            if column.is_some() && slots.binary_search(&slot).is_err() {
                *column = None;
            }
        }
    }

    /// Slots of the columns there are.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.columns.iter().enumerate().filter_map(|(slot, c)| c.is_some().then_some(slot))
    }

    /// The rows of several batches with the same columns, one after the other.
    pub(crate) fn concat(batches: Vec<Self>) -> Self {
        if batches.len() == 1 {
            return batches.into_iter().next().unwrap_or_default();
        }
        let mut all = Self::empty(batches.iter().map(Self::rows).sum());
        let Some(first) = batches.first() else { return all };
        for slot in first.slots() {
            let columns: Vec<&Column> = batches.iter().map(|b| &**b.column(slot)).collect();
            all.set(slot, Column::concat(&columns, all.rows));
        }
        all
    }

    /// Rows of several batches with the same columns: of each the number of its batch, and of it in
    /// there.
    pub(crate) fn pick(batches: &[Self], picks: &[(u32, u32)]) -> Self {
        let mut picked = Self::empty(picks.len());
        let Some(first) = batches.first() else { return picked };
        for slot in first.slots() {
            let columns: Vec<&Column> = batches.iter().map(|b| &**b.column(slot)).collect();
            picked.set(slot, Column::pick(&columns, picks));
        }
        picked
    }

    /// Memory held, in bytes: what columns share with other batches counts in full.
    pub(crate) fn bytes(&self) -> usize {
        let own = size_of::<Self>() + self.columns.capacity() * size_of::<Option<Arc<Column>>>();
        own + self.columns.iter().flatten().map(|column| column.bytes()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_typed_only_where_all_values_are_of_one_type() {
        let v = |n| Value::Vertex(VertexId::from_raw(n));
        assert!(matches!(Column::of(vec![v(1), v(2)]), Column::Vertices(_)));
        let mixed = Column::of(vec![v(1), Value::Null]);
        assert!(matches!(mixed, Column::Values(_)));
        assert_eq!(mixed.vertex(0), Some(VertexId::from_raw(1)));
        assert_eq!(mixed.vertex(1), None);
        assert!(mixed.is_null(1));
    }

    #[test]
    fn filter_keeps_rows_that_are_true_and_concat_puts_batches_together() {
        let mut batch = Batch::empty(3);
        batch.set(2, Column::Ints(vec![1, 2, 3]));
        let condition = Column::Values(vec![true.into(), Value::Null, true.into()]);
        let kept = batch.clone().filter(&condition);
        assert_eq!(kept.column(2).clone().as_ref().clone().into_values(), [1.into(), 3.into()]);
        let all = Batch::concat(vec![kept, batch.slice(1, 2)]);
        assert_eq!(all.rows(), 3);
        assert_eq!(all.column(2).get(2), Value::Int(2));
        assert!(!all.has(0));
    }
}
