//! Trees against an ordered set: many partitions, long keys, many items of one key, beside readers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crossbeam_epoch as epoch;
use proptest::prelude::*;
use telar_graph::Value;

use super::*;

/// An upkeep that knows which entries are wanted.
#[derive(Default)]
struct Wanted {
    watermark: AtomicU64,
    /// Entries that are gone, and since when.
    gone: Mutex<BTreeMap<Entry<1>, u64>>,
}

impl Upkeep<1> for Wanted {
    fn watermark(&self) -> u64 {
        self.watermark.load(Ordering::SeqCst)
    }

    fn last_ts(&self) -> u64 {
        u64::MAX - 1
    }

    fn dropped(&self, _: &SortKey, _: &Item<1>) {}

    fn is_gone(&self, key: &SortKey, item: &Item<1>, watermark: u64) -> Option<bool> {
        let gone = self.gone.lock().unwrap();
        match gone.get(&(key.clone(), *item)) {
            None => Some(false),
            Some(ts) if *ts <= watermark => Some(true),
            Some(_) => None,
        }
    }
}

fn key(n: i64) -> SortKey {
    SortKey::of(&[Value::Int(n)]).unwrap()
}

/// A key that does not fit its head, and shares it with many others.
fn long(n: i64) -> SortKey {
    SortKey::of(&[format!("the same beginning of them all {n:06}").as_str().into()]).unwrap()
}

fn add_to(tree: &Tree<1>, key: &SortKey, item: Item<1>, ts: u64, upkeep: &dyn Upkeep<1>) {
    let (guard, mut numbers) = (&epoch::pin(), SmallVec::new());
    tree.find_all(&[(key, item)], &mut numbers, guard);
    tree.add_all(&[(key, item)], &numbers, ts, upkeep, guard);
}

fn all(tree: &Tree<1>, descending: bool) -> Vec<Entry<1>> {
    let mut found = Vec::new();
    tree.for_range(&SortKey::MIN, None, descending, &epoch::pin(), |key, item| {
        found.push((key.clone(), item));
        ControlFlow::Continue(())
    });
    found
}

fn check(tree: &Tree<1>, expected: &BTreeSet<Entry<1>>) {
    let guard = &epoch::pin();
    assert!(all(tree, false).iter().eq(expected.iter()), "ascending");
    assert!(all(tree, true).iter().eq(expected.iter().rev()), "descending");
    let some: Vec<&Entry<1>> = expected.iter().step_by(expected.len() / 50 + 1).collect();
    for pair in some.windows(2) {
        let ((from, _), (to, _)) = (pair[0], pair[1]);
        for descending in [false, true] {
            let mut found = BTreeSet::new();
            tree.for_range(from, Some(to), descending, guard, |key, item| {
                assert!(found.insert((key.clone(), item)), "found twice");
                ControlFlow::Continue(())
            });
            let within = expected.iter().filter(|(key, _)| key >= from && key < to);
            assert!(found.iter().eq(within));
        }
        // Bytes of keys, in parts that are each in order; what was added again comes twice.
        let (mut found, mut before) = (BTreeSet::new(), Vec::new());
        tree.for_bytes(from, Some(to), guard, |key, shared, item| {
            assert!(key.starts_with(&before[..shared]), "shared");
            before = key.to_vec();
            found.insert((SortKey::from_bytes(key), item));
            ControlFlow::Continue(())
        });
        let within = expected.iter().filter(|(key, _)| key >= from && key < to);
        assert_eq!(found, within.cloned().collect(), "bytes");
        let mut found = BTreeSet::new();
        tree.for_key(from, guard, |item| {
            found.insert((from.clone(), item));
        });
        assert!(found.iter().eq(expected.iter().filter(|(key, _)| key == from)));
    }
    // The chain of partitions holds every entry exactly once, too.
    let mut pieces = Vec::new();
    let walked: Result<(), ()> = tree.for_each_partition(|number, _, version| {
        let (next, entries) = (version.next.clone(), version.entries());
        pieces.push(Piece { number, next, entries });
        Ok(())
    });
    walked.unwrap();
    let again = Tree::from_pieces(pieces, tree.packs).unwrap();
    assert!(all(&again, false).iter().eq(expected.iter()), "stored and read");
}

