//! Streams in a folder.
//!
//! *Trimming beside writers.* `trim` first makes the new mark durable, then removes slots before
//! it. A writer first links its slot, then reads the mark. If it could link because the slot of
//! that name was removed, the mark had been there before, so the writer sees it and has not won.
//! The slot that it left is before the mark: no reader looks there, and the next trimming removes
//! it.
//!
//! Cost: a put is two syncs; a read of known slots one open each. A read that begins inside a slot,
//! or at the end of the log, lists the folder; so do trimming and lists, and a put whose slot
//! before it this process has not won.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::files::{self, Folder, Link};
use super::{Directory, file_name, number_name, numbers};
use crate::store::error::check_size;
use crate::store::{Log, Name, PartName, Put, Slot, SlotRange, StoreError};

/// Time between two looks for a slot.
const POLL: Duration = Duration::from_millis(3);

/// The folders of a stream.
struct Stream {
    name: Name,
    slots: PathBuf,
    parts: PathBuf,
    trimmed: PathBuf,
}

impl Stream {
    fn slot_path(&self, first: u64) -> PathBuf {
        self.slots.join(number_name(first))
    }

    fn part_path(&self, part: PartName) -> PathBuf {
        self.parts.join(part.to_string())
    }

    fn slot(&self, first: u64) -> Result<Option<Slot>, StoreError> {
        let path = self.slot_path(first);
        let Some((next, body)) = files::read_small(&path)? else { return Ok(None) };
        let range = SlotRange::new(first, next)
            .map_err(|cause| StoreError::damaged(path.display().to_string(), cause.to_string()))?;
        Ok(Some(Slot { range, body }))
    }

    fn mark(&self) -> Result<u64, StoreError> {
        let marks = numbers(&Folder::at(&self.trimmed).names()?);
        Ok(marks.last().copied().unwrap_or(1))
    }

    /// The trim mark, which is not behind `asked`.
    fn check_mark(&self, asked: u64) -> Result<u64, StoreError> {
        let oldest = self.mark()?;
        if asked < oldest {
            return Err(StoreError::Trimmed { stream: self.name.clone(), asked, oldest });
        }
        Ok(oldest)
    }

    /// Beginnings of all slots, in order.
    fn firsts(&self) -> Result<Vec<u64>, StoreError> {
        Ok(numbers(&Folder::at(&self.slots).names()?))
    }

    /// The last slot that begins at or before `timestamp`, of those that begin at `firsts`.
    fn slot_before(&self, firsts: &[u64], timestamp: u64) -> Result<Option<Slot>, StoreError> {
        let before = firsts.partition_point(|first| *first <= timestamp);
        let Some(first) = before.checked_sub(1).map(|at| firsts[at]) else { return Ok(None) };
        self.slot(first)
    }

    /// The slot that holds `timestamp`; or none, and whether there are later ones.
    fn holder(&self, timestamp: u64) -> Result<(Option<Slot>, bool), StoreError> {
        if let Some(slot) = self.slot(timestamp)? {
            return Ok((Some(slot), false));
        }
        let firsts = self.firsts()?;
        let before = self.slot_before(&firsts, timestamp)?;
        let found = before.filter(|slot| slot.range.next() > timestamp);
        let is_gap = found.is_none() && firsts.last().is_some_and(|last| *last > timestamp);
        Ok((found, is_gap))
    }
}

impl Directory {
    fn stream(&self, name: &Name) -> Stream {
        let folder = self.root.join("log").join(file_name(name));
        let [slots, parts, trimmed] = ["slots", "parts", "trimmed"].map(|sub| folder.join(sub));
        Stream { name: name.clone(), slots, parts, trimmed }
    }

    /// Fails unless a slot ends at `at`, or nothing before it is left.
    fn check_follows(&self, stream: &Stream, at: u64) -> Result<(), StoreError> {
        let mark = stream.check_mark(at)?;
        // It may be trimmed meanwhile.
        if at == mark || self.ends(stream, at, mark)? || stream.check_mark(at)? == at {
            return Ok(());
        }
        Err(StoreError::Missing { stream: stream.name.clone(), at: at - 1 })
    }

    /// True if a slot ends at `at`, which is after `mark`.
    fn ends(&self, stream: &Stream, at: u64, mark: u64) -> Result<bool, StoreError> {
        let key = stream.name.as_str();
        if let Some(first) = self.boundaries.before(key, at) {
            let path = stream.slot_path(first);
            let exists = path.try_exists();
            if exists.map_err(|cause| files::io_error("look for", &path, cause))? {
                return Ok(true);
            }
        }
        let slot = stream.slot_before(&stream.firsts()?, at - 1)?;
        // What begins before the mark is no slot.
        let is_slot = |range: &SlotRange| range.next() == at && range.first() >= mark;
        let range = slot.map(|slot| slot.range).filter(is_slot);
        self.boundaries.note(key, range);
        Ok(range.is_some())
    }
}

