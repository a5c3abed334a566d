//! Opening the database after the kill, and comparing it with what was acknowledged.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use telar_db::import::Properties;
use telar_db::{Counts, Database, Direction, PropertyKeyId, Reader, Value};

use super::dataset::Graph;
use super::facts::{DONE_KEY, LIKES_KEY, SINCE_KEY, id_of};
use super::model::Model;
use super::script::Plan;
use super::watch::Run;
use super::{Check, Row, edges, rank};
use crate::cmd::folder_bytes;
use crate::ui::{Screen, number};

/// Two scores that differ by more than this, relatively, are not the same; sums taken in another
/// order differ by some 1e-15.
const SCORE_DIFFERENCE_MAX: f64 = 1e-9;

/// Recovers the database in `path` and checks it.
pub(super) fn verify(
    path: &Path,
    graph: &Graph,
    plan: &Plan<'_>,
    run: &Run,
    screen: Screen,
    rows: &mut Vec<Row>,
) -> anyhow::Result<Vec<Check>> {
    let log = folder_bytes(&path.join("wal"));
    let begun = Instant::now();
    let db = telar_db::open(path)?;
    let seconds = begun.elapsed().as_secs_f64();
    let commits = db.published().get();
    let amount = format!(
        "opened at commit {} from the checkpoint and {} of log",
        number::count(commits),
        number::bytes(log)
    );
    let rate = format!("{}/s", number::bytes((log as f64 / seconds) as u64));
    let row = Row::new("Recover", amount, seconds, rate);
    row.tell(screen)?;
    rows.push(row);

    let begun = Instant::now();
    let reader = db.reader()?;
    let done = db.find_property_key(DONE_KEY).context("a property key is missing")?;
    let steps: Vec<u64> = graph.writers.iter().map(|w| integer(&reader, *w, done)).collect();
    let model = Model::play(plan, &steps);
    let mut checks = acknowledged(graph, run, &steps, commits);
    checks.extend(topology(graph, &model, &db, &reader)?);
    checks.extend(properties(graph, &model, &db, &reader)?);
    checks.push(live(run));
    if let Some(error) = db.error() {
        return Err(error.into());
    }
    let amount = number::counted(checks.len() as u64, "check", "checks");
    let row = Row::new("Verify", amount, begun.elapsed().as_secs_f64(), String::new());
    row.tell(screen)?;
    rows.push(row);
    Ok(checks)
}

/// A property that counts; 0 if it is missing or no count.
fn integer(reader: &Reader<'_>, vertex: u32, key: PropertyKeyId) -> u64 {
    u64::try_from(&reader.vertex_property(id_of(vertex), key)).unwrap_or(0)
}

fn check(claim: &'static str, found: String, passed: bool) -> Check {
    Check { claim, found, passed }
}

/// `good` of `all`, which must be the same.
fn of(good: u64, all: u64) -> String {
    format!("{} of {}", number::count(good), number::count(all))
}

/// What the writers were told against what is there.
fn acknowledged(graph: &Graph, run: &Run, steps: &[u64], commits: u64) -> Vec<Check> {
    let both = || run.acknowledged.iter().zip(steps);
    let all: u64 = run.acknowledged.iter().sum();
    let present: u64 = both().map(|(told, found)| *told.min(found)).sum();
    let mut timestamps = run.timestamps.clone();
    timestamps.sort_unstable();
    timestamps.dedup();
    let distinct = timestamps.len() == run.timestamps.len();
    let last = timestamps.last().copied().unwrap_or(0);
    let whole = run.nonsense == 0 && all > 0;
    // A writer waits for each commit, so it has at most one that is not acknowledged.
    let in_flight: u64 = both().map(|(told, found)| found.saturating_sub(*told)).sum();
    let single = both().all(|(told, found)| found.saturating_sub(*told) <= 1);
    vec![
        check("every acknowledged commit is there", of(present, all), present == all && whole),
        check(
            "commits cut off by the kill are whole or absent",
            format!("{} of at most {} made it", in_flight, graph.writers.len()),
            single,
        ),
        check(
            "timestamps are distinct, none is beyond the recovered one",
            format!("{} <= {}", number::count(last), number::count(commits)),
            distinct && last <= commits,
        ),
    ]
}

