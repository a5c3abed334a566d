//! Results of algorithms: columns, and figures beside them.

use std::sync::Arc;

use telar_graph::value::heap_bytes_of;
use telar_graph::{Column, Value, VertexId};
use telar_query::procedure::{Chunk, RowBatch, RowSource};
use telar_query::{CallContext, QueryError};

use super::cycle_lists::CycleLists;
use super::procedure::{BATCH, Dialect};
use super::routes::Routes;
use super::tree_paths::TreePaths;

/// Entries of lists in a batch, unless a single row has more.
const CELLS: usize = 1 << 18;

/// One column of a result.
#[derive(Debug)]
pub(super) enum Data {
    /// Numbers of vertices of the projection.
    Vertices(Vec<u32>),
    /// Every vertex of the projection, in order.
    EveryVertex,
    /// Integers.
    Ints(Vec<i64>),
    /// Numbers that are not negative.
    Counts(Vec<u32>),
    /// Floats.
    Floats(Vec<f64>),
    /// Floats, of which NaN stands for null.
    FloatsOrNull(Vec<f64>),
    /// Truth values.
    Bools(Vec<bool>),
    /// Lists of vertices of the projection.
    Paths(Vec<Vec<u32>>),
    /// Paths of a tree, made when they are read.
    TreePaths(Arc<TreePaths>),
    /// Costs along these paths.
    TreeCosts(Arc<TreePaths>),
    /// Nodes of cycles.
    CycleNodes(Arc<CycleLists>),
    /// Relationships of the same cycles.
    CycleRelationships(Arc<CycleLists>),
    /// Paths through the database, of so many rows, which [`Routes`] makes when they are read.
    Routes(usize),
    /// Any values.
    Values(Vec<Value>),
}

/// Result of an algorithm.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// As many columns as the algorithm says; each has as many rows as the others.
    pub(super) columns: Vec<Data>,
    /// As many figures as the algorithm says.
    pub(super) figures: Vec<Value>,
}

impl Output {
    /// One value for each vertex.
    pub(super) fn of_vertices(values: Data) -> Self {
        Self { columns: vec![Data::EveryVertex, values], figures: Vec::new() }
    }

    /// The same with figures.
    pub(super) fn with(self, figures: Vec<Value>) -> Self {
        Self { figures, ..self }
    }
}

/// A count as a value.
pub(super) fn count(n: u64) -> Value {
    Value::try_from(n).unwrap_or_default()
}

impl Data {
    /// Number of rows, of which `EveryVertex` has `vertices`.
    pub(super) fn len(&self, vertices: usize) -> usize {
        match self {
            Self::EveryVertex => vertices,
            Self::Vertices(list) | Self::Counts(list) => list.len(),
            Self::Ints(list) => list.len(),
            Self::Floats(list) | Self::FloatsOrNull(list) => list.len(),
            Self::Bools(list) => list.len(),
            Self::Paths(list) => list.len(),
            Self::TreePaths(paths) | Self::TreeCosts(paths) => paths.targets().len(),
            Self::CycleNodes(cycles) | Self::CycleRelationships(cycles) => cycles.len(),
            Self::Routes(rows) => *rows,
            Self::Values(list) => list.len(),
        }
    }

