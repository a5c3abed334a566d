//! Commands: indexes, constraints, SHOW, TERMINATE, COPY.

use super::{Expr, Name, NameOrParameter, Projection, Query, Return, TypeExpr};

/// `CREATE kind INDEX name IF NOT EXISTS FOR ... ON ... OPTIONS {...}`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// Which kind.
    pub kind: IndexKind,
    /// Its name; the database makes one up if missing.
    pub name: Option<NameOrParameter>,
    /// Do nothing if there is one of that name, or an equal one.
    pub if_not_exists: bool,
    /// What is indexed.
    pub target: IndexTarget,
    /// Property keys after `WITH`, in brackets, of a vector index.
    pub filters: Vec<Name>,
    /// A map or parameter after `OPTIONS`.
    pub options: Option<Expr>,
}

/// Kinds of indexes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// `RANGE`, the default: any values, by equality and order.
    Range,
    /// `TEXT`: strings, by parts of them.
    Text,
    /// `POINT`: points, by distance.
    Point,
    /// `LOOKUP`: labels or types.
    Lookup,
    /// `FULLTEXT`: words.
    Fulltext,
    /// `VECTOR`: lists of floats, by similarity.
    Vector,
}

impl IndexKind {
    /// Every kind.
    pub const ALL: [Self; 6] =
        [Self::Range, Self::Text, Self::Point, Self::Lookup, Self::Fulltext, Self::Vector];

    /// Kinds that `USING kind INDEX` may name.
    pub const IN_HINTS: [Self; 3] = [Self::Range, Self::Text, Self::Point];

    /// The word for the kind.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Range => "RANGE",
            Self::Text => "TEXT",
            Self::Point => "POINT",
            Self::Lookup => "LOOKUP",
            Self::Fulltext => "FULLTEXT",
            Self::Vector => "VECTOR",
        }
    }
}

/// Nodes or relationships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityKind {
    /// `(n:Label)`
    Node,
    /// `()-[r:TYPE]-()`
    Relationship,
}

/// What an index holds.
#[derive(Debug, Clone, PartialEq)]
pub enum IndexTarget {
    /// `FOR (n:Label) ON (n.key, ...)`, `FOR (n:A|B) ON EACH [n.key, ...]`
    Properties {
        /// Nodes or relationships.
        entity: EntityKind,
        /// Labels or types: one, or several in a fulltext or vector index.
        labels: Vec<Name>,
        /// Property keys, at least one, in the order of the index.
        keys: Vec<Name>,
    },
    /// `FOR (n) ON EACH labels(n)`, `FOR ()-[r]-() ON EACH type(r)`: a lookup index.
    Lookup {
        /// Nodes or relationships.
        entity: EntityKind,
    },
}

/// `CREATE CONSTRAINT name IF NOT EXISTS FOR ... REQUIRE ... IS ...`
#[derive(Debug, Clone, PartialEq)]
pub struct CreateConstraint {
    /// Its name; the database makes one up if missing.
    pub name: Option<NameOrParameter>,
    /// Do nothing if there is one of that name, or an equal one.
    pub if_not_exists: bool,
    /// Nodes or relationships.
    pub entity: EntityKind,
    /// The label or type.
    pub label: Name,
    /// Property keys, at least one.
    pub keys: Vec<Name>,
    /// What is required of them.
    pub requirement: Requirement,
    /// A map or parameter after `OPTIONS`.
    pub options: Option<Expr>,
}

/// What a constraint requires.
#[derive(Debug, Clone, PartialEq)]
pub enum Requirement {
    /// `IS UNIQUE`
    Unique,
    /// `IS NODE KEY`, `IS RELATIONSHIP KEY`: present and unique.
    Key,
    /// `IS NOT NULL`: present.
    NotNull,
    /// `IS :: type`, `IS TYPED type`
    Typed(TypeExpr),
}

/// `DROP INDEX name IF EXISTS`, `DROP CONSTRAINT name IF EXISTS`
#[derive(Debug, Clone, PartialEq)]
pub struct DropCommand {
    /// A constraint rather than an index.
    pub constraint: bool,
    /// Its name.
    pub name: NameOrParameter,
    /// Do nothing if there is none.
    pub if_exists: bool,
}

/// `SHOW target YIELD ... WHERE ... RETURN ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    /// What is shown.
    pub target: ShowTarget,
    /// What is made of the rows.
    pub output: CommandOutput,
}

/// What is made of the rows of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandOutput {
    /// `YIELD`: columns (each expression is a variable), order and limits. Missing: the default
    /// columns.
    pub yields: Option<Projection>,
    /// `WHERE`, with or without `YIELD`.
    pub filter: Option<Expr>,
    /// `RETURN` after `YIELD`.
    pub returns: Option<Return>,
}

