//! Reads and counts.

use std::sync::Arc;

use telar_graph::{
    Column, CommitTs, Counts, Direction, EdgeId, EdgeTypeId, Estimates, Expansion, IndexId,
    IndexRange, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Statistics, Value, VertexId,
    View,
};

use crate::{PlainGraph, Properties};

impl PlainGraph {
    fn expand_where(
        &self,
        sources: &[VertexId],
        (ty, dir): (EdgeTypeId, Direction),
        sees: impl Fn(VertexId) -> bool,
        out: &mut Expansion,
    ) {
        let lists = self.lists(ty, dir, sees);
        out.clear();
        out.offsets.push(0);
        for source in sources {
            for edge in lists.get(source).into_iter().flatten() {
                out.neighbours.push(edge.end(dir));
                out.ordinals.push(edge.ordinal);
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
    }

    fn value(properties: Option<&Properties>, key: PropertyKeyId) -> Value {
        properties.and_then(|all| all.get(&key)).cloned().unwrap_or_default()
    }
}

fn list_properties<'a>(
    all: impl Iterator<Item = Option<&'a Properties>>,
    out: &mut Lists<(PropertyKeyId, Value)>,
) {
    out.clear();
    for properties in all {
        let entries = properties.into_iter().flatten();
        out.items.extend(entries.map(|(key, value)| (*key, value.clone())));
        out.end_list();
    }
}

impl View for PlainGraph {
    fn read_ts(&self) -> CommitTs {
        CommitTs::ZERO
    }

    fn partitions(&self) -> Partitions {
        let ids =
            |(start, ids): &(u64, u64)| VertexId::from_raw(*start)..VertexId::from_raw(start + ids);
        self.partitions.iter().map(ids).collect()
    }

    fn scan(
        &self,
        label: Option<LabelId>,
        from: VertexId,
        to: VertexId,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        self.read()?;
        if from < to {
            let within = self.vertices.range(from..to);
            let has = within.filter(|(_, v)| label.is_none_or(|label| v.labels.contains(&label)));
            out.extend(has.map(|(id, _)| *id));
        }
        Ok(())
    }

