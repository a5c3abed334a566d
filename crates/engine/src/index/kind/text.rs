//! TEXT indexes: keys of strings as in RANGE indexes, so that a part of a string is sought in keys.

use std::slice;

use telar_graph::{IndexRange, Value};

use super::EntryKind;
use crate::index::filter::KeyFilter;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;

pub(super) enum Text {}

impl EntryKind for Text {
    const TAG: u8 = 6;

    #[inline]
    fn key(values: &[Value]) -> Option<SortKey> {
        match values {
            [value @ Value::String(_)] => SortKey::of(slice::from_ref(value)),
            _ => None,
        }
    }

    fn range(properties: usize, range: &IndexRange) -> Option<KeyRange> {
        let filter = match &range.filter {
            Some(filter) => Some(KeyFilter::of_texts(filter)?),
            None => None,
        };
        Some(KeyRange::sorted(properties, range, filter))
    }
}
