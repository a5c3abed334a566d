//! The protocol by lines: handshake, faults, cancelling, the end.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::client::{Client, MODERN, VERSION, modern_meta, telar_mcp};
use crate::within::within;

/// A query that runs until it is ended.
const LONG: &str = "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b \
                    WITH a, b WHERE a + b < 0 RETURN count(*)";

fn code(answer: &Json) -> i64 {
    answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{answer}"))
}

/// A database with something in it.
fn database() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("graph.telar");
    let db = telar_db::open(&path).unwrap();
    telar_db::Session::new(&db).run("CREATE (:Tea {price: 3})", &[]).unwrap();
    db.close().unwrap();
    (folder, path)
}

#[test]
fn versions_are_negotiated() {
    let (_folder, path) = database();
    for (wanted, given) in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2024-11-05"),
        ("2099-01-01", VERSION),
        ("", VERSION),
    ] {
        let mut client = Client::silent(&path, &[]);
        let said = client.shake_hands(wanted);
        assert_eq!(said["protocolVersion"], given);
        assert_eq!(said["serverInfo"]["name"], "telar");
        assert!(said["instructions"].as_str().unwrap().contains("'schema'"));
        // A batch is part of one version only.
        client.send(&json!([{ "jsonrpc": "2.0", "id": "b", "method": "ping" },
                            { "jsonrpc": "2.0", "method": "notifications/x" },
                            { "jsonrpc": "2.0", "id": "c", "method": "tools/call", "params":
                              { "name": "read_query", "arguments": { "query": "RETURN 1" } } },
                            7]));
        let answer = client.read();
        if given == "2025-03-26" {
            let answers = answer.as_array().unwrap();
            assert_eq!(answers.len(), 3);
            assert_eq!((&answers[0]["id"], &answers[0]["result"]), (&json!("b"), &json!({})));
            assert_eq!(answers[1]["result"]["structuredContent"]["rows"], json!([[1]]));
            assert_eq!(code(&answers[2]), -32600);
            client.send(&json!([]));
            assert_eq!(code(&client.read()), -32600);
        } else {
            assert_eq!(code(&answer), -32600);
        }
        assert_eq!(client.end(), (Some(0), vec![]));
    }
}

#[test]
fn the_version_without_a_handshake_is_spoken() {
    let (_folder, path) = database();
    let mut client = Client::silent(&path, &["--timeout", "600"]);
    let mut ask = |method: &str, mut parameters: Json| {
        parameters["_meta"] = modern_meta();
        client.ask(method, &parameters)
    };
    let discovered = ask("server/discover", json!({}))["result"].clone();
    assert_eq!(discovered["supportedVersions"], json!([MODERN]));
    assert_eq!(
        (&discovered["resultType"], &discovered["cacheScope"]),
        (&json!("complete"), &json!("private"))
    );
    assert_eq!(discovered["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "telar");
    assert_eq!(ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().len(), 5);
    let query = |query: &str| json!({ "name": "read_query", "arguments": { "query": query } });
    let called = ask("tools/call", query("MATCH (t:Tea) RETURN t.price"))["result"].clone();
    assert_eq!(called["structuredContent"]["rows"], json!([[3]]));
    assert_eq!((&called["resultType"], called.get("ttlMs")), (&json!("complete"), None));
    assert_eq!(code(&ask("ping", json!({}))), -32601);
    assert_eq!(code(&ask("resources/read", json!({ "uri": "telar://x" }))), -32602);
    let mut other = modern_meta();
    other["io.modelcontextprotocol/protocolVersion"] = "2030-01-01".into();
    let refused = client.ask("tools/list", &json!({ "_meta": other }));
    assert_eq!(code(&refused), -32022);
    assert!(refused["error"]["data"]["supported"].as_array().unwrap().contains(&json!(MODERN)));
    let mut long = query(LONG);
    long["_meta"] = modern_meta();
    let id = client.request("tools/call", &long);
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id } }));
    // A client that falls back is served; then its version is said.
    client.shake_hands(VERSION);
    let late = client.ask("tools/list", &json!({ "_meta": modern_meta() }));
    assert_eq!(code(&late), -32600);
    assert_eq!(client.rows("RETURN 1"), json!([[1]]));
}

