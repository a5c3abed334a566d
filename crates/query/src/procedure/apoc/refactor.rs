//! `apoc.refactor.*`: nodes and relationships made one, turned round, given another type.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use telar_graph::{EdgeId, Value, ValueMap, VertexId};

use super::args::{self, edge_value, failed, flag, rows_of};
use super::create::{add_labels, labels_of};
use super::{Entry, Mode};
use crate::ops::CompiledRegex;
use crate::ops::display::text_of;
use crate::procedure::{CallContext, Rows};
use crate::query_error::QueryError;

const W: Mode = Mode::Write;
const CHANGED: &str = "input INTEGER; output RELATIONSHIP; error STRING";

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.refactor.mergeNodes",
        W,
        "nodes LIST<ANY>; config MAP = {}",
        "node NODE",
        "Makes several nodes one: the first gets labels, properties and relationships of the others.",
        merge_nodes,
    ),
    (
        "apoc.refactor.mergeRelationships",
        W,
        "rels LIST<ANY>; config MAP = {}",
        "rel RELATIONSHIP",
        "Makes several relationships between the same nodes one: the first gets their properties.",
        merge_relationships,
    ),
    (
        "apoc.refactor.setType",
        W,
        "rel RELATIONSHIP; newType STRING",
        CHANGED,
        "Replaces a relationship by one of another type.",
        |call, arguments| {
            let name = "apoc.refactor.setType";
            let ty = Arc::clone(args::text(name, "the new type", &arguments[1])?);
            replace(call, name, &arguments[0], |edge| (Some(ty), edge.src, edge.dst))
        },
    ),
    (
        "apoc.refactor.invert",
        W,
        "rel RELATIONSHIP",
        CHANGED,
        "Replaces a relationship by one in the other direction.",
        |call, arguments| {
            let name = "apoc.refactor.invert";
            replace(call, name, &arguments[0], |edge| (None, edge.dst, edge.src))
        },
    ),
    (
        "apoc.refactor.from",
        W,
        "rel RELATIONSHIP; newNode NODE",
        CHANGED,
        "Replaces a relationship by one that begins at another node.",
        |call, arguments| {
            let name = "apoc.refactor.from";
            let from = args::node(name, "the new start node", &arguments[1])?;
            replace(call, name, &arguments[0], |edge| (None, from, edge.dst))
        },
    ),
    (
        "apoc.refactor.to",
        W,
        "rel RELATIONSHIP; newNode NODE",
        CHANGED,
        "Replaces a relationship by one that ends at another node.",
        |call, arguments| {
            let name = "apoc.refactor.to";
            let to = args::node(name, "the new end node", &arguments[1])?;
            replace(call, name, &arguments[0], |edge| (None, edge.src, to))
        },
    ),
];

/// What becomes of a property that both objects have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    Overwrite,
    Discard,
    Combine,
}

/// The configuration of a merge.
struct Config {
    /// Rules by the pattern of the key; the first that matches counts.
    keys: Vec<(CompiledRegex, Rule)>,
    rest: Rule,
    /// True if the configuration says something of properties.
    of_properties: bool,
    merge_relationships: bool,
    produce_self_relationships: bool,
    keep_self_relationships: bool,
    single_element_as_array: bool,
}

