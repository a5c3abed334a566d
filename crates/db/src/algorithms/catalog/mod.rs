//! Graphs with a name: `gds.graph.project` and what belongs to it.
//!
//! | module | holds |
//! |---|---|
//! | [`project`] | `gds.graph.project`, `list`, `exists`, `drop` |
//! | [`building`] | nodes and relationships on their way to such a graph |
//! | [`queries`] | graphs that two query texts make: `gds.graph.project.cypher` |
//! | [`pairs`] | graphs that a query makes: `gds.graph.project` as an aggregating function |
//! | [`filter`] | parts of graphs: `gds.graph.filter`; [`filter_relationships`] reads them |
//! | [`describe`] | what the columns say of a graph |
//! | [`node_properties`] | `gds.graph.nodeProperty.stream`, `nodeProperties.*` |
//! | [`node_property`] | `gds.util.nodeProperty` |
//! | [`relationships`] | `gds.graph.relationship*` |
//! | [`tools`] | `gds.list`, `gds.version` and what else tools ask for |
//!
//! A name stands for a selection, not for a copy: calls read the graph as it is at the snapshot of
//! their own statement. Beside it a graph [holds](super::held) what is not in the database: pairs
//! that a query made, and what `mutate` left. Names live as long as the database is open.

mod building;
mod describe;
mod filter;
mod filter_relationships;
mod node_properties;
mod node_property;
mod pairs;
mod project;
mod queries;
mod relationships;
mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};
use telar_engine::WeakEngine;
use telar_graph::{Value, ValueMap};
use telar_query::procedure::{Field, Mode};
use telar_query::{CallContext, Moment, Procedures, QueryError};

use super::config::{Config, wrong};
use super::function::{Called, Fields, FunctionProcedure, fields};
use super::selection::Selection;

/// Named graphs of a database.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    graphs: Mutex<BTreeMap<Arc<str>, Named>>,
}

/// Way to the named graphs, which are with the database, whatever sessions and handles it has.
#[derive(Debug, Clone)]
pub(super) struct Catalogs {
    database: Arc<RwLock<WeakEngine>>,
    /// Graphs of sessions whose database is not an engine.
    own: Arc<Catalog>,
}

impl Catalogs {
    pub(super) fn of(database: &Arc<RwLock<WeakEngine>>) -> Self {
        Self { database: Arc::clone(database), own: Arc::default() }
    }

    /// The catalogue of the database that the session runs on.
    pub(super) fn get(&self) -> Arc<Catalog> {
        let database = self.database.read().upgrade();
        database.map_or_else(|| Arc::clone(&self.own), |db| db.attached(Catalog::default))
    }
}

/// A graph with a name.
#[derive(Debug, Clone)]
pub(super) struct Named {
    pub(super) selection: Arc<Selection>,
    made: Moment,
    changed: Moment,
}

/// Most graphs that have a name at a time.
const GRAPHS_MAX: usize = 1024;

impl Catalog {
    /// The graph of this name.
    pub(super) fn find(&self, name: &str) -> Result<Named, QueryError> {
        let graphs = self.graphs.lock();
        graphs.get(name).cloned().ok_or_else(|| {
            let near =
                telar_query::cypher::suggest::closest(name, graphs.keys().map(|name| &**name));
            let hint = near.map_or("gds.graph.project makes one".to_owned(), |near| {
                format!("did you mean {near}?")
            });
            wrong(format!("Graph with name `{name}` does not exist; {hint}"))
        })
    }

    /// Fails if a graph has this name.
    fn check_free(&self, name: &str) -> Result<(), QueryError> {
        if self.graphs.lock().contains_key(name) { Err(taken(name)) } else { Ok(()) }
    }

    /// Gives a graph a name that no other has.
    fn insert(
        &self,
        name: &Arc<str>,
        selection: Selection,
        call: &CallContext<'_>,
    ) -> Result<(), QueryError> {
        let now = Moment::now();
        let named = Named { selection: Arc::new(selection), made: now, changed: now };
        let mut graphs = self.graphs.lock();
        if graphs.contains_key(name) {
            return Err(taken(name));
        }
        if graphs.len() >= GRAPHS_MAX {
            return Err(wrong(format!(
                "{GRAPHS_MAX} graphs have names; gds.graph.drop forgets one"
            )));
        }
        room(&graphs, named.selection.held.bytes(), call)?;
        graphs.insert(Arc::clone(name), named);
        Ok(())
    }

