//! Tests against the validation graphs and reference outputs of LDBC Graphalytics, and its graph
//! p2p-31 with the outputs that its implementations come with; on one thread and on several.
//!
//! They live outside the tree, in `shared/data/graphalytics`: under `$TELAR_SHARED`, or beside the
//! workspace. Without them each test says that it is skipped and passes.

use crate::community::{label_propagation, local_clustering};
use crate::control::Control;
use crate::csr::Csr;
use crate::paths::{self, sssp};
use crate::testing::{Lists, simple_undirected};
use crate::{bfs, centrality, community, pagerank, triangles, wcc};
use std::collections::HashMap;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Read;
use std::rc::Rc;
use std::str::FromStr;

/// Relative error the specification allows for PageRank.
const SCORE_ERROR_MAX: f64 = 1e-4;

/// Threads of the pools that every kernel runs on.
const THREADS: [usize; 2] = [1, 3];

/// The text of each file by its name.
type Files = Rc<HashMap<String, String>>;

/// One validation graph, vertices renumbered in file order.
struct Graph {
    files: Files,
    name: String,
    /// Ending of the names of its reference outputs.
    ending: &'static str,
    directed: bool,
    n: u32,
    numbers: HashMap<u64, u32>,
    /// As in the file; both directions of each where the graph is undirected.
    edges: Vec<(u32, u32)>,
    /// Beside the edges, 1 where the file has none.
    weights: Vec<f64>,
}

#[path = "../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

/// The example of every algorithm, those of this one, and p2p-31 without directions, with which all
/// its outputs but those of searches were made.
fn graphs(of: &str) -> Vec<Graph> {
    let named = |name: &str| [format!("{name}-directed"), format!("{name}-undirected")];
    let names = [named("example"), named(&format!("test-{of}"))].concat();
    let mut graphs: Vec<Graph> = Vec::new();
    if let Some(files) = examples() {
        graphs.extend(names.iter().map(|name| {
            let directed = property(&files, name, "directed").as_deref() == Some("true");
            Graph::read(&files, name, "", directed)
        }));
    }
    if let Some(files) = p2p_31() {
        graphs.push(Graph::read(&files, "p2p-31", "", false));
        if files.contains_key(&format!("p2p-31-{}-directed", of.to_uppercase())) {
            graphs.push(Graph::read(&files, "p2p-31", "-directed", true));
        }
    }
    graphs
}

fn examples() -> Option<Files> {
    let folder = test_data::shared("data/graphalytics/example")?;
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let file = |entry: fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), fs::read_to_string(entry.path()).unwrap())
    };
    Some(Rc::new(entries.map(file).collect()))
}

fn p2p_31() -> Option<Files> {
    let packed = File::open(test_data::shared("data/graphalytics/p2p-31.tar.zst")?).unwrap();
    let mut archive = tar::Archive::new(zstd::Decoder::new(packed).unwrap());
    let mut files = HashMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().into_owned();
        if entry.header().entry_type().is_file() {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.insert(path.file_name().unwrap().to_str().unwrap().to_owned(), text);
        }
    }
    Some(Rc::new(files))
}

fn rows(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect())
}

fn property(files: &Files, name: &str, key: &str) -> Option<String> {
    let prefix = format!("graph.{name}.{key} =");
    let text = files.get(&format!("{name}.properties"))?;
    let line = text.lines().find(|line| line.starts_with(&prefix));
    Some(line.unwrap_or_else(|| panic!("no {prefix}"))[prefix.len()..].trim().to_owned())
}

fn parse<T: FromStr<Err: Debug>>(word: &str) -> T {
    word.parse().unwrap_or_else(|error| panic!("{word}: {error:?}"))
}

