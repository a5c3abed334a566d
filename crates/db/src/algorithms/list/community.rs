//! Communities and components: nodes that belong together.

use std::collections::HashMap;

use telar_algo::community::{
    Communities, k_core, k_truss, label_propagation, leiden, local_clustering, louvain, modularity,
    scc, wcc,
};
use telar_graph::Value;
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, Follows, Input, Kind};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::output::{Data, Output, count};

const NODE: ColumnOf = ColumnOf("nodeId", Kind::Node);
const COMPONENTS: &[ColumnOf] = &[NODE, ColumnOf("componentId", Kind::Integer)];
const COMMUNITIES: &[ColumnOf] = &[
    NODE,
    ColumnOf("communityId", Kind::Integer),
    ColumnOf("intermediateCommunityIds", Kind::Integers),
];
const OPTIMISED: &[(&str, &str)] = &[
    ("communityCount", "INTEGER"),
    ("modularity", "FLOAT"),
    ("ranLevels", "INTEGER"),
    ("modularities", "LIST<FLOAT>"),
    ("didConverge", "BOOLEAN"),
];

/// Threads from which on strong components are found by several: those need the lists the other
/// way round, too, which take longer to make than one thread needs for the search.
const SCC_THREADS: usize = 4;

pub(super) const LIST: &[Algorithm] = &[
    Algorithm {
        name: "wcc",
        about: "Weakly connected components: nodes joined by paths that ignore direction.",
        columns: COMPONENTS,
        figures: &[("componentCount", "INTEGER")],
        reverses: true,
        bytes: |n, m, _| Ok(wcc::bytes(n, m)),
        run: |input| {
            let (lists, incoming) = (input.lists(), input.incoming());
            let found = wcc::wcc(lists, &*incoming, lists.vertices(), input.control);
            Ok(components(found.map_err(failed)?))
        },
        in_place: Some(|input| {
            let found = wcc::wcc(input.outgoing, input.incoming, input.n, input.control);
            Ok(Some(components(found.map_err(failed)?)))
        }),
        ..PLAIN
    },
    Algorithm {
        name: "scc",
        about: "Strongly connected components: nodes that reach each other.",
        columns: COMPONENTS,
        figures: &[("componentCount", "INTEGER")],
        bytes: |n, m, config| {
            let incoming = if config.threads()? < SCC_THREADS { 0 } else { 8 * n + 12 * m };
            Ok(scc::bytes(n, m) + incoming)
        },
        run: |input| {
            let several = input.control.threads() >= SCC_THREADS;
            let incoming = several.then(|| input.incoming());
            let found = scc::scc(input.lists(), incoming.as_deref(), input.control);
            Ok(components(found.map_err(failed)?))
        },
        ..PLAIN
    },
    Algorithm {
        name: "labelPropagation",
        about: "Communities by labels that spread to neighbours, step by step.",
        columns: &[NODE, ColumnOf("communityId", Kind::Integer)],
        figures: &[
            ("communityCount", "INTEGER"),
            ("ranIterations", "INTEGER"),
            ("didConverge", "BOOLEAN"),
        ],
        settings: &["maxIterations"],
        reverses: true,
        bytes: |n, m, _| Ok(label_propagation::bytes(n, m)),
        run: |input| {
            let max_iterations = input.config.count("maxIterations", 10)?;
            let settings = label_propagation::Settings { max_iterations };
            let incoming = input.incoming();
            let incoming = (!input.both).then_some(&*incoming);
            let run = label_propagation::label_propagation;
            let found = run(input.lists(), incoming, None, &settings, input.control);
            let found = found.map_err(failed)?;
            let figures = vec![
                count(distinct(&found.labels)),
                count(found.iterations.into()),
                found.converged.into(),
            ];
            Ok(Output::of_vertices(Data::Counts(found.labels)).with(figures))
        },
        ..PLAIN
    },
    Algorithm {
        name: "louvain",
        about: "Communities of high modularity, level by level (Louvain).",
        columns: COMMUNITIES,
        figures: OPTIMISED,
        settings: &[
            "maxLevels",
            "maxIterations",
            "tolerance",
            "resolution",
            "includeIntermediateCommunities",
        ],
        follows: Follows::Both,
        bytes: |n, m, config| {
            Ok(louvain::bytes(n, m, &louvain_settings(config)?, config.threads()?))
        },
        run: |input| {
            let settings = louvain_settings(input.config)?;
            let found = louvain::louvain(input.lists(), &settings, input.control);
            Ok(communities(found.map_err(failed)?, settings.max_levels))
        },
        ..PLAIN
    },
    Algorithm {
        name: "leiden",
        about: "Communities of high modularity, each of them connected (Leiden).",
        columns: COMMUNITIES,
        figures: OPTIMISED,
        settings: &[
            "maxLevels",
            "gamma",
            "theta",
            "tolerance",
            "randomSeed",
            "includeIntermediateCommunities",
        ],
        follows: Follows::Both,
        bytes: |n, m, config| Ok(leiden::bytes(n, m, &leiden_settings(config)?, config.threads()?)),
        run: |input| {
            let settings = leiden_settings(input.config)?;
            let found = leiden::leiden(input.lists(), &settings, input.control);
            Ok(communities(found.map_err(failed)?, settings.max_levels))
        },
        ..PLAIN
    },
    Algorithm {
        name: "modularity",
        about: "Quality of communities that nodes have as a property.",
        columns: &[
            ColumnOf("communityId", Kind::Any),
            ColumnOf("nodeCount", Kind::Integer),
            ColumnOf("modularity", Kind::Float),
            ColumnOf("conductance", Kind::Float),
        ],
        figures: &[("modularity", "FLOAT"), ("averageConductance", "FLOAT")],
        settings: &["communityProperty", "resolution"],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(modularity::bytes(n, m) + 48 * n),
        run: quality,
        ..PLAIN
    },
    Algorithm {
        name: "triangleCount",
        about: "Number of triangles of each node.",
        columns: &[NODE, ColumnOf("triangleCount", Kind::Integer)],
        figures: &[("globalTriangleCount", "INTEGER")],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(local_clustering::bytes(n, m)),
        run: |input| {
            let found = local_clustering::local_clustering(input.lists(), None, input.control);
            let found = found.map_err(failed)?;
            let triangles = found.triangles.iter().map(|n| *n as i64).collect();
            Ok(Output::of_vertices(Data::Ints(triangles)).with(vec![count(found.total)]))
        },
        ..PLAIN
    },
    Algorithm {
        name: "localClusteringCoefficient",
        about: "Share of pairs of neighbours of each node that are neighbours themselves.",
        columns: &[NODE, ColumnOf("localClusteringCoefficient", Kind::Float)],
        figures: &[("averageClusteringCoefficient", "FLOAT")],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(local_clustering::bytes(n, m)),
        run: |input| {
            let found = local_clustering::local_clustering(input.lists(), None, input.control);
            let found = found.map_err(failed)?;
            let figures = vec![Value::Float(found.average)];
            Ok(Output::of_vertices(Data::Floats(found.coefficients)).with(figures))
        },
        ..PLAIN
    },
    Algorithm {
        name: "kcore",
        about: "Core number: the largest k such that the node is in a k-core.",
        columns: &[NODE, ColumnOf("coreValue", Kind::Integer)],
        figures: &[("degeneracy", "INTEGER")],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(k_core::bytes(n, m)),
        run: |input| {
            let found = k_core::k_core(input.lists(), input.control).map_err(failed)?;
            let figures = vec![count(found.degeneracy.into())];
            Ok(Output::of_vertices(Data::Counts(found.cores)).with(figures))
        },
        ..PLAIN
    },
    Algorithm {
        name: "ktruss",
        about: "Truss number: the largest k such that the node has an edge in a k-truss.",
        columns: &[NODE, ColumnOf("trussValue", Kind::Integer)],
        figures: &[("largestTruss", "INTEGER")],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(k_truss::bytes(n, m)),
        run: |input| {
            let found = k_truss::k_truss(input.lists(), input.control).map_err(failed)?;
            let figures = vec![count(found.largest.into())];
            Ok(Output::of_vertices(Data::Counts(found.vertices)).with(figures))
        },
        ..PLAIN
    },
];