    fn vertices_exist(&self, vertices: &[VertexId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        self.read()?;
        out.extend(vertices.iter().map(|id| self.vertices.contains_key(id)));
        Ok(())
    }

    fn edges_exist(&self, edges: &[EdgeId], out: &mut Vec<bool>) -> Result<(), ReadError> {
        self.read()?;
        out.extend(edges.iter().map(|edge| self.edges.contains_key(edge)));
        Ok(())
    }

    fn labels(&self, vertices: &[VertexId], out: &mut Lists<LabelId>) -> Result<(), ReadError> {
        self.read()?;
        out.clear();
        for id in vertices {
            let labels = self.vertices.get(id).map(|vertex| &vertex.labels);
            out.items.extend(labels.into_iter().flatten());
            out.end_list();
        }
        Ok(())
    }

    fn have_label(
        &self,
        vertices: &[VertexId],
        label: LabelId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        self.read()?;
        let has = |id| self.vertices.get(id).is_some_and(|v| v.labels.contains(&label));
        out.extend(vertices.iter().map(has));
        Ok(())
    }

    fn expand(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.read()?;
        self.expand_where(sources, (ty, dir), |id| self.vertices.contains_key(&id), out);
        Ok(())
    }

    fn expand_left(
        &self,
        sources: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.read()?;
        self.expand_where(sources, (ty, dir), |_| true, out);
        Ok(())
    }

    fn deleted_connected(&self) -> Vec<VertexId> {
        self.deleted_connected.iter().copied().collect()
    }

    fn degrees(
        &self,
        vertices: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
        out: &mut Vec<u64>,
    ) -> Result<(), ReadError> {
        self.read()?;
        let lists = self.lists(ty, dir, |id| self.vertices.contains_key(&id));
        out.extend(vertices.iter().map(|id| lists.get(id).map_or(0, Vec::len) as u64));
        Ok(())
    }

    fn search_edges(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Vec<bool>,
    ) -> Result<(), ReadError> {
        self.read()?;
        let mut found = Expansion::default();
        self.edges_between(pairs, ty, &mut found)?;
        out.extend(found.offsets.windows(2).map(|ends| ends[0] < ends[1]));
        Ok(())
    }

    fn edges_between(
        &self,
        pairs: &[(VertexId, VertexId)],
        ty: EdgeTypeId,
        out: &mut Expansion,
    ) -> Result<(), ReadError> {
        self.read()?;
        let exists = |id| self.vertices.contains_key(&id);
        let lists = self.lists(ty, Direction::Out, exists);
        out.clear();
        out.offsets.push(0);
        for (source, target) in pairs.iter().copied() {
            let list = lists.get(&source).into_iter().flatten();
            for edge in list.filter(|edge| edge.dst == target && exists(target)) {
                out.neighbours.push(target);
                out.ordinals.push(edge.ordinal);
            }
            out.offsets.push(out.neighbours.len() as u32);
        }
        Ok(())
    }

    fn vertex_properties(
        &self,
        vertices: &[VertexId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        self.read()?;
        let of = |id| self.vertices.get(id).map(|vertex| &vertex.properties);
        vertices.iter().for_each(|id| out.push(Self::value(of(id), key)));
        Ok(())
    }

    fn edge_properties(
        &self,
        edges: &[EdgeId],
        key: PropertyKeyId,
        out: &mut Column,
    ) -> Result<(), ReadError> {
        self.read()?;
        edges.iter().for_each(|edge| out.push(Self::value(self.edges.get(edge), key)));
        Ok(())
    }

    fn all_vertex_properties(
        &self,
        vertices: &[VertexId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        self.read()?;
        let of = |id| self.vertices.get(id).map(|vertex| &vertex.properties);
        list_properties(vertices.iter().map(of), out);
        Ok(())
    }

    fn all_edge_properties(
        &self,
        edges: &[EdgeId],
        out: &mut Lists<(PropertyKeyId, Value)>,
    ) -> Result<(), ReadError> {
        self.read()?;
        list_properties(edges.iter().map(|edge| self.edges.get(edge)), out);
        Ok(())
    }

    fn index_vertices(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<VertexId>,
    ) -> Result<(), ReadError> {
        self.read()?;
        out.extend(self.vertices_in(index, range)?);
        Ok(())
    }

    fn index_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
        out: &mut Vec<EdgeId>,
    ) -> Result<(), ReadError> {
        self.read()?;
        out.extend(self.edges_in(index, range)?);
        Ok(())
    }

    fn lookup_vertices(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), ReadError> {
        self.read()?;
        let properties = self.check_keys(index, keys)?;
        for (place, key) in (0..).zip(keys.chunks_exact(properties)) {
            let found = self.vertices_in(index, &IndexRange::equal(key))?;
            out.extend(found.into_iter().map(|vertex| (place, vertex)));
        }
        Ok(())
    }
}

impl Counts for PlainGraph {
    fn statistics(&self) -> Result<Statistics, ReadError> {
        self.read()?;
        let mut counts = Statistics { vertices: self.vertices.len() as u64, ..Default::default() };
        counts.vertices_by_label.resize(self.labels.len(), 0);
        counts.edges_by_type.resize(self.types.len(), 0);
        for label in self.vertices.values().flat_map(|vertex| &vertex.labels) {
            counts.vertices_by_label[usize::from(label.get())] += 1;
        }
        for edge in self.edges.keys() {
            counts.edges_by_type[usize::from(edge.ty.get())] += 1;
        }
        Ok(counts)
    }

    fn count_vertices(&self, label: Option<LabelId>) -> Result<Option<u64>, ReadError> {
        self.read()?;
        let has = |labels: &std::collections::BTreeSet<LabelId>| {
            label.is_none_or(|label| labels.contains(&label))
        };
        Ok(Some(self.vertices.values().filter(|vertex| has(&vertex.labels)).count() as u64))
    }

    fn count_edges(&self, ty: EdgeTypeId) -> Result<Option<u64>, ReadError> {
        self.read()?;
        Ok(Some(self.edges.keys().filter(|edge| edge.ty == ty).count() as u64))
    }

    fn estimates(&self) -> Arc<Estimates> {
        Arc::new(self.statistics().map(|exact| Estimates::from(&exact)).unwrap_or_default())
    }
}
