//! Documents and terms of a full-text index, as of each commit that a reader may ask for.
//!
//! BM25 needs both of the snapshot. They are counted once, at some commit; each commit after that
//! notes what it changes, before it is visible. A read at another commit adds what lies between.
//! Notes that every reader sees are folded when the index settles.

use parking_lot::Mutex;
use telar_text::key::Entry;

use super::change::Change;
use super::key::SortKey;

/// Number of documents and of terms, by field.
pub(crate) type Counted = Vec<(i64, i64)>;

#[derive(Debug, Default)]
pub(crate) struct Totals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The changes of commits: timestamp, and the difference by field.
    log: Vec<(u64, Counted)>,
    /// Nothing is noted of commits up to this one.
    from: u64,
    /// The last count, and its commit.
    counted: Option<(u64, Counted)>,
}

/// Adds what a key says, `sign` times, if it is of a length.
pub(crate) fn add(counted: &mut Counted, key: &SortKey, sign: i64) {
    // Those of lengths have a zero here.
    if key.head_bytes()[1] != 0 {
        return;
    }
    let bytes: smallvec::SmallVec<[u8; 16]> = key.bytes().collect();
    if let Some(Entry::Length { field, length, .. }) = Entry::decode(&bytes) {
        let field = usize::from(field);
        if counted.len() <= field {
            counted.resize(field + 1, (0, 0));
        }
        if length > 0 {
            counted[field].0 += sign;
            counted[field].1 += sign * i64::from(length);
        }
    }
}

fn add_all(counted: &mut Counted, others: &Counted, sign: i64) {
    if counted.len() < others.len() {
        counted.resize(others.len(), (0, 0));
    }
    for (here, other) in counted.iter_mut().zip(others) {
        here.0 += sign * other.0;
        here.1 += sign * other.1;
    }
}

impl State {
    fn at(&self, ts: u64) -> Option<Counted> {
        let (at, mut counted) = self.counted.clone().filter(|_| ts >= self.from)?;
        for (changed, difference) in &self.log {
            if at < *changed && *changed <= ts {
                add_all(&mut counted, difference, 1);
            } else if ts < *changed && *changed <= at {
                add_all(&mut counted, difference, -1);
            }
        }
        Some(counted)
    }
}

impl Totals {
    /// Notes what a commit changes. It is not visible yet.
    pub(crate) fn note(&self, ts: u64, changes: &[Change]) {
        let mut difference = Counted::new();
        for change in changes {
            change.before().into_iter().for_each(|key| add(&mut difference, key, -1));
            change.after().into_iter().for_each(|key| add(&mut difference, key, 1));
        }
        if difference.iter().any(|of| *of != (0, 0)) {
            self.0.lock().log.push((ts, difference));
        }
    }

    /// The totals at a commit, if they are known.
    pub(crate) fn at(&self, ts: u64) -> Option<Counted> {
        self.0.lock().at(ts)
    }

    /// Keeps what was counted at a commit that is visible.
    pub(crate) fn keep(&self, ts: u64, counted: &Counted) {
        let mut state = self.0.lock();
        if ts >= state.from && state.counted.as_ref().is_none_or(|(at, _)| *at < ts) {
            state.counted = Some((ts, counted.clone()));
        }
    }

    /// Documents that were counted last, of all fields, about.
    pub(crate) fn documents(&self) -> u64 {
        let state = self.0.lock();
        let counted = state.counted.iter().flat_map(|(_, counted)| counted);
        counted.map(|(documents, _)| (*documents).max(0) as u64).sum()
    }

    /// Forgets notes of commits that every reader sees.
    pub(crate) fn settle(&self, watermark: u64) {
        let mut state = self.0.lock();
        if watermark <= state.from || state.log.iter().all(|(ts, _)| *ts > watermark) {
            return;
        }
        if state.counted.as_ref().is_some_and(|(at, _)| *at < watermark) {
            state.counted = state.at(watermark).map(|counted| (watermark, counted));
        }
        state.log.retain(|(ts, _)| *ts > watermark);
        state.from = watermark;
    }

    /// Forgets everything: what changes up to `ts` is not noted.
    pub(crate) fn forget(&self, ts: u64) {
        *self.0.lock() = State { from: ts, ..State::default() };
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;

    fn key(length: u32) -> SortKey {
        let mut bytes = vec![1, 0];
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[1, 2, 3, 4, 5]);
        SortKey::from_bytes(&bytes)
    }

    #[test]
    fn totals_are_those_of_each_commit() {
        let totals = Totals::default();
        let change = |old: Option<u32>, new: Option<u32>| {
            [Change::new(0, [1, 0, 0], [old.map(key), new.map(key)]).unwrap()]
        };
        totals.note(10, &change(None, Some(3)));
        totals.note(20, &change(None, Some(5)));
        totals.note(30, &change(Some(3), Some(4)));
        assert_eq!(totals.at(20), None);
        totals.keep(20, &vec![(2, 8)]);
        for (ts, expected) in [(5, (0, 0)), (10, (1, 3)), (25, (2, 8)), (30, (2, 9))] {
            assert_eq!(totals.at(ts), Some(vec![expected]), "{ts}");
        }
        totals.settle(25);
        assert_eq!(totals.at(24), None);
        assert_eq!(totals.at(25), Some(vec![(2, 8)]));
        totals.note(40, &change(Some(5), None));
        assert_eq!(totals.at(40), Some(vec![(1, 4)]));
        totals.settle(40);
        assert_eq!(totals.at(50), Some(vec![(1, 4)]));
        totals.forget(60);
        assert_eq!(totals.at(60), None);
        totals.keep(50, &vec![(1, 4)]);
        assert_eq!(totals.at(60), None);
    }
}
