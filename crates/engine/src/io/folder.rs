//! Folders and small files of a database: private, and durable in one way everywhere.
//!
//! The rule (docs/format.md, "What is synced when"): a file counts once its bytes are synced, then
//! the folder that has its name, then that folder's own name, up to a folder that was there before.
//! Whoever makes, renames or removes a file outside of [`Storage`](super::Storage) does it here.
//!
//! Private: folders are made 0700 and files 0600, whatever the umask says; `close` takes rights
//! of group and others from what earlier versions made.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Access rights of folders: their owner's only.
const FOLDER_MODE: u32 = 0o700;
/// Access rights of files.
pub(crate) const FILE_MODE: u32 = 0o600;

/// The folder that has the name of `path`; `path` itself need not exist.
pub(crate) fn parent(path: &Path) -> PathBuf {
    // `a/..` and `.` have no name of their own to strip.
    let whole = fs::canonicalize(path);
    match whole.as_deref().unwrap_or(path).parent() {
        Some(parent) if parent.as_os_str().is_empty() => ".".into(),
        Some(parent) => parent.into(),
        None => "/".into(),
    }
}

/// Makes a folder with all that is missing above it; each new name is durable when this returns.
/// The name of the folder itself is made durable if it was there before, too: whoever made it may
/// have died before that.
///
/// # Errors
/// Failures of the system.
pub fn make(path: &Path) -> io::Result<()> {
    if !path.is_dir() {
        let above = parent(path);
        if !above.is_dir() {
            make(&above)?;
        }
        match DirBuilder::new().mode(FOLDER_MODE).create(path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
            made => made?,
        }
    }
    sync_name(path)
}

/// Makes every creation, renaming and removal in a folder durable.
///
/// # Errors
/// Failures of the system.
pub fn sync(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Makes the name of a folder durable.
///
/// # Errors
/// Failures of the system.
pub fn sync_name(path: &Path) -> io::Result<()> {
    match File::open(parent(path)) {
        Ok(folder) => folder.sync_all(),
        // A folder that can be passed through and not read: all of its file system is synced.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
            Ok(rustix::fs::syncfs(File::open(path)?)?)
        }
        Err(e) => Err(e),
    }
}

/// How a file of ours is opened for writing.
#[must_use]
pub fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(FILE_MODE);
    options
}

/// Makes an empty file, or empties the one that is there.
///
/// # Errors
/// Failures of the system.
pub fn create(path: &Path) -> io::Result<File> {
    private().create(true).truncate(true).open(path)
}

/// Replaces `path` by a file with these bytes, written beside it: after a crash the old one or the
/// new one is there, and the new one once this returned.
///
/// # Errors
/// Failures of the system.
pub fn replace(path: &Path, bytes: &[u8], renaming: impl FnOnce()) -> io::Result<()> {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut file = create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    renaming();
    fs::rename(&new, path)?;
    sync(&parent(path))
}

/// Takes the rights of group and others from a folder and the files in it, where they are ours:
/// earlier versions left that to the umask. What cannot be changed stays.
pub(crate) fn close(folder: &Path) {
    shut(folder);
    close_files(folder);
}

/// As [`close`], but leaves the folder itself: its owner may have made it.
pub(crate) fn close_files(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_file()) {
            shut(&entry.path());
        }
    }
}

fn shut(path: &Path) {
    let Ok(found) = fs::symlink_metadata(path) else { return };
    let mode = found.mode() & 0o7777;
    if mode & 0o077 != 0 && !found.is_symlink() {
        // A courtesy to whoever upgrades: the database works either way.
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o077));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn what_is_made_is_private_and_what_was_open_is_closed() {
        let dir = tempfile::tempdir().unwrap();
        let deep = dir.path().join("a/b/c");
        make(&deep).unwrap();
        make(&deep).unwrap();
        let file = deep.join("file");
        replace(&file, b"one", || ()).unwrap();
        replace(&file, b"two", || ()).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"two");
        assert_eq!(fs::read_dir(&deep).unwrap().count(), 1);
        let found = [dir.path().join("a"), deep.clone(), file.clone()].map(|path| mode(&path));
        assert_eq!(found, [0o700, 0o700, 0o600]);
        for (path, open) in [(&deep, 0o755), (&file, 0o664)] {
            fs::set_permissions(path, fs::Permissions::from_mode(open)).unwrap();
        }
        close(&deep);
        assert_eq!([mode(&deep), mode(&file)], [0o700, 0o600]);
    }

    #[test]
    fn every_path_has_a_folder_above_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        assert_eq!(parent(Path::new("name")), Path::new("."));
        assert_eq!(parent(&root.join("a/none")), root.join("a"));
        assert_eq!(parent(&root.join("a/b/..")), root);
        assert_eq!(parent(Path::new("/")), Path::new("/"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(parent(Path::new(".")), fs::canonicalize(here).unwrap().parent().unwrap());
        make(Path::new(".")).unwrap();
    }
}
