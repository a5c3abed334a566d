//! A script of Cypher that makes a new database: what `telar export --format cypher`, APOC and
//! others write.
//!
//! The database is there when all of the script has run, or not at all, whatever transactions the
//! script has: `:begin` and `:commit`, and the words of the old neo4j-shell, say nothing. Indexes
//! and constraints that Telar does not have are left out, and told.

use std::io::Read;
use std::path::Path;

use anyhow::{anyhow, bail};
use telar_cli::process_cpu_s;
use telar_db::query::ErrorKind;
use telar_db::{Session, Settings, ValueMap};

use super::ASYNC_INTERVAL_MS;
use crate::cmd::shell::script::{Piece, Place, Trouble, pieces};
use crate::ui::{Screen, number};

/// Runs a script in a database that is made for it.
pub(super) fn run(options: &super::Options, file: &Path, settings: Settings) -> anyhow::Result<()> {
    let db_path = options.db.display();
    if options.db.exists() {
        bail!(
            "{db_path}: is there already, and a script makes a new database; telar shell {db_path} \
             -f {} runs it in this one, statement by statement",
            file.display()
        );
    }
    let before = process_cpu_s();
    let name = file.display().to_string();
    let mut text = String::new();
    let source = std::fs::File::open(file).and_then(telar_files::open_text);
    let read = source.and_then(|mut source| source.read_to_string(&mut text));
    read.map_err(|error| anyhow!("{name}: {error}"))?;
    // Nothing of it is kept unless all is: only the end needs the disk.
    let mut settings = settings;
    settings.durability = Settings::asynchronous(ASYNC_INTERVAL_MS).durability;
    settings.background_interval_ms = Settings::default().background_interval_ms;
    let db = telar_db::open_with(&options.db, settings)?;
    let session = Session::new(&db);
    let mut counts = Counts::default();
    let text = without_words(text);
    for (at, piece) in pieces(&text) {
        let done = step(&session, &piece, &mut counts);
        done.map_err(|trouble| anyhow!("{}", trouble.shown(Place::of(Some(&name), &text, at))))?;
    }
    drop(session);
    let screen = Screen::new();
    screen.line(screen.bold(db_path.to_string()))?;
    let vertices = number::counted(counts.nodes, "vertex", "vertices");
    let edges = number::counted(counts.relationships, "edge", "edges");
    screen.line(format!("  {:<11}{vertices}, {edges}", "made"))?;
    let statements = number::counted(counts.statements, "statement", "statements");
    screen.line(format!("  {:<11}{statements}", "run"))?;
    for note in &counts.not_made {
        screen.line(format!("  {:<11}not made: {note}", "note"))?;
    }
    super::finish(screen, options, db, process_cpu_s() - before)
}

#[derive(Default)]
struct Counts {
    statements: u64,
    nodes: u64,
    relationships: u64,
    /// Indexes and constraints of kinds that there are not.
    not_made: Vec<String>,
}

/// The script with blanks where neo4j-shell's commands are, which have lines of their own.
fn without_words(text: String) -> String {
    if !text.trim_start().get(..5).is_some_and(|word| word.eq_ignore_ascii_case("begin")) {
        return text;
    }
    let lines = text.split_inclusive('\n').map(|line| {
        match line.trim().trim_end_matches(';').to_ascii_lowercase().as_str() {
            word @ ("begin" | "commit" | "schema await") => line.replace(
                |c: char| c.is_ascii_alphabetic() && word.contains(c.to_ascii_lowercase()),
                " ",
            ),
            _ => line.to_owned(),
        }
    });
    lines.collect()
}

/// Runs a statement, or looks at a command.
fn step(session: &Session, piece: &Piece<'_>, counts: &mut Counts) -> Result<(), Trouble> {
    let text = match piece {
        Piece::Statement(text) => text,
        Piece::Command(text) => {
            let command = text.split_whitespace().next().unwrap_or_default();
            return match command.trim_end_matches(';').to_ascii_lowercase().as_str() {
                ":begin" | ":commit" | ":schema" => Ok(()),
                other => Err(Trouble {
                    message: format!("{other} is a command for people: telar shell runs it"),
                    at: None,
                    excerpt: None,
                    code: String::new(),
                }),
            };
        }
    };
    match session.run_with(text, &ValueMap::new()) {
        Ok(result) => {
            counts.statements += 1;
            counts.nodes += result.counters.nodes_created;
            counts.relationships += result.counters.relationships_created;
            Ok(())
        }
        Err(error) if makes_schema(text) && error.kind == ErrorKind::NotSupported => {
            counts.not_made.push(format!("{text}: {}", error.message));
            Ok(())
        }
        Err(error) => Err(Trouble::from(error)),
    }
}

/// True for commands that make indexes and constraints.
fn makes_schema(text: &str) -> bool {
    let mut words = text.split_whitespace().map(str::to_ascii_uppercase);
    words.next().as_deref() == Some("CREATE")
        && words.take(3).any(|word| matches!(word.as_str(), "INDEX" | "CONSTRAINT"))
}
