//! `telar cluster transfer`: another node is to lead.

use std::process::ExitCode;

use clap::Args;
use telar_server::dbms::{Chosen, Handover, StoreUrls};

use crate::ui::Screen;

/// Let another node lead a database, or all that a node leads
///
/// The leader ends the commits that are under way, and the other node takes over at once: drivers
/// that route are told, and their managed transactions do not fail. Refused if the node cannot
/// lead: a replica, one that is not there, has no copy, or is far behind. Asks through the store,
/// where leaders look every two seconds.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar cluster transfer etcd://etcd1,etcd2,etcd3 b --from a
  telar cluster transfer dir:/srv/store b --database shop

Exit code: 0 once the node leads what was chosen.")]
#[command(group = clap::ArgGroup::new("chosen").required(true))]
pub(crate) struct Options {
    /// The store that the nodes share [cluster.store]
    store: String,
    /// The name of the node that is to lead [cluster.node]
    node: String,
    /// The database that it is to lead
    #[arg(long, group = "chosen", value_name = "DATABASE")]
    database: Option<String>,
    /// The node whose databases it is to lead, all of them
    #[arg(long, group = "chosen", value_name = "NODE")]
    from: Option<String>,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// The name of the cluster in the store [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
}

/// Runs `telar cluster transfer`.
pub(super) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Options { store, node, database, from, coordination, name } = options;
    let chosen = match (database, from) {
        (Some(database), _) => Chosen::Database(database.clone()),
        (None, from) => Chosen::LedBy(from.clone().unwrap_or_default()),
    };
    let screen = Screen::new();
    let urls = StoreUrls::new(store, coordination.clone());
    Handover::new(urls, name, node)?.carry_out(&chosen, |database, before| {
        // Whoever does not see it is not told.
        let _ = screen.line(match before {
            Some(before) => format!("{node} leads {database}, as {before} did"),
            None => format!("{node} leads {database} already"),
        });
    })?;
    Ok(ExitCode::SUCCESS)
}
