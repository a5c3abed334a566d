//! Values on their way into a column: one vector per type, filled row by row.

use std::collections::HashMap;
use std::sync::Arc;

use telar_graph::Value;
use telar_graph::column::{FloatBlock, FloatLists, Floats};

use crate::adjacency::SEGMENT_VERTICES;
use crate::column::Chunk;
use crate::column::chunk::{BITMAP_WORDS, PropertyChunk, numbers_of};

/// Values of one property, one per row; a row may have none.
///
/// Values of one type stand side by side without tags. A column that gets values of several types
/// keeps them as [`Value`]s, which costs 24 bytes each.
#[derive(Debug, Clone, Default)]
pub struct Column {
    rows: usize,
    /// One bit per row; `None` while every row has a value.
    some: Option<Vec<u64>>,
    data: Data,
}

#[derive(Debug, Clone, Default)]
pub(super) enum Data {
    /// No value yet.
    #[default]
    Nothing,
    Bool(Vec<bool>),
    Int(Vec<i64>),
    Float(Vec<f64>),
    /// Texts one after the other, and where each ends.
    Text {
        bytes: Vec<u8>,
        ends: Vec<usize>,
    },
    /// Lists of floats, in the blocks they came in.
    Lists(FloatLists),
    Any(Vec<Value>),
}

