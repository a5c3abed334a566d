//! Which group a row belongs to.
//!
//! Keys of one column of vertices or integers, or of two columns of vertices, are looked up as such;
//! when a batch comes that is not of that type, everything is looked up by value from then on.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::{Value, VertexId};

use super::spill::{PARTITIONS, partition_of};
use crate::batch::{Column, heap_bytes};
use crate::vertices::VertexNumbers;

/// Groups by the values of some columns, numbered as they were met.
pub(super) struct Groups {
    /// Keys by column, then by group.
    keys: Vec<Vec<Value>>,
    places: Places,
    texts: Texts,
    /// Bytes of the keys beside their places.
    heap: usize,
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
    fn find(&self, value: &Value) -> Option<u32> {
        let Value::String(text) = value else { return None };
        let (held, number) = self.0.get(Self::place(text))?.as_ref()?;
        Arc::ptr_eq(held, text).then_some(*number)
    }

    fn add(&mut self, value: &Value, number: u32) {
        let Value::String(text) = value else { return };
        if self.0.is_empty() {
            self.0.resize(Self::LEN, None);
        }
        self.0[Self::place(text)] = Some((Arc::clone(text), number));
    }
}

enum Places {
    /// No row was seen.
    New,
    Vertices(VertexNumbers),
    Ints(HashMap<i64, u32, RandomState>),
    Values(HashMap<Value, u32, RandomState>),
    Pairs(HashMap<(VertexId, VertexId), u32, RandomState>),
    Rows(HashMap<Box<[Value]>, u32, RandomState>),
}

