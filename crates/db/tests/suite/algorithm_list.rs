//! Every algorithm as a procedure: rows worked out by hand, modes, refused settings, transactions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::algorithm_cases;

use std::collections::BTreeMap;
use std::time::Duration;

use algorithm_cases::{CASES, Case, GRAPH};
use telar_db::query::{ErrorKind, Limits, QueryError};
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

type Rows = Vec<Vec<Value>>;

/// A graph in a database, with the ids of its nodes by name.
struct Fixture {
    db: Database,
    names: BTreeMap<u64, String>,
}

impl Fixture {
    /// [`GRAPH`], in which number 0 is not a node.
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.retain = Retention::commits(1000);
        let db = Database::in_memory(settings).unwrap();
        let session = Session::new(&db);
        session.run("CREATE (:Hole)", &[]).unwrap();
        session.run(GRAPH, &[]).unwrap();
        session.run("MATCH (h:Hole) DELETE h", &[]).unwrap();
        let mut names = BTreeMap::new();
        for row in session.run("MATCH (n) RETURN n, n.name", &[]).unwrap().rows {
            let [Value::Vertex(node), Value::String(name)] = &*row else { panic!("{row:?}") };
            names.insert(node.get(), name.to_string());
        }
        assert!(!names.contains_key(&0));
        Self { db, names }
    }

    fn session(&self) -> Session {
        Session::new(&self.db)
    }

    /// Nodes by their names, as parameters.
    fn nodes(&self) -> Vec<(&str, Value)> {
        let node = |(id, name): (&u64, _)| (name, Value::Vertex(telar_db::VertexId::from_raw(*id)));
        self.names.iter().map(|(id, name)| node((id, name.as_str()))).collect()
    }

    fn call(&self, session: &Session, text: &str) -> Result<Rows, QueryError> {
        session.run(text, &self.nodes()).map(|result| result.rows)
    }

    fn rows(&self, session: &Session, text: &str) -> Rows {
        self.call(session, text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    /// Rows as texts, sorted. Paths are those along the nodes beside them.
    fn texts(&self, rows: &[Vec<Value>]) -> Vec<String> {
        let line = |row: &Vec<Value>| {
            let mut texts = Vec::new();
            for value in row {
                if let Value::Path(path) = value {
                    let nodes = Value::list(path.vertices().iter().copied().map(Value::Vertex));
                    assert!(row.contains(&nodes), "{row:?}");
                } else {
                    texts.push(self.text(value));
                }
            }
            texts.join(" ")
        };
        let mut lines: Vec<String> = rows.iter().map(line).collect();
        lines.sort();
        lines
    }

    fn text(&self, value: &Value) -> String {
        match value {
            Value::Vertex(node) => self.names[&node.get()].clone(),
            Value::Edge(edge) => {
                format!("{}{}", self.names[&edge.src.get()], self.names[&edge.dst.get()])
            }
            // Ends of floats differ with the order of sums.
            Value::Float(number) => format!("{:.3}", number + 0.0),
            Value::Int(number) => number.to_string(),
            Value::Bool(flag) => flag.to_string(),
            Value::Null => "null".into(),
            Value::String(text) => text.to_string(),
            Value::List(list) => {
                let list: Vec<String> = list.iter().map(|value| self.text(value)).collect();
                format!("[{}]", list.join(","))
            }
            other => panic!("{other:?}"),
        }
    }
}

const CHOSEN: &str = "nodes: 'P', relationships: 'K', weight: 'w', defaultWeight: 4";

fn call(case: &Case, mode: &str, more: &str) -> String {
    let comma = if more.is_empty() || case.settings.is_empty() { "" } else { ", " };
    let settings = case.settings.replace("; ", ", ");
    format!("CALL algo.{}{mode}({{{CHOSEN}}}, {{{settings}{comma}{more}}})", case.name)
}

fn names_of_algorithms(session: &Session) -> Vec<String> {
    let text = "CALL algo.list('algo.') YIELD name WHERE name ENDS WITH '.estimate' RETURN name";
    let name = |row: &Vec<Value>| match &row[0] {
        Value::String(name) => {
            name.trim_start_matches("algo.").trim_end_matches(".estimate").to_owned()
        }
        other => panic!("{other:?}"),
    };
    session.run(text, &[]).unwrap().rows.iter().map(name).collect()
}

#[test]
fn every_algorithm_has_a_case() {
    let fixture = Fixture::new();
    let mut listed = names_of_algorithms(&fixture.session());
    let mut cases: Vec<String> = CASES.iter().map(|case| case.name.to_owned()).collect();
    listed.sort();
    cases.sort();
    assert_eq!(listed, cases);
}

#[test]
fn rows_are_those_worked_out_by_hand() {
    let fixture = Fixture::new();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for case in CASES {
        let text = call(case, "", "");
        let found = fixture.texts(&fixture.rows(&session, &text));
        let mut expected: Vec<&str> = case.rows.to_vec();
        expected.sort_unstable();
        if found != expected {
            wrong.push(format!("{text}\n  found    {found:?}\n  expected {expected:?}"));
        }
        // On one thread, and as Neo4j's library numbers nodes, there are as many rows.
        let one = fixture.rows(&session, &call(case, ".stream", "concurrency: 1"));
        assert_eq!(fixture.texts(&one), found, "{text}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modes_tell_figures_and_write_what_rows_hold() {
    let fixture = Fixture::new();
    let session = fixture.session();
    let mut wrong = Vec::new();
    for case in CASES {
        let rows = fixture.rows(&session, &call(case, "", ""));
        let text = call(case, ".stats", "");
        let stats = session.run(&text, &fixture.nodes()).unwrap();
        assert_eq!(stats.rows.len(), 1, "{text}");
        assert_eq!(stats.rows[0][..2], [Value::Int(4), Value::Int(case.edges)], "{text}");
        let figures: Vec<(&str, String)> = stats.columns[5..]
            .iter()
            .zip(&stats.rows[0][5..])
            .map(|(name, value)| (&**name, fixture.text(value)))
            .collect();
        let expected: Vec<(&str, String)> =
            case.figures.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        if figures != expected {
            wrong.push(format!("{text}\n  found    {figures:?}\n  expected {expected:?}"));
        }
        let estimate = fixture.rows(&session, &call(case, ".estimate", ""));
        assert!(matches!(estimate[0][3], Value::Int(bytes) if bytes > 0), "{text}");
        let mut transaction = session.begin().unwrap();
        let parameters: ValueMap =
            fixture.nodes().into_iter().map(|(name, node)| (name.into(), node)).collect();
        let more = "writeProperty: 'written', writeRelationshipType: 'WRITTEN'";
        let done = transaction.run(&call(case, ".write", more), &parameters);
        match case.written {
            None => assert_eq!(done.unwrap_err().kind, ErrorKind::Argument, "{}", case.name),
            Some(expected) => {
                let done = done.unwrap_or_else(|error| panic!("{}: {error}", case.name));
                // Rows are the marked nodes, values are written to all.
                let written = if case.marks { 4 } else { rows.len() };
                assert_eq!(done.rows[0][0], Value::Int(written as i64), "{}", case.name);
                let read = "MATCH (n) WHERE n.written IS NOT NULL RETURN n.name, n.written \
                            UNION ALL MATCH (n)-[r:WRITTEN]->(m) \
                            RETURN n.name + m.name AS `n.name`, r.written AS `n.written`";
                let found = transaction.run(read, &parameters).unwrap().rows;
                let found = fixture.texts(&found).join(", ");
                if found != expected {
                    wrong.push(format!("{}: wrote {found}, not {expected}", case.name));
                }
            }
        }
        transaction.rollback();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn transactions_see_their_own_changes_and_the_past_is_as_it_was() {
    let fixture = Fixture::new();
    let session = fixture.session();
    let at = session.run("RETURN 1", &[]).unwrap().at;
    let mut alone = Vec::new();
    for case in CASES {
        alone.push(fixture.texts(&fixture.rows(&session, &call(case, "", ""))));
    }
    let parameters: ValueMap =
        fixture.nodes().into_iter().map(|(name, node)| (name.into(), node)).collect();
    let mut transaction = session.begin().unwrap();
    // The relationship out of the selection changes nothing; without the others, rows differ.
    transaction.run("MATCH (a:P), (x:Q) CREATE (a)-[:K]->(x)", &parameters).unwrap();
    for (case, before) in CASES.iter().zip(&alone) {
        let found = transaction.run(&call(case, "", ""), &parameters).unwrap().rows;
        assert_eq!(fixture.texts(&found), *before, "{}", case.name);
    }
    transaction.run("MATCH (:P)-[k:K]->(:P) DELETE k", &parameters).unwrap();
    for case in CASES {
        let size = call(case, ".stats", "");
        let size = transaction.run(&size, &parameters).unwrap().rows;
        assert_eq!(size[0][..2], [Value::Int(4), Value::Int(0)], "{}", case.name);
    }
    transaction.commit().unwrap();
    for (case, before) in CASES.iter().zip(&alone) {
        let past = format!("AT TIMESTAMP {at} {}", call(case, "", ""));
        assert_eq!(fixture.texts(&fixture.rows(&session, &past)), *before, "{}", case.name);
    }
}

#[test]
fn calls_stand_within_queries() {
    let fixture = Fixture::new();
    let session = fixture.session();
    for case in CASES {
        let result = session.run(&call(case, "", ""), &fixture.nodes()).unwrap();
        let (columns, rows) = (result.columns, result.rows.len() as i64);
        let (column, text) = (&columns[columns.len() - 1], call(case, "", ""));
        let count = |text: &str, expected: i64| {
            assert_eq!(fixture.rows(&session, text), [[Value::Int(expected)]], "{text}");
        };
        count(&format!("{text} YIELD {column} RETURN count(*)"), rows);
        let first = format!("{text} YIELD {column} AS c WITH c LIMIT 1 RETURN count(*)");
        count(&first, rows.min(1));
        let twice =
            format!("{text} YIELD {column} AS x {text} YIELD {column} AS y RETURN count(*)");
        count(&twice, rows * rows);
        count(&format!("MATCH (n:P) {text} YIELD {column} RETURN count(*)"), 4 * rows);
        let optional = format!("MATCH (x:Q) OPTIONAL {text} YIELD {column} RETURN count(*)");
        count(&optional, rows.max(1));
    }
    let text = "MATCH (n:P) CALL algo.bfs({relationships: 'K', nodes: 'P'}, {sourceNode: n}) \
                YIELD node, depth RETURN n.name, collect(node.name), max(depth)";
    let found = fixture.texts(&fixture.rows(&session, text));
    assert_eq!(found, ["a [a,b,c,d] 2", "b [b,c,d] 2", "c [c,d] 1", "d [d] 0"]);
}

#[test]
fn every_algorithm_runs_on_an_empty_graph_and_on_one_node() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for nodes in 0..2i64 {
        for case in CASES {
            let node = [("a", Value::Int(0)), ("d", Value::Int(0))];
            for mode in ["", ".stats", ".estimate"] {
                let set = case.settings.replace("; ", ", ");
                let text = format!("CALL algo.{}{mode}({{}}, {{{set}}})", case.name);
                match session.run(&text, &node) {
                    Ok(found) if mode == ".stats" => {
                        assert_eq!(found.rows[0][0], Value::Int(nodes), "{text}");
                    }
                    Ok(_) => {}
                    Err(error) => {
                        // Without nodes there is no source; both ends of a flow are one node.
                        assert_eq!(error.kind, ErrorKind::Argument, "{text}: {error}");
                        let allowed = nodes == 0 || case.name == "maxFlow";
                        assert!(allowed && case.settings.contains('$'), "{text}: {error}");
                    }
                }
            }
        }
        session.run("CREATE ({lat: 1.0, lon: 1.0, group: 1, vec: [1.0]})", &[]).unwrap();
    }
}

#[test]
fn missing_settings_are_named() {
    let fixture = Fixture::new();
    let session = fixture.session();
    for case in CASES {
        let text = format!("CALL algo.{}({{nodes: 'P', relationships: 'K'}})", case.name);
        match fixture.call(&session, &text) {
            Ok(_) => assert!(case.needs.is_empty(), "{text}"),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Argument, "{text}: {error}");
                assert!(!case.needs.is_empty(), "{text}: {error}");
                let (name, needs) = (format!("algo.{}", case.name), case.needs);
                assert!(
                    error.message.contains(&name) && error.message.contains(needs),
                    "{text}: {error}"
                );
            }
        }
    }
}

/// Names of an algorithm's own settings, from the error about one that it does not have.
fn settings(fixture: &Fixture, session: &Session, name: &str) -> Vec<String> {
    let text = format!("CALL algo.{name}({{}}, {{zzzzzzzzzzzz: 1}})");
    let error = fixture.call(session, &text).unwrap_err();
    let names = error.message.split("it has ").nth(1).unwrap_or_else(|| panic!("{error}"));
    names.split(", ").map(str::to_owned).collect()
}

#[test]
fn bad_settings_are_refused_or_work_and_nothing_panics() {
    const VALUES: [&str; 14] = [
        "-1",
        "0",
        "-0.5",
        "0.0/0.0",
        "1.0/0.0",
        "1e300",
        "4294967295",
        "9223372036854775807",
        "'zzz'",
        "true",
        "[]",
        "[[1]]",
        "{}",
        "date('2020-01-01')",
    ];
    let fixture = Fixture::new();
    // Instead of running for ever, a call would fail with an error of another kind.
    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    let session = fixture.session().with_limits(limits).with_timeout(Duration::from_secs(120));
    let mut wrong = Vec::new();
    for case in CASES {
        for name in settings(&fixture, &session, case.name) {
            for value in VALUES {
                if name == "maxIterations" && value == "4294967295" {
                    continue; // Labels that swing to and fro would do so for that many steps.
                }
                let mut set: Vec<String> = case
                    .settings
                    .split("; ")
                    .filter(|set| !set.is_empty() && !set.starts_with(&format!("{name}:")))
                    .map(str::to_owned)
                    .collect();
                set.push(format!("{name}: {value}"));
                let set = set.join(", ");
                for mode in ["", ".estimate"] {
                    let text = format!("CALL algo.{}{mode}({{{CHOSEN}}}, {{{set}}})", case.name);
                    let Err(error) = fixture.call(&session, &text) else { continue };
                    let known = [ErrorKind::Argument, ErrorKind::OutOfMemory];
                    let kind = error.kind;
                    // Settings are named as in Cypher; those of the server are not.
                    let message = error.message.split("limits.").next().unwrap_or_default();
                    let is_of_rust = message
                        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
                        .any(|word| word.contains('_') && word.contains(char::is_lowercase));
                    let is_named = message.contains(case.name) && !is_of_rust;
                    if !known.contains(&kind) || !is_named {
                        wrong.push(format!("{text}: {kind:?} {error}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nodes_outside_of_the_selection_are_refused_by_the_name_of_their_setting() {
    let fixture = Fixture::new();
    let session = fixture.session();
    for case in CASES {
        for setting in case.settings.split("; ").filter(|set| set.contains('$')) {
            let (name, _) = setting.split_once(':').unwrap();
            for outside in ["$x", "0", "99999999999"] {
                let set = case.settings.replace(setting, &format!("{name}: {outside}"));
                let set = set.replace("; ", ", ");
                let text = format!("CALL algo.{}({{{CHOSEN}}}, {{{set}}})", case.name);
                let error = fixture.call(&session, &text).expect_err(&text);
                assert_eq!(error.kind, ErrorKind::Argument, "{text}: {error}");
                assert!(error.message.contains(name), "{text}: {error}");
            }
        }
    }
}
