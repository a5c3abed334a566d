//! Values without structure, written to the end of a buffer.

use super::{BYTES, FALSE, FLOAT, Family, LIST, MAP, NULL, STRING, STRUCTURE, TRUE};
use super::{INT_8, INT_16, INT_32, INT_64};

pub(crate) fn null(out: &mut Vec<u8>) {
    out.push(NULL);
}

pub(crate) fn bool(out: &mut Vec<u8>, value: bool) {
    out.push(if value { TRUE } else { FALSE });
}

/// In the fewest bytes that hold it.
pub(crate) fn int(out: &mut Vec<u8>, value: i64) {
    if (-16..128).contains(&value) {
        out.push(value as u8);
    } else if let Ok(value) = i8::try_from(value) {
        out.extend([INT_8, value as u8]);
    } else if let Ok(value) = i16::try_from(value) {
        out.push(INT_16);
        out.extend(value.to_be_bytes());
    } else if let Ok(value) = i32::try_from(value) {
        out.push(INT_32);
        out.extend(value.to_be_bytes());
    } else {
        out.push(INT_64);
        out.extend(value.to_be_bytes());
    }
}

pub(crate) fn float(out: &mut Vec<u8>, value: f64) {
    out.push(FLOAT);
    out.extend(value.to_be_bytes());
}

pub(crate) fn string(out: &mut Vec<u8>, value: &str) {
    size(out, STRING, value.len());
    out.extend_from_slice(value.as_bytes());
}

pub(crate) fn bytes(out: &mut Vec<u8>, value: &[u8]) {
    size(out, BYTES, value.len());
    out.extend_from_slice(value);
}

/// Before the elements of a list.
pub(crate) fn list(out: &mut Vec<u8>, len: usize) {
    size(out, LIST, len);
}

/// Before the entries of a map, each a key and a value.
pub(crate) fn map(out: &mut Vec<u8>, len: usize) {
    size(out, MAP, len);
}

/// Before the fields of a structure.
pub(crate) fn structure(out: &mut Vec<u8>, tag: u8, fields: u8) {
    debug_assert!(fields < 16);
    out.extend([STRUCTURE | fields, tag]);
}

fn size(out: &mut Vec<u8>, family: Family, len: usize) {
    match (family.tiny, len) {
        (Some(tiny), 0..16) => out.push(tiny | len as u8),
        (_, 0..0x100) => out.extend([family.sized[0], len as u8]),
        (_, 0x100..0x1_0000) => {
            out.push(family.sized[1]);
            out.extend((len as u16).to_be_bytes());
        }
        _ => {
            let len = u32::try_from(len).expect("INVARIANT: no value has 2^32 bytes or elements");
            out.push(family.sized[2]);
            out.extend(len.to_be_bytes());
        }
    }
}

/// A map of up to 15 entries, written as they come.
pub(crate) struct SmallMap<'a> {
    out: &'a mut Vec<u8>,
    /// Where its marker is.
    at: usize,
}

impl<'a> SmallMap<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        let at = out.len();
        map(out, 0);
        Self { out, at }
    }

    /// Where to write the value of a key.
    pub(crate) fn entry(&mut self, key: &str) -> &mut Vec<u8> {
        debug_assert!(self.out[self.at] & 15 < 15);
        self.out[self.at] += 1;
        string(self.out, key);
        self.out
    }

    pub(crate) fn string(&mut self, key: &str, value: &str) {
        string(self.entry(key), value);
    }

    pub(crate) fn int(&mut self, key: &str, value: i64) {
        int(self.entry(key), value);
    }

    pub(crate) fn bool(&mut self, key: &str, value: bool) {
        bool(self.entry(key), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut out = Vec::new();
        write(&mut out);
        out
    }

    #[test]
    fn integers_take_the_fewest_bytes() {
        for (value, bytes) in [
            (0, &[0x00][..]),
            (-16, &[0xF0]),
            (-17, &[0xC8, 0xEF]),
            (127, &[0x7F]),
            (128, &[0xC9, 0x00, 0x80]),
            (-129, &[0xC9, 0xFF, 0x7F]),
            (32_768, &[0xCA, 0x00, 0x00, 0x80, 0x00]),
            (i64::MIN, &[0xCB, 0x80, 0, 0, 0, 0, 0, 0, 0]),
        ] {
            assert_eq!(written(|out| int(out, value)), bytes, "{value}");
        }
    }

    #[test]
    fn sizes_choose_the_marker() {
        let text = "x".repeat(70_000);
        for (len, head) in [
            (0, &[0x80][..]),
            (15, &[0x8F]),
            (16, &[0xD0, 0x10]),
            (255, &[0xD0, 0xFF]),
            (256, &[0xD1, 0x01, 0x00]),
            (70_000, &[0xD2, 0x00, 0x01, 0x11, 0x70]),
        ] {
            let out = written(|out| string(out, &text[..len]));
            assert_eq!((&out[..head.len()], out.len()), (head, head.len() + len));
        }
        assert_eq!(written(|out| bytes(out, &[7])), [0xCC, 1, 7]);
        assert_eq!(written(|out| list(out, 3)), [0x93]);
        assert_eq!(written(|out| structure(out, b'N', 4)), [0xB4, 0x4E]);
    }

    #[test]
    fn small_maps_count_their_entries() {
        let out = written(|out| {
            let mut map = SmallMap::new(out);
            map.int("a", 1);
            map.bool("b", true);
        });
        assert_eq!(out, [0xA2, 0x81, b'a', 1, 0x81, b'b', 0xC3]);
    }
}
