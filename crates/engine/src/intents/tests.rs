//! Hand-over, deadlocks, ends of waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use telar_graph::{EdgeTypeId, PropertyKeyId};

use super::{Holder, Intent, Intents, Part, Refused, Thing, WriteWait};
use crate::sync::thread;

/// Long enough that no test ends by it.
const LONG: Duration = Duration::from_secs(60);

fn wait() -> WriteWait {
    WriteWait { longest: LONG, ..WriteWait::default() }
}

fn whole(v: u32) -> Intent {
    (Thing::Vertex(v), Part::Whole)
}

fn property(v: u32, key: u16) -> Intent {
    (Thing::Vertex(v), Part::Property(PropertyKeyId::from_raw(key)))
}

/// Waits until so many have begun to wait.
fn until_waiting(intents: &Intents, waits: u64) {
    while intents.waits() < waits {
        thread::yield_now();
    }
}

#[test]
fn parts_conflict_as_commits_do() {
    let key = |n| Part::Property(PropertyKeyId::from_raw(n));
    let table = [
        (Part::Whole, Part::Whole, true),
        (Part::Whole, key(1), true),
        (Part::Whole, Part::Labels, true),
        (Part::Whole, Part::Existence, true),
        (key(1), key(1), true),
        (key(1), key(2), false),
        (key(1), Part::Labels, false),
        (key(1), Part::Existence, false),
        (Part::Labels, Part::Labels, true),
        (Part::Labels, Part::Existence, false),
        (Part::Existence, Part::Existence, false),
    ];
    for (a, b, conflict) in table {
        assert_eq!((a.conflicts(b), b.conflicts(a)), (conflict, conflict), "{a:?} {b:?}");
    }
}

#[test]
fn what_does_not_conflict_is_taken_at_once() {
    let intents = Intents::default();
    let mut holders: Vec<Holder> = (0..4).map(|_| Holder::new(&intents, wait())).collect();
    for (n, holder) in holders.iter_mut().enumerate() {
        assert_eq!(holder.acquire(&intents, property(1, n as u16)), Ok(Some(false)));
        assert_eq!(holder.acquire(&intents, property(1, n as u16)), Ok(None), "asked before");
        assert_eq!(holder.acquire(&intents, whole(10 + n as u32)), Ok(Some(false)));
        let existence = (Thing::Vertex(1), Part::Existence);
        assert_eq!(holder.acquire(&intents, existence), Ok(Some(false)));
    }
    holders.iter_mut().for_each(|holder| holder.release(&intents));
    assert!(intents.are_free());
}

#[test]
fn those_who_wait_go_on_in_their_order() {
    const THREADS: u64 = 8;
    let intents = Intents::default();
    let order = std::sync::Mutex::new(Vec::new());
    let mut first = Holder::new(&intents, wait());
    first.acquire(&intents, whole(1)).unwrap();
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (intents, order) = (&intents, &order);
            scope.spawn(move || {
                let mut holder = Holder::new(intents, wait());
                assert_eq!(holder.acquire(intents, whole(1)), Ok(Some(true)));
                order.lock().unwrap().push(n);
                holder.release(intents);
            });
            until_waiting(intents, n + 1);
        }
        assert!(order.lock().unwrap().is_empty());
        first.release(&intents);
    });
    assert_eq!(*order.lock().unwrap(), (0..THREADS).collect::<Vec<_>>());
    assert!(intents.are_free());
}

#[test]
fn whoever_holds_a_part_does_not_wait_for_those_who_wait_for_it() {
    let intents = Intents::default();
    let mut first = Holder::new(&intents, wait());
    first.acquire(&intents, property(1, 1)).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            let mut second = Holder::new(&intents, wait());
            let taken = second.acquire(&intents, whole(1));
            second.release(&intents);
            taken
        });
        until_waiting(&intents, 1);
        assert_eq!(first.acquire(&intents, property(1, 2)), Ok(Some(false)));
        assert_eq!(first.acquire(&intents, whole(1)), Ok(Some(false)));
        // A third one stands behind the second.
        let third = scope.spawn(|| {
            let mut third = Holder::new(&intents, wait());
            let taken = third.acquire(&intents, property(1, 3));
            third.release(&intents);
            taken
        });
        until_waiting(&intents, 2);
        first.release(&intents);
        assert_eq!(waits.join().unwrap(), Ok(Some(true)));
        assert_eq!(third.join().unwrap(), Ok(Some(true)));
    });
    assert!(intents.are_free());
}