impl Data {
    fn same_kind(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

macro_rules! push {
    ($name:ident, $type:ty, $kind:ident, $doc:literal) => {
        #[doc = $doc]
        #[inline]
        pub fn $name(&mut self, value: $type) {
            if let Data::$kind(values) = &mut self.data {
                values.push(value);
                self.grow(true);
            } else {
                self.push_other(Data::$kind(vec![value]));
            }
        }
    };
}

impl Column {
    /// A column without rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    push!(push_int, i64, Int, "Adds a row with an integer.");
    push!(push_float, f64, Float, "Adds a row with a float.");
    push!(push_bool, bool, Bool, "Adds a row with a truth value.");

    /// Adds a row with a text.
    #[inline]
    pub fn push_text(&mut self, text: &str) {
        if let Data::Text { bytes, ends } = &mut self.data {
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len());
            self.grow(true);
        } else {
            self.push_other(Data::Text { bytes: text.into(), ends: vec![text.len()] });
        }
    }

    /// Adds a row with any value; null is none.
    pub fn push(&mut self, value: Value) {
        match value {
            Value::Null => self.push_null(),
            Value::Bool(v) => self.push_bool(v),
            Value::Int(v) => self.push_int(v),
            Value::Float(v) => self.push_float(v),
            Value::String(v) => self.push_text(&v),
            value => {
                if let Data::Any(values) = &mut self.data {
                    values.push(value);
                    self.grow(true);
                } else {
                    self.push_other(Data::Any(vec![value]));
                }
            }
        }
    }

    /// Adds a row without a value.
    pub fn push_null(&mut self) {
        self.pad(self.rows + 1);
    }

    /// Adds rows without a value up to `rows`.
    pub(super) fn pad(&mut self, rows: usize) {
        if self.some.is_none() && rows > self.rows {
            let mut some = vec![u64::MAX; self.rows.div_ceil(64)];
            if !self.rows.is_multiple_of(64)
                && let Some(last) = some.last_mut()
            {
                *last = u64::MAX >> (64 - self.rows % 64);
            }
            self.some = Some(some);
        }
        match &mut self.data {
            Data::Nothing => {}
            Data::Bool(v) => v.resize(rows, false),
            Data::Int(v) => v.resize(rows, 0),
            Data::Float(v) => v.resize(rows, 0.0),
            Data::Text { bytes, ends } => ends.resize(rows, bytes.len()),
            Data::Lists(v) => v.push_nulls(rows - v.len()),
            Data::Any(v) => v.resize(rows, Value::Null),
        }
        self.rows = rows;
        if let Some(some) = &mut self.some {
            some.resize(rows.div_ceil(64), 0);
        }
    }

    #[inline]
    fn grow(&mut self, present: bool) {
        if let Some(some) = &mut self.some {
            if self.rows.is_multiple_of(64) {
                some.push(0);
            }
            some[self.rows / 64] |= u64::from(present) << (self.rows % 64);
        }
        self.rows += 1;
    }

    /// Adds a row whose value is of a type the column did not have.
    #[cold]
    fn push_other(&mut self, data: Data) {
        self.append(&Self { rows: 1, some: None, data });
    }

    /// Adds the rows of `other`, which moves if there are none so far.
    pub(super) fn take(&mut self, other: Self) {
        if self.rows == 0 { *self = other } else { self.append(&other) }
    }

    /// Adds the rows of `other`.
    pub(super) fn append(&mut self, other: &Self) {
        if other.rows == 0 {
            return;
        }
        if matches!(self.data, Data::Nothing) && !matches!(other.data, Data::Nothing) {
            let rows = std::mem::take(&mut self.rows);
            self.data = other.data.clone();
            self.clear_data();
            let some = self.some.take();
            self.pad(rows);
            self.some = some;
        } else if matches!(other.data, Data::Nothing) {
            return self.pad(self.rows + other.rows);
        }
        if !self.data.same_kind(&other.data) {
            self.data = Data::Any((0..self.rows).map(|row| self.get(row)).collect());
            for row in 0..other.rows {
                let value = other.get(row);
                let present = !value.is_null();
                if present {
                    if let Data::Any(values) = &mut self.data {
                        values.push(value);
                    }
                    self.grow(true);
                } else {
                    self.push_null();
                }
            }
            return;
        }
        if other.some.is_some() && self.some.is_none() {
            let rows = self.rows;
            self.some = Some(Vec::new());
            // Every row so far has a value.
            self.rows = 0;
            (0..rows).for_each(|_| self.grow(true));
        }
        match (&mut self.data, &other.data) {
            (Data::Bool(to), Data::Bool(from)) => to.extend_from_slice(from),
            (Data::Int(to), Data::Int(from)) => to.extend_from_slice(from),
            (Data::Float(to), Data::Float(from)) => to.extend_from_slice(from),
            (Data::Lists(to), Data::Lists(from)) => to.append(from),
            (Data::Any(to), Data::Any(from)) => to.extend_from_slice(from),
            (Data::Text { bytes, ends }, Data::Text { bytes: from, ends: from_ends }) => {
                let shift = bytes.len();
                bytes.extend_from_slice(from);
                ends.extend(from_ends.iter().map(|end| end + shift));
            }
            _ => unreachable!("INVARIANT: both are of one kind"),
        }
        if self.some.is_some() {
            (0..other.rows).for_each(|row| self.grow(other.has(row)));
        } else {
            self.rows += other.rows;
        }
    }

    /// Drops the rows from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        if rows >= self.rows {
            return;
        }
        match &mut self.data {
            Data::Nothing => {}
            Data::Bool(v) => v.truncate(rows),
            Data::Int(v) => v.truncate(rows),
            Data::Float(v) => v.truncate(rows),
            Data::Text { bytes, ends } => {
                ends.truncate(rows);
                bytes.truncate(ends.last().copied().unwrap_or(0));
            }
            Data::Lists(v) => *v = v.slice(0, rows),
            Data::Any(v) => v.truncate(rows),
        }
        if let Some(some) = &mut self.some {
            some.truncate(rows.div_ceil(64));
            if let (Some(last), 1..) = (some.last_mut(), rows % 64) {
                *last &= u64::MAX >> (64 - rows % 64);
            }
        }
        self.rows = rows;
    }

    /// The column without these rows, which ascend.
    #[must_use]
    pub fn without(&self, rows: &[usize]) -> Self {
        let mut left = Self::new();
        let mut dropped = rows.iter().peekable();
        for row in 0..self.rows {
            if dropped.next_if(|d| **d == row).is_none() {
                left.push_from(self, row);
            }
        }
        left
    }

    fn clear_data(&mut self) {
        match &mut self.data {
            Data::Nothing => {}
            Data::Bool(v) => v.clear(),
            Data::Int(v) => v.clear(),
            Data::Float(v) => v.clear(),
            Data::Text { bytes, ends } => {
                bytes.clear();
                ends.clear();
            }
            Data::Lists(v) => *v = FloatLists::default(),
            Data::Any(v) => v.clear(),
        }
    }

    /// Removes every row; the type stays.
    pub(super) fn clear(&mut self) {
        self.clear_data();
        (self.rows, self.some) = (0, None);
    }

    #[inline]
    fn has(&self, row: usize) -> bool {
        self.some.as_ref().is_none_or(|some| some[row / 64] >> (row % 64) & 1 == 1)
    }

    fn text(&self, row: usize) -> &str {
        let Data::Text { bytes, ends } = &self.data else { return "" };
        let start = if row == 0 { 0 } else { ends[row - 1] };
        std::str::from_utf8(&bytes[start..ends[row]]).unwrap_or_default()
    }

    /// The value of a row; null if it has none.
    #[must_use]
    pub fn get(&self, row: usize) -> Value {
        if !self.has(row) {
            return Value::Null;
        }
        match &self.data {
            Data::Nothing => Value::Null,
            Data::Bool(v) => v[row].into(),
            Data::Int(v) => v[row].into(),
            Data::Float(v) => v[row].into(),
            Data::Text { .. } => self.text(row).into(),
            Data::Lists(v) => v.value(row),
            Data::Any(v) => v[row].clone(),
        }
    }

    /// Adds row `row` of `other`.
    pub(super) fn push_from(&mut self, other: &Self, row: usize) {
        match &other.data {
            _ if !other.has(row) => self.push_null(),
            Data::Int(v) => self.push_int(v[row]),
            Data::Float(v) => self.push_float(v[row]),
            Data::Text { .. } => self.push_text(other.text(row)),
            Data::Lists(from) => self.push_list(from, row),
            _ => self.push(other.get(row)),
        }
    }

    /// Adds row `row` of `lists`, which is not null.
    fn push_list(&mut self, lists: &FloatLists, row: usize) {
        if let Data::Lists(all) = &mut self.data {
            all.push_from(lists, row);
            self.grow(true);
        } else {
            self.push_other(Data::Lists(lists.gather(&[row as u32])));
        }
    }

    /// Rows that have a value.
    pub(super) fn count(&self) -> u64 {
        match (&self.data, &self.some) {
            (Data::Nothing, _) => 0,
            (_, None) => self.rows as u64,
            (_, Some(some)) => some.iter().map(|w| u64::from(w.count_ones())).sum(),
        }
    }

    /// Bytes held, roughly.
    pub(super) fn bytes(&self) -> usize {
        match &self.data {
            Data::Nothing => 0,
            Data::Bool(v) => v.len(),
            Data::Int(v) => 8 * v.len(),
            Data::Float(v) => 8 * v.len(),
            Data::Text { bytes, ends } => bytes.len() + 8 * ends.len(),
            // Asked after every batch: most lists are as long as the first.
            Data::Lists(v) => {
                let first = (0..v.len()).find_map(|row| v.get(row)).map_or(0, Floats::bytes);
                v.len() * (16 + first)
            }
            // What an arena or a list behind it takes is not known.
            Data::Any(v) => 64 * v.len(),
        }
    }

    /// The chunk of these rows, at most a segment of them, in this order.
    pub(super) fn chunk(&self, rows: impl Iterator<Item = usize> + Clone) -> PropertyChunk {
        self.wide_chunk(rows).tight()
    }

    fn wide_chunk(&self, rows: impl Iterator<Item = usize> + Clone) -> PropertyChunk {
        let mut some = Box::new([0; BITMAP_WORDS]);
        let mut any = false;
        for (i, row) in rows.clone().enumerate() {
            let has = self.has(row);
            some[i / 64] |= u64::from(has) << (i % 64);
            any |= has;
        }
        if !any {
            return PropertyChunk::Absent;
        }
        match &self.data {
            Data::Nothing => PropertyChunk::Absent,
            Data::Int(v) => {
                let mut values = Box::new([0; SEGMENT_VERTICES]);
                rows.zip(&mut values[..]).for_each(|(row, to)| *to = v[row]);
                PropertyChunk::Int(some, values)
            }
            Data::Float(v) => {
                let mut values = Box::new([0.0; SEGMENT_VERTICES]);
                rows.zip(&mut values[..]).for_each(|(row, to)| *to = v[row]);
                PropertyChunk::Float(some, values)
            }
            Data::Bool(v) => {
                let mut values = Box::new([0u64; BITMAP_WORDS]);
                for (i, row) in rows.enumerate() {
                    values[i / 64] |= u64::from(v[row]) << (i % 64);
                }
                PropertyChunk::Bool(some, values)
            }
            Data::Text { .. } => {
                let mut values = Box::new([const { None }; SEGMENT_VERTICES]);
                let mut seen: HashMap<&str, Arc<str>, foldhash::fast::RandomState> =
                    HashMap::default();
                for (to, row) in values.iter_mut().zip(rows).filter(|(_, row)| self.has(*row)) {
                    let text = self.text(row);
                    *to = Some(Arc::clone(seen.entry(text).or_insert_with(|| text.into())));
                }
                PropertyChunk::Text(values)
            }
            Data::Lists(v) if let Some(block) = FloatBlock::copied(v, rows.clone()) => {
                let numbers = numbers_of(|i| some[i / 64] >> (i % 64) & 1 == 1);
                PropertyChunk::FloatLists(numbers, Arc::new(block))
            }
            Data::Lists(v) => {
                let mut values = Box::new([const { Value::Null }; SEGMENT_VERTICES]);
                rows.zip(&mut values[..]).for_each(|(row, to)| *to = v.value(row));
                PropertyChunk::build(&values)
            }
            Data::Any(v) => {
                let mut values = Box::new([const { Value::Null }; SEGMENT_VERTICES]);
                rows.zip(&mut values[..]).for_each(|(row, to)| *to = v[row].clone());
                PropertyChunk::build(&values)
            }
        }
    }
}

