//! Places: where the properties of edges without an ordinal are.
//!
//! An edge that was made with properties, or beside a parallel one, has an ordinal, at which its
//! properties stand in the columns of its type. Every other edge has ordinal 0, and most never get
//! a property. The first time that one is set, the edge gets a *place*: a number from the same
//! counter as ordinals, which belongs to its pair of ends from then on. The edge's id stays as it
//! is, and nothing in its lists changes.
//!
//! ```text
//!  slot   pair u64 (source, destination) · place u32, 0 if empty
//! ```
//!
//! Invariants
//! 1. A pair that has a place keeps it for ever. An edge that is made between its ends from then on
//!    has an ordinal, so what is committed at a place is of one edge, at whatever timestamp it is
//!    read.
//! 2. A place is given to its pair before anything is written there.
//! 3. Nothing else has the number of a place as its ordinal or place.
//! 4. In a replicated database nothing is stored of a place of which the log does not know: its
//!    transaction may fail, and another leader give the number, or the pair, to others. What was
//!    given out and is not in a record is *unlogged*; it is gone when the database is opened anew,
//!    as a leader that is deposed does.
//!
//! Concurrency: readers take no latch; whoever adds holds the lock. A slot is written once, the
//! pair before the place. A table that fills up is replaced by one of twice its size.
//! Cost: 16 to 32 bytes per pair, always in memory; finding one is a wait for memory.

// Timestamps of writes are those of segments, which no model replaces.
use std::collections::HashSet;
use std::sync::atomic::AtomicU64 as LastWrite;

use crossbeam_epoch::Guard;

use crate::adjacency::segment_of;
use crate::packed::{get_run, put_run};
use crate::reclaim::EpochCell;
use crate::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use crate::sync::{Mutex, lock};
use crate::table::SparseArray;
use telar_graph::codec::{get_varint, put_varint};

/// Slots of the first table.
const SLOTS_MIN: usize = 16;

#[derive(Debug)]
struct Table {
    pairs: Box<[AtomicU64]>,
    places: Box<[AtomicU32]>,
}

fn pair(src: u32, dst: u32) -> u64 {
    u64::from(src) << 32 | u64::from(dst)
}

