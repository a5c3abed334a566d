//! A client that speaks Bolt: what the shell is to a server that runs.
//!
//! One thread uses it and waits for each answer; another may set the flag that was given to
//! [`Client::connect`], and what runs is ended by a RESET. A connection that is lost outside of a
//! transaction is made again by the next statement.
//!
//! - `address`: `bolt+s://host:port`, `connection`: bytes and messages, `tls`: whom to trust.
//! - `answer`: rows and what is said of them, `graph`: nodes and relationships among them.

mod address;
mod answer;
mod connection;
mod graph;
#[cfg(test)]
mod tests;
mod tls;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use telar_db::{Isolation, Value, ValueMap};

pub use address::{Address, Trust};
pub use answer::{Answer, Remark};
use connection::{Connection, Ended, Pulls, Wanted};

use crate::dbms::{Bookmark, isolation_name};
pub(crate) use graph::Graph;

/// Rows that are asked for at a time.
const ROWS_AT_ONCE: i64 = 2000;

/// Who logs in.
#[derive(Clone, Default)]
pub struct Login {
    /// The name; empty where nobody has to log in.
    pub user: String,
    /// The password.
    pub password: String,
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The server refuses it, with a code and a message.
    Refused {
        /// `Neo.<class>.<category>.<title>`
        code: String,
        /// For people.
        message: String,
    },
    /// It was given up, as the flag was set.
    Interrupted,
    /// There is no connection, or none any more.
    Lost(String),
}

impl Error {
    /// The code of an error that the server told.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Refused { code, .. } => code,
            _ => "",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { message, .. } | Self::Lost(message) => f.write_str(message),
            Self::Interrupted => f.write_str("the query was given up"),
        }
    }
}

impl std::error::Error for Error {}

/// The transaction of several statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    None,
    Open,
    /// The server has undone it, and the user does not know that yet.
    Failed,
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    address: Address,
    login: Login,
    database: Option<String>,
    /// The level of isolation; none: the server's.
    isolation: Option<&'static str>,
    read_only: bool,
    /// Time of a statement or transaction; none: the server's.
    timeout: Option<Duration>,
    connection: Option<Connection>,
    transaction: Transaction,
    interrupted: Arc<AtomicBool>,
    /// The flag belongs to one statement or transaction, and is not cleared before it.
    is_flag_of_call: bool,
}

impl Client {
    /// Connects and logs in. Whoever sets the flag ends what runs at that time.
    ///
    /// # Errors
    /// If there is no such server, or it does not let this one in.
    pub fn connect(
        address: Address,
        login: Login,
        database: Option<String>,
        interrupted: Arc<AtomicBool>,
    ) -> Result<Self, Error> {
        let connection = Some(Connection::open(&address, &login, &interrupted)?);
        Ok(Self {
            address,
            login,
            database,
            isolation: None,
            read_only: false,
            timeout: None,
            connection,
            transaction: Transaction::None,
            interrupted,
            is_flag_of_call: false,
        })
    }

