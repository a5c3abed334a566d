//! History that stays in the store until it is needed.
//!
//! A segment's history is read when somebody reads the past of the segment, or when a checkpoint is
//! going to replace what the store has of it. Not by settling: what that adds is newer than all in
//! the store, and stands behind it once it is read.
//!
//! Invariant: what the store has of a segment that was not read yet is what it had when the
//! database was opened, or nothing. A checkpoint reads it before it replaces it; one that finds
//! nothing of it retained removes it.
//! What cannot be read is damage, like any other (`mapped/mod.rs`, invariant 4).

use std::sync::{Arc, OnceLock};

use super::map::Scratch;
use super::{Found, Stored, Value};
use crate::format::subject::Subject;

type Load<T> = dyn Fn(u32) -> Found<T> + Send + Sync;

/// Where the history of a table's segments is read from; nowhere, unless told.
pub(crate) struct Lazy<T>(OnceLock<Box<Load<T>>>);

impl<T> std::fmt::Debug for Lazy<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lazy")
    }
}

impl<T> Default for Lazy<T> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<T> Lazy<T> {
    /// Reads it from `stored`, by `decode`, from now on. Once, while the database is being opened.
    pub(crate) fn attach(
        &self,
        stored: &Arc<Stored>,
        subject: Subject,
        decode: impl Fn(&Value<'_>) -> Result<T, &'static str> + Send + Sync + 'static,
    ) {
        let stored = Arc::clone(stored);
        let load = move |segment| {
            let decode = |value: &Value<'_>| decode(value).map_err(str::to_owned);
            stored.load(&subject.key(segment), &mut Scratch::default(), decode)
        };
        let _ = self.0.set(Box::new(load));
    }

    /// Whether the store may have any.
    pub(crate) fn is_attached(&self) -> bool {
        self.0.get().is_some()
    }

    /// Calls `add` with what there is of a segment, unless `is_read` says that this was done, and
    /// notes there that it was. Tried again as long as it cannot be read.
    #[inline]
    pub(crate) fn read(&self, segment: u32, is_read: &mut bool, add: impl FnOnce(T)) {
        let Some(load) = self.0.get().filter(|_| !*is_read) else { return };
        match load(segment) {
            Found::There(found) => add(found),
            Found::Absent => {}
            Found::Damaged => return,
        }
        *is_read = true;
    }
}
