//! Indexes in checkpoints: a value per partition.
//!
//! ```text
//!  key     kind 5 · a = index · b = 0 · segment = partition
//!  value   crc u32 · flag u8 (1: a partition follows to the right)
//!          · [its number · its lower bound: entry]
//!          · number of entries · entries ...
//!  entry   bytes shared with the key before · further bytes: length, bytes · 1 or 3 words
//!          (vertex; or ordinal, source, destination)
//!  integers are varints; a key is the sort key; one of up to 16 bytes stands without the zeros
//!          that end it
//! ```
//!
//! A value holds the entries that hold at the checkpoint's timestamp, and no others: older ones no
//! reader after a restart can see, newer ones come back with the log. Partitions that nothing was
//! written to since the last checkpoint keep their value: links and entries are still right.

use std::ops::Range;

use telar_graph::IndexId;
use telar_graph::codec::{get_varint, put_varint};

use super::key::{Entry, Item, SortKey};
use super::run::Run;
use super::spec::Definition;
use super::stored::is_made_of;
use super::tree::{Piece, RUN_CUT, Tree, Version};
use super::{Entries, Index, IndexTarget};
use crate::error::Error;
use crate::format::{Kind, key, unseal};
use crate::graph::Graph;
use crate::store::{Store, damaged};

/// Longest key that is read back: far above what a property of a commit can hold.
const KEY_BYTES_MAX: u64 = 1 << 30;

/// Appends an entry that follows the key `before`, which becomes its own.
pub(crate) fn put_entry<const N: usize>(
    (key, item): &Entry<N>,
    before: &mut Vec<u8>,
    out: &mut Vec<u8>,
) {
    let shared = key.bytes().zip(before.iter()).take_while(|(a, b)| a == *b).count();
    before.truncate(shared);
    before.extend(key.bytes().skip(shared));
    put_varint(shared as u64, out);
    put_varint((before.len() - shared) as u64, out);
    out.extend_from_slice(&before[shared..]);
    item.iter().for_each(|word| put_varint((*word).into(), out));
}

/// Reads what [`put_entry`] wrote.
pub(crate) fn get_entry<const N: usize>(
    before: &mut Vec<u8>,
    body: &mut &[u8],
) -> Result<Entry<N>, String> {
    let (_, item) = get_key(before, body)?;
    Ok((SortKey::from_bytes(before), item))
}

/// Reads what [`put_entry`] wrote: the key becomes `before`, of which it shares so many bytes.
pub(crate) fn get_key<const N: usize>(
    before: &mut Vec<u8>,
    body: &mut &[u8],
) -> Result<(usize, Item<N>), String> {
    let mut number = || get_varint(body).map_err(|e| e.to_string());
    let (shared, further) = (number()?, number()?);
    if shared > before.len() as u64 || further > KEY_BYTES_MAX || further > body.len() as u64 {
        return Err("a key is longer than its value".into());
    }
    let (bytes, rest) = body.split_at(further as usize);
    *body = rest;
    before.truncate(shared as usize);
    before.extend_from_slice(bytes);
    let mut item = [0; N];
    for word in &mut item {
        let number = get_varint(body).map_err(|e| e.to_string())?;
        *word = u32::try_from(number).map_err(|_| format!("{number} is no vertex or ordinal"))?;
    }
    Ok((shared as usize, item))
}

/// Encodes a partition, of which `next` is to the right, with room for the checksum.
fn encode<const N: usize>(next: Option<&(Entry<N>, u32)>, entries: &[Entry<N>], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    out.push(next.is_some().into());
    let mut before = Vec::new();
    if let Some((bound, number)) = next {
        put_varint((*number).into(), out);
        put_entry(bound, &mut before, out);
    }
    before.clear();
    put_varint(entries.len() as u64, out);
    entries.iter().for_each(|entry| put_entry(entry, &mut before, out));
}

