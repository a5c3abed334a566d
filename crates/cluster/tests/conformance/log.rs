//! Checks of slots.

use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::{ErrorKind, Log, Name, PartName, Put, Slot, SlotRange, StoreError};

use crate::{Fixture, LIMIT, name, range};

/// Puts until the outcome is known: the slot that is there, and whether the caller won it.
fn settle(log: &dyn Log, stream: &Name, range: SlotRange, body: &[u8]) -> (bool, Slot) {
    let own = Slot { range, body: body.to_vec() };
    loop {
        match log.put_once(stream, range, body) {
            Ok(Put::Won) => return (true, own),
            Ok(Put::Lost(slot)) => return (slot == own, slot),
            Ok(Put::Unknown(_)) => {}
            Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
        }
    }
}

/// All slots from `from` on.
fn read(log: &dyn Log, stream: &Name, mut from: u64) -> Vec<Slot> {
    let mut all: Vec<Slot> = Vec::new();
    loop {
        match log.read(stream, from, usize::MAX) {
            Ok(slots) if slots.is_empty() => return all,
            Ok(slots) => {
                all.extend(slots);
                from = all.last().map_or(from, |slot| slot.range.next());
            }
            Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
        }
    }
}

fn fill(log: &dyn Log, stream: &Name, firsts: impl Iterator<Item = u64>, len: u64) {
    for first in firsts {
        let put = log.put_once(stream, range(first, first + len), &first.to_le_bytes()).unwrap();
        assert!(matches!(put, Put::Won), "{first}: {put:?}");
    }
}

pub(crate) fn one_of_many_writers_wins_a_slot(store: &impl Fixture) {
    let (writers, slots) = if store.is_faulty() { (4, 8) } else { (8, 12_u32) };
    let barrier = Barrier::new(writers);
    let run = |writer: usize| {
        let stores = store.open();
        let mut outcomes = Vec::new();
        for slot in 0..slots {
            barrier.wait();
            // Of different length, too: the slot's range is the winner's.
            let (stream, range) = (name(&format!("race/{slot}")), range(1, 2 + writer as u64));
            let body = format!("slot {slot} of writer {writer}");
            outcomes.push(settle(&*stores.log, &stream, range, body.as_bytes()));
        }
        outcomes
    };
    let outcomes: Vec<_> = thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..writers).map(|w| scope.spawn(move || run(w))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for slot in 0..slots {
        let at: Vec<_> = outcomes.iter().map(|of: &Vec<_>| &of[slot as usize]).collect();
        let wins = at.iter().filter(|(won, _)| *won).count();
        assert_eq!(wins, 1, "slot {slot}: {at:?}");
        assert!(at.iter().all(|(_, found)| *found == at[0].1), "slot {slot}: {at:?}");
        let stored = read(&*store.open().log, &name(&format!("race/{slot}")), 1);
        assert_eq!(stored, [at[0].1.clone()]);
    }
}

pub(crate) fn slots_come_in_order_and_from_the_middle(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("order"));
    assert!(read(&*log, &stream, 1).is_empty());
    fill(&*log, &stream, (1..100).step_by(10), 10);
    let all = read(&*log, &stream, 1);
    let firsts: Vec<u64> = all.iter().map(|slot| slot.range.first()).collect();
    assert_eq!(firsts, (1..100).step_by(10).collect::<Vec<_>>());
    for (from, expected) in [(1, 0), (2, 0), (10, 0), (11, 1), (50, 4), (91, 9), (100, 9)] {
        assert_eq!(read(&*log, &stream, from), all[expected..], "from {from}");
    }
    for from in [101, 102, 1000] {
        assert!(read(&*log, &stream, from).is_empty(), "from {from}");
    }
    // One slot at least, and no more than asked for.
    assert_eq!(log.read(&stream, 1, 0).unwrap(), all[..1]);
    assert_eq!(log.read(&stream, 1, 8).unwrap(), all[..1]);
    assert_eq!(log.read(&stream, 1, 9).unwrap(), all[..2]);
    assert_eq!(log.read(&stream, 1, 24).unwrap(), all[..3]);
}

