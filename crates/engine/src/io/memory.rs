//! Storage in memory that knows what a crash would leave.
//!
//! ```text
//!  file:  current  ████████████████████▒▒▒▒▒▒▒▒▒▒   what the process reads
//!         durable  ████████████████████             what the last sync_data left
//!
//!  crash:          ████████████████████             nothing of the unsynced part, or
//!                  ████████████████████▒▒▒▒         a prefix of it, or
//!                  ████████████████████▒▒▒▒#####    a prefix and garbage, or
//!                  ████████████████████▒▒▒▒00000    a prefix and zeros, or
//!                  ████████████████████▒▒00▒▒00▒▒   all of it but some sectors, or
//!                  ████████████████████▒▒▒▒▒▒▒▒▒▒   all of it
//! ```
//!
//! After a sync that failed as on Linux (`drop_next_sync`) the unsynced bytes can still be read but
//! count as written, so that only writing them once more makes them durable.
//!
//! A file cut or overwritten without a sync is, after a crash, either as before or as after.
//! Creations, renamings and removals since the last `sync_dir` happen or not, each for itself but
//! in their order, so a later removal can be durable where an earlier one is not.
//!
//! Source: the failure models of ALICE (Pillai et al., OSDI 2014), section 2, for what file systems
//! leave of unsynced appends and directory operations.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use super::{Operation, Storage, StorageError, StorageFile};
use crate::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// What a disk writes as a whole.
const SECTOR_BYTES: usize = 512;

/// A directory in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    directory: Mutex<Directory>,
    salts: AtomicU32,
    drop_next_sync: AtomicBool,
}

#[derive(Debug, Default)]
struct Directory {
    current: BTreeMap<String, Arc<Mutex<Contents>>>,
    durable: BTreeMap<String, Arc<Mutex<Contents>>>,
    /// What happened since the last `sync_dir`.
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Create(String, Arc<Mutex<Contents>>),
    Rename(String, String),
    Remove(String),
}

#[derive(Clone, Debug, Default)]
struct Contents {
    current: Vec<u8>,
    durable: Vec<u8>,
    /// The lowest offset that the next sync writes.
    clean_len: usize,
}

impl MemoryStorage {
    /// Returns an empty directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns what this storage would hold if the machine lost power now.
    ///
    /// The result is a storage of its own and entirely durable; equal seeds give equal results.
    pub fn crash(&self, seed: u64) -> Self {
        let mut random = Random(seed);
        let directory = lock(&self.shared.directory);
        let mut names = directory.durable.clone();
        for change in &directory.unsynced {
            if random.below(2) == 0 {
                apply(&mut names, change);
            }
        }
        let left = names.into_iter().map(|(name, contents)| {
            let bytes = lock(&contents).after_crash(&mut random);
            (name, bytes)
        });
        let crashed = Self::from_files(left);
        // A restarted process draws new salts.
        let salts = self.shared.salts.load(Ordering::Relaxed);
        crashed.shared.salts.store(salts.wrapping_add(1), Ordering::Relaxed);
        crashed
    }

    /// Returns a storage with these files, all of it durable.
    pub fn from_files(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Self {
        let storage = Self::new();
        {
            let mut directory = lock(&storage.shared.directory);
            for (name, bytes) in files {
                let clean_len = bytes.len();
                let contents = Contents { current: bytes.clone(), durable: bytes, clean_len };
                directory.current.insert(name, Arc::new(Mutex::new(contents)));
            }
            directory.durable = directory.current.clone();
        }
        storage
    }

    /// Makes the next `sync_data` of any file fail with EIO and drop what it should have written.
    pub fn drop_next_sync(&self) {
        self.shared.drop_next_sync.store(true, Ordering::Relaxed);
    }

    /// Returns every file with the bytes the process sees.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        let directory = lock(&self.shared.directory);
        let files = directory.current.iter();
        files.map(|(name, contents)| (name.clone(), lock(contents).current.clone())).collect()
    }
}

fn apply(names: &mut BTreeMap<String, Arc<Mutex<Contents>>>, change: &Change) {
    match change {
        Change::Create(name, contents) => {
            names.insert(name.clone(), Arc::clone(contents));
        }
        Change::Rename(from, to) => {
            if let Some(contents) = names.remove(from) {
                names.insert(to.clone(), contents);
            }
        }
        Change::Remove(name) => {
            names.remove(name);
        }
    }
}

