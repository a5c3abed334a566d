//! Which group a row belongs to.
//!
//! Keys of one column of vertices or integers, or of two columns of vertices, are looked up as
//! such; when a batch comes that is not of that type, everything is looked up by value from then
//! on.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::value::heap_bytes;
use telar_graph::{Value, VertexId};

use super::spill::{PARTITIONS, partition_of};
use crate::batch::Column;
use crate::error::EvalError;
use crate::vertices::Numbers;
use crate::watch;

/// Groups by the values of some columns, numbered as they were met.
pub(super) struct Groups {
    columns: usize,
    keys: Keys,
    texts: Texts,
    /// Bytes of the keys beside their places.
    heap: usize,
}

/// The keys, by number, and the number of each.
enum Keys {
    /// No row was seen.
    New,
    Vertices(Box<Numbers>, Vec<VertexId>),
    Ints(Box<Numbers>, Vec<i64>),
    Values(HashMap<Value, u32, RandomState>, Vec<Value>),
    /// Of two columns.
    Pairs(HashMap<(VertexId, VertexId), u32, RandomState>, [Vec<VertexId>; 2]),
    /// Of several columns: column by column, then by number.
    Rows(HashMap<Box<[Value]>, u32, RandomState>, Vec<Vec<Value>>),
}

/// Texts that were met lately. Storage shares equal texts, so that one is known by its address; a
/// text that is held here lives, so that no other can have its address.
#[derive(Default)]
struct Texts(Vec<Option<(Arc<str>, u32)>>);

impl Texts {
    /// Places; a power of two.
    const LEN: usize = 256;

    fn place(text: &Arc<str>) -> usize {
        let address = text.as_ptr() as usize;
        (address >> 4 ^ address >> 12) % Self::LEN
    }

    /// The group of a text, if it was added lately.
    #[inline]
    fn find(&self, text: &Arc<str>) -> Option<u32> {
        let (held, number) = self.0.get(Self::place(text))?.as_ref()?;
        Arc::ptr_eq(held, text).then_some(*number)
    }

    fn add(&mut self, text: &Arc<str>, number: u32) {
        if self.0.is_empty() {
            self.0.resize(Self::LEN, None);
        }
        self.0[Self::place(text)] = Some((Arc::clone(text), number));
    }
}

/// Integers as keys of [`Numbers`]: those near zero are small.
fn place_of(int: i64) -> u64 {
    (int << 1 ^ int >> 63).cast_unsigned()
}

impl Keys {
    fn len(&self) -> usize {
        match self {
            Self::New => 0,
            Self::Vertices(_, keys) => keys.len(),
            Self::Ints(_, keys) => keys.len(),
            Self::Values(_, keys) => keys.len(),
            Self::Pairs(_, keys) => keys[0].len(),
            Self::Rows(_, keys) => keys.first().map_or(0, Vec::len),
        }
    }

    /// The value of a column in a key.
    fn value(&self, column: usize, number: usize) -> Value {
        match self {
            Self::New => Value::Null,
            Self::Vertices(_, keys) => Value::Vertex(keys[number]),
            Self::Ints(_, keys) => Value::Int(keys[number]),
            Self::Values(_, keys) => keys[number].clone(),
            Self::Pairs(_, keys) => Value::Vertex(keys[column][number]),
            Self::Rows(_, keys) => keys[column][number].clone(),
        }
    }

    /// All of them.
    fn into_columns(self, columns: usize) -> Vec<Column> {
        match self {
            Self::New => (0..columns).map(|_| Column::Values(Vec::new())).collect(),
            Self::Vertices(_, keys) => vec![Column::from(keys)],
            Self::Ints(_, keys) => vec![Column::from(keys)],
            Self::Values(_, keys) => vec![Column::of(keys)],
            Self::Pairs(_, keys) => keys.map(Column::from).into(),
            Self::Rows(_, keys) => keys.into_iter().map(Column::of).collect(),
        }
    }
}

