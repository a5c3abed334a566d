//! Things in the order they were added, found by key.
//!
//! ```text
//!  items    [ a ][ b ][ c ] ...            in order
//!  places   [ 0 ][ 2 ][ 0 ][ 1 ][ 3 ] ...  number of an item, plus one; 0 is free
//! ```
//!
//! Small sets are searched linearly. Larger ones have a table with open addressing, which holds
//! numbers of items only: the keys stand in the items.
//!
//! Invariants
//! 1. A table is there if and only if there are more items than [`LINEAR_MAX`].
//! 2. It is at most three quarters full; from the place that a key's hash names to the place of its
//!    item, none is free.
//! 3. The key of every item lies between `low` and `high`, and the bit of its group is set in
//!    `groups`. Removing an item leaves both as they are.
//!
//! Cost: 5 to 11 bytes per item beside the items themselves.

use std::hash::BuildHasher;
use std::ops::RangeInclusive;

use foldhash::fast::RandomState;
use smallvec::SmallVec;

/// Sets up to this size are searched linearly.
const LINEAR_MAX: usize = 16;

/// Something with a unique key.
pub(crate) trait Key {
    /// The key: unique among the items of one kind.
    fn key(&self) -> u128;

    /// Bytes that it holds beside its own place.
    fn heap_bytes(&self) -> usize {
        0
    }

    /// Number of the items that a batch of reads is about: those of one property, say.
    fn group(&self) -> u32 {
        0
    }
}

/// Bit of a group: groups share them.
fn group_bit(group: u32) -> u64 {
    1 << (group % 64)
}

/// Items in order, found by key.
#[derive(Debug)]
pub(crate) struct Keyed<T, const N: usize>
where
    [T; N]: smallvec::Array<Item = T>,
{
    items: SmallVec<[T; N]>,
    places: Option<Places>,
    /// Bytes that the items hold beside their places.
    heap: usize,
    low: u128,
    high: u128,
    groups: u64,
}

impl<T, const N: usize> Default for Keyed<T, N>
where
    [T; N]: smallvec::Array<Item = T>,
{
    fn default() -> Self {
        let (items, places) = (SmallVec::new(), None);
        Self { items, places, heap: 0, low: u128::MAX, high: 0, groups: 0 }
    }
}

/// The table: a power of two places.
#[derive(Debug)]
struct Places {
    slots: Box<[u32]>,
    hasher: RandomState,
}

impl Places {
    fn of<T: Key>(items: &[T]) -> Self {
        let size = (items.len() * 2).next_power_of_two();
        let mut places =
            Self { slots: vec![0; size].into_boxed_slice(), hasher: RandomState::default() };
        for (at, item) in items.iter().enumerate() {
            places.add(item.key(), at);
        }
        places
    }

