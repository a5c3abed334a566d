//! Importing into databases: what arrives, in which order, and what an error leaves behind.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::RefCell;
use telar_graph::Counts;

use proptest::prelude::*;
use telar_db::import::{
    EdgeList, EdgeListOptions, GraphSource, ImportOptions, ImportProgress, ImportStage, LoadError,
    LoadOptions, Properties, import_edge_list, load,
};
use telar_db::{
    Database, Direction, EdgeTypeId, EdgeTypeOptions, Error, PropertyKeyId, Topology, Value,
    VertexId,
};

/// Edges over `0..n`; a vertex has its number as a property, an edge its position.
struct Edges {
    n: u32,
    edges: Vec<(u32, u32)>,
    key: PropertyKeyId,
}

impl GraphSource for Edges {
    fn vertex_count(&self) -> u32 {
        self.n
    }

    fn edge_count(&self) -> usize {
        self.edges.len()
    }

    fn edge(&self, edge: usize) -> (u32, u32) {
        self.edges[edge]
    }

    fn vertex_properties(&self, vertex: u32, out: &mut Properties) {
        out.push((self.key, vertex.into()));
    }

    fn edge_properties(&self, edge: usize, out: &mut Properties) {
        out.push((self.key, (edge as i64).into()));
    }
}

fn sorted(mut edges: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    edges.sort_unstable();
    edges
}

/// Sorted edges of a type as `(source, target)`, read in one direction.
fn edges_of(db: &Database, ty: EdgeTypeId, direction: Direction) -> Vec<(u32, u32)> {
    let reader = db.reader().unwrap();
    let lists = reader.adjacency(ty, direction).unwrap();
    let mut edges = Vec::new();
    lists.scan(0..lists.vertex_bound(), |v, run| {
        edges.extend(run.iter().map(|u| match direction {
            Direction::Out => (v, *u),
            Direction::In => (*u, v),
        }));
    });
    sorted(edges)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn load_brings_every_edge_whatever_the_batches(
        n in 1u32..200,
        pairs in proptest::collection::vec((0u32..200, 0u32..200), 0..600),
        threads in 1usize..5,
        batch in 1usize..100,
        simple: bool,
    ) {
        let db = telar_db::open_in_memory().unwrap();
        let key = db.property_key("number").unwrap();
        let kind = if simple { EdgeTypeOptions::simple() } else { EdgeTypeOptions::general() };
        let ty = db.edge_type("LINK", kind).unwrap();
        let edges: Vec<_> = pairs.iter().map(|(u, v)| (u % n, v % n)).collect();
        let source = Edges { n, edges, key };
        let mut options = LoadOptions::new(db.label("V").unwrap(), ty);
        (options.threads, options.batch) = (threads, batch);
        let loaded = load(&db, &source, &options, &|_| {}).unwrap();

        let mut expected = sorted(source.edges.clone());
        if simple {
            expected.dedup();
        }
        prop_assert_eq!(loaded.edges, expected.len() as u64);
        prop_assert_eq!(loaded.duplicates, (source.edges.len() - expected.len()) as u64);
        prop_assert!(loaded.vertices.is_sorted() && loaded.vertices.len() == n as usize);
        for direction in Direction::ALL {
            prop_assert_eq!(&edges_of(&db, ty, direction), &expected);
        }
        let reader = db.reader().unwrap();
        for (number, vertex) in (0..n).zip(&loaded.vertices) {
            prop_assert_eq!(reader.vertex_property(*vertex, key), Value::from(number));
        }
        if !simple {
            let mut seen = vec![false; source.edges.len()];
            for v in &loaded.vertices {
                for edge in reader.edges(*v, ty, Direction::Out) {
                    let at = usize::try_from(&reader.edge_property(edge, key)).unwrap();
                    let (src, dst) = source.edges[at];
                    let ends = (loaded.vertices[src as usize], loaded.vertices[dst as usize]);
                    prop_assert_eq!((edge.src, edge.dst), ends);
                    prop_assert!(!std::mem::replace(&mut seen[at], true));
                }
            }
            prop_assert!(seen.into_iter().all(|s| s));
        }
    }
}

#[test]
fn import_reports_stages_in_order_and_ends_each() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ring.txt");
    let text: String = (0..5000).map(|v| format!("{v} {}\n", (v + 1) % 5000)).collect();
    std::fs::write(&path, text).unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let seen: RefCell<Vec<ImportProgress>> = RefCell::default();
    let mut options = ImportOptions::default();
    options.batch = 1000;
    options.transactions = true;
    let report = import_edge_list(&db, &path, &options, &|p| seen.borrow_mut().push(p)).unwrap();
    assert_eq!((report.vertices, report.edges, report.transactions), (5000, 5000, 10));
    let seen = seen.into_inner();
    let order = [ImportStage::Reading, ImportStage::Vertices, ImportStage::Edges];
    let mut stages: Vec<ImportStage> = seen.iter().map(|p| p.stage).collect();
    stages.dedup();
    assert_eq!(stages, order);
    for stage in order {
        let of_stage: Vec<_> = seen.iter().filter(|p| p.stage == stage).collect();
        assert!(of_stage.is_sorted_by_key(|p| p.done));
        assert_eq!(of_stage.last().map(|p| p.done), of_stage.last().map(|p| p.total));
    }
    // A bulk load is one commit, unless somebody's snapshot is open.
    options.transactions = false;
    let report = import_edge_list(&db, &path, &options, &|_| {}).unwrap();
    assert_eq!((report.vertices, report.edges, report.transactions), (5000, 5000, 1));
    let _open = db.snapshot().unwrap();
    let report = import_edge_list(&db, &path, &options, &|_| {}).unwrap();
    assert_eq!(report.transactions, 10);
}

