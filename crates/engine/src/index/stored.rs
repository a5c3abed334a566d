//! What an index holds at a checkpoint, told from the stored values of what it is about.
//!
//! For `check`, which compares the two, and `repair`, which makes the one from the other; neither
//! opens the database. A vertex has an entry if it has the label and every property; an edge, if it
//! stands in an out list and has every property. In a TEXT or POINT index the property must be a
//! string or a point ([`Definition::key`]).
//!
//! Cost: reads the values that the index is made of once; in memory what comes out, 16 bytes for
//! each entry of the index compared, 12 bytes for each edge of the type.

use std::borrow::Cow;
use std::ops::ControlFlow;

use crossbeam_epoch as epoch;
use telar_graph::{Direction, EdgeTypeId, LabelId, PropertyKeyId, Value};

use super::Entries;
use super::key::{Entry, Item, SortKey};
use super::spec::{Definition, IndexTarget, Keys};
use super::tree::Tree;
use crate::adjacency::{COL_ORDINAL, SEGMENT_BITS, SEGMENT_VERTICES, stored};
use crate::catalog::places;
use crate::column::chunk::PropertyChunk;
use crate::column::{Chunk, property, states};
use crate::format::{Kind, key};
use crate::graph::Graph;
use crate::store::changes::Key;

/// Objects named in a finding; more are only counted.
const NAMED_MAX: usize = 5;

/// The body of a stored value, if there is one.
pub(crate) type ValueOf<'a> = dyn Fn(&Key) -> Result<Option<Cow<'a, [u8]>>, String> + 'a;

/// The values of a checkpoint.
pub(crate) struct Stored<'a> {
    /// The schema.
    pub(crate) graph: &'a Graph,
    /// Version of the values.
    pub(crate) version: u64,
    pub(crate) value: &'a ValueOf<'a>,
}

/// Whether an index is made of values of this kind, number and second number.
pub(crate) fn is_made_of(definition: &Definition, (kind, a, b): (u8, u16, u16)) -> bool {
    let has = |n| definition.properties.contains(&PropertyKeyId::from_raw(n));
    let is = |wanted: Kind| kind == wanted as u8;
    definition.kind.has_entries()
        && match definition.target {
            IndexTarget::Vertices(_) => is(Kind::States) || (is(Kind::VertexProperty) && has(a)),
            IndexTarget::Edges(ty) => {
                let lists = is(Kind::Adjacency) && b == Direction::Out as u16;
                let properties = is(Kind::Places) || (is(Kind::EdgeProperty) && has(b));
                a == ty.get() && (lists || properties)
            }
        }
}

/// A segment of each property of an index.
struct Columns<'a> {
    definition: &'a Definition,
    /// None of a property without a value in the segment.
    chunks: Vec<Option<PropertyChunk>>,
}

impl Columns<'_> {
    fn keys(&self, local: usize) -> Keys {
        let mut chunks = self.chunks.iter();
        let mut next = || chunks.next().and_then(Option::as_ref);
        self.definition.keys(|_| next().map_or(Value::Null, |chunk| chunk.get(local)))
    }
}

