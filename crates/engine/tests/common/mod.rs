//! What several of the engine's test programs need.
#![allow(dead_code, reason = "each program uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

pub(crate) mod log;
pub(crate) mod plain;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::ProptestConfig;
use telar_engine::{Engine, Settings};
use telar_graph::VertexId;
use tempfile::TempDir;

pub(crate) fn v(n: u64) -> VertexId {
    VertexId::from_raw(n)
}

/// Defaults without a background thread.
pub(crate) fn no_background() -> Settings {
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    settings
}

/// A database in memory whose lists soon become hubs.
pub(crate) fn memory() -> Engine {
    let mut settings = no_background();
    settings.hub_entries_min = 4096;
    Engine::in_memory(settings).unwrap()
}

/// A folder, in memory if there is one: nothing in these tests depends on what a sync does.
pub(crate) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

/// Makes the vertices `0..count` of an empty database.
pub(crate) fn with_vertices(db: &Engine, count: u64) {
    let mut txn = db.begin().unwrap();
    for _ in 0..count {
        txn.create_vertex(&[]).unwrap();
    }
    txn.commit().unwrap();
}

/// Cases of a property test.
pub(crate) fn cases() -> ProptestConfig {
    let long = std::env::var_os("TELAR_LONG").is_some();
    ProptestConfig { cases: if long { 5000 } else { 96 }, ..ProptestConfig::default() }
}

/// Sets a flag when it goes, also by a panic: threads of a scope that look at it end then.
pub(crate) struct StopAtEnd<'s>(pub(crate) &'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Pseudo-random numbers (xorshift64) for threads that race.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}
