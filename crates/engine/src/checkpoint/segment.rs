//! Segments as stored: what a snapshot sees, settled.
//!
//! ```text
//!  adjacency   crc u32 · words u32 ..., a base as in adjacency/base.rs; hubs are lists
//!              like others and become hubs again when loaded
//!  states      crc u32 · 2^k label-set numbers u32
//!  properties  crc u32 · 2^k values as in telar_graph::codec, null where there is none
//! ```

use telar_graph::{Value, codec};

use crate::adjacency::base::Base;
use crate::adjacency::scan::TableView;
use crate::adjacency::{Entry, SEGMENT_BITS, SEGMENT_VERTICES};

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
    for c in 0..columns {
        rows.iter().for_each(|e| put(e.columns[c]));
    }
}

/// Decodes a segment of adjacency.
pub(crate) fn decode_adjacency(body: &[u8], columns: usize) -> Result<Base, &'static str> {
    Base::from_words(&words(body)?, columns)
}

fn words(body: &[u8]) -> Result<Vec<u32>, &'static str> {
    let (chunks, rest) = body.as_chunks::<4>();
    if !rest.is_empty() {
        return Err("the length is not a whole number of words");
    }
    Ok(chunks.iter().map(|c| u32::from_le_bytes(*c)).collect())
}

/// Encodes one vertex state.
pub(crate) fn put_state(state: &u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&state.to_le_bytes());
}

/// Decodes a segment of vertex states; every one must be below `sets`.
pub(crate) fn decode_states(
    body: &[u8],
    sets: usize,
) -> Result<Box<[u32; SEGMENT_VERTICES]>, &'static str> {
    let states = words(body)?;
    if states.iter().any(|s| *s as usize >= sets) {
        return Err("a vertex has a label set that does not exist");
    }
    states.into_boxed_slice().try_into().map_err(|_| "a segment of states has the wrong length")
}

/// Encodes one property value.
pub(crate) fn put_property(value: &Value, out: &mut Vec<u8>) {
    codec::encode(value, out).expect("INVARIANT: nesting was checked when the value was set");
}

/// Decodes a segment of property values.
pub(crate) fn decode_properties(mut body: &[u8]) -> Result<Box<[Value; SEGMENT_VERTICES]>, String> {
    let mut values = Vec::with_capacity(SEGMENT_VERTICES);
    for _ in 0..SEGMENT_VERTICES {
        values.push(codec::decode(&mut body).map_err(|e| e.to_string())?);
    }
    if !body.is_empty() {
        return Err("bytes after the last value".into());
    }
    values.into_boxed_slice().try_into().map_err(|_| "wrong number of values".to_owned())
}
