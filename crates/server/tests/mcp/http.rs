//! The HTTP transport: sessions, versions, pages of others, events.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::client::{Client, MODERN, VERSION, modern_meta, telar_mcp};
use crate::process::Process;

const BOTH: &str = "Accept: application/json, text/event-stream";
/// A query that runs until it is ended.
const LONG: &str = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b \
                    WITH a, b WHERE a + b < 0 RETURN count(*)";
/// Longer than anything takes that is not stuck.
const PATIENCE: Duration = Duration::from_secs(60);

struct Answer {
    status: u16,
    headers: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let is_it = |line: &&str| {
            line.split_once(':').is_some_and(|(found, _)| found.eq_ignore_ascii_case(name))
        };
        self.headers.lines().find(is_it).map(|line| line.split_once(':').unwrap().1.trim())
    }

    fn json(&self) -> Json {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The messages of a body of events.
    fn events(&self) -> Vec<Json> {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap()).collect()
    }
}

/// A server that listens.
struct Served {
    process: Process,
    address: String,
    folder: tempfile::TempDir,
}

impl Served {
    fn start(token: Option<&str>, arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = telar_mcp();
        command.arg(folder.path().join("graph.telar"));
        command.args(["--allow-writes", "--http", "127.0.0.1:0"]).args(arguments);
        if let Some(token) = token {
            command.env("TELAR_MCP_TOKEN", token);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = Process::start(&mut command).unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("MCP at http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().to_owned();
        Self { process, address, folder }
    }

    /// Sends a request with these headers, beside `Host` if none of them is.
    fn begin(&self, method: &str, path: &str, headers: &[&str], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        if !headers.iter().any(|header| header.starts_with("Host:")) {
            head += &format!("Host: {}\r\n", self.address);
        }
        for header in headers {
            head += &format!("{header}\r\n");
        }
        head += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// The same, with its answer.
    fn send(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        let mut answer = String::new();
        self.begin(method, path, headers, body).read_to_string(&mut answer).unwrap();
        let (headers, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = headers.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, headers: headers.to_owned(), body: body.to_owned() }
    }

    fn post(&self, headers: &[&str], message: &Json) -> Answer {
        let headers = [&["Content-Type: application/json", BOTH], headers].concat();
        self.send("POST", "/mcp", &headers, &message.to_string())
    }

    fn initialize(&self, headers: &[&str]) -> Answer {
        let parameters = json!({ "protocolVersion": VERSION, "capabilities": {},
                                 "clientInfo": { "name": "test", "version": "1" } });
        self.post(headers, &request(0, "initialize", &parameters))
    }

    /// The header of a new session.
    fn session(&self) -> String {
        let begun = self.initialize(&[]);
        assert_eq!(begun.status, 200, "{}", begun.body);
        assert_eq!(begun.json()["result"]["protocolVersion"], VERSION);
        let session = format!("Mcp-Session-Id: {}", begun.header("mcp-session-id").unwrap());
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let taken = self.post(&[&session], &ready);
        assert_eq!((taken.status, &*taken.body), (202, ""));
        session
    }

    /// Waits until [`LONG`] runs.
    fn await_long(&self, session: &str) {
        let text = "SHOW TRANSACTIONS YIELD currentQuery \
                    WHERE currentQuery STARTS WITH 'UNWIND' RETURN count(*)";
        let begun = Instant::now();
        loop {
            let listed = self.post(&[session], &query(100, text));
            if listed.json()["result"]["structuredContent"]["rows"] == json!([[1]]) {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "it does not run: {}", listed.body);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn cancel(&self, session: &str, id: i64) {
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": { "requestId": id } });
        assert_eq!(self.post(&[session], &cancel).status, 202);
    }
}

fn request(id: i64, method: &str, parameters: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters })
}

fn query(id: i64, text: &str) -> Json {
    request(id, "tools/call", &json!({ "name": "read_query", "arguments": { "query": text } }))
}

#[test]
fn a_session_is_begun_used_and_ended() {
    let served = Served::start(None, &[]);
    let session = served.session();
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [&*session, &version];
    let answer = served.post(&headers, &query(1, "RETURN 1 AS one"));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    assert_eq!(answer.json()["result"]["structuredContent"]["rows"], json!([[1]]));
    let listed = served.post(&headers, &request(2, "tools/list", &json!({})));
    assert_eq!(listed.json()["result"]["tools"].as_array().unwrap().len(), 6);
    let write = json!({ "name": "write_query", "arguments": { "query": "CREATE (:Tea)" } });
    let written = served.post(&headers, &request(3, "tools/call", &write));
    assert_eq!(written.json()["result"]["structuredContent"]["counters"]["nodes_created"], 1);
    // Another session sees it, and has ids of its own.
    let other = served.session();
    let seen = served.post(&[&other], &query(1, "MATCH (t:Tea) RETURN count(t)"));
    assert_eq!(seen.json()["result"]["structuredContent"]["rows"], json!([[1]]));
    let ended = served.send("DELETE", "/mcp", &[&session], "");
    assert_eq!(ended.status, 204);
    assert_eq!(served.post(&headers, &query(4, "RETURN 1")).status, 404);
    assert_eq!(served.send("DELETE", "/mcp", &[&session], "").status, 404);
    assert_eq!(served.post(&[&other], &query(4, "RETURN 1")).status, 200);
}

#[test]
fn what_is_no_request_of_the_protocol_is_refused() {
    let served = Served::start(None, &[]);
    let session = served.session();
    assert_eq!(served.post(&[], &query(1, "RETURN 1")).status, 400, "no session");
    assert_eq!(served.post(&["Mcp-Session-Id: nonsense"], &query(1, "RETURN 1")).status, 404);
    let wrong = served.post(&[&session, "MCP-Protocol-Version: 1999-01-01"], &query(1, "RETURN 1"));
    assert_eq!((wrong.status, &wrong.json()["error"]["code"]), (400, &json!(-32022)));
    let get = served.send("GET", "/mcp", &["Accept: text/event-stream", &session], "");
    assert_eq!((get.status, get.header("allow")), (405, Some("POST, DELETE")));
    assert_eq!(served.send("PUT", "/mcp", &[&session], "").status, 405);
    assert_eq!(served.send("POST", "/", &[&session], "").status, 404);
    let json_type = "Content-Type: application/json";
    for (headers, body, status, code) in [
        (vec![json_type, BOTH, &*session], "nonsense", 400, -32700),
        (vec![json_type, BOTH, &*session], "[]", 400, -32600),
        (vec![json_type, BOTH, &*session], "{}", 400, -32600),
        (vec!["Content-Type: text/plain", BOTH, &*session], "{}", 415, -32600),
        (vec![json_type, "Accept: text/html", &*session], "{}", 406, -32600),
    ] {
        let answer = served.send("POST", "/mcp", &headers, body);
        assert_eq!(answer.status, status, "{headers:?} {body}");
        assert_eq!(answer.json()["error"]["code"], code, "{headers:?} {body}");
    }
    let unknown = served.post(&[&session], &request(1, "nonsense", &json!({})));
    assert_eq!((unknown.status, &unknown.json()["error"]["code"]), (200, &json!(-32601)));
}

#[test]
fn pages_of_others_may_not_ask() {
    let served = Served::start(None, &["--allow-origin", "https://app.example"]);
    let own = format!("Origin: http://{}", served.address);
    for (header, status) in [
        (&*own, 200),
        ("Origin: https://app.example", 200),
        ("Origin: https://evil.example", 403),
        ("Origin: http://localhost:1", 403),
        ("Origin: null", 403),
        ("Host: evil.example", 403),
        ("Host: localhost", 200),
        ("Sec-Fetch-Site: cross-site", 403),
    ] {
        assert_eq!(served.initialize(&[header]).status, status, "{header}");
    }
    let asks = ["Origin: https://app.example", "Access-Control-Request-Method: POST"];
    let preflight = served.send("OPTIONS", "/mcp", &asks, "");
    assert_eq!(preflight.status, 200);
    assert_eq!(preflight.header("access-control-allow-origin"), Some("https://app.example"));
}

#[test]
fn a_token_is_asked_for() {
    let served = Served::start(Some("secret of the test"), &[]);
    let refused = served.initialize(&[]);
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Bearer")));
    assert_eq!(served.initialize(&["Authorization: Bearer other"]).status, 401);
    assert_eq!(served.initialize(&["Authorization: Bearer secret of the test"]).status, 200);
}

#[test]
fn calls_tell_their_progress_in_events_and_can_be_cancelled() {
    let served = Served::start(None, &["--timeout", "600"]);
    let session = served.session();
    let headers = ["Content-Type: application/json", BOTH, &session];
    let stream = served.begin("POST", "/mcp", &headers, &with_progress(7).to_string());
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    assert!(head[0].starts_with("HTTP/1.1 200 "), "{head:?}");
    assert!(head.iter().any(|line| line == "content-type: text/event-stream"), "{head:?}");
    let mut events = lines.filter_map(|line| {
        let data = line.strip_prefix("data: ")?;
        Some(serde_json::from_str::<Json>(data).unwrap())
    });
    let is_progress = |event: &Json| {
        event["method"] == "notifications/progress" && event["params"]["progressToken"] == 5
    };
    let first = events.next().unwrap();
    assert!(is_progress(&first), "{first}");
    served.cancel(&session, 7);
    events.for_each(|event| assert!(is_progress(&event), "{event}"));
    // A client that takes events only gets nothing else.
    let headers = ["Content-Type: application/json", "Accept: text/event-stream", &session];
    let only = served.send("POST", "/mcp", &headers, &query(8, "RETURN 1").to_string());
    assert_eq!(only.events()[0]["result"]["structuredContent"]["rows"], json!([[1]]));
    std::thread::scope(|scope| {
        let running = scope.spawn(|| served.post(&[&session], &query(9, LONG)));
        served.await_long(&session);
        served.cancel(&session, 9);
        let cancelled = running.join().unwrap();
        assert_eq!((cancelled.status, &*cancelled.body), (202, ""));
    });
}

/// A call that runs until it is ended, and tells its progress.
fn with_progress(id: i64) -> Json {
    let mut call = query(id, LONG);
    call["params"]["_meta"] = json!({ "progressToken": 5 });
    call
}

#[test]
fn the_answer_of_a_call_that_takes_too_long_is_its_last_event() {
    let served = Served::start(None, &["--timeout", "2"]);
    let session = served.session();
    let answer = served.post(&[&session], &with_progress(7));
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let events = answer.events();
    let (last, before) = events.split_last().unwrap();
    assert!(before.iter().all(|event| event["params"]["progressToken"] == 5), "{before:?}");
    assert_eq!((&last["id"], &last["result"]["isError"]), (&json!(7), &json!(true)));
}

/// A request of the version without sessions, and its headers.
fn modern(id: i64, method: &str, mut parameters: Json) -> (Json, Vec<String>) {
    let name = parameters.get("name").or(parameters.get("uri")).and_then(Json::as_str);
    let name = name.map(|name| format!("Mcp-Name: {name}"));
    let version = format!("MCP-Protocol-Version: {MODERN}");
    let headers = [version, format!("Mcp-Method: {method}")].into_iter().chain(name).collect();
    parameters["_meta"] = modern_meta();
    (request(id, method, &parameters), headers)
}

#[test]
fn requests_without_sessions_are_answered() {
    let served = Served::start(None, &["--timeout", "600"]);
    let send = |(message, headers): (Json, Vec<String>)| {
        let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
        served.post(&headers, &message)
    };
    let query = |query: &str| json!({ "name": "read_query", "arguments": { "query": query } });
    let discovered = send(modern(1, "server/discover", json!({})));
    assert_eq!(discovered.status, 200, "{}", discovered.body);
    assert_eq!(discovered.json()["result"]["supportedVersions"], json!([MODERN]));
    assert!(discovered.header("mcp-session-id").is_none());
    let listed = send(modern(2, "tools/list", json!({}))).json()["result"].clone();
    assert_eq!((&listed["resultType"], &listed["ttlMs"]), (&json!("complete"), &json!(0)));
    let called = send(modern(3, "tools/call", query("RETURN 1"))).json()["result"].clone();
    assert_eq!(called["structuredContent"]["rows"], json!([[1]]));
    assert_eq!(called["resultType"], "complete");
    for ((message, headers), status, code) in [
        (modern(4, "nonsense", json!({})), 404, -32601),
        (modern(5, "initialize", json!({})), 400, -32602),
        (modern(6, "ping", json!({})), 404, -32601),
        (modern(7, "tools/call", json!({ "name": "nonsense" })), 400, -32602),
        (modern(8, "resources/read", json!({ "uri": "telar://x" })), 400, -32602),
        (
            (modern(9, "tools/list", json!({})).0, modern(9, "prompts/list", json!({})).1),
            400,
            -32020,
        ),
        ((json!([]), modern(10, "tools/list", json!({})).1), 400, -32600),
    ] {
        let answer = send((message.clone(), headers));
        assert_eq!(answer.status, status, "{message}: {}", answer.body);
        assert_eq!(answer.json()["error"]["code"], code, "{message}");
    }
    let notification = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
    assert_eq!(send((notification, modern(0, "x", json!({})).1)).status, 202);
    // A call ends with its connection: 16 of them, which run for ten minutes, leave room for more.
    for id in 0..16 {
        let (message, headers) = modern(id, "tools/call", query(LONG));
        let body = message.to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{BOTH}\r\n{}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            served.address,
            headers.join("\r\n"),
            body.len()
        );
        let mut stream = TcpStream::connect(&served.address).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let until = Instant::now() + Duration::from_secs(30);
    while send(modern(20, "tools/call", query("RETURN 1"))).json()["error"]["code"] == -32000 {
        assert!(Instant::now() < until, "calls of clients that have gone run on");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_signal_ends_it() {
    let mut served = Served::start(None, &["--timeout", "600"]);
    let session = served.session();
    let id = served.process.id().to_string();
    std::thread::scope(|scope| {
        let running = scope.spawn(|| served.post(&[&session], &query(1, LONG)).status);
        served.await_long(&session);
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        assert_eq!(running.join().unwrap(), 202);
    });
    assert_eq!(served.process.wait().unwrap().code(), Some(0));
    // The folder is free for others.
    let path = served.folder.path().join("graph.telar");
    assert_eq!(Client::start(&path, &[]).end().0, Some(0));
}
