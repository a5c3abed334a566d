//! `db.index.fulltext.*`: hits of a query in a full-text index, with their scores.
//!
//! Postings come from the index as it is at the statement's snapshot. Where the index cannot be
//! read at it (the index is younger than the snapshot, is being built, or is made in the same
//! transaction), the objects are read instead, and the same is found.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use telar_graph::postings::{Impact, Postings};
use telar_graph::update::IndexedObjects;
use telar_graph::value::heap_bytes_of;
use telar_graph::view::{FulltextPostings, IndexedObject};
use telar_graph::{
    Column, EdgeId, EdgeTypeId, IndexKind, IndexUnavailable, LabelId, PropertyKeyId, ReadError,
    SchemaRule, Value, VertexId,
};
use telar_text::key::{self, Entry};
use telar_text::score::Totals;
use telar_text::search::{self, Failure, List, Source};
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
        let most = options.limit.map_or(usize::MAX, |limit| limit.saturating_add(options.skip));
        let asked = Asked { parts: &parts, fields: &fields, indexed, analyzer, clause, most };
        let found = match self.nodes {
            true => asked.search::<u32>(call)?,
            false => asked.search::<EdgeId>(call)?,
        };
        let mut hits = match found {
            Ok(hits) => hits,
            Err(why) => return self.fails(&why),
        };
        hits.drain(..options.skip.min(hits.len()));
        Ok(Box::new(Hits::new(hits)))
    }
}

/// A search: the index, and what is looked for in it.
struct Asked<'a> {
    parts: &'a [SchemaRule],
    /// Names of the properties.
    fields: &'a [&'a str],
    /// The analyzer of the index.
    indexed: Analyzer,
    /// That of the query.
    analyzer: Analyzer,
    clause: query::Clause,
    most: usize,
}

impl Asked<'_> {
    /// The best hits; or why the query has none.
    fn search<O: Object>(
        &self,
        call: &CallContext<'_>,
    ) -> Result<Result<Vec<(IndexedObject, f32)>, String>, QueryError> {
        let (parts, indexed) = (self.parts, self.indexed);
        let mut read = Read::<O> { call, parts, indexed, scanned: None, since: 0 };
        read.prepare()?;
        match search::search(&mut read, self.fields, self.analyzer, &self.clause, self.most) {
            Ok(hits) => Ok(Ok(hits.into_iter().map(|(id, score)| (id.indexed(), score)).collect())),
            Err(Failure::Source(error)) => Err(error),
            Err(Failure::Query(why)) => Ok(Err(why)),
        }
    }
}

/// Object of an index as lists have it.
trait Object: Copy + Ord + Hash {
    /// `None` if the object is of the other kind, or its number larger than those of any graph
    /// with an index.
    fn of(object: IndexedObject) -> Option<Self>;
    fn indexed(self) -> IndexedObject;
    /// The list, if it is one of these objects.
    fn list(postings: FulltextPostings) -> Option<Arc<Postings<Self>>>;
}

impl Object for u32 {
    fn of(object: IndexedObject) -> Option<Self> {
        match object {
            IndexedObject::Vertex(vertex) => vertex.get().try_into().ok(),
            IndexedObject::Edge(_) => None,
        }
    }

    fn indexed(self) -> IndexedObject {
        IndexedObject::Vertex(VertexId::from_raw(self.into()))
    }

    fn list(postings: FulltextPostings) -> Option<Arc<Postings<Self>>> {
        if let FulltextPostings::Vertices(list) = postings { Some(list) } else { None }
    }
}

impl Object for EdgeId {
    fn of(object: IndexedObject) -> Option<Self> {
        if let IndexedObject::Edge(edge) = object { Some(edge) } else { None }
    }

    fn indexed(self) -> IndexedObject {
        IndexedObject::Edge(self)
    }

    fn list(postings: FulltextPostings) -> Option<Arc<Postings<Self>>> {
        if let FulltextPostings::Edges(list) = postings { Some(list) } else { None }
    }
}

/// Objects that have a term.
struct Found<O>(Arc<Postings<O>>);

impl<O: Object> List for Found<O> {
    type Object = O;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> usize {
        self.0.blocks().len()
    }

    fn objects(&self, block: usize) -> &[O] {
        self.0.blocks()[block].objects()
    }

