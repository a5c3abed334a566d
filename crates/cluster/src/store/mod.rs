//! Stores: the replicated log, small shared values, and images of databases.
//!
//! ```text
//!   url ──► Stores { log: dyn Log, coordination: dyn Coordination, images: dyn Images }
//!                        ▲                  ▲                            ▲
//!        ┌───────────────┼──────────────────┴────────────────────────────┤
//!    directory   postgres              etcd (no images)              simulated
//!    dir:PATH    postgres://HOST/DB    etcd(s)://HOST  memory, with faults by seed (tests)
//!
//!   Appender, Reader (slots.rs)   groups of any size over a Log: bodies with checksums, parts
//! ```
//!
//! The coordination may be of another store than log and images (`with_coordination_of`).
//!
//! The words:
//!
//! | word | meaning |
//! |---|---|
//! | stream | one log; a database has one |
//! | timestamp | a position in a stream: the commit timestamp, from 1, without gaps |
//! | slot | a range of timestamps and one body; it is written once, and by one writer |
//! | end | the timestamp after the last slot: the only place where a slot can be added |
//! | trimmed | removed from the log's beginning, up to the *trim mark* |
//! | part | a piece of a body that is longer than a slot may be |
//! | key, version | a small value of the coordination, and the number of its last change |
//! | image | a backup by name |
//!
//! All calls block (decisions/0074). All types may be used by several threads at once, and a store
//! by several processes.

mod body;
mod boundaries;
mod coordination;
pub mod directory;
mod error;
pub mod etcd;
mod images;
mod log;
mod name;
pub mod postgres;
mod runtime;
pub mod simulated;
mod slots;
mod url;

pub use body::{BODY_BYTES_MAX, Body, HEADER_BYTES, Identity, PARTS_MAX};
pub use coordination::{Coordination, Entry, PutIf, VALUE_BYTES_MAX, Version};
pub use error::{ErrorKind, StoreError};
pub use images::{ImageInfo, Images};
pub use log::{Log, PartName, Put, Slot, SlotRange};
pub use name::{NAME_BYTES_MAX, Name};
pub use slots::random;
pub use slots::{Append, Appender, Group, Reader, Sweeper, begin_at};
pub(crate) use slots::{Origin, prepare, read_groups, read_stale_groups};
pub use url::{Authorities, Endpoint, PostgresUrl, StoreUrl, without_password};

use std::sync::Arc;

use crate::tls::trust;

/// An open store.
#[derive(Clone, Debug)]
pub struct Stores {
    /// The replicated logs.
    pub log: Arc<dyn Log>,
    /// The small shared values.
    pub coordination: Arc<dyn Coordination>,
    /// The images of databases; `None` where the store is not made for large files.
    pub images: Option<Arc<dyn Images>>,
}

impl Stores {
    /// Opens the store at `url` (see [`StoreUrl`] for the forms).
    ///
    /// # Errors
    /// [`ErrorKind::Request`] for a malformed or unknown URL; [`ErrorKind::Unavailable`] if the
    /// store does not answer; [`ErrorKind::Data`] if a folder holds something else.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        match StoreUrl::parse(url)? {
            StoreUrl::Directory(path) => {
                let directory = Arc::new(directory::Directory::open(&path)?);
                let (log, coordination) = (directory.clone(), directory.clone());
                Ok(Self { log, coordination, images: Some(directory) })
            }
            StoreUrl::Etcd(endpoints) => {
                let etcd = Arc::new(etcd::Etcd::open(endpoints)?);
                Ok(Self { log: etcd.clone(), coordination: etcd, images: None })
            }
            StoreUrl::EncryptedEtcd(endpoints, ca) => {
                let tls = trust(ca.as_deref()).map_err(|why| StoreError::url(url, why))?;
                let etcd = Arc::new(etcd::Etcd::open_encrypted(endpoints, tls)?);
                Ok(Self { log: etcd.clone(), coordination: etcd, images: None })
            }
            StoreUrl::Postgres(url) => {
                let postgres = Arc::new(postgres::Postgres::open(&url)?);
                let (log, coordination) = (postgres.clone(), postgres.clone());
                Ok(Self { log, coordination, images: Some(postgres) })
            }
        }
    }

    /// Log and images of this store, with the coordination of another one. No order between the two
    /// is relied on: a slot is written once, whoever holds the lease.
    #[must_use]
    pub fn with_coordination_of(self, other: Self) -> Self {
        Self { coordination: other.coordination, ..self }
    }
}
