//! Worker of one database: fetches an image where there is no copy, and applies what follows.
//!
//! ```text
//!  no copy ─────────────────┐               ┌────── records ◄──────┐
//!  log not kept any more ───┼─► image ─► copy ─► ask for the log ───┘
//!  a record does not fit ───┘               └────── trouble: wait, longer each time, ask again
//! ```
//!
//! A copy whose disk has failed, as a full one does, takes nothing until it is opened again, which
//! is done once the disk takes a file. It is read until then.
//!
//! The copy that is there can be read while an image is fetched. Between its steps a worker holds
//! neither the server nor a database, so that these can be closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_cluster::replica::held_up::probe;
use telar_db::query::QueryError;
use telar_db::{CommitTs, Error as EngineError};

use super::super::Dbms;
use super::standing::{Seen, Standing};
use crate::replication::client::Asking;
use crate::replication::log::{self, Answer, Ask};
use crate::replication::{Client, Error, image};

/// Time for which the source waits for a commit.
const WAIT: Duration = log::WAIT_MAX;
/// First and longest pause after a failure.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// First pause between two openings of a copy whose disk fails.
const REOPENING_MIN: Duration = Duration::from_secs(1);
/// Time after which a pause looks whether it is to end.
const TICK: Duration = Duration::from_millis(50);
/// Lag from which on the log says that there is one.
const LAG_SHOWN: Duration = Duration::from_secs(30);

/// Failure of a step.
#[derive(Debug)]
pub(super) enum Failed {
    /// A request failed, or its answer is broken.
    Source(Error),
    /// The copy, or the server itself, refuses it.
    Here(String),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Source(error)
    }
}

impl From<QueryError> for Failed {
    fn from(error: QueryError) -> Self {
        Self::Here(error.message)
    }
}

impl Failed {
    pub(super) fn message(&self) -> String {
        match self {
            Self::Source(error) => error.to_string(),
            Self::Here(message) => message.clone(),
        }
    }

    pub(super) fn connected(&self) -> bool {
        !matches!(self, Self::Source(Error::Unreachable { .. }))
    }
}

/// Least time from an image to the next one: if a copy does not fit again and again, the source is
/// to have something else to do.
const IMAGE_REST: Duration = Duration::from_secs(10);

/// Waits, unless it is to end.
pub(super) fn pause(time: Duration, stopped: &AtomicBool) {
    let begun = Instant::now();
    // ORDERING: relaxed, as nothing else is read because of the flag.
    while begun.elapsed() < time && !stopped.load(Ordering::Relaxed) {
        thread::sleep(TICK.min(time));
    }
}

/// The next pause after `time`.
pub(super) fn longer(time: Duration) -> Duration {
    (2 * time).min(PAUSE_MAX)
}

/// First pause after a failure.
pub(super) const fn shortest() -> Duration {
    PAUSE_MIN
}

/// When a copy whose disk failed may be opened anew, and how much later the next time: the disk may
/// take a file, and yet not what comes.
#[derive(Debug)]
pub(super) struct NextOpening {
    at: Option<Instant>,
    pause: Duration,
}

impl Default for NextOpening {
    fn default() -> Self {
        Self { at: None, pause: REOPENING_MIN }
    }
}

/// Identity of the source's database, as the list of the source last had it.
pub(super) type Known = Mutex<Option<String>>;

/// Worker of a database.
pub(super) struct Worker {
    pub(super) dbms: Weak<Dbms>,
    pub(super) name: String,
    pub(super) follower: String,
    pub(super) asking: Asking,
    pub(super) standing: Arc<Standing>,
    /// The database at the source now.
    pub(super) known: Arc<Known>,
    pub(super) is_default: bool,
    /// Time at which the last image had come.
    pub(super) last_image: Mutex<Option<Instant>>,
    pub(super) next_opening: Mutex<NextOpening>,
    pub(super) stopped: Arc<AtomicBool>,
}

impl Worker {
    /// Follows until it is to end.
    pub(super) fn run(self) {
        let client = match self.asking.client(Arc::clone(&self.stopped)) {
            Ok(client) => client,
            Err(why) => return tracing::error!(database = %self.name, "cannot follow: {why}"),
        };
        let (mut rest, mut lagged) = (shortest(), false);
        // ORDERING: relaxed, as nothing else is read because of the flag.
        while !self.stopped.load(Ordering::Relaxed) {
            match self.step(&client) {
                Ok(()) => rest = shortest(),
                Err(Failed::Source(Error::Stopped)) => return,
                Err(failed) => {
                    let message = failed.message();
                    if self.standing.failed(&message, failed.connected()) {
                        tracing::warn!(database = %self.name, "following is held up: {message}");
                    }
                    pause(rest, &self.stopped);
                    rest = longer(rest);
                }
            }
            lagged = self.say_lag(&self.standing.seen(), lagged);
        }
    }

    /// Says in the log that the copy begins or ceases to be behind; returns which.
    fn say_lag(&self, seen: &Seen, lagged: bool) -> bool {
        let (commits, seconds) = (seen.commits_behind, seen.behind.as_secs());
        match (lagged, seen.behind) {
            (false, behind) if behind > LAG_SHOWN => {
                tracing::warn!(database = %self.name, commits, seconds, "the copy is behind");
                true
            }
            (true, Duration::ZERO) => {
                tracing::info!(database = %self.name, "the copy has caught up");
                false
            }
            _ => lagged,
        }
    }

