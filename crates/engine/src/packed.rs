//! Packed runs of integers: how columns are stored.
//!
//! ```text
//!  run of n values (n is known from outside)
//!   mode u8       0..=64: bits per value; +128: measured from a line of slope one
//!   base          zigzag varint
//!   bits          n x width, lowest bit first, padded with zeros to a whole byte
//!
//!  value i = base + (i where mode has +128) + bits i        (wrapping)
//! ```
//!
//! A frame of reference: values close to each other take few bits, equal ones none, and so do
//! consecutive ones, as ordinals of a list are.
//! Invariants: what decodes has exactly the bytes its mode asks for; nothing is allocated that the
//! caller did not ask for.
//! Cost: about a nanosecond per value either way.

use telar_graph::codec::{get_varint_signed, put_varint_signed};

/// Set in the mode of a run that is measured from `base + i`.
const LINE: u8 = 0x80;
/// Widest value.
const WIDTH_MAX: u32 = 64;

fn width(range: u64) -> u32 {
    u64::BITS - range.leading_zeros()
}

/// Smallest value and distance of the largest from it.
fn extent(values: impl Iterator<Item = i64>) -> (i64, u64) {
    let (mut min, mut max) = (i64::MAX, i64::MIN);
    for v in values {
        min = min.min(v);
        max = max.max(v);
    }
    if min > max { (0, 0) } else { (min, max.wrapping_sub(min).cast_unsigned()) }
}

/// Appends the run of `values`, without their number.
pub(crate) fn put_run(values: &[i64], out: &mut Vec<u8>) {
    let flat = extent(values.iter().copied());
    // A slope pays only where the values ascend, which the ends tell.
    let ascends = values.len() > 1 && values[values.len() - 1].wrapping_sub(values[0]) > 0;
    let line = if ascends && flat.1 != 0 {
        extent(values.iter().enumerate().map(|(i, v)| v.wrapping_sub(i as i64)))
    } else {
        flat
    };
    let sloped = width(line.1) < width(flat.1);
    let (base, range) = if sloped { line } else { flat };
    let width = width(range);
    out.push(width as u8 | if sloped { LINE } else { 0 });
    put_varint_signed(base, out);
    if width == 0 {
        return;
    }
    out.reserve(values.len() * width as usize / 8 + 9);
    let (mut word, mut used) = (0u64, 0u32);
    for (i, v) in values.iter().enumerate() {
        let slope = if sloped { i as i64 } else { 0 };
        let bits = v.wrapping_sub(slope).wrapping_sub(base).cast_unsigned();
        word |= bits << used;
        used += width;
        if used >= u64::BITS {
            out.extend_from_slice(&word.to_le_bytes());
            used -= u64::BITS;
            // What did not fit: the upper `used` of the `width` bits.
            word = if used == 0 { 0 } else { bits >> (width - used) };
        }
    }
    let rest = used.div_ceil(8) as usize;
    out.extend_from_slice(&word.to_le_bytes()[..rest]);
}

/// A run as it is stored, whose values are read where they are asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'a> {
    bits: &'a [u8],
    width: usize,
    base: i64,
    /// 1 for a line.
    slope: i64,
}

