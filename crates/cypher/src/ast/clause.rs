//! Clauses.

use super::{Expr, ExprKind, Name, NameOrParameter, PathPattern, QualifiedName, Query};
use crate::span::Span;

/// One clause of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Clause {
    /// `USE graph`
    Use(Use),
    /// `[OPTIONAL] MATCH ...`
    Match(Match),
    /// `UNWIND list AS variable`
    Unwind(Unwind),
    /// `LET variable = expr, ...`
    Let(Let),
    /// `FILTER condition`
    Filter(Filter),
    /// `WITH ... WHERE ...`
    With(With),
    /// `RETURN ...`
    Return(Return),
    /// `FINISH`: the query returns nothing.
    Finish(Finish),
    /// `CREATE ...`
    Create(Create),
    /// `MERGE ... ON CREATE SET ...`
    Merge(Merge),
    /// `SET ...`
    Set(Set),
    /// `REMOVE ...`
    Remove(Remove),
    /// `[DETACH | NODETACH] DELETE ...`
    Delete(Delete),
    /// `FOREACH (variable IN list | updates)`
    Foreach(Foreach),
    /// `CALL procedure(...) YIELD ...`
    Call(Call),
    /// `CALL (...) { ... }`
    CallSubquery(Box<CallSubquery>),
    /// `LOAD CSV FROM ... AS ...`
    LoadCsv(LoadCsv),
}

impl Clause {
    /// The whole clause.
    pub fn span(&self) -> Span {
        match self {
            Clause::Use(clause) => clause.span,
            Clause::Match(clause) => clause.span,
            Clause::Unwind(clause) => clause.span,
            Clause::Let(clause) => clause.span,
            Clause::Filter(clause) => clause.span,
            Clause::With(clause) => clause.span,
            Clause::Return(clause) => clause.span,
            Clause::Finish(clause) => clause.span,
            Clause::Create(clause) => clause.span,
            Clause::Merge(clause) => clause.span,
            Clause::Set(clause) => clause.span,
            Clause::Remove(clause) => clause.span,
            Clause::Delete(clause) => clause.span,
            Clause::Foreach(clause) => clause.span,
            Clause::Call(clause) => clause.span,
            Clause::CallSubquery(clause) => clause.span,
            Clause::LoadCsv(clause) => clause.span,
        }
    }
}

/// `USE graph`
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// A name, possibly dotted, or a call such as `graph.byName('x')`.
    pub graph: Expr,
    /// The whole clause.
    pub span: Span,
}

impl Use {
    /// The name, its parts joined by dots; none if it is no name.
    pub fn name(&self) -> Option<String> {
        fn push(graph: &Expr, name: &mut String) -> Option<()> {
            match &graph.kind {
                ExprKind::Variable(part) => name.push_str(&part.text),
                ExprKind::Property { object, key } => {
                    push(object, name)?;
                    name.push('.');
                    name.push_str(&key.text);
                }
                _ => return None,
            }
            Some(())
        }
        let mut name = String::new();
        push(&self.graph, &mut name).map(|()| name)
    }
}

/// `[OPTIONAL] MATCH patterns hints WHERE filter`
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// Rows without a match stay, with nulls.
    pub optional: bool,
    /// Whether a relationship may be used twice.
    pub mode: MatchMode,
    /// The patterns.
    pub patterns: Vec<PathPattern>,
    /// Wishes for the planner.
    pub hints: Vec<Hint>,
    /// Where a variable is looked for.
    pub search: Option<Box<VectorSearch>>,
    /// The condition.
    pub filter: Option<Expr>,
    /// The whole clause.
    pub span: Span,
}

/// `SEARCH n IN (VECTOR INDEX name FOR vector WHERE filter LIMIT count) SCORE AS score`
#[derive(Debug, Clone, PartialEq)]
pub struct VectorSearch {
    /// The variable: a node or relationship of the pattern.
    pub variable: Name,
    /// The index.
    pub index: NameOrParameter,
    /// The vector to be near to.
    pub vector: Expr,
    /// The condition on what is found, before it is counted.
    pub filter: Option<Expr>,
    /// Number of hits that are wanted.
    pub limit: Expr,
    /// The variable of the score.
    pub score: Option<Name>,
    /// From the word `SEARCH` on.
    pub span: Span,
}

