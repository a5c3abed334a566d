//! `/mcp`: agents as clients of the server, with their users and databases.

mod calls;
mod ends;
mod rights;
mod sessions;

use std::path::Path;
use std::time::Duration;

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use telar_db::Retention;
use telar_db::query::cypher::Secret;
use telar_server::dbms::{DbmsSettings, Security};
use telar_server::http::Settings;
use telar_server::mcp;

use crate::common::{Answer, Connection, TestServer};

/// Everybody's password.
const PASSWORD: &str = "correct-horse";
const VERSION: &str = "2025-11-25";
const BOTH: &str = "Accept: application/json, text/event-stream";
/// A statement that does not end by itself.
const LONG: &str = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b \
                    WITH a, b WHERE a + b < 0 RETURN count(*)";

/// A server with users, whose past is kept; the first user is an administrator.
///
/// A call has ten minutes, unless it is said.
struct Served(TestServer);

impl std::ops::Deref for Served {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.0
    }
}

impl Served {
    fn new(change: impl FnOnce(&mut mcp::Settings)) -> Self {
        Self::of(None, Self::dbms_settings(), change)
    }

    /// One where so many statements run at once.
    fn crowded(statements_max: usize) -> Self {
        let mcp = Some(Self::patient());
        let settings = Settings { statements_max, mcp, ..Settings::default() };
        Self(TestServer::of(None, Self::dbms_settings(), settings))
    }

    fn patient() -> mcp::Settings {
        mcp::Settings { timeout: Duration::from_secs(600), ..Default::default() }
    }

    fn writable() -> Self {
        Self::new(|mcp| mcp.allow_writes = true)
    }

    fn dbms_settings() -> DbmsSettings {
        let security = Security {
            initial_password: Some(Secret::new(PASSWORD)),
            failed_logins_max: 1000,
            hash_memory_kib: 64,
            hash_passes: 1,
            ..Security::default()
        };
        let mut settings = DbmsSettings { security, ..DbmsSettings::default() };
        settings.engine.retain = Retention::commits(1000);
        settings
    }

    fn of(
        path: Option<&Path>,
        dbms: DbmsSettings,
        change: impl FnOnce(&mut mcp::Settings),
    ) -> Self {
        let mut mcp = Self::patient();
        change(&mut mcp);
        Self(TestServer::of(path, dbms, Settings { mcp: Some(mcp), ..Settings::default() }))
    }

    /// A statement over the Query API, as the administrator unless it is said.
    #[track_caller]
    fn run(&self, database: &str, statement: &str) -> Value {
        let path = format!("/db/{database}/query/v2");
        let body = json!({ "statement": statement }).to_string();
        let answer = self.ask("POST", &path, &[&basic("neo4j", PASSWORD)], &body);
        assert!(answer.status == 202, "{statement}: {}", answer.text());
        assert!(answer.json()["errors"].is_null(), "{statement}: {}", answer.text());
        answer.json()["data"]["values"].clone()
    }

    /// A user with this role, or none.
    fn user(&self, name: &str, role: Option<&str>) {
        let create = "SET PASSWORD 'correct-horse' CHANGE NOT REQUIRED";
        self.run("system", &format!("CREATE USER {name} {create}"));
        if let Some(role) = role {
            self.run("system", &format!("GRANT ROLE {role} TO {name}"));
        }
    }

    fn send(&self, path: &str, headers: &[&str], message: &Value) -> Answer {
        self.ask("POST", path, &[&[BOTH], headers].concat(), &message.to_string())
    }

    fn initialize(&self, path: &str, headers: &[&str]) -> Answer {
        let parameters = json!({ "protocolVersion": VERSION, "capabilities": {},
                                 "clientInfo": { "name": "test", "version": "1" } });
        self.send(path, headers, &request(0, "initialize", &parameters))
    }

    /// A session of a user at an address.
    #[track_caller]
    fn agent(&self, user: &str, path: &str) -> Agent<'_> {
        let login = basic(user, PASSWORD);
        let begun = self.initialize(path, &[&login]);
        assert_eq!(begun.status, 200, "{}", begun.text());
        assert_eq!(begun.json()["result"]["protocolVersion"], VERSION);
        let id = begun.header("mcp-session-id").unwrap();
        Agent { server: self, path: path.to_owned(), login, session: session(id) }
    }

    /// Waits until a statement of a user runs over MCP; its transaction.
    fn await_transaction(&self, user: &str) -> String {
        let text = "SHOW TRANSACTIONS YIELD username, protocol, transactionId, currentQuery \
                    WHERE currentQuery STARTS WITH 'UNWIND range(1, 1000000)' \
                    RETURN username, protocol, transactionId";
        loop {
            if let Some(found) = self.run("telar", text).as_array().unwrap().first() {
                assert_eq!((&found[0], &found[1]), (&json!(user), &json!("http+mcp")));
                return found[2].as_str().unwrap().to_owned();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A session.
struct Agent<'s> {
    server: &'s Served,
    path: String,
    login: String,
    session: String,
}

impl Agent<'_> {
    fn send(&self, message: &Value) -> Answer {
        self.server.send(&self.path, &[&self.login, &self.session], message)
    }

    fn delete(&self) -> u16 {
        self.server.ask("DELETE", &self.path, &[&self.login, &self.session], "").status
    }

    #[track_caller]
    fn ask(&self, method: &str, parameters: &Value) -> Value {
        let answer = self.send(&request(1, method, parameters));
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    fn tools(&self) -> Vec<String> {
        let listed = self.ask("tools/list", &json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Structured result of a call that succeeds.
    #[track_caller]
    fn tool(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{answer}");
        result["structuredContent"].clone()
    }

    /// The text of a call that fails.
    #[track_caller]
    fn refused(&self, tool: &str, arguments: Value) -> String {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn rows(&self, query: &str) -> Value {
        self.tool("read_query", json!({ "query": query }))["rows"].clone()
    }

    /// Runs a statement that writes; the commit.
    #[track_caller]
    fn write(&self, query: &str) -> i64 {
        self.tool("write_query", json!({ "query": query }))["at"].as_i64().unwrap()
    }

    /// Asks for something that runs on, on a connection of its own.
    fn begin(&self, message: &Value) -> Connection {
        let mut connection = self.server.connect();
        let headers = [BOTH, &self.login, &self.session];
        connection.request("POST", &self.path, &headers, &message.to_string());
        connection
    }
}

fn basic(user: &str, password: &str) -> String {
    let pair = Base64::encode_string(format!("{user}:{password}").as_bytes());
    format!("Authorization: Basic {pair}")
}

fn session(id: &str) -> String {
    format!("Mcp-Session-Id: {id}")
}

fn request(id: i64, method: &str, parameters: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters })
}

fn query(id: i64, text: &str) -> Value {
    request(id, "tools/call", &json!({ "name": "read_query", "arguments": { "query": text } }))
}

/// The status and the code of a refusal of the server.
fn code(answer: &Answer) -> (u16, String) {
    let json = answer.json();
    (answer.status, json["error"]["data"]["code"].as_str().unwrap_or_default().to_owned())
}
