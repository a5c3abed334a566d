//! Reading an index where it is stored, while it is not in memory.
//!
//! ```text
//!  values   partition 0 ──next──► partition 7 ──next──► partition 2 ─► ...
//!  numbers  say nothing of the order of keys, but grow with it where keys only grew
//! ```
//!
//! The partition of a key is found by halves, as if numbers were in the order of keys. Where that
//! did not lead to it or near it, one in √n partitions is looked at, in an order like chance, and
//! from the nearest to the left of the key links lead on: √n of them are to be expected, in
//! whatever order the partitions were made.
//!
//! Invariants
//! 1. The values of an index that is not in memory are those it had when the database was opened:
//!    whoever reads them looks afterwards whether it is in memory, and if so reads it there.
//! 2. Together with what the log changed (`replayed.rs`) they have every entry that a snapshot may
//!    want, as the tree has.
//! 3. Reads cost no more than loading: after as many partitions as there are, the index is loaded.
//!
//! Cost: a look at a partition is a verified read of one value of some 2 KiB.
//! Source: T. Cormen et al., "Introduction to Algorithms", searching a sorted compact list.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::RwLock;

use super::Index;
use super::change::Change;
use super::key::{Entry, Item, SortKey};
use super::page::{decode, decode_bounds};
use super::replayed::{REPLAYED_MAX, Replayed};
use super::tree::Piece;
use crate::format::{Kind, key};
use crate::mapped::Stored;
use crate::mapped::map::Scratch;

/// What there is of an index in the store, beside its values.
#[derive(Debug, Default)]
pub(crate) struct Cold {
    /// Partitions looked at so far.
    looks: AtomicU32,
    /// Whether somebody looked since the background thread was here.
    is_wanted: AtomicBool,
    replayed: RwLock<Arc<Replayed>>,
}

impl Cold {
    fn change(&self, change: impl FnOnce(&mut Replayed)) {
        let mut replayed = self.replayed.write();
        change(Arc::get_mut(&mut replayed).expect("INVARIANT: nobody reads during recovery"));
    }

    /// Notes what the commit `ts`, which is being replayed, changes.
    pub(crate) fn replay(&self, ts: u64, change: &Change) {
        self.change(|replayed| replayed.push(ts, change));
    }

    /// Says that the log has been read.
    pub(crate) fn replay_ends(&self) {
        self.change(Replayed::sort);
    }

    /// Whether more changes had better not be kept.
    pub(crate) fn is_full(&self) -> bool {
        self.replayed.read().len() >= REPLAYED_MAX
    }

    /// What the log changed.
    pub(super) fn replayed(&self) -> Arc<Replayed> {
        Arc::clone(&self.replayed.read())
    }

    /// Says that the index is in memory.
    pub(crate) fn loaded(&self) {
        *self.replayed.write() = Arc::default();
    }

    /// Whether somebody read it since this was asked.
    pub(crate) fn take_wanted(&self) -> bool {
        self.is_wanted.swap(false, Ordering::Relaxed)
    }
}

/// Why a read ended before it had found everything.
pub(crate) enum Stopped {
    /// The index had better be loaded.
    TooLong,
    /// A value is; `telar check` says how.
    Damaged,
}

impl Index {
    /// Calls `f` with entries of the index, which is not in memory, from `from` on, in order, until
    /// it breaks.
    ///
    /// What was read counts only if the index is not in memory afterwards, either.
    pub(crate) fn read_stored<const N: usize>(
        &self,
        stored: &Stored,
        from: &SortKey,
        mut f: impl FnMut(&SortKey, Item<N>) -> ControlFlow<()>,
    ) -> Result<(), Stopped> {
        let replayed = self.cold.replayed();
        let mut new = replayed.entries_from(from).iter().map(|(key, item)| {
            let mut of_kind = [0; N];
            of_kind.copy_from_slice(&item[..N]);
            (key, of_kind)
        });
        let mut next_new = new.next();
        let mut walk = Walk::new(self, stored);
        let mut piece: Piece<N> = walk.find(from)?;
        loop {
            let entries = &piece.entries;
            for i in entries.lower(from, &[0; N])..entries.len() {
                let (key, item) = entries.get(i);
                while let Some((new_key, new_item)) = next_new
                    && (new_key, new_item) <= (&key, item)
                {
                    next_new = new.next();
                    if (new_key, new_item) != (&key, item) && f(new_key, new_item).is_break() {
                        return Ok(());
                    }
                }
                if f(&key, item).is_break() {
                    return Ok(());
                }
            }
            let Some((_, number)) = piece.next else { break };
            piece = walk.piece(number)?;
        }
        while let Some((key, item)) = next_new {
            if f(key, item).is_break() {
                break;
            }
            next_new = new.next();
        }
        Ok(())
    }
}

/// A look at stored partitions of one index.
struct Walk<'a> {
    index: &'a Index,
    stored: &'a Stored,
    /// How many partitions there are, numbered from 0.
    partitions: u32,
    scratch: Scratch,
}

