//! Reads of many places of a column at one timestamp: what holds for a whole segment is looked up
//! once for places that follow each other.

use crossbeam_epoch::Guard;

use telar_graph::Column;

use super::table::ColTable;
use super::version::ColVersion;
use super::{Chunk, PropertyChunk};
use crate::adjacency::{SEGMENT_BITS, local_of};

/// Where a [`Cursor`] is.
#[derive(Debug)]
pub(crate) enum At<'g, C: Chunk> {
    /// Nothing was ever written here.
    Nothing,
    /// Nothing is unsettled: the chunk is what there is.
    Settled(&'g C),
    /// Versions stand before the chunk.
    Written(&'g ColVersion<C>),
    /// The timestamp is in the past of what is settled.
    Past,
}

/// A column at one timestamp.
pub(crate) struct Cursor<'g, C: Chunk> {
    table: &'g ColTable<C>,
    read_ts: u64,
    guard: &'g Guard,
    segment: u32,
    at: At<'g, C>,
}

impl<'g, C: Chunk + 'static> Cursor<'g, C> {
    pub(super) fn new(table: &'g ColTable<C>, read_ts: u64, guard: &'g Guard) -> Self {
        Self { table, read_ts, guard, segment: u32::MAX, at: At::Nothing }
    }

    /// What the segment of `place` is like. It stays true for the timestamp, whatever is written or
    /// settled meanwhile: a version is never changed but by newer entries in its tail.
    #[inline(always)]
    pub(crate) fn at(&mut self, place: u32) -> &At<'g, C> {
        let segment = place >> SEGMENT_BITS;
        if segment != self.segment {
            self.segment = segment;
            self.at = self.table.at(segment, self.read_ts, self.guard);
        }
        &self.at
    }

    /// The value of a place; absent where nothing was written.
    #[inline]
    pub(crate) fn get(&mut self, place: u32) -> C::Value {
        match self.at(place) {
            At::Nothing => C::Value::default(),
            At::Settled(chunk) => chunk.get(local_of(place) as usize),
            At::Written(version) => version.get(local_of(place), self.read_ts),
            At::Past => self.table.get(place, self.read_ts, self.guard),
        }
    }
}

impl Cursor<'_, PropertyChunk> {
    /// Appends the values of so many places that follow `first`, all in its segment, it included.
    #[inline]
    pub(crate) fn append_run(&mut self, first: u32, len: usize, out: &mut Column) {
        match self.at(first) {
            At::Settled(chunk) => {
                let local = local_of(first) as usize;
                chunk.append_run(local..local + len, out);
            }
            _ => self.append_to((0..len as u32).map(|n| first + n), out),
        }
    }

    /// Appends the values of places that are all in one segment, at least one.
    #[inline]
    pub(crate) fn append_to(
        &mut self,
        places: impl ExactSizeIterator<Item = u32> + Clone,
        out: &mut Column,
    ) {
        let Some(first) = places.clone().next() else { return };
        let read_ts = self.read_ts;
        match self.at(first) {
            At::Nothing => out.push_nulls(places.len()),
            At::Settled(chunk) => {
                chunk.append_to(places.map(|place| local_of(place) as usize), out);
            }
            At::Written(version) => places.for_each(|place| {
                let local = local_of(place);
                match version.unsettled(local, read_ts) {
                    Some(value) => out.push(value),
                    // A list stays shared with its chunk.
                    None => version.settled().append_to(std::iter::once(local as usize), out),
                }
            }),
            At::Past => places.for_each(|place| out.push(self.get(place))),
        }
    }
}
