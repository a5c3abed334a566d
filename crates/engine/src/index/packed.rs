//! Runs in few bytes: entries as checkpoints store them (`page.rs`), one after the other.
//!
//! A full-text index has many entries, most of which are read once in a while: their runs are
//! packed, and unpacked to be read, or merged with a tail. Other kinds have plain runs.

use std::ops::{ControlFlow, Deref};
use std::sync::Arc;

use super::key::{Entry, Item};
use super::page::{get_entry, get_key, put_entry};
use super::run::Run;

/// A run as a version holds it.
#[derive(Debug, Clone)]
pub(crate) enum Held<const N: usize> {
    Plain(Arc<Run<N>>),
    /// Number of entries, and their bytes.
    Packed(u32, Arc<[u8]>),
}

/// A run to be read.
pub(crate) enum RunRef<'h, const N: usize> {
    Borrowed(&'h Run<N>),
    Owned(Run<N>),
}

impl<const N: usize> Deref for RunRef<'_, N> {
    type Target = Run<N>;

    #[inline]
    fn deref(&self) -> &Run<N> {
        match self {
            Self::Borrowed(run) => run,
            Self::Owned(run) => run,
        }
    }
}

impl<const N: usize> RunRef<'_, N> {
    /// The run itself.
    pub(crate) fn into_owned(self) -> Run<N> {
        match self {
            Self::Borrowed(run) => run.clone(),
            Self::Owned(run) => run,
        }
    }
}

impl<const N: usize> Held<N> {
    /// A run as it is, or packed.
    pub(crate) fn new(run: Run<N>, packs: bool) -> Self {
        if !packs {
            return Self::Plain(Arc::new(run));
        }
        let (mut before, mut bytes) = (Vec::new(), Vec::with_capacity(run.len() * 12));
        for i in 0..run.len() {
            put_entry(&run.get(i), &mut before, &mut bytes);
        }
        Self::Packed(run.len() as u32, bytes.into())
    }

    /// Number of entries.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Plain(run) => run.len(),
            Self::Packed(len, _) => *len as usize,
        }
    }

    #[inline]
    pub(crate) fn run(&self) -> RunRef<'_, N> {
        match self {
            Self::Plain(run) => RunRef::Borrowed(run),
            Self::Packed(len, bytes) => RunRef::Owned(unpacked(*len, bytes)),
        }
    }

    /// The first entry. There is one.
    pub(crate) fn first(&self) -> Entry<N> {
        match self {
            Self::Plain(run) => run.get(0),
            Self::Packed(_, bytes) => unpacked(1, bytes).get(0),
        }
    }

    /// Calls `f` with the bytes of each entry's key, how many of them it is known to share with the
    /// key before, and the item, until it breaks.
    ///
    /// PERF: crates/db/examples/fulltext_cost.rs, "fuzzy": millions of keys, and none is allocated.
    pub(crate) fn for_each(
        &self,
        mut f: impl FnMut(&[u8], usize, Item<N>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self {
            Self::Plain(run) => {
                (0..run.len()).try_for_each(|i| f(&run.key(i).to_bytes(), 0, run.item(i)))
            }
            Self::Packed(len, bytes) => {
                let (mut key, mut left) = (Vec::with_capacity(64), &bytes[..]);
                (0..*len).try_for_each(|_| {
                    let read: Result<(usize, Item<N>), _> = get_key(&mut key, &mut left);
                    let (shared, item) = read.expect("INVARIANT: `Held::new` packed it");
                    f(&key, shared, item)
                })
            }
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Plain(run) => run.bytes(),
            Self::Packed(_, bytes) => bytes.len(),
        }
    }
}

/// The first entries of a packed run.
fn unpacked<const N: usize>(entries: u32, mut bytes: &[u8]) -> Run<N> {
    let mut run = Run::with_capacity(entries as usize);
    let mut before = Vec::with_capacity(64);
    for _ in 0..entries {
        run.push(get_entry(&mut before, &mut bytes).expect("INVARIANT: `Held::new` packed it"));
    }
    run
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::index::key::SortKey;

    proptest! {
        /// Keys of any bytes, also such that end with zeros or are longer than a head.
        #[test]
        fn what_is_packed_comes_back(
            entries in prop::collection::btree_set(
                (prop::collection::vec(0_u8..3, 1..24), any::<[u32; 3]>()), 0..80),
        ) {
            let entries: BTreeSet<Entry<3>> = entries
                .into_iter()
                .map(|(bytes, item)| (SortKey::from_bytes(&bytes), item))
                .collect();
            let entries: Vec<Entry<3>> = entries.into_iter().collect();
            for packs in [false, true] {
                let held = Held::new(Run::from(&entries[..]), packs);
                let run = held.run();
                let found: Vec<_> = (0..run.len()).map(|i| run.get(i)).collect();
                prop_assert_eq!(&found, &entries);
                prop_assert_eq!(held.len(), entries.len());
                prop_assert_eq!((held.len() > 0).then(|| held.first()), entries.first().cloned());
                prop_assert!(entries.is_empty() || held.bytes() > 0);
                let (mut found, mut before) = (Vec::new(), Vec::new());
                let _ = held.for_each(|key, shared, item| {
                    assert!(key.starts_with(&before[..shared]));
                    before = key.to_vec();
                    found.push((SortKey::from_bytes(key), item));
                    ControlFlow::Continue(())
                });
                prop_assert_eq!(&found, &entries);
            }
        }
    }
}