/// Whether a relationship may be used twice in the patterns of one `MATCH`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchMode {
    /// `DIFFERENT RELATIONSHIPS`, or nothing: no.
    DifferentRelationships,
    /// `REPEATABLE ELEMENTS`: yes.
    RepeatableElements,
}

/// `USING ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Hint {
    /// What is wished for.
    pub kind: HintKind,
    /// From the word `USING` on.
    pub span: Span,
}

/// Wishes for the planner.
#[derive(Debug, Clone, PartialEq)]
pub enum HintKind {
    /// `USING [RANGE | TEXT | POINT] INDEX [SEEK] variable:Label(key, ...)`
    Index {
        /// Which kind of index, any if missing.
        kind: Option<super::IndexKind>,
        /// `SEEK`: for single keys, not for a range.
        seek: bool,
        /// A variable of the pattern.
        variable: Name,
        /// Its label or type.
        label: Name,
        /// The keys of the index, at least one.
        keys: Vec<Name>,
    },
    /// `USING SCAN variable:Label`
    Scan {
        /// A variable of the pattern.
        variable: Name,
        /// Its label or type.
        label: Name,
    },
    /// `USING JOIN ON variable, ...`
    Join {
        /// Node variables of the pattern, at least one.
        variables: Vec<Name>,
    },
}

/// `UNWIND list AS variable`
#[derive(Debug, Clone, PartialEq)]
pub struct Unwind {
    /// The list.
    pub list: Expr,
    /// The element.
    pub variable: Name,
    /// The whole clause.
    pub span: Span,
}

/// `LET variable = expr, ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Let {
    /// New variables and their values, which do not see each other; at least one.
    pub items: Vec<LetItem>,
    /// The whole clause.
    pub span: Span,
}

/// `variable = value`
#[derive(Debug, Clone, PartialEq)]
pub struct LetItem {
    /// The new variable.
    pub variable: Name,
    /// Its value.
    pub value: Expr,
}

/// `FILTER [WHERE] condition`
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    /// Which rows go on.
    pub condition: Expr,
    /// The whole clause.
    pub span: Span,
}

/// `WITH projection WHERE filter`
#[derive(Debug, Clone, PartialEq)]
pub struct With {
    /// What goes on.
    pub projection: Projection,
    /// Which rows go on, after sorting and limits.
    pub filter: Option<Expr>,
    /// The whole clause.
    pub span: Span,
}

/// `RETURN projection`
#[derive(Debug, Clone, PartialEq)]
pub struct Return {
    /// The result.
    pub projection: Projection,
    /// The whole clause.
    pub span: Span,
}

/// `FINISH`
#[derive(Debug, Clone, PartialEq)]
pub struct Finish {
    /// The word.
    pub span: Span,
}

/// `[DISTINCT] [*,] items ORDER BY ... SKIP ... LIMIT ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Projection {
    /// Each row comes once.
    pub distinct: bool,
    /// `*`: all variables in scope, before the items.
    pub star: bool,
    /// The items; only with `*` may there be none.
    pub items: Vec<ProjectionItem>,
    /// Sort keys, the first one first.
    pub order_by: Vec<SortItem>,
    /// `SKIP` or `OFFSET`
    pub skip: Option<Expr>,
    /// `LIMIT`
    pub limit: Option<Expr>,
    /// From `DISTINCT` or the first item to the end.
    pub span: Span,
}

/// `expr [AS alias]`
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectionItem {
    /// The value. Without an alias, `expr.span.text(source)` is the column's name.
    pub expr: Expr,
    /// The column's name.
    pub alias: Option<Name>,
    /// Expression and alias.
    pub span: Span,
}

/// A sort key.
#[derive(Debug, Clone, PartialEq)]
pub struct SortItem {
    /// The key.
    pub expr: Expr,
    /// `DESC`
    pub descending: bool,
    /// Key and direction.
    pub span: Span,
}

