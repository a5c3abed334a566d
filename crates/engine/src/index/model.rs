//! The tree under shuttle: partitions that are split, and lose entries, beside readers.
//!
//! Run with `cargo test -p telar-engine --features shuttle --lib index::`. The code is what ships;
//! runs and tails are shorter in this build, so that few entries split a partition. Threads change
//! at locks, at each word of a tail and wherever a partition's version or the directory is read.
//!
//! Mutations of the source, made by hand, and the model each makes fail: `Tree::replace` that puts
//! the left part before the right ones, `Tail::push` that writes the first word of the key before
//! the rest, and `Tree::add_all` that takes every key to be before the end of the partition
//! (`model_readers_beside_splits_miss_nothing`); `Tree::droppable` that does not ask for the
//! watermark (`model_what_an_older_snapshot_wants_stays`); `Tree::fold` that is told what is gone
//! before the partition is locked (`model_what_is_set_again_stays`).

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

use crossbeam_epoch as epoch;
use smallvec::SmallVec;
use telar_graph::Value;

use super::key::{Entry, Item, SortKey};
use super::tree::{Tree, Upkeep};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, lock, thread};

const ITERATIONS: usize = 1_500;
/// Preemptions that the PCT scheduler places in one execution.
const PCT_DEPTH: usize = 3;

/// Runs `model` under the random and the PCT scheduler.
fn check(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, PCT_DEPTH);
}

/// What the values say: since when an entry is gone.
#[derive(Default)]
struct Values {
    gone: Mutex<BTreeMap<Entry<1>, u64>>,
    watermark: AtomicU64,
}

impl Upkeep<1> for Values {
    fn watermark(&self) -> u64 {
        self.watermark.load(Ordering::SeqCst)
    }

    fn last_ts(&self) -> u64 {
        100
    }

    fn is_gone(&self, key: &SortKey, item: &Item<1>, watermark: u64) -> Option<bool> {
        match lock(&self.gone).get(&(key.clone(), *item)) {
            None => Some(false),
            Some(ts) => (*ts <= watermark).then_some(true),
        }
    }

    fn dropped(&self, _: &SortKey, _: &Item<1>) {}
}

fn entry(n: u32) -> Entry<1> {
    (SortKey::of(&[Value::Int(n.into())]).expect("a number is no null"), [n])
}

/// A commit that adds these entries.
fn add(tree: &Tree<1>, numbers: &[u32], values: &Values) {
    let entries: Vec<Entry<1>> = numbers.iter().map(|n| entry(*n)).collect();
    let entries: Vec<(&SortKey, Item<1>)> = entries.iter().map(|(k, i)| (k, *i)).collect();
    let (guard, mut partitions) = (&epoch::pin(), SmallVec::new());
    tree.find_all(&entries, &mut partitions, guard);
    tree.add_all(&entries, &partitions, 1, values, guard);
}

fn scan(tree: &Tree<1>, descending: bool) -> Vec<u32> {
    let (mut keys, mut found) = (Vec::new(), Vec::new());
    tree.for_range(&SortKey::MIN, None, descending, &epoch::pin(), |key, [n]| {
        assert_eq!(*key, entry(n).0, "a key with the item of another");
        keys.push(key.clone());
        found.push(n);
        ControlFlow::Continue(())
    });
    let in_order = |p: &[SortKey]| if descending { p[0] > p[1] } else { p[0] < p[1] };
    assert!(keys.windows(2).all(in_order), "out of order, or twice: {found:?}");
    found
}

fn is_found(tree: &Tree<1>, n: u32) -> bool {
    let mut found = false;
    tree.for_key(&entry(n).0, &epoch::pin(), |[item]| {
        assert_eq!(item, n);
        found = true;
    });
    found
}

