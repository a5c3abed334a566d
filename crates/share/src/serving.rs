//! A connection of another process, in the process that has the database open.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;
use telar_db::import::import_tables;
use telar_db::import::table::{NodeTable, RelationshipTable, TableImport, unique_keys};
use telar_db::query::{
    Columns, ErrorKind, Limits, QueryError, Rows, Sink, Summary, TableReader, Tables,
};
use telar_db::{QueryTransaction, Session};
use telar_graph::ValueMap;
use telar_graph::column::Column;

use crate::codec::{self, CodecError, Input};
use crate::message::{self, Answer, Options, Request};
use crate::owner::{Connection, Process, Serving};
use crate::peer::Until;
use crate::remote::Remote;
use crate::session::{Known, known};
use crate::shared;
use crate::wire::{Frame, Wire, forever};

/// Rows that go out at once, at least, unless it is the end.
const BATCH_ROWS: usize = 1 << 13;

/// Runs what a connection asks for.
pub(crate) struct Worker<'s> {
    serving: &'s Serving,
    process: &'s Process,
    connection: &'s Connection,
    wire: Wire,
    options: Options,
    session: Session,
    transaction: Option<Open>,
}

/// An open transaction.
struct Open {
    transaction: QueryTransaction,
    /// Ends its statements.
    flag: Arc<AtomicBool>,
}

/// A statement to run.
struct Run<'r> {
    text: &'r str,
    parameters: ValueMap,
    tables: Option<Arc<Tables>>,
    statement: u64,
}

/// An error that ends the connection, or one to answer with.
enum Failure {
    Gone(io::Error),
    Query(QueryError),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

impl From<QueryError> for Failure {
    fn from(error: QueryError) -> Self {
        Self::Query(error)
    }
}

impl From<CodecError> for Failure {
    fn from(error: CodecError) -> Self {
        Self::Query(unsent(&error))
    }
}

/// The error of values that do not go from one process to another: those that nest too deep, which
/// queries refuse, too.
pub(crate) fn unsent(error: &CodecError) -> QueryError {
    QueryError::runtime(ErrorKind::OutOfMemory, "ResultTooLarge", error.to_string())
}

/// The same session, whose statements this flag ends.
pub(crate) fn ended_by(session: &Session, flag: &Arc<AtomicBool>) -> Session {
    let limits = Limits { cancelled: Some(Arc::clone(flag)), ..session.limits().clone() };
    session.clone().with_limits(limits)
}

impl<'s> Worker<'s> {
    pub(crate) fn new(
        serving: &'s Serving,
        process: &'s Process,
        connection: &'s Connection,
        wire: Wire,
    ) -> Self {
        let session = Session::with_runtime(&serving.database, Arc::clone(&process.runtime));
        let (options, transaction) = (Options::default(), None);
        Self { serving, process, connection, wire, options, session, transaction }
    }

    /// Runs until the other end closes.
    pub(crate) fn run(mut self) -> io::Result<()> {
        loop {
            let Frame { head, body } = self.wire.receive(&mut forever)?;
            let answer = match self.answer(head, &body) {
                Ok(None) => continue,
                Ok(Some(answer)) => answer,
                Err(Failure::Query(error)) => Answer::Failed(error),
                Err(Failure::Gone(error)) => return Err(error),
            };
            self.wire.send(&answer, &mut forever)?;
        }
    }

