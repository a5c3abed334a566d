//! The demonstration's checks fail when there is something wrong. (That they pass when all is well
//! is tested end to end, in `tests/cli.rs`.)

use std::path::Path;

use clap::Parser;
use telar_db::{Database, Direction, Isolation, Value};

use super::dataset::{self, Graph};
use super::facts::{LIKES_KEY, id_of};
use super::script::{Op, Plan};
use super::watch::Run;
use super::{Check, Options, verify};
use crate::cmd::{Cli, Command};
use crate::ui::Screen;

/// Imports a small network into `path`.
fn imported(path: &Path) -> (Options, Graph) {
    let cli = Cli::try_parse_from(["telar", "demo", "--vertices", "300", "--writers", "3"]);
    let Command::Demo(options) = cli.unwrap().command else { panic!("no demo") };
    let graph = dataset::import(&options, path, Screen::quiet(), &mut Vec::new()).unwrap();
    (options, graph)
}

/// A run in which each writer was told that so many transactions are on disk.
fn run_of(acknowledged: [u64; 3]) -> Run {
    let all = acknowledged.iter().sum();
    Run::heard(acknowledged.to_vec(), (1..=all).collect(), vec![0.0])
}

/// Claims of the checks that fail.
fn failing(path: &Path, options: &Options, graph: &Graph, run: &Run) -> Vec<&'static str> {
    let plan = Plan::new(options.seed, 3, &graph.facts);
    let checks = verify::verify(path, graph, &plan, run, Screen::quiet(), &mut Vec::new()).unwrap();
    assert_eq!(checks.len(), 11);
    checks.iter().filter(|c| !c.passed).map(|c: &Check| c.claim).collect()
}

fn like(db: &Database, vertex: u32) {
    let likes = db.find_property_key(LIKES_KEY).unwrap();
    let set = |txn: &mut telar_db::Transaction<'_>| {
        txn.set_vertex_property(id_of(vertex), likes, 1.into())
    };
    db.write(Isolation::Snapshot, set).unwrap();
}

#[test]
fn a_lost_commit_fails_its_check_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (options, graph) = imported(&path);
    let failed = failing(&path, &options, &graph, &run_of([0, 2, 0]));
    assert_eq!(failed, ["every acknowledged commit is there"]);
}

#[test]
fn a_run_without_commits_or_analyses_proves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (options, graph) = imported(&path);
    let run = Run::heard(vec![0; 3], Vec::new(), Vec::new());
    let failed = failing(&path, &options, &graph, &run);
    let claims = [
        "every acknowledged commit is there",
        "PageRank beside writers equals that of a frozen copy",
    ];
    assert_eq!(failed, claims);
}

#[test]
fn a_changed_edge_fails_the_comparison_of_edges_and_scores() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (options, graph) = imported(&path);
    let db = telar_db::open(&path).unwrap();
    let (_, ty) = graph.ids(&db).unwrap();
    let (src, dst) = graph.facts.edges[0];
    let other = (0..300).find(|v| *v != src && *v != dst).unwrap();
    db.write(Isolation::Snapshot, |txn| {
        let edge = txn.edges(id_of(src), ty, Direction::Out)?.find(|e| e.dst == id_of(dst));
        txn.delete_edge(edge.unwrap())?;
        txn.create_edge(ty, id_of(src), id_of(other), &[]).map(drop)
    })
    .unwrap();
    drop(db);
    let failed = failing(&path, &options, &graph, &run_of([0, 0, 0]));
    assert!(failed.contains(&"every edge is one that must be, and the reverse"));
    assert!(failed.contains(&"PageRank equals its definition over the expected edges"));
    assert!(!failed.contains(&"incoming lists mirror outgoing ones"));
}

#[test]
fn a_like_too_many_and_a_forgotten_one_fail_their_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let (options, graph) = imported(&path);
    like(&telar_db::open(&path).unwrap(), 7);
    let failed = failing(&path, &options, &graph, &run_of([0, 0, 0]));
    assert!(failed.contains(&"no like was lost between concurrent transactions"));

    // A writer that counted its first like without liking anything.
    let plan = Plan::new(options.seed, 3, &graph.facts);
    let mut scripts = (0..3).map(|writer| plan.script(writer));
    let writer = scripts.position(|mut script| matches!(script.next(), Op::Like { .. }));
    let writer = writer.expect("with this seed, a writer begins with a like");
    let db = telar_db::open(&path).unwrap();
    let done = db.find_property_key("done").unwrap();
    let (likes, none) = (db.find_property_key(LIKES_KEY).unwrap(), Value::Int(0));
    db.write(Isolation::Snapshot, |txn| {
        txn.set_vertex_property(id_of(7), likes, none.clone())?;
        txn.set_vertex_property(id_of(graph.writers[writer]), done, 1.into())
    })
    .unwrap();
    drop(db);
    let mut acknowledged = [0; 3];
    acknowledged[writer] = 1;
    let failed = failing(&path, &options, &graph, &run_of(acknowledged));
    assert_eq!(failed, ["no like was lost between concurrent transactions"]);
}
