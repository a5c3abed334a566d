//! A database of the server that this is a part of: statements run as those of HTTP do, with the
//! rights, limits and logs of the client who asks.

use std::sync::Arc;

use telar_db::ValueMap;
use telar_db::query::Summary;

use super::{Answered, Flag};
use crate::dbms::{AccessMode, Client, Failure, Options, Work};
use crate::mcp::Settings;
use crate::mcp::failure;
use crate::mcp::gather::{Gather, Room};

/// A database, as one client sees it.
#[derive(Debug)]
pub(super) struct Within {
    pub(super) client: Arc<Client>,
    pub(super) database: Arc<str>,
}

impl Within {
    fn options(&self, settings: &Settings, flag: &Flag, access: AccessMode) -> Options {
        Options {
            database: Some(self.database.to_string()),
            access,
            timeout: Some(settings.timeout),
            timeout_setting: Some("mcp.timeout"),
            confined: true,
            cancelled: Some(Arc::clone(flag)),
            ..Options::default()
        }
    }

    /// Begins a transaction that only reads.
    ///
    /// # Errors
    /// If none can begin.
    pub(super) fn begin(&self, settings: &Settings, flag: &Flag) -> Result<Work, Failure> {
        self.client.begin(&self.options(settings, flag, AccessMode::Read))
    }

    /// Runs a statement as a transaction of its own.
    ///
    /// # Errors
    /// Errors of the statement: nothing was changed.
    pub(super) fn write(
        &self,
        settings: &Settings,
        flag: &Flag,
        (text, parameters): (&str, &ValueMap),
        rows: &mut Gather,
    ) -> Result<Summary, Failure> {
        let options = self.options(settings, flag, AccessMode::Write);
        Ok(self.client.run(&options, text, parameters, rows)?.summary)
    }
}

/// Runs a statement in a transaction.
///
/// # Errors
/// Those of the statement.
pub(super) fn run(
    work: &mut Work,
    text: &str,
    parameters: &ValueMap,
    room: Room,
) -> Result<Answered, failure::Failure> {
    let mut rows = Gather::new(room);
    let done = work.run(text, parameters, &mut rows)?;
    Ok(Answered::of_summary(rows, done.summary))
}