/// Vertices and edges, and what is computed from them.
fn topology(
    graph: &Graph,
    model: &Model,
    db: &Database,
    reader: &Reader<'_>,
) -> anyhow::Result<Vec<Check>> {
    let (_, ty) = graph.ids(db)?;
    let statistics = reader.statistics()?;
    let vertices = (graph.numbers.len() + graph.writers.len()) as u64;
    let expected = model.edges.len() as u64;
    let adjacency_out = reader.adjacency(ty, Direction::Out)?;
    let adjacency_in = reader.adjacency(ty, Direction::In)?;
    let mut out = edges::list(&adjacency_out);
    out.sort_unstable();
    let differing = edges::differing(&out, &model.edges);
    let mirrored = edges::differing(&out, &edges::reversed(&edges::list(&adjacency_in)));
    let scores = rank::scores(&adjacency_out, &adjacency_in, graph.facts.undirected);
    let n = graph.numbers.iter().chain(&graph.writers).max().map_or(0, |v| *v as usize + 1);
    let reference = rank::reference(n, &model.edges, graph.facts.undirected);
    let difference = rank::difference(&scores, &reference);
    Ok(vec![
        check(
            "vertices and edges are as many as they must be",
            format!("{}, {}", of(statistics.vertices, vertices), of(statistics.edges(), expected)),
            statistics.vertices == vertices && statistics.edges() == expected,
        ),
        check(
            "every edge is one that must be, and the reverse",
            format!("{} differ", number::counted(differing, "edge", "edges")),
            differing == 0,
        ),
        check(
            "incoming lists mirror outgoing ones",
            format!("{} differ", number::counted(mirrored, "edge", "edges")),
            mirrored == 0,
        ),
        check(
            "PageRank equals its definition over the expected edges",
            format!("off by {difference:.1e} at most"),
            difference <= SCORE_DIFFERENCE_MAX,
        ),
    ])
}

/// Properties: as imported, likes, and those of added edges.
fn properties(
    graph: &Graph,
    model: &Model,
    db: &Database,
    reader: &Reader<'_>,
) -> anyhow::Result<Vec<Check>> {
    let (_, ty) = graph.ids(db)?;
    let likes = db.find_property_key(LIKES_KEY).context("a property key is missing")?;
    let since = db.find_property_key(SINCE_KEY).context("a property key is missing")?;
    let (mut all, mut same) = (0u64, 0u64);
    let mut imported = Properties::new();
    let mut liked_right = true;
    let mut liked = 0;
    for (source, vertex) in (0..).zip(&graph.numbers) {
        graph.source().vertex_properties(source, &mut imported);
        for (key, value) in imported.drain(..) {
            all += 1;
            same += u64::from(reader.vertex_property(id_of(*vertex), key) == value);
        }
        let found = integer(reader, *vertex, likes);
        liked += found;
        liked_right &= found as i64 == model.likes.get(vertex).copied().unwrap_or(0);
    }
    let expected: i64 = model.likes.values().sum();
    let mut checks = vec![
        check("properties are as imported", of(same, all), same == all),
        check(
            "no like was lost between concurrent transactions",
            of(liked, expected as u64),
            liked_right && liked as i64 == expected,
        ),
    ];
    if !graph.facts.simple {
        let right = |((src, dst), ms): &&((u32, u32), i64)| {
            let mut edges = reader.edges(id_of(*src), ty, Direction::Out);
            let edge = edges.find(|edge| edge.dst == id_of(*dst));
            edge.is_some_and(|edge| reader.edge_property(edge, since) == Value::Int(*ms))
        };
        let (right, all) = (model.added.iter().filter(right).count(), model.added.len());
        let found = of(right as u64, all as u64);
        checks.push(check("added edges have their property", found, right == all));
    }
    Ok(checks)
}

/// What was computed while writers were at work.
fn live(run: &Run) -> Check {
    let all = run.differences.len();
    let good = run.differences.iter().filter(|d| **d <= SCORE_DIFFERENCE_MAX).count();
    let largest = run.differences.iter().copied().fold(0.0, f64::max);
    let found = format!("{}, off by {largest:.1e} at most", of(good as u64, all as u64));
    check("PageRank beside writers equals that of a frozen copy", found, good == all && all > 0)
}