/// What `SHOW` shows.
#[derive(Debug, Clone, PartialEq)]
pub enum ShowTarget {
    /// `SHOW [kind] INDEXES`
    Indexes {
        /// Only of this kind.
        kind: Option<IndexKind>,
    },
    /// `SHOW [kind] CONSTRAINTS`
    Constraints(ConstraintFilter),
    /// `SHOW PROCEDURES [EXECUTABLE]`
    Procedures(Executable),
    /// `SHOW [ALL | BUILT IN | USER DEFINED] FUNCTIONS [EXECUTABLE]`
    Functions {
        /// Only built-in or only user-defined ones.
        built_in: Option<bool>,
        /// Only what somebody may execute.
        executable: Executable,
    },
    /// `SHOW DATABASES`, `SHOW DATABASE name`, `SHOW DEFAULT DATABASE`, `SHOW HOME DATABASE`
    Databases(DatabaseFilter),
    /// `SHOW TRANSACTIONS [ids]`
    Transactions {
        /// Strings or a list of strings; all transactions if there are none.
        ids: Vec<Expr>,
    },
    /// `SHOW SETTINGS [names]`
    Settings {
        /// Strings or a list of strings; all settings if there are none.
        names: Vec<Expr>,
    },
    /// `SHOW SERVERS`
    Servers,
    /// `SHOW USERS [WITH AUTH]`
    Users {
        /// With how they log in.
        auth: bool,
    },
    /// `SHOW CURRENT USER`
    CurrentUser,
    /// `SHOW [ALL | ROLE names | USER [names]] PRIVILEGES`
    Privileges(PrivilegeFilter),
    /// `SHOW [ALL | POPULATED] ROLES [WITH USERS]`
    Roles {
        /// Only those that somebody has.
        populated: bool,
        /// A row for each user of a role.
        users: bool,
    },
}

/// Whose privileges are shown.
#[derive(Debug, Clone, PartialEq)]
pub enum PrivilegeFilter {
    /// `PRIVILEGES`: those of all roles.
    All,
    /// `ROLE names PRIVILEGES`: those of at least one role.
    Roles(Vec<NameOrParameter>),
    /// `USER names PRIVILEGES`; the caller's if there are none.
    Users(Vec<NameOrParameter>),
}

/// Which constraints are shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ConstraintFilter {
    /// Only of nodes, or of relationships.
    pub entity: Option<EntityKind>,
    /// Only of this kind.
    pub kind: Option<ConstraintKind>,
}

/// Kinds of constraints, as `SHOW` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConstraintKind {
    /// `UNIQUE[NESS]`
    Unique,
    /// `KEY`
    Key,
    /// `[PROPERTY] EXIST[ENCE]`
    Existence,
    /// `PROPERTY TYPE`
    PropertyType,
}

/// Whose rights decide what is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Executable {
    /// Nobody's: all is shown.
    Any,
    /// `EXECUTABLE [BY CURRENT USER]`
    ByCurrentUser,
    /// `EXECUTABLE BY name`
    By(Name),
}

/// Which databases are shown.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseFilter {
    /// `DATABASES`
    All,
    /// `DATABASE name`
    Named(NameOrParameter),
    /// `DEFAULT DATABASE`
    Default,
    /// `HOME DATABASE`
    Home,
}

/// `SHOW TRANSACTIONS ... YIELD ... TERMINATE TRANSACTIONS ... YIELD ... RETURN ...`: each command
/// runs for every row of those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionCommands {
    /// At least two.
    pub commands: Vec<TransactionCommand>,
    /// What is made of the rows.
    pub returns: Return,
}

/// `SHOW TRANSACTIONS` or `TERMINATE TRANSACTIONS` among several commands.
#[derive(Debug, Clone, PartialEq)]
pub struct TransactionCommand {
    /// `TERMINATE`
    pub terminates: bool,
    /// Strings or lists of strings; with `SHOW` there may be none.
    pub ids: Vec<Expr>,
    /// `YIELD`: columns by name, order and limits.
    pub yields: Projection,
    /// `WHERE`
    pub filter: Option<Expr>,
}

/// `TERMINATE TRANSACTIONS ids YIELD ... WHERE ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Terminate {
    /// Strings or a list of strings, at least one expression.
    pub ids: Vec<Expr>,
    /// What is made of the rows.
    pub output: CommandOutput,
}

/// `COPY names FROM file (options)`, `COPY (query) TO file (options)`
#[derive(Debug, Clone, PartialEq)]
pub struct CopyCommand {
    /// What is copied, and which way.
    pub what: CopyWhat,
    /// A string, the address of the file.
    pub file: Expr,
    /// `name = value`, in the order of the text.
    pub options: Vec<(Name, Expr)>,
}

/// What `COPY` copies.
#[derive(Debug, Clone, PartialEq)]
pub enum CopyWhat {
    /// A file, to nodes with these labels, or, with the options `from` and `to`, to relationships
    /// of this type; at least one name.
    Into(Vec<Name>),
    /// The rows of a query, to a file.
    Out(Query),
}
