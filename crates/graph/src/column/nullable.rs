//! Values of one type, of which some may be null.

/// Values of one type in order, and a bit for each that says whether it is there; no bits at all as
/// long as none is null.
///
/// *Invariant*: `present` is empty, or has a bit for each value and at least one of them is 0. Bits
/// behind the last value are 0. A value that is null has its type's default in its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Nullable<T> {
    values: Vec<T>,
    present: Vec<u64>,
}

impl<T> Default for Nullable<T> {
    fn default() -> Self {
        Self { values: Vec::new(), present: Vec::new() }
    }
}

/// Values of which none is null.
impl<T> From<Vec<T>> for Nullable<T> {
    fn from(values: Vec<T>) -> Self {
        Self { values, present: Vec::new() }
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for Nullable<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut all = Self::default();
        all.extend(values);
        all
    }
}

impl<T: Copy + Default> Extend<Option<T>> for Nullable<T> {
    fn extend<I: IntoIterator<Item = Option<T>>>(&mut self, values: I) {
        let mut values = values.into_iter();
        self.values.reserve(values.size_hint().0);
        // PERF: telar bench snb --only complex-9: one branch for each value until one is null.
        if !self.has_nulls() {
            for value in values.by_ref() {
                let Some(value) = value else {
                    self.push_slow(None);
                    break;
                };
                self.values.push(value);
            }
        }
        values.for_each(|value| self.push(value));
    }
}

impl<T: Copy + Default> Nullable<T> {
    /// So many nulls.
    #[must_use]
    pub fn nulls(len: usize) -> Self {
        Self { values: vec![T::default(); len], present: vec![0; len.div_ceil(64)] }
    }

    /// Makes room for so many values more.
    pub fn reserve(&mut self, more: usize) {
        self.values.reserve(more);
    }