    /// The server; none if it is gone.
    fn dbms(&self) -> Result<Arc<Dbms>, Failed> {
        self.dbms.upgrade().ok_or(Failed::Source(Error::Stopped))
    }

    /// One step: an image, or records.
    fn step(&self, client: &Client) -> Result<(), Failed> {
        let dbms = self.dbms()?;
        let follow = dbms.follow().ok_or(Failed::Source(Error::Stopped))?;
        let Some(folder) = follow.folder(&self.name) else {
            drop(dbms);
            return self.image(client, "there is no copy");
        };
        let Some(open) = dbms.open_copy(&self.name) else {
            let there = dbms.store.as_ref().is_some_and(|store| store.database(&folder).is_dir());
            if there {
                return Ok(dbms.reopen_copy(&self.name)?);
            }
            drop(dbms);
            return self.image(client, "the folder of the copy is missing");
        };
        if let Err(error) = open.engine.check_writable() {
            drop(open);
            return self.open_anew(&dbms, &folder, &error);
        }
        let (after, source) = (open.engine.published(), open.source.clone());
        drop((open, dbms));
        let ask = Ask {
            name: &self.name,
            identity: &source,
            after,
            wait: WAIT,
            follower: &self.follower,
        };
        match log::fetch(client, &ask) {
            Ok(answer) => self.apply(client, &answer, after),
            Err(error) if error.is_gone() => self.image_again(client, "its log is not kept"),
            Err(error) if error.is_other() && self.is_replaced(&source) => {
                self.image(client, "it was made anew at the source")
            }
            Err(error) if error.is_other() => Err(Failed::Here(format!(
                "{error}. The copy stays as it is: to follow what is there now, begin with an \
                 empty folder; to keep the copy, use `telar promote`"
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a copy anew whose disk has failed, if the disk takes writes again, and not at once
    /// after the last time.
    fn open_anew(&self, dbms: &Dbms, folder: &str, error: &EngineError) -> Result<(), Failed> {
        let store = dbms.store.as_ref().ok_or(Failed::Source(Error::Stopped))?;
        let mut next = self.next_opening.lock();
        let is_early = next.at.is_some_and(|at| Instant::now() < at);
        if is_early || probe(&store.database(folder)).is_err() {
            return Err(Failed::Here(error.to_string()));
        }
        *next = NextOpening { at: Some(Instant::now() + next.pause), pause: longer(next.pause) };
        drop(next);
        tracing::info!(database = %self.name, "the copy is opened anew, since its disk had failed");
        dbms.close_copy(&self.name);
        // Where a client holds it still, the next step tries again, which follows at once.
        let _ = dbms.reopen_copy(&self.name);
        Ok(())
    }

    /// True if the source has dropped the database and made one of the same name. A default
    /// database is never believed to be that: it says which server the source is.
    fn is_replaced(&self, source: &str) -> bool {
        let known = self.known.lock();
        !self.is_default && known.as_deref().is_some_and(|known| known != source)
    }

    fn apply(&self, client: &Client, answer: &Answer, after: CommitTs) -> Result<(), Failed> {
        let dbms = self.dbms()?;
        let Some(open) = dbms.open_copy(&self.name) else { return Ok(()) };
        let applied = match &answer.records {
            Some(records) => open.engine.apply(records.as_group()),
            None => Ok(after),
        };
        drop((open, dbms));
        match applied {
            Ok(own) => {
                if answer.records.is_some() {
                    *self.next_opening.lock() = NextOpening::default();
                }
                if self.standing.answered(answer.newest, own.get()) {
                    tracing::info!(database = %self.name, "following goes on");
                }
                Ok(())
            }
            Err(error @ EngineError::Diverged { .. }) => {
                tracing::warn!(database = %self.name, "a record does not fit the copy: {error}");
                self.image_again(client, "a record does not fit")
            }
            Err(error) => Err(Failed::Here(error.to_string())),
        }
    }

    /// Fetches an image of a database that has one, but not at once after the last.
    fn image_again(&self, client: &Client, why: &str) -> Result<(), Failed> {
        let rested = self.last_image.lock().map_or(IMAGE_REST, |at| at.elapsed());
        pause(IMAGE_REST.saturating_sub(rested), &self.stopped);
        self.image(client, why)
    }

    /// Fetches an image and puts it in the place of the copy, if there is one.
    fn image(&self, client: &Client, why: &str) -> Result<(), Failed> {
        tracing::info!(database = %self.name, "a whole copy is fetched: {why}");
        self.standing.begins_image();
        let (folder, path) = self.dbms()?.next_copy(&self.name)?;
        let fetched = image::fetch(client, &self.name, &path, Some(&self.follower))?;
        let dbms = self.dbms()?;
        if let Err(error) = dbms.install_copy(&self.name, &folder, fetched.source) {
            super::super::store::remove_folder(&path);
            return Err(error.into());
        }
        self.standing.has_image();
        *self.last_image.lock() = Some(Instant::now());
        let (commit, bytes) = (fetched.commit.get(), fetched.bytes);
        tracing::info!(database = %self.name, commit, bytes, "a whole copy has come");
        Ok(())
    }
}
