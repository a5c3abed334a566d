//! JSON-RPC 2.0 as MCP uses it: what a message is, and the answers to it.

use serde_json::{Map, Value as Json, json};

/// Codes of errors.
pub(crate) mod code {
    pub(crate) const PARSE: i64 = -32700;
    pub(crate) const INVALID_REQUEST: i64 = -32600;
    pub(crate) const METHOD_NOT_FOUND: i64 = -32601;
    pub(crate) const INVALID_PARAMS: i64 = -32602;
    pub(crate) const INTERNAL: i64 = -32603;
    /// MCP's own: there is no such resource.
    pub(crate) const RESOURCE_NOT_FOUND: i64 = -32002;
    /// MCP's own, since 2026: headers and message differ.
    pub(crate) const HEADER_MISMATCH: i64 = -32020;
    /// MCP's own, since 2026: there is no such version.
    pub(crate) const UNSUPPORTED_VERSION: i64 = -32022;
    /// Ours: too many calls run.
    pub(crate) const BUSY: i64 = -32000;
}

/// An error of the protocol.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Json>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn parameters(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_REQUEST, message)
    }
}

/// The id of a request: a string or an integer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Id {
    Text(String),
    Number(i64),
}

impl Id {
    pub(crate) fn read(json: &Json) -> Option<Self> {
        match json {
            Json::String(text) => Some(Self::Text(text.clone())),
            Json::Number(number) => number.as_i64().map(Self::Number),
            _ => None,
        }
    }

    pub(crate) fn json(&self) -> Json {
        match self {
            Self::Text(text) => text.as_str().into(),
            Self::Number(number) => (*number).into(),
        }
    }
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Message {
    Request {
        id: Id,
        method: String,
        params: Map<String, Json>,
    },
    Notification {
        method: String,
        params: Map<String, Json>,
    },
    /// An answer: this server asks nothing, so it belongs to nothing.
    Response,
}

impl Message {
    /// Reads one message.
    ///
    /// # Errors
    /// The answer to what is none.
    pub(crate) fn read(json: Json) -> Result<Self, Json> {
        let Json::Object(mut fields) = json else {
            return Err(error(None, &RpcError::request("a message is an object")));
        };
        let said = fields.remove("id");
        let id = said.as_ref().and_then(Id::read);
        let refuse = |message: &str| Err(error(id.as_ref(), &RpcError::request(message)));
        if fields.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
            return refuse("jsonrpc: expected \"2.0\"");
        }
        let is_response = fields.contains_key("result") || fields.contains_key("error");
        let method = match fields.remove("method") {
            Some(Json::String(method)) => method,
            None if is_response => return Ok(Self::Response),
            _ => return refuse("method: expected a string"),
        };
        let params = match fields.remove("params") {
            None => Map::new(),
            Some(Json::Object(params)) => params,
            Some(_) => {
                let wrong = RpcError::parameters("params: expected an object");
                return Err(error(id.as_ref(), &wrong));
            }
        };
        match (said, id) {
            (None, _) => Ok(Self::Notification { method, params }),
            (Some(_), Some(id)) => Ok(Self::Request { id, method, params }),
            (Some(_), None) => {
                let wrong = RpcError::request("id: expected a string or an integer");
                Err(error(None, &wrong))
            }
        }
    }
}

/// Reads the text of one message, or of a batch.
///
/// # Errors
/// The answer to what is no JSON.
pub(crate) fn parse(text: &[u8]) -> Result<Json, Json> {
    serde_json::from_slice(text).map_err(|why| {
        error(None, &RpcError::new(code::PARSE, format!("the message is no JSON: {why}")))
    })
}

/// The answer to a request that went well.
pub(crate) fn result(id: &Id, result: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "id": id.json(), "result": result })
}

/// The answer to a request that did not; without an id to what cannot be told apart.
pub(crate) fn error(id: Option<&Id>, error: &RpcError) -> Json {
    let mut body = json!({ "code": error.code, "message": error.message });
    if let Some(data) = &error.data {
        body["data"] = data.clone();
    }
    json!({ "jsonrpc": "2.0", "id": id.map_or(Json::Null, Id::json), "error": body })
}

/// A message of this server that wants no answer.
pub(crate) fn notification(method: &str, params: &Json) -> Json {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(text: &str) -> i64 {
        let refused = parse(text.as_bytes()).and_then(Message::read).unwrap_err();
        assert_eq!(refused["jsonrpc"], "2.0");
        refused["error"]["code"].as_i64().unwrap()
    }

    #[test]
    fn messages_are_told_apart() {
        let read = |json| Message::read(json).unwrap();
        let params = Map::new();
        let method = || "ping".to_owned();
        let id = Id::Text("a".into());
        assert_eq!(
            read(json!({ "jsonrpc": "2.0", "id": "a", "method": "ping" })),
            Message::Request { id, method: method(), params: params.clone() }
        );
        assert_eq!(
            read(json!({ "jsonrpc": "2.0", "method": "ping", "params": {} })),
            Message::Notification { method: method(), params }
        );
        assert_eq!(read(json!({ "jsonrpc": "2.0", "id": 1, "result": {} })), Message::Response);
    }

    #[test]
    fn what_is_no_message_has_the_code_of_its_fault() {
        for (text, code) in [
            ("", -32700),
            ("{", -32700),
            ("\u{7f}", -32700),
            ("7", -32600),
            ("{}", -32600),
            (r#"{"jsonrpc": "1.0", "id": 1, "method": "ping"}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": 1}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": null, "method": "ping"}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": 1.5, "method": "ping"}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": [1], "method": "ping"}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": 7}"#, -32600),
            (r#"{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}"#, -32602),
        ] {
            assert_eq!(code_of(text), code, "{text}");
        }
        // The id is said back where it can be.
        let refused = Message::read(json!({ "jsonrpc": "1.0", "id": 7, "method": "x" }));
        assert_eq!(refused.unwrap_err()["id"], 7);
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(code_of(&deep), -32700);
    }
}
