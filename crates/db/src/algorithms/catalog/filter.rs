//! Graphs that are parts of others: `gds.graph.filter(name, from, nodeFilter, relationshipFilter)`.
//!
//! A part is fixed: it holds the nodes and relationships for which the filters are true now. What
//! filters read is what the graph shows: values that it holds, or else the database's.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Column, LabelId, Lists, Value, ValueMap, VertexId};
use telar_query::cypher::suggest::closest;
use telar_query::procedure::known;
use telar_query::{CallContext, Predicate, QueryError, Read};

use super::describe::projected;
use super::filter_relationships::relationships;
use super::node_properties::values;
use super::{Adding, Catalog, configuration, settings, text};
use crate::algorithms::config::wrong;
use crate::algorithms::function::Called;
use crate::algorithms::held::{Held, HeldNodes};
use crate::algorithms::output::count;
use crate::algorithms::projection::{Source, choose};
use crate::algorithms::selection::Selection;

/// Objects that a filter is tested on at once.
pub(super) const BATCH: usize = 4096;

pub(super) fn add(adding: &mut Adding<'_>) {
    let arguments = [
        ("graphName", "STRING"),
        ("fromGraphName", "STRING"),
        ("nodeFilter", "STRING"),
        ("relationshipFilter", "STRING"),
    ];
    let columns = [
        ("graphName", "STRING"),
        ("fromGraphName", "STRING"),
        ("nodeFilter", "STRING"),
        ("relationshipFilter", "STRING"),
        ("nodeCount", "INTEGER"),
        ("relationshipCount", "INTEGER"),
        ("projectMillis", "INTEGER"),
    ];
    // The second is the name that the first one had before.
    for name in ["gds.graph.filter", "gds.beta.graph.project.subgraph"] {
        let about = "Names a graph of the nodes and relationships of another that filters leave.";
        adding.add(name, (&arguments, vec![configuration()]), &columns, about, filter);
    }
}

const OF: &str = "gds.graph.filter";

/// A filter and the parameters of its call.
pub(super) struct Filter<'a, 'c> {
    pub(super) call: &'a CallContext<'c>,
    /// Nothing, if everything stays.
    pub(super) predicate: Option<Predicate>,
    pub(super) parameters: &'a ValueMap,
    /// Name of the argument.
    what: &'static str,
}

impl Filter<'_, '_> {
    /// Numbers of the objects that stay, of which `column` returns what the filter reads.
    pub(super) fn test(
        &self,
        rows: usize,
        column: &mut dyn FnMut(&Read) -> Result<Column, QueryError>,
    ) -> Result<Vec<u32>, QueryError> {
        self.call.check()?;
        let Some(predicate) = &self.predicate else { return Ok((0..rows as u32).collect()) };
        let columns = predicate.reads().map(column).collect::<Result<_, _>>();
        let columns: Vec<Column> = columns.map_err(|error| self.named(error))?;
        let tested = predicate.test(self.call, self.parameters, (rows, columns));
        tested.map_err(|error| self.named(error))
    }

    /// Properties that it reads.
    pub(super) fn properties(&self) -> impl Iterator<Item = &Arc<str>> {
        self.predicate.iter().flat_map(Predicate::reads).filter_map(|read| match read {
            Read::Property(name) => Some(name),
            Read::Label(_) | Read::AnyLabel => None,
        })
    }

    /// Labels or types that it names.
    pub(super) fn labels(&self) -> impl Iterator<Item = &Arc<str>> {
        self.predicate.iter().flat_map(Predicate::reads).filter_map(|read| match read {
            Read::Label(name) => Some(name),
            Read::Property(_) | Read::AnyLabel => None,
        })
    }

    pub(super) fn named(&self, error: QueryError) -> QueryError {
        error.within(&format!("{} of {OF}", self.what))
    }

    /// Error about a name in it that the graph does not have.
    pub(super) fn unknown<'n>(
        &self,
        kind: &str,
        name: &str,
        known: impl IntoIterator<Item = &'n str>,
    ) -> QueryError {
        let near = closest(name, known);
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        self.named(wrong(format!("the graph has no {kind} {name}{hint}")))
    }
}

