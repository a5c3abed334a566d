//! The procedures `algo.live.*`.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::RwLock;
use telar_engine::{Engine, WeakEngine};
use telar_graph::{Column, Value, ValueMap, VertexId};
use telar_query::procedure::{Chunk, Field, Mode, RowBatch, RowSource, known};
use telar_query::{CallContext, ErrorKind, Procedures, QueryError};

use super::definition::Definition;
use super::kernel::Values;
use super::registry::{Live, Registry};
use super::state::Answer;
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::function::{Called, FunctionProcedure, fields};
use crate::algorithms::output::count;

/// Rows of a batch.
const BATCH: usize = 4096;

/// The database that the sessions run on.
type Database = Arc<RwLock<WeakEngine>>;

type Run = fn(&mut CallContext<'_>, &Engine, &[Value]) -> Called;

/// Columns of values. A component is a number of a node, too, and a rank is a share of 1.
const VALUES: [(&str, &str); 2] = [("value", "INTEGER | FLOAT"), ("asOf", "INTEGER")];

/// Columns that describe a live algorithm.
const LISTED: [(&str, &str); 11] = [
    ("name", "STRING"),
    ("algorithm", "STRING"),
    ("configuration", "MAP"),
    ("nodeCount", "INTEGER"),
    ("asOf", "INTEGER"),
    ("lag", "INTEGER"),
    ("bytes", "INTEGER"),
    ("updates", "INTEGER"),
    ("rebuilds", "INTEGER"),
    ("rebuildReason", "STRING"),
    ("updateMillis", "INTEGER"),
];

/// Adds the procedures.
pub(in crate::algorithms) fn add(procedures: &mut Procedures, database: &Database) {
    let empty = || Value::Map(Arc::new(ValueMap::new()));
    let configuration = || Field::new("configuration", "MAP").or(empty());
    let name = || Field::new("name", "STRING");
    let node = || Field::new("node", "NODE");
    let mut add = |name: &'static str, about, mode, arguments, columns, of_engine: Run| {
        let database = Arc::clone(database);
        let run = move |call: &mut CallContext<'_>, arguments: &[Value]| {
            let Some(engine) = database.read().upgrade() else {
                let message = format!("{name} needs an embedded database or a server's");
                let kind = ErrorKind::ProcedureFailed;
                return Err(QueryError::runtime(kind, "ProcedureCallFailed", message));
            };
            of_engine(call, &engine, arguments)
        };
        let procedure = FunctionProcedure { about, mode, arguments, columns, run };
        procedures.add(name, Arc::new(procedure));
    };
    add(
        "algo.live.create",
        "Computes an algorithm and keeps its result, which follows the changes of the graph.",
        Mode::Write,
        vec![name(), Field::new("algorithm", "STRING"), configuration()],
        fields(&[
            ("name", "STRING"),
            ("algorithm", "STRING"),
            ("nodeCount", "INTEGER"),
            ("asOf", "INTEGER"),
            ("bytes", "INTEGER"),
            ("computeMillis", "INTEGER"),
        ]),
        create as Run,
    );
    add(
        "algo.live.drop",
        "Forgets a live algorithm.",
        Mode::Write,
        vec![name(), Field::new("failIfMissing", "BOOLEAN").or(true)],
        fields(&[("name", "STRING"), ("algorithm", "STRING")]),
        drop_live,
    );
    add(
        "algo.live.list",
        "Live algorithms: the commit that they have followed to, what they hold and did.",
        Mode::Read,
        vec![name().or(Value::Null)],
        fields(&LISTED),
        list,
    );
    add(
        "algo.live.stream",
        "Values of a live algorithm for all its nodes, and the commit that they are of.",
        Mode::Read,
        vec![name(), configuration()],
        [vec![node()], fields(&VALUES)].concat(),
        stream,
    );
    add(
        "algo.live.value",
        "Value of a live algorithm for one node, and the commit that it is of.",
        Mode::Read,
        vec![name(), node(), configuration()],
        fields(&VALUES),
        value,
    );
}

fn text(value: &Value) -> Result<&Arc<str>, QueryError> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(wrong("the name of a live algorithm is a string")),
    }
}

fn map(value: &Value) -> ValueMap {
    if let Value::Map(map) = value { ValueMap::clone(map) } else { ValueMap::new() }
}

/// `algo.live.create(name, algorithm, configuration)`.
fn create(call: &mut CallContext<'_>, db: &Engine, arguments: &[Value]) -> Called {
    const OF: &str = "algo.live.create";
    let begun = Instant::now();
    let settings = map(&arguments[2]);
    let definition = Definition::new(OF, text(&arguments[0])?, text(&arguments[1])?, &settings)?;
    let threads = match settings.get("concurrency") {
        None => ValueMap::new(),
        Some(threads) => ValueMap::from([("concurrency".into(), threads.clone())]),
    };
    let threads = Config::new(OF, &threads, &[&["concurrency"]])?.threads()?.max(1);
    let live = Registry::of(db)?.create(definition, call, db, threads)?;
    let facts = live.facts();
    Ok(known(vec![vec![
        Value::String(Arc::clone(&live.definition.name)),
        live.definition.algorithm.name().into(),
        count(facts.nodes),
        facts.as_of.map_or(Value::Null, count),
        count(facts.bytes),
        count(begun.elapsed().as_millis() as u64),
    ]]))
}

