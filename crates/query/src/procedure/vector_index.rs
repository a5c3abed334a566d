//! `db.index.vector.*`: the nearest objects of a vector index, and vector indexes made by calls.

use std::sync::Arc;

use telar_graph::{Column, IndexKind, Similarity, Value};

use super::index_query::{self, Hits};
use super::nearest::{Filter, Objects, Search};
use super::rows::RowSource;
use super::show::Shown;
use super::{CallContext, Field, Mode, Procedure, Procedures, Rows, known};
use crate::error::describe;
use crate::function::vector::Ranked;
use crate::ops;
use crate::query_error::{ErrorKind, QueryError};
use crate::schema::CreateParts;

/// Greatest number of hits that can be asked for.
const WANTED_MAX: i64 = 1 << 20;

pub(super) fn add(procedures: &mut Procedures) {
    for nodes in [true, false] {
        let query = QueryIndex::new(nodes);
        procedures.add(query.name(), Arc::new(query));
        add_create(procedures, nodes);
    }
}

/// `db.index.vector.createNodeIndex`, or of relationships.
fn add_create(procedures: &mut Procedures, nodes: bool) {
    let (name, of, description) = match nodes {
        true => ("db.index.vector.createNodeIndex", "label", "Creates a vector index of nodes."),
        false => (
            "db.index.vector.createRelationshipIndex",
            "relationshipType",
            "Creates a vector index of relationships.",
        ),
    };
    let arguments = vec![
        Field::new("indexName", "STRING"),
        Field::new(of, "STRING"),
        Field::new("propertyKey", "STRING"),
        Field::new("vectorDimension", "INTEGER"),
        Field::new("vectorSimilarityFunction", "STRING"),
    ];
    let run = move |call: &mut CallContext<'_>, arguments: &[Value]| {
        let [
            Value::String(index),
            Value::String(label),
            Value::String(key),
            dimensions,
            similarity,
        ] = arguments
        else {
            let message = format!("{name}(): name, {of} and property key must not be null");
            return Err(QueryError::runtime(
                ErrorKind::ProcedureFailed,
                "ProcedureCallFailed",
                message,
            ));
        };
        let config = Value::map([
            ("vector.dimensions", dimensions.clone()),
            ("vector.similarity_function", similarity.clone()),
        ]);
        let create = CreateParts {
            kind: IndexKind::Vector,
            name: None,
            if_not_exists: false,
            nodes,
            labels: vec![Arc::clone(label)],
            keys: vec![Arc::clone(key)],
            filters: Vec::new(),
            options: None,
        };
        let options = Value::map([("indexConfig", config)]);
        call.changes()?.create_parts(&create, index, &options)?;
        Ok(known(Rows::new()))
    };
    let shown = Shown::of(Mode::Schema, description, arguments, Vec::new(), run);
    procedures.add(name, Arc::new(shown));
}

/// `db.index.vector.queryNodes`, or of relationships.
struct QueryIndex {
    nodes: bool,
    arguments: [Field; 4],
    columns: [Field; 2],
}

fn invalid<T>(message: String) -> Result<T, QueryError> {
    Err(QueryError::runtime(ErrorKind::InvalidArguments, "InvalidArgumentValue", message))
}

impl QueryIndex {
    fn new(nodes: bool) -> Self {
        Self {
            nodes,
            arguments: [
                Field::new("indexName", "STRING"),
                Field::new("numberOfNearestNeighbours", "INTEGER"),
                Field::new("query", "ANY"),
                Field::new("options", "MAP").or(Value::map::<&str, Value>([])),
            ],
            columns: index_query::columns(nodes),
        }
    }

