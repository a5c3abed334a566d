//! Read-write transactions: isolation, begin and commit. Their vertex operations are in
//! `vertices.rs`, their edge operations in `edges.rs`, batched reads for queries in `view.rs`,
//! indexes and constraints in `rules.rs`.

mod around;
mod claims;
mod edges;
mod indexes;
mod intents;
mod names;
mod own_keys;
mod rules;
mod update;
mod vertices;
mod view;

use std::cell::RefCell;
use std::collections::HashSet;

use telar_graph::value::NESTING_MAX;
use telar_graph::{CommitTs, EdgeTypeId, PropertyKeyId, Value, VertexId};

use crate::commit::edge_ends::EdgeEnds;
use crate::commit::protocol::{Mode, commit};
use crate::commit::write_set::{Read, WriteSet};
use crate::error::Error;
use crate::index::source::edge_item;
use crate::intents::Holder;
use crate::once::{self, Claim};
use crate::schema::PendingRules;
use crate::shared::Shared;
use crate::snapshot::{Handle, Reader, Registration};
use crate::stop::{Interrupt, Stop};
use around::Around;
use names::OwnNames;
use own_keys::OwnKeys;

/// What concurrent transactions may do to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Reads see one snapshot; of two concurrent writers of the same thing the first to commit
    /// wins. Write skew is possible.
    #[default]
    Snapshot,
    /// As if transactions ran one after the other. What was read is validated at commit, too, so
    /// that transactions that read much conflict more often.
    Serializable,
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Committed {
    /// The commit timestamp, at which every later snapshot sees the writes; for a transaction that
    /// changed nothing, the timestamp it read at.
    pub ts: CommitTs,
    /// Edges that did not exist before.
    pub edges_added: u64,
    /// Edges that existed before.
    pub edges_removed: u64,
    /// True if a transaction with the same id has committed before
    /// ([`commit_once`](Transaction::commit_once)): `ts` is its timestamp, and this one's writes
    /// were undone.
    pub repeated: bool,
}

impl Committed {
    fn nothing(ts: CommitTs) -> Self {
        Self { ts, edges_added: 0, edges_removed: 0, repeated: false }
    }
}

/// A read-write transaction. Writes are private until [`commit`](Self::commit); dropping it aborts.
#[derive(Debug)]
pub struct Transaction<'e> {
    registration: Registration<'e>,
    writes: WriteSet,
    /// Its edge writes by their ends, once it has read edges after writing some: a transaction
    /// that only writes pays nothing for them.
    ends: RefCell<Option<Box<EdgeEnds>>>,
    /// What the vertices have among which it deleted last.
    around: RefCell<Option<Box<Around>>>,
    /// Keys of its writes, once it has looked something up in an index.
    own_keys: RefCell<Option<Box<OwnKeys>>>,
    /// `Some` if serializable.
    reads: Option<RefCell<HashSet<Read>>>,
    /// Names that are not made unless it commits.
    names: Option<Box<OwnNames>>,
    /// What becomes of indexes and constraints, once it has asked for them to change them.
    rules: Option<Box<PendingRules>>,
    /// What others wait for, if it waits for them.
    intents: Option<Holder>,
    /// Its number among those that make edges without ordinals; 0 if it has not made any.
    pairs_owner: u32,
    committed: bool,
}

fn vid(v: u32) -> VertexId {
    VertexId::from_raw(v.into())
}

impl<'e> Transaction<'e> {
    #[inline]
    pub(crate) fn new(shared: Handle<'e>, isolation: Isolation) -> Result<Self, Error> {
        // What a bulk load replaces, a transaction that began before it could not validate.
        shared.gate.wait_open();
        Ok(Self {
            registration: Registration::new(shared)?,
            writes: WriteSet::default(),
            ends: RefCell::default(),
            around: RefCell::default(),
            own_keys: RefCell::default(),
            reads: (isolation == Isolation::Serializable).then(RefCell::default),
            names: None,
            rules: None,
            intents: None,
            pairs_owner: 0,
            committed: false,
        })
    }

    #[inline]
    pub(crate) fn shared(&self) -> &Shared {
        &self.registration.shared
    }

