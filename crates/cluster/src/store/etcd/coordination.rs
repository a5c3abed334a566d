//! Values in etcd.

use std::time::{Duration, Instant};

use serde_json::json;

use super::Etcd;
use super::gateway::{FIRST_TIMEOUT, Failure};
use super::log::watch;
use super::wire::{self, KeyValue, Transaction, after, encode, range};
use crate::store::coordination::VALUE_BYTES_MAX;
use crate::store::error::check_size;
use crate::store::{Coordination, Entry, Name, PutIf, StoreError, Version};

/// Values asked for at once: 16 MiB.
const VALUES_MAX: usize = 64;

fn entry(prefix: &str, found: &KeyValue) -> Result<Entry, StoreError> {
    let key = found.key()?;
    let name = key.strip_prefix(prefix).ok_or_else(|| wire::strange("a key of another prefix"))?;
    let version = Version::from_raw(found.version()?);
    Ok(Entry { key: Name::new(name)?, value: found.value()?, version })
}

impl Etcd {
    /// Beginning of the keys of all values.
    fn values(&self) -> String {
        format!("{}key/", self.prefix)
    }

    fn list_at(&self, prefix: &str) -> Result<(Vec<Entry>, u64), StoreError> {
        let values = self.values();
        let prefix = format!("{values}{prefix}");
        let end = after(&prefix);
        let (mut from, mut entries, mut revision) = (prefix.into_bytes(), Vec::new(), None);
        loop {
            let request = range(&from, Some(&end), VALUES_MAX, false);
            let found: wire::Range = self.gateway.ask("/v3/kv/range", &request)?;
            // Of the first page: what changes in it later is watched.
            revision = revision.or(Some(found.header.revision()?));
            for kv in &found.kvs {
                from = kv.key()?.into_bytes();
                from.push(0);
                entries.push(entry(&values, kv)?);
            }
            if found.kvs.len() < VALUES_MAX {
                return Ok((entries, revision.unwrap_or_default()));
            }
        }
    }
}

impl Coordination for Etcd {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        let values = self.values();
        let key = format!("{values}{key}");
        let found: wire::Range =
            self.gateway.ask("/v3/kv/range", &range(key.as_bytes(), None, 1, false))?;
        found.kvs.first().map(|found| entry(&values, found)).transpose()
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        check_size(value.len(), VALUE_BYTES_MAX)?;
        let values = self.values();
        let key = format!("{values}{key}");
        let put = json!({
            "compare": [
                // 0 is that of a key that is not there.
                { "key": encode(key.as_bytes()), "target": "MOD",
                  "mod_revision": expected.get().to_string() },
            ],
            "success": [{ "request_put": wire::put(key.as_bytes(), value) }],
            "failure": [{ "request_range": range(key.as_bytes(), None, 1, false) }],
        });
        let found: Transaction = match self.gateway.change(FIRST_TIMEOUT, "/v3/kv/txn", &put) {
            Ok(found) => found,
            Err(Failure::Unknown(cause)) => return Ok(PutIf::Unknown(cause)),
            Err(failure) => return Err(failure.cause()),
        };
        if found.succeeded {
            return Ok(PutIf::Won(Version::from_raw(found.header.revision()?)));
        }
        Ok(PutIf::Lost(found.range(0)?.first().map(|found| entry(&values, found)).transpose()?))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        Ok(self.list_at(prefix)?.0)
    }

    fn watch(
        &self,
        prefix: &str,
        seen: &[Entry],
        wait: Duration,
    ) -> Result<Vec<Entry>, StoreError> {
        let end = Instant::now() + wait;
        loop {
            let (found, revision) = self.list_at(prefix)?;
            let left = end.saturating_duration_since(Instant::now());
            if found != seen || left.is_zero() {
                return Ok(found);
            }
            self.gateway.watch(&watch(&format!("{}{prefix}", self.values()), revision + 1), left);
        }
    }
}