pub(crate) fn a_long_log_is_read_piece_by_piece(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("long"));
    // More than the pages that a store reads at once.
    fill(&*log, &stream, 1..=700, 1);
    // Who has written it, and who has not.
    for log in [log, store.open().log] {
        for from in [1, 2, 350, 700] {
            let all = read(&*log, &stream, from);
            assert!(all.iter().map(|slot| slot.range.first()).eq(from..=700), "from {from}");
        }
    }
}

/// Whatever such a read lacks is at its end, and it lacks nothing for long.
pub(crate) fn stale_reads_show_a_beginning_of_the_log(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("stale"));
    let end = Instant::now() + Duration::from_secs(60);
    for first in 1..=20 {
        settle(&*log, &stream, range(first, first + 1), &first.to_le_bytes());
        let all = read(&*log, &stream, 1);
        for from in [1, 1 + first / 2, first, first + 1] {
            loop {
                let all = &all[usize::try_from(from).unwrap() - 1..];
                match log.read_stale(&stream, from, usize::MAX) {
                    Ok(found) if found == all => break,
                    Ok(found) => assert!(all.starts_with(&found), "from {from}: {found:?}"),
                    Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
                }
                assert!(Instant::now() < end, "from {from}: {} slots do not come", all.len());
            }
        }
    }
}

pub(crate) fn bodies_of_all_sizes_come_back(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("sizes"));
    assert_eq!(log.body_bytes_max(), LIMIT);
    let mut first = 1;
    for bytes in [0, 1, LIMIT - 1, LIMIT] {
        let body: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        assert!(matches!(log.put_once(&stream, range(first, first + 1), &body), Ok(Put::Won)));
        assert_eq!(read(&*log, &stream, first)[0].body, body);
        first += 1;
    }
    let error = log.put_once(&stream, range(first, first + 1), &[0; LIMIT + 1]).unwrap_err();
    assert!(
        matches!(error, StoreError::TooLarge { bytes, max } if (bytes, max) == (LIMIT + 1, LIMIT))
    );
    assert!(read(&*log, &stream, first).is_empty());
    // Timestamps up to the largest of a commit.
    let most = log.put_once(&stream, range(first, (1 << 63) - 1), b"most");
    assert!(matches!(most, Ok(Put::Won)), "{most:?}");
    let last = range((1 << 63) - 1, 1 << 63);
    assert!(matches!(log.put_once(&stream, last, b"last"), Ok(Put::Won)));
    assert_eq!(read(&*log, &stream, last.first())[0].body, b"last");
}

pub(crate) fn trimmed_slots_cannot_be_won_again(store: &impl Fixture) {
    let (stores, stream) = (store.open(), name("fence"));
    let log = &*stores.log;
    fill(log, &stream, 1..20, 1);
    assert_eq!(log.trim(&stream, 10).unwrap(), 10);
    // A leader that slept since timestamp 5 and comes back, in this process and in another.
    for log in [log, &*store.open().log] {
        for first in 1..10 {
            let put = log.put_once(&stream, range(first, 30), b"late");
            let trimmed =
                matches!(put, Err(StoreError::Trimmed { asked, oldest: 10, .. }) if asked == first);
            assert!(trimmed, "{first}: {put:?}");
            let error = log.read(&stream, first, 1).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Behind, "{error}");
        }
    }
    assert_eq!(read(log, &stream, 10).len(), 10);
    // All of it: the next slot is the only one that can be won.
    assert_eq!(log.trim(&stream, 20).unwrap(), 20);
    assert!(read(log, &stream, 20).is_empty());
    assert!(log.put_once(&stream, range(19, 30), b"late").is_err());
    fill(log, &stream, 20..25, 1);
    assert_eq!(read(log, &stream, 20).len(), 5);
}

/// A put at `first` is refused, since no slot ends there.
fn lacks(log: &dyn Log, stream: &Name, first: u64) {
    let put = log.put_once(stream, range(first, first + 3), b"x");
    let missing = matches!(put, Err(StoreError::Missing { at, .. }) if at == first - 1);
    assert!(missing, "{first}: {put:?}");
}

