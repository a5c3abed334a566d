//! Logins, and the rights of users in tools.

use serde_json::json;
use telar_server::http::Settings;

use super::{PASSWORD, Served, basic, code, query};
use crate::common::TestServer;

const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";

#[test]
fn nothing_is_said_before_the_login() {
    let server = Served::new(|_| {});
    server.user("nobody", None);
    let unauthorized = "Neo.ClientError.Security.Unauthorized";
    for path in ["/mcp", "/db/telar/mcp", "/db/none/mcp"] {
        for headers in [
            &[][..],
            &[&*basic("neo4j", "wrong")],
            &[&*basic("none", PASSWORD)],
            &["Authorization: Bearer secret"],
        ] {
            let answer = server.initialize(path, headers);
            assert_eq!(code(&answer), (401, unauthorized.to_owned()), "{path}");
            assert!(answer.header("www-authenticate").is_some_and(|h| h.starts_with("Basic")));
            assert!(answer.header("mcp-session-id").is_none());
        }
        assert_eq!(server.ask("DELETE", path, &[], "").status, 401);
    }
    // A user who has logged in and may read nothing is told so.
    let nobody = basic("nobody", PASSWORD);
    assert_eq!(code(&server.initialize("/mcp", &[&nobody])), (403, FORBIDDEN.to_owned()));
    let admin = basic("neo4j", PASSWORD);
    let unknown = server.initialize("/db/none/mcp", &[&admin]);
    assert_eq!(code(&unknown), (404, "Neo.ClientError.Database.DatabaseNotFound".to_owned()));
    // Sessions are no way around it.
    let agent = server.agent("neo4j", "/mcp");
    for login in [basic("neo4j", "wrong"), nobody] {
        let answer = server.send("/mcp", &[&login, &agent.session], &query(1, "RETURN 1"));
        assert!(matches!(answer.status, 401 | 403), "{}", answer.text());
    }
}

#[test]
fn a_password_that_has_to_be_changed_is_changed_first() {
    let server = Served::new(|_| {});
    server.run("system", "CREATE USER ann SET PASSWORD 'correct-horse' CHANGE REQUIRED");
    server.run("system", "GRANT ROLE reader TO ann");
    let ann = basic("ann", PASSWORD);
    let expired = || code(&server.initialize("/mcp", &[&ann]));
    assert_eq!(expired(), (403, "Neo.ClientError.Security.CredentialsExpired".to_owned()));
    server.run("system", "ALTER USER ann SET PASSWORD CHANGE NOT REQUIRED");
    let agent = server.agent("ann", "/mcp");
    assert_eq!(agent.rows("RETURN 1"), json!([[1]]));
    // Also in the middle of a session.
    server.run("system", "ALTER USER ann SET PASSWORD CHANGE REQUIRED");
    let answer = agent.send(&query(1, "RETURN 1"));
    assert_eq!(code(&answer).1, "Neo.ClientError.Security.CredentialsExpired");
}

#[test]
fn nothing_writes_unless_the_setting_and_the_role_allow_it() {
    for allow_writes in [false, true] {
        let server = Served::new(|mcp| mcp.allow_writes = allow_writes);
        server.user("ann", Some("reader"));
        server.user("wil", Some("writer"));
        for (user, may_write) in [("ann", false), ("wil", true), ("neo4j", true)] {
            let agent = server.agent(user, "/mcp");
            assert_eq!(agent.tools().contains(&"write_query".to_owned()), allow_writes, "{user}");
            for writing in ["CREATE (:Tea)", "CREATE INDEX tea FOR (t:Tea) ON (t.name)"] {
                let said = agent.refused("read_query", json!({ "query": writing }));
                assert!(!said.is_empty(), "{user} {writing}");
            }
            let write =
                |text: &str| json!({ "name": "write_query", "arguments": { "query": text } });
            let index = "CREATE INDEX tea IF NOT EXISTS FOR (t:Tea) ON (t.n)";
            for text in ["CREATE (:Tea)", index] {
                let answer = agent.ask("tools/call", &write(text));
                if !allow_writes {
                    assert_eq!(answer["error"]["code"], -32602, "{user}: {answer}");
                } else if may_write {
                    assert_eq!(answer["result"]["isError"], false, "{user}: {answer}");
                } else {
                    let said = answer["result"]["content"][0]["text"].as_str().unwrap();
                    assert!(said.contains(FORBIDDEN) && said.contains(user), "{said}");
                }
            }
        }
        let made = server.run("telar", "MATCH (t:Tea) RETURN count(t)");
        assert_eq!(made, json!([[if allow_writes { 2 } else { 0 }]]));
    }
}

