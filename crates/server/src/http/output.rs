//! A result in the format that was asked for, written as its rows come.
//!
//! ```text
//!  document   {"data":{"fields":[..],"values":[ row , row .. ]},"bookmarks":[..],..}
//!             .. ]},"errors":[..]}                            if it fails on the way
//!  lines      {"$event":"Header",..} {"$event":"Record",..}.. {"$event":"Summary" or "Error",..}
//!  Arrow      schema, batches, end of stream                  see `arrow`
//! ```
//!
//! What fails before anything was sent is answered with a status and the errors alone.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::{Value as Json, json};
use telar_db::query::{ErrorKind, QueryError, Rows, Sink};

#[cfg(feature = "arrow")]
use super::arrow::ArrowOutput;
use super::json::{Notation, Writer, write_string};
use super::media::Format;
use super::refusal::{errors, status};
use super::reply::{Gone, Reply};
use super::summary::Ending;
use crate::dbms::Failure;

/// Takes the rows of one statement.
#[derive(Debug)]
pub(crate) struct Output {
    reply: Reply,
    format: Body,
    columns: Vec<Arc<str>>,
    rows: u64,
    /// Whether the columns were written.
    begun: bool,
}

#[derive(Debug)]
enum Body {
    Document(Notation),
    Lines(Notation),
    #[cfg(feature = "arrow")]
    Arrow(Box<ArrowOutput>),
}

fn gone(_: Gone) -> QueryError {
    let message = "the client has gone, or does not read";
    QueryError::runtime(ErrorKind::Terminated, "Terminated", message)
}

fn event(out: &mut Vec<u8>, name: &str, body: &Json) {
    let line = json!({ "$event": name, "_body": body });
    out.extend_from_slice(line.to_string().as_bytes());
    out.push(b'\n');
}

impl Output {
    pub(crate) fn new(format: Format, reply: Reply) -> Self {
        let format = match format {
            Format::Document(notation) => Body::Document(notation),
            Format::Lines(notation) => Body::Lines(notation),
            #[cfg(feature = "arrow")]
            Format::Arrow => Body::Arrow(Box::default()),
        };
        Self { reply, format, columns: Vec::new(), rows: 0, begun: false }
    }

    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        let out = self.reply.buffer();
        match &self.format {
            Body::Document(_) => {
                out.extend_from_slice(b"{\"data\":{\"fields\":[");
                for (at, column) in self.columns.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(out, column);
                }
                out.extend_from_slice(b"],\"values\":[");
            }
            Body::Lines(_) => {
                let fields: Vec<&str> = self.columns.iter().map(|column| &**column).collect();
                event(out, "Header", &json!({ "fields": fields }));
            }
            #[cfg(feature = "arrow")]
            Body::Arrow(_) => {}
        }
    }

    fn json_rows(
        &mut self,
        notation: Notation,
        lines: bool,
        rows: &Rows<'_>,
    ) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            let out = self.reply.buffer();
            let begin = out.len();
            let writer = Writer { notation, rows: Some(rows), begin };
            match lines {
                true => out.extend_from_slice(b"{\"$event\":\"Record\",\"_body\":"),
                false if self.rows > 0 => out.push(b','),
                false => {}
            }
            if let Err(error) = writer.row(out, rows, row, self.columns.len()) {
                out.truncate(begin);
                return Err(error);
            }
            if lines {
                out.extend_from_slice(b"}\n");
            }
            self.rows += 1;
            self.reply.send_full().map_err(gone)?;
        }
        Ok(())
    }

    /// Ends the answer to a statement that went well.
    pub(crate) fn end(mut self, ending: &Ending<'_>) {
        if ending.summary.is_some() {
            self.begin();
        }
        let fields = ending.fields();
        let out = self.reply.buffer();
        match &mut self.format {
            Body::Document(_) => {
                match self.begun {
                    true => out.extend_from_slice(b"]}"),
                    false => out.push(b'{'),
                }
                for (at, (name, value)) in fields.iter().enumerate() {
                    if self.begun || at > 0 {
                        out.push(b',');
                    }
                    write_string(out, name);
                    out.extend_from_slice(format!(":{value}").as_bytes());
                }
                out.push(b'}');
            }
            Body::Lines(_) => event(out, "Summary", &Json::Object(fields)),
            #[cfg(feature = "arrow")]
            Body::Arrow(arrow) => arrow.end(out, &self.columns),
        }
        self.reply.end(StatusCode::ACCEPTED);
    }

    /// Ends the answer to a statement that failed, and to one that never ran.
    pub(crate) fn fail(mut self, failure: &Failure) {
        let errors = errors(failure);
        if self.reply.is_unsent() {
            self.reply.clear();
            let out = self.reply.buffer();
            match self.format {
                Body::Lines(_) => event(out, "Error", &errors),
                _ => out.extend_from_slice(json!({ "errors": errors }).to_string().as_bytes()),
            }
            #[cfg(feature = "arrow")]
            if matches!(self.format, Body::Arrow(_)) {
                self.reply.set_media("application/json");
            }
            return self.reply.end(status(failure.code));
        }
        let out = self.reply.buffer();
        match self.format {
            Body::Document(_) => {
                out.extend_from_slice(format!("]}},\"errors\":{errors}}}").as_bytes());
            }
            Body::Lines(_) => event(out, "Error", &errors),
            // An Arrow stream has no place for an error: the connection breaks off, so that what
            // was sent is not taken for all.
            #[cfg(feature = "arrow")]
            Body::Arrow(_) => return,
        }
        self.reply.end(StatusCode::ACCEPTED);
    }
}

impl Sink for Output {
    #[cfg(feature = "arrow")]
    fn takes_columns(&self) -> bool {
        matches!(self.format, Body::Arrow(_))
    }

    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.begin();
        match &mut self.format {
            Body::Document(notation) => {
                let notation = *notation;
                self.json_rows(notation, false, rows)
            }
            Body::Lines(notation) => {
                let notation = *notation;
                self.json_rows(notation, true, rows)
            }
            #[cfg(feature = "arrow")]
            Body::Arrow(arrow) => {
                self.rows += rows.len() as u64;
                arrow.rows(self.reply.buffer(), &self.columns, rows)?;
                self.reply.send_full().map_err(gone)
            }
        }
    }
}
