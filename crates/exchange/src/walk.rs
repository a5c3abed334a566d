//! All nodes and relationships of a database, with their properties.

use telar_db::query::{ErrorKind, QueryError};
use telar_db::{
    Database, Direction, EdgeId, Expansion, Lists, PropertyKeyId, Reader, Value, VertexId, View,
    column::Column,
};

/// Vertices that are read at once.
const PIECE: usize = 1 << 12;

/// A node as it is written.
pub(crate) struct Node<'a> {
    pub(crate) id: u64,
    pub(crate) labels: Vec<&'a str>,
    pub(crate) properties: Vec<(&'a str, Value)>,
}

/// A relationship as it is written.
pub(crate) struct Relationship<'a> {
    pub(crate) ty: &'a str,
    pub(crate) ends: [u64; 2],
    pub(crate) properties: Vec<(&'a str, Value)>,
}

/// A database at one commit.
pub(crate) struct Walk<'d> {
    reader: Reader<'d>,
    keys: Vec<(PropertyKeyId, String)>,
    labels: Vec<String>,
    types: Vec<String>,
    pub(crate) vertices: Vec<VertexId>,
}

type Done = Result<(), QueryError>;

impl<'d> Walk<'d> {
    pub(crate) fn new(db: &'d Database) -> Result<Self, QueryError> {
        let reader = db.reader().map_err(|error| {
            QueryError::runtime(ErrorKind::Database, "DatabaseError", error.to_string())
        })?;
        let keys = db.property_keys().into_iter();
        let keys = keys.filter_map(|name| Some((db.find_property_key(&name)?, name))).collect();
        let types = db.edge_types().into_iter().map(|(name, _)| name).collect();
        let mut vertices = Vec::new();
        reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut vertices)?;
        Ok(Self { reader, keys, labels: db.labels(), types, vertices })
    }

    /// Properties of rows, of which `read` gives a column for each key.
    fn properties(
        &self,
        rows: usize,
        read: impl Fn(PropertyKeyId, &mut Column) -> Result<(), telar_db::ReadError>,
    ) -> Result<Vec<Vec<(&str, Value)>>, QueryError> {
        let mut all: Vec<Vec<(&str, Value)>> = (0..rows).map(|_| Vec::new()).collect();
        for (key, name) in &self.keys {
            let mut column = Column::packed();
            read(*key, &mut column)?;
            for (row, properties) in all.iter_mut().enumerate() {
                if !column.is_null(row) {
                    properties.push((name, column.get(row)));
                }
            }
        }
        Ok(all)
    }

    pub(crate) fn nodes(&self, mut each: impl FnMut(Node<'_>) -> Done) -> Done {
        let mut sets = Lists::default();
        for piece in self.vertices.chunks(PIECE) {
            View::labels(&self.reader, piece, &mut sets)?;
            let all = self.properties(piece.len(), |key, column| {
                self.reader.vertex_properties(piece, key, column)
            })?;
            for ((vertex, set), properties) in piece.iter().zip(sets.iter()).zip(all) {
                let name = |label: &telar_db::LabelId| {
                    self.labels.get(usize::from(label.get())).map(String::as_str)
                };
                let labels = set.iter().filter_map(name).collect();
                each(Node { id: vertex.get(), labels, properties })?;
            }
        }
        Ok(())
    }

    pub(crate) fn relationships(
        &self,
        db: &Database,
        mut each: impl FnMut(Relationship<'_>) -> Done,
    ) -> Done {
        let mut found = Expansion::default();
        for ty in &self.types {
            let Some(id) = db.find_edge_type(ty) else { continue };
            for sources in self.vertices.chunks(PIECE) {
                self.reader.expand(sources, id, Direction::Out, &mut found)?;
                let mut edges = Vec::with_capacity(found.neighbours.len());
                for (place, src) in sources.iter().enumerate() {
                    for at in found.offsets[place] as usize..found.offsets[place + 1] as usize {
                        let (dst, ordinal) = (found.neighbours[at], found.ordinals[at]);
                        edges.push(EdgeId { ty: id, src: *src, dst, ordinal });
                    }
                }
                for edges in edges.chunks(PIECE) {
                    let all = self.properties(edges.len(), |key, column| {
                        self.reader.edge_properties(edges, key, column)
                    })?;
                    for (edge, properties) in edges.iter().zip(all) {
                        let ends = [edge.src.get(), edge.dst.get()];
                        each(Relationship { ty, ends, properties })?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Statements that make the constraints and indexes of a database.
pub(crate) fn schema(db: &Database) -> Result<Vec<String>, QueryError> {
    telar_files::folder::schema(db)
}
