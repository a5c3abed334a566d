//! Results as they come: who wants rows one batch after the other, and holds none.

mod columns;

use std::borrow::Cow;
use std::sync::Arc;

use telar_graph::{CommitTs, EdgeId, Graph, Value, VertexId};

use crate::batch::{BATCH_ROWS, Column};
use crate::description::PlanDescription;
use crate::entities::{Entities, Live, Names, Node, Relationship};
use crate::exec::Exec;
use crate::exec::memory::Held;
use crate::files::EntityReader;
use crate::notification::Notification;
use crate::query_error::QueryError;
use crate::result::{Counters, QueryResult, StatementKind};

pub use columns::Columns;

/// Takes the rows of a result as they come. The query goes on when a call returns: one that blocks
/// holds it back, and an error ends it.
pub trait Sink {
    /// Names of the columns: called once, before the first row, and if there are no rows.
    ///
    /// # Errors
    /// Whatever is to end the query.
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError>;

    /// The next rows, at least one.
    ///
    /// # Errors
    /// Whatever is to end the query.
    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError>;

    /// What the query did is committed, and its rows follow: nothing can undo it any more. Not
    /// called for a query that only reads.
    fn committed(&mut self) {}

    /// Whether it wants no more rows: a query that only reads then ends as if there were none.
    fn has_enough(&self) -> bool {
        false
    }

    /// True if it takes whole columns ([`Rows::column`]) and looks at each text once: texts are
    /// then copied out of storage ([`Column::Packed`]) and not shared with it. To ask for single
    /// values of such columns is slow.
    fn takes_columns(&self) -> bool {
        false
    }
}

/// Some rows of a result, and what the nodes and relationships in them are.
#[derive(Debug)]
pub struct Rows<'a>(Source<'a>);

enum Source<'a> {
    /// A batch of a query that runs.
    Live { columns: &'a [Arc<Column>], graph: &'a dyn Graph, names: &'a Names, read: Live },
    /// What was kept of one that ended.
    Kept { rows: &'a [Vec<Value>], entities: &'a Entities },
    /// The same, column by column.
    Columns(&'a Columns),
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Live { columns, .. } => f.debug_tuple("Live").field(columns).finish(),
            Self::Kept { rows, .. } => f.debug_tuple("Kept").field(rows).finish(),
            Self::Columns(columns) => f.debug_tuple("Columns").field(columns).finish(),
        }
    }
}

impl<'a> Rows<'a> {
    /// A batch with at least one column.
    fn live(columns: &'a [Arc<Column>], graph: &'a dyn Graph, names: &'a Names) -> Self {
        Self(Source::Live { columns, graph, names, read: Live::new(columns) })
    }

    fn kept(rows: &'a [Vec<Value>], entities: &'a Entities) -> Self {
        Self(Source::Kept { rows, entities })
    }

    pub(crate) fn columns(columns: &'a Columns) -> Self {
        Self(Source::Columns(columns))
    }

    /// How many there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a sink is never given none")]
    pub fn len(&self) -> usize {
        match &self.0 {
            Source::Live { columns, .. } => columns.first().map_or(0, |column| column.len()),
            Source::Kept { rows, .. } => rows.len(),
            Source::Columns(columns) => columns.row_count(),
        }
    }

    /// Number of columns.
    pub(crate) fn width(&self) -> usize {
        match &self.0 {
            Source::Live { columns, .. } => columns.len(),
            Source::Kept { rows, .. } => rows.first().map_or(0, Vec::len),
            Source::Columns(columns) => columns.names().len(),
        }
    }

    /// The value in a row and column.
    ///
    /// # Panics
    /// If there is no such row or column.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Value {
        match &self.0 {
            Source::Live { columns, .. } => columns[column].get(row),
            Source::Kept { rows, .. } => rows[row][column].clone(),
            Source::Columns(columns) => columns.column(column).get(row),
        }
    }

    /// A whole column: of one type, if its values are.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn column(&self, column: usize) -> Cow<'_, Column> {
        match &self.0 {
            Source::Live { columns, .. } => Cow::Borrowed(&columns[column]),
            Source::Kept { rows, .. } => {
                Cow::Owned(Column::of(rows.iter().map(|row| row[column].clone()).collect()))
            }
            Source::Columns(columns) => Cow::Borrowed(columns.column(column)),
        }
    }

    /// Labels and properties of a node in the rows; of one that is gone, none. Nodes of the rows
    /// that follow are read along with it.
    ///
    /// # Errors
    /// If the graph cannot be read.
    pub fn node(&self, vertex: VertexId) -> Result<Arc<Node>, QueryError> {
        match &self.0 {
            Source::Live { graph, names, read, .. } => Ok(read.node(vertex, *graph, names)?),
            Source::Kept { entities, .. } => {
                Ok(entities.nodes.get(&vertex).cloned().unwrap_or_default().into())
            }
            Source::Columns(columns) => Ok(columns.node(vertex).cloned().unwrap_or_default()),
        }
    }

    /// Type and properties of a relationship in the rows; of one that is gone, no properties.
    ///
    /// # Errors
    /// If the graph cannot be read.
    pub fn relationship(&self, edge: EdgeId) -> Result<Arc<Relationship>, QueryError> {
        match &self.0 {
            Source::Live { graph, names, read, .. } => Ok(read.relationship(edge, *graph, names)?),
            Source::Kept { entities, .. } => {
                Ok(entities.relationships.get(&edge).cloned().unwrap_or_default().into())
            }
            Source::Columns(columns) => {
                Ok(columns.relationship(&edge).cloned().unwrap_or_default())
            }
        }
    }
}

