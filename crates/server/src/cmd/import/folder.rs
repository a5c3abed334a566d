//! The folder of an export.

use std::path::Path;

use anyhow::bail;
use telar_cli::process_cpu_s;
use telar_db::Database;
use telar_files::folder;

use crate::cmd::export::contents;
use crate::ui::Screen;

/// Imports a folder that `telar export` has made.
pub(super) fn run(options: &super::Options, path: &Path, db: Database) -> anyhow::Result<()> {
    if !folder::is_export(path) {
        bail!(
            "{}: is a folder, and none that telar export has made: schema.json is missing",
            path.display()
        );
    }
    if options.order.is_some() || options.simple {
        bail!("--order and --simple are for files of edges: the folder says what there is");
    }
    let before = process_cpu_s();
    let done = folder::import(&db, path, &|_| {})?;
    let screen = Screen::new();
    screen.line(format!("{}: {}", options.db.display(), contents(&done)))?;
    super::finish(screen, options, db, process_cpu_s() - before)
}
