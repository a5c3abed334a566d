//! Labels, types and properties of the nodes and relationships that a result names.
//!
//! They are read in batches: those of a whole result once it has ended, those of rows that are
//! handed on a batch ahead of who asks for them.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::value::heap_bytes;
use telar_graph::{
    EdgeId, EdgeTypeId, Graph, LabelId, Lists, PropertyKeyId, ReadError, Value, ValueMap, VertexId,
};

use crate::batch::{BATCH_ROWS, Column};

/// A node as it was when the query ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Node {
    /// Names of its labels, sorted.
    pub labels: Vec<String>,
    /// Its properties.
    pub properties: ValueMap,
}

/// A relationship as it was when the query ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Relationship {
    /// Name of its type.
    pub ty: String,
    /// Its properties.
    pub properties: ValueMap,
}

/// The nodes and relationships that the rows of a result name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Entities {
    /// By number.
    pub nodes: BTreeMap<VertexId, Node>,
    /// By identity.
    pub relationships: BTreeMap<EdgeId, Relationship>,
}

/// Bytes of a node or relationship in a tree that is about three quarters full.
const ENTRY_BYTES: usize = (size_of::<EdgeId>() + size_of::<Node>()) * 4 / 3;

fn map_bytes(map: &ValueMap) -> usize {
    // A tree's first node has room for eleven entries.
    let least = if map.is_empty() { 0 } else { 11 };
    let entry = size_of::<Arc<str>>() + size_of::<Value>();
    let entries = map.len().max(least) * entry;
    entries + map.iter().map(|(key, value)| 16 + key.len() + heap_bytes(value)).sum::<usize>()
}

impl Node {
    fn bytes(&self) -> usize {
        let labels = self.labels.iter().map(|l| size_of::<String>() + l.capacity());
        ENTRY_BYTES + labels.sum::<usize>() + map_bytes(&self.properties)
    }

    /// The nodes in the order of the batch; of one that is gone, nothing.
    fn read(
        vertices: &[VertexId],
        graph: &dyn Graph,
        names: &Names,
    ) -> Result<Vec<Self>, ReadError> {
        let (mut labels, mut found) = (Lists::default(), Lists::default());
        graph.labels(vertices, &mut labels)?;
        graph.all_vertex_properties(vertices, &mut found)?;
        let properties = split(found, graph, names);
        let node = |(labels, properties): (&[LabelId], ValueMap)| {
            let mut labels: Vec<String> = labels.iter().map(|l| names.label(*l, graph)).collect();
            labels.sort_unstable();
            Self { labels, properties }
        };
        Ok(labels.iter().zip(properties).map(node).collect())
    }
}

impl Relationship {
    fn bytes(&self) -> usize {
        ENTRY_BYTES + self.ty.capacity() + map_bytes(&self.properties)
    }

    /// The relationships in the order of the batch; of one that is gone, no properties.
    fn read(edges: &[EdgeId], graph: &dyn Graph, names: &Names) -> Result<Vec<Self>, ReadError> {
        let mut found = Lists::default();
        graph.all_edge_properties(edges, &mut found)?;
        let ty = |edge: &EdgeId| names.edge_type(edge.ty, graph);
        let of = |(edge, properties)| Self { ty: ty(edge), properties };
        Ok(edges.iter().zip(split(found, graph, names)).map(of).collect())
    }
}

/// The properties of each, by name.
fn split(found: Lists<(PropertyKeyId, Value)>, graph: &dyn Graph, names: &Names) -> Vec<ValueMap> {
    let lens: Vec<usize> = found.iter().map(<[_]>::len).collect();
    let mut items = found.items.into_iter();
    let mut next = |len| names.properties(items.by_ref().take(len), graph);
    lens.into_iter().map(&mut next).collect()
}

/// The nodes and relationships that values name.
#[derive(Debug, Default)]
struct Named {
    vertices: Vec<VertexId>,
    edges: Vec<EdgeId>,
}

impl Named {
    /// Adds everything that `value` names, and is or contains.
    fn add(&mut self, value: &Value) {
        match value {
            Value::Vertex(vertex) => self.vertices.push(*vertex),
            Value::Edge(edge) => self.edges.push(**edge),
            Value::Path(path) => {
                self.vertices.extend(path.vertices());
                self.edges.extend(path.edges());
            }
            Value::List(list) => list.iter().for_each(|value| self.add(value)),
            Value::Map(map) => map.values().for_each(|value| self.add(value)),
            _ => {}
        }
    }

    fn len(&self) -> usize {
        self.vertices.len() + self.edges.len()
    }
}

