//! Live algorithms give what the same algorithms give from scratch, whatever happened since.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use telar_db::query::ErrorKind;
use telar_db::{
    Database, EdgeTypeOptions, Error, Retention, Session, Settings, Value, ValueMap, VertexId,
};

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

fn refusal(session: &Session, text: &str) -> String {
    session.run(text, &[]).expect_err(text).message
}

/// Kept, so that the change stream reaches back.
fn retaining() -> Settings {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100_000);
    settings
}

fn open(path: &Path) -> Database {
    telar_db::open_with(path, retaining()).unwrap()
}

fn in_memory() -> Database {
    Database::in_memory(retaining()).unwrap()
}

/// Numbers without a state to be kept: SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// A live algorithm, and the call that gives the same from scratch.
struct Case {
    name: &'static str,
    algorithm: &'static str,
    graph: &'static str,
    settings: &'static str,
    whole: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "ranks",
        algorithm: "pageRank",
        graph: "",
        settings: "tolerance: 1e-12",
        whole: "pageRank({$}, {maxIterations: 500, tolerance: 1e-13}) YIELD node, score AS value",
    },
    Case {
        name: "ranks of K among P",
        algorithm: "PAGERANK",
        graph: "nodes: 'P', relationships: {K: 'REVERSE', S: 'UNDIRECTED'}",
        settings: "dampingFactor: 0.6, tolerance: 1e-12",
        whole: "pageRank({$}, {maxIterations: 500, tolerance: 1e-13, dampingFactor: 0.6}) \
                YIELD node, score AS value",
    },
    Case {
        name: "parts",
        algorithm: "wcc",
        graph: "",
        settings: "",
        whole: "wcc({$}) YIELD node, componentId AS value",
    },
    Case {
        name: "parts of P and Q",
        algorithm: "wcc",
        graph: "nodes: ['P', 'Q'], relationships: ['K', 'S']",
        settings: "",
        whole: "wcc({$}) YIELD node, componentId AS value",
    },
    Case {
        name: "degrees",
        algorithm: "degree",
        graph: "nodes: ['P'], orientation: 'UNDIRECTED'",
        settings: "",
        whole: "degree({$}) YIELD node, score AS value",
    },
    Case {
        name: "triangles",
        algorithm: "triangleCount",
        graph: "",
        settings: "",
        whole: "triangleCount({$}) YIELD node, triangleCount AS value",
    },
    Case {
        name: "triangles of P",
        algorithm: "triangleCount",
        graph: "nodes: 'P', relationships: ['K', 'S']",
        settings: "",
        whole: "triangleCount({$}) YIELD node, triangleCount AS value",
    },
    Case {
        name: "cores",
        algorithm: "kcore",
        graph: "",
        settings: "",
        whole: "kcore({$}) YIELD node, coreValue AS value",
    },
];

fn create(session: &Session, case: &Case) {
    let comma = if case.graph.is_empty() || case.settings.is_empty() { "" } else { ", " };
    let (name, of, graph, settings) = (case.name, case.algorithm, case.graph, case.settings);
    let text = format!("CALL algo.live.create('{name}', '{of}', {{{graph}{comma}{settings}}})");
    rows(session, &text);
}

/// Values by node, without the names that components happen to have.
fn values(rows: &[Vec<Value>], are_parts: bool) -> BTreeMap<VertexId, f64> {
    let number = |value: &Value| match value {
        Value::Int(n) => *n as f64,
        Value::Float(x) => *x,
        other => panic!("{other:?} is no number"),
    };
    let vertex = |value: &Value| match value {
        Value::Vertex(vertex) => *vertex,
        other => panic!("{other:?} is no node"),
    };
    let mut found: BTreeMap<VertexId, f64> =
        rows.iter().map(|row| (vertex(&row[0]), number(&row[1]))).collect();
    if are_parts {
        let mut first = BTreeMap::new();
        for (vertex, part) in &found {
            first.entry(part.to_bits()).or_insert(vertex.get() as f64);
        }
        found.values_mut().for_each(|part| *part = first[&part.to_bits()]);
    }
    found
}

fn assert_same(session: &Session, case: &Case) {
    let text = format!("CALL algo.live.stream('{}') YIELD node, value", case.name);
    let live = values(&rows(session, &text), case.algorithm == "wcc");
    let call = case.whole.replace('$', case.graph);
    let whole = rows(session, &format!("CALL algo.{call} RETURN node, value"));
    let whole = values(&whole, case.algorithm == "wcc");
    assert_eq!(live.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>(), "{}", case.name);
    for (vertex, value) in &whole {
        let error = (live[vertex] - value).abs();
        assert!(error < 1e-9, "{}: {vertex} has {}, not {value}", case.name, live[vertex]);
    }
}

