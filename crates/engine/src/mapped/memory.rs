//! The memory limit.

use crate::settings::Settings;

/// What the limit is, and how much is held.
#[derive(Debug)]
pub(crate) struct Memory {
    limit: u64,
}

impl Memory {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self { limit: settings.memory_limit_bytes.unwrap_or(u64::MAX) }
    }
}
