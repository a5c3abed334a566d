//! Tests against the validation graphs and reference outputs of LDBC Graphalytics.
//!
//! They live outside the tree, in `shared/data/graphalytics/example`: under `$TELAR_SHARED`, or
//! beside the workspace. Without them each test prints `SKIPPED` and passes.

use crate::testing::{Lists, simple_undirected};
use crate::{bfs, pagerank, triangles, wcc};
use std::collections::HashMap;
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Relative error the specification allows for PageRank.
const SCORE_ERROR_MAX: f64 = 1e-4;

/// One validation graph, vertices renumbered in file order.
struct Graph {
    stem: PathBuf,
    name: String,
    n: u32,
    numbers: HashMap<u64, u32>,
    /// As in the file; both directions of each where the graph is undirected.
    edges: Vec<(u32, u32)>,
}

#[path = "../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

fn examples() -> Option<PathBuf> {
    test_data::shared("data/graphalytics/example")
}

fn rows(path: &Path) -> Vec<Vec<String>> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    text.lines().map(|line| line.split_whitespace().map(String::from).collect()).collect()
}

fn parse<T: FromStr<Err: Debug>>(word: &str) -> T {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error:?}"))
}

impl Graph {
    fn read(folder: &Path, name: &str) -> Self {
        let stem = folder.join(name);
        let vertices = rows(&stem.with_extension("v"));
        let numbers: HashMap<u64, u32> =
            vertices.iter().zip(0..).map(|(row, number)| (parse(&row[0]), number)).collect();
        let mut graph = Self {
            stem,
            name: name.to_owned(),
            n: vertices.len() as u32,
            numbers,
            edges: Vec::new(),
        };
        let directed = graph.property("directed") == "true";
        for row in rows(&graph.stem.with_extension("e")) {
            let (u, v) = (graph.number(&row[0]), graph.number(&row[1]));
            graph.edges.push((u, v));
            if !directed {
                graph.edges.push((v, u));
            }
        }
        graph
    }

    fn number(&self, word: &str) -> u32 {
        self.numbers[&parse(word)]
    }

    fn property(&self, key: &str) -> String {
        let prefix = format!("graph.{}.{key} =", self.name);
        let text = fs::read_to_string(self.stem.with_extension("properties")).unwrap();
        let line = text.lines().find(|line| line.starts_with(&prefix));
        line.unwrap_or_else(|| panic!("no {prefix}"))[prefix.len()..].trim().to_owned()
    }

    /// The reference output of `algorithm`, in vertex order.
    fn reference<T: FromStr<Err: Debug>>(&self, algorithm: &str) -> Vec<T> {
        let mut values: Vec<_> =
            rows(&self.stem.with_file_name(format!("{}-{algorithm}", self.name)))
                .iter()
                .map(|row| (self.number(&row[0]), parse(&row[1])))
                .collect();
        values.sort_unstable_by_key(|value| value.0);
        assert_eq!(values.len(), self.n as usize);
        values.into_iter().map(|value| value.1).collect()
    }

    fn out(&self) -> Lists {
        Lists::out(self.n, &self.edges)
    }

    fn incoming(&self) -> Lists {
        Lists::incoming(self.n, &self.edges)
    }
}

#[test]
fn bfs_equals_graphalytics() {
    let Some(folder) = examples() else { return };
    for name in
        ["example-directed", "example-undirected", "test-bfs-directed", "test-bfs-undirected"]
    {
        let graph = Graph::read(&folder, name);
        let source = graph.number(&graph.property("bfs.source-vertex"));
        let expected: Vec<u32> = graph
            .reference::<u64>("BFS")
            .into_iter()
            .map(|depth| u32::try_from(depth).unwrap_or(bfs::UNREACHED))
            .collect();
        assert_eq!(bfs::bfs(&graph.out(), graph.n, source), expected, "{name}");
    }
}

#[test]
fn pagerank_equals_graphalytics() {
    let Some(folder) = examples() else { return };
    for name in ["example-directed", "example-undirected", "test-pr-directed", "test-pr-undirected"]
    {
        let graph = Graph::read(&folder, name);
        let settings = pagerank::Settings {
            damping: parse(&graph.property("pr.damping-factor")),
            iterations_max: parse(&graph.property("pr.num-iterations")),
            tolerance: 0.0,
        };
        let degrees = pagerank::out_degrees(&graph.out(), graph.n);
        let found = pagerank::pagerank(&graph.incoming(), &degrees, &settings);
        for (score, expected) in found.scores.iter().zip(graph.reference::<f64>("PR")) {
            let error = (score - expected).abs() / expected;
            assert!(error < SCORE_ERROR_MAX, "{name}: {score} is not {expected}");
        }
    }
}

#[test]
fn components_equal_graphalytics() {
    let Some(folder) = examples() else { return };
    for name in
        ["example-directed", "example-undirected", "test-wcc-directed", "test-wcc-undirected"]
    {
        let graph = Graph::read(&folder, name);
        let found = wcc::components(&graph.out(), &graph.incoming(), graph.n);
        // Labels are free; each pair of labels must occur together or not at all.
        let (mut forward, mut backward) = (HashMap::new(), HashMap::new());
        for (label, expected) in found.into_iter().zip(graph.reference::<u64>("WCC")) {
            assert_eq!(*forward.entry(label).or_insert(expected), expected, "{name}");
            assert_eq!(*backward.entry(expected).or_insert(label), label, "{name}");
        }
    }
}

/// Each triangle closes one pair of neighbours at each of its three corners, and the local
/// clustering coefficient is the closed share of these pairs.
#[test]
fn triangles_equal_graphalytics_clustering() {
    let Some(folder) = examples() else { return };
    for name in ["example-undirected", "test-lcc-undirected"] {
        let graph = Graph::read(&folder, name);
        let degrees = pagerank::out_degrees(&graph.out(), graph.n);
        let closed: f64 = graph
            .reference::<f64>("LCC")
            .into_iter()
            .zip(degrees)
            .map(|(share, degree)| share * f64::from(degree) * (f64::from(degree) - 1.0) / 2.0)
            .sum();
        let found = triangles::triangles(&graph.out());
        assert!(
            (closed / 3.0 - found as f64).abs() < 1e-6,
            "{name}: {found}, not {}",
            closed / 3.0
        );
        let simple = simple_undirected(&graph.edges);
        assert_eq!(found, triangles::verify(graph.n, &simple), "{name}");
    }
}
