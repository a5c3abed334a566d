//! Stores of a cluster: one for everything, or one for log and images and another for the rest.
//!
//! ```text
//!                        one store          cluster.store         cluster.coordination
//!  NAME/identity         Identity           LogMark               Identity, with the log's number
//!  slots, images         there              there                 -
//!  users, members,       there              -                     there
//!  leases, requests
//! ```
//!
//! Both stores have a record at the same key. So a node that is told of one of them alone, or of
//! another one in place of one, finds records that do not fit, and does not start: it would fight
//! with other leases over the same log, or lead another log by the same leases.
//!
//! Two stores are founded in three steps, each by compare-and-set: the log gets a number, the
//! identity names it, the log's mark names the cluster. What breaks off is taken up by the next
//! start; a log that has a number and no cluster is as good as none.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use telar_cluster::keys::Keys;
use telar_cluster::store::{
    Coordination, Entry, PutIf, StoreError, StoreUrl, Stores, Version, random,
};
use telar_db::query::QueryError;

use super::super::failure::{invalid, storage};
use super::shared::Identity;
use super::store_failed;

/// Version of the form of a [`LogMark`]; it stands at the key of an [`Identity`].
const LOG_FORMAT: u32 = 2;

/// URLs of the store of a cluster, or of its two stores.
#[derive(Clone)]
pub struct StoreUrls {
    store: String,
    coordination: Option<String>,
}

impl StoreUrls {
    /// The store of log and images, and that of everything else, if it is another one.
    #[must_use]
    pub fn new(store: impl Into<String>, coordination: Option<String>) -> Self {
        Self { store: store.into(), coordination }
    }

    /// Opens the stores; `wrong` makes an error of the one that a setting names.
    pub(super) fn open(
        &self,
        wrong: impl Fn(&'static str, StoreError) -> QueryError,
    ) -> Result<Opened, QueryError> {
        let stores =
            Stores::open(&self.store).map_err(|e| wrong("cluster.store (--cluster)", e))?;
        let own = StoreUrl::parse(&self.store).ok();
        let other = self.coordination.as_ref();
        let Some(other) = other.filter(|other| StoreUrl::parse(other).ok() != own) else {
            return Ok(Opened { stores, of_log: None });
        };
        let of_log = Some(Arc::clone(&stores.coordination));
        let other = Stores::open(other);
        let other = other.map_err(|e| wrong("cluster.coordination (--coordination)", e))?;
        Ok(Opened { stores: stores.with_coordination_of(other), of_log })
    }
}

impl From<&str> for StoreUrls {
    /// One store for everything.
    fn from(store: &str) -> Self {
        Self::new(store, None)
    }
}

impl From<&String> for StoreUrls {
    /// One store for everything.
    fn from(store: &String) -> Self {
        Self::new(store, None)
    }
}

/// Mark of a log whose cluster has its identity in another store.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct LogMark {
    /// Version of the form.
    format: u32,
    /// Random number of the log.
    log: u64,
    /// Number of the cluster that it belongs to; none until that is founded.
    cluster: Option<u64>,
}

impl LogMark {
    /// True if the log is that of a cluster.
    fn is_of(&self, identity: &Identity) -> bool {
        identity.log == Some(self.log) && self.cluster.is_none_or(|id| id == identity.id)
    }
}

/// Value of the key of the identity.
#[derive(Debug)]
enum Record {
    Cluster(Identity),
    Log(LogMark),
}

/// First part of all records.
#[derive(Deserialize)]
struct Form {
    format: u32,
}

impl Record {
    fn of(entry: &Entry) -> Result<Self, QueryError> {
        let form: Form = decode(entry)?;
        match form.format {
            Identity::FORMAT => decode(entry).map(Self::Cluster),
            LOG_FORMAT => decode(entry).map(Self::Log),
            format => {
                let key = &entry.key;
                let message =
                    format!("{key} in the store is of format {format}, of a newer program");
                Err(invalid(message))
            }
        }
    }
}

