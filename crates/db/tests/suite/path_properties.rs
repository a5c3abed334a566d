//! Paths on random graphs against an evaluator that tries every path there is.
#![expect(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;

use proptest::prelude::*;
use telar_db::{Session, Value};

/// Edges between nodes 0, 1, ...: where from, where to, whether of type A, a weight.
#[derive(Debug, Clone)]
struct Graph {
    nodes: usize,
    edges: Vec<(usize, usize, bool, u8)>,
}

/// A path that uses no edge twice: its edges and the nodes between.
#[derive(Debug, Clone)]
struct Trail {
    nodes: Vec<usize>,
    edges: Vec<usize>,
}

impl Trail {
    fn len(&self) -> usize {
        self.edges.len()
    }
}

impl Graph {
    /// Whether step `i` of the path goes along its edge.
    fn along(&self, t: &Trail, i: usize) -> bool {
        let (from, to, ..) = self.edges[t.edges[i]];
        (from, to) == (t.nodes[i], t.nodes[i + 1])
    }

    fn against(&self, t: &Trail, i: usize) -> bool {
        let (from, to, ..) = self.edges[t.edges[i]];
        (to, from) == (t.nodes[i], t.nodes[i + 1])
    }

    fn all(&self, t: &Trail, f: impl Fn(usize) -> bool) -> bool {
        (0..t.len()).all(f)
    }

    fn is_a(&self, t: &Trail, i: usize) -> bool {
        self.edges[t.edges[i]].2
    }

    fn weight(&self, t: &Trail, i: usize) -> u8 {
        self.edges[t.edges[i]].3
    }

    /// Every path that uses no edge twice.
    fn trails(&self) -> Vec<Trail> {
        let mut found: Vec<Trail> =
            (0..self.nodes).map(|n| Trail { nodes: vec![n], edges: Vec::new() }).collect();
        let mut at = 0;
        while at < found.len() {
            for (edge, (from, to, ..)) in self.edges.iter().enumerate() {
                let last = found[at].nodes[found[at].len()];
                let next = match (*from == last, *to == last) {
                    (true, _) => *to,
                    (false, true) => *from,
                    (false, false) => continue,
                };
                if !found[at].edges.contains(&edge) {
                    let mut longer = found[at].clone();
                    longer.edges.push(edge);
                    longer.nodes.push(next);
                    found.push(longer);
                }
            }
            at += 1;
        }
        found
    }

    fn create(&self) -> String {
        let mut text = String::from("CREATE ");
        for n in 0..self.nodes {
            let _ = write!(text, "{}(n{n}:N {{n: {n}}})", if n == 0 { "" } else { ", " });
        }
        for (i, (from, to, a, w)) in self.edges.iter().enumerate() {
            let ty = if *a { "A" } else { "B" };
            let _ = write!(text, ", (n{from})-[:{ty} {{i: {i}, w: {w}}}]->(n{to})");
        }
        text
    }
}

#[derive(Debug, Clone, Copy)]
enum Select {
    All,
    Shortest(usize),
    Groups(usize),
}

type Matches = fn(&Graph, &Trail) -> bool;

