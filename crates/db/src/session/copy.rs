//! `COPY`: a file into the graph, or the rows of a query into a file.
//!
//! - `COPY FROM` is an import of a table ([`import_tables`]): one commit, a transaction or a bulk
//!   load, of its own.
//! - `COPY TO` streams its query into a file beside the one that is asked for, which takes its
//!   place once all is on disk.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::sync::Arc;

use telar_engine::Engine;
use telar_graph::column::Column;
use telar_graph::{Value, ValueMap};
use telar_query::files::{Unfinished, export_path, import_path, open_regular};
use telar_query::{
    Copying, Counters, ErrorKind, FileFormat, FileOptions, Prepared, QueryError, QueryResult, Rows,
    Sink, StatementKind, Summary, TableWriter,
};

use super::Session;
use super::plan::Began;
use crate::import::import_tables;
use crate::import::table::{
    End, NodeTable, RejectedRow, RelationshipTable, TableImport, TableReport, unique_keys,
};

/// Rows that are left out at most, unless it is said.
const REJECTS_MAX: u64 = 1000;

fn option_error(message: impl Into<String>) -> QueryError {
    QueryError::runtime(ErrorKind::Argument, "CopyOption", message)
}

fn file_error(file: &str, error: impl std::fmt::Display) -> QueryError {
    let (kind, detail) = (ErrorKind::ExternalResource, "ExternalResourceFailed");
    QueryError::runtime(kind, detail, format!("COPY: {file}: {error}"))
}

/// Options of a `COPY`, each of which is taken out once.
struct Options(BTreeMap<String, Value>);

impl Options {
    fn text(&mut self, name: &str) -> Result<Option<String>, QueryError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.to_string())),
            Some(other) => Err(option_error(format!(
                "COPY: the option '{name}' is a STRING, not {}",
                other.type_name()
            ))),
        }
    }

    fn truth(&mut self, name: &str, default: bool) -> Result<bool, QueryError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Bool(truth)) => Ok(truth),
            Some(other) => Err(option_error(format!(
                "COPY: the option '{name}' is a BOOLEAN, not {}",
                other.type_name()
            ))),
        }
    }

    fn number(&mut self, name: &str, default: u64) -> Result<u64, QueryError> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(default),
            Some(Value::Int(number)) if number >= 0 => Ok(number.unsigned_abs()),
            Some(_) => Err(option_error(format!("COPY: the option '{name}' is an INTEGER >= 0"))),
        }
    }

    /// Refuses what was not taken out.
    fn end(self, known: &str) -> Result<(), QueryError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => {
                Err(option_error(format!("COPY: there is no option '{name}' here; {known}")))
            }
        }
    }

    /// How the file is read or written.
    fn file(&mut self, file: &str) -> Result<FileOptions, QueryError> {
        let named = self.text("format")?;
        let format = match &named {
            Some(name) => FileFormat::of_name(name).ok_or_else(|| {
                option_error(format!(
                    "COPY: there is no format '{name}': csv, json, parquet, arrow"
                ))
            })?,
            None => FileFormat::of_path(file).ok_or_else(|| {
                option_error(format!(
                    "COPY: the name '{file}' does not say which format the file is of: give one, \
                     (format = 'csv'), of csv, json, parquet, arrow"
                ))
            })?,
        };
        let mut options = FileOptions::new(format);
        options.header = self.truth("header", true)?;
        options.typed = self.truth("typed", false)?;
        options.compression = self.text("compression")?;
        if let Some(text) = self.text("delim")? {
            let text = if text.eq_ignore_ascii_case("tab") { "\t" } else { &text };
            let [delimiter] = text.as_bytes() else {
                return Err(option_error("COPY: the option 'delim' is one ASCII character"));
            };
            options.delimiter = *delimiter;
        } else if is_of_tabs(file, named.as_deref()) {
            options.delimiter = b'\t';
        }
        for part in self.text("types")?.iter().flat_map(|types| types.split(',')) {
            let (name, of) = part.rsplit_once(':').ok_or_else(|| {
                option_error("COPY: the option 'types' is of the form 'column: type, column: type'")
            })?;
            options.types.push((name.trim().to_owned(), of.trim().to_owned()));
        }
        Ok(options)
    }
}

