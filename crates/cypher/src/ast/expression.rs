//! Expressions.

use super::{LabelExpr, Name, PathPattern, QualifiedName, Query};
use crate::span::Span;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands, with the parentheses around it. A projected expression without an alias is
    /// named by this text.
    pub span: Span,
}

/// The kinds of expressions.
///
/// Operators from loose to tight: `OR`; `XOR`; `AND`; `NOT`; comparisons; `IN`, `STARTS WITH`,
/// `ENDS WITH`, `CONTAINS`, `=~`, `IS ...`; `+ - ||`; `* / %`; `^`; unary `+ -`; access to
/// properties, elements, labels. All associate to the left.
#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    /// `null`, `true`, `1`, `1.5`, `'text'`. A sign directly before a number belongs to it.
    Literal(Literal),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{key: value}`, in the order of the text; keys may repeat, then the last one counts.
    Map(Vec<MapEntry>),
    /// `$name`; also `$1`, whose name is `1`.
    Parameter(Name),
    /// A variable. `NaN`, `INF` and `INFINITY` come as variables, too: they are floats where no
    /// variable has that name.
    Variable(Name),
    /// `object.key`
    Property {
        /// A node, relationship, map, temporal value or point.
        object: Box<Expr>,
        /// The property key.
        key: Name,
    },
    /// `object[index]`
    Index {
        /// A list, or what has properties.
        object: Box<Expr>,
        /// A position or a property key.
        index: Box<Expr>,
    },
    /// `list[from..to]`
    Slice {
        /// The list.
        list: Box<Expr>,
        /// First position, 0 if missing.
        from: Option<Box<Expr>>,
        /// One past the last position, the length if missing.
        to: Option<Box<Expr>>,
    },
    /// `NOT a`, `-a`, `+a`
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: Box<Expr>,
    },
    /// `a + b - c`: operators of one level, worked off from the left. A chain of any length is one
    /// node, so `first` is no chain of that level: `(a + b) + c` is `a + b + c`.
    Arithmetic {
        /// The first operand.
        first: Box<Expr>,
        /// Operators and operands after it, at least one.
        rest: Vec<ArithmeticLink>,
    },
    /// `a IN b`, `a STARTS WITH b`, ...
    Binary {
        /// The operator.
        op: BinaryOp,
        /// What stands left of it.
        left: Box<Expr>,
        /// What stands right of it.
        right: Box<Expr>,
    },
    /// `a AND b AND c`: at least two operands of one operator.
    Logical {
        /// The operator.
        op: LogicalOp,
        /// Its operands.
        operands: Vec<Expr>,
    },
    /// `a < b <= c`, which means `a < b AND b <= c`.
    Comparison {
        /// The first operand.
        first: Box<Expr>,
        /// Operators and operands after it, at least one.
        rest: Vec<ComparisonLink>,
    },
    /// `a IS NULL`, `a IS NOT NULL`
    IsNull {
        /// What is tested.
        operand: Box<Expr>,
        /// `NOT`
        negated: bool,
    },
    /// `a IS :: INTEGER`, `a IS NOT TYPED LIST<STRING>`
    IsTyped {
        /// What is tested.
        operand: Box<Expr>,
        /// `NOT`
        negated: bool,
        /// The type.
        of: TypeExpr,
    },
    /// `a IS NORMALIZED`, `a IS NOT NFKC NORMALIZED`
    IsNormalized {
        /// What is tested.
        operand: Box<Expr>,
        /// `NOT`
        negated: bool,
        /// The Unicode form.
        form: NormalForm,
    },
    /// `n:A|B&!C`: labels of a node or the type of a relationship.
    HasLabels {
        /// The node or relationship.
        operand: Box<Expr>,
        /// What its labels must satisfy.
        labels: LabelExpr,
    },
    /// `count(*)`
    CountStar,
    /// `f(a, b)`, `count(DISTINCT a)`
    Function(Box<FunctionCall>),
    /// `CASE`, both forms.
    Case(Box<Case>),
    /// The operand of the `CASE` around it, in [`CaseTest::Holds`] only.
    CaseOperand,
    /// `[x IN list WHERE filter | projection]`
    ListComprehension(Box<ListComprehension>),
    /// `[p = (a)-->(b) WHERE filter | projection]`
    PatternComprehension(Box<PatternComprehension>),
    /// `all(x IN list WHERE filter)` and its kin.
    Quantifier(Box<QuantifierExpr>),
    /// `reduce(sum = 0, x IN list | sum + x)`
    Reduce(Box<Reduce>),
    /// `n {.name, .*, key: value, other}`
    MapProjection(Box<MapProjection>),
    /// `EXISTS { }`, `COUNT { }`, `COLLECT { }`
    Subquery(Box<Subquery>),
    /// `(a)-->(b)`: the pattern matches somewhere; where a list is wanted, its paths. Also
    /// `shortestPath(...)` and `allShortestPaths(...)`: the path or the paths (see
    /// [`PathPattern::search`]).
    Pattern(Box<PathPattern>),
}

/// A value written down.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// `1`, `0x1F`, `0o17`, `1_000`, `-1`
    Int(i64),
    /// `1.0`, `1e9`, `.5`; always finite.
    Float(f64),
    /// `'text'`, `"text"`, escapes resolved.
    String(Box<str>),
}

/// `key: value` of a map.
#[derive(Debug, Clone, PartialEq)]
pub struct MapEntry {
    /// The key.
    pub key: Name,
    /// Its value.
    pub value: Expr,
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOp {
    /// `NOT`
    Not,
    /// `+`
    Plus,
    /// `-`
    Minus,
}

/// Operators that compute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArithmeticOp {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `^`
    Power,
    /// `||`
    Concatenate,
}

/// One more operator and operand of a chain of operators of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct ArithmeticLink {
    /// The operator.
    pub op: ArithmeticOp,
    /// What stands right of it.
    pub operand: Expr,
}

/// Predicates with two operands, without those of [`LogicalOp`] and [`CompareOp`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    /// `STARTS WITH`
    StartsWith,
    /// `ENDS WITH`
    EndsWith,
    /// `CONTAINS`
    Contains,
    /// `=~`
    Matches,
    /// `IN`
    In,
}

/// Operators of three-valued logic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogicalOp {
    /// `OR`
    Or,
    /// `XOR`
    Xor,
    /// `AND`
    And,
}

/// Operators that can be chained.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    /// `=`
    Equal,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// One more operator and operand of a chain of comparisons.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparisonLink {
    /// The operator.
    pub op: CompareOp,
    /// What stands right of it.
    pub operand: Expr,
}

/// Unicode normal forms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormalForm {
    /// Canonical composition, the default.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

/// A type as `IS ::` and property type constraints name it.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeExpr {
    /// What it is.
    pub kind: TypeKind,
    /// `NOT NULL` or `!` after it.
    pub not_null: bool,
    /// Where it stands.
    pub span: Span,
}

/// The kinds of types. Synonyms (`INT`, `BOOL`, `VARCHAR`, `TIMESTAMP WITH TIME ZONE`, ...) are
/// resolved.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeKind {
    /// `NOTHING`
    Nothing,
    /// `NULL`
    Null,
    /// `BOOLEAN`
    Boolean,
    /// `STRING`
    String,
    /// `INTEGER`
    Integer,
    /// `FLOAT`
    Float,
    /// `DATE`
    Date,
    /// `LOCAL TIME`
    LocalTime,
    /// `ZONED TIME`
    ZonedTime,
    /// `LOCAL DATETIME`
    LocalDateTime,
    /// `ZONED DATETIME`
    ZonedDateTime,
    /// `DURATION`
    Duration,
    /// `POINT`
    Point,
    /// `NODE`
    Node,
    /// `RELATIONSHIP`
    Relationship,
    /// `MAP`
    Map,
    /// `PATH`
    Path,
    /// `PROPERTY VALUE`
    PropertyValue,
    /// `VECTOR`, `VECTOR<FLOAT32>`, `VECTOR(3)`, `VECTOR<FLOAT32>(3)`
    Vector {
        /// The type of the coordinates, one of [`CoordinateName::ALL`].
        coordinates: Option<CoordinateName>,
        /// The number of coordinates.
        dimension: Option<u16>,
    },
    /// `ANY`
    Any,
    /// `LIST<T>`
    List(Box<TypeExpr>),
    /// `A | B`, `ANY<A | B>`: at least two; one alone in `ANY<A NOT NULL>`.
    Union(Vec<TypeExpr>),
}

/// A type of the coordinates of vectors, by the name that others are synonyms of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoordinateName(&'static str);

impl CoordinateName {
    /// Every type.
    pub const ALL: [Self; 6] = [
        Self("INTEGER8"),
        Self("INTEGER16"),
        Self("INTEGER32"),
        Self("INTEGER"),
        Self("FLOAT32"),
        Self("FLOAT"),
    ];

    /// The type that a word names, in any case.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.to_ascii_uppercase();
        let name = match word.as_str() {
            "INT8" => "INTEGER8",
            "INT16" => "INTEGER16",
            "INT32" => "INTEGER32",
            "INT" | "INT64" | "INTEGER64" => "INTEGER",
            "FLOAT64" => "FLOAT",
            name => name,
        };
        Self::ALL.into_iter().find(|known| known.0 == name)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }
}

/// A call of a function. Calls are equal that name it in other case: `count(n)` and `COUNT(n)`.
#[derive(Debug, Clone)]
pub struct FunctionCall {
    /// Its name, case as written; functions are found regardless of case.
    pub name: QualifiedName,
    /// `DISTINCT` before the arguments.
    pub distinct: bool,
    /// The arguments.
    pub arguments: Vec<Expr>,
}

impl PartialEq for FunctionCall {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.name.parts, &other.name.parts);
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| a.text.eq_ignore_ascii_case(&b.text))
            && self.distinct == other.distinct
            && self.arguments == other.arguments
    }
}

/// `CASE operand WHEN tests THEN value ... ELSE default END`
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What the tests are about; without it each test is a condition.
    pub operand: Option<Expr>,
    /// The branches in order, at least one.
    pub branches: Vec<CaseBranch>,
    /// The value if no branch applies, null if missing.
    pub default: Option<Expr>,
}

/// `WHEN test, test THEN value`
#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    /// The branch applies if one of them does; exactly one in a `CASE` without operand.
    pub tests: Vec<CaseTest>,
    /// Its value.
    pub value: Expr,
}

/// A test of a branch.
#[derive(Debug, Clone, PartialEq)]
pub enum CaseTest {
    /// `WHEN 1`: the operand equals this; in a `CASE` without operand, this is true.
    Value(Expr),
    /// `WHEN > 1`, `WHEN IS NULL`: this holds, with [`ExprKind::CaseOperand`] for the operand.
    Holds(Expr),
}

/// `[variable IN list WHERE filter | projection]`
#[derive(Debug, Clone, PartialEq)]
pub struct ListComprehension {
    /// The element.
    pub variable: Name,
    /// The list.
    pub list: Expr,
    /// Which elements stay.
    pub filter: Option<Expr>,
    /// What becomes of each, itself if missing.
    pub projection: Option<Expr>,
}

/// `[pattern WHERE filter | projection]`; a variable for the path is in the pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternComprehension {
    /// The pattern.
    pub pattern: PathPattern,
    /// Which matches stay.
    pub filter: Option<Expr>,
    /// What becomes of each.
    pub projection: Expr,
}

/// `all(variable IN list WHERE filter)`
#[derive(Debug, Clone, PartialEq)]
pub struct QuantifierExpr {
    /// Of how many elements the filter must be true.
    pub kind: QuantifierKind,
    /// The element.
    pub variable: Name,
    /// The list.
    pub list: Expr,
    /// The condition.
    pub filter: Expr,
}

/// Of how many elements a condition must be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuantifierKind {
    /// `all`
    All,
    /// `any`
    Any,
    /// `none`
    None,
    /// `single`: exactly one.
    Single,
}

/// `reduce(accumulator = initial, variable IN list | step)`
#[derive(Debug, Clone, PartialEq)]
pub struct Reduce {
    /// The value so far.
    pub accumulator: Name,
    /// What it begins with.
    pub initial: Expr,
    /// The element.
    pub variable: Name,
    /// The list.
    pub list: Expr,
    /// The next value.
    pub step: Expr,
}

/// `variable {items}`
#[derive(Debug, Clone, PartialEq)]
pub struct MapProjection {
    /// A node, relationship or map.
    pub variable: Name,
    /// What the new map holds.
    pub items: Vec<MapProjectionItem>,
}

/// An item of a map projection.
#[derive(Debug, Clone, PartialEq)]
pub enum MapProjectionItem {
    /// `.*`
    AllProperties,
    /// `.key`
    Property(Name),
    /// `key: value`
    Entry(MapEntry),
    /// `variable`, under its own name.
    Variable(Name),
}

/// A query inside an expression; it sees all variables around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Subquery {
    /// What is made of its rows.
    pub kind: SubqueryKind,
    /// The query.
    pub body: SubqueryBody,
}

/// What an expression makes of the rows of its subquery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubqueryKind {
    /// `EXISTS`: whether there is one.
    Exists,
    /// `COUNT`: how many.
    Count,
    /// `COLLECT`: the list of the values of its only column.
    Collect,
}

/// The two forms of a subquery in an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum SubqueryBody {
    /// `{ (a)-->(b) WHERE filter }`, not with `COLLECT`.
    Pattern {
        /// The patterns.
        patterns: Vec<PathPattern>,
        /// The condition.
        filter: Option<Expr>,
    },
    /// A whole query. With `EXISTS` and `COUNT` it needs no `RETURN`.
    Query(Query),
}
