//! An algorithm as a procedure: its arguments, its modes, its rows.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_algo::control::Control;
use telar_graph::{Value, ValueMap, VertexId};
use telar_query::procedure::{Field, Mode, RowSource, known};
use telar_query::{CallContext, ErrorKind, Procedure, QueryError};

use super::algorithm::{Algorithm, Follows, InPlaceInput, Input, Kind};
use super::catalog::Catalogs;
use super::config::{Config, wrong};
use super::figures::{self, Figure};
use super::in_place::InPlace;
use super::library;
use super::output::{Output, OutputRows, count};
use super::projection::{Chosen, Place, Source, choose};
use super::results::{Results, Target};
use super::routes::Routes;
use super::selection::{NARROWING, Selection};

/// Rows of a batch.
pub(super) const BATCH: usize = 4096;

/// Settings that every algorithm has.
const COMMON: [&str; 6] = ["concurrency", "packed", "logProgress", "sudo", "jobId", "username"];
/// Settings of `write`.
const WRITING: [&str; 3] = ["writeProperty", "writeRelationshipType", "writeConcurrency"];
/// Settings of `mutate`.
const MUTATING: [&str; 2] = ["mutateProperty", "mutateRelationshipType"];

/// Names that the procedure follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Ours: a graph by name or by a map, nodes as nodes.
    Algo,
    /// Neo4j's library: a graph by name, nodes by number.
    Gds,
}

/// Use of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Rows.
    Stream,
    /// Figures only.
    Stats,
    /// Properties, or relationships of pairs, in the database.
    Write,
    /// The same, kept with the graph and not in the database.
    Mutate,
    /// The algorithm is not run; its memory is estimated.
    Estimate,
}

impl Outcome {
    pub(super) const ALL: [Self; 5] =
        [Self::Stream, Self::Stats, Self::Write, Self::Mutate, Self::Estimate];

    /// Last part of the procedure's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stream => "stream",
            Self::Stats => "stats",
            Self::Write => "write",
            Self::Mutate => "mutate",
            Self::Estimate => "estimate",
        }
    }
}

/// An algorithm in one of its modes, as it is called.
pub(super) struct Signature {
    /// Name of the procedure.
    pub(super) name: Arc<str>,
    algorithm: &'static Algorithm,
    outcome: Outcome,
    dialect: Dialect,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

/// An algorithm as a procedure of a database.
pub(super) struct AlgorithmProcedure {
    pub(super) of: &'static Signature,
    pub(super) catalogs: Catalogs,
}

impl Signature {
    pub(super) fn new(
        name: &str,
        algorithm: &'static Algorithm,
        outcome: Outcome,
        dialect: Dialect,
    ) -> Self {
        let empty = || Value::Map(Arc::new(ValueMap::new()));
        let graph = match (dialect, outcome) {
            (Dialect::Gds, Outcome::Estimate) => Field::new("graphNameOrConfiguration", "ANY"),
            (Dialect::Gds, _) => Field::new("graphName", "STRING"),
            (Dialect::Algo, _) => Field::new("graph", "ANY").or(empty()),
        };
        let arguments = vec![graph, Field::new("configuration", "MAP").or(empty())];
        let fields = |fields: &[Figure]| -> Vec<Field> {
            fields.iter().map(|(name, of)| Field::new(name, of)).collect()
        };
        let columns = match outcome {
            Outcome::Estimate => fields(&figures::estimate_columns(dialect)),
            Outcome::Stats => fields(&figures::columns(algorithm, dialect)),
            Outcome::Write | Outcome::Mutate => {
                let written = match algorithm.is_of_pairs() {
                    true => "relationshipsWritten",
                    false => "nodePropertiesWritten",
                };
                let millis = match outcome {
                    Outcome::Write => "writeMillis",
                    _ => "mutateMillis",
                };
                let written = [(written, "INTEGER"), (millis, "INTEGER")];
                [fields(&written), fields(&figures::columns(algorithm, dialect))].concat()
            }
            Outcome::Stream => {
                let columns = algorithm.columns.iter();
                columns.map(|column| field(column.0, column.1, dialect)).collect()
            }
        };
        Self { name: name.into(), algorithm, outcome, dialect, arguments, columns }
    }
}

impl AlgorithmProcedure {
    /// The graph and the settings of a call.
    fn selection(&self, graph: &Value, config: &Config<'_>) -> Result<Selection, QueryError> {
        let name = &*self.of.name;
        let selection = match graph {
            Value::String(graph) => Selection::clone(&self.catalogs.get().find(graph)?.selection),
            Value::Map(map) => Selection::of_map(name, map)?,
            Value::Null if self.of.dialect == Dialect::Algo => Selection::default(),
            _ => {
                return Err(wrong(format!(
                    "the graph of {name} is the name of one that gds.graph.project made, or a map \
                     such as {{nodes: 'Person', relationships: 'KNOWS'}}"
                )));
            }
        };
        selection.narrowed(config)
    }