fn decode<T: DeserializeOwned>(entry: &Entry) -> Result<T, QueryError> {
    serde_json::from_slice(&entry.value)
        .map_err(|e| storage(&format!("{} in the store is damaged", entry.key), e))
}

fn unread(error: StoreError) -> QueryError {
    store_failed("read the cluster's identity", &error)
}

fn read(values: &dyn Coordination, keys: &Keys) -> Result<Option<(Record, Version)>, QueryError> {
    let entry = values.get(&keys.identity().map_err(unread)?).map_err(unread)?;
    entry.map(|entry| Ok((Record::of(&entry)?, entry.version))).transpose()
}

fn read_record(values: &dyn Coordination, keys: &Keys) -> Result<Option<Record>, QueryError> {
    Ok(read(values, keys)?.map(|(record, _)| record))
}

/// Replaces the record of the version `expected`; false if there is another one by now.
fn replace(
    values: &dyn Coordination,
    keys: &Keys,
    expected: Version,
    record: &impl Serialize,
) -> Result<bool, QueryError> {
    let unwritten = |error| store_failed("write the cluster's identity", &error);
    let key = keys.identity().map_err(unwritten)?;
    let value = serde_json::to_vec(record).map_err(|e| storage("cannot found a cluster", e))?;
    match values.put_if(&key, expected, &value).map_err(unwritten)? {
        PutIf::Won(_) => Ok(true),
        PutIf::Lost(_) => Ok(false),
        PutIf::Unknown(error) => match values.get(&key).map_err(unread)? {
            // Whoever writes the same bytes means the same.
            Some(entry) if entry.value == value => Ok(true),
            Some(entry) if entry.version != expected => Ok(false),
            _ => Err(store_failed("learn whether the cluster's identity was written", &error)),
        },
    }
}

/// The cluster `name` of a store that is to have all of it, if it was founded; why it cannot be
/// used otherwise.
fn whole(name: &str, record: Option<Record>) -> Result<Option<Identity>, String> {
    match record {
        None | Some(Record::Log(LogMark { cluster: None, .. })) => Ok(None),
        Some(Record::Cluster(identity)) if identity.log.is_none() => Ok(Some(identity)),
        Some(Record::Cluster(_)) => Err(format!(
            "the cluster '{name}' in this store has its log in another one: name that one as \
             cluster.store (--cluster), and this one as cluster.coordination (--coordination)"
        )),
        Some(Record::Log(_)) => Err(format!(
            "this store has the log of the cluster '{name}', and another one its users and leases: \
             name that one as cluster.coordination (--coordination)"
        )),
    }
}

/// The cluster `name` of two stores, if it was founded; why they cannot be used together
/// otherwise. `here` is the record of the coordination, `log` that of the log's store.
fn apart(
    name: &str,
    here: Option<Record>,
    log: Option<Record>,
) -> Result<Option<Identity>, String> {
    match (here, log) {
        (Some(Record::Log(_)), _) => Err(format!(
            "the store of cluster.coordination has the log of a cluster '{name}': is it the one of \
             cluster.store, or are the two exchanged?"
        )),
        (_, Some(Record::Cluster(other))) if other.log.is_some() => Err(format!(
            "the store of cluster.store has the coordination of the cluster '{name}', and not its \
             log"
        )),
        (_, Some(Record::Cluster(_))) => Err(format!(
            "the store of cluster.store has all of the cluster '{name}': leave \
             cluster.coordination (--coordination) out, or choose another cluster.name"
        )),
        (Some(Record::Cluster(identity)), Some(Record::Log(mark))) if mark.is_of(&identity) => {
            Ok(Some(identity))
        }
        (Some(Record::Cluster(identity)), _) if identity.log.is_none() => Err(format!(
            "the store of cluster.coordination has all of the cluster '{name}': name it as \
             cluster.store, and leave cluster.coordination (--coordination) out"
        )),
        (Some(Record::Cluster(_)), _) => Err(format!(
            "the store of cluster.store does not have the log of the cluster '{name}' in that of \
             cluster.coordination: it is another store, or an empty one"
        )),
        (None, None | Some(Record::Log(LogMark { cluster: None, .. }))) => Ok(None),
        (None, Some(Record::Log(_))) => Err(format!(
            "the store of cluster.store has the log of a cluster '{name}' that is not in that of \
             cluster.coordination: it is another store, or an empty one"
        )),
    }
}