/// Encodes the entries of a partition that `holds` lets through.
fn encode_version<const N: usize>(
    version: &Version<N>,
    holds: impl Fn(&Entry<N>) -> bool,
    out: &mut Vec<u8>,
) {
    let run = version.entries();
    let entries: Vec<Entry<N>> = (0..run.len()).map(|i| run.get(i)).filter(holds).collect();
    encode(version.next.as_ref(), &entries, out);
}

/// The values of an index with these entries, sorted, each with its number and room for the
/// checksum.
pub(crate) fn encode_all(definition: &Definition, entries: &[Entry<3>]) -> Vec<(u32, Vec<u8>)> {
    match definition.target {
        _ if !definition.kind.has_entries() => Vec::new(),
        IndexTarget::Vertices(_) => {
            let entries = entries.iter().map(|(key, item)| (key.clone(), [item[0]]));
            encode_partitions(&entries.collect::<Vec<Entry<1>>>())
        }
        IndexTarget::Edges(_) => encode_partitions(entries),
    }
}

fn encode_partitions<const N: usize>(entries: &[Entry<N>]) -> Vec<(u32, Vec<u8>)> {
    let mut partitions: Vec<&[Entry<N>]> = entries.chunks(RUN_CUT).collect();
    if partitions.is_empty() {
        partitions.push(&[]);
    }
    let value = |(number, entries): (u32, &&[Entry<N>])| {
        let right = partitions.get(number as usize + 1).and_then(|right| right.first());
        let next = right.map(|low| (low.clone(), number + 1));
        let mut value = Vec::new();
        encode(next.as_ref(), entries, &mut value);
        (number, value)
    };
    (0..).zip(&partitions).map(value).collect()
}

/// Where the partition to the right begins, and its number.
type Next<const N: usize> = Option<(Entry<N>, u32)>;

/// Reads what stands before the entries, and how many they are.
fn get_head<const N: usize>(body: &mut &[u8]) -> Result<(Next<N>, u64), String> {
    let next = match body.split_first() {
        Some((0, rest)) => {
            *body = rest;
            None
        }
        Some((1, rest)) => {
            *body = rest;
            let next = get_varint(body).map_err(|e| e.to_string())?;
            let next = u32::try_from(next).map_err(|_| "a partition number is out of range")?;
            Some((get_entry(&mut Vec::new(), body)?, next))
        }
        _ => return Err("a part of the index begins with neither 0 nor 1".into()),
    };
    Ok((next, get_varint(body).map_err(|e| e.to_string())?))
}

/// Where the partition to the right begins, and the first entry of this one, if it has any.
pub(super) fn decode_bounds<const N: usize>(
    mut body: &[u8],
) -> Result<(Next<N>, Option<Entry<N>>), String> {
    let (next, count) = get_head(&mut body)?;
    let first = (count > 0).then(|| get_entry(&mut Vec::new(), &mut body)).transpose()?;
    Ok((next, first))
}

pub(super) fn decode<const N: usize>(number: u32, mut body: &[u8]) -> Result<Piece<N>, String> {
    let body = &mut body;
    let (next, count) = get_head(body)?;
    let mut before = Vec::new();
    let mut entries = Run::default();
    for _ in 0..count {
        entries.push(get_entry(&mut before, body)?);
    }
    if !body.is_empty() {
        return Err("bytes after the last entry".into());
    }
    Ok(Piece { number, next, entries })
}

/// Takes any bytes as the value of a partition, for tests: what loads, is stored as the same again.
#[cfg(any(fuzzing, all(test, not(feature = "shuttle"))))]
pub(crate) fn fuzz(number: u32, body: &[u8]) {
    let Ok(piece) = decode::<1>(number, body) else { return };
    let Ok(tree) = Tree::from_pieces(vec![piece], false) else { return };
    let stored = tree.for_each_partition(|number, _, version| {
        let mut value = Vec::new();
        encode_version(version, |_| true, &mut value);
        let again = decode::<1>(number, &value[4..])?;
        let same = again.entries.len() == version.entries().len();
        if same { Ok(()) } else { Err("entries were lost".to_owned()) }
    });
    stored.expect("what was encoded decodes");
}

