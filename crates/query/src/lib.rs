//! openCypher over any view of a graph: bind, plan, execute.
//!
//! ```text
//!  text ─► telar_cypher: tree
//!            ─► bind: names, scopes, checks ─► logical plan
//!            ─► optimize: rules, by what `estimate` expects ─► physical plan
//!            ─► exec: batches of rows
//!                 └─► eval: whole columns at once ─► ops, function, aggregate
//! ```
//!
//! - [`query`]: from a text to its result.
//! - `bind`: from the syntax tree to a logical plan.
//! - `plan`: the operators of plans, logical and physical.
//! - `optimize`: from a logical to a physical plan, rule by rule; `estimate`: rows of operators.
//! - `exec`: the running operators, one per file; `exec/eval`: expressions on whole columns.
//! - `expr`: bound expressions, `batch`: the columns they work on.
//! - [`error`], [`query_error`]: what can go wrong in an expression, and in a query.
//! - [`ops`]: the operators on values.
//! - [`function`]: the table of scalar functions.
//! - [`aggregate`]: accumulators of the aggregating functions.
//! - [`value_type`]: the types that `IS ::` tests and `valueType()` names.
//! - `vertices`: sets of vertices, and maps from them.
//! - [`procedure`]: what `CALL` runs.
//! - [`schema`]: commands that make and drop indexes and constraints.
//! - `administration`, [`host`]: commands for a server, and what queries ask of it.
//! - [`files`]: files of rows, whatever their format.
//! - [`running`]: what runs, for `SHOW TRANSACTIONS`.
//! - [`watch`]: whether a statement is to go on.
//! - [`budget`]: one bound for all that a server holds.
//! - [`workers`]: threads that help queries which only read.
//! - [`predicate`]: conditions that are given as texts, tested on columns.
//! - [`result`], [`sink`], [`description`], [`notification`]: what comes back.

mod administration;
pub mod aggregate;
mod batch;
mod bind;
pub mod budget;
pub mod description;
pub mod entities;
pub mod error;
mod estimate;
mod exec;
mod expr;
pub mod files;
pub mod function;
pub mod host;
pub mod notification;
pub mod ops;
mod optimize;
mod plan;
pub mod planning;
pub mod predicate;
pub mod procedure;
pub mod query;
pub mod query_error;
pub mod result;
pub mod running;
pub mod schema;
mod scratch;
pub mod sink;
mod stack;
mod tables;
mod user_function;
pub mod value_type;
mod vertices;
pub mod watch;
pub mod workers;

pub use telar_cypher as cypher;

pub use description::{Measured, PlanDescription};
pub use entities::{Entities, Node, Relationship};
pub use error::EvalError;
pub use exec::{Access, Inputs, OpenTransaction, Transactions, storable};
pub use expr::print::literal;
pub use files::{EntityReader, FileFormat, FileOptions, Files, TableReader, TableWriter};
pub use function::{Context, Moment};
pub use host::{Host, Routes, ServerCommand, ShownConnection, ShownDatabase, ShownSlow};
pub use host::{ShownPlace, ShownPrivilege, ShownServer, ShownSetting, ShownUser};
pub use notification::{Notification, NotificationKind};
pub use plan::OPERATORS;
pub use planning::Planning;
pub use predicate::{Predicate, Read};
pub use procedure::CallContext;
pub use procedure::{Procedure, Procedures};
pub use query::{At, Copying, Prepared, prepare};
pub use query_error::{ErrorKind, Phase, Position, QueryError};
pub use result::{Counters, QueryResult, StatementKind};
pub use result::{element_id_of_edge, element_id_of_vertex, number_of_edge};
pub use running::{Listed, Origin, Running, query_id, transaction_id};
pub use scratch::{Scratch, ScratchFile, ScratchFolder};
pub use sink::{Columns, Rows, Sink, Summary};
pub use tables::Tables;
pub use user_function::{UserFunction, UserFunctions};
pub use watch::Limits;
pub use workers::{SharedSnapshot, Threads, Workers};
