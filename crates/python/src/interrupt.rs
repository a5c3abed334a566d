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
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
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
    pub(crate) fn cancel(&self) {
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
    /// Whether a statement runs for which it is there.
    active: AtomicBool,
    /// The pipe that signals went to before, or -1.
    before: AtomicI32,
    /// Held while bytes of the pipe are read and what they say is done.
    turn: Mutex<()>,
    /// Signals that came, which are to go there, and whether there are any.
    seen: Mutex<Vec<u8>>,
    came: AtomicBool,
    flag: Arc<AtomicBool>,
}

impl Pipe {
    fn new(flag: &Arc<AtomicBool>) -> io::Result<Arc<Self>> {
        let (write, read) = UnixStream::pair()?;
        write.set_nonblocking(true)?;
        read.set_nonblocking(true)?;
        let pipe = Arc::new(Self {
            process: Process::current(),
            write,
            read,
            active: AtomicBool::new(false),
            before: AtomicI32::new(-1),
            turn: Mutex::default(),
            seen: Mutex::default(),
            came: AtomicBool::new(false),
            flag: Arc::clone(flag),
        });
        let watched = Arc::clone(&pipe);
        thread::Builder::new().name("telar-signals".into()).spawn(move || watched.watch())?;
        Ok(pipe)
    }

    /// Waits for bytes, as long as the process lives.
    fn watch(&self) {
        loop {
            let mut readable = [PollFd::new(&self.read, PollFlags::IN)];
            // An interrupted wait is one more look.
            let _ = poll(&mut readable, None);
            if !self.take() {
                return;
            }
            // ORDERING: sequential: the watcher looks whether a statement runs after it has said
            // that there is something, and a statement that ends the other way round. So at least
            // one of them hands it on, and the lock says which.
            if self.came.load(Ordering::SeqCst) && !self.active.load(Ordering::SeqCst) {
                // Without Python there is nobody left to be told.
                Python::try_attach(|py| self.hand_on(py));
            }
        }
    }

    /// Does what the bytes in the pipe say. False if none will come any more.
    ///
    /// Also called at the end of a statement: bytes that came while it ran are about it, and are
    /// not to end the next one because the watcher was late.
    fn take(&self) -> bool {
        let _turn = self.turn.lock();
        let mut bytes = [0; 64];
        loop {
            let count = match (&self.read).read(&mut bytes) {
                Ok(count @ 1..) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                // The pipe lives as long as the process.
                _ => return false,
            };
            if bytes[..count].contains(&INTERRUPT) {
                // ORDERING: relaxed: statements look again and again.
                self.flag.store(true, Ordering::Relaxed);
            }
            self.seen.lock().extend(&bytes[..count]);
            // ORDERING: sequential, as the watcher says.
            self.came.store(true, Ordering::SeqCst);
        }
    }

    /// Tells the pipe that was there before of the signals that came meanwhile.
    fn hand_on(&self, py: Python<'_>) -> PyResult<()> {
        let seen = std::mem::take(&mut *self.seen.lock());
        // ORDERING: relaxed: written before the pipe was made Python's.
        let before = self.before.load(Ordering::Relaxed);
        if before >= 0 && !seen.is_empty() {
            let bytes = PyBytes::new(py, &seen);
            py.import(intern!(py, "os"))?.call_method1(intern!(py, "write"), (before, bytes))?;
        }
        Ok(())
    }
}

static PIPE: Mutex<Option<Arc<Pipe>>> = Mutex::new(None);
static FLAG: PyOnceLock<Arc<AtomicBool>> = PyOnceLock::new();
static SET_WAKEUP_FD: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// What a function of Python's raised for the main thread, while a statement of it ran.
static AFTERWARDS: Mutex<Option<PyErr>> = Mutex::new(None);

/// Raises an exception of the main thread once its statement has ended, in place of the result.
pub(crate) fn raise_afterwards(error: PyErr) {
    *AFTERWARDS.lock() = Some(error);
}

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

/// The time of a statement for which the pipe is Python's; dropped after a panic, too.
struct Watched<'py> {
    py: Python<'py>,
    pipe: Arc<Pipe>,
    set: &'py Py<PyAny>,
    before: Py<PyAny>,
}

impl<'py> Watched<'py> {
    fn begin(py: Python<'py>, pipe: &Arc<Pipe>, set: &'py Py<PyAny>) -> PyResult<Self> {
        // ORDERING: relaxed: the statement has not begun.
        pipe.flag.store(false, Ordering::Relaxed);
        // ORDERING: sequential, as the watcher says.
        pipe.active.store(true, Ordering::SeqCst);
        let before = set.call1(py, (pipe.write.as_raw_fd(),))?;
        // ORDERING: relaxed: signals that go there come later.
        pipe.before.store(before.extract(py)?, Ordering::Relaxed);
        DEPTH.set(1);
        Ok(Self { py, pipe: Arc::clone(pipe), set, before })
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        DEPTH.set(0);
        // It was the pipe of signals before, so it can be again.
        let _ = self.set.call1(self.py, (&self.before,));
        // ORDERING: sequential, as the watcher says.
        self.pipe.active.store(false, Ordering::SeqCst);
    }
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
    let session = Watched::begin(py, &pipe, set)?;
    let result = py.detach(work);
    drop(session);
    pipe.take();
    // ORDERING: relaxed: it ended this statement, and is to end no other.
    let interrupted = pipe.flag.swap(false, Ordering::Relaxed);
    // ORDERING: sequential, as the watcher says.
    if pipe.came.swap(false, Ordering::SeqCst) {
        pipe.hand_on(py)?;
    }
    if let Some(error) = AFTERWARDS.lock().take() {
        return Err(error);
    }
    // The handler of a signal that ended the statement runs now, not at some later instruction.
    if interrupted {
        py.check_signals()?;
    }
    Ok(result)
}
