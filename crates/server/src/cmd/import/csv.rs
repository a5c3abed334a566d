//! CSV files of nodes and relationships.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use telar_cli::process_cpu_s;
use telar_db::import::{
    BadRows, CsvGroup, CsvImport, CsvReport, ExistingIds, Ids, UniqueKey, import_csv,
};
use telar_db::{BulkOptions, Database};

use crate::ui::{Progress, Screen, number};

/// Options of CSV files.
#[derive(Debug, Args)]
#[command(next_help_heading = "CSV files")]
pub(super) struct CsvArgs {
    /// Vertices: labels, and files that share a header; may be given several times
    #[arg(long, value_name = "[LABEL:..=]FILE,..")]
    pub(super) nodes: Vec<Group>,
    /// Edges: their type, and files that share a header; may be given several times
    #[arg(long, value_name = "[TYPE=]FILE,..")]
    pub(super) relationships: Vec<Group>,
    /// Between two fields: a character, or TAB [default: ,]
    #[arg(long, value_name = "C")]
    pub(super) delimiter: Option<Character>,
    /// Between two elements of a list: a character, or TAB [default: ;, or a comma if fields are
    /// delimited by ;]
    #[arg(long, value_name = "C")]
    array_delimiter: Option<Character>,
    /// Around fields with special characters [default: "]
    #[arg(long, value_name = "C")]
    quote: Option<Character>,
    /// Drop blanks around fields
    #[arg(long)]
    trim: bool,
    /// Fields without quotes that say that there is no value, as in --null NA,NULL,NaN
    #[arg(long, value_name = "TOKEN,..", value_delimiter = ',')]
    pub(super) null: Vec<String>,
    /// Lines at the beginning of each file that are not read; of a file that only has the header
    /// none
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_lines: u64,
    /// What ids are, where the header does not say
    #[arg(long, value_enum, default_value_t = IdType::String)]
    id_type: IdType,
    /// Ids of a space may also be those of vertices in the database, by label and property
    #[arg(long, value_name = "SPACE=LABEL.KEY")]
    pub(super) existing: Vec<Existing>,
    /// Make a unique constraint with the import; may be given several times
    #[arg(long, value_name = "LABEL.KEY")]
    pub(super) unique: Vec<Unique>,
    /// Write bad rows to this file and go on, instead of giving up at the first
    #[arg(long, value_name = "FILE")]
    pub(super) rejects: Option<PathBuf>,
    /// Give up after so many bad rows
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub(super) rejects_max: u64,
    /// Memory for edges that wait to be sorted; beyond it they go to files in the database
    /// [default: 1024, or a quarter of what the machine or control group has]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    memory: Option<u32>,
}

impl CsvArgs {
    /// Sets the memory of a load, if it was said.
    pub(super) fn limit(&self, load: &mut BulkOptions) {
        if let Some(mib) = self.memory {
            load.memory_bytes = (mib as usize) << 20;
        }
    }
}

/// Labels or a type, and files.
#[derive(Debug, Clone)]
pub(super) struct Group(pub(super) CsvGroup);

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (names, files) = text.split_once('=').unwrap_or(("", text));
        let parts = |text: &str, by| -> Vec<String> {
            text.split(by).map(str::trim).filter(|p| !p.is_empty()).map(str::to_owned).collect()
        };
        let files: Vec<PathBuf> = parts(files, ',').into_iter().map(PathBuf::from).collect();
        if files.is_empty() {
            return Err("no file: write NAME=FILE,FILE or FILE".to_owned());
        }
        Ok(Self(CsvGroup { names: parts(names, ':'), files }))
    }
}

/// One ASCII character.
#[derive(Debug, Clone, Copy)]
pub(super) struct Character(pub(super) u8);

impl FromStr for Character {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            [byte] if byte.is_ascii() => Ok(Self(*byte)),
            _ if text.eq_ignore_ascii_case("tab") || text == "\\t" => Ok(Self(b'\t')),
            _ => Err("write one ASCII character, or TAB".to_owned()),
        }
    }
}

/// An id space of the database.
#[derive(Debug, Clone)]
pub(super) struct Existing(pub(super) ExistingIds);

impl FromStr for Existing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = || {
            let (space, rest) = text.split_once('=')?;
            let (label, key) = rest.rsplit_once('.')?;
            Some(ExistingIds { space: space.into(), label: label.into(), key: key.into() })
        };
        parts().map(Self).ok_or_else(|| "write SPACE=LABEL.KEY, as in P=Person.id".to_owned())
    }
}

