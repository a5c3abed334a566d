//! Estimates of algorithms are not below what they allocate, and not far above it.
#![allow(clippy::print_stdout, reason = "the figures are worth a look")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use telar_cli::allocator::Counting;
use telar_db::{Database, Session, Settings, Value};
use telar_graph::heap;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

/// Nodes of the graph; each has ten relationships.
const NODES: i64 = 20_000;

struct Case {
    /// Name and settings.
    call: (&'static str, &'static str),
    /// Most bytes of the estimate for each that is allocated.
    most: f64,
}

const fn case(name: &'static str, settings: &'static str, most: f64) -> Case {
    Case { call: (name, settings), most }
}

/// No bound: the estimate is for the worst data, and kernels keep less of others.
const WORST: f64 = f64::INFINITY;

const CASES: &[Case] = &[
    case("bfs", "sourceNode: 0", 2.0),
    case("bfs", "sourceNode: 0, packed: true", 2.0),
    case("dfs", "sourceNode: 0", 2.0),
    case("pageRank", "", 2.0),
    case("wcc", "", 2.0),
    case("knn", "nodeProperties: 'v', topK: 10, maxIterations: 3", 2.0),
    case("knn", "nodeProperties: 'v', topK: 3, maxIterations: 3", 2.0),
    case("knn", "nodeProperties: 'x', topK: 10, maxIterations: 3", 2.0),
    case("cycles", "maxLength: 3", 2.0),
    case("cycles", "maxLength: 3, timeProperty: 'w', timeOrder: 'ASCENDING'", 2.0),
    case("cycles", "maxLength: 4, limit: 1000000", WORST),
    // The limit is reached: threads that find cycles one after the other, as on a busy machine,
    // keep half of what they keep beside each other.
    case("cycles", "maxLength: 6, nodeLabels: 'Dense'", 3.0),
    case("cycles", "maxLength: 6, limit: 100000, nodeLabels: 'Dense'", 3.0),
    case("cycles", "maxLength: 12, limit: 100000, nodeLabels: 'Dense'", 3.0),
    case("shortestPath.yens", "sourceNode: 0, targetNode: 9999, k: 3", 2.0),
    case("shortestPath.yens", "sourceNode: 0, targetNode: 149, k: 300, nodeLabels: 'Dense'", WORST),
    case("shortestPath.dijkstra", "sourceNode: 0, targetNode: 9999", WORST),
    case("allShortestPaths.dijkstra", "sourceNode: 0", 2.0),
    case("sssp", "sourceNode: 0", 2.0),
    case("bellmanFord", "sourceNode: 0", 2.0),
    case("scc", "", 2.0),
    case("degree", "", 2.0),
    // Threads of a pool tell of a copy that lives shortly, or do not: 1.2 or 2.4.
    case("kcore", "", 2.5),
    case("bridges", "", 2.0),
    case("articulationPoints", "", 2.0),
    case("spanningTree", "", 2.0),
    case("fastRP", "embeddingDimension: 16", 2.0),
    case("hits", "", 2.0),
    case("labelPropagation", "", 3.0),
    case("randomWalk", "walkLength: 8, walksPerNode: 2", 3.0),
];

/// A database in which nothing goes on beside the statements: what its threads allocate would be
/// counted with them.
fn in_memory() -> Database {
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    Database::in_memory(settings).unwrap()
}

/// Bytes that a statement allocates at its peak.
fn peak(session: &Session, text: &str) -> u64 {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    heap::watch_peak();
    let before = heap::peak();
    session.run(text, &[]).unwrap();
    heap::peak() - before
}

#[test]
fn estimates_are_above_what_is_allocated_and_not_far() {
    let db = in_memory();
    let session = Session::new(&db);
    let nodes = "UNWIND range(0, $n - 1) AS i CREATE (:P {i: i, x: i * 7 % 1000, \
                 v: [i % 13, i % 17, i % 19, i % 23, i % 29, i % 31, i % 37, i % 41]})";
    let n = [("n", Value::Int(NODES))];
    session.run("CREATE RANGE INDEX FOR (p:P) ON (p.i)", &[]).unwrap();
    session.run(nodes, &n).unwrap();
    let link = "UNWIND range(0, $n - 1) AS i MATCH (a:P {i: i}), \
                (b:P {i: (i * i % 1009 * 31 + i + $k * $k * 17) % $n}) \
                CREATE (a)-[:K {w: i % 97}]->(b)";
    for k in 1..=10 {
        session.run(link, &[("n", Value::Int(NODES)), ("k", Value::Int(k))]).unwrap();
    }
    let dense = "UNWIND range(0, 149) AS i CREATE (:Dense {i: i}) WITH count(*) AS all \
                 MATCH (a:Dense), (b:Dense) WHERE a.i <> b.i AND (a.i + b.i) % 3 <> 0 \
                 CREATE (a)-[:K {w: (a.i * b.i) % 7 + 1}]->(b)";
    let other = in_memory();
    let dense_session = Session::new(&other);
    dense_session.run(dense, &[]).unwrap();
    [&db, &other].into_iter().for_each(Database::settle);
    let mut wrong = Vec::new();
    for Case { call: (name, settings), most } in CASES {
        let session = if settings.contains("Dense") { &dense_session } else { &session };
        let of = |mode: &str| {
            format!(
                "CALL algo.{name}.{mode}({{relationships: 'K'}}, {{{settings}, concurrency: 2}})"
            )
            .replace("{, ", "{")
        };
        let measured = peak(session, &format!("{} YIELD nodeCount RETURN nodeCount", of("stats")));
        let estimate = format!("{} YIELD bytesMax RETURN bytesMax", of("estimate"));
        let Value::Int(estimate) = session.run(&estimate, &[]).unwrap().rows[0][0] else {
            panic!()
        };
        let ratio = estimate as f64 / measured as f64;
        println!("{name} {{{settings}}}: {measured} allocated, {estimate} estimated: {ratio:.2}");
        if !(1.0..=*most).contains(&ratio) {
            wrong.push(format!("{name} {{{settings}}}: {ratio:.2}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