impl Groups {
    /// Groups by so many columns; without columns there is one group.
    pub(super) fn new(columns: usize) -> Self {
        Self { columns, keys: Keys::New, texts: Texts::default(), heap: 0 }
    }

    pub(super) fn len(&self) -> usize {
        if self.columns == 0 { 1 } else { self.keys.len() }
    }

    /// Groups with these keys, column by column, which must all differ.
    pub(super) fn of(keys: Vec<Column>) -> Self {
        let mut groups = Self::new(keys.len());
        let rows = keys.first().map_or(0, Column::len);
        let columns: Vec<_> = keys.into_iter().map(Arc::new).collect();
        // What is left out once the statement is to be given up is asked for by nobody: whoever
        // reads the next rows asks, too.
        _ = groups.assign(&columns, rows, &mut Vec::new());
        groups
    }

    /// The keys, of the types that they came in.
    pub(super) fn into_columns(self) -> Vec<Column> {
        self.keys.into_columns(self.columns)
    }

    /// One column of some keys, for those who need no groups any more.
    pub(super) fn give(&mut self, column: usize, groups: Range<usize>) -> Column {
        let take = |keys: &mut [Value]| {
            Column::of(keys[groups.clone()].iter_mut().map(std::mem::take).collect())
        };
        match &mut self.keys {
            Keys::New => Column::Values(Vec::new()),
            Keys::Vertices(_, keys) => Column::from(keys[groups].to_vec()),
            Keys::Ints(_, keys) => Column::from(keys[groups].to_vec()),
            Keys::Values(_, keys) => take(keys),
            Keys::Pairs(_, keys) => Column::from(keys[column][groups].to_vec()),
            Keys::Rows(_, keys) => take(&mut keys[column]),
        }
    }

    /// The groups of each partition of a split.
    pub(super) fn partitions(&self, level: u32) -> Vec<Vec<u32>> {
        let mut parts = vec![Vec::new(); PARTITIONS];
        for group in 0..self.len() {
            let key = (0..self.columns).map(|column| self.keys.value(column, group));
            parts[partition_of(key, level)].push(group as u32);
        }
        parts
    }

    /// Moves the keys of some groups out, column by column.
    pub(super) fn take(keys: &mut [Column], groups: &[u32]) -> Vec<Column> {
        let take = |keys: &mut Column| match keys {
            Column::Values(keys) => {
                let keys = groups.iter().map(|group| std::mem::take(&mut keys[*group as usize]));
                Column::Values(keys.collect())
            }
            keys => keys.gather(groups),
        };
        keys.iter_mut().map(take).collect()
    }

    /// Bytes of keys alone.
    pub(super) fn bytes_of(keys: &[Column]) -> usize {
        keys.iter().map(Column::bytes).sum()
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        /// What the system adds to each piece of memory.
        const PIECE_BYTES: usize = 16;
        // A table has eight places for seven entries, and a byte for each place.
        let table = |capacity: usize, entry: usize| capacity * 8 / 7 * (entry + 1);
        let keys = match &self.keys {
            Keys::New => 0,
            Keys::Vertices(numbers, keys) => {
                numbers.memory_bytes() + keys.capacity() * size_of::<VertexId>()
            }
            Keys::Ints(numbers, keys) => {
                numbers.memory_bytes() + keys.capacity() * size_of::<i64>()
            }
            Keys::Values(map, keys) => {
                table(map.capacity(), size_of::<(Value, u32)>())
                    + keys.capacity() * size_of::<Value>()
            }
            Keys::Pairs(map, keys) => {
                let places: usize = keys.iter().map(Vec::capacity).sum();
                table(map.capacity(), size_of::<((VertexId, VertexId), u32)>())
                    + places * size_of::<VertexId>()
            }
            Keys::Rows(map, keys) => {
                let key = PIECE_BYTES + self.columns * size_of::<Value>();
                let places: usize = keys.iter().map(Vec::capacity).sum();
                table(map.capacity(), size_of::<(Box<[Value]>, u32)>())
                    + map.len() * key
                    + places * size_of::<Value>()
            }
        };
        keys + self.heap
    }

