//! Id spaces: from ids in files to vertices.
//!
//! A space is a hash table of row numbers over the ids themselves, which stand one after the other.
//! Whole numbers that lie close together get an array instead once all are known.

use std::hash::BuildHasher;

use super::header::Ids;

/// More slots than ids, so that chains stay short.
const SLOTS_PER_ID: usize = 2;
/// Numbers per id up to which an array takes no more room than a table.
const SPREAD_MAX: u64 = 8;
const NOBODY: u32 = u32::MAX;

/// An id of one or the other kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum IdRef<'a> {
    Text(&'a [u8]),
    Integer(i64),
}

impl std::fmt::Display for IdRef<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&crate::import::error::excerpt(text)),
            Self::Integer(n) => n.fmt(f),
        }
    }
}

/// The ids of one space and whose they are.
#[derive(Debug)]
pub(in crate::import) struct IdSpace {
    pub(in crate::import) name: String,
    pub(in crate::import) kind: Ids,
    hasher: foldhash::fast::RandomState,
    /// Upper half of the hash, number of the row plus one; 0 if free.
    slots: Vec<u64>,
    /// Texts one after the other and where each ends, or numbers.
    bytes: Vec<u8>,
    ends: Vec<usize>,
    integers: Vec<i64>,
    /// Vertex of each row.
    vertices: Vec<u32>,
    /// Rows of vertices that were in the database before.
    existing: usize,
    /// Smallest number, and the vertex of each from there on.
    array: Option<(i64, Vec<u32>)>,
    /// Id of the first new vertex.
    first: u32,
}

impl IdSpace {
    pub(in crate::import) fn new(name: &str, kind: Ids) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            hasher: foldhash::fast::RandomState::default(),
            slots: vec![0; 64],
            bytes: Vec::new(),
            ends: Vec::new(),
            integers: Vec::new(),
            vertices: Vec::new(),
            existing: 0,
            array: None,
            first: 0,
        }
    }

    fn key(&self, row: usize) -> IdRef<'_> {
        match self.kind {
            Ids::Integer => IdRef::Integer(self.integers[row]),
            Ids::Text => {
                let start = if row == 0 { 0 } else { self.ends[row - 1] };
                IdRef::Text(&self.bytes[start..self.ends[row]])
            }
        }
    }

    #[inline]
    fn hash(&self, id: IdRef<'_>) -> u64 {
        match id {
            IdRef::Text(text) => self.hasher.hash_one(text),
            IdRef::Integer(n) => self.hasher.hash_one(n),
        }
    }

    /// The row of `id`, or the free slot where it would go.
    #[inline]
    fn find(&self, id: IdRef<'_>, hash: u64) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            let row = slot as u32 as usize - 1;
            if slot >> 32 == hash >> 32 && self.key(row) == id {
                return Ok(row);
            }
            at = (at + 1) & mask;
        }
    }

    /// Adds an id of vertex `vertex`: of a new one by its number among the new ones. False if the
    /// id is taken.
    pub(in crate::import) fn add(&mut self, id: IdRef<'_>, vertex: u32) -> bool {
        if (self.vertices.len() + 1) * SLOTS_PER_ID > self.slots.len() {
            self.grow();
        }
        let hash = self.hash(id);
        let Err(slot) = self.find(id, hash) else {
            return false;
        };
        match id {
            IdRef::Integer(n) => self.integers.push(n),
            IdRef::Text(text) => {
                self.bytes.extend_from_slice(text);
                self.ends.push(self.bytes.len());
            }
        }
        self.vertices.push(vertex);
        self.slots[slot] = hash >> 32 << 32 | self.vertices.len() as u64;
        true
    }

    fn grow(&mut self) {
        self.slots = vec![0; 2 * self.slots.len()];
        let mask = self.slots.len() - 1;
        for row in 0..self.vertices.len() {
            let hash = self.hash(self.key(row));
            let mut at = hash as usize & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = hash >> 32 << 32 | (row as u64 + 1);
        }
    }

    /// All ids so far are those of vertices in the database, which keep their own.
    pub(in crate::import) fn end_existing(&mut self) {
        self.existing = self.vertices.len();
    }

    /// No more ids: the new vertices begin at `first`.
    pub(in crate::import) fn seal(&mut self, first: u32) {
        self.first = first;
        for v in &mut self.vertices[self.existing..] {
            *v += first;
        }
        let (min, max) = (self.integers.iter().min(), self.integers.iter().max());
        if let (Ids::Integer, Some(&min), Some(&max)) = (self.kind, min, max) {
            let spread = max.wrapping_sub(min).cast_unsigned();
            if spread < SPREAD_MAX.saturating_mul(self.integers.len() as u64) {
                let mut array = vec![NOBODY; spread as usize + 1];
                for (n, v) in self.integers.iter().zip(&self.vertices) {
                    array[n.wrapping_sub(min) as usize] = *v;
                }
                self.array = Some((min, array));
            }
        }
    }

    /// The vertex with this id.
    #[inline]
    pub(in crate::import) fn vertex(&self, id: IdRef<'_>) -> Option<u32> {
        if let (Some((min, array)), IdRef::Integer(n)) = (&self.array, id) {
            let place = n.checked_sub(*min).and_then(|n| usize::try_from(n).ok())?;
            return array.get(place).copied().filter(|v| *v != NOBODY);
        }
        self.find(id, self.hash(id)).ok().map(|row| self.vertices[row])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn a_space_is_a_map(
            ids in proptest::collection::vec(-300i64..300, 0..400),
            far: bool,
            text: bool,
        ) {
            let wide = |n: i64| if far { n * 1_000_000_007 } else { n };
            let kind = if text { Ids::Text } else { Ids::Integer };
            let mut space = IdSpace::new("s", kind);
            let mut model: HashMap<i64, u32> = HashMap::new();
            for (vertex, n) in (0..).zip(&ids) {
                let digits = wide(*n).to_string();
                let number = IdRef::Integer(wide(*n));
                let id = if text { IdRef::Text(digits.as_bytes()) } else { number };
                let new = !model.contains_key(n);
                prop_assert_eq!(space.add(id, vertex), new);
                model.entry(*n).or_insert(vertex);
            }
            space.seal(1000);
            for n in -301..=301 {
                let digits = wide(n).to_string();
                let number = IdRef::Integer(wide(n));
                let id = if text { IdRef::Text(digits.as_bytes()) } else { number };
                prop_assert_eq!(space.vertex(id), model.get(&n).map(|v| v + 1000));
            }
        }
    }
}