    /// Number of values, nulls included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value in a row, `None` if it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<T> {
        let value = self.values[row];
        (!self.is_null(row)).then_some(value)
    }

    /// True if the value in a row is null.
    #[inline]
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        !self.present.is_empty() && self.present[row / 64] >> (row % 64) & 1 == 0
    }

    /// True if at least one value is null.
    #[inline]
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        !self.present.is_empty()
    }

    /// All values, if none is null.
    #[inline]
    #[must_use]
    pub fn full(&self) -> Option<&[T]> {
        self.present.is_empty().then_some(&self.values)
    }

    /// Words with a bit for each value that is there, the first in the lowest bit; none if all are.
    #[must_use]
    pub fn present(&self) -> &[u64] {
        &self.present
    }

    /// The values, with their type's default where one is null, and [`present`](Self::present).
    #[must_use]
    pub fn into_parts(self) -> (Vec<T>, Vec<u64>) {
        (self.values, self.present)
    }

    /// The values in order, `None` for those that are null.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<T>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Appends a value, or null.
    #[inline]
    pub fn push(&mut self, value: Option<T>) {
        if value.is_none() || self.has_nulls() {
            self.push_slow(value);
        } else if let Some(value) = value {
            self.values.push(value);
        }
    }

    #[cold]
    fn push_slow(&mut self, value: Option<T>) {
        let row = self.values.len();
        if !self.has_nulls() {
            self.present = vec![u64::MAX; row.div_ceil(64)];
            self.mask_last();
        }
        if row.is_multiple_of(64) {
            self.present.push(0);
        }
        self.present[row / 64] |= u64::from(value.is_some()) << (row % 64);
        self.values.push(value.unwrap_or_default());
    }

    /// Clears the bits behind the last value.
    fn mask_last(&mut self) {
        if let (rest @ 1.., Some(last)) = (self.values.len() % 64, self.present.last_mut()) {
            *last &= (1 << rest) - 1;
        }
    }

    /// Appends values of which none is null.
    pub fn extend_from_slice(&mut self, values: &[T]) {
        match self.has_nulls() {
            false => self.values.extend_from_slice(values),
            true => values.iter().for_each(|value| self.push(Some(*value))),
        }
    }

    /// Replaces the value in a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set(&mut self, row: usize, value: Option<T>) {
        self.values[row] = value.unwrap_or_default();
        if value.is_none() && !self.has_nulls() {
            self.present = vec![u64::MAX; self.values.len().div_ceil(64)];
            self.mask_last();
        }
        if self.has_nulls() {
            let (word, bit) = (&mut self.present[row / 64], 1 << (row % 64));
            *word = if value.is_some() { *word | bit } else { *word & !bit };
            self.normalise();
        }
    }

    /// Drops the bits if no value is null any more.
    fn normalise(&mut self) {
        let there: u32 = self.present.iter().map(|word| word.count_ones()).sum();
        if there as usize == self.values.len() {
            self.present = Vec::new();
        }
    }

    /// The rows with these numbers, in this order.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        match self.has_nulls() {
            false => Self::from(rows.iter().map(|r| self.values[*r as usize]).collect::<Vec<_>>()),
            true => rows.iter().map(|row| self.get(*row as usize)).collect(),
        }
    }

    /// The rows `from..to`.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        match self.has_nulls() {
            false => Self::from(self.values[from..to].to_vec()),
            true => (from..to).map(|row| self.get(row)).collect(),
        }
    }

    /// Each value that is there through `f`; null stays null.
    #[must_use]
    pub fn map<U: Copy + Default>(&self, mut f: impl FnMut(T) -> U) -> Nullable<U> {
        match self.has_nulls() {
            false => Nullable::from(self.values.iter().map(|value| f(*value)).collect::<Vec<_>>()),
            true => self.iter().map(|value| value.map(&mut f)).collect(),
        }
    }

    /// Heap bytes, the room that is not used included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<T>() + self.present.capacity() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Holds the invariant, and the values of the model.
    fn check(all: &Nullable<i64>, model: &[Option<i64>]) {
        assert_eq!(all.iter().collect::<Vec<_>>(), model);
        assert_eq!(all.has_nulls(), model.contains(&None));
        let bits: Vec<bool> = (0..all.present.len() * 64)
            .map(|row| all.present[row / 64] >> (row % 64) & 1 == 1)
            .collect();
        if all.has_nulls() {
            assert_eq!(all.present.len(), model.len().div_ceil(64));
            assert!(bits[model.len()..].iter().all(|bit| !bit));
        }
        let full: Option<Vec<i64>> = model.iter().copied().collect();
        assert_eq!(all.full().map(<[_]>::to_vec), full);
    }

    proptest! {
        #[test]
        fn it_is_a_list_of_options(
            first in prop::collection::vec(prop::option::weighted(0.9, -9i64..9), 0..200),
            more in prop::collection::vec(prop::option::weighted(0.9, -9i64..9), 0..80),
            there in prop::collection::vec(-9i64..9, 0..80),
            writes in prop::collection::vec((any::<prop::sample::Index>(),
                prop::option::of(-9i64..9)), 0..20),
            rows in prop::collection::vec(any::<prop::sample::Index>(), 0..90),
        ) {
            let mut model = first.clone();
            let mut all: Nullable<i64> = first.into_iter().collect();
            check(&all, &model);
            all.extend(more.iter().copied());
            model.extend(more);
            all.extend_from_slice(&there);
            model.extend(there.into_iter().map(Some));
            check(&all, &model);
            if model.is_empty() {
                return Ok(());
            }
            for (at, value) in writes {
                let at = at.index(model.len());
                all.set(at, value);
                model[at] = value;
                check(&all, &model);
            }
            let rows: Vec<u32> = rows.iter().map(|row| row.index(model.len()) as u32).collect();
            let picked: Vec<_> = rows.iter().map(|row| model[*row as usize]).collect();
            check(&all.gather(&rows), &picked);
            let (from, to) = (model.len() / 3, model.len() / 2);
            check(&all.slice(from, to), &model[from..to]);
            let doubled: Vec<_> = model.iter().map(|value| value.map(|v| v * 2)).collect();
            check(&all.map(|v| v * 2), &doubled);
            check(&Nullable::nulls(model.len()), &vec![None; model.len()]);
        }
    }
}