    fn answer(&mut self, request: Request, body: &[u8]) -> Result<Option<Answer>, Failure> {
        let database = &self.serving.database;
        Ok(Some(match request {
            Request::Set(options) => {
                if options != self.options {
                    let (database, runtime) = (database, Arc::clone(&self.process.runtime));
                    self.session = options.apply(Session::with_runtime(database, runtime));
                    self.options = options;
                }
                return Ok(None);
            }
            Request::Run { text, statement, once, again } => {
                let (parameters, tables) = parameters_of(body)?;
                let run = Run { text: &text, parameters, tables, statement };
                match self.transaction.is_some() {
                    true => Answer::Ran(self.run_in_transaction(run)?.into()),
                    false => self.run_alone(run, once, again)?,
                }
            }
            Request::Begin { once } => {
                let flag = Arc::default();
                let session = ended_by(&self.session, &flag).with_once_if_possible(once);
                self.transaction = Some(Open { transaction: session.begin()?, flag });
                Answer::Done
            }
            Request::Commit => {
                let Some(open) = self.transaction.take() else { return Err(none_open().into()) };
                Answer::Committed(Some(open.transaction.commit()?.get()))
            }
            Request::Rollback => {
                self.transaction = None;
                Answer::Done
            }
            Request::Committed { id } => {
                let found = self.session.backend().committed_once(&id);
                Answer::Committed(found.map(telar_graph::CommitTs::get))
            }
            Request::UniqueKeys { label } => Answer::Names(unique_keys(database, &label)),
            Request::Checkpoint => {
                shared::checkpoint(database)?;
                Answer::Done
            }
            Request::Backup { folder } => {
                shared::backup(database, &folder)?;
                Answer::Done
            }
            Request::Load { tables, statement } => self.load(tables, statement)?,
            Request::AddFunction { name, fewest, most } => {
                let functions = self.process.functions.clone();
                let function = Remote { name: name.clone(), arguments: fewest..=most, functions };
                self.process.runtime.add_function(&name, Arc::new(function))?;
                Answer::Done
            }
            Request::Rows | Request::NoMoreRows | Request::NoRows(_) => {
                let text = "rows that nobody asked for";
                return Err(io::Error::new(io::ErrorKind::InvalidData, text).into());
            }
        }))
    }

    fn run_in_transaction(&mut self, run: Run<'_>) -> Result<Summary, Failure> {
        // What is wrong with it is said by the statement itself.
        if self.session.foresee(run.text).is_ok_and(|foreseen| !foreseen.takes_once) {
            self.wire.send(&Answer::NotAgain, &mut forever)?;
        }
        let Some(Open { transaction, flag }) = &mut self.transaction else {
            return Err(none_open().into());
        };
        self.connection.begins(run.statement, flag);
        transaction.set_tables(run.tables);
        let mut sink = Answers::new(&mut self.wire);
        let done = transaction.stream(run.text, &run.parameters, &mut sink);
        sink.end(done)
    }

    /// Runs a statement as a transaction of its own; `again` if it may have been committed.
    fn run_alone(
        &mut self,
        run: Run<'_>,
        once: Option<String>,
        again: bool,
    ) -> Result<Answer, Failure> {
        let flag = Arc::default();
        self.connection.begins(run.statement, &flag);
        let mut session = ended_by(&self.session, &flag).with_tables(run.tables);
        if let Some(id) = once {
            match known(&session, run.text, &id, again)? {
                Known::Committed { at, returns } => return Ok(Answer::Was { at, returns }),
                Known::TakesOnce => session = session.with_once(id),
                Known::TakesNoId => self.wire.send(&Answer::NotAgain, &mut forever)?,
            }
        }
        let mut sink = Answers::new(&mut self.wire);
        let done = session.stream(run.text, &run.parameters, &mut sink);
        Ok(Answer::Ran(sink.end(done)?.into()))
    }

