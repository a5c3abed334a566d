//! Statements of a process, wherever the database is.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use telar_db::Session as EngineSession;
use telar_db::query::{Columns, ErrorKind, QueryError, Sink, Summary};

use crate::message::Options;
use crate::peer::{Failure, Lost, Next, Peer, Until, next};
use crate::serving::ended_by;
use crate::shared::{Inner, Place, Statement, closed, interrupted, result_lost, without_rows};
use crate::transaction::Transaction;

/// Runs statements with some settings. Threads may share one. Where this process has the database
/// it keeps it open.
#[derive(Clone)]
pub struct Session {
    pub(crate) inner: Arc<Inner>,
    pub(crate) options: Options,
    pub(crate) cancelled: Option<Arc<AtomicBool>>,
    /// Of the database, once this process is known to have it.
    own: OnceLock<EngineSession>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("options", &self.options).finish_non_exhaustive()
    }
}

/// An id for what is to be committed once.
pub(crate) fn once() -> String {
    static PROCESS: OnceLock<u128> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let process = PROCESS.get_or_init(|| {
        let mut bytes = [0; 16];
        // Without randomness the number of the process and the time have to do.
        if getrandom::fill(&mut bytes).is_err() {
            let time = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
            return time.as_nanos() << 32 | u128::from(std::process::id());
        }
        u128::from_le_bytes(bytes)
    });
    // ORDERING: relaxed: each is given once.
    format!("{process:x}.{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

impl Session {
    pub(crate) fn new(inner: &Arc<Inner>, options: Options) -> Self {
        let session =
            Self { inner: Arc::clone(inner), options, cancelled: None, own: OnceLock::new() };
        session.find_own(&inner.place());
        session
    }

    /// The same session with other settings.
    #[must_use]
    pub fn with_options(&self, options: Options) -> Self {
        let (inner, cancelled) = (Arc::clone(&self.inner), self.cancelled.clone());
        let session = Self { inner, options, cancelled, own: OnceLock::new() };
        session.find_own(&self.inner.place());
        session
    }

    /// Its settings.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The same session, whose statements end once the flag is set.
    #[must_use]
    pub fn with_cancelled(&self, flag: &Arc<AtomicBool>) -> Self {
        let own = OnceLock::new();
        if let Some(session) = self.own.get() {
            let _ = own.set(ended_by(session, flag));
        }
        let (inner, options) = (Arc::clone(&self.inner), self.options.clone());
        Self { inner, options, cancelled: Some(Arc::clone(flag)), own }
    }

    /// The session of the database itself, if this process has it.
    fn find_own(&self, place: &Place) -> Option<&EngineSession> {
        let Place::Own { database, runtime, .. } = place else { return None };
        Some(self.own.get_or_init(|| {
            let session = EngineSession::with_runtime(database, Arc::clone(runtime));
            let session = self.options.apply(session);
            match &self.cancelled {
                Some(flag) => ended_by(&session, flag),
                None => session,
            }
        }))
    }

    /// Runs a statement as a transaction of its own, and hands its rows to `sink` as they come: see
    /// [`telar_db::Session::stream`].
    ///
    /// # Errors
    /// As there. [`ErrorKind::DatabaseUnavailable`], with detail `UnknownOutcome`, if the process
    /// that has the database ended after rows were handed on, or while a statement ran that cannot
    /// be sent again; `ResultLost` if it was committed, and its rows are lost.
    pub fn stream(
        &self,
        statement: &Statement<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Summary, QueryError> {
        if let Some(own) = self.own.get() {
            return run_here(own, statement, None, sink);
        }
        self.stream_elsewhere(statement, sink, &|lost| lost)
    }

    /// The same for a whole result, which begins anew where the process that had the database has
    /// ended.
    ///
    /// # Errors
    /// As [`stream`](Self::stream).
    pub fn run(
        &self,
        statement: &Statement<'_>,
        columns: &mut Columns,
    ) -> Result<Summary, QueryError> {
        if let Some(own) = self.own.get() {
            return run_here(own, statement, None, columns);
        }
        // What came is thrown away with the next names of columns.
        self.stream_elsewhere(statement, columns, &|lost| Lost { rows: false, ..lost })
    }

    fn stream_elsewhere(
        &self,
        statement: &Statement<'_>,
        sink: &mut dyn Sink,
        known: &dyn Fn(Lost) -> Lost,
    ) -> Result<Summary, QueryError> {
        let statement =
            Statement { cancelled: statement.cancelled.or(self.cancelled.as_ref()), ..*statement };
        let (mut id, mut again) = (None, false);
        let until = Until::new(statement.cancelled, self.options.timeout);
        interrupted(until)?;
        self.inner.retry(until, |place| match place {
            Place::Closed => next(Err(Failure::Query(closed()))),
            Place::Own { .. } => match self.find_own(place) {
                Some(own) => {
                    next(run_here(own, &statement, id.as_deref(), sink).map_err(Failure::Query))
                }
                None => next(Err(Failure::Query(closed()))),
            },
            Place::Other(peer) => {
                let id = id.get_or_insert_with(once);
                match self.run_there(peer, &statement, (id, again), (sink, until)) {
                    Next::Continue(lost) => {
                        again |= lost.sent;
                        Next::Continue(known(lost))
                    }
                    done => done,
                }
            }
        })
    }

    fn run_there(
        &self,
        peer: &Peer,
        statement: &Statement<'_>,
        (id, again): (&str, bool),
        to: (&mut dyn Sink, Until<'_>),
    ) -> Next<Summary> {
        let mut link = match peer.link(to.1) {
            Ok(link) => link,
            Err(failure) => return next(Err(failure)),
        };
        let set = link.set(&self.options);
        let ran = set.and_then(|()| link.run(peer, statement, (Some(id), again), to));
        peer.keep(link);
        next(ran)
    }

    /// Timestamp of the commit with this id, if this process has the database and knows it.
    pub(crate) fn committed(&self, id: &str) -> Option<u64> {
        let found = self.own.get()?.backend().committed_once(id)?;
        Some(found.get())
    }

    /// The end of waits for answers to it.
    pub(crate) fn until(&self) -> Until<'_> {
        Until::new(self.cancelled.as_ref(), self.options.timeout)
    }

    /// Begins a transaction of several statements.
    ///
    /// # Errors
    /// As [`telar_db::Session::begin`].
    pub fn begin(&self) -> Result<Transaction, QueryError> {
        if let Some(own) = self.own.get() {
            return Ok(Transaction::here(own.begin()?));
        }
        self.inner.retry(self.until(), |place| match place {
            Place::Closed => next(Err(Failure::Query(closed()))),
            Place::Own { .. } => match self.find_own(place) {
                Some(own) => next(own.begin().map(Transaction::here).map_err(Failure::Query)),
                None => next(Err(Failure::Query(closed()))),
            },
            Place::Other(_) => next(Transaction::there(self)),
        })
    }
}

/// The state of a statement with an id, before it runs.
pub(crate) enum Known {
    /// It was committed when it was sent before.
    Committed { at: u64, returns: bool },
    /// It can commit once, with the id.
    TakesOnce,
    /// It keeps no id.
    TakesNoId,
}

/// Looks a statement with an id up; `again` if it may have been committed.
pub(crate) fn known(
    session: &EngineSession,
    text: &str,
    id: &str,
    again: bool,
) -> Result<Known, QueryError> {
    let foreseen = session.foresee(text)?;
    let may_be = again && foreseen.changes;
    if let Some(at) = may_be.then(|| session.backend().committed_once(id)).flatten() {
        return Ok(Known::Committed { at: at.get(), returns: foreseen.returns });
    }
    Ok(if foreseen.takes_once { Known::TakesOnce } else { Known::TakesNoId })
}

/// Runs a statement in this process: with an id, if it may have run elsewhere before.
fn run_here(
    own: &EngineSession,
    statement: &Statement<'_>,
    id: Option<&str>,
    sink: &mut dyn Sink,
) -> Result<Summary, QueryError> {
    let Statement { text, parameters, tables, cancelled } = *statement;
    if tables.is_none() && id.is_none() && cancelled.is_none() {
        return own.stream(text, parameters, sink);
    }
    let mut own = own.clone().with_tables(tables.cloned());
    if let Some(flag) = cancelled {
        own = ended_by(&own, flag);
    }
    if let Some(id) = id {
        match known(&own, text, id, true)? {
            Known::Committed { at, returns: true } => return Err(result_lost(at)),
            Known::Committed { at, returns: false } => return Ok(without_rows(at)),
            Known::TakesOnce => own = own.with_once(id),
            Known::TakesNoId => {}
        }
    }
    own.stream(text, parameters, sink)
}

/// The error of an answer that does not fit.
pub(crate) fn misunderstood() -> QueryError {
    let text = "the process that has the database open answered another question";
    QueryError::runtime(ErrorKind::Database, "Share", text)
}
