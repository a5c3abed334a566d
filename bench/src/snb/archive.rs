//! A data set, from a folder or an archive of one, in memory.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Contents of an archive by path, without the folder that holds everything.
#[derive(Debug, Clone, Default)]
pub struct Archive(BTreeMap<String, Vec<u8>>);

impl Archive {
    /// Reads a `.tar.zst`, or a folder with what would be in one.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let problem = |e: std::io::Error| format!("{}: {e}", path.display());
        if path.is_dir() {
            let mut archive = Self::default();
            return archive.add(path, "").map(|()| archive).map_err(problem);
        }
        Self::unpack(path).map_err(problem)
    }

    /// Reads a folder and those in it; their paths begin with `prefix`.
    fn add(&mut self, folder: &Path, prefix: &str) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if entry.file_type()?.is_dir() {
                self.add(&entry.path(), &format!("{name}/"))?;
            } else {
                self.0.insert(name, std::fs::read(entry.path())?);
            }
        }
        Ok(())
    }

    fn unpack(path: &Path) -> std::io::Result<Self> {
        let mut files = BTreeMap::new();
        let mut archive = tar::Archive::new(zstd::Decoder::new(File::open(path)?)?);
        for entry in archive.entries()? {
            let mut entry = entry?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let path: std::path::PathBuf = entry.path()?.components().skip(1).collect();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes)?;
            files.insert(path.to_string_lossy().into_owned(), bytes);
        }
        Ok(Self(files))
    }

    /// The text of a file.
    ///
    /// # Errors
    /// There is none, or it is not UTF-8.
    pub fn text(&self, path: &str) -> Result<&str, String> {
        let bytes = self.0.get(path).ok_or_else(|| format!("the archive has no {path}"))?;
        std::str::from_utf8(bytes).map_err(|e| format!("{path}: {e}"))
    }

    /// A JSON file.
    ///
    /// # Errors
    /// There is none, or it is not JSON.
    pub fn json(&self, path: &str) -> Result<serde_json::Value, String> {
        serde_json::from_str(self.text(path)?).map_err(|e| format!("{path}: {e}"))
    }

    /// Paths that begin with `folder`.
    pub fn paths(&self, folder: &str) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str).filter(move |path| path.starts_with(folder))
    }
}
