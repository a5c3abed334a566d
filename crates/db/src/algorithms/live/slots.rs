//! Numbers of the chosen nodes, which stay as they are while nodes come and go.

use std::collections::HashMap;

use foldhash::fast::FixedState;
use telar_graph::VertexId;

/// Id of a slot that is not in use, and slot of a node that was not chosen.
const NO_ID: u64 = u64::MAX;
const NO_SLOT: u32 = u32::MAX;

/// Slots of nodes, by id.
#[derive(Debug)]
enum Numbers {
    /// An array.
    Dense(Vec<u32>),
    /// Ids far apart.
    Sparse(HashMap<u64, u32, FixedState>),
}

/// A number for each node, below [`len`](Self::len).
#[derive(Debug)]
pub(super) struct Slots {
    ids: Vec<u64>,
    numbers: Numbers,
    /// Slots that can be given to a node.
    free: Vec<u32>,
    /// Number of nodes.
    used: usize,
    /// True while each node has its id as number.
    same: bool,
}

/// True if ids below `bound` are too far apart for an array.
fn is_sparse(bound: u64, nodes: usize) -> bool {
    bound / 8 > nodes as u64 + (1 << 16)
}

impl Slots {
    /// Slots of ids; [`NO_ID`] where a slot is not in use.
    pub(super) fn of_ids(ids: Vec<u64>) -> Self {
        let used = || (0..).zip(&ids).filter(|(_, id)| **id != NO_ID);
        let bound = used().map(|(_, id)| id + 1).max().unwrap_or(0);
        let numbers = match is_sparse(bound, ids.len()) {
            true => Numbers::Sparse(used().map(|(slot, id)| (*id, slot)).collect()),
            false => {
                let mut numbers = vec![NO_SLOT; bound as usize];
                used().for_each(|(slot, id)| numbers[*id as usize] = slot);
                Numbers::Dense(numbers)
            }
        };
        let free: Vec<u32> =
            (0..).zip(&ids).filter(|(_, id)| **id == NO_ID).map(|(slot, _)| slot).collect();
        let same = used().all(|(slot, id)| u64::from(slot) == *id);
        let used = ids.len() - free.len();
        Self { ids, numbers, free, used, same }
    }

    /// Slots of nodes, in their order.
    pub(super) fn new(nodes: &[VertexId]) -> Self {
        Self::of_ids(nodes.iter().map(|node| node.get()).collect())
    }

    /// Ids by slot, for whoever stores them.
    pub(super) fn ids(&self) -> &[u64] {
        &self.ids
    }

    /// Number of slots, in use or not.
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Number of nodes.
    pub(super) fn used(&self) -> usize {
        self.used
    }

    /// True if every slot is in use, by the node with that id.
    pub(super) fn is_same(&self) -> bool {
        self.same && self.used == self.ids.len()
    }

    #[inline]
    pub(super) fn get(&self, id: u64) -> Option<u32> {
        let found = match &self.numbers {
            Numbers::Dense(numbers) => numbers.get(id as usize),
            Numbers::Sparse(numbers) => numbers.get(&id),
        };
        found.copied().filter(|slot| *slot != NO_SLOT)
    }

    /// The node of a slot that is in use.
    pub(super) fn id(&self, slot: u32) -> VertexId {
        VertexId::from_raw(self.ids[slot as usize])
    }

    /// Slots in use, with their nodes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, VertexId)> {
        let used = (0..).zip(&self.ids).filter(|(_, id)| **id != NO_ID);
        used.map(|(slot, id)| (slot, VertexId::from_raw(*id)))
    }

    /// A slot for a node that has none.
    pub(super) fn insert(&mut self, id: u64) -> u32 {
        let slot = self.free.pop().unwrap_or(self.ids.len() as u32);
        match self.ids.get_mut(slot as usize) {
            Some(place) => *place = id,
            None => self.ids.push(id),
        }
        self.used += 1;
        self.same &= u64::from(slot) == id;
        if let Numbers::Dense(numbers) = &self.numbers
            && is_sparse(id + 1, self.ids.len())
        {
            let numbers = (0..).zip(numbers).filter(|(_, slot)| **slot != NO_SLOT);
            self.numbers = Numbers::Sparse(numbers.map(|(id, slot)| (id, *slot)).collect());
        }
        match &mut self.numbers {
            Numbers::Dense(numbers) => {
                if numbers.len() <= id as usize {
                    numbers.resize(id as usize + 1, NO_SLOT);
                }
                numbers[id as usize] = slot;
            }
            Numbers::Sparse(numbers) => drop(numbers.insert(id, slot)),
        }
        slot
    }

    /// Forgets the node of a slot, which is not given to another before [`free`](Self::free).
    pub(super) fn remove(&mut self, slot: u32) {
        self.used -= 1;
        let id = std::mem::replace(&mut self.ids[slot as usize], NO_ID);
        match &mut self.numbers {
            Numbers::Dense(numbers) => numbers[id as usize] = NO_SLOT,
            Numbers::Sparse(numbers) => drop(numbers.remove(&id)),
        }
    }

    /// Lets slots be given to others.
    pub(super) fn free(&mut self, slots: &[u32]) {
        self.free.extend_from_slice(slots);
    }

    /// Bytes held.
    pub(super) fn bytes(&self) -> u64 {
        let numbers = match &self.numbers {
            Numbers::Dense(numbers) => 4 * numbers.capacity(),
            Numbers::Sparse(numbers) => 18 * numbers.capacity(),
        };
        (8 * self.ids.capacity() + numbers + 4 * self.free.capacity()) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_by_id_and_given_again() {
        for far in [7, 1 << 40] {
            let nodes = [3, 5, far].map(VertexId::from_raw);
            let mut slots = Slots::new(&nodes);
            assert_eq!([3, 5, far, 4].map(|id| slots.get(id)), [Some(0), Some(1), Some(2), None]);
            slots.remove(1);
            assert_eq!((slots.get(5), slots.insert(9), slots.len()), (None, 3, 4));
            slots.free(&[1]);
            assert_eq!((slots.insert(1 << 41), slots.get(1 << 41)), (1, Some(1)));
            assert_eq!(slots.get(3), Some(0));
            let again = Slots::of_ids(slots.ids().to_vec());
            assert_eq!(again.iter().collect::<Vec<_>>(), slots.iter().collect::<Vec<_>>());
        }
        let mut slots = Slots::new(&[0, 1, 2].map(VertexId::from_raw));
        assert!(slots.is_same());
        slots.remove(1);
        assert!(!slots.is_same() && slots.used() == 2);
    }
}
