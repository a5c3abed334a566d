//! PackStream: how Bolt writes values.
//!
//! A value is a marker byte, what the marker says of its size, and its contents. Numbers are
//! big-endian.
//!
//! ```text
//! C0 null   C2 false  C3 true   C1 float, 8 bytes
//! F0..7F tiny integer, the byte itself    C8 C9 CA CB integer of 1, 2, 4, 8 bytes
//! CC CD CE bytes      8x, D0 D1 D2 string      9x, D4 D5 D6 list      Ax, D8 D9 DA map
//!          └── the size is x, or an unsigned integer of 1, 2, 4 bytes that follows
//! Bx structure of x fields: a tag byte, then the fields
//! ```
//!
//! - `encode`: the primitive values, written.
//! - `decode`: the same, read; sizes are checked before anything is allocated.
#![expect(clippy::big_endian_bytes, reason = "the protocol is big-endian")]

pub(crate) mod decode;
pub(crate) mod encode;

pub(crate) const NULL: u8 = 0xC0;
pub(crate) const FLOAT: u8 = 0xC1;
pub(crate) const FALSE: u8 = 0xC2;
pub(crate) const TRUE: u8 = 0xC3;
pub(crate) const INT_8: u8 = 0xC8;
pub(crate) const INT_16: u8 = 0xC9;
pub(crate) const INT_32: u8 = 0xCA;
pub(crate) const INT_64: u8 = 0xCB;
pub(crate) const BYTES: Family = Family { tiny: None, sized: [0xCC, 0xCD, 0xCE] };
pub(crate) const STRING: Family = Family { tiny: Some(0x80), sized: [0xD0, 0xD1, 0xD2] };
pub(crate) const LIST: Family = Family { tiny: Some(0x90), sized: [0xD4, 0xD5, 0xD6] };
pub(crate) const MAP: Family = Family { tiny: Some(0xA0), sized: [0xD8, 0xD9, 0xDA] };
/// Structures have 15 fields at most, so that their size is always in the marker.
pub(crate) const STRUCTURE: u8 = 0xB0;

/// The markers of a kind of value that has a size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Family {
    /// With sizes up to 15 in the low bits.
    tiny: Option<u8>,
    /// Before a size of 1, 2 and 4 bytes.
    sized: [u8; 3],
}
