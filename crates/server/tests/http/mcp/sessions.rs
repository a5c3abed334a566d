//! Sessions: whose they are, at which database, how many, for how long.

use std::time::Duration;

use serde_json::json;

use super::{Agent, BOTH, PASSWORD, Served, basic, code, query, request};

const NOT_FOUND: &str = "the session has ended";

#[test]
fn a_session_is_begun_used_and_ended_at_each_address() {
    let server = Served::new(|_| {});
    server.run("telar", "CREATE (:Tea)");
    let reads = ["schema", "read_query", "search", "neighbourhood", "changes"];
    for path in ["/mcp", "/db/telar/mcp", "/db/neo4j/mcp", "/db/TELAR/mcp"] {
        let agent = server.agent("neo4j", path);
        assert_eq!(agent.tools(), reads);
        assert_eq!(agent.rows("MATCH (t:Tea) RETURN count(t)"), json!([[1]]), "{path}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let taken = agent.send(&ready);
        assert_eq!((taken.status, taken.text()), (202, ""));
        assert_eq!(agent.delete(), 204);
        assert_eq!(agent.delete(), 404);
        let answer = agent.send(&query(1, "RETURN 1"));
        assert!(answer.status == 404 && answer.text().contains(NOT_FOUND), "{}", answer.text());
    }
    // One database has several names, and one set of sessions.
    let agent = server.agent("neo4j", "/mcp");
    let other_name = Agent { path: "/db/neo4j/mcp".to_owned(), ..agent };
    assert_eq!(other_name.rows("RETURN 1"), json!([[1]]));
}

#[test]
fn what_is_no_message_is_refused() {
    let server = Served::new(|_| {});
    let agent = server.agent("neo4j", "/mcp");
    let (login, id) = (&*agent.login, &*agent.session);
    let json_type = "Content-Type: application/json";
    for (headers, body, status) in [
        (vec![json_type, BOTH, login, id], "nonsense", 400),
        (vec![json_type, BOTH, login, id], "[]", 400),
        (vec![json_type, BOTH, login, id], "{}", 400),
        (vec![json_type, BOTH, login], &*query(1, "RETURN 1").to_string(), 400),
        (vec![json_type, BOTH, login, "Mcp-Session-Id: nonsense"], &query(1, "").to_string(), 404),
        (vec!["Content-Type: text/plain", BOTH, login, id], "{}", 415),
        (vec![json_type, "Accept: text/html", login, id], "{}", 406),
        (vec![json_type, BOTH, login, id, "MCP-Protocol-Version: 1999-01-01"], "{}", 400),
    ] {
        let answer = server.ask("POST", "/mcp", &headers, body);
        assert_eq!(answer.status, status, "{headers:?} {body}: {}", answer.text());
        assert_eq!(answer.json()["jsonrpc"], "2.0", "{}", answer.text());
    }
    for method in ["GET", "PUT"] {
        let answer = server.ask(method, "/mcp", &[login, id], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some("POST,DELETE")));
    }
}

#[test]
fn a_session_of_another_user_is_not_there() {
    let server = Served::writable();
    ["ann", "bob"].into_iter().for_each(|user| server.user(user, Some("writer")));
    let ann = server.agent("ann", "/mcp");
    for user in ["bob", "neo4j"] {
        let thief = Agent {
            login: basic(user, PASSWORD),
            session: ann.session.clone(),
            ..server.agent(user, "/mcp")
        };
        for message in [query(1, "RETURN 1"), request(2, "tools/list", &json!({}))] {
            let answer = thief.send(&message);
            assert!(answer.status == 404 && answer.text().contains(NOT_FOUND), "{user}");
        }
        assert_eq!(thief.delete(), 404);
    }
    assert_eq!(ann.rows("RETURN 1"), json!([[1]]));
    // Somebody of the same name who was made later is somebody else.
    server.run("system", "DROP USER ann");
    server.user("ann", Some("writer"));
    assert_eq!(ann.send(&query(1, "RETURN 1")).status, 404);
}

