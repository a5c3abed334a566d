//! Files that take their names once they are whole.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers the files that are being written.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A file that takes its name once it is whole.
#[derive(Debug)]
pub struct Unfinished {
    path: PathBuf,
    target: PathBuf,
}

impl Unfinished {
    /// Makes the file; `replaces` allows one of that name.
    ///
    /// # Errors
    /// If it cannot be made, or the name is taken.
    pub fn create(target: PathBuf, replaces: bool) -> std::io::Result<(Self, File)> {
        // A link is looked at itself: what it leads to may lie anywhere.
        let there = std::fs::symlink_metadata(&target).ok();
        let text = match there {
            Some(there) if replaces && !there.is_file() => "what has this name is no regular file",
            Some(_) if !replaces => "there is such a file already; (overwrite = true) replaces it",
            _ => "",
        };
        if !text.is_empty() {
            return Err(std::io::Error::other(text));
        }
        let mut name = target.file_name().unwrap_or_default().to_owned();
        // ORDERING: relaxed; only that numbers differ counts.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.unfinished", std::process::id()));
        let path = target.with_file_name(name);
        let file = File::options().write(true).create_new(true).open(&path)?;
        Ok((Self { path, target }, file))
    }

    /// Gives the file its name; `replaces` allows one of that name.
    ///
    /// # Errors
    /// If it cannot be renamed, or the name was taken meanwhile.
    pub fn keep(self, replaces: bool) -> std::io::Result<()> {
        match replaces {
            true => std::fs::rename(&self.path, &self.target)?,
            // Another one may have been made meanwhile: a link never replaces.
            false => std::fs::hard_link(&self.path, &self.target)?,
        }
        if let Some(parent) = self.target.parent() {
            File::open(parent)?.sync_all()?;
        }
        Ok(())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        // It is gone if it was renamed.
        let _ = std::fs::remove_file(&self.path);
    }
}
