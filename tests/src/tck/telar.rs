//! Telar as the subject of the harness: a database, and a session on it for each query.

use std::num::NonZeroUsize;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use telar_db::query::procedure::{Field, RowSource, known};
use telar_db::query::{self, Entities, Limits, Planning, Procedures, QueryError};
use telar_db::{Database, Runtime, Session, Workers};
use telar_graph::{EdgeId, Value, ValueMap, VertexId};

use super::graph::{self, from_tck, to_tck};
use super::step::Procedure;
use super::subject::{Failure, GraphState, Phase, Rows, Subject};
use super::value::{Entries, Node, Relationship};

/// A database that queries run on.
#[derive(Debug)]
pub struct Telar {
    db: Database,
    procedures: Vec<(String, Arc<Table>)>,
    limits: Limits,
    workers: Arc<Workers>,
    planning: Planning,
    timeout: Option<Duration>,
    in_transactions: bool,
    written: Option<String>,
}

/// Leaves the graph as it was, and a transaction with writes of every kind.
const UNRELATED: &str = "CREATE (a:Unrelated {unrelated: 1})-[:UNRELATED {unrelated: 2}]->(a) \
                         SET a.other = 3 DETACH DELETE a";

/// Threads that share whatever they can, by so many rows: 1, 2 or 3.
fn sharing(rows: usize) -> Arc<Workers> {
    static WORKERS: LazyLock<[Arc<Workers>; 3]> = LazyLock::new(|| {
        [0, 1, 2].map(|more| {
            let rows = NonZeroUsize::MIN.saturating_add(more);
            Arc::new(Workers::new(8).with_morsels_of(rows))
        })
    });
    Arc::clone(&WORKERS[rows - 1])
}

impl Telar {
    /// An empty database.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn new() -> Result<Self, String> {
        telar_db::open_in_memory().map(Self::on).map_err(|e| e.to_string())
    }

    /// A database that is there already.
    #[must_use]
    pub fn on(db: Database) -> Self {
        let workers = Arc::new(Workers::new(1));
        let (planning, timeout) = (Planning::default(), None);
        let limits = Limits::default();
        let procedures = Vec::new();
        let (in_transactions, written) = (false, None);
        Self { db, procedures, limits, workers, planning, timeout, in_transactions, written }
    }

    /// The same, for which queries may use no more than this.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same database, whose queries are planned by these rules, and given up after some time.
    #[must_use]
    pub fn planned(self, planning: Planning, timeout: Duration) -> Self {
        Self { planning, timeout: Some(timeout), ..self }
    }

    /// The same; queries that only read share their work by so many rows: 1, 2 or 3.
    ///
    /// # Panics
    /// With other numbers.
    #[must_use]
    pub fn sharing(self, rows: usize) -> Self {
        Self { workers: sharing(rows), ..self }
    }

    /// The same; each query runs in a transaction that has written something else before.
    #[must_use]
    pub fn in_transactions(self) -> Self {
        Self { in_transactions: true, ..self }
    }

    /// Lets each query from now on run in a transaction that has run this before, and that is
    /// rolled back.
    pub fn after_writing(&mut self, text: &str) {
        self.written = Some(text.to_owned());
    }

    /// What it runs on.
    #[must_use]
    pub fn database(&self) -> &Database {
        &self.db
    }
}

impl graph::Entities for Entities {
    fn node(&self, id: VertexId) -> Option<Node> {
        let node = self.nodes.get(&id)?;
        let labels = node.labels.iter().cloned().collect();
        Some(Node { labels, properties: entries(&node.properties)? })
    }

    fn relationship(&self, id: EdgeId) -> Option<Relationship> {
        let relationship = self.relationships.get(&id)?;
        let properties = entries(&relationship.properties)?;
        Some(Relationship { ty: relationship.ty.clone(), properties })
    }
}

fn entries(properties: &telar_graph::ValueMap) -> Option<Entries> {
    let nothing = Entities::default();
    let entry =
        |(key, value): (&Arc<str>, &Value)| Some((key.to_string(), to_tck(value, &nothing).ok()?));
    properties.iter().map(entry).collect()
}

