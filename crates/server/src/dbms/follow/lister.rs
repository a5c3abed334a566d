//! Lister: a thread that asks the source for its databases, and keeps a worker for each.
//!
//! - The default database of the source says which server it is. One that is not the server of
//!   before is not followed, whatever its databases are called.
//! - A database that the source has dropped is dropped here. One that is stopped there is kept.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::Mutex;
use telar_db::query::QueryError;

use super::super::failure::storage;
use super::super::{Dbms, names};
use super::worker::{Failed, Known, Worker, longer, pause, shortest};
use crate::replication::list::{self, List, Listed};
use crate::replication::{Client, Error};

/// Time between two looks at the source's databases.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// The threads that follow; they are told to end when this is dropped.
#[derive(Debug)]
pub(in crate::dbms) struct Lister {
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Lister {
    /// Ends the threads, and waits for them.
    pub(in crate::dbms) fn end(mut self) {
        end(&self.stopped, self.thread.take());
    }
}

impl Drop for Lister {
    fn drop(&mut self) {
        // Nobody waits here: one of the threads may be the last to use the server.
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.stopped.store(true, Ordering::Relaxed);
    }
}

/// Ends a thread, and waits for it.
fn end(stopped: &AtomicBool, thread: Option<JoinHandle<()>>) {
    // ORDERING: relaxed, as above.
    stopped.store(true, Ordering::Relaxed);
    // One that panicked has nothing to hand over.
    if let Some(thread) = thread {
        drop(thread.join());
    }
}

/// Worker that runs.
struct Running {
    known: Arc<Known>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        end(&self.stopped, self.thread.take());
    }
}

impl Dbms {
    /// Begins to follow, if it is to.
    pub(in crate::dbms) fn begin_to_follow(self: &Arc<Self>) -> Result<(), QueryError> {
        let Some(follow) = &self.follow else { return Ok(()) };
        let stopped = Arc::<AtomicBool>::default();
        let client = follow.asking.client(Arc::clone(&stopped));
        let client = client.map_err(|e| storage("cannot follow", e))?;
        let (weak, flag) = (Arc::downgrade(self), Arc::clone(&stopped));
        let thread = thread::Builder::new().name("telar-follow".into());
        let thread = thread.spawn(move || look_on(&weak, &client, &flag));
        let thread = Some(thread.map_err(|e| storage("cannot start a thread", e))?);
        *self.lister.lock() = Some(Lister { stopped, thread });
        Ok(())
    }
}

fn look_on(dbms: &Weak<Dbms>, client: &Client, stopped: &AtomicBool) {
    let (mut workers, mut rest) = (BTreeMap::new(), shortest());
    // ORDERING: relaxed, as above.
    while !stopped.load(Ordering::Relaxed) {
        let listed = list::fetch(client).map_err(Failed::from);
        let Some(dbms) = dbms.upgrade() else { return };
        let done = listed.and_then(|list| dbms.keep_workers(&list, &mut workers));
        if let Err(failed) = done {
            if matches!(failed, Failed::Source(Error::Stopped)) {
                return;
            }
            dbms.source_trouble(&failed);
            // Each worker goes on by itself once the source is back.
            drop(dbms);
            pause(rest, stopped);
            rest = longer(rest);
            continue;
        }
        drop(dbms);
        rest = shortest();
        pause(LOOK_EVERY, stopped);
    }
}

impl Dbms {
    /// Tells a trouble with the source of the default database, which no worker may have yet.
    fn source_trouble(&self, failed: &Failed) {
        let Some(follow) = self.follow() else { return };
        let message = failed.message();
        if follow.standing(self.default_name()).failed(&message, failed.connected()) {
            tracing::warn!("the server that is followed cannot be asked: {message}");
        }
    }

    /// Checks that the source is the server that it was; notes it at the first time.
    fn check_source(&self, list: &List) -> Result<(), Failed> {
        let Some(follow) = self.follow() else { return Ok(()) };
        let (own, address) = (self.default_name(), follow.address());
        let here = |message: String| Err(Failed::Here(message));
        let Some(default) = list.databases.iter().find(|listed| listed.default) else {
            return here(format!("{address} has no default database"));
        };
        if *default.name != **own {
            return here(format!(
                "the default database of {address} is called '{}', not '{own}': set \
                 store.default_database",
                default.name
            ));
        }
        let Some(identity) = &default.identity else {
            return match default.online {
                true => here(format!("{address} keeps its databases in memory: nothing to follow")),
                false => here(format!("the default database of {address} is not online")),
            };
        };
        let mut copies = follow.copies.lock();
        match &copies.source {
            Some(known) if known == identity => Ok(()),
            Some(_) => here(format!(
                "the server at {address} is another one than was followed before, or its default \
                 database was restored: what is copied stays as it is. To follow the new one, \
                 begin with an empty folder; to keep the copies, use `telar promote`"
            )),
            None => {
                copies.source = Some(identity.clone());
                Ok(copies.save()?)
            }
        }
    }

    /// Starts workers of new databases, and ends those of databases that are gone.
    fn keep_workers(
        self: &Arc<Self>,
        list: &List,
        workers: &mut BTreeMap<String, Running>,
    ) -> Result<(), Failed> {
        if let Err(failed) = self.check_source(list) {
            workers.clear();
            return Err(failed);
        }
        let Some(follow) = self.follow() else { return Ok(()) };
        // Names become names of folders.
        let good = |listed: &&Listed| names::database(&listed.name).is_ok_and(|n| n == listed.name);
        let listed: BTreeMap<_, _> =
            list.databases.iter().filter(good).map(|of| (of.name.as_str(), of)).collect();
        workers.retain(|name, _| listed.contains_key(name.as_str()));
        let copied: Vec<String> = follow.copies.lock().databases.keys().cloned().collect();
        let is_default = |name: &str| *name == **self.default_name();
        for name in copied.iter().filter(|name| !is_default(name)) {
            if !listed.contains_key(name.as_str()) {
                tracing::info!(database = %name, "the source has dropped it");
                self.remove_copy(name)?;
            }
        }
        for (name, of) in listed.into_iter().filter(|(_, of)| of.online) {
            if let Some(running) = workers.get(name) {
                running.known.lock().clone_from(&of.identity);
                continue;
            }
            let known = Arc::new(Known::new(of.identity.clone()));
            let stopped = Arc::<AtomicBool>::default();
            let worker = Worker {
                dbms: Arc::downgrade(self),
                name: name.to_owned(),
                follower: follow.copies.lock().follower.clone(),
                asking: follow.asking.clone(),
                standing: follow.standing(name),
                known: Arc::clone(&known),
                is_default: is_default(name),
                last_image: Mutex::default(),
                next_opening: Mutex::default(),
                stopped: Arc::clone(&stopped),
            };
            let thread = thread::Builder::new().name(format!("follow-{name}"));
            let thread = thread.spawn(move || worker.run());
            let thread = Some(thread.map_err(|e| storage("cannot start a thread", e))?);
            workers.insert(name.to_owned(), Running { known, stopped, thread });
        }
        Ok(())
    }
}
