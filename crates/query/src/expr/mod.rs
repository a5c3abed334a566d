//! Bound expressions: variables are slots, functions are found, patterns are plans. How they are
//! evaluated is in `exec/eval`.

pub(crate) mod area;
pub(crate) mod print;
pub(crate) mod walk;

use std::sync::Arc;

use telar_graph::{LabelId, PropertyKeyId, Value};

use crate::batch::Slot;
use crate::function::Function;
use crate::ops::NormalForm;
use crate::plan::{Name, Plan};
use crate::user_function::UserCall;
use crate::value_type::ValueType;

/// An expression over the columns of a batch.
#[derive(Debug, Clone)]
pub(crate) enum Expr {
    Const(Value),
    /// The value of a parameter.
    Param(Arc<str>),
    Slot(Slot),
    List(Vec<Expr>),
    Map(Vec<(Arc<str>, Expr)>),
    /// A property of a node or relationship, or a component of another value.
    Property(Box<Expr>, Name<PropertyKeyId>),
    Index(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// `a + b - c`: two or more operators of one level, worked off from the left.
    Chain(Box<Expr>, Vec<(Binary, Expr)>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Xor(Vec<Expr>),
    IsNull(Box<Expr>, bool),
    IsTyped(Box<Expr>, ValueType, bool),
    IsNormalized(Box<Expr>, NormalForm, bool),
    HasLabels(Box<Expr>, Labels),
    Function(&'static Function, Vec<Expr>),
    /// A function of the program.
    UserFunction(UserCall, Vec<Expr>),
    GraphFunction(GraphFunction, Vec<Expr>),
    Case(Box<Case>),
    ListComprehension(Box<ListComprehension>),
    Quantifier(Quantifier, Box<ListComprehension>),
    Reduce(Box<Reduce>),
    MapProjection(Box<MapProjection>),
    /// The path through these nodes, relationships and lists of relationships.
    Path(Vec<Slot>),
    Subquery(Box<Subquery>),
}

/// Operators with one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Minus,
    /// Refuses what is no number.
    Plus,
}

/// Operators with two operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Concatenate,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    In,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A condition on the labels of a node or the type of a relationship.
#[derive(Debug, Clone)]
pub(crate) enum Labels {
    Name(Name<LabelId>),
    /// All, or any, of the labels that a string or list of strings names.
    Dynamic(Box<Expr>, bool),
    /// At least one label.
    Wildcard,
    Not(Box<Labels>),
    And(Vec<Labels>),
    Or(Vec<Labels>),
}

/// Functions that ask the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphFunction {
    Id,
    ElementId,
    Labels,
    Type,
    Properties,
    Keys,
    StartNode,
    EndNode,
    /// `gds.util.asNode`: the node of a number.
    NodeOfNumber,
    /// `gds.util.asNodes`: the nodes of numbers.
    NodesOfNumbers,
    /// One of APOC's, by its place in `function/apoc/graph.rs`.
    Apoc(u8),
}

#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// Conditions with values, in order.
    pub(crate) branches: Vec<(Expr, Expr)>,
    pub(crate) default: Expr,
    /// The operand, computed once, and the slot it goes to.
    pub(crate) operand: Option<(Slot, Expr)>,
}

/// `[variable IN list WHERE filter | projection]`
#[derive(Debug, Clone)]
pub(crate) struct ListComprehension {
    pub(crate) variable: Slot,
    pub(crate) list: Expr,
    pub(crate) filter: Option<Expr>,
    pub(crate) projection: Option<Expr>,
}

/// Of how many elements a condition must be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantifier {
    All,
    Any,
    None,
    Single,
}

#[derive(Debug, Clone)]
pub(crate) struct Reduce {
    pub(crate) accumulator: Slot,
    pub(crate) initial: Expr,
    pub(crate) variable: Slot,
    pub(crate) list: Expr,
    pub(crate) step: Expr,
}

#[derive(Debug, Clone)]
pub(crate) struct MapProjection {
    pub(crate) object: Expr,
    /// `.*`
    pub(crate) all: bool,
    pub(crate) entries: Vec<(Arc<str>, Expr)>,
}

/// What an expression makes of the rows of a plan that begins with its own row.
#[derive(Debug, Clone)]
pub(crate) struct Subquery {
    pub(crate) kind: SubqueryKind,
    pub(crate) plan: Plan,
    /// Numbers the outer rows, so that the plan can run for many at once.
    pub(crate) row: Slot,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubqueryKind {
    /// Whether there is a row.
    Exists,
    /// How many rows there are.
    Count,
    /// The sum of this variable.
    Sum(Slot),
    /// The values of this variable.
    Collect(Slot),
    /// The value of this variable in the first row, null if there is none.
    First(Slot),
}

impl Expr {
    pub(crate) const NULL: Self = Self::Const(Value::Null);

    /// Whether it is this variable.
    pub(crate) fn is_slot(&self, slot: Slot) -> bool {
        matches!(self, Self::Slot(s) if *s == slot)
    }

    /// Variable and name of a property of a variable.
    pub(crate) fn property_of_slot(&self) -> Option<(Slot, &str)> {
        match self {
            Self::Property(object, name) => match **object {
                Self::Slot(slot) => Some((slot, &**name)),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn text(text: &str) -> Self {
        Self::Const(Value::from(text))
    }

    /// The conjunction of these.
    pub(crate) fn all(mut conjuncts: Vec<Self>) -> Self {
        match conjuncts.len() {
            0 => Self::Const(Value::Bool(true)),
            1 => conjuncts.swap_remove(0),
            _ => Self::And(conjuncts),
        }
    }
}

/// The parts of a conjunction, each a condition of its own.
pub(crate) fn conjuncts(condition: Expr) -> Vec<Expr> {
    match condition {
        Expr::And(parts) => parts.into_iter().flat_map(conjuncts).collect(),
        other => vec![other],
    }
}
