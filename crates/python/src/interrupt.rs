//! Ctrl-C: a statement of the main thread ends at once, and Python raises `KeyboardInterrupt`.
//!
//! ```text
//!  signal ─► Python's handler ─► a byte into the wakeup pipe ─► watcher ─► flag of the limits
//!                                (signal.set_wakeup_fd)          thread    that a statement has
//! ```
//!
//! Python runs handlers of signals between its own instructions, and there are none while a
//! statement runs. What happens at once is a byte into a pipe, which is this module's for the time
//! of the statement; bytes that are about other signals go on to the pipe that was there before
//! (that of `asyncio`, say). Then Python runs the handler, which raises or does not.

use std::cell::Cell;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyBytes;
use rustix::event::{PollFd, PollFlags, poll};

use crate::fork::Process;

/// `SIGINT`, as its byte in the pipe.
const INTERRUPT: u8 = 2;

/// A flag that ends the statements which are given it.
///
/// >>> import telar
/// >>> token = telar.Token()
/// >>> token.cancel()
/// >>> token.cancelled
/// True
#[pyclass(frozen, module = "telar")]
#[derive(Default)]
pub(crate) struct Token {
    pub(crate) flag: Arc<AtomicBool>,
}

#[pymethods]
impl Token {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Ends what runs with this token, now and later.
    fn cancel(&self) {
        // ORDERING: relaxed: statements look again and again.
        self.flag.store(true, Ordering::Relaxed);
    }

    /// Whether it was cancelled.
    #[getter]
    fn cancelled(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of it.
        self.flag.load(Ordering::Relaxed)
    }
}

/// The pipe of this process, which a thread watches.
struct Pipe {
    process: Process,
    /// What Python writes into.
    write: UnixStream,
    read: UnixStream,
    /// Signals that came and are not the watcher's to handle. Who reads from the pipe holds it.
    seen: Mutex<Vec<u8>>,
    flag: Arc<AtomicBool>,
}

impl Pipe {
    fn new(flag: &Arc<AtomicBool>) -> io::Result<Arc<Self>> {
        let (write, read) = UnixStream::pair()?;
        write.set_nonblocking(true)?;
        read.set_nonblocking(true)?;
        let (process, seen, flag) = (Process::current(), Mutex::default(), Arc::clone(flag));
        let pipe = Arc::new(Self { process, write, read, seen, flag });
        let watched = Arc::clone(&pipe);
        thread::Builder::new().name("telar-signals".into()).spawn(move || watched.watch())?;
        Ok(pipe)
    }

    fn watch(&self) {
        loop {
            let mut files = [PollFd::new(&self.read, PollFlags::IN)];
            // An interrupted wait is one that begins again.
            if poll(&mut files, None).is_ok() {
                self.take(&mut self.seen.lock());
            }
        }
    }

    /// Reads what is in the pipe.
    fn take(&self, seen: &mut Vec<u8>) {
        let mut bytes = [0; 64];
        while let Ok(count @ 1..) = (&self.read).read(&mut bytes) {
            if bytes[..count].contains(&INTERRUPT) {
                // ORDERING: relaxed: statements look again and again.
                self.flag.store(true, Ordering::Relaxed);
            }
            seen.extend(&bytes[..count]);
        }
    }
}

static PIPE: Mutex<Option<Arc<Pipe>>> = Mutex::new(None);
static FLAG: PyOnceLock<Arc<AtomicBool>> = PyOnceLock::new();
static SET_WAKEUP_FD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

thread_local! {
    /// Whether this is Python's main thread, and of which process.
    static MAIN: Cell<Option<(Process, bool)>> = const { Cell::new(None) };
    /// Statements of this thread that Ctrl-C is to end and that run within each other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The flag that Ctrl-C sets: for statements of the main thread.
pub(crate) fn flag(py: Python<'_>) -> &Arc<AtomicBool> {
    FLAG.get_or_init(py, Arc::default)
}

/// Whether this thread is the one in which Python handles signals.
pub(crate) fn in_main_thread(py: Python<'_>) -> PyResult<bool> {
    let process = Process::current();
    if let Some((of, main)) = MAIN.get()
        && of == process
    {
        return Ok(main);
    }
    let threading = py.import(intern!(py, "threading"))?;
    let main = threading.call_method0(intern!(py, "main_thread"))?;
    let main = threading.call_method0(intern!(py, "current_thread"))?.is(&main);
    MAIN.set(Some((process, main)));
    Ok(main)
}

/// Runs `work` without Python. In the main thread, Ctrl-C sets the [`flag`] meanwhile, and what a
/// handler of a signal raises comes in place of the result.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if !in_main_thread(py)? || DEPTH.get() > 0 {
        return Ok(py.detach(work));
    }
    let pipe = {
        let mut current = PIPE.lock();
        match &*current {
            Some(pipe) if pipe.process == Process::current() => Arc::clone(pipe),
            _ => Arc::clone(current.insert(Pipe::new(flag(py))?)),
        }
    };
    let set = SET_WAKEUP_FD.get_or_try_init(py, || -> PyResult<_> {
        Ok(py.import("signal")?.getattr("set_wakeup_fd")?.unbind())
    })?;
    let before = set.call1(py, (pipe.write.as_raw_fd(),))?;
    // ORDERING: relaxed: the statement has not begun.
    pipe.flag.store(false, Ordering::Relaxed);
    DEPTH.set(1);
    let result = py.detach(work);
    DEPTH.set(0);
    set.call1(py, (&before,))?;
    let mut seen = pipe.seen.lock();
    pipe.take(&mut seen);
    if !seen.is_empty() {
        let bytes = std::mem::take(&mut *seen);
        drop(seen);
        if before.extract::<i32>(py)? >= 0 {
            let bytes = PyBytes::new(py, &bytes);
            py.import("os")?.call_method1("write", (before, bytes))?;
        }
        py.check_signals()?;
    }
    Ok(result)
}
