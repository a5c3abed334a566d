//! Changes of a server by the threads that follow: copies that come, are replaced and go.

use std::path::PathBuf;
use std::sync::Arc;

use telar_db::maintenance::Identity;
use telar_db::query::QueryError;

use super::super::database::End;
use super::super::failure::{storage, unavailable};
use super::super::state::State;
use super::super::{Dbms, Live};
use super::Follow;
use super::copies::CopyEntry;

/// A copy that is open.
pub(super) struct OpenCopy {
    pub(super) engine: telar_db::Database,
    /// Identity of the source's database.
    pub(super) source: String,
}

impl Dbms {
    /// This server's part of following.
    pub(super) fn follow(&self) -> Option<&Follow> {
        self.follow.as_ref()
    }

    /// Saves a changed state, and makes it this server's. Called under the mutex of changes.
    fn put_state(&self, change: impl FnOnce(&mut State)) -> Result<(), QueryError> {
        let mut new = State::clone(&self.state());
        change(&mut new);
        if let Some(store) = &self.store {
            store.save(&new)?;
        }
        *self.state.write() = Arc::new(new);
        Ok(())
    }

    /// A folder for the next copy of a database: its name and its place.
    pub(super) fn next_copy(&self, name: &str) -> Result<(String, PathBuf), QueryError> {
        let _change = self.change.lock();
        let mut number = 0;
        self.put_state(|state| number = state.number())?;
        let folder = format!("{name}-{number}");
        let store = self.store.as_ref();
        let store = store.ok_or_else(|| storage("no folder for copies", "store.path is unset"))?;
        let path = store.database(&folder);
        Ok((folder, path))
    }

    /// The copy of a database, if it is open.
    pub(super) fn open_copy(&self, name: &str) -> Option<OpenCopy> {
        let source = self.follow()?.copy(name)?.source;
        let engine = self.database(Some(name)).ok()?.engine().clone();
        Some(OpenCopy { engine, source })
    }

    /// Closes the copy of a database, which is to be opened anew.
    pub(super) fn close_copy(&self, name: &str) {
        let _change = self.change.lock();
        end(self.put_copy(name, Live::Reopening), End::Replaced, None);
    }

    /// Opens the copy of a database that is there and is not open.
    ///
    /// # Errors
    /// If it still cannot be opened.
    pub(super) fn reopen_copy(&self, name: &str) -> Result<(), QueryError> {
        let _change = self.change.lock();
        let folder = self.follow().and_then(|follow| follow.folder(name));
        let folder = folder.ok_or_else(|| unavailable(name, "there is no copy of it"))?;
        let database = self.open_other(name, &folder, false)?;
        self.put_copy(name, Live::Online(Arc::new(database)));
        Ok(())
    }

    /// Puts a copy in the place of what was there; returns that.
    fn put_copy(&self, name: &str, live: Live) -> Option<Live> {
        match *name == **self.default_name() {
            true => Some(std::mem::replace(&mut *self.default.write(), live)),
            false => self.others.write().insert(name.to_owned(), live),
        }
    }

    /// Opens a copy that has come whole into `folder`, and puts it in the place of the one before.
    pub(super) fn install_copy(
        &self,
        name: &str,
        folder: &str,
        source: Identity,
    ) -> Result<(), QueryError> {
        let Some(follow) = self.follow() else { return Ok(()) };
        let _change = self.change.lock();
        let known = follow.copies.lock().source.clone();
        if *name == **self.default_name() && known.is_some_and(|known| known != source.to_string())
        {
            // By its default database the source is known: this is another server's.
            return Err(unavailable(name, "the source's default database is another one by now"));
        }
        let database = self.open_other(name, folder, false)?;
        let copy = CopyEntry { folder: folder.to_owned(), source: source.to_string() };
        let entry = copy.entry();
        // First what a start mends by the other one.
        if *name != **self.default_name() {
            self.put_state(|state| drop(state.databases.insert(name.to_owned(), entry)))?;
        }
        let mut copies = follow.copies.lock();
        let before = copies.databases.insert(name.to_owned(), copy);
        if let Err(error) = copies.save() {
            match before {
                Some(before) => copies.databases.insert(name.to_owned(), before),
                None => copies.databases.remove(name),
            };
            return Err(error);
        }
        drop(copies);
        let replaced = self.put_copy(name, Live::Online(Arc::new(database)));
        let old = before.and_then(|before| Some(self.store.as_ref()?.database(&before.folder)));
        end(replaced, End::Replaced, old);
        Ok(())
    }

    /// Takes away the copy of a database that was dropped at the source.
    pub(super) fn remove_copy(&self, name: &str) -> Result<(), QueryError> {
        let Some(follow) = self.follow() else { return Ok(()) };
        let _change = self.change.lock();
        let mut copies = follow.copies.lock();
        let before = copies.databases.remove(name);
        if let Err(error) = copies.save() {
            copies.databases.extend(before.map(|before| (name.to_owned(), before)));
            return Err(error);
        }
        drop(copies);
        follow.standings.lock().remove(name);
        let default = Arc::clone(self.default_name());
        self.put_state(|state| {
            state.databases.remove(name);
            state.forget_missing(&default);
        })?;
        let replaced = self.others.write().remove(name);
        let old = before.and_then(|before| Some(self.store.as_ref()?.database(&before.folder)));
        end(replaced, End::Dropped, old);
        Ok(())
    }
}

/// Ends what was in a place; its folder goes with the last who uses it.
fn end(live: Option<Live>, end: End, folder: Option<PathBuf>) {
    match live {
        Some(Live::Online(database)) => database.end(end, folder),
        _ => folder.iter().for_each(|folder| _ = super::super::store::remove_folder(folder)),
    }
}
