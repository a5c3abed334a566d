//! Where in the source text something stands.

use std::fmt;

/// A range of bytes of the source text, `start..end`, on character boundaries.
///
/// Spans say where a tree came from, not what it means: **any two spans are equal**. So two trees
/// compare equal when they say the same, however they were written, and the printer can promise
/// `parse(print(tree)) == tree`. Compare [`Span::range`]s where positions matter.
#[derive(Clone, Copy, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// The span `start..end`, in bytes. An end before the start counts as the start.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end: if end < start { start } else { end } }
    }

    /// First byte.
    pub fn start(self) -> u32 {
        self.start
    }

    /// One past the last byte.
    pub fn end(self) -> u32 {
        self.end
    }

    /// The bytes as a range of indexes.
    pub fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The smallest span that covers this one and `other`.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        Span::new(self.start.min(other.start), self.end.max(other.end))
    }

    /// What stands there in `source`; empty if `source` is not the text the span is of.
    pub fn text(self, source: &str) -> &str {
        source.get(self.range()).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.start, self.end)
    }
}

#[test]
fn spans_join_and_cut_text() {
    let span = Span::new(2, 4).to(Span::new(6, 7));
    assert_eq!(span.range(), 2..7);
    assert_eq!(span.text("0123456789"), "23456");
    assert_eq!(span.text("012"), "");
    assert_eq!(Span::new(5, 3).range(), 5..5);
    assert_eq!(Span::new(1, 2), Span::new(3, 9), "trees compare without positions");
}