    /// Bytes that a call takes at its peak.
    fn bytes(
        &self,
        call: &CallContext<'_>,
        chosen: &Chosen,
        config: &Config<'_>,
    ) -> Result<u64, QueryError> {
        let (size, algorithm) = (chosen.size, self.of.algorithm);
        let kernel = (algorithm.bytes)(size.nodes, size.relationships.max(1), config)?;
        if self.place(call, chosen, config)?.is_some() {
            return Ok(size.bytes_in_place().saturating_add(kernel));
        }
        // Lists the other way round, where a kernel wants them too.
        let reversed = if algorithm.reverses { size.bytes() } else { 0 };
        let vectors = match algorithm.vectors {
            Some(setting) => vector_bytes(call, chosen, config.texts(setting)?)?,
            None => Vectors::default(),
        };
        let running = kernel.saturating_add(vectors.kept).max(vectors.read);
        let running = size.bytes().saturating_add(reversed).saturating_add(running);
        Ok(running.max(size.reading_bytes()))
    }
}

/// Bytes of vectors: while they are read, and as the kernel has them.
#[derive(Debug, Clone, Copy, Default)]
struct Vectors {
    read: u64,
    kept: u64,
}

/// Bytes of the vectors that a property holds, all of which are as long as the first.
fn vector_bytes(
    call: &CallContext<'_>,
    chosen: &Chosen,
    properties: Option<Vec<&str>>,
) -> Result<Vectors, QueryError> {
    let Some([property]) = properties.as_deref() else { return Ok(Vectors::default()) };
    let (length, value) = match chosen.first_value(call.graph(), property)? {
        Value::List(list) => (list.len(), 2 * size_of::<Value>() + list.len() * size_of::<Value>()),
        _ => (1, size_of::<Value>()),
    };
    let kept = chosen.size.nodes.saturating_mul((length * size_of::<f32>()) as u64);
    let read = chosen.size.nodes.saturating_mul(value as u64);
    Ok(Vectors { read: read.saturating_add(kept), kept })
}

fn field(name: &str, kind: Kind, dialect: Dialect) -> Field {
    let (node, nodes) = match dialect {
        Dialect::Algo => ("NODE", "LIST<NODE>"),
        Dialect::Gds => ("INTEGER", "LIST<INTEGER>"),
    };
    let of = match kind {
        Kind::Node => node,
        Kind::Nodes => nodes,
        Kind::Integer => "INTEGER",
        Kind::Float => "FLOAT",
        Kind::Floats => "LIST<FLOAT>",
        Kind::Boolean => "BOOLEAN",
        Kind::Integers => "LIST<INTEGER>",
        Kind::Relationships => "LIST<RELATIONSHIP>",
        Kind::Path => "PATH",
        Kind::Any => "ANY",
    };
    let name = match (name, dialect) {
        ("nodeId", Dialect::Algo) => "node",
        ("nodeIds", Dialect::Algo) => "nodes",
        (name, _) => name,
    };
    Field::new(name, of)
}

impl Procedure for AlgorithmProcedure {
    fn arguments(&self) -> &[Field] {
        &self.of.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.of.columns
    }

    fn description(&self) -> &str {
        self.of.algorithm.about
    }

