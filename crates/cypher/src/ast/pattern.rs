//! Patterns of paths.

use super::{Expr, Name};
use crate::span::Span;

/// One path of a pattern: `p = (a)-[r]->(b)`.
#[derive(Debug, Clone, PartialEq)]
pub struct PathPattern {
    /// The variable for the path.
    pub variable: Option<Name>,
    /// Which of the matching paths are wanted.
    pub search: PathSearch,
    /// Nodes and relationships in turn; a group stands like a relationship or between two nodes.
    /// At least one part. See [`PathPart`].
    pub parts: Vec<PathPart>,
    /// The whole path, variable included.
    pub span: Span,
}

/// Which of the paths that match a pattern are wanted.
#[derive(Debug, Clone, PartialEq)]
pub enum PathSearch {
    /// All of them: nothing, or `ALL`, written before the pattern.
    All,
    /// `ANY [k]`: any `k` per pair of end nodes, 1 if missing.
    Any(Option<Count>),
    /// `SHORTEST k`: the `k` shortest per pair of end nodes; `ANY SHORTEST` is `SHORTEST 1`.
    Shortest(Count),
    /// `ALL SHORTEST`: all of the smallest length per pair; also `SHORTEST 1 GROUPS`.
    AllShortest,
    /// `SHORTEST k GROUPS`: all of the `k` smallest lengths per pair.
    ShortestGroups(Count),
    /// `shortestPath(...)` around the pattern: one shortest path.
    ShortestPath,
    /// `allShortestPaths(...)` around the pattern: all shortest paths.
    AllShortestPaths,
}

/// A number that a parameter may give.
#[derive(Debug, Clone, PartialEq)]
pub enum Count {
    /// The number itself.
    Literal(u64),
    /// The name of the parameter, without `$`.
    Parameter(Name),
}

/// A part of a path. Between two nodes there is exactly one relationship, or nothing if one side
/// is a group: `(a) ((x)-[r]->(y)){2} (b)`.
#[derive(Debug, Clone, PartialEq)]
pub enum PathPart {
    /// `(n:Label)`
    Node(NodePattern),
    /// `-[r:TYPE]->`
    Relationship(RelationshipPattern),
    /// `((x)-[r]->(y) WHERE filter){1,3}`
    Group(GroupPattern),
}

impl PathPart {
    /// The whole part.
    pub fn span(&self) -> Span {
        match self {
            PathPart::Node(node) => node.span,
            PathPart::Relationship(relationship) => relationship.span,
            PathPart::Group(group) => group.span,
        }
    }
}

/// `(variable:labels {properties} WHERE filter)`
#[derive(Debug, Clone, PartialEq)]
pub struct NodePattern {
    /// The variable for the node.
    pub variable: Option<Name>,
    /// What its labels must satisfy.
    pub labels: Option<LabelExpr>,
    /// Its properties: a map literal or a parameter.
    pub properties: Option<Expr>,
    /// A condition on it.
    pub filter: Option<Expr>,
    /// With its parentheses.
    pub span: Span,
}

/// `-[variable:types *1..2 {properties} WHERE filter]->+`
#[derive(Debug, Clone, PartialEq)]
pub struct RelationshipPattern {
    /// Where it leads, read from left to right.
    pub direction: ArrowDirection,
    /// The variable for the relationship, or for the list of them if there is a length.
    pub variable: Option<Name>,
    /// What its type must satisfy.
    pub types: Option<LabelExpr>,
    /// `*`: several relationships in a row.
    pub length: Option<PathLength>,
    /// Its properties: a map literal or a parameter.
    pub properties: Option<Expr>,
    /// A condition on it.
    pub filter: Option<Expr>,
    /// `-[r]->+`: the same as a group around it.
    pub quantifier: Option<Quantifier>,
    /// With its arrow heads and quantifier.
    pub span: Span,
}

/// Where a relationship leads, read from left to right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrowDirection {
    /// `-->`
    Right,
    /// `<--`
    Left,
    /// `--` or `<-->`: either way.
    Either,
}

/// `*min..max` of a variable-length relationship; `*2` has both bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathLength {
    /// Fewest relationships, 1 if missing.
    pub min: Option<u64>,
    /// Most relationships, no limit if missing.
    pub max: Option<u64>,
    /// From the star on.
    pub span: Span,
}

/// A path in parentheses, to repeat it or to put a condition on it.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupPattern {
    /// The path inside. Its `search` is [`PathSearch::All`].
    pub path: PathPattern,
    /// A condition on each repetition.
    pub filter: Option<Expr>,
    /// How often; exactly once if missing.
    pub quantifier: Option<Quantifier>,
    /// With its parentheses and quantifier.
    pub span: Span,
}

/// `{min,max}`; `+` is `{1,}`, `*` is `{0,}`, `{n}` is `{n,n}`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantifier {
    /// Fewest repetitions.
    pub min: u64,
    /// Most repetitions, no limit if missing.
    pub max: Option<u64>,
    /// Where it stands.
    pub span: Span,
}

/// A condition on the labels of a node, or on the type of a relationship.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelExpr {
    /// What it is.
    pub kind: LabelExprKind,
    /// Without the first colon.
    pub span: Span,
}

/// The kinds of label expressions.
#[derive(Debug, Clone, PartialEq)]
pub enum LabelExprKind {
    /// `Person`
    Label(Name),
    /// `$(expr)`, `$all(expr)`: has all the labels that a string or list of strings names.
    /// `$any(expr)`: has one of them.
    Dynamic {
        /// The name or names.
        names: Box<Expr>,
        /// `$any`
        any: bool,
    },
    /// `%`: at least one label.
    Wildcard,
    /// `!A`
    Not(Box<LabelExpr>),
    /// `A&B`, `A:B`: at least two.
    And(Vec<LabelExpr>),
    /// `A|B`, `A|:B`: at least two.
    Or(Vec<LabelExpr>),
}
