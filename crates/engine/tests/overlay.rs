//! A transaction reads of its own writes what others read once it has committed: every batched
//! read, before and after, over all kinds of edge types, properties and indexes.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use telar_engine::{
    EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget, Isolation, Transaction,
};
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, Graph, IndexId, IndexRange, LabelId, Lists,
    PropertyKeyId, Update, Value, VertexId, View,
};

use common::{Random, no_background, v};

/// Vertices that are there before the transaction, and those that it makes at most.
const BEFORE: u64 = 40;
const SIDES: [Direction; 2] = Direction::ALL;

struct World {
    db: Engine,
    labels: [LabelId; 3],
    keys: [PropertyKeyId; 3],
    types: [EdgeTypeId; 4],
    index: IndexId,
    /// An index on edges of the first type.
    edge_index: IndexId,
}

impl World {
    fn new(db: Engine) -> Self {
        let labels = ["A", "B", "C"].map(|name| db.label(name).unwrap());
        let keys = ["a", "b", "c"].map(|name| db.property_key(name).unwrap());
        let newest = EdgeTypeOptions::newest_first(keys[2]);
        let (general, simple) = (EdgeTypeOptions::general(), EdgeTypeOptions::simple());
        // Nothing is ever written to the last one but before the transaction.
        let types = [("G", general), ("S", simple), ("N", newest), ("U", general)];
        let types = types.map(|(name, options)| db.edge_type(name, options).unwrap());
        let spec = |name: &str, target, key| {
            let (name, properties) = (name.to_owned(), vec![key]);
            db.create_index(IndexSpec { name, target, properties }).unwrap()
        };
        let index = spec("vertices", IndexTarget::Vertices(labels[0]), keys[0]);
        let edge_index = spec("edges", IndexTarget::Edges(types[0]), keys[1]);
        Self { db, labels, keys, types, index, edge_index }
    }

    fn value(&self, random: &mut Random) -> Value {
        match random.below(6) {
            0 => Value::Null,
            1 => "text".into(),
            n => Value::Int(n as i64),
        }
    }

    /// An edge of the transaction's, if a vertex that is drawn has one.
    fn some_edge(&self, txn: &Transaction<'_>, random: &mut Random, bound: u64) -> Option<EdgeId> {
        let ty = self.types[random.below(3) as usize];
        let edges: Vec<EdgeId> =
            txn.edges(v(random.below(bound)), ty, Direction::Out).ok()?.collect();
        let at = random.below(edges.len().max(1) as u64) as usize;
        edges.get(at).copied()
    }

    /// Does something, of the first `kinds` kinds. Errors (no such vertex) are part of it.
    fn step(&self, txn: &mut Transaction<'_>, random: &mut Random, kinds: u64) {
        let bound = txn.partitions().positions();
        let (a, b) = (v(random.below(bound)), v(random.below(bound)));
        let label = self.labels[random.below(3) as usize];
        let key = self.keys[random.below(3) as usize];
        match random.below(kinds) {
            0 => _ = txn.set_vertex_property(a, key, self.value(random)),
            1 => _ = txn.create_vertex(&[label]).unwrap(),
            2 => _ = txn.add_label(a, label),
            3 => _ = txn.create_edge(self.types[0], a, b, &[(key, self.value(random))]),
            4 => _ = txn.upsert_edge(self.types[1], a, b),
            5 => {
                let sort = (self.keys[2], Value::Int(random.below(9) as i64));
                _ = txn.create_edge(self.types[2], a, b, &[sort]);
            }
            6 => _ = txn.remove_label(a, label),
            7 => _ = txn.remove_edge(self.types[1], a, b),
            8 => {
                if let Some(edge) = self.some_edge(txn, random, bound) {
                    _ = txn.set_edge_property(edge, key, self.value(random));
                }
            }
            9 => {
                if let Some(edge) = self.some_edge(txn, random, bound) {
                    txn.delete_edge(edge).unwrap();
                }
            }
            10 => _ = txn.delete_vertex(a, true),
            _ => {
                let mut edges: Vec<EdgeId> = Vec::new();
                Update::edges_at(txn, a, &mut edges).unwrap();
                if txn.delete_vertex_deferred(a).is_ok() {
                    edges.into_iter().for_each(|edge| txn.delete_edge(edge).unwrap());
                }
            }
        }
    }

    fn fill(&self, random: &mut Random) {
        let mut txn = self.db.begin().unwrap();
        for _ in 0..BEFORE {
            txn.create_vertex(&[self.labels[random.below(3) as usize]]).unwrap();
        }
        for _ in 0..200 {
            self.step(&mut txn, random, 10);
            let (a, b) = (v(random.below(BEFORE)), v(random.below(BEFORE)));
            let number = (self.keys[0], Value::Int(random.below(5) as i64));
            txn.create_edge(self.types[3], a, b, &[number]).unwrap();
        }
        txn.commit().unwrap();
    }
}

