//! Procedures: named things that `CALL` runs, with columns.
//!
//! - [`builtin`](Procedures::builtin): those that every session has.
//! - `schema`: what labels, types and properties a graph has.
//! - `apoc`: procedures that clients know from APOC.
//! - `meta`, `counts`: the same in the form that tools around language models ask for.
//! - `connections`: who is connected to the server.
//! - `fuse`: ranked lists as one.
//! - `slow`: statements that took long.
//! - `names`: makes names, `upkeep`: about plans, statistics and the own transaction.
//! - `show`, `privileges`: the rows of `SHOW` and `TERMINATE`.

mod apoc;
mod builtin;
mod call;
mod changes;
mod connections;
mod counts;
mod describe;
mod fulltext;
mod fuse;
mod index_query;
mod meta;
mod names;
mod nearest;
mod objects;
pub(crate) mod privileges;
mod rows;
mod schema;
pub(crate) mod show;
mod slow;
mod upkeep;
mod vector_index;
mod vectors;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use telar_graph::Value;

pub use call::CallContext;
pub(crate) use call::Statement;
pub use changes::Changes;
pub use rows::{Chunk, RowBatch, RowSource, Rows, known};
pub use show::moment;

use crate::files::{Files, NoFiles};
use crate::planning::Planning;
use crate::query_error::QueryError;
use crate::running::Running;
use crate::user_function::UserFunctions;
use crate::value_type::ValueType;

/// A named, typed argument or column of a procedure.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub of: ValueType,
    /// What an argument is if it is left out; those after it have one, too.
    pub default: Option<Value>,
}

impl Field {
    /// A field without a default, of a type written as in Cypher.
    ///
    /// # Panics
    /// If there is no such type.
    #[must_use]
    pub fn new(name: &str, of: &str) -> Self {
        let of = of.parse().unwrap_or_else(|e| panic!("type {of}: {e}"));
        Self { name: name.into(), of, default: None }
    }

    /// The same, with what it is if it is left out.
    #[must_use]
    pub fn or(self, default: impl Into<Value>) -> Self {
        Self { default: Some(default.into()), ..self }
    }

    /// Makes sure that a value is of this type; an integer becomes a float where one is wanted.
    pub(crate) fn coerce(&self, value: &mut Value) -> Result<(), ()> {
        if value.is_null() || self.of.contains(value) {
            return Ok(());
        }
        if let Value::Int(n) = value {
            let float = Value::Float(*n as f64);
            if self.of.contains(&float) {
                *value = float;
                return Ok(());
            }
        }
        Err(())
    }
}

/// The part of the database that a procedure works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It reads the graph.
    Read,
    /// It changes the graph: a statement that calls it is one that writes, to transactions, roles
    /// and drivers.
    Write,
    /// It changes indexes and constraints: a statement that calls it is one that does.
    Schema,
    /// It is about the server or the session.
    Dbms,
}

impl Mode {
    /// True if it changes something in the database.
    #[must_use]
    pub const fn changes(self) -> bool {
        matches!(self, Self::Write | Self::Schema)
    }

    /// As `SHOW PROCEDURES` names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::Schema => "SCHEMA",
            Self::Dbms => "DBMS",
        }
    }
}

/// Something that `CALL` can run.
pub trait Procedure: Send + Sync {
    /// Arguments, those with defaults last.
    fn arguments(&self) -> &[Field];

    /// Columns of its rows. One without columns is called for what it does.
    fn columns(&self) -> &[Field];

    /// One line for `SHOW PROCEDURES`.
    fn description(&self) -> &str;

    /// The part of the database that it works on.
    fn mode(&self) -> Mode {
        Mode::Read
    }

    /// Begins a call with these arguments, which have the types that are asked for or are null.
    /// [`known`] makes rows of what is all there.
    ///
    /// # Errors
    /// Whatever it cannot do.
    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError>;
}

/// A procedure as a plan holds it.
#[derive(Clone)]
pub(crate) struct Bound(pub(crate) Arc<dyn Procedure>);

impl fmt::Debug for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.description())
    }
}

/// `name(argument = default :: TYPE, ...) :: (column :: TYPE, ...)`; nothing behind the arguments
/// of a procedure without columns.
pub(crate) fn signature(name: &str, procedure: &dyn Procedure) -> String {
    let field = |field: &Field| {
        let default = field.default.as_ref();
        let default = default.map(|v| format!(" = {}", crate::expr::print::literal(v)));
        format!("{}{} :: {}", field.name, default.unwrap_or_default(), field.of)
    };
    let list = |fields: &[Field]| fields.iter().map(field).collect::<Vec<_>>().join(", ");
    let (arguments, columns) = (list(procedure.arguments()), list(procedure.columns()));
    match procedure.columns() {
        [] => format!("{name}({arguments})"),
        _ => format!("{name}({arguments}) :: ({columns})"),
    }
}

/// Procedures by name, and what runs beside them.
#[derive(Clone)]
pub struct Procedures {
    by_name: BTreeMap<Arc<str>, Arc<dyn Procedure>>,
    /// The queries that `SHOW TRANSACTIONS` lists.
    pub running: Arc<Running>,
    /// What the database is called.
    pub database: Arc<str>,
    /// Functions of the program. Plans that were made before one is added do not know it.
    pub functions: Arc<UserFunctions>,
    /// Formats of the files that statements read and write.
    pub files: Arc<dyn Files>,
    /// The rules of planning; a test may want fewer.
    #[doc(hidden)]
    pub planning: Planning,
}

impl Default for Procedures {
    /// None, of a database called telar.
    fn default() -> Self {
        let (by_name, running) = (BTreeMap::new(), Arc::default());
        let (database, files) = ("telar".into(), Arc::new(NoFiles));
        let (functions, planning) = (Arc::default(), Planning::default());
        Self { by_name, running, database, functions, files, planning }
    }
}

impl fmt::Debug for Procedures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Procedures {
    /// Those that every database has: `db.labels`, `db.schema.nodeTypeProperties`, ...
    #[must_use]
    pub fn builtin() -> Self {
        /// Made once: hundreds of signatures are read, and a program may open many databases.
        static BUILTIN: LazyLock<Procedures> = LazyLock::new(Procedures::make_builtin);
        Self { by_name: BUILTIN.by_name.clone(), ..Self::default() }
    }

    fn make_builtin() -> Self {
        let mut procedures = Self::default();
        builtin::add(&mut procedures);
        schema::add(&mut procedures);
        meta::add(&mut procedures);
        apoc::add(&mut procedures);
        counts::add(&mut procedures);
        names::add(&mut procedures);
        connections::add(&mut procedures);
        slow::add(&mut procedures);
        upkeep::add(&mut procedures);
        fulltext::add(&mut procedures);
        vector_index::add(&mut procedures);
        vectors::add(&mut procedures);
        fuse::add(&mut procedures);
        procedures
    }

    /// The procedure whose name is most like one that does not exist.
    #[must_use]
    pub fn closest(&self, name: &str) -> Option<&str> {
        telar_cypher::suggest::closest(name, self.by_name.keys().map(|name| &**name))
    }

    /// Adds a procedure, or replaces the one of this name.
    pub fn add(&mut self, name: impl Into<Arc<str>>, procedure: Arc<dyn Procedure>) {
        self.by_name.insert(name.into(), procedure);
    }

    /// The procedure of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Procedure>> {
        self.by_name.get(name)
    }

    /// Every procedure with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &dyn Procedure)> {
        self.by_name.iter().map(|(name, procedure)| (&**name, &**procedure))
    }
}
