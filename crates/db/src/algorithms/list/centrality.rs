//! Centralities: scores of importance.

use telar_algo::centrality::{
    Scores, article_rank, betweenness, closeness, degree, eigenvector, hits,
    pagerank as weighted_pagerank,
};
use telar_algo::control::Control;
use telar_algo::pagerank::{self, pagerank_parallel};
use telar_graph::Topology;
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, InPlaceInput, Input, Kind};
use crate::algorithms::config::Config;
use crate::algorithms::output::{Data, Output, count};

/// Figures of what runs until it converges.
const ITERATIONS: &[(&str, &str)] = &[("ranIterations", "INTEGER"), ("didConverge", "BOOLEAN")];
/// Settings of the same.
const ITERATING: &[&str] = &["maxIterations", "tolerance"];
/// Settings of ranks.
const RANKING: &[&str] = &["dampingFactor", "maxIterations", "tolerance", "sourceNodes"];

pub(super) const LIST: &[Algorithm] = &[
    Algorithm {
        name: "pageRank",
        about: "PageRank: the probability of finding a random surfer at each node.",
        figures: ITERATIONS,
        settings: RANKING,
        reverses: true,
        bytes: |n, m, _| Ok(weighted_pagerank::bytes(n, m)),
        run: |input| {
            let settings = ranking(input)?;
            let incoming = input.incoming();
            if let (Some(plain), false) = (unweighted(&settings), input.lists().is_weighted()) {
                let degrees = pagerank::out_degrees(input.lists(), input.lists().vertices());
                return ranks(&*incoming, &degrees, &plain, input.control);
            }
            let run = weighted_pagerank::pagerank;
            Ok(scores(run(input.lists(), &incoming, &settings, input.control).map_err(failed)?))
        },
        in_place: Some(page_rank_in_place),
        ..PLAIN
    },
    Algorithm {
        name: "articleRank",
        about: "PageRank that lessens what nodes with few relationships pass on.",
        figures: ITERATIONS,
        settings: RANKING,
        reverses: true,
        bytes: |n, m, _| Ok(article_rank::bytes(n, m)),
        run: |input| {
            let settings = ranking(input)?;
            let incoming = input.incoming();
            let run = article_rank::article_rank;
            Ok(scores(run(input.lists(), &incoming, &settings, input.control).map_err(failed)?))
        },
        ..PLAIN
    },
    Algorithm {
        name: "eigenvector",
        about: "Eigenvector centrality: nodes count as much as those that point to them.",
        figures: ITERATIONS,
        settings: ITERATING,
        reverses: true,
        bytes: |n, m, _| Ok(eigenvector::bytes(n, m)),
        run: |input| {
            let (max_iterations, tolerance) = iterating(input.config, 20)?;
            let settings = eigenvector::Settings { max_iterations, tolerance };
            let found = eigenvector::eigenvector(&input.incoming(), &settings, input.control);
            Ok(scores(found.map_err(failed)?))
        },
        ..PLAIN
    },
    Algorithm {
        name: "hits",
        about: "Hubs and authorities.",
        columns: &[
            ColumnOf("nodeId", Kind::Node),
            ColumnOf("auth", Kind::Float),
            ColumnOf("hub", Kind::Float),
        ],
        figures: ITERATIONS,
        settings: ITERATING,
        reverses: true,
        bytes: |n, m, _| Ok(hits::bytes(n, m)),
        run: |input| {
            let (max_iterations, tolerance) = iterating(input.config, 20)?;
            let settings = hits::Settings { max_iterations, tolerance };
            let incoming = input.incoming();
            let found = hits::hits(input.lists(), &incoming, &settings, input.control);
            let found = found.map_err(failed)?;
            let columns =
                vec![Data::EveryVertex, Data::Floats(found.authorities), Data::Floats(found.hubs)];
            let figures = vec![count(found.iterations.into()), found.converged.into()];
            Ok(Output { columns, figures })
        },
        ..PLAIN
    },
    Algorithm {
        name: "degree",
        about: "Number of relationships of each node, or the sum of their weights.",
        bytes: |n, m, _| Ok(degree::bytes(n, m)),
        run: |input| {
            let found = degree::degree(input.lists(), None, input.control).map_err(failed)?;
            let scores = match input.lists().is_weighted() {
                true => found.weights,
                false => found.counts.iter().map(|count| *count as f64).collect(),
            };
            Ok(Output::of_vertices(Data::Floats(scores)))
        },
        ..PLAIN
    },
    Algorithm {
        name: "betweenness",
        about: "Share of shortest paths that lead through each node; exact, or of some sources.",
        settings: &["samplingSize", "samplingSeed"],
        bytes: |n, m, config| {
            let threads = config.threads()?;
            Ok(betweenness::bytes(n, m, &between(config, false)?, threads, true))
        },
        run: |input| {
            let settings = between(input.config, input.both)?;
            let found = betweenness::betweenness(input.lists(), &settings, input.control);
            Ok(Output::of_vertices(Data::Floats(found.map_err(failed)?)))
        },
        ..PLAIN
    },
    Algorithm {
        name: "closeness",
        about: "Closeness: how near all others are to each node.",
        settings: &["useWassermanFaust"],
        reverses: true,
        bytes: |n, m, config| {
            let threads = config.threads()?;
            Ok(closeness::bytes(n, m, threads))
        },
        run: |input| Ok(Output::of_vertices(Data::Floats(close(input)?.closeness))),
        ..PLAIN
    },
    Algorithm {
        name: "closeness.harmonic",
        about: "Harmonic closeness, which also works where not all nodes reach each other.",
        reverses: true,
        bytes: |n, m, config| {
            let threads = config.threads()?;
            Ok(closeness::bytes(n, m, threads))
        },
        run: |input| Ok(Output::of_vertices(Data::Floats(close(input)?.harmonic))),
        ..PLAIN
    },
];

