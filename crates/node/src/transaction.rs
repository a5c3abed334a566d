//! Several statements in one transaction.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use napi::Env;
use napi_derive::napi;
use parking_lot::Mutex;
use telar_db::CommitTs;
use telar_db::query::{Columns, QueryError};
use telar_share::{Session, Statement, Transaction as Begun};

use crate::database::Ends;
use crate::error::{Answer, Failure, answer};
use crate::held::Held;
use crate::hub::{Hub, Outcome};
use crate::pool::Admission;
use crate::tables::{Parameters, Tables};

/// A transaction.
pub(crate) enum Open {
    Begun(Begun),
    /// It begins with its first statement.
    Later(Box<Session>),
}

impl Open {
    fn begun(self) -> Result<Begun, QueryError> {
        match self {
            Self::Begun(transaction) => Ok(transaction),
            Self::Later(session) => session.begin(),
        }
    }

    fn commit(self) -> Result<CommitTs, QueryError> {
        self.begun()?.commit()
    }

    fn rollback(self) {
        if let Self::Begun(transaction) = self {
            transaction.rollback();
        }
    }
}

enum State {
    Open(Open),
    /// A statement runs, or the commit.
    Busy,
    Committed,
    RolledBack,
}

struct Shared {
    state: Mutex<State>,
    /// Ends the statement that runs.
    flag: Arc<AtomicBool>,
}

/// Statements that are committed together or not at all.
#[napi]
pub struct Transaction {
    shared: Arc<Shared>,
}

/// A transaction that was taken for a statement or the commit. Unless it says what it becomes,
/// after a panic for example, the transaction is gone.
struct Busy {
    shared: Arc<Shared>,
    transaction: Option<Open>,
    becomes: State,
}

impl Drop for Busy {
    fn drop(&mut self) {
        drop(self.transaction.take());
        *self.shared.state.lock() = mem::replace(&mut self.becomes, State::Busy);
    }
}

impl Shared {
    fn take(self: &Arc<Self>) -> Result<Busy, Failure> {
        let mut state = self.state.lock();
        let text = match &*state {
            State::Open(_) => {
                let State::Open(transaction) = mem::replace(&mut *state, State::Busy) else {
                    unreachable!("INVARIANT: it was just looked at");
                };
                let (shared, transaction) = (Arc::clone(self), Some(transaction));
                return Ok(Busy { shared, transaction, becomes: State::RolledBack });
            }
            State::Busy => "a statement runs in this transaction: await it first",
            State::Committed => "the transaction is committed: begin another one",
            State::RolledBack => "the transaction is rolled back: begin another one",
        };
        Err(Failure::closed(text))
    }
}

impl Busy {
    fn taken(&mut self) -> Result<Open, Failure> {
        self.transaction.take().ok_or_else(|| Failure::internal("a transaction is used up"))
    }

    fn query(mut self, text: &str, parameters: Parameters) -> Result<Held, Failure> {
        let mut transaction = self.taken()?.begun()?;
        let done = parameters.read().and_then(|(values, tables)| {
            let mut columns = Columns::default();
            let statement = Statement { tables: tables.as_ref(), ..Statement::new(text, &values) };
            let summary = transaction.stream(&statement, &mut columns)?;
            Ok(Held::new(columns, summary))
        });
        self.becomes = State::Open(Open::Begun(transaction));
        done
    }

    fn commit(mut self) -> Result<u64, Failure> {
        let at = self.taken()?.commit()?;
        self.becomes = State::Committed;
        Ok(at.get())
    }

    fn rollback(mut self) {
        self.transaction.take().into_iter().for_each(Open::rollback);
    }
}

impl Ends for Shared {
    fn end(&self) {
        // ORDERING: relaxed: the statement looks again and again.
        self.flag.store(true, Ordering::Relaxed);
        let mut state = self.state.lock();
        if let State::Open(_) = &*state {
            let transaction = mem::replace(&mut *state, State::RolledBack);
            drop(state);
            drop(transaction);
        }
    }

