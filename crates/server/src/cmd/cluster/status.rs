//! `telar cluster status`: members, leaders and lag, from the store alone.

use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use telar_cluster::members::SeenMember;
use telar_cluster::store::without_password;
use telar_server::dbms::{DatabaseReport, Report};

use crate::ui::{Screen, number};

/// Show the members of a cluster, who leads each database, how far the others are, and what to do
///
/// Reads the store and asks no server. Takes some seconds: a member that is there shows by what it
/// writes meanwhile.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar cluster status dir:/srv/store
  telar cluster status etcd://etcd1,etcd2,etcd3 --name graph

Exit code: 0 if every database has a leader that is there, else 1.")]
pub(crate) struct Options {
    /// The store that the nodes share [cluster.store]
    store: String,
    /// The name of the cluster in it [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
}

/// Runs `telar cluster status`.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let report = Report::read(&options.store, &options.name)?;
    let screen = Screen::new();
    screen.line(format!("cluster {} in {}", options.name, without_password(&options.store)))?;
    screen.line(members(&report))?;
    screen.line(databases(&report))?;
    let advice = advice(&report);
    for line in &advice {
        screen.line(line)?;
    }
    let led = report.databases.iter().all(|database| leader(&report, database).is_some());
    Ok(if led { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED).set_header(header);
    table
}

fn members(report: &Report) -> String {
    let mut table = table(&["node", "role", "state", "Bolt", "HTTP", "version"]);
    for seen in &report.members {
        let member = &seen.member;
        let state = match (seen.is_live(), member.left) {
            (true, _) => "there",
            (false, true) => "ended",
            (false, false) => "silent",
        };
        let role = if member.votes { "voter" } else { "replica" };
        let http = member.http.as_deref().unwrap_or("-");
        table.add_row([&member.node, role, state, &member.bolt, http, &member.version]);
    }
    table.to_string()
}

/// The member that leads a database, if it is there.
fn leader<'r>(report: &'r Report, database: &DatabaseReport) -> Option<&'r SeenMember> {
    let node = database.leader.as_ref()?;
    report.members.iter().find(|seen| seen.member.node == *node && seen.is_live())
}

fn databases(report: &Report) -> String {
    let nodes = report.members.iter().map(|seen| format!("at {}", seen.member.node));
    let fixed =
        ["database", "leader", "epoch", "log from", "log", "image", "commit"].map(str::to_owned);
    let header: Vec<String> = fixed.into_iter().chain(nodes).collect();
    let mut table = table(&header.iter().map(String::as_str).collect::<Vec<_>>());
    for database in &report.databases {
        let last = database.last();
        let leader = database.leader.as_deref().unwrap_or("-").to_owned();
        let numbers = [
            database.epoch.to_string(),
            database.oldest.to_string(),
            number::bytes(database.bytes),
            database.image.map_or_else(|| "-".to_owned(), |commit| commit.to_string()),
            last.to_string(),
        ];
        let at = |seen: &SeenMember| match database.positions.get(&seen.member.node) {
            None => "-".to_owned(),
            Some(position) if *position == last => position.to_string(),
            Some(position) => format!("{position} (-{})", last - position),
        };
        let at = report.members.iter().map(at);
        table.add_row([database.name.clone(), leader].into_iter().chain(numbers).chain(at));
    }
    table.to_string()
}

/// Sentences on what an operator should do, if anything.
fn advice(report: &Report) -> Vec<String> {
    let mut lines = report.concerns.clone();
    let voters: Vec<_> = report.members.iter().filter(|seen| seen.member.votes).collect();
    let there = voters.iter().filter(|seen| seen.is_live()).count();
    for seen in report.members.iter().filter(|seen| !seen.is_live() && !seen.member.left) {
        let (node, bolt) = (&seen.member.node, &seen.member.bolt);
        lines.push(format!(
            "{node} ({bolt}) is silent: start it again, or look why it is cut off; if it does not \
             come back: telar cluster remove"
        ));
    }
    for seen in &report.members {
        for trouble in &seen.member.troubles {
            lines.push(format!("{}: a copy does not follow, {trouble}", seen.member.node));
        }
    }
    for database in &report.databases {
        let name = &database.name;
        if leader(report, database).is_none() {
            lines.push(match there {
                0 => format!("{name} takes no commits: no voter is there; start one"),
                _ => format!("{name} has no leader at the moment; within seconds it should"),
            });
        }
    }
    match there {
        0 | 2.. => {}
        1 => {
            lines.push("one voter is there: if it ends, nobody takes commits; start another".into())
        }
    }
    if lines.is_empty() {
        lines.push("nothing to do".to_owned());
    }
    lines
}