/// `CREATE patterns`, `INSERT patterns`
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    /// What is created.
    pub patterns: Vec<PathPattern>,
    /// The whole clause.
    pub span: Span,
}

/// `MERGE pattern ON CREATE SET ... ON MATCH SET ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// What is found or created.
    pub pattern: PathPattern,
    /// What is then set, in order.
    pub actions: Vec<MergeAction>,
    /// The whole clause.
    pub span: Span,
}

/// `ON CREATE SET items` or `ON MATCH SET items`
#[derive(Debug, Clone, PartialEq)]
pub struct MergeAction {
    /// `ON CREATE` rather than `ON MATCH`.
    pub on_create: bool,
    /// What is set.
    pub items: Vec<SetItem>,
    /// From `ON` on.
    pub span: Span,
}

/// `SET items`
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// What is set, in order.
    pub items: Vec<SetItem>,
    /// The whole clause.
    pub span: Span,
}

/// One item of `SET`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetItem {
    /// What is set.
    pub kind: SetItemKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of `SET` items.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItemKind {
    /// `object.key = value`
    Property {
        /// A node or relationship.
        object: Expr,
        /// The property key.
        key: Name,
        /// Its new value; null removes it.
        value: Expr,
    },
    /// `object[key] = value`
    DynamicProperty {
        /// A node or relationship.
        object: Expr,
        /// A string, the property key.
        key: Expr,
        /// Its new value; null removes it.
        value: Expr,
    },
    /// `variable = map`: no other property stays.
    Replace {
        /// A node or relationship.
        variable: Name,
        /// A map, node or relationship.
        value: Expr,
    },
    /// `variable += map`: other properties stay.
    Merge {
        /// A node or relationship.
        variable: Name,
        /// A map, node or relationship.
        value: Expr,
    },
    /// `variable:A:B`, `variable IS A`
    Labels {
        /// A node.
        variable: Name,
        /// The labels added, at least one.
        labels: Vec<LabelRef>,
    },
}

/// A label to add or remove.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelRef {
    /// `:Label`
    Static(Name),
    /// `:$(expr)`: a string or a list of strings.
    Dynamic(Expr),
}

/// `REMOVE items`
#[derive(Debug, Clone, PartialEq)]
pub struct Remove {
    /// What is removed, in order.
    pub items: Vec<RemoveItem>,
    /// The whole clause.
    pub span: Span,
}

/// One item of `REMOVE`.
#[derive(Debug, Clone, PartialEq)]
pub struct RemoveItem {
    /// What is removed.
    pub kind: RemoveItemKind,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of `REMOVE` items.
#[derive(Debug, Clone, PartialEq)]
pub enum RemoveItemKind {
    /// `object.key`
    Property {
        /// A node or relationship.
        object: Expr,
        /// The property key.
        key: Name,
    },
    /// `object[key]`
    DynamicProperty {
        /// A node or relationship.
        object: Expr,
        /// A string, the property key.
        key: Expr,
    },
    /// `variable:A:B`, `variable IS A`
    Labels {
        /// A node.
        variable: Name,
        /// The labels removed, at least one.
        labels: Vec<LabelRef>,
    },
}

/// `[DETACH | NODETACH] DELETE targets`
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// `DETACH`: relationships of a deleted node go with it. Otherwise they are an error.
    pub detach: bool,
    /// Nodes, relationships and paths.
    pub targets: Vec<Expr>,
    /// The whole clause.
    pub span: Span,
}

/// `FOREACH (variable IN list | updates)`
#[derive(Debug, Clone, PartialEq)]
pub struct Foreach {
    /// The element.
    pub variable: Name,
    /// The list.
    pub list: Expr,
    /// Updating clauses, at least one: `CREATE`, `MERGE`, `SET`, `REMOVE`, `DELETE`, `FOREACH`.
    pub updates: Vec<Clause>,
    /// The whole clause.
    pub span: Span,
}

