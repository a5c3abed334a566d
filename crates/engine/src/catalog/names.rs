//! Names of one kind and their numbers.
//!
//! ```text
//!   free ──── hold ───► held ──── make ───► made, for ever
//!     ▲                  │ │
//!     └─ last release ───┘ └─ by transactions that may still roll back
//! ```
//!
//! A name gets its number when a transaction first writes something under it, because edges show
//! the number of their type to clients from then on. It is made, logged and found by others when
//! the first of these transactions commits. If none does, the number is free again.
//!
//! Invariants
//! 1. Every number below `bound` is made, held or free.
//! 2. A number that is made never gets another name, and a name that is made never another number.
//! 3. Nothing is committed under a number before it is made.
//!
//! On disk numbers have no gaps: a number that was free when a later one was made stands there
//! under a placeholder that no name can be.

use std::collections::{BTreeSet, HashMap};

/// Most names of a kind: numbers have 16 bits.
pub(crate) const NAMES_MAX: usize = u16::MAX as usize;

/// Name of a number on disk that no name has: NUL, which no name contains, and the number.
pub(crate) fn placeholder(number: u16) -> String {
    format!("\0{number}")
}

/// True if this is what stands on disk for a number without a name.
pub(crate) fn is_placeholder(name: &str) -> bool {
    name.starts_with('\0')
}

/// A name that is not made yet.
#[derive(Debug)]
struct Held {
    number: u16,
    /// Transactions that write something under it.
    holders: u32,
}

/// The names of one kind.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Made names by number; empty where there is none.
    list: Vec<String>,
    /// Numbers of made names.
    index: HashMap<String, u16>,
    /// Numbers in the order in which they were made.
    order: Vec<u16>,
    held: HashMap<String, Held>,
    free: BTreeSet<u16>,
    /// One past the largest number given out.
    bound: u32,
}

impl Names {
    /// The number of a made name.
    pub(super) fn find(&self, name: &str) -> Option<u16> {
        self.index.get(name).copied()
    }

    /// The made name with this number.
    pub(super) fn name(&self, number: u16) -> Option<&str> {
        self.list.get(usize::from(number)).map(String::as_str).filter(|name| !name.is_empty())
    }

    /// Made names by number; empty where there is none.
    pub(super) fn list(&self) -> &[String] {
        &self.list
    }

    /// Numbers in the order in which they were made.
    pub(super) fn order(&self) -> &[u16] {
        &self.order
    }

    /// One past the largest number given out.
    pub(super) fn bound(&self) -> u32 {
        self.bound
    }

    /// Number of a name, made or held, and true if it is held, by the caller, too, from now on.
    /// A free number is taken if it is `suitable`. `None` if there are [`NAMES_MAX`].
    pub(super) fn hold(
        &mut self,
        name: &str,
        suitable: impl Fn(u16) -> bool,
    ) -> Option<(u16, bool)> {
        if let Some(number) = self.find(name) {
            return Some((number, false));
        }
        if let Some(held) = self.held.get_mut(name) {
            held.holders += 1;
            return Some((held.number, true));
        }
        let number = match self.free.iter().copied().find(|number| suitable(*number)) {
            Some(number) => {
                self.free.remove(&number);
                number
            }
            None => {
                let number = u16::try_from(self.bound).ok().filter(|n| *n < NAMES_MAX as u16)?;
                self.bound += 1;
                number
            }
        };
        self.held.insert(name.to_owned(), Held { number, holders: 1 });
        Some((number, true))
    }

    /// One that held a name does so no more. Nothing happens if the name was made meanwhile.
    pub(super) fn release(&mut self, name: &str) {
        if let Some(held) = self.held.get_mut(name) {
            held.holders -= 1;
            if held.holders == 0 {
                self.free.insert(held.number);
                self.held.remove(name);
            }
        }
    }

