//! Of the keys in a range, those that are wanted: points in a box, strings with a part.
//!
//! A filter looks at keys alone, so it may pass more than a query wants, never less: whoever asked
//! tests the values. It is there because a key is at hand while a value has to be fetched.

use std::sync::Arc;

use smallvec::SmallVec;
use telar_graph::EntryFilter;
use telar_graph::spatial::CodeBox;

use super::key::SortKey;
use super::read::KeyRange;

/// Entries outside of a box, one after the other, after which the next one inside is sought. A
/// search costs about as much as looking at so many entries.
const SKIPPED_AFTER: u32 = 16;

/// What a key must be.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum KeyFilter {
    /// The code of a point in one of these cells.
    Cells(CodeBox),
    /// That of a string with this part.
    Contains(Arc<str>),
    /// That of a string that ends so.
    EndsWith(Arc<str>),
}

impl KeyFilter {
    /// What is asked of the keys of a TEXT index; `None` for what is not asked of strings.
    pub(crate) fn of_texts(filter: &EntryFilter) -> Option<Self> {
        match filter {
            EntryFilter::Contains(part) => Some(Self::Contains(Arc::clone(part))),
            EntryFilter::EndsWith(end) => Some(Self::EndsWith(Arc::clone(end))),
            EntryFilter::Within(_) => None,
        }
    }

    #[inline]
    pub(crate) fn passes(&self, key: &SortKey) -> bool {
        let text = |is_wanted: &dyn Fn(&str) -> bool| {
            // The value decides of a key that is no string's, which there should not be.
            str::from_utf8(&text_of(key)).map_or(true, is_wanted)
        };
        match self {
            Self::Cells(cells) => cells.contains(key.head),
            Self::Contains(part) => text(&|text| text.contains(&**part)),
            Self::EndsWith(end) => text(&|text| text.ends_with(&**end)),
        }
    }
}

/// The string of a key (`telar_graph::sortkey`).
fn text_of(key: &SortKey) -> SmallVec<[u8; 64]> {
    /// Behind a zero of the string; no string has it.
    const ESCAPE: u8 = 0xff;
    let mut bytes = SmallVec::from_slice(&key.head_bytes()[1..]);
    bytes.extend_from_slice(key.rest.as_deref().unwrap_or_default());
    // Zeros end a string, and pad a short key; behind one that belongs to it there is more.
    while bytes.last() == Some(&0) {
        bytes.pop();
    }
    if bytes.contains(&ESCAPE) {
        bytes.retain(|b| *b != ESCAPE);
    }
    bytes
}

/// What a read of a range passed over.
pub(crate) struct Skips<'r> {
    /// None where the next wanted key cannot be told from others.
    cells: Option<(&'r CodeBox, Option<&'r SortKey>)>,
    passed_over: u32,
}

impl KeyRange {
    /// For a read of it from the start.
    pub(crate) fn skips(&self, descending: bool) -> Skips<'_> {
        let cells = match &self.filter {
            Some(KeyFilter::Cells(cells)) if !descending => Some((cells, self.to.as_ref())),
            _ => None,
        };
        Skips { cells, passed_over: 0 }
    }
}

impl Skips<'_> {
    /// A key was passed over: where to go on from, if not at the next one.
    #[inline]
    pub(crate) fn after(&mut self, key: &SortKey) -> Option<SortKey> {
        let (cells, end) = self.cells?;
        self.passed_over += 1;
        if self.passed_over < SKIPPED_AFTER {
            return None;
        }
        match cells.next(key.head) {
            Some(head) => Some(SortKey { head, rest: None }),
            None => end.cloned(),
        }
    }

    /// A key was wanted.
    #[inline]
    pub(crate) fn reset(&mut self) {
        self.passed_over = 0;
    }
}

#[cfg(test)]
mod tests {
    use telar_graph::Value;
    use telar_graph::spatial::PointBox;
    use telar_graph::value::{Point, Srid};

    use super::*;

    #[test]
    fn parts_of_strings_are_found_in_keys() {
        let texts = ["", "a", "ab", "a\0", "\0", "b\0a", "a string of more than sixteen bytes\0"];
        let long = format!("{}x", "y".repeat(40));
        for text in texts.into_iter().chain([long.as_str(), "seventeen bytes..", "\u{e}"]) {
            let key = SortKey::of(&[Value::from(text)]).unwrap();
            for part in texts.into_iter().chain(["g of more than sixteen b", "x", "\0a", "\u{e}"]) {
                let passes =
                    |filter: EntryFilter| KeyFilter::of_texts(&filter).unwrap().passes(&key);
                let name = format!("{text:?} and {part:?}");
                assert_eq!(
                    passes(EntryFilter::Contains(part.into())),
                    text.contains(part),
                    "{name}"
                );
                assert_eq!(
                    passes(EntryFilter::EndsWith(part.into())),
                    text.ends_with(part),
                    "{name}"
                );
            }
        }
    }

    /// A long and narrow box, which spans zero, over ten thousand points.
    #[test]
    fn a_read_of_a_box_passes_over_what_lies_beside_it() {
        let at = |x: f64, y: f64| Point::new(Srid::Cartesian, &[x, y]).unwrap();
        let points = (0..10_000).map(|i| at(f64::from(i % 100) - 50.0, f64::from(i / 100) - 50.0));
        let mut keys: Vec<SortKey> = points.map(|point| SortKey::of_point(&point)).collect();
        keys.sort_unstable();
        for (low, high, inside) in [
            ([-1.5, -40.0, 0.0], [1.5, 40.0, 0.0], 3 * 81),
            ([-50.0, 0.0, 0.0], [50.0, 0.0, 0.0], 100),
            ([-3.0, -3.0, 0.0], [3.0, 3.0, 0.0], 49),
            ([0.25, 0.25, 0.0], [0.75, 0.75, 0.0], 0),
        ] {
            let codes = PointBox { srid: Srid::Cartesian, low, high }.codes().unwrap();
            let key = |head| SortKey { head, rest: None };
            let filter = Some(KeyFilter::Cells(codes));
            let (from, to) = (key(codes.first()), Some(key(codes.last() + 1)));
            let range = KeyRange { from, to, point: None, filter, stop: None };
            let mut place = keys.partition_point(|key| *key < range.from);
            let (mut skips, mut found, mut looks) = (range.skips(false), 0, 0);
            while let Some(key) = keys.get(place).filter(|key| range.contains(key)) {
                looks += 1;
                place += 1;
                if range.passes(key) {
                    found += 1;
                    skips.reset();
                } else if let Some(next) = skips.after(key) {
                    place = keys.partition_point(|key| *key < next);
                    skips.reset();
                }
            }
            assert_eq!(found, inside);
            assert!(looks < 200 + 6 * inside, "{looks} looks for {inside} points");
        }
    }
}
