//! Segments that one commit writes much of: its values are laid over what they hold.
//!
//! ```text
//!  ColVersion ─┬─ tail     versions after the commit
//!              ├─ chunk    all values as of the commit              readers at ts and later
//!              └─ layer ── ts · written · under                     readers before ts
//!                               │         └ chunk and tail as they were
//!                               └ a bit per place that the commit wrote
//! ```
//!
//! A value takes what it takes in a chunk, 8 bytes for an integer, where an entry of a tail takes
//! 48; and it has settled once no reader is older than the commit: the layer is dropped, nothing is
//! rebuilt. Such a chunk is made before the commit takes its timestamp, so that what others wait
//! for is one pointer per segment.
//!
//! Invariants
//! 1. A segment has one layer at most: what is under it has none.
//! 2. Everything in the tail is newer than the layer, everything under it is older.
//! 3. Of places that the commit did not write, the chunk holds the newest value under the layer.

use std::sync::Arc;

use super::Chunk;
use super::chunk::BITMAP_WORDS;
use super::version::ColVersion;
use crate::adjacency::{SEGMENT_VERTICES, local_of};

/// So many writes to a segment are laid over it: a tail for as many takes no less than the chunk of
/// a full segment of integers. Over one that holds little any number is.
pub(super) const LAYER_WRITES_MIN: usize = 128;

/// Set of places of a segment.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Places([u64; BITMAP_WORDS]);

impl Places {
    fn insert(&mut self, local: u32) {
        self.0[local as usize / 64] |= 1 << (local % 64);
    }

    /// True for places of the set.
    pub(super) fn has(&self, local: u32) -> bool {
        self.0[local as usize / 64] >> (local % 64) & 1 == 1
    }

