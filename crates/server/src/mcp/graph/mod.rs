//! The graph that tools read: a folder, which other processes may use, too, a server, or a database
//! of the server that this is a part of.
//!
//! A tool reads one state: its statements are a transaction that only reads, or each is `AT
//! TIMESTAMP` of the same commit. What writes is one statement, a transaction of its own.

mod pool;
mod within;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use telar_db::query::{Counters, QueryResult, Summary};
use telar_db::{ValueMap, machine_memory_bytes};
use telar_share::{Options, Session, Shared, Statement, Transaction};

use super::Settings;
use super::failure::Failure;
use super::gather::{Gather, Room};
use super::past::Past;
use crate::bolt::client::{self, Address, Answer, Login};
use crate::dbms::{Client, Work};
use pool::{Lent, Pool};
use within::Within;

/// Cancel flag of a call.
pub(crate) type Flag = Arc<AtomicBool>;

/// The part of the machine's memory that one statement may take.
const MEMORY_SHARE: u64 = 4;

/// A graph.
#[derive(Debug)]
pub struct Graph(Place);

enum Place {
    Folder(Shared),
    Server(Pool),
    Within(Within),
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(shared) => shared.fmt(f),
            Self::Server(pool) => write!(f, "{}", pool.address),
            Self::Within(within) => within.fmt(f),
        }
    }
}

/// Result of a statement.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) rows: Gather,
    pub(crate) counters: Counters,
    /// The commit that was read or made, if it is known by now.
    pub(crate) at: Option<u64>,
    pub(crate) plan: Option<String>,
    /// Notices on parts that are probably not meant as written.
    pub(crate) remarks: Vec<String>,
}

impl Answered {
    fn of_summary(rows: Gather, summary: Summary) -> Self {
        let Summary { counters, at, plan, notifications, .. } = summary;
        // A statement that is explained reads nothing.
        let at = (plan.is_none() || at.get() > 0).then(|| at.get());
        let plan = plan.map(|plan| plan.to_string());
        let remarks = notifications.into_iter().map(|found| found.message).collect();
        Self { rows, counters, at, plan, remarks }
    }

    fn of_answer(mut rows: Gather, answer: Answer) -> Result<Self, Failure> {
        let Answer { columns, rows: found, entities, counters, plan, remarks } = answer;
        let result = QueryResult { columns, rows: found, entities, ..QueryResult::default() };
        result.send(&mut rows)?;
        let remarks = remarks.into_iter().map(|remark| remark.message).collect();
        Ok(Self { rows, counters, at: None, plan, remarks })
    }
}

/// One state of the graph, for several statements.
pub(crate) struct Reading<'g> {
    open: Open<'g>,
    past: Option<Past>,
    /// The commit that was read, as far as it is known.
    at: Option<u64>,
}

enum Open<'g> {
    Folder(Transaction),
    Server(Box<Lent<'g>>),
    Within(Box<Work>),
}

impl Graph {
    /// The database in a folder.
    #[must_use]
    pub fn of_folder(shared: Shared) -> Self {
        Self(Place::Folder(shared))
    }

    /// A database of a server.
    ///
    /// # Errors
    /// If it cannot be connected to, or does not let this one in.
    pub fn of_server(
        address: Address,
        login: Login,
        database: Option<String>,
    ) -> Result<Self, client::Error> {
        Ok(Self(Place::Server(Pool::new(address, login, database)?)))
    }

    /// A database of this server, with the rights of a client.
    pub(crate) fn of_client(client: Arc<Client>, database: Arc<str>) -> Self {
        Self(Place::Within(Within { client, database }))
    }

    /// Closes the database, if this process has it.
    ///
    /// # Errors
    /// If the checkpoint cannot be written: nothing that was committed is lost.
    pub fn close(&self) -> Result<(), telar_db::Error> {
        match &self.0 {
            Place::Folder(shared) => shared.close(),
            Place::Server(_) | Place::Within(_) => Ok(()),
        }
    }

    fn session(shared: &Shared, settings: &Settings, flag: &Flag, write: bool) -> Session {
        let memory = usize::try_from(machine_memory_bytes() / MEMORY_SHARE).ok();
        let timeout = Some(settings.timeout);
        let options = Options { timeout, memory, read_only: !write, ..Options::default() };
        shared.session(options).with_cancelled(flag)
    }

