//! Every changed byte, every length, and the damage that has a name.

use super::*;

/// A log of three files; the last has groups of 1, 2 and 4 records.
fn sample() -> (MemoryStorage, u64) {
    let storage = MemoryStorage::new();
    let (wal, _) = open_at(storage.clone(), options(2000), 0).unwrap();
    for files in 1..3 {
        for _ in 0..3 {
            commit_next(&wal);
        }
        wal.rotate().unwrap();
        assert_eq!(storage.list().unwrap().len(), files + 1);
    }
    for records in [1, 2, 4] {
        for _ in 0..records {
            append_next(&wal);
        }
        wal.flush().unwrap();
    }
    let last = wal.last_ts();
    drop(wal);
    assert_eq!(storage.list().unwrap().len(), 3);
    (storage, last)
}

/// The files of `storage`, with one of them changed.
fn changed(
    storage: &MemoryStorage,
    file: usize,
    change: impl FnOnce(&mut Vec<u8>),
) -> MemoryStorage {
    let mut files = storage.files();
    change(&mut files[file].1);
    MemoryStorage::from_files(files)
}

/// Where the records of a file begin, and where the last ends.
fn offsets(bytes: &[u8]) -> Vec<usize> {
    let mut offsets = vec![header::FILE_HEADER_BYTES];
    let salt = header::FileHeader::decode(bytes, Path::new("")).unwrap().salt;
    while let Ok(record) = record::Record::decode(&bytes[*offsets.last().unwrap()..], salt) {
        offsets.push(offsets.last().unwrap() + record.size());
    }
    offsets
}

#[test]
fn any_changed_byte_is_an_error_but_in_the_last_record() {
    let (storage, last) = sample();
    let files = storage.files();
    let last_record = offsets(&files[2].1).iter().rev().nth(1).copied().unwrap();
    for (index, (name, bytes)) in files.iter().enumerate() {
        for position in 0..bytes.len() {
            for flip in [0x01, 0x80, 0xFF, bytes[position]] {
                if flip == 0 {
                    continue;
                }
                let damaged = changed(&storage, index, |bytes| bytes[position] ^= flip);
                let before = damaged.files();
                let in_last_record = index == 2 && position >= last_record;
                match open_at(damaged.clone(), options(400), 0) {
                    Ok((wal, replayed)) => {
                        assert!(in_last_record, "{name} {position} {flip}");
                        assert_eq!(replayed, payloads(1..=last - 1));
                        assert_eq!(commit_next(&wal), last);
                    }
                    Err(error) => {
                        assert!(!in_last_record, "{name} {position} {flip}: {error}");
                        assert_eq!(error.kind(), WalErrorKind::Data);
                        assert!(error.to_string().contains(name.as_str()), "{error}");
                        assert_eq!(damaged.files(), before, "an error changes nothing");
                    }
                }
            }
        }
    }
}

#[test]
fn any_length_of_the_last_file_gives_a_prefix_and_of_others_an_error() {
    let (storage, last) = sample();
    for (index, (name, bytes)) in storage.files().iter().enumerate() {
        let offsets = offsets(bytes);
        for len in 0..bytes.len() {
            let cut = changed(&storage, index, |bytes| bytes.truncate(len));
            let opened = open_at(cut, options(400), 0);
            if index < 2 {
                assert_eq!(opened.unwrap_err().kind(), WalErrorKind::Data, "{name} {len}");
                continue;
            }
            let (wal, replayed) = opened.unwrap();
            let whole = offsets.iter().filter(|offset| **offset <= len).count();
            let lost = (offsets.len() - whole.max(1)) as u64;
            assert_eq!(replayed, payloads(1..=last - lost), "{len}");
            let cut = len - offsets[whole.max(1) - 1].min(len);
            let cut = if whole == 0 { 0 } else { cut as u64 };
            assert_eq!(wal.recovery().bytes_cut, cut);
            assert_eq!(commit_next(&wal), last - lost + 1);
        }
    }
}

