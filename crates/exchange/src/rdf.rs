//! RDF as a property graph: Turtle and N-Triples.
//!
//! | RDF | graph |
//! |---|---|
//! | a subject, an object that is an IRI | a node `:Resource` with the property `uri` |
//! | a blank node | a node `:Resource` without `uri` |
//! | `rdf:type` | a label |
//! | another property with an IRI or blank node | a relationship |
//! | one with a literal | a property; with several literals a list |
//!
//! Names are what stands behind the last `#` or `/` of an IRI, or all of it. Literals of another
//! language are properties of their own: `label@en`.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{LiteralRef, NamedNodeRef, NamedOrBlankNodeRef, TermRef, Triple};
use oxttl::{NTriplesParser, TurtleParseError, TurtleParser};
use telar_db::Value;
use telar_db::import::UniqueKey;
use telar_db::query::QueryError;
use telar_files::ColumnType;

use crate::gather::{Gathered, Properties};
use crate::{Read, failed};

const LABEL: &str = "Resource";
const URI: &str = "uri";

/// Rule that makes names of labels, types and properties of IRIs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Iris {
    /// The part behind the last `#`, `/` or `:`.
    #[default]
    Local,
    /// All of it.
    Full,
}

/// A node as far as it has come.
#[derive(Default)]
struct Node {
    uri: Option<String>,
    labels: Vec<String>,
    properties: Vec<(Arc<str>, Vec<Value>)>,
}

struct Reader {
    place: String,
    iris: Iris,
    /// IRIs by the names that they got.
    names: HashMap<Arc<str>, String>,
    numbers: HashMap<String, u32>,
    nodes: Vec<Node>,
    /// Relationships without those that come twice: RDF is a set.
    edges: Vec<(Arc<str>, u32, u32)>,
    seen: HashSet<(Arc<str>, u32, u32)>,
}

/// Reads a file of Turtle, or of N-Triples if `ntriples` is true.
///
/// # Errors
/// If it is none, with line and column, or two IRIs would have the same name.
pub fn read(path: &Path, ntriples: bool, iris: Iris) -> Result<Read, QueryError> {
    let place = path.display().to_string();
    let file = File::open(path).map_err(|e| failed(&place, e))?;
    let text = telar_files::open_text(file).map_err(|e| failed(&place, e))?;
    let text = BufReader::with_capacity(1 << 16, text);
    let mut reader = Reader {
        place: place.clone(),
        iris,
        names: HashMap::from([(Arc::from(URI), String::new())]),
        numbers: HashMap::new(),
        nodes: Vec::new(),
        edges: Vec::new(),
        seen: HashSet::new(),
    };
    let wrong = |error: TurtleParseError| match error {
        TurtleParseError::Io(error) => failed(&place, error),
        TurtleParseError::Syntax(error) => {
            let at = error.location().start;
            failed(&format!("{place}:{}:{}", at.line + 1, at.column + 1), error.message())
        }
    };
    if ntriples {
        for triple in NTriplesParser::new().for_reader(text) {
            reader.triple(&triple.map_err(wrong)?)?;
        }
    } else {
        let whole = std::path::absolute(path).map_err(|e| failed(&place, e))?;
        let base = format!("file://{}", whole.display().to_string().replace(' ', "%20"));
        // A path that is no IRI is no base: then relative IRIs are errors.
        let parser = TurtleParser::new().with_base_iri(base);
        for triple in parser.unwrap_or_default().for_reader(text) {
            reader.triple(&triple.map_err(wrong)?)?;
        }
    }
    reader.finish()
}

impl Reader {
    /// The name of an IRI.
    fn name(&mut self, iri: NamedNodeRef<'_>) -> Result<Arc<str>, QueryError> {
        let text = iri.as_str();
        if self.iris == Iris::Full {
            return Ok(Arc::from(text));
        }
        let local = text.rsplit(['#', '/', ':']).next().unwrap_or_default();
        let name: Arc<str> = Arc::from(if local.is_empty() { text } else { local });
        match self.names.entry(Arc::clone(&name)) {
            Entry::Vacant(free) => _ = free.insert(text.to_owned()),
            Entry::Occupied(taken) if taken.get() == text => {}
            Entry::Occupied(taken) => {
                let other = match taken.get().as_str() {
                    "" => "the IRI of a node".to_owned(),
                    other => format!("<{other}>"),
                };
                let what = format!(
                    "{other} and <{text}> would both be called {name}: --iris full keeps IRIs \
                     as names"
                );
                return Err(failed(&self.place, what));
            }
        }
        Ok(name)
    }

