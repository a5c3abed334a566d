//! `schema`: labels, types, properties, patterns, indexes and constraints.
//!
//! Counts are exact. Properties and patterns come from the first nodes and relationships of each
//! label and type, as many as are asked for.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use telar_db::ValueMap;

use super::super::graph::Reading;
use super::{Arguments, Context, Failure, Tool, at_schema, parts, quoted, set};

/// Nodes and relationships that are looked at, unless it is said.
const SAMPLE: usize = 1000;
/// Most of them.
const SAMPLE_MAX: usize = 100_000;
/// Elements of a list from which on its length says something.
const LENGTH_MIN: u64 = 16;

pub(super) const TOOL: Tool = Tool {
    name: "schema",
    title: "Schema of the graph",
    description: "Labels and relationship types with their counts, the properties of each with \
        types, which labels the types connect, indexes (FULLTEXT and VECTOR ones serve 'search') \
        and constraints. Call it before writing queries. Counts are exact; properties and patterns \
        are those of a sample. 'at' describes the graph as it was.",
    arguments: |_| {
        let arguments = json!({
            "sample": {
                "type": "integer",
                "description": "Nodes of each label, and relationships of each type, to look at",
                "minimum": 1,
                "maximum": SAMPLE_MAX,
                "default": SAMPLE,
            },
            "names": {
                "type": "array",
                "items": { "type": "string" },
                "description": "Only these labels and relationship types",
            },
            "at": at_schema(),
        });
        (arguments, &[])
    },
    output: output_schema,
    writes: false,
    run,
};

fn output_schema() -> Json {
    let properties = json!({
        "type": "array",
        "items": {
            "type": "object",
            "properties": {
                "name": { "type": "string" },
                "types": { "type": "array", "items": { "type": "string" } },
                "found": { "type": "integer", "description": "How many of the sample have it" },
            },
            "required": ["name", "types", "found"],
        },
    });
    let strings = json!({ "type": "array", "items": { "type": "string" } });
    json!({
        "type": "object",
        "properties": {
            "nodes": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "label": { "type": "string" },
                    "count": { "type": "integer" },
                    "properties": properties,
                },
                "required": ["label", "count", "properties"],
            } },
            "relationships": { "type": "array", "items": {
                "type": "object",
                "properties": {
                    "type": { "type": "string" },
                    "count": { "type": "integer" },
                    "properties": properties,
                    "patterns": { "type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "from": strings, "to": strings, "found": { "type": "integer" },
                        },
                        "required": ["from", "to", "found"],
                    } },
                },
                "required": ["type", "count", "properties", "patterns"],
            } },
            "indexes": { "type": "array", "items": { "type": "object" } },
            "constraints": { "type": "array", "items": { "type": "object" } },
            "sample": { "type": "integer" },
            "truncated": parts::truncated(),
            "at": parts::at(),
        },
        "required": ["nodes", "relationships", "indexes", "constraints", "sample"],
    })
}

/// Statements of one description.
struct Describing<'d> {
    context: &'d Context<'d>,
    reading: Reading<'d>,
    parameters: ValueMap,
}

fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let sample = arguments.count("sample", SAMPLE, (1, SAMPLE_MAX))?;
    let names = arguments.texts("names")?;
    let past = arguments.past()?;
    arguments.end()?;
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    let parameters = ValueMap::from_iter([("sample".into(), (sample as i64).into())]);
    let reading = context.read(past)?;
    let mut describing = Describing { context, reading, parameters };
    // Entries at the end are left out first.
    let mut left = context.settings.chars_max;
    let mut left_out = 0_usize;
    let mut keep = |list: &mut Vec<Json>, entry: Json| {
        let bytes = entry.to_string().len();
        match left.checked_sub(bytes) {
            Some(rest) => {
                left = rest;
                list.push(entry);
            }
            None => left_out += 1,
        }
    };
    let (mut indexes, mut constraints) = (Vec::new(), Vec::new());
    for index in describing.shown(SHOW_INDEXES)? {
        keep(&mut indexes, index);
    }
    for constraint in describing.shown(SHOW_CONSTRAINTS)? {
        keep(&mut constraints, constraint);
    }
    let (mut nodes, mut relationships) = (Vec::new(), Vec::new());
    for label in describing.names("CALL db.labels() YIELD label RETURN label ORDER BY label")? {
        if wanted(&label)
            && let Some(entry) = describing.label(&label)?
        {
            keep(&mut nodes, entry);
        }
    }
    let types = "CALL db.relationshipTypes() YIELD relationshipType AS t RETURN t ORDER BY t";
    for ty in describing.names(types)? {
        if wanted(&ty)
            && let Some(entry) = describing.relationship_type(&ty)?
        {
            keep(&mut relationships, entry);
        }
    }
    let mut schema = json!({
        "nodes": nodes,
        "relationships": relationships,
        "indexes": indexes,
        "constraints": constraints,
        "sample": sample,
    });
    let remark = format!("{left_out} entries did not fit: ask for some by 'names'");
    set(&mut schema, "truncated", (left_out > 0).then_some(remark));
    set(&mut schema, "at", describing.reading.finish());
    Ok(schema)
}