impl Log for Directory {
    fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        check_size(body.len(), self.body_bytes_max)?;
        let stream = self.stream(stream);
        self.check_follows(&stream, range.first())?;
        self.folder(&stream.slots)?;
        let file = files::write_small(&self.new, range.next(), body)?;
        let unknown = |cause| Ok(Put::Unknown(cause));
        match file.link(&stream.slot_path(range.first()))? {
            Link::Made => {
                if let Err(cause) = self.sync(&stream.slots) {
                    return unknown(cause);
                }
                match stream.check_mark(range.first()) {
                    Ok(_) => {
                        self.boundaries.note(stream.name.as_str(), [range]);
                        Ok(Put::Won)
                    }
                    // Won and trimmed since, or trimmed and won in vain: the first has been read by
                    // others, so it is not for this writer to say that it did not happen.
                    Err(cause) => unknown(cause),
                }
            }
            Link::Taken => {
                let Some(slot) = stream.slot(range.first())? else {
                    stream.check_mark(range.first())?;
                    let place = stream.slot_path(range.first()).display().to_string();
                    return Err(StoreError::damaged(place, "it vanished and is not trimmed"));
                };
                self.sync(&stream.slots)?;
                // What a writer that slept left before the mark is no slot.
                stream.check_mark(range.first())?;
                Ok(Put::Lost(slot))
            }
            Link::Unknown(cause) => unknown(cause),
        }
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        let stream = self.stream(stream);
        let mut slots = Vec::new();
        let mut bytes = 0;
        let (mut next, mut is_gap) = stream.holder(from)?;
        if is_gap {
            // A list that is made beside a writer may lack what was there before something else.
            (next, is_gap) = stream.holder(from)?;
        }
        while let Some(slot) = next.take() {
            bytes += slot.body.len();
            if bytes < bytes_max {
                next = stream.slot(slot.range.next())?;
            }
            slots.push(slot);
        }
        if !slots.is_empty() {
            self.sync(&stream.slots)?;
        }
        // Last: what was removed while this read went on is not the end of the log.
        let mark = stream.check_mark(from)?;
        if is_gap {
            return Err(StoreError::Missing { stream: stream.name, at: from });
        }
        // The mark is where a slot begins; what begins before it is no slot, but what a writer that
        // slept left there.
        if slots.first().is_some_and(|slot| slot.range.first() < mark) {
            slots.clear();
        }
        Ok(slots)
    }

    fn follow(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<Slot>, StoreError> {
        let end = Instant::now() + wait;
        let path = self.stream(stream).slot_path(from);
        let mut slots = self.read(stream, from, bytes_max)?;
        // The end of the log: the next slot begins here.
        while slots.is_empty() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // It may have been won and trimmed since.
                return self.read(stream, from, bytes_max);
            }
            thread::sleep(POLL.min(left));
            if path.exists() {
                slots = self.read(stream, from, bytes_max)?;
            }
        }
        Ok(slots)
    }

    fn oldest(&self, stream: &Name) -> Result<u64, StoreError> {
        self.stream(stream).mark()
    }

    fn bytes(&self, stream: &Name) -> Result<u64, StoreError> {
        let stream = self.stream(stream);
        let mut bytes = 0;
        for folder in [&stream.slots, &stream.parts] {
            for name in Folder::at(folder).names()? {
                bytes += files::small_bytes(&folder.join(name))?;
            }
        }
        Ok(bytes)
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        let stream = self.stream(stream);
        let last = stream.slot_before(&stream.firsts()?, before)?.map(|slot| slot.range);
        let old = stream.mark()?;
        // Only whole slots: the mark is where one begins.
        let to = |range: SlotRange| range.trim_mark(before);
        // A slot that begins before the mark is none.
        let mark = last.filter(|range| range.first() >= old).map_or(old, to);
        if mark > old {
            self.folder(&stream.trimmed)?;
            let file = files::write_new(&self.new, &[])?;
            if let Link::Unknown(cause) = file.link(&stream.trimmed.join(number_name(mark)))? {
                return Err(cause);
            }
            self.sync(&stream.trimmed)?;
        }
        // Where nothing was left to trim, another may just have done so. Nor has one that was cut
        // off removed all that is before its mark.
        let mark = stream.mark()?;
        for first in stream.firsts()? {
            if first < mark {
                files::remove(&stream.slot_path(first))?;
            }
        }
        for part in self.parts(&stream.name, 0)? {
            if part.slot < mark {
                files::remove(&stream.part_path(part))?;
            }
        }
        for older in numbers(&Folder::at(&stream.trimmed).names()?) {
            if older < mark {
                files::remove(&stream.trimmed.join(number_name(older)))?;
            }
        }
        Ok(mark)
    }

    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(bytes.len(), self.body_bytes_max)?;
        let stream = self.stream(stream);
        self.folder(&stream.parts)?;
        let file = files::write_small(&self.new, 0, bytes)?;
        if let Link::Unknown(cause) = file.link(&stream.part_path(part))? {
            return Err(cause);
        }
        self.sync(&stream.parts)
    }

    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        let found = files::read_small(&self.stream(stream).part_path(part))?;
        Ok(found.map(|(_, bytes)| bytes))
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        let names = Folder::at(&self.stream(stream).parts).names()?;
        let parts = names.iter().filter_map(|name| name.parse::<PartName>().ok());
        Ok(parts.filter(|part| part.slot >= from).collect())
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        files::remove(&self.stream(stream).part_path(part))
    }
}
