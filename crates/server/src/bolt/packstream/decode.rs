//! Values without structure, read from bytes that may be anything.

use super::{BYTES, FALSE, FLOAT, Family, LIST, MAP, NULL, STRING, STRUCTURE, TRUE};
use super::{INT_8, INT_16, INT_32, INT_64};

/// What stands next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Item<'b> {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Bytes(&'b [u8]),
    String(&'b str),
    /// So many elements follow.
    List(usize),
    /// So many pairs of a key and a value follow.
    Map(usize),
    /// So many fields follow.
    Structure {
        tag: u8,
        fields: u8,
    },
}

/// The bytes are not PackStream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Malformed {
    /// Where in the message.
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// Bytes with the place that was reached in them.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    pub(crate) fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Whether everything was read.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.bytes.len()
    }

    pub(crate) fn malformed(&self, what: &'static str) -> Malformed {
        Malformed { at: self.at, what }
    }

    /// The next marker with what belongs to it.
    pub(crate) fn item(&mut self) -> Result<Item<'b>, Malformed> {
        let marker = self.array::<1>()?[0];
        Ok(match marker {
            NULL => Item::Null,
            FALSE => Item::Bool(false),
            TRUE => Item::Bool(true),
            FLOAT => Item::Float(f64::from_be_bytes(self.array()?)),
            0x00..=0x7F => Item::Int(i64::from(marker)),
            0xF0..=0xFF => Item::Int(i64::from(marker as i8)),
            INT_8 => Item::Int(i64::from(i8::from_be_bytes(self.array()?))),
            INT_16 => Item::Int(i64::from(i16::from_be_bytes(self.array()?))),
            INT_32 => Item::Int(i64::from(i32::from_be_bytes(self.array()?))),
            INT_64 => Item::Int(i64::from_be_bytes(self.array()?)),
            0xB0..=0xBF => {
                let tag = self.array::<1>()?[0];
                Item::Structure { tag, fields: marker & !STRUCTURE }
            }
            _ => return self.sized(marker),
        })
    }

    fn sized(&mut self, marker: u8) -> Result<Item<'b>, Malformed> {
        if let Some(len) = self.size(marker, STRING)? {
            let bytes = self.take(len)?;
            let text = std::str::from_utf8(bytes);
            return text.map(Item::String).map_err(|_| self.malformed("a string that is no UTF-8"));
        }
        if let Some(len) = self.size(marker, BYTES)? {
            return self.take(len).map(Item::Bytes);
        }
        // An element takes a byte, an entry of a map two: more cannot be there.
        let left = |this: &Self| this.bytes.len() - this.at;
        if let Some(len) = self.size(marker, LIST)? {
            return match len <= left(self) {
                true => Ok(Item::List(len)),
                false => Err(self.malformed("a list that is longer than its message")),
            };
        }
        match self.size(marker, MAP)? {
            Some(len) if len <= left(self) / 2 => Ok(Item::Map(len)),
            Some(_) => Err(self.malformed("a map that is longer than its message")),
            None => Err(self.malformed("a marker that does not exist")),
        }
    }

    /// The size that the marker of a family says.
    fn size(&mut self, marker: u8, family: Family) -> Result<Option<usize>, Malformed> {
        if family.tiny == Some(marker & 0xF0) {
            return Ok(Some(usize::from(marker & 0x0F)));
        }
        let [one, two, four] = family.sized;
        Ok(Some(match marker {
            _ if marker == one => usize::from(self.array::<1>()?[0]),
            _ if marker == two => usize::from(u16::from_be_bytes(self.array()?)),
            _ if marker == four => u32::from_be_bytes(self.array()?) as usize,
            _ => return Ok(None),
        }))
    }

    fn take(&mut self, len: usize) -> Result<&'b [u8], Malformed> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..len));
        let taken = taken.ok_or_else(|| self.malformed("the message ends inside a value"))?;
        self.at += len;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        Ok(taken.try_into().expect("INVARIANT: `take` returns as many bytes as asked for"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(bytes: &[u8]) -> Result<Item<'_>, &'static str> {
        Reader::new(bytes).item().map_err(|e| e.what)
    }

    #[test]
    fn sizes_beyond_the_message_are_refused() {
        let ends = Err("the message ends inside a value");
        for bytes in [&[][..], &[0xC9, 1], &[0x82, b'a'], &[0xD2, 0xFF, 0xFF, 0xFF, 0xFF], &[0xB1]]
        {
            assert_eq!(first(bytes), ends, "{bytes:02X?}");
        }
        let list = Err("a list that is longer than its message");
        assert_eq!(first(&[0xD6, 0x7F, 0xFF, 0xFF, 0xFF, 0]), list);
        assert_eq!(first(&[0x92, 0]), list);
        assert_eq!(first(&[0xA1, 0x80]), Err("a map that is longer than its message"));
    }

    #[test]
    fn what_is_no_packstream_is_refused() {
        for marker in [0xC4, 0xC7, 0xCF, 0xD3, 0xD7, 0xDB, 0xDC, 0xDD, 0xDF, 0xE0, 0xEF] {
            let bytes = [marker, 0, 0, 0, 0, 0, 0, 0, 0];
            assert_eq!(first(&bytes), Err("a marker that does not exist"), "{marker:02X}");
        }
        assert_eq!(first(&[0x81, 0xFF]), Err("a string that is no UTF-8"));
    }
}
