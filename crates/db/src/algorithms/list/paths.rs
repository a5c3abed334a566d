//! Ways between nodes.

use std::sync::Arc;

use telar_algo::control::{self, Control};
use telar_algo::csr::Csr;
use telar_algo::paths::path::{NONE, Path, Tree};
use telar_algo::paths::{
    all_pairs, astar, bellman_ford, bridges, longest_path, max_flow, random_walk, shortest_path,
    spanning_tree, sssp, topological, yens,
};
use telar_graph::Value;
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, Follows, Input, Kind};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::output::{Data, Output, count};
use crate::algorithms::tree_paths::TreePaths;

/// Columns of paths.
const PATHS: &[ColumnOf] = &[
    ColumnOf("index", Kind::Integer),
    ColumnOf("sourceNode", Kind::Node),
    ColumnOf("targetNode", Kind::Node),
    ColumnOf("totalCost", Kind::Float),
    ColumnOf("nodeIds", Kind::Nodes),
    ColumnOf("costs", Kind::Floats),
    ColumnOf("path", Kind::Path),
];
/// Settings of a search between two nodes.
const ENDS: &[&str] = &["sourceNode", "targetNode", "targetNodes"];
/// Bytes of the rows of paths from one node to all others. The paths themselves are made batch by
/// batch.
fn rows(n: u64) -> u64 {
    n * 64
}

/// The distances of all pairs.
const PAIRS: Algorithm = Algorithm {
    name: "allShortestPaths.pairs",
    about: "The least weight of a path between all pairs of nodes, or from some of them.",
    columns: &[
        ColumnOf("sourceNode", Kind::Node),
        ColumnOf("targetNode", Kind::Node),
        ColumnOf("distance", Kind::Float),
    ],
    settings: &["sourceNodes", "samplingSize", "samplingSeed"],
    bytes: |n, m, config| {
        let sources = match config.get("samplingSize") {
            Some(_) => config.count("samplingSize", 0)?,
            None => config.nodes("sourceNodes")?.map_or(n, |nodes| nodes.len() as u64),
        };
        let threads = config.threads()?;
        let pairs = sources.min(n).saturating_mul(n).saturating_mul(16);
        Ok(all_pairs::bytes(n, m, threads).saturating_add(pairs))
    },
    run: |input| {
        let sample = input.config.given("samplingSize", |config, key| config.count(key, 0))?;
        let seed = input.config.count("samplingSeed", 0)?;
        let sources = input.vertices("sourceNodes")?;
        let settings = all_pairs::Settings { sources, sample, seed };
        let (mut from, mut to, mut distances) = (Vec::new(), Vec::new(), Vec::new());
        let add = |u, v, distance| {
            from.push(u);
            to.push(v);
            distances.push(distance);
        };
        all_pairs::all_pairs(input.lists(), &settings, input.control, add).map_err(failed)?;
        let columns = vec![Data::Vertices(from), Data::Vertices(to), Data::Floats(distances)];
        Ok(Output { columns, figures: Vec::new() })
    },
    ..PLAIN
};

