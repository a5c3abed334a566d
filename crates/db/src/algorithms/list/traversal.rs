//! Searches that visit what can be reached: their order, and the depth of each node.
//!
//! `algo` has a row for each node. `gds` has one row with all nodes in their order, as the library.

use telar_algo::control::Control;
use telar_algo::paths::{bfs, dfs};
use telar_graph::{Topology, VertexId};
use telar_query::QueryError;

use super::{PLAIN, failed};
use crate::algorithms::algorithm::{Algorithm, ColumnOf, InPlaceInput, Input, Kind};
use crate::algorithms::config::{Config, wrong};
use crate::algorithms::output::{Data, Output, count};
use crate::algorithms::procedure::Dialect;

/// Columns of the steps of a search.
const DEPTHS: &[ColumnOf] = &[ColumnOf("nodeId", Kind::Node), ColumnOf("depth", Kind::Integer)];

/// Columns of the order of a search, as the library has them.
const VISITS: &[ColumnOf] = &[
    ColumnOf("sourceNode", Kind::Node),
    ColumnOf("nodeIds", Kind::Nodes),
    ColumnOf("path", Kind::Path),
];
/// Figures of a search.
const FIGURES: &[(&str, &str)] = &[("reachedNodes", "INTEGER"), ("depth", "INTEGER")];
/// Settings of a search.
const SETTINGS: &[&str] = &["sourceNode", "targetNodes", "maxDepth"];

const BFS: Algorithm = Algorithm {
    name: "bfs",
    about: "Breadth-first search: the nodes that are reached, with their number of hops.",
    columns: DEPTHS,
    figures: FIGURES,
    settings: SETTINGS,
    reverses: true,
    bytes: |n, m, _| Ok(bfs::bytes(n, m, &bfs::Settings::default()) + 16 * n),
    run: breadth_first,
    in_place: Some(search_in_place),
    ..PLAIN
};

const DFS: Algorithm = Algorithm {
    name: "dfs",
    about: "Depth-first search: the nodes that are reached, in the order of their visits.",
    columns: DEPTHS,
    figures: FIGURES,
    settings: SETTINGS,
    bytes: |n, m, _| Ok(dfs::bytes(n, m) + 16 * n),
    run: depth_first,
    ..PLAIN
};

pub(super) const LIST: &[Algorithm] = &[
    Algorithm { only: Some(Dialect::Algo), ..BFS },
    Algorithm {
        only: Some(Dialect::Gds),
        columns: VISITS,
        run: |input| visits(breadth_first(input)?, targets(input)?),
        in_place: None,
        ..BFS
    },
    Algorithm { only: Some(Dialect::Algo), ..DFS },
    Algorithm {
        only: Some(Dialect::Gds),
        columns: VISITS,
        run: |input| visits(depth_first(input)?, targets(input)?),
        ..DFS
    },
];

fn breadth_first(input: &Input<'_>) -> Result<Output, QueryError> {
    let (lists, incoming) = (input.lists(), input.incoming());
    let settings = hops(input.config, |node, of| input.graph.number(node, of))?;
    levels(lists, &*incoming, lists.vertices(), &settings, input.control)
}

fn depth_first(input: &Input<'_>) -> Result<Output, QueryError> {
    let settings = hops(input.config, |node, of| input.graph.number(node, of))?;
    let bfs::Settings { source, max_depth, targets, .. } = settings;
    let settings = dfs::Settings { source, max_depth, targets };
    let found = dfs::dfs(input.lists(), &settings, input.control).map_err(failed)?;
    let deepest = found.depths.iter().copied().max().unwrap_or(0);
    let figures = vec![count(found.order.len() as u64), count(deepest.into())];
    let columns = vec![Data::Vertices(found.order), Data::Counts(found.depths)];
    Ok(Output { columns, figures })
}

/// Nodes that end a search.
fn targets(input: &Input<'_>) -> Result<Vec<u32>, QueryError> {
    Ok(input.vertices("targetNodes")?.unwrap_or_default())
}

/// All nodes of a search as one row. It ends with the first of the targets.
fn visits(mut found: Output, targets: Vec<u32>) -> Result<Output, QueryError> {
    let Some(Data::Vertices(mut order)) = found.columns.drain(..).next() else {
        return Ok(found);
    };
    if let Some(last) = order.iter().position(|v| targets.contains(v)) {
        order.truncate(last + 1);
    }
    let source: Vec<u32> = order.first().copied().into_iter().collect();
    let rows = source.len();
    let columns = vec![Data::Vertices(source), Data::Paths(vec![order]), Data::Routes(rows)];
    Ok(Output { columns, ..found })
}

fn hops(
    config: &Config<'_>,
    number: impl Fn(VertexId, &str) -> Result<u32, QueryError>,
) -> Result<bfs::Settings, QueryError> {
    let targets = config.nodes("targetNodes")?.unwrap_or_default();
    let max_depth = config.given("maxDepth", |config, key| config.count(key, 0))?;
    Ok(bfs::Settings {
        source: number(config.node("sourceNode")?, "sourceNode")?,
        max_depth,
        targets: targets
            .into_iter()
            .map(|node| number(node, "targetNodes"))
            .collect::<Result<_, _>>()?,
        parents: false,
    })
}

fn levels<T: Topology>(
    outgoing: &T,
    incoming: &T,
    n: u32,
    settings: &bfs::Settings,
    control: &Control<'_>,
) -> Result<Output, QueryError> {
    let found = bfs::bfs(outgoing, incoming, n, settings, control).map_err(failed)?;
    let reached = found.order();
    let depths = reached.iter().map(|v| found.depths[*v as usize]).collect();
    let columns = vec![Data::Vertices(reached), Data::Counts(depths)];
    Ok(Output { columns, figures: vec![count(found.reached), count(found.depth.into())] })
}

fn search_in_place(input: &InPlaceInput<'_>) -> Result<Option<Output>, QueryError> {
    let number = |node: VertexId, setting: &str| match u32::try_from(node.get()) {
        Ok(v) if v < input.n => Ok(v),
        _ => {
            let node = node.get();
            Err(wrong(format!("{setting} names node {node}, which is not in the graph chosen")))
        }
    };
    let settings = hops(input.config, number)?;
    levels(input.outgoing, input.incoming, input.n, &settings, input.control).map(Some)
}
