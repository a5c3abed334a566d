//! Change lists: which keys each of the last checkpoints wrote, for incremental backups.
//!
//! ```text
//!  key    240 u8 · timestamp of the checkpoint u64, big-endian
//!  value  crc u32 · timestamp of the checkpoint before it u64 · keys, 9 bytes each
//! ```
//!
//! A list names the checkpoint before its own, so that a missing list is noticed and a backup never
//! takes an incomplete chain for "nothing changed". Lists are left out of the inventory of the meta
//! value, and a copy of a database need not have any: they speak about checkpoints, not about the
//! graph.
//!
//! Old lists are dropped once together they name more keys than twice the store holds: from there
//! on a full backup costs about as much.
//!
//! A list that is damaged, like one that is missing, breaks the chain and nothing else: an
//! incremental backup across it is refused, and the next checkpoint drops it with those before it.
//!
//! Cost: 9 bytes per value that a checkpoint writes; values have kilobytes.

use std::collections::{BTreeSet, VecDeque};

use crate::format::{KEY_BYTES, seal, unseal};

const KIND: u8 = 240;
/// What keys of lists begin with.
pub(crate) const PREFIX: [u8; 1] = [KIND];
/// Lists may name so many keys together, however small the store is.
const KEYS_MIN: u64 = 1 << 16;
/// Most lists kept.
const LISTS_MAX: usize = 4096;

/// A key of the store.
pub(crate) type Key = [u8; KEY_BYTES];

/// Whether `key` is that of a change list.
pub(crate) fn is_list(key: &[u8]) -> bool {
    key.first() == Some(&KIND)
}

/// Key of the list of the checkpoint at `at`.
pub(crate) fn list_key(at: u64) -> Key {
    let mut key = [KIND; KEY_BYTES];
    for (i, byte) in key[1..].iter_mut().enumerate() {
        *byte = (at >> (56 - 8 * i)) as u8;
    }
    key
}

/// What one list says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct List {
    /// Timestamp of the checkpoint.
    pub(crate) at: u64,
    /// Timestamp of the checkpoint before it, 0 if there was none.
    pub(crate) previous: u64,
    /// The keys it wrote.
    pub(crate) keys: Vec<Key>,
}

impl List {
    /// Decodes a stored list.
    pub(crate) fn decode(key: &[u8], value: &[u8]) -> Result<Self, &'static str> {
        let (_, body) = unseal(key, value)?;
        let number: [u8; 8] = key
            .get(1..)
            .and_then(|n| n.try_into().ok())
            .ok_or("the key of a change list has the wrong length")?;
        let at = number.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let (previous, keys) =
            body.split_first_chunk::<8>().ok_or("a change list is shorter than its head")?;
        let (keys, rest) = keys.as_chunks::<KEY_BYTES>();
        if !rest.is_empty() {
            return Err("a change list ends within a key");
        }
        Ok(Self { at, previous: u64::from_le_bytes(*previous), keys: keys.to_vec() })
    }

    fn encode(&self) -> Vec<u8> {
        let mut value = vec![0; 4];
        value.extend_from_slice(&self.previous.to_le_bytes());
        value.extend(self.keys.as_flattened());
        seal(&list_key(self.at), &mut value);
        value
    }
}

/// Which lists the store has: timestamp and number of keys, oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    known: VecDeque<(u64, u64)>,
    keys: u64,
    /// Keys of lists that lead nowhere: a damaged one, and all before it.
    broken: Vec<Key>,
}

impl Lists {
    /// Notes a list found in the store; lists come in order of their keys.
    pub(crate) fn load(&mut self, key: &Key, value: &[u8]) {
        match List::decode(key, value) {
            Ok(list) => self.push(list.at, list.keys.len() as u64),
            Err(_) => {
                self.broken.extend(self.known.drain(..).map(|(at, _)| list_key(at)));
                self.broken.push(*key);
                self.keys = 0;
            }
        }
    }

    fn push(&mut self, at: u64, keys: u64) {
        self.known.push_back((at, keys));
        self.keys += keys;
    }

    /// Adds the list of the checkpoint at `at` and drops old ones, by giving `write` what to put
    /// under a key (`None`: delete it).
    pub(crate) fn add<E>(
        &mut self,
        at: u64,
        previous: u64,
        keys: &[Key],
        keys_stored: u64,
        mut write: impl FnMut(&Key, Option<&[u8]>) -> Result<(), E>,
    ) -> Result<(), E> {
        for broken in std::mem::take(&mut self.broken) {
            write(&broken, None)?;
        }
        let list = List { at, previous, keys: keys.to_vec() };
        write(&list_key(at), Some(&list.encode()))?;
        self.push(at, keys.len() as u64);
        let keys_max = KEYS_MIN.max(2 * keys_stored);
        while self.known.len() > 1 && (self.keys > keys_max || self.known.len() > LISTS_MAX) {
            if let Some((oldest, keys)) = self.known.pop_front() {
                write(&list_key(oldest), None)?;
                self.keys -= keys;
            }
        }
        Ok(())
    }
}