/// The property by which nodes of a label are found: that of its only unique constraint.
fn key_of(db: &Engine, label: &str, option: &str) -> Result<String, QueryError> {
    let found = unique_keys(db, label);
    match &found[..] {
        [key] => Ok(key.clone()),
        [] => Err(option_error(format!(
            "COPY: no unique constraint says by which property nodes :{label} are found; give \
             {option} = 'property'"
        ))),
        several => Err(option_error(format!(
            "COPY: nodes :{label} have several unique properties ({}); give {option} = 'property'",
            several.join(", ")
        ))),
    }
}

/// Rows of a query on their way into a file.
struct ToFile<F> {
    /// Makes the file, once the names of the columns are known.
    open: F,
    writer: Option<Box<dyn TableWriter>>,
    rows: u64,
    columns: usize,
}

impl<F: FnMut(&[Arc<str>]) -> Result<Box<dyn TableWriter>, QueryError>> Sink for ToFile<F> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.len();
        self.writer = Some((self.open)(columns)?);
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let columns: Vec<_> = (0..self.columns).map(|at| rows.column(at)).collect();
        let columns: Vec<&Column> = columns.iter().map(AsRef::as_ref).collect();
        self.rows += rows.len() as u64;
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&columns, Some(rows)))
    }

    fn takes_columns(&self) -> bool {
        true
    }
}

impl Session {
    /// Runs a `COPY`.
    pub(super) fn copy(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        began: &Began,
    ) -> Result<QueryResult, QueryError> {
        let copying =
            self.read(plan, parameters, began, |graph, inputs| plan.copying(graph, inputs))?;
        let Some(copying) = copying else {
            unreachable!("INVARIANT: the plan is one of COPY");
        };
        match copying.into.is_some() {
            true => self.copy_from(copying, began),
            false => self.copy_to(plan, parameters, copying, began),
        }
    }

    fn copy_from(&self, copying: Copying, began: &Began) -> Result<QueryResult, QueryError> {
        let Copying { into, file, options } = copying;
        let labels = into.unwrap_or_default();
        let limits = &began.limits;
        self.backend.may_write()?;
        let db = self.backend.database().ok_or_else(|| {
            let message = "this backend takes no COPY FROM";
            QueryError::runtime(ErrorKind::NotSupported, "Copy", message)
        })?;
        let mut options = Options(options);
        let format = options.file(&file)?;
        let path = import_path(limits, &file).map_err(|e| file_error(&file, e))?;
        let open = open_regular(&path).map_err(|e| file_error(&file, e))?;
        let rejects = options.text("rejects")?;
        let most = options.number("rejects_max", REJECTS_MAX)?;
        let replaces = options.truth("overwrite", false)?;
        let ends = (options.text("from")?, options.text("to")?);
        let mut import =
            TableImport { bad_rows: rejects.as_ref().map(|_| most), ..TableImport::default() };
        let files = Arc::clone(&self.runtime.procedures().files);
        match ends {
            (None, None) => {
                options.end(
                    "COPY of nodes knows format, header, delim, types, rejects, \
                             rejects_max, overwrite; with from and to it makes relationships",
                )?;
                let rows = files.read(open, &file, &format)?;
                import.nodes.push(NodeTable { labels, rows });
            }
            (Some(from), Some(to)) => {
                let [ty] = &labels[..] else {
                    return Err(option_error("COPY: a relationship has one type"));
                };
                let mut key = |option: &str, label: &str| match options.text(option)? {
                    Some(key) => Ok(key),
                    None => key_of(db, label, option),
                };
                let keys = (key("from_key", &from)?, key("to_key", &to)?);
                let (src, dst) = (options.text("src")?, options.text("dst")?);
                options.end(
                    "COPY of relationships knows from, to, from_key, to_key, src, dst, \
                             format, header, delim, types, rejects, rejects_max, overwrite",
                )?;
                let rows = files.read(open, &file, &format)?;
                let column = |given: Option<String>, at: usize| {
                    let first = rows.names().get(at).map(ToString::to_string);
                    given.or(first).ok_or_else(|| {
                        file_error(&file, "a file of relationships needs a column for each end")
                    })
                };
                let (src, dst) = (column(src, 0)?, column(dst, 1)?);
                let from = End { column: src, label: from, key: keys.0 };
                let to = End { column: dst, label: to, key: keys.1 };
                import.relationships.push(RelationshipTable { ty: ty.clone(), from, to, rows });
            }
            _ => return Err(option_error("COPY: relationships need both 'from' and 'to'")),
        }
        // It is made before anything is imported: a name that cannot be written changes nothing.
        let rejects = rejects.map(|name| {
            let target = export_path(limits, &name).map_err(|e| file_error(&name, e))?;
            match target == path {
                true => Err(file_error(&name, "it is the file that is read")),
                false => Unfinished::create(target, replaces).map_err(|e| file_error(&name, e)),
            }
        });
        let rejects = rejects.transpose()?;
        let done = import_tables(db, import, &|_| {
            limits.check()?;
            self.check_still_allowed()
        });
        let report = done.map_err(|e| match e.detail.as_str() {
            // Where rows stand on lines, the message begins with file and line.
            "BadRow" if e.message.starts_with(&file) => {
                QueryError { message: format!("COPY: {}", e.message), ..e }
            }
            "BadRow" | "TableColumns" => {
                QueryError { message: format!("COPY: {file}: {}", e.message), ..e }
            }
            _ => e,
        })?;
        if let Some((unfinished, to)) = rejects
            && !report.rejected.is_empty()
        {
            let written = write_rejects(to, &report.rejected);
            written.and_then(|()| unfinished.keep(replaces)).map_err(|e| {
                let text = "the rows are imported, but those that were left out could not be";
                file_error(&file, format!("{text} written: {e}"))
            })?;
        }
        Ok(result_of(&report))
    }

