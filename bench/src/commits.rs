//! Large transactions: nodes made in one commit, vertices deleted with their edges, schemas of many
//! names.
//!
//! Each case runs on a database of its own on disk, through queries, as users write them: a
//! statement in a transaction, which is then committed. What it wrote is counted before its time is
//! returned. Memory is what the process has allocated, less what it had before: once the
//! statement is done (the write set, above all), and at most while it is committed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_db::{Database, Retention, Session, Settings, Value, ValueMap, heap, maintenance};

use crate::report::{Report, Table, digits};

/// Sizes of the cases, and the folder to measure in.
#[derive(Debug, Clone)]
pub struct Options {
    /// Nodes made in one transaction, a case for each.
    pub nodes: Vec<u64>,
    /// Nodes deleted in one transaction.
    pub deleted: u64,
    /// Edges beside them.
    pub edges: u64,
    /// Property keys made by one statement, and half of them in the schema of a deletion.
    pub keys: u64,
    /// Folder on the disk to measure on.
    pub folder: PathBuf,
}

/// An error, as text: there is nothing a caller could do but show it.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Company of the statement while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// Another session commits one node after the other.
    Writer,
    /// One checkpoint after the other.
    Checkpoints,
    /// One backup after the other.
    Backups,
    /// The past is kept.
    History,
    /// An index holds the nodes that are made.
    Index,
}

impl Beside {
    const ALL: [(Self, &str); 6] = [
        (Self::Nothing, ""),
        (Self::Writer, ", beside a writer"),
        (Self::Checkpoints, ", beside checkpoints"),
        (Self::Backups, ", beside backups"),
        (Self::History, ", with history"),
        (Self::Index, ", with an index"),
    ];
}

/// A case: what is there before, the statement, what goes on beside it, and what a query must
/// return after it.
struct Case {
    name: String,
    before: Vec<String>,
    statement: String,
    beside: Beside,
    check: &'static str,
    expected: i64,
}

fn cases(options: &Options) -> Vec<Case> {
    let Options { nodes, deleted, edges, keys, .. } = options;
    let count = "MATCH (n) RETURN count(n)";
    let mut cases = Vec::new();
    for (number, n) in nodes.iter().enumerate() {
        // What goes on beside it is tried with the first number.
        for (beside, name) in &Beside::ALL[..if number == 0 { Beside::ALL.len() } else { 1 }] {
            let index =
                (*beside == Beside::Index).then(|| "CREATE INDEX FOR (n:P) ON (n.id)".into());
            cases.push(Case {
                name: format!("make {n} nodes with two properties{name}"),
                before: index.into_iter().collect(),
                statement: format!("UNWIND range(1, {n}) AS i CREATE (:P {{id: i, x: i % 97}})"),
                beside: *beside,
                check: "MATCH (n:P) WHERE n.id % 97 = n.x RETURN count(n)",
                expected: *n as i64,
            });
        }
    }
    let others = edges / 4 + 1;
    cases.push(Case {
        name: format!("delete {deleted} nodes beside {edges} relationships"),
        before: vec![
            format!("UNWIND range(0, {others}) AS i CREATE (:User {{id: i}})"),
            "CREATE INDEX FOR (u:User) ON (u.id)".into(),
            format!(
                "UNWIND range(1, {edges}) AS i MATCH (a:User {{id: i % {others}}}), \
                 (b:User {{id: i * 7 % {others}}}) CREATE (a)-[:RATED {{stars: i % 5}}]->(b)"
            ),
            format!("UNWIND range(1, {deleted}) AS i CREATE (:Big {{id: i, name: 'n' + i}})"),
        ],
        statement: "MATCH (n:Big) DETACH DELETE n".into(),
        beside: Beside::Nothing,
        check: "MATCH ()-[r]->() WITH count(r) AS r MATCH (n) WITH r, count(n) AS n RETURN r - n",
        expected: *edges as i64 - others as i64 - 1,
    });
    let wide = |keys: u64| {
        format!("CREATE (w:Wide) WITH w UNWIND range(1, {keys}) AS i SET w['k' + i] = i")
    };
    cases.push(Case {
        name: format!("make {keys} property keys"),
        before: Vec::new(),
        statement: wide(*keys),
        beside: Beside::Nothing,
        check: "MATCH (w:Wide) RETURN size(keys(w))",
        expected: *keys as i64,
    });
    cases.push(Case {
        name: format!("delete 10000 nodes with {} keys in the schema", keys / 2),
        before: vec![wide(keys / 2), "UNWIND range(1, 10000) AS i CREATE (:P {id: i})".into()],
        statement: "MATCH (n) DETACH DELETE n".into(),
        beside: Beside::Nothing,
        check: count,
        expected: 0,
    });
    cases
}

