//! A vertex's adjacency in one value, split into several once it grows: TuGraph's packing.
//!
//! ```text
//!  key                                value
//!  ├ vertex ┤                         ├ outs ┼ out-neighbours ┼ in-neighbours ┤    packed
//!  ├ vertex ┤                         (empty)                                     split
//!  ├ vertex ┼ side ┼ upper ┤          ├ neighbours ┤                              part of a list
//! ```
//!
//! Every field has 32 bits; those of keys sort as numbers (big-endian), those of values are
//! little-endian. Neighbours ascend. A part holds the neighbours above the `upper` of the part
//! before it and up to its own; the last part of a list has the largest number as `upper`.
//!
//! Invariants: no value is longer than the threshold; a split vertex has a last part on either
//! side, and no other part is empty; a packed vertex has no parts. Splits stay when lists shrink.
//! Cost: an insert rewrites a value of up to a threshold on either side; a read of a packed vertex
//! is one search of the tree, of a split one two, and one step per part.
//!
//! What differs from TuGraph (`graph_data_pack.h`), each time to the store's advantage: neighbours
//! are four aligned bytes that need no decoding, there are no labels, edge ids or properties, and
//! the last part keeps its key when a larger neighbour comes.
//!
//! Source: Lin et al., "Building a high-performance graph storage on top of tree-structured
//! key-value stores", BDMA 7(1), 2024; threshold of 1000 bytes from TuGraph's `data_type.h`.

use super::packing::{self, NUMBER_BYTES, Packing, Side, ordered, ordered_at};
use super::store::{Reach, Read, Transaction};
use std::ops::Range;
use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

/// TuGraph's `NODE_SPLIT_THRESHOLD`.
const THRESHOLD_BYTES: usize = 1000;
/// Smallest threshold: a part that is split must have something on either half.
const THRESHOLD_BYTES_MIN: usize = 2 * NUMBER_BYTES;
/// Bytes of a part's key.
const PART_KEY_BYTES: usize = 3 * NUMBER_BYTES;
/// `upper` of the last part of a list.
const LAST: u32 = u32::MAX;

/// Adjacency packed per vertex.
#[derive(Clone, Debug)]
pub struct Compact {
    threshold_bytes: usize,
}

impl Default for Compact {
    fn default() -> Self {
        Self { threshold_bytes: THRESHOLD_BYTES }
    }
}

/// A packed value taken apart.
struct Packed<'a> {
    out: &'a [u8],
    incoming: &'a [u8],
}

impl<'a> Packed<'a> {
    fn new(value: &'a [u8]) -> Self {
        let (outs, lists) =
            value.split_first_chunk().expect("INVARIANT: a packed value has a count");
        let (out, incoming) = lists.split_at(u32::from_le_bytes(*outs) as usize * NUMBER_BYTES);
        Self { out, incoming }
    }

    fn side(&self, side: Side) -> &'a [u8] {
        match side {
            Side::Out => self.out,
            Side::In => self.incoming,
        }
    }
}

/// Number of a side in keys.
fn number(side: Side) -> u32 {
    match side {
        Side::Out => 1,
        Side::In => 2,
    }
}

fn part_key(u: u32, side: Side, upper: u32) -> [u8; PART_KEY_BYTES] {
    let mut key = [0; PART_KEY_BYTES];
    let fields = [u, number(side), upper].map(ordered);
    key.copy_from_slice(fields.as_flattened());
    key
}

/// Returns the `upper` of a key if it is a part of this list.
fn upper_of(key: &[u8], u: u32, side: Side) -> Option<u32> {
    let ours = key.len() == PART_KEY_BYTES
        && ordered_at(key, 0) == u
        && ordered_at(key, NUMBER_BYTES) == number(side);
    ours.then(|| ordered_at(key, 2 * NUMBER_BYTES))
}

fn insert_number(list: &mut Vec<u8>, at: usize, v: u32) {
    let at = at * NUMBER_BYTES;
    list.splice(at..at, v.to_le_bytes());
}