    fn copy_to(
        &self,
        plan: &Prepared,
        parameters: &ValueMap,
        copying: Copying,
        began: &Began,
    ) -> Result<QueryResult, QueryError> {
        let Copying { file, options, .. } = copying;
        let mut options = Options(options);
        let format = options.file(&file)?;
        if [".gz", ".zst"].iter().any(|end| file.to_ascii_lowercase().ends_with(end)) {
            let text = "COPY TO writes no compressed text; Parquet takes (compression = 'zstd')";
            return Err(file_error(&file, text));
        }
        let replaces = options.truth("overwrite", false)?;
        options.end("COPY TO knows format, header, delim, compression, typed, overwrite")?;
        let target = export_path(&began.limits, &file).map_err(|e| file_error(&file, e))?;
        let files = Arc::clone(&self.runtime.procedures().files);
        let mut made = None;
        let open = |columns: &[Arc<str>]| {
            for (at, name) in columns.iter().enumerate() {
                if columns[..at].contains(name) {
                    let text = format!("two columns are called '{name}'");
                    return Err(file_error(&file, text));
                }
            }
            let created = Unfinished::create(target.clone(), replaces);
            let (unfinished, to) = created.map_err(|e| file_error(&file, e))?;
            made = Some(unfinished);
            files.write(to, &file, columns, &format)
        };
        let mut sink = ToFile { open, writer: None, rows: 0, columns: 0 };
        let summary = self
            .read(plan, parameters, began, |graph, inputs| plan.stream(graph, inputs, &mut sink))?;
        let ToFile { writer, rows, .. } = sink;
        if let Some(writer) = writer {
            writer.finish()?;
        }
        if let Some(unfinished) = made {
            unfinished.keep(replaces).map_err(|e| file_error(&file, e))?;
        }
        let Summary { at, plan, notifications, .. } = summary;
        Ok(QueryResult {
            columns: vec!["rows".into()],
            rows: vec![vec![Value::Int(rows as i64)]],
            kind: StatementKind::Read,
            at,
            plan,
            notifications,
            ..QueryResult::default()
        })
    }
}

/// Whether a file has tabs between its fields, by its name or by that of its format.
fn is_of_tabs(file: &str, format: Option<&str>) -> bool {
    let path = file.to_ascii_lowercase();
    let path = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(&path);
    format.map_or(path.ends_with(".tsv"), |format| format.eq_ignore_ascii_case("tsv"))
}

/// Writes rows that were left out, each with its place and the reason.
fn write_rejects(file: File, rejected: &[RejectedRow]) -> std::io::Result<()> {
    let mut out = BufWriter::new(file);
    for row in rejected {
        writeln!(out, "{}: {}", row.place, row.reason)?;
    }
    out.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
}

fn result_of(report: &TableReport) -> QueryResult {
    let count = |count: u64| Value::Int(count as i64);
    let mut counters = Counters::default();
    counters.nodes_created = report.vertices;
    counters.relationships_created = report.edges;
    counters.properties_set = report.properties;
    let names = ["nodes", "relationships", "properties", "rejected"];
    let row = vec![
        count(report.vertices),
        count(report.edges),
        count(report.properties),
        count(report.rejected.len() as u64),
    ];
    QueryResult {
        columns: names.map(Arc::from).to_vec(),
        rows: vec![row],
        kind: StatementKind::ReadWrite,
        counters,
        at: report.ts,
        ..QueryResult::default()
    }
}