    /// Replaces `out` with the number of the group of every row.
    ///
    /// # Errors
    /// If the statement is to be given up: to hash large values takes long.
    pub(super) fn assign(
        &mut self,
        columns: &[Arc<Column>],
        rows: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), EvalError> {
        out.clear();
        out.reserve(rows);
        match columns {
            [] => out.resize(rows, 0),
            // A column without rows has no type: groups keep theirs.
            _ if rows == 0 => {}
            [column] => self.assign_one(column, rows, out)?,
            columns => self.assign_rows(columns, rows, out)?,
        }
        Ok(())
    }

    fn assign_one(
        &mut self,
        column: &Column,
        rows: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), EvalError> {
        if let Keys::New = self.keys {
            self.keys = match column {
                column if column.vertices().is_some() => Keys::Vertices(Box::default(), Vec::new()),
                column if column.ints().is_some() => Keys::Ints(Box::default(), Vec::new()),
                _ => Keys::Values(HashMap::default(), Vec::new()),
            };
        }
        match (&mut self.keys, column.vertices(), column.ints()) {
            (Keys::Vertices(numbers, keys), Some(vertices), _) => {
                numbers.expect(vertices.iter().map(|vertex| vertex.get()));
                // PERF: `telar bench cypher`, in-degrees: rows of one node follow each other.
                for same in vertices.chunk_by(|a, b| a == b) {
                    let number = numbers.get_or_insert(same[0].get());
                    if number as usize == keys.len() {
                        keys.push(same[0]);
                    }
                    out.resize(out.len() + same.len(), number);
                }
            }
            (Keys::Ints(numbers, keys), _, Some(ints)) => {
                numbers.expect(ints.iter().map(|int| place_of(*int)));
                for int in ints {
                    let number = numbers.get_or_insert(place_of(*int));
                    if number as usize == keys.len() {
                        keys.push(*int);
                    }
                    out.push(number);
                }
            }
            (Keys::Values(numbers, keys), _, _) => {
                let (texts, heap) = (&mut self.texts, &mut self.heap);
                let mut add = |value: &Value| {
                    watch::before(value)?;
                    let number = number_of(numbers, value);
                    if number as usize == keys.len() {
                        *heap += heap_bytes(value);
                        keys.push(value.clone());
                    }
                    Ok::<u32, EvalError>(number)
                };
                match column {
                    Column::Values(values) => {
                        for value in values {
                            out.push(add(value)?);
                        }
                    }
                    Column::Texts(all) => {
                        for text in all {
                            let Some(text) = text else {
                                out.push(add(&Value::Null)?);
                                continue;
                            };
                            let number = match texts.find(text) {
                                Some(number) => number,
                                None => {
                                    let number = add(&Value::String(Arc::clone(text)))?;
                                    texts.add(text, number);
                                    number
                                }
                            };
                            out.push(number);
                        }
                    }
                    Column::Packed(all) => {
                        for text in all.iter() {
                            out.push(add(&text.map_or(Value::Null, Value::from))?);
                        }
                    }
                    Column::Same(_, 0) => {}
                    Column::Same(value, _) => out.resize(rows, add(value)?),
                    column => {
                        for row in 0..rows {
                            out.push(add(&column.get(row))?);
                        }
                    }
                }
            }
            _ => {
                let keys = std::mem::replace(&mut self.keys, Keys::New).into_columns(1);
                let keys: Vec<Value> = keys.into_iter().flat_map(Column::into_values).collect();
                let numbers = keys.iter().cloned().zip(0..).collect();
                self.keys = Keys::Values(numbers, keys);
                self.assign_one(column, rows, out)?;
            }
        }
        Ok(())
    }

