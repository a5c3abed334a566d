//! Graphs of neighbours in files, so that an opened database need not build them.
//!
//! ```text
//!  graph.telar/near/N.graph    of the vector index with the number N; N.graph.new while written
//!
//!  file     header · graphs
//!  header   "TELARNBR" · version u32 · graphs u32 · identity of the database, 16 bytes
//!           number of the index u32 · CRC-32 of its definition u32 · zeros
//!           CRC-32 of the 60 bytes before                                         64 bytes
//!  graph    telar_vector's image, one for each length of vectors
//! ```
//!
//! Integers are little-endian. A file says nothing that the entries of the index do not say: a
//! vector that it lacks is linked when it is read, one that is gone is passed over as those in
//! memory are. So it need not be of the last checkpoint, or of any: it is replaced, by renaming,
//! when a graph has grown by 1/[`GROWTH_SHARE`] since, and is removed with the first checkpoint
//! after its index was dropped. A file that is damaged, of another version, of another database or
//! of another definition is not used, and no error: the graph is built.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use telar_vector::{ImageError, Neighbours};

use super::Index;
use crate::error::Error;
use crate::failpoint;
use crate::graph::{Durable, Graph};
use crate::io::folder;
use crate::store::Access;
use crate::store::identity::Identity;

/// Version of the files that are written, and the only one that is read.
pub(crate) const VERSION: u32 = 1;
const MAGIC: &[u8; 8] = b"TELARNBR";
const HEADER_BYTES: usize = 64;
const CHECKED_BYTES: usize = 60;
const _: () = assert!(8 + 4 + 4 + size_of::<Identity>() + 4 + 4 <= CHECKED_BYTES);
const _: () = assert!(CHECKED_BYTES + 4 == HEADER_BYTES);

/// A file is written anew when a graph has grown by this share of it: what is written in all is
/// nine times the last file at most, and an opening links a ninth of the vectors.
const GROWTH_SHARE: usize = 8;
const BUFFER_BYTES: usize = 1 << 20;

/// A graph and how many of its slots are written.
pub(super) type Part = (Arc<Neighbours>, usize);

/// Folder of the files of a database.
pub(crate) fn folder_of(root: &Path) -> PathBuf {
    root.join("near")
}

/// Name of the file of an index.
pub(crate) fn name_of(index: u16) -> String {
    format!("{index}.graph")
}

/// True if a graph that has so many slots, of which so many are in a file, is to be written.
pub(super) fn is_due(slots: usize, saved: usize) -> bool {
    slots > saved && (slots - saved) * GROWTH_SHARE >= saved
}

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    graphs: u32,
    identity: [u8; 16],
    index: u32,
    definition: u32,
}

impl Header {
    fn new(index: &Index, identity: Identity, graphs: usize) -> Self {
        let mut definition = Vec::new();
        index.definition.encode(&mut definition);
        Self {
            graphs: graphs as u32,
            identity: identity.to_le_bytes(),
            index: index.id.get().into(),
            definition: crc32fast::hash(&definition),
        }
    }

    fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&self.graphs.to_le_bytes());
        bytes.extend_from_slice(&self.identity);
        bytes.extend_from_slice(&self.index.to_le_bytes());
        bytes.extend_from_slice(&self.definition.to_le_bytes());
        bytes.resize(CHECKED_BYTES, 0);
        bytes.extend_from_slice(&crc32fast::hash(&bytes).to_le_bytes());
        bytes.try_into().expect("INVARIANT: a header has its length")
    }

    fn read(input: &mut dyn Read) -> Result<Self, Fault> {
        let mut bytes = [0; HEADER_BYTES];
        input.read_exact(&mut bytes).map_err(ImageError::from)?;
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let damaged = |what: &str| Err(Fault::Damaged(what.to_owned()));
        if bytes[..8] != *MAGIC {
            return damaged("it does not begin as the file of a graph does");
        }
        if word(CHECKED_BYTES) != crc32fast::hash(&bytes[..CHECKED_BYTES]) {
            return damaged("the checksum of its header does not fit");
        }
        if word(8) != VERSION {
            return Err(Fault::Version(word(8)));
        }
        let mut identity = [0; 16];
        identity.copy_from_slice(&bytes[16..32]);
        Ok(Self { graphs: word(12), identity, index: word(32), definition: word(36) })
    }
}

/// Reasons why a file is not used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Fault {
    /// The bytes are not as they were written, or cannot be read.
    #[error("{0}")]
    Damaged(String),
    /// Another program wrote it.
    #[error("it is of version {0}, and this program reads version {VERSION}")]
    Version(u32),
    /// It belongs to another index.
    #[error("it is of another index, or of another database")]
    Foreign,
}

impl From<ImageError> for Fault {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::Io(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                Self::Damaged("it ends too early".to_owned())
            }
            error => Self::Damaged(error.to_string()),
        }
    }
}

fn at_end(input: &mut dyn Read) -> Result<(), Fault> {
    match input.read(&mut [0]).map_err(ImageError::from)? {
        0 => Ok(()),
        _ => Err(Fault::Damaged("there is something behind its end".to_owned())),
    }
}