    /// Where the server is.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Who has logged in.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.login.user
    }

    /// The database that is used; none: that of the user.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// Uses another database from now on.
    pub fn set_database(&mut self, name: Option<String>) {
        self.database = name;
    }

    /// Isolates transactions like this from now on; none: as the server does.
    pub fn set_isolation(&mut self, level: Option<Isolation>) {
        self.isolation = level.map(isolation_name);
    }

    /// Has the server refuse what writes, in statements and transactions from now on.
    pub fn set_read_only(&mut self, read_only: bool) {
        self.read_only = read_only;
    }

    /// Limits the time of statements and transactions from now on; none: as the server does.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Lets a flag of its own end the next statement or transaction, also if it is set before.
    pub fn set_interrupt(&mut self, flag: Arc<AtomicBool>) {
        self.interrupted = Arc::clone(&flag);
        self.is_flag_of_call = true;
        if let Some(connection) = &mut self.connection {
            connection.set_interrupt(flag);
        }
    }

    /// Timestamp of the newest commit that the server has told of with the end of a transaction.
    #[must_use]
    pub fn last_commit(&self) -> Option<u64> {
        let bookmark: Bookmark = self.connection.as_ref()?.bookmark()?.parse().ok()?;
        Some(bookmark.ts.get())
    }

    /// Wishes for a transaction, without the name of the database.
    fn settings(&self) -> Wanted<'static> {
        let Self { isolation, read_only, timeout, .. } = *self;
        Wanted { database: None, isolation, read_only, timeout }
    }

    /// Whether a transaction of several statements is open.
    #[must_use]
    pub fn in_transaction(&self) -> bool {
        self.transaction != Transaction::None
    }

    /// The connection, made again if it was lost. What was to be given up before is over.
    fn connected(&mut self) -> Result<&mut Connection, Error> {
        if !self.is_flag_of_call {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            self.interrupted.store(false, Ordering::Relaxed);
        }
        let connection = match self.connection.take().filter(|open| !open.is_closed()) {
            Some(connection) => connection,
            None => Connection::open(&self.address, &self.login, &self.interrupted)?,
        };
        Ok(self.connection.insert(connection))
    }

    /// Notes what an error means for the connection and the transaction.
    fn note<T>(&mut self, done: Result<T, Ended>) -> Result<T, Error> {
        let open = self.transaction == Transaction::Open;
        done.map_err(|ended| {
            self.transaction = if open { Transaction::Failed } else { Transaction::None };
            match ended {
                Ended::Lost(mut message) => {
                    self.connection = None;
                    if open {
                        message += "; the transaction is undone";
                    }
                    Error::Lost(message)
                }
                Ended::Refused { code, message } => Error::Refused { code, message },
                Ended::Interrupted => Error::Interrupted,
            }
        })
    }

    fn failed() -> Error {
        let message = "a statement of this transaction has failed, and it is undone: end it with \
                       :rollback";
        Error::Refused {
            code: "Neo.ClientError.Transaction.TransactionNotFound".to_owned(),
            message: message.to_owned(),
        }
    }

    /// Runs a statement, in the transaction if one is open.
    ///
    /// # Errors
    /// What the server says of it. An open transaction is undone then, whatever it was.
    pub fn run(&mut self, text: &str, parameters: &ValueMap) -> Result<Answer, Error> {
        self.run_pulled(text, parameters, Pulls::ALL)
    }

    /// As [`run`](Self::run), of which at most so many rows are wanted.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_first(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        rows: usize,
    ) -> Result<Answer, Error> {
        let rows_at_once = i64::try_from(rows).unwrap_or(i64::MAX);
        self.run_pulled(text, parameters, Pulls { rows_at_once, only_first: true })
    }

    fn run_pulled(
        &mut self,
        text: &str,
        parameters: &ValueMap,
        pulls: Pulls,
    ) -> Result<Answer, Error> {
        if self.transaction == Transaction::Failed {
            return Err(Self::failed());
        }
        let database = self.database.clone();
        // In a transaction they are those of its beginning.
        let wanted = match self.transaction {
            Transaction::None => Wanted { database: database.as_deref(), ..self.settings() },
            _ => Wanted::default(),
        };
        let done = self.connected()?.run(text, parameters, wanted, pulls, None);
        self.note(done)
    }

    /// Runs a statement in the open transaction and hands its rows on, as they come.
    ///
    /// # Errors
    /// An error of the server, or of `each`: then the connection is ended.
    pub fn stream(
        &mut self,
        text: &str,
        each: &mut dyn FnMut(Vec<Vec<Value>>) -> Result<(), String>,
    ) -> Result<(), Error> {
        if self.transaction == Transaction::Failed {
            return Err(Self::failed());
        }
        let (parameters, wanted) = (ValueMap::new(), Wanted::default());
        let connection = self.connected()?;
        let done = connection.run(text, &parameters, wanted, Pulls::ALL, Some(each));
        let answer = self.note(done)?;
        each(answer.rows).map_err(Error::Lost)
    }

    /// Begins a transaction of several statements.
    ///
    /// # Errors
    /// If one is open, or the server refuses it.
    pub fn begin(&mut self) -> Result<(), Error> {
        let database = self.database.clone();
        let wanted = Wanted { database: database.as_deref(), ..self.settings() };
        let begun = self.connected()?.begin(wanted);
        self.note(begun)?;
        self.transaction = Transaction::Open;
        Ok(())
    }

    /// Commits it.
    ///
    /// # Errors
    /// If it could not be committed: nothing was changed, and it is not open any more.
    pub fn commit(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.transaction, Transaction::None) == Transaction::Failed {
            let message = "a statement of this transaction has failed: nothing was committed";
            let code = "Neo.ClientError.Transaction.TransactionNotFound".to_owned();
            return Err(Error::Refused { code, message: message.to_owned() });
        }
        let done = self.connected()?.commit();
        self.note(done)
    }

    /// Undoes it.
    ///
    /// # Errors
    /// If the connection is lost: it is undone, too.
    pub fn rollback(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.transaction, Transaction::None) == Transaction::Failed {
            return Ok(());
        }
        let done = self.connected()?.rollback();
        self.note(done)
    }

    /// Sets the password of the user who has logged in, and uses it from now on.
    ///
    /// # Errors
    /// If the server refuses it.
    pub fn change_password(&mut self, new: String) -> Result<(), Error> {
        let text = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new";
        let value = |text: &str| Value::from(text);
        let parameters = [("old", value(&self.login.password)), ("new", value(&new))];
        let parameters = parameters.into_iter().map(|(name, value)| (name.into(), value));
        let parameters: ValueMap = parameters.collect();
        let wanted = Wanted { database: Some("system"), ..Wanted::default() };
        let done = self.connected()?.run(text, &parameters, wanted, Pulls::ALL, None);
        self.note(done)?;
        self.login.password = new;
        Ok(())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(connection) = &mut self.connection {
            connection.goodbye();
        }
    }
}