fn distinct(labels: &[u32]) -> u64 {
    let mut sorted = labels.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted.len() as u64
}

fn components(found: scc::Components) -> Output {
    let figures = vec![count(found.count.into())];
    Output::of_vertices(Data::Counts(found.components)).with(figures)
}

fn louvain_settings(config: &Config<'_>) -> Result<louvain::Settings, QueryError> {
    let defaults = louvain::Settings::default();
    Ok(louvain::Settings {
        max_levels: config.count("maxLevels", defaults.max_levels)?,
        max_iterations: config.count("maxIterations", defaults.max_iterations)?,
        tolerance: config.float("tolerance", defaults.tolerance)?,
        resolution: config.float("resolution", defaults.resolution)?,
        include_intermediate_communities: config.flag("includeIntermediateCommunities", false)?,
    })
}

fn leiden_settings(config: &Config<'_>) -> Result<leiden::Settings, QueryError> {
    let defaults = leiden::Settings::default();
    Ok(leiden::Settings {
        max_levels: config.count("maxLevels", defaults.max_levels)?,
        gamma: config.float("gamma", defaults.gamma)?,
        theta: config.float("theta", defaults.theta)?,
        tolerance: config.float("tolerance", defaults.tolerance)?,
        seed: config.count("randomSeed", defaults.seed)?,
        include_intermediate_communities: config.flag("includeIntermediateCommunities", false)?,
    })
}