fn remove_number(list: &mut Vec<u8>, at: usize) {
    let at = at * NUMBER_BYTES;
    list.drain(at..at + NUMBER_BYTES);
}

impl Compact {
    /// Returns the packing with another threshold, at least 8 bytes.
    #[must_use]
    pub fn with_threshold(threshold_bytes: usize) -> Self {
        Self { threshold_bytes: threshold_bytes.max(THRESHOLD_BYTES_MIN) }
    }

    /// Hands over the parts of a list, all but the last filled to the threshold.
    fn parts(&self, u: u32, side: Side, list: &[u8], mut put: impl FnMut(&[u8], &[u8])) {
        let numbers = packing::chunks(list);
        let whole = (self.threshold_bytes / NUMBER_BYTES).max(1);
        let mut parts = numbers.chunks(whole).peekable();
        if parts.peek().is_none() {
            put(&part_key(u, side, LAST), &[]);
        }
        while let Some(part) = parts.next() {
            let upper = match (parts.peek(), part.last()) {
                (Some(_), Some(largest)) => u32::from_le_bytes(*largest),
                _ => LAST,
            };
            put(&part_key(u, side, upper), part.as_flattened());
        }
    }

    fn add_to_part(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool {
        let (mut key, mut list) = (part_key(u, side, v).to_vec(), Vec::new());
        seek_part(txn, &mut key, &mut list, side, u);
        let Err(at) = packing::find(&list, v) else { return false };
        insert_number(&mut list, at, v);
        if list.len() <= self.threshold_bytes {
            txn.put(&key, &list);
            return true;
        }
        let (left, right) = list.split_at(list.len() / NUMBER_BYTES / 2 * NUMBER_BYTES);
        let upper = packing::chunks(left).last().expect("INVARIANT: half of two or more");
        txn.put(&part_key(u, side, u32::from_le_bytes(*upper)), left);
        txn.put(&key, right);
        true
    }
}

/// Replaces `key` and `list` by the part that holds the neighbour in `key`, or would.
fn seek_part(txn: &impl Transaction, key: &mut Vec<u8>, list: &mut Vec<u8>, side: Side, u: u32) {
    let found = txn.at_or_after(key, list) && upper_of(key, u, side).is_some();
    assert!(found, "a split list has a last part");
}

fn read_vertex(txn: &impl Transaction, u: u32) -> Vec<u8> {
    let mut value = Vec::new();
    assert!(txn.get(&ordered(u), &mut value), "vertex {u} was not inserted");
    value
}

impl Packing for Compact {
    const NAME: &'static str = "compact";
    const PREFIX_BYTES: usize = NUMBER_BYTES;

    fn add_vertex(&self, txn: &mut impl Transaction, v: u32) {
        txn.put(&ordered(v), &0u32.to_le_bytes());
    }

