//! Procedures that only a server has: `telar.backup`, `telar.changes`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use telar_db::maintenance::{BackupOptions, time};
use telar_db::query::procedure::{Chunk, Field, RowBatch, RowSource, Rows, known};
use telar_db::query::result::{element_id_of_edge, element_id_of_vertex};
use telar_db::query::{CallContext, ErrorKind, Procedure, Procedures, QueryError};
use telar_db::value::{DateTime, UtcOffset};
use telar_db::{Change, CommitChanges, CommitTs, EdgeId, LabelId, PropertyKeyId, Value, VertexId};

use super::database::LastBackup;
use super::failure::{forbidden, invalid};

/// Commits that `telar.changes` reads at once.
const COMMITS_PER_CHUNK: u64 = 256;

/// Adds them for a database.
pub(super) fn add(
    procedures: &mut Procedures,
    engine: &telar_db::Database,
    backups: Option<PathBuf>,
    last: &Arc<LastBackup>,
) {
    let last = Arc::clone(last);
    procedures.add("telar.backup", Arc::new(Backup::new(engine.clone(), backups, last)));
    procedures.add("telar.changes", Arc::new(Changes::new(engine.clone())));
}

fn failed(error: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", error.to_string())
}

/// A backup beside readers and writers, below a folder that the server's settings name.
struct Backup {
    engine: telar_db::Database,
    below: Option<PathBuf>,
    last: Arc<LastBackup>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Backup {
    fn new(engine: telar_db::Database, below: Option<PathBuf>, last: Arc<LastBackup>) -> Self {
        let arguments =
            vec![Field::new("folder", "STRING"), Field::new("since", "STRING").or(Value::Null)];
        let columns = [("commit", "INTEGER"), ("commits", "INTEGER"), ("bytes", "INTEGER")];
        let columns = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        Self { engine, below, last, arguments, columns }
    }

    /// The folder of a backup, of one name, so that it is where it is to be.
    fn folder(&self, argument: &Value) -> Result<PathBuf, QueryError> {
        let Some(below) = &self.below else {
            return Err(failed(
                "no folder for backups is set for this server: backup.folder names it",
            ));
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

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        if !call.host().is_some_and(|host| host.is_admin()) {
            return Err(forbidden("telar.backup is for administrators"));
        }
        let folder = self.folder(&arguments[0])?;
        let mut options = BackupOptions::default();
        if !arguments[1].is_null() {
            options.since = Some(self.folder(&arguments[1])?);
        }
        let done = self.engine.backup(&folder, &options).map_err(failed)?;
        self.last.note(time::now_ms());
        let number = |n: u64| Value::try_from(n).unwrap_or_default();
        let row = vec![number(done.to.get()), number(done.commits), number(done.bytes)];
        Ok(known(vec![row]))
    }
}

/// Committed changes in order.
struct Changes {
    engine: telar_db::Database,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Changes {
    fn new(engine: telar_db::Database) -> Self {
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

    fn run(
        &self,
        _: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let number = |argument: &Value| match argument {
            Value::Int(n) => u64::try_from(*n).ok(),
            _ => None,
        };
        let Some((after, most)) = number(&arguments[0]).zip(number(&arguments[1])) else {
            return Err(invalid("telar.changes takes numbers of 0 or more"));
        };
        let (engine, names) = (self.engine.clone(), Names::of(&self.engine));
        Ok(Box::new(ChangeRows { engine, names, after: CommitTs::from_raw(after), left: most }))
    }
}

/// Rows of `telar.changes`, read from the log as they are asked for.
struct ChangeRows {
    engine: telar_db::Database,
    names: Names,
    /// The last commit that was returned.
    after: CommitTs,
    /// Commits that are still wanted.
    left: u64,
}

impl RowSource for ChangeRows {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        let wanted = self.left.min(COMMITS_PER_CHUNK);
        let stream = self.engine.changes_since(self.after).map_err(failed)?;
        let mut rows = Rows::new();
        for commit in stream.take(wanted as usize) {
            call.check()?;
            let commit = commit.map_err(failed)?;
            let time = commit.time_ms.and_then(|ms| {
                let (seconds, nanos) = ((ms / 1000) as i64, (ms % 1000) as i64 * 1_000_000);
                DateTime::from_epoch(seconds, nanos, UtcOffset::default()).ok()
            });
            let changes = self.names.describe_all(&commit, &self.engine).map_err(failed)?;
            let ts = Value::try_from(commit.ts.get()).unwrap_or_default();
            rows.push(vec![ts, time.into(), Value::list(changes)]);
            self.after = commit.ts;
            self.left -= 1;
        }
        let is_last = self.left == 0 || (rows.len() as u64) < wanted;
        let batch = RowBatch::try_from(rows)?;
        Ok(if is_last { Chunk::Last(batch) } else { Chunk::More(batch) })
    }
}

/// What the numbers in changes stand for: the names of one moment, and those made since, which the
/// changes themselves tell.
#[derive(Debug)]
pub(crate) struct Names {
    labels: Vec<String>,
    keys: Vec<String>,
    types: Vec<String>,
}

/// A number that no name is known for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unnamed {
    what: &'static str,
    number: u16,
}

impl std::fmt::Display for Unnamed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, number } = self;
        write!(f, "a change has {what} number {number}, which has no name: run `telar check`")
    }
}