pub(crate) fn a_slot_comes_after_the_one_before_it(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("after"));
    lacks(&*log, &stream, 2);
    fill(&*log, &stream, std::iter::once(1), 4);
    // One that knows the slot, and one that looks for it.
    for log in [&*log, &*store.open().log] {
        for first in [2, 4, 6, 100] {
            lacks(log, &stream, first);
        }
    }
    let other = store.open().log;
    fill(&*other, &stream, std::iter::once(5), 2);
    fill(&*log, &stream, std::iter::once(7), 1);
    // What a writer knows to be there is trimmed.
    assert_eq!(log.trim(&stream, 8).unwrap(), 8);
    for log in [&*log, &*other, &*store.open().log] {
        lacks(log, &stream, 9);
    }
    fill(&*log, &stream, std::iter::once(8), 2);
    fill(&*other, &stream, std::iter::once(10), 1);
    assert_eq!(read(&*log, &stream, 8).len(), 2);
    lacks(&*log, &stream, 12);
}

/// No store may lose slots, and some do: one that is promoted and had not everything, one whose
/// disk was lost.
pub(crate) fn what_a_store_has_lost_is_missed(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("lost"));
    fill(&*log, &stream, 1..=6, 1);
    store.lose(&stream, 3);
    for log in [&*log, &*store.open().log] {
        // What is before the gap is read, and what is after it.
        for (from, last) in [(1, 2), (2, 2), (4, 6), (6, 6)] {
            let slots = log.read(&stream, from, usize::MAX).unwrap();
            assert_eq!(slots.last().unwrap().range.first(), last, "from {from}");
        }
        for bytes_max in [0, usize::MAX] {
            let error = log.read(&stream, 3, bytes_max).unwrap_err();
            assert!(matches!(error, StoreError::Missing { at: 3, .. }), "{error}");
            assert_eq!(error.kind(), ErrorKind::Data);
        }
    }
    // Its end, and all of it.
    for lost in [&[6][..], &[1, 2, 4, 5]] {
        lost.iter().for_each(|first| store.lose(&stream, *first));
        for log in [&*log, &*store.open().log] {
            lacks(log, &stream, 7);
        }
    }
    assert!(read(&*log, &stream, 1).is_empty());
}

pub(crate) fn trimming_keeps_whole_slots_and_never_goes_back(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("trim"));
    assert_eq!(log.trim(&stream, 100).unwrap(), 1);
    fill(&*log, &stream, (1..100).step_by(10), 10);
    for (before, mark) in [(0, 1), (1, 1), (10, 1), (11, 11), (12, 11), (35, 31), (11, 31), (0, 31)]
    {
        assert_eq!(log.trim(&stream, before).unwrap(), mark, "before {before}");
        assert_eq!(read(&*log, &stream, mark)[0].range.first(), mark);
    }
    assert_eq!(log.trim(&stream, 1000).unwrap(), 101);
    assert_eq!(log.trim(&stream, 1000).unwrap(), 101);
    fill(&*log, &stream, (101..140).step_by(10), 10);
    assert_eq!(read(&*store.open().log, &stream, 101).len(), 4);
}

/// More than a store reads at once.
pub(crate) fn readers_before_the_mark_are_told_so_however_much_follows(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("behind"));
    fill(&*log, &stream, 1..400, 1);
    assert_eq!(log.trim(&stream, 50).unwrap(), 50);
    for from in [1, 20, 49] {
        for bytes_max in [0, 1, 100, usize::MAX] {
            let found = log.read(&stream, from, bytes_max);
            let told = matches!(found, Err(StoreError::Trimmed { oldest: 50, .. }));
            assert!(told, "{from}, {bytes_max}: {found:?}");
        }
        let followed = log.follow(&stream, from, usize::MAX, Duration::from_millis(20));
        assert!(matches!(followed, Err(StoreError::Trimmed { oldest: 50, .. })), "{followed:?}");
    }
}

