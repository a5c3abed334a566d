//! The folder of a database's live algorithms.
//!
//! ```text
//!   live/definitions.json    names, algorithms, graphs, settings; replaced by rename
//!   live/N.state             state of definition N at one commit, see bytes.rs; replaced by rename
//! ```
//!
//! A definition is there once the rename of `definitions.json` is on disk. States may be missing,
//! old or damaged: they are computed again.

use std::fs;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use telar_engine::Engine;
use telar_engine::io::folder;

use super::bytes;
use super::definition::Definition;
use super::state::State;

/// The folder of live algorithms.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// Which database it belongs to.
    identity: String,
    /// False where nothing may be written.
    writable: bool,
}

/// Definitions, and the number of the next.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    pub(super) all: Vec<Definition>,
    pub(super) next: u64,
}

impl Files {
    /// Those of a database; none in memory.
    pub(super) fn of(db: &Engine) -> Option<Self> {
        let folder = db.folder()?.join("live");
        let identity = db.identity().map(|identity| identity.to_string()).unwrap_or_default();
        Some(Self { folder, identity, writable: !db.is_read_only() })
    }

    fn definitions(&self) -> PathBuf {
        self.folder.join("definitions.json")
    }

    fn state(&self, number: u64) -> PathBuf {
        self.folder.join(format!("{number}.state"))
    }

    /// Reads the definitions, and removes what belongs to none.
    ///
    /// # Errors
    /// What is wrong with them, in words.
    pub(super) fn load(&self) -> Result<Definitions, String> {
        let path = self.definitions();
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Definitions::default());
            }
            text => text.map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        };
        let parsed = serde_json::from_slice(&text).ok().and_then(|json| parse(&json));
        let damaged = || format!("{} is damaged: remove it", path.display());
        let definitions = parsed.ok_or_else(damaged)?;
        if self.writable {
            self.tidy(&definitions);
        }
        Ok(definitions)
    }

    /// Removes files that a crash has left.
    fn tidy(&self, definitions: &Definitions) {
        let kept = definitions.all.iter().map(|definition| self.state(definition.number));
        let kept: Vec<PathBuf> = kept.chain([self.definitions()]).collect();
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let ours = path.extension().is_some_and(|end| end == "new" || end == "state");
            if ours && !kept.contains(&path) {
                // What stays is looked at again at the next opening.
                let _ = fs::remove_file(path);
            }
        }
    }

    /// Replaces the definitions.
    ///
    /// # Errors
    /// Failures of the system.
    pub(super) fn store<'d>(
        &self,
        definitions: impl Iterator<Item = &'d Definition>,
        next: u64,
    ) -> io::Result<()> {
        self.make()?;
        let all: Vec<Json> = definitions.map(Definition::json).collect();
        let text = format!("{:#}\n", json!({ "version": 1, "next": next, "algorithms": all }));
        folder::replace(&self.definitions(), text.as_bytes(), || {})
    }

    fn make(&self) -> io::Result<()> {
        match self.writable {
            true => folder::make(&self.folder),
            false => Err(io::ErrorKind::ReadOnlyFilesystem.into()),
        }
    }

    /// Stores a state in place of an older one.
    ///
    /// # Errors
    /// What the system reports; the older one is there still.
    pub(super) fn save(&self, definition: &Definition, state: &mut State) -> io::Result<()> {
        self.make()?;
        let path = self.state(definition.number);
        let new = path.with_extension("state.new");
        let file = folder::create(&new)?;
        bytes::write(BufWriter::new(&file), &self.identity, definition, state)?;
        file.sync_all()?;
        fs::rename(&new, &path)?;
        folder::sync(&self.folder)
    }

    /// The state that was stored; why there is none otherwise.
    pub(super) fn read(&self, definition: &Definition) -> Result<State, String> {
        match fs::read(self.state(definition.number)) {
            Ok(bytes) => bytes::read(&bytes, &self.identity, definition)
                .map_err(|reason| format!("the stored state is of no use: {reason}")),
            Err(error) => Err(format!("there is no stored state: {error}")),
        }
    }

    /// Removes the state of a definition that is gone.
    pub(super) fn remove(&self, definition: &Definition) {
        // What stays is removed at the next opening.
        let _ = fs::remove_file(self.state(definition.number));
    }

    /// Where it is, for messages.
    pub(super) fn place(&self) -> &Path {
        &self.folder
    }
}

fn parse(json: &Json) -> Option<Definitions> {
    if json.get("version")?.as_u64()? != 1 {
        return None;
    }
    let all = json.get("algorithms")?.as_array()?.iter().map(Definition::of_json);
    Some(Definitions { all: all.collect::<Option<_>>()?, next: json.get("next")?.as_u64()? })
}
