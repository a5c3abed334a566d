//! FULLTEXT indexes: an object has a key for each term of each property, and one for the length of
//! each (`telar_text::key`). Keys name the version of the text that they were made of.

use smallvec::SmallVec;
use telar_graph::{IndexRange, PropertyKeyId, Value};
use telar_text::Analyzer;
use telar_text::key::{self, Fingerprint};

use super::EntryKind;
use crate::index::key::SortKey;
use crate::index::read::KeyRange;

pub(super) enum Fulltext {}

impl EntryKind for Fulltext {
    const TAG: u8 = 8;

    /// None: an object has many ([`for_each_key`]).
    fn key(_: &[Value]) -> Option<SortKey> {
        None
    }

    /// Nothing that other kinds are asked for: terms are read as keys.
    fn range(_: usize, _: &IndexRange) -> Option<KeyRange> {
        None
    }
}

/// The strings of a value: itself, or those of a list that has nothing else. Other values are in no
/// full-text index.
fn texts_of(value: &Value) -> Option<SmallVec<[&str; 1]>> {
    match value {
        Value::String(text) => Some(SmallVec::from_elem(&**text, 1)),
        Value::List(list) if !list.is_empty() => list
            .iter()
            .map(|item| match item {
                Value::String(text) => Some(&**text),
                _ => None,
            })
            .collect(),
        _ => None,
    }
}

/// Calls `f` with each key of an object that has these values.
pub(super) fn for_each_key(
    analyzer: Analyzer,
    properties: &[PropertyKeyId],
    mut value: impl FnMut(PropertyKeyId) -> Value,
    mut f: impl FnMut(SortKey),
) {
    for (field, property) in properties.iter().enumerate() {
        let value = value(*property);
        if let Some(texts) = texts_of(&value) {
            key::for_each_key(analyzer, field as u8, &texts, |bytes| {
                f(SortKey::from_bytes(bytes));
            });
        }
    }
}

/// True if an object that has these values has the key.
pub(super) fn has_key(
    properties: &[PropertyKeyId],
    value: impl FnMut(PropertyKeyId) -> Value,
    sought: &SortKey,
) -> bool {
    let version = key::version(&sought.to_bytes());
    version.is_some_and(|version| has_version(properties, value, version))
}

/// True if an object that has these values has this version of the text of a field.
pub(super) fn has_version(
    properties: &[PropertyKeyId],
    mut value: impl FnMut(PropertyKeyId) -> Value,
    (field, fingerprint): (u8, Fingerprint),
) -> bool {
    let Some(property) = properties.get(usize::from(field)) else { return false };
    let value = value(*property);
    texts_of(&value).is_some_and(|texts| key::fingerprint(texts) == fingerprint)
}
