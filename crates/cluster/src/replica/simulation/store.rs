//! The simulated store as one node reaches it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::store::simulated::Simulated;
use crate::store::{
    Coordination, Entry, Log, Name, PartName, Put, PutIf, Slot, SlotRange, StoreError, Version,
};

/// A store that a node may be cut off from.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    pub(super) store: Simulated,
    pub(super) cut: Arc<AtomicBool>,
    /// True while no node of it is reached.
    pub(super) alone: Arc<AtomicBool>,
}

impl Reached {
    fn check(&self) -> Result<(), StoreError> {
        if self.cut.load(Ordering::Relaxed) { Err(unreachable()) } else { Ok(()) }
    }
}

fn unreachable() -> StoreError {
    StoreError::Unavailable { store: "the simulated store".into(), why: "cut off".into() }
}

impl Log for Reached {
    fn body_bytes_max(&self) -> usize {
        self.store.body_bytes_max()
    }

    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        if self.check().is_err() {
            return Ok(Put::Unknown(unreachable()));
        }
        self.store.put_once(stream, range, body)
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        self.check()?;
        Log::read(&self.store, stream, from, bytes_max)
    }

    fn reads_stale(&self) -> bool {
        true
    }

    fn read_stale(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<Slot>, StoreError> {
        if self.alone.load(Ordering::Relaxed) {
            return Err(unreachable());
        }
        self.store.read_stale(stream, from, bytes_max)
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        self.check()?;
        self.store.trim(stream, before)
    }

    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        self.check()?;
        self.store.put_part(stream, part, bytes)
    }

    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        self.check()?;
        self.store.read_part(stream, part)
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        self.check()?;
        self.store.parts(stream, from)
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        self.check()?;
        self.store.remove_part(stream, part)
    }
}

impl Coordination for Reached {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        self.check()?;
        Coordination::get(&self.store, key)
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        if self.check().is_err() {
            return Ok(PutIf::Unknown(unreachable()));
        }
        self.store.put_if(key, expected, value)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        self.check()?;
        Coordination::list(&self.store, prefix)
    }
}
