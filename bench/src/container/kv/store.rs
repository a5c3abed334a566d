//! What a packing needs of an ordered key-value store.

use std::io;
use std::path::Path;

/// Which keys a read goes over, so that a store can pick its cheapest way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Keys that begin like the first one ([`Packing::PREFIX_BYTES`](super::Packing) of them).
    Prefix,
    /// Any number of keys.
    All,
}

/// An ordered map of bytes to bytes with transactions, in a folder on disk.
///
/// Failures of a store (a full disk, say) panic: no measurement survives one.
pub trait Store: Send + Sync + Sized {
    /// The name that tables print.
    const NAME: &'static str;

    /// The map at one moment.
    type Reader<'a>: Read + Send
    where
        Self: 'a;

    /// Changes that become visible together.
    type Transaction<'a>: Transaction
    where
        Self: 'a;

    /// Opens the store in a folder, or makes an empty one. The first `prefix_bytes` of every key
    /// say which list it belongs to.
    ///
    /// # Errors
    /// The store's.
    fn open(folder: &Path, prefix_bytes: usize) -> io::Result<Self>;

    /// Returns the map as of now.
    fn reader(&self) -> Self::Reader<'_>;

    /// Runs one transaction and commits it, not synced to disk; others wait.
    fn write<R>(&self, change: impl FnOnce(&mut Self::Transaction<'_>) -> R) -> R;

    /// Fills the store, which must be empty: `pairs` is called once and hands over pairs in
    /// ascending order of keys.
    fn append(&self, pairs: impl FnOnce(&mut dyn FnMut(&[u8], &[u8])));

    /// Does what the store does in the background.
    fn settle(&self) {}

    /// Returns the bytes that hold pairs and the index over them.
    fn live_bytes(&self) -> u64;

    /// Returns [`live_bytes`](Self::live_bytes) and what is kept for reuse.
    fn reserved_bytes(&self) -> u64;
}

/// Reads of one moment.
pub trait Read {
    /// Calls `f` with the value of a key.
    fn get<R>(&self, key: &[u8], f: impl FnOnce(Option<&[u8]>) -> R) -> R;

    /// Calls `f` with each pair from `from` on, in order, until it returns `false`.
    fn walk(&self, from: &[u8], reach: Reach, f: impl FnMut(&[u8], &[u8]) -> bool);
}

/// Reads and changes of one transaction, which sees its own changes.
pub trait Transaction {
    /// Replaces `value` by that of `key`; returns whether there is one.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> bool;

    /// Replaces `key` and `value` by the first pair at or after `key` with its prefix; returns
    /// whether there is one.
    fn at_or_after(&self, key: &mut Vec<u8>, value: &mut Vec<u8>) -> bool;

    /// Sets the value of a key.
    fn put(&mut self, key: &[u8], value: &[u8]);

    /// Adds a key without a value unless it is there; returns whether it was added.
    fn add(&mut self, key: &[u8]) -> bool;

    /// Removes a key; returns whether it was there.
    fn remove(&mut self, key: &[u8]) -> bool;
}