    fn home(&self, key: u128) -> usize {
        self.hasher.hash_one(key) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    fn has_room(&self, items: usize) -> bool {
        4 * items <= 3 * self.slots.len()
    }

    /// Notes that item `at` has this key. There is a free place.
    fn add(&mut self, key: u128, at: usize) {
        let mut slot = self.home(key);
        while self.slots[slot] != 0 {
            slot = self.after(slot);
        }
        self.slots[slot] = at as u32 + 1;
    }

    /// The place of the item with this key.
    #[inline]
    fn slot_of<T: Key>(&self, key: u128, items: &[T]) -> Option<usize> {
        let mut slot = self.home(key);
        loop {
            let at = self.slots[slot].checked_sub(1)? as usize;
            if items[at].key() == key {
                return Some(slot);
            }
            slot = self.after(slot);
        }
    }

    /// Frees a place, and moves those up that it kept from theirs.
    fn free<T: Key>(&mut self, mut free: usize, items: &[T]) {
        let mask = self.slots.len() - 1;
        let mut slot = free;
        loop {
            slot = self.after(slot);
            let Some(at) = self.slots[slot].checked_sub(1) else { break };
            let home = self.home(items[at as usize].key());
            if slot.wrapping_sub(home) & mask >= slot.wrapping_sub(free) & mask {
                self.slots[free] = self.slots[slot];
                free = slot;
            }
        }
        self.slots[free] = 0;
    }
}

impl<T: Key, const N: usize> Keyed<T, N>
where
    [T; N]: smallvec::Array<Item = T>,
{
    /// The item with `key`.
    #[inline]
    pub(crate) fn find(&self, key: u128) -> Option<usize> {
        // PERF: query_times transactions: most of what a batch asks for was never written.
        if key < self.low || key > self.high {
            return None;
        }
        match &self.places {
            None => self.items.iter().position(|i| i.key() == key),
            Some(places) => {
                let slot = places.slot_of(key, &self.items)?;
                Some(places.slots[slot] as usize - 1)
            }
        }
    }

    /// False if no item is of this group.
    #[inline]
    pub(crate) fn may_have_group(&self, group: u32) -> bool {
        self.groups & group_bit(group) != 0
    }

    /// False if no item has a key in this range.
    #[inline]
    pub(crate) fn may_have_any(&self, keys: RangeInclusive<u128>) -> bool {
        *keys.start() <= self.high && *keys.end() >= self.low
    }

    #[inline]
    pub(crate) fn get(&self, key: u128) -> Option<&T> {
        self.find(key).map(|i| &self.items[i])
    }

    /// Like [`get`](Self::get), for keys that are asked for in about the order they were added:
    /// looks at place `near` first, and leaves there the place after the item.
    #[inline]
    pub(crate) fn get_from(&self, key: u128, near: &mut usize) -> Option<&T> {
        let here = self.items.get(*near).filter(|i| i.key() == key);
        let found = here.map(|_| *near).or_else(|| self.find(key))?;
        *near = found + 1;
        Some(&self.items[found])
    }

    /// The item with `key`, to be changed in nothing that its key or its heap bytes depend on.
    pub(crate) fn get_mut(&mut self, key: u128) -> Option<&mut T> {
        self.find(key).map(|i| &mut self.items[i])
    }

    /// Adds an item whose key is not there yet.
    #[inline]
    pub(crate) fn push(&mut self, item: T) {
        let at = self.items.len();
        self.heap += item.heap_bytes();
        let key = item.key();
        (self.low, self.high) = (self.low.min(key), self.high.max(key));
        self.groups |= group_bit(item.group());
        self.items.push(item);
        match &mut self.places {
            None if at < LINEAR_MAX => {}
            Some(places) if places.has_room(at + 1) => places.add(key, at),
            places => {
                // The old one goes first: it is not needed to make the new one.
                *places = None;
                *places = Some(Places::of(&self.items));
            }
        }
    }

    /// Replaces the item with the same key, or adds it.
    #[inline]
    pub(crate) fn put(&mut self, item: T) {
        match self.find(item.key()) {
            Some(i) => {
                self.heap = self.heap + item.heap_bytes() - self.items[i].heap_bytes();
                self.items[i] = item;
            }
            None => self.push(item),
        }
    }

    /// Removes the item with `key`, if it is there; the last one takes its place.
    pub(crate) fn remove(&mut self, key: u128) {
        let Some(at) = self.find(key) else { return };
        if let Some(places) = &mut self.places {
            let slot = places.slot_of(key, &self.items).expect("INVARIANT: it was found");
            places.free(slot, &self.items);
            let last = self.items.len() - 1;
            if at != last {
                let moved = places.slot_of(self.items[last].key(), &self.items);
                let moved = moved.expect("INVARIANT: every item has a place");
                places.slots[moved] = at as u32 + 1;
            }
        }
        self.heap -= self.items[at].heap_bytes();
        self.items.swap_remove(at);
        if self.items.len() <= LINEAR_MAX {
            self.places = None;
        }
    }

    #[inline]
    pub(crate) fn items(&self) -> &[T] {
        &self.items
    }

    /// Heap bytes, those of the items included.
    pub(crate) fn bytes(&self) -> usize {
        let items = if self.items.spilled() { self.items.capacity() * size_of::<T>() } else { 0 };
        let places = self.places.as_ref().map_or(0, |p| size_of_val(&*p.slots));
        items + places + self.heap
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Thing {
        key: u128,
        heap: usize,
    }

    impl Key for Thing {
        fn key(&self) -> u128 {
            self.key
        }

        fn heap_bytes(&self) -> usize {
            self.heap
        }

        fn group(&self) -> u32 {
            (self.key % 70) as u32
        }
    }

    /// Adds, replaces and removes at random, around every size at which the form changes.
    #[test]
    fn keyed_is_what_a_map_is() {
        let mut seed = 1_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for keys in [3, 17, 40, 2000] {
            let (mut keyed, mut map) = (Keyed::<Thing, 1>::default(), BTreeMap::new());
            for step in 0..20_000_u64 {
                let key = u128::from(random(keys));
                // Grows, shrinks to nothing, and grows again.
                if random(10) < if step / 5000 % 2 == 0 { 7 } else { 2 } {
                    let thing = Thing { key, heap: random(100) as usize };
                    keyed.put(thing);
                    map.insert(key, thing);
                } else {
                    keyed.remove(key);
                    map.remove(&key);
                }
                assert_eq!(keyed.items().len(), map.len());
                let key = u128::from(random(keys));
                assert_eq!(keyed.get(key), map.get(&key), "step {step} of {keys} keys");
                let held = map.contains_key(&key);
                assert!(!held || keyed.may_have_group((key % 70) as u32));
                assert!(!held || keyed.may_have_any(key..=key));
            }
            assert!(keyed.items().iter().all(|t| map[&t.key] == *t));
            assert_eq!(keyed.heap, map.values().map(|t| t.heap).sum::<usize>());
        }
    }

    #[test]
    fn bytes_stay_within_a_fixed_share_of_the_items() {
        let mut keyed = Keyed::<Thing, 1>::default();
        for n in 1..100_000_usize {
            keyed.push(Thing { key: n as u128, heap: 1 });
            let own = keyed.bytes() - n;
            assert!(own <= 2 * n * size_of::<Thing>() + 11 * n + 256, "{own} bytes of {n}");
        }
    }
}
