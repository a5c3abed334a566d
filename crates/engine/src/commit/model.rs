//! The commit protocol under shuttle: random interleavings of small programs.
//!
//! Run with `cargo test -p telar-engine --features shuttle --lib commit::`. [`Clock`], [`Readers`]
//! and [`Latch`] are the code that ships; segments are stand-ins, because their blocks are raw
//! words that shuttle cannot see. `crate::model` runs the whole engine the same way, plans and
//! latch order included. Shuttle also reports deadlocks. It runs sequentially consistent: memory
//! orders are argued in the modules themselves, not here.
//!
//! A failing schedule is printed; replay it with `shuttle::replay`.
//!
//! Each model was seen to fail under the mutations listed in its doc, made in a copy of the source
//! or, where it is a step of the model, by [`Broken`]. The latter stay, as tests that the models
//! bite.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::clock::Clock;
use crate::clock::readers::Readers;
use crate::latch::{ALL_STRIPES, Latch};
use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Arc, Mutex, lock, thread};

const ITERATIONS: usize = 1_500;
/// Preemptions that the PCT scheduler places in one execution.
const PCT_DEPTH: usize = 3;

/// Runs `model` under the random and the PCT scheduler.
fn check(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, PCT_DEPTH);
}

/// Checks that some schedule of the model with this step done wrong fails. The rarest needs some
/// thousand schedules; tries end with the first that fails.
fn check_fails(broken: Broken, model: impl Fn(Broken) + Send + Sync + Copy + 'static) {
    let found = |run: &dyn Fn()| catch_unwind(AssertUnwindSafe(run)).is_err();
    for _ in 0..10 {
        let random = || shuttle::check_random(move || model(broken), 2 * ITERATIONS);
        let pct = || shuttle::check_pct(move || model(broken), 2 * ITERATIONS, PCT_DEPTH);
        if found(&random) || found(&pct) {
            return;
        }
    }
    panic!("the protocol passed with {broken:?}");
}

/// Steps of the protocol done wrong on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Broken {
    Nothing,
    /// The timestamp is taken before the latch.
    TimestampBeforeLatch,
    /// Settling goes up to the last timestamp taken, not the watermark.
    SettleAboveWatermark,
    /// Settling does not take the latch.
    SettleWithoutLatch,
    /// A replaced version is freed at once.
    FreeAtOnce,
    /// A reader's slot is given back before it has read.
    CloseBeforeRead,
    /// A commit counts as applied before it is.
    AppliedBeforeAppend,
    /// Base and length come from two loads of the pointer.
    TwoLoads,
    /// Reads are validated and not latched.
    ReadsNotLatched,
    /// Latches are given back before the commit has applied.
    UnlatchBeforeApply,
    /// Reads are not validated.
    ReadsNotValidated,
}

fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::spawn(f)
}

fn join_all<T>(threads: Vec<thread::JoinHandle<T>>) -> Vec<T> {
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}

// ---- (a) clock and readers ----

/// Counts what has applied, so that readers can tell a commit published too early.
struct Applied(Vec<AtomicU64>);

impl Applied {
    fn new(count: usize) -> Self {
        Self((0..=count).map(|_| AtomicU64::new(0)).collect())
    }

    fn set(&self, ts: u64) {
        self.0[ts as usize].store(1, Ordering::SeqCst);
    }

    fn assert_up_to(&self, ts: u64) {
        for t in 1..=ts {
            assert_eq!(self.0[t as usize].load(Ordering::SeqCst), 1, "{t} of {ts} is not applied");
        }
    }
}

/// Six commits of two threads go around the ring of four; `published` is seen to grow by
/// consecutive commits that have all applied.
///
/// Mutations in a copy that fail: `advance` without comparing with `next`, `advance` storing
/// instead of exchanging, `mark_applied` before the commit's own writes.
#[test]
fn model_published_advances_in_order_over_applied_commits() {
    check(|| published_in_order(Broken::Nothing));
}

#[test]
fn model_notices_a_commit_applied_too_early() {
    check_fails(Broken::AppliedBeforeAppend, published_in_order);
}

