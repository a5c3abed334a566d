//! `telar check`: what is damaged, where, and what to do.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::json;
use telar_db::maintenance::{CheckReport, Finding, Severity, check};

use crate::ui::{Screen, number};

/// Exit code when nothing is certain: what was found is damage, or what a crash leaves.
const SUSPECT: u8 = 3;

/// Exit code when it is of a newer format than this program knows.
const NEWER: u8 = 4;

/// Verify every checksum and invariant of a database or a backup.
///
/// Reads everything, changes nothing, and goes on after the first finding. A database must not be
/// open elsewhere. Of a backup, each one of a chain is checked by itself.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar check graph.telar
  telar check backups/monday --json

Exit codes: 0 sound, 1 damaged (or it could not be checked), 3 nothing certain: what was found is
what a crash leaves, too, 4 not checked: a newer program wrote it.")]
pub(crate) struct Options {
    /// Directory of the database or backup
    path: PathBuf,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Runs `telar check`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    eprintln!("   checking {}", options.path.display());
    let report = check(&options.path)?;
    let screen = Screen::new();
    match options.json {
        true => screen.line(serde_json::to_string_pretty(&to_json(&report))?)?,
        false => print(screen, &report, begun.elapsed().as_secs_f64())?,
    }
    Ok(match report.worst() {
        None => ExitCode::SUCCESS,
        Some(Severity::Suspect) => ExitCode::from(SUSPECT),
        Some(Severity::Newer) => ExitCode::from(NEWER),
        Some(_) => ExitCode::FAILURE,
    })
}

fn to_json(report: &CheckReport) -> serde_json::Value {
    let finding = |f: &Finding| {
        json!({
            "severity": f.severity.to_string(),
            "file": f.file.display().to_string(),
            "place": f.place,
            "what": f.what,
            "advice": f.advice,
        })
    };
    let findings: Vec<_> = report.findings.iter().map(finding).collect();
    json!({
        "sound": report.worst().is_none(),
        "newer": report.worst() == Some(Severity::Newer),
        "findings": findings,
        "more_findings": report.more,
        "values": report.values,
        "vertices": report.vertices,
        "edges": report.edges,
        "log_records": report.records,
        "bytes": report.bytes,
        "checkpoint": report.checkpoint,
        "last_commit": report.last,
    })
}

fn print(screen: Screen, report: &CheckReport, seconds: f64) -> std::io::Result<()> {
    for finding in &report.findings {
        let head = match finding.severity {
            Severity::Note => screen.dim(finding),
            _ => screen.bad(finding),
        };
        screen.line(head)?;
        screen.line(format!("   {}", finding.advice))?;
    }
    if report.worst() == Some(Severity::Newer) {
        return screen.line(screen.bad("not checked: a newer program wrote it"));
    }
    if report.more > 0 {
        let more = number::counted(report.more, "more finding", "more findings");
        screen.line(format!("and {more}"))?;
    }
    let read = number::bytes(report.bytes);
    let values = number::counted(report.values, "value", "values");
    let records = number::counted(report.records, "log record", "log records");
    let took = number::seconds(seconds);
    let vertices = number::counted(report.vertices, "vertex", "vertices");
    let edges = number::counted(report.edges, "edge", "edges");
    screen.line(format!("{read} read in {took}: {values}, {records}"))?;
    screen.line(format!("{vertices} and {edges} in the checkpoint"))?;
    screen.line(match report.worst() {
        None => screen.good("sound"),
        Some(Severity::Suspect) => screen.bad("nothing certain: see above"),
        Some(_) => screen.bad("damaged"),
    })
}
