//! Lists of floats, and vectors of floats, that are shared with storage.

use std::sync::Arc;

use super::Nullable;
use crate::Value;
use crate::value::{CoordinateType, Coordinates, Vector, VectorError};

/// Numbers of one list or vector, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Floats<'b> {
    /// Each of 32 bits: all of them are exactly what was set.
    F32(&'b [f32]),
    /// Each of 64 bits.
    F64(&'b [f64]),
}

impl Floats<'_> {
    /// Number of numbers.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::F32(all) => all.len(),
            Self::F64(all) => all.len(),
        }
    }

    /// True if there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of the numbers.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::F32(all) => size_of_val(all),
            Self::F64(all) => size_of_val(all),
        }
    }

    /// The list as a value. Cost: 24 bytes and a conversion for each number.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::F32(all) => Value::List(all.iter().map(|x| Value::Float((*x).into())).collect()),
            Self::F64(all) => Value::List(all.iter().map(|x| Value::Float(*x)).collect()),
        }
    }

    /// A vector of the numbers.
    ///
    /// # Errors
    /// Those of [`Vector::new`].
    pub fn to_vector(self) -> Result<Vector, VectorError> {
        Vector::new(match self {
            Self::F32(all) => Coordinates::F32(all.into()),
            Self::F64(all) => Coordinates::F64(all.into()),
        })
    }

    /// The numbers, each of 64 bits.
    #[must_use]
    pub fn to_f64(self) -> Vec<f64> {
        match self {
            Self::F32(all) => all.iter().map(|x| f64::from(*x)).collect(),
            Self::F64(all) => all.to_vec(),
        }
    }
}

/// The numbers of all lists of a block, behind each other.
#[derive(Debug, Clone, PartialEq)]
enum Numbers {
    F32(Box<[f32]>),
    F64(Box<[f64]>),
}

/// Lists of floats, all of one length, behind each other: of 32 bits if each number of each list is
/// exactly one of 32 bits, else of 64. Or vectors of floats, all of one type and dimension.
///
/// *Invariant*: `length` is at least 1 and divides the count of the numbers. Vectors are valid.
#[derive(Debug, Clone, PartialEq)]
pub struct FloatBlock {
    length: usize,
    numbers: Numbers,
    /// These are vectors, and no lists.
    vectors: bool,
}

