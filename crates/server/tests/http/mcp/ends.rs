//! Calls that are ended: by their client, by a command, with their database, with the server.

use std::time::Duration;

use serde_json::{Value, json};

use super::{Agent, LONG, PASSWORD, Served, basic, code, query, request};
use crate::common::{Answer, Connection};

/// Counts statements of agents.
const AGENTS: &str = "SHOW TRANSACTIONS YIELD protocol WHERE protocol = 'http+mcp' RETURN count(*)";

fn text(answer: &Answer) -> String {
    answer.json()["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned()
}

/// A call that tells its progress, as events.
pub(super) fn with_progress(text: &str) -> Value {
    let mut call = query(7, text);
    call["params"]["_meta"] = json!({ "progressToken": 5 });
    call
}

/// Waits for the first event of a stream.
pub(super) fn first_event(stream: &mut Connection) -> String {
    let (status, headers) = stream.head().unwrap();
    assert_eq!(status, 200);
    let events = ("content-type".to_owned(), "text/event-stream".to_owned());
    assert!(headers.contains(&events), "{headers:?}");
    String::from_utf8(stream.chunk().unwrap()).unwrap()
}

#[test]
fn a_terminated_call_says_so_and_its_session_goes_on() {
    let server = Served::writable();
    server.user("ann", Some("writer"));
    let agent = server.agent("ann", "/mcp");
    for tool in ["read_query", "write_query"] {
        let arguments = json!({ "name": tool, "arguments": { "query": LONG } });
        let mut running = agent.begin(&request(3, "tools/call", &arguments));
        let id = server.await_transaction("ann");
        server.run("telar", &format!("TERMINATE TRANSACTION '{id}'"));
        let answer = running.answer();
        assert_eq!(answer.json()["result"]["isError"], true, "{}", answer.text());
        let said = text(&answer);
        assert!(said.contains("Neo.TransientError.Transaction.Terminated"), "{said}");
        assert_eq!(agent.rows("RETURN 1"), json!([[1]]));
    }
}

#[test]
fn a_client_cancels_its_own_calls_only() {
    let server = Served::new(|_| {});
    ["ann", "bob"].into_iter().for_each(|user| server.user(user, Some("reader")));
    let agent = server.agent("ann", "/mcp");
    let mut running = agent.begin(&query(9, LONG));
    server.await_transaction("ann");
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": 9 } });
    assert_eq!(server.agent("ann", "/mcp").send(&cancel).status, 202);
    let thief = Agent {
        login: basic("bob", PASSWORD),
        session: agent.session.clone(),
        ..server.agent("bob", "/mcp")
    };
    assert_eq!(thief.send(&cancel).status, 404);
    // The call of its own session has the same id, and is another one.
    server.await_transaction("ann");
    assert_eq!(agent.send(&cancel).status, 202);
    let cancelled = running.answer();
    assert_eq!((cancelled.status, cancelled.text()), (202, ""));
}

#[test]
fn the_end_of_a_session_ends_what_runs_in_it() {
    let server = Served::new(|_| {});
    let agent = server.agent("neo4j", "/mcp");
    let mut running = agent.begin(&query(9, LONG));
    server.await_transaction("neo4j");
    assert_eq!(agent.delete(), 204);
    let ended = running.answer();
    assert_eq!((ended.status, ended.text()), (202, ""));
    wait_until_idle(&server);
}

#[test]
fn a_session_that_makes_room_ends_what_runs_in_it() {
    let server = Served::new(|mcp| mcp.sessions_max = 1);
    let agent = server.agent("neo4j", "/mcp");
    let mut running = agent.begin(&query(9, LONG));
    server.await_transaction("neo4j");
    let next = server.agent("neo4j", "/mcp");
    assert_eq!(running.answer().status, 202);
    assert_eq!(next.rows("RETURN 1"), json!([[1]]));
}

#[test]
fn a_dropped_database_ends_its_calls_and_is_not_found() {
    let server = Served::new(|_| {});
    server.run("system", "CREATE DATABASE shop");
    let agent = server.agent("neo4j", "/db/shop/mcp");
    let mut running = agent.begin(&query(9, LONG));
    server.await_transaction("neo4j");
    server.run("system", "DROP DATABASE shop");
    let answer = running.answer();
    assert_eq!(answer.json()["result"]["isError"], true, "{}", answer.text());
    let gone = agent.send(&query(1, "RETURN 1"));
    assert_eq!(code(&gone), (404, "Neo.ClientError.Database.DatabaseNotFound".to_owned()));
    assert_eq!(agent.delete(), 404);
}

#[test]
fn a_stream_ends_with_the_server() {
    let mut server = Served::new(|_| {});
    let mut streams: Vec<Connection> = {
        let agent = server.agent("neo4j", "/mcp");
        (0..2)
            .map(|_| server.agent("neo4j", "/mcp").begin(&with_progress(LONG)))
            .chain([agent.begin(&query(9, LONG))])
            .collect()
    };
    let event = first_event(&mut streams[0]);
    assert!(event.contains("notifications/progress"), "{event}");
    server.0.server.stop(Duration::ZERO);
    for stream in &mut streams {
        assert!(stream.is_at_its_end(Duration::from_secs(60)));
    }
}

#[test]
fn calls_take_places_of_statements() {
    // One user may have three quarters of them.
    let server = Served::crowded(4);
    server.user("ann", Some("reader"));
    let agent = server.agent("ann", "/mcp");
    let running: Vec<Connection> = (0..3).map(|id| agent.begin(&query(id, LONG))).collect();
    while server.run("telar", AGENTS) != json!([[3]]) {
        std::thread::sleep(Duration::from_millis(20));
    }
    let refused = agent.send(&query(1000, "RETURN 1"));
    let full = "Neo.TransientError.Request.NoThreadsAvailable".to_owned();
    assert_eq!(code(&refused), (429, full), "{}", refused.text());
    assert!(refused.header("retry-after").is_some());
    assert!(refused.text().contains("http.statements"), "{}", refused.text());
    // Whoever has them all can still give some back.
    assert_eq!(agent.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(agent.delete(), 204);
    drop(running);
    wait_until_idle(&server);
    assert_eq!(server.agent("ann", "/mcp").rows("RETURN 1"), json!([[1]]));
}

/// Waits until no statement of an agent runs.
fn wait_until_idle(server: &Served) {
    while server.run("telar", AGENTS) != json!([[0]]) {
        std::thread::sleep(Duration::from_millis(20));
    }
}
