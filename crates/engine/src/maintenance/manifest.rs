//! What a backup says about itself: `MANIFEST`, a text file, written last.
//!
//! ```text
//!  telar backup 1
//!  id 5bd1…                     32 hexadecimal digits
//!  database 77ac…               which database it is of
//!  format 2                     format version of the database
//!  base 8c03…                   the backup it continues; missing in a full one
//!  base-to 1000                 what that one reaches
//!  base-checkpoint 900
//!  checkpoint 1500              the image holds the values (changed) up to this checkpoint
//!  log-after 1000               the log files hold the commits after this one ...
//!  to 1720                      ... up to this one
//!  time 1763721847123           when it was taken, milliseconds since 1970
//!  file image 120334 90ab34ef   name, bytes, CRC-32; one line per file
//!  file wal/wal-….log 4096 01234567
//!  checksum 89abcdef            CRC-32 of everything above
//! ```
//!
//! A directory without it is no backup: a backup that was interrupted has none.

use std::fs;
use std::path::Path;

use crate::error::Error;
use crate::io::folder;
use crate::store::FORMAT_VERSION;
use crate::store::identity::Identity;

/// Name of the file.
pub(crate) const NAME: &str = "MANIFEST";
const FIRST_LINE: &str = "telar backup 1";
/// What the first line says.
const VERSION: u32 = 1;

/// The backup that an incremental one continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BasedOn {
    /// Its id.
    pub id: Identity,
    /// Its last commit.
    pub to: u64,
    /// The checkpoint its values are of.
    pub checkpoint: u64,
}

/// A file of a backup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileEntry {
    /// Path below the backup's directory.
    pub name: String,
    /// Length.
    pub bytes: u64,
    /// CRC-32 of its content.
    pub crc: u32,
}

/// What a backup holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Manifest {
    /// Names the backup.
    pub id: Identity,
    /// Names the database.
    pub database: Identity,
    /// Format version of the database.
    pub format: u32,
    /// What it continues; `None` for a full backup.
    pub base: Option<BasedOn>,
    /// The checkpoint its values are of.
    pub checkpoint: u64,
    /// Its log holds the commits after this one.
    pub log_after: u64,
    /// Its last commit.
    pub to: u64,
    /// When it was taken, milliseconds since 1970.
    pub time_ms: u64,
    /// Its files.
    pub files: Vec<FileEntry>,
}

impl Manifest {
    pub(crate) fn encode(&self) -> String {
        let mut text = format!(
            "{FIRST_LINE}\nid {}\ndatabase {}\nformat {}\n",
            self.id, self.database, self.format
        );
        if let Some(base) = self.base {
            let BasedOn { id, to, checkpoint } = base;
            text += &format!("base {id}\nbase-to {to}\nbase-checkpoint {checkpoint}\n");
        }
        let Self { checkpoint, log_after, to, time_ms, .. } = self;
        text += &format!("checkpoint {checkpoint}\nlog-after {log_after}\nto {to}\n");
        text += &format!("time {time_ms}\n");
        for FileEntry { name, bytes, crc } in &self.files {
            text += &format!("file {name} {bytes} {crc:08x}\n");
        }
        let crc = crc32fast::hash(text.as_bytes());
        text + &format!("checksum {crc:08x}\n")
    }

    pub(crate) fn decode(text: &str) -> Result<Self, String> {
        let end = text.strip_suffix('\n').and_then(|t| t.rfind('\n')).map_or(0, |at| at + 1);
        let (body, last) = text.split_at(end);
        let checksum = format!("checksum {:08x}\n", crc32fast::hash(body.as_bytes()));
        let mut lines = body.lines().peekable();
        let first = lines.next().unwrap_or_default();
        if let Some(version) = first.strip_prefix("telar backup ")
            && first != FIRST_LINE
        {
            return Err(format!("it is of version {version}, which this program does not know"));
        }
        if first != FIRST_LINE {
            return Err("its manifest is not one of ours".into());
        }
        if last != checksum {
            return Err("the checksum of its manifest does not fit".into());
        }
        let mut field = |name: &str| -> Option<&str> {
            let value = lines.peek()?.strip_prefix(name)?.strip_prefix(' ')?;
            lines.next();
            Some(value)
        };
        let missing = |name: &str| format!("its manifest has no valid line `{name}`");
        let identity = |text: Option<&str>, name| {
            text.and_then(|t| t.parse::<Identity>().ok()).ok_or_else(|| missing(name))
        };
        let number = |text: Option<&str>, name| {
            text.and_then(|t| t.parse::<u64>().ok()).ok_or_else(|| missing(name))
        };
        let id = identity(field("id"), "id")?;
        let database = identity(field("database"), "database")?;
        let format = number(field("format"), "format")?;
        let base = match field("base") {
            None => None,
            id => Some(BasedOn {
                id: identity(id, "base")?,
                to: number(field("base-to"), "base-to")?,
                checkpoint: number(field("base-checkpoint"), "base-checkpoint")?,
            }),
        };
        let mut manifest = Self {
            id,
            database,
            format: u32::try_from(format).map_err(|_| missing("format"))?,
            base,
            checkpoint: number(field("checkpoint"), "checkpoint")?,
            log_after: number(field("log-after"), "log-after")?,
            to: number(field("to"), "to")?,
            time_ms: number(field("time"), "time")?,
            files: Vec::new(),
        };
        while let Some(line) = field("file") {
            manifest.files.push(file_entry(line).ok_or_else(|| missing("file"))?);
        }
        match lines.next() {
            None => Ok(manifest),
            Some(line) => Err(format!("its manifest has the unknown line `{line}`")),
        }
    }