#[derive(Debug, Clone)]
enum Op {
    Add { first: i64, step: i64, count: i64, long: bool },
    Same { key: i64, items: u32 },
    Bulk { first: i64, count: i64 },
    Drop { every: usize },
    Settle,
}

fn op() -> impl Strategy<Value = Op> {
    let n = 0_i64..3000;
    prop_oneof![
        4 => (n.clone(), 1_i64..40, 1_i64..400, any::<bool>())
            .prop_map(|(first, step, count, long)| Op::Add { first, step, count, long }),
        1 => (n.clone(), 1_u32..1500).prop_map(|(key, items)| Op::Same { key, items }),
        1 => (n, 1_i64..3000).prop_map(|(first, count)| Op::Bulk { first, count }),
        2 => (2_usize..9).prop_map(|every| Op::Drop { every }),
        1 => Just(Op::Settle),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn tree_matches_an_ordered_set(
        ops in proptest::collection::vec(op(), 1..14),
        packs in any::<bool>(),
    ) {
        let (tree, upkeep) = (Tree::<1>::new(packs), Wanted::default());
        let mut expected: BTreeSet<Entry<1>> = BTreeSet::new();
        let mut ts = 0;
        for op in ops {
            let guard = &epoch::pin();
            ts += 1;
            let add = |entry: Entry<1>, expected: &mut BTreeSet<Entry<1>>| {
                upkeep.gone.lock().unwrap().remove(&entry);
                add_to(&tree, &entry.0, entry.1, ts, &upkeep);
                expected.insert(entry);
            };
            match op {
                Op::Add { first, step, count, long: is_long } => {
                    for i in 0..count {
                        let n = (first + i * step * 7) % 5000;
                        let key = if is_long { long(n) } else { key(n) };
                        add((key, [n as u32 % 3]), &mut expected);
                    }
                }
                Op::Same { key: k, items } => {
                    for item in 0..items {
                        add((key(k), [item.reverse_bits() >> 8]), &mut expected);
                    }
                }
                Op::Bulk { first, count } => {
                    let entries: Vec<Entry<1>> =
                        (first..first + count).map(|n| (key(n), [7])).collect();
                    upkeep.gone.lock().unwrap().retain(|e, _| !entries.contains(e));
                    tree.add_sorted(&entries, ts, &upkeep, guard);
                    expected.extend(entries);
                }
                Op::Drop { every } => {
                    let gone: Vec<_> = expected.iter().step_by(every).cloned().collect();
                    for entry in gone {
                        expected.remove(&entry);
                        upkeep.gone.lock().unwrap().insert(entry.clone(), ts);
                        tree.mark_stale(&entry.0, &entry.1, ts, &upkeep, guard);
                    }
                    upkeep.watermark.store(ts, Ordering::SeqCst);
                    tree.settle(&upkeep);
                }
                Op::Settle => tree.settle(&upkeep),
            }
        }
        tree.settle(&upkeep);
        check(&tree, &expected);
        prop_assert_eq!(tree.len(&epoch::pin()) as usize >= expected.len(), true);
    }
}

#[test]
fn ascending_keys_fill_their_partitions() {
    let (tree, upkeep) = (Tree::<1>::new(false), Wanted::default());
    for n in 0..20_000 {
        add_to(&tree, &key(n), [0], 1, &upkeep);
    }
    let partitions = tree.count.load(Ordering::Relaxed);
    assert!(partitions <= 20_000 / RUN_CUT as u32 + 2, "{partitions} partitions");
}

#[test]
fn what_was_never_said_to_be_stale_is_not_even_asked_about() {
    struct Strict;
    impl Upkeep<1> for Strict {
        fn watermark(&self) -> u64 {
            panic!("nothing is stale")
        }
        fn last_ts(&self) -> u64 {
            0
        }
        fn dropped(&self, _: &SortKey, _: &Item<1>) {}
        fn is_gone(&self, _: &SortKey, _: &Item<1>, _: u64) -> Option<bool> {
            panic!("nothing is stale")
        }
    }
    let tree = Tree::<1>::new(false);
    for n in 0..5000 {
        add_to(&tree, &key(n * 7919 % 5000), [0], 1, &Strict);
    }
    tree.settle(&Strict);
    assert_eq!(all(&tree, false).len(), 5000);
}

#[test]
fn tails_that_nothing_is_added_to_are_packed() {
    for packs in [false, true] {
        let (tree, upkeep) = (Tree::<1>::new(packs), Wanted::default());
        let entries: BTreeSet<Entry<1>> = (0..5000).map(|n| (long(n), [n as u32])).collect();
        entries.iter().for_each(|(key, item)| add_to(&tree, key, *item, 1, &upkeep));
        let tails = || {
            let mut tails = 0;
            let walked: Result<(), ()> = tree.for_each_partition(|_, _, version| {
                tails += usize::from(version.tail.is_some());
                Ok(())
            });
            walked.map(|()| tails).unwrap()
        };
        let (before, bytes) = (tails(), tree.bytes(&epoch::pin()));
        assert!(before > 0);
        (0..=IDLE_SETTLES).for_each(|_| tree.settle(&upkeep));
        assert_eq!(tails(), if packs { 0 } else { before });
        assert_eq!(tree.bytes(&epoch::pin()) < bytes, packs);
        check(&tree, &entries);
        add_to(&tree, &long(7000), [1], 2, &upkeep);
        (0..=IDLE_SETTLES / 2).for_each(|_| tree.settle(&upkeep));
        assert!(tails() > 0, "it was used lately");
        check(&tree, &entries.iter().cloned().chain([(long(7000), [1])]).collect());
    }
}

#[test]
fn damaged_chains_are_refused() {
    let piece = |number, next: Option<(i64, u32)>, keys: &[i64]| {
        let mut entries = Run::default();
        keys.iter().for_each(|n| entries.push((key(*n), [0])));
        Piece { number, next: next.map(|(low, n)| ((key(low), [0]), n)), entries }
    };
    let refused = |pieces: Vec<Piece<1>>| Tree::from_pieces(pieces, false).map(|_| ()).unwrap_err();
    let both = || vec![piece(1, None, &[5]), piece(0, Some((5, 1)), &[1])];
    assert!([false, true].into_iter().all(|packs| Tree::from_pieces(both(), packs).is_ok()));
    refused(Vec::new());
    refused(vec![piece(1, None, &[])]);
    refused(vec![piece(0, Some((5, 1)), &[1])]);
    refused(vec![piece(0, Some((5, 0)), &[1])]);
    refused(vec![piece(0, None, &[1]), piece(1, None, &[5])]);
    refused(vec![piece(0, Some((5, 1)), &[5]), piece(1, None, &[5])]);
    refused(vec![piece(0, Some((5, 1)), &[1]), piece(1, None, &[4])]);
    refused(vec![piece(0, None, &[2, 1])]);
    refused(vec![piece(0, None, &[1, 1])]);
}

/// Whatever splits meanwhile, a reader finds what was there before it began.
#[test]
fn readers_beside_writers_miss_nothing() {
    const WRITERS: i64 = 2;
    const EACH: i64 = 30_000;
    let (tree, upkeep) = (&Tree::<1>::new(false), &Wanted::default());
    let done: &[AtomicU64; WRITERS as usize] = &std::array::from_fn(|_| AtomicU64::new(0));
    let stop = &AtomicBool::new(false);
    // Scattered, and different for each writer.
    let nth = |w: i64, i: i64| (i * 7919 % EACH) * WRITERS + w;
    std::thread::scope(|s| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|w| {
                s.spawn(move || {
                    for i in 0..EACH {
                        add_to(tree, &key(nth(w, i)), [0], 1, upkeep);
                        done[w as usize].store(i as u64 + 1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for descending in [false, true] {
            s.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let before: i64 = done.iter().map(|d| d.load(Ordering::SeqCst) as i64).sum();
                    let found = all(tree, descending);
                    assert!(found.len() as i64 >= before);
                    let sorted =
                        |p: &[Entry<1>]| if descending { p[0] > p[1] } else { p[0] < p[1] };
                    assert!(found.windows(2).all(sorted));
                }
            });
        }
        s.spawn(move || {
            let mut round = 0;
            while !stop.load(Ordering::Relaxed) {
                let w = round % WRITERS;
                let until = done[w as usize].load(Ordering::SeqCst) as i64;
                round += 1;
                if until > 0 {
                    let n = nth(w, round * 31 % until);
                    let mut found = 0;
                    tree.for_key(&key(n), &epoch::pin(), |_| found += 1);
                    assert_eq!(found, 1, "{n}");
                }
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let expected: BTreeSet<Entry<1>> = (0..WRITERS * EACH).map(|n| (key(n), [0])).collect();
    check(tree, &expected);
}