impl Contents {
    fn sync(&mut self) {
        // Zeros where a failed sync dropped bytes.
        self.durable.resize(self.clean_len, 0);
        self.durable.extend_from_slice(&self.current[self.clean_len..]);
        self.clean_len = self.current.len();
    }

    fn after_crash(&self, random: &mut Random) -> Vec<u8> {
        let synced = self.durable.len();
        let only_appended = self.clean_len == synced && self.current.len() >= synced;
        if !only_appended {
            return if random.below(2) == 0 { self.durable.clone() } else { self.current.clone() };
        }
        let unsynced = self.current.len() - synced;
        let kept = synced + random.below(unsynced + 1);
        match random.below(6) {
            0 => self.durable.clone(),
            1 => self.current[..kept].to_vec(),
            2 => {
                let mut bytes = self.current[..kept].to_vec();
                bytes.extend((kept..self.current.len()).map(|_| random.byte()));
                bytes
            }
            3 => {
                let mut bytes = self.current[..kept].to_vec();
                bytes.resize(self.current.len(), 0);
                bytes
            }
            4 => {
                let mut bytes = self.current.clone();
                for sector in bytes.len().min(synced) / SECTOR_BYTES..=bytes.len() / SECTOR_BYTES {
                    if random.below(3) == 0 {
                        let end = ((sector + 1) * SECTOR_BYTES).min(bytes.len());
                        let start = (sector * SECTOR_BYTES).max(synced).min(end);
                        bytes[start..end].fill(0);
                    }
                }
                bytes
            }
            _ => self.current.clone(),
        }
    }
}

impl Storage for MemoryStorage {
    fn create(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        let mut directory = lock(&self.shared.directory);
        if directory.current.contains_key(name) {
            let source = io::Error::from(io::ErrorKind::AlreadyExists);
            return Err(StorageError::new(Operation::Create, name, 0, source));
        }
        let contents = Arc::new(Mutex::new(Contents::default()));
        directory.current.insert(name.to_owned(), Arc::clone(&contents));
        directory.unsynced.push(Change::Create(name.to_owned(), Arc::clone(&contents)));
        drop(directory);
        Ok(Box::new(self.file(name, contents)))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        let directory = lock(&self.shared.directory);
        let contents = directory.current.get(name).ok_or_else(|| missing(Operation::Open, name))?;
        Ok(Box::new(self.file(name, Arc::clone(contents))))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.change(Operation::Rename, from, Change::Rename(from.to_owned(), to.to_owned()))
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.change(Operation::Remove, name, Change::Remove(name.to_owned()))
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        Ok(lock(&self.shared.directory).current.keys().cloned().collect())
    }

    fn sync_dir(&self) -> Result<(), StorageError> {
        let mut directory = lock(&self.shared.directory);
        directory.durable = directory.current.clone();
        directory.unsynced.clear();
        Ok(())
    }

    fn path_of(&self, name: &str) -> PathBuf {
        PathBuf::from(name)
    }

    fn salt(&self) -> u32 {
        let drawn = self.shared.salts.fetch_add(1, Ordering::Relaxed);
        Random(u64::from(drawn)).word()
    }
}

impl MemoryStorage {
    fn file(&self, name: &str, contents: Arc<Mutex<Contents>>) -> MemoryFile {
        MemoryFile { name: name.to_owned(), contents, shared: Arc::clone(&self.shared) }
    }

    fn change(&self, operation: Operation, name: &str, change: Change) -> Result<(), StorageError> {
        let mut directory = lock(&self.shared.directory);
        if !directory.current.contains_key(name) {
            return Err(missing(operation, name));
        }
        apply(&mut directory.current, &change);
        directory.unsynced.push(change);
        Ok(())
    }
}

fn missing(operation: Operation, name: &str) -> StorageError {
    StorageError::new(operation, name, 0, io::Error::from(io::ErrorKind::NotFound))
}

#[derive(Debug)]
struct MemoryFile {
    name: String,
    contents: Arc<Mutex<Contents>>,
    shared: Arc<Shared>,
}

impl MemoryFile {
    fn out_of_file(&self, operation: Operation, offset: u64) -> StorageError {
        let source = io::Error::from(io::ErrorKind::UnexpectedEof);
        StorageError::new(operation, &self.name, offset, source)
    }
}

