//! Leaving out deleted entries: a bit per position, and a gather of what is left.
//!
//! PERF: `telar bench kernel`, scan_deleted_8pct. Most lists with deletes are short and have a few;
//! calling back with each piece between two of them costs a mispredicted branch per piece, so what
//! is left is gathered into one run, 16 ids at a time where the CPU can.
#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "a call and stores that need a CPU feature, which is checked")
)]

use smallvec::SmallVec;

use super::list::Visible;
use super::tail::Block;

/// Which positions of a list to leave out: what deletes name, and the deletes themselves.
#[derive(Debug)]
pub(crate) struct Mask {
    base: Bits,
    block: Bits,
}

/// A bit per position.
type Bits = SmallVec<[u64; 4]>;

impl Mask {
    /// The mask of a list with `base_len` settled rows.
    pub(crate) fn of(base_len: usize, tail: Visible<'_>) -> Self {
        let zeros = |positions: usize| SmallVec::from_elem(0, positions.div_ceil(64));
        let mut mask = Self { base: zeros(base_len), block: zeros(tail.len) };
        let (dst, meta) = (tail.block.dst(tail.len), tail.block.meta(tail.len));
        for (i, (position, m)) in dst.iter().zip(meta).enumerate() {
            if Block::is_delete(*m) {
                mask.block[i / 64] |= 1 << (i % 64);
                let at = *position as usize;
                match at.checked_sub(base_len) {
                    None => mask.base[at / 64] |= 1 << (at % 64),
                    Some(at) => mask.block[at / 64] |= 1 << (at % 64),
                }
            }
        }
        mask
    }

    /// Appends the live ids of the settled rows to `out`.
    pub(crate) fn live_base(&self, base: &[u32], out: &mut Vec<u32>) {
        gather(base, |chunk| self.base[chunk], out);
    }

    /// Appends the live ids of the tail block to `out`.
    pub(crate) fn live_block(&self, tail: Visible<'_>, out: &mut Vec<u32>) {
        gather(tail.block.dst(tail.len), |chunk| self.block[chunk], out);
    }
}

/// Replaces `out` by the live ids of a list with deletes: those of the base, then the tail's.
pub(crate) fn live_ids(base: &[u32], tail: Visible<'_>, out: &mut Vec<u32>) {
    let mask = Mask::of(base.len(), tail);
    out.clear();
    mask.live_base(base, out);
    mask.live_block(tail, out);
}

/// Ids per word of bits.
const CHUNK: usize = 64;

/// Appends to `out` the ids whose bit is clear; `bits` gives those of the 64 ids of a chunk.
#[inline]
pub(crate) fn gather(ids: &[u32], bits: impl Fn(usize) -> u64, out: &mut Vec<u32>) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the CPU has both.
        return unsafe { gather_avx512(ids, bits, out) };
    }
    gather_plain(ids, bits, out);
}

fn gather_plain(ids: &[u32], bits: impl Fn(usize) -> u64, out: &mut Vec<u32>) {
    let mut len = out.len();
    out.resize(len + ids.len(), 0);
    for (number, chunk) in ids.chunks(CHUNK).enumerate() {
        let bits = bits(number);
        // Without a branch per id: each is stored, and stays if the next is stored behind it.
        for (i, id) in chunk.iter().enumerate() {
            out[len] = *id;
            len += usize::from(bits >> i & 1 == 0);
        }
    }
    out.truncate(len);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
fn gather_avx512(ids: &[u32], bits: impl Fn(usize) -> u64, out: &mut Vec<u32>) {
    use std::arch::x86_64::{
        _mm512_maskz_compress_epi32, _mm512_maskz_loadu_epi32, _mm512_storeu_si512,
    };
    const LANES: usize = 16;
    // Room for a whole register behind the last id.
    out.reserve(ids.len() + LANES);
    let mut len = out.len();
    for (number, chunk) in ids.chunks(CHUNK).enumerate() {
        let mut bits = bits(number);
        for lanes in chunk.chunks(LANES) {
            let valid = (u32::from(u16::MAX) >> (LANES - lanes.len())) as u16;
            let keep = valid & !(bits as u16);
            bits >>= LANES;
            // SAFETY: only the lanes of `lanes` are loaded.
            let loaded = unsafe { _mm512_maskz_loadu_epi32(valid, lanes.as_ptr().cast()) };
            let kept = _mm512_maskz_compress_epi32(keep, loaded);
            // SAFETY: at most `ids.len()` ids were written so far; there is room for 16 more.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(len).cast(), kept) };
            len += keep.count_ones() as usize;
        }
    }
    // SAFETY: `len` ids were written, within the capacity reserved.
    unsafe { out.set_len(len) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gathering_keeps_what_is_not_masked() {
        for len in [0usize, 1, 15, 16, 17, 63, 64, 65, 100, 200, 1000] {
            let ids: Vec<u32> = (0..len as u32).map(|i| i * 7 + 1).collect();
            for step in [1, 2, 3, 13, 64, 5000] {
                let masked = |i: usize| (i * 31 + 5).is_multiple_of(step);
                let mut bits = vec![0u64; len.div_ceil(64)];
                (0..len).filter(|i| masked(*i)).for_each(|i| bits[i / 64] |= 1 << (i % 64));
                let live = ids.iter().enumerate().filter(|(i, _)| !masked(*i)).map(|(_, id)| *id);
                let expected: Vec<u32> = [9, 9].into_iter().chain(live).collect();
                let (mut out, mut plain) = (vec![9, 9], vec![9, 9]);
                gather(&ids, |chunk| bits[chunk], &mut out);
                gather_plain(&ids, |chunk| bits[chunk], &mut plain);
                assert_eq!(out, expected, "{len} ids, every {step}th masked");
                assert_eq!(plain, expected, "{len} ids, every {step}th masked");
            }
        }
    }
}