    fn mode(&self) -> Mode {
        match self.of.outcome {
            Outcome::Write => Mode::Write,
            Outcome::Stream | Outcome::Stats | Outcome::Mutate | Outcome::Estimate => Mode::Read,
        }
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let empty = ValueMap::new();
        let settings = match arguments.get(1) {
            Some(Value::Map(settings)) => &**settings,
            _ => &empty,
        };
        let (writing, mutating): (&[&str], &[&str]) = match self.of.outcome {
            Outcome::Write => (&WRITING, &[]),
            Outcome::Mutate => (&[], &MUTATING),
            Outcome::Estimate => (&WRITING, &MUTATING),
            Outcome::Stream | Outcome::Stats => (&[], &[]),
        };
        let known = [self.of.algorithm.settings, &COMMON, &NARROWING, writing, mutating];
        let settings = match self.of.dialect {
            Dialect::Algo => Cow::Borrowed(settings),
            Dialect::Gds => {
                let own = self.of.algorithm.settings;
                library::translated(&self.of.name, self.of.algorithm.name, own, settings)?
            }
        };
        let config = Config::new(&self.of.name, &settings, &known)?;
        let selection = self.selection(&arguments[0], &config)?;
        let both = self.of.algorithm.follows == Follows::Both;
        let begun = Instant::now();
        let chosen = {
            let (call, check) = (&*call, || call.check());
            choose(&Source::of_call(call, &check), &selection, both)
        };
        let chosen = chosen.map_err(|error| self.named(error))?;
        let bytes = self.bytes(call, &chosen, &config).map_err(|error| self.named(error))?;
        if self.of.outcome == Outcome::Estimate {
            let size = (chosen.size.nodes, chosen.size.relationships);
            let own = call.limits().memory.map(|bytes| bytes as u64);
            let shared = call.limits().budget.map(|budget| budget.usable());
            let room = own.into_iter().chain(shared).min();
            return Ok(known_row(figures::estimate(size, bytes, room, self.of.dialect)));
        }
        let target = match self.of.outcome {
            Outcome::Write => Some(self.target(&config, WRITING[0], WRITING[1])?),
            Outcome::Mutate => Some(self.target(&config, MUTATING[0], MUTATING[1])?),
            _ => None,
        };
        call.room(usize::try_from(bytes).unwrap_or(usize::MAX), &self.of.name)?;
        let ran = self.compute(call, chosen, &config, begun);
        let mut ran = ran.map_err(|error| self.named(error))?;
        match (self.of.outcome, target) {
            (outcome, Some(target)) => {
                let begun = Instant::now();
                let results = Results::new(self.of.algorithm, &ran.rows);
                let written = match (outcome, &arguments[0]) {
                    (Outcome::Mutate, Value::String(graph)) => {
                        results.mutate(call, &self.catalogs.get(), graph, &target)?
                    }
                    _ => results.write(call, &target)?,
                };
                let millis = count(begun.elapsed().as_millis() as u64);
                let mut row = vec![count(written), millis];
                row.append(&mut ran.figures);
                Ok(known_row(row))
            }
            (Outcome::Stats, _) => Ok(known_row(ran.figures)),
            _ => Ok(Box::new(ran.rows)),
        }
    }
}

fn known_row(row: Vec<Value>) -> Box<dyn RowSource> {
    known(vec![row])
}

impl AlgorithmProcedure {
    /// The target of results, by the settings of a property and of relationships.
    fn target(
        &self,
        config: &Config<'_>,
        property: &str,
        relationship: &str,
    ) -> Result<Target, QueryError> {
        let text = |key: &str| Ok::<_, QueryError>(config.text(key)?.map(Arc::<str>::from));
        let target = Target { property: text(property)?, relationship: text(relationship)? };
        let (pairs, name) = (self.of.algorithm.is_of_pairs(), &self.of.name);
        if self.of.algorithm.written().is_none() && !self.of.algorithm.marks {
            return Err(wrong(format!("{name} has no values that nodes could store")));
        }
        if pairs && target.relationship.is_none() {
            return Err(wrong(format!("{name} needs {relationship}")));
        }
        if !pairs && target.property.is_none() {
            return Err(wrong(format!("{name} needs {property}, a property of nodes")));
        }
        Ok(target)
    }