#[test]
fn faults_have_their_codes_and_end_nothing() {
    let (_folder, path) = database();
    let mut client = Client::silent(&path, &[]);
    let early = client.ask("tools/list", &json!({}));
    assert_eq!(code(&early), -32600);
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    assert_eq!(code(&client.ask("initialize", &json!({}))), -32602);
    client.shake_hands(VERSION);
    assert_eq!(code(&client.ask("initialize", &json!({ "protocolVersion": VERSION }))), -32600);
    for (line, expected) in [
        (&b"nonsense"[..], -32700),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"", -32700),
        (b"\xff\xfe", -32700),
        (b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}", -32600),
        (b"{\"jsonrpc\": \"1.0\", \"id\": 1, \"method\": \"ping\"}", -32600),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": 1}", -32602),
        (b"\"text\"", -32600),
    ] {
        client.line(line);
        assert_eq!(code(&client.read()), expected, "{}", String::from_utf8_lossy(line));
    }
    // Neither of these has an answer.
    client.line(b"");
    client.line(b"  ");
    client.send(&json!({ "jsonrpc": "2.0", "id": 5, "result": {} }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/unknown" }));
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": "nobody" } }));
    for (method, parameters, expected) in [
        ("nonsense", json!({}), -32601),
        ("logging/setLevel", json!({ "level": "info" }), -32601),
        ("tools/list", json!({ "cursor": "x" }), -32602),
        ("tools/call", json!({}), -32602),
        ("tools/call", json!({ "name": "nonsense" }), -32602),
        ("tools/call", json!({ "name": "schema", "arguments": [] }), -32602),
        ("resources/read", json!({}), -32602),
        ("resources/read", json!({ "uri": "telar://nonsense" }), -32002),
        ("prompts/get", json!({ "name": "ask_graph" }), -32602),
    ] {
        assert_eq!(code(&client.ask(method, &parameters)), expected, "{method} {parameters}");
    }
    let long = vec![b'x'; (16 << 20) + 10];
    client.line(&long);
    assert_eq!(code(&client.read()), -32600);
    assert_eq!(client.rows("MATCH (t:Tea) RETURN t.price"), json!([[3]]));
    assert_eq!(client.end().0, Some(0));
}

#[test]
fn resources_and_prompts_are_there() {
    let (_folder, path) = database();
    let mut client = Client::start(&path, &[]);
    let mut list = |method: &str, name: &str| {
        client.ask(method, &json!({}))["result"][name].as_array().unwrap().clone()
    };
    assert_eq!(list("resources/list", "resources")[0]["uri"], "telar://schema");
    assert!(list("resources/templates/list", "resourceTemplates").is_empty());
    assert_eq!(list("prompts/list", "prompts")[0]["name"], "ask_graph");
    let read = client.ask("resources/read", &json!({ "uri": "telar://schema" }));
    let contents = &read["result"]["contents"][0];
    assert_eq!(contents["mimeType"], "application/json");
    let schema: Json = serde_json::from_str(contents["text"].as_str().unwrap()).unwrap();
    assert_eq!(
        (&schema["nodes"][0]["label"], &schema["nodes"][0]["count"]),
        (&json!("Tea"), &json!(1))
    );
    let asked = json!({ "name": "ask_graph", "arguments": { "question": "How much is tea?" } });
    let prompt = client.ask("prompts/get", &asked);
    let text = prompt["result"]["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.contains("How much is tea?"), "{text}");
}

#[test]
fn a_call_ends_when_it_is_cancelled_or_takes_too_long() {
    let (_folder, path) = database();
    let mut client = Client::start(&path, &["--timeout", "600"]);
    let call = json!({ "name": "read_query", "arguments": { "query": LONG } });
    let id = client.request("tools/call", &call);
    // Later requests are answered first.
    assert_eq!(client.ask("ping", &json!({}))["result"], json!({}));
    let same = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call });
    client.send(&same);
    assert_eq!(code(&client.read()), -32600, "the id is in use");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id, "reason": "enough" } }));
    // It has no answer: the next one is that of the next request.
    assert_eq!(client.rows("RETURN 1"), json!([[1]]));
    // Progress is told to those who ask.
    let call = json!({ "name": "read_query", "arguments": { "query": LONG },
                       "_meta": { "progressToken": "t" } });
    let id = client.request("tools/call", &call);
    let progress = client.read();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["progressToken"], "t");
    assert!(progress["params"]["progress"].as_f64().unwrap() >= 1.0, "{progress}");
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                         "params": { "requestId": id } }));
    let next = client.request("ping", &json!({}));
    after_progress(&mut client, next);
    assert_eq!(client.end().0, Some(0));

    let mut client = Client::start(&path, &["--timeout", "2"]);
    let began = Instant::now();
    let said = client.refused("read_query", json!({ "query": LONG }));
    assert!(said.contains("Neo.ClientError.Transaction.TransactionTimedOut"), "{said}");
    assert!(began.elapsed() < Duration::from_secs(20));
    let id = client.request("tools/call", &call);
    assert_eq!(after_progress(&mut client, id)["result"]["isError"], true);
}