fn count(session: &Session, text: &str) -> i64 {
    match rows(session, text)[0][0] {
        Value::Int(n) => n,
        ref other => panic!("{text} gave {other:?}"),
    }
}

/// Number of times that something was computed from scratch.
fn rebuilds(session: &Session) -> i64 {
    count(session, "CALL algo.live.list() YIELD rebuilds RETURN sum(rebuilds)")
}

fn set_up(db: &Database) {
    db.edge_type("S", EdgeTypeOptions::simple()).unwrap();
    let session = Session::new(db);
    rows(&session, "CREATE (:P)-[:K]->(:Q)-[:L]->(:P)");
}

/// Makes a random change. `S` is of a simple type: making an edge again changes nothing.
fn change(db: &Database, draws: &mut Draws) {
    let session = Session::new(db);
    let nodes = rows(&session, "MATCH (n) RETURN id(n)");
    let pick = |draws: &mut Draws| match nodes.get(draws.below(nodes.len() as u64) as usize) {
        Some(row) => row[0].clone(),
        None => Value::Int(0),
    };
    let parameters = [("a", pick(draws)), ("b", pick(draws)), ("c", pick(draws))];
    let text = match draws.below(16) {
        0 => "CREATE (:P), (:Q), (:P:Q)",
        1 => "CREATE (:P)-[:K]->(:P)",
        2 => "MATCH (n) WHERE id(n) = $a DETACH DELETE n",
        3 => "MATCH (n) WHERE id(n) = $a SET n:P",
        4 => "MATCH (n) WHERE id(n) = $a REMOVE n:P",
        5 => "MATCH (n) WHERE id(n) = $a SET n.name = 'x'",
        6 => "MATCH (n)-[r]->() WHERE id(n) = $a DELETE r",
        7 => "MATCH (n)-[r:K]->() WHERE id(n) IN [$a, $b] WITH r LIMIT 1 DELETE r",
        8 => {
            let ty = db.find_edge_type("S").unwrap();
            let of = |value: &Value| match value {
                Value::Int(n) => VertexId::from_raw(*n as u64),
                other => panic!("{other:?}"),
            };
            let (a, b) = (of(&parameters[0].1), of(&parameters[1].1));
            let made = db.write(Default::default(), |txn| {
                txn.remove_edge(ty, b, a)?;
                txn.upsert_edge(ty, a, b)
            });
            assert!(!matches!(made, Err(Error::Damaged { .. })));
            return;
        }
        9 => {
            "MATCH (a), (b), (c) WHERE id(a) = $a AND id(b) = $b AND id(c) = $c \
              CREATE (a)-[:K]->(b)-[:K]->(c)-[:L]->(a)"
        }
        10 => "MATCH (a) WHERE id(a) = $a CREATE (a)-[:K]->(a)",
        _ => "MATCH (a), (b) WHERE id(a) = $a AND id(b) = $b CREATE (a)-[:K]->(b)",
    };
    session.run(text, &parameters).unwrap();
}

#[test]
fn random_changes_are_followed_without_computing_from_scratch() {
    for seed in 0..6 {
        let (db, mut draws) = (in_memory(), Draws(seed));
        set_up(&db);
        let session = Session::new(&db);
        CASES.iter().for_each(|case| create(&session, case));
        let begun = rebuilds(&session);
        for _ in 0..25 {
            for _ in 0..1 + draws.below(8) {
                change(&db, &mut draws);
            }
            CASES.iter().for_each(|case| assert_same(&session, case));
        }
        assert_eq!(rebuilds(&session), begun, "seed {seed}");
        let lags = rows(&session, "CALL algo.live.list() YIELD lag RETURN DISTINCT lag");
        assert_eq!(lags, [[Value::Int(0)]]);
    }
}

