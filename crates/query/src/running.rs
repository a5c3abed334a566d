//! The queries and transactions that run at the moment, so that they can be listed and ended.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;
use telar_graph::ValueMap;

use crate::function::Moment;

/// What runs, by number. Sessions that share one list each other's queries.
#[derive(Debug, Default)]
pub struct Running {
    numbers: AtomicU64,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_number: BTreeMap<u64, Arc<Entry>>,
    /// Whatever begins is ended at once.
    closed: bool,
}

/// Whose transaction it is, and where it comes from. In an embedded database nothing is known.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The user's name.
    pub user: Arc<str>,
    /// The connection: `bolt-17`.
    pub connection: Arc<str>,
    /// The client's address and port.
    pub address: Arc<str>,
    /// `bolt`, `http`, or nothing.
    pub protocol: Arc<str>,
    /// What the client said of the transaction.
    pub metadata: ValueMap,
    /// The number it is listed by, from [`Running::number`]; a new one without, or if something
    /// else is listed by it.
    pub number: Option<u64>,
    /// Set when it is terminated, for whoever waits on its behalf; without, nobody outside is told.
    pub ended: Option<Arc<AtomicBool>>,
}

/// What `SHOW TRANSACTIONS` calls a transaction.
#[must_use]
pub fn transaction_id(database: &str, number: u64) -> String {
    format!("{database}-transaction-{number}")
}

/// What it calls the query that a transaction is at.
#[must_use]
pub fn query_id(number: u64) -> String {
    format!("query-{number}")
}

/// A query, or a transaction with the query it is at.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) origin: Origin,
    /// Metadata that are listed with it: at first those of the origin.
    pub(crate) metadata: Mutex<ValueMap>,
    pub(crate) began: Moment,
    pub(crate) began_at: Instant,
    pub(crate) ended: Arc<AtomicBool>,
    /// The text, and since when it runs; nothing between two statements of a transaction.
    pub(crate) query: Mutex<Option<(Arc<str>, Moment, Instant)>>,
}

impl Entry {
    pub(crate) fn is_ended(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ended.store(true, Ordering::Relaxed);
    }
}

/// A place in the list, given up when it is dropped.
#[derive(Debug)]
pub struct Listed {
    running: Arc<Running>,
    number: u64,
    entry: Arc<Entry>,
}

impl Running {
    /// A number that nothing else is listed by.
    #[must_use]
    pub fn number(&self) -> u64 {
        // ORDERING: relaxed, as the number says nothing of anything else.
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    /// Lists a transaction that begins.
    #[must_use]
    pub fn list(self: &Arc<Self>, began: Moment, origin: Origin) -> Listed {
        let began_at = Instant::now();
        let mut entries = self.entries.lock();
        let own = origin.number.filter(|number| !entries.by_number.contains_key(number));
        let number = own.unwrap_or_else(|| self.number());
        let ended = origin.ended.clone().unwrap_or_default();
        let (metadata, query) = (Mutex::new(origin.metadata.clone()), Mutex::default());
        let entry = Arc::new(Entry { origin, metadata, began, began_at, ended, query });
        if entries.closed {
            entry.end();
        }
        entries.by_number.insert(number, Arc::clone(&entry));
        drop(entries);
        Listed { running: Arc::clone(self), number, entry }
    }

    /// What runs, the oldest first.
    pub(crate) fn all(&self) -> Vec<(u64, Arc<Entry>)> {
        self.entries
            .lock()
            .by_number
            .iter()
            .map(|(number, entry)| (*number, Arc::clone(entry)))
            .collect()
    }

    /// Ends a transaction: its query fails soon, or its next one does. Whether there is one.
    pub fn terminate(&self, number: u64) -> bool {
        let entries = self.entries.lock();
        entries.by_number.get(&number).inspect(|entry| entry.end()).is_some()
    }

    /// Ends everything that runs and everything that will.
    pub fn close(&self) {
        let mut entries = self.entries.lock();
        entries.closed = true;
        entries.by_number.values().for_each(|entry| entry.end());
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.lock().by_number.len()
    }
}

impl Listed {
    /// What it does now.
    pub fn set_query(&self, query: Option<Arc<str>>, began: Moment) {
        *self.entry.query.lock() = query.map(|query| (query, began, Instant::now()));
    }

    /// Set when it is to be given up.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.entry.ended)
    }

    /// Whether it was terminated.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.entry.is_ended()
    }

    /// Takes it off the list. Whether it was terminated before: nobody can any more.
    #[must_use]
    pub fn close(self) -> bool {
        let entry = Arc::clone(&self.entry);
        drop(self);
        entry.is_ended()
    }

    /// Its number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.running.entries.lock().by_number.remove(&self.number);
    }
}

#[test]
fn what_runs_is_listed_until_it_is_dropped() {
    let running = Arc::new(Running::default());
    let list = || running.list(Moment::now(), Origin::default());
    let (first, second) = (list(), list());
    second.set_query(Some("RETURN 1".into()), Moment::now());
    assert_eq!(running.all().len(), 2);
    assert!(running.terminate(second.number()));
    assert!(second.flag().load(Ordering::Relaxed) && !first.flag().load(Ordering::Relaxed));
    let number = second.number();
    drop(second);
    assert!(!running.terminate(number));
    assert_eq!(running.all().len(), 1);
    assert!(!first.close());
    let third = list();
    running.terminate(third.number());
    assert!(third.close() && running.all().is_empty());
    let fourth = list();
    running.close();
    let fifth = list();
    assert!(fourth.close() && fifth.close());
}

#[test]
fn who_waits_for_what_is_terminated_is_told() {
    let running = Arc::new(Running::default());
    let told = Arc::new(AtomicBool::new(false));
    let origin = Origin { ended: Some(Arc::clone(&told)), ..Origin::default() };
    let listed = running.list(Moment::now(), origin);
    running.terminate(listed.number());
    assert!(listed.is_ended() && told.load(Ordering::Relaxed));
}

#[test]
fn a_number_that_was_asked_for_is_used_once_at_a_time() {
    let running = Arc::new(Running::default());
    let origin = Origin { number: Some(running.number()), ..Origin::default() };
    let list = || running.list(Moment::now(), origin.clone());
    let first = list();
    assert_eq!(Some(first.number()), origin.number);
    let second = list();
    assert_ne!(second.number(), first.number());
    drop(first);
    assert_eq!(Some(list().number()), origin.number);
    assert_ne!(list().number(), second.number());
}