    fn has_ended(&self) -> bool {
        let state = self.state.lock();
        if let State::Open(_) = &*state {
            // The statement that ran when it was told to end has ended.
            drop(state);
            self.end();
            return true;
        }
        !matches!(*state, State::Busy)
    }
}

impl Transaction {
    pub(crate) fn new(transaction: Open, flag: Arc<AtomicBool>) -> Self {
        let state = Mutex::new(State::Open(transaction));
        Self { shared: Arc::new(Shared { state, flag }) }
    }

    pub(crate) fn ends(&self) -> Weak<dyn Ends> {
        let shared: Arc<dyn Ends> = Arc::<Shared>::clone(&self.shared);
        Arc::downgrade(&shared)
    }
}

#[napi]
impl Transaction {
    /// Runs a statement on a thread.
    #[napi]
    pub fn query(
        &self,
        hub: &Hub,
        number: u32,
        text: String,
        parameters: &[u8],
        tables: Option<&Tables>,
    ) {
        let taken = Parameters::new(parameters, tables)
            .and_then(|parameters| Ok((parameters, self.shared.take()?)));
        match taken {
            Ok((parameters, busy)) => hub.run(number, Admission::Free, move || {
                Ok(Outcome::Held(Box::new(busy.query(&text, parameters)?.prepared())))
            }),
            Err(failure) => hub.ticket(number).done(Err(failure)),
        }
    }

    /// Runs a statement.
    #[napi]
    pub fn query_sync(
        &self,
        env: Env,
        text: String,
        parameters: &[u8],
        tables: Option<&Tables>,
    ) -> napi::Result<Answer<Held>> {
        let held = Parameters::new(parameters, tables)
            .and_then(|parameters| self.shared.take()?.query(&text, parameters));
        if let Ok(held) = &held {
            held.tell(&env)?;
        }
        Ok(answer(held))
    }

    /// Commits, on a thread.
    #[napi]
    pub fn commit(&self, hub: &Hub, number: u32) {
        match self.shared.take() {
            Ok(busy) => {
                hub.run(number, Admission::Free, move || Ok(Outcome::At(busy.commit()?)));
            }
            Err(failure) => hub.ticket(number).done(Err(failure)),
        }
    }

    /// Commits; returns the commit timestamp.
    #[napi]
    pub fn commit_sync(&self) -> Answer<i64> {
        answer(self.shared.take().and_then(Busy::commit).map(u64::cast_signed))
    }

    /// Undoes everything, on a thread. Does nothing if it is not open any more.
    #[napi]
    pub fn rollback(&self, hub: &Hub, number: u32) {
        match self.shared.take() {
            Ok(busy) => hub.run(number, Admission::Free, move || {
                busy.rollback();
                Ok(Outcome::Nothing)
            }),
            Err(failure) => hub.ticket(number).done(self.nothing_to_undo(failure)),
        }
    }

    /// Undoes everything.
    #[napi]
    pub fn rollback_sync(&self) -> Answer<bool> {
        match self.shared.take() {
            Ok(busy) => {
                busy.rollback();
                answer(Ok(true))
            }
            Err(failure) => answer(self.nothing_to_undo(failure).map(|_| true)),
        }
    }

    /// Ends the statement that runs, and with it the transaction.
    #[napi]
    pub fn cancel(&self) {
        // ORDERING: relaxed: the statement looks again and again.
        self.shared.flag.store(true, Ordering::Relaxed);
    }

    /// `open`, `busy`, `committed` or `rolled back`.
    #[napi]
    pub fn state(&self) -> &'static str {
        match *self.shared.state.lock() {
            State::Open(_) => "open",
            State::Busy => "busy",
            State::Committed => "committed",
            State::RolledBack => "rolled back",
        }
    }
}

impl Transaction {
    fn nothing_to_undo(&self, failure: Failure) -> Result<Outcome, Failure> {
        match *self.shared.state.lock() {
            State::Busy => Err(failure),
            _ => Ok(Outcome::Nothing),
        }
    }
}