/// A path `p` from `s` to `e`, which paths it matches, and which of these are wanted.
const PATTERNS: &[(&str, Matches, Select)] = &[
    // Groups.
    ("p = (s) (()-->())+ (e)", |g, t| t.len() > 0 && g.all(t, |i| g.along(t, i)), Select::All),
    ("p = (s) (()--()){0,3} (e)", |_, t| t.len() <= 3, Select::All),
    (
        "p = (s) ((x)-[r:A]->(y) WHERE x.n <= y.n){1,2} (e)",
        |g, t| {
            (1..=2).contains(&t.len())
                && g.all(t, |i| g.along(t, i) && g.is_a(t, i) && t.nodes[i] <= t.nodes[i + 1])
        },
        Select::All,
    ),
    (
        "p = (s) ((x)-[:A]->()<-[r]-(z)){1,2} (e)",
        |g, t| {
            matches!(t.len(), 2 | 4)
                && g.all(t, |i| match i % 2 {
                    0 => g.along(t, i) && g.is_a(t, i),
                    _ => g.against(t, i),
                })
        },
        Select::All,
    ),
    (
        "p = (s) ((x)-[:A]->(y))* (()-[:B]-())+ (e)",
        |g, t| {
            (0..t.len()).any(|cut| {
                g.all(t, |i| if i < cut { g.is_a(t, i) && g.along(t, i) } else { !g.is_a(t, i) })
            })
        },
        Select::All,
    ),
    (
        "p = (s)-[r:A WHERE r.w > 0]->{1,3}(e)",
        |g, t| {
            (1..=3).contains(&t.len())
                && g.all(t, |i| g.along(t, i) && g.is_a(t, i) && g.weight(t, i) > 0)
        },
        Select::All,
    ),
    (
        "p = (s)-->(m)<--+(e)",
        |g, t| t.len() > 1 && g.all(t, |i| if i == 0 { g.along(t, i) } else { g.against(t, i) }),
        Select::All,
    ),
    // The functions.
    (
        "p = shortestPath((s)-[*]->(e))",
        |g, t| t.len() > 0 && g.all(t, |i| g.along(t, i)),
        Select::Shortest(1),
    ),
    ("p = shortestPath((s)-[*0..]-(e))", |_, _| true, Select::Shortest(1)),
    (
        "p = shortestPath((s)<-[:A*..2]-(e))",
        |g, t| (1..=2).contains(&t.len()) && g.all(t, |i| g.against(t, i) && g.is_a(t, i)),
        Select::Shortest(1),
    ),
    ("p = shortestPath((s)-[*2..]-(e))", |_, t| t.len() >= 2, Select::Shortest(1)),
    (
        "p = shortestPath((s)-[r* {w: 0}]-(e))",
        |g, t| t.len() > 0 && g.all(t, |i| g.weight(t, i) == 0),
        Select::Shortest(1),
    ),
    (
        "p = shortestPath((s)-[*]-(e)) WHERE length(p) <> 2",
        |_, t| t.len() > 0 && t.len() != 2,
        Select::Shortest(1),
    ),
    ("p = allShortestPaths((s)-[*]-(e))", |_, t| t.len() > 0, Select::Groups(1)),
    (
        "p = allShortestPaths((s)-[*0..3]->(e))",
        |g, t| t.len() <= 3 && g.all(t, |i| g.along(t, i)),
        Select::Groups(1),
    ),
    (
        "p = allShortestPaths((s)-[:B*3..4]-(e))",
        |g, t| (3..=4).contains(&t.len()) && g.all(t, |i| !g.is_a(t, i)),
        Select::Groups(1),
    ),
    (
        "p = allShortestPaths((s)-[r*]-(e)) WHERE all(x IN r WHERE x.w < 2)",
        |g, t| t.len() > 0 && g.all(t, |i| g.weight(t, i) < 2),
        Select::Groups(1),
    ),
    // Selectors.
    (
        "p = SHORTEST 1 (s) ((x)-[:A]->(y) WHERE y.n <> 2)+ (e)",
        |g, t| t.len() > 0 && g.all(t, |i| g.along(t, i) && g.is_a(t, i) && t.nodes[i + 1] != 2),
        Select::Shortest(1),
    ),
    ("p = ALL SHORTEST (s) ((x)--(y)){0,3} (e)", |_, t| t.len() <= 3, Select::Groups(1)),
    (
        "p = ALL SHORTEST (s) ((x)-[r]-(y) WHERE r.w > 0)+ (e)",
        |g, t| t.len() > 0 && g.all(t, |i| g.weight(t, i) > 0),
        Select::Groups(1),
    ),
    (
        "p = ANY SHORTEST (s) ((x)-->()<--(y))+ (e)",
        |g, t| {
            t.len() > 0
                && t.len() % 2 == 0
                && g.all(t, |i| if i % 2 == 0 { g.along(t, i) } else { g.against(t, i) })
        },
        Select::Shortest(1),
    ),
    ("p = ANY SHORTEST (s)-[r]-+(e) WHERE size(r) < 9", |_, t| t.len() > 0, Select::Shortest(1)),
    ("p = ANY (s)-->+(e)", |g, t| t.len() > 0 && g.all(t, |i| g.along(t, i)), Select::Shortest(1)),
    ("p = ANY SHORTEST (s)-[*]-(e)", |_, t| t.len() > 0, Select::Shortest(1)),
    ("p = ALL SHORTEST (s)-[:A]-*(e)", |g, t| g.all(t, |i| g.is_a(t, i)), Select::Groups(1)),
    (
        "p = SHORTEST 2 (s)-->+(e)",
        |g, t| t.len() > 0 && g.all(t, |i| g.along(t, i)),
        Select::Shortest(2),
    ),
    ("p = SHORTEST 3 (s) (()--())* (e)", |_, _| true, Select::Shortest(3)),
    ("p = SHORTEST 2 GROUPS (s)--+(e)", |_, t| t.len() > 0, Select::Groups(2)),
    (
        "p = SHORTEST 2 GROUPS (s) ((x)-[:A]-(y) WHERE x.n <> 1)+ (e)",
        |g, t| t.len() > 0 && g.all(t, |i| g.is_a(t, i) && t.nodes[i] != 1),
        Select::Groups(2),
    ),
    (
        "p = SHORTEST 2 (s)-[:A]->(m)--+(e)",
        |g, t| t.len() > 1 && g.along(t, 0) && g.is_a(t, 0),
        Select::Shortest(2),
    ),
    ("p = ALL SHORTEST ((s)-[r]-+(e) WHERE size(r) > 2)", |_, t| t.len() > 2, Select::Groups(1)),
    (
        "p = ANY 2 (s)-->()<--(e)",
        |g, t| t.len() == 2 && g.along(t, 0) && g.against(t, 1),
        Select::Shortest(2),
    ),
];

