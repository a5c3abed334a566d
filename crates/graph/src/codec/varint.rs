//! Integers of variable length.
//!
//! Layout: seven bits a byte, the lowest first; the top bit is set on every byte but the last. One
//! to ten bytes. The shortest form is the only one accepted, so equal numbers have equal bytes.
//! Signed integers are zigzag-mapped first: 0, -1, 1, -2 become 0, 1, 2, 3.

use super::{DecodeError, Reader};

/// Longest varint: ten bytes of seven bits hold 64.
pub const VARINT_BYTES_MAX: usize = 10;

/// Appends `value` as a varint.
#[inline]
pub fn put_varint(value: u64, out: &mut Vec<u8>) {
    let mut rest = value;
    while rest >= 0x80 {
        out.push((rest & 0x7f) as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends `value` as a zigzag varint, short for numbers near zero of either sign.
#[inline]
pub fn put_varint_signed(value: i64, out: &mut Vec<u8>) {
    put_varint(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
}

/// Reads a varint and advances `input` past it; on error `input` stays.
///
/// # Errors
///
/// [`DecodeError::Truncated`] when the input ends first, [`DecodeError::Varint`] when the number
/// does not fit 64 bits or is not in its shortest form.
#[inline]
pub fn get_varint(input: &mut &[u8]) -> Result<u64, DecodeError> {
    Reader::run(input, Reader::varint)
}

/// Reads a zigzag varint and advances `input` past it; on error `input` stays.
///
/// # Errors
///
/// As [`get_varint`].
#[inline]
pub fn get_varint_signed(input: &mut &[u8]) -> Result<i64, DecodeError> {
    Reader::run(input, Reader::varint_signed)
}

impl Reader<'_> {
    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let at = self.at();
        let mut value = 0;
        for index in 0..VARINT_BYTES_MAX {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte < 0x80 {
                // A last byte of zero adds nothing; the tenth byte has room for one bit.
                let shortest = byte != 0 || index == 0;
                let fits = index < VARINT_BYTES_MAX - 1 || byte == 1;
                return if shortest && fits { Ok(value) } else { Err(DecodeError::Varint { at }) };
            }
        }
        Err(DecodeError::Varint { at })
    }

    pub(super) fn varint_signed(&mut self) -> Result<i64, DecodeError> {
        let raw = self.varint()?;
        Ok((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(value: u64) -> Vec<u8> {
        let mut out = Vec::new();
        put_varint(value, &mut out);
        out
    }

    #[test]
    fn varint_layout_is_low_bits_first() {
        assert_eq!(encoded(0), [0]);
        assert_eq!(encoded(300), [0xac, 0x02]);
        assert_eq!(encoded(u64::MAX).len(), VARINT_BYTES_MAX);
    }

    #[test]
    fn varint_round_trips_at_every_width() {
        for shift in 0..64 {
            for value in [1_u64 << shift, (1 << shift) - 1, u64::MAX >> shift] {
                let bytes = encoded(value);
                let mut input = &bytes[..];
                assert_eq!(get_varint(&mut input), Ok(value));
                assert!(input.is_empty());

                let signed = value.cast_signed();
                for signed in [signed, signed.wrapping_neg()] {
                    let mut out = Vec::new();
                    put_varint_signed(signed, &mut out);
                    assert_eq!(get_varint_signed(&mut &out[..]), Ok(signed));
                }
            }
        }
    }

    #[test]
    fn varint_malformed_is_an_error_and_consumes_nothing() {
        let decode = |mut bytes: &[u8]| {
            let before = bytes.len();
            let result = get_varint(&mut bytes);
            assert_eq!(bytes.len(), before);
            result
        };
        assert_eq!(decode(&[]), Err(DecodeError::Truncated { at: 0 }));
        assert_eq!(decode(&[0x80]), Err(DecodeError::Truncated { at: 1 }));
        assert_eq!(decode(&[0x80, 0]), Err(DecodeError::Varint { at: 0 }));
        assert_eq!(decode(&[0xff; 11]), Err(DecodeError::Varint { at: 0 }));
        let mut too_big = [0xff; 10];
        too_big[9] = 2;
        assert_eq!(decode(&too_big), Err(DecodeError::Varint { at: 0 }));
    }
}
