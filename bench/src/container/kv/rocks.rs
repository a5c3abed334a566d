//! RocksDB, as it is fastest without a log.
//!
//! Settings: no write-ahead log, no compression, one write buffer of 256 MiB; a block cache larger
//! than any graph measured, with index and filters outside it; Bloom filters of ten bits over
//! whole keys and over the prefix that names a list; a hash index in blocks. Reads within a list
//! use an iterator bound to its prefix; an iterator is made once per snapshot and used again,
//! since making one costs more than a seek. Loads of sorted pairs go into a table file, which is
//! ingested.
//!
//! A transaction gathers its changes in an ordered map and writes them as one batch; writers take
//! turns, so nothing can change between what a transaction read and its batch.

use super::store::{Reach, Read, Store, Transaction};
use parking_lot::Mutex;
use rocksdb::{
    BlockBasedOptions, Cache, DB, DBRawIterator, DataBlockIndexType, IngestExternalFileOptions,
    Options, ReadOptions, SliceTransform, Snapshot, SstFileWriter, WriteBatch,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;
use std::path::Path;

/// Block cache: address space until blocks are read.
const CACHE_BYTES: usize = 8 << 30;
const WRITE_BUFFER_BYTES: usize = 256 << 20;
const BLOOM_BITS_PER_KEY: f64 = 10.0;
const BACKGROUND_JOBS: i32 = 2;

/// A RocksDB database with one column family.
pub struct RocksDb {
    db: DB,
    options: Options,
    prefix_bytes: usize,
    /// Held by the one who writes.
    turn: Mutex<()>,
}

fn options(prefix_bytes: usize) -> Options {
    let mut table = BlockBasedOptions::default();
    table.set_block_cache(&Cache::new_lru_cache(CACHE_BYTES));
    table.set_bloom_filter(BLOOM_BITS_PER_KEY, false);
    table.set_whole_key_filtering(true);
    table.set_data_block_index_type(DataBlockIndexType::BinaryAndHash);
    let mut options = Options::default();
    options.create_if_missing(true);
    options.set_block_based_table_factory(&table);
    options.set_prefix_extractor(SliceTransform::create_fixed_prefix(prefix_bytes));
    options.set_compression_type(rocksdb::DBCompressionType::None);
    options.set_write_buffer_size(WRITE_BUFFER_BYTES);
    options.set_max_background_jobs(BACKGROUND_JOBS);
    options
}

impl RocksDb {
    fn size_of(&self, properties: &[&str]) -> u64 {
        let size = |name: &&str| self.db.property_int_value(*name).expect("RocksDB counts");
        properties.iter().filter_map(size).sum()
    }
}

impl Store for RocksDb {
    const NAME: &'static str = "RocksDB";
    type Reader<'a> = RocksReader<'a>;
    type Transaction<'a> = RocksTransaction<'a>;

    fn open(folder: &Path, prefix_bytes: usize) -> io::Result<Self> {
        let options = options(prefix_bytes);
        let db = DB::open(&options, folder).map_err(io::Error::other)?;
        Ok(Self { db, options, prefix_bytes, turn: Mutex::new(()) })
    }

    fn reader(&self) -> RocksReader<'_> {
        let snapshot = self.db.snapshot();
        let mut get = ReadOptions::default();
        get.set_snapshot(&snapshot);
        RocksReader { iterators: RefCell::default(), get, snapshot, db: &self.db }
    }

    fn write<R>(&self, change: impl FnOnce(&mut RocksTransaction<'_>) -> R) -> R {
        let _turn = self.turn.lock();
        let (db, prefix_bytes) = (&self.db, self.prefix_bytes);
        let mut txn = RocksTransaction { db, prefix_bytes, changes: BTreeMap::new() };
        let result = change(&mut txn);
        let mut batch = WriteBatch::default();
        for (key, value) in &txn.changes {
            match value {
                Some(value) => batch.put(key, value),
                None => batch.delete(key),
            }
        }
        if !batch.is_empty() {
            self.db.write_without_wal(batch).expect("RocksDB writes");
        }
        result
    }

    fn append(&self, pairs: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]))) {
        let file = self.db.path().join("append.sst");
        let mut table = SstFileWriter::create(&self.options);
        table.open(&file).expect("RocksDB makes a table file");
        pairs(&mut |key, value| table.put(key, value).expect("RocksDB appends"));
        table.finish().expect("RocksDB finishes a table file");
        let mut how = IngestExternalFileOptions::default();
        how.set_move_files(true);
        self.db.ingest_external_file_opts(&how, vec![file]).expect("RocksDB ingests");
    }

    /// Empties the write buffer and merges all tables, so that a read looks at one.
    fn settle(&self) {
        self.db.flush().expect("RocksDB flushes");
        self.db.compact_range(None::<&[u8]>, None::<&[u8]>);
    }

    fn live_bytes(&self) -> u64 {
        self.size_of(&["rocksdb.live-sst-files-size", "rocksdb.cur-size-all-mem-tables"])
    }

    fn reserved_bytes(&self) -> u64 {
        self.size_of(&["rocksdb.total-sst-files-size", "rocksdb.size-all-mem-tables"])
    }
}