impl Stored<'_> {
    /// The properties of an index in one segment; `None` if there is no entry for lack of one.
    fn columns<'d>(
        &self,
        definition: &'d Definition,
        key_of: impl Fn(PropertyKeyId) -> Key,
    ) -> Result<Option<Columns<'d>>, String> {
        let mut chunks = Vec::new();
        for property in &definition.properties {
            let chunk = match (self.value)(&key_of(*property))? {
                Some(body) => Some(property::decode(&body, self.version)?),
                // One of several properties is enough for a full-text index.
                None if definition.is_fulltext() => None,
                None => return Ok(None),
            };
            chunks.push(chunk);
        }
        Ok(Some(Columns { definition, chunks }))
    }

    /// Calls `f` with every entry that the index is to have, in no order.
    pub(crate) fn for_each_entry(
        &self,
        definition: &Definition,
        f: &mut dyn FnMut(SortKey, Item<3>),
    ) -> Result<(), String> {
        match definition.target {
            _ if !definition.kind.has_entries() => Ok(()),
            IndexTarget::Vertices(label) => self.vertices(definition, label, f),
            IndexTarget::Edges(ty) => self.edges(definition, ty, f),
        }
    }

    fn segments(&self) -> std::ops::Range<u32> {
        0..self.graph.vertex_bound().div_ceil(SEGMENT_VERTICES as u32)
    }

    fn vertices(
        &self,
        definition: &Definition,
        label: LabelId,
        f: &mut dyn FnMut(SortKey, Item<3>),
    ) -> Result<(), String> {
        let sets = &self.graph.catalog.label_sets;
        for number in self.segments() {
            let Some(body) = (self.value)(&key(Kind::States, 0, 0, number))? else { continue };
            let of = |property: PropertyKeyId| key(Kind::VertexProperty, property.get(), 0, number);
            let Some(columns) = self.columns(definition, of)? else { continue };
            let states = states::decode(&body, sets.len(), self.version)?;
            for (local, state) in states.iter().enumerate() {
                if *state == 0 {
                    continue;
                }
                let labels = sets.labels(*state);
                let elsewhere = |other: &LabelId| labels.contains(other);
                if labels.contains(&label) && !definition.except().iter().any(elsewhere) {
                    for key in columns.keys(local) {
                        f(key, [number << SEGMENT_BITS | local as u32, 0, 0]);
                    }
                }
            }
        }
        Ok(())
    }

    fn edges(
        &self,
        definition: &Definition,
        ty: EdgeTypeId,
        f: &mut dyn FnMut(SortKey, Item<3>),
    ) -> Result<(), String> {
        let columns = self.graph.catalog.edge_type(ty).map_err(|e| e.to_string())?.kind().columns();
        let mut edges: Vec<Item<3>> = Vec::new();
        for number in self.segments() {
            let out = key(Kind::Adjacency, ty.get(), Direction::Out as u16, number);
            let Some(body) = (self.value)(&out)? else { continue };
            let base = stored::decode_adjacency(&body, columns, self.version)?;
            let placed = (self.value)(&key(Kind::Places, ty.get(), 0, number))?;
            let placed = placed.map_or(Ok(Vec::new()), |body| places::decode(number, &body))?;
            let place = |src, dst| {
                let found = placed.binary_search_by_key(&(src, dst), |p| (p.src, p.dst));
                found.map_or(0, |at| placed[at].place)
            };
            for local in 0..SEGMENT_VERTICES {
                let src = number << SEGMENT_BITS | local as u32;
                for at in base.range(local) {
                    let entry = base.entry(at);
                    // Without a place, it has no properties.
                    match entry.columns[COL_ORDINAL] {
                        0 => edges.extend(
                            Some(place(src, entry.nbr))
                                .filter(|p| *p != 0)
                                .map(|p| [p, src, entry.nbr]),
                        ),
                        ordinal => edges.push([ordinal, src, entry.nbr]),
                    }
                }
            }
        }
        edges.sort_unstable();
        let segment_of = |edge: &Item<3>| edge[0] >> SEGMENT_BITS;
        for same in edges.chunk_by(|a, b| segment_of(a) == segment_of(b)) {
            let number = segment_of(&same[0]);
            let of = |p: PropertyKeyId| key(Kind::EdgeProperty, ty.get(), p.get(), number);
            let Some(columns) = self.columns(definition, of)? else { continue };
            for edge in same {
                for key in columns.keys(edge[0] as usize % SEGMENT_VERTICES) {
                    f(key, *edge);
                }
            }
        }
        Ok(())
    }

    /// The entries that the index is to have, sorted.
    pub(crate) fn entries(&self, definition: &Definition) -> Result<Vec<Entry<3>>, String> {
        let mut entries = Vec::new();
        self.for_each_entry(definition, &mut |key, item| entries.push((key, item)))?;
        entries.sort_unstable();
        Ok(entries)
    }

    /// What is wrong with the entries of an index, in words: both ways, and keys that are there
    /// twice and must not be.
    pub(crate) fn contradictions(
        &self,
        definition: &Definition,
        entries: &Entries,
    ) -> Result<Vec<String>, String> {
        let (mut there, mut wanted) = (Vec::new(), Vec::new());
        let mut twice = Vec::new();
        let is_unique = definition.kind.is_unique();
        let mut before: Option<Entry<3>> = None;
        for_each(entries, &mut |key, item| {
            there.push(mark(key, item));
            if is_unique {
                let same = before.as_ref().filter(|(before, _)| before == key);
                twice.extend(same.map(|(_, other)| [other[0], item[0]]));
                before = Some((key.clone(), item));
            }
        });
        self.for_each_entry(definition, &mut |key, item| wanted.push(mark(&key, item)))?;
        there.sort_unstable();
        wanted.sort_unstable();
        let (one, many) = match definition.target {
            IndexTarget::Vertices(_) => ("vertex", "vertices"),
            IndexTarget::Edges(_) => ("the edge with ordinal", "the edges with ordinals"),
        };
        let mut found = Vec::new();
        let mut say = |objects: Vec<u32>, what: &str| {
            let named: Vec<String> =
                objects.iter().take(NAMED_MAX).map(ToString::to_string).collect();
            let more = if objects.len() > NAMED_MAX { ", ..." } else { "" };
            let (count, noun) = (objects.len(), if objects.len() == 1 { one } else { many });
            if count > 0 {
                found.push(format!("{count} {what}: of {noun} {}{more}", named.join(", ")));
            }
        };
        say(without(&wanted, &there), "values have no entry");
        say(without(&there, &wanted), "entries have no such value");
        say(twice.concat(), "objects share a key that must be unique");
        Ok(found)
    }
}

/// Object and hash of an entry. Two that agree by chance are a matter of 2^-64.
fn mark(key: &SortKey, [object, src, dst]: Item<3>) -> (u32, u64) {
    let ends = (u64::from(src) << 32 | u64::from(dst)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (object, key.hash() ^ ends.rotate_left(32))
}

/// The objects of marks that are not among `others`; both sorted.
fn without(marks: &[(u32, u64)], others: &[(u32, u64)]) -> Vec<u32> {
    let missing = marks.iter().filter(|mark| others.binary_search(mark).is_err());
    missing.map(|(object, _)| *object).collect()
}

/// Calls `f` with every entry, in order.
fn for_each(entries: &Entries, f: &mut dyn FnMut(&SortKey, Item<3>)) {
    fn of_tree<const N: usize>(tree: &Tree<N>, f: &mut dyn FnMut(&SortKey, Item<3>)) {
        let guard = &epoch::pin();
        tree.for_range(&SortKey::MIN, None, false, guard, |key, item| {
            let mut whole = [0; 3];
            whole[..N].copy_from_slice(&item);
            f(key, whole);
            ControlFlow::Continue(())
        });
    }
    match entries {
        Entries::None => {}
        Entries::Vertices(tree) => of_tree(tree, f),
        Entries::Edges(tree) => of_tree(tree, f),
    }
}