    /// Changes what a graph holds, unless it is not there any more.
    pub(super) fn change(
        &self,
        name: &str,
        graph: &Named,
        call: &CallContext<'_>,
        change: impl FnOnce(&mut Selection) -> Result<(), QueryError>,
    ) -> Result<(), QueryError> {
        let mut graphs = self.graphs.lock();
        let Some(found) = graphs.get(name).filter(|found| found.made == graph.made) else {
            return Err(wrong(format!("the graph {name} was dropped meanwhile")));
        };
        let mut selection = Selection::clone(&found.selection);
        let before = selection.held.bytes();
        change(&mut selection)?;
        room(&graphs, selection.held.bytes().saturating_sub(before), call)?;
        let changed =
            Named { selection: Arc::new(selection), made: found.made, changed: Moment::now() };
        graphs.insert(name.into(), changed);
        Ok(())
    }
}

fn taken(name: &str) -> QueryError {
    wrong(format!("A graph with name '{name}' already exists; gds.graph.drop('{name}') forgets it"))
}

/// Fails unless all graphs together may hold so many bytes more.
fn room(
    graphs: &BTreeMap<Arc<str>, Named>,
    more: usize,
    call: &CallContext<'_>,
) -> Result<(), QueryError> {
    if more == 0 {
        return Ok(());
    }
    let held = graphs.values().map(|named| named.selection.held.bytes()).sum::<usize>();
    match call.limits().memory {
        Some(limit) if held.saturating_add(more) > limit => Err(wrong(format!(
            "graphs with names hold {held} bytes, and {more} more would be above the {limit} of \
             limits.statement_memory; gds.graph.drop and gds.graph.nodeProperties.drop make room"
        ))),
        _ => Ok(()),
    }
}

type Run = fn(&Catalog, &mut CallContext<'_>, &[Value]) -> Called;

/// Procedures that are being added.
struct Adding<'a> {
    procedures: &'a mut Procedures,
    catalogs: &'a Catalogs,
}

impl Adding<'_> {
    /// Adds a procedure that reads, whose last arguments may be left out.
    fn add(
        &mut self,
        name: &str,
        (needed, more): (Fields<'_>, Vec<Field>),
        columns: Fields<'_>,
        about: &'static str,
        run: Run,
    ) {
        let of = (name, needed, more, columns);
        self.add_as(Mode::Read, of, about, run);
    }

    fn add_as(
        &mut self,
        mode: Mode,
        (name, needed, more, columns): (&str, Fields<'_>, Vec<Field>, Fields<'_>),
        about: &'static str,
        run: Run,
    ) {
        let (catalogs, columns) = (self.catalogs.clone(), fields(columns));
        let arguments = [fields(needed), more].concat();
        let run = move |call: &mut CallContext<'_>, arguments: &[Value]| {
            run(&catalogs.get(), call, arguments)
        };
        let procedure = FunctionProcedure { about, mode, arguments, columns, run };
        self.procedures.add(name, Arc::new(procedure));
    }
}

/// Adds the procedures.
pub(super) fn add(procedures: &mut Procedures, catalogs: &Catalogs) {
    let mut adding = Adding { procedures, catalogs };
    project::add(&mut adding);
    pairs::add(&mut adding);
    queries::add(&mut adding);
    filter::add(&mut adding);
    node_properties::add(&mut adding);
    node_property::add(&mut adding);
    relationships::add(&mut adding);
    tools::add(&mut adding);
}

/// A configuration that may be left out.
fn configuration() -> Field {
    Field::new("configuration", "MAP").or(Value::Map(Arc::new(ValueMap::new())))
}

/// Settings of procedures over a graph, of which none changes what they do.
const SETTINGS: [&str; 7] = [
    "concurrency",
    "readConcurrency",
    "writeConcurrency",
    "jobId",
    "sudo",
    "username",
    "logProgress",
];

/// Reads a configuration with settings that must be known.
fn settings<'a>(
    of: &'a str,
    configuration: Option<&'a Value>,
    known: &[&'static str],
) -> Result<Option<Config<'a>>, QueryError> {
    match configuration {
        Some(Value::Map(map)) => Config::new(of, map, &[&SETTINGS, known]).map(Some),
        _ => Ok(None),
    }
}

fn text(value: &Value) -> &str {
    if let Value::String(text) = value { text } else { "" }
}

fn map<const N: usize>(entries: [(&str, Value); N]) -> Value {
    Value::Map(Arc::new(entries.map(|(name, value)| (name.into(), value)).into()))
}