    fn name(&self) -> &'static str {
        match self.nodes {
            true => "db.index.vector.queryNodes",
            false => "db.index.vector.queryRelationships",
        }
    }

    fn fails<T>(&self, why: &str) -> Result<T, QueryError> {
        index_query::fails_argument(self.name(), why)
    }

    /// The vector that is sought.
    fn vector(
        &self,
        query: &Value,
        (dimensions, similarity): (Option<u16>, Similarity),
    ) -> Result<(Vec<f64>, Vec<f32>), QueryError> {
        let coordinates;
        let list = match query {
            Value::List(list) => &**list,
            Value::Vector(vector) => {
                coordinates = vector.to_values();
                &coordinates
            }
            other => {
                let found = describe(other);
                return self.fails(&format!("'query' must be a list of numbers, found {found}"));
            }
        };
        let mut numbers = Vec::with_capacity(list.len());
        for value in list.iter() {
            numbers.push(match value {
                Value::Float(x) => *x,
                Value::Int(x) => *x as f64,
                other => {
                    let found = describe(other);
                    return self
                        .fails(&format!("'query' must be a list of numbers, found {found}"));
                }
            });
        }
        if let Some(dimensions) = dimensions
            && numbers.len() != usize::from(dimensions)
        {
            return self.fails(&format!(
                "Index query vector has {} dimensions, but indexed vectors have {dimensions}.",
                numbers.len()
            ));
        }
        let narrow: Vec<f32> = numbers.iter().map(|x| *x as f32).collect();
        let square: f64 = numbers.iter().map(|x| x * x).sum();
        let is_usable = narrow.iter().all(|x| x.is_finite())
            && square.is_finite()
            && (similarity == Similarity::Euclidean || square > 0.0)
            && !numbers.is_empty();
        if is_usable {
            return Ok((numbers, narrow));
        }
        self.fails(match similarity {
            Similarity::Cosine => {
                "Index query vector must contain finite values, and have a positive, finite length."
            }
            Similarity::Euclidean => "Index query vector must contain finite values.",
        })
    }
}

/// The fourth argument.
#[derive(Default)]
struct Options {
    effort: usize,
    filter: Vec<Condition>,
}

