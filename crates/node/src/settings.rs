//! Settings, as plain objects of JavaScript. Times are in milliseconds.

use std::path::PathBuf;
use std::time::Duration;

use napi_derive::napi;
use telar_db::{Retention, Settings};
use telar_share::{Opening as SharedOpening, Options};

use crate::error::Failure;

/// Settings by which a database is opened.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Opening {
    /// `full` or `async`.
    pub durability: Option<String>,
    /// Bytes for the graph.
    pub memory_limit: Option<f64>,
    /// For how long the past can be read.
    pub history: Option<f64>,
    /// Log after which a checkpoint is written.
    pub checkpoint_bytes: Option<f64>,
    /// Folder below which statements may read files.
    pub import_folder: Option<String>,
    /// Folder below which statements may write files.
    pub export_folder: Option<String>,
    /// False: neither lets other processes in, nor is let in by them.
    pub share: Option<bool>,
}

/// Milliseconds as a duration.
pub(crate) fn milliseconds(what: &str, given: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(given / 1000.0).map_err(|_| {
        Failure::range(format!("{what} is a number of milliseconds from 0 on, not {given}"))
    })
}

/// A number of bytes.
fn bytes(what: &str, given: f64) -> Result<u64, Failure> {
    if given >= 0.0 && given.fract() == 0.0 && given < 2f64.powi(53) {
        return Ok(given as u64);
    }
    Err(Failure::range(format!("{what} is a whole number of bytes from 0 on, not {given}")))
}

impl Opening {
    /// The opening of the database in a folder, or of one in memory.
    pub(crate) fn of(&self, path: Option<PathBuf>) -> Result<SharedOpening, Failure> {
        Ok(SharedOpening {
            shared: self.share != Some(false) && path.is_some(),
            path,
            settings: self.settings()?,
            files: Some(telar_files::formats()),
        })
    }

    fn settings(&self) -> Result<Settings, Failure> {
        let mut settings = match self.durability.as_deref() {
            None | Some("full") => Settings::default(),
            Some("async") => Settings::asynchronous(50),
            Some(other) => {
                return Err(Failure::range(format!(
                    "durability is 'full' (a commit returns once it is on disk) or 'async' (at \
                     most 50 ms later), not {other:?}"
                )));
            }
        };
        let limit = self.memory_limit.map(|limit| bytes("memoryLimit", limit));
        settings.memory_limit_bytes = limit.transpose()?;
        if let Some(time) = self.history {
            settings.retain = Retention::time(milliseconds("history", time)?);
        }
        if let Some(count) = self.checkpoint_bytes {
            settings.checkpoint_wal_bytes = bytes("checkpointBytes", count)?;
        }
        Ok(settings)
    }
}

/// Limits of a session; those that are not given stay as they are.
#[napi(object, object_to_js = false)]
#[derive(Default)]
pub struct Limiting {
    /// Longest time of a statement or transaction.
    pub timeout: Option<f64>,
    /// Most bytes of a statement.
    pub memory: Option<f64>,
    /// `snapshot` or `serializable`.
    pub isolation: Option<String>,
    /// Longest wait for another transaction that writes the same.
    pub write_wait: Option<f64>,
    /// True: statements only read.
    pub read_only: Option<bool>,
}

impl Limiting {
    pub(crate) fn apply(&self, mut options: Options) -> Result<Options, Failure> {
        if let Some(time) = self.timeout {
            options.timeout = Some(milliseconds("timeout", time)?);
        }
        if let Some(most) = self.memory {
            options.memory = Some(usize::try_from(bytes("memory", most)?).unwrap_or(usize::MAX));
        }
        match self.isolation.as_deref() {
            None => {}
            Some("snapshot") => options.serializable = false,
            Some("serializable") => options.serializable = true,
            Some(other) => {
                return Err(Failure::range(format!(
                    "isolation is 'snapshot' or 'serializable', not {other:?}"
                )));
            }
        }
        if let Some(time) = self.write_wait {
            options.write_wait = Some(milliseconds("writeWait", time)?);
        }
        options.read_only |= self.read_only == Some(true);
        Ok(options)
    }
}