fn filter(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let begun = Instant::now();
    let [Value::String(name), from, nodes, relationships_of, ..] = arguments else {
        return Err(wrong(format!("{OF} takes two names and two filters")));
    };
    if name.trim().is_empty() {
        return Err(wrong(format!("the name of the graph of {OF} is empty")));
    }
    let config = settings(OF, arguments.get(4), &["parameters"])?;
    let empty = ValueMap::new();
    let parameters = match &config {
        Some(config) => config.entries("parameters")?.unwrap_or(&empty),
        None => &empty,
    };
    let graph = catalog.find(text(from))?;
    catalog.check_free(name)?;
    let held = {
        let call = &*call;
        let of = |what, variable, filter: &Value| {
            let filter = text(filter).trim();
            let predicate = match filter {
                "*" => None,
                _ => Some(Predicate::prepare(filter, variable, call.graph(), call.procedures())),
            };
            let filter = Filter { call, predicate: None, parameters, what };
            match predicate.transpose() {
                Ok(predicate) => Ok(Filter { predicate, ..filter }),
                Err(error) => Err(filter.named(error)),
            }
        };
        let of_nodes = of("nodeFilter", "n", nodes)?;
        let of_relationships = of("relationshipFilter", "r", relationships_of)?;
        let nodes = filtered_nodes(&graph.selection, &of_nodes)?;
        let types = relationships(&graph.selection, &nodes.ids, &of_relationships)?;
        let held = &graph.selection.held;
        Held {
            nodes: Some(Arc::new(nodes)),
            alone: true,
            types: types.into_iter().map(Arc::new).collect(),
            values: held.values.clone(),
            renamed: held.renamed.clone(),
        }
    };
    let selection = Selection { held, ..Selection::default() };
    let (row, _) = projected(name, &selection, call)?;
    catalog.insert(name, selection, call)?;
    let counts = [row[1].clone(), row[2].clone(), count(begun.elapsed().as_millis() as u64)];
    let row = arguments[..4].iter().cloned().chain(counts).collect();
    Ok(known(vec![row]))
}

/// The nodes that stay, with their labels.
fn filtered_nodes(selection: &Selection, filter: &Filter<'_, '_>) -> Result<HeldNodes, QueryError> {
    let call = filter.call;
    let check = || call.check();
    let nodes = choose(&Source::of_call(call, &check), selection, false)?.nodes();
    let labels = Labels::of(selection, filter)?;
    call.room(nodes.len() * 4 * size_of::<VertexId>(), OF)?;
    let mut found = HeldNodes::default();
    for some in nodes.chunks(BATCH) {
        let of_nodes = labels.of_nodes(some, call)?;
        let stay = filter.test(some.len(), &mut |read| match read {
            Read::Property(name) => values(name, (selection, some), call, OF),
            Read::Label(name) => {
                let has = |labels: &Vec<Arc<str>>| labels.contains(name);
                Ok(of_nodes.iter().map(has).collect::<Vec<bool>>().into())
            }
            Read::AnyLabel => {
                let has = |labels: &Vec<Arc<str>>| !labels.is_empty();
                Ok(of_nodes.iter().map(has).collect::<Vec<bool>>().into())
            }
        })?;
        for at in stay {
            let node = some[at as usize];
            found.ids.push(node);
            for label in &of_nodes[at as usize] {
                found.labels.entry(Arc::clone(label)).or_default().push(node);
            }
        }
    }
    Ok(found)
}

/// Labels that the nodes of a graph can have.
enum Labels<'a> {
    /// Labels that the graph holds.
    Held(&'a BTreeMap<Arc<str>, Vec<VertexId>>),
    /// Labels of the database, by number; `None` for one that the graph does not have.
    Stored(Vec<Option<Arc<str>>>),
}

impl<'a> Labels<'a> {
    fn of(selection: &'a Selection, filter: &Filter<'_, '_>) -> Result<Self, QueryError> {
        let labels = match &selection.held.nodes {
            Some(nodes) => Self::Held(&nodes.labels),
            None => {
                let names = filter.call.graph().label_names();
                let is_chosen = |name: &str| {
                    let mut chosen = selection.labels.iter();
                    !name.is_empty()
                        && (selection.labels.is_empty() || chosen.any(|label| **label == *name))
                };
                let names = names.iter().map(|name| is_chosen(name).then(|| name.as_str().into()));
                Self::Stored(names.collect())
            }
        };
        let known: Vec<&str> = match &labels {
            Self::Held(labels) => labels.keys().map(|name| &**name).collect(),
            Self::Stored(names) => names.iter().flatten().map(|name| &**name).collect(),
        };
        match filter.labels().find(|name| !known.contains(&&***name)) {
            Some(name) => Err(filter.unknown("label", name, known)),
            None => Ok(labels),
        }
    }

    /// Labels of each node.
    fn of_nodes(
        &self,
        nodes: &[VertexId],
        call: &CallContext<'_>,
    ) -> Result<Vec<Vec<Arc<str>>>, QueryError> {
        match self {
            Self::Held(labels) => {
                let of = |node: &VertexId| {
                    let has = labels.iter().filter(|(_, nodes)| nodes.binary_search(node).is_ok());
                    has.map(|(name, _)| Arc::clone(name)).collect()
                };
                Ok(nodes.iter().map(of).collect())
            }
            Self::Stored(names) => {
                let mut lists = Lists::<LabelId>::default();
                call.graph().labels(nodes, &mut lists)?;
                let name = |label: &LabelId| names.get(label.get() as usize)?.clone();
                let of = |at: usize| {
                    let (from, to) = (lists.offsets[at] as usize, lists.offsets[at + 1] as usize);
                    lists.items[from..to].iter().filter_map(name).collect()
                };
                Ok((0..nodes.len()).map(of).collect())
            }
        }
    }
}
