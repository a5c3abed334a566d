//! Following a replicated log: its records are applied beside readers, in order, by one thread.
//!
//! ```text
//!  group ─▶ records, checked ─▶ each: applied, and appended to the local log at its timestamp
//!                            ─▶ flush: written, not synced ─▶ published
//! ```
//!
//! It is what recovery does with a record, by the steps of a commit: latches, and tails that
//! readers see a prefix of. Constraints are not checked, since they were when the record was made;
//! their indexes are kept.
//!
//! A record that does not fit is divergence. It is noticed before anything of it is appended, so
//! that the local log stays what it was: a copy of the beginning of the replicated one.

use std::borrow::Cow;
use std::sync::Arc;

use telar_graph::CommitTs;

use super::raise_bounds;
use crate::commit::protocol::{Mode, commit};
use crate::commit::record::{self, IndexChange, Record, decode};
use crate::commit::write_set::WriteSet;
use crate::error::{Error, ErrorKind};
use crate::failpoint;
use crate::format;
use crate::index::Index;
use crate::schema::build;
use crate::shared::Shared;
use crate::stop::Stop;
use crate::wal::sink::frames_of_one;
use crate::wal::{GroupSink, LogGroup};

/// Records that are applied before what they changed is published: far fewer than may be.
const RECORDS_PER_PUBLICATION: u64 = 4096;

fn diverged(ts: u64, reason: impl Into<String>) -> Error {
    Error::Diverged { commit: CommitTs::from_raw(ts), reason: reason.into() }
}

/// Applies a group; returns the last commit that is visible.
pub(crate) fn apply(shared: &Shared, group: LogGroup<'_>) -> Result<u64, Error> {
    let mut misfit = shared.role.applying.lock();
    if !shared.role.follows() {
        return Err(Error::NotFollowing);
    }
    if let Some((ts, reason)) = &*misfit {
        return Err(diverged(*ts, reason));
    }
    let records = group.records().map_err(|bad| Error::Damaged {
        path: "the replicated log".into(),
        place: format!("commit {}", bad.ts),
        reason: bad.reason,
    })?;
    let done = apply_all(shared, group.first_ts, &records);
    if let Err(Error::Diverged { commit, reason }) = &done {
        *misfit = Some((commit.get(), reason.clone()));
    }
    // What was applied before an error is right.
    let published = publish(shared);
    done.and(published)
}

/// Ends following.
pub(crate) fn promote(shared: &Shared, sink: Arc<dyn GroupSink>) -> Result<(), Error> {
    let misfit = shared.role.applying.lock();
    let (Some(durable), true) = (&shared.durable, shared.role.follows()) else {
        return Err(Error::NotFollowing);
    };
    if let Some((ts, reason)) = &*misfit {
        return Err(diverged(*ts, reason));
    }
    publish(shared)?;
    durable.wal.check()?;
    durable.wal.attach(sink);
    // Ids that were free when it was opened may have been used since.
    shared.free_vertices.begin_sweep(shared.vertex_bound(), shared.last_ts());
    shared.role.lead(shared.clock.published());
    Ok(())
}

/// Salt and bytes of the record by which a leadership begins.
pub(crate) fn epoch_record(
    shared: &Shared,
    ts: u64,
    epoch: u64,
    node: &str,
) -> Result<(u32, Vec<u8>), Error> {
    let salt = shared.durable.as_ref().ok_or(Error::NotFollowing)?.wal.salt();
    let frames = frames_of_one(salt, ts, &record::encode_epoch(epoch, node))?;
    Ok((salt, frames))
}

/// Writes what was appended, and makes it visible; returns the last commit that is.
fn publish(shared: &Shared) -> Result<u64, Error> {
    shared.publish_all()?;
    Ok(shared.clock.published())
}

fn apply_all(shared: &Shared, first_ts: u64, records: &[(u64, &[u8])]) -> Result<(), Error> {
    let next = shared.last_ts() + 1;
    if first_ts > next {
        return Err(diverged(next, format!("the log goes on with commit {first_ts}")));
    }
    for (ts, payload) in records.iter().filter(|(ts, _)| *ts >= next) {
        apply_record(shared, *ts, payload)?;
        failpoint!("follow::applied");
        if ts.is_multiple_of(RECORDS_PER_PUBLICATION) {
            publish(shared)?;
        }
    }
    Ok(())
}