/// Iterators that nobody uses now, by reach.
#[derive(Default)]
struct Iterators<'a> {
    prefix: Vec<DBRawIterator<'a>>,
    all: Vec<DBRawIterator<'a>>,
}

impl<'a> Iterators<'a> {
    fn of(&mut self, reach: Reach) -> &mut Vec<DBRawIterator<'a>> {
        match reach {
            Reach::Prefix => &mut self.prefix,
            Reach::All => &mut self.all,
        }
    }
}

/// One snapshot, which the fields before it refer to.
pub struct RocksReader<'a> {
    iterators: RefCell<Iterators<'a>>,
    get: ReadOptions,
    snapshot: Snapshot<'a>,
    db: &'a DB,
}

fn read_options(reach: Reach) -> ReadOptions {
    let mut options = ReadOptions::default();
    match reach {
        Reach::Prefix => options.set_prefix_same_as_start(true),
        Reach::All => options.set_total_order_seek(true),
    }
    options
}

impl Read for RocksReader<'_> {
    fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> R {
        f(self.db.get_pinned_opt(key, &self.get).expect("RocksDB reads").as_deref())
    }

    fn walk(&self, from: &[u8], reach: Reach, mut f: impl FnMut(&[u8], &[u8]) -> bool) {
        // The callback may read as well, with another iterator.
        let idle = self.iterators.borrow_mut().of(reach).pop();
        let mut iterator = idle.unwrap_or_else(|| {
            let mut options = read_options(reach);
            options.set_snapshot(&self.snapshot);
            self.db.raw_iterator_opt(options)
        });
        iterator.seek(from);
        while let Some((key, value)) = iterator.item() {
            if !f(key, value) {
                break;
            }
            iterator.next();
        }
        iterator.status().expect("RocksDB steps");
        self.iterators.borrow_mut().of(reach).push(iterator);
    }
}

/// Changes on their way into a batch.
pub struct RocksTransaction<'a> {
    db: &'a DB,
    prefix_bytes: usize,
    /// Values by key; none where a key is removed.
    changes: BTreeMap<Box<[u8]>, Option<Box<[u8]>>>,
}

impl RocksTransaction<'_> {
    fn has(&self, key: &[u8]) -> bool {
        match self.changes.get(key) {
            Some(change) => change.is_some(),
            None => self.db.get_pinned(key).expect("RocksDB reads").is_some(),
        }
    }
}

impl Transaction for RocksTransaction<'_> {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> bool {
        value.clear();
        match self.changes.get(key) {
            Some(change) => {
                value.extend_from_slice(change.as_deref().unwrap_or_default());
                change.is_some()
            }
            None => {
                let found = self.db.get_pinned(key).expect("RocksDB reads");
                value.extend_from_slice(found.as_deref().unwrap_or_default());
                found.is_some()
            }
        }
    }

    fn at_or_after(&self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> bool {
        let prefix = key[..self.prefix_bytes].to_vec();
        let changed = self.changes.range::<[u8], _>((Bound::Included(&key[..]), Bound::Unbounded));
        let mut changed = changed.take_while(|(key, _)| key.starts_with(&prefix));
        let changed = changed.find_map(|(key, change)| Some((key, change.as_ref()?)));
        let mut stored = self.db.raw_iterator_opt(read_options(Reach::Prefix));
        stored.seek(&key);
        // What this transaction has changed is not in the store as it sees it.
        while stored.key().is_some_and(|key| self.changes.contains_key(key)) {
            stored.next();
        }
        stored.status().expect("RocksDB steps");
        let stored = stored.item().filter(|(key, _)| key.starts_with(&prefix));
        let (found_key, found) = match (changed, stored) {
            (Some((one, change)), Some((other, _))) if **one < *other => (&**one, &**change),
            (_, Some(stored)) => stored,
            (Some((one, change)), None) => (&**one, &**change),
            (None, None) => return false,
        };
        value.clear();
        value.extend_from_slice(found);
        *key = found_key.to_vec();
        true
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.changes.insert(key.into(), Some(value.into()));
    }

    fn add(&mut self, key: &[u8]) -> bool {
        let missing = !self.has(key);
        if missing {
            self.put(key, &[]);
        }
        missing
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        let there = self.has(key);
        if there {
            self.changes.insert(key.into(), None);
        }
        there
    }
}