/// What a look at a partition tells of where a key is.
enum Side<const N: usize> {
    Here,
    /// In the partition with this number and lower bound, or to the right of it.
    Right(u32, Entry<N>),
    /// To the left, or here.
    Left,
}

impl<'a> Walk<'a> {
    fn new(index: &'a Index, stored: &'a Stored) -> Self {
        let partitions = stored.bound((Kind::Index as u8, index.id.get(), 0));
        index.cold.is_wanted.store(true, Ordering::Relaxed);
        Self { index, stored, partitions, scratch: Scratch::default() }
    }

    /// Reads a partition.
    fn read<T>(
        &mut self,
        number: u32,
        decode: impl FnOnce(&[u8]) -> Result<T, String>,
    ) -> Result<T, Stopped> {
        let looks = self.index.cold.looks.fetch_add(1, Ordering::Relaxed);
        // Whoever loads it already is not waited for.
        if looks >= self.partitions && !self.index.loading.is_locked() {
            return Err(Stopped::TooLong);
        }
        let key = key(Kind::Index, self.index.id.get(), 0, number);
        let found = self.stored.read(&key, &mut self.scratch, |value| decode(value.body));
        found.ok().flatten().ok_or(Stopped::Damaged)
    }

    fn piece<const N: usize>(&mut self, number: u32) -> Result<Piece<N>, Stopped> {
        self.read(number, |body| decode(number, body))
    }

    fn side<const N: usize>(&mut self, number: u32, key: &SortKey) -> Result<Side<N>, Stopped> {
        let is_passed = |(low, item): &Entry<N>| (low, item) <= (key, &[0; N]);
        let (next, first) = self.read(number, decode_bounds)?;
        Ok(match (next, first) {
            (Some((end, right)), _) if is_passed(&end) => Side::Right(right, end),
            (_, Some(first)) if is_passed(&first) => Side::Here,
            _ => Side::Left,
        })
    }

    /// The partition that `key` belongs to.
    fn find<const N: usize>(&mut self, key: &SortKey) -> Result<Piece<N>, Stopped> {
        // The nearest partition that does not begin to the right of the key.
        let mut nearest = (0, (SortKey::MIN, [0; N]));
        let (mut from, mut to) = (0, self.partitions);
        while from < to {
            let middle = from + (to - from) / 2;
            match self.side(middle, key)? {
                Side::Here => return self.piece(middle),
                Side::Right(number, low) => {
                    from = middle + 1;
                    if low > nearest.1 {
                        nearest = (number, low);
                    }
                }
                Side::Left => to = middle,
            }
        }
        let few = self.partitions.isqrt();
        for step in 0_u64.. {
            if step == few.into() {
                nearest = self.nearest_of_few(few, key, nearest)?;
            }
            match self.side(nearest.0, key)? {
                Side::Right(number, low) => nearest = (number, low),
                Side::Here | Side::Left => break,
            }
        }
        self.piece(nearest.0)
    }