    fn add(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool {
        let mut value = read_vertex(txn, u);
        if value.is_empty() {
            return self.add_to_part(txn, side, u, v);
        }
        let packed = Packed::new(&value);
        let Err(at) = packing::find(packed.side(side), v) else { return false };
        let outs = (packed.out.len() / NUMBER_BYTES) as u32;
        // The count before the lists is as wide as a neighbour.
        match side {
            Side::Out => {
                insert_number(&mut value, 1 + at, v);
                value[..NUMBER_BYTES].copy_from_slice(&(outs + 1).to_le_bytes());
            }
            Side::In => insert_number(&mut value, 1 + outs as usize + at, v),
        }
        if value.len() <= self.threshold_bytes {
            txn.put(&ordered(u), &value);
            return true;
        }
        let packed = Packed::new(&value);
        txn.put(&ordered(u), &[]);
        for side in [Side::Out, Side::In] {
            self.parts(u, side, packed.side(side), |key, part| txn.put(key, part));
        }
        true
    }

    fn remove(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool {
        let mut value = read_vertex(txn, u);
        if value.is_empty() {
            let (mut key, mut list) = (part_key(u, side, v).to_vec(), value);
            seek_part(txn, &mut key, &mut list, side, u);
            let Ok(at) = packing::find(&list, v) else { return false };
            remove_number(&mut list, at);
            match list.is_empty() && upper_of(&key, u, side) != Some(LAST) {
                true => assert!(txn.remove(&key), "the part that was found"),
                false => txn.put(&key, &list),
            }
            return true;
        }
        let packed = Packed::new(&value);
        let Ok(at) = packing::find(packed.side(side), v) else { return false };
        let outs = (packed.out.len() / NUMBER_BYTES) as u32;
        match side {
            Side::Out => {
                remove_number(&mut value, 1 + at);
                value[..NUMBER_BYTES].copy_from_slice(&(outs - 1).to_le_bytes());
            }
            Side::In => remove_number(&mut value, 1 + outs as usize + at),
        }
        txn.put(&ordered(u), &value);
        true
    }

    fn pairs(&self, out: &Csr, incoming: &Csr, put: &mut dyn FnMut(&[u8], &[u8])) {
        let (mut value, mut list) = (Vec::new(), Vec::new());
        for v in 0..out.vertex_bound() {
            let sides = [(Side::Out, out.list(v)), (Side::In, incoming.list(v))];
            value.clear();
            value.extend_from_slice(&(sides[0].1.len() as u32).to_le_bytes());
            if (1 + sides[0].1.len() + sides[1].1.len()) * NUMBER_BYTES <= self.threshold_bytes {
                let both = sides.iter().flat_map(|(_, list)| *list);
                value.extend(both.flat_map(|u| u.to_le_bytes()));
                put(&ordered(v), &value);
                continue;
            }
            put(&ordered(v), &[]);
            for (side, neighbours) in sides {
                list.clear();
                list.extend(neighbours.iter().flat_map(|u| u.to_le_bytes()));
                self.parts(v, side, &list, &mut *put);
            }
        }
    }

    #[inline]
    fn list(&self, reader: &impl Read, side: Side, u: u32, mut f: impl FnMut(&[u32])) {
        let split = reader.get(&ordered(u), |value| match value {
            Some([]) => true,
            Some(value) => {
                packing::emit(Packed::new(value).side(side), &mut f);
                false
            }
            None => false,
        });
        if split {
            reader.walk(&part_key(u, side, 0), Reach::Prefix, |key, part| {
                let upper = upper_of(key, u, side);
                if upper.is_some() {
                    packing::emit(part, &mut f);
                }
                upper.is_some_and(|upper| upper != LAST)
            });
        }
    }

    fn scan(
        &self,
        reader: &impl Read,
        side: Side,
        vertices: Range<u32>,
        mut f: impl FnMut(u32, &[u32]),
    ) {
        if vertices.is_empty() {
            return;
        }
        reader.walk(&ordered(vertices.start), Reach::All, |key, value| {
            let v = ordered_at(key, 0);
            if v >= vertices.end {
                return false;
            }
            match (key.len(), value) {
                (PART_KEY_BYTES, part) if upper_of(key, v, side).is_some() => {
                    packing::emit(part, |run| f(v, run));
                }
                (NUMBER_BYTES, [_, ..]) => {
                    packing::emit(Packed::new(value).side(side), |run| f(v, run));
                }
                _ => {}
            }
            true
        });
    }

    fn contains(&self, reader: &impl Read, side: Side, u: u32, v: u32) -> bool {
        let packed = reader.get(&ordered(u), |value| match value {
            Some([]) => None,
            Some(value) => Some(packing::find(Packed::new(value).side(side), v).is_ok()),
            None => Some(false),
        });
        packed.unwrap_or_else(|| {
            let mut found = false;
            reader.walk(&part_key(u, side, v), Reach::Prefix, |key, part| {
                found = upper_of(key, u, side).is_some() && packing::find(part, v).is_ok();
                false
            });
            found
        })
    }

    fn degree(&self, reader: &impl Read, side: Side, u: u32) -> u32 {
        let mut degree = 0;
        self.list(reader, side, u, |run| degree += run.len() as u32);
        degree
    }
}
