//! GEXF, the format of Gephi: nodes, edges and their attributes, as XML.
//!
//! The label of a node is what Gephi shows, and becomes the property `label`. Positions, colours
//! and the times at which something is there are not read.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use telar_db::Value;
use telar_db::query::QueryError;

use crate::gather::{Gathered, Properties};
use crate::xml::{Element, Item, Xml};
use crate::{Names, Read};

/// An attribute of nodes or edges.
struct Attribute {
    title: Arc<str>,
    ty: String,
    default: Option<Value>,
}

#[derive(Default)]
struct Attributes(HashMap<String, Attribute>);

struct Reader<'n> {
    xml: Xml,
    names: &'n Names,
    /// Attributes of nodes, then those of edges.
    attributes: [Attributes; 2],
    graph: Gathered,
    directed: bool,
    undirected: u64,
    skipped: bool,
}

/// Reads a file of GEXF.
///
/// # Errors
/// If it is none, or nodes are nested, with the line.
pub fn read(path: &Path, names: &Names) -> Result<Read, QueryError> {
    let mut reader = Reader {
        xml: Xml::open(path)?,
        names,
        attributes: Default::default(),
        graph: Gathered::new().with_whole("id"),
        directed: false,
        undirected: 0,
        skipped: false,
    };
    reader.document()?;
    let Reader { xml, graph, undirected, skipped, .. } = reader;
    let import = graph.finish().map_err(|missing| {
        xml.failed_at(missing.at, format!("no node has the id \"{}\"", missing.id))
    })?;
    let mut notes = Vec::new();
    if undirected > 0 {
        let text = format!("{undirected} undirected edges are stored once, from source to target");
        notes.push(text);
    }
    if skipped {
        notes.push("positions, colours, sizes and times of presence were not read".to_owned());
    }
    Ok(Read { import, schema: Vec::new(), notes })
}