    fn assign_rows(
        &mut self,
        columns: &[Arc<Column>],
        rows: usize,
        out: &mut Vec<u32>,
    ) -> Result<(), EvalError> {
        let pair = match columns {
            [a, b] => a.vertices().zip(b.vertices()),
            _ => None,
        };
        if let Keys::New = self.keys {
            self.keys = match pair {
                Some(_) => Keys::Pairs(HashMap::default(), Default::default()),
                None => Keys::Rows(HashMap::default(), vec![Vec::new(); self.columns]),
            };
        }
        if let (Keys::Pairs(numbers, keys), Some((a, b))) = (&mut self.keys, pair) {
            // PERF: telar bench snb --only complex-4: different posts with their tags.
            for (a, b) in a.iter().zip(b) {
                let fresh = keys[0].len() as u32;
                let number = *numbers.entry((*a, *b)).or_insert(fresh);
                if number == fresh {
                    keys[0].push(*a);
                    keys[1].push(*b);
                }
                out.push(number);
            }
            return Ok(());
        }
        if let Keys::Pairs(_, keys) = &mut self.keys {
            let values = std::mem::take(keys).map(|keys| Column::from(keys).into_values());
            let pairs = values[0].iter().cloned().zip(values[1].iter().cloned());
            let rows = pairs.map(|(a, b)| Box::from([a, b]) as Box<[Value]>);
            self.keys = Keys::Rows(rows.zip(0..).collect(), values.into());
        }
        let Keys::Rows(numbers, keys) = &mut self.keys else {
            unreachable!("INVARIANT: the number of columns does not change")
        };
        let mut key = Vec::with_capacity(columns.len());
        for row in 0..rows {
            key.clear();
            key.extend(columns.iter().map(|column| column.get(row)));
            key.iter().try_for_each(watch::before)?;
            let number = match numbers.get(&key[..]) {
                Some(number) => *number,
                None => {
                    let number = numbers.len() as u32;
                    numbers.insert(key.clone().into_boxed_slice(), number);
                    for (values, value) in keys.iter_mut().zip(key.drain(..)) {
                        self.heap += heap_bytes(&value);
                        values.push(value);
                    }
                    number
                }
            };
            out.push(number);
        }
        Ok(())
    }
}

