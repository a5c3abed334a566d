//! `db.index.fulltext.*`: hits of a query in a full-text index, with their scores.
//!
//! Postings come from the index as it is at the statement's snapshot. Where the index cannot be
//! read at it (the index is younger than the snapshot, is being built, or is made in the same
//! transaction), the objects are read instead, and the same is found.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::value::heap_bytes_of;
use telar_graph::view::IndexedObject;
use telar_graph::{
    Column, EdgeTypeId, IndexKind, LabelId, PropertyKeyId, ReadError, SchemaRule, Value,
};
use telar_text::key::{self, Entry};
use telar_text::score::Totals;
use telar_text::search::{self, Failure, Source};
use telar_text::{Analyzer, query};

use super::index_query::{self, Hits};
use super::objects::{can_be_scanned, for_each_edges, for_each_vertices};
use super::rows::RowSource;
use super::show::Shown;
use super::{CallContext, Field, Procedure, Procedures, Rows};
use crate::error::describe;
use crate::query_error::{ErrorKind, QueryError};
use crate::schema::analyzer;

/// Entries between two questions whether to go on.
const STEP: u32 = 1024;

/// Who asks for memory.
const WHO: &str = "full-text search";

pub(super) fn add(procedures: &mut Procedures) {
    procedures.add("db.index.fulltext.queryNodes", Arc::new(QueryIndex::new(true)));
    procedures.add("db.index.fulltext.queryRelationships", Arc::new(QueryIndex::new(false)));
    let columns =
        [("analyzer", "STRING"), ("description", "STRING"), ("stopwords", "LIST<STRING>")];
    let list = |_: &CallContext<'_>, _: &[Value]| {
        let row = |known: &telar_text::analyzer::Description| {
            let words = Value::list(known.stop_words().iter().copied());
            vec![known.name.into(), known.text.into(), words]
        };
        Ok::<Rows, QueryError>(telar_text::analyzer::ALL.iter().map(row).collect())
    };
    let shown = Shown::new("Every analyzer of full-text indexes.", Vec::new(), &columns, list);
    procedures.add("db.index.fulltext.listAvailableAnalyzers", Arc::new(shown));
    let shown = Shown::new(
        "Returns at once: every full-text index has every commit.",
        Vec::new(),
        &[],
        |_, _| Ok(Rows::new()),
    );
    procedures.add("db.index.fulltext.awaitEventuallyConsistentIndexRefresh", Arc::new(shown));
}

/// `db.index.fulltext.queryNodes`, or of relationships.
struct QueryIndex {
    nodes: bool,
    arguments: [Field; 3],
    columns: [Field; 2],
}

impl QueryIndex {
    fn new(nodes: bool) -> Self {
        Self {
            nodes,
            arguments: [
                Field::new("indexName", "STRING"),
                Field::new("queryString", "STRING"),
                Field::new("options", "MAP").or(Value::map::<&str, Value>([])),
            ],
            columns: index_query::columns(nodes),
        }
    }

    fn name(&self) -> &'static str {
        match self.nodes {
            true => "db.index.fulltext.queryNodes",
            false => "db.index.fulltext.queryRelationships",
        }
    }

    fn fails<T>(&self, why: &str) -> Result<T, QueryError> {
        index_query::fails(self.name(), why)
    }
}

/// The third argument.
#[derive(Debug, Default)]
struct Options {
    skip: usize,
    limit: Option<usize>,
    analyzer: Option<Analyzer>,
}

