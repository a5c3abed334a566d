//! What must hold between the values of a store.
//!
//! Out and in lists mirror each other: an edge stands in the out list of its source and in the in
//! list of its destination, with the same ordinal and sort key. Instead of holding all edges, a sum
//! of 64-bit hashes per segment of sources is kept for either direction; two sums that agree by
//! chance are a matter of 2^-64.
//!
//! Indexes: every value has its entry, and every entry its value (`index/stored.rs`).

use std::borrow::Cow;
use std::collections::BTreeMap;

use telar_graph::name::NameKind;
use telar_graph::{Direction, EdgeTypeId, IndexId, LabelId, PropertyKeyId};

use super::history::HistoryCheck;
use crate::adjacency::base::{Base, is_sorted};
use crate::adjacency::{COL_ORDINAL, Entry, ListKind, SEGMENT_BITS, SEGMENT_VERTICES, stored};
use crate::catalog::EdgeType;
use crate::catalog::places::{self, Placed};
use crate::column::{property, states};
use crate::format::subject::Subject;
use crate::format::{Kind, parts};
use crate::index::Definition;
use crate::index::page::StoredIndexes;
use crate::index::stored::Stored;
use crate::once;
use crate::shared::Shared;
use crate::store::changes::Key;

/// Vertices named in a finding; more are only counted.
const NAMED_MAX: usize = 5;

/// A growing set of numbers.
#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Adds `n`; returns whether it was there before.
    fn insert(&mut self, n: u32) -> bool {
        let (word, bit) = (n as usize / 64, 1u64 << (n % 64));
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        let was = self.0[word] & bit != 0;
        self.0[word] |= bit;
        was
    }

    /// The numbers that are here and not in `others`.
    fn without<'a>(&'a self, others: &'a Self) -> impl Iterator<Item = u32> + 'a {
        let words = self.0.iter().enumerate();
        words.flat_map(|(i, word)| {
            let left = word & !others.0.get(i).copied().unwrap_or(0);
            (0..64).filter(move |bit| left >> bit & 1 == 1).map(move |bit| i as u32 * 64 + bit)
        })
    }
}

/// One direction of an edge type: per segment of sources, number and hashes of the edges.
#[derive(Debug, Default)]
struct Side(Vec<(u64, u64)>);

impl Side {
    fn add(&mut self, src: u32, hash: u64) {
        let segment = (src >> SEGMENT_BITS) as usize;
        if segment >= self.0.len() {
            self.0.resize(segment + 1, (0, 0));
        }
        let (count, sum) = &mut self.0[segment];
        (*count, *sum) = (*count + 1, sum.wrapping_add(hash));
    }

    fn get(&self, segment: usize) -> (u64, u64) {
        self.0.get(segment).copied().unwrap_or((0, 0))
    }
}

#[derive(Debug, Default)]
struct TypeCheck {
    sides: [Side; 2],
    ends: Bits,
    ordinals: Bits,
}

/// The schema of a store and what its values said so far.
#[derive(Debug)]
pub(crate) struct Graph {
    shared: Shared,
    /// Version of the values in the store.
    version: u64,
    types: Vec<TypeCheck>,
    indexes: StoredIndexes,
    /// The bodies of the values that indexes are made of.
    indexed: BTreeMap<Key, Vec<u8>>,
    history: HistoryCheck,
    exists: Bits,
    vertices: u64,
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Hash of an edge; the same from either end.
pub(super) fn hash(src: u32, dst: u32, columns: [u32; 3]) -> u64 {
    let [ordinal, low, high] = columns.map(u64::from);
    let ends = mix(u64::from(src) << 32 | u64::from(dst));
    let key = mix(ends ^ (high << 32 | low).wrapping_add(0x9E37_79B9_7F4A_7C15));
    mix(key.wrapping_add(ordinal))
}

impl Graph {
    /// An empty check with the schema of `shared` and these indexes.
    pub(crate) fn new(shared: Shared, version: u64, indexes: Vec<(IndexId, Definition)>) -> Self {
        let types = (0..shared.catalog.type_count()).map(|_| TypeCheck::default()).collect();
        let (indexes, indexed) = (StoredIndexes::new(indexes), BTreeMap::new());
        let (history, exists) = (HistoryCheck::default(), Bits::default());
        Self { shared, version, types, indexes, indexed, history, exists, vertices: 0 }
    }

    fn edge_type(&self, number: u16) -> Result<&EdgeType, String> {
        let id = EdgeTypeId::from_raw(number);
        self.shared.catalog.edge_type(id).map_err(|e| e.to_string())
    }

    fn check_property(&self, number: u16) -> Result<(), String> {
        let key = PropertyKeyId::from_raw(number);
        self.shared.catalog.check_property_key(key).map_err(|e| e.to_string())
    }

