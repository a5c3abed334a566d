//! A call of a tool at a server's `/mcp`, in the version of the protocol without sessions.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

const VERSION: &str = "2026-07-28";

/// Calls a tool at `address` (`host:port`); returns the answer with its headers.
pub(crate) fn call(address: &str, tool: &str, arguments: Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": VERSION,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let parameters = json!({ "name": tool, "arguments": arguments, "_meta": meta });
    let message =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters });
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let name = format!("Mcp-Name: {tool}");
    post(address, "/mcp", &[&version, "Mcp-Method: tools/call", &name], &message)
}

/// Sends a message to a path, with these headers; returns the answer with its headers.
pub(crate) fn post(address: &str, path: &str, headers: &[&str], message: &Value) -> String {
    let body = message.to_string();
    let length = format!("Content-Length: {}", body.len());
    let all = ["Host: localhost", "Connection: close", "Content-Type: application/json", &length];
    let head = [&all[..], headers].concat().join("\r\n");
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(format!("POST {path} HTTP/1.1\r\n{head}\r\n\r\n{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
