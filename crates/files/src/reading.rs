//! Options for reading a file of rows: those of statements, and those of programs.

use std::sync::{Arc, Mutex, PoisonError};

use telar_db::query::{FileFormat, FileOptions, QueryError};

use crate::failed;

/// Options for reading a file.
#[derive(Debug, Clone)]
pub struct Reading {
    /// Options that statements have, too.
    pub options: FileOptions,
    /// CSV: fields that are no value, beside empty ones.
    pub null: Vec<String>,
    /// CSV: where records go that are not as the columns want them. None: the first ends the
    /// reading.
    pub rejected: Option<Rejected>,
}

impl Reading {
    /// The usual of a format.
    #[must_use]
    pub fn new(format: FileFormat) -> Self {
        Self::from(FileOptions::new(format))
    }
}

impl From<FileOptions> for Reading {
    fn from(options: FileOptions) -> Self {
        Self { options, null: Vec::new(), rejected: None }
    }
}

/// Records that were left out, of all files that share it.
#[derive(Debug, Clone)]
pub struct Rejected {
    most: u64,
    records: Arc<Mutex<Vec<RejectedRecord>>>,
}

/// A record that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedRecord {
    /// File and line.
    pub place: String,
    /// Why.
    pub reason: String,
}

impl Rejected {
    /// Takes up to so many records.
    #[must_use]
    pub fn new(most: u64) -> Self {
        Self { most, records: Arc::default() }
    }

    /// Notes a record; an error if there are too many.
    pub(crate) fn take(&self, place: String, reason: String) -> Result<(), QueryError> {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() as u64 >= self.most {
            let most = self.most;
            return Err(failed(&place, format!("{reason}; more than {most} rows are bad")));
        }
        records.push(RejectedRecord { place, reason });
        Ok(())
    }

    /// The records so far.
    #[must_use]
    pub fn records(&self) -> Vec<RejectedRecord> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The character between the fields of a record: of a comma, a semicolon, a tab and a bar the one
/// that stands there most often outside of quotes. A comma if there is none.
#[must_use]
pub fn delimiter(record: &str) -> u8 {
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    let mut quoted = false;
    for byte in record.bytes() {
        quoted ^= byte == b'"';
        for (of, count) in &mut counts {
            *count += usize::from(byte == *of && !quoted);
        }
    }
    // Of several with the same count the first.
    let best = counts.iter().rev().max_by_key(|(_, count)| *count);
    best.map_or(b',', |(of, count)| if *count == 0 { b',' } else { *of })
}

#[test]
fn delimiters_are_guessed_outside_of_quotes() {
    for (record, expected) in [
        ("a,b,c", b','),
        ("a;b;c", b';'),
        ("a\tb", b'\t'),
        ("a|b|c,d", b'|'),
        ("\"a;b;c\",d", b','),
        ("a", b','),
        ("a,b;c", b','),
    ] {
        assert_eq!(delimiter(record), expected, "{record}");
    }
}
