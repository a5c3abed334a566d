//! What a commit changes in an index.

use super::key::{Item, SortKey};

/// An object's key before and after the commit, where they differ.
#[derive(Debug, PartialEq)]
pub(crate) struct Change {
    /// Place of the index in the list.
    index: u32,
    /// `[vertex, 0, 0]` or `[ordinal, source, destination]`.
    pub(crate) item: Item<3>,
    keys: Keys,
}

/// What large commits have many of.
const _: () = assert!(size_of::<Change>() == 64);

/// A key before, or after, or both.
#[derive(Debug, PartialEq)]
enum Keys {
    Old(SortKey),
    New(SortKey),
    Both(Box<[SortKey; 2]>),
}

impl Change {
    /// None if there is no key before and after.
    pub(crate) fn new(index: usize, item: Item<3>, keys: [Option<SortKey>; 2]) -> Option<Self> {
        let keys = match keys {
            [None, None] => return None,
            [Some(old), None] => Keys::Old(old),
            [None, Some(new)] => Keys::New(new),
            [Some(old), Some(new)] => Keys::Both(Box::new([old, new])),
        };
        Some(Self { index: index as u32, item, keys })
    }

    /// Place of the index in the list.
    pub(crate) fn place(&self) -> usize {
        self.index as usize
    }

    /// The key before.
    #[inline]
    pub(crate) fn before(&self) -> Option<&SortKey> {
        match &self.keys {
            Keys::Old(old) => Some(old),
            Keys::New(_) => None,
            Keys::Both(both) => Some(&both[0]),
        }
    }

    /// The key after.
    #[inline]
    pub(crate) fn after(&self) -> Option<&SortKey> {
        match &self.keys {
            Keys::Old(_) => None,
            Keys::New(new) => Some(new),
            Keys::Both(both) => Some(&both[1]),
        }
    }
}