impl Entities {
    /// Looks up everything that the rows name, and that is not known yet, some rows at a time:
    /// after each part `held` is told the bytes that it takes.
    pub(crate) fn read<E: From<ReadError>>(
        &mut self,
        rows: &[Vec<Value>],
        graph: &dyn Graph,
        mut held: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let names = Names::default();
        let mut named = Named::default();
        for (at, row) in rows.iter().enumerate() {
            row.iter().for_each(|value| named.add(value));
            let is_last = at + 1 == rows.len();
            if !is_last && named.len() < AHEAD_MAX && (at + 1) % BATCH_ROWS != 0 {
                continue;
            }
            let Named { vertices, edges } = &mut named;
            vertices.sort_unstable();
            vertices.dedup();
            vertices.retain(|vertex| !self.nodes.contains_key(vertex));
            for some in vertices.chunks(AHEAD_MAX) {
                let read = Node::read(some, graph, &names)?;
                held(read.iter().map(Node::bytes).sum())?;
                self.nodes.extend(some.iter().copied().zip(read));
            }
            edges.sort_unstable();
            edges.dedup();
            edges.retain(|edge| !self.relationships.contains_key(edge));
            for some in edges.chunks(AHEAD_MAX) {
                let read = Relationship::read(some, graph, &names)?;
                held(read.iter().map(Relationship::bytes).sum())?;
                self.relationships.extend(some.iter().copied().zip(read));
            }
            vertices.clear();
            edges.clear();
            held(0)?;
        }
        Ok(())
    }
}

/// Nodes or relationships that are read together, at most.
const AHEAD_MAX: usize = 256;

/// Nodes or relationships that are read together, at first: of few rows there may be no more.
const AHEAD_MIN: usize = 4;

/// Bytes of what was read together from which on less is.
const AHEAD_BYTES: usize = 1 << 20;

/// Nodes or relationships that are read ahead of who asks for them.
#[derive(Debug)]
struct Ahead<K, T> {
    /// In the order in which they are likely to be asked for, and which of them comes next.
    wanted: Vec<K>,
    next: usize,
    /// Number of them that are read together.
    size: usize,
    known: HashMap<K, Arc<T>, RandomState>,
}

impl<K: Copy + Eq + Hash, T> Ahead<K, T> {
    fn new(wanted: Vec<K>) -> Self {
        Self { wanted, next: 0, size: AHEAD_MIN, known: HashMap::default() }
    }

    fn get<E>(
        &mut self,
        key: K,
        read: impl FnOnce(&[K]) -> Result<Vec<T>, E>,
        bytes: impl Fn(&T) -> usize,
    ) -> Result<Arc<T>, E> {
        if let Some(known) = self.known.get(&key) {
            return Ok(Arc::clone(known));
        }
        // Those before it were asked for, or will be read when they are.
        if let Some(at) = self.wanted[self.next..].iter().position(|wanted| *wanted == key) {
            self.next += at + 1;
        }
        let end = self.wanted.len().min(self.next + self.size - 1);
        // Each once: rows may name the same one again and again.
        let mut once: HashSet<K, RandomState> = HashSet::default();
        let ahead = self.wanted[self.next..end].iter().copied();
        let batch: Vec<K> =
            [key].into_iter().chain(ahead).filter(|key| once.insert(*key)).collect();
        self.next = end;
        let read = read(&batch)?;
        let all: usize = read.iter().map(bytes).sum();
        self.size = match all > AHEAD_BYTES {
            true => (self.size / 4).max(1),
            false => (self.size * 4).min(AHEAD_MAX),
        };
        self.known.clear();
        self.known.extend(batch.into_iter().zip(read.into_iter().map(Arc::new)));
        Ok(Arc::clone(&self.known[&key]))
    }
}

/// The nodes and relationships in a batch of rows, read while the rows are handed on.
#[derive(Debug)]
pub(crate) struct Live {
    nodes: RefCell<Ahead<VertexId, Node>>,
    relationships: RefCell<Ahead<EdgeId, Relationship>>,
}

impl Live {
    pub(crate) fn new(columns: &[Arc<Column>]) -> Self {
        let mut named = Named::default();
        // Columns of numbers and texts name nothing, and need not be looked at.
        let naming = |column: &&Arc<Column>| {
            matches!(&***column, Column::Vertices(_) | Column::Edges(_) | Column::Values(_))
        };
        let columns: Vec<_> = columns.iter().filter(naming).collect();
        for row in 0..columns.first().map_or(0, |column| column.len()) {
            for column in &columns {
                match &***column {
                    Column::Vertices(vertices) => named.vertices.extend(vertices.get(row)),
                    Column::Edges(edges) => named.edges.extend(edges.get(row)),
                    Column::Values(values) => named.add(&values[row]),
                    _ => {}
                }
            }
            // What lists and paths name beyond that is read when it is asked for.
            if named.len() > 4 * BATCH_ROWS {
                break;
            }
        }
        let nodes = RefCell::new(Ahead::new(named.vertices));
        Self { nodes, relationships: RefCell::new(Ahead::new(named.edges)) }
    }