impl FloatBlock {
    /// A block of these lists or vectors; `None` if one of them is no list of floats, or they are
    /// of several lengths, or of none, or the vectors are of several types or one not of floats.
    /// Cost: linear in the numbers, and half of that again for those of lists that are of 64 bits.
    #[must_use]
    pub fn of<'v>(lists: impl Iterator<Item = &'v Value> + Clone) -> Option<Self> {
        if let Some(Value::Vector(first)) = lists.clone().next() {
            return Self::of_vectors(first, lists);
        }
        let float = |value: &Value| if let Value::Float(x) = value { Some(*x) } else { None };
        let mut all = Vec::new();
        let mut length = 0;
        for list in lists {
            let Value::List(list) = list else { return None };
            if all.is_empty() {
                length = list.len();
            }
            if list.is_empty() || list.len() != length {
                return None;
            }
            for value in &**list {
                all.push(float(value)?);
            }
        }
        if length == 0 { None } else { Some(Self::packed(length, all)) }
    }

    fn of_vectors<'v>(first: &Vector, all: impl Iterator<Item = &'v Value>) -> Option<Self> {
        let (length, mut narrow, mut wide) = (first.dimension(), Vec::new(), Vec::new());
        for value in all {
            let Value::Vector(vector) = value else { return None };
            if vector.dimension() != length {
                return None;
            }
            match vector.floats()? {
                Floats::F32(numbers) => narrow.extend_from_slice(numbers),
                Floats::F64(numbers) => wide.extend_from_slice(numbers),
            }
        }
        let numbers = match first.coordinate_type() {
            CoordinateType::F32 => wide.is_empty().then(|| Numbers::F32(narrow.into())),
            _ => narrow.is_empty().then(|| Numbers::F64(wide.into())),
        };
        Some(Self { length, numbers: numbers?, vectors: true })
    }

    /// The same numbers as vectors, of FLOAT32 or FLOAT by their bits; `None` if a vector cannot
    /// have so many, or one is not finite.
    #[must_use]
    pub fn into_vectors(self) -> Option<Self> {
        let finite = match &self.numbers {
            Numbers::F32(all) => all.iter().all(|x| x.is_finite()),
            Numbers::F64(all) => all.iter().all(|x| x.is_finite()),
        };
        let valid = finite && Vector::check_dimension(self.length as i64).is_ok();
        valid.then_some(Self { vectors: true, ..self })
    }

    /// A block of lists of `length` numbers each, which must divide their count; `None` if it does
    /// not.
    #[must_use]
    pub fn of_numbers(length: usize, numbers: Vec<f64>) -> Option<Self> {
        let divides = length > 0 && numbers.len().is_multiple_of(length);
        divides.then(|| Self::packed(length, numbers))
    }

    /// A block of copies of the lists or vectors in these rows, those that are null left out;
    /// `None` if there are none, or one block cannot hold them.
    #[must_use]
    pub fn copied(from: &FloatLists, rows: impl Iterator<Item = usize> + Clone) -> Option<Self> {
        let some = rows.filter(|row| !from.is_null(*row));
        let vectors = from.is_vector(some.clone().next()?);
        if some.clone().any(|row| from.is_vector(row) != vectors) {
            return None;
        }
        let lists = some.filter_map(|row| from.get(row));
        let first = lists.clone().next()?;
        let length = first.len();
        if lists.clone().any(|list| list.len() != length) {
            return None;
        }
        let alike = |list| std::mem::discriminant(&list) == std::mem::discriminant(&first);
        if vectors && !lists.clone().all(alike) {
            return None;
        }
        let numbers = match lists.clone().all(|list| matches!(list, Floats::F32(_))) {
            true => {
                let mut all = Vec::new();
                for list in lists {
                    if let Floats::F32(list) = list {
                        all.extend_from_slice(list);
                    }
                }
                Numbers::F32(all.into())
            }
            false => Numbers::F64(lists.flat_map(Floats::to_f64).collect()),
        };
        Some(Self { length, numbers, vectors })
    }

    fn packed(length: usize, all: Vec<f64>) -> Self {
        let fits = |x: &f64| f64::from(*x as f32).to_bits() == x.to_bits();
        let numbers = match all.iter().all(fits) {
            true => Numbers::F32(all.iter().map(|x| *x as f32).collect()),
            false => Numbers::F64(all.into()),
        };
        Self { length, numbers, vectors: false }
    }

    /// A block of lists of `length` numbers each, which must divide their count; `None` if it does
    /// not.
    #[must_use]
    pub fn of_f32(length: usize, numbers: Vec<f32>) -> Option<Self> {
        let divides = length > 0 && numbers.len().is_multiple_of(length);
        let numbers = Numbers::F32(numbers.into());
        divides.then_some(Self { length, numbers, vectors: false })
    }

    /// As [`of_f32`](Self::of_f32), of 64 bits each.
    #[must_use]
    pub fn of_f64(length: usize, numbers: Vec<f64>) -> Option<Self> {
        let divides = length > 0 && numbers.len().is_multiple_of(length);
        let numbers = Numbers::F64(numbers.into());
        divides.then_some(Self { length, numbers, vectors: false })
    }

    /// True if these are vectors, and no lists.
    #[must_use]
    pub const fn is_of_vectors(&self) -> bool {
        self.vectors
    }

    /// Numbers of each list.
    #[must_use]
    pub const fn length(&self) -> usize {
        self.length
    }

    /// Number of lists.
    #[must_use]
    pub fn count(&self) -> usize {
        self.numbers().len() / self.length
    }

    /// All numbers, list by list.
    #[must_use]
    pub fn numbers(&self) -> Floats<'_> {
        match &self.numbers {
            Numbers::F32(all) => Floats::F32(all),
            Numbers::F64(all) => Floats::F64(all),
        }
    }

    /// The numbers of one list.
    ///
    /// # Panics
    /// If there is no such list.
    #[inline]
    #[must_use]
    pub fn list(&self, at: usize) -> Floats<'_> {
        let range = at * self.length..(at + 1) * self.length;
        match &self.numbers {
            Numbers::F32(all) => Floats::F32(&all[range]),
            Numbers::F64(all) => Floats::F64(&all[range]),
        }
    }

    /// One list or vector as a value.
    ///
    /// # Panics
    /// If there is no such list.
    #[must_use]
    pub fn value(&self, at: usize) -> Value {
        let numbers = self.list(at);
        if !self.vectors {
            return numbers.to_value();
        }
        let vector = numbers.to_vector();
        Value::from(vector.expect("INVARIANT: a block of vectors has valid ones"))
    }

    /// Heap bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match &self.numbers {
            Numbers::F32(all) => size_of_val(&**all),
            Numbers::F64(all) => size_of_val(&**all),
        }
    }
}

/// Lists or vectors of floats of many rows, of which some may be null. The numbers stay in the
/// blocks they come from, which are storage's: nothing of them is copied.
///
/// *Invariant*: every place that is not null names a block, and a list in it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FloatLists {
    blocks: Vec<Arc<FloatBlock>>,
    /// The block of each row, and the list in there.
    places: Nullable<(u32, u32)>,
}

impl FloatLists {
    /// So many nulls.
    pub(super) fn nulls(rows: usize) -> Self {
        Self { blocks: Vec::new(), places: Nullable::nulls(rows) }
    }