impl Config {
    fn new(procedure: &str, value: &Value) -> Result<Self, QueryError> {
        let config = args::map(value);
        let rule = |value: &Value| {
            let text = text_of(value).unwrap_or_default().to_lowercase();
            match text.as_str() {
                "overwrite" | "override" => Ok(Rule::Overwrite),
                "discard" => Ok(Rule::Discard),
                "combine" => Ok(Rule::Combine),
                _ => {
                    let message = format!(
                        "properties must be 'overwrite', 'discard' or 'combine', found `{text}`"
                    );
                    Err(failed(procedure, &message))
                }
            }
        };
        let (mut keys, mut rest) = (Vec::new(), Rule::Overwrite);
        match config.get("properties") {
            None | Some(Value::Null) => {}
            Some(Value::Map(rules)) => {
                for (key, value) in rules.iter() {
                    match &**key {
                        ".*" => rest = rule(value)?,
                        key => keys.push((CompiledRegex::new(key)?, rule(value)?)),
                    }
                }
            }
            Some(value) => rest = rule(value)?,
        }
        Ok(Self {
            keys,
            rest,
            of_properties: config.get("properties").is_some_and(|value| !value.is_null()),
            merge_relationships: flag(&config, "mergeRels", false),
            produce_self_relationships: flag(&config, "produceSelfRel", true),
            keep_self_relationships: flag(&config, "preserveExistingSelfRels", true),
            single_element_as_array: flag(&config, "singleElementAsArray", false),
        })
    }

    fn rule(&self, key: &str) -> Result<Rule, QueryError> {
        for (pattern, rule) in &self.keys {
            if pattern.is_match(&key.into())? == Value::Bool(true) {
                return Ok(*rule);
            }
        }
        Ok(self.rest)
    }

    /// Gives `target` the properties of an object that it replaces.
    fn merge_properties(
        &self,
        call: &mut CallContext<'_>,
        target: &Value,
        new: ValueMap,
    ) -> Result<(), QueryError> {
        let old = args::properties(call, target)?;
        for (key, value) in new {
            let value = match (self.rule(&key)?, old.get(&key)) {
                (Rule::Discard, Some(_)) => continue,
                (Rule::Combine, Some(old)) => self.combined(old, &value),
                _ => value,
            };
            call.changes()?.set_property(target, &key, value)?;
        }
        Ok(())
    }

    /// The different values of both: a single one alone, others as a list of one type.
    fn combined(&self, old: &Value, new: &Value) -> Value {
        let mut values: Vec<Value> = Vec::new();
        for value in [old, new] {
            let elements = match value {
                Value::List(list) => list,
                value => std::slice::from_ref(value),
            };
            for value in elements {
                if !values.contains(value) {
                    values.push(value.clone());
                }
            }
        }
        if values.len() == 1 && !self.single_element_as_array {
            return values.remove(0);
        }
        let same = values.windows(2).all(|pair| pair[0].type_name() == pair[1].type_name());
        if !same {
            values = values.iter().map(|v| text_of(v).map_or(Value::Null, Value::from)).collect();
        }
        Value::list(values)
    }
}

fn merge_nodes(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let name = "apoc.refactor.mergeNodes";
    let config = Config::new(name, &arguments[1])?;
    let mut seen = HashSet::new();
    let mut nodes = args::nodes(call, name, &arguments[0])?;
    nodes.retain(|node| seen.insert(*node));
    for node in &nodes {
        args::check_exists(call, name, &Value::Vertex(*node))?;
    }
    let Some((target, others)) = nodes.split_first() else { return Ok(Rows::new()) };
    let mut kept = BTreeSet::new();
    if config.keep_self_relationships {
        let at = call.changes()?.relationships_at(*target)?;
        kept = at.into_iter().filter(|edge| edge.src == edge.dst).collect();
    }
    for source in others {
        call.check()?;
        merge_node(call, &config, (*source, *target), &kept)?;
    }
    Ok(rows_of([Value::Vertex(*target)]))
}

