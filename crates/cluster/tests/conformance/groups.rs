//! Checks of groups: bodies with parts, over any log.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use telar_cluster::store::{
    Append, Appender, ErrorKind, Group, HEADER_BYTES, Log, Name, PartName, Put, Reader, StoreError,
    Sweeper, begin_at,
};

use crate::{Fixture, LIMIT, name, range};

const PATIENCE: Duration = Duration::from_secs(20);

fn payload(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|at| ((at * 31 + seed) % 253) as u8).collect()
}

fn read_all(log: &dyn Log, stream: &Name, from: u64) -> Vec<Group> {
    read_by(log, stream, from, usize::MAX)
}

/// The same, so many bytes at a time and one group more.
fn read_by(log: &dyn Log, stream: &Name, from: u64, bytes_max: usize) -> Vec<Group> {
    let mut reader = Reader::new(log, stream.clone(), from);
    let mut groups = Vec::new();
    loop {
        match reader.read(bytes_max, Duration::ZERO) {
            // A stale look shows nothing, so ask the log itself whether this is the end.
            Ok(found) if found.is_empty() => match log.read(stream, reader.next(), 0) {
                Ok(found) if found.is_empty() => return groups,
                Ok(_) => {}
                Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
            },
            Ok(found) => {
                let but_last = &found[..found.len() - 1];
                let bytes: usize = but_last.iter().map(|group| group.payload.len()).sum();
                assert!(bytes < bytes_max, "{bytes} and one more");
                groups.extend(found);
            }
            Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
        }
    }
}

pub(crate) fn groups_of_all_sizes_come_back(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("sizes"));
    let appender = Appender::new(&*log, stream.clone()).unwrap();
    let inline = LIMIT - HEADER_BYTES;
    let sizes = [0, 1, inline - 1, inline, inline + 1, LIMIT, LIMIT + 1, 2 * LIMIT, 40 * LIMIT + 7];
    let parts = [0, 0, 0, 0, 1, 1, 2, 2, 41];
    let mut first = 1;
    for (bytes, parts) in sizes.into_iter().zip(parts) {
        let before = log.parts(&stream, 0).unwrap().len();
        let range = range(first, first + 3);
        let append = appender.append(range, 9, 77, &payload(bytes, 0), PATIENCE).unwrap();
        assert!(matches!(append, Append::Won), "{bytes}: {append:?}");
        assert_eq!(log.parts(&stream, 0).unwrap().len() - before, parts, "{bytes}");
        first += 3;
    }
    let groups = read_all(&*store.open().log, &stream, 1);
    assert_eq!(groups.len(), sizes.len());
    for bytes_max in [1, 2 * LIMIT, 5 * LIMIT] {
        assert_eq!(read_by(&*log, &stream, 1, bytes_max), groups, "{bytes_max}");
    }
    for (at, group) in groups.iter().enumerate() {
        assert_eq!((group.epoch, group.salt, group.identity.writer), (9, 77, appender.writer()));
        assert_eq!(group.payload, payload(sizes[at], 0), "{}", sizes[at]);
    }
    let nonces: HashSet<_> = groups.iter().map(|group| group.identity.nonce).collect();
    assert_eq!(nonces.len(), groups.len());
    // Trimming takes the parts along.
    log.trim(&stream, first).unwrap();
    assert!(log.parts(&stream, 0).unwrap().is_empty());
}

pub(crate) fn orphans_are_swept_and_others_are_not(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("orphans"));
    let log = &*log;
    let [a, b] = [(); 2].map(|()| Appender::new(log, stream.clone()).unwrap());
    let large = payload(3 * LIMIT, 1);
    let small = payload(10, 2);
    assert!(matches!(a.append(range(1, 2), 1, 0, &large, PATIENCE), Ok(Append::Won)));
    // Loses with parts, against parts and against none.
    let lost = b.append(range(1, 5), 1, 0, &large, PATIENCE).unwrap();
    let Append::Lost(group) = lost else { panic!("{lost:?}") };
    assert_eq!((group.identity.writer, group.payload), (a.writer(), large.clone()));
    assert!(matches!(a.append(range(2, 4), 1, 0, &small, PATIENCE), Ok(Append::Won)));
    assert!(matches!(b.append(range(2, 9), 1, 0, &large, PATIENCE), Ok(Append::Lost(_))));
    // A writer between its parts and its slot; one that was within a slot; one more than named.
    for slot in [4, 3] {
        log.put_part(&stream, PartName { slot, nonce: 5, index: 0 }, b"part").unwrap();
    }
    let named = log.parts(&stream, 0).unwrap().into_iter().find(|part| part.slot == 1).unwrap();
    let nonce = read_all(log, &stream, 1)[0].identity.nonce;
    log.put_part(&stream, PartName { nonce, index: 3, ..named }, b"part").unwrap();
    assert_eq!(log.parts(&stream, 0).unwrap().len(), 12);
    let parts = |from| log.parts(&stream, from).unwrap().len();
    assert_eq!([1, 2, 3, 4, 5].map(parts), [12, 5, 2, 1, 0]);
    let mut sweeper = Sweeper::default();
    assert_eq!(sweeper.sweep(log, &stream).unwrap(), 3 + 3 + 1 + 1);
    assert_eq!(sweeper.sweep(log, &stream).unwrap(), 0);
    let slots: Vec<u64> = log.parts(&stream, 0).unwrap().iter().map(|part| part.slot).collect();
    assert_eq!(slots, [1, 1, 1, 4]);
    assert_eq!(read_all(log, &stream, 1)[0].payload, large);
}

