//! Shortest paths between all nodes of larger graphs are those of a plain search breadth first.
//!
//! Asked for one pair of nodes at a time, for all of them at once, so that searches share what they
//! know of their start, and in an order in which hardly any do.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, VecDeque};

use telar_db::{Database, Session, Value};

const NODES: usize = 40;

/// Relationships from node to node.
fn edges(seed: usize) -> Vec<(usize, usize)> {
    let mut state = seed * 2_654_435_761 + 12345;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..NODES + 15 * (seed % 4)).map(|_| (next() % NODES, next() % NODES)).collect()
}

fn database(edges: &[(usize, usize)]) -> Database {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, &format!("UNWIND range(0, {}) AS i CREATE (:N {{i: i}})", NODES - 1));
    for (a, b) in edges {
        run(&db, &format!("MATCH (a:N {{i: {a}}}), (b:N {{i: {b}}}) CREATE (a)-[:R]->(b)"));
    }
    db
}

fn run(db: &Database, query: &str) -> Vec<Vec<Value>> {
    Session::new(db).run(query, &[]).unwrap_or_else(|e| panic!("{query}: {e}")).rows
}

type Ends = (usize, usize);

/// For every two different nodes that are connected: the length and the number of shortest paths.
fn plain(edges: &[(usize, usize)], both: bool) -> BTreeMap<Ends, (u32, u64)> {
    let mut steps = vec![Vec::new(); NODES];
    for (a, b) in edges.iter().filter(|(a, b)| a != b) {
        steps[*a].push(*b);
        if both {
            steps[*b].push(*a);
        }
    }
    let mut found = BTreeMap::new();
    for start in 0..NODES {
        let mut known: Vec<Option<(u32, u64)>> = vec![None; NODES];
        known[start] = Some((0, 1));
        let mut open = VecDeque::from([start]);
        while let Some(at) = open.pop_front() {
            let (depth, ways) = known[at].unwrap();
            for to in &steps[at] {
                match &mut known[*to] {
                    Some((there, more)) if *there == depth + 1 => *more += ways,
                    Some(_) => {}
                    none => {
                        *none = Some((depth + 1, ways));
                        open.push_back(*to);
                    }
                }
            }
        }
        let others = (0..NODES).filter(|to| *to != start);
        found.extend(others.filter_map(|to| Some(((start, to), known[to]?))));
    }
    found
}

/// Rows of two nodes, a length and a number of paths.
fn asked(rows: Vec<Vec<Value>>) -> BTreeMap<Ends, (u32, u64)> {
    let int = |value: &Value| match value {
        Value::Int(int) => *int as u64,
        other => panic!("{other:?}"),
    };
    let row = |row: &Vec<Value>| {
        let [a, b, length, count] = [0, 1, 2, 3].map(|at| int(&row[at]));
        ((a as usize, b as usize), (length as u32, count))
    };
    rows.iter().map(row).collect()
}

#[test]
fn all_pairs_are_found_as_each_alone() {
    for seed in 1..6 {
        let edges = edges(seed);
        let db = database(&edges);
        for (both, max) in [(false, None), (true, None), (true, Some(3)), (false, Some(2))] {
            let mut want = plain(&edges, both);
            want.retain(|_, (length, _)| max.is_none_or(|max| *length <= max));
            assert!(want.len() > 30, "{}", want.len());
            let longest = max.map_or(String::new(), |max| format!("..{max}"));
            let arrow = if both { "" } else { ">" };
            let path = format!("((a)-[:R*{longest}]-{arrow}(b))");
            let one: BTreeMap<Ends, (u32, u64)> =
                want.iter().map(|(ends, (length, _))| (*ends, (*length, 1))).collect();
            for (function, want) in [("shortestPath", &one), ("allShortestPaths", &want)] {
                let ask = |pairs: &str| {
                    let query = format!(
                        "{pairs} MATCH p = {function}{path} \
                         WITH a, b, length(p) AS length, nodes(p) AS ns \
                         WHERE ns[0] = a AND ns[-1] = b AND size(ns) = length + 1 \
                         RETURN a.i, b.i, length, count(*)"
                    );
                    asked(run(&db, &query))
                };
                let all = "MATCH (a:N), (b:N) WHERE a <> b WITH a, b ORDER BY";
                assert_eq!(&ask(&format!("{all} a.i, b.i")), want, "{seed} {path}");
                assert_eq!(&ask(&format!("{all} b.i, a.i")), want, "{seed} {path}");
                for (from, to) in (0..NODES).map(|n| (n, (n * 7 + seed) % NODES)) {
                    if from != to {
                        let one = format!("MATCH (a:N {{i: {from}}}), (b:N {{i: {to}}})");
                        let found = ask(&one).remove(&(from, to));
                        assert_eq!(found.as_ref(), want.get(&(from, to)), "{from} {to} {path}");
                    }
                }
            }
        }
    }
}