fn published_in_order(broken: Broken) {
    const COMMITS: usize = 6;
    let clock = Arc::new(Clock::new(0));
    let applied = Arc::new(Applied::new(COMMITS));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (clock, applied) = (Arc::clone(&clock), Arc::clone(&applied));
        threads.push(spawn(move || {
            for _ in 0..COMMITS / 2 {
                let ts = clock.next();
                clock.wait_for_room(ts, || u64::MAX);
                if broken == Broken::AppliedBeforeAppend {
                    clock.mark_applied(ts);
                    applied.set(ts);
                } else {
                    applied.set(ts);
                    clock.mark_applied(ts);
                }
                clock.wait_published(ts, || u64::MAX);
                assert!(clock.published() >= ts);
            }
        }));
    }
    let watcher = {
        let (clock, applied) = (Arc::clone(&clock), Arc::clone(&applied));
        spawn(move || {
            let mut last = 0;
            for _ in 0..4 {
                let now = clock.published();
                assert!(now >= last, "published went back from {last} to {now}");
                applied.assert_up_to(now);
                last = now;
            }
        })
    };
    join_all(threads);
    watcher.join().unwrap();
    assert_eq!((clock.published(), clock.last()), (COMMITS as u64, COMMITS as u64));
}

/// Commits that never wait to be published: only `wait_for_room` keeps the ring from overflowing,
/// and the last one to apply publishes for all.
///
/// Mutations in a copy that fail: no `wait_for_room`; room for one commit too many.
#[test]
fn model_ring_never_loses_a_commit() {
    check(|| {
        let clock = Arc::new(Clock::new(0));
        let threads = (0..3)
            .map(|_| {
                let clock = Arc::clone(&clock);
                spawn(move || {
                    for _ in 0..4 {
                        let ts = clock.next();
                        clock.wait_for_room(ts, || u64::MAX);
                        clock.mark_applied(ts);
                    }
                })
            })
            .collect();
        join_all(threads);
        clock.wait_published(12, || u64::MAX);
        assert_eq!(clock.published(), 12);
    });
}

/// A log makes commits durable in groups, later than they apply; nothing is published before.
///
/// Mutation in a copy that fails: `advance` without the limit.
#[test]
fn model_nothing_is_published_before_it_is_durable() {
    check(|| {
        const COMMITS: u64 = 4;
        let clock = Arc::new(Clock::new(0));
        let durable = Arc::new(AtomicU64::new(0));
        let mut threads = Vec::new();
        for _ in 0..2 {
            let (clock, durable) = (Arc::clone(&clock), Arc::clone(&durable));
            threads.push(spawn(move || {
                for _ in 0..COMMITS / 2 {
                    let ts = clock.next();
                    clock.wait_for_room(ts, || durable.load(Ordering::SeqCst));
                    clock.mark_applied(ts);
                    clock.wait_published(ts, || durable.load(Ordering::SeqCst));
                    let now = clock.published();
                    assert!(now <= durable.load(Ordering::SeqCst));
                }
            }));
        }
        let log = {
            let (clock, durable) = (Arc::clone(&clock), Arc::clone(&durable));
            spawn(move || {
                while durable.load(Ordering::SeqCst) < COMMITS {
                    let queued = clock.last();
                    thread::yield_now();
                    durable.store(queued, Ordering::SeqCst);
                    thread::yield_now();
                }
            })
        };
        join_all(threads);
        log.join().unwrap();
    });
}

/// No watermark is ever above the timestamp of a reader that is open or opens later; slots are
/// reused and every opened reader has one of its own.
///
/// Mutations in a copy that fail: `open` without the second look; `open` that stores the timestamp
/// only once and returns the newer one; `watermark` that reads the slots first and the published
/// timestamp after them; `watermark` that looks at one slot too few; `take_slot` without the
/// exchange.
#[test]
fn model_watermark_is_never_above_a_reader() {
    check(|| watermark_below_readers(Broken::Nothing));
}

#[test]
fn model_notices_a_reader_that_closes_too_early() {
    check_fails(Broken::CloseBeforeRead, watermark_below_readers);
}