    fn places(&self, block: usize) -> &[u8] {
        self.0.blocks()[block].places()
    }

    fn impacts(&self, block: usize) -> impl Iterator<Item = (u32, u8)> {
        self.0.blocks()[block].impacts().iter().map(|impact| (impact.frequency, impact.norm))
    }

    fn best(&self, block: usize) -> impl Iterator<Item = (u32, u8)> {
        self.0.blocks()[block].best().iter().map(|impact| (impact.frequency, impact.norm))
    }
}

/// Keys with their objects, of indexes that cannot be read.
type Scanned<O> = BTreeMap<Vec<u8>, Vec<O>>;

/// An index at the statement's snapshot.
struct Read<'c, 's, O> {
    call: &'c CallContext<'s>,
    parts: &'c [SchemaRule],
    /// The analyzer of the index.
    indexed: Analyzer,
    /// Made when it turns out that a part cannot be read.
    scanned: Option<Scanned<O>>,
    /// Entries since the last look whether to go on.
    since: u32,
}

impl<O: Object> Read<'_, '_, O> {
    /// Entries of all parts in the index itself.
    fn indexed_entries(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, O),
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
                if let Some((entry, object)) = Entry::decode(key).zip(O::of(object)) {
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
    fn scan(&self) -> Result<Scanned<O>, QueryError> {
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
        scanned: &mut Scanned<O>,
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
        scanned: &mut Scanned<O>,
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
        scanned: &mut Scanned<O>,
    ) -> Result<(), QueryError> {
        let Some(texts) = texts_of(value) else { return Ok(()) };
        let object = O::of(object).ok_or_else(|| {
            let number = ReadError::storage("a vertex has a number above those of an index");
            QueryError::from(number)
        })?;
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

impl<O: Object> Source for Read<'_, '_, O> {
    type Id = O;
    type List = Found<O>;
    type Error = QueryError;

    fn entries(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, O),
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

    fn terms(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(&str) -> usize,
    ) -> Result<(), QueryError> {
        let mut held = 0;
        let mut tell = |beginning: &[u8]| {
            if let Some(Ok(term)) = beginning.get(1..).map(str::from_utf8) {
                held = f(term);
            }
            held
        };
        if let Some(scanned) = &self.scanned {
            let range = (Bound::Included(from), Bound::Excluded(to));
            let keys = scanned.range::<[u8], _>(range);
            let held = keys.filter_map(|(key, _)| key::beginning(key)).map(tell).last();
            return self.call.room(held.unwrap_or(0), WHO);
        }
        let (call, since) = (self.call, &mut self.since);
        for part in self.parts {
            let mut stopped = Ok(());
            let read = call.graph().fulltext_terms(part.id, from..to, &mut |beginning| {
                let held = tell(beginning);
                *since += 1;
                if *since >= STEP {
                    *since = 0;
                    stopped = call.check().and_then(|()| call.room(held, WHO));
                }
                if stopped.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            stopped?;
            read?;
        }
        Ok(())
    }

    fn lists(&mut self, field: u8, term: &str) -> Result<Vec<Found<O>>, QueryError> {
        let (from, to) = key::term(field, term);
        if self.scanned.is_some() {
            let mut postings = Vec::new();
            self.entries((&from, &to), &mut |entry, object| {
                if let Entry::Posting { frequency, norm, .. } = entry {
                    postings.push((object, Impact { frequency, norm }));
                }
            })?;
            return Ok(vec![Found(Arc::new(Postings::new(postings)))]);
        }
        let call = self.call;
        let beginning = from.strip_suffix(&[0]).unwrap_or(&from);
        let mut lists = Vec::with_capacity(self.parts.len());
        for part in self.parts {
            let mut stopped = Ok(());
            let read = call.graph().fulltext_postings(part.id, beginning, &mut || {
                stopped = call.check();
                match stopped {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            });
            stopped?;
            let list = O::list(read?).ok_or(ReadError::Index(IndexUnavailable::WrongKind(part.id)));
            lists.push(Found(list?));
        }
        Ok(lists)
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

    fn texts(&mut self, id: O, field: u8) -> Result<Vec<String>, QueryError> {
        let property = self.parts[0].properties[usize::from(field)];
        let graph = self.call.graph();
        let mut values = Column::default();
        match id.indexed() {
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

impl<O: Object> Read<'_, '_, O> {
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