    /// Makes a name. Its number must be held under this name, or be given out to nobody.
    pub(super) fn make(&mut self, name: &str, number: u16) {
        self.held.remove(name);
        self.reach(number);
        self.free.remove(&number);
        let place = usize::from(number);
        if place >= self.list.len() {
            self.list.resize(place + 1, String::new());
        }
        name.clone_into(&mut self.list[place]);
        self.index.insert(name.to_owned(), number);
        self.order.push(number);
    }

    /// Puts a name where the log or a checkpoint has it. One that is there already stays.
    ///
    /// # Errors
    /// The number has another name, the name has another number, or a number before it is missing.
    pub(super) fn restore(&mut self, name: &str, number: u16) -> Result<(), String> {
        let place = usize::from(number);
        if place > self.list.len() {
            return Err(format!("name {number} follows {} names", self.list.len()));
        }
        if is_placeholder(name) {
            if place == self.list.len() {
                self.list.push(String::new());
                self.reach(number);
            }
            return Ok(());
        }
        match (self.name(number), self.find(name)) {
            (Some(other), _) if other == name => Ok(()),
            (Some(other), _) => Err(format!("name {number} is {other:?}, not {name:?}")),
            (None, Some(other)) => Err(format!("name {other} is {name:?}, and {number} again")),
            (None, None) => {
                self.make(name, number);
                Ok(())
            }
        }
    }

    /// Gives out numbers up to this one, which are free then.
    fn reach(&mut self, number: u16) {
        let bound = u32::from(number) + 1;
        self.free.extend((self.bound..bound).map(|number| number as u16));
        self.bound = self.bound.max(bound);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(_: u16) -> bool {
        true
    }

    #[test]
    fn numbers_of_names_that_nobody_made_are_given_out_again() {
        let mut names = Names::default();
        assert_eq!(names.hold("a", any), Some((0, true)));
        assert_eq!(names.hold("b", any), Some((1, true)));
        assert_eq!(names.hold("a", any), Some((0, true)), "by another");
        assert_eq!((names.find("a"), names.list().len()), (None, 0));
        names.release("a");
        assert_eq!(names.hold("c", any), Some((2, true)), "one still holds the first");
        names.release("a");
        assert_eq!(names.hold("d", |n| n != 0), Some((3, true)), "not suitable");
        assert_eq!(names.hold("e", any), Some((0, true)));
        names.make("c", 2);
        assert_eq!(names.list(), ["", "", "c"]);
        assert_eq!((names.find("c"), names.name(2), names.name(1)), (Some(2), Some("c"), None));
        assert_eq!(names.hold("c", any), Some((2, false)));
        // Of those that held it when another made it.
        names.release("c");
        names.make("e", 0);
        assert_eq!(names.list(), ["e", "", "c"]);
        assert_eq!(names.order(), [2, 0]);
    }

    #[test]
    fn the_log_brings_back_names_and_numbers_without_one() {
        let mut names = Names::default();
        for (name, number) in [("a", 0), (&*placeholder(1), 1), ("c", 2), ("a", 0), ("c", 2)] {
            names.restore(name, number).unwrap();
        }
        assert_eq!(names.hold("new", any), Some((1, true)));
        names.release("new");
        // A record that comes after the checkpoint which has what came of it.
        names.restore("b", 1).unwrap();
        names.restore(&placeholder(1), 1).unwrap();
        assert_eq!(names.list(), ["a", "b", "c"]);
        for (name, number) in [("x", 1), ("a", 3), ("x", 4), (&*placeholder(5), 5)] {
            assert!(names.restore(name, number).is_err(), "{name:?} {number}");
        }
    }

    #[test]
    fn there_are_as_many_names_as_numbers() {
        let mut names = Names::default();
        for n in 0..NAMES_MAX {
            assert!(names.hold(&n.to_string(), any).is_some());
        }
        assert_eq!(names.hold("one more", any), None);
        names.release("77");
        assert_eq!(names.hold("one more", any), Some((77, true)));
    }
}