/// Calls `put` with the value of each partition, or of those written to after `since`, as it is at
/// `at`; with the items in `loaded`, which a bulk load is adding. The index has been loaded.
pub(crate) fn store(
    index: &Index,
    graph: &Graph,
    when: (Option<u64>, u64),
    loaded: &Range<u32>,
    value: &mut Vec<u8>,
    mut put: impl FnMut(u32, &mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    match index.entries() {
        Entries::None => Ok(()),
        Entries::Vertices(tree) => store_tree(index, tree, graph, when, loaded, value, &mut put),
        Entries::Edges(tree) => store_tree(index, tree, graph, when, loaded, value, &mut put),
    }
}

fn store_tree<const N: usize>(
    index: &Index,
    tree: &Tree<N>,
    graph: &Graph,
    (since, at): (Option<u64>, u64),
    loaded: &Range<u32>,
    value: &mut Vec<u8>,
    put: &mut impl FnMut(u32, &mut [u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    tree.for_each_partition(|number, last_write, version| {
        if since.is_some_and(|since| last_write <= since) {
            return Ok(());
        }
        let guard = &crossbeam_epoch::pin();
        let objects = index.objects(graph, guard);
        let holds =
            |(key, item): &Entry<N>| loaded.contains(&item[0]) || objects.has_key(key, item, at);
        encode_version(version, holds, value);
        crate::failpoint!("checkpoint::index");
        put(number, value)
    })
}

/// Reads the entries of an index from the store.
///
/// # Errors
/// [`Error::Damaged`] names the value, [`Error::Store`].
pub(crate) fn load(store: &Store, id: IndexId, definition: &Definition) -> Result<Entries, Error> {
    let mut pieces = Pieces::new(definition);
    let first = key(Kind::Index, id.get(), 0, 0);
    // LMDB is going to follow every page on the way.
    store.verify()?;
    let txn = store.read()?;
    // What is the same in the keys of all partitions.
    let values = store.database().prefix_iter(&txn, &first[..5]).map_err(|e| store.error(e))?;
    for value in values {
        let (key, value) = value.map_err(|e| store.error(e))?;
        let (_, body) = unseal(key, value).map_err(|what| damaged(store, key, what))?;
        let number = key[5..].iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
        pieces.add(number, body).map_err(|what| damaged(store, key, what))?;
    }
    let wrong = |what| damaged(store, &first, format!("index {}: {what}", definition.name));
    pieces.into_entries(definition.is_fulltext()).map_err(wrong)
}

/// Values of an index as they are read from the store.
#[derive(Debug)]
pub(crate) enum Pieces {
    None,
    Vertices(Vec<Piece<1>>),
    Edges(Vec<Piece<3>>),
}

impl Pieces {
    /// No values yet, of an index like this.
    pub(crate) fn new(definition: &Definition) -> Self {
        match definition.target {
            _ if !definition.kind.has_entries() => Self::None,
            IndexTarget::Vertices(_) => Self::Vertices(Vec::new()),
            IndexTarget::Edges(_) => Self::Edges(Vec::new()),
        }
    }

    /// Adds the value of partition `number`.
    pub(crate) fn add(&mut self, number: u32, body: &[u8]) -> Result<(), String> {
        match self {
            Self::None => return Err("this constraint has no entries".into()),
            Self::Vertices(pieces) => pieces.push(decode(number, body)?),
            Self::Edges(pieces) => pieces.push(decode(number, body)?),
        }
        Ok(())
    }

    /// All of them together, in runs that are packed or not.
    pub(crate) fn into_entries(self, packs: bool) -> Result<Entries, &'static str> {
        Ok(match self {
            Self::None => Entries::None,
            Self::Vertices(pieces) => Entries::Vertices(Tree::from_pieces(pieces, packs)?),
            Self::Edges(pieces) => Entries::Edges(Tree::from_pieces(pieces, packs)?),
        })
    }
}

/// Indexes of a checkpoint, and what was read of them so far.
#[derive(Debug)]
pub(crate) struct StoredIndexes(Vec<(IndexId, Definition, Pieces)>);

impl StoredIndexes {
    /// Indexes like these, nothing of which was read.
    pub(crate) fn new(definitions: Vec<(IndexId, Definition)>) -> Self {
        let with_pieces = definitions.into_iter().map(|(id, definition)| {
            let pieces = Pieces::new(&definition);
            (id, definition, pieces)
        });
        Self(with_pieces.collect())
    }

    /// Adds the value of a partition of index `id`.
    pub(crate) fn add(&mut self, id: u16, partition: u32, body: &[u8]) -> Result<(), String> {
        let index = self.0.iter_mut().find(|(i, ..)| i.get() == id);
        index.ok_or("no index has this number")?.2.add(partition, body)
    }

    /// Whether one of them is made of values of this kind and these numbers.
    pub(crate) fn are_made_of(&self, value: (u8, u16, u16)) -> bool {
        self.0.iter().any(|(_, definition, _)| is_made_of(definition, value))
    }

    /// The name of index `id`.
    pub(crate) fn name(&self, id: u16) -> Option<&str> {
        let index = self.0.iter().find(|(i, ..)| i.get() == id);
        index.map(|(_, definition, _)| &*definition.name)
    }

    /// All of them.
    pub(crate) fn take(&mut self) -> Vec<(IndexId, Definition, Pieces)> {
        std::mem::take(&mut self.0)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use telar_graph::Value;

    fn entry<const N: usize>(n: i64, item: [u32; N]) -> Entry<N> {
        (SortKey::of(&[Value::Int(n)]).unwrap(), item)
    }

    /// Golden bytes: a change here is a change of the format.
    #[test]
    fn partitions_have_these_bytes() {
        let body: &[u8] = &[
            1, 9, // partition 9 follows, from here on:
            0, 3, 16, 0xc0, 8, 4, 5, 6, //
            2, // entries
            0, 3, 16, 0xbf, 0xf0, 1, 2, 3, //
            1, 1, 0xc0, 7, 8, 0xAC, 2,
        ];
        // As they were written before the zeros were left out.
        let old: &[u8] = &[
            0, 1, // entry
            0, 16, 16, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3,
        ];
        assert_eq!(decode::<3>(0, old).unwrap().entries.get(0), entry(1, [1, 2, 3]));
        let piece: Piece<3> = decode(0, body).unwrap();
        assert_eq!(piece.next, Some((entry(3, [4, 5, 6]), 9)));
        let entries: Vec<_> = (0..piece.entries.len()).map(|i| piece.entries.get(i)).collect();
        assert_eq!(entries, [entry(1, [1, 2, 3]), entry(2, [7, 8, 300])]);
        for end in 0..body.len() {
            assert!(decode::<3>(0, &body[..end]).is_err(), "cut at {end}");
        }
        let last = Piece { number: 9, next: None, entries: Run::default() };
        let tree = Tree::from_pieces(vec![piece], false).map(|_| ()).unwrap_err();
        assert!(tree.contains("missing"));
        let first: Piece<3> = Piece { number: 0, ..decode(0, body).unwrap() };
        let mut first = first;
        first.next = first.next.map(|(bound, _)| (bound, 1));
        let tree = Tree::from_pieces(vec![first, Piece { number: 1, ..last }], false).unwrap();
        let mut stored = Vec::new();
        let walked: Result<(), ()> = tree.for_each_partition(|_, _, version| {
            let mut value = Vec::new();
            encode_version(version, |_| true, &mut value);
            stored.push(value.split_off(4));
            Ok(())
        });
        walked.unwrap();
        // The link leads to partition 1 here, and not to 9.
        assert_eq!(stored[0][2..], body[2..]);
        assert_eq!(stored[1], [0, 0]);
    }
}