    /// Projects the graph and runs the kernel.
    fn compute(
        &self,
        call: &CallContext<'_>,
        chosen: Chosen,
        config: &Config<'_>,
        begun: Instant,
    ) -> Result<Ran, QueryError> {
        let threads = config.threads()?;
        if threads == 0 {
            return Err(config.out_of_range("concurrency", "at least 1", threads));
        }
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.thread_name(|n| format!("algorithm-{n}")).build().map_err(|error| {
            let message = format!("no threads for {}: {error}", self.of.name);
            QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message)
        })?;
        let limits = call.limits().clone();
        let stop = move || limits.check().is_err();
        let progress = call.progress_of_threads();
        let control = Control::default().stopped_by(&stop).seen_by(&progress).on(&pool);
        let routes = Routes::of(self.of.algorithm, &chosen);
        let found = match self.in_place(call, &chosen, config, &control)? {
            Some(output) => Found {
                nodes: chosen.nodes(),
                edges: chosen.size.relationships,
                projected: Duration::ZERO,
                output,
            },
            None => self.packed(call, chosen, (config, &control), begun)?,
        };
        call.check()?;
        let Found { nodes, edges, projected, output } = found;
        let computed = begun.elapsed() - projected;
        let Output { columns, figures: mut own } = output;
        let count_of_nodes = count(nodes.len() as u64);
        let dialect = self.of.dialect;
        let rows = OutputRows { nodes, dialect, columns, next: 0, routes };
        let mut figures = Vec::new();
        if self.of.outcome != Outcome::Stream {
            let millis = |time: Duration| count(time.as_millis() as u64);
            let distribution = figures::distribution(self.of.algorithm, &rows.columns);
            figures = vec![count_of_nodes, count(edges), millis(projected), millis(computed)];
            figures.push(Value::Map(Arc::new(distribution)));
            if self.of.dialect == Dialect::Gds {
                figures.extend([Value::Int(0), Value::Map(Arc::new(config.map().clone()))]);
            }
            figures.append(&mut own);
        }
        Ok(Ran { rows, figures })
    }
}

/// Result of a kernel, over these nodes and so many relationships.
struct Found {
    nodes: Arc<[VertexId]>,
    edges: u64,
    projected: Duration,
    output: Output,
}

impl AlgorithmProcedure {
    /// Lists that the kernel reads in place, where that is possible and not forbidden.
    fn place(
        &self,
        call: &CallContext<'_>,
        chosen: &Chosen,
        config: &Config<'_>,
    ) -> Result<Option<Place>, QueryError> {
        let is_possible = self.of.algorithm.in_place.is_some()
            && call.snapshot().is_some()
            && config.get("sourceNodes").is_none();
        Ok(if is_possible && !config.flag("packed", false)? { chosen.place() } else { None })
    }

    /// Runs the kernel on storage itself, where that is possible and not forbidden.
    fn in_place(
        &self,
        call: &CallContext<'_>,
        chosen: &Chosen,
        config: &Config<'_>,
        control: &Control<'_>,
    ) -> Result<Option<Output>, QueryError> {
        let (Some(run), Some(place), Some(snapshot)) =
            (self.of.algorithm.in_place, self.place(call, chosen, config)?, call.snapshot())
        else {
            return Ok(None);
        };
        let Place { ty, direction, n } = place;
        let outgoing = InPlace::new(snapshot, ty, direction, n);
        let incoming = outgoing.reversed();
        let input = InPlaceInput { outgoing: &outgoing, incoming: &incoming, n, config, control };
        let output = run(&input)?;
        outgoing.finish()?;
        incoming.finish()?;
        Ok(output)
    }

    /// The same error, with the name of the procedure if it has none.
    fn named(&self, mut error: QueryError) -> QueryError {
        if error.kind == ErrorKind::Argument && !error.message.contains(&*self.of.name) {
            error.message = format!("{}: {}", self.of.name, error.message);
        }
        error
    }

    /// Packs the graph and runs the kernel.
    fn packed(
        &self,
        call: &CallContext<'_>,
        chosen: Chosen,
        (config, control): (&Config<'_>, &Control<'_>),
        begun: Instant,
    ) -> Result<Found, QueryError> {
        let (parts, both) = (chosen.parts(), chosen.is_symmetric());
        let check = || call.check();
        let graph = chosen.project(&Source::of_call(call, &check), control)?;
        let projected = begun.elapsed();
        let view = call.graph();
        let input = Input { graph: &graph, view, both, parts: &parts, config, control };
        let output = (self.of.algorithm.run)(&input)?;
        let (nodes, edges) = (Arc::clone(&graph.nodes), graph.graph.edges());
        Ok(Found { nodes, edges, projected, output })
    }
}

/// Result of a run.
struct Ran {
    rows: OutputRows,
    figures: Vec<Value>,
}
