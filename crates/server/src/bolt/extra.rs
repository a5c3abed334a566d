//! What requests say in their maps: how to run a statement or transaction, who wants to log in.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use telar_db::{Value, ValueMap};

use super::status::Filter;
use crate::dbms::{AccessMode, Credentials, Failure, Options};

/// How to run, and what to say of it.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) options: Options,
    pub(crate) filter: Filter,
    /// Set to give it up.
    pub(crate) cancelled: Arc<AtomicBool>,
    /// Set when a command has terminated it.
    pub(crate) terminated: Arc<AtomicBool>,
}

fn invalid(key: &str, expected: &str, found: &Value) -> Failure {
    let message = format!("{key}: expected {expected}, found {}", found.type_name());
    Failure::new("Neo.ClientError.Request.Invalid", message)
}

/// A text, if there is one.
pub(crate) fn text(map: &ValueMap, key: &str) -> Result<Option<String>, Failure> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.to_string())),
        Some(other) => Err(invalid(key, "STRING", other)),
    }
}

/// A list of texts, empty if there is none.
pub(crate) fn texts(key: &str, value: Option<&Value>) -> Result<Vec<String>, Failure> {
    let list = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::List(list)) => list,
        Some(other) => return Err(invalid(key, "LIST<STRING>", other)),
    };
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.to_string()),
        other => Err(invalid(key, "LIST<STRING>", other)),
    };
    list.iter().map(text).collect()
}

/// What RUN and BEGIN say.
pub(crate) fn wanted(extra: &ValueMap, connection: &Filter) -> Result<Wanted, Failure> {
    let access = match text(extra, "mode")?.as_deref() {
        None | Some("w") => AccessMode::Write,
        Some("r") => AccessMode::Read,
        Some(other) => {
            let message = format!("mode: expected 'r' or 'w', found '{other}'");
            return Err(Failure::new("Neo.ClientError.Request.Invalid", message));
        }
    };
    let timeout = match extra.get("tx_timeout") {
        None | Some(Value::Null) => None,
        Some(Value::Int(ms)) => match u64::try_from(*ms) {
            // No limit.
            Ok(0) => None,
            Ok(ms) => Some(Duration::from_millis(ms)),
            Err(_) => {
                let message = format!("tx_timeout: expected 0 or more milliseconds, found {ms}");
                return Err(Failure::new("Neo.ClientError.Request.Invalid", message));
            }
        },
        Some(other) => return Err(invalid("tx_timeout", "INTEGER", other)),
    };
    let metadata = match extra.get("tx_metadata") {
        None | Some(Value::Null) => ValueMap::new(),
        Some(Value::Map(metadata)) => (**metadata).clone(),
        Some(other) => return Err(invalid("tx_metadata", "MAP", other)),
    };
    let (cancelled, terminated) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
    let options = Options {
        // Some clients say "" where they mean nothing.
        database: text(extra, "db")?.filter(|name| !name.is_empty()),
        access,
        bookmarks: texts("bookmarks", extra.get("bookmarks"))?,
        timeout,
        metadata,
        impersonated: text(extra, "imp_user")?,
        cancelled: Some(Arc::clone(&cancelled)),
        terminated: Some(Arc::clone(&terminated)),
        ..Options::default()
    };
    Ok(Wanted { options, filter: filter(extra, connection)?, cancelled, terminated })
}

/// Which notifications a map asks for; what it does not say is as before.
pub(crate) fn filter(extra: &ValueMap, before: &Filter) -> Result<Filter, Failure> {
    let minimum = extra.get("notifications_minimum_severity");
    let disabled = extra
        .get("notifications_disabled_classifications")
        .or_else(|| extra.get("notifications_disabled_categories"));
    before.or(minimum, disabled).ok_or_else(|| {
        let message = "notifications: expected a STRING and a LIST<STRING>";
        Failure::new("Neo.ClientError.Request.Invalid", message)
    })
}

/// What HELLO or LOGON say of who the client is.
pub(crate) fn credentials(map: &ValueMap) -> Result<Credentials, Failure> {
    let field = |key| text(map, key).map(Option::unwrap_or_default);
    Ok(Credentials {
        scheme: field("scheme")?,
        principal: field("principal")?,
        credentials: field("credentials")?,
    })
}
