//! Everything that can be read of a graph, asked for in batches: two graphs are the same if their
//! pictures are.
//!
//! While it is drawn, what one read says is held against what others say of the same: batches of
//! ids against lists with ordinals and runs, integers and texts against values, counts against
//! scans, looks for edges against lists, indexes against each other.

use std::collections::BTreeMap;
use std::mem::discriminant;
use std::ops::Bound;

use telar_graph::update::{IndexedObjects, ReadableIndex};
use telar_graph::{
    Column, Direction, EdgeId, EdgeTypeId, Expansion, Graph, IndexRange, LabelId, Lists,
    PropertyKeyId, ReadError, Value, VertexId,
};

/// An edge seen from one of its ends: the other end, and its ordinal.
type Seen = (VertexId, u32);

/// Everything that a graph says of some vertices, those that do not exist included.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Picture {
    /// Vertices with any label, and with each.
    pub scans: Vec<Vec<VertexId>>,
    /// Labels of each vertex; `None` where there is none.
    pub labels: Vec<Option<Vec<LabelId>>>,
    /// By type and direction, the edges of each vertex, sorted.
    pub lists: BTreeMap<(EdgeTypeId, bool), Vec<Vec<Seen>>>,
    /// Values of each property of each vertex.
    pub properties: Vec<Vec<Value>>,
    /// Properties of each vertex that are not null.
    pub of_vertices: Vec<Vec<(PropertyKeyId, Value)>>,
    /// Properties of each edge that are not null.
    pub of_edges: BTreeMap<EdgeId, Vec<(PropertyKeyId, Value)>>,
    /// By index, what it finds, for each range that was asked for.
    pub found_vertices: Vec<Vec<VertexId>>,
    /// The same of indexes on edges.
    pub found_edges: Vec<Vec<EdgeId>>,
}

/// Draws one graph.
struct Artist<'g> {
    graph: &'g dyn Graph,
    vertices: &'g [VertexId],
    batch: usize,
    picture: Picture,
}

impl Picture {
    /// Asks a graph for everything about these vertices, in batches of this many.
    ///
    /// # Errors
    /// What the graph could not read.
    ///
    /// # Panics
    /// Where two reads of the graph contradict each other.
    pub fn of(graph: &dyn Graph, vertices: &[VertexId], batch: usize) -> Result<Self, ReadError> {
        let mut artist = Artist { graph, vertices, batch, picture: Self::default() };
        artist.scans()?;
        artist.labels()?;
        for number in 0..graph.edge_type_names().len() {
            artist.edges(EdgeTypeId::from_raw(number as u16))?;
        }
        artist.vertex_properties()?;
        artist.indexes()?;
        Ok(artist.picture)
    }
}

/// Text of the first field in which two pictures differ.
macro_rules! difference {
    ($a:expr, $b:expr, $($field:ident)*) => {
        $(if $a.$field != $b.$field {
            return Some(format!(
                "{}: {:?}, not {:?}", stringify!($field), $a.$field, $b.$field
            ));
        })*
    };
}

impl Picture {
    /// The first field that differs from another picture's, if any.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        difference!(self, other, scans labels lists properties of_vertices of_edges
            found_vertices found_edges);
        None
    }
}

/// Vertices of a graph: every id in its partitions, and some beside them.
#[must_use]
pub fn vertices_around(graph: &dyn Graph) -> Vec<VertexId> {
    let partitions = graph.partitions();
    let pieces = partitions.all(u64::MAX);
    let mut vertices = Vec::new();
    for ids in pieces {
        vertices.extend((ids.start.get()..ids.end.get() + 2).map(VertexId::from_raw));
    }
    vertices.push(VertexId::from_raw(1 << 50));
    vertices.dedup();
    vertices
}

