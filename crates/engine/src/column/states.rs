//! A segment of vertex states as stored.
//!
//! ```text
//!  crc u32 · run of 2^k label-set numbers (packed.rs)
//! ```

use crate::adjacency::SEGMENT_VERTICES;
use crate::adjacency::stored::words;
use crate::packed::{get_run, put_run};

/// Encodes a segment of vertex states.
pub(crate) fn encode(states: &[u32; SEGMENT_VERTICES], out: &mut Vec<u8>) {
    let states: Vec<i64> = states.iter().map(|s| i64::from(*s)).collect();
    put_run(&states, out);
}

/// Decodes a segment of vertex states; every one must be below `sets`.
pub(crate) fn decode(
    mut body: &[u8],
    sets: usize,
    version: u64,
) -> Result<Box<[u32; SEGMENT_VERTICES]>, &'static str> {
    if version == 1 {
        let states = words(body)?;
        if states.iter().any(|s| *s as usize >= sets) {
            return Err("a vertex has a label set that does not exist");
        }
        let states = states.into_boxed_slice().try_into();
        return states.map_err(|_| "a segment of states has the wrong length");
    }
    let mut states = Vec::with_capacity(SEGMENT_VERTICES);
    let mut known = true;
    get_run(&mut body, SEGMENT_VERTICES, |s| {
        known &= usize::try_from(s).is_ok_and(|s| s < sets);
        states.push(s as u32);
    })?;
    if !known {
        return Err("a vertex has a label set that does not exist");
    }
    if !body.is_empty() {
        return Err("bytes after the last state");
    }
    states.into_boxed_slice().try_into().map_err(|_| "a segment of states has the wrong length")
}