/// The number of a value, the next one if it has none.
fn number_of(places: &mut HashMap<Value, u32, RandomState>, value: &Value) -> u32 {
    let fresh = places.len() as u32;
    match places.get(value) {
        Some(number) => *number,
        None => *places.entry(value.clone()).or_insert(fresh),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assign(groups: &mut Groups, columns: Vec<Column>) -> Vec<u32> {
        let rows = columns[0].len();
        let columns: Vec<_> = columns.into_iter().map(Arc::new).collect();
        let mut out = Vec::new();
        groups.assign(&columns, rows, &mut out).unwrap();
        out
    }

    fn values(groups: Groups) -> Vec<Vec<Value>> {
        groups.into_columns().into_iter().map(Column::into_values).collect()
    }

    #[test]
    fn groups_go_on_when_the_type_of_a_column_changes() {
        let mut groups = Groups::new(1);
        assert_eq!(assign(&mut groups, vec![Column::from(vec![7_i64, 8, 7])]), [0, 1, 0]);
        // An integer and the float that equals it are one key.
        let mixed = vec![Value::Float(8.0), Value::Null, "x".into(), Value::Int(7), Value::Null];
        assert_eq!(assign(&mut groups, vec![Column::Values(mixed)]), [1, 2, 3, 0, 2]);
        assert_eq!(assign(&mut groups, vec![Column::Same("x".into(), 2)]), [3, 3]);
        assert_eq!(assign(&mut groups, vec![Column::from(vec![9_i64, 8])]), [4, 1]);
        let keys = [7.into(), 8.into(), Value::Null, "x".into(), 9.into()];
        assert_eq!((groups.len(), values(groups)), (5, vec![keys.to_vec()]));
        let mut groups = Groups::new(1);
        let v = VertexId::from_raw;
        assert_eq!(assign(&mut groups, vec![Column::from(vec![v(3), v(1), v(3)])]), [0, 1, 0]);
        let some = vec![Value::Null, Value::Vertex(v(1))];
        assert_eq!(assign(&mut groups, vec![Column::Values(some)]), [2, 1]);
    }

    #[test]
    fn a_column_without_rows_changes_no_type() {
        let v = VertexId::from_raw;
        let nothing = || Column::Values(Vec::new());
        let mut groups = Groups::new(1);
        assert!(assign(&mut groups, vec![nothing()]).is_empty());
        assert_eq!(assign(&mut groups, vec![Column::from(vec![7_i64])]), [0]);
        assign(&mut groups, vec![nothing()]);
        assert!(matches!(groups.keys, Keys::Ints(..)));
        let mut groups = Groups::new(2);
        let pair = || vec![Column::from(vec![v(1)]), Column::from(vec![v(2)])];
        assert_eq!(assign(&mut groups, pair()), [0]);
        assign(&mut groups, vec![nothing(), nothing()]);
        assert!(matches!(groups.keys, Keys::Pairs(..)));
        assert_eq!(assign(&mut groups, pair()), [0]);
    }

    #[test]
    fn texts_are_keys_by_what_they_say() {
        let shared: Arc<str> = "shared".into();
        let texts = |all: &[Option<&Arc<str>>]| {
            Column::Texts(all.iter().map(|text| text.cloned()).collect())
        };
        let other: Arc<str> = "shared".into();
        let mut groups = Groups::new(1);
        let column = texts(&[Some(&shared), None, Some(&other), Some(&shared), None]);
        assert_eq!(assign(&mut groups, vec![column]), [0, 1, 0, 0, 1]);
        // More of them than are known by their address.
        let many: Vec<Arc<str>> = (0..2_000).map(|n| format!("text {n}").into()).collect();
        let column = || texts(&many.iter().map(Some).collect::<Vec<_>>());
        let numbers: Vec<u32> = (2..2_002).collect();
        assert_eq!(assign(&mut groups, vec![column()]), numbers);
        assert_eq!(assign(&mut groups, vec![column()]), numbers);
        assert!(assign(&mut groups, vec![Column::Same("new".into(), 0)]).is_empty());
        let mixed = Column::Values(vec![Value::Null, "text 7".into(), Value::Int(1)]);
        assert_eq!(assign(&mut groups, vec![mixed]), [1, 9, 2_002]);
    }

    #[test]
    fn rows_of_several_columns_are_one_key() {
        let mut groups = Groups::new(2);
        let batch = || vec![Column::from(vec![1_i64, 1, 2, 1]), Column::from(vec![5_i64, 6, 5, 5])];
        assert_eq!(assign(&mut groups, batch()), [0, 1, 2, 0]);
        assert_eq!(assign(&mut groups, batch()), [0, 1, 2, 0]);
        assert_eq!(values(groups), [[1, 1, 2].map(Value::Int), [5, 6, 5].map(Value::Int)]);
        // Of two columns of nodes, one has nulls later.
        let v = VertexId::from_raw;
        let nodes = |numbers: &[u64]| numbers.iter().map(|n| v(*n)).collect::<Vec<_>>();
        let mut groups = Groups::new(2);
        let pairs = vec![Column::from(nodes(&[1, 1, 1])), Column::from(nodes(&[2, 3, 2]))];
        assert_eq!(assign(&mut groups, pairs), [0, 1, 0]);
        let some = vec![Value::Null, Value::Vertex(v(3)), Value::Vertex(v(2)), Value::Null];
        let mixed = vec![Column::from(nodes(&[1, 1, 1, 1])), Column::Values(some)];
        assert_eq!(assign(&mut groups, mixed), [2, 1, 0, 2]);
        let pairs = vec![Column::from(nodes(&[1, 2])), Column::from(nodes(&[3, 3]))];
        assert_eq!(assign(&mut groups, pairs), [1, 3]);
        assert_eq!(values(groups)[0], [1, 1, 1, 2].map(|n| Value::Vertex(v(n))));
        let mut all = Groups::new(0);
        let mut out = Vec::new();
        all.assign(&[], 3, &mut out).unwrap();
        assert_eq!((out, all.len()), (vec![0, 0, 0], 1));
    }
}