/// Two writers fill partitions until they are split; a reader finds, by key and in ranges, all that
/// was there when it began.
#[test]
fn model_readers_beside_splits_miss_nothing() {
    check(|| {
        let (tree, values) = (Arc::new(Tree::new(false)), Arc::new(Values::default()));
        add(&tree, &[10, 20, 30, 40, 50], &values);
        let done: Arc<Mutex<BTreeSet<u32>>> = Arc::new(Mutex::new(BTreeSet::new()));
        lock(&done).extend([10, 20, 30, 40, 50]);
        let writers = [[[11, 52, 31], [32, 12, 13]], [[21, 33, 51], [34, 53, 22]]].map(|commits| {
            let (tree, values) = (Arc::clone(&tree), Arc::clone(&values));
            let done = Arc::clone(&done);
            thread::spawn(move || {
                for commit in commits {
                    add(&tree, &commit, &values);
                    lock(&done).extend(commit);
                }
            })
        });
        let reader = {
            let (tree, done) = (Arc::clone(&tree), Arc::clone(&done));
            thread::spawn(move || {
                for descending in [false, true] {
                    let before = lock(&done).clone();
                    let found: BTreeSet<u32> = scan(&tree, descending).into_iter().collect();
                    assert!(before.is_subset(&found), "{before:?} but {found:?}");
                    let before = lock(&done).clone();
                    assert!(before.iter().step_by(3).all(|n| is_found(&tree, *n)));
                }
            })
        };
        writers.into_iter().for_each(|t| t.join().expect("a writer"));
        reader.join().expect("a reader missed something");
        let all: Vec<u32> = lock(&done).iter().copied().collect();
        assert_eq!(scan(&tree, false), all);
        assert!(all.iter().all(|n| is_found(&tree, *n)));
        let mut partitions = 0;
        let walked: Result<(), ()> = tree.for_each_partition(|_, _, _| {
            partitions += 1;
            Ok(())
        });
        assert!(walked.is_ok() && partitions > 2, "{partitions} partitions");
    });
}

/// Entries are deleted at 2 and their partition is settled and split; a snapshot at 1 finds them as
/// long as it is open.
#[test]
fn model_what_an_older_snapshot_wants_stays() {
    check(|| {
        let (tree, values) = (Arc::new(Tree::new(false)), Arc::new(Values::default()));
        add(&tree, &[1, 2, 3, 4, 5], &values);
        // A snapshot at 1 is open.
        values.watermark.store(1, Ordering::SeqCst);
        let deleter = {
            let (tree, values) = (Arc::clone(&tree), Arc::clone(&values));
            thread::spawn(move || {
                for n in [2, 3, 4] {
                    let (key, item) = entry(n);
                    lock(&values.gone).insert((key.clone(), item), 2);
                    tree.mark_stale(&key, &item, 2, &*values, &epoch::pin());
                }
                add(&tree, &[6, 7, 8], &values);
                tree.settle(&*values);
            })
        };
        for descending in [false, true] {
            let found = scan(&tree, descending);
            assert!((1..=5).all(|n| found.contains(&n)), "{found:?}");
            assert!(is_found(&tree, 3));
        }
        // It is closed.
        values.watermark.store(2, Ordering::SeqCst);
        deleter.join().expect("a writer");
        tree.settle(&*values);
        assert_eq!(scan(&tree, false), [1, 5, 6, 7, 8]);
    });
}

/// A value is set back while its entry is about to be dropped. The commit writes the value first
/// and adds the entry after that: it is there at the end.
#[test]
fn model_what_is_set_again_stays() {
    check(|| {
        let (tree, values) = (Arc::new(Tree::new(false)), Arc::new(Values::default()));
        add(&tree, &[1, 2, 3], &values);
        values.watermark.store(5, Ordering::SeqCst);
        let (key, item) = entry(2);
        lock(&values.gone).insert((key.clone(), item), 2);
        tree.mark_stale(&key, &item, 2, &*values, &epoch::pin());
        let settler = {
            let (tree, values) = (Arc::clone(&tree), Arc::clone(&values));
            thread::spawn(move || tree.settle(&*values))
        };
        lock(&values.gone).remove(&(key, item));
        add(&tree, &[2], &values);
        assert!(is_found(&tree, 2));
        settler.join().expect("a settler");
        tree.settle(&*values);
        assert_eq!(scan(&tree, false), [1, 2, 3]);
    });
}