/// Runs it with each number of threads.
fn on_threads(mut run: impl FnMut(&Control<'_>)) {
    for threads in THREADS {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        run(&Control::default().on(&pool));
    }
}

impl Graph {
    fn read(files: &Files, name: &str, ending: &'static str, directed: bool) -> Self {
        let vertices = rows(&files[&format!("{name}.v")]);
        let numbers: HashMap<u64, u32> =
            vertices.zip(0..).map(|(row, number)| (parse(row[0]), number)).collect();
        let mut graph = Self {
            files: Rc::clone(files),
            name: name.to_owned(),
            ending,
            directed,
            n: numbers.len() as u32,
            numbers,
            edges: Vec::new(),
            weights: Vec::new(),
        };
        for row in rows(&files[&format!("{name}.e")]) {
            let (u, v) = (graph.number(row[0]), graph.number(row[1]));
            let weight = row.get(2).map_or(1.0, |word| parse(word));
            graph.edges.push((u, v));
            graph.weights.push(weight);
            if !directed {
                graph.edges.push((v, u));
                graph.weights.push(weight);
            }
        }
        graph
    }

    fn number(&self, word: &str) -> u32 {
        self.numbers[&parse(word)]
    }

    /// The parameter of the benchmark; p2p-31 comes without them, and its outputs were made with
    /// these of its implementations' tests.
    fn parameter(&self, key: &str) -> String {
        let given = property(&self.files, &self.name, key);
        given.unwrap_or_else(|| {
            let value = match key {
                "bfs.source-vertex" | "sssp.source-vertex" => "6",
                "pr.damping-factor" => "0.85",
                "pr.num-iterations" | "cdlp.max-iterations" => "10",
                _ => panic!("no {key}"),
            };
            value.to_owned()
        })
    }

    /// The reference output of `algorithm`, in vertex order.
    fn reference<T: FromStr<Err: Debug>>(&self, algorithm: &str) -> Vec<T> {
        let text = &self.files[&format!("{}-{algorithm}{}", self.name, self.ending)];
        let mut values: Vec<_> =
            rows(text).map(|row| (self.number(row[0]), parse(row[1]))).collect();
        values.sort_unstable_by_key(|value| value.0);
        assert_eq!(values.len(), self.n as usize);
        values.into_iter().map(|value| value.1).collect()
    }

    fn packed(&self) -> (Csr, Option<Csr>) {
        let graph = Csr::from_edges(self.n, &self.edges);
        let incoming = self.directed.then(|| graph.reversed());
        (graph, incoming)
    }

    fn out(&self) -> Lists {
        Lists::out(self.n, &self.edges)
    }

    fn incoming(&self) -> Lists {
        Lists::incoming(self.n, &self.edges)
    }

    fn weighted(&self) -> Csr {
        let edges = self.edges.iter().zip(&self.weights);
        Csr::from_weighted(self.n, &edges.map(|(&(u, v), &w)| (u, v, w)).collect::<Vec<_>>())
    }
}

#[test]
fn bfs_equals_graphalytics() {
    for graph in graphs("bfs") {
        let name = &graph.name;
        let source = graph.number(&graph.parameter("bfs.source-vertex"));
        let expected: Vec<u32> = graph
            .reference::<u64>("BFS")
            .into_iter()
            .map(|depth| u32::try_from(depth).unwrap_or(bfs::UNREACHED))
            .collect();
        assert_eq!(bfs::bfs(&graph.out(), graph.n, source), expected, "{name}");
        let settings = paths::bfs::Settings { source, ..Default::default() };
        let (out, incoming) = (graph.out(), graph.incoming());
        on_threads(|control| {
            let found = paths::bfs::bfs(&out, &incoming, graph.n, &settings, control);
            assert_eq!(found.unwrap().depths, expected, "{name}");
        });
    }
}

#[test]
fn distances_equal_graphalytics() {
    for graph in graphs("sssp") {
        let source = graph.number(&graph.parameter("sssp.source-vertex"));
        let settings = sssp::Settings { source, delta: None };
        let (weighted, reference) = (graph.weighted(), graph.reference::<f64>("SSSP"));
        on_threads(|control| {
            let found = sssp::sssp(&weighted, &settings, control).unwrap();
            for (distance, expected) in found.distances.iter().zip(&reference) {
                let same = distance == expected
                    || (distance - expected).abs() <= SCORE_ERROR_MAX * expected.abs();
                assert!(same, "{}: {distance} is not {expected}", graph.name);
            }
        });
    }
}

#[test]
fn pagerank_equals_graphalytics() {
    for graph in graphs("pr") {
        let name = &graph.name;
        let settings = pagerank::Settings {
            damping: parse(&graph.parameter("pr.damping-factor")),
            iterations_max: parse(&graph.parameter("pr.num-iterations")),
            tolerance: 0.0,
        };
        let degrees = pagerank::out_degrees(&graph.out(), graph.n);
        let found = pagerank::pagerank(&graph.incoming(), &degrees, &settings);
        let packed = graph.packed().0;
        let settings = centrality::pagerank::Settings {
            damping: settings.damping,
            max_iterations: settings.iterations_max,
            tolerance: 0.0,
            source_nodes: Vec::new(),
        };
        let incoming = packed.reversed();
        on_threads(|control| {
            let over = centrality::pagerank::pagerank(&packed, &incoming, &settings, control);
            for (score, expected) in over.unwrap().scores.iter().zip(&found.scores) {
                assert!((score - expected).abs() < 1e-12, "{name}: {score} is not {expected}");
            }
        });
        for (score, expected) in found.scores.iter().zip(graph.reference::<f64>("PR")) {
            let error = (score - expected).abs() / expected;
            assert!(error < SCORE_ERROR_MAX, "{name}: {score} is not {expected}");
        }
    }
}

#[test]
fn components_equal_graphalytics() {
    for graph in graphs("wcc") {
        let reference = graph.reference::<u64>("WCC");
        // Labels are free; each pair of labels must occur together or not at all.
        let compare = |found: Vec<u32>| {
            let (mut forward, mut backward) = (HashMap::new(), HashMap::new());
            assert_eq!(found.len(), reference.len());
            for (label, &expected) in found.into_iter().zip(&reference) {
                assert_eq!(*forward.entry(label).or_insert(expected), expected, "{}", graph.name);
                assert_eq!(*backward.entry(expected).or_insert(label), label, "{}", graph.name);
            }
        };
        compare(wcc::components(&graph.out(), &graph.incoming(), graph.n));
        let (out, incoming) = graph.packed();
        on_threads(|control| {
            let incoming = incoming.as_ref().unwrap_or(&out);
            compare(community::wcc::wcc(&out, incoming, graph.n, control).unwrap().components);
        });
    }
}

/// Each triangle closes one pair of neighbours at each of its three corners, and the local
/// clustering coefficient is the closed share of these pairs.
#[test]
fn triangles_equal_graphalytics_clustering() {
    for graph in graphs("lcc").iter().filter(|graph| !graph.directed) {
        let name = &graph.name;
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
        if graph.n < 1000 {
            let simple = simple_undirected(&graph.edges);
            assert_eq!(found, triangles::verify(graph.n, &simple), "{name}");
        }
    }
}

#[test]
fn label_propagation_equals_graphalytics() {
    for graph in graphs("cdlp") {
        let (packed, incoming) = graph.packed();
        let mut names: Vec<u64> = graph.numbers.keys().copied().collect();
        names.sort_unstable();
        // Labels are places among the sorted names, because ties go to the smallest name.
        let mut initial = vec![0; graph.n as usize];
        for (place, name) in (0..).zip(&names) {
            initial[graph.numbers[name] as usize] = place;
        }
        let settings = label_propagation::Settings {
            max_iterations: parse(&graph.parameter("cdlp.max-iterations")),
        };
        let reference = graph.reference::<u64>("CDLP");
        on_threads(|control| {
            let found = label_propagation::label_propagation(
                &packed,
                incoming.as_ref(),
                Some(&initial),
                &settings,
                control,
            );
            let labels = found.unwrap().labels;
            let labels: Vec<u64> = labels.iter().map(|&place| names[place as usize]).collect();
            assert_eq!(labels, reference, "{}", graph.name);
        });
    }
}

#[test]
fn local_clustering_equals_graphalytics() {
    for graph in graphs("lcc") {
        let (packed, incoming) = graph.packed();
        let reference = graph.reference::<f64>("LCC");
        on_threads(|control| {
            let found = local_clustering::local_clustering(&packed, incoming.as_ref(), control);
            let found = found.unwrap().coefficients;
            for (found, expected) in found.iter().zip(&reference) {
                assert!((found - expected).abs() < 1e-6, "{}: {found}, {expected}", graph.name);
            }
        });
    }
}
