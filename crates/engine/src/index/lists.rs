//! Postings of the terms of a full-text index that were searched lately, sorted by object.
//!
//! ```text
//!  term ─► list as it was at a commit · what later commits changed in it
//! ```
//!
//! The tree has postings by frequency and length, and each is checked at the snapshot. A search
//! reads a term from it once; what was found is kept here, and every commit after that notes what
//! it changes, before it is visible. A reader takes the list and the changes that it sees. Changes
//! that every reader sees are folded into the list.
//!
//! Invariants
//! 1. A list has what a reader at its commit finds in the tree; together with the changes up to a
//!    later commit, what a reader at that one finds. Readers of earlier commits do not use it.
//! 2. A list is begun only if no commit above its own has noted anything: the changes are complete.
//!
//! Nothing rests on what is here: terms that are not wanted are dropped when memory is short.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use parking_lot::Mutex;
use telar_graph::EdgeId;
use telar_graph::postings::{Impact, Postings};
use telar_text::key::{self, Entry, Fingerprint};

use super::change::Change;
use super::key::{Item, SortKey};

/// Changes of a list that are kept beside it, at least, before they are folded.
const FOLD_MIN: usize = 32;
/// A list with more changes than a fourth of its length and this, which no reader lets be folded,
/// is dropped.
const CHANGES_MAX: usize = 1 << 12;
/// Bytes of lists that are kept of any index, and more for each of its documents.
const BYTES_MIN: usize = 16 << 20;
const BYTES_OF_DOCUMENT: usize = 16;
/// A term's place in the table, its counters and the allocator's share.
const TERM_BYTES: usize = 160;

/// Beginning of a posting's key: field and term.
type Beginning = Box<[u8]>;

/// Lists of an index on vertices, or on edges.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    pub(crate) vertices: ListsOf<u32>,
    pub(crate) edges: ListsOf<EdgeId>,
}

/// Lists by term.
#[derive(Debug)]
pub(crate) struct ListsOf<D>(Mutex<State<D>>);

#[derive(Debug)]
struct State<D> {
    terms: HashMap<Beginning, Term<D>, RandomState>,
    /// The last commit that noted something.
    noted: u64,
    /// Bytes of the terms.
    bytes: usize,
    /// Number of the last use of a list.
    uses: u64,
}

/// A list that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Begun(u64);

#[derive(Debug)]
struct Term<D> {
    begun: Begun,
    /// Commit of the list.
    at: u64,
    /// None while it is being made.
    list: Option<Arc<Postings<D>>>,
    /// Changes by commits above `at`; the changes of one object are in the order of their commits.
    changes: Vec<Noted<D>>,
    last_use: u64,
    bytes: usize,
}

/// A commit's change of a posting.
#[derive(Debug, Clone, Copy)]
struct Noted<D> {
    ts: u64,
    object: D,
    impact: Option<Impact>,
}

impl<D> Default for ListsOf<D> {
    fn default() -> Self {
        let terms = HashMap::default();
        Self(Mutex::new(State { terms, noted: 0, bytes: 0, uses: 0 }))
    }
}

impl Lists {
    /// See [`ListsOf::settle`].
    pub(crate) fn settle(&self, watermark: u64) {
        self.vertices.settle(watermark);
        self.edges.settle(watermark);
    }

    /// See [`ListsOf::forget`].
    pub(crate) fn forget(&self, ts: u64) {
        self.vertices.forget(ts);
        self.edges.forget(ts);
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.vertices.bytes() + self.edges.bytes()
    }
}

/// The impact of a posting, of its key.
pub(crate) fn impact(key: &[u8]) -> Option<Impact> {
    posting(key).map(|(impact, _)| impact)
}

/// The impact of a posting, of its key, and the version of the text that it was made of.
pub(crate) fn posting(key: &[u8]) -> Option<(Impact, (u8, Fingerprint))> {
    let entry = Entry::decode(key)?;
    match entry {
        Entry::Posting { frequency, norm, .. } => {
            Some((Impact { frequency, norm }, entry.version()))
        }
        Entry::Length { .. } => None,
    }
}

impl<D: Copy + Ord> Term<D> {
    /// The list after the changes that a reader at `ts` sees.
    fn list_at(&self, ts: u64) -> Option<Arc<Postings<D>>> {
        let list = self.list.as_ref().filter(|_| self.at <= ts)?;
        let seen = self.changes.iter().filter(|change| change.ts <= ts);
        let seen: Vec<_> = seen.map(|change| (change.object, change.impact)).collect();
        Some(if seen.is_empty() { Arc::clone(list) } else { Arc::new(list.changed(seen)) })
    }

    /// Makes the changes up to `watermark`, which every reader sees, part of the list.
    fn fold(&mut self, watermark: u64) {
        if self.at < watermark
            && self.changes.iter().any(|change| change.ts <= watermark)
            && let Some(list) = self.list_at(watermark)
        {
            self.list = Some(list);
            self.at = watermark;
            self.changes.retain(|change| change.ts > watermark);
        }
    }

