//! Segments of adjacency as stored: what a snapshot sees, settled.
//!
//! ```text
//!  adjacency   crc u32 · offsets u32 x (2^k + 1) · neighbours u32 x n
//!              · per column a run of n words (packed.rs)
//! ```
//!
//! Offsets and neighbours are the words of a base as in adjacency/base.rs and are read in place:
//! values of adjacency have pages of their own in LMDB's file, where a value begins at byte 16, so
//! behind the checksum every word is aligned. Hubs are lists like others, and become hubs again
//! when the segment is written to. Columns are packed: ordinals of a bulk-loaded list are
//! consecutive and take no room.

use super::base::{Base, OFFSET_WORDS};
use super::scan::TableView;
use super::{Entry, SEGMENT_BITS, SEGMENT_VERTICES};
use crate::packed::{get_run, put_run};

/// Encodes segment `number` of a table at the view's timestamp, with room for the checksum.
pub(crate) fn encode_adjacency(view: &TableView<'_>, number: u32, out: &mut Vec<u8>) {
    let columns = view.kind().columns();
    let mut offsets = Vec::with_capacity(SEGMENT_VERTICES + 1);
    let mut rows: Vec<Entry> = Vec::new();
    let mut list_rows = Vec::new();
    offsets.push(0u32);
    for local in 0..SEGMENT_VERTICES as u32 {
        // A hub's chunks come in id order, so the whole list is sorted.
        view.for_each_list(number << SEGMENT_BITS | local, |list| {
            list.sorted_entries(&mut list_rows);
            rows.extend(list_rows.iter().map(|(entry, _)| *entry));
        });
        offsets.push(rows.len() as u32);
    }
    out.clear();
    out.extend_from_slice(&[0; 4]);
    let mut put = |word: u32| out.extend_from_slice(&word.to_le_bytes());
    offsets.into_iter().for_each(&mut put);
    rows.iter().for_each(|e| put(e.nbr));
    let mut column = Vec::with_capacity(rows.len());
    for c in 0..columns {
        column.clear();
        column.extend(rows.iter().map(|e| i64::from(e.columns[c])));
        put_run(&column, out);
    }
}

/// Encodes a finished base, with room for the checksum.
pub(crate) fn encode_base(base: &Base, columns: usize, out: &mut Vec<u8>) {
    let (plain, _) = base.words().split_at(OFFSET_WORDS + base.entries());
    out.clear();
    out.reserve(4 * plain.len() + 16);
    out.extend_from_slice(&[0; 4]);
    plain.iter().for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
    let mut column = Vec::with_capacity(base.entries());
    for c in 0..columns {
        column.clear();
        base.for_each_of_column(c, |word| column.push(i64::from(word)));
        put_run(&column, out);
    }
}

/// Decodes a segment of adjacency, written by this or an earlier version.
pub(crate) fn decode_adjacency(
    body: &[u8],
    columns: usize,
    version: u64,
) -> Result<Base, &'static str> {
    if version == 1 {
        return Base::from_words(&words(body)?, columns);
    }
    let offsets = body.get(..4 * OFFSET_WORDS).ok_or("a base is shorter than its offsets")?;
    let last = words(&offsets[4 * SEGMENT_VERTICES..])?[0] as usize;
    let plain = last.checked_add(OFFSET_WORDS).and_then(|n| n.checked_mul(4));
    let plain = plain.filter(|n| *n <= body.len()).ok_or("a base ends inside its neighbours")?;
    let (plain, packed) = body.split_at(plain);
    let mut all = words(plain)?;
    unpack_columns(packed, last, columns, |word| all.push(word))?;
    Base::from_words(&all, columns)
}

/// Gives `f` the words of `columns` columns of `entries` entries, one after the other.
pub(crate) fn unpack_columns(
    mut packed: &[u8],
    entries: usize,
    columns: usize,
    mut f: impl FnMut(u32),
) -> Result<(), &'static str> {
    for _ in 0..columns {
        let mut wide = false;
        get_run(&mut packed, entries, |v| {
            wide |= u32::try_from(v).is_err();
            f(v as u32);
        })?;
        if wide {
            return Err("a column of a base holds more than 32 bits");
        }
    }
    if packed.is_empty() { Ok(()) } else { Err("bytes after the last column of a base") }
}

/// The words of a value of version 1.
pub(crate) fn words(body: &[u8]) -> Result<Vec<u32>, &'static str> {
    let (chunks, rest) = body.as_chunks::<4>();
    if !rest.is_empty() {
        return Err("the length is not a whole number of words");
    }
    Ok(chunks.iter().map(|c| u32::from_le_bytes(*c)).collect())
}
