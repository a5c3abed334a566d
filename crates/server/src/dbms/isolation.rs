//! Metadata of a transaction that the server understands: how it is isolated, and whether it
//! commits once; what settings say of the isolation in a database.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use telar_db::query::cypher::suggest::closest;
use telar_db::{Isolation, ONCE_ID_BYTES_MAX, Value, ValueMap};

use super::names::{self, ALIAS};
use super::{Failure, SYSTEM};

/// What begins keys of the metadata of transactions that are for the server.
const RESERVED: &str = "telar.";
/// The key that says how a transaction is isolated.
pub const KEY: &str = "telar.isolation";

/// The key of the id of a transaction that commits once.
pub(super) const ONCE_KEY: &str = "telar_once";

/// The levels, as they are written.
const LEVELS: [(&str, Isolation); 2] =
    [("snapshot", Isolation::Snapshot), ("serializable", Isolation::Serializable)];

/// The level of this name, in letters of any case.
#[must_use]
pub fn level(name: &str) -> Option<Isolation> {
    let is = |(level, _): &&(&str, Isolation)| level.eq_ignore_ascii_case(name);
    LEVELS.iter().find(is).map(|(_, level)| *level)
}

/// The name of a level.
#[must_use]
pub fn name(level: Isolation) -> &'static str {
    LEVELS.iter().find(|(_, other)| *other == level).map_or("", |(name, _)| *name)
}

fn invalid(message: String) -> Failure {
    Failure::new("Neo.ClientError.Request.Invalid", message)
}

/// Isolation that the metadata of a transaction ask for, if they do.
///
/// # Errors
/// If it says what is no level, or something else to the server.
pub(super) fn wanted(metadata: &ValueMap) -> Result<Option<Isolation>, Failure> {
    let unknown = |key: &&Arc<str>| key.starts_with(RESERVED) && ***key != *KEY;
    if let Some(key) = metadata.keys().find(unknown) {
        let help = closest(key, [KEY, ONCE_KEY]).map(|near| format!("; did you mean '{near}'?"));
        let help = help.unwrap_or_default();
        let message = format!("transaction metadata: there is no key '{key}'{help}");
        return Err(invalid(message));
    }
    let found = match metadata.get(KEY) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(name)) => match level(name) {
            Some(level) => return Ok(Some(level)),
            None => format!("'{}'", name.chars().take(100).collect::<String>()),
        },
        Some(other) => other.type_name().to_string(),
    };
    let expected = "'snapshot' or 'serializable'";
    Err(invalid(format!("transaction metadata: {KEY}: expected {expected}, found {found}")))
}

/// The id of a transaction that commits once, if its metadata have one.
///
/// # Errors
/// If it is no text, or none that can be kept.
pub(super) fn once(metadata: &ValueMap) -> Result<Option<Arc<str>>, Failure> {
    let found = match metadata.get(ONCE_KEY) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(id)) if (1..=ONCE_ID_BYTES_MAX).contains(&id.len()) => {
            return Ok(Some((**id).into()));
        }
        Some(Value::String(id)) => format!("a STRING of {} bytes", id.len()),
        Some(other) => other.type_name().to_string(),
    };
    let expected = format!("a STRING of 1 to {ONCE_ID_BYTES_MAX} bytes");
    Err(invalid(format!("transaction metadata: {ONCE_KEY}: expected {expected}, found {found}")))
}

/// How transactions are isolated whose clients do not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolations {
    /// In every database ...
    default: Isolation,
    /// ... but for these.
    databases: BTreeMap<String, Isolation>,
}

impl Isolations {
    /// Reads `snapshot, shop=serializable`.
    ///
    /// # Errors
    /// What was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected = |found: &str| {
            format!("expected snapshot or serializable, or shop=serializable; found '{found}'")
        };
        let mut all = Self::default();
        for element in text.split(',').map(str::trim).filter(|element| !element.is_empty()) {
            let Some((database, name)) = element.split_once('=') else {
                all.default = level(element).ok_or_else(|| expected(element))?;
                continue;
            };
            let of = level(name.trim()).ok_or_else(|| expected(element))?;
            let database = names::database(database.trim()).map_err(|e| e.message)?;
            all.databases.insert(database, of);
        }
        Ok(all)
    }

    /// That of a database, which is the default one or not.
    pub(super) fn of(&self, database: &str, is_default: bool) -> Isolation {
        let alias = || self.databases.get(ALIAS).filter(|_| is_default);
        match self.databases.get(database).or_else(alias) {
            _ if database == SYSTEM => Isolation::Snapshot,
            Some(of) => *of,
            None => self.default,
        }
    }
}

impl fmt::Display for Isolations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name(self.default))?;
        self.databases.iter().try_for_each(|(of, level)| write!(f, ", {of}={}", name(*level)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_says_how_a_transaction_is_isolated() {
        let of = |key: &str, value: Value| wanted(&[(key.into(), value)].into());
        assert_eq!(wanted(&ValueMap::new()), Ok(None));
        assert_eq!(of("isolation", "of another program".into()), Ok(None));
        assert_eq!(of(KEY, Value::Null), Ok(None));
        assert_eq!(of(KEY, "SERIALIZABLE".into()), Ok(Some(Isolation::Serializable)));
        assert_eq!(of(KEY, "snapshot".into()), Ok(Some(Isolation::Snapshot)));
        for (key, value, says) in [
            (KEY, "strict".into(), "expected 'snapshot' or 'serializable', found 'strict'"),
            (KEY, Value::Int(1), "found INTEGER"),
            ("telar.isolatoin", "snapshot".into(), "did you mean 'telar.isolation'?"),
            ("telar.x", Value::Null, "there is no key 'telar.x'"),
        ] {
            let error = of(key, value).unwrap_err();
            assert!(error.message.contains(says), "{error}");
            assert_eq!(error.code, "Neo.ClientError.Request.Invalid");
        }
    }

    #[test]
    fn settings_say_it_for_each_database() {
        let all = Isolations::parse("Snapshot, Shop = serializable, neo4j=serializable").unwrap();
        assert_eq!(all.to_string(), "snapshot, neo4j=serializable, shop=serializable");
        assert_eq!(Isolations::parse(&all.to_string()), Ok(all.clone()));
        assert_eq!(all.of("shop", false), Isolation::Serializable);
        assert_eq!(all.of("other", false), Isolation::Snapshot);
        assert_eq!(all.of("telar", true), Isolation::Serializable);
        let all = Isolations::parse("serializable").unwrap();
        assert_eq!(all.of("other", false), Isolation::Serializable);
        assert_eq!(all.of(SYSTEM, false), Isolation::Snapshot);
        assert_eq!(Isolations::parse(""), Ok(Isolations::default()));
        for wrong in ["strict", "shop=strict", "shop=", "a/b=snapshot"] {
            assert!(Isolations::parse(wrong).is_err(), "{wrong}");
        }
    }
}