    fn is_overgrown(&self) -> bool {
        let len = self.list.as_ref().map_or(0, |list| list.len());
        self.changes.len() > CHANGES_MAX + len / 4
    }

    fn bytes(&self, beginning: &[u8]) -> usize {
        let list = self.list.as_ref().map_or(0, |list| list.bytes());
        TERM_BYTES + beginning.len() + list + self.changes.capacity() * size_of::<Noted<D>>()
    }
}

impl<D: Copy + Ord> State<D> {
    fn remove(&mut self, beginning: &[u8]) {
        if let Some(term) = self.terms.remove(beginning) {
            self.bytes -= term.bytes;
        }
    }

    /// Counts what a term takes anew.
    fn weigh(&mut self, beginning: &[u8]) {
        if let Some(term) = self.terms.get_mut(beginning) {
            self.bytes -= term.bytes;
            term.bytes = term.bytes(beginning);
            self.bytes += term.bytes;
        }
    }

    /// Drops the lists that were not used for the longest time.
    fn make_room(&mut self, documents: u64) {
        let most = BYTES_MIN + BYTES_OF_DOCUMENT * documents as usize;
        if self.bytes <= most {
            return;
        }
        let mut terms: Vec<(u64, Beginning)> =
            self.terms.iter().map(|(beginning, term)| (term.last_use, beginning.clone())).collect();
        terms.sort_unstable();
        for (_, beginning) in terms {
            if self.bytes <= most / 8 * 7 {
                break;
            }
            self.remove(&beginning);
        }
    }
}

impl<D: Copy + Ord> ListsOf<D> {
    /// The list of a term at a commit, if it is known.
    pub(crate) fn get(
        &self,
        beginning: &[u8],
        ts: u64,
        watermark: u64,
    ) -> Option<Arc<Postings<D>>> {
        let mut state = self.0.lock();
        let state = &mut *state;
        state.uses += 1;
        let term = state.terms.get_mut(beginning)?;
        term.last_use = state.uses;
        if term.changes.len() >= FOLD_MIN {
            term.fold(watermark);
            let is_overgrown = term.is_overgrown();
            let list = term.list_at(ts);
            state.weigh(beginning);
            if is_overgrown {
                state.remove(beginning);
            }
            return list;
        }
        term.list_at(ts)
    }

    /// Says that a reader at `ts` is going to read a term. `None` if it is not to be kept.
    #[must_use]
    pub(crate) fn begin(&self, beginning: &[u8], ts: u64) -> Option<Begun> {
        let mut state = self.0.lock();
        // Somebody else makes it, or has made it for later readers.
        if state.noted > ts || state.terms.contains_key(beginning) {
            return None;
        }
        state.uses += 1;
        let begun = Begun(state.uses);
        let changes = Vec::new();
        let term = Term { begun, at: ts, list: None, changes, last_use: state.uses, bytes: 0 };
        state.terms.insert(beginning.into(), term);
        state.weigh(beginning);
        Some(begun)
    }

    /// Keeps what was begun, or forgets it if there is no list, of an index of so many documents.
    pub(crate) fn end(
        &self,
        (beginning, begun): (&[u8], Begun),
        list: Option<&Arc<Postings<D>>>,
        documents: u64,
    ) {
        let mut state = self.0.lock();
        // It may have been dropped, and begun anew.
        let Some(term) = state.terms.get_mut(beginning).filter(|term| term.begun == begun) else {
            return;
        };
        match list {
            Some(list) => term.list = Some(Arc::clone(list)),
            None => return state.remove(beginning),
        }
        state.weigh(beginning);
        state.make_room(documents);
    }

    /// Notes what the commit `ts`, which is not visible yet, changes.
    pub(crate) fn note(&self, ts: u64, changes: &[Change], object: impl Fn(Item<3>) -> D) {
        let mut state = self.0.lock();
        state.noted = state.noted.max(ts);
        if state.terms.is_empty() {
            return;
        }
        let mut note = |key: &SortKey, item, is_new: bool| {
            let bytes = key.to_bytes();
            let Some(beginning) = key::beginning(&bytes) else { return };
            let Some(term) = state.terms.get_mut(beginning) else { return };
            let Some(impact) = impact(&bytes) else { return };
            let impact = is_new.then_some(impact);
            term.changes.push(Noted { ts, object: object(item), impact });
        };
        // Old keys first: the last change of an object and term counts.
        for change in changes {
            change.before().into_iter().for_each(|key| note(key, change.item, false));
        }
        for change in changes {
            change.after().into_iter().for_each(|key| note(key, change.item, true));
        }
    }

    /// Folds changes that every reader sees, and drops lists with too many others.
    pub(crate) fn settle(&self, watermark: u64) {
        let mut state = self.0.lock();
        let state = &mut *state;
        state.terms.retain(|beginning, term| {
            let before = term.bytes;
            term.fold(watermark);
            let is_kept = !term.is_overgrown();
            term.bytes = if is_kept { term.bytes(beginning) } else { 0 };
            state.bytes = state.bytes - before + term.bytes;
            is_kept
        });
    }

