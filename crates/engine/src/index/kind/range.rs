//! RANGE indexes: keys that compare as the values do, one after the other.

use telar_graph::{IndexRange, Value};

use super::EntryKind;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;

pub(super) enum Range {}

impl EntryKind for Range {
    const TAG: u8 = 1;

    #[inline]
    fn key(values: &[Value]) -> Option<SortKey> {
        SortKey::of(values)
    }

    fn range(properties: usize, range: &IndexRange) -> Option<KeyRange> {
        range.filter.is_none().then(|| KeyRange::sorted(properties, range, None))
    }
}
