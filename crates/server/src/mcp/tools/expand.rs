//! The walk from nodes to what is near them: level by level, within limits.

use std::collections::HashMap;

use serde_json::{Value as Json, json};
use telar_db::{Value, ValueMap};

use super::super::gather::{Gather, Room};
use super::super::graph::Reading;
use super::{Arguments, Context, Failure, quoted, set};

/// Hops at most.
const HOPS_MAX: usize = 6;
/// Relationships of one node that are followed, unless it is said.
const FAN_OUT: usize = 50;
/// Most of them.
const FAN_OUT_MAX: usize = 1000;
/// Nodes, unless it is said.
const NODES: usize = 50;

/// Limits of a walk, and the relationships that it follows.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) hops: usize,
    types: Vec<String>,
    direction: Direction,
    nodes: usize,
    fan_out: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Out,
    In,
    Both,
}

impl Walk {
    /// The schemas of its arguments, for a tool that walks so many hops unless it is said.
    pub(super) fn schemas(hops: usize, rows_max: usize) -> [(&'static str, Json); 5] {
        [
            (
                "hops",
                json!({
                    "type": "integer", "minimum": 0, "maximum": HOPS_MAX, "default": hops,
                    "description": "How far to walk from each start",
                }),
            ),
            (
                "types",
                json!({
                    "type": "array", "items": { "type": "string" },
                    "description": "Follow only relationships of these types",
                }),
            ),
            (
                "direction",
                json!({
                    "type": "string", "enum": ["out", "in", "both"], "default": "both",
                    "description": "Follow relationships in this direction",
                }),
            ),
            (
                "max_nodes",
                json!({
                    "type": "integer", "minimum": 1, "maximum": rows_max,
                    "default": NODES.min(rows_max), "description": "Nodes at most, the nearest first",
                }),
            ),
            (
                "fan_out",
                json!({
                    "type": "integer", "minimum": 1, "maximum": FAN_OUT_MAX, "default": FAN_OUT,
                    "description": "Relationships of one node to follow at most",
                }),
            ),
        ]
    }

    /// # Errors
    /// If an argument is not as it is to be.
    pub(super) fn read(
        arguments: &mut Arguments,
        hops: usize,
        rows_max: usize,
    ) -> Result<Self, Failure> {
        let direction = match arguments.text("direction")?.as_deref() {
            None | Some("both") => Direction::Both,
            Some("out") => Direction::Out,
            Some("in") => Direction::In,
            Some(_) => return Err(Failure::argument("direction", "out, in or both")),
        };
        Ok(Self {
            hops: arguments.count("hops", hops, (0, HOPS_MAX))?,
            types: arguments.texts("types")?,
            direction,
            nodes: arguments.count("max_nodes", NODES, (1, rows_max))?,
            fan_out: arguments.count("fan_out", FAN_OUT, (1, FAN_OUT_MAX))?,
        })
    }

    /// The relationships that are followed, as a pattern between two nodes.
    fn pattern(&self, variable: &str, direction: Direction) -> String {
        let types: Vec<String> = self.types.iter().map(|ty| quoted(ty)).collect();
        let types = if types.is_empty() { String::new() } else { format!(":{}", types.join("|")) };
        match direction {
            Direction::Out => format!("-[{variable}{types}]->"),
            Direction::In => format!("<-[{variable}{types}]-"),
            Direction::Both => format!("-[{variable}{types}]-"),
        }
    }

    /// The subgraph around the nodes with these numbers, within `bytes` of JSON.
    ///
    /// # Errors
    /// Errors of the statements.
    pub(super) fn expand(
        &self,
        context: &Context<'_>,
        reading: &mut Reading<'_>,
        starts: &[i64],
        bytes: usize,
    ) -> Result<Json, Failure> {
        let found = self.nodes_near(context, reading, starts)?;
        let Near { order, hops, is_cut } = found;
        let mut parameters = ValueMap::from_iter([("ids".into(), list(&order))]);
        // Relationships are shorter than nodes.
        let room = Room { rows: order.len(), bytes: bytes / 3 * 2 };
        let text = "UNWIND $ids AS i MATCH (n) WHERE id(n) = i RETURN i, n";
        let nodes = reading.run(text, &parameters, room)?.rows;
        let shown: Vec<i64> = nodes.rows.iter().filter_map(|row| row[0].as_i64()).collect();
        parameters.insert("ids".into(), list(&shown));
        let text = format!(
            "UNWIND $ids AS i MATCH (a) WHERE id(a) = i MATCH (a){}(b) WHERE id(b) IN $ids \
             RETURN r",
            self.pattern("r", Direction::Out)
        );
        let room = Room { rows: 4 * self.nodes, bytes: bytes.saturating_sub(nodes.bytes) };
        let relationships = reading.run(&text, &parameters, room)?.rows;
        let node = |row: &Vec<Json>| {
            let mut node = row[1].clone();
            set(&mut node, "hops", row[0].as_i64().and_then(|id| hops.get(&id).copied()));
            node
        };
        let mut graph = json!({
            "nodes": nodes.rows.iter().map(node).collect::<Vec<_>>(),
            "relationships": relationships.rows.iter().map(|row| &row[0]).collect::<Vec<_>>(),
        });
        set(&mut graph, "truncated", self.remark(is_cut, &nodes, &relationships));
        Ok(graph)
    }

    fn remark(&self, is_cut: bool, nodes: &Gather, relationships: &Gather) -> Option<String> {
        let whole = !is_cut && nodes.cut.is_none() && relationships.cut.is_none();
        (!whole).then(|| {
            format!(
                "there is more: {} nodes and {} relationships are here; 'max_nodes' is {}, \
                 'fan_out' {}; 'types' and 'direction' narrow it",
                nodes.rows.len(),
                relationships.rows.len(),
                self.nodes,
                self.fan_out
            )
        })
    }

    fn nodes_near(
        &self,
        context: &Context<'_>,
        reading: &mut Reading<'_>,
        starts: &[i64],
    ) -> Result<Near, Failure> {
        let mut near = Near::default();
        for start in starts {
            near.add(*start, 0, self.nodes);
        }
        let mut frontier = near.order.clone();
        // One more of each node says that there are more.
        let text = format!(
            "UNWIND $ids AS i MATCH (a) WHERE id(a) = i \
             CALL (a) {{ MATCH (a){}(b) RETURN id(b) AS j LIMIT $most }} RETURN i, j",
            self.pattern("", self.direction)
        );
        for hop in 1..=self.hops {
            if frontier.is_empty() || near.is_cut {
                break;
            }
            let parameters = ValueMap::from_iter([
                ("ids".into(), list(&frontier)),
                ("most".into(), (self.fan_out as i64 + 1).into()),
            ]);
            let rows = frontier.len() * (self.fan_out + 1);
            let room = Room { rows, bytes: context.inner_room().bytes };
            let found = reading.run(&text, &parameters, room)?.rows;
            let mut of_node: HashMap<i64, usize> = HashMap::new();
            frontier.clear();
            for row in &found.rows {
                let (Some(from), Some(to)) = (row[0].as_i64(), row[1].as_i64()) else { continue };
                let count = of_node.entry(from).or_default();
                *count += 1;
                if *count > self.fan_out {
                    near.is_cut = true;
                } else if near.add(to, hop, self.nodes) {
                    frontier.push(to);
                }
            }
            near.is_cut |= found.cut.is_some();
        }
        Ok(near)
    }
}

/// Nodes that were found.
#[derive(Debug, Default)]
struct Near {
    /// The nearest first.
    order: Vec<i64>,
    hops: HashMap<i64, usize>,
    /// Some were left out.
    is_cut: bool,
}

impl Near {
    /// Adds a node, if it is new and there is room.
    fn add(&mut self, id: i64, hops: usize, most: usize) -> bool {
        if self.hops.contains_key(&id) {
            return false;
        }
        if self.order.len() == most {
            self.is_cut = true;
            return false;
        }
        self.order.push(id);
        self.hops.insert(id, hops);
        true
    }
}

fn list(ids: &[i64]) -> Value {
    Value::list(ids.iter().copied())
}

/// The number of a node with this element id.
pub(super) fn number_of_node(element_id: &str) -> Option<i64> {
    element_id.strip_prefix("n:")?.parse().ok().filter(|number| *number >= 0)
}