fn watermark_below_readers(broken: Broken) {
    let clock = Arc::new(Clock::new(0));
    let readers = Arc::new(Readers::new());
    // The highest watermark anyone has acted on.
    let acted = Arc::new(AtomicU64::new(0));
    let mut threads = Vec::new();
    for _ in 0..2 {
        let (clock, readers, acted) =
            (Arc::clone(&clock), Arc::clone(&readers), Arc::clone(&acted));
        threads.push(spawn(move || {
            for _ in 0..2 {
                let (slot, ts) = readers.open(&clock).expect("there are four slots");
                if broken == Broken::CloseBeforeRead {
                    readers.close(slot);
                }
                for _ in 0..2 {
                    let acted = acted.load(Ordering::SeqCst);
                    assert!(acted <= ts, "settled up to {acted} under a reader at {ts}");
                    thread::yield_now();
                }
                if broken != Broken::CloseBeforeRead {
                    readers.close(slot);
                }
            }
        }));
    }
    let writer = {
        let clock = Arc::clone(&clock);
        spawn(move || {
            for _ in 0..4 {
                let ts = clock.next();
                clock.mark_applied(ts);
                clock.wait_published(ts, || u64::MAX);
            }
        })
    };
    let settler = {
        let (clock, readers, acted) =
            (Arc::clone(&clock), Arc::clone(&readers), Arc::clone(&acted));
        spawn(move || {
            for _ in 0..4 {
                // It can be lower than the one before: a reader about to take its second look has
                // stored an older timestamp for a moment.
                let watermark = readers.watermark(&clock);
                acted.fetch_max(watermark, Ordering::SeqCst);
            }
        })
    };
    join_all(threads);
    writer.join().unwrap();
    settler.join().unwrap();
    assert_eq!(readers.live(), (0, None));
    assert_eq!(readers.watermark(&clock), 4);
}

/// Of six threads that want one of four slots, four at most have one, no two the same.
#[test]
fn model_slots_are_exclusive() {
    check(|| {
        let clock = Arc::new(Clock::new(7));
        let readers = Arc::new(Readers::new());
        let taken = Arc::new(Mutex::new(Vec::new()));
        let threads = (0..6)
            .map(|_| {
                let (clock, readers, taken) =
                    (Arc::clone(&clock), Arc::clone(&readers), Arc::clone(&taken));
                spawn(move || {
                    let Some((slot, ts)) = readers.open(&clock) else {
                        return;
                    };
                    assert_eq!(ts, 7);
                    {
                        let mut taken = lock(&taken);
                        assert!(!taken.contains(&slot), "slot {slot} was given out twice");
                        taken.push(slot);
                    }
                    thread::yield_now();
                    lock(&taken).retain(|s| *s != slot);
                    readers.close(slot);
                })
            })
            .collect();
        join_all(threads);
        assert_eq!(readers.live(), (0, None));
    });
}

// ---- (b) publish, read, settle, reclaim ----

/// A list: what is settled, and a tail of commit timestamps in order.
struct Version {
    /// Timestamps folded in, sorted.
    base: Vec<u64>,
    /// Tail entries; those below `len` are final.
    tail: Vec<AtomicU64>,
    len: AtomicUsize,
    freed: AtomicU64,
}

impl Version {
    fn new(base: Vec<u64>, carried: &[u64], room: usize) -> Self {
        let tail: Vec<_> = (0..carried.len() + room)
            .map(|i| AtomicU64::new(*carried.get(i).unwrap_or(&0)))
            .collect();
        Self { base, tail, len: AtomicUsize::new(carried.len()), freed: AtomicU64::new(0) }
    }

    fn assert_alive(&self) {
        assert_eq!(self.freed.load(Ordering::SeqCst), 0, "read a freed version");
    }

    fn append(&self, ts: u64) -> bool {
        self.assert_alive();
        let n = self.len.load(Ordering::SeqCst);
        let Some(cell) = self.tail.get(n) else {
            return false;
        };
        cell.store(ts, Ordering::SeqCst);
        self.len.store(n + 1, Ordering::SeqCst);
        true
    }

    /// The visible prefix, found as `Block::visible` does.
    fn tail_at(&self, read_ts: u64) -> Vec<u64> {
        self.assert_alive();
        let n = self.len.load(Ordering::SeqCst);
        let all: Vec<u64> = self.tail[..n].iter().map(|t| t.load(Ordering::SeqCst)).collect();
        self.assert_alive();
        let seen = match all.last() {
            Some(&last) if last > read_ts => all.partition_point(|t| *t <= read_ts),
            _ => n,
        };
        all[..seen].to_vec()
    }
}

