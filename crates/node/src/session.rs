//! Statements that are transactions of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use napi::Env;
use napi_derive::napi;
use telar_db::query::Columns;
use telar_share::{Options, Session, Statement as Asked};

use crate::database::{Database, Runner};
use crate::error::{Answer, Failure, answer};
use crate::held::Held;
use crate::hub::{Hub, Outcome};
use crate::pool::Admission;
use crate::settings::milliseconds;
use crate::stream::Stream;
use crate::tables::{Parameters, Tables};
use crate::transaction::{Open, Transaction};

/// The means by which a statement may end early: its flag, its time.
#[napi]
pub struct Token {
    flag: Arc<AtomicBool>,
    timeout: Option<f64>,
}

#[napi]
impl Token {
    /// A flag that is not set, and milliseconds after which a statement is given up.
    #[napi(constructor)]
    pub fn new(timeout: Option<f64>) -> Self {
        Self { flag: Arc::default(), timeout }
    }

    /// Ends what runs with it, now and later.
    #[napi]
    pub fn cancel(&self) {
        // ORDERING: relaxed: statements look again and again.
        self.flag.store(true, Ordering::Relaxed);
    }
}

/// The same session with a time limit of its own, in milliseconds.
fn limited(session: &Session, timeout: Option<f64>) -> Result<Session, Failure> {
    let Some(timeout) = timeout else { return Ok(session.clone()) };
    let timeout = Some(milliseconds("timeout", timeout)?);
    Ok(session.with_options(Options { timeout, ..session.options().clone() }))
}

/// A statement that is about to run.
struct Statement {
    runner: Arc<Runner>,
    text: String,
    parameters: Parameters,
    /// The session, where it is not that of the runner.
    own: Option<Session>,
}

impl Statement {
    fn new(
        database: &Database,
        text: String,
        (parameters, tables): (&[u8], Option<&Tables>),
        token: Option<&Token>,
    ) -> Result<Self, Failure> {
        let runner = database.runner()?;
        let parameters = Parameters::new(parameters, tables)?;
        let mut own = None;
        if let Some(token) = token {
            database.opened().flag(&token.flag);
            own = Some(limited(&runner.session, token.timeout)?.with_cancelled(&token.flag));
        }
        Ok(Self { runner, text, parameters, own })
    }

    fn run(self) -> Result<Held, Failure> {
        let Self { runner, text, parameters, own } = self;
        let (values, tables) = parameters.read()?;
        let session = own.as_ref().unwrap_or(&runner.session);
        let asked = Asked { tables: tables.as_ref(), ..Asked::new(&text, &values) };
        let mut columns = Columns::default();
        let summary = session.run(&asked, &mut columns)?;
        Ok(Held::new(columns, summary))
    }
}

#[napi]
impl Database {
    /// Runs a statement on a thread.
    #[napi]
    pub fn query(
        &self,
        hub: &Hub,
        number: u32,
        text: String,
        parameters: &[u8],
        tables: Option<&Tables>,
        token: Option<&Token>,
    ) {
        match Statement::new(self, text, (parameters, tables), token) {
            Ok(statement) => hub.run(number, Admission::Limited, move || {
                Ok(Outcome::Held(Box::new(statement.run()?.prepared())))
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
        token: Option<&Token>,
    ) -> napi::Result<Answer<Held>> {
        let statement = Statement::new(self, text, (parameters, tables), token);
        let held = statement.and_then(Statement::run);
        if let Ok(held) = &held {
            held.tell(&env)?;
        }
        Ok(answer(held))
    }

    /// A statement whose rows come batch by batch, as chunks or as parts of a stream of Arrow.
    #[napi]
    pub fn stream(
        &self,
        text: String,
        parameters: &[u8],
        tables: Option<&Tables>,
        token: Option<&Token>,
        arrow: bool,
    ) -> Answer<Stream> {
        let statement = Statement::new(self, text, (parameters, tables), token);
        answer(statement.map(|statement| {
            let Statement { runner, text, parameters, own } = statement;
            let session = own.unwrap_or_else(|| runner.session.clone());
            let stream = Stream::new(runner, session, (text, parameters), arrow);
            self.opened().note(stream.ends());
            stream
        }))
    }

    /// Begins a transaction: here at once, in another process with its first statement, so that
    /// JavaScript does not wait for that process.
    #[napi]
    pub fn begin(&self, timeout: Option<f64>) -> Answer<Transaction> {
        let begin = || {
            let flag = Arc::default();
            let session = limited(&self.runner()?.session, timeout)?.with_cancelled(&flag);
            let transaction = match self.opened().database()?.is_owner() {
                true => Open::Begun(session.begin()?),
                false => Open::Later(Box::new(session)),
            };
            let transaction = Transaction::new(transaction, flag);
            self.opened().note(transaction.ends());
            Ok(transaction)
        };
        answer(begin())
    }
}