pub(super) const LIST: &[Algorithm] = &[
    Algorithm {
        name: "shortestPath",
        about: "A path of the fewest relationships between two nodes.",
        columns: PATHS,
        settings: ENDS,
        reverses: true,
        bytes: |n, m, _| Ok(shortest_path::bytes(n, m)),
        run: |input| between(input, shortest_path::unweighted),
        ..PLAIN
    },
    Algorithm {
        name: "shortestPath.dijkstra",
        about: "A path of the least weight between two nodes.",
        columns: PATHS,
        settings: ENDS,
        reverses: true,
        bytes: |n, m, _| Ok(shortest_path::bytes(n, m)),
        run: |input| between(input, shortest_path::weighted),
        ..PLAIN
    },
    Algorithm {
        name: "shortestPath.astar",
        about: "A path of the least weight, in metres, between two nodes on the earth.",
        columns: PATHS,
        settings: &["sourceNode", "targetNode", "latitudeProperty", "longitudeProperty"],
        bytes: |n, m, _| Ok(astar::bytes(n, m) + 16 * n),
        run: |input| {
            let shortest_path::Settings { source, target } = ends(input)?;
            let (latitudes, longitudes) =
                (degrees(input, "latitudeProperty")?, degrees(input, "longitudeProperty")?);
            let settings = astar::Settings {
                source,
                target,
                latitudes: &latitudes,
                longitudes: &longitudes,
                ..Default::default()
            };
            let found = astar::astar(input.lists(), &settings, input.control).map_err(failed)?;
            Ok(paths(found))
        },
        ..PLAIN
    },
    Algorithm {
        name: "shortestPath.yens",
        about: "The k paths of the least weight between two nodes, without loops.",
        columns: PATHS,
        settings: &["sourceNode", "targetNode", "k"],
        bytes: |n, m, config| {
            let settings = yens::Settings { k: config.count("k", 3)?, ..Default::default() };
            Ok(yens::bytes(n, m, &settings, config.threads()?))
        },
        run: |input| {
            let shortest_path::Settings { source, target } = ends(input)?;
            let settings = yens::Settings { source, target, k: input.config.count("k", 3)? };
            Ok(paths(yens::yens(input.lists(), &settings, input.control).map_err(failed)?))
        },
        ..PLAIN
    },
    Algorithm {
        name: "allShortestPaths.delta",
        about: "Paths of the least weight from a node to all others (delta-stepping).",
        columns: PATHS,
        settings: &["sourceNode", "delta"],
        bytes: |n, m, _| Ok(sssp::bytes(n, m) + rows(n)),
        run: from_one,
        ..PLAIN
    },
    Algorithm {
        name: "allShortestPaths.dijkstra",
        about: "Paths of the least weight from a node to all others.",
        columns: PATHS,
        settings: &["sourceNode"],
        bytes: |n, m, _| Ok(sssp::bytes(n, m) + rows(n)),
        run: from_one,
        ..PLAIN
    },
    Algorithm {
        name: "sssp",
        about: "The least weight of a path from a node to each other, without the paths.",
        columns: &[ColumnOf("nodeId", Kind::Node), ColumnOf("distance", Kind::Float)],
        settings: &["sourceNode", "delta"],
        bytes: |n, m, _| Ok(sssp::bytes(n, m)),
        run: |input| {
            let found = distances(input)?;
            let null = |distance: f64| if distance.is_finite() { distance } else { f64::NAN };
            let distances = found.distances.into_iter().map(null).collect();
            Ok(Output::of_vertices(Data::FloatsOrNull(distances)))
        },
        ..PLAIN
    },
    Algorithm {
        name: "bellmanFord",
        about: "Paths of the least weight from a node to all others; weights may be negative.",
        columns: &[
            ColumnOf("index", Kind::Integer),
            ColumnOf("sourceNode", Kind::Node),
            ColumnOf("targetNode", Kind::Node),
            ColumnOf("totalCost", Kind::Float),
            ColumnOf("nodeIds", Kind::Nodes),
            ColumnOf("costs", Kind::Floats),
            ColumnOf("route", Kind::Path),
            ColumnOf("isNegativeCycle", Kind::Boolean),
        ],
        figures: &[("containsNegativeCycle", "BOOLEAN")],
        settings: &["sourceNode"],
        bytes: |n, m, _| Ok(bellman_ford::bytes(n, m) + rows(n)),
        run: |input| {
            let settings = bellman_ford::Settings { source: input.vertex("sourceNode")? };
            let found = bellman_ford::bellman_ford(input.lists(), &settings, input.control);
            let (found, is_cycle) = match found.map_err(failed)? {
                bellman_ford::Outcome::Shortest(tree) => (all_paths(tree), false),
                bellman_ford::Outcome::NegativeCycle(cycle) => (paths([cycle]), true),
            };
            let mut output = found.with(vec![is_cycle.into()]);
            let rows = output.columns.first().map_or(0, |column| column.len(0));
            output.columns.push(Data::Bools(vec![is_cycle; rows]));
            Ok(output)
        },
        ..PLAIN
    },
    PAIRS,
    // The name and the columns of the library of Neo4j.
    Algorithm {
        name: "allShortestPaths",
        columns: &[
            ColumnOf("sourceNodeId", Kind::Node),
            ColumnOf("targetNodeId", Kind::Node),
            ColumnOf("distance", Kind::Float),
        ],
        ..PAIRS
    },
    Algorithm {
        name: "spanningTree",
        about: "A spanning forest of the least or greatest weight, or the tree of one node.",
        columns: &[
            ColumnOf("nodeId", Kind::Node),
            ColumnOf("parentId", Kind::Node),
            ColumnOf("weight", Kind::Float),
        ],
        figures: &[
            ("totalWeight", "FLOAT"),
            ("treeCount", "INTEGER"),
            ("effectiveNodeCount", "INTEGER"),
        ],
        settings: &["sourceNode", "objective"],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(spanning_tree::bytes(n, m) + 16 * n),
        run: spanning,
        ..PLAIN
    },
    Algorithm {
        name: "dag.topologicalSort",
        about: "An order in which every relationship leads from an earlier node to a later one.",
        columns: &[
            ColumnOf("nodeId", Kind::Node),
            ColumnOf("maxDistanceFromSource", Kind::Integer),
        ],
        bytes: |n, m, _| Ok(topological::bytes(n, m) + 8 * n),
        run: |input| {
            let found = topological::topological(input.lists(), input.control).map_err(failed)?;
            match found {
                topological::Outcome::Sorted(order) => {
                    let levels = order.vertices.iter().map(|v| order.levels[*v as usize]);
                    let levels = Data::Counts(levels.collect());
                    let columns = vec![Data::Vertices(order.vertices), levels];
                    Ok(Output { columns, figures: Vec::new() })
                }
                topological::Outcome::Cycle(cycle) => Err(has_cycle(input, &cycle)),
            }
        },
        ..PLAIN
    },
    Algorithm {
        name: "dag.longestPath",
        about: "The path of the greatest weight to each node of a graph without cycles.",
        columns: PATHS,
        bytes: |n, m, _| Ok(longest_path::bytes(n, m) + rows(n)),
        run: |input| match longest_path::longest_path(input.lists(), input.control)
            .map_err(failed)?
        {
            longest_path::Outcome::Longest(tree) => Ok(all_paths(tree)),
            longest_path::Outcome::Cycle(cycle) => Err(has_cycle(input, &cycle)),
        },
        ..PLAIN
    },
    Algorithm {
        name: "bridges",
        about: "Relationships without which more nodes would be apart.",
        columns: &[ColumnOf("from", Kind::Node), ColumnOf("to", Kind::Node)],
        follows: Follows::Both,
        bytes: |n, m, _| Ok(bridges::bytes(n, m) + 8 * n),
        run: |input| {
            let found = bridges::bridges(input.lists(), input.control).map_err(failed)?.bridges;
            let (from, to) = found.into_iter().unzip();
            let columns = vec![Data::Vertices(from), Data::Vertices(to)];
            Ok(Output { columns, figures: Vec::new() })
        },
        ..PLAIN
    },
    Algorithm {
        name: "articulationPoints",
        about: "Nodes without which more nodes would be apart.",
        columns: &[ColumnOf("nodeId", Kind::Node)],
        figures: &[("articulationPointCount", "INTEGER")],
        marks: true,
        follows: Follows::Both,
        bytes: |n, m, _| Ok(bridges::bytes(n, m)),
        run: |input| {
            let found = bridges::bridges(input.lists(), input.control).map_err(failed)?;
            let figures = vec![count(found.articulation_points.len() as u64)];
            Ok(Output { columns: vec![Data::Vertices(found.articulation_points)], figures })
        },
        ..PLAIN
    },
    Algorithm {
        name: "maxFlow",
        about: "The greatest flow from some nodes to others, where weights are capacities.",
        columns: &[
            ColumnOf("source", Kind::Node),
            ColumnOf("target", Kind::Node),
            ColumnOf("flow", Kind::Float),
            ColumnOf("isCut", Kind::Boolean),
        ],
        figures: &[("totalFlow", "FLOAT")],
        settings: &["sourceNodes", "targetNodes"],
        reverses: true,
        bytes: |n, m, _| Ok(max_flow::bytes(n, m) + 17 * m),
        run: flow,
        ..PLAIN
    },
    Algorithm {
        name: "randomWalk",
        about: "Random walks, as node2vec takes them.",
        columns: &[ColumnOf("nodeIds", Kind::Nodes)],
        settings: &[
            "sourceNodes",
            "walkLength",
            "walksPerNode",
            "inOutFactor",
            "returnFactor",
            "randomSeed",
        ],
        bytes: |n, m, config| {
            let settings = walking(config)?;
            let threads = config.threads()?;
            let walks = n.saturating_mul(settings.walks_per_node.into());
            let rows = walks.saturating_mul(u64::from(settings.walk_length) * 4 + 24);
            Ok(random_walk::bytes(n, m, &settings, threads).saturating_add(rows))
        },
        run: |input| {
            let settings = random_walk::Settings {
                sources: input.vertices("sourceNodes")?,
                ..walking(input.config)?
            };
            let mut walks = Vec::new();
            let add = |walk: &[u32]| walks.push(walk.to_vec());
            random_walk::random_walk(input.lists(), &settings, input.control, add)
                .map_err(failed)?;
            Ok(Output { columns: vec![Data::Paths(walks)], figures: Vec::new() })
        },
        ..PLAIN
    },
];

