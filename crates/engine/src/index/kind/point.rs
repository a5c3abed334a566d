//! POINT indexes: keys are the codes of points (`telar_graph::spatial`), so that a box is a range
//! of keys, of which some are passed over. Points that are very close share a code.

use std::ops::Bound;

use telar_graph::{EntryFilter, IndexRange, Value};

use super::EntryKind;
use crate::index::filter::KeyFilter;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;

pub(super) enum Point {}

impl EntryKind for Point {
    const TAG: u8 = 7;

    #[inline]
    fn key(values: &[Value]) -> Option<SortKey> {
        match values {
            [Value::Point(point)] => Some(SortKey::of_point(point)),
            _ => None,
        }
    }

    /// All keys, those of one point, or those of a box.
    fn range(_: usize, range: &IndexRange) -> Option<KeyRange> {
        if (&range.from, &range.to) != (&Bound::Unbounded, &Bound::Unbounded) {
            return None;
        }
        let between = |first: u128, last: u128| KeyRange {
            from: SortKey { head: first, rest: None },
            // No code is the greatest number.
            to: Some(SortKey { head: last + 1, rest: None }),
            point: None,
            filter: None,
            stop: range.stop,
        };
        Some(match (&range.prefix[..], &range.filter) {
            ([], None) => {
                let (from, stop) = (SortKey::MIN, range.stop);
                KeyRange { from, to: None, point: None, filter: None, stop }
            }
            ([Value::Point(point)], None) => {
                let key = SortKey::of_point(point);
                KeyRange { point: Some(key.clone()), ..between(key.head, key.head) }
            }
            // Other values are not in the index.
            ([_], None) => KeyRange::nothing(),
            ([], Some(EntryFilter::Within(area))) => match area.codes() {
                Some(codes) => KeyRange {
                    filter: Some(KeyFilter::Cells(codes)),
                    ..between(codes.first(), codes.last())
                },
                None => KeyRange::nothing(),
            },
            _ => return None,
        })
    }
}