fn communities(found: Communities, max_levels: u32) -> Output {
    let levels = found.levels.len() as u64;
    // Levels have communities only if the caller wants them.
    let wanted = found.levels.first().is_some_and(|level| !level.communities.is_empty());
    let step = |v: usize| {
        found
            .levels
            .iter()
            .filter_map(move |level| Some(count((*level.communities.get(v)?).into())))
    };
    let steps = (0..found.communities.len()).map(|v| match wanted {
        true => Value::list(step(v)),
        false => Value::Null,
    });
    let steps = Data::Values(steps.collect());
    let figures = vec![
        count(found.count.into()),
        Value::Float(found.modularity),
        count(levels),
        Value::list(found.levels.iter().map(|level| Value::Float(level.modularity))),
        (levels < u64::from(max_levels)).into(),
    ];
    Output { columns: vec![Data::EveryVertex, Data::Counts(found.communities), steps], figures }
}

/// Communities are the distinct values of the property, whatever they are.
fn quality(input: &Input<'_>) -> Result<Output, QueryError> {
    let Some(property) = input.config.text("communityProperty")? else {
        let of = input.config.of;
        return Err(wrong(format!("{of} needs communityProperty, a property of nodes")));
    };
    let values = input.graph.values(input.view, property)?;
    let mut numbers: HashMap<Value, u32> = HashMap::new();
    let mut communities = Vec::with_capacity(values.len());
    let mut names = Vec::new();
    for at in 0..values.len() {
        let value = values.get(at);
        if value.is_null() {
            return Err(wrong(format!("a node has no property {property}, its community")));
        }
        let next = numbers.len() as u32;
        let number = *numbers.entry(value.clone()).or_insert(next);
        if number == next {
            names.push(value);
        }
        communities.push(number);
    }
    let resolution = input.config.float("resolution", 1.0)?;
    let settings = modularity::Settings { resolution };
    let found = modularity::modularity(input.lists(), &communities, &settings, input.control);
    let found = found.map_err(failed)?;
    let rows = &found.communities;
    let columns = vec![
        Data::Values(rows.iter().map(|row| names[row.community as usize].clone()).collect()),
        Data::Counts(rows.iter().map(|row| row.vertices).collect()),
        Data::Floats(rows.iter().map(|row| row.modularity).collect()),
        Data::Floats(rows.iter().map(|row| row.conductance).collect()),
    ];
    let figures = vec![Value::Float(found.modularity), Value::Float(found.average_conductance)];
    Ok(Output { columns, figures })
}
