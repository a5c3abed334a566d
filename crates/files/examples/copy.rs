//! Writes files of nodes and relationships, brings them into databases on disk, and prints what it
//! cost: `cargo run --release -p telar-files --example copy [PERSONS RELATIONSHIPS]`.

use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use telar_db::query::{Limits, QueryError};
use telar_db::{Database, Runtime, Session, Value};

/// User and system time of this process, in seconds.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2);
    fields.filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut counts = std::env::args().skip(1).filter_map(|count| count.parse::<i64>().ok());
    let persons = counts.next().unwrap_or(100_000);
    let relationships = counts.next().unwrap_or(2_000_000);
    let folder = tempfile::tempdir()?;
    let session = |db: &Database| {
        let runtime = Runtime::default().with_files(telar_files::formats());
        let folder = Some(folder.path().to_owned());
        let limits =
            Limits { import_folder: folder.clone(), export_folder: folder, ..Limits::default() };
        Session::with_runtime(db, Arc::new(runtime)).with_limits(limits)
    };
    let timed = |what: &str, work: &dyn Fn() -> Result<(), QueryError>| {
        let (begun, cpu) = (Instant::now(), cpu_seconds());
        work()?;
        let (wall, cpu) = (begun.elapsed().as_secs_f64(), cpu_seconds() - cpu);
        let line = format!("{what:24}{cpu:6.2} CPU s {wall:6.2} s\n");
        std::io::stdout().write_all(line.as_bytes()).map_err(Box::<dyn std::error::Error>::from)
    };
    for format in ["parquet", "arrow", "csv", "jsonl"] {
        let none = telar_db::open_in_memory()?;
        let source = session(&none);
        let given = [("p", Value::Int(persons)), ("r", Value::Int(relationships))];
        timed(&format!("{format}: written"), &|| {
            let people = format!(
                "COPY (UNWIND range(1, $p) AS id RETURN id, 'Person ' + id AS name, \
                 id * 7919 % 90 AS age) TO 'p.{format}'"
            );
            source.run(&people, &given)?;
            let knows = format!(
                "COPY (UNWIND range(1, $r) AS n RETURN n * 7919 % $p + 1 AS a, \
                 n * 104729 % $p + 1 AS b, 1980 + n % 45 AS since, n % 1000 / 1000.0 AS weight) \
                 TO 'k.{format}'"
            );
            source.run(&knows, &given).map(drop)
        })?;
        let db = telar_db::open(folder.path().join(format!("{format}.telar")))?;
        let into = session(&db);
        into.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE", &[])?;
        timed(&format!("{format}: brought in"), &|| {
            into.run(&format!("COPY Person FROM 'p.{format}'"), &[])?;
            let knows = format!("COPY KNOWS FROM 'k.{format}' (from = 'Person', to = 'Person')");
            into.run(&knows, &[]).map(drop)
        })?;
    }
    Ok(())
}