/// The keys written by checkpoints after `since`, up to the one at `at`; `None` if the lists do not
/// reach back to a checkpoint at `since`.
pub(crate) fn keys_since<E>(
    since: u64,
    at: u64,
    mut read: impl FnMut(&Key) -> Result<Option<List>, E>,
) -> Result<Option<BTreeSet<Key>>, E> {
    let mut keys = BTreeSet::new();
    let mut next = at;
    while next > since {
        let Some(list) = read(&list_key(next))? else {
            return Ok(None);
        };
        keys.extend(list.keys);
        if list.previous >= next {
            return Ok(None);
        }
        next = list.previous;
    }
    Ok((next == since).then_some(keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    type Stored = BTreeMap<Key, Vec<u8>>;

    fn key(n: u8) -> Key {
        [1, 0, 0, 0, 0, 0, 0, 0, n]
    }

    fn add(lists: &mut Lists, stored: &mut Stored, at: u64, previous: u64, keys: &[Key]) {
        lists
            .add(at, previous, keys, 0, |key, list| {
                match list {
                    Some(list) => stored.insert(*key, list.to_vec()),
                    None => stored.remove(key),
                };
                Ok::<(), ()>(())
            })
            .unwrap();
    }

    fn since(stored: &Stored, from: u64, at: u64) -> Option<Vec<Key>> {
        let read = |key: &Key| stored.get(key).map(|v| List::decode(key, v)).transpose();
        keys_since(from, at, read).unwrap().map(|keys| keys.into_iter().collect())
    }

    #[test]
    fn keys_since_a_checkpoint_are_those_of_the_lists_after_it() {
        let (mut lists, mut stored) = (Lists::default(), Stored::new());
        add(&mut lists, &mut stored, 10, 0, &[key(1), key(2)]);
        add(&mut lists, &mut stored, 15, 10, &[key(3)]);
        add(&mut lists, &mut stored, 300, 15, &[key(2), key(4)]);
        assert_eq!(since(&stored, 10, 300), Some(vec![key(2), key(3), key(4)]));
        assert_eq!(since(&stored, 300, 300), Some(vec![]));
        assert_eq!(since(&stored, 0, 10), Some(vec![key(1), key(2)]));
        assert_eq!(since(&stored, 12, 300), None, "there was no checkpoint at 12");
        stored.remove(&list_key(15));
        assert_eq!(since(&stored, 10, 300), None, "a list is missing");
        assert_eq!(since(&stored, 15, 300), Some(vec![key(2), key(4)]));
    }

    #[test]
    fn old_lists_are_dropped_when_they_name_too_much() {
        let (mut lists, mut stored) = (Lists::default(), Stored::new());
        let many = vec![key(7); KEYS_MIN as usize / 2];
        for at in 1..=5 {
            add(&mut lists, &mut stored, at, at - 1, &many);
        }
        assert_eq!(stored.keys().copied().collect::<Vec<_>>(), [list_key(4), list_key(5)]);
        assert!(list_key(255) < list_key(256), "lists are found in order");
        let mut found = Lists::default();
        stored.iter().for_each(|(k, v)| found.load(k, v));
        assert_eq!((found.known, found.keys), (lists.known, lists.keys));
    }

    #[test]
    fn a_damaged_list_and_those_before_it_are_dropped_with_the_next() {
        let (mut lists, mut stored) = (Lists::default(), Stored::new());
        for at in 1..=5 {
            add(&mut lists, &mut stored, at, at - 1, &[key(at as u8)]);
        }
        stored.get_mut(&list_key(3)).unwrap()[9] ^= 1;
        let mut found = Lists::default();
        stored.iter().for_each(|(k, v)| found.load(k, v));
        assert_eq!((&found.known, found.keys), (&VecDeque::from([(4, 1), (5, 1)]), 2));
        add(&mut found, &mut stored, 6, 5, &[key(6)]);
        assert_eq!(stored.keys().copied().collect::<Vec<_>>(), [4, 5, 6].map(list_key));
        assert_eq!(since(&stored, 3, 6), Some(vec![key(4), key(5), key(6)]));
        assert_eq!(since(&stored, 2, 6), None);
    }

    #[test]
    fn any_changed_byte_of_a_list_is_noticed() {
        let (mut lists, mut stored) = (Lists::default(), Stored::new());
        add(&mut lists, &mut stored, 10, 3, &[key(1), key(2)]);
        let (key, value) = stored.pop_first().unwrap();
        for at in 0..value.len() {
            let mut changed = value.clone();
            changed[at] ^= 4;
            assert!(List::decode(&key, &changed).is_err(), "{at}");
            assert!(List::decode(&key, &value[..at]).is_err(), "cut at {at}");
        }
        assert!(List::decode(&list_key(11), &value).is_err(), "under another key");
    }
}