impl StorageFile for MemoryFile {
    fn len(&self) -> u64 {
        lock(&self.contents).current.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let contents = lock(&self.contents);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let range = start..start.saturating_add(buffer.len());
        let bytes = contents.current.get(range);
        buffer.copy_from_slice(bytes.ok_or_else(|| self.out_of_file(Operation::Read, offset))?);
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        lock(&self.contents).current.extend_from_slice(bytes);
        Ok(())
    }

    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let target = contents.current.get_mut(start..start.saturating_add(bytes.len()));
        let target = target.ok_or_else(|| self.out_of_file(Operation::Overwrite, offset))?;
        target.copy_from_slice(bytes);
        contents.clean_len = contents.clean_len.min(start);
        Ok(())
    }

    fn sync_data(&mut self) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        if self.shared.drop_next_sync.swap(false, Ordering::Relaxed) {
            contents.clean_len = contents.current.len();
            let offset = contents.clean_len as u64;
            let source = io::Error::other("input/output error");
            return Err(StorageError::new(Operation::Sync, &self.name, offset, source));
        }
        contents.sync();
        Ok(())
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        let mut contents = lock(&self.contents);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        contents.current.truncate(len);
        contents.clean_len = contents.clean_len.min(contents.current.len());
        Ok(())
    }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn word(&mut self) -> u32 {
        u32::try_from(self.next() >> 32).expect("INVARIANT: the upper half of a u64 has 32 bits")
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[7]
    }

    /// A number below `bound`, which is not 0.
    fn below(&mut self, bound: usize) -> usize {
        let bound = bound as u64;
        usize::try_from(self.next() % bound).expect("INVARIANT: less than a usize")
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn contents(storage: &MemoryStorage, name: &str) -> Option<Vec<u8>> {
        storage.files().into_iter().find(|(found, _)| found == name).map(|(_, bytes)| bytes)
    }

    #[test]
    fn crash_keeps_synced_bytes_and_any_part_of_the_rest() {
        let storage = MemoryStorage::new();
        let mut file = storage.create("log").unwrap();
        file.append(&[1; 700]).unwrap();
        file.sync_data().unwrap();
        storage.sync_dir().unwrap();
        file.append(&[2; 3000]).unwrap();
        let mut lengths = BTreeSet::new();
        let (mut garbage, mut holes) = (0, 0);
        for seed in 0..500 {
            let bytes = contents(&storage.crash(seed), "log").unwrap();
            assert!(bytes.len() >= 700 && bytes[..700].iter().all(|byte| *byte == 1));
            lengths.insert(bytes.len());
            garbage += usize::from(bytes.iter().any(|byte| *byte > 2));
            holes += usize::from(bytes[700..].windows(2).any(|pair| pair == [0, 2]));
            assert_eq!(contents(&storage.crash(seed), "log").unwrap(), bytes, "same seed");
        }
        assert!(lengths.contains(&700) && lengths.contains(&3700) && lengths.len() > 20);
        assert!(garbage > 10 && holes > 10);
    }

    #[test]
    fn crash_undoes_directory_changes_that_were_not_synced() {
        let storage = MemoryStorage::new();
        storage.create("a").unwrap().append(b"a").unwrap();
        storage.sync_dir().unwrap();
        storage.rename("a", "b").unwrap();
        drop(storage.create("c").unwrap());
        storage.remove("c").unwrap();
        let mut seen = BTreeSet::new();
        for seed in 0..100 {
            seen.insert(storage.crash(seed).list().unwrap().join(" "));
        }
        let expected = ["a", "a c", "b", "b c"].map(str::to_owned);
        assert_eq!(seen, BTreeSet::from(expected));
        storage.sync_dir().unwrap();
        assert_eq!(storage.crash(1).list().unwrap(), ["b"]);
    }

    #[test]
    fn crash_after_unsynced_cut_keeps_old_or_new() {
        let storage = MemoryStorage::new();
        let mut file = storage.create("log").unwrap();
        file.append(b"abcdef").unwrap();
        file.sync_data().unwrap();
        storage.sync_dir().unwrap();
        file.truncate(2).unwrap();
        file.append(b"XY").unwrap();
        let seen: BTreeSet<_> =
            (0..50).map(|seed| contents(&storage.crash(seed), "log").unwrap()).collect();
        assert_eq!(seen, BTreeSet::from([b"abcdef".to_vec(), b"abXY".to_vec()]));
        file.sync_data().unwrap();
        assert_eq!(contents(&storage.crash(3), "log").unwrap(), b"abXY");
        file.overwrite(1, b"!").unwrap();
        assert!(file.overwrite(4, b"!").is_err());
        assert!(file.read_at(4, &mut [0]).is_err());
    }
}
