//! The body of a request to the Query API.

use std::time::Duration;

use serde_json::{Map, Value as Json};
use telar_db::{Isolation, ValueMap};

use super::json::{Notation, read_parameters};
use crate::dbms::{AccessMode, isolation_level};

/// What can be in a body, in the order in which the documentation lists it.
const FIELDS: [&str; 9] = [
    "statement",
    "parameters",
    "includeCounters",
    "accessMode",
    "maxExecutionTime",
    "bookmarks",
    "impersonatedUser",
    "txMetadata",
    "isolation",
];

/// Longest time that a statement can be given: a year.
const TIMEOUT_SECONDS_MAX: f64 = 31_536_000.0;

/// A statement and how it is to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// The text; none is legal where a transaction is only to be kept alive.
    pub statement: Option<String>,
    /// Its parameters.
    pub parameters: ValueMap,
    /// Whether the answer says what was changed.
    pub include_counters: bool,
    /// Whether it may change anything.
    pub access: AccessMode,
    /// When it is given up.
    pub timeout: Option<Duration>,
    /// Commits it must see.
    pub bookmarks: Vec<String>,
    /// On whose behalf it runs.
    pub impersonated: Option<String>,
    /// What is listed with it.
    pub metadata: ValueMap,
    /// How it is isolated, if that is said.
    pub isolation: Option<Isolation>,
}

/// The value of a field, or what is wrong with it.
fn field<T>(
    entries: &mut Map<String, Json>,
    name: &str,
    expected: &str,
    read: impl FnOnce(Json) -> Option<T>,
) -> Result<Option<T>, String> {
    match entries.swap_remove(name) {
        None | Some(Json::Null) => Ok(None),
        Some(json) => read(json).map(Some).ok_or_else(|| format!("{name}: expected {expected}")),
    }
}

fn text(json: Json) -> Option<String> {
    match json {
        Json::String(text) => Some(text),
        _ => None,
    }
}

fn access(json: Json) -> Option<AccessMode> {
    match text(json)?.to_ascii_lowercase().as_str() {
        "read" => Some(AccessMode::Read),
        "write" => Some(AccessMode::Write),
        _ => None,
    }
}

fn isolation(json: Json) -> Option<Isolation> {
    isolation_level(&text(json)?)
}

/// A number of seconds above zero and up to a year.
fn seconds(json: Json) -> Option<Duration> {
    let seconds = json.as_f64().filter(|s| *s > 0.0 && *s <= TIMEOUT_SECONDS_MAX)?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn texts(json: Json) -> Option<Vec<String>> {
    match json {
        Json::Array(elements) => elements.into_iter().map(text).collect(),
        _ => None,
    }
}

impl Request {
    /// Reads a body; an empty one asks for nothing.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub fn decode(notation: Notation, body: &[u8]) -> Result<Self, String> {
        if body.iter().all(u8::is_ascii_whitespace) {
            return Ok(Self::default());
        }
        let json: Json = serde_json::from_slice(body).map_err(|e| format!("not JSON: {e}"))?;
        let Json::Object(mut entries) = json else {
            return Err("expected an object".to_owned());
        };
        if let Some(name) = entries.keys().find(|name| !FIELDS.contains(&name.as_str())) {
            let near = telar_db::query::cypher::suggest::closest(name, FIELDS);
            let help = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
            return Err(format!("there is no field '{name}'{help}"));
        }
        let entries = &mut entries;
        let mut values = |name: &str| match entries.swap_remove(name) {
            None | Some(Json::Null) => Ok(ValueMap::new()),
            Some(json) => read_parameters(notation, json).map_err(|e| match name {
                "parameters" => e,
                _ => format!("{name}: {e}"),
            }),
        };
        let (parameters, metadata) = (values("parameters")?, values("txMetadata")?);
        let boolean = |json: Json| json.as_bool();
        Ok(Self {
            statement: field(entries, "statement", "a string", text)?,
            parameters,
            metadata,
            include_counters: field(entries, "includeCounters", "a boolean", boolean)?
                .unwrap_or_default(),
            access: field(entries, "accessMode", "\"READ\" or \"WRITE\"", access)?
                .unwrap_or_default(),
            timeout: field(entries, "maxExecutionTime", "seconds above 0, up to a year", seconds)?,
            bookmarks: field(entries, "bookmarks", "a list of strings", texts)?.unwrap_or_default(),
            impersonated: field(entries, "impersonatedUser", "a string", text)?,
            isolation: field(entries, "isolation", "\"SNAPSHOT\" or \"SERIALIZABLE\"", isolation)?,
        })
    }

    /// Whether there is a statement to run.
    pub(crate) fn text(&self) -> Option<&str> {
        self.statement.as_deref().filter(|text| !text.trim().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use telar_db::Value;

    use super::*;

    fn decode(body: &str) -> Result<Request, String> {
        Request::decode(Notation::Plain, body.as_bytes())
    }

    #[test]
    fn a_body_says_what_to_run_and_how() {
        let request = decode(
            r#"{"statement": "RETURN $x", "parameters": {"x": [1, null]}, "includeCounters": true,
               "accessMode": "Read", "maxExecutionTime": 0.5, "bookmarks": ["telar:neo4j:7"],
               "impersonatedUser": "ada", "txMetadata": {"app": "test"},
               "isolation": "Serializable"}"#,
        );
        let expected = Request {
            statement: Some("RETURN $x".to_owned()),
            parameters: [("x".into(), Value::list([Value::Int(1), Value::Null]))].into(),
            include_counters: true,
            access: AccessMode::Read,
            timeout: Some(Duration::from_millis(500)),
            bookmarks: vec!["telar:neo4j:7".to_owned()],
            impersonated: Some("ada".to_owned()),
            metadata: [("app".into(), Value::from("test"))].into(),
            isolation: Some(Isolation::Serializable),
        };
        assert_eq!(request, Ok(expected));
        assert_eq!(decode(" \n"), Ok(Request::default()));
        assert_eq!(decode(r#"{"statement": null}"#), Ok(Request::default()));
    }

    #[test]
    fn what_makes_no_sense_is_refused_by_name() {
        let cases = [
            ("{", "not JSON: EOF while parsing an object at line 1 column 1"),
            ("[]", "expected an object"),
            (r#"{"statment": ""}"#, "there is no field 'statment'; did you mean 'statement'?"),
            (r#"{"statement": 1}"#, "statement: expected a string"),
            (r#"{"parameters": []}"#, "parameters: expected an object"),
            (r#"{"accessMode": "rw"}"#, "accessMode: expected \"READ\" or \"WRITE\""),
            (
                r#"{"maxExecutionTime": -1}"#,
                "maxExecutionTime: expected seconds above 0, up to a year",
            ),
            (
                r#"{"maxExecutionTime": 31536001}"#,
                "maxExecutionTime: expected seconds above 0, up to a year",
            ),
            (r#"{"isolation": "strict"}"#, "isolation: expected \"SNAPSHOT\" or \"SERIALIZABLE\""),
            (r#"{"bookmarks": [1]}"#, "bookmarks: expected a list of strings"),
        ];
        for (body, message) in cases {
            assert_eq!(decode(body).unwrap_err(), message, "{body}");
        }
    }
}