    /// Number of places.
    pub(super) fn count(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// State of a segment before a commit was laid over it.
#[derive(Debug)]
pub(super) struct Layer<C: Chunk> {
    /// The commit.
    pub(super) ts: u64,
    /// Values for readers before it.
    pub(super) under: ColVersion<C>,
    /// Places that the commit wrote.
    pub(super) written: Places,
}

/// A segment as a commit leaves it that has no timestamp yet.
#[derive(Debug)]
pub(crate) struct Laid<C: Chunk> {
    pub(super) number: u32,
    chunk: C,
    under: ColVersion<C>,
    written: Places,
}

impl<C: Chunk> Laid<C> {
    /// Lays `writes`, each at a place of the segment, over `under`, which has no layer.
    pub(super) fn new(
        number: u32,
        under: ColVersion<C>,
        writes: impl Iterator<Item = (u32, C::Value)>,
    ) -> Self {
        debug_assert!(under.layer.is_none(), "invariant 1");
        let writes: Vec<_> = writes.map(|(place, value)| (local_of(place), value)).collect();
        let mut written = Places::default();
        writes.iter().for_each(|(local, _)| written.insert(*local));
        let few = under.tail.is_none().then(|| under.chunk.with_few(&writes)).flatten();
        let chunk = few.unwrap_or_else(|| {
            let mut values: Box<[C::Value; SEGMENT_VERTICES]> =
                Box::new(std::array::from_fn(|local| under.newest(local as u32)));
            writes.into_iter().for_each(|(local, value)| values[local as usize] = value);
            C::build(&values)
        });
        Self { number, chunk, under, written }
    }

    /// The segment after the commit at `ts`.
    pub(super) fn at(self, ts: u64) -> ColVersion<C> {
        let Self { chunk, under, written, .. } = self;
        let layer = Some(Arc::new(Layer { ts, under, written }));
        ColVersion { layer, ..ColVersion::new(chunk) }
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use crossbeam_epoch as epoch;
    use telar_graph::Value;

    use super::*;
    use crate::column::{ColTable, PropertyChunk, Room, Segments};
    use crate::horizon::Horizon;
    use crate::mapped::Source;

    const PLACES: u32 = SEGMENT_VERTICES as u32;

    /// SplitMix64.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            (z ^ (z >> 27)) % n
        }
    }

    /// A column of one segment, and every version of every place.
    struct World {
        column: ColTable<PropertyChunk>,
        versions: Vec<Vec<(u64, Value)>>,
        now: u64,
        horizon: Horizon,
        /// Layers that were laid, and large writes that found the segment unsettled.
        laid: [u32; 2],
    }

    impl World {
        fn new() -> Self {
            let horizon = Horizon { watermark: 0, floor: 0 };
            let versions = vec![Vec::new(); SEGMENT_VERTICES];
            let column = ColTable::new(7, Source::default());
            Self { column, versions, now: 0, horizon, laid: [0; 2] }
        }

        /// Commits these values, as a large commit does.
        fn write(&mut self, writes: &[(u32, Value)]) {
            let guard = &epoch::pin();
            self.now += 1;
            match self.column.make_ready(0, writes.len(), guard).unwrap() {
                Room::Layer => {
                    self.laid[0] += 1;
                    let laid = self.column.layer(0, writes.iter().cloned(), guard);
                    self.column.lay(laid, self.now, guard);
                }
                Room::Tail => {
                    self.laid[1] += u32::from(writes.len() >= LAYER_WRITES_MIN);
                    let segment = self.column.segment_for_write(0);
                    let each = writes.iter().cloned();
                    each.for_each(|(place, value)| segment.write(place, self.now, value, guard));
                }
            }
            for (place, value) in writes {
                self.versions[*place as usize].push((self.now, value.clone()));
            }
        }

        fn at(&self, place: u32, ts: u64) -> Value {
            let seen = self.versions[place as usize].iter().rev().find(|(at, _)| *at <= ts);
            seen.map(|(_, value)| value.clone()).unwrap_or_default()
        }

        /// Compares everything that can be asked about a timestamp.
        fn check(&self, ts: u64) {
            let guard = &epoch::pin();
            let mut cursor = self.column.cursor(ts, guard);
            let mut present = Vec::new();
            self.column.present(0, ts, guard, |place| present.push(place));
            let segment = self.column.segment(0);
            let values = self.column.values(0, ts, guard);
            for place in 0..PLACES {
                let expected = self.at(place, ts);
                assert_eq!(self.column.get(place, ts, guard), expected, "{place} at {ts}");
                assert_eq!(cursor.get(place), expected, "{place} at {ts}");
                assert_eq!(present.binary_search(&place).is_ok(), !expected.is_null());
                if ts >= self.horizon.watermark {
                    assert_eq!(values[place as usize], expected);
                    let newest = segment.map_or(0, |segment| segment.newest_ts(place, guard));
                    let versions = &self.versions[place as usize];
                    let written = versions.last().is_some_and(|(at, _)| *at > ts);
                    assert_eq!(newest > ts, written, "{place}: {newest}, written after {ts}");
                }
            }
        }

        /// Compares the changes that are not settled, after `ts`.
        fn check_changes(&self, ts: u64) {
            let guard = &epoch::pin();
            let Some(segment) = self.column.segment(0) else { return };
            let found = segment.unsettled_changes(ts, self.now, guard);
            let mut found = found.iter();
            for place in 0..PLACES {
                for (at, _) in self.versions[place as usize].iter().filter(|(at, _)| *at > ts) {
                    let change = found.next().unwrap();
                    assert_eq!((change.local, change.ts), (place, *at));
                    assert_eq!(change.value, self.at(place, at - 1));
                }
            }
            assert!(found.next().is_none());
        }
    }

    #[test]
    fn every_reader_sees_its_version_of_what_is_laid_written_and_settled() {
        let mut laid = [0; 2];
        for seed in 0..40 {
            let (mut world, mut random) = (World::new(), Random(seed));
            for _ in 0..24 {
                let many = [1, 3, 127, 128, 400, 1024][random.below(6) as usize];
                let first = random.below(u64::from(PLACES)) as u32;
                let value = |random: &mut Random| match random.below(5) {
                    0 => Value::Null,
                    1 if seed % 4 == 0 => "text".into(),
                    _ => Value::Int(random.below(1000) as i64),
                };
                match random.below(5) {
                    0..3 => {
                        let places = (0..many).map(|n| (first + n) % PLACES);
                        let writes: Vec<_> = places.map(|p| (p, value(&mut random))).collect();
                        world.write(&writes);
                    }
                    _ => {
                        // Some readers, and some of the past, go.
                        let Horizon { watermark, floor } = world.horizon;
                        let watermark = watermark + random.below(world.now - watermark + 1);
                        let floor = (floor + random.below(world.now - floor + 1)).min(watermark);
                        world.horizon = Horizon { watermark, floor };
                        let guard = &epoch::pin();
                        world.column.settle_all(world.horizon, guard);
                    }
                }
                let Horizon { watermark, floor } = world.horizon;
                world.check(floor + random.below(world.now - floor + 1));
                world.check(watermark + random.below(world.now - watermark + 1));
                world.check_changes(watermark + random.below(world.now - watermark + 1));
            }
            world.horizon = Horizon { watermark: world.now, floor: world.now };
            world.column.settle_all(world.horizon, &epoch::pin());
            world.check(world.now);
            laid = [laid[0] + world.laid[0], laid[1] + world.laid[1]];
        }
        assert!(laid[0] > 40 && laid[1] > 40, "both ways are gone: {laid:?}");
    }

    #[test]
    fn a_layer_takes_what_its_chunks_take_and_settles_without_a_copy() {
        let mut world = World::new();
        let writes: Vec<_> = (0..PLACES).map(|p| (p, Value::Int(p.into()))).collect();
        world.write(&writes);
        let guard = &epoch::pin();
        let bytes = world.column.bytes(guard);
        assert!(bytes < 12 * SEGMENT_VERTICES, "{bytes} bytes for 1024 integers");
        world.column.settle_if_full(0, || Horizon { watermark: 0, floor: 0 }, guard);
        world.check(0);
        world.column.settle_if_full(0, || Horizon { watermark: 1, floor: 1 }, guard);
        assert!(world.column.bytes(guard) < bytes);
        world.check(1);
    }
}
