//! Functions of this process that statements call, wherever the database is open.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread;

use parking_lot::Mutex;
use telar_db::query::{ErrorKind, QueryError, UserFunction};
use telar_graph::column::Column;

use crate::codec::{self, CodecError, Input};
use crate::message::{Call, Hello, Returned};
use crate::owner::STACK_BYTES;
use crate::peer::{NotIn, Until, connect};
use crate::serving::unsent;
use crate::wire::{Frame, Wire, forever};

/// Calls that are answered at a time, at most.
const CALLS_MAX: usize = 64;

/// Functions by the names that they were given.
#[derive(Default)]
pub(crate) struct Functions(Mutex<BTreeMap<String, Arc<dyn UserFunction>>>);

impl Functions {
    /// Adds a function, or replaces the one of this name, which is returned.
    pub(crate) fn add(
        &self,
        name: &str,
        function: &Arc<dyn UserFunction>,
    ) -> Option<Arc<dyn UserFunction>> {
        self.0.lock().insert(name.to_owned(), Arc::clone(function))
    }

    /// Forgets a function that could not be added.
    pub(crate) fn take_back(&self, name: &str, before: Option<Arc<dyn UserFunction>>) {
        let mut by_name = self.0.lock();
        match before {
            Some(before) => drop(by_name.insert(name.to_owned(), before)),
            None => drop(by_name.remove(name)),
        }
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<(String, Arc<dyn UserFunction>)> {
        let by_name = self.0.lock();
        by_name.iter().map(|(name, function)| (name.clone(), Arc::clone(function))).collect()
    }

    fn call(
        &self,
        name: &str,
        arguments: &[Arc<Column>],
        rows: usize,
    ) -> Result<Column, QueryError> {
        let function = self.0.lock().get(name).cloned();
        let Some(function) = function else {
            let text = format!("{name}(): the process has no such function any more");
            return Err(QueryError::runtime(ErrorKind::ProcedureFailed, "FunctionFailed", text));
        };
        function.call(arguments, rows)
    }
}

/// The threads that answer calls of an owner: one more than there are calls.
pub(crate) struct Answering {
    folder: PathBuf,
    process: u64,
    functions: Arc<Functions>,
    threads: Mutex<Threads>,
    /// For the threads.
    this: Weak<Self>,
}

#[derive(Default)]
struct Threads {
    idle: usize,
    all: usize,
}

impl Answering {
    pub(crate) fn new(folder: PathBuf, process: u64, functions: &Arc<Functions>) -> Arc<Self> {
        let (functions, threads) = (Arc::clone(functions), Mutex::default());
        Arc::new_cyclic(|this| Self { folder, process, functions, threads, this: this.clone() })
    }

    /// Answers calls from now on.
    pub(crate) fn begin(&self) -> Result<(), NotIn> {
        if self.threads.lock().all == 0 { self.add_thread() } else { Ok(()) }
    }

    fn add_thread(&self) -> Result<(), NotIn> {
        let Some(this) = self.this.upgrade() else { return Ok(()) };
        let hello = Hello::Functions { process: self.process };
        let (wire, _) = connect(&self.folder, &hello, Until::default())?;
        let counts = |threads: &mut Threads, by: isize| {
            threads.all = threads.all.saturating_add_signed(by);
            threads.idle = threads.idle.saturating_add_signed(by);
        };
        counts(&mut self.threads.lock(), 1);
        let thread = thread::Builder::new().name("telar-functions".into()).stack_size(STACK_BYTES);
        let thread = thread.spawn(move || {
            this.answer(wire);
            counts(&mut this.threads.lock(), -1);
        });
        thread.map(drop).map_err(|e| {
            counts(&mut self.threads.lock(), -1);
            NotIn::Failed(e)
        })
    }

    /// Answers calls on a connection until the owner ends it.
    fn answer(&self, mut wire: Wire) {
        while let Ok(Frame { head, body }) = wire.receive::<Call>(&mut forever) {
            let none_left = {
                let mut threads = self.threads.lock();
                threads.idle -= 1;
                threads.idle == 0 && threads.all < CALLS_MAX
            };
            if none_left {
                // Without another one, calls of this function's own statements wait.
                let _ = self.add_thread();
            }
            let returned = self.call(&head, &body);
            let sent = match returned {
                Ok(column) => wire.put(&Returned::Ok(()), |out| codec::put_column(&column, out)),
                Err(error) => wire.put(&Returned::Err(error), |_| Ok(())),
            };
            let sent = sent.or_else(|e: CodecError| {
                wire.put(&Returned::Err(unsent(&e)), |_| Ok::<(), CodecError>(()))
            });
            self.threads.lock().idle += 1;
            if sent.is_err() || wire.flush(&mut forever).is_err() {
                return;
            }
        }
    }

    fn call(&self, call: &Call, body: &[u8]) -> Result<Column, QueryError> {
        let mut input = Input(body);
        let mut arguments = Vec::new();
        while !input.0.is_empty() {
            arguments.push(Arc::new(input.column().map_err(|e| unsent(&e))?));
        }
        self.functions.call(&call.name, &arguments, call.rows)
    }
}
