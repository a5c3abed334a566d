//! Pairs between which open transactions are making edges without an ordinal.
//!
//! Of such edges there is one per pair, and ids are handed out when edges are made. Whoever finds
//! that another transaction is making one for the same pair makes an edge with an ordinal, so that
//! both can commit.
//!
//! ```text
//!  bucket   8 slots, a cache line: owner u32 · tag u32 (of the pair's hash), 0 if empty
//! ```
//!
//! A pair stands in any slot of its bucket. One that finds its bucket full goes without: then two
//! may make the same edge, and the second to commit conflicts. Pairs of one tag in one bucket are
//! taken for one, which costs an ordinal.
//!
//! INVARIANT: of two that take one pair, at least one sees the other, as each writes its slot
//! before it looks at all of them for the last time.

use std::sync::OnceLock;

use crate::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Slots of all buckets: more pairs than transactions that are open at a time mostly make.
const SLOTS: usize = 1 << 14;
/// Slots of a bucket.
const WAYS: usize = 8;

const _: () = assert!(SLOTS.is_power_of_two() && SLOTS.is_multiple_of(WAYS));

/// A bucket.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Bucket([AtomicU64; WAYS]);

/// Pairs that are being made.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    /// Made when the first is taken.
    buckets: OnceLock<Box<[Bucket]>>,
    last_owner: AtomicU32,
}

/// A pair of vertices and the type of an edge between them, by its hash.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pair(u64);

impl Pair {
    pub(crate) fn new(ty: u16, src: u32, dst: u32) -> Self {
        let mix = |word: u64| {
            let word = (word ^ (word >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            word ^ (word >> 29)
        };
        Self(mix(mix(u64::from(src) << 32 | u64::from(dst)).wrapping_add(ty.into())))
    }

    fn tag(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn slot(self, owner: u32) -> u64 {
        u64::from(owner) << 32 | u64::from(self.tag())
    }
}

impl Pairs {
    fn bucket(&self, pair: Pair) -> &Bucket {
        let all =
            self.buckets.get_or_init(|| (0..SLOTS / WAYS).map(|_| Bucket::default()).collect());
        &all[pair.0 as usize % (SLOTS / WAYS)]
    }

    /// A number for a transaction that takes pairs; never 0.
    pub(crate) fn owner(&self) -> u32 {
        loop {
            // Who comes round after 2^32 others may meet a transaction that is open as long.
            let number = self.last_owner.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
            if number != 0 {
                return number;
            }
        }
    }

    /// Takes a pair; false if another transaction has it.
    pub(crate) fn take(&self, owner: u32, pair: Pair) -> bool {
        let Bucket(slots) = self.bucket(pair);
        let mine = pair.slot(owner);
        // ORDERING: sequentially consistent, as the invariant is about writes and reads of several
        // slots.
        let mut free = None;
        for slot in slots {
            match slot.load(Ordering::SeqCst) {
                0 => free = free.or(Some(slot)),
                there if there == mine => return true,
                there if there as u32 == pair.tag() => return false,
                _ => {}
            }
        }
        let take = |slot: &AtomicU64| {
            slot.compare_exchange(0, mine, Ordering::SeqCst, Ordering::Relaxed).is_ok()
        };
        // Another transaction may have been faster.
        let taken = free.filter(|slot| take(slot)).or_else(|| slots.iter().find(|slot| take(slot)));
        let Some(taken) = taken else { return true };
        let is_alone = slots.iter().all(|slot| {
            let there = slot.load(Ordering::SeqCst);
            there == mine || there == 0 || there as u32 != pair.tag()
        });
        if !is_alone {
            taken.store(0, Ordering::SeqCst);
        }
        is_alone
    }

    /// Gives a pair back, if it was taken. Nobody else writes to a slot of `owner`.
    pub(crate) fn give_back(&self, owner: u32, pair: Pair) {
        let mine = pair.slot(owner);
        for slot in &self.bucket(pair).0 {
            if slot.load(Ordering::Relaxed) == mine {
                return slot.store(0, Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_taken_by_one_at_a_time() {
        let pairs = Pairs::default();
        let (one, other) = (pairs.owner(), pairs.owner());
        let pair = |n: u32| Pair::new(3, n, n * 7);
        for n in 0..1000 {
            assert!(pairs.take(one, pair(n)));
            assert!(pairs.take(one, pair(n)), "its own");
            assert!(!pairs.take(other, pair(n)), "pair {n}");
        }
        assert!(pairs.take(other, Pair::new(4, 1, 7)), "of another type");
        assert!(pairs.take(other, Pair::new(3, 7, 1)), "the other way");
        (0..1000).for_each(|n| pairs.give_back(one, pair(n)));
        assert!((0..1000).all(|n| pairs.take(other, pair(n))));
    }

    #[test]
    fn more_pairs_than_there_is_room_for_are_made_all_the_same() {
        let pairs = Pairs::default();
        let owner = pairs.owner();
        let all = || (0..100_000).map(|n| Pair::new(0, n, n + 1));
        assert!(all().all(|pair| pairs.take(owner, pair)));
        all().for_each(|pair| pairs.give_back(owner, pair));
        let left = pairs.buckets.get().unwrap().iter().flat_map(|Bucket(slots)| slots);
        assert_eq!(left.filter(|slot| slot.load(Ordering::Relaxed) != 0).count(), 0);
    }
}

/// Random interleavings under shuttle: `cargo test -p telar-engine --features shuttle --lib pairs`.
#[cfg(all(test, feature = "shuttle"))]
mod model {
    use super::*;
    use crate::sync::{Arc, thread};

    #[test]
    fn two_never_have_one_pair() {
        let body = || {
            let pairs = Arc::new(Pairs::default());
            let holders = Arc::new(AtomicU32::new(0));
            let threads: Vec<_> = (0..3)
                .map(|_| {
                    let (pairs, holders) = (Arc::clone(&pairs), Arc::clone(&holders));
                    thread::spawn(move || {
                        let (owner, pair) = (pairs.owner(), Pair::new(1, 2, 3));
                        for _ in 0..2 {
                            if pairs.take(owner, pair) {
                                assert_eq!(holders.fetch_add(1, Ordering::SeqCst), 0);
                                thread::yield_now();
                                holders.fetch_sub(1, Ordering::SeqCst);
                                pairs.give_back(owner, pair);
                            }
                        }
                    })
                })
                .collect();
            threads.into_iter().for_each(|thread| thread.join().unwrap());
        };
        shuttle::check_random(body, 2_000);
    }
}
