//! A node: one copy of a database that follows a replicated log, or leads it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use telar_engine::{Engine, Snapshot};
use telar_graph::CommitTs;

use super::ReplicaError;
use super::core::{Core, seen_slot};
use super::driver::Driver;
use super::election::{Election, Event, NotLeader, Role, SeenSlot, Settings};
use super::follower::Copy;
use super::latest::Looks;
use super::time::Clock;
use crate::store::{ErrorKind, Log, Name, StoreError, Stores, random};

/// Settings of a replica.
#[derive(Clone, Debug)]
pub struct ReplicaOptions {
    /// The folder of its copy; made if there is none.
    pub path: PathBuf,
    /// Settings of the copy; that of durability does not count.
    pub engine: telar_engine::Settings,
    /// Name of the node, for others.
    pub node: String,
    /// The stream of the database; its lease is the key of the same name.
    pub stream: Name,
    /// True if it may lead.
    pub votes: bool,
    /// Time limits, the same on all nodes.
    pub election: Settings,
}

/// A copy of a database that follows a replicated log, and leads it if it wins the lease.
///
/// Whoever holds the [engine](Self::engine) of a node that is deposed keeps the copy from being
/// opened again: sessions end at the first [`telar_engine::Error::NotLeader`], and ask anew.
#[derive(Debug)]
pub struct Replica {
    core: Arc<Core>,
    copy: Arc<Copy>,
    driver: Mutex<Option<Driver>>,
    /// The last commit that the copy has on disk, as far as was asked.
    kept: Mutex<Option<CommitTs>>,
    looks: Looks,
}

impl Replica {
    /// Opens the copy, and follows the log from where it ends; threads do so until the replica is
    /// dropped.
    ///
    /// # Errors
    /// [`ReplicaError::LogBehind`] if the copy has more than the log; [`ReplicaError::Behind`] if
    /// the log was trimmed past the copy; [`ReplicaError::Store`], [`ReplicaError::Engine`] of what
    /// could not be opened or read.
    pub fn start(stores: &Stores, options: ReplicaOptions) -> Result<Self, ReplicaError> {
        let replica = Self::open(stores, options, Clock::machine())?;
        let driver = Driver::start(&replica.core, &replica.copy).map_err(|cause| {
            let why = format!("no thread could be started: {cause}");
            ReplicaError::Stopped { why }
        })?;
        *replica.driver.lock().unwrap_or_else(PoisonError::into_inner) = Some(driver);
        Ok(replica)
    }

    pub(super) fn open(
        stores: &Stores,
        options: ReplicaOptions,
        clock: Clock,
    ) -> Result<Self, ReplicaError> {
        let ReplicaOptions { path, engine, node, stream, votes, election: settings } = options;
        let oldest = stores.log.oldest(&stream)?;
        let behind = |known| match known + 1 < oldest {
            true => Err(ReplicaError::Behind { known, oldest }),
            false => Ok(()),
        };
        if !path.exists() {
            behind(0)?;
        }
        let (copy, engine) = Copy::open(path, engine)?;
        let known = engine.published().get();
        drop(engine);
        behind(known)?;
        let last = last_slot(&*stores.log, &stream, known)?;
        let (holder, ttl) = (random()?, settings.ttl);
        let now = clock.now();
        let election = Election::new(settings, holder, &node, votes, known + 1, last, now);
        let (log, coordination) = (Arc::clone(&stores.log), Arc::clone(&stores.coordination));
        let names = (stream.clone(), stream);
        let core = Core::new(log, coordination, names, (node, holder), ttl, clock, election);
        Ok(Self {
            core: Arc::new(core),
            copy: Arc::new(copy),
            driver: Mutex::default(),
            kept: Mutex::default(),
            looks: Looks::default(),
        })
    }

    /// Makes it break a rule.
    #[cfg(test)]
    pub(super) fn with_fault(mut self, fault: Option<super::simulation::Fault>) -> Self {
        let core = Arc::get_mut(&mut self.core).expect("INVARIANT: nobody has it yet");
        core.fault = fault;
        self
    }

    #[cfg(test)]
    pub(super) fn core(&self) -> &Core {
        &self.core
    }

    /// Does everything that is due, in this thread; true if a stale read brought something.
    #[cfg(test)]
    pub(super) fn pump(&self) -> bool {
        self.core.step(Event::Tick);
        while self.core.lease_work() | self.copy.log_work(&self.core) {}
        self.copy.read_stale(&self.core)
    }