/// A segment with a pointer to its version. Pinned threads stand in slots of the same `Readers`
/// machinery; a retired version is freed once nobody is pinned who was pinned when it was retired.
struct Segment {
    latch: Latch,
    current: AtomicUsize,
    versions: Mutex<Vec<Arc<Version>>>,
    pins: Mutex<BTreeMap<u64, u64>>,
    /// Retired versions with the pins that must end first.
    retired: Mutex<Vec<(usize, Vec<u64>)>>,
    next_pin: AtomicU64,
}

impl Segment {
    fn new(room: usize) -> Self {
        Self {
            latch: Latch::default(),
            current: AtomicUsize::new(0),
            versions: Mutex::new(vec![Arc::new(Version::new(Vec::new(), &[], room))]),
            pins: Mutex::default(),
            retired: Mutex::default(),
            next_pin: AtomicU64::new(0),
        }
    }

    fn pin(&self) -> u64 {
        let pin = self.next_pin.fetch_add(1, Ordering::SeqCst);
        lock(&self.pins).insert(pin, pin);
        pin
    }

    fn unpin(&self, pin: u64) {
        lock(&self.pins).remove(&pin);
        self.collect();
    }

    fn collect(&self) {
        let pins = lock(&self.pins);
        lock(&self.retired).retain(|(version, before)| {
            let held = before.iter().any(|p| pins.contains_key(p));
            if !held {
                lock(&self.versions)[*version].freed.store(1, Ordering::SeqCst);
            }
            held
        });
    }

    /// The current version: the one atomic load of a reader. What is loaded can be freed meanwhile;
    /// that it is not is what the model checks.
    fn load(&self) -> Arc<Version> {
        let current = self.current.load(Ordering::SeqCst);
        Arc::clone(&lock(&self.versions)[current])
    }

    fn install(&self, version: Version, broken: Broken) {
        let new = {
            let mut versions = lock(&self.versions);
            versions.push(Arc::new(version));
            versions.len() - 1
        };
        let old = self.current.swap(new, Ordering::SeqCst);
        if broken == Broken::FreeAtOnce {
            lock(&self.versions)[old].freed.store(1, Ordering::SeqCst);
        } else {
            let before = lock(&self.pins).keys().copied().collect();
            lock(&self.retired).push((old, before));
            self.collect();
        }
    }

    fn settle(&self, watermark: u64, room: usize, broken: Broken) {
        let latched = broken != Broken::SettleWithoutLatch;
        if latched {
            self.latch.acquire(ALL_STRIPES);
        }
        let old = self.load();
        let all = old.tail_at(u64::MAX);
        let seen = all.partition_point(|t| *t <= watermark);
        let mut base = old.base.clone();
        base.extend_from_slice(&all[..seen]);
        self.install(Version::new(base, &all[seen..], room), broken);
        if latched {
            self.latch.release(ALL_STRIPES);
        }
    }
}

/// Two writers append to one list, a settler folds it, readers look twice: each sees exactly the
/// commits up to its timestamp, both times, and no freed version.
///
/// Mutations in a copy that fail: `Readers::open` without the second look, `Readers::watermark`
/// that returns the published timestamp, `Latch::try_acquire` that ignores the mask,
/// `Clock::advance` that takes any former commit in the ring for the next.
#[test]
fn model_readers_see_exactly_their_prefix() {
    check(|| prefix_protocol(Broken::Nothing));
}

#[test]
fn model_notices_broken_steps_of_publish_settle_and_reclaim() {
    check_fails(Broken::TimestampBeforeLatch, prefix_protocol);
    check_fails(Broken::SettleAboveWatermark, prefix_protocol);
    check_fails(Broken::SettleWithoutLatch, prefix_protocol);
    check_fails(Broken::FreeAtOnce, prefix_protocol);
    check_fails(Broken::TwoLoads, prefix_protocol);
    check_fails(Broken::UnlatchBeforeApply, prefix_protocol);
    check_fails(Broken::CloseBeforeRead, prefix_protocol);
}

