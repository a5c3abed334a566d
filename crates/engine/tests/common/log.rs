//! A replicated log in memory, for tests of databases that follow it.

use std::sync::{Arc, Mutex};

use telar_engine::Engine;
use telar_engine::wal::{GroupSink, LogGroup, SinkError};
use telar_graph::CommitTs;

/// Groups of a replicated log, and whether it takes more.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) groups: Mutex<Vec<Group>>,
    pub(crate) refuses: Mutex<Option<SinkError>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) first_ts: u64,
    pub(crate) next_ts: u64,
    pub(crate) salt: u32,
    pub(crate) frames: Vec<u8>,
}

impl Group {
    pub(crate) fn as_group(&self) -> LogGroup<'_> {
        let Self { first_ts, next_ts, salt, .. } = *self;
        LogGroup { first_ts, next_ts, salt, frames: &self.frames }
    }
}

impl GroupSink for Log {
    fn put(&self, group: LogGroup<'_>) -> Result<(), SinkError> {
        if let Some(error) = self.refuses.lock().unwrap().clone() {
            return Err(error);
        }
        let LogGroup { first_ts, next_ts, salt, frames } = group;
        let mut groups = self.groups.lock().unwrap();
        assert_eq!(first_ts, groups.last().map_or(1, |last| last.next_ts), "without gaps");
        groups.push(Group { first_ts, next_ts, salt, frames: frames.to_vec() });
        Ok(())
    }
}

impl Log {
    /// Applies everything that `db` does not have, or so many groups of it.
    pub(crate) fn apply_to(&self, db: &Engine, groups: usize) {
        let all = self.groups.lock().unwrap().clone();
        let new = all.iter().filter(|group| group.next_ts > db.published().get() + 1);
        for group in new.take(groups) {
            assert_eq!(db.apply(group.as_group()).unwrap().get(), group.next_ts - 1);
        }
    }

    /// Makes `db`, which has all of the log, the leader.
    pub(crate) fn lead(self: &Arc<Self>, db: &Engine, epoch: u64) {
        let at = db.published().get() + 1;
        let (salt, frames) = db.epoch_record(CommitTs::from_raw(at), epoch, "node").unwrap();
        let group = Group { first_ts: at, next_ts: at + 1, salt, frames };
        db.apply(group.as_group()).unwrap();
        self.groups.lock().unwrap().push(group);
        db.promote(self.clone()).unwrap();
    }
}
