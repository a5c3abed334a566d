//! Functions of another process, in the process that has the database open.
//!
//! A process answers calls on connections of its own, of which it keeps one more open than are in
//! use: so a function may call another one, and several threads several at once.

use std::collections::HashMap;
use std::io;
use std::net::Shutdown;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use telar_db::query::{ErrorKind, QueryError, UserFunction, watch};
use telar_graph::column::Column;

use crate::codec::{self, CodecError, Input};
use crate::message::{Call, Returned, Welcome};
use crate::owner::Ended;
use crate::serving::unsent;
use crate::wire::{Wire, forever};

/// Time after which a call that waits for a connection looks whether its statement is to end.
const LOOK: Duration = Duration::from_millis(20);

/// The connections on which a process answers.
#[derive(Clone, Default)]
pub(crate) struct Functions(Arc<Pool>);

#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    came: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<(u64, Wire)>,
    all: HashMap<u64, Ended>,
    ended: bool,
}

impl Functions {
    /// From here on this connection answers, too, which is told so.
    pub(crate) fn answers(&self, number: u64, mut wire: Wire, welcome: &Welcome) -> io::Result<()> {
        let mut state = self.0.state.lock();
        if state.ended {
            return Ok(());
        }
        state.all.insert(number, Ended::of(&wire)?);
        wire.send(welcome, &mut forever)?;
        state.idle.push((number, wire));
        drop(state);
        self.0.came.notify_one();
        Ok(())
    }

    /// Ends calls, and takes no more.
    pub(crate) fn end(&self) {
        let mut state = self.0.state.lock();
        state.ended = true;
        state.idle.clear();
        state.all.drain().for_each(|(_, connection)| connection.end(Shutdown::Both));
        drop(state);
        self.0.came.notify_all();
    }

    /// A connection that nobody uses.
    fn take(&self) -> Result<Option<(u64, Wire)>, QueryError> {
        let mut state = self.0.state.lock();
        loop {
            if state.ended {
                return Ok(None);
            }
            if let Some(idle) = state.idle.pop() {
                return Ok(Some(idle));
            }
            self.0.came.wait_for(&mut state, LOOK);
            watch::check()?;
        }
    }

    fn put_back(&self, number: u64, wire: Wire) {
        let mut state = self.0.state.lock();
        if !state.ended {
            state.idle.push((number, wire));
            drop(state);
            self.0.came.notify_one();
        }
    }
}

/// A function of another process.
pub(crate) struct Remote {
    pub(crate) name: String,
    pub(crate) arguments: RangeInclusive<usize>,
    pub(crate) functions: Functions,
}

impl Remote {
    fn failed(&self, error: &dyn std::fmt::Display) -> QueryError {
        let text = format!("{}(): its process does not answer: {error}", self.name);
        QueryError::runtime(ErrorKind::ProcedureFailed, "FunctionFailed", text)
    }

    fn ask(
        &self,
        wire: &mut Wire,
        arguments: &[Arc<Column>],
        rows: usize,
    ) -> Result<Result<Column, QueryError>, QueryError> {
        let call = Call { name: self.name.clone(), rows };
        let put = wire.put(&call, |out| {
            arguments.iter().try_for_each(|column| codec::put_column(column, out))
        });
        put.map_err(|e: CodecError| unsent(&e))?;
        let mut look = || watch::check().map_err(|_| io::ErrorKind::TimedOut.into());
        let sent = wire.flush(&mut look).and_then(|()| wire.receive::<Returned>(&mut look));
        let frame = sent.map_err(|e| match watch::check() {
            // The statement is to end: the answer is not waited for.
            Err(ended) => ended.into(),
            Ok(()) => self.failed(&e),
        })?;
        if let Err(error) = frame.head {
            return Ok(Err(error));
        }
        let column = Input(&frame.body).column().map_err(|e| self.failed(&e))?;
        if column.len() == rows {
            return Ok(Ok(column));
        }
        Err(self.failed(&"it returned another number of values"))
    }
}

impl UserFunction for Remote {
    fn arguments(&self) -> RangeInclusive<usize> {
        self.arguments.clone()
    }

    fn call(&self, arguments: &[Arc<Column>], rows: usize) -> Result<Column, QueryError> {
        let Some((number, mut wire)) = self.functions.take()? else {
            return Err(self.failed(&"it has ended"));
        };
        let asked = self.ask(&mut wire, arguments, rows);
        if asked.is_ok() {
            self.functions.put_back(number, wire);
        } else {
            // What was asked may still be answered, which nobody waits for.
            self.functions.0.state.lock().all.remove(&number);
        }
        asked?
    }
}