#[test]
fn a_role_that_is_taken_away_is_gone_at_the_next_call() {
    let server = Served::writable();
    server.user("ann", Some("writer"));
    let agent = server.agent("ann", "/mcp");
    agent.write("CREATE (:Tea)");
    server.run("system", "REVOKE ROLE writer FROM ann");
    assert_eq!(code(&agent.send(&query(1, "RETURN 1"))), (403, FORBIDDEN.to_owned()));
    server.run("system", "GRANT ROLE reader TO ann");
    assert_eq!(agent.rows("MATCH (t:Tea) RETURN count(t)"), json!([[1]]));
    let said = agent.refused("write_query", json!({ "query": "CREATE (:Tea)" }));
    assert!(said.contains(FORBIDDEN), "{said}");
    server.run("system", "DROP USER ann");
    assert_eq!(agent.send(&query(1, "RETURN 1")).status, 401);
}

#[test]
fn the_server_is_not_administered_by_tools() {
    let server = Served::writable();
    let agent = server.agent("neo4j", "/mcp");
    for command in [
        "CREATE USER eve SET PASSWORD 'correct-horse'",
        "GRANT ROLE admin TO eve",
        "ALTER CURRENT USER SET PASSWORD FROM 'correct-horse' TO 'battery-staple'",
        "CREATE DATABASE other",
        "DROP DATABASE telar",
    ] {
        for tool in ["write_query", "read_query"] {
            let said = agent.refused(tool, json!({ "query": command }));
            assert!(said.contains("operators") || said.contains("only reads"), "{said}");
        }
    }
    let users = server.run("system", "SHOW USERS YIELD user RETURN count(user)");
    assert_eq!(users, json!([[1]]));
}

#[test]
fn tools_use_no_files_of_the_server() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.csv"), "a\n").unwrap();
    let mut dbms = Served::dbms_settings();
    dbms.import_folder = Some(folder.path().to_owned());
    dbms.export_folder = Some(folder.path().to_owned());
    let server = Served::of(None, dbms, |mcp| mcp.allow_writes = true);
    let load = "LOAD CSV FROM 'file:///x.csv' AS row RETURN row";
    assert_eq!(server.run("telar", load), json!([[["a"]]]));
    let agent = server.agent("neo4j", "/mcp");
    for tool in ["read_query", "write_query"] {
        let said = agent.refused(tool, json!({ "query": load }));
        assert!(said.contains("import.folder"), "{said}");
        agent.refused(tool, json!({ "query": "COPY (RETURN 1 AS x) TO 'y.csv'" }));
    }
    assert!(!folder.path().join("y.csv").exists());
}

#[test]
fn a_server_without_users_serves_whoever_asks_it() {
    let server = TestServer::new();
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": super::VERSION, "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } } });
    let begun = server.ask("POST", "/mcp", &[super::BOTH], &list.to_string());
    let id = super::session(begun.header("mcp-session-id").unwrap());
    let read = query(2, "RETURN 1").to_string();
    let answer = server.ask("POST", "/mcp", &[super::BOTH, &id], &read);
    assert_eq!(answer.json()["result"]["structuredContent"]["rows"], json!([[1]]));
}

#[test]
fn a_server_may_have_none() {
    let server = TestServer::with(Settings { mcp: None, ..Settings::default() });
    for path in ["/mcp", "/db/telar/mcp"] {
        let answer = server.ask("POST", path, &[super::BOTH], &query(1, "RETURN 1").to_string());
        assert_eq!(answer.status, 404);
        assert!(answer.text().contains("mcp.enabled"), "{}", answer.text());
    }
}
