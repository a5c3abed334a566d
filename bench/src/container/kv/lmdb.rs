//! LMDB, through heed, as it is fastest without a log.
//!
//! Settings: no sync; a writable map, so that a commit is no system call; pages are not cleared
//! before they are written. A read transaction lasts as long as the snapshot and hands out values
//! in place. Values are as aligned as keys and values before them are long: with lengths that are
//! multiples of four, numbers in values are aligned.
//!
//! heed opens a cursor per walk, some 50 ns that an LMDB of one's own could save.

#![expect(unsafe_code, reason = "opening an LMDB environment maps a file")]

use super::store::{Reach, Read, Store, Transaction};
use heed::types::Bytes;
use heed::{
    CommitOrAbort, Database, Env, EnvFlags, EnvOpenOptions, MdbError, PutFlags, RoTxn, RwTxn,
    WithoutTls,
};
use std::io;
use std::ops::Bound;
use std::path::Path;

/// Address space for the store, and length of its sparse file.
const MAP_BYTES: usize = 1 << 36;
/// Readers at a time.
const READERS_MAX: u32 = 1024;

type Pairs = Database<'static, Bytes, Bytes>;

/// An LMDB environment with one database.
pub struct Lmdb {
    env: Env<WithoutTls>,
    pairs: Pairs,
}

/// How an environment is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LmdbOptions {
    /// Most bytes the store can grow to; address space, taken at once.
    pub map_bytes: usize,
    /// Let the system read ahead, which hurts random reads of a store larger than memory.
    pub read_ahead: bool,
}

impl Default for LmdbOptions {
    fn default() -> Self {
        Self { map_bytes: MAP_BYTES, read_ahead: true }
    }
}

impl Lmdb {
    /// Opens an environment in a folder, or makes one.
    ///
    /// # Errors
    /// LMDB's.
    pub fn open_with(folder: &Path, options: LmdbOptions) -> io::Result<Self> {
        let mut flags = EnvFlags::NO_SYNC | EnvFlags::WRITE_MAP | EnvFlags::NO_MEM_INIT;
        flags.set(EnvFlags::NO_READ_AHEAD, !options.read_ahead);
        let mut open = EnvOpenOptions::new().read_txn_without_tls();
        open.map_size(options.map_bytes).max_readers(READERS_MAX);
        // SAFETY: the folder is the caller's own, nothing but LMDB changes the file. Without sync a
        // crash of the system may lose it, which a measurement starts again after; nobody but safe
        // code that goes through LMDB touches the writable map.
        let env = unsafe { open.flags(flags).open(folder) }.map_err(io::Error::other)?;
        let txn = env.write_txn().map_err(io::Error::other)?;
        let pairs = env
            .create_databases_and_commit(txn, |dbo, txn| {
                dbo.create_database(txn, None).map(CommitOrAbort::<_, ()>::Commit)
            })
            .map_err(|e: heed::Error| io::Error::other(e))?
            .unwrap_commit();
        Ok(Self { env, pairs })
    }
}

impl Store for Lmdb {
    const NAME: &'static str = "LMDB";
    type Reader<'a> = LmdbReader<'a>;
    type Transaction<'a> = LmdbTransaction<'a>;

    fn open(folder: &Path, _: usize) -> io::Result<Self> {
        Self::open_with(folder, LmdbOptions::default())
    }

    fn reader(&self) -> LmdbReader<'_> {
        LmdbReader { txn: self.env.read_txn().expect("a free reader slot"), pairs: self.pairs }
    }

    fn write<R>(&self, change: impl FnOnce(&mut LmdbTransaction<'_>) -> R) -> R {
        let txn = self.env.write_txn().expect("LMDB begins to write");
        let mut txn = LmdbTransaction { txn, pairs: self.pairs };
        let result = change(&mut txn);
        txn.txn.commit().expect("LMDB commits");
        result
    }

    fn append(&self, pairs: impl FnOnce(&mut dyn FnMut(&[u8], &[u8]))) {
        self.write(|txn| {
            pairs(&mut |key, value| {
                let put = self.pairs.put_with_flags(&mut txn.txn, PutFlags::APPEND, key, value);
                put.expect("LMDB appends");
            });
        });
    }

    fn live_bytes(&self) -> u64 {
        let txn = self.env.read_txn().expect("a free reader slot");
        self.pairs.stat(&txn).expect("LMDB counts its pages").non_free_page_size() as u64
    }

    fn reserved_bytes(&self) -> u64 {
        let pages = self.env.info().last_page_number as u64 + 1;
        pages * u64::from(self.env.unnamed_database_stat().page_size)
    }
}

/// One read transaction.
pub struct LmdbReader<'a> {
    txn: RoTxn<'a, WithoutTls>,
    pairs: Pairs,
}

impl Read for LmdbReader<'_> {
    #[inline]
    fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> R {
        f(self.pairs.get(&self.txn, key).expect("LMDB reads"))
    }

    #[inline]
    fn walk(&self, from: &[u8], _: Reach, mut f: impl FnMut(&[u8], &[u8]) -> bool) {
        let range = (Bound::Included(from), Bound::Unbounded);
        for pair in self.pairs.range(&self.txn, &range).expect("LMDB seeks") {
            let (key, value) = pair.expect("LMDB steps");
            if !f(key, value) {
                break;
            }
        }
    }
}

/// The one write transaction.
pub struct LmdbTransaction<'a> {
    txn: RwTxn<'a>,
    pairs: Pairs,
}

impl Transaction for LmdbTransaction<'_> {
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> bool {
        let found = self.pairs.get(&self.txn, key).expect("LMDB reads");
        value.clear();
        value.extend_from_slice(found.unwrap_or_default());
        found.is_some()
    }

    fn at_or_after(&self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> bool {
        let found = self.pairs.get_greater_than_or_equal_to(&self.txn, key).expect("LMDB seeks");
        let Some((found_key, found)) = found else { return false };
        value.clear();
        value.extend_from_slice(found);
        *key = found_key.to_vec();
        true
    }

    fn put(&mut self, key: &[u8], value: &[u8]) {
        self.pairs.put(&mut self.txn, key, value).expect("LMDB writes");
    }

    fn add(&mut self, key: &[u8]) -> bool {
        let added = self.pairs.put_with_flags(&mut self.txn, PutFlags::NO_OVERWRITE, key, &[]);
        match added {
            Ok(()) => true,
            Err(heed::Error::Mdb(MdbError::KeyExist)) => false,
            Err(e) => panic!("LMDB writes: {e}"),
        }
    }

    fn remove(&mut self, key: &[u8]) -> bool {
        self.pairs.delete(&mut self.txn, key).expect("LMDB removes")
    }
}
