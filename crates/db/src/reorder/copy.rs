//! Vertices, edges, indexes and constraints, from one database into another.

use std::collections::HashMap;

use telar_engine::{
    BulkLoad, BulkName, BulkOptions, BulkStep, Column, ConstraintSpec, EdgeOrder, EdgeTypeOptions,
    Engine, Error, IndexInfo, IndexSpec, IndexTarget, Isolation, Reader, SchemaKind,
};
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, LabelId, Lists, PropertyKeyId, ReadError, Value,
    VertexId, View,
};

use super::numbering::Numbering;
use super::{Names, ReorderError, Reordered};
use crate::import::ImportStage;

/// Edges of a transaction.
const BATCH: usize = 1 << 11;

/// Tells how far a stage is: done, and of how much.
type Step<'a> = &'a dyn Fn(ImportStage, u64, u64);

/// A copy under way.
pub(super) struct Copy<'a> {
    pub(super) reader: &'a Reader<'a>,
    pub(super) names: &'a Names,
    pub(super) numbering: &'a Numbering,
    pub(super) into: &'a Engine,
}

/// Numbers of the source's names in the load.
struct LoadNames {
    labels: HashMap<LabelId, BulkName>,
    keys: Vec<(PropertyKeyId, BulkName)>,
}

/// True if the load can take edges of a type.
fn is_loaded(options: EdgeTypeOptions) -> bool {
    options.order == EdgeOrder::Neighbour
}

/// Edges of an expansion, in its order.
pub(super) fn edges_of(sources: &[VertexId], ty: EdgeTypeId, found: &Expansion) -> Vec<EdgeId> {
    let mut edges = Vec::with_capacity(found.neighbours.len());
    for (place, src) in sources.iter().enumerate() {
        for at in found.offsets[place] as usize..found.offsets[place + 1] as usize {
            let (dst, ordinal) = (found.neighbours[at], found.ordinals[at]);
            edges.push(EdgeId { ty, src: *src, dst, ordinal });
        }
    }
    edges
}

/// Columns of the properties that some of `rows` objects have.
fn columns(
    keys: &[(PropertyKeyId, BulkName)],
    rows: usize,
    read: impl Fn(PropertyKeyId, &mut telar_graph::Column) -> Result<(), ReadError>,
) -> Result<Vec<(BulkName, Column)>, ReadError> {
    let mut columns = Vec::new();
    for (key, name) in keys {
        let mut found = telar_graph::Column::default();
        read(*key, &mut found)?;
        if (0..rows).all(|row| found.is_null(row)) {
            continue;
        }
        let mut column = Column::new();
        (0..rows).for_each(|row| column.push(found.get(row)));
        columns.push((*name, column));
    }
    Ok(columns)
}

