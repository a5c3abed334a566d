//! A store in etcd, through its JSON gateway.
//!
//! ```text
//!  telar/[CLUSTER/]log/STREAM/mark        trim mark, 20 digits; there since the first put
//!                             slot/FIRST  8 bytes: the timestamp after its last; then the body
//!                             part/PART   a part
//!  telar/[CLUSTER/]key/KEY                a value; its version is the revision of its last change
//! ```
//!
//! Names of clusters and streams have `%` in place of `/`. Each operation is one transaction of
//! etcd, so a put checks the trim mark, that the slot is free and the one before it there in one
//! step, and a read sees log and mark at one revision. Values are compared as bytes, and marks have
//! 20 digits, so *mark <= first* is a comparison that etcd makes itself.
//!
//! There are no images: etcd is made for small values. Users of etcd are not built yet.
//! [`Log::concerns`](super::Log::concerns) says if its version is older than advised, or its quota
//! nearly used.

mod coordination;
mod gateway;
mod log;
mod status;
mod wire;

use std::sync::Arc;

use rustls::ClientConfig;

use super::boundaries::Boundaries;
use super::{Endpoint, Name, StoreError};
use gateway::Gateway;

/// Longest body of a slot, and of a part: 256 KiB. etcd keeps thousands of entries in memory; its
/// requests have 1.5 MiB at most.
const BODY_BYTES_MAX: usize = 256 << 10;

/// A store in etcd.
#[derive(Debug)]
pub struct Etcd {
    gateway: Gateway,
    /// Beginning of all keys.
    prefix: String,
    body_bytes_max: usize,
    boundaries: Boundaries,
}

impl Etcd {
    /// Opens the store; one of the endpoints must answer.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if none does.
    pub fn open(endpoints: Vec<Endpoint>) -> Result<Self, StoreError> {
        Self::over(Gateway::new(endpoints, None)?)
    }

    /// As [`open`](Self::open), over encrypted connections.
    ///
    /// # Errors
    /// As [`open`](Self::open); an endpoint whose certificate is not trusted does not answer.
    pub fn open_encrypted(
        endpoints: Vec<Endpoint>,
        tls: Arc<ClientConfig>,
    ) -> Result<Self, StoreError> {
        Self::over(Gateway::new(endpoints, Some(tls))?)
    }

    fn over(gateway: Gateway) -> Result<Self, StoreError> {
        let prefix = "telar/".to_owned();
        let store = Self {
            gateway,
            prefix,
            body_bytes_max: BODY_BYTES_MAX,
            boundaries: Boundaries::default(),
        };
        let found: wire::Range =
            store.gateway.ask("/v3/kv/range", &wire::range(b"telar/", None, 1, false))?;
        drop(found);
        Ok(store)
    }

    /// Returns the store with keys of its own: several clusters may share an etcd.
    #[must_use]
    pub fn with_cluster(mut self, cluster: &Name) -> Self {
        self.prefix = format!("telar/{}/", cluster.as_str().replace('/', "%"));
        self
    }

    /// Returns the store with another limit for bodies, in bytes: tests of parts.
    #[must_use]
    pub fn with_body_bytes_max(mut self, max: usize) -> Self {
        self.body_bytes_max = max;
        self
    }
}
