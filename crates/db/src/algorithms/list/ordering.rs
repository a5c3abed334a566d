//! Parts and orders of the nodes, with their quality.

use telar_algo::control::Control;
use telar_algo::csr::Csr;
use telar_algo::ordering::{self, Method};
use telar_algo::partition::{self, fennel, fewest, hash, ldg, propagation, spectral};
use telar_graph::Value;
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, Follows, Input, Kind};
use crate::algorithms::config::Config;
use crate::algorithms::output::{Data, Output};

/// Upper bound of the bytes of a method: the spectral ones hold a basis of vectors.
fn bytes(n: u64, m: u64, config: &Config<'_>) -> Result<u64, QueryError> {
    let method = config.text("method")?.unwrap_or_default();
    Ok(match method.eq_ignore_ascii_case("SPECTRAL") {
        true => spectral::bytes(n, m) + 8 * m,
        false => 160 * n + 16 * m,
    })
}

type Divide = fn(&Csr, u32, &Config<'_>, &Control<'_>) -> Result<Vec<u32>, QueryError>;

const METHODS: [(&str, Divide); 6] = [
    ("HASH", |graph, parts, config, control| {
        let settings = hash::Settings { parts, seed: config.count("randomSeed", 0)? };
        hash::hash(graph, &settings, control).map_err(failed)
    }),
    ("LDG", |graph, parts, _, control| {
        let settings = ldg::Settings { parts, ..Default::default() };
        ldg::ldg(graph, &settings, control).map_err(failed)
    }),
    ("FENNEL", |graph, parts, _, control| {
        let settings = fennel::Settings { parts, ..Default::default() };
        fennel::fennel(graph, &settings, control).map_err(failed)
    }),
    ("LABEL_PROPAGATION", |graph, parts, config, control| {
        let seed = config.count("randomSeed", 0)?;
        let settings = propagation::Settings { parts, seed, ..Default::default() };
        propagation::label_propagation(graph, &settings, control).map_err(failed)
    }),
    ("FEWEST_NON_NEIGHBOURS", |graph, parts, _, control| {
        let settings = fewest::Settings { parts, ..Default::default() };
        fewest::fewest_non_neighbours(graph, &settings, control).map_err(failed)
    }),
    ("SPECTRAL", |graph, parts, config, control| {
        let seed = config.count("randomSeed", 0)?;
        let settings = spectral::Settings { parts, seed, ..Default::default() };
        spectral::spectral(graph, &settings, control).map_err(failed)
    }),
];

const ORDERS: [(&str, Method); 7] = [
    ("DEGREE", Method::Degree),
    ("BFS", Method::Bfs),
    ("RCM", Method::Rcm),
    ("COMMUNITY", Method::Community),
    ("SPECTRAL", Method::Spectral),
    ("GORDER", Method::Gorder),
    ("RANDOM", Method::Random),
];

pub(super) const LIST: &[Algorithm] = &[
    Algorithm {
        name: "partition",
        about: "Parts of about the same size with few relationships between them.",
        columns: &[ColumnOf("nodeId", Kind::Node), ColumnOf("part", Kind::Integer)],
        figures: &[("edgeCut", "FLOAT"), ("balance", "FLOAT")],
        settings: &["method", "parts", "randomSeed"],
        follows: Follows::Both,
        bytes: |n, m, config| {
            let parts = u64::from(config.count("parts", 2)?.min(partition::PARTS_MAX));
            Ok(bytes(n, m, config)? + 80 * parts)
        },
        run: divide,
        ..PLAIN
    },
    Algorithm {
        name: "ordering",
        about: "Places for the nodes such that neighbours are near each other.",
        columns: &[ColumnOf("nodeId", Kind::Node), ColumnOf("position", Kind::Integer)],
        figures: &[("meanLogGap", "FLOAT"), ("bandwidth", "INTEGER"), ("sameSegment", "FLOAT")],
        settings: &["method", "randomSeed"],
        follows: Follows::Both,
        bytes,
        run: arrange,
        ..PLAIN
    },
];

fn divide(input: &Input<'_>) -> Result<Output, QueryError> {
    let Input { config, control, .. } = input;
    let parts = config.count("parts", 2)?;
    let method = config.choice("method", &METHODS, METHODS[2].1)?;
    let found = method(input.lists(), parts, config, control)?;
    let quality = partition::quality(input.lists(), &found, parts, control).map_err(failed)?;
    let figures = vec![Value::Float(quality.edge_cut), Value::Float(quality.balance)];
    Ok(Output::of_vertices(Data::Counts(found)).with(figures))
}

fn arrange(input: &Input<'_>) -> Result<Output, QueryError> {
    let Input { config, control, .. } = input;
    let method = config.choice("method", &ORDERS, Method::Rcm)?;
    let seed = if method.takes_seed() { config.count("randomSeed", 0)? } else { 0 };
    let order = method.order(input.lists(), seed, control).map_err(failed)?;
    let quality = ordering::quality(input.lists(), &order, control).map_err(failed)?;
    let figures = vec![
        Value::Float(quality.mean_log_gap),
        Value::Int(quality.bandwidth.into()),
        Value::Float(quality.same_segment),
    ];
    Ok(Output::of_vertices(Data::Counts(order)).with(figures))
}
