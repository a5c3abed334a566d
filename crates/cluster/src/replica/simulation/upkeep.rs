//! Trimming of the log, and nodes that it leaves behind.
//!
//! Nodes say what they have for good now and then; who leads trims by that. A node that is away is
//! given up by chance; it begins anew then with a backup of another one.

use std::sync::atomic::Ordering;
use std::time::Duration;

use telar_engine::maintenance::{BackupOptions, RestoreOptions, restore};

use super::Fault;
use super::world::{World, folder, last_log_file};
use crate::store::Log;
use crate::upkeep::{Limits, LogState, MemberCopy, Upkeep, decide};

impl World {
    /// Remembers that everything that a node has written is on its disk for good.
    pub(super) fn note_synced(&self, number: usize) {
        let node = &self.nodes[number];
        if let Some(last) = last_log_file(node.folder.path()) {
            let bytes = last.metadata().unwrap().len();
            *node.synced.borrow_mut() = (last, bytes);
        }
    }

    /// A node syncs its copy and tells the others.
    pub(super) fn keep(&self, number: usize) {
        let node = &self.nodes[number];
        let is_away =
            node.paused_until.get() > self.now() || node.cut_coordination.load(Ordering::Relaxed);
        let Some(replica) = self.replica(number).filter(|r| !is_away && r.stopped().is_none())
        else {
            return;
        };
        replica.check_log();
        if let Some(why) = replica.stopped() {
            self.fail(format!("node {number} lacks what it stopped for: {why}"));
        }
        if let Ok(Some(kept)) = replica.keep() {
            self.note_synced(number);
            node.kept.set(Some(kept.get()));
            // One that was left behind is waited for from the image on that it gets.
            if let Ok(oldest) = Log::oldest(&self.store, &self.stream)
                && kept.get() + 1 >= oldest
            {
                node.given_up.set(false);
            }
        }
    }

    /// The leader, if there is one, trims the log.
    pub(super) fn trim(&self) {
        let Some(leader) = self.leader().and_then(|leader| self.replica(leader)) else { return };
        let limits = Limits::default();
        let mut members = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let is_away = self.replica(number).is_none()
                || node.paused_until.get() > self.now()
                || node.cut_until.get() > self.now();
            if is_away && self.one_in(4) {
                node.given_up.set(true);
            }
            let silent_for = if node.given_up.get() { limits.patience } else { Duration::ZERO };
            members.push(MemberCopy { kept: node.kept.get(), silent_for });
        }
        let log = &leader.core().log;
        let Ok(oldest) = log.oldest(&self.stream) else { return };
        let state = LogState { oldest, bytes: 0, image: None };
        let before = match decide(&state, &members, &limits) {
            _ if self.fault == Some(Fault::TrimsEarly) => {
                leader.position().map_or(1, |position| position.get() + 1)
            }
            Upkeep::Trim(before) => before,
            Upkeep::Wait | Upkeep::Image => return,
        };
        if log.trim(&self.stream, before).is_ok_and(|mark| mark > oldest) {
            self.history.borrow_mut().trims += 1;
        }
    }

    /// Makes the copy of a node anew from another one; false if there is none.
    pub(super) fn bootstrap(&self, number: usize) -> bool {
        let open = |other: usize| self.replica(other)?.engine().ok();
        let others = (0..self.nodes.len()).filter(|other| *other != number);
        let Some(other) = others.filter_map(open).max_by_key(telar_engine::Engine::published)
        else {
            return false;
        };
        let (backup, own) = (folder(), self.nodes[number].folder.path());
        // One that was deposed a moment ago has what nobody was told of.
        if other.backup(backup.path(), &BackupOptions::default()).is_err() {
            return false;
        }
        std::fs::remove_dir_all(own).unwrap();
        restore(&[backup.path().into()], own, &RestoreOptions::default()).unwrap();
        self.history.borrow_mut().bootstraps += 1;
        true
    }
}
