//! Batches of rows, column by column.
//!
//! A query's variables are numbered: each has a [`Slot`], and a [`Batch`] holds one
//! [`Column`](telar_graph::column) per slot that is live. Columns are shared, so that an operator
//! that only adds one costs nothing for the others.

use std::sync::Arc;

pub(crate) use telar_graph::Column;

/// Rows that an operator hands on at once, at most; what one row expands to may be more.
pub(crate) const BATCH_ROWS: usize = 1024;

/// Number of a variable in a query.
pub(crate) type Slot = usize;

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
        let all = 0..self.rows as u32;
        let rows: Vec<u32> = match condition.bools() {
            Some(holds) if holds.iter().all(|is| *is) => return self,
            Some(holds) => all.filter(|row| holds[*row as usize]).collect(),
            None => all.filter(|row| condition.truth(*row as usize) == Some(true)).collect(),
        };
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
            all.set(slot, Column::concat(&columns));
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
    use telar_graph::Value;

    use super::*;

    #[test]
    fn filter_keeps_rows_that_are_true_and_concat_puts_batches_together() {
        let mut batch = Batch::empty(3);
        batch.set(2, Column::from(vec![1_i64, 2, 3]));
        let condition = Column::Values(vec![true.into(), Value::Null, true.into()]);
        let kept = batch.clone().filter(&condition);
        assert_eq!(kept.column(2).clone().as_ref().clone().into_values(), [1.into(), 3.into()]);
        let all = Batch::concat(vec![kept, batch.slice(1, 2)]);
        assert_eq!(all.rows(), 3);
        assert_eq!(all.column(2).get(2), Value::Int(2));
        assert!(!all.has(0));
    }
}