    pub(crate) fn node(
        &self,
        vertex: VertexId,
        graph: &dyn Graph,
        names: &Names,
    ) -> Result<Arc<Node>, ReadError> {
        let read = |vertices: &[VertexId]| Node::read(vertices, graph, names);
        self.nodes.borrow_mut().get(vertex, read, Node::bytes)
    }

    pub(crate) fn relationship(
        &self,
        edge: EdgeId,
        graph: &dyn Graph,
        names: &Names,
    ) -> Result<Arc<Relationship>, ReadError> {
        let read = |edges: &[EdgeId]| Relationship::read(edges, graph, names);
        self.relationships.borrow_mut().get(edge, read, Relationship::bytes)
    }
}

/// Schema names by number, read from the graph when the first is needed.
#[derive(Debug, Default)]
pub(crate) struct Names {
    labels: OnceCell<Vec<String>>,
    types: OnceCell<Vec<String>>,
    keys: OnceCell<Vec<Arc<str>>>,
}

impl Names {
    fn label(&self, label: LabelId, graph: &dyn Graph) -> String {
        named(self.labels.get_or_init(|| graph.label_names()), label.get())
    }

    fn edge_type(&self, ty: EdgeTypeId, graph: &dyn Graph) -> String {
        named(self.types.get_or_init(|| graph.edge_type_names()), ty.get())
    }

    fn properties(
        &self,
        found: impl ExactSizeIterator<Item = (PropertyKeyId, Value)>,
        graph: &dyn Graph,
    ) -> ValueMap {
        if found.len() == 0 {
            return ValueMap::new();
        }
        let keys = self.keys.get_or_init(|| {
            graph.property_key_names().into_iter().map(|name| name.into()).collect()
        });
        found.map(|(key, value)| (named(keys, key.get()), value)).collect()
    }
}

fn named<T: Clone + Default>(names: &[T], number: u16) -> T {
    names.get(usize::from(number)).cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The batches in which these are read when they are asked for in this order, each of so many
    /// bytes.
    fn batches(wanted: &[u32], asked: &[u32], bytes: usize) -> Vec<Vec<u32>> {
        let mut ahead = Ahead::new(wanted.to_vec());
        let mut batches = Vec::new();
        for key in asked {
            let read = |keys: &[u32]| {
                batches.push(keys.to_vec());
                Ok::<_, ReadError>(keys.iter().map(|key| key * 10).collect())
            };
            assert_eq!(*ahead.get(*key, read, |_| bytes).unwrap(), key * 10);
        }
        batches
    }

    #[test]
    fn batches_grow_while_what_is_read_is_small() {
        let all: Vec<u32> = (0..1_000).collect();
        let sizes: Vec<usize> = batches(&all, &all, 10).iter().map(Vec::len).collect();
        assert_eq!(sizes, [4, 16, 64, 256, 256, 256, 148]);
    }

    #[test]
    fn large_things_are_read_one_by_one() {
        let all: Vec<u32> = (0..20).collect();
        let sizes: Vec<usize> = batches(&all, &all, AHEAD_BYTES).iter().map(Vec::len).collect();
        assert_eq!(
            sizes[..4],
            [4, 1, 4, 1],
            "one by one, with a look whether they are small again"
        );
    }

    #[test]
    fn each_is_once_in_a_batch_and_any_order_is_served() {
        assert_eq!(batches(&[1, 1, 2, 1, 3], &[1, 1, 2, 1, 3], 10), [vec![1, 2], vec![3]]);
        assert_eq!(batches(&[1, 2, 3, 4, 5], &[5, 1, 5, 9], 10).len(), 4);
        assert_eq!(batches(&[], &[7, 7], 10), [vec![7]]);
    }

    #[test]
    fn a_read_that_fails_is_read_again() {
        let mut ahead: Ahead<u32, u32> = Ahead::new(vec![1, 2, 3]);
        assert!(ahead.get(1, |_| Err(()), |_| 1).is_err());
        assert_eq!(*ahead.get(1, |keys| Ok::<_, ()>(keys.to_vec()), |_| 1).unwrap(), 1);
    }
}
