//! The audit log: who logged in or could not, and every command that changes the server.
//!
//! One JSON object a line, appended with one write each: `time`, `event`, `outcome` (`ok` or an
//! error code), `user`, and where known `address`, `protocol`, `agent`, `as` (whom an administrator
//! acts for), `database` and `command`, in which passwords are masked and which is clipped. Lines
//! are handed to the system at once but not synced: a power failure can cost the last ones. The
//! file is never cut or renamed here; logrotate does it with `copytruncate`.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::IpAddr;
use std::path::Path;

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use telar_db::maintenance::time;
use telar_db::query::QueryError;

use super::client::Peer;
use super::failure::storage;

/// Longest text of a client that is written into a line, in characters.
const TEXT_CHARS_MAX: usize = 256;
/// Longest text of a command, in characters.
const COMMAND_CHARS_MAX: usize = 10_000;
/// HTTP logins that are remembered; when there are more, all are forgotten.
const REPORTED_MAX: usize = 10_000;

/// Where it is written; nowhere, for a server in memory.
#[derive(Debug, Default)]
pub(super) struct Audit {
    file: Option<Mutex<File>>,
    /// Users and addresses whose logins over HTTP were reported.
    reported: Mutex<HashSet<(String, Option<IpAddr>)>>,
}

/// What happened.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) event: &'static str,
    /// The code of the error, if it failed.
    pub(super) error: Option<&'static str>,
    pub(super) user: &'a str,
    pub(super) on_behalf_of: Option<&'a str>,
    pub(super) database: Option<&'a str>,
    pub(super) command: Option<&'a str>,
}

impl Audit {
    /// # Errors
    /// If the file cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self, QueryError> {
        let open = || {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(path)?;
            end_line(&mut file)?;
            io::Result::Ok(file)
        };
        let file = open().map_err(|e| {
            storage(&format!("cannot open the audit log {} (log.audit)", path.display()), e)
        })?;
        Ok(Self { file: Some(Mutex::new(file)), ..Self::default() })
    }

    /// Appends a line about a login. HTTP clients log in with every request: the first one from an
    /// address is reported.
    pub(super) fn login(&self, peer: &Peer, user: &str) {
        let again = peer.base_protocol() == "http" && {
            let mut reported = self.reported.lock();
            if reported.len() >= REPORTED_MAX {
                reported.clear();
            }
            !reported.insert((user.to_owned(), peer.address.map(|address| address.ip())))
        };
        if !again {
            self.write(peer, &Event { event: "login", user, ..Event::default() });
        }
    }

    /// Appends a line. What cannot be written is reported in the log of the server.
    pub(super) fn write(&self, peer: &Peer, event: &Event<'_>) {
        let Some(file) = &self.file else { return };
        let mut line = Map::new();
        let mut put = |key: &str, value: Value| _ = line.insert(key.to_owned(), value);
        let clip = |text: &str| json!(text.chars().take(TEXT_CHARS_MAX).collect::<String>());
        put("time", json!(time::show(time::now_ms())));
        put("event", json!(event.event));
        put("outcome", json!(event.error.unwrap_or("ok")));
        put("user", clip(event.user));
        if let Some(user) = event.on_behalf_of {
            put("as", clip(user));
        }
        if let Some(address) = peer.address {
            put("address", json!(address.to_string()));
        }
        put("protocol", json!(peer.protocol));
        put("agent", clip(&peer.agent));
        if let Some(database) = event.database {
            put("database", json!(database));
        }
        if let Some(command) = event.command {
            let clipped = match command.char_indices().nth(COMMAND_CHARS_MAX) {
                Some((end, _)) => format!("{}...", &command[..end]),
                None => command.to_owned(),
            };
            put("command", json!(clipped));
        }
        let mut text = Value::Object(line).to_string();
        text.push('\n');
        if let Err(e) = file.lock().write_all(text.as_bytes()) {
            tracing::error!("cannot write the audit log: {e}");
        }
    }
}

/// Ends a line that a crash has cut.
fn end_line(file: &mut File) -> io::Result<()> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" { Ok(()) } else { file.write_all(b"\n") }
}