/// Bytes that the process has allocated, if its allocator counts them.
fn allocated() -> Option<u64> {
    Some(heap::live()).filter(|bytes| *bytes > 0)
}

/// Time and memory of a case.
struct Took {
    seconds: f64,
    /// Bytes before the commit, and at most while it went on; above those before the statement.
    memory: Option<(f64, f64)>,
}

/// Runs the statement in a transaction and commits it.
fn measure(db: &Database, statement: &str) -> Result<Took, Failed> {
    let session = Session::new(db);
    let before = allocated();
    let begun = Instant::now();
    let mut transaction = session.begin()?;
    transaction.run(statement, &ValueMap::new())?;
    let (written, done) = (allocated(), AtomicBool::new(false));
    let (seconds, peak) = thread::scope(|scope| {
        let peak = scope.spawn(|| {
            let mut peak = written;
            // ORDERING: relaxed, as nothing else is read because of it.
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(allocated());
                thread::sleep(Duration::from_millis(2));
            }
            peak.max(allocated())
        });
        let committed = transaction.commit();
        let seconds = begun.elapsed().as_secs_f64();
        done.store(true, Ordering::Relaxed);
        let peak = peak.join().expect("INVARIANT: looking at a file does not panic");
        committed.map(|_| (seconds, peak))
    })?;
    let above = |bytes: Option<u64>| Some(bytes?.saturating_sub(before?) as f64);
    Ok(Took { seconds, memory: above(written).zip(above(peak)) })
}

/// Does what a case has beside its statement, again and again until `done`.
fn go_on(db: &Database, beside: Beside, folder: &Path, done: &AtomicBool) -> Result<(), Failed> {
    let session = Session::new(db);
    let mut times = 0;
    while !done.load(Ordering::Relaxed) {
        times += 1;
        match beside {
            Beside::Writer => drop(session.run("CREATE (:Other {id: 1})", &[])?),
            Beside::Checkpoints => drop(db.checkpoint()?),
            Beside::Backups => {
                let folder = folder.join(format!("backup-{times}"));
                db.backup(&folder, &maintenance::BackupOptions::default())?;
                std::fs::remove_dir_all(folder)?;
            }
            Beside::Nothing | Beside::History | Beside::Index => return Ok(()),
        }
    }
    Ok(())
}

fn run_case(case: &Case, folder: &Path) -> Result<Took, Failed> {
    let mut settings = Settings::default();
    if case.beside == Beside::History {
        settings.retain = Retention::Keep { commits: 1 << 20, ms: 0 };
    }
    let db = Database::open(folder.join("db"), settings)?;
    let session = Session::new(&db);
    for text in &case.before {
        session.run(text, &[])?;
    }
    let done = AtomicBool::new(false);
    let took = thread::scope(|scope| {
        let other = scope.spawn(|| go_on(&db, case.beside, folder, &done));
        let took = measure(&db, &case.statement);
        done.store(true, Ordering::Relaxed);
        other.join().expect("INVARIANT: errors are returned")?;
        took
    })?;
    let found = session.run(case.check, &[])?.rows;
    if found != [[Value::Int(case.expected)]] {
        return Err(format!("{}: expected {}, found {found:?}", case.name, case.expected).into());
    }
    Ok(took)
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Of the database or the disk, or if a statement did not do what it should.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Table), Failed> {
    let mut report = Report::new("commits");
    let mut table = Table::new(["statement", "s", "write set MiB", "peak MiB", "peak / write set"]);
    for case in cases(options) {
        stage(&case.name);
        let folder = tempfile::tempdir_in(&options.folder)?;
        let took = run_case(&case, folder.path())?;
        report.figure(format!("{}: seconds", case.name), took.seconds);
        let mut memory = [const { String::new() }; 3];
        if let Some((written, peak)) = took.memory {
            let mib = |bytes: f64| bytes / f64::from(1 << 20);
            let figures = [mib(written), mib(peak), peak / written.max(1.0)];
            let names = ["write set MiB", "peak MiB", "peak / write set"];
            for (name, figure) in names.iter().zip(figures) {
                report.figure(format!("{}: {name}", case.name), figure);
            }
            memory = figures.map(digits);
        }
        let [written, peak, ratio] = memory;
        table.push([case.name, digits(took.seconds), written, peak, ratio]);
    }
    Ok((report, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_runs_and_checks_every_case() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().to_owned();
        let options =
            Options { nodes: vec![500, 6000], deleted: 300, edges: 700, keys: 60, folder };
        std::fs::create_dir_all(&options.folder).unwrap();
        let (report, _) = run(&options, &mut |_| {}).unwrap();
        let json = report.to_json().to_string();
        assert!(json.contains("make 6000 nodes"));
        for (_, beside) in Beside::ALL {
            assert!(json.contains(&format!("make 500 nodes with two properties{beside}: seconds")));
        }
    }
}