impl Artist<'_> {
    fn label_ids(&self) -> Vec<LabelId> {
        (0..self.graph.label_names().len()).map(|n| LabelId::from_raw(n as u16)).collect()
    }

    fn key_ids(&self) -> Vec<PropertyKeyId> {
        let count = self.graph.property_key_names().len();
        (0..count).map(|n| PropertyKeyId::from_raw(n as u16)).collect()
    }

    fn scans(&mut self) -> Result<(), ReadError> {
        let partitions = self.graph.partitions();
        let labels = self.label_ids().into_iter().map(Some);
        for label in std::iter::once(None).chain(labels) {
            let mut scanned = Vec::new();
            for ids in partitions.all(self.batch as u64) {
                self.graph.scan(label, ids.start, ids.end, &mut scanned)?;
            }
            assert!(scanned.is_sorted(), "scans ascend");
            let mut again = Vec::new();
            let (first, last) = (VertexId::from_raw(0), VertexId::from_raw(u64::MAX));
            self.graph.scan(label, first, last, &mut again)?;
            assert_eq!(scanned, again, "there is nothing outside of the partitions");
            if let Some(count) = self.graph.count_vertices(label)? {
                assert_eq!(count, scanned.len() as u64);
            }
            self.picture.scans.push(scanned);
        }
        Ok(())
    }

    fn labels(&mut self) -> Result<(), ReadError> {
        let known = self.label_ids();
        for some in self.vertices.chunks(self.batch) {
            let (mut labels, mut exist) = (Lists::default(), vec![true]);
            self.graph.labels(some, &mut labels)?;
            self.graph.vertices_exist(some, &mut exist)?;
            assert_eq!((labels.len(), exist.len()), (some.len(), some.len() + 1));
            for label in &known {
                let mut have = vec![true];
                self.graph.have_label(some, *label, &mut have)?;
                let has = labels.iter().map(|labels| labels.contains(label));
                assert_eq!(have[1..], has.collect::<Vec<_>>());
            }
            for (at, exists) in exist[1..].iter().enumerate() {
                let here = self.picture.scans[0].binary_search(&some[at]).is_ok();
                assert_eq!(here, *exists, "{}", some[at]);
                assert!(labels.of(at).is_sorted());
                self.picture.labels.push(exists.then(|| labels.of(at).to_vec()));
            }
        }
        Ok(())
    }

    fn edges(&mut self, ty: EdgeTypeId) -> Result<(), ReadError> {
        let mut edges: Vec<EdgeId> = Vec::new();
        for dir in Direction::ALL {
            let mut all = Vec::new();
            for some in self.vertices.chunks(self.batch) {
                all.extend(self.lists(some, ty, dir)?);
            }
            if dir == Direction::Out {
                for (src, list) in self.vertices.iter().zip(&all) {
                    let edge = |(dst, ordinal): &Seen| EdgeId {
                        ty,
                        src: *src,
                        dst: *dst,
                        ordinal: *ordinal,
                    };
                    edges.extend(list.iter().map(edge));
                }
            }
            self.picture.lists.insert((ty, dir == Direction::Out), all);
        }
        if let Some(count) = self.graph.count_edges(ty)?
            && self.graph.deleted_connected().is_empty()
        {
            assert_eq!(count, edges.len() as u64);
        }
        self.between(ty)?;
        self.edge_properties(&edges)
    }

    /// The lists of some vertices, sorted; every way to ask for them says the same.
    fn lists(
        &self,
        some: &[VertexId],
        ty: EdgeTypeId,
        dir: Direction,
    ) -> Result<Vec<Vec<Seen>>, ReadError> {
        let (mut full, mut ids) = (Expansion::default(), Expansion::default());
        self.graph.expand(some, ty, dir, &mut full)?;
        self.graph.expand_ids(some, ty, dir, &mut ids)?;
        let lists = sorted(&full, some.len());
        let neighbours = |list: &Vec<Seen>| list.iter().map(|(v, _)| *v).collect::<Vec<_>>();
        let expected: Vec<Vec<VertexId>> = lists.iter().map(neighbours).collect();
        let by_ids = |at| {
            let mut list = ids.of(at).to_vec();
            list.sort_unstable();
            list
        };
        assert_eq!((0..some.len()).map(by_ids).collect::<Vec<_>>(), expected);
        let (mut by_runs, mut last) = (vec![Vec::new(); some.len()], 0);
        self.graph.for_each_run(some, ty, dir, &mut |place, run| {
            assert!(place >= last && !run.is_empty(), "runs come in the order of the batch");
            last = place;
            by_runs[place].extend(run.ids());
        })?;
        by_runs.iter_mut().for_each(|list| list.sort_unstable());
        assert_eq!(by_runs, expected);
        if let (Some(first), Some(last)) = (some.first(), some.last())
            && some.windows(2).all(|pair| pair[0].get() + 1 == pair[1].get())
        {
            let mut by_range = vec![Vec::new(); some.len()];
            let range = first.get()..last.get() + 1;
            self.graph.for_each_run_of(range, ty, dir, &mut |vertex, run| {
                by_range[(vertex - first.get()) as usize].extend(run.ids());
            })?;
            by_range.iter_mut().for_each(|list| list.sort_unstable());
            assert_eq!(by_range, expected);
        }
        let mut degrees = vec![7];
        self.graph.degrees(some, ty, dir, &mut degrees)?;
        assert_eq!(degrees[1..], lists.iter().map(|l| l.len() as u64).collect::<Vec<_>>());
        Ok(lists)
    }

    /// Looks for edges between all pairs, which lists know.
    fn between(&self, ty: EdgeTypeId) -> Result<(), ReadError> {
        let lists = &self.picture.lists[&(ty, true)];
        let exists = |v: &VertexId| self.picture.scans[0].binary_search(v).is_ok();
        let mut pairs: Vec<(usize, (VertexId, VertexId))> = Vec::new();
        for (at, src) in self.vertices.iter().enumerate() {
            pairs.extend(self.vertices.iter().map(|dst| (at, (*src, *dst))));
        }
        for some in pairs.chunks(7 * self.batch) {
            let asked: Vec<_> = some.iter().map(|(_, pair)| *pair).collect();
            let (mut found, mut searched) = (Expansion::default(), vec![true]);
            self.graph.edges_between(&asked, ty, &mut found)?;
            self.graph.search_edges(&asked, ty, &mut searched)?;
            for (n, (list, (at, (_, dst)))) in
                sorted(&found, some.len()).iter().zip(some).enumerate()
            {
                // A vertex that was deleted before its edges is still in the lists of others.
                let between = lists[*at].iter().filter(|(v, _)| v == dst && exists(dst));
                assert_eq!(*list, between.copied().collect::<Vec<_>>());
                assert_eq!(searched[n + 1], !list.is_empty());
            }
        }
        Ok(())
    }

    fn edge_properties(&mut self, edges: &[EdgeId]) -> Result<(), ReadError> {
        for some in edges.chunks(self.batch) {
            let (mut exist, mut all) = (Vec::new(), Lists::default());
            self.graph.edges_exist(some, &mut exist)?;
            assert_eq!(exist, vec![true; some.len()]);
            self.graph.all_edge_properties(some, &mut all)?;
            assert_eq!(all.len(), some.len());
            for key in self.key_ids() {
                let mut column = Column::default();
                self.graph.edge_properties(some, key, &mut column)?;
                check_column(column, of_key(&all, key), |column| {
                    self.graph.edge_properties(some, key, column)
                })?;
            }
            self.picture.of_edges.extend(some.iter().copied().zip(all.iter().map(<[_]>::to_vec)));
        }
        Ok(())
    }

    fn vertex_properties(&mut self) -> Result<(), ReadError> {
        self.picture.properties.resize(self.key_ids().len(), Vec::new());
        for some in self.vertices.chunks(self.batch) {
            let mut all = Lists::default();
            self.graph.all_vertex_properties(some, &mut all)?;
            assert_eq!(all.len(), some.len());
            for (at, key) in self.key_ids().into_iter().enumerate() {
                let mut column = Column::default();
                self.graph.vertex_properties(some, key, &mut column)?;
                let values = check_column(column, of_key(&all, key), |column| {
                    self.graph.vertex_properties(some, key, column)
                })?;
                self.picture.properties[at].extend(values);
            }
            self.picture.of_vertices.extend(all.iter().map(<[_]>::to_vec));
        }
        Ok(())
    }

    fn indexes(&mut self) -> Result<(), ReadError> {
        for index in self.graph.readable_indexes() {
            let ranges = self.ranges(&index);
            for range in &ranges {
                match index.objects {
                    IndexedObjects::Vertices(_) => {
                        let mut found = Vec::new();
                        self.graph.index_vertices(index.id, range, &mut found)?;
                        self.picture.found_vertices.push(found);
                    }
                    IndexedObjects::Edges(_) => {
                        let mut found = Vec::new();
                        self.graph.index_edges(index.id, range, &mut found)?;
                        self.picture.found_edges.push(found);
                    }
                }
            }
            self.look_up(&index)?;
        }
        Ok(())
    }

    /// Whole keys, one after the other and all at once.
    fn look_up(&self, index: &ReadableIndex) -> Result<(), ReadError> {
        if !matches!(index.objects, IndexedObjects::Vertices(_))
            || !index.kind.capability().sorted_by_value
        {
            return Ok(());
        }
        let value = |key: &PropertyKeyId| &self.picture.properties[usize::from(key.get())];
        let keys: Vec<Vec<Value>> = (0..self.vertices.len())
            .map(|at| index.properties.iter().map(|key| value(key)[at].clone()).collect())
            .filter(|key: &Vec<Value>| key.iter().all(|value| !value.is_null()))
            .collect();
        for some in keys.chunks(self.batch) {
            let (mut together, mut alone) = (Vec::new(), Vec::new());
            self.graph.lookup_vertices(index.id, &some.concat(), &mut together)?;
            for (place, key) in (0..).zip(some) {
                let mut found = Vec::new();
                self.graph.index_vertices(index.id, &IndexRange::equal(key), &mut found)?;
                alone.extend(found.into_iter().map(|vertex| (place, vertex)));
            }
            together.sort_unstable();
            alone.sort_unstable();
            assert_eq!(together, alone);
        }
        Ok(())
    }

    /// Ranges to ask an index for: all, and some by values that there are.
    fn ranges(&self, index: &ReadableIndex) -> Vec<IndexRange> {
        let mut ranges = vec![
            IndexRange::default(),
            IndexRange { descending: true, ..IndexRange::default() },
            IndexRange { limit: 2, ..IndexRange::default() },
        ];
        if !index.kind.holds_all_values() {
            return ranges;
        }
        let first = index.properties[0];
        let of_edges = self.picture.of_edges.values().flatten();
        let of_vertices = self.picture.of_vertices.iter().flatten();
        let mut values: Vec<Value> = of_vertices
            .chain(of_edges)
            .filter(|(key, _)| *key == first)
            .map(|(_, value)| value.clone())
            .collect();
        values.sort_unstable();
        values.dedup();
        for value in values.iter().step_by(values.len() / 8 + 1) {
            let (included, excluded) =
                (Bound::Included(value.clone()), Bound::Excluded(value.clone()));
            ranges.push(IndexRange::equal(std::slice::from_ref(value)));
            ranges.push(IndexRange::between(included.clone(), Bound::Unbounded));
            ranges.push(IndexRange::between(Bound::Unbounded, excluded.clone()));
            ranges.push(IndexRange::between(excluded, included.clone()));
            if let Some(last) = values.last() {
                ranges.push(IndexRange::between(included, Bound::Excluded(last.clone())));
            }
        }
        ranges
    }
}

