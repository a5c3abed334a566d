//! `telar cluster status`: members, leaders and lag, from the store alone.

use std::process::ExitCode;

use clap::Args;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use telar_cluster::members::SeenMember;
use telar_cluster::store::without_password;
use telar_cluster::upkeep::Limits;
use telar_server::dbms::{DatabaseReport, Report, StoreUrls};

use crate::ui::{Screen, number};

/// Show the members of a cluster, who leads each database, how far the others are, and what to do
///
/// Reads the store and asks no server. Takes some seconds: a member that is there shows by what it
/// writes meanwhile.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar cluster status dir:/srv/store
  telar cluster status etcd://etcd1,etcd2,etcd3 --name graph
  telar cluster status postgres://telar@db/telar --coordination etcd://etcd1,etcd2,etcd3

Exit code: 0 if every database has a leader that is there, else 1.")]
pub(crate) struct Options {
    /// The store that the nodes share [cluster.store]
    store: String,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// The name of the cluster in the store [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
}

/// Runs `telar cluster status`.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Options { store, coordination, name } = options;
    let report = Report::read(StoreUrls::new(store, coordination.clone()), name)?;
    let screen = Screen::new();
    let other = coordination.as_ref().map(|url| format!(" and {}", without_password(url)));
    let other = other.unwrap_or_default();
    screen.line(format!("cluster {name} in {}{other}", without_password(store)))?;
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
        lines.extend(on_room(report, database));
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

/// Advice on a log that is full, as the node that leads it says, or soon will be, by its limit.
fn on_room(report: &Report, database: &DatabaseReport) -> Option<String> {
    let (name, bytes) = (&database.name, database.bytes);
    let member = &leader(report, database)?.member;
    let limits = Limits { bytes_max: member.log_bytes_max?, ..Limits::default() };
    // A log of etcd is measured now and then: the leader may not know yet that it is full.
    let state = match (member.full.contains(&database.folder), limits.is_nearly_full(bytes)) {
        (true, _) => format!("{name} takes no commits: its log is full"),
        (false, true) => format!("{name} may soon take no commits: its log is nearly full"),
        (false, false) => return None,
    };
    let (bytes, most) = (number::bytes(bytes), number::bytes(limits.bytes_max));
    let image = match report.keeps_images {
        true => {
            format!(", or read in the messages of {} why no image takes their place", member.node)
        }
        false => String::new(),
    };
    Some(format!(
        "{state} ({bytes} of {most}), since too few nodes have on disk what is in it \
         (cluster.copies): start those that are missing{image}, or raise cluster.log_bytes and \
         restart one node after the other"
    ))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use telar_cluster::members::{LIVE_FOR, Member};

    use super::*;

    fn member(node: &str) -> SeenMember {
        let mut member = Member::new(node, 1, "127.0.0.1:7687");
        member.log_bytes_max = Some(1000);
        SeenMember { member, silent_for: Duration::ZERO }
    }

    /// Two nodes that are there; `a` leads a database whose log has so many bytes.
    fn report(bytes: u64) -> Report {
        let database = DatabaseReport {
            name: "telar".into(),
            folder: "telar-0".into(),
            leader: Some("a".into()),
            epoch: 1,
            oldest: 1,
            bytes,
            image: None,
            positions: BTreeMap::new(),
        };
        Report {
            members: vec![member("a"), member("b")],
            databases: vec![database],
            concerns: Vec::new(),
            keeps_images: false,
        }
    }

    #[test]
    fn a_log_that_is_full_is_told_and_what_to_do() {
        assert_eq!(advice(&report(899)), ["nothing to do"]);
        let nearly = advice(&report(900));
        assert!(
            nearly.len() == 1 && nearly[0].contains("nearly full (900 B of 1000 B)"),
            "{nearly:?}"
        );
        let mut report = report(1000);
        let unnoticed = advice(&report);
        assert!(unnoticed.len() == 1 && unnoticed[0].contains("nearly full"), "{unnoticed:?}");
        report.members[0].member.full.insert("telar-0".into());
        let full = advice(&report);
        assert!(full.len() == 1 && full[0].contains("telar takes no commits"), "{full:?}");
        for what in ["cluster.copies", "start those", "cluster.log_bytes"] {
            assert!(full[0].contains(what), "{what}: {full:?}");
        }
        assert!(!full[0].contains("image"), "{full:?}");
        report.keeps_images = true;
        let images = advice(&report);
        assert!(images[0].contains("messages of a why no image"), "{images:?}");
    }

    #[test]
    fn a_full_log_is_told_by_what_its_leader_says_alone() {
        let mut old = report(1000);
        old.members[0].member.log_bytes_max = None;
        assert_eq!(advice(&old), ["nothing to do"], "an older program says no limit");
        let mut other = report(0);
        other.members[1].member.full.insert("telar-0".into());
        other.members[0].member.full.insert("shop-1".into());
        assert_eq!(advice(&other), ["nothing to do"]);
        let mut gone = report(1000);
        gone.members[0].member.full.insert("telar-0".into());
        gone.members[0].silent_for = LIVE_FOR;
        let gone = advice(&gone);
        assert!(
            gone.iter().any(|line| line.starts_with("a (127.0.0.1:7687) is silent")),
            "{gone:?}"
        );
        assert!(!gone.iter().any(|line| line.contains("full")), "{gone:?}");
    }
}
