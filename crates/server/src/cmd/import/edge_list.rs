//! A file of edges.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use telar_cli::process_cpu_s;
use telar_db::Database;
use telar_db::import::{Format, ImportOptions, ImportReport, import_edge_list};

use crate::ui::{Progress, Screen, number};

/// Options of an edge list.
#[derive(Debug, Args)]
#[command(next_help_heading = "Edge list")]
pub(super) struct EdgeListArgs {
    /// Format of the file
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Label of the vertices
    #[arg(long, value_name = "L", default_value = "Vertex")]
    pub(super) label: String,
    /// Type of the edges
    #[arg(long = "type", value_name = "T", default_value = "LINK")]
    pub(super) edge_type: String,
    /// Write by transactions, batch by batch, instead of all or nothing
    #[arg(long)]
    pub(super) transactions: bool,
    /// With --transactions: commit without waiting for the disk; all is on disk at the end
    #[arg(long = "async")]
    pub(super) asynchronous: bool,
}

#[cfg(feature = "files")]
impl EdgeListArgs {
    /// True if it was said which format of edges a file has.
    pub(super) fn format_is_given(&self) -> bool {
        !matches!(self.format, FormatName::Auto)
    }
}

/// Formats by name.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    /// By the file's extension and first record
    Auto,
    /// `from to [number ...]`, separated by blanks
    Snap,
    /// `from,to[,number ...]`
    Csv,
    /// The same with tabs
    Tsv,
    /// METIS adjacency lists
    Metis,
}

impl From<FormatName> for Format {
    fn from(name: FormatName) -> Self {
        match name {
            FormatName::Auto => Self::Auto,
            FormatName::Snap => Self::Snap,
            FormatName::Csv => Self::Csv,
            FormatName::Tsv => Self::Tsv,
            FormatName::Metis => Self::Metis,
        }
    }
}

/// Imports `file` into `db` and closes it.
pub(super) fn run(options: &super::Options, file: &Path, db: Database) -> anyhow::Result<()> {
    let screen = Screen::new();
    let mut import = ImportOptions::default();
    import.label.clone_from(&options.edge_list.label);
    import.edge_type.clone_from(&options.edge_list.edge_type);
    import.simple = options.simple;
    import.threads = options.thread_count();
    import.order = options.order;
    import.file.format = options.edge_list.format.into();
    import.transactions = options.edge_list.transactions;
    let progress = Progress::new();
    let report = import_edge_list(&db, file, &import, &|p| progress.update(p));
    progress.finish();
    let report = report.map_err(|error| match has_header(file) {
        true => anyhow!(
            "{error}; if these are no edges: --nodes LABEL={} makes a node of each row, with the \
             properties that its header names (docs/import.md)",
            file.display()
        ),
        false => error.into(),
    })?;
    summary(screen, options, file, &report)?;
    super::finish(screen, options, db, process_cpu_s())
}

/// Whether a file begins with words, as a table does: edges begin with an id, or a comment.
fn has_header(file: &Path) -> bool {
    let mut head = [0; 4];
    let read = File::open(file).and_then(|mut file| file.read(&mut head));
    let head = &head[..read.unwrap_or(0)];
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    head.first().is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b':' | b'"'))
}

fn summary(
    screen: Screen,
    options: &super::Options,
    file: &Path,
    report: &ImportReport,
) -> std::io::Result<()> {
    let title = format!("{} -> {}", file.display(), options.db.display());
    let (label, edge_type) = (&options.edge_list.label, &options.edge_list.edge_type);
    screen.line(screen.bold(title))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<11}{text}"));
    let vertices = number::counted(report.vertices, "vertex", "vertices");
    let edges = number::counted(report.edges, "edge", "edges");
    let transactions = number::counted(report.transactions, "transaction", "transactions");
    row("imported", format!("{vertices} :{label}, {edges} :{edge_type}"))?;
    row("", format!("in {transactions}"))?;
    if report.duplicates > 0 {
        row("duplicates", format!("{}  (not added again)", number::count(report.duplicates)))?;
    }
    if !report.properties.is_empty() {
        row("properties", report.properties.join(", "))?;
    }
    if report.undirected {
        row("undirected", "each edge is stored once, from the smaller id to the larger".into())?;
    }
    let spent = |name: &str, seconds: f64, amount: u64, unit: &str| {
        let rate = number::rate(amount, seconds, unit);
        screen.line(format!("  {name:<11}{:<9}{rate}", number::seconds(seconds)))
    };
    let records = report.edges + report.duplicates;
    spent("reading", report.read_s, records, "records")?;
    if report.vertices_s > 0.0 {
        spent("vertices", report.vertices_s, report.vertices, "vertices")?;
        return spent("edges", report.edges_s, records, "edges");
    }
    spent("loading", report.edges_s, records, "edges")
}