#[test]
fn they_are_there_after_a_restart_and_go_on_from_where_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let mut draws = Draws(77);
    let db = open(&path);
    set_up(&db);
    CASES.iter().for_each(|case| create(&Session::new(&db), case));
    drop(db);
    for round in 0..8 {
        let db = open(&path);
        let session = Session::new(&db);
        // Changes that are only in the log, and such that a checkpoint has.
        (0..draws.below(12)).for_each(|_| change(&db, &mut draws));
        if round % 3 == 0 {
            db.checkpoint().unwrap();
            (0..draws.below(5)).for_each(|_| change(&db, &mut draws));
        }
        if round % 2 == 0 {
            CASES.iter().for_each(|case| assert_same(&session, case));
            assert_eq!(rebuilds(&session), 0, "round {round}");
            change(&db, &mut draws);
        }
        drop(session);
        match round % 4 {
            0 | 1 => db.close().unwrap(),
            _ => drop(db),
        }
    }
    let db = open(&path);
    let session = Session::new(&db);
    let text = "CALL algo.live.list() YIELD name, asOf, lag RETURN name, asOf, lag LIMIT 1";
    assert_eq!(rows(&session, text)[0][1..], [Value::Null, Value::Null]);
    CASES.iter().for_each(|case| assert_same(&session, case));
    assert_eq!(rebuilds(&session), 0);
    rows(&session, "CALL algo.live.drop('parts')");
    drop((session, db));
    let db = open(&path);
    let names = rows(&Session::new(&db), "CALL algo.live.list() YIELD name RETURN name");
    assert_eq!(names.len(), CASES.len() - 1);
    let states = std::fs::read_dir(path.join("live")).unwrap().count();
    assert_eq!(states, CASES.len());
}

/// Reason of the last time that `ranks` was computed from scratch.
fn reason(session: &Session) -> String {
    let text = "CALL algo.live.list('ranks') YIELD rebuildReason RETURN rebuildReason";
    match &rows(session, text)[0][0] {
        Value::String(reason) => reason.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_gap_in_the_change_stream_is_bridged_by_computing_from_scratch() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let db = telar_db::open(&path).unwrap();
    set_up(&db);
    let session = Session::new(&db);
    CASES.iter().for_each(|case| create(&session, case));
    assert_eq!(reason(&session), "it was created");
    let mut draws = Draws(5);
    (0..5).for_each(|_| change(&db, &mut draws));
    CASES.iter().for_each(|case| assert_same(&session, case));
    assert_eq!(rebuilds(&session), CASES.len() as i64);
    // Without retention a checkpoint takes the log.
    (0..5).for_each(|_| change(&db, &mut draws));
    db.checkpoint().unwrap();
    CASES.iter().for_each(|case| assert_same(&session, case));
    assert!(reason(&session).contains("the change stream begins after"), "{}", reason(&session));
    // A bulk load is not in the stream.
    let mut load = db.bulk_load(Default::default()).unwrap();
    let person = load.label("P").unwrap();
    load.add_vertices(&[person], 3, &[]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    CASES.iter().for_each(|case| assert_same(&session, case));
    let bulk = ["bulk load", "the change stream begins after"];
    assert!(bulk.iter().any(|why| reason(&session).contains(why)), "{}", reason(&session));
    // More than pays.
    rows(&session, "UNWIND range(1, 3000) AS i CREATE (:P)-[:K]->(:Q)");
    CASES.iter().for_each(|case| assert_same(&session, case));
    assert!(reason(&session).contains("more than"), "{}", reason(&session));
}

#[test]
fn without_a_change_stream_each_commit_is_a_gap() {
    let db = telar_db::open_in_memory().unwrap();
    set_up(&db);
    let session = Session::new(&db);
    create(&session, &CASES[0]);
    for round in 1..4 {
        change(&db, &mut Draws(round));
        assert_same(&session, &CASES[0]);
        assert_same(&session, &CASES[0]);
        assert!(rebuilds(&session) <= 1 + round as i64);
    }
}

#[test]
fn what_is_stored_may_be_damaged_or_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let db = open(&path);
    set_up(&db);
    CASES.iter().for_each(|case| create(&Session::new(&db), case));
    db.close().unwrap();
    let state = path.join("live/0.state");
    let whole = std::fs::read(&state).unwrap();
    let mut damages: Vec<Vec<u8>> = vec![Vec::new(), whole[..whole.len() - 1].to_vec()];
    for at in [0, 20, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[at] ^= 4;
        damages.push(bytes);
    }
    for bytes in damages {
        std::fs::write(&state, bytes).unwrap();
        let db = open(&path);
        let session = Session::new(&db);
        assert_same(&session, &CASES[0]);
        assert!(reason(&session).contains("of no use"), "{}", reason(&session));
    }
    std::fs::remove_file(&state).unwrap();
    std::fs::write(path.join("live/99.state"), "left").unwrap();
    let db = open(&path);
    assert_same(&Session::new(&db), &CASES[0]);
    assert!(reason(&Session::new(&db)).contains("no stored state"));
    assert!(!path.join("live/99.state").exists());
    drop(db);
    std::fs::write(path.join("live/definitions.json"), "{").unwrap();
    let db = open(&path);
    let said = refusal(&Session::new(&db), "CALL algo.live.list()");
    assert!(said.contains("definitions.json is damaged"), "{said}");
    drop(db);
    let report = telar_db::maintenance::check(&path).unwrap();
    assert!(report.findings.iter().all(|finding| !finding.to_string().contains("live")));
}

#[test]
fn a_database_that_is_opened_to_be_read_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph");
    let db = open(&path);
    set_up(&db);
    create(&Session::new(&db), &CASES[0]);
    change(&db, &mut Draws(1));
    db.close().unwrap();
    let state = || std::fs::read(path.join("live/0.state")).unwrap();
    let before = state();
    let db = Database::open_to_read(&path, Settings::default()).unwrap();
    let session = Session::new(&db);
    assert_same(&session, &CASES[0]);
    let said = refusal(&session, "CALL algo.live.create('more', 'degree')");
    assert!(said.contains("cannot write to"), "{said}");
    drop((session, db));
    assert_eq!(state(), before);
}

