//! Rows that are left out: counted, and written to a file with the reason.

use std::fs::File;
use std::io::{BufWriter, Write};

use telar_engine::io::folder;

use super::BadRows;
use super::blocks::Block;
use super::error::CsvError;
use super::rows::BadRow;

/// Where bad rows go.
#[derive(Debug)]
pub(super) struct Rejects {
    rule: BadRows,
    out: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    pub(super) fn new(rule: &BadRows) -> Self {
        Self { rule: rule.clone(), out: None, count: 0 }
    }

    /// Takes the bad rows of a block, in order; fails if they end the import.
    pub(super) fn take(&mut self, block: &Block, bad: &[BadRow]) -> Result<(), CsvError> {
        let Some(first) = bad.first() else { return Ok(()) };
        let file = block.file.display().to_string();
        let BadRows::Skip { file: path, max } = &self.rule else {
            let (line, reason) = (block.line_at(first.start), first.reason.clone());
            return Err(CsvError::Row { file, line, reason });
        };
        for row in bad {
            let line = block.line_at(row.start);
            if self.count == *max {
                let reason = row.reason.clone();
                return Err(CsvError::TooManyBadRows { max: *max, file, line, reason });
            }
            self.count += 1;
            let out = match &mut self.out {
                Some(out) => out,
                None => {
                    let made = folder::create(path).map_err(CsvError::io(path))?;
                    self.out.insert(BufWriter::new(made))
                }
            };
            let text = &block.text[row.start..row.end];
            let end = if text.ends_with(b"\n") { "" } else { "\n" };
            writeln!(out, "# {file}:{line}: {}", row.reason)
                .and_then(|()| out.write_all(text))
                .and_then(|()| out.write_all(end.as_bytes()))
                .map_err(CsvError::io(path))?;
        }
        Ok(())
    }

    /// Ends the file; returns how many rows are in it.
    pub(super) fn finish(&mut self) -> Result<u64, CsvError> {
        if let (Some(out), BadRows::Skip { file, .. }) = (&mut self.out, &self.rule) {
            out.flush().map_err(CsvError::io(file))?;
        }
        Ok(self.count)
    }
}