/// `algo.live.drop(name, failIfMissing)`.
fn drop_live(_: &mut CallContext<'_>, db: &Engine, arguments: &[Value]) -> Called {
    let (registry, name) = (Registry::of(db)?, text(&arguments[0])?);
    if registry.find(name).is_err() && matches!(arguments[1], Value::Bool(false)) {
        return Ok(known(Vec::new()));
    }
    let live = registry.remove(name)?;
    let name = Value::String(Arc::clone(&live.definition.name));
    Ok(known(vec![vec![name, live.definition.algorithm.name().into()]]))
}

/// `algo.live.list(name)`.
fn list(_: &mut CallContext<'_>, db: &Engine, arguments: &[Value]) -> Called {
    let all = match &arguments[0] {
        Value::Null => Registry::of(db)?.all(),
        name => vec![Registry::of(db)?.find(text(name)?)?],
    };
    let published = db.published().get();
    let row = |live: &Arc<Live>| {
        let (definition, facts) = (&live.definition, live.facts());
        let or_null = |count_of: Option<u64>| count_of.map_or(Value::Null, count);
        vec![
            Value::String(Arc::clone(&definition.name)),
            definition.algorithm.name().into(),
            definition.configuration(),
            or_null(facts.as_of.map(|_| facts.nodes)),
            or_null(facts.as_of),
            or_null(facts.as_of.map(|as_of| published.saturating_sub(as_of))),
            count(facts.bytes),
            count(facts.updates),
            count(facts.rebuilds),
            facts.reason.map_or(Value::Null, Value::from),
            count(facts.took.as_millis() as u64),
        ]
    };
    Ok(known(all.iter().map(row).collect()))
}

/// The answer that a call asks for.
fn answer(
    call: &CallContext<'_>,
    db: &Engine,
    (of, name, settings): (&str, &Value, &Value),
) -> Result<Arc<Answer>, QueryError> {
    let settings = map(settings);
    let config = Config::new(of, &settings, &[&["maxLag"]])?;
    let max_lag: u64 = config.count("maxLag", 0)?;
    let registry = Registry::of(db)?;
    let live = registry.find(text(name)?)?;
    registry.read(&live, call, db, max_lag)
}

/// `algo.live.stream(name, configuration)`.
fn stream(call: &mut CallContext<'_>, db: &Engine, arguments: &[Value]) -> Called {
    let of = ("algo.live.stream", &arguments[0], &arguments[1]);
    let answer = answer(call, db, of)?;
    Ok(Box::new(AnswerRows { answer, next: 0 }))
}

/// `algo.live.value(name, node, configuration)`: null for a node that was not chosen.
fn value(call: &mut CallContext<'_>, db: &Engine, arguments: &[Value]) -> Called {
    let answer = answer(call, db, ("algo.live.value", &arguments[0], &arguments[2]))?;
    let at = match &arguments[1] {
        Value::Vertex(node) => answer.nodes.binary_search(node).ok(),
        _ => None,
    };
    let value = at.map_or(Value::Null, |at| match &answer.values {
        Values::Floats(values) => Value::Float(values[at]),
        Values::Ints(values) => Value::Int(values[at]),
    });
    Ok(known(vec![vec![value, count(answer.as_of)]]))
}

/// Rows of an answer.
struct AnswerRows {
    answer: Arc<Answer>,
    next: usize,
}

impl RowSource for AnswerRows {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        call.check()?;
        let answer = &self.answer;
        let rows = self.next..answer.nodes.len().min(self.next + BATCH);
        self.next = rows.end;
        let mut nodes: Vec<VertexId> = answer.nodes[rows.clone()].to_vec();
        let mut chosen: Vec<usize> = rows.collect();
        if answer.as_of > call.graph().read_ts().get() {
            // Nodes that came after the statement's snapshot are not there for it.
            let mut exist = Vec::with_capacity(nodes.len());
            call.graph().vertices_exist(&nodes, &mut exist)?;
            let mut at = exist.iter();
            chosen.retain(|_| at.next() == Some(&true));
            nodes = chosen.iter().map(|at| answer.nodes[*at]).collect();
        }
        let values: Column = match &answer.values {
            Values::Floats(values) => {
                chosen.iter().map(|at| values[*at]).collect::<Vec<_>>().into()
            }
            Values::Ints(values) => chosen.iter().map(|at| values[*at]).collect::<Vec<_>>().into(),
        };
        let as_of: Column = vec![answer.as_of as i64; nodes.len()].into();
        let batch = RowBatch::new(vec![nodes.into(), values, as_of]);
        Ok(match self.next < answer.nodes.len() {
            true => Chunk::More(batch),
            false => Chunk::Last(batch),
        })
    }

    fn bytes(&self) -> usize {
        16 * self.answer.nodes.len()
    }
}
