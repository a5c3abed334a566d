//! `apoc.path.*`: paths from some nodes, under conditions on relationships and labels.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;

use telar_graph::value::Path;
use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, Lists, Value, ValueMap, VertexId};

use super::args::{self, edge_value, failed, flag, integer, rows_of};
use super::filter::{Ends, Filter, Types, Uniqueness, Verdict};
use super::{Entry, Mode, StreamEntry};
use crate::procedure::{CallContext, Chunk, RowBatch, RowSource};
use crate::query_error::QueryError;

const R: Mode = Mode::Read;
const CONFIG: &str = "startNode ANY; config MAP";

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.path.subgraphNodes",
        R,
        CONFIG,
        "node NODE",
        "The nodes that can be reached.",
        |call, arguments| {
            let mut search = Search::new(call, "apoc.path.subgraphNodes", arguments)?;
            search.visit_nodes_once("apoc.path.subgraphNodes")?;
            let optional = search.optional;
            let mut nodes = reached(call, search)?.into_iter().map(Value::Vertex).peekable();
            let none = optional && nodes.peek().is_none();
            Ok(rows_of(nodes.chain(none.then_some(Value::Null))))
        },
    ),
    (
        "apoc.path.subgraphAll",
        R,
        CONFIG,
        "nodes LIST<NODE>; relationships LIST<RELATIONSHIP>",
        "The nodes that can be reached, and all relationships between them.",
        |call, arguments| {
            let mut search = Search::new(call, "apoc.path.subgraphAll", arguments)?;
            search.visit_nodes_once("apoc.path.subgraphAll")?;
            let nodes = reached(call, search)?;
            let edges = edges_among(call, &nodes)?;
            let nodes = Value::list(nodes.into_iter().map(Value::Vertex));
            Ok(vec![vec![nodes, Value::list(edges.into_iter().map(edge_value))]])
        },
    ),
];

/// Procedures whose rows are made as they are asked for.
pub(super) const STREAMS: &[StreamEntry] = &[
    (
        "apoc.path.expand",
        R,
        "startNode ANY; relFilter STRING; labelFilter STRING; minDepth INTEGER; maxDepth INTEGER",
        "path PATH",
        "The paths from some nodes, of a length between two numbers.",
        expand,
    ),
    (
        "apoc.path.expandConfig",
        R,
        CONFIG,
        "path PATH",
        "The paths from some nodes, under conditions.",
        |call, arguments| {
            let search = Search::new(call, "apoc.path.expandConfig", arguments)?;
            Ok(paths(search))
        },
    ),
    (
        "apoc.path.spanningTree",
        R,
        CONFIG,
        "path PATH",
        "One path to each node that can be reached.",
        |call, arguments| {
            let mut search = Search::new(call, "apoc.path.spanningTree", arguments)?;
            search.visit_nodes_once("apoc.path.spanningTree")?;
            Ok(paths(search))
        },
    ),
];

/// A search for paths.
struct Search {
    starts: Vec<VertexId>,
    filter: Filter,
    ends: Ends,
    min: usize,
    max: usize,
    uniqueness: Uniqueness,
    breadth_first: bool,
    limit: usize,
    optional: bool,
}

/// A length of a configuration; what is negative is none.
fn length(number: i64) -> Option<usize> {
    usize::try_from(number).ok()
}

impl Search {
    fn new(call: &CallContext<'_>, name: &str, arguments: &[Value]) -> Result<Self, QueryError> {
        let config = args::map(&arguments[1]);
        let text = |key: &str| match config.get(key) {
            Some(Value::String(text)) => text.to_string(),
            _ => String::new(),
        };
        let begins_at_start = flag(&config, "beginSequenceAtStart", true);
        let mut filter = match config.get("sequence") {
            Some(Value::String(text)) => Filter::of_sequence(text, begins_at_start)?,
            _ => Filter::new(&text("relationshipFilter"), &text("labelFilter")),
        };
        filter.begins_at_start = begins_at_start;
        filter.of_start = flag(&config, "filterStartNode", false);
        let nodes = |keys: &[&str]| -> Result<Vec<VertexId>, QueryError> {
            match keys.iter().find_map(|key| config.get(*key)) {
                Some(value) => args::nodes(call, name, value),
                None => Ok(Vec::new()),
            }
        };
        let uniqueness = match text("uniqueness").as_str() {
            "" => Uniqueness::RelationshipPath,
            text => Uniqueness::new(name, text)?,
        };
        Ok(Self {
            starts: args::nodes(call, name, &arguments[0])?,
            filter,
            ends: Ends {
                ends: nodes(&["endNodes"])?,
                terminators: nodes(&["terminatorNodes"])?,
                allowed: nodes(&["allowlistNodes", "whitelistNodes"])?,
                denied: nodes(&["denylistNodes", "blacklistNodes"])?,
            },
            min: length(integer(&config, "minLevel", -1)).unwrap_or(0),
            max: length(integer(&config, "maxLevel", -1)).unwrap_or(usize::MAX),
            uniqueness,
            breadth_first: flag(&config, "bfs", true),
            limit: length(integer(&config, "limit", -1)).unwrap_or(usize::MAX),
            optional: flag(&config, "optional", false),
        })
    }

