//! `telar import`: a file of edges into a database.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, ValueEnum};
use telar_db::Settings;
use telar_db::import::{Format, ImportOptions, ImportReport, import_edge_list};

use crate::ui::{Progress, Screen, number};

/// Interval of asynchronous commits, in milliseconds: the most an import can lose in a crash, and
/// long enough that the disk does not hold it up.
const ASYNC_INTERVAL_MS: u64 = 100;

/// Read a file of edges into a database.
///
/// Every id in the file becomes a new vertex with the property `id`, every record an edge from the
/// first id to the second. Further numeric columns become properties of the edges. The file may be
/// compressed with gzip or zstd; comment lines begin with # or %.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar import web.telar cnr-2000.txt.zst --simple
  telar import trust.telar ratings.csv --label User --type TRUSTS")]
pub(crate) struct Options {
    /// Directory of the database; made if there is none
    db: PathBuf,
    /// File of edges
    file: PathBuf,
    /// Format of the file
    #[arg(long, value_enum, default_value_t = FormatName::Auto)]
    format: FormatName,
    /// Label of the vertices
    #[arg(long, value_name = "L", default_value = "Vertex")]
    label: String,
    /// Type of the edges
    #[arg(long = "type", value_name = "T", default_value = "LINK")]
    edge_type: String,
    /// At most one edge per pair and no edge properties, at half the memory
    #[arg(long)]
    simple: bool,
    /// Threads that read and write [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Commit without waiting for the disk; everything is on disk at the end
    #[arg(long = "async")]
    asynchronous: bool,
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

/// Runs `telar import`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let settings = match options.asynchronous {
        true => Settings::asynchronous(ASYNC_INTERVAL_MS),
        false => Settings::default(),
    };
    let db = telar_db::open_with(&options.db, settings)?;
    let mut import = ImportOptions::default();
    import.label.clone_from(&options.label);
    import.edge_type.clone_from(&options.edge_type);
    import.simple = options.simple;
    import.threads = options.threads.map_or(0, usize::from);
    import.file.format = options.format.into();
    let progress = Progress::new();
    let report = import_edge_list(&db, &options.file, &import, &|p| progress.update(p));
    progress.finish();
    let report = report?;
    let begun = Instant::now();
    db.close()?;
    summary(screen, options, &report, begun.elapsed().as_secs_f64())?;
    Ok(ExitCode::SUCCESS)
}

fn summary(
    screen: Screen,
    options: &Options,
    report: &ImportReport,
    close_s: f64,
) -> std::io::Result<()> {
    let title = format!("{} -> {}", options.file.display(), options.db.display());
    screen.line(screen.bold(title))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<11}{text}"));
    let vertices = number::counted(report.vertices, "vertex", "vertices");
    let edges = number::counted(report.edges, "edge", "edges");
    let transactions = number::counted(report.transactions, "transaction", "transactions");
    row("imported", format!("{vertices} :{}, {edges} :{}", options.label, options.edge_type))?;
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
    spent("vertices", report.vertices_s, report.vertices, "vertices")?;
    spent("edges", report.edges_s, records, "edges")?;
    row("checkpoint", number::seconds(close_s))
}