/// A trim that finds nothing left, since another removed it, is told the mark that this set.
pub(crate) fn trims_at_once_tell_the_mark(store: &impl Fixture) {
    const TRIMMERS: u64 = 3;
    const ROUNDS: u64 = 100;
    let barrier = Barrier::new(TRIMMERS as usize);
    let run = |trimmer: u64| {
        let log = store.open().log;
        let streams = (0..ROUNDS).map(|round| name(&format!("trims/{round}")));
        let trim = |stream: Name| {
            if trimmer == 0 {
                fill(&*log, &stream, std::iter::once(1), 1);
            }
            barrier.wait();
            log.trim(&stream, 2 + trimmer).map_err(|error| error.to_string())
        };
        streams.map(trim).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..TRIMMERS).map(|t| scope.spawn(move || run(t))).collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), vec![Ok(2); ROUNDS as usize]);
        }
    });
}

pub(crate) fn a_stream_knows_its_beginning_and_its_bytes(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("bytes"));
    let look = || (log.oldest(&stream).unwrap(), log.bytes(&stream).unwrap());
    assert_eq!(look(), (1, 0));
    fill(&*log, &stream, 1..40, 1);
    assert_eq!(look(), (1, 39 * 8));
    let part = |slot, index| PartName { slot, nonce: 7, index };
    log.put_part(&stream, part(20, 0), &[1; LIMIT]).unwrap();
    log.put_part(&stream, part(30, 0), &[1; 10]).unwrap();
    assert_eq!(look(), (1, 39 * 8 + 10 + LIMIT as u64));
    log.trim(&stream, 25).unwrap();
    assert_eq!(look(), (25, 15 * 8 + 10));
    log.trim(&stream, 1000).unwrap();
    assert_eq!(look(), (40, 0));
}

pub(crate) fn readers_of_a_log_that_is_trimmed_see_no_gap(store: &impl Fixture) {
    const END: u64 = 121;
    let stream = name("moving");
    thread::scope(|scope| {
        scope.spawn(|| {
            let log = store.open().log;
            for first in (1..END).step_by(2) {
                fill(&*log, &stream, std::iter::once(first), 2);
            }
        });
        scope.spawn(|| {
            let log = store.open().log;
            let mut mark = 0;
            while mark < END - 21 {
                let last = log.read(&stream, mark.max(1), usize::MAX).unwrap();
                let end = last.last().map_or(1, |slot| slot.range.next());
                mark = log.trim(&stream, end.saturating_sub(20)).unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let log = store.open().log;
                let mut seen = BTreeSet::new();
                let mut next = 1;
                while next < END {
                    match log.follow(&stream, next, 64, Duration::from_millis(50)) {
                        Ok(slots) => {
                            for slot in slots {
                                assert_eq!(slot.range.first(), next, "a gap");
                                assert_eq!(slot.body, next.to_le_bytes());
                                next = slot.range.next();
                                seen.insert(slot.range);
                            }
                        }
                        Err(StoreError::Trimmed { asked, oldest, .. }) => {
                            assert!(asked == next && oldest > next);
                            next = oldest;
                        }
                        Err(cause) => panic!("{cause}"),
                    }
                }
                assert!(seen.len() >= 10);
            });
        }
    });
}

pub(crate) fn followers_wake_up(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("follow"));
    let begin = Instant::now();
    let wait = Duration::from_millis(30);
    assert!(log.follow(&stream, 1, 1, wait).unwrap().is_empty());
    assert!(begin.elapsed() < Duration::from_secs(20));
    thread::scope(|scope| {
        let follower = scope.spawn(|| {
            let log = store.open().log;
            let mut found = Vec::new();
            let end = Instant::now() + Duration::from_secs(30);
            while found.is_empty() && Instant::now() < end {
                found = log.follow(&stream, 1, 1, Duration::from_secs(30)).unwrap();
            }
            found
        });
        thread::sleep(Duration::from_millis(30));
        fill(&*log, &stream, 1..2, 1);
        assert_eq!(follower.join().unwrap().len(), 1);
    });
}

pub(crate) fn streams_are_apart(store: &impl Fixture) {
    let log = store.open().log;
    let streams = [name("a"), name("a/b"), name("a-b"), name("A")];
    for (at, stream) in (1..).zip(&streams) {
        fill(&*log, stream, 1..1 + at, 1);
    }
    assert_eq!(log.trim(&streams[3], 3).unwrap(), 3);
    for (at, stream) in (1..).zip(&streams[..3]) {
        assert_eq!(read(&*log, stream, 1).len(), at);
    }
}
