//! Keyword arguments that are settings.

use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use telar_db::{Retention, Settings};
use telar_share::Options;

/// How a database is opened.
pub(crate) struct Opening<'a> {
    pub(crate) durability: &'a str,
    pub(crate) memory_limit: Option<u64>,
    pub(crate) history: Option<f64>,
    pub(crate) checkpoint_bytes: Option<u64>,
}

impl Opening<'_> {
    pub(crate) fn settings(&self) -> PyResult<Settings> {
        let mut settings = match self.durability {
            "full" => Settings::default(),
            "async" => Settings::asynchronous(50),
            other => {
                return Err(PyValueError::new_err(format!(
                    "durability is 'full' (a commit returns once it is on disk) or 'async' (at \
                     most 50 ms later), not {other:?}"
                )));
            }
        };
        settings.memory_limit_bytes = self.memory_limit;
        if let Some(seconds) = self.history {
            settings.retain = Retention::time(seconds_of("history", seconds)?);
        }
        if let Some(bytes) = self.checkpoint_bytes {
            settings.checkpoint_wal_bytes = bytes;
        }
        Ok(settings)
    }
}

/// Seconds as a duration.
fn seconds_of(what: &str, seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{what} is a number of seconds, not {seconds}")))
}

/// Settings of a session; those that are `None` stay as they are.
pub(crate) struct Limiting<'a> {
    pub(crate) timeout: Option<f64>,
    pub(crate) memory: Option<usize>,
    pub(crate) isolation: Option<&'a str>,
    pub(crate) write_wait: Option<f64>,
    pub(crate) read_only: bool,
}

impl Limiting<'_> {
    pub(crate) fn apply(&self, mut options: Options) -> PyResult<Options> {
        if let Some(seconds) = self.timeout {
            options.timeout = Some(seconds_of("timeout", seconds)?);
        }
        options.memory = self.memory.or(options.memory);
        match self.isolation {
            None => {}
            Some("snapshot") => options.serializable = false,
            Some("serializable") => options.serializable = true,
            Some(other) => {
                return Err(PyValueError::new_err(format!(
                    "isolation is 'snapshot' or 'serializable', not {other:?}"
                )));
            }
        }
        if let Some(seconds) = self.write_wait {
            options.write_wait = Some(seconds_of("write_wait", seconds)?);
        }
        options.read_only |= self.read_only;
        Ok(options)
    }
}
