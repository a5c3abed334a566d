//! Version 2026-07-28 of the protocol, without handshake and sessions: every request has its
//! version, and every result its type.
//!
//! ```text
//!  {"method": "tools/list", "params": {"_meta": {"io.modelcontextprotocol/protocolVersion": ..}}}
//!  {"result": {"tools": [..], "resultType": "complete", "ttlMs": 0, ..}}
//! ```
//!
//! Over HTTP the headers `MCP-Protocol-Version`, `Mcp-Method` and `Mcp-Name` repeat parts of the
//! message, and a client cancels by closing the connection.

use base64ct::{Base64, Encoding};
use serde_json::{Map, Value as Json, json};

use super::catalogue::INSTRUCTIONS;
use super::rpc::{RpcError, code};
use super::server::{HANDSHAKES, capabilities, server_info};

/// The version.
pub(crate) const VERSION: &str = "2026-07-28";

const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

/// Methods whose results say how long they may be kept.
const CACHEABLE: [&str; 6] = [
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
];

/// True for a request that says its version.
pub(crate) fn is_meant(params: &Map<String, Json>) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get(PROTOCOL_VERSION).is_some())
}

/// Checks what every request says of itself.
///
/// # Errors
/// If a part is missing, or the version is another one.
pub(crate) fn check(params: &Map<String, Json>) -> Result<(), RpcError> {
    let meta = params.get("_meta");
    let field = |name: &str| meta.and_then(|meta| meta.get(name));
    let version = field(PROTOCOL_VERSION).and_then(Json::as_str);
    let missing = |name: &str| RpcError::parameters(format!("params._meta: '{name}' is missing"));
    let version = version.ok_or_else(|| missing(PROTOCOL_VERSION))?;
    if !field(CLIENT_CAPABILITIES).is_some_and(Json::is_object) {
        return Err(missing(CLIENT_CAPABILITIES));
    }
    if version == VERSION { Ok(()) } else { Err(unsupported(version)) }
}

/// The error of a version that there is not.
pub(crate) fn unsupported(requested: &str) -> RpcError {
    let supported: Vec<&str> = [VERSION].into_iter().chain(HANDSHAKES).collect();
    let mut error = RpcError::new(code::UNSUPPORTED_VERSION, "this version is not supported");
    error.data = Some(json!({ "supported": supported, "requested": requested }));
    error
}

/// The answer to `server/discover`.
pub(crate) fn discover() -> Json {
    json!({
        "supportedVersions": [VERSION],
        "capabilities": capabilities(),
        "instructions": INSTRUCTIONS,
    })
}

/// Adds what every result says of itself. Nothing may be kept, as tools follow the settings and
/// the schema follows the graph.
pub(crate) fn stamp(method: &str, result: &mut Json) {
    result["resultType"] = "complete".into();
    result["_meta"] = json!({ SERVER_INFO: server_info() });
    if CACHEABLE.contains(&method) {
        result["ttlMs"] = 0.into();
        result["cacheScope"] = "private".into();
    }
}

/// Compares the headers of a request with its message; `header` gives the value of one.
///
/// # Errors
/// If they differ.
pub(crate) fn check_headers<'h>(
    message: &Json,
    header: impl Fn(&'static str) -> Option<&'h str>,
) -> Result<(), RpcError> {
    let mismatch = |name: &str| {
        Err(RpcError::new(code::HEADER_MISMATCH, format!("{name} is not that of the message")))
    };
    let method = message["method"].as_str();
    if header("mcp-method") != method {
        return mismatch("Mcp-Method");
    }
    let params = &message["params"];
    if header("mcp-protocol-version") != params["_meta"][PROTOCOL_VERSION].as_str() {
        return mismatch("MCP-Protocol-Version");
    }
    let field = match method {
        Some("tools/call" | "prompts/get") => "name",
        Some("resources/read") => "uri",
        _ => return Ok(()),
    };
    let given = header("mcp-name").and_then(decoded);
    if given.as_deref() == params[field].as_str() { Ok(()) } else { mismatch("Mcp-Name") }
}

/// A value of a header, which has a form for values that are not plain ASCII.
fn decoded(value: &str) -> Option<String> {
    let inside = value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?="));
    match inside {
        None => Some(value.to_owned()),
        Some(inside) => String::from_utf8(Base64::decode_vec(inside).ok()?).ok(),
    }
}

/// The HTTP status of an answer.
pub(crate) fn status(answer: &Json) -> u16 {
    match answer["error"]["code"].as_i64() {
        Some(code::METHOD_NOT_FOUND) => 404,
        Some(
            code::PARSE
            | code::INVALID_REQUEST
            | code::INVALID_PARAMS
            | code::HEADER_MISMATCH
            | code::UNSUPPORTED_VERSION,
        ) => 400,
        _ => 200,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(version: &str) -> Json {
        json!({ "method": "tools/call", "params": { "name": "schäma", "_meta": {
            PROTOCOL_VERSION: version, CLIENT_CAPABILITIES: {},
        } } })
    }

    #[test]
    fn requests_say_their_version() {
        let check = |message: &Json| check(message["params"].as_object().unwrap());
        assert_eq!(check(&call(VERSION)), Ok(()));
        assert_eq!(check(&call("2030-01-01")).unwrap_err().code, -32022);
        let mut bare = call(VERSION);
        bare["params"]["_meta"] = json!({ PROTOCOL_VERSION: VERSION });
        assert_eq!(check(&bare).unwrap_err().code, -32602);
        assert!(is_meant(bare["params"].as_object().unwrap()) && !is_meant(&Map::new()));
    }

    #[test]
    fn headers_repeat_the_message() {
        let message = call(VERSION);
        let check = |method: &'static str, name: Option<&'static str>, version: &'static str| {
            check_headers(&message, |header| match header {
                "mcp-method" => Some(method),
                "mcp-name" => name,
                _ => Some(version),
            })
            .is_ok()
        };
        let name = Some("=?base64?c2Now6RtYQ==?=");
        assert!(check("tools/call", name, VERSION));
        assert!(check("tools/call", Some("schäma"), VERSION));
        assert!(!check("tools/list", name, VERSION));
        assert!(!check("tools/call", None, VERSION));
        assert!(!check("tools/call", Some("=?base64?!?="), VERSION));
        assert!(!check("tools/call", name, "2025-11-25"));
    }
}
