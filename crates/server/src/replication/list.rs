//! List of the databases of a source.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::client::Client;
use super::error::Error;

/// Longest list that is read.
const LIST_BYTES_MAX: usize = 16 << 20;

/// Time for an answer.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// A database of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// True if clients use it that name none.
    pub default: bool,
    /// True if it can be copied now.
    pub online: bool,
    /// Its identity; none in memory, or while it is not online.
    pub identity: Option<String>,
    /// Its last commit.
    pub commit: Option<u64>,
}

/// Databases of a source, those included that are not online.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct List {
    /// The databases.
    pub databases: Vec<Listed>,
}

/// Asks a source for its databases.
///
/// # Errors
/// Errors of the request, and [`Error::Broken`] if the answer is no list.
pub fn fetch(client: &Client) -> Result<List, Error> {
    let bytes = client.get("/databases", ANSWER_TIME)?.whole(LIST_BYTES_MAX)?;
    let wrong = |why| Error::Broken(format!("{}: no list of databases: {why}", client.url()));
    serde_json::from_slice(&bytes).map_err(wrong)
}
