//! How adjacency becomes keys and values.

use super::store::{Read, Transaction};
use crate::mem;
use std::ops::Range;
use telar_generate::csr::Csr;

/// Which lists of a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Targets of its edges.
    Out,
    /// Sources of edges to it.
    In,
}

/// A mapping of adjacency to pairs of an ordered key-value store.
pub trait Packing: Clone + Default + Send + Sync {
    /// The name that tables print.
    const NAME: &'static str;

    /// Bytes of a key that say which list it belongs to.
    const PREFIX_BYTES: usize;

    /// Adds a vertex without edges.
    fn add_vertex(&self, txn: &mut impl Transaction, v: u32);

    /// Puts `v` into a list of `u`; returns whether it was missing.
    fn add(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool;

    /// Takes `v` out of a list of `u`; returns whether it was there.
    fn remove(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool;

    /// Hands over all pairs of a graph in ascending order of keys, vertices included.
    fn pairs(&self, out: &Csr, incoming: &Csr, put: &mut dyn FnMut(&[u8], &[u8]));

    /// Calls `f` with the neighbours of `u`, ascending over all calls.
    fn list(&self, reader: &impl Read, side: Side, u: u32, f: impl FnMut(&[u32]));

    /// Calls `f` with the neighbours of each vertex that has some, vertices ascending.
    fn scan(
        &self,
        reader: &impl Read,
        side: Side,
        vertices: Range<u32>,
        f: impl FnMut(u32, &[u32]),
    );

    /// Whether `v` is in a list of `u`.
    fn contains(&self, reader: &impl Read, side: Side, u: u32, v: u32) -> bool;

    /// Returns the length of a list.
    fn degree(&self, reader: &impl Read, side: Side, u: u32) -> u32;
}

/// Bytes of one neighbour in a value.
pub(super) const NUMBER_BYTES: usize = size_of::<u32>();

/// Numbers copied at a time where storage cannot be borrowed.
pub(super) const COPY_NUMBERS: usize = 256;

/// Returns the bytes of a number that sort as the number does.
#[expect(clippy::big_endian_bytes, reason = "stores compare keys byte by byte")]
pub(super) fn ordered(number: u32) -> [u8; NUMBER_BYTES] {
    number.to_be_bytes()
}

/// Returns the number at a place of a key.
///
/// # Panics
/// If the key ends before.
#[expect(clippy::big_endian_bytes, reason = "the inverse of `ordered`")]
pub(super) fn ordered_at(key: &[u8], at: usize) -> u32 {
    let bytes = key[at..].first_chunk().expect("INVARIANT: keys have a fixed form");
    u32::from_be_bytes(*bytes)
}

/// Returns the neighbours in a value as little-endian chunks.
pub(super) fn chunks(list: &[u8]) -> &[[u8; NUMBER_BYTES]] {
    list.as_chunks().0
}

/// Returns where `v` is in a value, or belongs.
pub(super) fn find(list: &[u8], v: u32) -> Result<usize, usize> {
    chunks(list).binary_search_by_key(&v, |chunk| u32::from_le_bytes(*chunk))
}

/// Calls `f` with the neighbours in a value: in place where they are aligned, else copied.
#[inline]
pub(super) fn emit(list: &[u8], mut f: impl FnMut(&[u32])) {
    if let Some(numbers) = mem::aligned_numbers(list) {
        return f(numbers);
    }
    let mut copy = [0; COPY_NUMBERS];
    for some in chunks(list).chunks(COPY_NUMBERS) {
        for (to, from) in copy.iter_mut().zip(some) {
            *to = u32::from_le_bytes(*from);
        }
        f(&copy[..some.len()]);
    }
}
