//! Rows that do not fit into memory, in temporary files.
//!
//! ```text
//!  Scratch: makes temporary files     SpillFile: frames, one behind the other
//!      ▲                                  │ write(rows) ─► Extent ─► read
//!  ScratchFolder                          ▼
//!                        rows.rs: queues · partition.rs: by hash of keys · merge.rs: sorted runs
//! ```
//!
//! A frame is a batch of rows (`frame.rs` draws its bytes). An operator that spills has a file and
//! keeps in memory where its frames stand, 16 bytes for each; the file goes with the operator.
//! decisions/0038 says what spills, and what is an error instead.

mod frame;
mod merge;
mod partition;
mod rows;

use std::io;

pub(super) use merge::Merge;
pub(super) use partition::{LEVELS_MAX, PARTITIONS, Part, Partitions, partition_of};
pub(super) use rows::Rows;

use super::Exec;
use crate::batch::Batch;
use crate::query_error::{ErrorKind, QueryError};
use crate::scratch::ScratchFile;

/// Where a frame stands in its file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    at: u64,
    len: u32,
}

/// A temporary file of one operator.
#[derive(Debug)]
pub(super) struct SpillFile {
    file: Box<dyn ScratchFile>,
    end: u64,
    /// The operator, for errors.
    who: &'static str,
    place: String,
    /// What the next frame is made in.
    bytes: Vec<u8>,
}

impl SpillFile {
    /// # Errors
    /// If it cannot be made. There must be a place for it: see [`Exec::scratch`].
    pub(super) fn new(who: &'static str, cx: &Exec<'_>) -> Result<Self, QueryError> {
        let Some(scratch) = cx.scratch() else {
            unreachable!("INVARIANT: only who has a place for files makes one")
        };
        let place = scratch.place();
        let file = scratch.create().map_err(|e| failed(who, "make", &place, &e))?;
        Ok(Self { file, end: 0, who, place, bytes: Vec::new() })
    }

    /// Writes rows, at least one.
    pub(super) fn write(&mut self, rows: &Batch, cx: &mut Exec<'_>) -> Result<Extent, QueryError> {
        cx.check()?;
        self.bytes.clear();
        frame::put(rows, &mut self.bytes);
        let broken = |e: &io::Error| failed(self.who, "write to", &self.place, e);
        let len = u32::try_from(self.bytes.len())
            .map_err(|_| broken(&io::Error::other("some rows take more than 4 GiB")))?;
        self.file.write_at(self.end, &self.bytes).map_err(|e| broken(&e))?;
        let extent = Extent { at: self.end, len };
        self.end += u64::from(len);
        Ok(extent)
    }

    /// The rows of a frame.
    pub(super) fn read(&self, extent: Extent, cx: &mut Exec<'_>) -> Result<Batch, QueryError> {
        cx.check()?;
        let broken = |e: &io::Error| failed(self.who, "read", &self.place, e);
        let mut bytes = vec![0; extent.len as usize];
        self.file.read_at(extent.at, &mut bytes).map_err(|e| broken(&e))?;
        frame::get(&bytes).map_err(|e| broken(&io::Error::new(io::ErrorKind::InvalidData, e)))
    }
}

fn failed(who: &str, what: &str, place: &str, error: &io::Error) -> QueryError {
    let full = matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
    let advice = match full {
        true => {
            "; the rows that do not fit into memory need more room there, or \
             limits.statement_memory (Limits::memory) must be higher"
        }
        false => "; limits.temporary_folder (Limits::scratch) names another place",
    };
    let message = format!("{who} cannot {what} a temporary file in {place}: {error}{advice}");
    QueryError::runtime(ErrorKind::Database, "TemporaryFileFailed", message)
}
