//! What the change stream says between two commits, as far as a selection can be touched by it.

use std::collections::HashSet;
use std::time::Duration;

use telar_engine::{Change, Engine, Error};
use telar_graph::{CommitTs, EdgeTypeId, VertexId};
use telar_query::QueryError;

use crate::algorithms::selection::Resolved;
use crate::backend::query_error;

/// Longest wait for a commit between two looks at the limits of the statement.
const WAIT: Duration = Duration::from_millis(20);

/// Vertices and edges that commits touched.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// Vertices that came, went, or got other labels.
    pub(super) vertices: HashSet<VertexId>,
    /// Edges of the chosen types that came or went.
    pub(super) edges: HashSet<(EdgeTypeId, VertexId, VertexId)>,
}

/// What was found.
#[derive(Debug)]
pub(super) enum Collected {
    Changes(Changes),
    /// The stream does not have it, for this reason, or it is more than pays.
    Gap(String),
}

/// Collects what the commits after `after`, up to `target`, touched. `target` is visible.
pub(super) fn collect(
    db: &Engine,
    (after, target): (u64, u64),
    resolved: &Resolved,
    most: usize,
    check: &dyn Fn() -> Result<(), QueryError>,
) -> Result<Collected, QueryError> {
    let failed = |error: &Error| match error {
        Error::NotRetained { oldest, .. } => Ok(Collected::Gap(format!(
            "the change stream begins after commit {}, and the state was that of commit {after}",
            oldest.get()
        ))),
        error => Err(query_error(db, error)),
    };
    let mut stream = match db.changes_since(CommitTs::from_raw(after)) {
        Ok(stream) => stream,
        Err(error) => return failed(&error),
    };
    let mut changes = Changes::default();
    let mut flushed = false;
    while stream.position().get() < target {
        check()?;
        let commit = match stream.next_within(if flushed { WAIT } else { Duration::ZERO }) {
            Ok(Some(commit)) => commit,
            Ok(None) => {
                // Visible, and not yet on disk.
                db.flush().map_err(|error| query_error(db, &error))?;
                flushed = true;
                continue;
            }
            Err(error) => return failed(&error),
        };
        for change in commit.changes {
            match change {
                Change::VertexCreated { vertex, .. } | Change::VertexDeleted { vertex } => {
                    changes.vertices.insert(vertex);
                }
                Change::LabelsSet { vertex, .. } if !resolved.labels.is_empty() => {
                    changes.vertices.insert(vertex);
                }
                Change::EdgeCreated { edge, .. }
                | Change::EdgeEnsured { edge }
                | Change::EdgeDeleted { edge }
                    if resolved.parts.iter().any(|(ty, _)| *ty == edge.ty) =>
                {
                    changes.edges.insert((edge.ty, edge.src, edge.dst));
                }
                Change::BulkLoaded => {
                    let reason = format!("commit {} is a bulk load", commit.ts.get());
                    return Ok(Collected::Gap(reason));
                }
                _ => {}
            }
        }
        if changes.vertices.len() + changes.edges.len() > most {
            let reason = format!("more than {most} nodes and relationships had changed");
            return Ok(Collected::Gap(reason));
        }
    }
    Ok(Collected::Changes(changes))
}
