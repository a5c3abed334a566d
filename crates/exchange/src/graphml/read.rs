//! Reading GraphML.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use telar_db::Value;
use telar_db::query::QueryError;

use super::{labels_of, scalar};
use crate::gather::{Gathered, Properties};
use crate::xml::{Element, Item, Xml};
use crate::{Names, Read};

/// A key: what data mean.
struct Key {
    name: Arc<str>,
    /// Nodes, edges or both.
    node: bool,
    edge: bool,
    kind: Kind,
    /// The value of those that have no data.
    default: Option<Value>,
}

/// Types of data.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Bool,
    Int,
    Float,
    Text,
    /// JSON text of a list, as APOC writes them.
    List,
    /// One that GraphML has not.
    Own(String),
    /// Labels or type, in the form of APOC or TinkerPop.
    Names,
    /// Graphics of yEd, which are not read.
    Ignored,
}

/// Keys by whose id labels and types are known: those of APOC, of its form for Gephi, of TinkerPop.
const NODE_NAMES: [&str; 3] = ["labels", "TYPE", "labelV"];
const EDGE_NAMES: [&str; 3] = ["label", "TYPE", "labelE"];

/// Reads a file of GraphML.
///
/// # Errors
/// If it is none, or has nested graphs, ports or hyperedges, with the line.
pub fn read(path: &Path, names: &Names) -> Result<Read, QueryError> {
    let xml = Xml::open(path)?;
    let mut reader = Reader {
        xml,
        names,
        keys: HashMap::new(),
        graph: Gathered::new().with_whole("id"),
        nodes: 0,
        undirected: 0,
        labelled: false,
        directed: true,
    };
    reader.document()?;
    let Reader { xml, graph, nodes, undirected, labelled, .. } = reader;
    let import = graph.finish().map_err(|missing| {
        xml.failed_at(missing.at, format!("no node has the id \"{}\"", missing.id))
    })?;
    let mut notes = Vec::new();
    if undirected > 0 {
        let text = format!("{undirected} undirected edges are stored once, from source to target");
        notes.push(text);
    }
    if !labelled && nodes > 0 {
        let label = &names.label;
        notes.push(format!("nodes have no labels in the file, and became :{label} (--label)"));
    }
    Ok(Read { import, schema: Vec::new(), notes })
}

struct Reader<'n> {
    xml: Xml,
    names: &'n Names,
    keys: HashMap<String, Key>,
    graph: Gathered,
    /// Nodes so far.
    nodes: u64,
    /// Edges without a direction so far.
    undirected: u64,
    /// True if the file says labels of nodes.
    labelled: bool,
    directed: bool,
}