    /// Begins to read the present, or a state of the past.
    ///
    /// # Errors
    /// If no transaction can begin.
    pub(crate) fn read(
        &self,
        settings: &Settings,
        flag: &Flag,
        past: Option<Past>,
    ) -> Result<Reading<'_>, Failure> {
        let open = match &self.0 {
            Place::Folder(shared) => {
                Open::Folder(Self::session(shared, settings, flag, false).begin()?)
            }
            Place::Server(pool) => Open::Server(Box::new(pool.begin(settings, flag, false)?)),
            Place::Within(within) => Open::Within(Box::new(within.begin(settings, flag)?)),
        };
        Ok(Reading { open, past, at: None })
    }

    /// Runs a statement that may write, as a transaction of its own.
    ///
    /// # Errors
    /// Errors of the statement: nothing was changed.
    pub(crate) fn write(
        &self,
        settings: &Settings,
        flag: &Flag,
        (text, parameters): (&str, &ValueMap),
        room: Room,
    ) -> Result<Answered, Failure> {
        let mut rows = Gather::new(room);
        match &self.0 {
            Place::Folder(shared) => {
                let session = Self::session(shared, settings, flag, true);
                let summary = session.stream(&Statement::new(text, parameters), &mut rows)?;
                Ok(Answered::of_summary(rows, summary))
            }
            Place::Server(pool) => {
                let mut lent = pool.begin(settings, flag, true)?;
                // Some statements run only outside of a transaction.
                lent.client().rollback()?;
                let answer = lent.client().run_first(text, parameters, room.rows + 1)?;
                let at = lent.client().last_commit();
                Ok(Answered { at, ..Answered::of_answer(rows, answer)? })
            }
            Place::Within(within) => {
                let summary = within.write(settings, flag, (text, parameters), &mut rows)?;
                Ok(Answered::of_summary(rows, summary))
            }
        }
    }
}

impl Reading<'_> {
    /// Runs a statement at the state that is read.
    ///
    /// # Errors
    /// Those of the statement.
    pub(crate) fn run(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        room: Room,
    ) -> Result<Answered, Failure> {
        let Some(past) = &self.past else { return self.run_now(text, parameters, room) };
        let as_of = past.of(text)?;
        let mut parameters = parameters.clone();
        let (name, value) = past.parameter();
        parameters.insert(name.into(), value);
        let commit = match past {
            Past::Commit(commit) => u64::try_from(*commit).ok(),
            Past::Time(_) => None,
        };
        let done = match &mut self.open {
            Open::Folder(transaction) => {
                let mut rows = Gather::new(room);
                let statement = Statement::new(&as_of.text, &parameters);
                match transaction.stream(&statement, &mut rows) {
                    Ok(summary) => Ok(Answered::of_summary(rows, summary)),
                    Err(error) => Err(Failure::from(as_of.placed(error))),
                }
            }
            Open::Server(lent) => pool::run(lent.client(), &as_of.text, &parameters, room)
                .map_err(|failure| failure.placed(&as_of)),
            Open::Within(work) => within::run(work, &as_of.text, &parameters, room)
                .map_err(|failure| failure.placed(&as_of)),
        }?;
        self.at = done.at.or(commit).or(self.at);
        Ok(done)
    }

    /// Runs a statement at the present in any case, as commands have no past.
    ///
    /// # Errors
    /// Those of the statement.
    pub(crate) fn run_now(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        room: Room,
    ) -> Result<Answered, Failure> {
        let done = match &mut self.open {
            Open::Folder(transaction) => {
                let mut rows = Gather::new(room);
                let summary = transaction.stream(&Statement::new(text, parameters), &mut rows)?;
                Answered::of_summary(rows, summary)
            }
            Open::Server(lent) => pool::run(lent.client(), text, parameters, room)?,
            Open::Within(work) => within::run(work, text, parameters, room)?,
        };
        if self.past.is_none() {
            self.at = done.at.or(self.at);
        }
        Ok(done)
    }

    /// Ends it, and says which commit was read, if that is known.
    pub(crate) fn finish(self) -> Option<u64> {
        match self.open {
            Open::Folder(transaction) => transaction.rollback(),
            Open::Server(mut lent) if self.past.is_none() => {
                // A transaction that only read has nothing that could fail to be committed.
                lent.client().commit().ok()?;
                return lent.client().last_commit();
            }
            Open::Server(_) => {}
            Open::Within(work) => work.rollback(),
        }
        self.at
    }
}