#[test]
fn damage_names_file_offset_and_the_next_good_record() {
    let (storage, _) = sample();
    let files = storage.files();
    let starts = offsets(&files[2].1);
    let damaged = changed(&storage, 2, |bytes| bytes[starts[1] + 20] ^= 4);
    match open_at(damaged, options(400), 0).unwrap_err() {
        WalError::Damaged { file, offset, what } => {
            assert_eq!(file, Path::new(&files[2].0));
            assert_eq!(offset, starts[1] as u64);
            let (fault, next_offset) = (RecordFault::Checksum, starts[2] as u64);
            assert_eq!(what, Damage::RecordBeforeRecord { fault, next_offset });
        }
        other => panic!("{other}"),
    }
    let starts = offsets(&files[0].1);
    let damaged = changed(&storage, 0, |bytes| bytes[starts[2] + 20] ^= 4);
    let error = open_at(damaged, options(400), 0).unwrap_err();
    let expected = format!(
        "log file wal-00000000000000000001.log is damaged at offset {}: \
         the checksum of a record is wrong, and later log files follow",
        starts[2]
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn tails_that_crashes_leave_are_cut() {
    let (storage, last) = sample();
    let tails: [&[u8]; 5] = [&[0; 1], &[0; 5000], &[0xFF; 100], &[0x41; 7], &[1, 0, 0, 0]];
    for tail in tails {
        let torn = changed(&storage, 2, |bytes| bytes.extend_from_slice(tail));
        let (wal, replayed) = open(&torn);
        assert_eq!(replayed, payloads(1..=last));
        assert_eq!(wal.recovery().bytes_cut, tail.len() as u64);
        assert_eq!(torn.files(), storage.files());
        commit_next(&wal);
    }
}

#[test]
fn file_that_was_being_created_is_created_anew() {
    let (storage, last) = sample();
    let header = header::FileHeader { salt: 3, first_ts: last + 1 }.encode();
    let mut half = header;
    half[16..].fill(0);
    let leftovers: [&[u8]; 5] = [&[], &[0; 32], &[7; 20], &header[..31], &half];
    for leftover in leftovers {
        let mut files = storage.files();
        files.push((header::file_name(last + 1), leftover.to_vec()));
        let crashed = MemoryStorage::from_files(files);
        let (wal, replayed) = open(&crashed);
        assert_eq!(replayed, payloads(1..=last));
        assert_eq!(commit_next(&wal), last + 1);
        drop(wal);
        assert_eq!(open(&crashed).1, payloads(1..=last + 1));
    }
    // Its name tells that commits before it are missing: that no crash leaves.
    let mut files = storage.files();
    files.push((header::file_name(last + 2), Vec::new()));
    assert!(open_at(MemoryStorage::from_files(files), options(400), 0).is_err());
    // A lone one, as a crash during the very first open leaves it.
    let lone = MemoryStorage::from_files([(header::file_name(1), vec![0; 32])]);
    let (wal, _) = open(&lone);
    assert_eq!(commit_next(&wal), 1);
}

#[test]
fn foreign_and_newer_files_are_refused() {
    let (storage, _) = sample();
    let foreign = changed(&storage, 1, |bytes| bytes[..8].copy_from_slice(b"SQLite f"));
    let error = open_at(foreign, options(400), 0).unwrap_err();
    assert!(matches!(error, WalError::WrongMagic { .. }), "{error}");
    for file in 0..3 {
        let newer = changed(&storage, file, |bytes| {
            bytes[8] = 2;
            let crc = crc32fast::hash(&bytes[..28]);
            bytes[28..32].copy_from_slice(&crc.to_le_bytes());
        });
        let error = open_at(newer, options(400), 0).unwrap_err();
        assert!(matches!(error, WalError::NewerFormat { found: 2, supported: 1, .. }), "{error}");
    }
    let mut files = storage.files();
    files[2].0 = header::file_name(1_000);
    let error = open_at(MemoryStorage::from_files(files.clone()), options(400), 0).unwrap_err();
    assert!(matches!(error, WalError::Damaged { .. }), "{error}");
    files.remove(0);
    files.remove(0);
    let error = open_at(MemoryStorage::from_files(files), options(400), 999).unwrap_err();
    let what = Damage::HeaderTimestamp { named: 1_000, found: 7 };
    assert!(matches!(&error, WalError::Damaged { what: found, .. } if *found == what), "{error}");
}

#[test]
fn other_files_of_the_directory_are_left_alone() {
    let (storage, last) = sample();
    let mut files = storage.files();
    files.push(("data.mdb".to_owned(), vec![1; 10]));
    files.push(("wal-17.log".to_owned(), vec![2; 10]));
    let storage = MemoryStorage::from_files(files);
    let (wal, _) = open(&storage);
    wal.rotate().unwrap();
    wal.truncate_before(last).unwrap();
    let names = storage.list().unwrap();
    assert_eq!(names, ["data.mdb", &header::file_name(last + 1), "wal-17.log"]);
}

#[test]
fn damage_before_the_checkpoint_is_not_in_the_way() {
    let (storage, last) = sample();
    let damaged = changed(&storage, 0, |bytes| bytes.fill(0xEE));
    assert!(open_at(damaged.clone(), options(400), 2).is_err());
    let (wal, replayed) = open_at(damaged, options(400), 3).unwrap();
    assert_eq!(replayed, payloads(4..=last));
    assert_eq!(wal.truncate_before(3).unwrap(), 1);
}
