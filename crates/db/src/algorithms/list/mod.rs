//! The algorithms, by family.

mod centrality;
mod community;
mod cycles;
mod ordering;
mod paths;
mod similarity;
mod traversal;

use std::sync::LazyLock;

use telar_algo::control::Error;
use telar_query::{ErrorKind, QueryError};

use super::algorithm::{Algorithm, ColumnOf, Follows, Kind};
use super::config::wrong;
use super::output::Output;

/// Every algorithm.
pub(super) fn all() -> &'static [&'static Algorithm] {
    static ALL: LazyLock<Vec<&'static Algorithm>> = LazyLock::new(|| {
        let lists = [
            centrality::LIST,
            community::LIST,
            paths::LIST,
            traversal::LIST,
            cycles::LIST,
            similarity::LIST,
            ordering::LIST,
        ];
        lists.into_iter().flatten().collect()
    });
    &ALL
}

/// Error of a kernel as one of the statement.
pub(super) fn failed(error: Error) -> QueryError {
    match error {
        Error::Stopped => {
            QueryError::runtime(ErrorKind::Terminated, "Terminated", "the query was terminated")
        }
        other => wrong(in_camel_case(&other.to_string())),
    }
}

/// Names of settings as they are written in Cypher: kernels call `maxIterations` `max_iterations`.
fn in_camel_case(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut joined = false;
    for c in text.chars() {
        match c {
            '_' => joined = true,
            c if std::mem::take(&mut joined) => written.extend(c.to_uppercase()),
            c => written.push(c),
        }
    }
    written
}

#[test]
fn settings_are_named_as_in_cypher() {
    let text = "max_iterations is 0; it must be at least 1";
    assert_eq!(in_camel_case(text), "maxIterations is 0; it must be at least 1");
}

/// Columns of scores.
const SCORES: &[ColumnOf] = &[ColumnOf("nodeId", Kind::Node), ColumnOf("score", Kind::Float)];

/// Entry with what most of the lists have in common.
const PLAIN: Algorithm = Algorithm {
    name: "",
    only: None,
    about: "",
    columns: SCORES,
    figures: &[],
    settings: &[],
    follows: Follows::Chosen,
    marks: false,
    reverses: false,
    bytes: |_, _, _| Ok(0),
    vectors: None,
    run: |_| Ok(Output::default()),
    in_place: None,
};
