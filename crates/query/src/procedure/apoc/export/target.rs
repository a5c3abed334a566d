//! Where an export goes: a file that takes its name once it is whole, or a text in memory.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use telar_graph::Value;

use crate::files::{Unfinished, export_path};
use crate::query_error::{ErrorKind, QueryError};
use crate::watch::Limits;

/// Bytes of a text for which room is asked first.
const FIRST: usize = 1 << 16;

enum To {
    File { unfinished: Unfinished, file: BufWriter<File>, address: String },
    Text(Vec<u8>),
}

/// Fails unless the statement has room for so many bytes.
type Room<'c> = &'c dyn Fn(usize) -> Result<(), QueryError>;

/// The destination of an export.
pub(super) struct Target<'c> {
    name: &'c str,
    to: To,
    room: Room<'c>,
    /// Bytes of a text for which there is room.
    granted: usize,
    refused: Option<QueryError>,
}

impl<'c> Target<'c> {
    /// A file at an address below the export folder, which replaces one of that name; a text
    /// without an address. `name` is the procedure's.
    pub(super) fn new(
        limits: &Limits,
        room: Room<'c>,
        name: &'c str,
        address: Option<&str>,
    ) -> Result<Self, QueryError> {
        let to = match address {
            None => To::Text(Vec::new()),
            Some(address) => {
                if limits.export_folder.is_none() {
                    let message = format!(
                        "{name}: Export to files not enabled: no export folder is set; \
                         export.folder names it (--export-folder in the shell, \
                         Limits::export_folder). Without a file, null and {{stream: true}}, the \
                         text comes back in a column"
                    );
                    return Err(failure(message));
                }
                let wrong = |error: String| failure(format!("{name}: {address}: {error}"));
                let path = export_path(limits, address).map_err(wrong)?;
                let made = Unfinished::create(path, true).map_err(|e| wrong(e.to_string()))?;
                let (unfinished, file) = (made.0, BufWriter::with_capacity(1 << 16, made.1));
                To::File { unfinished, file, address: address.to_owned() }
            }
        };
        Ok(Self { name, to, room, granted: 0, refused: None })
    }

    /// Writes a text.
    pub(super) fn text(&mut self, text: &str) -> Result<(), QueryError> {
        let done = self.write_all(text.as_bytes());
        done.map_err(|error| self.refusal().unwrap_or_else(|| self.failed(&error)))
    }

    /// Writes a text and makes it empty.
    pub(super) fn take(&mut self, text: &mut String) -> Result<(), QueryError> {
        let done = self.text(text);
        text.clear();
        done
    }

    /// The reason why there was no room, which a format has seen as a failure to write.
    pub(super) fn refusal(&mut self) -> Option<QueryError> {
        self.refused.take()
    }

    fn failed(&self, error: &io::Error) -> QueryError {
        let address = match &self.to {
            To::File { address, .. } => address,
            To::Text(_) => "the text",
        };
        failure(format!("{}: {address}: {error}", self.name))
    }

    /// Gives a file its name; the text, or null for a file.
    pub(super) fn finish(mut self) -> Result<Value, QueryError> {
        let (unfinished, mut file, address) = match self.to {
            To::Text(bytes) => return Ok(String::from_utf8_lossy(&bytes).as_ref().into()),
            To::File { unfinished, file, address } => (unfinished, file, address),
        };
        self.to = To::Text(Vec::new());
        let synced = file.flush().and_then(|()| file.get_ref().sync_all());
        let kept = synced.and_then(|()| unfinished.keep(true));
        kept.map_err(|error| failure(format!("{}: {address}: {error}", self.name)))?;
        Ok(Value::Null)
    }
}

fn failure(message: String) -> QueryError {
    QueryError::runtime(ErrorKind::ExternalResource, "ExternalResourceFailed", message)
}

impl Write for Target<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.to {
            To::File { file, .. } => file.write(bytes),
            To::Text(text) => {
                let needed = text.len() + bytes.len();
                if needed > self.granted {
                    // The text as a value stands beside the bytes for a moment.
                    let more = (needed * 2).max(FIRST);
                    if let Err(error) = (self.room)(more.saturating_mul(2)) {
                        let message = error.message.clone();
                        self.refused = Some(error);
                        return Err(io::Error::other(message));
                    }
                    self.granted = more;
                }
                text.extend_from_slice(bytes);
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.to {
            To::File { file, .. } => file.flush(),
            To::Text(_) => Ok(()),
        }
    }
}
