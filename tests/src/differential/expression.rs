//! Expressions: their text and their value.
//!
//! Every expression has one type, so none of them can fail; `null` may stand anywhere.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

use super::graph::RandomGraph;
use super::matching;
use super::query::{Path, separated};
use crate::tck::value::{Float, TckValue};

/// A value while a query is evaluated: vertices and edges have identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Val {
    Null,
    Bool(bool),
    Int(i64),
    Float(Float),
    Text(String),
    Node(usize),
    Edge(usize),
    List(Vec<Val>),
}

/// Variables and their values.
pub(super) type Row = BTreeMap<String, Val>;

/// An expression.
#[derive(Debug, Clone)]
pub(super) enum Expression {
    Literal(Val),
    Variable(String),
    Property(String, &'static str),
    /// `type(edge)`
    TypeOf(String),
    /// `size(list)`
    Size(String),
    HasLabel(String, &'static str),
    IsNull(Box<Self>, bool),
    Not(Box<Self>),
    Binary(Operator, Box<Self>, Box<Self>),
    In(Box<Self>, Vec<Self>),
    Coalesce(Box<Self>, Box<Self>),
    /// `CASE WHEN 0 THEN 1 ELSE 2 END`
    Case(Box<[Self; 3]>),
    /// `EXISTS { path }`
    Exists(Box<Path>),
    /// `COUNT { path }`
    Count(Box<Path>),
}

/// What stands between two expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[rustfmt::skip]
pub(super) enum Operator {
    Equal, Unequal, Less, LessEqual, Greater, GreaterEqual,
    And, Or, Xor,
    Add, Subtract, Multiply, Modulo,
    StartsWith, EndsWith, Contains,
}

impl Expression {
    /// The value for these variables.
    pub(super) fn value(&self, row: &Row, graph: &RandomGraph) -> Val {
        let value = |expression: &Self| expression.value(row, graph);
        let variable = |name: &str| row.get(name).cloned().unwrap_or(Val::Null);
        match self {
            Self::Literal(value) => value.clone(),
            Self::Variable(name) => variable(name),
            Self::Property(name, key) => {
                let properties = match variable(name) {
                    Val::Node(node) => &graph.nodes[node].properties,
                    Val::Edge(edge) => &graph.edges[edge].relationship.properties,
                    _ => return Val::Null,
                };
                properties.get(*key).map_or(Val::Null, Val::of)
            }
            Self::TypeOf(name) => match variable(name) {
                Val::Edge(edge) => Val::Text(graph.edges[edge].relationship.ty.clone()),
                _ => Val::Null,
            },
            Self::Size(name) => match variable(name) {
                Val::List(elements) => Val::Int(elements.len() as i64),
                _ => Val::Null,
            },
            Self::HasLabel(name, label) => match variable(name) {
                Val::Node(node) => Val::Bool(graph.nodes[node].labels.contains(*label)),
                _ => Val::Null,
            },
            Self::IsNull(of, wanted) => Val::Bool((value(of) == Val::Null) == *wanted),
            Self::Not(of) => truth(value(of).truth().map(|truth| !truth)),
            Self::Binary(operator, a, b) => operator.value(&value(a), &value(b)),
            Self::In(element, list) => {
                let element = value(element);
                let found = list.iter().map(|other| element.equals(&value(other)));
                // True if any is; else unknown if any is.
                truth(found.fold(Some(false), or))
            }
            Self::Coalesce(a, b) => match value(a) {
                Val::Null => value(b),
                a => a,
            },
            Self::Case(parts) => {
                let [condition, then, otherwise] = &**parts;
                value(if value(condition) == Val::Bool(true) { then } else { otherwise })
            }
            Self::Exists(path) => Val::Bool(matching::count(path, row, graph) > 0),
            Self::Count(path) => Val::Int(matching::count(path, row, graph) as i64),
        }
    }
}

fn truth(value: Option<bool>) -> Val {
    value.map_or(Val::Null, Val::Bool)
}

fn or(a: Option<bool>, b: Option<bool>) -> Option<bool> {
    match (a, b) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), Some(false)) => Some(false),
        _ => None,
    }
}

impl Val {
    /// A property's value.
    fn of(value: &TckValue) -> Self {
        match value {
            TckValue::Bool(value) => Self::Bool(*value),
            TckValue::Int(value) => Self::Int(*value),
            TckValue::Float(value) => Self::Float(*value),
            TckValue::String(text) => Self::Text(text.clone()),
            _ => Self::Null,
        }
    }

    /// What a result shows.
    pub(super) fn shown(&self, graph: &RandomGraph) -> TckValue {
        match self {
            Self::Null => TckValue::Null,
            Self::Bool(value) => TckValue::Bool(*value),
            Self::Int(value) => TckValue::Int(*value),
            Self::Float(value) => TckValue::Float(*value),
            Self::Text(text) => TckValue::String(text.clone()),
            Self::Node(node) => TckValue::Node(graph.nodes[*node].clone()),
            Self::Edge(edge) => TckValue::Relationship(graph.edges[*edge].relationship.clone()),
            Self::List(list) => TckValue::List(list.iter().map(|v| v.shown(graph)).collect()),
        }
    }