    /// Number of rows, nulls included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// True if the list in a row is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.places.is_null(row)
    }

    /// True if at least one is null.
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        self.places.has_nulls()
    }

    /// The list in a row, `None` if it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Floats<'_>> {
        let (block, list) = self.places.get(row)?;
        Some(self.blocks[block as usize].list(list as usize))
    }

    /// The list in a row, or null, as a value.
    #[must_use]
    pub fn value(&self, row: usize) -> Value {
        let Some((block, list)) = self.places.get(row) else { return Value::Null };
        self.blocks[block as usize].value(list as usize)
    }

    /// True if what is in a row is a vector; null is none.
    #[must_use]
    pub fn is_vector(&self, row: usize) -> bool {
        let place = self.places.get(row);
        place.is_some_and(|(block, _)| self.blocks[block as usize].vectors)
    }

    /// The number of a block from which rows come, which is often the last one.
    fn number_of(&mut self, block: &Arc<FloatBlock>) -> u32 {
        if !self.blocks.last().is_some_and(|last| Arc::ptr_eq(last, block)) {
            self.blocks.push(Arc::clone(block));
        }
        self.blocks.len() as u32 - 1
    }

    /// Appends lists of a block, by their numbers in it, `None` for null.
    pub fn extend(&mut self, block: &Arc<FloatBlock>, lists: impl Iterator<Item = Option<u32>>) {
        let number = self.number_of(block);
        self.places.extend(lists.map(|list| list.map(|list| (number, list))));
    }

    /// Appends so many nulls.
    pub fn push_nulls(&mut self, count: usize) {
        self.places.extend(std::iter::repeat_n(None, count));
    }

    /// Makes room for so many rows more.
    pub(super) fn reserve(&mut self, rows: usize) {
        self.places.reserve(rows);
    }

    /// Appends the row of another one.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn push_from(&mut self, other: &Self, row: usize) {
        let place = other.places.get(row);
        let moved =
            place.map(|(block, list)| (self.number_of(&other.blocks[block as usize]), list));
        self.places.push(moved);
    }

    /// Appends the rows of another one.
    pub fn append(&mut self, other: &Self) {
        let numbers: Vec<u32> = other.blocks.iter().map(|block| self.number_of(block)).collect();
        let moved = |(block, list): (u32, u32)| (numbers[block as usize], list);
        self.places.extend(other.places.iter().map(|place| place.map(moved)));
    }

    /// Appends a list or vector; false, and nothing is, if it is none of floats.
    pub(super) fn push(&mut self, list: &Value) -> bool {
        let Some(block) = FloatBlock::of(std::iter::once(list)) else { return false };
        self.extend(&Arc::new(block), std::iter::once(Some(0)));
        true
    }

    /// Replaces what is in a row; false, and nothing is, if what comes is no list or vector of
    /// floats.
    pub(super) fn set(&mut self, row: usize, list: &Value) -> bool {
        let Some(block) = FloatBlock::of(std::iter::once(list)) else { return false };
        let number = self.number_of(&Arc::new(block));
        self.places.set(row, Some((number, 0)));
        true
    }

    pub(super) fn set_null(&mut self, row: usize) {
        self.places.set(row, None);
    }

    /// The same rows, if every value is null or a list or vector of floats.
    pub(super) fn of(values: &[Value]) -> Option<Self> {
        let mut all = Self::default();
        for value in values {
            match value {
                Value::Null => all.push_nulls(1),
                list => {
                    if !all.push(list) {
                        return None;
                    }
                }
            }
        }
        Some(all)
    }

    /// Rows with these places, and the blocks that they are in.
    fn with_places(&self, places: Nullable<(u32, u32)>) -> Self {
        if places.len() >= self.blocks.len() {
            return Self { blocks: self.blocks.clone(), places };
        }
        // Few rows of many blocks: what no row is of any more is let go.
        let mut few = Self { blocks: Vec::new(), places: Nullable::default() };
        for place in places.iter() {
            let moved = place.map(|(block, list)| {
                let block = &self.blocks[block as usize];
                let known = few.blocks.iter().position(|b| Arc::ptr_eq(b, block));
                (known.map_or_else(|| few.number_of(block), |at| at as u32), list)
            });
            few.places.push(moved);
        }
        few
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        self.with_places(self.places.gather(rows))
    }

    /// The rows `from..to`.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        self.with_places(self.places.slice(from, to))
    }

    /// Heap bytes of the places. The numbers are storage's.
    pub(super) fn bytes(&self) -> usize {
        self.places.bytes() + self.blocks.capacity() * size_of::<Arc<FloatBlock>>()
    }

    /// Bytes of the lists once each is a value.
    pub(super) fn value_bytes(&self) -> usize {
        let list = |row| {
            let vector = self.is_vector(row);
            self.get(row).map_or(0, |list| match vector {
                true => list.bytes() + size_of::<Vector>() + 16,
                false => list.len() * size_of::<Value>() + 16,
            })
        };
        (0..self.len()).map(list).sum()
    }
}
