//! The records of a database in memory that keeps history, as far back as that.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// Records by commit timestamp. Nothing where no history is kept, or where there is a log.
#[derive(Debug, Default)]
pub(crate) struct MemoryLog(Mutex<Records>);

#[derive(Debug, Default)]
struct Records {
    /// Everything up to here is gone.
    oldest: u64,
    records: BTreeMap<u64, Arc<[u8]>>,
}

impl MemoryLog {
    /// Adds the record of a commit that is not published yet, unless the log begins after it.
    pub(crate) fn push(&self, ts: u64, payload: &[u8]) {
        let mut log = self.0.lock();
        if ts > log.oldest {
            log.records.insert(ts, payload.into());
        }
    }

    /// The record of a published commit; `None` if it is gone.
    pub(crate) fn get(&self, ts: u64) -> Option<Arc<[u8]>> {
        self.0.lock().records.get(&ts).map(Arc::clone)
    }

    /// The timestamp after which every record is here.
    pub(crate) fn oldest(&self) -> u64 {
        self.0.lock().oldest
    }

    /// Drops the records up to `floor`.
    pub(crate) fn prune(&self, floor: u64) {
        let mut log = self.0.lock();
        if floor > log.oldest {
            log.records = log.records.split_off(&(floor + 1));
            log.oldest = floor;
        }
    }

    /// The timestamps that are here, with their records.
    pub(crate) fn all(&self) -> Vec<(u64, Arc<[u8]>)> {
        let log = self.0.lock();
        log.records.iter().map(|(ts, record)| (*ts, Arc::clone(record))).collect()
    }

    /// Heap bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        self.0.lock().records.values().map(|record| record.len() + 48).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_comes_after_the_log_was_cut_behind_it_is_not_kept() {
        let log = MemoryLog::default();
        log.push(10, b"a");
        // 12 has no record; 11 took its timestamp before it and is late.
        log.prune(12);
        log.push(11, b"b");
        log.push(13, b"c");
        assert_eq!((log.oldest(), log.all().len()), (12, 1));
        assert!(log.get(11).is_none() && log.get(13).is_some());
    }
}
