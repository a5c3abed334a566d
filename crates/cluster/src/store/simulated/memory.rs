//! What the simulated store holds, one operation at a time: the store as it is meant.
//!
//! It is small enough to be right by inspection. Simulations that decide by themselves when a
//! request arrives use it directly.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::store::{Entry, Name, PartName, Put, PutIf, Slot, SlotRange, StoreError, Version};

/// A store without faults, threads or time.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    streams: BTreeMap<Name, Stream>,
    values: BTreeMap<Name, Entry>,
    pub(super) images: BTreeMap<Name, Arc<[u8]>>,
}

#[derive(Clone, Debug, Default)]
struct Stream {
    slots: BTreeMap<u64, Slot>,
    parts: BTreeMap<PartName, Vec<u8>>,
    mark: u64,
}

impl Memory {
    /// As [`Log::put_once`](crate::store::Log::put_once); the outcome is always known.
    ///
    /// # Errors
    /// [`StoreError::Trimmed`], [`StoreError::Missing`].
    pub fn put_once(
        &mut self,
        stream: &Name,
        range: SlotRange,
        body: &[u8],
    ) -> Result<Put, StoreError> {
        let found = self.streams.entry(stream.clone()).or_default();
        found.check_mark(stream, range.first())?;
        if let Some(slot) = found.slots.get(&range.first()) {
            return Ok(Put::Lost(slot.clone()));
        }
        let before = found.slots.range(..range.first()).next_back();
        let follows = before.is_some_and(|(_, slot)| slot.range.next() == range.first());
        if !follows && found.mark.max(1) != range.first() {
            return Err(StoreError::Missing { stream: stream.clone(), at: range.first() - 1 });
        }
        found.slots.insert(range.first(), Slot { range, body: body.to_vec() });
        Ok(Put::Won)
    }

    /// As [`Log::read`](crate::store::Log::read).
    ///
    /// # Errors
    /// [`StoreError::Trimmed`], [`StoreError::Missing`].
    pub fn read(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<Slot>, StoreError> {
        let Some(found) = self.streams.get(stream) else { return Ok(Vec::new()) };
        found.check_mark(stream, from)?;
        let before = found.slots.range(..=from).next_back();
        let mut at = match before {
            Some((first, slot)) if slot.range.next() > from => *first,
            _ => from,
        };
        let (mut slots, mut bytes) = (Vec::new(), 0);
        while let Some(slot) =
            found.slots.get(&at).filter(|_| slots.is_empty() || bytes < bytes_max)
        {
            (at, bytes) = (slot.range.next(), bytes + slot.body.len());
            slots.push(slot.clone());
        }
        if slots.is_empty() && found.slots.range(from..).next().is_some() {
            return Err(StoreError::Missing { stream: stream.clone(), at: from });
        }
        Ok(slots)
    }

    /// As [`Log::trim`](crate::store::Log::trim).
    pub fn trim(&mut self, stream: &Name, before: u64) -> u64 {
        let found = self.streams.entry(stream.clone()).or_default();
        if let Some((_, slot)) = found.slots.range(..=before).next_back() {
            let mark = found.mark.max(slot.range.trim_mark(before));
            found.mark = mark;
            found.slots.retain(|first, _| *first >= mark);
            found.parts.retain(|part, _| part.slot >= mark);
        }
        found.mark.max(1)
    }

    /// Loses a slot, as a store may not.
    pub fn lose(&mut self, stream: &Name, first: u64) {
        if let Some(found) = self.streams.get_mut(stream) {
            found.slots.remove(&first);
        }
    }

    /// As [`Log::put_part`](crate::store::Log::put_part).
    pub fn put_part(&mut self, stream: &Name, part: PartName, bytes: &[u8]) {
        let found = self.streams.entry(stream.clone()).or_default();
        found.parts.entry(part).or_insert_with(|| bytes.to_vec());
    }

    /// As [`Log::read_part`](crate::store::Log::read_part).
    #[must_use]
    pub fn read_part(&self, stream: &Name, part: PartName) -> Option<Vec<u8>> {
        self.streams.get(stream)?.parts.get(&part).cloned()
    }

    /// As [`Log::parts`](crate::store::Log::parts).
    #[must_use]
    pub fn parts(&self, stream: &Name, from: u64) -> Vec<PartName> {
        let parts = self.streams.get(stream).into_iter().flat_map(|found| found.parts.keys());
        parts.copied().filter(|part| part.slot >= from).collect()
    }

    /// As [`Log::remove_part`](crate::store::Log::remove_part).
    pub fn remove_part(&mut self, stream: &Name, part: PartName) {
        if let Some(found) = self.streams.get_mut(stream) {
            found.parts.remove(&part);
        }
    }

    /// As [`Coordination::get`](crate::store::Coordination::get).
    #[must_use]
    pub fn get(&self, key: &Name) -> Option<Entry> {
        self.values.get(key).cloned()
    }

    /// As [`Coordination::put_if`](crate::store::Coordination::put_if); the outcome is always
    /// known.
    pub fn put_if(&mut self, key: &Name, expected: Version, value: &[u8]) -> PutIf {
        let found = self.values.get(key);
        let version = found.map_or(Version::ABSENT, |entry| entry.version);
        if version != expected {
            return PutIf::Lost(found.cloned());
        }
        let version = Version::from_raw(version.get() + 1);
        let entry = Entry { key: key.clone(), value: value.to_vec(), version };
        self.values.insert(key.clone(), entry);
        PutIf::Won(version)
    }

    /// As [`Coordination::list`](crate::store::Coordination::list).
    #[must_use]
    pub fn list(&self, prefix: &str) -> Vec<Entry> {
        let all = self.values.values();
        all.filter(|entry| entry.key.as_str().starts_with(prefix)).cloned().collect()
    }
}

impl Stream {
    fn check_mark(&self, stream: &Name, asked: u64) -> Result<(), StoreError> {
        if asked < self.mark {
            let oldest = self.mark;
            return Err(StoreError::Trimmed { stream: stream.clone(), asked, oldest });
        }
        Ok(())
    }
}