impl Table {
    fn new(slots: usize) -> Self {
        Self {
            pairs: (0..slots).map(|_| AtomicU64::new(0)).collect(),
            places: (0..slots).map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Slots in the order in which a pair is looked for in them.
    fn probe(&self, pair: u64) -> impl Iterator<Item = usize> + use<> {
        let mask = self.places.len() - 1;
        let first = (pair.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize;
        (0..=mask).map(move |i| (first + i) & mask)
    }

    /// The place of a pair; 0 if it has none.
    fn get(&self, pair: u64) -> u32 {
        for slot in self.probe(pair) {
            // ORDERING: acquire pairs with the release in `insert`: the pair was written before.
            let place = self.places[slot].load(Ordering::Acquire);
            if place == 0 || self.pairs[slot].load(Ordering::Relaxed) == pair {
                return place;
            }
        }
        0
    }

    /// Adds a pair that is not there. The lock is held, and there is an empty slot.
    fn insert(&self, pair: u64, place: u32) {
        let empty = |slot: &usize| self.places[*slot].load(Ordering::Relaxed) == 0;
        let slot = self.probe(pair).find(empty).expect("INVARIANT: a table is never full");
        self.pairs[slot].store(pair, Ordering::Relaxed);
        self.places[slot].store(place, Ordering::Release);
    }

    /// Every pair with its place.
    fn iter(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        let both = self.pairs.iter().zip(&self.places);
        both.filter_map(|(pair, place)| {
            let place = place.load(Ordering::Acquire);
            (place != 0).then(|| (pair.load(Ordering::Relaxed), place))
        })
    }
}

/// The places of one edge type.
#[derive(Debug, Default)]
pub(crate) struct Places {
    table: EpochCell<Table>,
    used: Mutex<usize>,
    /// True once there are any.
    any: AtomicBool,
    /// In a replicated database the pairs whose places are in no record yet, and whether there may
    /// be any.
    unlogged: Mutex<HashSet<u64>>,
    any_unlogged: AtomicBool,
    /// Per segment of sources, the last commit that wrote a property at a place of one.
    last_writes: SparseArray<LastWrite>,
    /// One past the largest segment of sources.
    bound: AtomicU32,
}

impl Places {
    /// The place of the edge without an ordinal from `src` to `dst`; 0 if it has none.
    #[inline]
    pub(crate) fn get(&self, src: u32, dst: u32, guard: &Guard) -> u32 {
        // ORDERING: acquire pairs with the release in `add`.
        if self.any.load(Ordering::Acquire) { self.find(src, dst, guard) } else { 0 }
    }

    #[cold]
    fn find(&self, src: u32, dst: u32, guard: &Guard) -> u32 {
        self.table.get(guard).map_or(0, |table| table.get(pair(src, dst)))
    }

    /// Notes that the place that a pair is about to get is in no record yet: before it can be
    /// found, so that a checkpoint that sees the place sees this, too.
    pub(crate) fn unlogged(&self, src: u32, dst: u32) {
        lock(&self.unlogged).insert(pair(src, dst));
        self.any_unlogged.store(true, Ordering::Release);
    }

    /// Notes that a record of the log has the place of a pair.
    pub(crate) fn logged(&self, src: u32, dst: u32) {
        if self.any_unlogged.load(Ordering::Acquire) {
            lock(&self.unlogged).remove(&pair(src, dst));
        }
    }

    /// The place of a pair, which gets one from `new` if it has none.
    pub(crate) fn get_or_add<E>(
        &self,
        src: u32,
        dst: u32,
        guard: &Guard,
        new: impl FnOnce() -> Result<u32, E>,
    ) -> Result<u32, E> {
        match self.get(src, dst, guard) {
            0 => {}
            place => return Ok(place),
        }
        let mut used = lock(&self.used);
        let mut table = self.table.get(guard);
        if let Some(place) = table.map(|table| table.get(pair(src, dst))).filter(|p| *p != 0) {
            return Ok(place);
        }
        let place = new()?;
        let slots = table.map_or(0, |table| table.places.len());
        if (*used + 1) * 4 > slots * 3 {
            let larger = Table::new((2 * slots).max(SLOTS_MIN));
            for (pair, place) in table.into_iter().flat_map(Table::iter) {
                larger.insert(pair, place);
            }
            self.table.put(larger, guard);
            table = self.table.get(guard);
        }
        let table = table.expect("INVARIANT: there is one with room by now");
        table.insert(pair(src, dst), place);
        *used += 1;
        self.bound.fetch_max(segment_of(src) + 1, Ordering::Relaxed);
        self.any.store(true, Ordering::Release);
        Ok(place)
    }

    /// Notes that commit `ts` writes a property at the place of an edge from `src`.
    pub(crate) fn written(&self, src: u32, ts: u64) {
        self.last_writes.get_or_grow(segment_of(src)).fetch_max(ts, Ordering::Relaxed);
    }

    /// One past the largest segment of sources.
    pub(crate) fn segment_bound(&self) -> u32 {
        self.bound.load(Ordering::Relaxed)
    }

    /// Timestamp of the last property written at a place of a source in segment `number`.
    pub(crate) fn last_write(&self, number: u32) -> Option<&LastWrite> {
        self.last_writes.get(number)
    }

    /// The places of each segment of sources that `wanted` names, but for unlogged ones.
    pub(crate) fn by_segment(
        &self,
        wanted: impl Fn(u32) -> bool,
        guard: &Guard,
    ) -> Vec<(u32, Vec<Placed>)> {
        let unlogged = lock(&self.unlogged);
        let all = self.table.get(guard).into_iter().flat_map(Table::iter);
        let all = all.filter(|(pair, _)| !unlogged.contains(pair));
        let placed =
            all.map(|(pair, place)| Placed { src: (pair >> 32) as u32, dst: pair as u32, place });
        let mut found: Vec<Placed> = placed.filter(|p| wanted(segment_of(p.src))).collect();
        found.sort_unstable();
        let same = found.chunk_by(|a, b| segment_of(a.src) == segment_of(b.src));
        same.map(|same| (segment_of(same[0].src), same.to_vec())).collect()
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        self.table.get(guard).map_or(0, |table| 12 * table.places.len())
    }
}

/// A pair of ends with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Placed {
    pub(crate) src: u32,
    pub(crate) dst: u32,
    pub(crate) place: u32,
}

/// Appends the places of one segment of sources, in order.
///
/// ```text
///  count varint · runs of count sources and places (packed.rs) · count destinations, u32 each
/// ```
///
/// Destinations are not packed, so that a value is never much shorter than what it says.
pub(crate) fn encode(placed: &[Placed], out: &mut Vec<u8>) {
    put_varint(placed.len() as u64, out);
    let columns: [fn(&Placed) -> u32; 2] = [|p| p.src, |p| p.place];
    for column in columns {
        let values: Vec<i64> = placed.iter().map(|p| column(p).into()).collect();
        put_run(&values, out);
    }
    placed.iter().for_each(|p| out.extend_from_slice(&p.dst.to_le_bytes()));
}

/// Decodes the places of segment `number`.
pub(crate) fn decode(number: u32, mut body: &[u8]) -> Result<Vec<Placed>, &'static str> {
    let count = get_varint(&mut body).map_err(|_| "the number of places is malformed")?;
    let count = usize::try_from(count).ok().filter(|n| *n <= body.len() / 4);
    let count = count.ok_or("more places than the value holds")?;
    let mut columns = [const { Vec::new() }; 2];
    let mut wide = false;
    for column in &mut columns {
        get_run(&mut body, count, |v| {
            wide |= u32::try_from(v).is_err();
            column.push(v as u32);
        })?;
    }
    let (destinations, rest) = body.as_chunks::<4>();
    if destinations.len() != count || !rest.is_empty() {
        return Err("the value of places has the wrong length");
    }
    let [sources, places] = columns;
    let both = sources.into_iter().zip(places).zip(destinations);
    let placed: Vec<Placed> = both
        .map(|((src, place), dst)| Placed { src, dst: u32::from_le_bytes(*dst), place })
        .collect();
    let ascend = placed.windows(2).all(|two| (two[0].src, two[0].dst) < (two[1].src, two[1].dst));
    let fit = placed.iter().all(|p| p.place != 0 && segment_of(p.src) == number);
    if wide || !ascend || !fit {
        return Err("places are out of order or out of range");
    }
    Ok(placed)
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use crossbeam_epoch as epoch;

    use super::*;

    fn filled(count: u32) -> Places {
        let (places, guard) = (Places::default(), &epoch::pin());
        for i in 0..count {
            let (src, dst) = (i * 7 % 5000, i / 3);
            let place = places.get_or_add(src, dst, guard, || Ok::<_, ()>(i + 1));
            assert_eq!(place, Ok(i + 1));
            places.written(src, u64::from(i));
        }
        places
    }

    #[test]
    fn a_pair_keeps_its_place() {
        let (places, guard) = (filled(10_000), &epoch::pin());
        for i in 0..10_000 {
            let (src, dst) = (i * 7 % 5000, i / 3);
            assert_eq!(places.get(src, dst, guard), i + 1);
            assert_eq!(places.get_or_add(src, dst, guard, || Err(())), Ok(i + 1));
        }
        assert_eq!(places.get(1, 2, guard), 0);
        assert_eq!(places.get_or_add(6000, 2, guard, || Err(())), Err(()), "none was to be had");
        assert_eq!(places.get(6000, 2, guard), 0);
        assert!(places.bytes(guard) <= 32 * 10_000);
    }

    #[test]
    fn places_are_stored_by_segment() {
        let (places, guard) = (filled(3000), &epoch::pin());
        let all = places.by_segment(|_| true, guard);
        assert_eq!(all.iter().map(|(_, placed)| placed.len()).sum::<usize>(), 3000);
        for (number, placed) in &all {
            let mut bytes = Vec::new();
            encode(placed, &mut bytes);
            assert_eq!(decode(*number, &bytes).as_ref(), Ok(placed));
            assert!(decode(number + 1, &bytes).is_err());
            for end in 0..bytes.len() {
                assert!(decode(*number, &bytes[..end]).is_err(), "cut at {end}");
            }
        }
        assert_eq!(places.by_segment(|n| n == 2, guard), [all[2].clone()]);
    }

    #[test]
    fn what_the_log_does_not_know_is_not_stored() {
        let (places, guard) = (filled(10), &epoch::pin());
        let stored = |places: &Places| {
            let all = places.by_segment(|_| true, guard).into_iter();
            all.map(|(_, placed)| placed.len()).sum::<usize>()
        };
        assert_eq!(stored(&places), 10);
        for dst in [5000, 5001] {
            let place = places.get_or_add(1, dst, guard, || {
                places.unlogged(1, dst);
                Ok::<_, ()>(dst)
            });
            assert_eq!(place, Ok(dst));
            // Found by others, and not given out twice.
            assert_eq!(places.get_or_add(1, dst, guard, || Err(())), Ok(dst));
        }
        assert_eq!(places.get_or_add(0, 0, guard, || Err(())), Ok(1), "one of before");
        assert_eq!(stored(&places), 10);
        places.logged(1, 5001);
        assert_eq!((stored(&places), places.get(1, 5000, guard)), (11, 5000));
    }

    /// Golden bytes. A change here is a change of the format.
    #[test]
    fn places_have_these_bytes() {
        let placed = [
            Placed { src: 1024, dst: 7, place: 3 },
            Placed { src: 1024, dst: 9, place: 2 },
            Placed { src: 1026, dst: 0, place: 8 },
        ];
        let mut bytes = Vec::new();
        encode(&placed, &mut bytes);
        let runs = [3, 0x81, 0xFE, 15, 5, 3, 4, 0x81, 1];
        let destinations = [7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(bytes, [&runs[..], &destinations].concat());
        // One source, consecutive destinations and places: next to nothing but the destinations.
        let many: Vec<Placed> =
            (0..100_000).map(|i| Placed { src: 5, dst: i, place: i + 1 }).collect();
        bytes.clear();
        encode(&many, &mut bytes);
        assert_eq!(decode(0, &bytes), Ok(many));
    }
}
