//! `search`: by words through full-text indexes, by a vector, or by both.
//!
//! Each full-text index, and the vector, gives a ranked list; `fusion` makes one of them. The
//! walk from the hits is part of the same state of the graph.

use serde_json::{Map, Value as Json, json};
use telar_db::{Value, ValueMap};

use super::super::graph::Reading;
use super::expand::{Walk, number_of_node};
use super::fusion::{Ranked, fuse};
use super::{Arguments, Context, Failure, Tool, at_schema, parts, quoted, set};

/// Hits, unless it is said.
const HITS: usize = 10;
/// Hits of each list for each hit that is wanted.
const CANDIDATES: usize = 4;
/// Hits of each list at least.
const CANDIDATES_MIN: usize = 50;
/// Characters that Lucene's syntax gives a meaning.
const SPECIAL: &str = "+-&|!(){}[]^\"~*?:\\/<>=";

pub(super) const TOOL: Tool = Tool {
    name: "search",
    title: "Search by words and meaning",
    description: "The best nodes and relationships for words ('query', through the full-text \
        indexes), for an embedding ('vector', against a property or vector index), or for both, \
        put together by reciprocal rank fusion; with 'hops', also the subgraph around the hits. \
        The schema lists the indexes. 'at' searches the past.",
    arguments: |settings| {
        let mut arguments = Map::new();
        let mut add = |name: &str, schema: Json| _ = arguments.insert(name.to_owned(), schema);
        add(
            "query",
            json!({
                "type": "string",
                "description": "Words, in Lucene's syntax: graph AND \"data base\" -sql title:tree gra*",
            }),
        );
        add(
            "plain",
            json!({
                "type": "boolean", "default": false,
                "description": "Take 'query' as words only: no character in it has a meaning",
            }),
        );
        add(
            "index",
            json!({
                "type": "string", "description": "A full-text index by name; otherwise all are searched",
            }),
        );
        add(
            "vector",
            json!({
                "type": "array", "items": { "type": "number" },
                "description": "An embedding, of the model that made those in the graph",
            }),
        );
        add(
            "property",
            json!({
                "type": "string", "description": "The property that holds the embeddings",
            }),
        );
        add(
            "vector_index",
            json!({
                "type": "string",
                "description": "A vector index by name; otherwise that of the property, if there is one",
            }),
        );
        add(
            "similarity",
            json!({
                "type": "string", "enum": ["cosine", "euclidean"], "default": "cosine",
                "description": "How vectors are compared without an index",
            }),
        );
        add(
            "label",
            json!({
                "type": "string", "description": "Only nodes with this label, or relationships of this type",
            }),
        );
        add(
            "relationships",
            json!({
                "type": "boolean", "default": false,
                "description": "The embeddings are properties of relationships",
            }),
        );
        add(
            "limit",
            json!({
                "type": "integer", "minimum": 1, "maximum": settings.rows_max,
                "default": HITS.min(settings.rows_max), "description": "Hits at most",
            }),
        );
        let walk = Walk::schemas(0, settings.rows_max);
        arguments.extend(walk.map(|(name, schema)| (name.to_owned(), schema)));
        arguments.insert("at".to_owned(), at_schema());
        (Json::Object(arguments), &[])
    },
    output: output_schema,
    writes: false,
    run,
};

fn output_schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "hits": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "score": { "type": "number" },
                    "matched": { "type": "array", "items": { "type": "object" } },
                    "node": parts::node(),
                    "relationship": parts::relationship(),
                },
                "required": ["score", "matched"],
            } },
            "neighbourhood": parts::subgraph(),
            "truncated": parts::truncated(),
            "at": parts::at(),
        },
        "required": ["hits"],
    })
}

/// An index that `SHOW INDEXES` lists.
struct Index {
    name: String,
    of_nodes: bool,
    labels: Vec<String>,
    properties: Vec<String>,
}

/// A search that is under way.
struct Search<'s> {
    context: &'s Context<'s>,
    reading: Reading<'s>,
    /// Hits of each list.
    candidates: usize,
    label: Option<String>,
}

/// A vector, and the embeddings that it is compared with.
struct Embeddings {
    vector: Value,
    property: Option<String>,
    index: Option<String>,
    similarity: &'static str,
    of_relationships: bool,
}

impl Embeddings {
    fn read(arguments: &mut Arguments) -> Result<Option<Self>, Failure> {
        let vector = arguments.vector("vector")?;
        let (property, index) = (arguments.text("property")?, arguments.text("vector_index")?);
        let similarity = match arguments.text("similarity")?.as_deref() {
            None | Some("cosine") => "cosine",
            Some("euclidean") => "euclidean",
            Some(_) => return Err(Failure::argument("similarity", "cosine or euclidean")),
        };
        let of_relationships = arguments.flag("relationships")?;
        let embeddings = |vector| Self { vector, property, index, similarity, of_relationships };
        Ok(vector.map(embeddings))
    }
}

fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let query = arguments.text("query")?;
    let plain = arguments.flag("plain")?;
    let index = arguments.text("index")?;
    let embeddings = Embeddings::read(&mut arguments)?;
    let label = arguments.text("label")?;
    let rows_max = context.settings.rows_max;
    let limit = arguments.count("limit", HITS, (1, rows_max))?;
    let walk = Walk::read(&mut arguments, 0, rows_max)?;
    let past = arguments.past()?;
    arguments.end()?;
    if query.is_none() && embeddings.is_none() {
        return Err(Failure::new("'query', 'vector' or both are needed"));
    }
    let reading = context.read(past)?;
    let candidates = (CANDIDATES * limit).max(CANDIDATES_MIN);
    let mut search = Search { context, reading, candidates, label };
    let mut lists = Vec::new();
    if let Some(query) = query {
        let query = if plain { escaped(&query) } else { query };
        lists.extend(search.by_words(&query, index)?);
    }
    if let Some(embeddings) = embeddings {
        lists.push(search.by_vector(embeddings)?);
    }
    let hits = fuse(&lists, limit);
    let mut reading = search.reading;
    let all = context.settings.chars_max;
    let room = if walk.hops > 0 { all / 2 } else { all };
    let (mut shown, mut bytes) = (Vec::new(), 0);
    for hit in &hits {
        let hit = hit.json();
        bytes += hit.to_string().len();
        if bytes > room {
            break;
        }
        shown.push(hit);
    }
    let remark = (shown.len() < hits.len())
        .then(|| format!("{} of {} hits fit into {room} characters", shown.len(), hits.len()));
    let mut answer = json!({ "hits": shown });
    set(&mut answer, "truncated", remark);
    if walk.hops > 0 {
        let starts: Vec<i64> = hits.iter().flat_map(|hit| starts_of(&hit.entity)).collect();
        let left = all.saturating_sub(bytes.min(room));
        answer["neighbourhood"] = walk.expand(context, &mut reading, &starts, left)?;
    }
    set(&mut answer, "at", reading.finish());
    Ok(answer)
}

/// The nodes at which a walk from a hit begins.
fn starts_of(entity: &Json) -> Vec<i64> {
    let number = |field: &str| entity[field].as_str().and_then(number_of_node);
    match entity.get("labels") {
        Some(_) => number("id").into_iter().collect(),
        None => [number("from"), number("to")].into_iter().flatten().collect(),
    }
}

/// A query that means its words.
fn escaped(words: &str) -> String {
    let mut text = String::new();
    for word in words.split_whitespace() {
        if !text.is_empty() {
            text.push(' ');
        }
        // AND, OR, NOT and TO are words in small letters.
        let word = if ["AND", "OR", "NOT", "TO"].contains(&word) {
            word.to_lowercase()
        } else {
            word.to_owned()
        };
        for c in word.chars() {
            if SPECIAL.contains(c) {
                text.push('\\');
            }
            text.push(c);
        }
    }
    text
}

