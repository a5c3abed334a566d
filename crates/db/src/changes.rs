//! `telar.changes`: committed changes in order, with names instead of numbers.

use std::sync::Arc;

use parking_lot::RwLock;
use telar_engine::{Change, CommitChanges, Engine, WeakEngine};
use telar_graph::value::{DateTime, UtcOffset};
use telar_graph::{CommitTs, EdgeId, LabelId, PropertyKeyId, Value, VertexId};
use telar_query::procedure::{Chunk, Field, RowBatch, RowSource, Rows};
use telar_query::{
    CallContext, ErrorKind, Procedure, Procedures, QueryError, element_id_of_edge,
    element_id_of_vertex,
};

/// Commits that are read at once.
const COMMITS_PER_CHUNK: u64 = 256;

/// Adds the procedure for the database that `database` will lead to.
pub(crate) fn add(procedures: &mut Procedures, database: &Arc<RwLock<WeakEngine>>) {
    procedures.add("telar.changes", Arc::new(Changes::new(Arc::clone(database))));
}

/// The error of a procedure that could not do it.
pub(crate) fn failed(error: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", error.to_string())
}

/// Committed changes in order.
struct Changes {
    database: Arc<RwLock<WeakEngine>>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Changes {
    fn new(database: Arc<RwLock<WeakEngine>>) -> Self {
        let arguments =
            vec![Field::new("after", "INTEGER"), Field::new("commits", "INTEGER").or(1000)];
        let columns = [("commit", "INTEGER"), ("time", "ZONED DATETIME"), ("changes", "LIST<MAP>")];
        let columns = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        Self { database, arguments, columns }
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
            let message = "telar.changes takes numbers of 0 or more";
            return Err(QueryError::runtime(
                ErrorKind::InvalidArguments,
                "InvalidArguments",
                message,
            ));
        };
        let engine = self.database.read().upgrade();
        let engine = engine.ok_or_else(|| failed("there is no database whose log can be read"))?;
        let names = ChangeNames::of(&engine);
        Ok(Box::new(ChangeRows { engine, names, after: CommitTs::from_raw(after), left: most }))
    }
}

/// Rows of `telar.changes`, read from the log as they are asked for.
struct ChangeRows {
    engine: Engine,
    names: ChangeNames,
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

/// Names for the numbers in changes: the names of one moment, and those made since, which the
/// changes themselves tell.
#[derive(Debug)]
pub struct ChangeNames {
    labels: Vec<String>,
    keys: Vec<String>,
    types: Vec<String>,
}

/// A number that no name is known for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unnamed {
    what: &'static str,
    number: u16,
}

impl std::error::Error for Unnamed {}

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

impl ChangeNames {
    /// The names of this moment.
    #[must_use]
    pub fn of(engine: &Engine) -> Self {
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
    pub fn describe_all(
        &mut self,
        commit: &CommitChanges,
        engine: &Engine,
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