    /// Makes the search visit each node once.
    fn visit_nodes_once(&mut self, name: &str) -> Result<(), QueryError> {
        if self.min > 1 {
            return Err(failed(name, "minLevel can only be 0 or 1"));
        }
        self.uniqueness = Uniqueness::NodeGlobal;
        Ok(())
    }
}

/// A path that was found, as the last step of it.
#[derive(Clone, Copy)]
struct Step {
    node: VertexId,
    /// The relationship that leads there, and the place of the step before it.
    came: Option<(EdgeId, usize)>,
    depth: usize,
}

/// All steps of a search, and what has been visited.
#[derive(Default)]
struct Trail {
    steps: Vec<Step>,
    nodes: HashSet<VertexId>,
    edges: HashSet<EdgeId>,
    nodes_at: HashSet<(usize, VertexId)>,
    edges_at: HashSet<(usize, EdgeId)>,
}

impl Trail {
    /// The steps from the one at a place back to the start.
    fn back(&self, at: usize) -> impl Iterator<Item = &Step> {
        let mut next = Some(at);
        std::iter::from_fn(move || {
            let step = self.steps.get(next?)?;
            next = step.came.map(|(_, before)| before);
            Some(step)
        })
    }

    /// True if a path may go on by an edge to a node; notes that it does.
    fn enters(&mut self, from: usize, edge: EdgeId, node: VertexId, rule: Uniqueness) -> bool {
        let depth = self.steps[from].depth + 1;
        let has_edge = |step: &Step| step.came.is_some_and(|(other, _)| other == edge);
        match rule {
            Uniqueness::None => true,
            Uniqueness::NodeGlobal => self.nodes.insert(node),
            Uniqueness::RelationshipGlobal => self.edges.insert(edge),
            Uniqueness::NodeLevel => self.nodes_at.insert((depth, node)),
            Uniqueness::RelationshipLevel => self.edges_at.insert((depth, edge)),
            Uniqueness::NodePath => self.back(from).all(|step| step.node != node),
            Uniqueness::RelationshipPath => !self.back(from).any(has_edge),
            Uniqueness::NodeRecent => self.steps[from].node != node,
            Uniqueness::RelationshipRecent => !has_edge(&self.steps[from]),
        }
    }

    fn path(&self, at: usize) -> Option<Path> {
        let mut edges: Vec<EdgeId> = self.back(at).filter_map(|step| Some(step.came?.0)).collect();
        edges.reverse();
        let start = self.back(at).last()?.node;
        Path::walk(start, edges)
    }
}

/// A search under way.
struct Walk {
    of: Search,
    trail: Trail,
    open: VecDeque<usize>,
    /// The starts are open.
    has_begun: bool,
    found: usize,
}

impl Walk {
    fn new(of: Search) -> Self {
        let (trail, open) = (Trail::default(), VecDeque::new());
        Self { of, trail, open, has_begun: false, found: 0 }
    }

    fn begin(&mut self, call: &CallContext<'_>) {
        let Self { of, trail, open, .. } = self;
        for start in &of.starts {
            let new = of.uniqueness != Uniqueness::NodeGlobal || trail.nodes.insert(*start);
            if new && !call.is_deleted(&Value::Vertex(*start)) {
                open.push_back(trail.steps.len());
                trail.steps.push(Step { node: *start, came: None, depth: 0 });
            }
        }
        self.has_begun = true;
    }

    /// The next finds, in the order in which they are found: the places of so many steps at most.
    /// True if there may be more.
    fn next(
        &mut self,
        call: &CallContext<'_>,
        most: usize,
    ) -> Result<(Vec<usize>, bool), QueryError> {
        if !self.has_begun {
            self.begin(call);
        }
        let mut found = Vec::new();
        while self.found < self.of.limit {
            if found.len() >= most {
                return Ok((found, true));
            }
            let next = match self.of.breadth_first {
                true => self.open.pop_front(),
                false => self.open.pop_back(),
            };
            let Some(at) = next else { break };
            call.check()?;
            let step = self.trail.steps[at];
            let Verdict { returned, passed } = verdict(call, &self.of, &step)?;
            if returned && step.depth >= self.of.min {
                found.push(at);
                self.found += 1;
            }
            if passed && step.depth < self.of.max {
                call.room(self.bytes(), "apoc.path")?;
                self.go_on(call, at)?;
            }
        }
        Ok((found, false))
    }