/// The next message that tells no progress, which has this id.
fn after_progress(client: &mut Client, id: i64) -> Json {
    loop {
        let message = client.read();
        if message["method"] != "notifications/progress" {
            assert_eq!(message["id"], id, "{message}");
            return message;
        }
        assert_eq!(message["params"]["progressToken"], "t");
    }
}

#[test]
fn too_many_calls_at_once_are_refused() {
    let (_folder, path) = database();
    let mut client = Client::start(&path, &["--timeout", "60"]);
    let call = json!({ "name": "read_query", "arguments": { "query": LONG } });
    let ids: Vec<i64> = (0..17).map(|_| client.request("tools/call", &call)).collect();
    let refused = client.read();
    assert_eq!((&refused["id"], code(&refused)), (&json!(ids[16]), -32000));
    for id in &ids[..16] {
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                             "params": { "requestId": id } }));
    }
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let answer = client.ask(
            "tools/call",
            &json!({ "name": "read_query", "arguments": { "query": "RETURN 1" } }),
        );
        if answer["result"]["isError"] == false {
            break;
        }
        assert!(Instant::now() < until, "{answer}");
    }
}

#[test]
fn it_ends_with_its_input_and_with_signals() {
    let (_folder, path) = database();
    // Requests before the end of the input are answered.
    let call = json!({ "name": "read_query", "arguments": { "query": "RETURN 1 AS one" } });
    within(Duration::from_secs(2), |since| {
        let mut client = Client::start(&path, &[]);
        let id = client.request("tools/call", &call);
        since.set(Instant::now());
        let (exit, said) = client.end();
        assert_eq!((exit, said.len(), &said[0]["id"]), (Some(0), 1, &json!(id)));
    });
    // Long calls do not delay the end.
    let mut client = Client::start(&path, &["--timeout", "600"]);
    let call = json!({ "name": "read_query", "arguments": { "query": LONG } });
    client.request("tools/call", &call);
    let began = Instant::now();
    assert_eq!(client.end(), (Some(0), vec![]));
    assert!(began.elapsed() < Duration::from_secs(15));
    for signal in ["-TERM", "-INT"] {
        let mut client = Client::start(&path, &["--timeout", "600"]);
        client.request("tools/call", &call);
        let id = client.process.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        assert_eq!(client.process.wait().unwrap().code(), Some(0), "{signal}");
    }
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let nothing = folder.path().join("nothing");
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    for (arguments, exit, expected) in [
        (vec![text(&nothing)], 1, "there is no Telar database"),
        (vec![text(&nothing), "--http".into(), "0.0.0.0:0".into()], 1, "TELAR_MCP_TOKEN"),
        (vec![text(&nothing), "--database".into(), "x".into()], 1, "--database goes with"),
        (vec!["bolt://127.0.0.1:1".into()], 1, "127.0.0.1:1"),
        (vec!["bolt://127.0.0.1:1".into(), "--retain".into(), "5".into()], 1, "--retain is for"),
        (vec!["bolt://127.0.0.1:1".into(), "--user".into(), "a".into()], 1, "TELAR_PASSWORD"),
        (vec![text(&nothing), "--max-rows".into(), "0".into()], 2, "--max-rows"),
        (vec![text(&nothing), "--allow-origin".into(), "http://a".into()], 2, "--http"),
        (vec![text(&nothing), "--port".into(), "80".into()], 2, "--http ADDRESS:PORT"),
        (vec![], 2, "DB|ADDRESS"),
    ] {
        let output = telar_mcp().args(&arguments).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(exit), "{arguments:?}: {said}");
        assert!(said.contains(expected), "{arguments:?}: {said}");
        assert!(output.stdout.is_empty());
    }
    let help = telar_mcp().arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for flag in ["--http", "--allow-writes", "--max-rows", "--max-chars", "--timeout", "--retain"] {
        assert!(help.contains(flag), "{help}");
    }
}
