//! Cases written from a reading of Neo4j's Cypher manual, with what Neo4j 5.26 answers.
//!
//! `tests/cypher/manual/**/*.test` hold them. A file begins with what it is about; then come
//! blocks, each with a line `== title`:
//!
//! - `== graph ...`: statements that make the graph of the cases behind it.
//! - any other: a case. Lines `$$ {...}` are its parameters, as JSON. Of the statements, which end
//!   with `;` at the end of a line, the last is asked on a graph of its own, the others prepare it.
//!   Behind `----` stands the answer: the names of the columns, the rows, sorted unless the line is
//!   `---- in order`, and what was counted; or `error` and the code.
//! - `---- telar, because ...` behind that: where Telar answers something else, and why.
//!
//! Cases whose title ends with `(server)` need a server and are left to `tests/cypher/ask.py`,
//! which asks a real Neo4j and writes its answers down.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telar_db::query::{Counters, QueryError, QueryResult};
use telar_db::{Session, Value};
use telar_graph::ValueMap;
use telar_tests::tck::graph::to_tck;

/// A case: its statements, and the answer that is expected.
#[derive(Debug, Default)]
struct Case {
    title: String,
    graph: Vec<String>,
    parameters: ValueMap,
    before: Vec<String>,
    statement: String,
    answer: Vec<String>,
    ordered: bool,
}

/// The statements of a script.
fn statements(lines: &[&str]) -> Vec<String> {
    let text = lines.join("\n");
    let parts = text.split(";\n").map(|part| part.trim().trim_end_matches(';').to_owned());
    parts.collect()
}

fn from_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap()), Value::Int),
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(from_json)),
        Json::Object(entries) => Value::Map(Arc::new(map(entries))),
    }
}

fn map(entries: &serde_json::Map<String, serde_json::Value>) -> ValueMap {
    entries.iter().map(|(key, value)| (Arc::from(key.as_str()), from_json(value))).collect()
}

/// The cases of a file.
fn read(path: &Path) -> Vec<Case> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut cases = Vec::new();
    let mut graph = Vec::new();
    for block in text.split("\n== ").skip(1) {
        let mut lines = block.lines();
        let title = lines.next().unwrap().to_owned();
        let lines: Vec<&str> = lines.collect();
        let mut parts = lines.split(|line| line.starts_with("----"));
        let script = parts.next().unwrap_or_default();
        if title.starts_with("graph") {
            graph = statements(script);
            continue;
        }
        // Telar's own answer, where there is one, stands behind that of Neo4j.
        let answer = parts.next_back().unwrap_or_default();
        let json = script.iter().find_map(|line| line.strip_prefix("$$ "));
        let json = json.map(|json| serde_json::from_str(json).unwrap());
        let script: Vec<&str> =
            script.iter().copied().filter(|line| !line.starts_with("$$ ")).collect();
        let mut before = statements(&script);
        let statement = before.pop().unwrap_or_default();
        cases.push(Case {
            title: format!("{}: {title}", path.file_name().unwrap().display()),
            graph: graph.clone(),
            parameters: json.as_ref().map(map).unwrap_or_default(),
            before,
            statement,
            answer: answer.iter().filter(|line| !line.is_empty()).map(|&l| l.into()).collect(),
            ordered: lines.contains(&"---- in order"),
        });
    }
    cases
}

fn counted(counters: &Counters) -> Option<String> {
    let c = counters;
    let all = [
        ("constraints_added", c.constraints_added),
        ("constraints_removed", c.constraints_removed),
        ("indexes_added", c.indexes_added),
        ("indexes_removed", c.indexes_removed),
        ("labels_added", c.labels_added),
        ("labels_removed", c.labels_removed),
        ("nodes_created", c.nodes_created),
        ("nodes_deleted", c.nodes_deleted),
        ("properties_set", c.properties_set),
        ("relationships_created", c.relationships_created),
        ("relationships_deleted", c.relationships_deleted),
    ];
    let set = all.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}"));
    let set: Vec<String> = set.collect();
    (!set.is_empty()).then(|| format!("counters {}", set.join(", ")))
}

/// An answer as the files have it.
fn shown(answer: &Result<QueryResult, QueryError>, ordered: bool) -> Vec<String> {
    let result = match answer {
        Ok(result) => result,
        Err(error) => return vec![format!("error {}", error.code())],
    };
    let mut lines = Vec::new();
    if !result.columns.is_empty() {
        let values = |row: &Vec<Value>| {
            let shown = row.iter().map(|v| to_tck(v, &result.entities).unwrap().to_string());
            shown.collect::<Vec<_>>().join(" | ").replace('\n', "\\n")
        };
        let mut rows: Vec<String> = result.rows.iter().map(values).collect();
        if !ordered {
            rows.sort();
        }
        lines.push(result.columns.join(" | "));
        lines.extend(rows);
    }
    lines.extend(counted(&result.counters));
    lines
}

/// The difference between the answer of a case and the expected one, if there is one.
fn difference(case: &Case) -> Option<String> {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for statement in case.graph.iter().chain(&case.before) {
        if let Err(error) = session.run_with(statement, &case.parameters) {
            return Some(format!("{}\n{statement}\n{error}", case.title));
        }
    }
    let answer = session.run_with(&case.statement, &case.parameters);
    let found = shown(&answer, case.ordered);
    if found == case.answer {
        return None;
    }
    let mut text = format!("{}\n{}\nexpected:\n", case.title, case.statement);
    for line in &case.answer {
        writeln!(text, "    {line}").unwrap();
    }
    text.push_str("found:\n");
    for line in &found {
        writeln!(text, "    {line}").unwrap();
    }
    if let Err(error) = answer {
        writeln!(text, "    {error}").unwrap();
    }
    Some(text)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "test") {
            found.push(path);
        }
    }
}

#[test]
fn statements_of_the_manual_are_answered_as_neo4j_answers_them() {
    let mut found = Vec::new();
    files(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cypher/manual")), &mut found);
    found.sort();
    let mut cases: Vec<Case> = found.iter().flat_map(|path| read(path)).collect();
    cases.retain(|case| !case.title.ends_with("(server)"));
    assert!(cases.len() > 250, "there are {} cases", cases.len());
    let wrong: Vec<String> = cases.iter().filter_map(difference).collect();
    let (all, wrong_count) = (cases.len(), wrong.len());
    assert!(wrong.is_empty(), "{wrong_count} of {all} differ\n\n{}", wrong.join("\n"));
}