    fn truth(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Int(number) => Some(*number as f64),
            Self::Float(number) => Some(number.get()),
            _ => None,
        }
    }

    /// `=`: unknown if either is null. Small numbers compare as floats.
    fn equals(&self, other: &Self) -> Option<bool> {
        match (self, other) {
            (Self::Null, _) | (_, Self::Null) => None,
            _ => Some(match (self.number(), other.number()) {
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            }),
        }
    }

    /// `<`: unknown if either is null, or they are of different types.
    fn compares(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Bool(a), Self::Bool(b)) => Some(a.cmp(b)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    /// The order of `ORDER BY`, of values of one type: null is the last.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Null, _) => Ordering::Greater,
            (_, Self::Null) => Ordering::Less,
            _ => self.cmp(other),
        }
    }
}

impl Operator {
    fn value(self, a: &Val, b: &Val) -> Val {
        let compare = |wanted: fn(Ordering) -> bool| truth(a.compares(b).map(wanted));
        let logic =
            |f: fn(Option<bool>, Option<bool>) -> Option<bool>| truth(f(a.truth(), b.truth()));
        let arithmetic = |ints: fn(i64, i64) -> i64, floats: fn(f64, f64) -> f64| match (a, b) {
            (Val::Int(a), Val::Int(b)) => Val::Int(ints(*a, *b)),
            (Val::Float(a), Val::Float(b)) => Val::Float(Float::new(floats(a.get(), b.get()))),
            _ => Val::Null,
        };
        let texts = |f: fn(&str, &str) -> bool| match (a, b) {
            (Val::Text(a), Val::Text(b)) => Val::Bool(f(a, b)),
            _ => Val::Null,
        };
        match self {
            Self::Equal => truth(a.equals(b)),
            Self::Unequal => truth(a.equals(b).map(|equal| !equal)),
            Self::Less => compare(Ordering::is_lt),
            Self::LessEqual => compare(Ordering::is_le),
            Self::Greater => compare(Ordering::is_gt),
            Self::GreaterEqual => compare(Ordering::is_ge),
            Self::And => logic(|a, b| or(a.map(|a| !a), b.map(|b| !b)).map(|truth| !truth)),
            Self::Or => logic(or),
            Self::Xor => logic(|a, b| Some(a? != b?)),
            Self::Add => arithmetic(|a, b| a + b, |a, b| a + b),
            Self::Subtract => arithmetic(|a, b| a - b, |a, b| a - b),
            Self::Multiply => arithmetic(|a, b| a * b, |a, b| a * b),
            // The generator gives a divisor that is not zero.
            Self::Modulo => arithmetic(|a, b| a % b, |a, b| a % b),
            Self::StartsWith => texts(|a, b| a.starts_with(b)),
            Self::EndsWith => texts(|a, b| a.ends_with(b)),
            Self::Contains => texts(|a, b| a.contains(b)),
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Literal(value) => write!(f, "{}", value.shown(&RandomGraph::default())),
            Self::Variable(name) => f.write_str(name),
            Self::Property(name, key) => write!(f, "{name}.{key}"),
            Self::TypeOf(name) => write!(f, "type({name})"),
            Self::Size(name) => write!(f, "size({name})"),
            Self::HasLabel(name, label) => write!(f, "({name}:{label})"),
            Self::IsNull(of, true) => write!(f, "({of} IS NULL)"),
            Self::IsNull(of, false) => write!(f, "({of} IS NOT NULL)"),
            Self::Not(of) => write!(f, "(NOT {of})"),
            Self::Binary(operator, a, b) => write!(f, "({a} {operator} {b})"),
            Self::In(element, list) => {
                write!(f, "({element} IN [")?;
                separated(f, ", ", list)?;
                f.write_str("])")
            }
            Self::Coalesce(a, b) => write!(f, "coalesce({a}, {b})"),
            Self::Case(parts) => {
                let [condition, then, otherwise] = &**parts;
                write!(f, "CASE WHEN {condition} THEN {then} ELSE {otherwise} END")
            }
            Self::Exists(path) => write!(f, "EXISTS {{ {path} }}"),
            Self::Count(path) => write!(f, "COUNT {{ {path} }}"),
        }
    }
}

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Equal => "=",
            Self::Unequal => "<>",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::And => "AND",
            Self::Or => "OR",
            Self::Xor => "XOR",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Modulo => "%",
            Self::StartsWith => "STARTS WITH",
            Self::EndsWith => "ENDS WITH",
            Self::Contains => "CONTAINS",
        })
    }
}
