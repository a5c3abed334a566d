//! The rows of a statement as JSON, as many as an answer has room for.

use std::sync::Arc;

use serde_json::Value as Json;
use telar_db::query::{QueryError, Rows, Sink};

use super::encode::Encoder;

/// Limits of one answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    /// Rows.
    pub(crate) rows: usize,
    /// Bytes of JSON.
    pub(crate) bytes: usize,
}

/// The limit at which rows were left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Rows,
    Bytes,
}

/// Takes rows until there is no room for more.
#[derive(Debug)]
pub(crate) struct Gather {
    room: Room,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) rows: Vec<Vec<Json>>,
    pub(crate) bytes: usize,
    pub(crate) cut: Option<Cut>,
}

impl Gather {
    pub(crate) fn new(room: Room) -> Self {
        Self { room, columns: Vec::new(), rows: Vec::new(), bytes: 0, cut: None }
    }

    /// Remark on the rows that were left out, if any were.
    pub(crate) fn remark(&self) -> Option<String> {
        let Room { rows, bytes } = self.room;
        Some(match self.cut? {
            Cut::Rows => format!(
                "only the first {rows} rows are here: aggregate, filter, or page with ORDER BY, \
                 SKIP and LIMIT"
            ),
            Cut::Bytes => format!(
                "only the first {} rows are here, as an answer has at most {bytes} characters: \
                 return fewer properties, or page with ORDER BY, SKIP and LIMIT",
                self.rows.len()
            ),
        })
    }
}

impl Sink for Gather {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.to_vec();
        self.rows.clear();
        (self.bytes, self.cut) = (0, None);
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let encoder = Encoder { rows };
        for row in 0..rows.len() {
            if self.cut.is_some() {
                break;
            }
            if self.rows.len() == self.room.rows {
                self.cut = Some(Cut::Rows);
                break;
            }
            let values = (0..self.columns.len()).map(|at| encoder.value(&rows.get(row, at)));
            let values: Vec<Json> = values.collect::<Result<_, _>>()?;
            let bytes: usize = values.iter().map(|value| value.to_string().len() + 1).sum();
            if self.bytes + bytes > self.room.bytes {
                self.cut = Some(Cut::Bytes);
                break;
            }
            self.bytes += bytes;
            self.rows.push(values);
        }
        Ok(())
    }

    fn has_enough(&self) -> bool {
        self.cut.is_some()
    }
}