#[test]
fn a_session_is_at_one_database() {
    let server = Served::writable();
    server.run("system", "CREATE DATABASE shop");
    server.user("ann", None);
    server.run("system", "GRANT ROLE writer TO ann ON DATABASE shop");
    let [telar, shop] = ["/mcp", "/db/shop/mcp"].map(|path| server.agent("neo4j", path));
    telar.write("CREATE (:Tea)");
    shop.write("CREATE (:Item), (:Item)");
    let count = "MATCH (n) RETURN count(n)";
    assert_eq!((telar.rows(count), shop.rows(count)), (json!([[1]]), json!([[2]])));
    let elsewhere = Agent {
        path: "/db/shop/mcp".to_owned(),
        session: telar.session.clone(),
        ..server.agent("neo4j", "/mcp")
    };
    assert_eq!(elsewhere.send(&query(1, count)).status, 404);
    // No statement leaves it, whatever the user may.
    for (tool, text) in
        [("read_query", "USE shop MATCH (n) RETURN n"), ("write_query", "USE shop CREATE (:Tea)")]
    {
        let said = telar.refused(tool, json!({ "query": text }));
        assert!(said.contains("one database"), "{said}");
    }
    assert_eq!(shop.rows(count), json!([[2]]));
    // Rights are those at the database.
    let ann = basic("ann", PASSWORD);
    assert_eq!(server.initialize("/mcp", &[&ann]).status, 403);
    server.agent("ann", "/db/shop/mcp").write("CREATE (:Item)");
    assert_eq!(shop.rows(count), json!([[3]]));
}

#[test]
fn sessions_are_bounded_for_each_user() {
    let server = Served::new(|mcp| mcp.sessions_max = 3);
    ["ann", "bob"].into_iter().for_each(|user| server.user(user, Some("reader")));
    let ann = server.agent("ann", "/mcp");
    let all: Vec<Agent<'_>> = (0..5).map(|_| server.agent("bob", "/mcp")).collect();
    assert_eq!(ann.rows("RETURN 1"), json!([[1]]));
    let statuses: Vec<u16> = all.iter().map(|bob| bob.send(&query(1, "RETURN 1")).status).collect();
    assert_eq!(statuses, [404, 404, 404, 200, 200]);
}

#[test]
fn an_idle_session_ends() {
    let server = Served::new(|mcp| mcp.session_idle = Duration::ZERO);
    let agent = server.agent("neo4j", "/mcp");
    let answer = agent.send(&query(1, "RETURN 1"));
    assert!(answer.status == 404 && answer.text().contains("mcp.session_idle"));
}

#[test]
fn requests_without_sessions_are_answered() {
    let server = Served::new(|_| {});
    let login = basic("neo4j", PASSWORD);
    let version = "2026-07-28";
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": version,
                       "io.modelcontextprotocol/clientCapabilities": {} });
    let send = |login: &str, method: &str, name: &str, mut parameters: serde_json::Value| {
        parameters["_meta"] = meta.clone();
        let headers = [
            login,
            &format!("MCP-Protocol-Version: {version}"),
            &format!("Mcp-Method: {method}"),
            &format!("Mcp-Name: {name}"),
        ];
        server.send("/db/telar/mcp", &headers, &request(1, method, &parameters))
    };
    let call = json!({ "name": "read_query", "arguments": { "query": "RETURN 1" } });
    let answer = send(&login, "tools/call", "read_query", call.clone());
    assert_eq!(answer.json()["result"]["structuredContent"]["rows"], json!([[1]]));
    assert!(answer.header("mcp-session-id").is_none());
    assert_eq!(send(&login, "tools/call", "schema", call.clone()).status, 400, "headers differ");
    let plain = |message: serde_json::Value| {
        let headers = [&*login, "MCP-Protocol-Version: 2026-07-28"];
        server.send("/mcp", &headers, &message).status
    };
    assert_eq!(plain(json!({})), 400);
    assert_eq!(plain(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" })), 202);
    let wrong = basic("neo4j", "wrong");
    let refused = send(&wrong, "tools/call", "read_query", call);
    assert_eq!(code(&refused), (401, "Neo.ClientError.Security.Unauthorized".to_owned()));
}