struct World {
    clock: Clock,
    readers: Readers,
    segment: Segment,
}

fn prefix_protocol(broken: Broken) {
    const COMMITS: u64 = 4;
    let world =
        Arc::new(World { clock: Clock::new(0), readers: Readers::new(), segment: Segment::new(2) });
    let mut threads = Vec::new();
    for stripe in 0..2u32 {
        let world = Arc::clone(&world);
        // Both write the same list, so both take the same stripe.
        threads.push(spawn(move || {
            for _ in 0..COMMITS / 2 {
                commit_one(&world, stripe, broken);
            }
        }));
    }
    for _ in 0..2 {
        let world = Arc::clone(&world);
        threads.push(spawn(move || read_twice(&world, broken)));
    }
    let settler = Arc::clone(&world);
    threads.push(spawn(move || {
        for _ in 0..2 {
            settle_now(&settler, broken);
        }
    }));
    join_all(threads);
    assert_eq!(world.clock.published(), COMMITS);
    let version = world.segment.load();
    let all: Vec<u64> = version.base.iter().copied().chain(version.tail_at(COMMITS)).collect();
    assert_eq!(all, (1..=COMMITS).collect::<Vec<_>>());
}

fn settle_now(world: &World, broken: Broken) {
    let watermark = match broken {
        Broken::SettleAboveWatermark => world.clock.last(),
        _ => world.readers.watermark(&world.clock),
    };
    let pin = world.segment.pin();
    world.segment.settle(watermark, 2, broken);
    world.segment.unpin(pin);
}

fn commit_one(world: &World, _stripe: u32, broken: Broken) {
    let mask = Latch::stripe(5);
    let segment = &world.segment;
    let pin = segment.pin();
    let mut early = (broken == Broken::TimestampBeforeLatch).then(|| world.clock.next());
    loop {
        segment.latch.acquire(mask);
        let version = segment.load();
        if version.len.load(Ordering::SeqCst) == version.tail.len() {
            segment.latch.release(mask);
            settle_now(world, broken);
            thread::yield_now();
            continue;
        }
        let ts = early.take().unwrap_or_else(|| world.clock.next());
        world.clock.wait_for_room(ts, || u64::MAX);
        if broken == Broken::UnlatchBeforeApply {
            segment.latch.release(mask);
        }
        if broken == Broken::AppliedBeforeAppend {
            world.clock.mark_applied(ts);
        }
        assert!(version.append(ts), "room was seen under the latch");
        if broken != Broken::UnlatchBeforeApply {
            segment.latch.release(mask);
        }
        world.clock.mark_applied(ts);
        world.clock.wait_published(ts, || u64::MAX);
        break;
    }
    segment.unpin(pin);
}

fn read_twice(world: &World, broken: Broken) {
    let segment = &world.segment;
    let (slot, ts) = world.readers.open(&world.clock).expect("there are four slots");
    if broken == Broken::CloseBeforeRead {
        world.readers.close(slot);
    }
    let expected: Vec<u64> = (1..=ts).collect();
    for _ in 0..2 {
        let pin = segment.pin();
        let version = segment.load();
        let mut seen: Vec<u64> = version.base.clone();
        version.assert_alive();
        if broken == Broken::TwoLoads {
            thread::yield_now();
            seen.extend(segment.load().tail_at(ts));
        } else {
            seen.extend(version.tail_at(ts));
        }
        assert_eq!(seen, expected, "a reader at {ts}");
        segment.unpin(pin);
    }
    if broken != Broken::CloseBeforeRead {
        world.readers.close(slot);
    }
}

// ---- (c) latches ----

/// Who holds which stripe, by the book.
#[derive(Default)]
struct Book(Mutex<u32>);

impl Book {
    fn enter(&self, mask: u32) {
        let mut held = lock(&self.0);
        assert_eq!(*held & mask, 0, "two holders of one stripe");
        *held |= mask;
    }

    fn leave(&self, mask: u32) {
        *lock(&self.0) &= !mask;
    }
}