/// Open stores of a cluster.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) stores: Stores,
    /// Small values of the log's store, where those of the cluster are in another one.
    of_log: Option<Arc<dyn Coordination>>,
}

impl Opened {
    /// Identity of the cluster, if it was founded.
    ///
    /// # Errors
    /// If the stores do not belong together, or the cluster has another one.
    pub(super) fn identity(&self, keys: &Keys) -> Result<Option<Identity>, QueryError> {
        let mut here = read_record(&*self.stores.coordination, keys)?;
        let Some(of_log) = &self.of_log else {
            return whole(keys.cluster(), here).map_err(invalid);
        };
        let log = read_record(&**of_log, keys)?;
        // Another node may found it just now: what the log's mark names was written before.
        if here.is_none() && log.is_some() {
            here = read_record(&*self.stores.coordination, keys)?;
        }
        apart(keys.cluster(), here, log).map_err(invalid)
    }

    /// Identity of a cluster that is to be founded here, with a default database of this name.
    pub(super) fn new_identity(&self, keys: &Keys, default: &str) -> Result<Identity, QueryError> {
        let log = match &self.of_log {
            None => None,
            Some(of_log) => Some(number_log(&**of_log, keys)?),
        };
        Identity::new(default, log)
    }

    /// Founds a cluster with this identity; false if there is one.
    pub(super) fn found(&self, keys: &Keys, identity: &Identity) -> Result<bool, QueryError> {
        let here = &*self.stores.coordination;
        let expected = match read(here, keys)? {
            None => Version::ABSENT,
            Some((Record::Log(LogMark { cluster: None, .. }), version))
                if self.of_log.is_none() =>
            {
                version
            }
            Some(_) => return Ok(false),
        };
        replace(here, keys, expected, identity)
    }

    /// Lets the log belong to a cluster that was founded, and to no other any more. Doing it again
    /// does nothing.
    pub(super) fn claim_log(&self, keys: &Keys, identity: &Identity) -> Result<(), QueryError> {
        let Some(of_log) = &self.of_log else { return Ok(()) };
        loop {
            let (mark, version) = match read(&**of_log, keys)? {
                Some((Record::Log(mark), version)) if mark.is_of(identity) => (mark, version),
                _ => return Err(taken(keys)),
            };
            if mark.cluster.is_some() {
                return Ok(());
            }
            // If somebody else was faster, it has a cluster now.
            let claimed = LogMark { cluster: Some(identity.id), ..mark };
            if replace(&**of_log, keys, version, &claimed)? {
                return Ok(());
            }
        }
    }
}

/// Number of a log that belongs to no cluster; one that has none gets one.
fn number_log(of_log: &dyn Coordination, keys: &Keys) -> Result<u64, QueryError> {
    if read(of_log, keys)?.is_none() {
        let mark = LogMark { format: LOG_FORMAT, log: random().map_err(unread)?, cluster: None };
        // Another node may be faster; its number counts.
        replace(of_log, keys, Version::ABSENT, &mark)?;
    }
    match read(of_log, keys)? {
        Some((Record::Log(mark), _)) => Ok(mark.log),
        _ => Err(taken(keys)),
    }
}

fn taken(keys: &Keys) -> QueryError {
    invalid(format!(
        "another cluster '{}' has taken the store of cluster.store meanwhile: choose another \
         cluster.name",
        keys.cluster()
    ))
}

#[cfg(test)]
mod tests;
