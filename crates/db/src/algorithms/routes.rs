//! Paths through the database along the nodes of a row: the column `path`.
//!
//! Kernels know nodes and costs. A path has the relationship from each node to the next one, of the
//! types and in the directions that were chosen; of parallel ones that whose weight is the cost of
//! the step. It is null where there is none: relationships that only a named graph holds are not in
//! the database, and in the order of a search two nodes can follow each other that no relationship
//! connects.
//!
//! Relationships are looked up batch by batch, and only where the column is used.

use std::collections::HashMap;
use std::ops::Range;

use telar_graph::value::Path;
use telar_graph::{
    Column, Direction, EdgeId, EdgeTypeId, Expansion, PropertyKeyId, Value, VertexId,
};
use telar_query::{CallContext, QueryError};

use super::algorithm::{Algorithm, Kind};
use super::output::{Data, Nodes};
use super::procedure::Dialect;
use super::projection::Chosen;

/// Steps that are looked up at once.
const BATCH: usize = 2048;

/// Maker of a column of paths.
#[derive(Debug)]
pub(super) struct Routes {
    /// Column of the paths.
    pub(super) at: usize,
    /// Column of their nodes.
    nodes: usize,
    /// Column of the costs from the first node to each.
    costs: Option<usize>,
    parts: Vec<(EdgeTypeId, Direction)>,
    /// Property that is the weight, and the weight of relationships without it.
    weight: Option<(PropertyKeyId, f64)>,
}

/// A step from one node to the next.
type Step = (VertexId, VertexId);

/// A relationship, and how far its weight is from the cost of the step.
type Found = (EdgeId, f64);

impl Routes {
    /// Maker of the algorithm's column of paths, if it has one.
    pub(super) fn of(algorithm: &Algorithm, chosen: &Chosen) -> Option<Self> {
        let column = |kind: Kind| algorithm.columns.iter().position(|column| column.1 == kind);
        let (at, nodes, costs) = (column(Kind::Path)?, column(Kind::Nodes)?, column(Kind::Floats));
        Some(Self { at, nodes, costs, parts: chosen.parts(), weight: chosen.stored_weight() })
    }

    /// Paths of some rows of a result.
    pub(super) fn column(
        &self,
        rows: Range<usize>,
        (columns, nodes): (&[Data], &[VertexId]),
        call: &CallContext<'_>,
    ) -> Result<Column, QueryError> {
        let nodes = Nodes(nodes, Dialect::Algo);
        let list = |column: usize, row: usize| match columns[column].value(row, &nodes) {
            Value::List(list) => list,
            _ => [].into_iter().collect(),
        };
        let mut steps: HashMap<Step, f64> = HashMap::new();
        let mut all: Vec<Vec<VertexId>> = Vec::with_capacity(rows.len());
        for row in rows {
            let visited: Vec<VertexId> = list(self.nodes, row).iter().filter_map(vertex).collect();
            let costs = self.costs.map(|column| list(column, row));
            for (at, step) in visited.windows(2).enumerate() {
                let cost = |at: usize| match costs.as_ref().and_then(|costs| costs.get(at)) {
                    Some(Value::Float(cost)) => *cost,
                    _ => 0.0,
                };
                steps.insert((step[0], step[1]), cost(at + 1) - cost(at));
            }
            all.push(visited);
        }
        let found = self.relationships(&steps, call)?;
        let path = |visited: Vec<VertexId>| {
            let edges = visited.windows(2).map(|step| found.get(&(step[0], step[1])));
            let edges: Option<Vec<EdgeId>> = edges.map(|found| found.map(|(id, _)| *id)).collect();
            let path = Path::walk(*visited.first()?, edges?)?;
            // A relationship that leads both ways is walked the way it leads.
            (path.vertices() == visited).then(|| Value::from(path))
        };
        Ok(Column::of(all.into_iter().map(|visited| path(visited).unwrap_or_default()).collect()))
    }

    /// A relationship for each step that has one.
    fn relationships(
        &self,
        steps: &HashMap<Step, f64>,
        call: &CallContext<'_>,
    ) -> Result<HashMap<Step, Found>, QueryError> {
        let graph = call.graph();
        let mut found: HashMap<Step, Found> = HashMap::with_capacity(steps.len());
        let mut wanted: Vec<(Step, f64)> =
            steps.iter().map(|(step, cost)| (*step, *cost)).collect();
        wanted.sort_unstable_by_key(|(step, _)| *step);
        let mut between = Expansion::default();
        for some in wanted.chunks(BATCH) {
            call.check()?;
            for (ty, direction) in &self.parts {
                let pair = |((from, to), _): &(Step, f64)| match direction {
                    Direction::Out => (*from, *to),
                    Direction::In => (*to, *from),
                };
                let pairs: Vec<Step> = some.iter().map(pair).collect();
                graph.edges_between(&pairs, *ty, &mut between)?;
                let mut edges = Vec::with_capacity(between.ordinals.len());
                let mut owners = Vec::with_capacity(between.ordinals.len());
                for (at, (src, dst)) in pairs.iter().enumerate() {
                    for place in between.offsets[at] as usize..between.offsets[at + 1] as usize {
                        let ordinal = between.ordinals[place];
                        edges.push(EdgeId { ty: *ty, src: *src, dst: *dst, ordinal });
                        owners.push(at);
                    }
                }
                let weights = self.weights(&edges, call)?;
                for ((edge, owner), weight) in edges.into_iter().zip(owners).zip(weights) {
                    let (step, cost) = some[owner];
                    let distance = (weight - cost).abs();
                    match found.get(&step) {
                        Some((_, least)) if *least <= distance => {}
                        _ => _ = found.insert(step, (edge, distance)),
                    }
                }
            }
        }
        Ok(found)
    }

    /// Weights of relationships.
    fn weights(&self, edges: &[EdgeId], call: &CallContext<'_>) -> Result<Vec<f64>, QueryError> {
        let Some((key, default)) = self.weight else { return Ok(vec![1.0; edges.len()]) };
        let mut column = Column::default();
        call.graph().edge_properties(edges, key, &mut column)?;
        let weight = |row| match column.get(row) {
            Value::Float(weight) => weight,
            Value::Int(weight) => weight as f64,
            _ => default,
        };
        Ok((0..edges.len()).map(weight).collect())
    }
}

fn vertex(value: &Value) -> Option<VertexId> {
    match value {
        Value::Vertex(node) => Some(*node),
        _ => None,
    }
}