fn failure(error: &QueryError) -> Failure {
    // The kind is the type of the TCK; of some errors, Neo4j's code is another.
    let kind = error.kind.code().rsplit('.').next().unwrap_or_default().to_owned();
    Failure {
        phase: match error.phase {
            query::Phase::Compile => Phase::Compile,
            query::Phase::Runtime => Phase::Runtime,
        },
        kind,
        detail: error.detail.clone(),
        message: error.message.clone(),
    }
}

impl Subject for Telar {
    fn run(&mut self, text: &str, parameters: &Entries) -> Result<Rows, Failure> {
        let harness = |message: String| Failure {
            phase: Phase::Runtime,
            kind: "Harness".to_owned(),
            detail: String::new(),
            message,
        };
        let mut procedures = Procedures::builtin();
        procedures.planning = self.planning;
        for (name, table) in &self.procedures {
            procedures.add(name.as_str(), table.clone());
        }
        let runtime = Runtime::new(procedures).with_workers(Arc::clone(&self.workers));
        let mut session =
            Session::with_runtime(&self.db, Arc::new(runtime)).with_limits(self.limits.clone());
        if let Some(timeout) = self.timeout {
            session = session.with_timeout(timeout);
        }
        let parameters =
            parameters.iter().map(|(key, value)| Ok((Arc::from(key.as_str()), from_tck(value)?)));
        let parameters = parameters.collect::<Result<_, String>>().map_err(harness)?;
        let in_transaction = || {
            let mut transaction = session.begin()?;
            transaction.run(UNRELATED, &ValueMap::new())?;
            let result = transaction.run(text, &parameters)?;
            transaction.commit()?;
            Ok(result)
        };
        let after_writing = |written: &str| {
            let mut transaction = session.begin()?;
            transaction.run(written, &ValueMap::new())?;
            transaction.run(text, &parameters)
        };
        let result = match (&self.written, self.in_transactions) {
            (Some(written), _) => after_writing(written),
            (None, true) => in_transaction(),
            (None, false) => session.run_with(text, &parameters),
        };
        let result = result.map_err(|e| failure(&e))?;
        let mut rows = Vec::new();
        for row in &result.rows {
            let values = row.iter().map(|value| to_tck(value, &result.entities));
            rows.push(values.collect::<Result<_, _>>().map_err(harness)?);
        }
        Ok(Rows { columns: result.columns.iter().map(|c| c.to_string()).collect(), rows })
    }

    fn state(&mut self) -> Result<GraphState, String> {
        graph::state(&self.db)
    }

    fn register(&mut self, procedure: &Procedure) -> Result<(), String> {
        let fields = |fields: &[(String, String)]| {
            let field = |(name, ty): &(String, String)| {
                let ty = ty.trim_end_matches('?').replace("NUMBER", "INTEGER | FLOAT");
                let of = ty.parse();
                let of = of.map_err(|e| format!("type {ty}: {e:?}"))?;
                Ok(Field { name: name.as_str().into(), of, default: None })
            };
            fields.iter().map(field).collect::<Result<Vec<_>, String>>()
        };
        let row = |row: &Vec<_>| row.iter().map(from_tck).collect::<Result<Vec<_>, _>>();
        let table = Table {
            arguments: fields(&procedure.inputs)?,
            columns: fields(&procedure.outputs)?,
            rows: procedure.rows.iter().map(row).collect::<Result<_, _>>()?,
        };
        self.procedures.push((procedure.name.clone(), Arc::new(table)));
        Ok(())
    }
}

/// A procedure whose rows are written down: it yields those that begin with its arguments.
#[derive(Debug)]
struct Table {
    arguments: Vec<Field>,
    columns: Vec<Field>,
    rows: Vec<Vec<Value>>,
}

impl query::Procedure for Table {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "A table of the TCK."
    }

    fn run(
        &self,
        _: &mut query::CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let asked = |row: &&Vec<Value>| row[..arguments.len()] == *arguments;
        let rest = |row: &Vec<Value>| row[arguments.len()..].to_vec();
        Ok(known(self.rows.iter().filter(asked).map(rest).collect()))
    }
}