impl Extend<Value> for Column {
    fn extend<I: IntoIterator<Item = Value>>(&mut self, values: I) {
        values.into_iter().for_each(|v| self.push(v));
    }
}

impl FromIterator<Value> for Column {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Self {
        let mut column = Self::new();
        column.extend(values);
        column
    }
}

impl From<Vec<i64>> for Column {
    fn from(values: Vec<i64>) -> Self {
        Self { rows: values.len(), some: None, data: Data::Int(values) }
    }
}

impl From<Vec<f64>> for Column {
    fn from(values: Vec<f64>) -> Self {
        Self { rows: values.len(), some: None, data: Data::Float(values) }
    }
}

/// Numbers and truth values move; texts are copied.
impl From<telar_graph::column::Column> for Column {
    fn from(column: telar_graph::column::Column) -> Self {
        use telar_graph::column::Column as From;

        /// Values of one type, and the bits of those that are there.
        fn typed<T>(
            (values, present): (Vec<T>, Vec<u64>),
            data: impl Fn(Vec<T>) -> Data,
        ) -> Column {
            let some = (!present.is_empty()).then_some(present);
            Column { rows: values.len(), some, data: data(values) }
        }
        fn texts<'t>(texts: impl ExactSizeIterator<Item = Option<&'t str>>) -> Column {
            let mut column = Column::new();
            for text in texts {
                match text {
                    Some(text) => column.push_text(text),
                    None => column.push_null(),
                }
            }
            column
        }
        match column {
            From::Bools(all) => typed(all.into_parts(), Data::Bool),
            From::Ints(all) => typed(all.into_parts(), Data::Int),
            From::Floats(all) => typed(all.into_parts(), Data::Float),
            From::Texts(all) => texts(all.iter().map(Option::as_deref)),
            From::Packed(all) => texts(all.iter()),
            From::FloatLists(all) => {
                let some = all.has_nulls().then(|| {
                    let mut some = vec![0u64; all.len().div_ceil(64)];
                    let having = (0..all.len()).filter(|row| !all.is_null(*row));
                    having.for_each(|row| some[row / 64] |= 1 << (row % 64));
                    some
                });
                Column { rows: all.len(), some, data: Data::Lists(all) }
            }
            other => other.into_values().into_iter().collect(),
        }
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use telar_graph::value::{CoordinateType, Vector};