/// Moves all that a node has to another node, and deletes it.
fn merge_node(
    call: &mut CallContext<'_>,
    config: &Config,
    (source, target): (VertexId, VertexId),
    kept: &BTreeSet<EdgeId>,
) -> Result<(), QueryError> {
    let properties = args::properties(call, &Value::Vertex(source))?;
    let labels = labels_of(call, source)?;
    let types = call.graph().edge_type_names();
    add_labels(call, target, &labels)?;
    for edge in call.changes()?.relationships_at(source)? {
        let moved = |end: VertexId| if end == source { target } else { end };
        let (from, to) = (moved(edge.src), moved(edge.dst));
        if from != to || config.produce_self_relationships {
            let of = args::properties(call, &edge_value(edge))?;
            let ty = &types[usize::from(edge.ty.get())];
            call.changes()?.create_relationship(ty, from, to, of)?;
        }
        call.changes()?.delete(&edge_value(edge), false)?;
    }
    if config.merge_relationships {
        merge_parallel(call, config, target, kept)?;
    }
    call.changes()?.delete(&Value::Vertex(source), true)?;
    config.merge_properties(call, &Value::Vertex(target), properties)
}

/// Makes relationships one that have type and ends in common.
fn merge_parallel(
    call: &mut CallContext<'_>,
    config: &Config,
    node: VertexId,
    kept: &BTreeSet<EdgeId>,
) -> Result<(), QueryError> {
    let combine = Config { keys: Vec::new(), rest: Rule::Combine, ..*config };
    let config = if config.of_properties { config } else { &combine };
    let mut groups: BTreeMap<_, Vec<EdgeId>> = BTreeMap::new();
    for edge in call.changes()?.relationships_at(node)? {
        if !kept.contains(&edge) {
            groups.entry((edge.ty, edge.src, edge.dst)).or_default().push(edge);
        }
    }
    for edges in groups.values() {
        merge_edges(call, config, edges)?;
    }
    Ok(())
}

/// Gives the first relationship the properties of the others, and deletes those.
fn merge_edges(
    call: &mut CallContext<'_>,
    config: &Config,
    edges: &[EdgeId],
) -> Result<(), QueryError> {
    let Some((first, others)) = edges.split_first() else { return Ok(()) };
    for edge in others {
        let properties = args::properties(call, &edge_value(*edge))?;
        call.changes()?.delete(&edge_value(*edge), false)?;
        config.merge_properties(call, &edge_value(*first), properties)?;
    }
    Ok(())
}

fn merge_relationships(
    call: &mut CallContext<'_>,
    arguments: &[Value],
) -> Result<Rows, QueryError> {
    let name = "apoc.refactor.mergeRelationships";
    let config = Config::new(name, &arguments[1])?;
    let mut seen = HashSet::new();
    let mut edges = args::edges(name, &arguments[0])?;
    edges.retain(|edge| seen.insert(*edge));
    for edge in &edges {
        args::check_exists(call, name, &edge_value(*edge))?;
    }
    let Some(first) = edges.first().copied() else { return Ok(Rows::new()) };
    if edges.iter().any(|edge| (edge.src, edge.dst) != (first.src, first.dst)) {
        let message = "all relationships must have the same start and end nodes";
        return Err(failed(name, message));
    }
    merge_edges(call, &config, &edges)?;
    Ok(rows_of([edge_value(first)]))
}

/// Replaces a relationship by another with its properties.
fn replace(
    call: &mut CallContext<'_>,
    name: &str,
    old: &Value,
    new: impl FnOnce(&EdgeId) -> (Option<Arc<str>>, VertexId, VertexId),
) -> Result<Rows, QueryError> {
    let Some(edge) = args::edges(name, old)?.first().copied() else { return Ok(Rows::new()) };
    args::check_exists(call, name, old)?;
    let (ty, from, to) = new(&edge);
    for end in [from, to] {
        args::check_exists(call, name, &Value::Vertex(end))?;
    }
    let ty = match ty {
        Some(ty) => ty,
        None => call.graph().edge_type_names()[usize::from(edge.ty.get())].as_str().into(),
    };
    let number = Value::Int(crate::result::number_of_edge(&edge));
    let properties = args::properties(call, old)?;
    let mut changes = call.changes()?;
    changes.delete(old, false)?;
    let made = changes.create_relationship(&ty, from, to, properties)?;
    Ok(vec![vec![number, edge_value(made), Value::Null]])
}
