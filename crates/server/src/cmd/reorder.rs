//! `telar reorder`: a database written anew with its vertices in another order.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use telar_db::algo::ordering::Method;
use telar_db::reorder::{ReorderOptions, reorder};

use super::{expect_database, folder_bytes};
use crate::ui::{Progress, Screen, number};

/// Write a database anew, with neighbours near each other on disk and in memory.
///
/// The new database has the same labels, properties, relationships, indexes and constraints.
/// Element ids of nodes and relationships change, since an id is the place: keep a property as the
/// key. Its history and its chain of backups begin anew. Places of deleted nodes are closed.
///
/// The old database is read, not changed, and must not be open elsewhere. The new one is compared
/// with it, node by node, before it is there. An interrupted run leaves a folder named like the
/// target with .unfinished behind it; remove it and run again.
#[derive(Debug, Args)]
#[command(after_help = "Orders: degree costs least; bfs (breadth-first search) and rcm (reverse
Cuthill-McKee) cost little and bring most of what there is to gain; community, gorder and spectral
take longer. The benchmark telar bench order compares them.

Examples:
  telar reorder graph.telar ordered.telar
  telar reorder graph.telar ordered.telar --order degree")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
    /// Directory of the new database, which must not exist or be empty
    target: PathBuf,
    /// degree, bfs, rcm, community, spectral, gorder or random
    #[arg(long, value_name = "ORDER", default_value_t = Method::Rcm)]
    order: Method,
    /// Seed of random choices of an order
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Memory for edges that wait to be sorted; beyond it they go to files [default: 1024, or a
    /// quarter of what the machine or control group has]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    memory: Option<u32>,
}

/// Runs `telar reorder`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    expect_database(&options.db)?;
    let begun = Instant::now();
    let mut how = ReorderOptions::new(options.order);
    how.seed = options.seed;
    if let Some(mib) = options.memory {
        how.memory_bytes = (mib as usize) << 20;
    }
    let progress = Progress::new();
    let done = reorder(&options.db, &options.target, &how, &|p| progress.update(p));
    progress.finish();
    let done = done?;
    let screen = Screen::new();
    screen.line(screen.bold(options.target.display()))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<11}{text}"));
    let vertices = number::counted(done.vertices, "vertex", "vertices");
    let edges = number::counted(done.edges, "edge", "edges");
    row("reordered", format!("{vertices}, {edges}, by {}", options.order))?;
    row("properties", number::count(done.properties))?;
    row("schema", number::counted(done.indexes, "index or constraint", "indexes and constraints"))?;
    row("compared", "the same as in the old database, but for ids".to_owned())?;
    let bytes = folder_bytes(&options.target.join("store"));
    row("on disk", number::bytes(bytes + folder_bytes(&options.target.join("wal"))))?;
    row("took", number::seconds(begun.elapsed().as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}