impl Options {
    fn of(value: &Value) -> Result<Self, QueryError> {
        let mut options = Self::default();
        let map = match value {
            Value::Map(map) => map,
            Value::Null => return Ok(options),
            other => return invalid(format!("the options are a MAP, not {}", describe(other))),
        };
        for (key, value) in map.iter() {
            let count = || match value {
                Value::Int(n) if *n >= 0 => Ok(usize::try_from(*n).unwrap_or(usize::MAX)),
                // Every number of a client in JavaScript is one.
                Value::Float(n) if *n >= 0.0 && n.fract() == 0.0 => Ok(*n as usize),
                other => invalid(format!(
                    "the option `{key}` cannot be {}: it is an INTEGER, 0 or more",
                    describe(other)
                )),
            };
            match (&**key, value) {
                (_, Value::Null) => {}
                ("skip", _) => options.skip = count()?,
                ("limit", _) => options.limit = Some(count()?),
                ("analyzer", Value::String(name)) => options.analyzer = Some(analyzer(name)?),
                ("analyzer", other) => {
                    return invalid(format!(
                        "the option `analyzer` cannot be {}: it is a STRING",
                        describe(other)
                    ));
                }
                _ => {
                    return invalid(format!(
                        "there is no option `{key}`: there are skip, limit, analyzer"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn invalid<T>(message: String) -> Result<T, QueryError> {
    Err(QueryError::runtime(ErrorKind::InvalidArguments, "InvalidArgumentValue", message))
}

fn text<'v>(value: &'v Value, what: &str) -> Result<&'v str, QueryError> {
    match value {
        Value::String(text) => Ok(text),
        other => invalid(format!("the {what} is a STRING, not {}", describe(other))),
    }
}

impl Procedure for QueryIndex {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        match self.nodes {
            true => "The nodes that a full-text index finds for a query in Lucene's syntax.",
            false => "The relationships that a full-text index finds for a query.",
        }
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let name = text(&arguments[0], "name of the index")?;
        let sought = text(&arguments[1], "query")?;
        let options = arguments.get(2).map_or_else(|| Ok(Options::default()), Options::of)?;
        let asked = (self.name(), self.nodes);
        let parts = index_query::index(call, asked, IndexKind::Fulltext, name)?;
        let clause = match query::parse(sought) {
            Ok(clause) => clause,
            Err(error) => {
                let why = format!(
                    "org.apache.lucene.queryparser.classic.ParseException: Cannot parse \
                     '{sought}': {error}."
                );
                return self.fails(&why);
            }
        };
        let names = call.graph().property_key_names();
        let of = |key: &PropertyKeyId| names.get(usize::from(key.get())).map_or("", String::as_str);
        let fields: Vec<&str> = parts[0].properties.iter().map(of).collect();
        let indexed =
            parts[0].options.as_ref().and_then(|o| Analyzer::named(&o.fulltext()?.analyzer));
        let indexed = indexed.unwrap_or_default();
        let analyzer = options.analyzer.unwrap_or(indexed);
        let mut read = Read { call, parts: &parts, indexed, scanned: None, since: 0 };
        read.prepare()?;
        let most = options.limit.map_or(usize::MAX, |limit| limit.saturating_add(options.skip));
        let found = search::search(&mut read, &fields, analyzer, &clause, most);
        let mut hits = match found {
            Ok(hits) => hits,
            Err(Failure::Source(error)) => return Err(error),
            Err(Failure::Query(why)) => return self.fails(&why),
        };
        hits.drain(..options.skip.min(hits.len()));
        Ok(Box::new(Hits::new(hits)))
    }
}

/// Keys with their objects, of indexes that cannot be read.
type Scanned = BTreeMap<Vec<u8>, Vec<IndexedObject>>;

/// An index at the statement's snapshot.
struct Read<'c, 's> {
    call: &'c CallContext<'s>,
    parts: &'c [SchemaRule],
    /// The analyzer of the index.
    indexed: Analyzer,
    /// Made when it turns out that a part cannot be read.
    scanned: Option<Scanned>,
    /// Entries since the last look whether to go on.
    since: u32,
}

impl Read<'_, '_> {
    /// Entries of all parts in the index itself.
    fn indexed_entries(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, IndexedObject),
    ) -> Result<Result<(), ReadError>, QueryError> {
        let (call, since) = (self.call, &mut self.since);
        for part in self.parts {
            let mut stopped = Ok(());
            let read = call.graph().fulltext_entries(part.id, from..to, &mut |key, object| {
                *since += 1;
                if *since >= STEP {
                    *since = 0;
                    stopped = call.check();
                }
                if let Some(entry) = Entry::decode(key) {
                    f(entry, object);
                }
                match stopped {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            stopped?;
            if read.is_err() {
                return Ok(read);
            }
        }
        Ok(Ok(()))
    }

    /// The keys of all objects of the index, made of their properties.
    fn scan(&self) -> Result<Scanned, QueryError> {
        let mut scanned = Scanned::new();
        let mut seen = Vec::new();
        for part in self.parts {
            match part.objects {
                IndexedObjects::Vertices(label) => {
                    self.scan_vertices(label, &seen, part, &mut scanned)?;
                    seen.push(label);
                }
                IndexedObjects::Edges(ty) => self.scan_edges(ty, part, &mut scanned)?,
            }
        }
        Ok(scanned)
    }

    fn scan_vertices(
        &self,
        label: LabelId,
        except: &[LabelId],
        part: &SchemaRule,
        scanned: &mut Scanned,
    ) -> Result<(), QueryError> {
        let graph = self.call.graph();
        let mut has = Vec::new();
        for_each_vertices(self.call, label, |found| {
            for other in except {
                has.clear();
                graph.have_label(found, *other, &mut has)?;
                let mut has = has.iter();
                found.retain(|_| !has.next().copied().unwrap_or(false));
            }
            for (field, property) in part.properties.iter().enumerate() {
                let mut values = Column::default();
                graph.vertex_properties(found, *property, &mut values)?;
                for (row, vertex) in found.iter().enumerate() {
                    let object = IndexedObject::Vertex(*vertex);
                    self.take(field as u8, &values.get(row), object, scanned)?;
                }
            }
            Ok(())
        })
    }

    fn scan_edges(
        &self,
        ty: EdgeTypeId,
        part: &SchemaRule,
        scanned: &mut Scanned,
    ) -> Result<(), QueryError> {
        for_each_edges(self.call, ty, |edges| {
            for (field, property) in part.properties.iter().enumerate() {
                let mut values = Column::default();
                self.call.graph().edge_properties(edges, *property, &mut values)?;
                for (row, edge) in edges.iter().enumerate() {
                    let object = IndexedObject::Edge(*edge);
                    self.take(field as u8, &values.get(row), object, scanned)?;
                }
            }
            Ok(())
        })
    }

    fn take(
        &self,
        field: u8,
        value: &Value,
        object: IndexedObject,
        scanned: &mut Scanned,
    ) -> Result<(), QueryError> {
        let Some(texts) = texts_of(value) else { return Ok(()) };
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        key::for_each_key(self.indexed, field, &texts, |key| {
            scanned.entry(key.to_vec()).or_default().push(object);
        });
        // Keys and places of a map, about twice the text of short words.
        self.call.room(4 * heap_bytes_of(std::slice::from_ref(value)), WHO)
    }
}

/// The strings of a value: itself, or those of a list that has nothing else.
fn texts_of(value: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.to_string()),
        _ => None,
    };
    match value {
        Value::List(list) if !list.is_empty() => list.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}

impl Source for Read<'_, '_> {
    type Id = IndexedObject;
    type Error = QueryError;

    fn entries(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, IndexedObject),
    ) -> Result<(), QueryError> {
        if let Some(scanned) = &self.scanned {
            let range = (Bound::Included(from.to_vec()), Bound::Excluded(to.to_vec()));
            for (key, objects) in scanned.range(range) {
                if let Some(entry) = Entry::decode(key) {
                    objects.iter().for_each(|object| f(entry, *object));
                }
            }
            return Ok(());
        }
        match self.indexed_entries((from, to), f)? {
            Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn totals(&mut self) -> Result<Vec<Totals>, QueryError> {
        let mut totals = vec![Totals::default(); self.parts[0].properties.len()];
        if self.scanned.is_some() {
            for (field, of) in totals.iter_mut().enumerate() {
                let (from, to) = key::lengths(field as u8);
                self.entries((&from, &to), &mut |entry, _| {
                    if let Entry::Length { length: length @ 1.., .. } = entry {
                        of.documents += 1;
                        of.terms += u64::from(length);
                    }
                })?;
            }
            return Ok(totals);
        }
        for part in self.parts {
            let of_part = self.call.graph().fulltext_totals(part.id)?;
            for (of, (documents, terms)) in totals.iter_mut().zip(of_part) {
                of.documents += documents;
                of.terms += terms;
            }
        }
        Ok(totals)
    }

    fn texts(&mut self, id: IndexedObject, field: u8) -> Result<Vec<String>, QueryError> {
        let property = self.parts[0].properties[usize::from(field)];
        let graph = self.call.graph();
        let mut values = Column::default();
        match id {
            IndexedObject::Vertex(vertex) => {
                graph.vertex_properties(&[vertex], property, &mut values)?;
            }
            IndexedObject::Edge(edge) => graph.edge_properties(&[edge], property, &mut values)?,
        }
        Ok(texts_of(&values.get(0)).unwrap_or_default())
    }

    fn check(&mut self, bytes: usize) -> Result<(), QueryError> {
        self.call.check()?;
        self.call.room(bytes, WHO)
    }
}

impl Read<'_, '_> {
    /// Reads the objects if a part cannot be read.
    fn prepare(&mut self) -> Result<(), QueryError> {
        for part in self.parts {
            let empty: &[u8] = &[];
            let read = self
                .call
                .graph()
                .fulltext_entries(part.id, empty..empty, &mut |_, _| ControlFlow::Break(()));
            match read {
                Ok(()) => {}
                Err(error) if can_be_scanned(&error) => {
                    self.scanned = Some(self.scan()?);
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