impl Groups {
    /// Groups by so many columns; without columns there is one group.
    pub(super) fn new(columns: usize) -> Self {
        let keys = vec![Vec::new(); columns];
        Self { keys, places: Places::New, texts: Texts::default(), heap: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.first().map_or(1, Vec::len)
    }

    /// Groups with these keys, column by column, which must all differ.
    pub(super) fn of(keys: Vec<Vec<Value>>) -> Self {
        let mut groups = Self::new(keys.len());
        let rows = keys.first().map_or(0, Vec::len);
        let columns: Vec<_> = keys.into_iter().map(|keys| Arc::new(Column::of(keys))).collect();
        groups.assign(&columns, rows, &mut Vec::new());
        groups
    }

    /// The keys, by column.
    pub(super) fn into_keys(self) -> Vec<Vec<Value>> {
        self.keys
    }

    /// The keys, by column, for those who need no groups any more.
    pub(super) fn keys_mut(&mut self) -> &mut [Vec<Value>] {
        &mut self.keys
    }

    /// The groups of each partition of a split.
    pub(super) fn partitions(&self, level: u32) -> Vec<Vec<u32>> {
        let mut parts = vec![Vec::new(); PARTITIONS];
        for group in 0..self.len() {
            let key = self.keys.iter().map(|keys| keys[group].clone());
            parts[partition_of(key, level)].push(group as u32);
        }
        parts
    }

    /// Moves the keys of some groups out, column by column.
    pub(super) fn take(keys: &mut [Vec<Value>], groups: &[u32]) -> Vec<Vec<Value>> {
        let take = |keys: &mut Vec<Value>| {
            groups.iter().map(|group| std::mem::take(&mut keys[*group as usize])).collect()
        };
        keys.iter_mut().map(take).collect()
    }

    /// Bytes of keys alone.
    pub(super) fn bytes_of(keys: &[Vec<Value>]) -> usize {
        let bytes = |keys: &Vec<Value>| {
            keys.capacity() * size_of::<Value>() + keys.iter().map(heap_bytes).sum::<usize>()
        };
        keys.iter().map(bytes).sum()
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        /// What the system adds to each piece of memory.
        const PIECE_BYTES: usize = 16;
        // A table has eight places for seven entries, and a byte for each place.
        let table = |capacity: usize, entry: usize| capacity * 8 / 7 * (entry + 1);
        let places = match &self.places {
            Places::New => 0,
            Places::Vertices(numbers) => numbers.memory_bytes(),
            Places::Ints(map) => table(map.capacity(), size_of::<(i64, u32)>()),
            Places::Values(map) => table(map.capacity(), size_of::<(Value, u32)>()),
            Places::Pairs(map) => table(map.capacity(), size_of::<((VertexId, VertexId), u32)>()),
            Places::Rows(map) => {
                let key = PIECE_BYTES + self.keys.len() * size_of::<Value>();
                table(map.capacity(), size_of::<(Box<[Value]>, u32)>()) + map.len() * key
            }
        };
        let keys: usize = self.keys.iter().map(Vec::capacity).sum();
        keys * size_of::<Value>() + self.heap + places
    }

    /// The same as columns, of the types that the keys came in.
    pub(super) fn into_columns(self) -> Vec<Arc<Column>> {
        let ints = matches!(self.places, Places::Ints(_));
        let column = |keys: Vec<Value>| {
            let int = |key: &Value| match key {
                Value::Int(int) => Some(*int),
                _ => None,
            };
            let typed = ints.then(|| keys.iter().map(int).collect()).flatten();
            Arc::new(typed.map_or_else(|| Column::of(keys), Column::Ints))
        };
        self.keys.into_iter().map(column).collect()
    }

    /// Replaces `out` with the number of the group of every row.
    pub(super) fn assign(&mut self, columns: &[Arc<Column>], rows: usize, out: &mut Vec<u32>) {
        out.clear();
        out.reserve(rows);
        match columns {
            [] => out.resize(rows, 0),
            [column] => self.assign_one(column, rows, out),
            columns => self.assign_rows(columns, rows, out),
        }
    }

    fn assign_one(&mut self, column: &Column, rows: usize, out: &mut Vec<u32>) {
        let (keys, heap) = (&mut self.keys[0], &mut self.heap);
        let mut numbered = |number: u32, rows: usize, key: &dyn Fn() -> Value| {
            if number as usize == keys.len() {
                let key = key();
                *heap += heap_bytes(&key);
                keys.push(key);
            }
            out.resize(out.len() + rows, number);
        };
        if let Places::New = self.places {
            self.places = match column {
                Column::Vertices(_) => Places::Vertices(VertexNumbers::default()),
                Column::Ints(_) => Places::Ints(HashMap::default()),
                _ => Places::Values(HashMap::default()),
            };
        }
        match (&mut self.places, column) {
            (Places::Vertices(places), Column::Vertices(vertices)) => {
                // PERF: `telar bench cypher`, in-degrees: rows of one node follow each other.
                for same in vertices.chunk_by(|a, b| a == b) {
                    let number = places.get_or_insert(same[0]);
                    numbered(number, same.len(), &|| Value::Vertex(same[0]));
                }
            }
            (Places::Ints(places), Column::Ints(ints)) => {
                for int in ints {
                    let fresh = places.len() as u32;
                    let number = *places.entry(*int).or_insert(fresh);
                    numbered(number, 1, &|| Value::Int(*int));
                }
            }
            (Places::Values(places), Column::Values(values)) => {
                for value in values {
                    let number = self.texts.find(value).unwrap_or_else(|| {
                        let number = number_of(places, value);
                        self.texts.add(value, number);
                        number
                    });
                    numbered(number, 1, &|| value.clone());
                }
            }
            (Places::Values(places), Column::Same(value, _)) => {
                let number = number_of(places, value);
                numbered(number, rows, &|| value.clone());
            }
            (Places::Values(places), column) => {
                for row in 0..rows {
                    let value = column.get(row);
                    numbered(number_of(places, &value), 1, &|| value.clone());
                }
            }
            _ => {
                let values = (0..).zip(keys.iter()).map(|(number, key)| (key.clone(), number));
                self.places = Places::Values(values.collect());
                self.assign_one(column, rows, out);
            }
        }
    }

    fn assign_rows(&mut self, columns: &[Arc<Column>], rows: usize, out: &mut Vec<u32>) {
        let pair = match columns {
            [a, b] => match (&**a, &**b) {
                (Column::Vertices(a), Column::Vertices(b)) => Some((a, b)),
                _ => None,
            },
            _ => None,
        };
        if let Places::New = self.places {
            self.places = match pair {
                Some(_) => Places::Pairs(HashMap::default()),
                None => Places::Rows(HashMap::default()),
            };
        }
        if let (Places::Pairs(places), Some((a, b))) = (&mut self.places, pair) {
            // PERF: telar bench snb --only complex-4: different posts with their tags.
            for (a, b) in a.iter().zip(b) {
                let fresh = places.len() as u32;
                let number = *places.entry((*a, *b)).or_insert(fresh);
                if number == fresh {
                    self.keys[0].push(Value::Vertex(*a));
                    self.keys[1].push(Value::Vertex(*b));
                }
                out.push(number);
            }
            return;
        }
        if let Places::Pairs(_) = self.places {
            let keys = self.keys[0].iter().zip(&self.keys[1]);
            let rows = keys.map(|(a, b)| Box::from([a.clone(), b.clone()]) as Box<[Value]>);
            self.places = Places::Rows(rows.zip(0..).collect());
        }
        let Places::Rows(places) = &mut self.places else {
            unreachable!("INVARIANT: the number of columns does not change")
        };
        let mut key = Vec::with_capacity(columns.len());
        for row in 0..rows {
            key.clear();
            key.extend(columns.iter().map(|column| column.get(row)));
            let number = match places.get(&key[..]) {
                Some(number) => *number,
                None => {
                    let number = places.len() as u32;
                    places.insert(key.clone().into_boxed_slice(), number);
                    for (values, value) in self.keys.iter_mut().zip(key.drain(..)) {
                        self.heap += heap_bytes(&value);
                        values.push(value);
                    }
                    number
                }
            };
            out.push(number);
        }
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
        groups.assign(&columns, rows, &mut out);
        out
    }

    #[test]
    fn groups_go_on_when_the_type_of_a_column_changes() {
        let mut groups = Groups::new(1);
        assert_eq!(assign(&mut groups, vec![Column::Ints(vec![7, 8, 7])]), [0, 1, 0]);
        // An integer and the float that equals it are one key.
        let mixed = vec![Value::Float(8.0), Value::Null, "x".into(), Value::Int(7), Value::Null];
        assert_eq!(assign(&mut groups, vec![Column::Values(mixed)]), [1, 2, 3, 0, 2]);
        assert_eq!(assign(&mut groups, vec![Column::Same("x".into(), 2)]), [3, 3]);
        assert_eq!(assign(&mut groups, vec![Column::Ints(vec![9, 8])]), [4, 1]);
        let keys = [7.into(), 8.into(), Value::Null, "x".into(), 9.into()];
        assert_eq!((groups.len(), groups.into_keys()), (5, vec![keys.to_vec()]));
        let mut groups = Groups::new(1);
        let v = VertexId::from_raw;
        assert_eq!(assign(&mut groups, vec![Column::Vertices(vec![v(3), v(1), v(3)])]), [0, 1, 0]);
        let some = vec![Value::Null, Value::Vertex(v(1))];
        assert_eq!(assign(&mut groups, vec![Column::Values(some)]), [2, 1]);
    }

    #[test]
    fn rows_of_several_columns_are_one_key() {
        let mut groups = Groups::new(2);
        let batch = || vec![Column::Ints(vec![1, 1, 2, 1]), Column::Ints(vec![5, 6, 5, 5])];
        assert_eq!(assign(&mut groups, batch()), [0, 1, 2, 0]);
        assert_eq!(assign(&mut groups, batch()), [0, 1, 2, 0]);
        assert_eq!(groups.into_keys(), [[1, 1, 2].map(Value::Int), [5, 6, 5].map(Value::Int)]);
        // Of two columns of nodes, one has nulls later.
        let v = VertexId::from_raw;
        let nodes = |numbers: &[u64]| numbers.iter().map(|n| v(*n)).collect::<Vec<_>>();
        let mut groups = Groups::new(2);
        let pairs = vec![Column::Vertices(nodes(&[1, 1, 1])), Column::Vertices(nodes(&[2, 3, 2]))];
        assert_eq!(assign(&mut groups, pairs), [0, 1, 0]);
        let some = vec![Value::Null, Value::Vertex(v(3)), Value::Vertex(v(2)), Value::Null];
        let mixed = vec![Column::Vertices(nodes(&[1, 1, 1, 1])), Column::Values(some)];
        assert_eq!(assign(&mut groups, mixed), [2, 1, 0, 2]);
        let pairs = vec![Column::Vertices(nodes(&[1, 2])), Column::Vertices(nodes(&[3, 3]))];
        assert_eq!(assign(&mut groups, pairs), [1, 3]);
        assert_eq!(groups.keys[0], [1, 1, 1, 2].map(|n| Value::Vertex(v(n))));
        let mut all = Groups::new(0);
        let mut out = Vec::new();
        all.assign(&[], 3, &mut out);
        assert_eq!((out, all.len()), (vec![0, 0, 0], 1));
    }
}