/// A comparison of a property with a value.
#[derive(Debug, Clone, Copy)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Comparison {
    fn of(text: &str) -> Option<Self> {
        Some(match text {
            "=" => Self::Equal,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// True if it holds, as Cypher compares values.
    fn holds(self, left: &Value, right: &Value) -> bool {
        let compare = match self {
            Self::Equal => ops::eq,
            Self::Less => ops::lt,
            Self::LessOrEqual => ops::le,
            Self::Greater => ops::gt,
            Self::GreaterOrEqual => ops::ge,
        };
        compare(left, right) == Value::Bool(true)
    }

    /// Keeps the truth of those numbers, none of which is NaN, that it holds for.
    fn keep<T: PartialOrd + Copy>(self, numbers: &[T], than: T, passes: &mut [bool]) {
        let mut keep = |holds: fn(&T, &T) -> bool| {
            let both = numbers.iter().zip(passes.iter_mut());
            both.for_each(|(number, passes)| *passes &= holds(number, &than));
        };
        match self {
            Self::Equal => keep(T::eq),
            Self::Less => keep(T::lt),
            Self::LessOrEqual => keep(T::le),
            Self::Greater => keep(T::gt),
            Self::GreaterOrEqual => keep(T::ge),
        }
    }
}

/// A condition on a property.
struct Condition {
    key: Arc<str>,
    op: Comparison,
    value: Value,
}

impl Condition {
    /// The condition that `[key, operator, value]` is.
    fn of(value: &Value) -> Result<Self, QueryError> {
        let fails = || {
            let found = describe(value);
            invalid(format!(
                "the option `filter` is a list of [key, operator, value] with =, <, <=, > or >=, \
                 not of {found}"
            ))
        };
        let Value::List(parts) = value else { return fails() };
        let [Value::String(key), Value::String(op), value] = &parts[..] else { return fails() };
        let Some(op) = Comparison::of(op) else { return fails() };
        Ok(Self { key: Arc::clone(key), op, value: value.clone() })
    }

    /// Keeps the truth of those that it holds for, of objects of one kind.
    fn keep(
        &self,
        call: &CallContext<'_>,
        objects: Objects<'_>,
        passes: &mut [bool],
    ) -> Result<(), QueryError> {
        let graph = call.graph();
        let Some(key) = graph.find_property_key(&self.key) else {
            passes.fill(false);
            return Ok(());
        };
        let mut column = Column::default();
        match objects {
            Objects::Vertices(vertices) => graph.vertex_properties(vertices, key, &mut column)?,
            Objects::Edges(edges) => graph.edge_properties(edges, key, &mut column)?,
        }
        // PERF: crates/db/examples/vector_index.rs: a filter that few pass is asked of all.
        match (column.ints(), &self.value) {
            (Some(ints), Value::Int(than)) => self.op.keep(ints, *than, passes),
            _ => {
                for (row, passes) in passes.iter_mut().enumerate().filter(|(_, passes)| **passes) {
                    *passes = self.op.holds(&column.get(row), &self.value);
                }
            }
        }
        Ok(())
    }
}

impl Options {
    fn of(options: Option<&Value>) -> Result<Self, QueryError> {
        let mut found = Self::default();
        let options = match options {
            Some(Value::Map(map)) => map,
            None | Some(Value::Null) => return Ok(found),
            Some(other) => {
                return invalid(format!("the options are a MAP, not {}", describe(other)));
            }
        };
        for (key, value) in options.iter() {
            match (&**key, value) {
                (_, Value::Null) => {}
                ("effort", Value::Int(n @ 1..)) => {
                    found.effort = usize::try_from(*n).unwrap_or(usize::MAX);
                }
                ("effort", other) => {
                    let other = describe(other);
                    return invalid(format!(
                        "the option `effort` cannot be {other}: it is an INTEGER, 1 or more"
                    ));
                }
                ("filter", Value::List(conditions)) => {
                    found.filter =
                        conditions.iter().map(Condition::of).collect::<Result<_, _>>()?;
                }
                ("filter", other) => drop(Condition::of(other)?),
                _ => {
                    return invalid(format!(
                        "there is no option `{key}`: there are effort, filter"
                    ));
                }
            }
        }
        Ok(found)
    }
}

impl Procedure for QueryIndex {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        match self.nodes {
            true => "The nodes of a vector index whose vectors are nearest to one.",
            false => "The relationships of a vector index whose vectors are nearest to one.",
        }
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let [Value::String(name), Value::Int(wanted), query, options @ ..] = arguments else {
            return self.fails("'indexName' and 'numberOfNearestNeighbours' must not be null");
        };
        if !(1..=WANTED_MAX).contains(wanted) {
            return self.fails(&format!(
                "'numberOfNearestNeighbours' must be positive, {WANTED_MAX} at most, found {wanted}"
            ));
        }
        let Options { effort, filter } = Options::of(options.first())?;
        let asked = (self.name(), self.nodes);
        let parts = index_query::index(call, asked, IndexKind::Vector, name)?;
        let settings = parts[0].options.as_ref().and_then(|options| options.vector());
        let of = settings.map_or((None, Similarity::Cosine), |s| (s.dimensions, s.similarity));
        let (numbers, vector) = self.vector(query, of)?;
        let mut passing = |call: &CallContext<'_>, of: Objects<'_>, out: &mut Vec<bool>| {
            out.clear();
            out.resize(of.len(), true);
            filter.iter().try_for_each(|condition| condition.keep(call, of, out))
        };
        let passing: Option<&mut Filter<'_>> =
            if filter.is_empty() { None } else { Some(&mut passing) };
        let search = Search {
            parts: &parts,
            ranked: Ranked::new(of.1, numbers),
            vector: &vector,
            wanted: *wanted as usize,
            effort,
            filter: passing,
        };
        let hits = search.run(call)?;
        Ok(Box::new(Hits::new(hits.iter().map(|hit| (hit.object, hit.score)).collect())))
    }
}
