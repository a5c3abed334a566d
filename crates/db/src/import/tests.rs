//! Tests of the edge-list reader through its public face.

mod errors;
mod formats;
mod properties;
mod real_graphs;

use super::*;

/// Reads `text` as `file` with default options.
fn read(file: &str, text: &str) -> Result<EdgeList, ImportError> {
    EdgeList::parse(file, text.as_bytes(), &EdgeListOptions::default(), &|_| {})
}

/// The message that reading `text` as `file` must fail with.
fn message(file: &str, text: &str) -> String {
    read(file, text).expect_err("must fail").to_string()
}

/// Ids in the file of both ends of every edge.
fn original_edges(graph: &EdgeList) -> Vec<(String, String)> {
    let original = |v| graph.original_id(v).expect("every vertex has an id").to_string();
    graph.edges.iter().map(|&(from, to)| (original(from), original(to))).collect()
}
