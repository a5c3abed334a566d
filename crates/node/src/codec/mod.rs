//! Values as bytes, between this side and `npm/lib/encode.js` and `npm/lib/decode.js`.
//!
//! Numbers are little-endian. A *value* is a tag and what belongs to it:
//!
//! ```text
//!  0 null   1 false   2 true
//!  3 integer that a number of JavaScript holds: f64      4 other integer: i64
//!  5 float: f64                  6 text: u32 bytes       7 byte string: u32, bytes
//!  8 list: u32, values           9 map: u32, (key, value)...
//! 10 date: days i64             11 local time: nanoseconds of the day i64
//! 12 zoned time: nanoseconds i64, offset i32             13 local date and time: days, nanoseconds
//! 14 zoned date and time: days, nanoseconds, offset i32, zone (text, empty: none)
//! 15 duration: months, days, seconds i64, nanoseconds u32
//! 16 point: srid u16, coordinates u8, f64...
//! 17 node      18 relationship      19 path: u32 relationships, nodes, relationships
//! ```
//!
//! Keys, labels and types come again and again: a *key* of a result is `u32` 0 and the text the
//! first time, and afterwards 1 + its number. So are nodes and relationships: 0 and all of it the
//! first time, later 1 + its number. In parameters a key is a text.

mod chunk;
mod reader;
mod writer;

pub(crate) use chunk::{chunk, graph};
pub(crate) use reader::{parameters, value};

/// Bytes that are no values: JavaScript and this side do not belong together.
#[derive(Debug)]
pub(crate) struct Malformed(pub(crate) String);

mod tag {
    pub(super) const NULL: u8 = 0;
    pub(super) const FALSE: u8 = 1;
    pub(super) const TRUE: u8 = 2;
    pub(super) const NUMBER: u8 = 3;
    pub(super) const INTEGER: u8 = 4;
    pub(super) const FLOAT: u8 = 5;
    pub(super) const TEXT: u8 = 6;
    pub(super) const BYTES: u8 = 7;
    pub(super) const LIST: u8 = 8;
    pub(super) const MAP: u8 = 9;
    pub(super) const DATE: u8 = 10;
    pub(super) const LOCAL_TIME: u8 = 11;
    pub(super) const TIME: u8 = 12;
    pub(super) const LOCAL_DATE_TIME: u8 = 13;
    pub(super) const DATE_TIME: u8 = 14;
    pub(super) const DURATION: u8 = 15;
    pub(super) const POINT: u8 = 16;
    pub(super) const NODE: u8 = 17;
    pub(super) const RELATIONSHIP: u8 = 18;
    pub(super) const PATH: u8 = 19;
    pub(super) const VECTOR: u8 = 20;
}