/// So many transactions, each of which holds one thing and wants that of the next.
fn circle(size: u32, restarts: impl Fn(u32) -> bool) -> Vec<Result<Option<bool>, Refused>> {
    let intents = Intents::default();
    let mut holders: Vec<Holder> = (0..size)
        .map(|n| Holder::new(&intents, WriteWait { restarts: restarts(n), ..wait() }))
        .collect();
    for (n, holder) in holders.iter_mut().enumerate() {
        holder.acquire(&intents, whole(n as u32)).unwrap();
    }
    let ends = thread::scope(|scope| {
        let threads: Vec<_> = holders
            .iter_mut()
            .enumerate()
            .map(|(n, holder)| {
                let intents = &intents;
                scope.spawn(move || {
                    let taken = holder.acquire(intents, whole((n as u32 + 1) % size));
                    holder.release(intents);
                    taken
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(intents.are_free());
    ends
}

#[test]
fn of_a_circle_one_hears_of_the_deadlock() {
    for size in [2, 3, 7] {
        for _ in 0..20 {
            let ends = circle(size, |_| false);
            let refused = ends.iter().filter(|end| **end == Err(Refused::Deadlock)).count();
            assert_eq!(refused, 1, "{ends:?}");
            assert_eq!(ends.last(), Some(&Err(Refused::Deadlock)), "the youngest: {ends:?}");
            // One that can be run again unnoticed goes first.
            let ends = circle(size, |n| n == 0);
            assert_eq!(ends[0], Err(Refused::Deadlock), "{ends:?}");
            assert!(ends[1..].iter().all(Result::is_ok), "{ends:?}");
        }
    }
}

#[test]
fn after_a_deadlock_everything_is_taken_in_one_order() {
    const THREADS: u32 = 4;
    const TIMES: u32 = 200;
    let intents = Intents::default();
    let (inside, done) = ([const { AtomicU32::new(0) }; 3], AtomicU32::new(0));
    thread::scope(|scope| {
        for n in 0..THREADS {
            let (intents, inside, done) = (&intents, &inside, &done);
            scope.spawn(move || {
                for i in 0..TIMES {
                    let mut holder = Holder::new(intents, WriteWait { restarts: true, ..wait() });
                    let order = [n + i, n + i + 1 + (i & 1)].map(|v| v % 3);
                    let mut ready = Ok(());
                    loop {
                        let mut take = || {
                            ready?;
                            order
                                .iter()
                                .try_for_each(|v| holder.acquire(intents, whole(*v)).map(drop))
                        };
                        match take() {
                            Ok(()) => break,
                            Err(Refused::Deadlock) => ready = holder.take_in_order(intents),
                            Err(other) => panic!("{other:?}"),
                        }
                    }
                    for v in order {
                        assert_eq!(inside[v as usize].fetch_add(1, Ordering::SeqCst), 0);
                        inside[v as usize].fetch_sub(1, Ordering::SeqCst);
                        done.fetch_add(1, Ordering::SeqCst);
                    }
                    holder.release(intents);
                }
            });
        }
    });
    assert_eq!(done.into_inner(), 2 * THREADS * TIMES);
    assert!(intents.are_free());
}

#[test]
fn a_wait_ends_with_its_deadline_and_when_somebody_says_so() {
    let intents = Intents::default();
    let mut first = Holder::new(&intents, wait());
    first.acquire(&intents, whole(1)).unwrap();
    let late = WriteWait { deadline: Some(Instant::now()), ..wait() };
    let mut second = Holder::new(&intents, late);
    assert_eq!(second.acquire(&intents, whole(1)), Err(Refused::TimedOut));
    second.release(&intents);
    for place in 0..2 {
        let flag = Arc::new(AtomicBool::new(false));
        let mut told = wait();
        told.flags[place] = Some(Arc::clone(&flag));
        thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let mut third = Holder::new(&intents, told);
                let taken = third.acquire(&intents, whole(1));
                third.release(&intents);
                taken
            });
            until_waiting(&intents, 2 + place as u64);
            flag.store(true, Ordering::Relaxed);
            assert_eq!(waits.join().unwrap(), Err(Refused::Terminated));
        });
    }
    first.release(&intents);
    assert!(intents.are_free());
}

#[test]
fn whoever_takes_too_long_holds_nothing_any_more() {
    let intents = Intents::default();
    let short = || WriteWait { longest: Duration::from_millis(20), ..wait() };
    let mut first = Holder::new(&intents, wait());
    first.acquire(&intents, whole(1)).unwrap();
    first.acquire(&intents, whole(2)).unwrap();
    let mut second = Holder::new(&intents, short());
    assert_eq!(second.acquire(&intents, whole(1)), Ok(Some(true)));
    assert_eq!(first.acquire(&intents, whole(1)), Ok(None), "asked before");
    // What nobody has waited for is still its own.
    thread::scope(|scope| {
        let third = scope.spawn(|| {
            let mut third = Holder::new(&intents, wait());
            let taken = third.acquire(&intents, whole(2));
            third.release(&intents);
            taken
        });
        until_waiting(&intents, 2);
        first.release(&intents);
        assert_eq!(third.join().unwrap(), Ok(Some(true)));
    });
    assert!(!intents.are_free(), "the second holds it");
    second.release(&intents);
    assert!(intents.are_free());
}

#[test]
fn very_many_are_not_taken() {
    let intents = Intents::default();
    let mut holder = Holder::new(&intents, wait());
    let taken = (0..10_000).filter(|n| holder.acquire(&intents, whole(*n)) != Ok(None)).count();
    assert_eq!(taken, 4096);
    let pair = Thing::Pair(EdgeTypeId::from_raw(0), 1, 2);
    assert_eq!(holder.acquire(&intents, (pair, Part::Whole)), Ok(None));
    holder.release(&intents);
    assert!(intents.are_free());
}
