//! Reading bytes apart that may be anything.

use telar_graph::codec::{DecodeError, get_varint};

/// Reads a record apart, or a part of the meta value. Any bytes give what they stand for or a
/// reason, never a panic.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl Reader<'_> {
    pub(crate) fn byte(&mut self) -> Result<u8, String> {
        let (first, rest) = self.0.split_first().ok_or("the record ends early")?;
        self.0 = rest;
        Ok(*first)
    }

    pub(crate) fn varint(&mut self) -> Result<u64, String> {
        get_varint(&mut self.0).map_err(|e: DecodeError| e.to_string())
    }

    pub(crate) fn number<T: TryFrom<u64>>(&mut self, what: &str) -> Result<T, String> {
        let n = self.varint()?;
        T::try_from(n).map_err(|_| format!("{what} {n} is out of range"))
    }

    pub(crate) fn name(&mut self) -> Result<String, String> {
        let len: usize = self.number("name length")?;
        if len > self.0.len() {
            return Err("a name is longer than the record".into());
        }
        let (name, rest) = self.0.split_at(len);
        self.0 = rest;
        String::from_utf8(name.to_vec()).map_err(|_| "a name is not UTF-8".into())
    }

    pub(crate) fn end(&self) -> Result<(), String> {
        if self.0.is_empty() { Ok(()) } else { Err("bytes after the end".into()) }
    }
}
