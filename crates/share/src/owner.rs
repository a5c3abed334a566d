//! The process that has the database open: lets others in.
//!
//! A thread accepts connections, and each connection has a thread, which lives as long as it does
//! (`serving`). They hold the database open; [`Owner::stop`] ends them.

use std::collections::HashMap;
use std::fs::{self, Permissions};
use std::io;
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use telar_db::query::{Files, Running};
use telar_db::{Database, Runtime};

use crate::inherited::Inherited;
use crate::message::{Control, Hello, VERSION, Welcome};
use crate::serving::{Functions, Worker};
use crate::socket;
use crate::wire::{Wire, until};

/// Time that statements of others have when the owner closes the database.
const GRACE: Duration = Duration::from_secs(5);
/// Stack of a thread that runs statements, as that of a main thread.
const STACK_BYTES: usize = 8 << 20;
/// Time that a new connection has to say what it is.
const GREETING: Duration = Duration::from_secs(10);

/// The listening end.
pub(crate) struct Owner {
    serving: Arc<Serving>,
    accepting: Option<JoinHandle<()>>,
    folder: std::path::PathBuf,
    listener: Option<Inherited>,
    lock: Option<Inherited>,
}

/// What the threads of the owner share.
pub(crate) struct Serving {
    pub(crate) database: Database,
    pub(crate) durable: bool,
    running: Arc<Running>,
    files: Option<Arc<dyn Files>>,
    processes: Mutex<HashMap<u64, Arc<Process>>>,
    connections: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    stopping: AtomicBool,
    threads: Mutex<usize>,
    ended: Condvar,
}

/// Another process.
pub(crate) struct Process {
    /// Plans and functions of its own; what runs is listed with the owner's.
    pub(crate) runtime: Arc<Runtime>,
    /// Answers calls of its functions.
    pub(crate) functions: Functions,
}

/// A connection of another process, for statements.
pub(crate) struct Connection {
    process: u64,
    stream: UnixStream,
    statement: Mutex<Statement>,
}

/// The statement of a connection.
#[derive(Default)]
struct Statement {
    number: u64,
    /// The newest that was to be ended.
    cancelled: u64,
    flag: Arc<AtomicBool>,
}

impl Connection {
    /// Notes that a statement begins, which the flag ends.
    pub(crate) fn begins(&self, number: u64, flag: &Arc<AtomicBool>) {
        let mut statement = self.statement.lock();
        statement.number = number;
        statement.flag = Arc::clone(flag);
        if statement.cancelled == number {
            // ORDERING: relaxed: statements look again and again.
            flag.store(true, Ordering::Relaxed);
        }
    }

    fn cancel(&self, number: u64) {
        let mut statement = self.statement.lock();
        statement.cancelled = number;
        if statement.number == number {
            statement.flag.store(true, Ordering::Relaxed);
        }
    }

    /// Ends the connection, and what runs in it.
    fn end(&self) {
        self.statement.lock().flag.store(true, Ordering::Relaxed);
        // One that is closed already stays closed.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Owner {
    /// Lets other processes into the database of this folder.
    pub(crate) fn start(
        folder: &Path,
        database: &Database,
        durable: bool,
        (running, files): (Arc<Running>, Option<Arc<dyn Files>>),
    ) -> io::Result<Self> {
        // Whoever had it open before is gone: the lock is this process's.
        socket::remove(folder)?;
        let listener = socket::at(folder, |path| UnixListener::bind(path))?;
        let path = folder.join(socket::NAME);
        fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        let user = fs::metadata(&path)?.uid();
        let serving = Arc::new(Serving {
            database: database.clone(),
            durable,
            running,
            files,
            processes: Mutex::default(),
            connections: Mutex::default(),
            next: AtomicU64::new(1),
            stopping: AtomicBool::new(false),
            threads: Mutex::new(0),
            ended: Condvar::new(),
        });
        let inherited = Some(Inherited::new(listener.as_raw_fd()));
        let lock = database.lock_file().map(Inherited::new);
        let (shared, accepts) = (Arc::clone(&serving), move |serving: Arc<Serving>| {
            serving.accept(&listener, user);
        });
        let accepting = thread::Builder::new().name("telar-share".into());
        let accepting = Some(accepting.spawn(move || accepts(shared))?);
        let folder = folder.to_path_buf();
        Ok(Self { serving, accepting, folder, listener: inherited, lock })
    }

    /// Lets nobody in any more, and ends what others run: first what waits, and after some seconds
    /// what still runs. Their connections are gone when this returns.
    pub(crate) fn stop(mut self) {
        let serving = Arc::clone(&self.serving);
        serving.stopping.store(true, Ordering::SeqCst);
        drop(self.listener.take());
        // Wakes who waits for connections; without a socket it wakes by itself.
        let _ = socket::at(&self.folder, |path| UnixStream::connect(path));
        if let Some(accepting) = self.accepting.take() {
            // A thread that panicked has ended, too.
            let _ = accepting.join();
        }
        let _ = socket::remove(&self.folder);
        for connection in serving.connections.lock().values() {
            // What runs may end and say so. What comes next is not read.
            let _ = connection.stream.shutdown(Shutdown::Read);
        }
        serving.wait(GRACE);
        serving.connections.lock().values().for_each(|connection| connection.end());
        serving.wait(GRACE);
        drop(self.lock.take());
    }
}

impl Serving {
    /// Waits until no connection has a thread.
    fn wait(&self, longest: Duration) {
        let until = Instant::now() + longest;
        let mut threads = self.threads.lock();
        while *threads > 0 {
            if self.ended.wait_until(&mut threads, until).timed_out() {
                return;
            }
        }
    }

