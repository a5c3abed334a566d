//! The queries and transactions that run at the moment, so that they can be listed and ended.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use foldhash::fast::RandomState;
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
    // PERF: telar bench cypher, point: a tree of one entry is allocated and freed per statement.
    by_number: HashMap<u64, Arc<Entry>, RandomState>,
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
    /// Shared with the session, and through it with its other statements.
    pub(crate) origin: Arc<Origin>,
    /// Metadata listed in place of those of the origin, once the transaction has set some.
    metadata: Mutex<Option<ValueMap>>,
    pub(crate) began: Moment,
    pub(crate) began_at: Instant,
    pub(crate) ended: Arc<AtomicBool>,
    /// Nothing between two statements of a transaction.
    pub(crate) query: Mutex<Option<Query>>,
}

/// Part of some work that is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) done: u64,
    pub(crate) total: u64,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { done, total } = *self;
        let percent = u128::from(done.min(total)) * 100 / u128::from(total.max(1));
        write!(f, "{done} of {total} done ({percent} %)")
    }
}

/// The statement that a transaction is at.
#[derive(Debug, Clone)]
pub(crate) struct Query {
    pub(crate) text: Arc<str>,
    pub(crate) began: Moment,
    pub(crate) began_at: Instant,
    /// Last word of a procedure that it calls on how far that is.
    pub(crate) progress: Option<Progress>,
    /// It goes on when everything is ended; its transaction ends with it then.
    is_spared: bool,
}

impl Query {
    fn new(text: Arc<str>, began: Moment, began_at: Instant) -> Self {
        Self { text, began, began_at, progress: None, is_spared: false }
    }
}

impl Entry {
    /// Lists how far the statement is.
    pub(crate) fn set_progress(&self, progress: Progress) {
        if let Some(query) = &mut *self.query.lock() {
            query.progress = Some(progress);
        }
    }

    /// Metadata that are listed with it.
    pub(crate) fn metadata(&self) -> ValueMap {
        let set = self.metadata.lock().clone();
        set.unwrap_or_else(|| self.origin.metadata.clone())
    }

    /// Lists these metadata from now on.
    pub(crate) fn set_metadata(&self, metadata: ValueMap) {
        *self.metadata.lock() = Some(metadata);
    }

    pub(crate) fn is_ended(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ended.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ended.store(true, Ordering::Relaxed);
    }

    /// Lets the statement go on when everything is ended ([`Running::close`]).
    pub(crate) fn spare(&self) {
        if let Some(query) = &mut *self.query.lock() {
            query.is_spared = true;
        }
    }

    fn is_spared(&self) -> bool {
        self.query.lock().as_ref().is_some_and(|query| query.is_spared)
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
    pub fn list(self: &Arc<Self>, began: Moment, origin: impl Into<Arc<Origin>>) -> Listed {
        let (origin, began_at) = (origin.into(), Instant::now());
        let ended = origin.ended.clone().unwrap_or_default();
        let own = origin.number;
        let (metadata, query) = (Mutex::default(), Mutex::default());
        let entry = Arc::new(Entry { origin, metadata, began, began_at, ended, query });
        let mut entries = self.entries.lock();
        if entries.closed {
            entry.end();
        }
        let mut number = own.unwrap_or_else(|| self.number());
        loop {
            // Numbers that were asked for may come again; those of `number` are new.
            if let MapEntry::Vacant(free) = entries.by_number.entry(number) {
                free.insert(Arc::clone(&entry));
                break;
            }
            number = self.number();
        }
        drop(entries);
        Listed { running: Arc::clone(self), number, entry }
    }

    /// What runs, the oldest first.
    pub(crate) fn all(&self) -> Vec<(u64, Arc<Entry>)> {
        let entries = self.entries.lock();
        let listed = entries.by_number.iter();
        let mut all: Vec<_> = listed.map(|(number, entry)| (*number, Arc::clone(entry))).collect();
        drop(entries);
        all.sort_unstable_by_key(|(number, _)| *number);
        all
    }

    /// Ends a transaction: its query fails soon, or its next one does. Whether there is one.
    pub fn terminate(&self, number: u64) -> bool {
        let entries = self.entries.lock();
        entries.by_number.get(&number).inspect(|entry| entry.end()).is_some()
    }

    /// Ends everything that runs, but what is spared, and everything that will.
    pub fn close(&self) {
        let mut entries = self.entries.lock();
        entries.closed = true;
        let running = entries.by_number.values();
        running.filter(|entry| !entry.is_spared()).for_each(|entry| entry.end());
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.lock().by_number.len()
    }
}

impl Listed {
    /// Lists the only statement of the transaction: both began at the same moment.
    pub fn set_only_query(&self, text: Arc<str>) {
        let Entry { began, began_at, .. } = *self.entry;
        *self.entry.query.lock() = Some(Query::new(text, began, began_at));
    }

    /// Lists a statement of the transaction, which began at this moment.
    pub fn set_query(&self, text: Arc<str>, began: Moment) {
        *self.entry.query.lock() = Some(Query::new(text, began, Instant::now()));
    }

    /// Lists no statement: the transaction waits for the next one.
    pub fn clear_query(&self) {
        let query = self.entry.query.lock().take();
        if query.is_some_and(|query| query.is_spared) && self.running.entries.lock().closed {
            self.entry.end();
        }
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
    second.set_query("RETURN 1".into(), Moment::now());
    let numbers = || running.all().iter().map(|(number, _)| *number).collect::<Vec<_>>();
    assert_eq!(numbers(), [first.number(), second.number()]);
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

#[test]
fn an_only_query_began_with_its_transaction_and_a_later_one_after_it() {
    let running = Arc::new(Running::default());
    let began = Moment::now();
    let listed = running.list(began, Origin::default());
    let query = || running.all()[0].1.query.lock().clone();
    assert!(query().is_none());
    listed.set_only_query("RETURN 1".into());
    let only = query().unwrap();
    assert_eq!(
        (&*only.text, only.began, only.began_at),
        ("RETURN 1", began, listed.entry.began_at)
    );
    let later = Moment { seconds: began.seconds + 1, ..began };
    listed.set_query("RETURN 2".into(), later);
    let second = query().unwrap();
    assert_eq!((&*second.text, second.began), ("RETURN 2", later));
    assert!(second.began_at >= only.began_at);
    listed.clear_query();
    assert!(query().is_none());
}

#[test]
fn metadata_are_those_of_the_origin_until_others_are_set() {
    let map = |key: &str| ValueMap::from([(Arc::from(key), telar_graph::Value::Int(1))]);
    let running = Arc::new(Running::default());
    let origin = Origin { metadata: map("a"), ..Origin::default() };
    let listed = running.list(Moment::now(), origin);
    assert_eq!(listed.entry.metadata(), map("a"));
    listed.entry.set_metadata(map("b"));
    assert_eq!(listed.entry.metadata(), map("b"));
}
