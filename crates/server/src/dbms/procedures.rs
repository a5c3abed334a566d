//! Procedures that only a server has: `telar.backup`, `telar.changes`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use telar_db::ops::BackupOptions;
use telar_db::query::procedure::{Field, Rows};
use telar_db::query::result::{element_id_of_edge, element_id_of_vertex};
use telar_db::query::{CallContext, ErrorKind, Procedure, Procedures, QueryError};
use telar_db::value::{DateTime, UtcOffset};
use telar_db::{Change, CommitTs, EdgeId, LabelId, PropertyKeyId, Value, VertexId};

use super::failure::{forbidden, invalid};

/// Adds them for a database.
pub(super) fn add(
    procedures: &mut Procedures,
    engine: &Arc<telar_db::Database>,
    backups: Option<PathBuf>,
) {
    let (backup, changes) = (Arc::clone(engine), Arc::clone(engine));
    procedures.add("telar.backup", Arc::new(Backup::new(backup, backups)));
    procedures.add("telar.changes", Arc::new(Changes::new(changes)));
}

fn failed(error: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", error.to_string())
}

/// A backup beside readers and writers, below a folder that the server's settings name.
struct Backup {
    engine: Arc<telar_db::Database>,
    below: Option<PathBuf>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Backup {
    fn new(engine: Arc<telar_db::Database>, below: Option<PathBuf>) -> Self {
        let arguments =
            vec![Field::new("folder", "STRING"), Field::new("since", "STRING").or(Value::Null)];
        let columns = [("commit", "INTEGER"), ("commits", "INTEGER"), ("bytes", "INTEGER")];
        let columns = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        Self { engine, below, arguments, columns }
    }

    /// The folder of a backup, of one name, so that it is where it is to be.
    fn folder(&self, argument: &Value) -> Result<PathBuf, QueryError> {
        let Some(below) = &self.below else {
            return Err(failed("no folder for backups is set for this server"));
        };
        let Value::String(name) = argument else {
            return Err(invalid("a backup needs the name of a folder"));
        };
        let mut parts = Path::new(&**name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) => Ok(below.join(part)),
            _ => Err(invalid(format!("'{name}' is not the name of a folder, without a path"))),
        }
    }
}

impl Procedure for Backup {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Writes a backup into a new folder, whole or what changed since another one; for admins."
    }

    fn run(&self, call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
        if !call.host.is_some_and(|host| host.is_admin()) {
            return Err(forbidden("telar.backup is for administrators"));
        }
        let folder = self.folder(&arguments[0])?;
        let mut options = BackupOptions::default();
        if !arguments[1].is_null() {
            options.since = Some(self.folder(&arguments[1])?);
        }
        let done = self.engine.backup(&folder, &options).map_err(failed)?;
        let number = |n: u64| Value::try_from(n).unwrap_or_default();
        Ok(vec![vec![number(done.to.get()), number(done.commits), number(done.bytes)]])
    }
}

/// Committed changes in order.
struct Changes {
    engine: Arc<telar_db::Database>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Changes {
    fn new(engine: Arc<telar_db::Database>) -> Self {
        let arguments =
            vec![Field::new("after", "INTEGER"), Field::new("commits", "INTEGER").or(1000)];
        let columns = [("commit", "INTEGER"), ("time", "ZONED DATETIME"), ("changes", "LIST<MAP>")];
        let columns = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        Self { engine, arguments, columns }
    }
}

impl Procedure for Changes {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "The commits after a timestamp, in order, at most so many."
    }