    fn accept(self: &Arc<Self>, listener: &UnixListener, user: u32) {
        while !self.stopping.load(Ordering::SeqCst) {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    // Too many files are open, say: others may close some.
                    thread::sleep(Duration::from_millis(50));
                    continue;
                }
            };
            if self.stopping.load(Ordering::SeqCst) || !socket::is_of(&stream, user) {
                continue;
            }
            let serving = Arc::clone(self);
            *self.threads.lock() += 1;
            let thread = thread::Builder::new().name("telar-share".into()).stack_size(STACK_BYTES);
            let ends = Ends(Arc::clone(self));
            // Without a thread the connection is closed, and its process hears of it.
            drop(thread.spawn(move || {
                let ends = ends;
                // A connection that fails is one that has ended.
                let _ = serving.serve(stream);
                drop(ends);
            }));
        }
    }

    fn number(&self) -> u64 {
        // ORDERING: relaxed: each is given once.
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Serves a connection until it ends.
    fn serve(self: &Arc<Self>, stream: UnixStream) -> io::Result<()> {
        let mut wire = Wire::new(stream)?;
        let deadline = Instant::now() + GREETING;
        let mut waits = || match Instant::now() > deadline {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        };
        match wire.receive(&mut waits)?.head {
            Hello::Process { version, number, durable } => {
                if let Some(reason) = self.refuses(&version, number, durable) {
                    return wire.send(&Welcome::Refused(reason));
                }
                self.control(wire)
            }
            Hello::Work { process } => {
                let Some(of) = self.processes.lock().get(&process).cloned() else {
                    return wire.send(&Welcome::Refused("the process has ended".into()));
                };
                let (number, stream) = (self.number(), wire.stream().try_clone()?);
                let statement = Mutex::default();
                let connection = Arc::new(Connection { process, stream, statement });
                self.connections.lock().insert(number, Arc::clone(&connection));
                let done = wire.send(&Welcome::In(number));
                let done = done.and_then(|()| Worker::new(self, &of, &connection, wire).run());
                self.connections.lock().remove(&number);
                done
            }
            Hello::Functions { process } => {
                let Some(of) = self.processes.lock().get(&process).cloned() else {
                    return wire.send(&Welcome::Refused("the process has ended".into()));
                };
                of.functions.answers(wire, &Welcome::In(self.number()))
            }
        }
    }

    /// Why a process is not let in.
    fn refuses(&self, version: &str, number: u32, durable: bool) -> Option<String> {
        let own = std::process::id();
        if version != VERSION {
            return Some(format!(
                "process {own} has it open with Telar {VERSION}, and process {number} has \
                 {version}: use the same version"
            ));
        }
        if durable && !self.durable {
            return Some(format!(
                "process {own} has it open with asynchronous commits, and process {number} wants \
                 them on disk when they return: open it with the same durability"
            ));
        }
        None
    }

    /// The control connection of a process, whose end is the end of the process.
    fn control(self: &Arc<Self>, mut wire: Wire) -> io::Result<()> {
        let mut runtime = Runtime::default().with_running(Arc::clone(&self.running));
        if let Some(files) = &self.files {
            runtime = runtime.with_files(Arc::clone(files));
        }
        let runtime = Arc::new(runtime);
        let process = self.number();
        let entry = Arc::new(Process { runtime, functions: Functions::default() });
        self.processes.lock().insert(process, entry);
        let mut done = wire.send(&Welcome::In(process));
        while done.is_ok() {
            done = wire.receive(&mut until(&self.stopping)).map(|frame| match frame.head {
                Control::Cancel { connection, statement } => {
                    if let Some(of) = self.connections.lock().get(&connection)
                        && of.process == process
                    {
                        of.cancel(statement);
                    }
                }
            });
        }
        self.processes.lock().remove(&process);
        if !self.stopping.load(Ordering::SeqCst) {
            let connections = self.connections.lock();
            let own = connections.values().filter(|connection| connection.process == process);
            own.for_each(|connection| connection.end());
        }
        done
    }
}

/// The end of a thread of a connection.
struct Ends(Arc<Serving>);

impl Drop for Ends {
    fn drop(&mut self) {
        *self.0.threads.lock() -= 1;
        self.0.ended.notify_all();
    }
}