/// Holds a column against the values that it should have: it is of their type, if it is of one, and
/// what is appended to other values is the same.
fn check_column(
    column: Column,
    expected: Vec<Value>,
    read: impl Fn(&mut Column) -> Result<(), ReadError>,
) -> Result<Vec<Value>, ReadError> {
    let typed = Column::of(expected.clone());
    let of_type = discriminant(&column) == discriminant(&typed);
    // A transaction may have written over all that was of another type, and lists of floats are
    // what storage shares.
    let of_none = matches!(column, Column::Values(_) | Column::FloatLists(_))
        || matches!(typed, Column::Same(..));
    assert!(of_type || of_none, "{column:?}");
    assert_eq!(column.len(), expected.len());
    let mut behind = Column::from(vec![true]);
    read(&mut behind)?;
    assert_eq!(behind.into_values()[1..], expected);
    let mut packed = Column::packed();
    read(&mut packed)?;
    assert_eq!(packed.into_values(), expected);
    let found = column.into_values();
    assert_eq!(found, expected);
    Ok(found)
}

/// The value of a key of each object.
fn of_key(all: &Lists<(PropertyKeyId, Value)>, key: PropertyKeyId) -> Vec<Value> {
    let value = |properties: &[(PropertyKeyId, Value)]| {
        let found = properties.iter().find(|(of, _)| *of == key);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    all.iter().map(value).collect()
}

fn sorted(lists: &Expansion, count: usize) -> Vec<Vec<Seen>> {
    assert_eq!(lists.offsets.len(), count + 1);
    assert_eq!(lists.offsets[count] as usize, lists.neighbours.len());
    assert_eq!(lists.ordinals.len(), lists.neighbours.len());
    let list = |ends: &[u32]| {
        let within = ends[0] as usize..ends[1] as usize;
        let (ids, ordinals) = (&lists.neighbours[within.clone()], &lists.ordinals[within]);
        let mut list: Vec<Seen> = ids.iter().copied().zip(ordinals.iter().copied()).collect();
        list.sort_unstable();
        list
    };
    lists.offsets.windows(2).map(list).collect()
}
