//! Cases of Cypher that are text: a graph, a statement, the expected answer.
//!
//! A file `*.test` begins with a sentence that says its subject. Blocks follow. Each begins with a
//! line `== title`:
//!
//! - `== graph ...`: statements that make the graph of the cases below, up to the next graph.
//! - `== file NAME`: the lines of a file that `LOAD CSV FROM 'file:///NAME'` finds in the cases
//!   below.
//! - any other title: a case. Lines `$$ {...}` are its parameters, as JSON. A statement ends with
//!   `;` at the end of a line. The last statement is asked, on a graph of its own; the statements
//!   before it prepare that graph. The answer stands below `----`: a line with the names of the
//!   columns, the rows, a line `counters ...` with the side effects; or `error` and its code. Rows
//!   are sorted as text, unless the line is `---- in order`.
//! - `---- telar, because ...` below the answer: the answer of Telar where it differs from that of
//!   Neo4j, and the reason.
//!
//! The end of a title can say where a case does not belong:
//!
//! - `(server)`: it needs a server. `tests/cypher/ask.py` asks it; the tests in Rust do not.
//! - `(alone)`: it is not asked in a transaction that has written something else, because its
//!   answer counts or lists everything, or because it begins transactions of its own.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telar_db::query::{Counters, Limits, QueryError, QueryResult, prepare};
use telar_db::{Database, Session, Value, ValueMap, Workers};
use tempfile::TempDir;

use crate::tck::graph::to_tck;

/// A case: its statements, and the expected answer.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// Title, as the file has it.
    pub title: String,
    /// Parameters of all its statements.
    pub parameters: ValueMap,
    /// Statement that is asked.
    pub statement: String,
    /// Lines of the expected answer.
    pub answer: Vec<String>,
    /// True if the order of the rows is part of the answer.
    pub ordered: bool,
    /// Statements that make the graph.
    before: Vec<String>,
    /// Files for `LOAD CSV`: names and contents.
    files: Vec<(String, String)>,
}

/// A way to ask the statement of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By itself, on the thread that asks.
    OneThread,
    /// By itself, with threads that share the work as soon as there are a few rows.
    Threads,
    /// In a transaction that has written a node before, with a label that no case uses.
    InTransaction,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::OneThread, Self::Threads, Self::InTransaction];
    /// Rows that a thread takes at once: few, so that small graphs are shared out too.
    const MORSEL: NonZeroUsize = NonZeroUsize::new(3).unwrap();

    fn workers(self) -> Workers {
        match self {
            Self::Threads => Workers::new(4).with_morsels_of(Self::MORSEL),
            Self::OneThread | Self::InTransaction => Workers::new(1),
        }
    }
}

/// Statements of a script.
fn statements(lines: &[&str]) -> Vec<String> {
    let text = lines.join("\n");
    let parts = text.split(";\n").map(|part| part.trim().trim_end_matches(';').to_owned());
    parts.filter(|part| !part.is_empty()).collect()
}

fn from_json(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Null,
        Json::Bool(b) => Value::Bool(*b),
        Json::Number(n) => {
            n.as_i64().map_or_else(|| Value::Float(n.as_f64().unwrap_or(f64::NAN)), Value::Int)
        }
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::list(items.iter().map(from_json)),
        Json::Object(entries) => Value::Map(Arc::new(map(entries))),
    }
}

fn map(entries: &serde_json::Map<String, serde_json::Value>) -> ValueMap {
    entries.iter().map(|(key, value)| (Arc::from(key.as_str()), from_json(value))).collect()
}