    /// The number of a node, which is made when it is first named.
    fn node(&mut self, term: NamedOrBlankNodeRef<'_>) -> u32 {
        let (key, uri) = match term {
            NamedOrBlankNodeRef::NamedNode(iri) => {
                (iri.as_str().to_owned(), Some(iri.as_str().to_owned()))
            }
            NamedOrBlankNodeRef::BlankNode(blank) => (format!("_:{}", blank.as_str()), None),
        };
        let next = self.nodes.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.nodes.push(Node { uri, ..Node::default() });
            next
        })
    }

    fn triple(&mut self, triple: &Triple) -> Result<(), QueryError> {
        let subject = self.node(triple.subject.as_ref());
        let predicate = triple.predicate.as_ref();
        let object = match triple.object.as_ref() {
            TermRef::NamedNode(class) if predicate == rdf::TYPE => {
                let label = self.name(class)?.to_string();
                let labels = &mut self.nodes[subject as usize].labels;
                if !labels.contains(&label) {
                    labels.push(label);
                }
                return Ok(());
            }
            TermRef::Literal(literal) => {
                let mut name = self.name(predicate)?;
                if let Some(language) = literal.language() {
                    name = Arc::from(format!("{name}@{language}"));
                }
                let value = value(literal);
                let properties = &mut self.nodes[subject as usize].properties;
                match properties.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, values)) if values.contains(&value) => {}
                    Some((_, values)) => values.push(value),
                    None => properties.push((name, vec![value])),
                }
                return Ok(());
            }
            TermRef::NamedNode(iri) => self.node(iri.into()),
            TermRef::BlankNode(blank) => self.node(blank.into()),
            #[allow(unreachable_patterns, reason = "with a feature of oxrdf triples are terms")]
            _ => return Err(failed(&self.place, "a triple about a triple is not read")),
        };
        let edge = (self.name(predicate)?, subject, object);
        if self.seen.insert(edge.clone()) {
            self.edges.push(edge);
        }
        Ok(())
    }

    fn finish(self) -> Result<Read, QueryError> {
        let Self { place, nodes, edges, .. } = self;
        let mut graph = Gathered::new();
        for (number, node) in nodes.into_iter().enumerate() {
            let mut labels = node.labels;
            if !labels.iter().any(|label| label == LABEL) {
                labels.insert(0, LABEL.to_owned());
            }
            let mut properties: Properties = Vec::with_capacity(node.properties.len() + 1);
            properties.extend(node.uri.map(|uri| (Arc::from(URI), Value::from(uri))));
            properties.extend(node.properties.into_iter().map(|(name, mut values)| {
                match values.len() {
                    1 => (name, values.remove(0)),
                    _ => (name, Value::from(values)),
                }
            }));
            // Each has a number of its own.
            let _new = graph.node(&number.to_string(), &labels, properties);
        }
        for (ty, from, to) in edges {
            let (from, to) = (from.to_string(), to.to_string());
            graph.relationship(&ty, [&from, &to], Properties::new(), 0);
        }
        let mut import =
            graph.finish().map_err(|missing| failed(&place, format!("no node {}", missing.id)))?;
        import.unique.push(UniqueKey { label: LABEL.to_owned(), key: URI.to_owned() });
        Ok(Read { import, schema: Vec::new(), notes: Vec::new() })
    }
}

/// The value of a literal; one that is not what its type says is kept as text.
fn value(literal: LiteralRef<'_>) -> Value {
    let text = literal.value();
    let of = |ty: ColumnType| ty.value(text).ok();
    let float = || match text {
        "INF" | "+INF" => Some(Value::Float(f64::INFINITY)),
        "-INF" => Some(Value::Float(f64::NEG_INFINITY)),
        text => text.parse().ok().map(Value::Float),
    };
    let datatype = literal.datatype();
    let integers = [
        xsd::INTEGER,
        xsd::LONG,
        xsd::INT,
        xsd::SHORT,
        xsd::BYTE,
        xsd::NON_NEGATIVE_INTEGER,
        xsd::NON_POSITIVE_INTEGER,
        xsd::POSITIVE_INTEGER,
        xsd::NEGATIVE_INTEGER,
        xsd::UNSIGNED_LONG,
        xsd::UNSIGNED_INT,
        xsd::UNSIGNED_SHORT,
        xsd::UNSIGNED_BYTE,
    ];
    let read = if integers.contains(&datatype) {
        text.parse().ok().map(Value::Int)
    } else if [xsd::DECIMAL, xsd::DOUBLE, xsd::FLOAT].contains(&datatype) {
        float()
    } else if datatype == xsd::BOOLEAN {
        match text {
            "true" | "1" => Some(Value::Bool(true)),
            "false" | "0" => Some(Value::Bool(false)),
            _ => None,
        }
    } else if datatype == xsd::DATE {
        of(ColumnType::Date)
    } else if datatype == xsd::DATE_TIME {
        of(ColumnType::LocalDateTime).or_else(|| of(ColumnType::DateTime))
    } else if datatype == xsd::TIME {
        of(ColumnType::LocalTime).or_else(|| of(ColumnType::Time))
    } else if [xsd::DURATION, xsd::DAY_TIME_DURATION, xsd::YEAR_MONTH_DURATION].contains(&datatype)
    {
        of(ColumnType::Duration)
    } else {
        None
    };
    read.unwrap_or_else(|| Value::from(text))
}