impl Reader<'_> {
    fn document(&mut self) -> Result<(), QueryError> {
        match self.xml.next()? {
            Item::Open(element) if element.name == "gexf" => {}
            _ => return Err(self.xml.failed("this is no GEXF: it does not begin with gexf")),
        }
        loop {
            let element = match self.xml.next()? {
                Item::Open(element) => element,
                Item::Close(..) => continue,
                Item::End => return Ok(()),
            };
            match element.name.as_str() {
                "graph" => self.directed = element.get("defaultedgetype") == Some("directed"),
                "attributes" => self.attributes(&element)?,
                "node" => self.node(&element)?,
                "edge" => self.edge(&element)?,
                "nodes" | "edges" => {}
                _ => self.xml.skip()?,
            }
        }
    }

    fn attributes(&mut self, element: &Element) -> Result<(), QueryError> {
        let of = usize::from(element.get("class") == Some("edge"));
        loop {
            let element = match self.xml.next()? {
                Item::Open(element) if element.name == "attribute" => element,
                Item::Open(_) => {
                    self.xml.skip()?;
                    continue;
                }
                _ => return Ok(()),
            };
            let id = element.get("id").unwrap_or_default().to_owned();
            let title = Arc::from(element.get("title").unwrap_or(&id));
            let ty = element.get("type").unwrap_or("string").to_ascii_lowercase();
            let mut attribute = Attribute { title, ty, default: None };
            loop {
                match self.xml.next()? {
                    Item::Open(inner) if inner.name == "default" => {
                        let text = self.xml.rest()?;
                        let value = value(&attribute.ty, &text);
                        attribute.default = Some(value.map_err(|e| self.xml.failed(e))?);
                    }
                    Item::Open(_) => self.xml.skip()?,
                    _ => break,
                }
            }
            self.attributes[of].0.insert(id, attribute);
        }
    }

    /// The values of a node or edge up to its end.
    fn values(&mut self, of: usize) -> Result<Properties, QueryError> {
        let defaults = self.attributes[of].0.values();
        let mut properties: Properties = defaults
            .filter_map(|own| Some((Arc::clone(&own.title), own.default.clone()?)))
            .collect();
        let mut depth = 1;
        while depth > 0 {
            let element = match self.xml.next()? {
                Item::Open(element) => element,
                Item::Close(..) => {
                    depth -= 1;
                    continue;
                }
                Item::End => return Err(self.xml.failed("the file ends within the graph")),
            };
            match element.name.as_str() {
                "attvalues" => depth += 1,
                "attvalue" => {
                    let id = element.get("for").or(element.get("id")).unwrap_or_default();
                    let Some(own) = self.attributes[of].0.get(id) else {
                        return Err(self.xml.failed(format!("there is no attribute \"{id}\"")));
                    };
                    let text = element.get("value").unwrap_or_default();
                    let value = value(&own.ty, text)
                        .map_err(|e| self.xml.failed(format!("{}: {e}", own.title)))?;
                    properties.push((Arc::clone(&own.title), value));
                    self.xml.skip()?;
                }
                "nodes" | "edges" => {
                    return Err(self.xml.failed(
                        "a node holds nodes: nested graphs are not read; flatten it first",
                    ));
                }
                _ => {
                    self.skipped = true;
                    self.xml.skip()?;
                }
            }
        }
        Ok(properties)
    }

    fn node(&mut self, element: &Element) -> Result<(), QueryError> {
        let id = self.xml.id(element)?;
        if element.get("pid").is_some() {
            return Err(self.xml.failed("a node lies in another: nested graphs are not read"));
        }
        let mut own: Properties = vec![(Arc::from("id"), Value::from(id))];
        if let Some(label) = element.get("label") {
            own.push((Arc::from("label"), Value::from(label)));
        }
        own.extend(self.values(0)?);
        let labels = std::slice::from_ref(&self.names.label);
        self.xml.add_node(&mut self.graph, id, (labels, own))
    }

    fn edge(&mut self, element: &Element) -> Result<(), QueryError> {
        let at = self.xml.position();
        let [source, target] = self.xml.ends(element)?;
        let mut own = Properties::new();
        if let Some(label) = element.get("label") {
            own.push((Arc::from("label"), Value::from(label)));
        }
        if let Some(weight) = element.get("weight") {
            let value = value("double", weight).map_err(|e| self.xml.failed(e))?;
            own.push((Arc::from("weight"), value));
        }
        own.extend(self.values(1)?);
        let ty = element.get("kind").filter(|kind| !kind.is_empty()).unwrap_or(&self.names.ty);
        match element.get("type") {
            // Both ways.
            Some("mutual") => {
                self.graph.relationship(ty, [target, source], own.clone(), at);
            }
            Some("directed") => {}
            None if self.directed => {}
            _ => self.undirected += 1,
        }
        self.graph.relationship(ty, [source, target], own, at);
        Ok(())
    }
}

/// The value of a text of a type of GEXF.
fn value(ty: &str, text: &str) -> Result<Value, String> {
    if let Some(of) = ty.strip_prefix("list").filter(|of| !of.starts_with("list")) {
        let inner = text.trim();
        let inner = inner.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(inner);
        let by = [',', '|', ';'].into_iter().find(|by| inner.contains(*by)).unwrap_or(',');
        let items = inner.split(by).map(str::trim).filter(|item| !item.is_empty());
        let items = items.map(|item| value(of, item.trim_matches('"')));
        return Ok(Value::from(items.collect::<Result<Vec<_>, _>>()?));
    }
    let trimmed = text.trim();
    Ok(match ty {
        "integer" | "long" | "int" | "short" | "byte" | "biginteger" => Value::Int(
            trimmed.parse().map_err(|_| format!("\"{trimmed}\" is no whole number of 64 bits"))?,
        ),
        "double" | "float" | "bigdecimal" => match trimmed {
            "INF" | "Infinity" => Value::Float(f64::INFINITY),
            "-INF" | "-Infinity" => Value::Float(f64::NEG_INFINITY),
            text => Value::Float(text.parse().map_err(|_| format!("\"{text}\" is no number"))?),
        },
        "boolean" => match trimmed.to_ascii_lowercase().as_str() {
            "true" | "1" => Value::Bool(true),
            "false" | "0" => Value::Bool(false),
            _ => return Err(format!("\"{trimmed}\" is neither true nor false")),
        },
        _ => Value::from(text),
    })
}