/// Writers that read to the end and append there, as leaders that do not know of each other would.
pub(crate) fn racing_appenders_make_one_log(store: &impl Fixture) {
    let (writers, each) = if store.is_faulty() { (3, 4) } else { (4, 8) };
    let stream = name("race");
    let appended: Vec<(u64, Vec<u8>)> = thread::scope(|scope| {
        let run = |writer: usize| {
            let stream = name("race");
            let log = store.open().log;
            let appender = Appender::new(&*log, stream).unwrap();
            let (mut next, mut won) = (1, Vec::new());
            while won.len() < each {
                let bytes = if won.len() % 3 == 0 { 2 * LIMIT + 1 } else { 20 + won.len() };
                let body = payload(bytes, writer * 100 + won.len());
                let range = range(next, next + 1 + writer as u64);
                match appender.append(range, 1, 0, &body, PATIENCE) {
                    Ok(Append::Won) => {
                        won.push((next, body));
                        next = range.next();
                    }
                    Ok(Append::Lost(group)) => {
                        assert_ne!(group.identity.writer, appender.writer());
                        next = group.range.next();
                    }
                    Ok(Append::Unknown(cause)) => panic!("not resolved: {cause}"),
                    Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
                }
            }
            won
        };
        let threads: Vec<_> = (0..writers).map(|writer| scope.spawn(move || run(writer))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let groups = read_all(&*store.open().log, &stream, 1);
    let mut expected = appended;
    expected.sort();
    let found: Vec<_> = groups.iter().map(|g| (g.range.first(), g.payload.clone())).collect();
    // With faults, an attempt that reported an error may not have written: so equal in any case.
    assert!(found == expected, "{} groups, {} acknowledged", found.len(), expected.len());
    for pair in groups.windows(2) {
        assert_eq!(pair[0].range.next(), pair[1].range.first());
    }
}

pub(crate) fn damage_is_noticed(store: &impl Fixture) {
    let log = store.open().log;
    let damaged = |stream: &Name, expected: &str| {
        let error = Reader::new(&*log, stream.clone(), 1).read(1, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Data, "{error}");
        assert!(matches!(error, StoreError::Damaged { .. }));
        assert!(error.to_string().contains(expected), "{error}");
    };
    let stream = name("foreign");
    assert!(matches!(log.put_once(&stream, range(1, 2), &[7; 100]), Ok(Put::Won)));
    damaged(&stream, "slot 1 of foreign is damaged: it does not begin with");
    let stream = name("part");
    let appender = Appender::new(&*log, stream.clone()).unwrap();
    let large = payload(2 * LIMIT, 3);
    assert!(matches!(appender.append(range(1, 2), 1, 0, &large, PATIENCE), Ok(Append::Won)));
    let part = log.parts(&stream, 0).unwrap()[1];
    log.remove_part(&stream, part).unwrap();
    damaged(&stream, "part 1 of 2 is missing");
    log.put_part(&stream, part, &[1; LIMIT]).unwrap();
    damaged(&stream, "checksum");
    log.remove_part(&stream, part).unwrap();
    log.put_part(&stream, part, &large[LIMIT..]).unwrap();
    assert_eq!(read_all(&*log, &stream, 1)[0].payload, large);
}

pub(crate) fn a_stream_begins_where_it_is_told(store: &impl Fixture) {
    let (log, stream) = (store.open().log, name("begun"));
    for _ in 0..2 {
        begin_at(&*log, &stream, 100).unwrap();
        assert_eq!(log.oldest(&stream).unwrap(), 100);
        assert!(log.read(&stream, 100, 0).unwrap().is_empty());
    }
    // Further on, as long as nobody has written.
    begin_at(&*log, &stream, 120).unwrap();
    assert!(matches!(begin_at(&*log, &stream, 119), Err(StoreError::Taken { oldest: 120, .. })));
    assert!(log.put_once(&stream, range(99, 121), b"late").is_err());
    let writer = Appender::new(&*log, stream.clone()).unwrap();
    let append = writer.append(range(120, 121), 1, 7, b"group", PATIENCE).unwrap();
    assert!(matches!(append, Append::Won), "{append:?}");
    for next in [120, 121, 200] {
        let error = begin_at(&*log, &stream, next).unwrap_err();
        assert!(matches!(error, StoreError::Taken { .. }), "{next}: {error}");
    }
    // Cut off before it was trimmed, and told another place then.
    let stream = name("cut-off");
    let writer = Appender::new(&*log, stream.clone()).unwrap();
    assert!(matches!(writer.append(range(1, 50), 0, 0, &[], PATIENCE).unwrap(), Append::Won));
    begin_at(&*log, &stream, 60).unwrap();
    assert_eq!(log.oldest(&stream).unwrap(), 60);
    let stream = name("from-the-first");
    begin_at(&*log, &stream, 1).unwrap();
    assert_eq!(log.oldest(&stream).unwrap(), 1);
}