    fn run(&self, call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
        let number = |argument: &Value| match argument {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        };
        let Some((after, most)) = number(&arguments[0]).zip(number(&arguments[1])) else {
            return Err(invalid("telar.changes takes numbers of 0 or more"));
        };
        let stream = self.engine.changes_since(CommitTs::from_raw(after)).map_err(failed)?;
        let mut rows = Rows::new();
        for commit in stream.take(usize::try_from(most).unwrap_or(usize::MAX)) {
            call.check()?;
            let commit = commit.map_err(failed)?;
            let time = commit.time_ms.and_then(|ms| {
                let (seconds, nanos) = ((ms / 1000) as i64, (ms % 1000) as i64 * 1_000_000);
                DateTime::from_epoch(seconds, nanos, UtcOffset::default()).ok()
            });
            // Names only come: these are all that the commit can mean.
            let names = Names::of(&self.engine);
            let changes = commit.changes.iter().map(|change| names.describe(change));
            let ts = Value::try_from(commit.ts.get()).unwrap_or_default();
            rows.push(vec![ts, time.into(), Value::list(changes)]);
        }
        Ok(rows)
    }
}

/// What the numbers in changes stand for.
#[derive(Debug)]
pub(crate) struct Names {
    labels: Vec<String>,
    keys: Vec<String>,
    types: Vec<String>,
}

impl Names {
    /// The names of this moment.
    pub(crate) fn of(engine: &telar_db::Database) -> Self {
        let types = engine.edge_types().into_iter().map(|(name, _)| name).collect();
        Self { labels: engine.labels(), keys: engine.property_keys(), types }
    }

    /// A change as a map, with names instead of numbers.
    pub(crate) fn describe(&self, change: &Change) -> Value {
        let event = |name: &'static str| ("event", Value::from(name));
        let name = |name: &String| ("name", Value::from(name.as_str()));
        let node = |v: &VertexId| ("node", Value::from(element_id_of_vertex(*v)));
        let relationship = |e: &EdgeId| ("relationship", element_id_of_edge(e).into());
        let key = |key: &PropertyKeyId| {
            ("key", Value::from(self.keys.get(usize::from(key.get())).cloned()))
        };
        let labels = |labels: &[LabelId]| {
            let name = |label: &LabelId| self.labels.get(usize::from(label.get())).cloned();
            ("labels", Value::list(labels.iter().filter_map(name)))
        };
        let ends = |what: &'static str, e: &EdgeId| {
            Value::map([
                event(what),
                relationship(e),
                ("type", self.types.get(usize::from(e.ty.get())).cloned().into()),
                ("from", element_id_of_vertex(e.src).into()),
                ("to", element_id_of_vertex(e.dst).into()),
            ])
        };
        match change {
            Change::VertexCreated { vertex, labels: of } => {
                Value::map([event("nodeCreated"), node(vertex), labels(of)])
            }
            Change::LabelsSet { vertex, labels: of } => {
                Value::map([event("labelsSet"), node(vertex), labels(of)])
            }
            Change::VertexDeleted { vertex } => Value::map([event("nodeDeleted"), node(vertex)]),
            Change::VertexPropertySet { vertex, key: of, value } => Value::map([
                event("nodePropertySet"),
                node(vertex),
                key(of),
                ("value", value.clone()),
            ]),
            Change::EdgeCreated { edge, .. } => ends("relationshipCreated", edge),
            Change::EdgeEnsured { edge } => ends("relationshipEnsured", edge),
            Change::EdgeDeleted { edge } => ends("relationshipDeleted", edge),
            Change::EdgePropertySet { edge, key: of, value } => Value::map([
                event("relationshipPropertySet"),
                relationship(edge),
                key(of),
                ("value", value.clone()),
            ]),
            Change::LabelMade { name: of, .. } => Value::map([event("labelMade"), name(of)]),
            Change::PropertyKeyMade { name: of, .. } => {
                Value::map([event("propertyKeyMade"), name(of)])
            }
            Change::EdgeTypeMade { name: of, .. } => {
                Value::map([event("relationshipTypeMade"), name(of)])
            }
            Change::IndexMade { name: of, .. } => Value::map([event("indexMade"), name(of)]),
            Change::IndexDropped { index } => {
                Value::map([event("indexDropped"), ("index", i64::from(index.get()).into())])
            }
            Change::BulkLoaded => Value::map([event("bulkLoaded")]),
            other => Value::map([event("other"), ("change", format!("{other:?}").into())]),
        }
    }
}