impl EntityReader for Rows<'_> {
    fn node(&self, vertex: VertexId) -> Result<Arc<Node>, QueryError> {
        Rows::node(self, vertex)
    }

    fn relationship(&self, edge: EdgeId) -> Result<Arc<Relationship>, QueryError> {
        Rows::relationship(self, edge)
    }
}

/// Where a plan that runs puts its rows.
pub(crate) trait Output {
    fn columns(&mut self, columns: Vec<Arc<str>>) -> Result<(), QueryError>;

    /// Rows of at least one column.
    fn rows(&mut self, rows: &[Arc<Column>], cx: &mut Exec<'_>) -> Result<(), QueryError>;

    /// Whether the rows that may follow are of no use.
    fn has_enough(&self) -> bool {
        false
    }

    /// As [`Sink::takes_columns`].
    fn takes_columns(&self) -> bool {
        false
    }

    /// Called after the last row.
    fn end(&mut self, cx: &mut Exec<'_>) -> Result<(), QueryError>;
}

/// Hands rows on.
pub(crate) struct Streamed<'s> {
    sink: &'s mut dyn Sink,
    names: Names,
}

impl<'s> Streamed<'s> {
    pub(crate) fn new(sink: &'s mut dyn Sink) -> Self {
        Self { sink, names: Names::default() }
    }
}

impl Output for Streamed<'_> {
    fn columns(&mut self, columns: Vec<Arc<str>>) -> Result<(), QueryError> {
        self.sink.columns(&columns)
    }

    fn rows(&mut self, rows: &[Arc<Column>], cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let graph = cx.graph();
        self.sink.rows(&Rows::live(rows, graph, &self.names))
    }

    fn has_enough(&self) -> bool {
        self.sink.has_enough()
    }

    fn takes_columns(&self) -> bool {
        self.sink.takes_columns()
    }

    fn end(&mut self, _: &mut Exec<'_>) -> Result<(), QueryError> {
        Ok(())
    }
}

/// Keeps all rows.
pub(crate) struct Kept {
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) rows: Vec<Vec<Value>>,
    pub(crate) entities: Entities,
    held: Held,
}

impl Default for Kept {
    fn default() -> Self {
        let (columns, rows, entities) = (Vec::new(), Vec::new(), Entities::default());
        Self { columns, rows, entities, held: Held::of("ProduceResults") }
    }
}

impl Output for Kept {
    fn columns(&mut self, columns: Vec<Arc<str>>) -> Result<(), QueryError> {
        self.columns = columns;
        Ok(())
    }

    fn rows(&mut self, rows: &[Arc<Column>], cx: &mut Exec<'_>) -> Result<(), QueryError> {
        cx.check()?;
        let (len, rooms) = (rows[0].len(), self.rows.capacity());
        self.rows.reserve(len);
        for row in 0..len {
            self.rows.push(rows.iter().map(|column| column.get(row)).collect());
        }
        // The lists of rows and of values, and what the system adds to each.
        let rooms = (self.rows.capacity() - rooms) * size_of::<Vec<Value>>();
        let values = len * (rows.len() * size_of::<Value>() + 16);
        self.held.grow(rooms + values + rows.iter().map(|c| c.heap_bytes()).sum::<usize>(), cx)
    }

    fn end(&mut self, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let Self { rows, entities, held, .. } = self;
        let cx = &*cx;
        entities.read(rows, cx.graph(), |bytes| {
            cx.check_now()?;
            held.grow(bytes, cx)
        })
    }
}

/// What there is to say of a query once its rows are out.
#[derive(Debug, Clone, PartialEq)]
pub struct Summary {
    /// What the statement may do.
    pub kind: StatementKind,
    /// What was changed.
    pub counters: Counters,
    /// As [`QueryResult::at`].
    pub at: CommitTs,
    /// The plan, where it was asked for.
    pub plan: Option<PlanDescription>,
    /// What is probably not meant as it is written.
    pub notifications: Vec<Notification>,
}

impl QueryResult {
    /// Hands a whole result on, in batches.
    ///
    /// # Errors
    /// Those of the sink.
    pub fn send(self, sink: &mut dyn Sink) -> Result<Summary, QueryError> {
        sink.columns(&self.columns)?;
        for rows in self.rows.chunks(BATCH_ROWS) {
            if sink.has_enough() {
                break;
            }
            sink.rows(&Rows::kept(rows, &self.entities))?;
        }
        let Self { kind, counters, at, plan, notifications, .. } = self;
        Ok(Summary { kind, counters, at, plan, notifications })
    }
}
