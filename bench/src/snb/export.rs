//! What another server needs to do the same.
//!
//! | file | holds |
//! |---|---|
//! | `csv/*.csv` | nodes and relationships, with headers that `neo4j-admin database import` reads |
//! | `import.json` | labels and types of these files, and the schema in Cypher |
//! | `questions.json` | texts of all queries; parameters and answers of the reads |
//! | `operations.jsonl` | the mixed run, a line each: query, parameters, after how many others |

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Map, Value as Json, json};
use telar_db::import::CsvGroup;
use telar_db::{Value, ValueMap};

use super::archive::Archive;
use super::load::{schema, write_csv};
use super::reads::{Expected, Queries, READS};
use super::schedule::Operation;
use crate::import::BenchError;

pub(super) fn write(
    archive: &Archive,
    queries: &Queries,
    expected: &Expected,
    operations: &[Operation],
    folder: &Path,
) -> Result<(), BenchError> {
    let csv = folder.join("csv");
    std::fs::create_dir_all(&csv)?;
    let import = write_csv(archive, &csv).map_err(BenchError::Data)?;
    let groups = |groups: &[CsvGroup]| -> Vec<Json> {
        groups.iter().map(|group| json!([group.names, group.files])).collect()
    };
    let import = json!({
        "nodes": groups(&import.nodes),
        "relationships": groups(&import.relationships),
        "schema": schema(),
    });
    std::fs::write(folder.join("import.json"), import.to_string())?;
    let read = |(name, order): &(&str, Option<super::Order>)| {
        let sets = expected.sets(name);
        let sets: Vec<Json> =
            sets.map(|(given, rows)| json!({ "parameters": given, "rows": rows })).collect();
        json!({ "name": name, "order": order.map(super::Order::to_json), "sets": sets })
    };
    let questions = json!({
        "texts": queries.all().map(|(name, text)| (name.to_owned(), json!(text)))
            .collect::<Map<_, _>>(),
        "reads": READS.iter().map(read).collect::<Vec<_>>(),
    });
    std::fs::write(folder.join("questions.json"), questions.to_string())?;
    let mut file = BufWriter::new(File::create(folder.join("operations.jsonl"))?);
    for Operation { query, parameters, after } in operations {
        writeln!(file, "{}", json!([query, plain(parameters), after]))?;
    }
    Ok(file.flush()?)
}

fn plain(parameters: &ValueMap) -> Json {
    let entries = parameters.iter().map(|(key, value)| (key.to_string(), json_of(value)));
    Json::Object(entries.collect())
}

fn json_of(value: &Value) -> Json {
    match value {
        Value::Int(n) => json!(n),
        Value::String(text) => json!(&**text),
        Value::List(elements) => elements.iter().map(json_of).collect(),
        other => unreachable!("INVARIANT: no parameter is {other:?}"),
    }
}
