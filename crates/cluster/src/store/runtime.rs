//! The thread that serves a store's connections, for callers that block.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Builder;

use super::StoreError;

/// Rate at which a body is carried at least.
const BYTES_PER_SECOND: f64 = (256 << 10) as f64;

/// The longest time that so many bytes may take on their way.
pub(super) fn time_of(bytes: usize) -> Duration {
    Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND)
}

/// A runtime of one thread. Any number of callers wait at a time, each for its own answer.
#[derive(Debug)]
pub(super) struct Runtime {
    /// `None` only while it is dropped.
    tokio: Option<tokio::runtime::Runtime>,
}

impl Runtime {
    /// Starts it, for connections to `store`.
    pub(super) fn new(store: &str) -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name(format!("telar-{store}"))
            .enable_io()
            .enable_time()
            .build();
        let tokio = runtime.map_err(|cause| StoreError::Unavailable {
            store: store.into(),
            why: format!("no thread for it: {cause}"),
        })?;
        Ok(Self { tokio: Some(tokio) })
    }

    /// Waits for `answer`; tasks that it spawns go on afterwards.
    pub(super) fn block_on<F: Future>(&self, answer: F) -> F::Output {
        self.tokio().block_on(answer)
    }

    /// Lets `task` go on by itself, until this is dropped at the latest.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.tokio().spawn(task);
    }

    fn tokio(&self) -> &tokio::runtime::Runtime {
        self.tokio.as_ref().expect("INVARIANT: there until this is dropped")
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(tokio) = self.tokio.take() {
            tokio.shutdown_background();
        }
    }
}