impl Search<'_> {
    fn indexes(&mut self, kind: &str) -> Result<Vec<Index>, Failure> {
        let text = "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties";
        let rows = self.reading.run_now(text, &ValueMap::new(), self.context.inner_room())?.rows;
        let texts = |json: &Json| {
            let texts = json.as_array().into_iter().flatten();
            texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
        };
        let index = |row: &Vec<Json>| {
            let name = row[0].as_str()?.to_owned();
            let (labels, properties) = (texts(&row[3]), texts(&row[4]));
            let of_nodes = row[2].as_str() == Some("NODE");
            let is_meant = row[1].as_str() == Some(kind);
            is_meant.then_some(Index { name, of_nodes, labels, properties })
        };
        Ok(rows.rows.iter().filter_map(index).collect())
    }

    fn by_words(&mut self, query: &str, name: Option<String>) -> Result<Vec<Ranked>, Failure> {
        let mut indexes = self.indexes("FULLTEXT")?;
        if let Some(name) = &name {
            indexes.retain(|index| index.name == *name);
        }
        if indexes.is_empty() {
            return Err(Failure::new(match name {
                Some(name) => format!("there is no full-text index '{name}'"),
                None => "there is no full-text index: CREATE FULLTEXT INDEX name FOR (n:Label) ON \
                         EACH [n.property] makes one"
                    .to_owned(),
            }));
        }
        let mut lists = Vec::new();
        for index in indexes {
            let (procedure, column, filter) = self.parts(index.of_nodes);
            let call = format!("CALL db.index.fulltext.{procedure}($index, $query");
            // The filter is after the limit of the procedure.
            let limit = if filter.is_empty() { ", {limit: $most}" } else { "" };
            let text = format!(
                "{call}{limit}) YIELD {column} AS hit, score WITH hit, score {filter} \
                 RETURN hit, score LIMIT $most"
            );
            let parameters = [("index", index.name.as_str().into()), ("query", Value::from(query))];
            let hits = self.hits(&text, parameters).map_err(|mut failure| {
                if failure.message_mut().contains("ParseException") {
                    *failure.message_mut() += " With 'plain' the words are taken as they are.";
                }
                failure
            });
            lists.push(Ranked { by: format!("full-text index {}", index.name), hits: hits? });
        }
        Ok(lists)
    }

    /// The procedure of an index, its column, and the filter by label or type.
    fn parts(&self, of_nodes: bool) -> (&'static str, &'static str, String) {
        let filter = match (&self.label, of_nodes) {
            (None, _) => String::new(),
            (Some(label), true) => format!("WHERE hit:{}", quoted(label)),
            (Some(_), false) => "WHERE type(hit) = $label".to_owned(),
        };
        match of_nodes {
            true => ("queryNodes", "node", filter),
            false => ("queryRelationships", "relationship", filter),
        }
    }

    fn by_vector(&mut self, embeddings: Embeddings) -> Result<Ranked, Failure> {
        let Embeddings { vector, property, index, similarity, of_relationships } = embeddings;
        if let Some(index) = self.vector_index(property.as_deref(), index, of_relationships)? {
            let (procedure, column, filter) = self.parts(index.of_nodes);
            let text = format!(
                "CALL db.index.vector.{procedure}($index, $most, $vector) \
                 YIELD {column} AS hit, score WITH hit, score {filter} \
                 RETURN hit, score LIMIT $most"
            );
            let parameters = [("index", index.name.as_str().into()), ("vector", vector)];
            let hits = self.hits(&text, parameters)?;
            return Ok(Ranked { by: format!("vector index {}", index.name), hits });
        }
        let Some(property) = property else {
            let names: Vec<String> =
                self.indexes("VECTOR")?.into_iter().map(|index| index.name).collect();
            return Err(Failure::new(match names.is_empty() {
                true => "'property' is needed: the property that holds the embeddings".to_owned(),
                false => format!("'vector_index' is needed: one of {}", names.join(", ")),
            }));
        };
        let label =
            self.label.as_deref().map_or_else(String::new, |label| format!(":{}", quoted(label)));
        let pattern = match of_relationships {
            true => format!("()-[hit{label}]->()"),
            false => format!("(hit{label})"),
        };
        let text = format!(
            "MATCH {pattern} WITH hit, vector.similarity.{similarity}(hit.{}, $vector) AS score \
             WHERE score IS NOT NULL RETURN hit, score ORDER BY score DESC LIMIT $most",
            quoted(&property)
        );
        let hits = self.hits(&text, [("vector", vector)])?;
        Ok(Ranked { by: format!("{similarity} similarity of {property}"), hits })
    }

    /// The vector index that is named, or that is of the property, or the only one.
    fn vector_index(
        &mut self,
        property: Option<&str>,
        name: Option<String>,
        of_relationships: bool,
    ) -> Result<Option<Index>, Failure> {
        let indexes = self.indexes("VECTOR")?;
        if let Some(name) = name {
            let found = indexes.into_iter().find(|index| index.name == name);
            let missing = || Failure::new(format!("there is no vector index '{name}'"));
            return found.ok_or_else(missing).map(Some);
        }
        let label = self.label.as_deref();
        let of_property = |index: &Index, property: &str| {
            let is_covered = label.is_some_and(|label| index.labels.iter().any(|l| l == label));
            index.of_nodes != of_relationships
                && index.properties.iter().any(|indexed| indexed == property)
                && is_covered
        };
        let mut indexes = indexes;
        Ok(match property {
            Some(property) => indexes.into_iter().find(|index| of_property(index, property)),
            None if indexes.len() == 1 => indexes.pop(),
            None => None,
        })
    }

    fn hits<const N: usize>(
        &mut self,
        text: &str,
        parameters: [(&str, Value); N],
    ) -> Result<Vec<(Json, f64)>, Failure> {
        let parameters = parameters.into_iter().map(|(name, value)| (name.into(), value));
        let mut parameters: ValueMap = parameters.collect();
        parameters.insert("most".into(), (self.candidates as i64).into());
        if let Some(label) = &self.label {
            parameters.insert("label".into(), label.as_str().into());
        }
        let rows = self.reading.run(text, &parameters, self.context.inner_room())?.rows.rows;
        let hit = |mut row: Vec<Json>| {
            let score = row.pop().and_then(|score| score.as_f64());
            Some((row.pop()?, score?))
        };
        Ok(rows.into_iter().filter_map(hit).collect())
    }
}

#[test]
fn words_have_no_meaning_for_lucene() {
    assert_eq!(escaped("what is  C++ (the OR language)?"), r"what is C\+\+ \(the or language\)\?");
    assert_eq!(escaped(r#"a:b "c" \d"#), r#"a\:b \"c\" \\d"#);
}