    /// Bytes that the column takes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::EveryVertex => 0,
            Self::Vertices(list) | Self::Counts(list) => size_of_val(&**list),
            Self::Ints(list) => size_of_val(&**list),
            Self::Floats(list) | Self::FloatsOrNull(list) => size_of_val(&**list),
            Self::Bools(list) => size_of_val(&**list),
            Self::Paths(list) => list.iter().map(|path| 24 + size_of_val(&**path)).sum(),
            Self::TreePaths(paths) => paths.bytes(),
            Self::CycleNodes(cycles) => cycles.bytes(),
            // Shared with the paths or nodes.
            Self::TreeCosts(_) | Self::CycleRelationships(_) | Self::Routes(_) => 0,
            Self::Values(list) => size_of_val(&**list) + heap_bytes_of(list),
        }
    }

    /// Entries of the list in a row.
    fn cells(&self, row: usize) -> usize {
        match self {
            Self::Paths(list) => list[row].len(),
            Self::TreePaths(paths) | Self::TreeCosts(paths) => paths.length(row),
            Self::CycleNodes(cycles) | Self::CycleRelationships(cycles) => {
                cycles.vertices(row).len()
            }
            Self::Values(list) => match &list[row] {
                Value::List(list) => list.len(),
                _ => 1,
            },
            _ => 1,
        }
    }

    /// Rows `from..to` as a column.
    pub(super) fn column(&self, from: usize, to: usize, nodes: &Nodes<'_>) -> Column {
        match self {
            Self::EveryVertex => nodes.column(from as u32..to as u32),
            Self::Vertices(list) => nodes.column(list[from..to].iter().copied()),
            Self::Ints(list) => list[from..to].to_vec().into(),
            Self::Counts(list) => {
                list[from..to].iter().map(|n| i64::from(*n)).collect::<Vec<i64>>().into()
            }
            Self::Floats(list) => list[from..to].to_vec().into(),
            Self::Bools(list) => list[from..to].to_vec().into(),
            Self::Routes(_) => Column::nulls(to - from),
            _ => Column::of((from..to).map(|row| self.value(row, nodes)).collect()),
        }
    }

    /// Value of a row.
    pub(super) fn value(&self, row: usize, nodes: &Nodes<'_>) -> Value {
        match self {
            Self::EveryVertex => nodes.value(row as u32),
            Self::Vertices(list) => nodes.value(list[row]),
            Self::Ints(list) => Value::Int(list[row]),
            Self::Counts(list) => Value::Int(list[row].into()),
            Self::Floats(list) => Value::Float(list[row]),
            Self::FloatsOrNull(list) if list[row].is_nan() => Value::Null,
            Self::FloatsOrNull(list) => Value::Float(list[row]),
            Self::Bools(list) => Value::Bool(list[row]),
            Self::Paths(list) => Value::List(list[row].iter().map(|v| nodes.value(*v)).collect()),
            Self::TreePaths(paths) => {
                Value::list(paths.path(row).into_iter().map(|v| nodes.value(v)))
            }
            Self::TreeCosts(paths) => {
                let distances = &paths.tree().distances;
                Value::list(
                    paths.path(row).into_iter().map(|v| Value::Float(distances[v as usize])),
                )
            }
            Self::CycleNodes(cycles) => {
                Value::List(cycles.vertices(row).iter().map(|v| nodes.value(*v)).collect())
            }
            Self::CycleRelationships(cycles) => Value::list(cycles.relationships(row)),
            Self::Routes(_) => Value::Null,
            Self::Values(list) => list[row].clone(),
        }
    }

    /// Numbers in the column, for its distribution.
    pub(super) fn numbers(&self) -> Vec<f64> {
        match self {
            Self::Ints(list) => list.iter().map(|n| *n as f64).collect(),
            Self::Counts(list) => list.iter().map(|n| f64::from(*n)).collect(),
            Self::Floats(list) | Self::FloatsOrNull(list) => {
                list.iter().copied().filter(|n| !n.is_nan()).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Nodes of a projection, and how they are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nodes<'a>(pub(super) &'a [VertexId], pub(super) Dialect);

impl Nodes<'_> {
    fn value(&self, v: u32) -> Value {
        let node = self.0[v as usize];
        match self.1 {
            Dialect::Algo => Value::Vertex(node),
            Dialect::Gds => count(node.get()),
        }
    }

    fn column(&self, vertices: impl Iterator<Item = u32>) -> Column {
        let nodes = vertices.map(|v| self.0[v as usize]);
        match self.1 {
            Dialect::Algo => nodes.collect::<Vec<VertexId>>().into(),
            Dialect::Gds => nodes.map(|node| node.get() as i64).collect::<Vec<i64>>().into(),
        }
    }
}

/// A result as rows.
#[derive(Debug)]
pub(super) struct OutputRows {
    pub(super) nodes: Arc<[VertexId]>,
    pub(super) dialect: Dialect,
    pub(super) columns: Vec<Data>,
    pub(super) next: usize,
    /// Makes the column of paths, if there is one.
    pub(super) routes: Option<Routes>,
}

impl OutputRows {
    /// Rows of the library, without paths.
    pub(super) fn of(nodes: Arc<[VertexId]>, columns: Vec<Data>) -> Self {
        Self { nodes, dialect: Dialect::Gds, columns, next: 0, routes: None }
    }

    /// Number of rows.
    pub(super) fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.len(self.nodes.len()))
    }

    /// The next rows: at most so many, and fewer if their lists are long.
    fn batch(&mut self, most: usize, call: &CallContext<'_>) -> Result<RowBatch, QueryError> {
        let (from, end) = (self.next, self.len().min(self.next + most));
        let (mut to, mut cells) = (from, 0);
        while to < end {
            cells += self.columns.iter().map(|data| data.cells(to)).sum::<usize>();
            if to > from && cells > CELLS {
                break;
            }
            to += 1;
        }
        self.next = to;
        let nodes = Nodes(&self.nodes, self.dialect);
        let columns = self.columns.iter().map(|data| data.column(from, to, &nodes));
        let mut columns: Vec<Column> = columns.collect();
        if let Some(routes) = self.routes.as_ref().filter(|routes| call.uses_column(routes.at)) {
            columns[routes.at] = routes.column(from..to, (&self.columns, &self.nodes), call)?;
        }
        Ok(RowBatch::new(columns))
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes) + self.columns.iter().map(Data::bytes).sum::<usize>()
    }
}

impl RowSource for OutputRows {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        call.check()?;
        let batch = self.batch(BATCH, call)?;
        Ok(if self.next < self.len() { Chunk::More(batch) } else { Chunk::Last(batch) })
    }

    fn bytes(&self) -> usize {
        OutputRows::bytes(self)
    }
}