    /// The copy, to read it, or to commit if this node leads. Commits elsewhere fail with
    /// [`telar_engine::Error::NotLeader`].
    ///
    /// # Errors
    /// [`ReplicaError::Reopening`]; [`ReplicaError::Stopped`].
    pub fn engine(&self) -> Result<Engine, ReplicaError> {
        if let Some(why) = self.stopped() {
            return Err(ReplicaError::Stopped { why });
        }
        self.copy.engine().ok_or(ReplicaError::Reopening)
    }

    /// The copy with a number that is another one each time that it is opened anew.
    ///
    /// # Errors
    /// As [`engine`](Self::engine).
    pub fn opened(&self) -> Result<(u64, Engine), ReplicaError> {
        if let Some(why) = self.stopped() {
            return Err(ReplicaError::Stopped { why });
        }
        self.copy.opened().ok_or(ReplicaError::Reopening)
    }

    /// Fails if this node leads as far as it knows, and somebody else may lead by now. Asked after
    /// a snapshot was taken, of a timestamp that it shows: what is read is then all that anybody
    /// had acknowledged. On a node that follows, nothing is promised, and it does not fail.
    ///
    /// # Errors
    /// [`NotLeader`].
    pub fn check_lease(&self, shown: CommitTs) -> Result<(), NotLeader> {
        match self.role() {
            Role::Leader => self.core.may_read(shown.get() + 1),
            Role::Follower | Role::Candidate => Ok(()),
        }
    }

    /// As [`check_lease`](Self::check_lease), and fails on a node that follows.
    ///
    /// # Errors
    /// [`NotLeader`].
    pub fn check_leads(&self, shown: CommitTs) -> Result<(), NotLeader> {
        self.core.may_read(shown.get() + 1)
    }

    /// The last commit of the log, read from the store: a snapshot of `engine`, a copy that
    /// follows, shows everything that any node had acknowledged before the call once that commit is
    /// published in it.
    ///
    /// # Errors
    /// [`StoreError::Trimmed`] for a copy that is so far behind that it cannot follow; what the
    /// store reports.
    pub fn last_acknowledged(&self, engine: &Engine) -> Result<CommitTs, StoreError> {
        self.looks.last(&self.core, engine.published())
    }

    /// The last commit that the log may have of those that this node knows of or writes: of a group
    /// whose outcome it does not know yet, too. A copy that follows may show that one earlier than
    /// this node does.
    #[must_use]
    pub fn last_put(&self) -> CommitTs {
        CommitTs::from_raw(self.core.state().election.put_end() - 1)
    }