#[test]
fn what_cannot_be_is_refused() {
    let db = in_memory();
    set_up(&db);
    let session = Session::new(&db);
    rows(&session, "CALL algo.live.create('ranks', 'pageRank')");
    for (call, expected) in [
        ("create('ranks', 'wcc')", "there is a live algorithm ranks already"),
        ("create('', 'wcc')", "is empty"),
        ("create('x', 'louvain')", "those that can be live are pageRank"),
        ("create('x', 'pagerak')", "did you mean pageRank?"),
        ("create('x', 'wcc', {tolerance: 1})", "no setting tolerance"),
        ("create('x', 'degree', {weight: 'w'})", "live algorithms have no weights"),
        ("create('x', 'degree', {pairs: []})", "not pairs"),
        ("create('x', 'pageRank', {relationships: {K: {properties: 'w'}}})", "weights"),
        ("create('x', 'pageRank', {dampingFactor: 1})", "dampingFactor is 1"),
        ("create('x', 'pageRank', {tolerance: 0})", "tolerance is 0"),
        ("create('x', 'degree', {nodes: 'R'})", "no node has the label R"),
        ("create('x', 'degree', {relationships: 'R'})", "no relationship has the type R"),
        ("drop('rank')", "did you mean ranks?"),
        ("stream('x')", "algo.live.create makes one"),
        ("stream('ranks', {maxlag: 3})", "did you mean maxLag?"),
        ("stream('ranks', {maxLag: -3})", "maxLag"),
        ("list('x')", "there is no live algorithm x"),
    ] {
        let said = refusal(&session, &format!("CALL algo.live.{call}"));
        assert!(said.contains(expected), "{call}: {said}");
    }
    assert!(rows(&session, "CALL algo.live.drop('x', false)").is_empty());
    assert_eq!(rows(&session, "CALL algo.live.list()").len(), 1);
    let reader = Session::new(&db).read_only();
    assert_eq!(rows(&reader, "CALL algo.live.stream('ranks')").len(), 3);
    for call in ["create('x', 'wcc')", "drop('ranks')"] {
        let error = reader.run(&format!("CALL algo.live.{call}"), &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AccessMode);
    }
}

#[test]
fn a_graph_without_nodes_has_no_values_and_gets_some() {
    let db = in_memory();
    let session = Session::new(&db);
    for of in ["pageRank", "wcc", "degree", "triangleCount", "kcore"] {
        rows(&session, &format!("CALL algo.live.create('{of}', '{of}')"));
        assert!(rows(&session, &format!("CALL algo.live.stream('{of}')")).is_empty());
    }
    rows(&session, "CREATE (:P)-[:K]->(:P)");
    for (of, sum) in [("pageRank", 1.0), ("wcc", 0.0), ("degree", 1.0), ("kcore", 2.0)] {
        let text = format!("CALL algo.live.stream('{of}') YIELD value RETURN sum(value) * 1.0");
        match rows(&session, &text)[0][0] {
            Value::Float(found) => assert!((found - sum).abs() < 1e-9, "{of}: {found}"),
            ref other => panic!("{other:?}"),
        }
    }
    rows(&session, "MATCH (n) DETACH DELETE n");
    assert!(rows(&session, "CALL algo.live.stream('pageRank')").is_empty());
}