fn apply_record(shared: &Shared, ts: u64, payload: &[u8]) -> Result<(), Error> {
    let misfit = |reason: String| diverged(ts, reason);
    match decode(payload, &shared.catalog.label_sets).map_err(misfit)? {
        Record::Commit(_) if payload == format::EMPTY_COMMIT => {
            return Err(diverged(ts, "a bulk load came in here, which the log does not hold"));
        }
        Record::Commit(writes) => return apply_commit(shared, ts, payload, &writes),
        Record::Epoch { .. } => append(shared, ts, payload)?,
        Record::Name { kind, number, name } => {
            // As where names are made: a checkpoint has a name, or is before its record.
            let _making = shared.catalog.making.lock();
            shared.catalog.restore(kind, &name, number).map_err(misfit)?;
            append(shared, ts, payload)?;
        }
        Record::EdgeType { number, name, options } => {
            let _making = shared.catalog.making.lock();
            shared.catalog.restore_edge_type(&name, number, options).map_err(misfit)?;
            append(shared, ts, payload)?;
        }
        Record::Indexes(changes) => return apply_indexes(shared, ts, payload, changes),
    }
    shared.clock.mark_applied(ts);
    Ok(())
}

fn append(shared: &Shared, ts: u64, payload: &[u8]) -> Result<(), Error> {
    shared.follow_timestamp(ts, Cow::Borrowed(payload))
}

fn apply_commit(shared: &Shared, ts: u64, payload: &[u8], writes: &WriteSet) -> Result<(), Error> {
    let misfit = |e: Error| match (&e, e.kind()) {
        // Nothing that the record says, but what happens here.
        (Error::SnapshotTooOld, _)
        | (_, ErrorKind::Environment | ErrorKind::Reopen | ErrorKind::NotLeader) => e,
        (Error::Diverged { .. }, _) => e,
        _ => shared.check_stored().err().unwrap_or_else(|| diverged(ts, e.to_string())),
    };
    raise_bounds(shared, writes, &|reason| diverged(ts, reason)).map_err(misfit)?;
    // Before it can be published: a checkpoint that has the commit has its id.
    if let Some(id) = &writes.once {
        shared.once.note(id, ts);
    }
    let mode = Mode::Follow { commit_ts: ts, payload };
    let done = commit(shared, writes, &[], mode, &Stop::never(), |_| Ok(()));
    if done.map_err(misfit)?.is_none() {
        append(shared, ts, payload)?;
        shared.clock.mark_applied(ts);
    }
    Ok(())
}

fn apply_indexes(
    shared: &Shared,
    ts: u64,
    payload: &[u8],
    changes: Vec<IndexChange>,
) -> Result<(), Error> {
    let _one_at_a_time = shared.indexes.making.lock();
    let (mut made, mut dropped) = (Vec::new(), Vec::new());
    for change in changes {
        match change {
            IndexChange::Made { id, definition } => {
                if shared.indexes.find(id).is_some() {
                    return Err(diverged(ts, format!("index {id} is made twice")));
                }
                let index = Index::replayed(id, definition, ts, &shared.catalog);
                made.push(index.map_err(|e| diverged(ts, e.to_string()))?);
            }
            IndexChange::Dropped { id } if shared.indexes.find(id).is_none() => {
                return Err(diverged(ts, format!("there is no index {id} to drop")));
            }
            IndexChange::Dropped { id } => dropped.push(id),
        }
    }
    publish(shared)?;
    if !made.is_empty() {
        shared.indexes.add(&made);
    }
    let built = build::build_followed(shared, &made);
    let _making = shared.catalog.making.lock();
    if let Err(e) = built.and_then(|()| append(shared, ts, payload)) {
        let ids: Vec<_> = made.iter().map(|index| index.id).collect();
        shared.indexes.remove(&ids);
        return Err(e);
    }
    shared.clock.mark_applied(ts);
    let published = publish(shared)?;
    made.iter().for_each(|index| index.set_online(published));
    if dropped.is_empty() {
        shared.indexes.note_change();
    } else {
        shared.indexes.remove(&dropped);
    }
    Ok(())
}
