//! The JSON of etcd's gateway, as far as the store uses it: bytes are base64, 64-bit numbers
//! strings.

use base64ct::{Base64, Encoding};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::store::StoreError;

/// The answer to a range request.
#[derive(Debug, Deserialize)]
pub(super) struct Range {
    pub(super) header: Header,
    #[serde(default)]
    pub(super) kvs: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Header {
    #[serde(default)]
    revision: String,
}

impl Header {
    pub(super) fn revision(&self) -> Result<u64, StoreError> {
        number(&self.revision)
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct KeyValue {
    key: String,
    #[serde(default)]
    value: String,
    #[serde(default)]
    mod_revision: String,
}

impl KeyValue {
    pub(super) fn key(&self) -> Result<String, StoreError> {
        String::from_utf8(decode(&self.key)?).map_err(|_| strange("a key is no text"))
    }

    pub(super) fn value(&self) -> Result<Vec<u8>, StoreError> {
        decode(&self.value)
    }

    pub(super) fn version(&self) -> Result<u64, StoreError> {
        number(&self.mod_revision)
    }
}

/// The answer to a transaction.
#[derive(Debug, Deserialize)]
pub(super) struct Transaction {
    pub(super) header: Header,
    #[serde(default)]
    pub(super) succeeded: bool,
    #[serde(default)]
    responses: Vec<Response>,
}

#[derive(Debug, Deserialize)]
struct Response {
    response_range: Option<Range>,
}

impl Transaction {
    /// What the range request at place `at` found.
    pub(super) fn range(&self, at: usize) -> Result<&[KeyValue], StoreError> {
        let found = self.responses.get(at).and_then(|found| found.response_range.as_ref());
        found.map(|found| &found.kvs[..]).ok_or_else(|| strange("an answer has too few parts"))
    }
}

/// Lets whatever node is asked answer the range by what it has, and ask no leader.
pub(super) fn serializable(mut range: Value) -> Value {
    range["serializable"] = true.into();
    range
}

/// An answer to something whose content does not matter.
#[derive(Debug, Deserialize)]
pub(super) struct Done {}

/// A range from `key` to before `end`, or of `key` alone; `limit` 0 is all.
pub(super) fn range(key: &[u8], end: Option<&[u8]>, limit: usize, descending: bool) -> Value {
    let mut range = json!({ "key": encode(key), "limit": limit.to_string() });
    if let Some(end) = end {
        range["range_end"] = encode(end).into();
    }
    // Ranges come in ascending order. To sort one, etcd reads all of it, whatever the limit.
    if descending {
        range["sort_target"] = "KEY".into();
        range["sort_order"] = "DESCEND".into();
    }
    range
}

pub(super) fn put(key: &[u8], value: &[u8]) -> Value {
    json!({ "key": encode(key), "value": encode(value) })
}

/// Text of the bytes for JSON.
pub(super) fn encode(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

fn decode(text: &str) -> Result<Vec<u8>, StoreError> {
    Base64::decode_vec(text).map_err(|_| strange("bytes are no base64"))
}

fn number(text: &str) -> Result<u64, StoreError> {
    text.parse().map_err(|_| strange("a number is none"))
}

pub(super) fn strange(why: &str) -> StoreError {
    StoreError::damaged("an answer of etcd", why)
}

/// The first key after all that begin with `prefix`.
pub(super) fn after(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    // Keys are ASCII, so the last byte is never the largest.
    if let Some(last) = end.last_mut() {
        *last += 1;
    }
    end
}
