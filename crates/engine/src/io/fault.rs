//! Storage that fails on purpose.
//!
//! ```text
//!  operations counted from 0:   create  append  sync  append  sync …
//!  FaultPlan { at: 3, … }                             └─ this one fails, once
//! ```
//!
//! The fault happens once and everything after it works again. That is the harder case: code that
//! wrongly retried would then succeed, and a test would notice what it claims.

use std::io;
use std::path::PathBuf;

use super::{Operation, Storage, StorageError, StorageFile};
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Arc, Mutex, lock};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The operation does nothing and reports this error.
    Error(io::ErrorKind),
    /// As `Error`, but an append or overwrite has written the first half of its bytes, and a sync
    /// has made durable what it should.
    Partial(io::ErrorKind),
}

/// When something goes wrong.
#[derive(Clone, Copy, Debug)]
pub struct FaultPlan {
    /// The operation that fails, counting from 0.
    pub at: u64,
    /// Only operations of this kind are counted, if given.
    pub only: Option<Operation>,
    /// How it fails.
    pub fault: Fault,
}

/// Another storage whose operation number `at` fails.
#[derive(Clone, Debug)]
pub struct FaultStorage {
    inner: Arc<dyn Storage>,
    trigger: Arc<Trigger>,
}

#[derive(Debug, Default)]
struct Trigger {
    plan: Mutex<Option<FaultPlan>>,
    counted: AtomicU64,
    fired: AtomicU64,
}

impl Trigger {
    /// Counts one operation; returns the fault if this is the one.
    fn count(&self, operation: Operation) -> Option<Fault> {
        let plan = (*lock(&self.plan))?;
        if plan.only.is_some_and(|only| only != operation) {
            return None;
        }
        let number = self.counted.fetch_add(1, Ordering::Relaxed);
        if number != plan.at {
            return None;
        }
        self.fired.fetch_add(1, Ordering::Relaxed);
        Some(plan.fault)
    }

    fn check(&self, operation: Operation, path: &str, offset: u64) -> Result<(), StorageError> {
        match self.count(operation) {
            None => Ok(()),
            Some(Fault::Error(kind) | Fault::Partial(kind)) => {
                Err(StorageError::new(operation, path, offset, kind.into()))
            }
        }
    }
}

impl FaultStorage {
    /// Returns `inner` with nothing going wrong yet.
    pub fn new(inner: Arc<dyn Storage>) -> Self {
        Self { inner, trigger: Arc::default() }
    }

    /// Starts counting anew, for `plan`.
    pub fn plan(&self, plan: FaultPlan) {
        *lock(&self.trigger.plan) = Some(plan);
        self.trigger.counted.store(0, Ordering::Relaxed);
        self.trigger.fired.store(0, Ordering::Relaxed);
    }

    /// Returns whether the planned fault has happened.
    pub fn fired(&self) -> bool {
        self.trigger.fired.load(Ordering::Relaxed) > 0
    }

    fn wrap(&self, name: &str, file: Box<dyn StorageFile>) -> Box<dyn StorageFile> {
        let path = PathBuf::from(name);
        Box::new(FaultFile { file, path, trigger: Arc::clone(&self.trigger) })
    }
}

impl Storage for FaultStorage {
    fn create(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        self.trigger.check(Operation::Create, name, 0)?;
        Ok(self.wrap(name, self.inner.create(name)?))
    }

    fn open(&self, name: &str) -> Result<Box<dyn StorageFile>, StorageError> {
        self.trigger.check(Operation::Open, name, 0)?;
        Ok(self.wrap(name, self.inner.open(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), StorageError> {
        self.trigger.check(Operation::Rename, from, 0)?;
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<(), StorageError> {
        self.trigger.check(Operation::Remove, name, 0)?;
        self.inner.remove(name)
    }

    fn list(&self) -> Result<Vec<String>, StorageError> {
        self.trigger.check(Operation::List, "", 0)?;
        self.inner.list()
    }

    fn sync_dir(&self) -> Result<(), StorageError> {
        self.trigger.check(Operation::SyncDir, "", 0)?;
        self.inner.sync_dir()
    }

    fn path_of(&self, name: &str) -> PathBuf {
        self.inner.path_of(name)
    }

    fn salt(&self) -> u32 {
        self.inner.salt()
    }
}

#[derive(Debug)]
struct FaultFile {
    file: Box<dyn StorageFile>,
    path: PathBuf,
    trigger: Arc<Trigger>,
}

impl FaultFile {
    /// Counts `operation`; if it is to fail, does the `half` of it that a partial fault leaves.
    fn guard(
        &mut self,
        operation: Operation,
        offset: u64,
        half: impl FnOnce(&mut dyn StorageFile) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let Some(fault) = self.trigger.count(operation) else {
            return Ok(());
        };
        let kind = match fault {
            Fault::Error(kind) => kind,
            Fault::Partial(kind) => {
                half(&mut *self.file)?;
                kind
            }
        };
        Err(StorageError::new(operation, &self.path, offset, kind.into()))
    }
}

impl StorageFile for FaultFile {
    fn len(&self) -> u64 {
        self.file.len()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), StorageError> {
        let path = self.path.to_string_lossy();
        self.trigger.check(Operation::Read, &path, offset)?;
        self.file.read_at(offset, buffer)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        let half = &bytes[..bytes.len() / 2];
        self.guard(Operation::Append, self.len(), |file| file.append(half))?;
        self.file.append(bytes)
    }

    fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        let half = &bytes[..bytes.len() / 2];
        self.guard(Operation::Overwrite, offset, |file| file.overwrite(offset, half))?;
        self.file.overwrite(offset, bytes)
    }

    fn sync_data(&mut self) -> Result<(), StorageError> {
        self.guard(Operation::Sync, self.len(), |file| file.sync_data())?;
        self.file.sync_data()
    }

    fn truncate(&mut self, len: u64) -> Result<(), StorageError> {
        self.guard(Operation::Truncate, len, |_| Ok(()))?;
        self.file.truncate(len)
    }
}

#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod tests {
    use super::*;
    use crate::io::MemoryStorage;

    #[test]
    fn fault_happens_at_the_planned_operation_only() {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let mut file = storage.create("log").unwrap();
        let fault = Fault::Partial(io::ErrorKind::StorageFull);
        storage.plan(FaultPlan { at: 1, only: Some(Operation::Append), fault });
        file.append(b"abcd").unwrap();
        file.sync_data().unwrap();
        assert!(!storage.fired());
        let error = file.append(b"efgh").unwrap_err();
        assert_eq!((error.operation, error.offset), (Operation::Append, 4));
        assert_eq!(error.source.kind(), io::ErrorKind::StorageFull);
        assert!(storage.fired());
        assert_eq!(memory.files()[0].1, b"abcdef");
        file.append(b"!").unwrap();
    }
}