impl Copy<'_> {
    /// Loads vertices, and edges of types whose lists are ordered by neighbour.
    pub(super) fn load(
        &self,
        memory_bytes: usize,
        step: Step<'_>,
    ) -> Result<Reordered, ReorderError> {
        let mut options = BulkOptions::default();
        options.memory_bytes = memory_bytes;
        let mut load = self.into.bulk_load(options)?;
        let mut names = LoadNames { labels: HashMap::new(), keys: Vec::new() };
        for (id, name) in &self.names.labels {
            names.labels.insert(*id, load.label(name)?);
        }
        for (id, name) in &self.names.keys {
            names.keys.push((*id, load.property_key(name)?));
        }
        self.vertices(&mut load, &names, step)?;
        let first = load.first_vertex()?.get();
        if first != 0 {
            return Err(ReorderError::Differs(format!("its first vertex is {first}")));
        }
        for (id, name, options) in &self.names.types {
            if is_loaded(*options) {
                let ty = load.edge_type(name, *options)?;
                self.edges(&mut load, (*id, ty, options.simple), &names, step)?;
            }
        }
        telar_engine::failpoint!("reorder::read");
        let report = load.finish(&|of, done, total| {
            let stage = match of {
                BulkStep::Sorting => ImportStage::Sorting,
                _ => ImportStage::Storing,
            };
            step(stage, done, total);
        })?;
        Ok(Reordered {
            vertices: report.vertices,
            edges: report.edges,
            properties: report.properties,
            indexes: 0,
        })
    }

    fn vertices(
        &self,
        load: &mut BulkLoad<'_>,
        names: &LoadNames,
        step: Step<'_>,
    ) -> Result<(), ReorderError> {
        let total = self.numbering.vertices.len() as u64;
        let mut sets = Lists::default();
        for (places, vertices) in self.numbering.pieces() {
            View::labels(self.reader, vertices, &mut sets)?;
            let mut runs: Vec<(Vec<BulkName>, usize)> = Vec::new();
            for set in sets.iter() {
                let set: Vec<BulkName> = set.iter().map(|label| names.labels[label]).collect();
                match runs.last_mut() {
                    Some((last, count)) if *last == set => *count += 1,
                    _ => runs.push((set, 1)),
                }
            }
            let columns = columns(&names.keys, vertices.len(), |key, out| {
                self.reader.vertex_properties(vertices, key, out)
            })?;
            let runs: Vec<(&[BulkName], usize)> =
                runs.iter().map(|(set, count)| (set.as_slice(), *count)).collect();
            load.add_vertices_of(&runs, &columns)?;
            step(ImportStage::Vertices, places.end.into(), total);
        }
        Ok(())
    }

    fn edges(
        &self,
        load: &mut BulkLoad<'_>,
        (id, ty, simple): (EdgeTypeId, BulkName, bool),
        names: &LoadNames,
        step: Step<'_>,
    ) -> Result<(), ReorderError> {
        let total = self.numbering.vertices.len() as u64;
        let mut found = Expansion::default();
        let keys = if simple { &[] } else { names.keys.as_slice() };
        for (places, vertices) in self.numbering.pieces() {
            self.reader.expand(vertices, id, Direction::Out, &mut found)?;
            let edges = edges_of(vertices, id, &found);
            let columns = columns(keys, edges.len(), |key, out| {
                self.reader.edge_properties(&edges, key, out)
            })?;
            let place = |v| self.numbering.place(v);
            let ends = edges.iter().map(|edge| (place(edge.src), place(edge.dst))).collect();
            load.add_edges(ty, ends, columns)?;
            step(ImportStage::Edges, places.end.into(), total);
        }
        Ok(())
    }

    /// Makes the edges of types that are ordered by a property, which a load does not take, by
    /// transactions.
    pub(super) fn ordered_edges(
        &self,
        done: &mut Reordered,
        step: Step<'_>,
    ) -> Result<(), ReorderError> {
        let total = self.numbering.vertices.len() as u64;
        let (mut found, mut properties) = (Expansion::default(), Lists::default());
        for (id, name, options) in &self.names.types {
            let EdgeOrder::NewestFirst(key) = options.order else { continue };
            let ty = self.into.edge_type(name, EdgeTypeOptions::newest_first(self.key(key)?))?;
            for (places, vertices) in self.numbering.pieces() {
                self.reader.expand(vertices, *id, Direction::Out, &mut found)?;
                for edges in edges_of(vertices, *id, &found).chunks(BATCH) {
                    self.reader.all_edge_properties(edges, &mut properties)?;
                    self.create(ty, edges, &properties)?;
                    done.edges += edges.len() as u64;
                    done.properties += properties.items.len() as u64;
                }
                step(ImportStage::Edges, places.end.into(), total);
            }
        }
        Ok(())
    }

    fn create(
        &self,
        ty: EdgeTypeId,
        edges: &[EdgeId],
        properties: &Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReorderError> {
        let at = |v| VertexId::from_raw(self.numbering.place(v).into());
        let of = |row: usize| -> Result<Vec<(PropertyKeyId, Value)>, Error> {
            let of = properties.of(row).iter();
            of.map(|(key, value)| Ok((self.key(*key)?, value.clone()))).collect()
        };
        self.into.write(Isolation::Snapshot, |txn| -> Result<(), Error> {
            for (row, edge) in edges.iter().enumerate() {
                txn.create_edge(ty, at(edge.src), at(edge.dst), &of(row)?)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// The number that a key of the source has in the copy.
    fn key(&self, key: PropertyKeyId) -> Result<PropertyKeyId, Error> {
        let name = self.names.keys.iter().find(|(id, _)| *id == key).map(|(_, name)| name);
        name.and_then(|name| self.into.find_property_key(name))
            .ok_or(Error::UnknownPropertyKey(key))
    }

    /// Makes indexes and constraints, in the order in which they were made; returns their number.
    pub(super) fn indexes(
        &self,
        indexes: &[IndexInfo],
        step: Step<'_>,
    ) -> Result<u64, ReorderError> {
        let total = indexes.len() as u64;
        for (at, index) in (1..).zip(indexes) {
            let name = index.name.clone();
            let target = match index.target {
                IndexTarget::Vertices(label) => {
                    let found = self.names.labels.iter().find(|(id, _)| *id == label);
                    let found = found.and_then(|(_, name)| self.into.find_label(name));
                    IndexTarget::Vertices(found.ok_or(Error::UnknownLabel(label))?)
                }
                IndexTarget::Edges(ty) => {
                    let found = self.names.types.iter().find(|(id, ..)| *id == ty);
                    let found = found.and_then(|(_, name, _)| self.into.find_edge_type(name));
                    IndexTarget::Edges(found.ok_or(Error::UnknownEdgeType(ty))?)
                }
            };
            let properties =
                index.properties.iter().map(|key| self.key(*key)).collect::<Result<_, _>>()?;
            match index.kind {
                SchemaKind::Index(kind) => {
                    self.into.create_index_of(kind, IndexSpec { name, target, properties })?
                }
                SchemaKind::Constraint(kind) => self.into.create_constraint(ConstraintSpec {
                    name,
                    target,
                    properties,
                    kind,
                })?,
            };
            step(ImportStage::Indexing, at, total);
        }
        Ok(total)
    }
}