fn int(value: &Value) -> usize {
    match value {
        Value::Int(i) => *i as usize,
        other => panic!("{other:?} is no number"),
    }
}

/// Paths between each pair of ends: their edges, sorted by length, then anyhow.
type Found = BTreeMap<(usize, usize), Vec<(usize, Vec<usize>)>>;

fn by_ends(paths: impl Iterator<Item = (usize, usize, Vec<usize>)>) -> Found {
    let mut found = Found::new();
    for (from, to, edges) in paths {
        found.entry((from, to)).or_default().push((edges.len(), edges));
    }
    found.values_mut().for_each(|paths| paths.sort());
    found
}

fn check(g: &Graph) -> Result<(), TestCaseError> {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run(&g.create(), &[]).unwrap();
    let trails = g.trails();
    // Bound before, found by the pattern, and one of them known.
    let forms =
        [("MATCH (s), (e) MATCH ", ""), ("MATCH ", ""), ("MATCH (e {n: 0}) MATCH ", "AND true")];
    for (pattern, matches, select) in PATTERNS {
        let matching = trails.iter().filter(|t| matches(g, t));
        let all = by_ends(matching.map(|t| (t.nodes[0], t.nodes[t.len()], t.edges.clone())));
        for (form, (before, known)) in forms.into_iter().enumerate() {
            let query = format!(
                "{before}{pattern} RETURN s.n, e.n, [r IN relationships(p) | r.i], \
                 [v IN nodes(p) | v.n]"
            );
            let result = session.run(&query, &[]);
            let rows = result.map_err(|e| TestCaseError::fail(format!("{query}: {e}")))?.rows;
            let edges = |value: &Value| match value {
                Value::List(list) => list.iter().map(int).collect::<Vec<_>>(),
                other => panic!("{other:?} is no list"),
            };
            for row in &rows {
                let nodes = edges(&row[3]);
                prop_assert_eq!(nodes.first(), Some(&int(&row[0])), "{}", &query);
                prop_assert_eq!(nodes.last(), Some(&int(&row[1])), "{}", &query);
            }
            let found = by_ends(rows.iter().map(|r| (int(&r[0]), int(&r[1]), edges(&r[2]))));
            let mut expected = all.clone();
            expected.retain(|(_, to), _| known.is_empty() || *to == 0);
            prop_assert_eq!(
                found.keys().collect::<Vec<_>>(),
                expected.keys().collect::<Vec<_>>(),
                "form {} {}",
                form,
                &query
            );
            for (ends, expected) in &expected {
                let found = &found[ends];
                let lengths = |paths: &[(usize, Vec<usize>)]| -> Vec<usize> {
                    paths.iter().map(|(length, _)| *length).collect()
                };
                let wanted = match select {
                    Select::All => expected.len(),
                    Select::Shortest(k) => expected.len().min(*k),
                    Select::Groups(k) => {
                        let mut groups = lengths(expected);
                        groups.dedup();
                        let last = groups[groups.len().min(*k) - 1];
                        expected.iter().filter(|(length, _)| *length <= last).count()
                    }
                };
                // Which of several equally short ones are taken is left open.
                prop_assert_eq!(
                    lengths(found),
                    lengths(&expected[..wanted]),
                    "{} from {:?}",
                    &query,
                    ends
                );
                let mut once = found.clone();
                once.dedup();
                prop_assert_eq!(&once, found, "a path twice: {} from {:?}", &query, ends);
                let real = found.iter().all(|path| expected.contains(path));
                prop_assert!(real, "a path that is none: {} from {:?}: {:?}", &query, ends, found);
            }
        }
    }
    Ok(())
}

fn graphs() -> impl Strategy<Value = Graph> {
    (1_usize..5).prop_flat_map(|nodes| {
        let edge = (0..nodes, 0..nodes, any::<bool>(), 0_u8..3);
        prop::collection::vec(edge, 0..7).prop_map(move |edges| Graph { nodes, edges })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn paths_are_those_of_the_naive_evaluator(graph in graphs()) {
        check(&graph)?;
    }
}

#[test]
fn disconnected_parallel_and_looping() {
    let edges = vec![
        (0, 0, true, 0),
        (0, 1, true, 0),
        (0, 1, true, 1),
        (1, 0, false, 0),
        (1, 1, false, 2),
        (1, 2, true, 0),
    ];
    check(&Graph { nodes: 5, edges }).unwrap();
}
