//! Label sets, numbered: a vertex's state is the number of its set.
//!
//! 0 is "no such vertex", 1 the empty set. Sets are never removed; there are as many as distinct
//! combinations of labels were ever used.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use telar_graph::LabelId;

/// State of a vertex that does not exist.
pub(crate) const ABSENT: u32 = 0;
/// State of a vertex without labels.
pub(crate) const NO_LABELS: u32 = 1;

/// A set of labels, ascending.
pub(crate) type LabelSet = Arc<[LabelId]>;

#[derive(Debug, Default)]
struct Sets {
    list: Vec<LabelSet>,
    index: HashMap<LabelSet, u32>,
}

/// Every label set in use, by number.
#[derive(Debug)]
pub(crate) struct LabelSets {
    sets: RwLock<Sets>,
}

impl LabelSets {
    pub(crate) fn new() -> Self {
        let sets = Self { sets: RwLock::default() };
        {
            let mut inner = sets.sets.write();
            let empty: LabelSet = Arc::new([]);
            inner.list.push(Arc::clone(&empty));
            inner.list.push(Arc::clone(&empty));
            inner.index.insert(empty, NO_LABELS);
        }
        sets
    }

    /// The number of the set of `labels`, in any order, repeats allowed.
    pub(crate) fn number(&self, labels: &[LabelId]) -> u32 {
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        if let Some(&n) = self.sets.read().index.get(sorted.as_slice()) {
            return n;
        }
        let mut inner = self.sets.write();
        if let Some(&n) = inner.index.get(sorted.as_slice()) {
            return n;
        }
        let set: LabelSet = sorted.into();
        let n = inner.list.len() as u32;
        inner.list.push(Arc::clone(&set));
        inner.index.insert(set, n);
        n
    }

    /// The labels of set `number`.
    pub(crate) fn labels(&self, number: u32) -> LabelSet {
        self.sets.read().list.get(number as usize).cloned().unwrap_or_default()
    }

    /// Number of sets, "absent" included.
    pub(crate) fn len(&self) -> usize {
        self.sets.read().list.len()
    }

    /// Every set from number 2 on, in order.
    pub(crate) fn stored(&self) -> Vec<LabelSet> {
        self.sets.read().list.get(2..).unwrap_or_default().to_vec()
    }

    /// For every set, by number, whether it holds `label` (any existing vertex if `None`).
    pub(crate) fn with_label(&self, label: Option<LabelId>) -> Vec<bool> {
        let inner = self.sets.read();
        let holds = |s: &LabelSet| label.is_none_or(|l| s.binary_search(&l).is_ok());
        inner.list.iter().enumerate().map(|(n, s)| n as u32 != ABSENT && holds(s)).collect()
    }
}
