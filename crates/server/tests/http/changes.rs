//! What is committed, as it comes.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use telar_db::{Retention, Settings as Engine};
use telar_server::dbms::{DbmsSettings, Security};
use telar_server::http::Settings;

use crate::common::TestServer;

const CHANGES: &str = "/db/telar/changes";

fn server() -> (TestServer, tempfile::TempDir) {
    let heartbeat = Duration::from_millis(300);
    server_with(Settings { heartbeat, ..Settings::default() })
}

fn server_with(settings: Settings) -> (TestServer, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut engine = Engine::default();
    engine.retain = Retention::commits(1000);
    let security = Security { enabled: false, ..Security::default() };
    let dbms = DbmsSettings { engine, security, ..DbmsSettings::default() };
    (TestServer::of(Some(&folder.path().join("db")), dbms, settings), folder)
}

fn lines(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_commit_is_a_line_with_names() {
    let (server, _folder) = server();
    server.rows("CREATE (a:Person {name: 'Ada'})-[:KNOWS {since: date('2026-01-01')}]->(:Person)");
    server.rows("MATCH (p {name: 'Ada'}) SET p.name = null, p:Old");
    server.rows("MATCH (p) DETACH DELETE p");
    let answer = server.get(&format!("{CHANGES}?from=0&follow=false"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/jsonl")));
    let lines = answer.lines();
    let ts: Vec<u64> = lines.iter().map(|line| line["commit"].as_u64().unwrap()).collect();
    assert!(ts.iter().enumerate().all(|(at, ts)| *ts == at as u64 + 1), "{ts:?}");
    let changes: Vec<&Value> =
        lines.iter().flat_map(|line| line["changes"].as_array().unwrap()).collect();
    let find =
        |wanted: Value| assert!(changes.contains(&&wanted), "{wanted} is not in {changes:?}");
    find(json!({ "event": "labelMade", "name": "Person" }));
    find(json!({ "event": "nodeCreated", "node": "n:0", "labels": ["Person"] }));
    find(json!({ "event": "nodePropertySet", "node": "n:0", "key": "name", "value": "Ada" }));
    find(json!({ "event": "nodePropertySet", "node": "n:0", "key": "name", "value": null }));
    find(json!({
        "event": "relationshipPropertySet", "relationship": "r:0:0:1:1", "key": "since",
        "value": "2026-01-01",
    }));
    find(json!({ "event": "labelsSet", "node": "n:0", "labels": ["Person", "Old"] }));
    find(json!({ "event": "nodeDeleted", "node": "n:1" }));
    let last = ts.last().unwrap();
    let rest = server.get(&format!("{CHANGES}?from={}&follow=false", last - 1));
    assert_eq!(rest.lines().len(), 1);
}

#[test]
fn a_follower_gets_commits_as_they_come_and_heartbeats_between() {
    let (server, _folder) = server();
    let mut connection = server.connect();
    connection.request("GET", CHANGES, &[], "");
    assert_eq!(connection.head().unwrap().0, 200);
    let first = lines(&connection.chunk().unwrap());
    assert_eq!(first[0]["position"], 0);
    server.rows("CREATE (:A)");
    let mut seen = Vec::new();
    while !seen.iter().any(|line: &Value| line.to_string().contains("nodeCreated")) {
        seen.extend(lines(&connection.chunk().unwrap()));
    }
    let position = loop {
        let next = lines(&connection.chunk().unwrap());
        if let Some(position) = next.iter().find_map(|line| line["position"].as_u64()) {
            break position;
        }
    };
    assert_eq!(position, seen.last().unwrap()["commit"].as_u64().unwrap());
}

#[test]
fn a_stream_ends_when_its_reader_goes_and_when_the_server_does() {
    let settings = Settings { statements_max: 1, ..Settings::default() };
    let (mut server, _folder) = server_with(settings);
    let mut connection = server.connect();
    connection.request("GET", CHANGES, &[], "");
    assert_eq!(connection.head().unwrap().0, 200);
    let other = server.get(CHANGES);
    assert_eq!(other.status, 429);
    drop(connection);
    let mut connection = loop {
        let mut connection = server.connect();
        connection.request("GET", CHANGES, &[], "");
        if connection.head().unwrap().0 == 200 {
            break connection;
        }
        thread::sleep(Duration::from_millis(50));
    };
    server.server.stop(Duration::from_secs(10));
    while !connection.chunk().expect("the end of the body").is_empty() {}
}

#[test]
fn what_is_not_retained_or_makes_no_sense_is_refused() {
    let (server, _folder) = server();
    let cases = [
        ("?from=99", 410),
        ("?from=-1", 400),
        ("?from=x", 400),
        ("?since=1", 400),
        ("?follow=perhaps", 400),
    ];
    for (query, status) in cases {
        let answer = server.get(&format!("{CHANGES}{query}"));
        assert_eq!(answer.status, status, "{query}: {}", answer.text());
        assert_eq!(answer.code(), "Neo.ClientError.Request.Invalid", "{query}");
    }
    assert_eq!(server.get("/db/none/changes").status, 404);
    let answer = server.ask("GET", CHANGES, &["Accept: text/csv"], "");
    assert_eq!(answer.status, 406);
}

/// New names in every statement, and followers beside them: no change is told without its names, by
/// the stream or by `telar.changes`.
#[test]
fn followers_are_told_every_name() {
    const ROUNDS: usize = 60;
    let (server, _folder) = server();
    let check = |changes: &[Value]| {
        for change in changes {
            let named = |field: &str| {
                let value = change.get(field);
                value.is_none_or(|value| !value.is_null())
            };
            assert!(named("key") && named("type"), "{change}");
            if let Some(labels) = change["labels"].as_array() {
                assert_eq!(labels.len(), 1, "{change}");
            }
        }
        changes.iter().filter(|change| change["event"] == "relationshipCreated").count()
    };
    thread::scope(|scope| {
        for _ in 0..3 {
            let mut connection = server.connect();
            connection.request("GET", &format!("{CHANGES}?from=0"), &[], "");
            assert_eq!(connection.head().unwrap().0, 200);
            scope.spawn(move || {
                let (mut text, mut created) = (Vec::new(), 0);
                while created < ROUNDS {
                    text.extend(connection.chunk().unwrap());
                    let whole = text.iter().rposition(|b| *b == b'\n').map_or(0, |end| end + 1);
                    for line in lines(&text.drain(..whole).collect::<Vec<u8>>()) {
                        let changes = line["changes"].as_array();
                        created += changes.map_or(0, |changes| check(changes));
                    }
                }
            });
        }
        for n in 0..ROUNDS {
            server.rows(&format!("CREATE (:L{n} {{k{n}: 1}})-[:T{n} {{w{n}: 2}}]->(:M{n})"));
        }
    });
    let rows = server.rows("CALL telar.changes(0, 10000) YIELD changes RETURN changes");
    let rows = rows.as_array().unwrap();
    let all: usize = rows.iter().map(|row| check(row[0].as_array().unwrap())).sum();
    assert_eq!(all, ROUNDS);
}