    /// What a key is about, in words.
    pub(crate) fn describe(&self, key: &[u8]) -> Option<String> {
        let (kind, a, b, segment) = parts(key)?;
        let first = u64::from(segment) << SEGMENT_BITS;
        let last = first + SEGMENT_VERTICES as u64 - 1;
        let property = |n: u16| self.shared.catalog.property_key_name(PropertyKeyId::from_raw(n));
        let catalog = &self.shared.catalog;
        let name = |n: u16| catalog.name(NameKind::EdgeType, n);
        Some(match kind {
            0 => "the meta value".into(),
            1 => {
                let direction = if b == 0 { "out" } else { "in" };
                format!("{direction} lists of type {}, vertices {first} to {last}", name(a)?)
            }
            2 => format!("labels of the vertices {first} to {last}"),
            3 => format!("property {} of the vertices {first} to {last}", property(a)),
            4 => {
                format!("property {} of edges of type {}, {first} to {last}", property(b), name(a)?)
            }
            8 => {
                let name = name(a)?;
                format!("places of properties of edges of type {name}, vertices {first} to {last}")
            }
            9 => "ids of transactions that commit once".into(),
            k if k == Kind::Index as u8 => {
                format!("part {segment} of index {}", self.indexes.name(a)?)
            }
            kind => match Subject::of(kind, a, b)? {
                Subject::About => "how far history reaches back".into(),
                Subject::Lists(..) => {
                    format!("history of lists of type {}, vertices {first} to {last}", name(a)?)
                }
                Subject::States => format!("history of labels, vertices {first} to {last}"),
                Subject::VertexProperty(_) => {
                    format!("history of property {}, vertices {first} to {last}", property(a))
                }
                Subject::EdgeProperty(..) => {
                    let (property, ty) = (property(b), name(a)?);
                    format!("history of property {property} of type {ty}, {first} to {last}")
                }
            },
        })
    }

    /// Takes the body of a value; says what is wrong with it by itself.
    pub(crate) fn value(&mut self, key: &[u8], body: &[u8]) -> Result<(), String> {
        let (kind, a, b, number) = parts(key).ok_or("a key has the wrong length")?;
        if kind == Kind::Index as u8 {
            return self.indexes.add(a, number, body);
        }
        if number >> (u32::BITS - SEGMENT_BITS) != 0 {
            return Err("a segment number is out of range".into());
        }
        if self.indexes.are_made_of((kind, a, b))
            && let Ok(key) = key.try_into()
        {
            self.indexed.insert(key, body.to_vec());
        }
        if let Some(subject) = Subject::of(kind, a, b) {
            return self.history.value(subject, number, body, &self.shared);
        }
        match kind {
            k if k == Kind::Adjacency as u8 => self.adjacency(a, b, number, body),
            k if k == Kind::Places as u8 => self.places(a, number, body),
            k if k == Kind::Once as u8 => once::decode(body).map(drop),
            k if k == Kind::States as u8 => self.states(number, body),
            k if k == Kind::VertexProperty as u8 => {
                self.check_property(a)?;
                property::decode(body, self.version).map(drop)
            }
            k if k == Kind::EdgeProperty as u8 => {
                self.edge_type(a)?;
                self.check_property(b)?;
                property::decode(body, self.version).map(drop)
            }
            kind => Err(format!("unknown kind of value {kind}")),
        }
    }

