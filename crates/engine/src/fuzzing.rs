//! Doors for the fuzzers in `fuzz/`, and short runs of the same in `cargo test`.
//!
//! Each takes any bytes and panics only if the code under test is wrong. Not part of the API.

use std::sync::Arc;

use crate::adjacency::base::{OFFSET_WORDS, is_sorted};
use crate::adjacency::scan::TableView;
use crate::adjacency::{AdjTable, ListKind, SEGMENT_VERTICES, stored};
use crate::catalog::LabelSets;
use crate::checkpoint::meta;
use crate::column::{Chunk, property, states};
use crate::commit::record::{self, Record};
use crate::format::unseal;
use crate::io::MemoryStorage;
use crate::mapped::Source;
use crate::settings::Settings;
use crate::shared::Shared;
use crate::wal::{Durability, Wal, WalOptions};

/// Takes bytes off the front; zeros once there are none.
struct Feed<'a>(&'a [u8]);

impl<'a> Feed<'a> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        *first
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

const SALT: u32 = 7;

fn log_name(first_ts: u64) -> String {
    format!("wal-{first_ts:020}.log")
}

fn log_header(first_ts: u64) -> Vec<u8> {
    let mut header = b"TELARWAL".to_vec();
    header.extend_from_slice(&1u32.to_le_bytes());
    header.extend_from_slice(&SALT.to_le_bytes());
    header.extend_from_slice(&first_ts.to_le_bytes());
    header.extend_from_slice(&[0; 4]);
    let crc = crc32fast::hash(&header);
    header.extend_from_slice(&crc.to_le_bytes());
    header
}

/// A record with a right checksum, whatever its stamp.
fn log_record(stamp: u64, payload: &[u8], out: &mut Vec<u8>) {
    let len = (payload.len() as u32).to_le_bytes();
    let mut crc = crc32fast::Hasher::new_with_initial(SALT);
    [&len[..], payload, &stamp.to_le_bytes()].iter().for_each(|part| crc.update(part));
    out.extend_from_slice(&crc.finalize().to_le_bytes());
    out.extend_from_slice(&len);
    out.extend_from_slice(&stamp.to_le_bytes());
    out.extend_from_slice(payload);
    out.resize(out.len().next_multiple_of(8), 0);
}

/// Log files made as `bytes` say: raw, or of well-formed records with odd stamps, then damaged.
fn log_files(feed: &mut Feed<'_>) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut ts = 1 + u64::from(feed.byte() & 1);
    for _ in 0..1 + feed.byte() % 3 {
        let how = feed.byte();
        let mut bytes = if how & 1 == 0 { log_header(ts) } else { Vec::new() };
        let name = log_name(ts);
        if how & 2 == 0 {
            for _ in 0..feed.byte() % 12 {
                let odd = feed.byte();
                let group = u64::from(odd & 1) << 63;
                let stamp = match odd >> 5 {
                    0 => u64::from(feed.word()),
                    1 => ts + 1,
                    _ => ts,
                };
                let len = feed.byte() as usize;
                log_record(stamp | group, feed.take(len), &mut bytes);
                ts += 1;
            }
        }
        let len = feed.word() as usize % 2048;
        bytes.extend_from_slice(feed.take(if how & 4 == 0 { 0 } else { len }));
        for _ in 0..(how >> 3) % 4 {
            let at = feed.word() as usize;
            let with = feed.byte();
            if !bytes.is_empty() {
                let at = at % bytes.len();
                match with {
                    0 => bytes.truncate(at),
                    1 => bytes[at..].iter_mut().take(600).for_each(|b| *b = 0),
                    with => bytes[at] ^= with,
                }
            }
        }
        files.push((name, bytes));
        ts += u64::from(how >> 7);
    }
    files
}

