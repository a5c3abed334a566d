//! Patterns by trial: every vertex for the first place, every edge for each step.

use super::expression::{Expression, Row, Val};
use super::graph::RandomGraph;
use super::query::{EdgePattern, NodePattern, Path, Towards};

/// Rows beyond which a query is given up.
pub(super) const ROWS_MAX: usize = 500;

/// A partial match: variables, and edges that are taken.
#[derive(Clone)]
struct State {
    row: Row,
    taken: Vec<usize>,
}

/// Every way to match all paths, which take each edge once at most; `None` if there are too many.
pub(super) fn matches(paths: &[Path], row: &Row, graph: &RandomGraph) -> Option<Vec<Row>> {
    let mut states = vec![State { row: row.clone(), taken: Vec::new() }];
    for path in paths {
        let mut next = Vec::new();
        for state in &states {
            walk(path, state, graph, &mut |found| next.push(found));
            if next.len() > ROWS_MAX {
                return None;
            }
        }
        states = next;
    }
    Some(states.into_iter().map(|state| state.row).collect())
}

/// In how many ways a path matches.
pub(super) fn count(path: &Path, row: &Row, graph: &RandomGraph) -> usize {
    let mut count = 0;
    let state = State { row: row.clone(), taken: Vec::new() };
    walk(path, &state, graph, &mut |_| count += 1);
    count
}

fn walk(path: &Path, state: &State, graph: &RandomGraph, found: &mut dyn FnMut(State)) {
    for node in 0..graph.nodes.len() {
        if let Some(state) = at_node(&path.start, node, state, graph) {
            steps(&path.steps, node, state, graph, found);
        }
    }
}

fn steps(
    rest: &[(EdgePattern, NodePattern)],
    at: usize,
    state: State,
    graph: &RandomGraph,
    found: &mut dyn FnMut(State),
) {
    let Some(((edge, node), rest)) = rest.split_first() else {
        found(state);
        return;
    };
    let (min, max) = edge.length.unwrap_or((1, 1));
    let mut ways: Vec<(usize, Vec<usize>)> = vec![(at, Vec::new())];
    for length in 0..=max {
        if length >= min {
            for (end, edges) in &ways {
                let mut state = state.clone();
                state.taken.extend(edges);
                if let Some(name) = &edge.name {
                    let value = match edge.length {
                        None => Val::Edge(edges[0]),
                        Some(_) => Val::List(edges.iter().copied().map(Val::Edge).collect()),
                    };
                    state.row.insert(name.clone(), value);
                }
                if let Some(state) = at_node(node, *end, &state, graph) {
                    steps(rest, *end, state, graph, found);
                }
            }
        }
        let mut longer = Vec::new();
        for (end, edges) in &ways {
            for (number, end) in leaving(edge, *end, &state.row, graph) {
                if !state.taken.contains(&number) && !edges.contains(&number) {
                    let edges = [edges.as_slice(), &[number]].concat();
                    longer.push((end, edges));
                }
            }
        }
        ways = longer;
    }
}

/// Edges that the pattern allows from this vertex, and where they lead. A loop leads one way only.
fn leaving(
    pattern: &EdgePattern,
    at: usize,
    row: &Row,
    graph: &RandomGraph,
) -> Vec<(usize, usize)> {
    let mut leaving = Vec::new();
    for (number, edge) in graph.edges.iter().enumerate() {
        let ty = edge.relationship.ty.as_str();
        let properties = &edge.relationship.properties;
        let fits = (pattern.types.is_empty() || pattern.types.contains(&ty))
            && has(&pattern.properties, properties, row, graph);
        let right = pattern.towards != Towards::Left && edge.from == at;
        let left = pattern.towards != Towards::Right && edge.to == at;
        if fits && right {
            leaving.push((number, edge.to));
        } else if fits && left {
            leaving.push((number, edge.from));
        }
    }
    leaving
}

/// The state with the pattern's variable bound to the vertex, if the pattern allows it.
fn at_node(
    pattern: &NodePattern,
    node: usize,
    state: &State,
    graph: &RandomGraph,
) -> Option<State> {
    let found = &graph.nodes[node];
    let labels = pattern.labels.iter().all(|label| found.labels.contains(*label));
    if !labels || !has(&pattern.properties, &found.properties, &state.row, graph) {
        return None;
    }
    let mut state = state.clone();
    if let Some(name) = &pattern.name {
        let bound = state.row.entry(name.clone()).or_insert(Val::Node(node));
        if *bound != Val::Node(node) {
            return None;
        }
    }
    Some(state)
}

fn has(
    wanted: &[(&'static str, Expression)],
    properties: &crate::tck::value::Entries,
    row: &Row,
    graph: &RandomGraph,
) -> bool {
    wanted.iter().all(|(key, expression)| {
        let value = expression.value(row, graph);
        // Null equals nothing, and a property is never null.
        value != Val::Null && properties.get(*key) == Some(&value.shown(graph))
    })
}