/// Everything that a view says, in an order of its own.
#[derive(Debug, PartialEq)]
struct Picture {
    scans: Vec<Vec<VertexId>>,
    labels: Vec<Option<Vec<LabelId>>>,
    lists: Vec<Vec<(VertexId, u32)>>,
    neighbours: Vec<Vec<VertexId>>,
    degrees: Vec<u64>,
    searches: Vec<bool>,
    between: Vec<Vec<(VertexId, u32)>>,
    properties: Vec<Value>,
    edge_properties: Vec<(EdgeId, Value)>,
    of_vertices: Vec<Vec<(PropertyKeyId, Value)>>,
    of_edges: Vec<(EdgeId, Vec<(PropertyKeyId, Value)>)>,
    indexed: Vec<VertexId>,
    indexed_edges: Vec<EdgeId>,
    found: Vec<(u32, VertexId)>,
}

fn lists(expansion: &Expansion, count: usize) -> Vec<Vec<(VertexId, u32)>> {
    assert_eq!(expansion.offsets.len(), count + 1);
    assert_eq!(expansion.offsets[count] as usize, expansion.neighbours.len());
    assert_eq!(expansion.ordinals.len(), expansion.neighbours.len());
    let entries = expansion.neighbours.iter().zip(&expansion.ordinals);
    let entries: Vec<(VertexId, u32)> = entries.map(|(n, ordinal)| (*n, *ordinal)).collect();
    let list = |ends: &[u32]| {
        let mut list = entries[ends[0] as usize..ends[1] as usize].to_vec();
        list.sort_unstable();
        list
    };
    expansion.offsets.windows(2).map(list).collect()
}

/// The labels of those that exist.
fn labels_of(view: &dyn Graph, vertices: &[VertexId]) -> Vec<Option<Vec<LabelId>>> {
    let (mut labels, mut exist) = (Lists::default(), Vec::new());
    view.labels(vertices, &mut labels).unwrap();
    view.vertices_exist(vertices, &mut exist).unwrap();
    assert_eq!((labels.len(), exist.len()), (vertices.len(), vertices.len()));
    let labels = labels.iter().map(<[_]>::to_vec);
    labels.zip(exist).map(|(labels, exists)| exists.then_some(labels)).collect()
}