/// Holders of a stripe exclude each other, holders of the word exclude all, and others do not wait.
///
/// Mutations in a copy that fail: `try_acquire` without the test of the mask; a plain store in
/// place of the exchange; `release` that stores 0.
#[test]
fn model_latch_excludes_by_stripe_and_as_a_whole() {
    check(|| {
        let latch = Arc::new(Latch::default());
        let book = Arc::new(Book::default());
        let masks = [1, 2, 3, ALL_STRIPES, 1 << 31 | 1];
        let threads = masks
            .map(|mask| {
                let (latch, book) = (Arc::clone(&latch), Arc::clone(&book));
                spawn(move || {
                    for _ in 0..2 {
                        latch.acquire(mask);
                        book.enter(mask);
                        thread::yield_now();
                        book.leave(mask);
                        latch.release(mask);
                    }
                })
            })
            .into();
        join_all(threads);
        assert!(latch.try_acquire(ALL_STRIPES));
    });
}

// ---- (d) serializable validation ----

/// A value with the timestamp of its last write, in a segment of its own.
#[derive(Default)]
struct Cell {
    latch: Latch,
    newest: AtomicU64,
}

/// Two transactions, each reading what the other writes, with the latches of what they read and
/// write taken in order, as `plan.rs` does: never do both commit.
#[test]
fn model_crossing_transactions_never_both_commit() {
    check(|| crossing(Broken::Nothing));
}

#[test]
fn model_notices_write_skew() {
    check_fails(Broken::ReadsNotValidated, crossing);
    check_fails(Broken::ReadsNotLatched, crossing);
    check_fails(Broken::UnlatchBeforeApply, crossing);
    check_fails(Broken::TimestampBeforeLatch, crossing);
}

struct Cells {
    clock: Clock,
    readers: Readers,
    cells: [Cell; 2],
}

fn crossing(broken: Broken) {
    let world = Arc::new(Cells {
        clock: Clock::new(0),
        readers: Readers::new(),
        cells: Default::default(),
    });
    let threads = [(0, 1), (1, 0)]
        .map(|(read, write)| {
            let world = Arc::clone(&world);
            spawn(move || read_one_write_other(&world, read, write, broken))
        })
        .into();
    let committed: Vec<(u64, Option<u64>)> = join_all(threads);
    if let [(read_a, Some(ts_a)), (read_b, Some(ts_b))] = committed[..] {
        // Both committed: one must have begun after the other was published.
        assert!(read_a >= ts_b || read_b >= ts_a, "write skew: {committed:?}");
    }
}

/// Returns at which timestamp it read and, if it committed, at which it wrote.
fn read_one_write_other(
    world: &Cells,
    read: usize,
    write: usize,
    broken: Broken,
) -> (u64, Option<u64>) {
    let (slot, read_ts) = world.readers.open(&world.clock).expect("there are four slots");
    let cells = &world.cells;
    let wanted: Vec<&Latch> = (0..2)
        .filter(|i| *i == write || broken != Broken::ReadsNotLatched)
        .map(|i| &cells[i].latch)
        .collect();
    let release = || wanted.iter().for_each(|latch| latch.release(1));
    let early = (broken == Broken::TimestampBeforeLatch).then(|| world.clock.next());
    let valid = |i: usize| cells[i].newest.load(Ordering::SeqCst) <= read_ts;
    // Validation before the latches is what taking the timestamp too early amounts to.
    let valid_early = early.map(|_| valid(read));
    wanted.iter().for_each(|latch| latch.acquire(1));
    let reads_valid = match broken {
        Broken::ReadsNotValidated => true,
        _ => valid_early.unwrap_or_else(|| valid(read)),
    };
    let commits = valid(write) && reads_valid;
    let ts = match early {
        Some(ts) => Some(ts),
        None if commits => Some(world.clock.next()),
        None => None,
    };
    if broken == Broken::UnlatchBeforeApply {
        release();
    }
    if let Some(ts) = ts {
        if commits {
            cells[write].newest.store(ts, Ordering::SeqCst);
        }
        world.clock.mark_applied(ts);
    }
    if broken != Broken::UnlatchBeforeApply {
        release();
    }
    if let Some(ts) = ts {
        world.clock.wait_published(ts, || u64::MAX);
    }
    world.readers.close(slot);
    (read_ts, ts.filter(|_| commits))
}