#[test]
fn an_answer_says_how_old_it_is_and_is_never_older_than_allowed() {
    let db = in_memory();
    set_up(&db);
    let session = Session::new(&db);
    rows(&session, "CALL algo.live.create('degrees', 'degree')");
    let as_of = |settings: &str| {
        let text =
            format!("CALL algo.live.stream('degrees', {{{settings}}}) YIELD asOf RETURN max(asOf)");
        count(&session, &text) as u64
    };
    let first = as_of("");
    assert_eq!(first, db.published().get());
    for _ in 0..3 {
        rows(&session, "CREATE (:P)");
    }
    assert_eq!(as_of("maxLag: 3"), first);
    assert_eq!(as_of("maxLag: 2"), first + 3);
    rows(&session, "CREATE (:P {name: 'new'})-[:K]->(:P)");
    let text = "MATCH (n {name: 'new'}) CALL algo.live.value('degrees', n, {maxLag: 9}) \
                YIELD value, asOf RETURN value, asOf";
    assert_eq!(rows(&session, text), [[Value::Null, Value::Int(first as i64 + 3)]]);
    let text = text.replace(", {maxLag: 9}", "");
    let now = db.published().get() as i64;
    assert_eq!(rows(&session, &text), [[Value::Int(1), Value::Int(now)]]);
    let text = "MATCH (n:P) CALL algo.live.value('degrees', n) YIELD value \
                RETURN sum(value) AS sum, count(*) AS rows";
    let degrees = rows(&session, text);
    let expected = "MATCH (n:P) RETURN sum(count { (n)-->() }) AS sum, count(*) AS rows";
    assert_eq!(degrees, rows(&session, expected));
}

#[test]
fn a_transaction_sees_what_is_committed_and_no_nodes_that_it_does_not_know() {
    let db = in_memory();
    set_up(&db);
    let session = Session::new(&db);
    rows(&session, "CALL algo.live.create('degrees', 'degree')");
    let mut old = session.begin().unwrap();
    let stream = "CALL algo.live.stream('degrees') YIELD node, value, asOf \
                  RETURN count(node), sum(value), max(asOf)";
    let none = ValueMap::new();
    let before = old.run(stream, &none).unwrap().rows;
    rows(&session, "CREATE (:P)-[:K]->(:P)");
    // Nobody else has read it since.
    assert_eq!(old.run(stream, &none).unwrap().rows, before);
    let now = rows(&session, stream);
    assert_ne!(now, before);
    // It has got newer than the transaction, and says so.
    let late = old.run(stream, &none).unwrap().rows;
    assert_eq!((&late[0][0], &late[0][2]), (&before[0][0], &now[0][2]));
    old.run("CREATE (:P)-[:K]->(:P)", &none).unwrap();
    assert_eq!(old.run(stream, &none).unwrap().rows, late);
    old.rollback();
    let mut writer = session.begin().unwrap();
    writer.run("CREATE (:P)-[:K]->(:P)", &none).unwrap();
    rows(&session, "CREATE (:P)");
    writer.run(stream, &none).unwrap();
    writer.run("CALL algo.live.create('parts', 'wcc')", &none).unwrap();
    writer.rollback();
    assert_same(&session, &CASES[2]);
    assert_eq!(rows(&session, stream)[0][0], Value::Int(6));
}

#[test]
fn readers_and_writers_beside_each_other_get_what_is_right_at_some_commit() {
    let db = in_memory();
    let session = Session::new(&db);
    rows(&session, "CREATE (:P)");
    rows(&session, "CALL algo.live.create('degrees', 'degree')");
    rows(&session, "CALL algo.live.create('ranks', 'pageRank')");
    let (db, done) = (&db, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        for of in ["degrees", "ranks"] {
            for _ in 0..2 {
                scope.spawn(move || {
                    let session = Session::new(db);
                    // Every commit brings two nodes and one relationship.
                    let text = format!(
                        "CALL algo.live.stream('{of}') YIELD value, asOf \
                         RETURN count(*), sum(value), max(asOf)"
                    );
                    while !done.load(Ordering::Relaxed) {
                        let before = db.published().get() as i64;
                        let row = rows(&session, &text).remove(0);
                        assert!(matches!(row[2], Value::Int(at) if at >= before));
                        match (&row[0], &row[1]) {
                            (Value::Int(nodes), Value::Int(sum)) => assert!(*sum >= nodes / 2),
                            (_, Value::Float(sum)) => assert!(*sum < 1.0 + 1e-9),
                            other => panic!("{other:?}"),
                        }
                    }
                });
            }
        }
        let _stop = crate::common::StopAtEnd(done);
        for _ in 0..150 {
            rows(&session, "CREATE (:P)-[:K]->(:P)");
        }
    });
    assert_eq!(rows(&session, "CALL algo.live.stream('ranks')").len(), 301);
}
