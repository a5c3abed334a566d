//! The folder of an export: Telar's own, or that of Kuzu or Ladybug.

use std::path::Path;

use anyhow::bail;
use telar_cli::process_cpu_s;
use telar_db::Database;
use telar_exchange::kuzu;
use telar_files::folder;

use crate::cmd::export::contents;
use crate::ui::Screen;

/// Imports a folder that `telar export` has made, or `EXPORT DATABASE` of Kuzu or Ladybug.
pub(super) fn run(options: &super::Options, path: &Path, db: Database) -> anyhow::Result<()> {
    let is_kuzu = !folder::is_export(path) && kuzu::is_export(path);
    if !folder::is_export(path) && !is_kuzu {
        bail!(
            "{}: is a folder, and none that telar export has made (schema.json is missing), nor \
             EXPORT DATABASE of Kuzu or Ladybug (schema.cypher and copy.cypher are)",
            path.display()
        );
    }
    if options.order.is_some() || options.simple {
        bail!("--order and --simple are for files of edges: the folder says what there is");
    }
    if is_kuzu {
        return super::tables::run_kuzu(options, path, db);
    }
    let before = process_cpu_s();
    let done = folder::import(&db, path, &|_| {})?;
    let screen = Screen::new();
    screen.line(format!("{}: {}", options.db.display(), contents(&done)))?;
    super::finish(screen, options, db, process_cpu_s() - before)
}
