//! Values in a folder: a file per version, which is written once.
//!
//! Version `v` is replaced by linking `v + 1`: of several writers one wins. Old versions are
//! removed, but the last [`KEPT`] stay, and that decides what a link means. A writer that slept
//! could link `v + 1` long after a file of that name came and went; it would not have replaced `v`
//! then. So it looks for the largest version afterwards, `m`. A file is removed only when there is
//! one that is larger by `KEPT`. If `m < v + 1 + KEPT`, the name had never been taken before: won.
//! Else nobody can tell, and the outcome is unknown.
//!
//! The current version is the largest name in one listing. A listing of at most some hundred names
//! is one system call, during which nothing in the folder changes.

use std::path::{Path, PathBuf};

use super::files::{self, Folder, Link};
use super::{Directory, file_name, name_of, number_name, numbers};
use crate::store::coordination::VALUE_BYTES_MAX;
use crate::store::error::check_size;
use crate::store::{Coordination, Entry, Name, PutIf, StoreError, Version};

/// Versions that stay beside the current one.
const KEPT: u64 = 32;

impl Directory {
    fn keys(&self) -> PathBuf {
        self.root.join("keys")
    }

    fn key(&self, key: &Name) -> PathBuf {
        self.keys().join(file_name(key))
    }

    fn entry(&self, folder: &Path, key: &Name) -> Result<Option<Entry>, StoreError> {
        loop {
            let Some(version) = current(folder)? else { return Ok(None) };
            let Some((_, value)) = files::read_small(&folder.join(number_name(version)))? else {
                // Replaced and removed since.
                continue;
            };
            self.sync(folder)?;
            let version = Version::from_raw(version);
            return Ok(Some(Entry { key: key.clone(), value, version }));
        }
    }
}

fn current(folder: &Path) -> Result<Option<u64>, StoreError> {
    Ok(numbers(&Folder::at(folder).names()?).last().copied())
}

impl Coordination for Directory {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        self.entry(&self.key(key), key)
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        check_size(value.len(), VALUE_BYTES_MAX)?;
        let path = self.key(key);
        let found = current(&path)?.unwrap_or(Version::ABSENT.get());
        if found != expected.get() {
            return Ok(PutIf::Lost(self.entry(&path, key)?));
        }
        let folder = self.folder(&path)?;
        let file = files::write_small(&self.new, 0, value)?;
        let version = found + 1;
        match file.link(&path.join(number_name(version)))? {
            Link::Taken => return Ok(PutIf::Lost(self.entry(&path, key)?)),
            Link::Unknown(cause) => return Ok(PutIf::Unknown(cause)),
            Link::Made => {}
        }
        if let Err(cause) = self.sync(&path) {
            return Ok(PutIf::Unknown(cause));
        }
        let versions = match folder.names() {
            Ok(names) => numbers(&names),
            Err(cause) => return Ok(PutIf::Unknown(cause)),
        };
        let largest = versions.last().copied().unwrap_or(version);
        if largest >= version + KEPT {
            let why = "this process slept while others replaced the value many times".into();
            let store = self.root.display().to_string();
            return Ok(PutIf::Unknown(StoreError::Unavailable { store, why }));
        }
        // In order, so that what is left is a run that ends with the current one.
        for older in versions.iter().filter(|older| **older + KEPT < largest) {
            // The value is set, whatever becomes of old ones; the next writer tries again.
            if files::remove(&path.join(number_name(*older))).is_err() {
                break;
            }
        }
        Ok(PutIf::Won(Version::from_raw(version)))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        let keys = self.keys();
        let mut found = Vec::new();
        for text in Folder::at(&keys).names()? {
            let Some(key) = name_of(&text).filter(|key| key.as_str().starts_with(prefix)) else {
                continue;
            };
            found.extend(self.entry(&keys.join(&text), &key)?);
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(found)
    }
}
