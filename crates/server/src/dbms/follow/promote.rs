//! Promotion by hand: a follower's folder becomes that of an ordinary server.
//!
//! ```text
//!  each copy made a database of its own ─► noted in follow.json ─► files of the default database
//!  moved to where a server has it, FORMAT last ─► follow.json removed
//! ```
//!
//! Crash cases: it can be run again at any step; until then no server starts there.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use telar_db::maintenance::promote_copy;
use telar_db::query::QueryError;
use telar_db::{CommitTs, Settings};

use super::super::Failure;
use super::super::failure::{invalid, storage};
use super::super::store::Store;
use super::copies::{self, Copies};

/// File that is moved last: where it is, there is a whole database.
const FORMAT: &str = "FORMAT";

/// A database that was promoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Promoted {
    /// Its name.
    pub name: String,
    /// Its last commit; none if an earlier attempt promoted it.
    pub commit: Option<CommitTs>,
}

/// Ends following in the folder `path` of a server that does not run: its databases take writes
/// from then on. `default` is the name of the default database.
///
/// # Errors
/// If it is no folder of a follower, a server runs there, or there is no copy of the default
/// database; a copy that is damaged. It can be run again.
pub fn promote(path: &Path, default: &str) -> Result<Vec<Promoted>, Failure> {
    if !copies::is_follower(path) {
        let message = format!("{} holds no copies of another server", path.display());
        return Err(invalid(message).into());
    }
    let _lock = copies::lock(path)?;
    let store = Store::open(path)?;
    let Some(mut copies) = Copies::load(path)? else { return Ok(Vec::new()) };
    let Some(folder) = copies.databases.get(default).map(|copy| copy.folder.clone()) else {
        let message = format!(
            "{} has no copy of the database '{default}' yet (store.default_database)",
            path.display()
        );
        return Err(invalid(message).into());
    };
    let mut promoted = Vec::new();
    for (name, copy) in &copies.databases {
        let commit = match copies.promoting {
            true => None,
            false => Some(promote_one(name, &store.database(&copy.folder))?),
        };
        promoted.push(Promoted { name: name.clone(), commit });
    }
    copies.promoting = true;
    copies.save()?;
    // Users may have rights in databases that came later than the state was saved.
    let mut state = store.load()?;
    if let Some(state) = &mut state {
        let others = copies.databases.iter().filter(|(name, _)| *name != default);
        state.databases = others.map(|(name, copy)| (name.clone(), copy.entry())).collect();
        state.forget_missing(default);
        store.save(state)?;
    }
    let from = store.database(&folder);
    move_files(&from, path)
        .map_err(|e| storage(&format!("cannot move the files of {}", from.display()), e))?;
    copies.remove()?;
    Ok(promoted)
}

fn promote_one(name: &str, folder: &Path) -> Result<CommitTs, QueryError> {
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    promote_copy(folder, settings)
        .map_err(|e| storage(&format!("cannot promote the copy of '{name}'"), e))
}

/// Moves what is in `from` to `to`; nothing if `from` is gone.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(from) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let names: io::Result<Vec<_>> = entries.map(|entry| entry.map(|e| e.file_name())).collect();
    let mut names = names?;
    names.sort_by_key(|name| name == FORMAT);
    for name in names {
        if name == FORMAT {
            File::open(to)?.sync_all()?;
        }
        fs::rename(from.join(&name), to.join(&name))?;
    }
    File::open(to)?.sync_all()?;
    fs::remove_dir(from)
}