    fn load(&mut self, tables: message::Tables, statement: u64) -> Result<Answer, Failure> {
        let flag: Arc<AtomicBool> = Arc::default();
        self.connection.begins(statement, &flag);
        let wire = Mutex::new(&mut self.wire);
        let mut import = TableImport { bad_rows: tables.bad_rows, ..TableImport::default() };
        import.unique = tables.unique.into_iter().map(message::Tables::unique_key).collect();
        let reader = |number: usize, names: Vec<String>| {
            let names = names.into_iter().map(Arc::from).collect();
            Box::new(Pulled { number, names, wire: &wire })
        };
        for (labels, names) in tables.nodes {
            let rows = reader(import.nodes.len(), names);
            import.nodes.push(NodeTable { labels, rows });
        }
        for (ty, [from, to], names) in tables.relationships {
            let rows = reader(import.nodes.len() + import.relationships.len(), names);
            let (from, to) = (message::Tables::end(from), message::Tables::end(to));
            import.relationships.push(RelationshipTable { ty, from, to, rows });
        }
        let until = Until::new(Some(&flag), None);
        let database = &self.serving.database;
        let report = import_tables(database, import, &|_| shared::interrupted(until))?;
        Ok(Answer::Loaded(report.into()))
    }
}

fn none_open() -> QueryError {
    let text = "no transaction is open in this connection";
    QueryError::runtime(ErrorKind::Semantic, "TransactionNotFound", text)
}

/// Writes parameters and tables.
pub(crate) fn put_parameters(
    parameters: &ValueMap,
    tables: Option<&Tables>,
    out: &mut Vec<u8>,
) -> Result<(), CodecError> {
    codec::put_map(parameters, out)?;
    for (name, rows) in tables.into_iter().flat_map(Tables::iter) {
        codec::put_text(name, out);
        codec::put_column(rows, out)?;
    }
    Ok(())
}

type Parameters = (ValueMap, Option<Arc<Tables>>);

fn parameters_of(body: &[u8]) -> Result<Parameters, CodecError> {
    let mut input = Input(body);
    let parameters = input.map()?;
    let mut tables = Tables::default();
    while !input.0.is_empty() {
        let name = input.text()?;
        if let Column::Maps(maps) = input.column()? {
            let column = |key: &Arc<str>| {
                let column = maps.column(key).map(|column| Column::clone(column));
                (Arc::clone(key), column.unwrap_or_default())
            };
            tables.add(name, maps.keys().iter().map(column));
        }
    }
    Ok((parameters, (!tables.is_empty()).then(|| Arc::new(tables))))
}

/// Sends the rows of a result.
struct Answers<'w> {
    wire: &'w mut Wire,
    names: Vec<Arc<str>>,
    batch: Columns,
    /// Whether something was sent, or the columns are known.
    begun: bool,
    gone: Option<io::Error>,
}

impl<'w> Answers<'w> {
    fn new(wire: &'w mut Wire) -> Self {
        Self { wire, names: Vec::new(), batch: Columns::default(), begun: false, gone: None }
    }

    /// Puts the batch, and sends it unless more follows at once.
    fn put(&mut self) -> Result<(), QueryError> {
        let batch = std::mem::take(&mut self.batch);
        let put = self.wire.put(&Answer::Batch, |out| codec::put_columns(&batch, out));
        put.map_err(|e: CodecError| unsent(&e))?;
        self.batch.columns(&self.names)
    }

    /// The last rows, with what there is to say of the statement.
    fn end(mut self, done: Result<Summary, QueryError>) -> Result<Summary, Failure> {
        if let Some(gone) = self.gone.take() {
            return Err(Failure::Gone(gone));
        }
        let summary = done?;
        if self.begun {
            self.put()?;
        }
        Ok(summary)
    }
}

impl Sink for Answers<'_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.names = columns.to_vec();
        self.begun = true;
        self.batch.columns(columns)
    }

    fn takes_columns(&self) -> bool {
        true
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.batch.rows(rows)?;
        if self.batch.row_count() < BATCH_ROWS {
            return Ok(());
        }
        self.put()?;
        self.wire.flush(&mut forever).map_err(|e| {
            self.gone = Some(e);
            let text = "the process that wants the rows has ended";
            QueryError::runtime(ErrorKind::Terminated, "Terminated", text)
        })
    }
}

/// A table of which the rows are asked for.
struct Pulled<'w> {
    number: usize,
    names: Vec<Arc<str>>,
    wire: &'w Mutex<&'w mut Wire>,
}

impl TableReader for Pulled<'_> {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let failed = |e: &dyn std::fmt::Display| {
            let text = format!("the rows of another process cannot be read: {e}");
            QueryError::runtime(ErrorKind::ExternalResource, "Share", text)
        };
        let mut wire = self.wire.lock();
        wire.send(&Answer::Pull(self.number), &mut forever).map_err(|e| failed(&e))?;
        let frame = wire.receive(&mut forever).map_err(|e| failed(&e))?;
        match frame.head {
            Request::Rows => {
                let mut input = Input(&frame.body);
                let columns = self.names.iter().map(|_| input.column());
                columns.collect::<Result<_, _>>().map(Some).map_err(|e| failed(&e))
            }
            Request::NoMoreRows => Ok(None),
            Request::NoRows(error) => Err(error),
            _ => Err(failed(&"it sent something else")),
        }
    }
}