const SHOW_INDEXES: &str = "SHOW INDEXES YIELD name, type, entityType, labelsOrTypes, properties, \
                            state WHERE type <> 'LOOKUP'";
const SHOW_CONSTRAINTS: &str =
    "SHOW CONSTRAINTS YIELD name, type, entityType, labelsOrTypes, properties";

/// Counts properties of the matched variable `entity`.
fn properties_of(entity: &str) -> String {
    format!(
        "WITH {entity} LIMIT $sample UNWIND keys({entity}) AS key \
         WITH key, {entity}[key] AS value \
         WITH key, valueType(value) AS type, \
              CASE WHEN value IS :: LIST<ANY> THEN size(value) END AS length \
         RETURN key, type, count(*) AS found, min(length), max(length) ORDER BY key, found DESC"
    )
}

impl Describing<'_> {
    fn rows(&mut self, text: &str) -> Result<Vec<Vec<Json>>, Failure> {
        let room = self.context.inner_room();
        Ok(self.reading.run(text, &self.parameters, room)?.rows.rows)
    }

    /// Rows of a command as objects.
    fn shown(&mut self, command: &str) -> Result<Vec<Json>, Failure> {
        let room = self.context.inner_room();
        let found = self.reading.run_now(command, &ValueMap::new(), room)?.rows;
        let object = |row: &Vec<Json>| {
            let named = found.columns.iter().map(ToString::to_string).zip(row.iter().cloned());
            Json::Object(named.collect())
        };
        Ok(found.rows.iter().map(object).collect())
    }

    fn names(&mut self, text: &str) -> Result<Vec<String>, Failure> {
        let name = |row: &Vec<Json>| row.first()?.as_str().map(str::to_owned);
        Ok(self.rows(text)?.iter().filter_map(name).collect())
    }

    /// A count; none if there is nothing.
    fn count(&mut self, pattern: &str) -> Result<Option<u64>, Failure> {
        let rows = self.rows(&format!("MATCH {pattern} RETURN count(*)"))?;
        Ok(rows.first().and_then(|row| row[0].as_u64()).filter(|count| *count > 0))
    }

    fn label(&mut self, label: &str) -> Result<Option<Json>, Failure> {
        let pattern = format!("(n:{})", quoted(label));
        let Some(count) = self.count(&pattern)? else { return Ok(None) };
        let properties = self.rows(&format!("MATCH {pattern} {}", properties_of("n")))?;
        let properties = properties_json(&properties);
        Ok(Some(json!({ "label": label, "count": count, "properties": properties })))
    }

    fn relationship_type(&mut self, ty: &str) -> Result<Option<Json>, Failure> {
        let pattern = format!("()-[r:{}]->()", quoted(ty));
        let Some(count) = self.count(&pattern)? else { return Ok(None) };
        let properties = self.rows(&format!("MATCH {pattern} {}", properties_of("r")))?;
        let ends = self.rows(&format!(
            "MATCH (a)-[:{}]->(b) WITH a, b LIMIT $sample \
             RETURN labels(a) AS f, labels(b) AS t, count(*) AS found ORDER BY found DESC LIMIT 50",
            quoted(ty)
        ))?;
        let pattern = |row: &Vec<Json>| json!({ "from": row[0], "to": row[1], "found": row[2] });
        Ok(Some(json!({
            "type": ty,
            "count": count,
            "properties": properties_json(&properties),
            "patterns": ends.iter().map(pattern).collect::<Vec<_>>(),
        })))
    }
}

/// Rows of [`properties_of`], property by property.
fn properties_json(rows: &[Vec<Json>]) -> Vec<Json> {
    let mut properties: BTreeMap<&str, (Vec<String>, u64)> = BTreeMap::new();
    for row in rows {
        let (Some(key), Some(ty)) = (row[0].as_str(), row[1].as_str()) else { continue };
        let mut ty = ty.replace(" NOT NULL", "");
        if let (Some(least), Some(most)) = (row[3].as_u64(), row[4].as_u64())
            && least == most
            && least >= LENGTH_MIN
        {
            ty = format!("{ty} of length {least}");
        }
        let (types, found) = properties.entry(key).or_default();
        if !types.contains(&ty) {
            types.push(ty);
        }
        *found += row[2].as_u64().unwrap_or_default();
    }
    let entry = |(name, (types, found)): (&str, (Vec<String>, u64))| json!({ "name": name, "types": types, "found": found });
    properties.into_iter().map(entry).collect()
}