    /// The nearest to `key` of `few` partitions and this one, of those that do not begin to the
    /// right of it.
    fn nearest_of_few<const N: usize>(
        &mut self,
        few: u32,
        key: &SortKey,
        mut nearest: (u32, Entry<N>),
    ) -> Result<(u32, Entry<N>), Stopped> {
        for i in 0..u64::from(few) {
            let chance = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let number = ((chance * u64::from(self.partitions)) >> 32) as u32;
            match self.side(number, key)? {
                Side::Here => return Ok((number, nearest.1)),
                Side::Right(number, low) if low > nearest.1 => nearest = (number, low),
                Side::Right(..) | Side::Left => {}
            }
        }
        Ok(nearest)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use telar_graph::{IndexId, IndexRange, LabelId, PropertyKeyId, Value, VertexId};

    use super::*;
    use crate::{Engine, IndexSpec, IndexTarget, Settings};

    const VERTICES: i64 = 12_000;

    struct World {
        dir: tempfile::TempDir,
        db: Option<Engine>,
        id: IndexId,
        label: LabelId,
        key: PropertyKeyId,
        /// The key of each vertex, if it has one.
        keys: Vec<Option<i64>>,
    }

    impl World {
        /// Vertices with the keys that `order` makes of 0, 1, 2 ..., in a store that was closed.
        fn new(order: impl Fn(i64) -> i64) -> Self {
            let dir = tempfile::tempdir().unwrap();
            let db = open(&dir);
            let (label, key) = (db.label("L").unwrap(), db.property_key("k").unwrap());
            let (target, properties) = (IndexTarget::Vertices(label), vec![key]);
            let id = db.create_index(IndexSpec { name: "i".into(), target, properties }).unwrap();
            let keys: Vec<i64> = (0..VERTICES).map(order).collect();
            for some in keys.chunks(400) {
                let mut txn = db.begin().unwrap();
                for n in some {
                    let v = txn.create_vertex(&[label]).unwrap();
                    txn.set_vertex_property(v, key, Value::Int(*n)).unwrap();
                }
                txn.commit().unwrap();
            }
            let keys = keys.into_iter().map(Some).collect();
            let mut w = Self { dir, db: Some(db), id, label, key, keys };
            w.reopen(true);
            w
        }

        fn db(&self) -> &Engine {
            self.db.as_ref().unwrap()
        }

        fn reopen(&mut self, close: bool) {
            let db = self.db.take().unwrap();
            if close {
                db.close().unwrap()
            } else {
                drop(db)
            }
            self.db = Some(open(&self.dir));
        }

        fn index(&self) -> Arc<Index> {
            self.db().shared.indexes.find(self.id).unwrap()
        }

        /// What a range of keys is to find.
        fn expected(&self, keys: std::ops::Range<i64>) -> Vec<VertexId> {
            let all = self.keys.iter().zip(0..).filter_map(|(key, v)| Some(((*key)?, v)));
            let mut found: Vec<(i64, u64)> = all.filter(|(key, _)| keys.contains(key)).collect();
            found.sort_unstable();
            found.into_iter().map(|(_, v)| VertexId::from_raw(v)).collect()
        }

        /// Looks for keys and ranges, the index staying in the store; returns the looks each took.
        fn compare(&self) -> f64 {
            use std::ops::Bound::{Excluded, Included};
            let (index, mut looks, mut finds) = (self.index(), 0, 0);
            let reader = self.db().reader().unwrap();
            for n in (-3..VERTICES + 3).step_by(37) {
                index.cold.looks.store(0, Ordering::Relaxed);
                let found = reader.index_lookup(self.id, &[Value::Int(n)]).unwrap();
                assert_eq!(found, self.expected(n..n + 1), "{n}");
                looks += index.cold.looks.load(Ordering::Relaxed);
                finds += 1;
                index.cold.looks.store(0, Ordering::Relaxed);
                let (from, to) = (Included(Value::Int(n)), Excluded(Value::Int(n + 500)));
                let mut range = IndexRange { from, to, ..IndexRange::default() };
                let found = reader.index_range(self.id, &range).unwrap();
                assert_eq!(found, self.expected(n..n + 500), "from {n}");
                range.limit = 3;
                index.cold.looks.store(0, Ordering::Relaxed);
                assert_eq!(
                    reader.index_range(self.id, &range).unwrap(),
                    found[..found.len().min(3)]
                );
            }
            assert!(!index.is_loaded());
            f64::from(looks) / f64::from(finds)
        }
    }

    fn open(dir: &tempfile::TempDir) -> Engine {
        let (background_interval_ms, store_bytes_max) = (0, 1 << 28);
        let settings = Settings { background_interval_ms, store_bytes_max, ..Settings::default() };
        Engine::open(dir.path(), settings).unwrap()
    }

    /// 7,919 and the number of vertices have no common divisor.
    fn scattered(n: i64) -> i64 {
        n * 7919 % VERTICES
    }

    #[test]
    fn keys_are_found_in_the_store_whatever_order_they_came_in() {
        let compare = |order: fn(i64) -> i64, most: f64| {
            let looks = World::new(order).compare();
            assert!(looks < most, "{looks} looks");
        };
        compare(|n| n, 10.0);
        compare(|n| VERTICES - 1 - n, 40.0);
        compare(scattered, 40.0);
    }

    /// What the log changed is found beside the store, and is in memory, in the next checkpoint and
    /// after a restart as if it had been written to the index at once.
    #[test]
    fn what_the_log_changed_is_found_beside_the_store() {
        let mut w = World::new(scattered);
        for round in 0..2 {
            for (at, key) in w.keys.clone().into_iter().enumerate().skip(round).step_by(29) {
                let vertex = VertexId::from_raw(at as u64);
                w.keys[at] = match at % 3 {
                    _ if key.is_none() => continue,
                    0 => key.map(|key| key + 7),
                    1 => key,
                    _ => None,
                };
                let mut txn = w.db().begin().unwrap();
                match w.keys[at] {
                    Some(key) => txn.set_vertex_property(vertex, w.key, Value::Int(key)).unwrap(),
                    None => txn.delete_vertex(vertex, true).unwrap(),
                }
                txn.commit().unwrap();
            }
            let mut txn = w.db().begin().unwrap();
            let new = txn.create_vertex(&[w.label]).unwrap();
            txn.set_vertex_property(new, w.key, Value::Int(5)).unwrap();
            txn.commit().unwrap();
            w.keys.resize(w.keys.len().max(new.get() as usize + 1), None);
            w.keys[new.get() as usize] = Some(5);
            w.reopen(false);
            w.compare();
            assert!(w.index().was_replayed_to());
        }
        // A checkpoint needs all of it.
        w.db().checkpoint().unwrap();
        assert!(w.index().is_loaded() && !w.index().was_replayed_to());
        let all = w.db().reader().unwrap().index_range(w.id, &IndexRange::default()).unwrap();
        assert_eq!(all, w.expected(i64::MIN..i64::MAX));
        w.reopen(false);
        w.compare();
        drop(w.db.take());
        let report = crate::maintenance::check(w.dir.path()).unwrap();
        assert!(report.worst().is_none(), "{report:?}");
    }
}