    /// Forgets everything: what changes at `ts` is not noted.
    pub(crate) fn forget(&self, ts: u64) {
        let mut state = self.0.lock();
        state.noted = state.noted.max(ts);
        state.terms.clear();
        state.bytes = 0;
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.lock().bytes
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use telar_text::Analyzer;

    use super::*;

    /// The term `a` of the first field.
    const A: &[u8] = b"\x01a";

    fn key(text: &str) -> Option<SortKey> {
        let mut found = None;
        key::for_each_key(Analyzer::default(), 0, &[text], |bytes| {
            if key::beginning(bytes).is_some() {
                found = Some(SortKey::from_bytes(bytes));
            }
        });
        found
    }

    fn change(object: u32, old: &str, new: &str) -> Change {
        Change::new(0, [object, 0, 0], [key(old), key(new)]).unwrap()
    }

    fn list(objects: &[u32]) -> Arc<Postings<u32>> {
        let impact = Impact { frequency: 1, norm: 1 };
        Arc::new(Postings::new(objects.iter().map(|object| (*object, impact)).collect()))
    }

    fn objects(lists: &ListsOf<u32>, ts: u64, watermark: u64) -> Option<Vec<u32>> {
        let list = lists.get(A, ts, watermark)?;
        Some(list.iter().map(|(object, _)| object).collect())
    }

    fn note(lists: &ListsOf<u32>, ts: u64, changes: &[Change]) {
        lists.note(ts, changes, |item| item[0]);
    }

    #[test]
    fn a_list_is_right_at_its_commit_and_after_it() {
        let lists = ListsOf::<u32>::default();
        note(&lists, 5, &[change(9, "", "a")]);
        assert_eq!(lists.begin(A, 4), None, "commit 5 is not among its changes");
        let begun = lists.begin(A, 5).unwrap();
        assert_eq!(lists.begin(A, 5), None, "once is enough");
        // Noted while the list is made.
        note(&lists, 7, &[change(3, "a", "b"), change(4, "b", "a a"), change(5, "b", "c")]);
        assert_eq!(objects(&lists, 7, 0), None);
        lists.end((A, begun), Some(&list(&[3, 9])), 1);
        note(&lists, 8, &[change(9, "a", "a a a")]);
        note(&lists, 6, &[change(1, "", "a")]);
        for watermark in [0, 6, 7, 8] {
            lists.settle(watermark);
            let before = (watermark <= 5).then(|| vec![3, 9]);
            assert_eq!(objects(&lists, 4, watermark), None);
            assert_eq!(objects(&lists, 5, watermark), before);
            let six = (watermark <= 6).then(|| vec![1, 3, 9]);
            assert_eq!(objects(&lists, 6, watermark), six);
            assert_eq!(objects(&lists, 8, watermark), Some(vec![1, 4, 9]));
        }
        let impact = lists.get(A, 9, 9).unwrap().iter().last().unwrap().1;
        assert_eq!(impact.frequency, 3);
        let bytes = lists.bytes();
        assert!(bytes > 0);
        lists.forget(20);
        assert_eq!((objects(&lists, 30, 9), lists.bytes()), (None, 0));
        assert_eq!(lists.begin(A, 19), None);
        let again = lists.begin(A, 20).unwrap();
        lists.end((A, begun), Some(&list(&[3, 9])), 1);
        assert_eq!(objects(&lists, 30, 9), None, "of a list that was forgotten");
        lists.end((A, again), None, 1);
        assert_eq!(lists.bytes(), 0);
    }

    #[test]
    fn a_list_that_is_not_used_makes_room() {
        let lists = ListsOf::<u32>::default();
        let long = list(&(0..1 << 20).collect::<Vec<_>>());
        let beginning = |n: u8| [1, b'a' + n];
        for n in 0..8 {
            let begun = lists.begin(&beginning(n), 1).unwrap();
            lists.end((&beginning(n), begun), Some(&long), 0);
            assert!(lists.bytes() <= BYTES_MIN);
            let _ = lists.get(&beginning(0), 1, 0);
        }
        assert!(lists.get(&beginning(0), 1, 0).is_some(), "the one that was used");
        assert!(lists.get(&beginning(1), 1, 0).is_none());
        assert!(lists.get(&beginning(7), 1, 0).is_some());
    }

    #[test]
    fn a_list_that_cannot_be_folded_is_dropped() {
        let lists = ListsOf::<u32>::default();
        let begun = lists.begin(A, 1).unwrap();
        lists.end((A, begun), Some(&list(&[])), 0);
        for n in 0..=CHANGES_MAX as u32 {
            note(&lists, 2 + u64::from(n), &[change(n, "", "a")]);
        }
        assert_eq!(objects(&lists, 3, 1), Some(vec![0, 1]));
        assert_eq!(objects(&lists, 3, 1), None);
    }
}