fn ends(input: &Input<'_>) -> Result<shortest_path::Settings, QueryError> {
    let (source, target) = (input.vertex("sourceNode")?, input.vertex("targetNode")?);
    Ok(shortest_path::Settings { source, target })
}

/// Search for a path between two vertices, over lists in both directions.
type Search =
    fn(&Csr, &Csr, &shortest_path::Settings, &Control<'_>) -> control::Result<Option<Path>>;

/// A path to the target, or to each of several, in their order.
fn between(input: &Input<'_>, search: Search) -> Result<Output, QueryError> {
    let source = input.vertex("sourceNode")?;
    let targets = match input.vertices("targetNodes")? {
        Some(targets) if input.config.get("targetNode").is_none() => targets,
        Some(_) => {
            let of = input.config.of;
            return Err(wrong(format!("{of} takes either targetNode or targetNodes")));
        }
        None => vec![input.vertex("targetNode")?],
    };
    let incoming = input.incoming();
    let mut found = Vec::new();
    for target in targets {
        let settings = shortest_path::Settings { source, target };
        let path = search(input.lists(), &incoming, &settings, input.control);
        found.extend(path.map_err(failed)?);
    }
    Ok(paths(found))
}

/// Rows of paths.
fn paths(found: impl IntoIterator<Item = Path>) -> Output {
    let found: Vec<Path> = found.into_iter().filter(|path| !path.vertices.is_empty()).collect();
    let end = |of: fn(&[u32]) -> Option<&u32>| {
        found.iter().filter_map(|path| of(&path.vertices).copied()).collect()
    };
    let costs = |path: &Path| Value::list(path.costs.iter().map(|cost| Value::Float(*cost)));
    let columns = vec![
        Data::Ints((0..found.len() as i64).collect()),
        Data::Vertices(end(|path| path.first())),
        Data::Vertices(end(|path| path.last())),
        Data::Floats(found.iter().map(Path::cost).collect()),
        Data::Values(Vec::new()),
        Data::Values(found.iter().map(costs).collect()),
        Data::Routes(found.len()),
    ];
    let mut output = Output { columns, figures: Vec::new() };
    output.columns[4] = Data::Paths(found.into_iter().map(|path| path.vertices).collect());
    output
}

/// Paths to all vertices that have one; they are made row by row.
fn all_paths(tree: Tree) -> Output {
    let paths = Arc::new(TreePaths::new(tree));
    let costs = paths.targets().iter().map(|v| paths.tree().distances[*v as usize]).collect();
    let columns = vec![
        Data::Ints((0..paths.targets().len() as i64).collect()),
        Data::Vertices(paths.targets().iter().map(|v| paths.root(*v)).collect()),
        Data::Vertices(paths.targets().to_vec()),
        Data::Floats(costs),
        Data::TreePaths(Arc::clone(&paths)),
        Data::TreeCosts(Arc::clone(&paths)),
        Data::Routes(paths.targets().len()),
    ];
    Output { columns, figures: Vec::new() }
}

fn distances(input: &Input<'_>) -> Result<Tree, QueryError> {
    let delta = input.config.given("delta", |config, key| config.float(key, 1.0))?;
    let settings = sssp::Settings { source: input.vertex("sourceNode")?, delta };
    sssp::sssp(input.lists(), &settings, input.control).map_err(failed)
}

fn from_one(input: &Input<'_>) -> Result<Output, QueryError> {
    Ok(all_paths(distances(input)?))
}

/// A property of the nodes, in degrees.
fn degrees(input: &Input<'_>, setting: &str) -> Result<Vec<f64>, QueryError> {
    let Some(property) = input.config.text(setting)? else {
        return Err(wrong(format!("{} needs {setting}, a property of nodes", input.config.of)));
    };
    let values = input.graph.values(input.view, property)?;
    let number = |at| match values.get(at) {
        Value::Float(number) => number,
        Value::Int(number) => number as f64,
        // The kernel refuses it, if it comes that way.
        _ => f64::NAN,
    };
    Ok((0..values.len()).map(number).collect())
}

fn spanning(input: &Input<'_>) -> Result<Output, QueryError> {
    let objectives = [
        ("minimum", spanning_tree::Objective::Minimum),
        ("maximum", spanning_tree::Objective::Maximum),
    ];
    let objective = spanning_tree::Objective::Minimum;
    let settings = spanning_tree::Settings {
        objective: input.config.choice("objective", &objectives, objective)?,
        source: input.config.given("sourceNode", |_, key| input.vertex(key))?,
    };
    let found = spanning_tree::spanning_tree(input.lists(), &settings, input.control);
    let found = found.map_err(failed)?;
    let children = (0u32..).zip(&found.parents).filter(|(_, parent)| **parent != NONE);
    let (nodes, parents): (Vec<u32>, Vec<u32>) = children.map(|(v, parent)| (v, *parent)).unzip();
    let weights = nodes.iter().map(|v| found.weights[*v as usize]).collect();
    let reached = nodes.len() as u64;
    let columns = vec![Data::Vertices(nodes), Data::Vertices(parents), Data::Floats(weights)];
    let (total, trees) = (Value::Float(found.total_weight), count(found.trees));
    // Every tree has a root, which has no parent.
    let figures = vec![total, trees, count(reached + found.trees)];
    Ok(Output { columns, figures })
}

fn has_cycle(input: &Input<'_>, cycle: &[u32]) -> QueryError {
    let nodes = cycle.iter().take(16).map(|v| input.graph.nodes[*v as usize].get().to_string());
    let nodes: Vec<String> = nodes.collect();
    wrong(format!("{} wants no cycles, and nodes {} are one", input.config.of, nodes.join(", ")))
}

fn flow(input: &Input<'_>) -> Result<Output, QueryError> {
    let given = |setting: &str| {
        let nodes = input.vertices(setting)?;
        nodes.ok_or_else(|| wrong(format!("{} needs {setting}", input.config.of)))
    };
    let settings =
        max_flow::Settings { sources: given("sourceNodes")?, targets: given("targetNodes")? };
    let incoming = input.incoming();
    let found = max_flow::max_flow(input.lists(), &incoming, &settings, input.control);
    let found = found.map_err(failed)?;
    let (mut from, mut to, mut flows, mut cut) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut cut_edges = found.cut.iter().copied().peekable();
    for ((edge, (u, v, _)), flow) in (0u64..).zip(input.lists().all_edges()).zip(&found.flows) {
        let is_cut = cut_edges.next_if_eq(&edge).is_some();
        if *flow > 0.0 || is_cut {
            from.push(u);
            to.push(v);
            flows.push(*flow);
            cut.push(is_cut);
        }
    }
    let columns =
        vec![Data::Vertices(from), Data::Vertices(to), Data::Floats(flows), Data::Bools(cut)];
    Ok(Output { columns, figures: vec![Value::Float(found.value)] })
}

fn walking(config: &Config<'_>) -> Result<random_walk::Settings, QueryError> {
    let defaults = random_walk::Settings::default();
    Ok(random_walk::Settings {
        walk_length: config.count("walkLength", defaults.walk_length)?,
        walks_per_node: config.count("walksPerNode", defaults.walks_per_node)?,
        in_out_factor: config.float("inOutFactor", defaults.in_out_factor)?,
        return_factor: config.float("returnFactor", defaults.return_factor)?,
        seed: config.count("randomSeed", defaults.seed)?,
        ..defaults
    })
}