fn iterating(config: &Config<'_>, iterations: u32) -> Result<(u32, f64), QueryError> {
    Ok((config.count("maxIterations", iterations)?, config.float("tolerance", 1e-7)?))
}

fn ranking(input: &Input<'_>) -> Result<weighted_pagerank::Settings, QueryError> {
    let (max_iterations, tolerance) = iterating(input.config, 20)?;
    let sources = input.vertices("sourceNodes")?.unwrap_or_default();
    Ok(weighted_pagerank::Settings {
        damping: input.config.float("dampingFactor", 0.85)?,
        max_iterations,
        tolerance,
        source_nodes: sources.into_iter().map(|v| (v, 1.0)).collect(),
    })
}

fn scores(found: Scores) -> Output {
    let figures = vec![count(found.iterations.into()), found.converged.into()];
    Output::of_vertices(Data::Floats(found.scores)).with(figures)
}

/// The same settings for the kernel without weights and source nodes, if that one is enough. What
/// is out of range is left to the other one, which refuses it with the reason.
fn unweighted(settings: &weighted_pagerank::Settings) -> Option<pagerank::Settings> {
    let weighted_pagerank::Settings { damping, max_iterations, tolerance, .. } = *settings;
    let is_plain = settings.source_nodes.is_empty()
        && (0.0..1.0).contains(&damping)
        && max_iterations > 0
        && tolerance >= 0.0;
    is_plain.then_some(pagerank::Settings { damping, iterations_max: max_iterations, tolerance })
}

fn ranks<T: Topology>(
    incoming: &T,
    degrees: &[u32],
    settings: &pagerank::Settings,
    control: &Control<'_>,
) -> Result<Output, QueryError> {
    let found = pagerank_parallel(incoming, degrees, settings, control).map_err(failed)?;
    let converged = found.change < settings.tolerance;
    let figures = vec![count(found.iterations.into()), converged.into()];
    Ok(Output::of_vertices(Data::Floats(found.scores)).with(figures))
}

fn page_rank_in_place(input: &InPlaceInput<'_>) -> Result<Option<Output>, QueryError> {
    let config = input.config;
    if config.get("sourceNodes").is_some() {
        return Ok(None);
    }
    let (max_iterations, tolerance) = iterating(config, 20)?;
    let damping = config.float("dampingFactor", 0.85)?;
    let source_nodes = Vec::new();
    let settings = weighted_pagerank::Settings { damping, max_iterations, tolerance, source_nodes };
    let Some(settings) = unweighted(&settings) else { return Ok(None) };
    ranks(input.incoming, input.outgoing.degrees(), &settings, input.control).map(Some)
}

fn between(config: &Config<'_>, undirected: bool) -> Result<betweenness::Settings, QueryError> {
    let sampling_size = config.given("samplingSize", |config, key| config.count(key, 0))?;
    let sampling_seed = config.count("samplingSeed", 0)?;
    Ok(betweenness::Settings { sampling_size, sampling_seed, undirected })
}

fn close(input: &Input<'_>) -> Result<closeness::Closeness, QueryError> {
    let use_wasserman_faust = input.config.flag("useWassermanFaust", false)?;
    let settings = closeness::Settings { use_wasserman_faust };
    // Distances are those to a node, as Neo4j's library has them.
    closeness::closeness(&input.incoming(), &settings, input.control).map_err(failed)
}