    /// The commit timestamp the transaction reads at.
    #[must_use]
    pub fn read_ts(&self) -> CommitTs {
        CommitTs::from_raw(self.registration.read_ts)
    }

    /// Bytes that its own writes take until it ends, what it noted of them to find them again
    /// included.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        let ends = self.ends.borrow().as_ref().map_or(0, |ends| ends.bytes());
        let keys = self.own_keys.borrow().as_ref().map_or(0, |keys| keys.bytes());
        let names = self.names.as_ref().map_or(0, |names| names.bytes());
        (self.writes.bytes() + ends + keys + names) as u64
    }

    /// The same state of the graph for other threads, while the transaction has written nothing.
    /// `None` if it has, and for serializable ones, of which each read counts.
    #[must_use]
    pub fn shared_snapshot(&self) -> Option<&Registration<'e>> {
        let plain = self.reads.is_none() && !self.changes_graph() && !self.changes_schema();
        plain.then_some(&self.registration)
    }

    fn reader(&self) -> Reader<'_> {
        self.registration.reader()
    }

    /// Says that a vertex was written: as a whole, or one of its properties.
    #[inline]
    fn touch_vertex(&mut self, v: u32, property: Option<PropertyKeyId>) {
        if let Some(own) = self.own_keys.get_mut() {
            own.vertices.touch(v, property);
        }
    }

    /// Says that an edge was written: as a whole, or one of its properties.
    #[inline]
    fn touch_edge(
        &mut self,
        ty: EdgeTypeId,
        (src, dst, place): (u32, u32, u32),
        property: Option<PropertyKeyId>,
    ) {
        if let Some(own) = self.own_keys.get_mut() {
            own.edges.touch((ty, edge_item(src, dst, place)), property);
        }
    }

    /// Remembers a read for validation. A vertex that was never made by the time of the read has no
    /// place to validate: that none was made is what was read.
    fn note(&self, read: Read) {
        let Some(reads) = &self.reads else { return };
        let vertex = match read {
            Read::State(v)
            | Read::VertexProperty(v, _)
            | Read::Neighbours(_, _, v)
            | Read::Unnumbered(_, (v, _), _) => v,
            Read::EdgeProperty(..) | Read::AllStates | Read::Index(_) | Read::Unmade(..) => 0,
        };
        let is_made = vertex < self.shared().vertex_bound().max(1);
        reads.borrow_mut().insert(if is_made { read } else { Read::AllStates });
    }

    /// Commits; says at which timestamp, and which upserts and deletes of edges changed something.
    /// Returns when the indexes and constraints it made can be read and hold.
    ///
    /// # Errors
    /// [`Error::Conflict`] (run the transaction again), [`Error::SnapshotTooOld`],
    /// [`Error::ConstraintViolated`], [`Error::MixedChanges`] and, after
    /// [`delete_vertex_deferred`](Self::delete_vertex_deferred), [`Error::StillConnected`]: nothing
    /// was written.
    /// [`Error::Log`]: the log failed; the database refuses writes from now on, and whether this
    /// commit survives is known after it is opened again. [`Error::Damaged`]: something that was
    /// read, by this transaction or another, could not be read.
    pub fn commit(self) -> Result<Committed, Error> {
        self.commit_with(&Stop::never())
    }

    /// As [`commit`](Self::commit), unless `interrupt` says to give up before it is decided: it is
    /// asked while the commit is planned, waits for others and is validated, and for the last time
    /// before it takes its timestamp. Indexes and constraints are decided when they begin to be
    /// built.
    ///
    /// # Errors
    /// Those of [`commit`](Self::commit); [`Error::Interrupted`]: nothing was written.
    pub fn commit_unless(self, interrupt: &dyn Interrupt) -> Result<Committed, Error> {
        self.commit_with(&Stop::when(interrupt))
    }

    fn commit_with(mut self, stop: &Stop<'_>) -> Result<Committed, Error> {
        let nothing = Committed::nothing(self.read_ts());
        if let Some(rules) = self.rules.take().filter(|rules| rules.are_changes()) {
            if self.writes.once.is_some() {
                let reason = "it changes indexes or constraints, whose commit keeps no id";
                return Err(Error::Once { reason });
            }
            stop.check()?;
            self.make_names(stop)?;
            return self.commit_rules(*rules, stop);
        }
        if self.writes.is_empty() {
            stop.check_last()?;
            self.shared().check_stored()?;
            if let Some(ts) = self.writes.once.as_ref().and_then(|id| self.shared().once.find(id)) {
                return self.committed_before(ts);
            }
            if self.names.is_some() {
                self.make_names(stop)?;
                self.shared().publish_all()?;
            }
            return Ok(nothing);
        }
        let _claim = match &self.writes.once {
            None => None,
            Some(id) => match self.shared().once.claim(id, stop)? {
                Claim::Own(held) => Some(held),
                Claim::Earlier(ts) => {
                    stop.check_last()?;
                    return self.committed_before(ts);
                }
            },
        };
        self.check_deleted_connected(stop)?;
        self.make_names(stop)?;
        let read_ts = self.registration.read_ts;
        let reads: Vec<Read> = match &self.reads {
            Some(reads) => reads.borrow().iter().cloned().collect(),
            None => Vec::new(),
        };
        let shared: &Shared = &self.registration.shared;
        let mut applied = false;
        let done = commit(shared, &self.writes, &reads, Mode::Live { read_ts }, stop, |ts| {
            applied = true;
            let published = shared.publish(ts);
            self.registration.close();
            // Whoever waits sees it now, and need not wait for what is tidied up after it.
            if let Some(holder) = &mut self.intents {
                holder.release(&shared.intents);
            }
            published
        });
        // Once applied, the ids of new vertices are taken, whatever became of the log.
        self.committed = applied;
        let Some(done) = done? else {
            return Ok(nothing);
        };
        Ok(Committed {
            ts: CommitTs::from_raw(done.ts),
            edges_added: done.edges_added,
            edges_removed: done.edges_removed,
            repeated: false,
        })
    }

    /// Ends a transaction whose id has committed at `ts`: its own writes are undone.
    fn committed_before(&self, ts: u64) -> Result<Committed, Error> {
        self.shared().publish(ts)?;
        Ok(Committed { repeated: true, ..Committed::nothing(CommitTs::from_raw(ts)) })
    }

    /// Lets the transaction commit once, however often it is sent: `id` names it, among all that
    /// are sent to the database. If a commit with the id is known
    /// ([`Settings::once_window`](crate::Settings::once_window)), this transaction's writes are
    /// undone when it commits, and it has the timestamp of the first one. The id is a part of the
    /// commit: it survives with it, and goes where it goes. A transaction that writes nothing
    /// leaves no id.
    ///
    /// # Errors
    /// [`Error::Once`] for an id that is empty or too long.
    pub fn commit_once(&mut self, id: &str) -> Result<(), Error> {
        if !once::is_id(id) {
            return Err(Error::Once { reason: "its id has 1 to 128 bytes" });
        }
        self.writes.once = Some(id.into());
        Ok(())
    }

    /// Aborts: nothing was written.
    pub fn abort(self) {}
}

impl Transaction<'_> {
    /// Gives back the ids of vertices that do not come to be.
    #[inline]
    fn give_back_vertices(&self) {
        let states = self.writes.states.items();
        if states.iter().any(|w| w.created) {
            let unused = states.iter().filter(|w| w.created).map(|w| w.vertex);
            self.shared().free_vertices.give_back(unused);
        }
    }
}

impl Drop for Transaction<'_> {
    #[inline]
    fn drop(&mut self) {
        if !self.committed {
            self.give_back_vertices();
        }
        self.give_back_pairs();
        self.release_intents();
        if let Some(names) = &self.names {
            names.release(&self.shared().catalog);
        }
    }
}

/// Refuses values that no property can hold.
fn check_value(value: &Value) -> Result<(), Error> {
    if !value.nests_within(NESTING_MAX) {
        return Err(Error::TooDeep { max: NESTING_MAX });
    }
    if value.is_storable() { Ok(()) } else { Err(Error::NotStorable) }
}