/// Looks at every byte of a file; keeps nothing.
pub(crate) fn check(path: &Path) -> Result<(), Fault> {
    let file = File::open(path).map_err(ImageError::from)?;
    let input = &mut BufReader::with_capacity(BUFFER_BYTES, file);
    let header = Header::read(input)?;
    for _ in 0..header.graphs {
        Neighbours::check_image(input)?;
    }
    at_end(input)
}

/// The graphs of an index that is in memory, from its file; none if there is none that fits.
pub(super) fn load(index: &Index, graph: &Graph) -> Vec<Arc<Neighbours>> {
    let Some(durable) = &graph.durable else { return Vec::new() };
    let path = folder_of(durable.store.root()).join(name_of(index.id.get()));
    let file = match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Vec::new(),
        file => file.map_err(|e| Fault::from(ImageError::from(e))),
    };
    let found = file.and_then(|file| read(file, index, durable));
    durable.near.note(|health| match &found {
        Ok(_) => health.read += 1,
        Err(fault) => {
            health.refused += 1;
            let path = path.display();
            health.error = Some(format!("{path} is not used, the graph is built anew: {fault}"));
        }
    });
    found.unwrap_or_default()
}

fn read(file: File, index: &Index, durable: &Durable) -> Result<Vec<Arc<Neighbours>>, Fault> {
    failpoint!("near::read", |e: io::Error| Err(Fault::from(ImageError::from(e))));
    let input = &mut BufReader::with_capacity(BUFFER_BYTES, file);
    let header = Header::read(input)?;
    let expected = Header::new(index, durable.store.identity(), header.graphs as usize);
    let settings = index.definition.settings.as_ref();
    let vectors = settings.and_then(|settings| Some((settings.vectors()?, settings.shape())));
    let (true, Some((vectors, shape))) = (header == expected, vectors) else {
        return Err(Fault::Foreign);
    };
    let mut graphs = Vec::new();
    for _ in 0..header.graphs {
        let read = Neighbours::read_image(input)?;
        let is_wanted = vectors.dimensions.is_none_or(|n| usize::from(n) == read.dimensions());
        if !is_wanted || read.metric() != vectors.metric || read.shape() != shape {
            return Err(Fault::Foreign);
        }
        graphs.push(Arc::new(read));
    }
    at_end(input)?;
    Ok(graphs)
}

/// Writes the graphs that have grown enough to their files. The caller holds the lock of
/// checkpoints. What cannot be written is noted, and no error: the graph is built when the database
/// is opened next.
///
/// Cost: a write of each graph that [is due](is_due).
pub(crate) fn save(indexes: &[Arc<Index>], durable: &Durable) {
    let lock = durable.store.lock();
    // The folder may be gone, and is not made anew.
    if lock.access() == Access::Read || !lock.is_named() {
        return;
    }
    let folder = folder_of(durable.store.root());
    for index in indexes {
        if let Some(parts) = index.near.due_parts() {
            let path = folder.join(name_of(index.id.get()));
            match write(&path, &parts, index, durable) {
                Ok(()) => {
                    index.near.note_saved(&parts);
                    durable.near.note(|health| health.written += 1);
                }
                Err(e) => note_failure(durable, &Error::file("cannot write", &path)(e)),
            }
        }
    }
}

fn note_failure(durable: &Durable, error: &Error) {
    durable.near.note(|health| {
        health.failed += 1;
        health.error = Some(error.to_string());
    });
}

/// Removes files of indexes that are gone, and those that were never finished. The caller holds
/// the lock of checkpoints; what cannot be removed is noted.
pub(crate) fn tidy(indexes: &[Arc<Index>], durable: &Durable) {
    let folder = folder_of(durable.store.root());
    if durable.store.lock().access() == Access::Write
        && let Err(e) = sweep(&folder, indexes)
    {
        note_failure(durable, &Error::file("cannot remove files from", &folder)(e));
    }
}

fn write(path: &Path, parts: &[Part], index: &Index, durable: &Durable) -> io::Result<()> {
    folder::make(&folder::parent(path))?;
    let new = path.with_extension("graph.new");
    failpoint!("near::before_write", Err);
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, folder::create(&new)?);
    let header = Header::new(index, durable.store.identity(), parts.len());
    out.write_all(&header.encode())?;
    for (neighbours, slots) in parts {
        neighbours.write_image(*slots, &mut out)?;
        failpoint!("near::part_written", Err);
    }
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    failpoint!("near::before_sync", Err);
    file.sync_all()?;
    failpoint!("near::before_rename", Err);
    fs::rename(&new, path)?;
    failpoint!("near::renamed", Err);
    folder::sync(&folder::parent(path))
}

fn sweep(folder: &Path, indexes: &[Arc<Index>]) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    let wanted: Vec<String> = indexes
        .iter()
        .filter(|index| index.definition.vectors().is_some())
        .map(|index| name_of(index.id.get()))
        .collect();
    for entry in entries {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let is_ours = name.ends_with(".graph") || name.ends_with(".graph.new");
        if is_ours && !wanted.contains(&name) {
            failpoint!("near::before_remove", Err);
            fs::remove_file(folder.join(name))?;
        }
    }
    Ok(())
}