    /// A snapshot that shows everything that any node had acknowledged before the call.
    ///
    /// # Errors
    /// [`ReplicaError::NotLeader`] if another node may lead; those of [`engine`](Self::engine).
    pub fn strict_snapshot(&self) -> Result<Snapshot<'static>, ReplicaError> {
        // The order counts: if nobody else can lead now, nobody had committed past the snapshot.
        let snapshot = self.engine()?.snapshot_owned()?;
        self.core.may_read(snapshot.read_ts().get() + 1)?;
        Ok(snapshot)
    }

    /// Role of the node.
    #[must_use]
    pub fn role(&self) -> Role {
        self.core.state().election.role()
    }

    /// True while the store may say that this node holds the lease, and the node can still give it
    /// up: while it leads, before and a little after.
    #[must_use]
    pub fn is_holder(&self) -> bool {
        let state = self.core.state();
        state.stopped.is_none() && state.election.may_hold_lease()
    }

    /// The node that leads, as far as this one knows; it may be this one.
    #[must_use]
    pub fn leader(&self) -> Option<String> {
        let state = self.core.state();
        state.election.lease().filter(|lease| !lease.released).map(|lease| lease.node.clone())
    }

    /// The node that leads, as far as this one knows, if it is another.
    #[must_use]
    pub fn other_leader(&self) -> Option<String> {
        Core::leader(&self.core.state(), self.core.holder)
    }

    /// Number of the leadership, as far as this node knows; 0 if there was none.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.core.state().election.lease().map_or(0, |lease| lease.epoch)
    }

    /// True if the leadership is about to change: nobody has renewed the lease for seven tenths of
    /// a TTL, or nobody holds it. It takes no longer than TTL and margin until somebody leads
    /// again, if anybody can, and 1.4 s more where the store was silent.
    #[must_use]
    pub fn is_changing(&self) -> bool {
        let (state, now) = (self.core.state(), self.core.clock.now());
        let silent = state.election.lease_age(now).is_none_or(|age| age >= self.core.ttl * 7 / 10);
        silent || state.election.lease().is_none_or(|lease| lease.released)
    }

    /// The last commit that is visible here; none while the copy is being opened again.
    #[must_use]
    pub fn position(&self) -> Option<CommitTs> {
        self.copy.engine().map(|engine| engine.published())
    }

    /// Why the replica does nothing any more, if it does not: its log was trimmed, the store has
    /// lost commits, or a record did not fit. Its data stays as it is.
    #[must_use]
    pub fn stopped(&self) -> Option<String> {
        self.core.state().stopped.clone()
    }

    /// The failure of its disk that holds the copy up, if there is one. What the copy has can be
    /// read meanwhile, and the node does not lead. The copy is opened again after a pause, 30 s at
    /// most, and goes on if its disk takes writes.
    #[must_use]
    pub fn held_up(&self) -> Option<String> {
        self.core.state().held_up.as_ref().map(|held_up| held_up.why.clone())
    }

    /// Why the copy does not follow, for people: it has [stopped](Self::stopped), or is
    /// [held up](Self::held_up).
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        let held_up = |why: String| format!("held up, and tried again by itself: {why}");
        self.stopped().or_else(|| self.held_up().map(held_up))
    }

    /// True if it has stopped because the log was trimmed past its copy: it needs an image.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.core.state().behind
    }

    /// The last commit that the copy has for good, as of the last [`keep`](Self::keep).
    #[must_use]
    pub fn kept(&self) -> Option<CommitTs> {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the store still has the last commit of the log that this node knows of, and
    /// stops for good if it does not: who went on would have commits that others have not.
    ///
    /// # Cost
    /// One read of the store.
    pub fn check_log(&self) {
        self.core.check_log();
    }

    /// Syncs the copy; returns the last commit that it has for good: the log need not keep it for
    /// this node. None while the copy is being opened again.
    ///
    /// # Errors
    /// [`ReplicaError::Engine`] of a disk that fails.
    ///
    /// # Cost
    /// One sync, if there was a commit since the last one.
    pub fn keep(&self) -> Result<Option<CommitTs>, ReplicaError> {
        let Some(engine) = self.copy.engine() else { return Ok(None) };
        if self.kept().is_none_or(|kept| kept < engine.published()) {
            let synced = engine.sync_copy()?;
            *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(synced);
        }
        Ok(self.kept())
    }

    /// Gives up leading, so that another node can without waiting for the lease to lapse. Groups
    /// that are under way are ended first; later ones are refused.
    pub fn release(&self) {
        self.core.step(Event::Release { to: None });
    }

    /// As [`release`](Self::release), for the node `to`: others leave the lease alone for a TTL.
    pub fn release_to(&self, to: &str) {
        self.core.step(Event::Release { to: Some(to.to_owned()) });
    }

    /// As [`release`](Self::release), for good: the node is about to end, and never leads again.
    /// Others need not wait for its lease once it is [no holder](Self::is_holder) any more.
    pub fn retire(&self) {
        self.core.state().election.retire();
        self.release();
    }

    /// Waits until this node leads and takes commits, for `patience` at most; true if it does.
    #[must_use]
    pub fn wait_to_lead(&self, patience: Duration) -> bool {
        let end = std::time::Instant::now() + patience;
        loop {
            let leads = self.copy.engine().is_some_and(|engine| !engine.follows());
            if leads && self.role() == Role::Leader {
                return true;
            }
            if std::time::Instant::now() >= end || self.stopped().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.core.stop("it was closed");
        let driver = self.driver.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(driver) = driver {
            driver.join();
        }
    }
}

/// The slot of the last commit that the copy has, if the log still has it.
fn last_slot(log: &dyn Log, stream: &Name, known: u64) -> Result<Option<SeenSlot>, ReplicaError> {
    if known == 0 {
        return Ok(None);
    }
    match log.read(stream, known, 0) {
        Ok(slots) => match slots.first() {
            Some(slot) => Ok(Some(seen_slot(slot)?)),
            None => Err(ReplicaError::LogBehind { known }),
        },
        // Others have written since; the lease knows of epochs at least as late.
        Err(StoreError::Trimmed { .. }) => Ok(None),
        Err(cause) => {
            debug_assert_ne!(cause.kind(), ErrorKind::Behind);
            Err(cause.into())
        }
    }
}
