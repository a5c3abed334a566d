//! Entries of an index that is made, in their order.
//!
//! ```text
//!  entries as they come ─► runs of some million, sorted and packed ─► merged, first to last
//! ```
//!
//! A tree takes entries at the end of what it has nearly for nothing. Entries that are spread over
//! it make it write every partition anew: once for each run, were these not merged first.
//! Cost: a packed entry takes some ten bytes until it is in the tree.

use std::collections::VecDeque;

use crate::error::Error;
use crate::index::Keys;
use crate::index::key::{Entry, Item};
use crate::index::merge::merge;
use crate::index::packed::Held;
use crate::index::run::Run;
use crate::stop::Stop;

/// Entries of a run.
const RUN_ENTRIES: usize = if cfg!(test) { 1 << 10 } else { 1 << 20 };
/// Entries that are packed together, or added together.
const PIECE_ENTRIES: usize = if cfg!(test) { 1 << 4 } else { 1 << 12 };

/// Entries on their way in.
pub(super) struct Sorter<'s, const N: usize> {
    entries: Vec<Entry<N>>,
    runs: Vec<Packed<N>>,
    stop: &'s Stop<'s>,
}

impl<'s, const N: usize> Sorter<'s, N> {
    /// Fails as soon as `stop` says so.
    pub(super) fn new(stop: &'s Stop<'s>) -> Self {
        Self { entries: Vec::new(), runs: Vec::new(), stop }
    }

    /// Takes the entries of an object. No object comes twice.
    pub(super) fn add(&mut self, keys: Keys, item: Item<N>) -> Result<(), Error> {
        for key in keys {
            self.stop.step()?;
            self.entries.push((key, item));
        }
        if self.entries.len() >= RUN_ENTRIES { self.put_by() } else { Ok(()) }
    }

    /// Calls `f` with all entries, some at a time, in their order.
    pub(super) fn drain(mut self, mut f: impl FnMut(&[Entry<N>])) -> Result<(), Error> {
        if self.runs.is_empty() {
            self.entries.sort_unstable();
            return self.entries.chunks(PIECE_ENTRIES).try_for_each(|some| {
                f(some);
                self.stop.check()
            });
        }
        self.put_by()?;
        let mut piece = self.entries;
        merge(
            &mut self.runs,
            |run| Ok(run.next()),
            |entry| {
                piece.push(entry);
                if piece.len() < PIECE_ENTRIES {
                    return Ok(());
                }
                f(&piece);
                piece.clear();
                self.stop.check()
            },
        )?;
        f(&piece);
        Ok(())
    }

    /// Packs what has come.
    fn put_by(&mut self) -> Result<(), Error> {
        self.entries.sort_unstable();
        let mut pieces = VecDeque::with_capacity(self.entries.len() / PIECE_ENTRIES + 1);
        for some in self.entries.chunks(PIECE_ENTRIES) {
            pieces.push_back(Held::new(Run::from(some), true));
            self.stop.check()?;
        }
        self.entries.clear();
        self.runs.push(Packed { pieces, piece: Run::default(), at: 0 });
        Ok(())
    }
}

/// A run that is read from its beginning, and gone as far as it was read.
struct Packed<const N: usize> {
    pieces: VecDeque<Held<N>>,
    /// The piece that is being read, and the place in it.
    piece: Run<N>,
    at: usize,
}

impl<const N: usize> Packed<N> {
    fn next(&mut self) -> Option<Entry<N>> {
        if self.at == self.piece.len() {
            self.piece = self.pieces.pop_front()?.run().into_owned();
            self.at = 0;
        }
        self.at += 1;
        Some(self.piece.get(self.at - 1))
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::cell::Cell;

    use proptest::prelude::*;
    use telar_graph::Value;

    use super::*;
    use crate::index::key::SortKey;

    fn key(n: i64, long: bool) -> SortKey {
        let text = format!("a text longer than any head {n}");
        let value = if long { Value::from(&*text) } else { Value::Int(n) };
        SortKey::of(&[value]).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// None, some of one run, and several runs, whose keys meet.
        #[test]
        fn entries_come_out_in_order(
            objects in prop_oneof![
                Just(0_usize), 1_usize..40, RUN_ENTRIES / 3 - 2..RUN_ENTRIES / 3 + 2,
                RUN_ENTRIES..RUN_ENTRIES + 2,
            ],
            step in 1_i64..1000,
        ) {
            let stop = Stop::never();
            let mut sorter = Sorter::<1>::new(&stop);
            let mut expected = Vec::new();
            for object in 0..objects {
                let n = object as i64 * step % 997;
                let keys = [key(n, false), key(n, true), key(-n - 1, object % 2 == 0)];
                expected.extend(keys.iter().map(|key| (key.clone(), [object as u32])));
                sorter.add(keys.into_iter().collect(), [object as u32]).unwrap();
            }
            expected.sort_unstable();
            let mut found = Vec::new();
            sorter.drain(|some| found.extend_from_slice(some)).unwrap();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn whoever_says_so_ends_it() {
        for patience in 0..40 {
            let asked = Cell::new(0);
            let ends = || {
                asked.set(asked.get() + 1);
                asked.get() > patience
            };
            let stop = Stop::when(&ends);
            let mut sorter = Sorter::<1>::new(&stop);
            let add = |n: u32| sorter.add([key(n.into(), true)].into_iter().collect(), [n]);
            let added = (0..RUN_ENTRIES as u32 * 2).try_for_each(add);
            let done = added.and_then(|()| sorter.drain(|_| {}));
            assert!(matches!(done, Err(Error::Interrupted)), "after {patience}: {done:?}");
        }
    }
}