    /// A vector of one of three types.
    fn vector(i: i64) -> Value {
        let types = [CoordinateType::F32, CoordinateType::F64, CoordinateType::I8];
        Vector::of_values(types[i as usize % 3], &[i.into()]).unwrap().into()
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            (-3i64..3).prop_map(Value::Int),
            any::<bool>().prop_map(Value::Bool),
            (0..4u8).prop_map(|i| Value::Float(f64::from(i) / 4.0)),
            "[ab]{0,3}".prop_map(Value::from),
            Just(Value::list([1, 2])),
            (0..4u8).prop_map(|i| Value::list([f64::from(i) / 3.0, 0.5])),
            (0..4u8).prop_map(|i| vector(i.into())),
        ]
    }

    /// Mostly of one type, as columns are.
    fn column() -> impl Strategy<Value = Vec<Value>> {
        let one = (0usize..8, proptest::collection::vec(0i64..4, 0..200)).prop_map(|(kind, v)| {
            let make = |i: i64| match (kind, i) {
                (_, 0) => Value::Null,
                (0, i) => Value::Int(i),
                (1, i) => Value::Float(i as f64),
                (2, i) => format!("t{i}").as_str().into(),
                (3, i) => Value::Bool(i > 1),
                (4, i) => Value::list([i as f64 / 3.0, 0.5]),
                (5, i) => Value::list(vec![0.5; i as usize]),
                (6, i) => vector(3 * i),
                (_, i) => vector(i),
            };
            v.into_iter().map(make).collect::<Vec<_>>()
        });
        prop_oneof![one, proptest::collection::vec(value(), 0..100)]
    }

    /// The column of values, whose lists of floats are in blocks, as they come from a table.
    fn made(values: &[Value]) -> Column {
        let mut column = telar_graph::column::Column::default();
        for value in values {
            match FloatBlock::of(std::iter::once(value)) {
                Some(block) => column.extend_float_lists(&Arc::new(block), [Some(0)].into_iter()),
                None => column.push(value.clone()),
            }
        }
        column.into()
    }

    fn same(a: &Value, b: &Value) -> bool {
        a == b && std::mem::discriminant(a) == std::mem::discriminant(b)
    }

    proptest! {
        #[test]
        fn a_column_is_what_was_pushed_and_appended(
            a in column(), b in column(), blocks in any::<[bool; 2]>(),
        ) {
            let of = |values: &[Value], blocks| match blocks {
                true => made(values),
                false => values.iter().cloned().collect(),
            };
            let (mut left, right) = (of(&a, blocks[0]), of(&b, blocks[1]));
            let mut one_by_one = left.clone();
            (0..right.len()).for_each(|row| one_by_one.push_from(&right, row));
            left.append(&right);
            let all: Vec<&Value> = a.iter().chain(&b).collect();
            for column in [&left, &one_by_one] {
                prop_assert_eq!(column.len(), all.len());
                for (row, v) in all.iter().enumerate() {
                    prop_assert!(same(&column.get(row), v), "{:?} is not {:?}", column.get(row), v);
                }
                prop_assert_eq!(column.count(), all.iter().filter(|v| !v.is_null()).count() as u64);
            }
            let cut = all.len() / 2;
            let mut short = left.clone();
            short.truncate(cut);
            short.append(&right);
            let odd: Vec<usize> = (0..all.len()).filter(|row| row % 3 == 1).collect();
            let thin = left.without(&odd);
            let mut kept = (0..all.len()).filter(|row| row % 3 != 1);
            for row in 0..thin.len() {
                prop_assert!(same(&thin.get(row), all[kept.next().unwrap()]));
            }
            prop_assert!(kept.next().is_none());
            for row in 0..short.len() {
                let v = if row < cut { all[row] } else { &b[row - cut] };
                prop_assert!(same(&short.get(row), v));
            }
            let typed = telar_graph::column::Column::of(a.clone());
            let mut packed = telar_graph::column::Column::packed();
            a.iter().cloned().for_each(|value| packed.push(value));
            for column in [typed, packed].map(Column::from) {
                prop_assert_eq!(column.len(), a.len());
                prop_assert!(a.iter().enumerate().all(|(row, v)| same(&column.get(row), v)));
            }
            let backwards = (0..all.len()).rev();
            let chunk = left.chunk(backwards.clone());
            for (i, row) in backwards.enumerate() {
                prop_assert!(same(&chunk.get(i), all[row]));
            }
        }
    }
}