/// A key that is to be unique.
#[derive(Debug, Clone)]
pub(super) struct Unique(pub(super) UniqueKey);

impl FromStr for Unique {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.rsplit_once('.').filter(|(label, key)| !label.is_empty() && !key.is_empty());
        let (label, key) = parts.ok_or("write LABEL.KEY, as in Person.id")?;
        Ok(Self(UniqueKey { label: label.into(), key: key.into() }))
    }
}

/// What ids are.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum IdType {
    /// Any text; 7 and 07 are two vertices
    String,
    /// Whole numbers of 64 bits
    Integer,
}

#[cfg(feature = "files")]
impl CsvArgs {
    /// Files that are given as nodes or relationships.
    pub(super) fn groups(&self) -> impl Iterator<Item = &CsvGroup> {
        self.nodes.iter().chain(&self.relationships).map(|group| &group.0)
    }

    /// An option that was given, and only says how files with typed headers are read.
    pub(super) fn only_for_typed_headers(&self) -> Option<&'static str> {
        let given = [
            (self.array_delimiter.is_some(), "--array-delimiter"),
            (self.quote.is_some(), "--quote"),
            (self.trim, "--trim"),
            (self.skip_lines > 0, "--skip-lines"),
            (matches!(self.id_type, IdType::Integer), "--id-type"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }
}

fn import_of(options: &super::Options) -> CsvImport {
    let csv = &options.csv;
    let mut import = CsvImport::default();
    let groups = |groups: &[Group]| groups.iter().map(|g| g.0.clone()).collect();
    import.nodes = groups(&csv.nodes);
    import.relationships = groups(&csv.relationships);
    let set = |to: &mut u8, from: Option<Character>| {
        if let Some(Character(byte)) = from {
            *to = byte;
        }
    };
    set(&mut import.delimiter, csv.delimiter);
    if import.delimiter == import.array_delimiter {
        // Unless it is said, too.
        import.array_delimiter = b',';
    }
    set(&mut import.array_delimiter, csv.array_delimiter);
    set(&mut import.quote, csv.quote);
    import.trim = csv.trim;
    import.null.clone_from(&csv.null);
    import.skip_lines = csv.skip_lines;
    import.ids = match csv.id_type {
        IdType::String => Ids::Text,
        IdType::Integer => Ids::Integer,
    };
    import.existing = csv.existing.iter().map(|e| e.0.clone()).collect();
    import.unique = csv.unique.iter().map(|u| u.0.clone()).collect();
    import.simple = options.simple;
    if let Some(file) = &csv.rejects {
        import.bad_rows = BadRows::Skip { file: file.clone(), max: csv.rejects_max };
    }
    import.threads = options.thread_count();
    csv.limit(&mut import.load);
    import
}

/// Imports the files into `db` and closes it.
pub(super) fn run(options: &super::Options, db: Database) -> anyhow::Result<()> {
    let screen = Screen::new();
    let progress = Progress::new();
    let report = import_csv(&db, &import_of(options), &|p| progress.update(p));
    progress.finish();
    summary(screen, options, &report?)?;
    super::finish(screen, options, db, process_cpu_s())
}

fn summary(screen: Screen, options: &super::Options, report: &CsvReport) -> std::io::Result<()> {
    let CsvReport { vertices, edges, properties, duplicates, .. } = *report;
    super::counts(screen, options, [vertices, edges, properties, duplicates])?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<11}{text}"));
    if let Some(file) = options.csv.rejects.as_ref().filter(|_| report.rejected > 0) {
        let rows = number::counted(report.rejected, "row", "rows");
        row("rejected", format!("{rows}, see {}", file.display()))?;
    }
    if report.spilled > 0 {
        let edges = number::counted(report.spilled, "edge", "edges");
        row("in files", format!("{edges} sorted on disk"))?;
    }
    let records = report.vertices + report.edges + report.rejected;
    let rate = number::rate(records, report.read_s, "rows");
    row("reading", format!("{:<9}{rate}", number::seconds(report.read_s)))?;
    let rate = number::rate(report.edges, report.load_s, "edges");
    row("loading", format!("{:<9}{rate}", number::seconds(report.load_s)))
}
