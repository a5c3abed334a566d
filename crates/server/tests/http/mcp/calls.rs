//! Calls as their users meet them: every tool, the past, limits, logs.

use std::time::Duration;

use serde_json::{Value, json};

use super::ends::{first_event, with_progress};
use super::{LONG, Served, basic};

#[test]
fn every_tool_works_on_a_database_of_the_server() {
    let server = Served::writable();
    let agent = server.agent("neo4j", "/mcp");
    let made = agent.write(
        "CREATE (a:Person {name: 'Ada', e: [1.0, 0.0]})-[:KNOWS {since: 1833, note: 'engine'}]->\
         (b:Person {name: 'Bob', e: [0.0, 1.0]})",
    );
    for index in [
        "CREATE FULLTEXT INDEX people FOR (p:Person) ON EACH [p.name]",
        "CREATE FULLTEXT INDEX notes FOR ()-[k:KNOWS]-() ON EACH [k.note]",
        "CREATE VECTOR INDEX near FOR (p:Person) ON (p.e) \
         OPTIONS {indexConfig: {`vector.dimensions`: 2, `vector.similarity_function`: 'cosine'}}",
    ] {
        agent.write(index);
    }
    let schema = agent.tool("schema", json!({}));
    assert_eq!(
        (&schema["nodes"][0]["label"], &schema["nodes"][0]["count"]),
        (&json!("Person"), &json!(2))
    );
    assert_eq!(schema["relationships"][0]["patterns"][0]["from"], json!(["Person"]));
    assert_eq!(schema["indexes"].as_array().unwrap().len(), 3, "{schema}");

    let first = |arguments: Value| agent.tool("search", arguments)["hits"][0].clone();
    assert_eq!(first(json!({ "query": "bob" }))["node"]["properties"]["name"], "Bob");
    assert_eq!(
        first(json!({ "query": "engine", "relationships": true }))["relationship"]["type"],
        "KNOWS"
    );
    let near = json!({ "vector": [0.9, 0.1], "vector_index": "near" });
    assert_eq!(first(near)["node"]["properties"]["name"], "Ada");
    let both = json!({ "query": "ada", "vector": [1.0, 0.0], "hops": 1 });
    let found = agent.tool("search", both);
    assert_eq!(found["hits"][0]["node"]["properties"]["name"], "Ada");
    assert_eq!(found["neighbourhood"]["relationships"].as_array().unwrap().len(), 1);
    let id = &found["hits"][0]["node"]["id"];
    let around = agent.tool("neighbourhood", json!({ "id": id }));
    assert_eq!(around["nodes"][1]["properties"]["name"], "Bob");

    // The past, by commit and as the language has it, and what came since.
    agent.write("MATCH (p:Person {name: 'Bob'}) SET p.name = 'Robert'");
    let names = "MATCH (p:Person) RETURN p.name AS name ORDER BY name";
    assert_eq!(agent.rows(names), json!([["Ada"], ["Robert"]]));
    let then = agent.tool("read_query", json!({ "query": names, "at": made }));
    assert_eq!((&then["rows"], &then["at"]), (&json!([["Ada"], ["Bob"]]), &json!(made)));
    assert_eq!(agent.rows(&format!("AT TIMESTAMP {made} {names}")), json!([["Ada"], ["Bob"]]));
    let found = agent.tool("search", json!({ "query": "bob", "at": made + 1 }));
    assert_eq!(found["hits"].as_array().unwrap().len(), 1, "{found}");
    let misplaced = agent.refused("read_query", json!({ "query": "RETURN\n foo", "at": made }));
    assert!(misplaced.contains("(line 2, column 2)"), "{misplaced}");
    let changes = agent.tool("changes", json!({ "after": made }));
    let last = changes["commits"].as_array().unwrap().last().unwrap();
    assert_eq!(last["changes"][0]["value"], "Robert", "{changes}");
    assert!(agent.tool("changes", json!({}))["cursor"].as_i64().unwrap() > made);

    let resource = agent.ask("resources/read", &json!({ "uri": "telar://schema" }));
    let text = resource["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("Person"), "{text}");
}

#[test]
fn a_call_reads_one_state_and_says_which() {
    let server = Served::writable();
    let agent = server.agent("neo4j", "/mcp");
    let made = agent.write("CREATE (:Tea)");
    let read = agent.tool("read_query", json!({ "query": "MATCH (t:Tea) RETURN count(t)" }));
    assert_eq!((&read["rows"], &read["at"]), (&json!([[1]]), &json!(made)));
    // A statement that fails has changed nothing.
    let failing = "CREATE (:Tea) WITH 1 AS one UNWIND [1, 0] AS x RETURN one / x";
    let said = agent.refused("write_query", json!({ "query": failing }));
    assert!(said.contains("zero"), "{said}");
    // Statements that run outside of transactions only, too.
    let batches =
        "UNWIND range(1, 4) AS i CALL (i) { CREATE (:Cup {i: i}) } IN TRANSACTIONS OF 2 ROWS";
    agent.write(batches);
    assert_eq!(
        agent.rows("MATCH (n) RETURN labels(n)[0] AS label, count(n) ORDER BY label"),
        json!([["Cup", 4], ["Tea", 1]])
    );
}

#[test]
fn limits_are_those_of_the_settings() {
    let server = Served::new(|mcp| mcp.timeout = Duration::from_millis(50));
    let agent = server.agent("neo4j", "/mcp");
    let said = agent.refused("read_query", json!({ "query": LONG }));
    assert!(said.contains("mcp.timeout"), "{said}");
    let server = Served::new(|mcp| (mcp.rows_max, mcp.chars_max) = (3, 1000));
    let agent = server.agent("neo4j", "/mcp");
    let cut = agent.tool("read_query", json!({ "query": "UNWIND range(1, 9) AS x RETURN x" }));
    assert_eq!((&cut["rows"], cut["truncated"].is_string()), (&json!([[1], [2], [3]]), true));

    // Limits of the server go before.
    let mut dbms = Served::dbms_settings();
    dbms.limits.timeout = Some(Duration::from_millis(50));
    dbms.limits.memory = Some(1 << 20);
    let server = Served::of(None, dbms, |_| {});
    let agent = server.agent("neo4j", "/mcp");
    let said = agent.refused("read_query", json!({ "query": LONG }));
    assert!(said.contains("limits.statement_timeout"), "{said}");
    let collected = "UNWIND range(1, 300000) AS x RETURN size(collect(x))";
    let said = agent.refused("read_query", json!({ "query": collected }));
    assert!(said.contains("limits.statement_memory") || said.contains("timeout"), "{said}");
}

#[test]
fn logins_and_statements_are_told_of_as_others_are() {
    let folder = tempfile::tempdir().unwrap();
    let server =
        Served::of(Some(&folder.path().join("graph.telar")), Served::dbms_settings(), |_| {});
    server.user("ann", Some("reader"));
    let agent = server.agent("ann", "/mcp");
    agent.rows("RETURN 1");
    agent.rows("RETURN 2");
    server.initialize("/mcp", &[&basic("ann", "wrong")]);
    let log = find(folder.path(), "audit.log").unwrap();
    let lines = std::fs::read_to_string(log).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of_ann: Vec<(&Value, &Value)> = lines
        .iter()
        .filter(|line| line["user"] == "ann" && line["protocol"] == "http+mcp")
        .map(|line| (&line["event"], &line["outcome"]))
        .collect();
    let unauthorized = json!("Neo.ClientError.Security.Unauthorized");
    assert_eq!(of_ann, [(&json!("login"), &json!("ok")), (&json!("login"), &unauthorized)]);
}

/// A file of this name, wherever it is.
fn find(folder: &std::path::Path, name: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = |path: std::path::PathBuf| match path.is_dir() {
        true => find(&path, name),
        false => path.ends_with(name).then_some(path),
    };
    entries.into_iter().find_map(found)
}

#[test]
fn progress_and_the_answer_are_events() {
    let server = Served::new(|_| {});
    let agent = server.agent("neo4j", "/mcp");
    let mut running = agent.begin(&with_progress(LONG));
    assert_eq!(message(&first_event(&mut running))["params"]["progressToken"], 5);
    let id = server.await_transaction("neo4j");
    server.run("telar", &format!("TERMINATE TRANSACTION '{id}'"));
    let last = loop {
        let event = String::from_utf8(running.chunk().unwrap()).unwrap();
        match message(&event) {
            progress if progress["params"]["progressToken"] == 5 => {}
            last => break last,
        }
    };
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(true)));
    assert!(running.chunk().unwrap().is_empty(), "the last event");
}

#[test]
fn the_answer_of_a_call_that_takes_too_long_is_an_event() {
    let server = Served::new(|mcp| mcp.timeout = Duration::from_millis(50));
    let agent = server.agent("neo4j", "/mcp");
    let answer = agent.send(&with_progress(LONG));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert!(answer.complete);
    let last = answer.text().lines().rfind(|line| line.starts_with("data: ")).unwrap();
    let last = message(last);
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(true)));
    let said = last["result"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("mcp.timeout"), "{said}");
}

/// The message of an event.
fn message(event: &str) -> Value {
    let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    serde_json::from_str(data).unwrap()
}
