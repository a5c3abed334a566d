//! Cursor over encoded bytes that knows its position and never reads past the end.

use super::DecodeError;

/// The part of an input that has not been read.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    input_bytes: usize,
}

impl<'a> Reader<'a> {
    /// Reads with `read` from the start of `input` and advances it only on success.
    pub(super) fn run<T>(
        input: &mut &'a [u8],
        read: impl FnOnce(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<T, DecodeError> {
        let mut reader = Self { rest: input, input_bytes: input.len() };
        let value = read(&mut reader)?;
        *input = reader.rest;
        Ok(value)
    }

    /// Bytes read so far.
    pub(super) const fn at(&self) -> usize {
        self.input_bytes - self.rest.len()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let error = DecodeError::Truncated { at: self.at() };
        let (taken, rest) = self.rest.split_at_checked(count).ok_or(error)?;
        self.rest = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self) -> Result<u8, DecodeError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let error = DecodeError::Truncated { at: self.at() };
        let (taken, rest) = self.rest.split_first_chunk().ok_or(error)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(super) fn float(&mut self) -> Result<f64, DecodeError> {
        Ok(f64::from_bits(u64::from_le_bytes(self.array()?)))
    }

    /// Reads how many items follow, each of at least `item_bytes`; no more than the rest can hold.
    pub(super) fn count(&mut self, item_bytes: usize) -> Result<usize, DecodeError> {
        let count = self.varint()?;
        let truncated = DecodeError::Truncated { at: self.at() };
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= self.rest.len() / item_bytes)
            .ok_or(truncated)
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.count(1)?;
        self.take(length)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, DecodeError> {
        let bytes = self.bytes()?;
        let at = self.at() - bytes.len();
        str::from_utf8(bytes).map_err(|_| DecodeError::Utf8 { at })
    }
}