    fn adjacency(&mut self, a: u16, b: u16, number: u32, body: &[u8]) -> Result<(), String> {
        let direction = match b {
            0 => Direction::Out,
            1 => Direction::In,
            _ => return Err(format!("there is no direction {b}")),
        };
        let ty = self.edge_type(a)?;
        let kind = ty.kind();
        let ordinals = (ty.ordinal_bound(), ty.has_unnumbered());
        let bound = self.shared.vertex_bound();
        let base = stored::decode_adjacency(body, kind.columns(), self.version)?;
        let check = &mut self.types[usize::from(a)];
        let mut wrong = None;
        for local in 0..SEGMENT_VERTICES {
            let v = number << SEGMENT_BITS | local as u32;
            let range = base.range(local);
            if range.is_empty() {
                continue;
            }
            if v >= bound {
                return Err(format!("vertex {v} has edges, but the last vertex is below {bound}"));
            }
            if !is_sorted(&base, kind, local) {
                wrong.get_or_insert(format!("the list of vertex {v} is not sorted"));
            }
            check.ends.insert(v);
            for at in range {
                let entry = base.entry(at);
                if let Some(what) = check.entry(v, &entry, direction, kind, bound, ordinals) {
                    wrong.get_or_insert(what);
                }
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    fn places(&mut self, a: u16, number: u32, body: &[u8]) -> Result<(), String> {
        let ty = self.edge_type(a)?;
        let (bound, ordinal_bound) = (self.shared.vertex_bound(), ty.ordinal_bound());
        let placed = places::decode(number, body)?;
        let outside = |p: &&Placed| p.src.max(p.dst) >= bound || p.place >= ordinal_bound;
        if let Some(Placed { src, dst, place }) = placed.iter().find(outside) {
            return Err(format!(
                "the edge from {src} to {dst} has the place {place}, out of range"
            ));
        }
        let check = &mut self.types[usize::from(a)];
        let twice = placed.iter().find(|p| check.ordinals.insert(p.place));
        twice.map_or(Ok(()), |p| {
            Err(format!("the place {} is that of another edge, too, or an ordinal", p.place))
        })
    }

    fn states(&mut self, number: u32, body: &[u8]) -> Result<(), String> {
        let sets = &self.shared.catalog.label_sets;
        let states = states::decode(body, sets.len(), self.version)?;
        let bound = self.shared.vertex_bound();
        let mut wrong = None;
        for (local, state) in states.iter().enumerate().filter(|(_, state)| **state != 0) {
            let v = number << SEGMENT_BITS | local as u32;
            if v >= bound {
                wrong.get_or_insert(format!("vertex {v} exists, but the last is below {bound}"));
                continue;
            }
            let unknown = |l: &LabelId| self.shared.catalog.check_label(*l).is_err();
            if sets.labels(*state).iter().any(unknown) {
                wrong.get_or_insert(format!("vertex {v} has a label that has no name"));
            }
            self.vertices += u64::from(!self.exists.insert(v));
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Vertices and edges seen.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let edges = |t: &TypeCheck| t.sides[0].0.iter().map(|(count, _)| count).sum::<u64>();
        (self.vertices, self.types.iter().map(edges).sum())
    }

    /// What does not hold between the values: where, and what.
    pub(crate) fn contradictions(&mut self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let indexes = self.indexes.take();
        let value = |key: &Key| Ok(self.indexed.get(key).map(|body| Cow::Borrowed(&body[..])));
        let stored = Stored { graph: &self.shared, version: self.version, value: &value };
        for (_, definition, pieces) in indexes {
            let compared = match pieces.into_entries(false) {
                Ok(entries) => stored.contradictions(&definition, &entries),
                Err(what) => Err(what.to_owned()),
            };
            let place = || format!("index {}", definition.name);
            let wrong = compared.unwrap_or_else(|what| vec![what]).into_iter();
            found.extend(wrong.map(|what| (place(), what)));
        }
        for (ty, what) in self.history.contradictions() {
            let name = self.shared.catalog.edge_type_name(EdgeTypeId::from_raw(ty));
            found.push((format!("edges of type {name}"), what));
        }
        for (number, check) in self.types.iter().enumerate() {
            let name = self.shared.catalog.edge_type_name(EdgeTypeId::from_raw(number as u16));
            let [out, inward] = &check.sides;
            for segment in 0..out.0.len().max(inward.0.len()) {
                let (out, inward) = (out.get(segment), inward.get(segment));
                if out != inward {
                    let first = segment << SEGMENT_BITS;
                    let last = first + SEGMENT_VERTICES - 1;
                    let place = format!("edges of type {name} from vertices {first} to {last}");
                    let what = format!(
                        "out and in lists do not mirror each other: {} edges in the one, {} in \
                         the other",
                        out.0, inward.0
                    );
                    found.push((place, what));
                }
            }
            let dangling: Vec<u32> = check.ends.without(&self.exists).collect();
            if let Some(first) = dangling.first() {
                let place = format!("edges of type {name}");
                let named: Vec<String> =
                    dangling.iter().take(NAMED_MAX).map(ToString::to_string).collect();
                let what = match dangling.len() {
                    1 => format!("vertex {first} has edges and does not exist"),
                    n => format!("{n} vertices have edges and do not exist: {}", named.join(", ")),
                };
                found.push((place, what));
            }
        }
        found
    }
}

impl TypeCheck {
    /// Takes an entry of the list of `v`; says what is wrong with it by itself.
    fn entry(
        &mut self,
        v: u32,
        entry: &Entry,
        direction: Direction,
        kind: ListKind,
        bound: u32,
        (ordinal_bound, has_unnumbered): (u32, bool),
    ) -> Option<String> {
        let (src, dst) = match direction {
            Direction::Out => (v, entry.nbr),
            Direction::In => (entry.nbr, v),
        };
        if entry.nbr >= bound {
            return Some(format!("vertex {v} has the neighbour {}, above {bound}", entry.nbr));
        }
        self.ends.insert(entry.nbr);
        self.sides[direction as usize].add(src, hash(src, dst, entry.columns));
        let ordinal = entry.columns[COL_ORDINAL];
        if kind == ListKind::Simple {
            return None;
        }
        if ordinal == 0 && kind == ListKind::Multi && has_unnumbered {
            // At most one per pair, or the list is not sorted.
            return None;
        }
        if ordinal == 0 || ordinal >= ordinal_bound {
            return Some(format!("an edge of vertex {v} has the ordinal {ordinal}, out of range"));
        }
        let twice = direction == Direction::Out && self.ordinals.insert(ordinal);
        twice.then(|| format!("an edge of vertex {v} has ordinal {ordinal}, as another one has"))
    }
}

/// The lists of a base as entries, with their vertex.
pub(crate) fn entries(base: &Base, number: u32) -> impl Iterator<Item = (u32, Entry)> + '_ {
    (0..SEGMENT_VERTICES).flat_map(move |local| {
        let v = number << SEGMENT_BITS | local as u32;
        base.range(local).map(move |at| (v, base.entry(at)))
    })
}
