//! Texts behind each other in one piece of memory.

use super::Nullable;

/// Texts, of which some may be null, copied into one piece of memory: for those who look at each
/// once. To share a text with storage is to count its users, once up and once down, which takes
/// longer than to copy a short one.
///
/// *Invariant*: each span lies in `bytes`, at boundaries of characters.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PackedTexts {
    bytes: String,
    /// Begin and end of each text.
    spans: Nullable<(usize, usize)>,
}

impl PackedTexts {
    /// Number of texts, nulls included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The text in a row, `None` if it is null.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        self.spans.get(row).map(|(from, to)| &self.bytes[from..to])
    }

    /// True if the text in a row is null.
    #[must_use]
    pub fn is_null(&self, row: usize) -> bool {
        self.spans.is_null(row)
    }

    /// True if at least one text is null.
    #[must_use]
    pub fn has_nulls(&self) -> bool {
        self.spans.has_nulls()
    }

    /// The texts in order, `None` for those that are null.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Option<&str>> {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Makes room for so many texts more.
    pub fn reserve(&mut self, more: usize) {
        self.spans.reserve(more);
    }

    /// Appends a text, or null.
    #[inline]
    pub fn push(&mut self, text: Option<&str>) {
        self.spans.push(text.map(|text| {
            let from = self.bytes.len();
            self.bytes.push_str(text);
            (from, self.bytes.len())
        }));
    }

    /// The rows with these numbers, in this order.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn gather(&self, rows: &[u32]) -> Self {
        rows.iter().map(|row| self.get(*row as usize)).collect()
    }

    /// The rows `from..to`.
    ///
    /// # Panics
    /// If there are no such rows.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        (from..to).map(|row| self.get(row)).collect()
    }

    /// Replaces the text in a row. What it was stays in memory.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set(&mut self, row: usize, text: Option<&str>) {
        let from = self.bytes.len();
        self.bytes.push_str(text.unwrap_or_default());
        self.spans.set(row, text.map(|_| (from, self.bytes.len())));
    }

    /// Heap bytes, the room that is not used included.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.capacity() + self.spans.bytes()
    }

    /// Bytes of the texts.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.bytes.len()
    }
}

impl<'t> FromIterator<Option<&'t str>> for PackedTexts {
    fn from_iter<I: IntoIterator<Item = Option<&'t str>>>(texts: I) -> Self {
        let mut all = Self::default();
        texts.into_iter().for_each(|text| all.push(text));
        all
    }
}