/// Neighbours by runs, sorted, as [`View::for_each_run`] says that they come.
fn runs_of(
    view: &dyn Graph,
    sources: &[VertexId],
    ty: EdgeTypeId,
    side: Direction,
) -> Vec<Vec<VertexId>> {
    let (mut lists, mut last) = (vec![Vec::new(); sources.len()], 0);
    view.for_each_run(sources, ty, side, &mut |place, run| {
        assert!(place >= last && !run.is_empty(), "in the order of the batch");
        last = place;
        lists[place].extend(run.ids());
    })
    .unwrap();
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

/// Asks for everything in batches of this many vertices.
fn picture(view: &dyn Graph, world: &World, vertices: u64, batch: usize) -> Picture {
    let all: Vec<VertexId> = (0..vertices).map(v).collect();
    let World { labels, keys, types, .. } = world;
    let mut out = Picture {
        scans: Vec::new(),
        labels: labels_of(view, &all),
        lists: Vec::new(),
        neighbours: Vec::new(),
        degrees: Vec::new(),
        searches: Vec::new(),
        between: Vec::new(),
        properties: Vec::new(),
        edge_properties: Vec::new(),
        of_vertices: Vec::new(),
        of_edges: Vec::new(),
        indexed: Vec::new(),
        indexed_edges: Vec::new(),
        found: Vec::new(),
    };
    for label in [None, Some(labels[0]), Some(labels[1]), Some(labels[2])] {
        let mut scanned = Vec::new();
        for from in (0..vertices).step_by(batch) {
            view.scan(label, v(from), v((from + batch as u64).min(vertices)), &mut scanned)
                .unwrap();
        }
        let count = view.count_vertices(label).unwrap();
        assert!(count.is_none_or(|count| count == scanned.len() as u64));
        out.scans.push(scanned);
    }
    for some in all.chunks(batch) {
        for label in labels {
            let mut have = Vec::new();
            view.have_label(some, *label, &mut have).unwrap();
            let labels = labels_of(view, some).into_iter().map(Option::unwrap_or_default);
            assert_eq!(have, labels.map(|of| of.contains(label)).collect::<Vec<_>>());
        }
        for key in keys {
            let first = out.properties.len();
            view.vertex_properties(some, *key, &mut out.properties).unwrap();
            let values = &out.properties[first..];
            let mut ints = Vec::new();
            if view.vertex_ints(some, *key, &mut ints).unwrap() {
                assert_eq!(values, ints.into_iter().map(Value::Int).collect::<Vec<_>>());
            }
            let mut texts = Vec::new();
            let mut each =
                |text: Option<&str>| texts.push(text.map(Value::from).unwrap_or_default());
            if view.vertex_texts(some, *key, &mut each).unwrap() {
                assert_eq!(values, texts);
            }
        }
        let mut of = Lists::default();
        view.all_vertex_properties(some, &mut of).unwrap();
        assert_eq!(of.len(), some.len());
        out.of_vertices.extend(of.iter().map(<[_]>::to_vec));
    }
    for ty in types {
        let mut edges: Vec<EdgeId> = Vec::new();
        for (side, some) in SIDES.iter().flat_map(|side| all.chunks(batch).map(move |c| (side, c)))
        {
            let (mut expansion, mut ids) = (Expansion::default(), Expansion::default());
            view.expand(some, *ty, *side, &mut expansion).unwrap();
            view.expand_ids(some, *ty, *side, &mut ids).unwrap();
            let here = lists(&expansion, some.len());
            let neighbours = |list: &Vec<(VertexId, u32)>| list.iter().map(|(v, _)| *v).collect();
            let expected: Vec<Vec<VertexId>> = here.iter().map(neighbours).collect();
            assert_eq!(runs_of(view, some, *ty, *side), expected);
            assert_eq!(ids.offsets, expansion.offsets);
            out.neighbours.extend(ids.offsets.windows(2).map(|ends| {
                let mut list = ids.neighbours[ends[0] as usize..ends[1] as usize].to_vec();
                list.sort_unstable();
                list
            }));
            if *side == Direction::Out {
                for (src, list) in some.iter().zip(&here) {
                    let edge = |(dst, ordinal): &(VertexId, u32)| EdgeId {
                        ty: *ty,
                        src: *src,
                        dst: *dst,
                        ordinal: *ordinal,
                    };
                    edges.extend(list.iter().map(edge));
                }
            }
            out.lists.extend(here);
            view.degrees(some, *ty, *side, &mut out.degrees).unwrap();
        }
        let pairs: Vec<(VertexId, VertexId)> =
            all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))).collect();
        for some in pairs.chunks(batch * 7) {
            view.search_edges(some, *ty, &mut out.searches).unwrap();
            let mut expansion = Expansion::default();
            view.edges_between(some, *ty, &mut expansion).unwrap();
            out.between.extend(lists(&expansion, some.len()));
        }
        for some in edges.chunks(batch) {
            let mut exist = Vec::new();
            view.edges_exist(some, &mut exist).unwrap();
            assert_eq!(exist, vec![true; some.len()]);
            for key in keys {
                let (mut values, mut ints) = (Vec::new(), Vec::new());
                view.edge_properties(some, *key, &mut values).unwrap();
                if view.edge_ints(some, *key, &mut ints).unwrap() {
                    assert_eq!(values, ints.into_iter().map(Value::Int).collect::<Vec<_>>());
                }
                out.edge_properties.extend(some.iter().copied().zip(values));
            }
            let mut of = Lists::default();
            view.all_edge_properties(some, &mut of).unwrap();
            assert_eq!(of.len(), some.len());
            out.of_edges.extend(some.iter().copied().zip(of.iter().map(<[_]>::to_vec)));
        }
    }
    view.index_vertices(world.index, &IndexRange::default(), &mut out.indexed).unwrap();
    view.index_edges(world.edge_index, &IndexRange::default(), &mut out.indexed_edges).unwrap();
    let sought: Vec<Value> = (0..6).map(Value::Int).collect();
    view.lookup_vertices(world.index, &sought, &mut out.found).unwrap();
    out.found.sort_unstable();
    out
}

fn committed_is_what_was_read(make: impl Fn() -> Engine, isolation: Isolation, seeds: u64) {
    for seed in 1..=seeds {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let world = World::new(make());
        world.fill(random);
        if seed % 2 == 0 {
            world.db.settle();
        }
        let mut txn = world.db.begin_with(isolation).unwrap();
        let batch = [1, 3, 1000][random.below(3) as usize];
        // From writes of one kind only to all of them; of few (searched one by one) and many.
        let (kinds, steps) = (1 + random.below(12), [0, 1, 4, 15, 60][random.below(5) as usize]);
        for _ in 0..steps {
            world.step(&mut txn, random, kinds);
        }
        // Some that no vertex has yet.
        let vertices = txn.partitions().positions() + 3;
        let own = picture(&txn, &world, vertices, batch);
        txn.commit().unwrap();
        let others = picture(&world.db.reader().unwrap(), &world, vertices, batch);
        assert_eq!(own, others, "seed {seed}: {steps} steps of {kinds} kinds, by {batch}");
    }
}

