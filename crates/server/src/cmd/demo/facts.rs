//! The imported graph as the scripts see it.

use telar_db::{Database, Direction, EdgeTypeId, Error, LabelId, Reader, VertexId, View};

use super::edges::{self, Edge};

/// Label of the vertices that count each writer's commits.
pub(super) const WRITER_LABEL: &str = "Writer";
/// Property in which a writer's vertex keeps how many transactions the writer has committed.
pub(super) const DONE_KEY: &str = "done";
/// Property that counts a vertex's likes.
pub(super) const LIKES_KEY: &str = "likes";
/// Property of the edges that writers add.
pub(super) const SINCE_KEY: &str = "since";

/// What a script depends on.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Facts {
    /// Engine numbers of all imported vertices, ascending.
    pub(super) vertices: Vec<u32>,
    /// All imported edges, sorted; parallel ones repeated.
    pub(super) edges: Vec<Edge>,
    /// Each edge stands for both directions and leads from the smaller number to the larger.
    pub(super) undirected: bool,
    /// The edge type holds one edge per pair and no properties.
    pub(super) simple: bool,
}

impl Facts {
    /// Reads the facts back from the database.
    pub(super) fn read(
        db: &Database,
        label: LabelId,
        ty: EdgeTypeId,
        undirected: bool,
    ) -> Result<Self, telar_db::Error> {
        let reader = db.reader()?;
        let types = db.edge_types();
        let mut edges = edges::list(&reader.adjacency(ty, Direction::Out)?);
        edges.sort_unstable();
        Ok(Self {
            vertices: numbers_of(&reader, label)?,
            edges,
            undirected,
            simple: types.get(usize::from(ty.get())).is_some_and(|(_, kind)| kind.simple),
        })
    }
}

/// The numbers of the vertices with `label`, ascending.
pub(super) fn numbers_of(reader: &Reader<'_>, label: LabelId) -> Result<Vec<u32>, Error> {
    let mut found = Vec::new();
    reader.scan(Some(label), VertexId::from_raw(0), reader.vertex_bound(), &mut found)?;
    Ok(found.into_iter().map(number_of).collect())
}

/// The engine's number of a vertex.
///
/// # Panics
/// Never: vertex ids of this engine have 32 bits.
pub(super) fn number_of(vertex: VertexId) -> u32 {
    u32::try_from(vertex.get()).expect("INVARIANT: vertex ids have 32 bits")
}

/// The id of an engine number.
pub(super) fn id_of(number: u32) -> VertexId {
    VertexId::from_raw(number.into())
}
