//! LDBC's social network from the shared folder: loaded, read, updated, read again.
//!
//! Counts are those of the data's own description, answers those of Neo4j. Tests pass at once where
//! the folder is missing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how long loading took"
)]

mod data;
mod estimates;
mod whole;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use telar_bench::snb::{
    self, ANSWERS, Archive, Expected, Queries, Rows, check_reads, counts, load,
};
use telar_db::{Database, Session, Value, ValueMap, VertexId, View};
use whole::check_tiny;

fn loaded(name: &str) -> Option<(Archive, Database)> {
    let path = telar_tests::shared(&format!("data/snb/{name}.tar.zst"))?;
    let archive = Archive::read(&path).unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let begun = Instant::now();
    load(&archive, &db).unwrap();
    println!("{name}: loaded in {:.1} s", begun.elapsed().as_secs_f64());
    Some((archive, db))
}

/// Runs queries; a panic is an answer that is wrong, and a slow one is shown.
fn asking(db: &Database) -> impl FnMut(&str, &ValueMap) -> Result<Rows, String> {
    let session = Session::new(db);
    move |text, parameters| {
        let begun = Instant::now();
        let run = AssertUnwindSafe(|| session.run_with(text, parameters));
        let done = catch_unwind(run).map_err(|_| "it panics".to_owned())?;
        let seconds = begun.elapsed().as_secs_f64();
        if seconds > 1.0 {
            println!("{seconds:6.1} s  {}", text.lines().next().unwrap_or_default());
        }
        done.map(|result| result.rows).map_err(|e| e.to_string())
    }
}

fn queries() -> Queries {
    Queries::read(&telar_tests::shared("data/snb/queries").unwrap()).unwrap()
}

/// Vertices and edges in all, and the counts of some label sets and types.
fn check_counts(db: &Database, vertices: u64, edges: u64, some: &[(&str, u64)]) {
    let statistics = telar_graph::Counts::statistics(&db.reader().unwrap()).unwrap();
    assert_eq!((statistics.vertices, statistics.edges()), (vertices, edges));
    let counts = counts(db).unwrap();
    assert_eq!(counts.values().sum::<u64>(), vertices + edges);
    for (name, count) in some {
        assert_eq!(counts.get(*name), Some(count), "{name}");
    }
}

#[test]
fn tiny_has_the_counts_and_values_of_its_files() {
    let Some((_, db)) = loaded("tiny") else { return };
    let some = [
        ("Person", 222),
        ("Message:Post", 5_924),
        ("Comment:Message", 2_218),
        ("City:Place", 1_343),
        ("Company:Organisation", 1_575),
        ("KNOWS", 825),
        ("LIKES", 624 + 759),
        ("REPLY_OF", 2_218),
        ("IS_SUBCLASS_OF", 70),
    ];
    check_counts(&db, 34_735, 70_842, &some);

    // The first person of the file, found by a scan.
    let snapshot = db.snapshot().unwrap();
    let reader = snapshot.reader();
    let person = db.find_label("Person").unwrap();
    let key = |name: &str| db.find_property_key(name).unwrap();
    let mut people = Vec::new();
    let first = VertexId::from_raw(0);
    reader.scan(Some(person), first, reader.vertex_bound(), &mut people).unwrap();
    let jose = people
        .into_iter()
        .find(|v| reader.vertex_property(*v, key("id")) == Value::Int(8_796_093_022_220))
        .unwrap();
    let value = |name: &str| reader.vertex_property(jose, key(name));
    assert_eq!(value("birthday"), Value::Int(558_921_600_000));
    assert_eq!(value("speaks"), Value::list(["es", "en"]));
    assert_eq!(value("browserUsed"), Value::from("Internet Explorer"));
    assert_eq!(value("content"), Value::Null);
}

#[test]
fn scale_factor_0_1_has_its_counts_and_answers_as_neo4j_did() {
    let Some((archive, db)) = loaded("sf0.1-gen") else { return };
    let some = [
        ("Person", 1_528),
        ("Message:Post", 137_192),
        ("Comment:Message", 169_311),
        ("KNOWS", 14_116),
        ("HAS_MEMBER", 125_568),
        ("LIKES", 72_904 + 48_335),
    ];
    check_counts(&db, 347_337, 1_585_099, &some);

    let expected = Expected::read(&archive, ANSWERS).unwrap();
    let begun = Instant::now();
    match check_reads(&queries(), &expected, &mut asking(&db)) {
        Ok(right) => assert_eq!(right, 105),
        Err(wrong) => panic!("{} wrong answers:\n{}", wrong.len(), wrong.join("\n")),
    }
    println!("sf0.1-gen: answered in {:.1} s", begun.elapsed().as_secs_f64());
}

#[test]
fn tiny_answers_as_neo4j_did_before_and_after_all_updates() {
    let Some((archive, db)) = loaded("tiny") else { return };
    let begun = Instant::now();
    match check_tiny(&archive, &queries(), &mut asking(&db), &|| counts(&db)) {
        Ok(right) => assert_eq!(right, 210),
        Err(wrong) => panic!("{} wrong answers:\n{}", wrong.len(), wrong.join("\n")),
    }
    println!("tiny: updated and answered in {:.1} s", begun.elapsed().as_secs_f64());
}

#[test]
fn the_benchmark_checks_answers_and_reports_every_read_and_update() {
    let Some(data) = telar_tests::shared("data/snb/tiny.tar.zst") else { return };
    let folder = tempfile::tempdir().unwrap();
    let options = snb::Options {
        rounds: 1,
        turn: Duration::from_millis(1),
        mixed: Duration::from_secs(600),
        threads: 3,
        export: Some(folder.path().to_owned()),
        ..snb::Options::new(data)
    };
    // It ends when the updates do, and has counted what they made.
    let outcome = snb::run(&options, &mut |_| {}).unwrap();
    let report = outcome.report().to_json();
    for (name, _) in snb::READS {
        for figure in [format!("{name}/ms"), format!("mixed/{name}/p99_ms")] {
            assert!(report["figures"][&figure].as_f64().is_some_and(|ms| ms > 0.0), "{figure}");
        }
    }
    assert_eq!(report["figures"]["mixed/update/count"], 6920.0);
    let lines = std::fs::read_to_string(folder.path().join("operations.jsonl")).unwrap();
    assert_eq!(report["figures"]["mixed/operations"], lines.lines().count() as f64);
    for file in ["import.json", "questions.json"] {
        let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{file}");
    }
}

#[test]
fn the_benchmark_refuses_what_is_no_data_set_or_no_read() {
    let folder = tempfile::tempdir().unwrap();
    let options = snb::Options::new(folder.path().join("none"));
    let problem = snb::run(&options, &mut |_| {}).unwrap_err().to_string();
    assert!(problem.contains("none"), "{problem}");
    let options = snb::Options { only: vec!["complex-15".to_owned()], ..options };
    let problem = snb::run(&options, &mut |_| {}).unwrap_err().to_string();
    assert!(problem.contains("no read complex-15"), "{problem}");
}