/// Data of a node or an edge.
#[derive(Default)]
struct Data {
    properties: Properties,
    names: Option<String>,
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), QueryError> {
        match self.xml.next()? {
            Item::Open(element) if element.name == "graphml" => {}
            _ => return Err(self.xml.failed("this is no GraphML: it does not begin with graphml")),
        }
        loop {
            match self.xml.next()? {
                Item::Open(element) => match element.name.as_str() {
                    "key" => self.key(&element)?,
                    "graph" => self.graph(&element)?,
                    _ => self.xml.skip()?,
                },
                Item::Close(..) => {}
                Item::End => return Ok(()),
            }
        }
    }

    fn key(&mut self, element: &Element) -> Result<(), QueryError> {
        let Some(id) = element.get("id") else {
            return Err(self.xml.failed("a key has no id"));
        };
        let (id, of) = (id.to_owned(), element.get("for").unwrap_or("all"));
        let is_names = (of == "node" && NODE_NAMES.contains(&id.as_str()))
            || (of == "edge" && EDGE_NAMES.contains(&id.as_str()));
        let list = element.get("attr.list").is_some();
        let kind = match (element.get("telar.type"), element.get("attr.type")) {
            _ if is_names => Kind::Names,
            _ if element.get("yfiles.type").is_some() => Kind::Ignored,
            (Some(own), _) => Kind::Own(own.to_owned()),
            _ if list => Kind::List,
            (None, Some("boolean")) => Kind::Bool,
            (None, Some("int" | "integer" | "long" | "short" | "byte")) => Kind::Int,
            (None, Some("float" | "double")) => Kind::Float,
            (None, Some("string" | "char") | None) => Kind::Text,
            (None, Some(other)) => {
                return Err(self.xml.failed(format!(
                    "key {id} has the unknown type {other}; known are boolean, int, long, float, \
                     double, string"
                )));
            }
        };
        if is_names && of == "node" {
            self.labelled = true;
        }
        let name = element.get("attr.name").unwrap_or(&id).into();
        let (node, edge) = (matches!(of, "node" | "all"), matches!(of, "edge" | "all"));
        let mut key = Key { name, node, edge, kind, default: None };
        loop {
            match self.xml.next()? {
                Item::Open(inner) if inner.name == "default" => {
                    let text = self.xml.rest()?;
                    if !matches!(key.kind, Kind::Names | Kind::Ignored) {
                        let value = value(&key.kind, &text);
                        key.default =
                            Some(value.map_err(|e| {
                                self.xml.failed(format!("default of key {id}: {e}"))
                            })?);
                    }
                }
                Item::Open(_) => self.xml.skip()?,
                _ => break,
            }
        }
        self.keys.insert(id, key);
        Ok(())
    }

    fn graph(&mut self, element: &Element) -> Result<(), QueryError> {
        self.directed = element.get("edgedefault") != Some("undirected");
        loop {
            match self.xml.next()? {
                Item::Open(element) => match element.name.as_str() {
                    "node" => self.node(&element)?,
                    "edge" => self.edge(&element)?,
                    "hyperedge" => {
                        return Err(self.xml.failed(
                            "a hyperedge joins more than two nodes, which no relationship does",
                        ));
                    }
                    _ => self.xml.skip()?,
                },
                Item::Close(..) => return Ok(()),
                Item::End => return Err(self.xml.failed("the file ends within the graph")),
            }
        }
    }

    /// The data of an element up to its end.
    fn data(&mut self, is_node: bool) -> Result<Data, QueryError> {
        let mut data = Data::default();
        for key in self.keys.values().filter(|key| if is_node { key.node } else { key.edge }) {
            if let Some(value) = &key.default {
                data.properties.push((Arc::clone(&key.name), value.clone()));
            }
        }
        loop {
            let element = match self.xml.next()? {
                Item::Open(element) => element,
                Item::Close(..) => return Ok(data),
                Item::End => return Err(self.xml.failed("the file ends within the graph")),
            };
            match element.name.as_str() {
                "data" => {}
                "graph" => {
                    return Err(self.xml.failed(
                        "a node holds a graph: nested graphs are not read; flatten it first",
                    ));
                }
                "port" => return Err(self.xml.failed("nodes with ports are not read")),
                _ => {
                    self.xml.skip()?;
                    continue;
                }
            }
            let id = element.get("key").unwrap_or_default().to_owned();
            let text = self.xml.rest()?;
            let Some(key) = self.keys.get(&id) else {
                return Err(self.xml.failed(format!("no key is declared with the id \"{id}\"")));
            };
            match key.kind {
                Kind::Ignored => {}
                // TinkerPop's several labels, and APOC's in that form.
                Kind::Names if id == "labelV" && text.contains(':') => {
                    data.names = Some(format!(":{}", text.replace("::", ":")));
                }
                Kind::Names => data.names = Some(text),
                _ => {
                    let value = value(&key.kind, &text);
                    let value = value.map_err(|e| self.xml.failed(format!("{}: {e}", key.name)))?;
                    data.properties.push((Arc::clone(&key.name), value));
                }
            }
        }
    }

    fn node(&mut self, element: &Element) -> Result<(), QueryError> {
        let id = self.xml.id(element)?;
        let Data { mut properties, names } = self.data(true)?;
        let names = element.get("labels").map(str::to_owned).or(names);
        self.labelled |= names.is_some();
        let labels = match (names, self.labelled) {
            (Some(names), _) => labels_of(&names),
            (None, true) => Vec::new(),
            (None, false) => {
                // The id is what the program calls the node.
                if !properties.iter().any(|(name, _)| **name == *"id") {
                    properties.push((Arc::from("id"), Value::from(id)));
                }
                vec![self.names.label.clone()]
            }
        };
        self.nodes += 1;
        self.xml.add_node(&mut self.graph, id, (&labels, properties))
    }

    fn edge(&mut self, element: &Element) -> Result<(), QueryError> {
        let at = self.xml.position();
        let [source, target] = self.xml.ends(element)?;
        let Data { properties, names } = self.data(false)?;
        let ty = element.get("label").map(str::to_owned).or(names);
        let ty = ty.as_deref().filter(|ty| !ty.is_empty()).unwrap_or(&self.names.ty);
        let directed = element.get("directed").map_or(self.directed, |said| said == "true");
        self.undirected += u64::from(!directed);
        self.graph.relationship(ty, [source, target], properties, at);
        Ok(())
    }
}

/// The value of a text.
fn value(kind: &Kind, text: &str) -> Result<Value, String> {
    let trimmed = text.trim();
    Ok(match kind {
        Kind::Bool => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" => Value::Bool(true),
            "false" | "0" => Value::Bool(false),
            _ => return Err(format!("\"{trimmed}\" is neither true nor false")),
        },
        Kind::Int => Value::Int(
            trimmed.parse().map_err(|_| format!("\"{trimmed}\" is no whole number of 64 bits"))?,
        ),
        Kind::Float => float(trimmed).ok_or_else(|| format!("\"{trimmed}\" is no number"))?,
        Kind::List => scalar_list(trimmed)?,
        Kind::Own(name) => scalar(name, text)?,
        Kind::Text | Kind::Names | Kind::Ignored => Value::from(text),
    })
}

fn float(text: &str) -> Option<Value> {
    // What Java, Python and XML Schema write.
    let text = match text {
        "INF" | "+INF" | "Infinity" => "inf",
        "-INF" | "-Infinity" => "-inf",
        other => other,
    };
    text.parse().ok().map(Value::Float)
}

fn scalar_list(text: &str) -> Result<Value, String> {
    telar_db::json::read_value(telar_db::json::Notation::Plain, text.as_bytes())
        .map_err(|e| format!("no list in JSON: {e}"))
}