    /// Opens what can be reached from a step.
    fn go_on(&mut self, call: &CallContext<'_>, at: usize) -> Result<(), QueryError> {
        let step = self.trail.steps[at];
        let mut next = edges_from(call, step.node, self.of.filter.types_at(step.depth))?;
        if !self.of.breadth_first {
            next.reverse();
        }
        for (edge, node) in next {
            if self.trail.enters(at, edge, node, self.of.uniqueness) {
                self.open.push_back(self.trail.steps.len());
                let depth = step.depth + 1;
                self.trail.steps.push(Step { node, came: Some((edge, at)), depth });
            }
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        self.trail.steps.len() * size_of::<Step>() * 2
    }
}

/// Paths that are found before the first of them goes out.
const PATHS: usize = 256;

/// The paths of a search, found as they are asked for.
struct Paths(Walk);

impl RowSource for Paths {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        let Self(walk) = self;
        let (found, more) = walk.next(call, PATHS)?;
        let path = |at: usize| walk.trail.path(at).map(|path| Value::Path(Arc::new(path)));
        let mut values: Vec<Value> = found.into_iter().filter_map(path).collect();
        if walk.of.optional && walk.found == 0 && !more {
            values.push(Value::Null);
        }
        let batch = RowBatch::try_from(rows_of(values))?;
        Ok(if more { Chunk::More(batch) } else { Chunk::Last(batch) })
    }

    fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

fn paths(of: Search) -> Box<dyn RowSource> {
    Box::new(Paths(Walk::new(of)))
}

fn verdict(call: &CallContext<'_>, of: &Search, step: &Step) -> Result<Verdict, QueryError> {
    let mut labels = Lists::default();
    call.graph().labels(&[step.node], &mut labels)?;
    let found = of.filter.verdict(call.graph(), &labels.items, step.depth);
    if step.depth == 0 && !of.filter.of_start {
        // The lists of nodes say what is returned, but not whether the search begins.
        let allowed = of.ends.verdict_of_start(step.node, found);
        return Ok(Verdict { passed: true, ..allowed });
    }
    Ok(of.ends.verdict(step.node, found))
}

/// The relationships of some types at a node, with the nodes that they lead to.
fn edges_from(
    call: &CallContext<'_>,
    node: VertexId,
    types: &Types,
) -> Result<Vec<(EdgeId, VertexId)>, QueryError> {
    let graph = call.graph();
    let (mut out, mut found) = (Vec::new(), Expansion::default());
    let all = graph.edge_type_names().len() as u16;
    for (name, directions) in &types.0 {
        let numbers: Vec<EdgeTypeId> = match name {
            Some(name) => graph.find_edge_type(name).into_iter().collect(),
            None => (0..all).map(EdgeTypeId::from_raw).collect(),
        };
        for ty in numbers {
            for direction in directions {
                graph.expand(&[node], ty, *direction, &mut found)?;
                for (other, ordinal) in found.neighbours.iter().zip(&found.ordinals) {
                    let (src, dst) = match direction {
                        Direction::Out => (node, *other),
                        Direction::In => (*other, node),
                    };
                    // One from the node to itself is met in both directions.
                    let edge = EdgeId { ty, src, dst, ordinal: *ordinal };
                    if directions.len() == 1 || src != dst || *direction == Direction::Out {
                        out.push((edge, *other));
                    }
                }
            }
        }
    }
    if types.0.len() > 1 {
        let mut seen = HashSet::new();
        out.retain(|(edge, _)| seen.insert(*edge));
    }
    Ok(out)
}

/// The nodes that a search returns, in the order in which it finds them.
fn reached(call: &CallContext<'_>, of: Search) -> Result<Vec<VertexId>, QueryError> {
    let mut walk = Walk::new(of);
    let (found, _) = walk.next(call, usize::MAX)?;
    Ok(found.into_iter().map(|at| walk.trail.steps[at].node).collect())
}

/// Every relationship between two nodes of a set.
fn edges_among(call: &CallContext<'_>, nodes: &[VertexId]) -> Result<Vec<EdgeId>, QueryError> {
    let inside: BTreeSet<VertexId> = nodes.iter().copied().collect();
    let all = Types(vec![(None, vec![Direction::Out])]);
    let mut found = Vec::new();
    for node in nodes {
        call.check()?;
        let edges = edges_from(call, *node, &all)?;
        found.extend(edges.into_iter().filter(|(_, to)| inside.contains(to)).map(|(edge, _)| edge));
    }
    Ok(found)
}

fn expand(
    call: &mut CallContext<'_>,
    arguments: &[Value],
) -> Result<Box<dyn RowSource>, QueryError> {
    let keys = ["relationshipFilter", "labelFilter", "minLevel", "maxLevel"];
    let given = keys.iter().zip(&arguments[1..]).filter(|(_, value)| !value.is_null());
    let mut config: ValueMap = given.map(|(key, value)| (Arc::from(*key), value.clone())).collect();
    config.insert("filterStartNode".into(), true.into());
    let arguments = [arguments[0].clone(), Value::map(config)];
    Ok(paths(Search::new(call, "apoc.path.expand", &arguments)?))
}
