//! `telar cluster init`, `recover` and `remove`: what is done to a cluster from outside.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_server::dbms::{Begun, Founding, StoreUrls, remove_member};

use crate::ui::Screen;

/// Begin a cluster with the data of a server or of a backup
///
/// Makes FOLDER the folder of the first node, with copies of all databases, users and grants, and
/// lets the logs in the store begin after them. What it begins with stays as it is. Nodes that are
/// started later get their copies from the first one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar cluster init etcd://etcd1,etcd2,etcd3 /srv/node-a --from /srv/graph.telar
  telar cluster init dir:/srv/store node-a --from monday --from tuesday

Then start the node: telar serve /srv/node-a --cluster etcd://etcd1,etcd2,etcd3 --node a")]
pub(crate) struct Init {
    /// The store that the nodes are going to share [cluster.store]
    store: String,
    /// The folder of the first node; made here
    folder: PathBuf,
    /// A server's folder, which no server uses, or a backup; of backups the full one and those that
    /// continue it
    #[arg(long, required = true, value_name = "FOLDER")]
    from: Vec<PathBuf>,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// The name of the cluster in the store [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
    /// The name of the database that is used if none is named [store.default_database]
    #[arg(long, default_value = "telar")]
    default_database: String,
}

/// Begin a cluster anew with the copies of one node, after its store is lost
///
/// For an empty store: it gets the users, grants and databases that the node knew, and logs that
/// begin after its copies. Choose the node that is furthest. It is another cluster from then on:
/// the other nodes' folders are refused, since they may have commits that this one has not. Move
/// them away, and start those nodes with new folders, which get copies from this one.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  telar cluster recover postgres://telar@db2/telar /srv/node-a")]
pub(crate) struct Recover {
    /// The new store [cluster.store]
    store: String,
    /// The folder of the node, which no server uses
    folder: PathBuf,
    /// A database that the node has no copy of, and that is given up
    #[arg(long, value_name = "DATABASE")]
    without: Vec<String>,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// The name of the cluster in the store [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
}

/// Remove a node that does not come back: the log is trimmed without it, and nobody is shown it
#[derive(Debug, Args)]
#[command(after_help = "Example:
  telar cluster remove etcd://etcd1,etcd2,etcd3 c

A node that is started again under this name is a node again.")]
pub(crate) struct Remove {
    /// The store that the nodes share [cluster.store]
    store: String,
    /// The name of the node [cluster.node]
    node: String,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// The name of the cluster in the store [cluster.name]
    #[arg(long, default_value = "telar")]
    name: String,
}

/// Runs `telar cluster init`.
pub(super) fn init(options: &Init) -> anyhow::Result<ExitCode> {
    let urls = StoreUrls::new(&options.store, options.coordination.clone());
    let founding = Founding::new(urls, &options.name, telar_db::Settings::default())?;
    let screen = Screen::new();
    let copied = |name: &str, commit: u64| {
        // Whoever does not see it is not told.
        let _ = screen.line(format!("the database {name} is copied, as of commit {commit}"));
    };
    let Init { from, folder, default_database, .. } = options;
    founding.init(from, folder, default_database, copied)?;
    let other = if options.coordination.is_some() { " --coordination URL" } else { "" };
    screen.line(format!(
        "start the first node: telar serve {} --cluster URL{other} --node NAME",
        folder.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `telar cluster recover`.
pub(super) fn recover(options: &Recover) -> anyhow::Result<ExitCode> {
    let urls = StoreUrls::new(&options.store, options.coordination.clone());
    let founding = Founding::new(urls, &options.name, telar_db::Settings::default())?;
    let begun: Begun = founding.recover(&options.folder, &options.without)?;
    let screen = Screen::new();
    for (name, commit) in begun {
        screen.line(format!("the log of {name} begins after commit {commit}"))?;
    }
    screen.line("start this node with the new store, then the others with new folders")?;
    Ok(ExitCode::SUCCESS)
}

/// Runs `telar cluster remove`.
pub(super) fn remove(options: &Remove) -> anyhow::Result<ExitCode> {
    let urls = StoreUrls::new(&options.store, options.coordination.clone());
    remove_member(urls, &options.name, &options.node)?;
    Screen::new().line(format!("the node {} is removed", options.node))?;
    Ok(ExitCode::SUCCESS)
}