/// Opens a log whose files are whatever `bytes` make of them: an error leaves them as they were;
/// what is replayed is gapless, and the same again when the log is opened again, with what was
/// appended.
pub fn wal_recovery(bytes: &[u8]) {
    let mut feed = Feed(bytes);
    let start_after = u64::from(feed.byte() % 8);
    let files = log_files(&mut feed);
    let storage = MemoryStorage::from_files(files);
    let before = storage.files();
    let open = |replayed: &mut Vec<Vec<u8>>| {
        let options = WalOptions { file_bytes_max: 4096, durability: Durability::Full };
        Wal::open(Arc::new(storage.clone()), options, start_after, &mut |ts, payload| {
            assert_eq!(ts, start_after + 1 + replayed.len() as u64, "a gap in what is replayed");
            replayed.push(payload.to_vec());
            Ok(())
        })
    };
    let mut first = Vec::new();
    let wal = match open(&mut first) {
        Ok(wal) => wal,
        Err(error) => {
            assert_eq!(storage.files(), before, "an open that failed changed something: {error}");
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert_eq!(wal.last_ts(), start_after + first.len() as u64);
    let ts = wal.append(b"one more").expect("an open log takes records");
    wal.wait_durable(ts).expect("the storage does not fail");
    drop(wal);
    first.push(b"one more".to_vec());
    let crashed = MemoryStorage::from_files(storage.crash(1).files());
    let mut again = Vec::new();
    open(&mut again).expect("a log that was open opens again");
    assert_eq!(again, first);
    let options = WalOptions::default();
    let mut after_crash = Vec::new();
    Wal::open(Arc::new(crashed), options, start_after, &mut |_, payload| {
        after_crash.push(payload.to_vec());
        Ok(())
    })
    .expect("and after a crash");
    assert_eq!(after_crash, first);
}

/// Decodes a log record; what decodes, encodes to something that decodes to the same.
pub fn txn_record(bytes: &[u8]) {
    let sets = LabelSets::new();
    let writes = match record::decode(bytes, &sets) {
        Ok(Record::Commit(writes)) => writes,
        Ok(Record::Indexes(changes)) => {
            let again = record::decode(&record::encode_indexes(&changes), &sets);
            assert!(matches!(again, Ok(Record::Indexes(c)) if c == changes));
            return;
        }
        _ => return,
    };
    if writes.once.is_some() {
        let mut again = Vec::new();
        record::encode_timed_commit(&writes, &sets, 0, &mut again);
        let Ok(Record::Commit(found)) = record::decode(&again, &sets) else {
            panic!("a commit with an id does not decode");
        };
        assert_eq!(found.once, writes.once);
    }
    let mut once = Vec::new();
    record::encode_commit(&writes, &sets, &mut once);
    let Ok(Record::Commit(writes)) = record::decode(&once, &sets) else {
        panic!("what was encoded does not decode");
    };
    let mut twice = Vec::new();
    record::encode_commit(&writes, &sets, &mut twice);
    assert_eq!(once, twice);
}

/// Decodes every kind of checkpoint value; adjacency that loads is read back in full.
pub fn checkpoint_value(bytes: &[u8]) {
    let _ = unseal(b"key", bytes);
    let mut feed = Feed(bytes);
    match feed.byte() % 6 {
        0 => adjacency_value(&mut feed),
        1 => drop(states::decode(feed.0, 3, meta::VERSION)),
        2 => property_value(feed.0),
        3 => index_value(&mut feed),
        4 => drop(crate::once::decode(feed.0)),
        _ => drop(meta::decode(feed.0, &Shared::empty(Settings::default()))),
    }
}

/// One partition of an index: what loads, is stored as the same again.
fn index_value(feed: &mut Feed<'_>) {
    let number = u32::from(feed.byte() % 2);
    crate::index::page::fuzz(number, feed.0);
}

fn adjacency_value(feed: &mut Feed<'_>) {
    let kinds = [ListKind::Simple, ListKind::Multi, ListKind::Timed];
    let kind = kinds[feed.byte() as usize % 3];
    // A whole base is long: most bytes are given as runs.
    let body: Vec<u8> = if feed.byte() & 1 == 0 {
        feed.0.to_vec()
    } else {
        let mut words: Vec<u32> = Vec::new();
        while !feed.0.is_empty() && words.len() < 8192 {
            let (times, step, word) = (feed.byte(), feed.byte(), feed.word());
            let times = u32::from(times) * if step & 1 == 0 { 1 } else { 8 };
            let step = u32::from(step >> 1);
            words.extend((0..times).map(|i| word.wrapping_add(i * step)));
        }
        words.iter().flat_map(|w| w.to_le_bytes()).collect()
    };
    // Words as version 1 stored them; what is read is written and read again the present way.
    let Ok(base) = stored::decode_adjacency(&body, kind.columns(), 1) else {
        let _ = stored::decode_adjacency(&body, kind.columns(), meta::VERSION);
        return;
    };
    let entries = base.entries();
    let (table, guard) = (AdjTable::new(1, kind, 4096, Source::default()), &crossbeam_epoch::pin());
    if !(0..SEGMENT_VERTICES).all(|local| is_sorted(&base, kind, local)) {
        return;
    }
    table.replace(0, base, 0, guard);
    let view = TableView::new(&table, 1, guard);
    let mut encoded = Vec::new();
    stored::encode_adjacency(&view, 0, &mut encoded);
    // The checksum before it is filled in by the caller.
    let again = stored::decode_adjacency(&encoded[4..], kind.columns(), meta::VERSION)
        .expect("what was encoded decodes");
    let mut words = again.words()[..OFFSET_WORDS + entries].to_vec();
    (0..kind.columns()).for_each(|c| again.for_each_of_column(c, |word| words.push(word)));
    if kind == ListKind::Timed {
        // Equal keys may stand in any order; encoding sorts them further.
        assert_eq!(words.len(), body.len() / 4);
    } else {
        let words: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert!(words == body, "a base did not come back as it was");
    }
    let mut direct = Vec::new();
    stored::encode_base(&again, kind.columns(), &mut direct);
    assert!(direct == encoded, "two ways to encode a base differ");
    assert_eq!(view.entries() as usize, entries);
}

/// What decodes is encoded and decoded to the same.
fn property_value(body: &[u8]) {
    let Ok(chunk) = property::decode(body, meta::VERSION) else {
        return;
    };
    let mut encoded = Vec::new();
    property::encode(&chunk, &mut encoded);
    let again = property::decode(&encoded, meta::VERSION).expect("what was encoded decodes");
    for place in 0..crate::adjacency::SEGMENT_VERTICES {
        assert_eq!(chunk.get(place), again.get(place));
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
#[path = "../../../fuzz/entry/random.rs"]
mod random;

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::random::run;
    use super::*;
    use crate::Engine;
    use crate::catalog::EdgeTypeOptions;
    use crate::store::progress::Totals;
    use telar_graph::Value;

    #[test]
    fn log_recovery_takes_any_bytes() {
        run(1, 4000, 400, &[], wal_recovery);
    }

    /// Records as an engine writes them.
    fn records() -> Vec<Vec<u8>> {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings { store_bytes_max: 1 << 24, ..Settings::default() };
        let db = Engine::open(dir.path(), settings).unwrap();
        let label = db.label("A").unwrap();
        let key = db.property_key("k").unwrap();
        let types = [
            db.edge_type("S", EdgeTypeOptions::simple()).unwrap(),
            db.edge_type("T", EdgeTypeOptions::newest_first(key)).unwrap(),
        ];
        let target = crate::IndexTarget::Vertices(label);
        let spec = crate::IndexSpec { name: "i".into(), target, properties: vec![key] };
        let index = db.create_index(spec).unwrap();
        db.drop_index(index).unwrap();
        let mut txn = db.begin().unwrap();
        let v = [0; 3].map(|_| txn.create_vertex(&[label]).unwrap());
        txn.set_vertex_property(v[0], key, Value::list(["warp", "weft"])).unwrap();
        txn.upsert_edge(types[0], v[0], v[1]).unwrap();
        let e = txn.create_edge(types[1], v[1], v[2], &[(key, Value::Int(-5))]).unwrap();
        txn.commit().unwrap();
        let mut txn = db.begin().unwrap();
        txn.delete_edge(e).unwrap();
        txn.delete_vertex(v[0], true).unwrap();
        txn.commit().unwrap();
        drop(db);
        let storage = crate::io::FileStorage::open(dir.path().join("wal")).unwrap();
        let mut payloads = Vec::new();
        Wal::open(Arc::new(storage), WalOptions::default(), 0, &mut |_, payload| {
            payloads.push(payload.to_vec());
            Ok(())
        })
        .unwrap();
        assert_eq!(payloads.len(), 8);
        payloads
    }

    #[test]
    fn record_decoding_takes_any_bytes() {
        run(2, 30_000, 60, &records(), txn_record);
    }

    #[test]
    fn checkpoint_decoding_takes_any_bytes() {
        let run_of = |times: u8, step: u8, word: u32| {
            let mut piece = vec![times, step];
            piece.extend_from_slice(&word.to_le_bytes());
            piece
        };
        let empty = [vec![0, 0, 1], run_of(128, 1, 0), run_of(1, 0, 0)].concat();
        let filled = |kind: u8, columns: usize| {
            let mut bytes = [vec![0, kind, 1], run_of(128, 3, 0), run_of(1, 0, 1024)].concat();
            bytes.extend(run_of(128, 1, 5));
            (0..columns).for_each(|c| bytes.extend(run_of(128, 3, c as u32)));
            bytes
        };
        let shared = Shared::empty(Settings::default());
        shared.catalog.restore(telar_graph::name::NameKind::Label, "A", 0).unwrap();
        shared.catalog.label_sets.number(&[telar_graph::LabelId::from_raw(0)]);
        shared.catalog.restore_edge_type("S", 0, EdgeTypeOptions::simple()).unwrap();
        let mut value = Vec::new();
        let added = meta::Additions::default();
        let totals = Totals::default();
        meta::encode(&shared, 9, &totals, &added, &[], &mut value);
        let meta = [&[4][..], &value[4..]].concat();
        let states = vec![1, 0, 0];
        let mut properties = vec![2];
        let values: Vec<Value> = (0..1024).map(|i| Value::Int(i * i)).collect();
        let values = crate::column::PropertyChunk::build(values[..].try_into().unwrap());
        property::encode(&values, &mut properties);
        // Two entries that share a byte, no partition to the right.
        let index = vec![3, 0, 0, 2, 0, 3, 16, 1, 2, 5, 1, 2, 7, 7, 6];
        let valid =
            [index, empty, filled(0, 0), filled(1, 1), filled(2, 3), meta, states, properties];
        run(3, 4000, 300, &valid, checkpoint_value);
    }
}
