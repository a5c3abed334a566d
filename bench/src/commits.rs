//! Large transactions: nodes made in one commit, vertices deleted with their edges, schemas of many
//! names.
//!
//! Each case runs on a database of its own on disk, through queries, as users write them. What it
//! wrote is counted before its time is returned. Memory is the largest resident set while the
//! statement ran, less the one before it.

use std::path::{Path, PathBuf};
use std::time::Instant;

use telar_db::{Database, Session, Settings, Value};

use crate::report::{Report, Table, digits};

/// What is measured, and where.
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

/// A case: what is there before, the statement, and what a query must return after it.
struct Case {
    name: String,
    before: Vec<String>,
    statement: String,
    check: &'static str,
    expected: i64,
}

fn cases(options: &Options) -> Vec<Case> {
    let Options { nodes, deleted, edges, keys, .. } = options;
    let count = "MATCH (n) RETURN count(n)";
    let mut cases: Vec<Case> = nodes
        .iter()
        .map(|n| Case {
            name: format!("make {n} nodes with two properties"),
            before: Vec::new(),
            statement: format!("UNWIND range(1, {n}) AS i CREATE (:P {{id: i, x: i % 97}})"),
            check: "MATCH (n:P) WHERE n.id % 97 = n.x RETURN count(n)",
            expected: *n as i64,
        })
        .collect();
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
        check: "MATCH (w:Wide) RETURN size(keys(w))",
        expected: *keys as i64,
    });
    cases.push(Case {
        name: format!("delete 10000 nodes with {} keys in the schema", keys / 2),
        before: vec![wide(keys / 2), "UNWIND range(1, 10000) AS i CREATE (:P {id: i})".into()],
        statement: "MATCH (n) DETACH DELETE n".into(),
        check: count,
        expected: 0,
    });
    cases
}

/// Bytes of the process's largest resident set since it was last forgotten, and now; none where the
/// system does not say.
fn resident() -> Option<(u64, u64)> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let of = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
    };
    Some((of("VmHWM:")?, of("VmRSS:")?))
}

fn run_case(case: &Case, folder: &Path) -> Result<(f64, Option<f64>), Failed> {
    let db = Database::open(folder, Settings::default())?;
    let session = Session::new(&db);
    for text in &case.before {
        session.run(text, &[])?;
    }
    // Forgets the peak, where that is allowed; else it is that of the whole run.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let before = resident();
    let begun = Instant::now();
    session.run(&case.statement, &[])?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = resident();
    let found = session.run(case.check, &[])?.rows;
    if found != [[Value::Int(case.expected)]] {
        return Err(format!("{}: expected {}, found {found:?}", case.name, case.expected).into());
    }
    let grown = before.zip(after).map(|((_, was), (peak, _))| peak.saturating_sub(was) as f64);
    Ok((seconds, grown))
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Of the database or the disk, or if a statement did not do what it should.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Table), Failed> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let mut report = Report::new("commits");
    let mut table = Table::new(["statement", "s", "MiB"]);
    for (number, case) in cases(options).iter().enumerate() {
        stage(&case.name);
        let (seconds, grown) = run_case(case, &folder.path().join(number.to_string()))?;
        report.figure(format!("{}: seconds", case.name), seconds);
        let mut memory = String::from("-");
        if let Some(bytes) = grown {
            let mib = bytes / f64::from(1 << 20);
            report.figure(format!("{}: MiB", case.name), mib);
            memory = digits(mib);
        }
        table.push([case.name.clone(), digits(seconds), memory]);
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
        assert!(report.to_json().to_string().contains("make 6000 nodes"));
    }
}
