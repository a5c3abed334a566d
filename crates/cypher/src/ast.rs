//! The syntax tree: what a text says, before any name is looked up.
//!
//! ```text
//! Statement ─► Query ─► SingleQuery ─► Clause ─► Expr, PathPattern
//!          └─► schema, SHOW and administration commands
//! ```
//!
//! - [`expression`]: [`Expr`] and all that can stand inside one.
//! - [`pattern`]: [`PathPattern`], nodes, relationships, label expressions.
//! - [`clause`]: [`Clause`], one struct for each.
//! - [`command`]: indexes, constraints, SHOW, TERMINATE.
//! - [`administration`]: users, roles, databases.
//!
//! Trees are plain data: `Clone + Debug + PartialEq`, where equality leaves spans out (see
//! [`Span`]). What two spellings share is one tree: `--` and `-[]-`, `:A:B` and `:A&B`, `SKIP` and
//! `OFFSET`, `<>` and `!=`, `CREATE` and `INSERT`, `ORDER BY x` as a clause of its own and
//! `WITH * ORDER BY x`. The options of the prefix `CYPHER` change nothing and are not in it.
//!
//! The parser bounds the height of a tree, so functions on trees may recurse; long chains of `+`,
//! `||`, `*`, `^` and their kin, `AND`, `OR`, `XOR`, comparisons, unions and path parts are lists,
//! and do not add to the height.

pub mod administration;
pub mod clause;
pub mod command;
pub mod expression;
pub mod pattern;

pub use administration::*;
pub use clause::*;
pub use command::*;
pub use expression::*;
pub use pattern::*;

use crate::span::Span;

/// A name as the text gives it: of a variable, label, type, property key, function, ...
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// The name without backticks, its case as written.
    pub text: Box<str>,
    /// Where it stands, backticks included.
    pub span: Span,
}

/// A name with namespaces: `apoc.text.join`.
#[derive(Debug, Clone, PartialEq)]
pub struct QualifiedName {
    /// All parts, the name itself last; at least one.
    pub parts: Vec<Name>,
    /// From the first part to the last.
    pub span: Span,
}

impl QualifiedName {
    /// The parts joined by dots, as a registry of functions would name it.
    pub fn dotted(&self) -> String {
        let parts: Vec<&str> = self.parts.iter().map(|part| &*part.text).collect();
        parts.join(".")
    }
}

/// A name that a command may also take from a parameter: `CREATE INDEX $name ...`.
#[derive(Debug, Clone, PartialEq)]
pub enum NameOrParameter {
    /// The name itself.
    Name(Name),
    /// The name of the parameter, without `$`.
    Parameter(Name),
}

/// One statement of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// Whether to run it, to show its plan, or both.
    pub mode: Mode,
    /// `USE graph` before a command. A query has it as its first clause.
    pub graph: Option<Use>,
    /// What it is.
    pub kind: StatementKind,
    /// The whole statement, prefixes included, without the semicolon.
    pub span: Span,
}

/// What is asked of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Its result.
    Run,
    /// Its plan, without running it: `EXPLAIN`.
    Explain,
    /// Its result and its plan with what each operator did: `PROFILE`.
    Profile,
}

/// The kinds of statements.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    /// Reads and writes the graph.
    Query {
        /// `AT TIMESTAMP expr`: read the graph as it was; the query must then only read.
        at: Option<Expr>,
        /// The query.
        query: Query,
    },
    /// `CREATE INDEX`.
    CreateIndex(Box<CreateIndex>),
    /// `CREATE CONSTRAINT`.
    CreateConstraint(Box<CreateConstraint>),
    /// `DROP INDEX` or `DROP CONSTRAINT`.
    Drop(DropCommand),
    /// `SHOW ...`.
    Show(Box<Show>),
    /// `TERMINATE TRANSACTIONS ...`.
    Terminate(Box<Terminate>),
    /// `SHOW` and `TERMINATE TRANSACTIONS`, one after the other.
    Transactions(Box<TransactionCommands>),
    /// `COPY`
    Copy(Box<CopyCommand>),
    /// Users, roles, databases.
    Administration(Box<Administration>),
}

/// Single queries, their rows put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The first single query.
    pub first: SingleQuery,
    /// What `UNION` adds to it, in the order of the text; left-associative.
    pub unions: Vec<Union>,
    /// The whole query.
    pub span: Span,
}

/// `UNION [ALL | DISTINCT]` and the query after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Union {
    /// `ALL`: equal rows stay; otherwise each row comes once. The parser refuses to mix both.
    pub all: bool,
    /// What is added.
    pub query: SingleQuery,
    /// From the word `UNION` on.
    pub span: Span,
}

/// Clauses, each working on the rows of the one before.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleQuery {
    /// The clauses in order, at least one.
    pub clauses: Vec<Clause>,
    /// From the first clause to the last.
    pub span: Span,
}
