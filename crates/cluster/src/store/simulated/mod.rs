//! A store in memory that misbehaves as real ones do: for tests.
//!
//! ```text
//!  request ──► lost before it arrives ─────────────► Unknown, and nothing is done
//!          ──► carried out ──► answer lost ────────► Unknown, and it is done
//!          ──► late: carried out at a later call ──► Unknown, and it is not done yet
//!          ──► carried out ────────────────────────► its outcome
//! ```
//!
//! Faults come by chance, from a seed: the same calls in the same order give the same outcomes.
//! What a store may never do is not among them: reads are linearizable, slots are written once.

mod memory;

pub use memory::Memory;

use std::io::{Cursor, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::coordination::VALUE_BYTES_MAX;
use super::error::check_size;
use super::{
    Coordination, Entry, ImageInfo, Images, Log, Name, PartName, Put, PutIf, Slot, SlotRange,
    StoreError, Version,
};

/// How often something goes wrong: once in so many calls, or never (0).
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// A write is not carried out, and its outcome is unknown.
    pub lost_request: u64,
    /// A write is carried out, and its outcome is unknown.
    pub lost_answer: u64,
    /// A write is carried out at one of the next calls, and its outcome is unknown.
    pub late: u64,
    /// A read fails.
    pub failed_read: u64,
    /// `follow` or `watch` shows nothing new, though there is something.
    pub stale: u64,
}

/// A store in memory. Clones are the same store.
#[derive(Clone, Debug)]
pub struct Simulated {
    state: Arc<Mutex<State>>,
    faults: Faults,
    body_bytes_max: usize,
}

#[derive(Debug)]
struct State {
    memory: Memory,
    /// Writes under way.
    late: Vec<Write>,
    random: u64,
}

#[derive(Clone, Debug)]
enum Write {
    Slot(Name, SlotRange, Vec<u8>),
    Value(Name, Version, Vec<u8>),
}

impl State {
    fn number(&mut self) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn one_in(&mut self, n: u64) -> bool {
        n > 0 && self.number().is_multiple_of(n)
    }

    /// Carries out some of the writes that are under way.
    fn arrive(&mut self) {
        let mut at = 0;
        while at < self.late.len() {
            if self.one_in(3) {
                // Its outcome reaches nobody.
                match self.late.swap_remove(at) {
                    Write::Slot(stream, range, body) => {
                        let _ = self.memory.put_once(&stream, range, &body);
                    }
                    Write::Value(key, expected, value) => {
                        let _ = self.memory.put_if(&key, expected, &value);
                    }
                }
            } else {
                at += 1;
            }
        }
    }
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable { store: "the simulated store".into(), why: why.into() }
}

impl Simulated {
    /// Returns an empty store.
    #[must_use]
    pub fn new(seed: u64, faults: Faults) -> Self {
        let state = State { memory: Memory::default(), late: Vec::new(), random: seed };
        let body_bytes_max = 256 << 10;
        Self { state: Arc::new(Mutex::new(state)), faults, body_bytes_max }
    }

    /// Returns the store with another limit for bodies, in bytes.
    #[must_use]
    pub fn with_body_bytes_max(mut self, max: usize) -> Self {
        self.body_bytes_max = max;
        self
    }

    /// Loses a slot, as a store may not: for tests of what notices it.
    pub fn lose(&self, stream: &Name, first: u64) {
        self.state().memory.lose(stream, first);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrive();
        state
    }

    fn readable(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let mut state = self.state();
        if state.one_in(self.faults.failed_read) {
            return Err(unavailable("a read failed"));
        }
        Ok(state)
    }

    fn is_stale(&self) -> bool {
        self.state().one_in(self.faults.stale)
    }

    /// Carries out `write` through `done`, or loses it, or puts it off; the outcome unless unknown.
    fn write<T>(&self, write: Write, done: impl FnOnce(&mut Memory) -> T) -> Result<T, StoreError> {
        let mut state = self.state();
        if state.one_in(self.faults.lost_request) {
            return Err(unavailable("a request or its answer was lost"));
        }
        if state.one_in(self.faults.late) {
            state.late.push(write);
            return Err(unavailable("no answer in time"));
        }
        let outcome = done(&mut state.memory);
        if state.one_in(self.faults.lost_answer) {
            return Err(unavailable("a request or its answer was lost"));
        }
        Ok(outcome)
    }
}

impl Log for Simulated {
    fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        check_size(body.len(), self.body_bytes_max)?;
        let write = Write::Slot(stream.clone(), range, body.to_vec());
        match self.write(write, |memory| memory.put_once(stream, range, body)) {
            Ok(outcome) => outcome,
            Err(cause) => Ok(Put::Unknown(cause)),
        }
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        self.readable()?.memory.read(stream, from, bytes_max)
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
        let mut state = self.readable()?;
        let mut slots = state.memory.read(stream, from, bytes_max)?;
        // A node that has not heard of the last ones.
        let known = state.number() % (slots.len() as u64 + 1);
        slots.truncate(usize::try_from(known).unwrap_or(usize::MAX));
        Ok(slots)
    }

    fn follow(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<Slot>, StoreError> {
        if self.is_stale() {
            return Ok(Vec::new());
        }
        let slots = self.read(stream, from, bytes_max)?;
        if slots.is_empty() {
            std::thread::sleep(wait.min(Duration::from_millis(1)));
            return self.read(stream, from, bytes_max);
        }
        Ok(slots)
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        Ok(self.readable()?.memory.trim(stream, before))
    }

    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(bytes.len(), self.body_bytes_max)?;
        self.readable()?.memory.put_part(stream, part, bytes);
        Ok(())
    }

    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.readable()?.memory.read_part(stream, part))
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        Ok(self.readable()?.memory.parts(stream, from))
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        self.readable()?.memory.remove_part(stream, part);
        Ok(())
    }
}

impl Coordination for Simulated {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        Ok(self.readable()?.memory.get(key))
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        check_size(value.len(), VALUE_BYTES_MAX)?;
        let write = Write::Value(key.clone(), expected, value.to_vec());
        Ok(self
            .write(write, |memory| memory.put_if(key, expected, value))
            .unwrap_or_else(PutIf::Unknown))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        Ok(self.readable()?.memory.list(prefix))
    }

    fn watch(
        &self,
        prefix: &str,
        seen: &[Entry],
        wait: Duration,
    ) -> Result<Vec<Entry>, StoreError> {
        if self.is_stale() {
            return Ok(seen.to_vec());
        }
        let found = Coordination::list(self, prefix)?;
        if found == seen {
            std::thread::sleep(wait.min(Duration::from_millis(1)));
            return Coordination::list(self, prefix);
        }
        Ok(found)
    }
}

impl Images for Simulated {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        let read = content.read_to_end(&mut bytes);
        read.map_err(|cause| StoreError::io("read", name.as_str().as_ref(), cause))?;
        self.readable()?.memory.images.insert(name.clone(), bytes.into());
        Ok(())
    }

    fn get(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        let found = self.readable()?.memory.images.get(name).cloned();
        Ok(found.map(|bytes: Arc<[u8]>| Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>))
    }

    fn list(&self, prefix: &str) -> Result<Vec<ImageInfo>, StoreError> {
        let state = self.readable()?;
        let all = state.memory.images.iter();
        let found = all.filter(|(name, _)| name.as_str().starts_with(prefix));
        Ok(found
            .map(|(name, bytes)| ImageInfo { name: name.clone(), bytes: bytes.len() as u64 })
            .collect())
    }

    fn delete(&self, name: &Name) -> Result<(), StoreError> {
        self.readable()?.memory.images.remove(name);
        Ok(())
    }
}