/// A picture in which these vertices are deleted, and their edges are not.
fn without(mut all: Picture, gone: &[VertexId], vertices: u64) -> Picture {
    let here = |vertex: &VertexId| !gone.contains(vertex);
    let place = |at: usize| v(at as u64 % vertices);
    all.scans.iter_mut().for_each(|scan| scan.retain(here));
    for vertex in gone {
        let at = vertex.get() as usize;
        all.labels[at] = None;
        all.of_vertices[at].clear();
    }
    let count = vertices as usize;
    for at in 0..all.lists.len() {
        if !here(&place(at)) {
            all.lists[at].clear();
            all.neighbours[at].clear();
            all.degrees[at] = 0;
        }
    }
    for at in 0..all.searches.len() {
        if !here(&place(at)) || !here(&place(at / count)) {
            all.searches[at] = false;
            all.between[at].clear();
        }
    }
    all.edge_properties.retain(|(edge, _)| here(&edge.src));
    all.of_edges.retain(|(edge, _)| here(&edge.src));
    all.indexed.retain(here);
    all.found.retain(|(_, vertex)| here(vertex));
    by_edge(all)
}

/// A picture without what is in the order of batches, which depends on what there is.
fn by_edge(mut all: Picture) -> Picture {
    all.edge_properties.sort_by_key(|(edge, _)| *edge);
    // The same is in `of_vertices`.
    all.properties.clear();
    all
}

#[test]
fn vertices_deleted_before_their_edges_are_gone_and_the_edges_are_at_their_other_ends() {
    for seed in 1..=seeds() / 4 {
        let random = &mut Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let world = World::new(Engine::in_memory(no_background()).unwrap());
        world.fill(random);
        let isolation = [Isolation::Snapshot, Isolation::Serializable][seed as usize % 2];
        let mut txn = world.db.begin_with(isolation).unwrap();
        let steps = [0, 4, 60][random.below(3) as usize];
        for _ in 0..steps {
            world.step(&mut txn, random, 11);
        }
        let vertices = txn.partitions().positions() + 3;
        let batch = [1, 3, 1000][random.below(3) as usize];
        let before = picture(&txn, &world, vertices, batch);
        let mut gone: Vec<VertexId> = Vec::new();
        let mut edges: Vec<EdgeId> = Vec::new();
        for _ in 0..=random.below(6) {
            let vertex = v(random.below(vertices));
            let existed = txn.exists(vertex);
            Update::edges_at(&txn, vertex, &mut edges).unwrap();
            assert_eq!(txn.delete_vertex_deferred(vertex).is_ok(), existed);
            gone.extend(existed.then_some(vertex));
        }
        edges.sort_unstable();
        edges.dedup();
        let during = by_edge(picture(&txn, &world, vertices, batch));
        assert_eq!(during, without(before, &gone, vertices), "seed {seed}");
        for vertex in &gone {
            assert!(txn.add_label(*vertex, world.labels[0]).is_err());
            assert!(txn.create_edge(world.types[0], *vertex, v(0), &[]).is_err());
            assert!(txn.upsert_edge(world.types[1], v(0), *vertex).is_err());
        }
        let keep = (!edges.is_empty() && random.below(2) == 0)
            .then(|| edges.swap_remove(random.below(edges.len() as u64) as usize));
        for edge in &edges {
            assert!(txn.edge_exists(*edge));
            txn.delete_edge(*edge).unwrap();
        }
        let own = picture(&txn, &world, vertices, batch);
        let unchanged = picture(&world.db.reader().unwrap(), &world, vertices, batch);
        let committed = txn.commit();
        let others = picture(&world.db.reader().unwrap(), &world, vertices, batch);
        if let Some(edge) = keep {
            let left = |error: &Error| {
                matches!(error, Error::StillConnected { vertex, .. }
                    if (*vertex == edge.src || *vertex == edge.dst) && gone.contains(vertex))
            };
            assert!(committed.as_ref().is_err_and(left), "seed {seed}: {committed:?}");
            assert_eq!(unchanged, others, "seed {seed}");
        } else {
            committed.unwrap();
            assert_eq!(own, others, "seed {seed}");
        }
    }
}

fn seeds() -> u64 {
    if std::env::var_os("TELAR_LONG").is_some() { 5_000 } else { 200 }
}

#[test]
fn a_transaction_reads_what_others_read_once_it_has_committed() {
    let make = || Engine::in_memory(no_background()).unwrap();
    committed_is_what_was_read(make, Isolation::Snapshot, seeds());
}

#[test]
fn a_serializable_transaction_reads_what_others_read_once_it_has_committed() {
    let make = || Engine::in_memory(no_background()).unwrap();
    committed_is_what_was_read(make, Isolation::Serializable, seeds() / 4);
}
