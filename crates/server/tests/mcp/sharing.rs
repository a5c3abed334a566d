//! A database that others use, too: another process, or a server.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::json;

use crate::client::{Client, telar_mcp};
use crate::process::Process;
use crate::serving::{PASSWORD, serve, telar};

#[test]
fn several_processes_use_one_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.telar");
    let arguments = ["--allow-writes", "--retain", "100"];
    let mut first = Client::start(&path, &arguments);
    let mut second = Client::start(&path, &arguments);
    let at = first.write("CREATE (:Tea {price: 3})");
    assert_eq!(second.rows("MATCH (t:Tea) RETURN t.price"), json!([[3]]));
    second.write("MATCH (t:Tea) SET t.price = 4");
    let past = json!({ "query": "MATCH (t:Tea) RETURN t.price", "at": at });
    assert_eq!(second.tool("read_query", past.clone())["rows"], json!([[3]]));
    let changes = second.tool("changes", json!({ "after": at }));
    assert_eq!(changes["commits"][0]["changes"][0]["value"], 4);
    // The one that has the database ends; the other goes on.
    assert_eq!(first.end().0, Some(0));
    assert_eq!(second.rows("MATCH (t:Tea) RETURN t.price"), json!([[4]]));
    assert_eq!(second.tool("read_query", past)["rows"], json!([[3]]));
    assert_eq!(second.end().0, Some(0));
}

#[test]
fn a_folder_that_a_server_has_is_said_to_be_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.telar");
    let mut command = telar();
    command.arg("serve").arg(&path).args(["--no-auth", "--no-http", "--bolt", "127.0.0.1:0"]);
    let mut server = Process::start(command.stdout(Stdio::piped()).stderr(Stdio::null())).unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("Bolt at ").unwrap().to_owned();
    let refused = telar_mcp().arg(&path).output().unwrap();
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("reached by its address: telar mcp bolt://"), "{said}");
    // Nobody has to log in there.
    let mut command = telar_mcp();
    let mut client = Client::of(command.arg(address));
    client.shake_hands("2025-11-25");
    assert_eq!(client.rows("RETURN 1"), json!([[1]]));
}

#[test]
fn a_database_of_a_server_is_used() {
    let (_server, address) = serve(&["--set", "store.retention=100 commits"]);
    let address = format!("bolt://{address}");
    let client = |arguments: &[&str]| {
        let mut command = telar_mcp();
        command.arg(&address).args(["--user", "neo4j"]).args(arguments);
        let mut client = Client::of(command.env("TELAR_PASSWORD", PASSWORD));
        client.shake_hands("2025-06-18");
        client
    };
    let mut writer = client(&["--allow-writes"]);
    let at = writer.write("CREATE (:Tea {price: 3})-[:IN]->(:Cup {name: 'large cup'})");
    writer.write("CREATE FULLTEXT INDEX cups FOR (c:Cup) ON EACH [c.name]");
    writer.write("MATCH (t:Tea) SET t.price = 4");
    let mut reader = client(&["--max-rows", "5", "--timeout", "600"]);
    let now = reader.tool("read_query", json!({ "query": "MATCH (t:Tea) RETURN t.price" }));
    assert_eq!(now["rows"], json!([[4]]));
    assert!(now["at"].as_i64().unwrap() > at, "{now}");
    let past =
        reader.tool("read_query", json!({ "query": "MATCH (t:Tea) RETURN t.price", "at": at }));
    assert_eq!((&past["rows"], &past["at"]), (&json!([[3]]), &json!(at)));
    let wrong = reader.refused("read_query", json!({ "query": "EXPLAIN RETURN m", "at": at }));
    assert!(wrong.contains("(line 1, column 16)"), "{wrong}");
    let said = reader.refused("read_query", json!({ "query": "CREATE (n)" }));
    assert!(said.contains("Neo.ClientError.Statement.AccessMode"), "{said}");
    let rows =
        reader.tool("read_query", json!({ "query": "UNWIND range(1, 100000) AS i RETURN i" }));
    assert_eq!(rows["rows"].as_array().unwrap().len(), 5);
    assert!(rows["truncated"].is_string());
    let found = reader.tool("search", json!({ "query": "large", "hops": 1 }));
    assert_eq!(found["neighbourhood"]["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(found["neighbourhood"]["relationships"][0]["type"], "IN");
    assert_eq!(reader.tool("schema", json!({}))["nodes"].as_array().unwrap().len(), 2);
    let changes = reader.tool("changes", json!({ "after": at, "commits": 1 }));
    assert_eq!(changes["more"], true);
    assert!(reader.tool("changes", json!({}))["cursor"].as_i64().unwrap() > at);
    // The server closes connections that are idle.
    let listed = writer.rows("CALL dbms.listConnections() YIELD connectionId RETURN connectionId");
    let ids: Vec<String> =
        listed.as_array().unwrap().iter().map(|row| row[0].to_string()).collect();
    let kill = format!("CALL dbms.killConnections([{}]) YIELD message", ids.join(", "));
    let killed = client(&[]).rows(&kill);
    let is_found = |row: &&serde_json::Value| row[0] == "Connection found";
    assert!(killed.as_array().unwrap().iter().filter(is_found).count() >= 2, "{killed}");
    assert_eq!(reader.rows("RETURN 1"), json!([[1]]));
    writer.write("CREATE (:Late)");
    let long = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b \
                WITH a, b WHERE a + b < 0 RETURN 1";
    let mut hasty = client(&["--timeout", "2"]);
    let said = hasty.refused("read_query", json!({ "query": long }));
    assert!(said.contains("TransactionTimedOut"), "{said}");
    let call = json!({ "name": "read_query", "arguments": { "query": long } });
    let id = reader.request("tools/call", &call);
    reader.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id } }));
    assert_eq!(reader.rows("RETURN 1"), json!([[1]]));
    assert_eq!(reader.end().0, Some(0));
}
