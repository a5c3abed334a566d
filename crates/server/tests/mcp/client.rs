//! A client that speaks by lines, and sends exactly what a test wants sent.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};

use crate::process::Process;

/// The newest version of the protocol that begins with a handshake.
pub(crate) const VERSION: &str = "2025-11-25";
/// The version that has none.
pub(crate) const MODERN: &str = "2026-07-28";

/// What each request of the latter says of itself.
pub(crate) fn modern_meta() -> Json {
    json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The program, without settings from the environment of the tests.
pub(crate) fn telar_mcp() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    for name in ["TELAR_CONFIG", "TELAR_USER", "TELAR_PASSWORD", "TELAR_MCP_TOKEN"] {
        command.env_remove(name);
    }
    command.arg("mcp");
    command
}

/// A server, and the pipes to it.
pub(crate) struct Client {
    pub(crate) process: Process,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last_id: i64,
}

impl Client {
    /// A server of this database, to which nothing was said.
    pub(crate) fn silent(db: &Path, arguments: &[&str]) -> Self {
        let mut command = telar_mcp();
        Self::of(command.arg(db).args(arguments))
    }

    pub(crate) fn of(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = Process::start(command).unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap());
        Self { process, input, output, last_id: 0 }
    }

    /// A server with which the handshake was made.
    pub(crate) fn start(db: &Path, arguments: &[&str]) -> Self {
        let mut client = Self::silent(db, arguments);
        client.shake_hands(VERSION);
        client
    }

    pub(crate) fn shake_hands(&mut self, version: &str) -> Json {
        let parameters = json!({
            "protocolVersion": version, "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let result = self.ask("initialize", &parameters)["result"].clone();
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        result
    }

    pub(crate) fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Json) {
        self.line(message.to_string().as_bytes());
    }

    /// The next message of the server.
    pub(crate) fn read(&mut self) -> Json {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has ended");
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// Sends a request and does not wait for its answer; its id.
    pub(crate) fn request(&mut self, method: &str, parameters: &Json) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters }));
        id
    }

    pub(crate) fn ask(&mut self, method: &str, parameters: &Json) -> Json {
        let id = self.request(method, parameters);
        let answer = self.read();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(id)), "{answer}");
        answer
    }

    /// The result of a tool, whatever it is.
    pub(crate) fn call(&mut self, tool: &str, arguments: Json) -> Json {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let result = answer["result"].clone();
        assert_eq!(result["content"][0]["type"], "text", "{answer}");
        result
    }

    /// Structured result of a call that succeeds.
    pub(crate) fn tool(&mut self, tool: &str, arguments: Json) -> Json {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], false, "{result}");
        // The text says the same.
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Json>(text).unwrap(), result["structuredContent"]);
        result["structuredContent"].clone()
    }

    /// Error text of a call that fails.
    pub(crate) fn refused(&mut self, tool: &str, arguments: Json) -> String {
        let result = self.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// The rows of a query.
    pub(crate) fn rows(&mut self, query: &str) -> Json {
        self.tool("read_query", json!({ "query": query }))["rows"].clone()
    }

    /// Runs a statement that writes; the commit.
    pub(crate) fn write(&mut self, query: &str) -> i64 {
        self.tool("write_query", json!({ "query": query }))["at"].as_i64().unwrap()
    }

    /// Closes the input; the exit code, and what the server still said.
    pub(crate) fn end(mut self) -> (Option<i32>, Vec<Json>) {
        drop(self.input.take());
        let mut said = Vec::new();
        let mut line = String::new();
        while self.output.read_line(&mut line).unwrap() > 0 {
            said.push(serde_json::from_str(&line).unwrap());
            line.clear();
        }
        (self.process.wait().unwrap().code(), said)
    }
}