/// `[OPTIONAL] CALL procedure(arguments) YIELD ... WHERE ...`
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Rows for which the procedure yields nothing stay, with nulls.
    pub optional: bool,
    /// The procedure.
    pub procedure: QualifiedName,
    /// Its arguments. Missing, without parentheses: parameters of the same names.
    pub arguments: Option<Vec<Expr>>,
    /// What is taken of its rows. Missing: all, in a query that is only this call.
    pub yields: Option<Yield>,
    /// The whole clause.
    pub span: Span,
}

/// `YIELD items WHERE filter`
#[derive(Debug, Clone, PartialEq)]
pub struct Yield {
    /// `*`: all columns; then there are no items.
    pub star: bool,
    /// The columns, and under which names.
    pub items: Vec<YieldItem>,
    /// Which rows stay.
    pub filter: Option<Expr>,
    /// From the word `YIELD` on.
    pub span: Span,
}

/// `column [AS alias]`
#[derive(Debug, Clone, PartialEq)]
pub struct YieldItem {
    /// The procedure's name for it.
    pub column: Name,
    /// The query's name for it, the same if missing.
    pub alias: Option<Name>,
}

/// `[OPTIONAL] CALL (scope) { query } [IN TRANSACTIONS]`
#[derive(Debug, Clone, PartialEq)]
pub struct CallSubquery {
    /// Rows for which the query returns nothing stay, with nulls.
    pub optional: bool,
    /// Which variables the query sees from the start.
    pub scope: SubqueryScope,
    /// The query.
    pub query: Query,
    /// `IN TRANSACTIONS`
    pub transactions: Option<InTransactions>,
    /// The whole clause.
    pub span: Span,
}

/// Which variables a `CALL` subquery sees from the start.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryScope {
    /// `CALL { }`: those that a `WITH` at the start of each of its single queries names, which may
    /// only name variables, without aliases or expressions.
    Importing,
    /// `CALL (*) { }`: all.
    All,
    /// `CALL (a, b) { }`: these, possibly none.
    Variables(Vec<Name>),
}

/// `IN [n CONCURRENT] TRANSACTIONS [OF n ROWS] [ON ERROR ...] [REPORT STATUS AS status]`
#[derive(Debug, Clone, PartialEq)]
pub struct InTransactions {
    /// How many at once.
    pub concurrency: Concurrency,
    /// Rows per transaction, 1000 if missing.
    pub rows: Option<Expr>,
    /// What a failed transaction means for the others.
    pub on_error: OnError,
    /// A map about its transaction, for each row.
    pub status: Option<Name>,
    /// From the word `IN` on.
    pub span: Span,
}

/// How many transactions a subquery runs at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Concurrency {
    /// One after the other.
    Serial,
    /// `CONCURRENT`: as many as the database likes.
    Automatic,
    /// `n CONCURRENT`
    Limit(Expr),
}

/// What a failed transaction of a subquery means for the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnError {
    /// The query fails; what was committed stays. The default.
    Fail,
    /// No further transaction begins.
    Break,
    /// The others go on.
    Continue,
}

/// The format of a file in `LOAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadFormat {
    /// `CSV`
    Csv,
    /// `JSON`: a value in each line.
    Json,
    /// `PARQUET`
    Parquet,
    /// `ARROW`: Arrow IPC.
    Arrow,
}

impl LoadFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Json, Self::Parquet, Self::Arrow];

    /// The word for the format.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Json => "JSON",
            Self::Parquet => "PARQUET",
            Self::Arrow => "ARROW",
        }
    }
}

/// `LOAD format [WITH HEADERS] FROM source AS variable [FIELDTERMINATOR terminator]`
#[derive(Debug, Clone, PartialEq)]
pub struct LoadCsv {
    /// The format; only `CSV` has a terminator.
    pub format: LoadFormat,
    /// `CSV`: the first row names the fields, and each row is a map; otherwise a list. Rows of the
    /// other formats have names either way.
    pub headers: bool,
    /// A string, the address of the file.
    pub source: Expr,
    /// The row.
    pub variable: Name,
    /// What stands between fields, a comma if missing.
    pub terminator: Option<Box<str>>,
    /// The whole clause.
    pub span: Span,
}
