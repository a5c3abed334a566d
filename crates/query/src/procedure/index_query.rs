//! Parts of the procedures that ask full-text and vector indexes.

use telar_graph::update::IndexedObjects;
use telar_graph::view::IndexedObject;
use telar_graph::{IndexKind, SchemaRule, Value};

use super::rows::{Chunk, RowBatch, RowSource};
use super::{CallContext, Field, Rows};
use crate::batch::BATCH_ROWS;
use crate::query_error::{ErrorKind, QueryError};
use crate::schema::parts;

/// The columns of hits.
pub(super) fn columns(nodes: bool) -> [Field; 2] {
    let found = match nodes {
        true => Field::new("node", "NODE"),
        false => Field::new("relationship", "RELATIONSHIP"),
    };
    [found, Field::new("score", "FLOAT")]
}

/// Fails as Neo4j does where a procedure throws.
pub(super) fn fails<T>(procedure: &str, why: &str) -> Result<T, QueryError> {
    let message = format!("Failed to invoke procedure `{procedure}`: Caused by: {why}");
    Err(QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message))
}

/// As [`fails`], for an argument that is not right.
pub(super) fn fails_argument<T>(procedure: &str, why: &str) -> Result<T, QueryError> {
    fails(procedure, &format!("java.lang.IllegalArgumentException: {why}"))
}

/// The parts of the index of a kind with this name, on nodes or on relationships.
pub(super) fn index(
    call: &CallContext<'_>,
    (procedure, nodes): (&str, bool),
    kind: IndexKind,
    name: &str,
) -> Result<Vec<SchemaRule>, QueryError> {
    let rules = call.graph().schema_rules();
    let is_kind = |rule: &&SchemaRule| rule.kind == kind.into();
    let parts = parts(&rules, name).into_iter();
    let parts: Vec<SchemaRule> = parts.filter(is_kind).cloned().collect();
    let Some(first) = parts.first() else {
        let options = rules.iter().filter(is_kind).filter_map(|rule| rule.options.as_ref());
        let near = telar_cypher::suggest::closest(name, options.map(|options| &*options.of));
        let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
        let kind = kind.name().to_lowercase();
        let why = format!("There is no such {kind} schema index: {name}{near}");
        return fails_argument(procedure, &why);
    };
    let (is, other) = match first.objects {
        IndexedObjects::Vertices(_) => ("nodes", true),
        IndexedObjects::Edges(_) => ("relationships", false),
    };
    if other != nodes {
        let asked = if nodes { "nodes" } else { "relationships" };
        let why =
            format!("The '{name}' index is an index on {is}, so it cannot be queried for {asked}.");
        return fails_argument(procedure, &why);
    }
    Ok(parts)
}

/// Hits that are left to be given, each with its score.
pub(super) struct Hits<S> {
    hits: Vec<(IndexedObject, S)>,
    next: usize,
}

impl<S> Hits<S> {
    pub(super) fn new(hits: Vec<(IndexedObject, S)>) -> Self {
        Self { hits, next: 0 }
    }
}

impl<S: Copy + Into<f64> + Send + Sync> RowSource for Hits<S> {
    fn next(&mut self, _: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        let end = self.hits.len().min(self.next + BATCH_ROWS);
        let row = |(object, score): &(IndexedObject, S)| {
            let object = match *object {
                IndexedObject::Vertex(vertex) => Value::Vertex(vertex),
                IndexedObject::Edge(edge) => Value::Edge(edge.into()),
            };
            vec![object, Value::Float((*score).into())]
        };
        let rows: Rows = self.hits[self.next..end].iter().map(row).collect();
        self.next = end;
        let batch = RowBatch::try_from(rows)?;
        Ok(if end < self.hits.len() { Chunk::More(batch) } else { Chunk::Last(batch) })
    }

    fn bytes(&self) -> usize {
        self.hits.capacity() * size_of::<(IndexedObject, S)>()
    }
}