fn name_of(names: &[String], what: &'static str, number: u16) -> Result<Value, Unnamed> {
    let name = names.get(usize::from(number)).ok_or(Unnamed { what, number })?;
    Ok(Value::from(name.as_str()))
}

impl Names {
    /// The names of this moment.
    pub(crate) fn of(engine: &telar_db::Database) -> Self {
        let types = engine.edge_types().into_iter().map(|(name, _)| name).collect();
        Self { labels: engine.labels(), keys: engine.property_keys(), types }
    }

    /// Takes the name that a change makes.
    fn learn(&mut self, change: &Change) {
        let (names, number, name) = match change {
            Change::LabelMade { label, name } => (&mut self.labels, label.get(), name),
            Change::PropertyKeyMade { key, name } => (&mut self.keys, key.get(), name),
            Change::EdgeTypeMade { ty, name, .. } => (&mut self.types, ty.get(), name),
            _ => return,
        };
        let place = usize::from(number);
        names.resize(names.len().max(place + 1), String::new());
        name.clone_into(&mut names[place]);
    }

    /// The changes of a commit as maps. Commits come in their order.
    ///
    /// # Errors
    /// If a number has no name: nothing is left out, and nothing is told without its name.
    pub(crate) fn describe_all(
        &mut self,
        commit: &CommitChanges,
        engine: &telar_db::Database,
    ) -> Result<Vec<Value>, Unnamed> {
        commit.changes.iter().for_each(|change| self.learn(change));
        let all = |names: &Self| -> Result<Vec<Value>, Unnamed> {
            commit.changes.iter().map(|change| names.describe(change)).collect()
        };
        all(self).or_else(|_| {
            // The names of a bulk load come with it and in no change.
            *self = Self::of(engine);
            all(self)
        })
    }

    /// A change as a map, with names instead of numbers.
    fn describe(&self, change: &Change) -> Result<Value, Unnamed> {
        let event = |name: &'static str| ("event", Value::from(name));
        let name = |name: &String| ("name", Value::from(name.as_str()));
        let node = |v: &VertexId| ("node", Value::from(element_id_of_vertex(*v)));
        let relationship = |e: &EdgeId| ("relationship", element_id_of_edge(e).into());
        let key =
            |key: &PropertyKeyId| Ok(("key", name_of(&self.keys, "property key", key.get())?));
        let labels = |labels: &[LabelId]| {
            let name = |label: &LabelId| name_of(&self.labels, "label", label.get());
            Ok(("labels", Value::list(labels.iter().map(name).collect::<Result<Vec<_>, _>>()?)))
        };
        let ends = |what: &'static str, e: &EdgeId| {
            Ok(Value::map([
                event(what),
                relationship(e),
                ("type", name_of(&self.types, "relationship type", e.ty.get())?),
                ("from", element_id_of_vertex(e.src).into()),
                ("to", element_id_of_vertex(e.dst).into()),
            ]))
        };
        Ok(match change {
            Change::VertexCreated { vertex, labels: of } => {
                Value::map([event("nodeCreated"), node(vertex), labels(of)?])
            }
            Change::LabelsSet { vertex, labels: of } => {
                Value::map([event("labelsSet"), node(vertex), labels(of)?])
            }
            Change::VertexDeleted { vertex } => Value::map([event("nodeDeleted"), node(vertex)]),
            Change::VertexPropertySet { vertex, key: of, value } => Value::map([
                event("nodePropertySet"),
                node(vertex),
                key(of)?,
                ("value", value.clone()),
            ]),
            Change::EdgeCreated { edge, .. } => ends("relationshipCreated", edge)?,
            Change::EdgeEnsured { edge } => ends("relationshipEnsured", edge)?,
            Change::EdgeDeleted { edge } => ends("relationshipDeleted", edge)?,
            Change::EdgePropertySet { edge, key: of, value } => Value::map([
                event("relationshipPropertySet"),
                relationship(edge),
                key(of)?,
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
        })
    }
}
