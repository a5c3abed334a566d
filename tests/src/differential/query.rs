//! Queries as trees, and their text.

use std::fmt;

use super::expression::Expression;

/// A query that only reads.
#[derive(Debug, Clone)]
pub struct Query {
    pub(super) clauses: Vec<Clause>,
    pub(super) result: Projection,
}

/// What comes before `RETURN`.
#[derive(Debug, Clone)]
pub(super) enum Clause {
    /// `[OPTIONAL] MATCH paths [USING hints] [WHERE filter]`
    Match { optional: bool, paths: Vec<Path>, hints: Vec<Hint>, filter: Option<Expression> },
    /// `UNWIND [elements] AS name`
    Unwind { elements: Vec<Expression>, name: String },
    /// `WITH projection [WHERE filter]`
    With { projection: Projection, filter: Option<Expression> },
}

/// `USING ...`, which changes no answer.
#[derive(Debug, Clone)]
pub(super) enum Hint {
    Join(String),
    Index(String, &'static str, &'static str),
    Scan(String, &'static str),
}

/// `[DISTINCT] items [ORDER BY all items] [SKIP] [LIMIT]`
#[derive(Debug, Clone, Default)]
pub(super) struct Projection {
    pub(super) distinct: bool,
    pub(super) items: Vec<Item>,
    /// Whether rows are ordered by every item, and which of them are descending.
    pub(super) order: Option<Vec<bool>>,
    pub(super) skip: Option<usize>,
    pub(super) limit: Option<usize>,
}

/// `value AS name`
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) value: ItemValue,
    pub(super) name: String,
}

/// What a column holds.
#[derive(Debug, Clone)]
pub(super) enum ItemValue {
    Expression(Expression),
    CountRows,
    Aggregate { function: Function, distinct: bool, of: Expression },
}

/// An aggregating function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Count,
    Sum,
    Min,
    Max,
    Collect,
}

/// `(node)-[edge]-(node)..`
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) start: NodePattern,
    pub(super) steps: Vec<(EdgePattern, NodePattern)>,
}

/// `(name:Label {key: value})`
#[derive(Debug, Clone, Default)]
pub(super) struct NodePattern {
    pub(super) name: Option<String>,
    pub(super) labels: Vec<&'static str>,
    pub(super) properties: Vec<(&'static str, Expression)>,
}

/// `-[name:TYPE|TYPE*min..max {key: value}]->`
#[derive(Debug, Clone)]
pub(super) struct EdgePattern {
    pub(super) name: Option<String>,
    pub(super) types: Vec<&'static str>,
    pub(super) towards: Towards,
    pub(super) length: Option<(usize, usize)>,
    pub(super) properties: Vec<(&'static str, Expression)>,
}

/// Which way an edge is walked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    Right,
    Left,
    Both,
}

impl Path {
    /// The variables that it names.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let steps = self.steps.iter().flat_map(|(edge, node)| [&edge.name, &node.name]);
        std::iter::once(&self.start.name).chain(steps).flatten()
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.clauses.iter().try_for_each(|clause| writeln!(f, "{clause}"))?;
        write!(f, "RETURN {}", self.result)
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filter = match self {
            Self::Match { optional, paths, hints, filter } => {
                f.write_str(if *optional { "OPTIONAL MATCH " } else { "MATCH " })?;
                separated(f, ", ", paths)?;
                hints.iter().try_for_each(|hint| write!(f, " USING {hint}"))?;
                filter
            }
            Self::Unwind { elements, name } => {
                f.write_str("UNWIND [")?;
                separated(f, ", ", elements)?;
                write!(f, "] AS {name}")?;
                &None
            }
            Self::With { projection, filter } => {
                write!(f, "WITH {projection}")?;
                filter
            }
        };
        filter.as_ref().map_or(Ok(()), |filter| write!(f, " WHERE {filter}"))
    }
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(node) => write!(f, "JOIN ON {node}"),
            Self::Index(node, label, key) => write!(f, "INDEX {node}:{label}({key})"),
            Self::Scan(node, label) => write!(f, "SCAN {node}:{label}"),
        }
    }
}

impl fmt::Display for Projection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.distinct { "DISTINCT " } else { "" })?;
        separated(f, ", ", &self.items)?;
        if let Some(descending) = &self.order {
            f.write_str(" ORDER BY ")?;
            let keys = self.items.iter().zip(descending).map(|(item, descending)| {
                format!("{}{}", item.name, if *descending { " DESC" } else { "" })
            });
            separated(f, ", ", keys)?;
        }
        self.skip.map_or(Ok(()), |n| write!(f, " SKIP {n}"))?;
        self.limit.map_or(Ok(()), |n| write!(f, " LIMIT {n}"))
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            ItemValue::Expression(expression) => write!(f, "{expression}")?,
            ItemValue::CountRows => f.write_str("count(*)")?,
            ItemValue::Aggregate { function, distinct, of } => {
                let name = match function {
                    Function::Count => "count",
                    Function::Sum => "sum",
                    Function::Min => "min",
                    Function::Max => "max",
                    Function::Collect => "collect",
                };
                write!(f, "{name}({}{of})", if *distinct { "DISTINCT " } else { "" })?;
            }
        }
        write!(f, " AS {}", self.name)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.start)?;
        self.steps.iter().try_for_each(|(edge, node)| write!(f, "{edge}{node}"))
    }
}

impl fmt::Display for NodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}", self.name.as_deref().unwrap_or_default())?;
        self.labels.iter().try_for_each(|label| write!(f, ":{label}"))?;
        properties(f, &self.properties)?;
        f.write_str(")")
    }
}

impl fmt::Display for EdgePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.towards == Towards::Left { "<-[" } else { "-[" })?;
        f.write_str(self.name.as_deref().unwrap_or_default())?;
        for (i, ty) in self.types.iter().enumerate() {
            write!(f, "{}{ty}", if i == 0 { ":" } else { "|" })?;
        }
        self.length.map_or(Ok(()), |(min, max)| write!(f, "*{min}..{max}"))?;
        properties(f, &self.properties)?;
        f.write_str(if self.towards == Towards::Right { "]->" } else { "]-" })
    }
}

fn properties(f: &mut fmt::Formatter<'_>, list: &[(&str, Expression)]) -> fmt::Result {
    if list.is_empty() {
        return Ok(());
    }
    f.write_str(" {")?;
    separated(f, ", ", list.iter().map(|(key, value)| format!("{key}: {value}")))?;
    f.write_str("}")
}

pub(super) fn separated<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    separator: &str,
    list: impl IntoIterator<Item = T>,
) -> fmt::Result {
    for (i, element) in list.into_iter().enumerate() {
        write!(f, "{}{element}", if i == 0 { "" } else { separator })?;
    }
    Ok(())
}