    /// Reads the manifest of the backup in `directory`.
    ///
    /// # Errors
    /// [`Error::Backup`] if there is none, or it is damaged or of a newer program.
    pub fn read(directory: &Path) -> Result<Self, Error> {
        let refuse = |reason: String| Error::Backup { path: directory.into(), reason };
        let bytes = match fs::read(directory.join(NAME)) {
            Ok(bytes) => bytes,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(refuse(format!(
                    "it has no file {NAME}: either it is no backup, or it was not finished; \
                     remove it and take it again"
                )));
            }
            Err(e) => return Err(Error::file("cannot read", directory.join(NAME))(e)),
        };
        let text =
            String::from_utf8(bytes).map_err(|_| refuse("its manifest is no text".into()))?;
        let version = text.lines().next().and_then(|line| line.strip_prefix("telar backup "));
        let newer =
            |found, supported| Error::NewerFormat { path: directory.into(), found, supported };
        if let Some(found) = version.and_then(|v| v.parse().ok()).filter(|found| *found > VERSION) {
            return Err(newer(found, VERSION));
        }
        let manifest = Self::decode(&text).map_err(refuse)?;
        if manifest.format > FORMAT_VERSION {
            return Err(newer(manifest.format, FORMAT_VERSION));
        }
        Ok(manifest)
    }

    /// Writes it into `directory`, durable, with everything else there.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(NAME);
        let renaming = || {
            crate::failpoint!("backup::before_manifest");
        };
        folder::replace(&path, self.encode().as_bytes(), renaming)
            .map_err(Error::file("cannot write", &path))
    }

    /// Bytes of all files.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }
}

fn file_entry(line: &str) -> Option<FileEntry> {
    let mut words = line.split(' ');
    let (name, bytes, crc) = (words.next()?, words.next()?, words.next()?);
    let inside = !name.is_empty() && !name.starts_with('/') && !name.split('/').any(|p| p == "..");
    let entry = FileEntry {
        name: name.to_owned(),
        bytes: bytes.parse().ok()?,
        crc: u32::from_str_radix(crc, 16).ok()?,
    };
    (inside && words.next().is_none()).then_some(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(base: Option<BasedOn>) -> Manifest {
        let file = |name: &str| FileEntry { name: name.into(), bytes: 3, crc: 0xAB };
        Manifest {
            id: Identity::new(),
            database: Identity::new(),
            format: 2,
            base,
            checkpoint: 7,
            log_after: 10,
            to: 12,
            time_ms: 1_763_721_847_123,
            files: vec![file("image"), file("wal/wal-00000000000000000011.log")],
        }
    }

    #[test]
    fn manifest_comes_back_as_written() {
        for base in [None, Some(BasedOn { id: Identity::new(), to: 10, checkpoint: 5 })] {
            let written = manifest(base);
            assert_eq!(Manifest::decode(&written.encode()), Ok(written.clone()));
            let dir = tempfile::tempdir().unwrap();
            assert!(Manifest::read(dir.path()).unwrap_err().to_string().contains("not finished"));
            written.write(dir.path()).unwrap();
            assert_eq!(Manifest::read(dir.path()).unwrap(), written);
        }
    }

    #[test]
    fn any_changed_byte_of_a_manifest_is_noticed() {
        let text = manifest(None).encode();
        for at in 0..text.len() {
            for bit in 0..7 {
                let mut bytes = text.clone().into_bytes();
                bytes[at] ^= 1 << bit;
                let changed = String::from_utf8(bytes).unwrap();
                assert!(Manifest::decode(&changed).is_err(), "bit {bit} of byte {at}");
            }
            assert!(Manifest::decode(&text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn manifest_of_a_newer_program_or_with_foreign_paths_is_refused() {
        let error = Manifest::decode("telar backup 7\nx y\n").unwrap_err();
        assert!(error.contains("version 7"), "{error}");
        let mut bad = manifest(None);
        bad.files[0].name = "../../etc/passwd".into();
        assert!(Manifest::decode(&bad.encode()).is_err());
    }
}