impl<'a> Run<'a> {
    /// Takes a run of `count` values off `input`.
    pub(crate) fn take(input: &mut &'a [u8], count: usize) -> Result<Self, &'static str> {
        let (mode, rest) = input.split_first().ok_or("a run of integers ends early")?;
        *input = rest;
        let width = u32::from(mode & !LINE);
        if width > WIDTH_MAX {
            return Err("a run of integers has values wider than 64 bits");
        }
        let width = width as usize;
        let base =
            get_varint_signed(input).map_err(|_| "a run of integers has a malformed base")?;
        let bytes = (count * width).div_ceil(8);
        let (bits, rest) = input.split_at_checked(bytes).ok_or("a run of integers ends early")?;
        *input = rest;
        Ok(Self { bits, width, base, slope: i64::from(mode & LINE != 0) })
    }

    /// Value `i`, below the count.
    #[inline(always)]
    pub(crate) fn get(&self, i: usize) -> i64 {
        let first = i * self.width;
        let (byte, shift) = (first / 8, first % 8);
        // PERF: bench history: nearly every value lies within the eight bytes from its first on.
        let bits = match self.bits.get(byte..byte + 8) {
            Some(word) if (1..=56).contains(&self.width) => {
                let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
                word >> shift & (u64::MAX >> (64 - self.width))
            }
            _ => self.slow(byte, shift),
        };
        self.base.wrapping_add(self.slope * i as i64).wrapping_add(bits.cast_signed())
    }

    /// All values, as 64 bits each, in place of what `out` holds.
    ///
    /// PERF: bench history: what is asked of a run is asked once.
    pub(crate) fn unpack(&self, count: usize, out: &mut Vec<u64>) {
        let base = self.base.cast_unsigned();
        let slope = self.slope.cast_unsigned();
        out.clear();
        if self.width == 0 {
            return out.extend((0..count as u64).map(|i| base.wrapping_add(slope * i)));
        }
        // Values that begin so early lie within the eight bytes from their first on.
        let early = match self.bits.len().checked_sub(8) {
            Some(last) if self.width <= 56 => count.min(last * 8 / self.width + 1),
            _ => 0,
        };
        let mask = u64::MAX >> (64 - self.width);
        out.extend((0..early).map(|i| {
            let first = i * self.width;
            let word: [u8; 8] = self.bits[first / 8..][..8].try_into().unwrap_or_default();
            let bits = u64::from_le_bytes(word) >> (first % 8) & mask;
            base.wrapping_add(slope * i as u64).wrapping_add(bits)
        }));
        out.extend((early..count).map(|i| self.get(i).cast_unsigned()));
    }

    /// The bits of a value near the end of the run, or a wide one.
    fn slow(&self, byte: usize, shift: usize) -> u64 {
        if self.width == 0 {
            return 0;
        }
        let tail = self.bits.get(byte..).unwrap_or_default();
        let mut le = [0; 16];
        let n = tail.len().min(le.len());
        le[..n].copy_from_slice(&tail[..n]);
        (u128::from_le_bytes(le) >> shift) as u64 & (u64::MAX >> (64 - self.width))
    }
}

/// Reads a run of `count` values, gives each to `f`, and advances `input` past it.
pub(crate) fn get_run(
    input: &mut &[u8],
    count: usize,
    mut f: impl FnMut(i64),
) -> Result<(), &'static str> {
    let run = Run::take(input, count)?;
    (0..count).for_each(|i| f(run.get(i)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(values: &[i64]) -> usize {
        let mut bytes = vec![];
        put_run(values, &mut bytes);
        let mut found = Vec::new();
        let mut input = &bytes[..];
        get_run(&mut input, values.len(), |v| found.push(v)).unwrap();
        assert_eq!(found, values);
        let mut unpacked = vec![7; 3];
        Run::take(&mut &bytes[..], values.len()).unwrap().unpack(values.len(), &mut unpacked);
        assert!(unpacked.iter().map(|v| v.cast_signed()).eq(values.iter().copied()));
        assert!(input.is_empty());
        for end in 0..bytes.len() {
            assert!(get_run(&mut &bytes[..end], values.len(), |_| {}).is_err(), "cut at {end}");
        }
        bytes.len()
    }

    #[test]
    fn runs_of_every_width_round_trip() {
        for width in 0..=64u32 {
            let mask = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            for count in [0usize, 1, 2, 63, 64, 65, 1000] {
                let values: Vec<i64> = (0..count as u64)
                    .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask).cast_signed())
                    .map(|v| v.wrapping_sub(77))
                    .collect();
                round_trip(&values);
            }
        }
        round_trip(&[i64::MIN, i64::MAX, 0, -1, 1]);
    }

    #[test]
    fn equal_and_consecutive_values_take_no_bits() {
        assert_eq!(round_trip(&[5; 1000]), 2);
        let consecutive: Vec<i64> = (100..1100).collect();
        assert_eq!(round_trip(&consecutive), 3);
    }

    /// Golden bytes: format version 2. A change here is a change of the format.
    #[test]
    fn runs_have_these_bytes() {
        let mut bytes = Vec::new();
        put_run(&[3, 4, 7, 3], &mut bytes);
        assert_eq!(bytes, [3, 6, 0x08, 0x01]);
        bytes.clear();
        put_run(&[-1, 0, 1, 2], &mut bytes);
        assert_eq!(bytes, [0x80, 1]);
    }

    #[test]
    fn a_width_beyond_64_is_an_error() {
        assert!(get_run(&mut &[65u8, 0, 0, 0][..], 1, |_| {}).is_err());
    }
}