/// Files `*.test` in a folder and in the folders below it, in the order of their paths.
///
/// # Panics
/// If a folder cannot be read.
#[must_use]
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("INVARIANT: the folder was just opened").path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "test") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Cases of a text, but those that need a server.
///
/// # Panics
/// If the parameters of a case are not JSON.
#[must_use]
pub fn read(text: &str) -> Vec<Case> {
    let (mut cases, mut graph, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for block in text.split("\n== ").skip(1) {
        let (title, body) = block.split_once('\n').unwrap_or((block, ""));
        let lines: Vec<&str> = body.lines().collect();
        if title.starts_with("graph") {
            graph = statements(&lines);
        } else if let Some(name) = title.strip_prefix("file ") {
            let content = body.trim_end_matches('\n');
            let end = if content.is_empty() { "" } else { "\n" };
            files.push((name.to_owned(), format!("{content}{end}")));
        } else if !title.ends_with("(server)") {
            cases.push(case(title, &lines, &graph, &files));
        }
    }
    cases
}

fn case(title: &str, lines: &[&str], graph: &[String], files: &[(String, String)]) -> Case {
    let mut parts = lines.split(|line| line.starts_with("----"));
    let script = parts.next().unwrap_or_default();
    // The answer of Telar, where there is one, stands below that of Neo4j.
    let answer = parts.next_back().unwrap_or_default();
    let json = script.iter().find_map(|line| line.strip_prefix("$$ "));
    let json =
        json.map(|json| serde_json::from_str(json).unwrap_or_else(|e| panic!("{title}: {e}")));
    let script: Vec<&str> =
        script.iter().copied().filter(|line| !line.starts_with("$$ ")).collect();
    let mut before = statements(&script);
    let statement = before.pop().unwrap_or_default();
    Case {
        title: title.to_owned(),
        parameters: json.as_ref().map(map).unwrap_or_default(),
        statement,
        answer: answer.iter().filter(|line| !line.is_empty()).map(|&l| l.into()).collect(),
        ordered: lines.contains(&"---- in order"),
        before: [graph, &before].concat(),
        files: files.to_vec(),
    }
}

impl Case {
    /// True if it may be asked this way.
    #[must_use]
    pub fn allows(&self, way: Way) -> bool {
        way != Way::InTransaction || !self.title.ends_with("(alone)")
    }

    /// Database with the graph of the case, and the statement that failed if one did.
    fn database(&self) -> Result<Database, String> {
        let db = telar_db::open_in_memory().map_err(|e| e.to_string())?;
        let session = Session::new(&db);
        for statement in &self.before {
            let done = session.run_with(statement, &self.parameters);
            done.map_err(|e| format!("{}\n{statement}\n{e}", self.title))?;
        }
        drop(session);
        Ok(db)
    }

    /// Operators in the plan of its statement, for the graph of the case.
    ///
    /// # Errors
    /// A text that says why there is no plan.
    pub fn operators(&self) -> Result<Vec<&'static str>, String> {
        let db = self.database()?;
        let session = Session::new(&db);
        let snapshot = db.snapshot().map_err(|e| e.to_string())?;
        let plan = prepare(&self.statement, &snapshot, session.runtime().procedures());
        let plan = plan.map_err(|e| format!("{}\n{}\n{e}", self.title, self.statement))?;
        Ok(plan.operators().into_iter().collect())
    }

    /// Difference between the expected answer and that of Telar, if there is one.
    #[must_use]
    pub fn difference(&self, way: Way) -> Option<String> {
        let answer = match self.ask(way) {
            Ok(answer) => answer,
            Err(problem) => return Some(problem),
        };
        let found = shown(&answer, self.ordered);
        if found == self.answer {
            return None;
        }
        let lines = |lines: &[String]| format!("    {}\n", lines.join("\n    "));
        let error = answer.err().map(|e| format!("    {e}\n")).unwrap_or_default();
        Some(format!(
            "{} ({way:?})\n{}\nexpected:\n{}found:\n{}{error}",
            self.title,
            self.statement,
            lines(&self.answer),
            lines(&found)
        ))
    }

    /// Answer of Telar, on a graph of its own.
    fn ask(&self, way: Way) -> Result<Result<QueryResult, QueryError>, String> {
        let db = self.database()?;
        let folder = self.folder().map_err(|e| e.to_string())?;
        let import_folder = folder.as_ref().map(|folder| folder.path().to_owned());
        let session = Session::new(&db)
            .with_workers(Arc::new(way.workers()))
            .with_limits(Limits { import_folder, ..Limits::default() });
        if way != Way::InTransaction {
            return Ok(session.run_with(&self.statement, &self.parameters));
        }
        let mut transaction = session.begin().map_err(|e| e.to_string())?;
        let written = transaction.run("CREATE (:OfNoCase)", &ValueMap::default());
        written.map_err(|e| e.to_string())?;
        let answer = transaction.run(&self.statement, &self.parameters);
        Ok(answer.and_then(|result| transaction.commit().map(|_| result)))
    }

    /// Folder with the files of the case, if it has any.
    fn folder(&self) -> std::io::Result<Option<TempDir>> {
        if self.files.is_empty() {
            return Ok(None);
        }
        let folder = tempfile::tempdir()?;
        for (name, content) in &self.files {
            std::fs::write(folder.path().join(name), content)?;
        }
        Ok(Some(folder))
    }
}

/// Side effects as the files have them, if there are any.
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

/// Answer as the files have it.
fn shown(answer: &Result<QueryResult, QueryError>, ordered: bool) -> Vec<String> {
    let result = match answer {
        Ok(result) => result,
        Err(error) => return vec![format!("error {}", error.code())],
    };
    let mut lines = Vec::new();
    if !result.columns.is_empty() {
        let value = |v: &Value| to_tck(v, &result.entities).map_or_else(|e| e, |v| v.to_string());
        let row = |row: &Vec<Value>| {
            row.iter().map(value).collect::<Vec<_>>().join(" | ").replace('\n', "\\n")
        };
        let mut rows: Vec<String> = result.rows.iter().map(row).collect();
        if !ordered {
            rows.sort();
        }
        lines.push(result.columns.join(" | "));
        lines.extend(rows);
    }
    lines.extend(counted(&result.counters));
    lines
}
