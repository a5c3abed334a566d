//! Kinds of indexes in the engine: tag on disk, keys of values, reads.
//!
//! Every kind is entries of one sorted tree, so a kind is a way to make keys ([`EntryKind`]): the
//! rest of `index/` knows keys only. All that a kind can be asked for without knowing its keys is
//! its `telar_graph::index_kind::IndexCapability`.

mod fulltext;
mod point;
mod range;
mod settings;
mod text;
pub(super) mod vector;

use telar_graph::{IndexKind, IndexRange, Value};

use super::key::SortKey;
use super::read::KeyRange;

pub(super) use settings::Settings;

/// Keys of a kind of index.
trait EntryKind {
    /// Number of the kind in definitions on disk (`docs/format.md`); never given anew, and none of
    /// a constraint's in `spec.rs`.
    const TAG: u8;

    /// The key of the values of an object, one for each property; `None` if the object is not in
    /// the index.
    fn key(values: &[Value]) -> Option<SortKey>;

    /// The keys that a read of an index of so many properties is about, and perhaps others that
    /// whoever reads leaves out; `None` if such an index cannot be asked that.
    fn range(properties: usize, range: &IndexRange) -> Option<KeyRange>;
}

/// Evaluates an expression with `$kind` as the type that implements a kind.
macro_rules! with_kind {
    ($of:expr, $kind:ident => $do:expr) => {
        match $of {
            IndexKind::Range => {
                type $kind = range::Range;
                $do
            }
            IndexKind::Text => {
                type $kind = text::Text;
                $do
            }
            IndexKind::Point => {
                type $kind = point::Point;
                $do
            }
            IndexKind::Fulltext => {
                type $kind = fulltext::Fulltext;
                $do
            }
            IndexKind::Vector => {
                type $kind = vector::Vector;
                $do
            }
        }
    };
}

/// The tag of a kind.
pub(super) fn tag(kind: IndexKind) -> u8 {
    with_kind!(kind, Kind => Kind::TAG)
}

/// The kind with this tag.
pub(super) fn with_tag(found: u8) -> Option<IndexKind> {
    IndexKind::ALL.into_iter().find(|kind| tag(*kind) == found)
}

/// As [`EntryKind::key`].
#[inline]
pub(super) fn key(kind: IndexKind, values: &[Value]) -> Option<SortKey> {
    with_kind!(kind, Kind => Kind::key(values))
}

/// As [`EntryKind::range`].
pub(super) fn range(kind: IndexKind, properties: usize, range: &IndexRange) -> Option<KeyRange> {
    with_kind!(kind, Kind => Kind::range(properties, range))
}

#[cfg(test)]
mod tests {
    use telar_graph::value::{Point, Srid};

    use super::*;

    /// The engine puts those values into an index that the planner expects there.
    #[test]
    fn every_kind_has_keys_for_the_values_that_it_holds() {
        let point = Point::new(Srid::Cartesian, &[1.0, 2.0]).unwrap();
        let values =
            [Value::Int(1), Value::from("a"), Value::Bool(true), Value::Point(point.into())];
        // Keys of the others depend on settings.
        for kind in IndexKind::ALL.into_iter().filter(|kind| !kind.has_settings()) {
            for value in &values {
                let holds = kind.capability().holds.is_none_or(|ty| ty.admits(value));
                let found = key(kind, std::slice::from_ref(value));
                assert_eq!(found.is_some(), holds, "{kind:?} {value:?}");
            }
            assert_eq!(key(kind, &[Value::Null]), None, "{kind:?}");
        }
    }
}