#[test]
fn imported_graph_is_there_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (path, file) = (folder.path().join("db"), folder.path().join("ratings.csv"));
    std::fs::write(&file, "from,to,weight,time\na,b,1.5,10\nb,c,2,20\n").unwrap();
    let db = telar_db::open(&path).unwrap();
    let report = import_edge_list(&db, &file, &ImportOptions::default(), &|_| {}).unwrap();
    assert_eq!(report.properties, ["weight", "time"]);
    drop(db);

    let db = telar_db::open(&path).unwrap();
    let reader = db.reader().unwrap();
    assert_eq!(
        (reader.statistics().unwrap().vertices, reader.statistics().unwrap().edges()),
        (3, 2)
    );
    let key = |name| db.find_property_key(name).unwrap();
    let ty = db.find_edge_type("LINK").unwrap();
    let vertex = VertexId::from_raw(1);
    assert_eq!(reader.vertex_property(vertex, key("id")), Value::from("b"));
    let edge = reader.edges(vertex, ty, Direction::Out).next().unwrap();
    assert_eq!(reader.edge_property(edge, key("weight")), Value::Float(2.0));
    assert_eq!(reader.edge_property(edge, key("time")), Value::Int(20));
}

#[test]
fn second_import_adds_beside_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pair.txt");
    std::fs::write(&path, "0 1\n0 1\n").unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let mut options = ImportOptions::default();
    options.simple = true;
    for _ in 0..2 {
        let report = import_edge_list(&db, &path, &options, &|_| {}).unwrap();
        assert_eq!((report.vertices, report.edges, report.duplicates), (2, 1, 1));
    }
    let ty = db.find_edge_type("LINK").unwrap();
    // A load begins a fresh segment of 1024 vertices; transactions use the ids between.
    assert_eq!(edges_of(&db, ty, Direction::Out), [(0, 1), (1024, 1025)]);
    let label = db.label("Vertex").unwrap();
    let (next, _) = db.write(Default::default(), |txn| txn.create_vertex(&[label])).unwrap();
    assert!((2..1024).contains(&next.get()));
}

#[test]
fn bad_file_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.csv");
    std::fs::write(&path, "1,2\n3,abc\n").unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let error = import_edge_list(&db, &path, &ImportOptions::default(), &|_| {}).unwrap_err();
    assert!(matches!(error, LoadError::File(_)), "{error}");
    assert!(error.to_string().ends_with("bad.csv:2:3: expected a vertex id, found \"abc\""));
    assert!(db.labels().is_empty() && db.edge_types().is_empty());
}

#[test]
fn refused_edges_say_what_was_committed() {
    let db = telar_db::open_in_memory().unwrap();
    let key = db.property_key("number").unwrap();
    let time = db.property_key("time").unwrap();
    // Every edge of this type needs the property `time`, and these have none.
    let ty = db.edge_type("AT", EdgeTypeOptions::newest_first(time)).unwrap();
    let source = Edges { n: 10, edges: vec![(0, 1); 10], key };
    let options = LoadOptions::new(db.label("V").unwrap(), ty);
    let error = load(&db, &source, &options, &|_| {}).unwrap_err();
    let LoadError::Write { vertices: 10, edges: 0, source: Error::SortProperty { .. } } = &error
    else {
        panic!("{error}");
    };
    let text = error.to_string();
    assert!(text.starts_with("import stopped after 10 vertices and 0 edges"), "{text}");
    assert_eq!(db.reader().unwrap().statistics().unwrap().vertices, 10);
}

/// Graphs small enough for unoptimised builds, each with whether it is imported as simple.
#[path = "../../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

const GRAPHS: [(&str, bool); 5] = [
    ("CollegeMsg.txt.zst", false),
    ("astro-ph.metis.zst", true),
    ("email-Eu-core.csv.zst", true),
    ("soc-sign-bitcoinotc.csv.zst", false),
    ("wiki-Vote.csv.zst", true),
];

#[test]
fn real_graphs_arrive_edge_for_edge() {
    for (file, simple) in GRAPHS {
        let Some(path) = test_data::shared(&format!("data/graphs/{file}")) else { continue };
        let list = EdgeList::read(&path, &EdgeListOptions::default(), &|_| {}).unwrap();
        let mut expected = sorted(list.edges.clone());
        if simple {
            expected.dedup();
        }
        let db = telar_db::open_in_memory().unwrap();
        let mut options = ImportOptions::default();
        options.simple = simple;
        let report = import_edge_list(&db, &path, &options, &|_| {}).unwrap();
        assert_eq!(report.vertices, u64::from(list.vertex_count), "{file}");
        assert_eq!(report.edges, expected.len() as u64, "{file}");
        assert_eq!(report.duplicates, (list.edges.len() - expected.len()) as u64, "{file}");
        let ty = db.find_edge_type("LINK").unwrap();
        for direction in Direction::ALL {
            // In an empty database the vertices keep the numbers of the list.
            assert!(edges_of(&db, ty, direction) == expected, "{file}, {direction}");
        }
    }
}
