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
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use telar_db::query::{Files, Running};
use telar_db::{Database, Runtime};

use crate::inherited::Inherited;
use crate::message::{Control, Hello, VERSION, Welcome};
use crate::remote::Functions;
use crate::serving::Worker;
use crate::socket;
use crate::wire::{Wire, until};

/// Time that statements of others have when the owner closes the database.
pub(crate) const GRACE: Duration = Duration::from_secs(5);
/// Stack of a thread that runs statements or functions, as that of a main thread.
pub(crate) const STACK_BYTES: usize = 8 << 20;
/// Time that a new connection has to say what it is.
const GREETING: Duration = Duration::from_secs(10);

/// The listening end. Dropping it lets nobody in any more, and ends what others run.
pub(crate) struct Owner {
    serving: Arc<Serving>,
    accepting: Option<JoinHandle<()>>,
    folder: PathBuf,
    // Dropped before what they are about.
    _inherited: Vec<Inherited>,
    listener: Arc<UnixListener>,
}

/// The state that the threads of the owner share.
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
    stream: Ended,
    statement: Mutex<Statement>,
}

/// A connection that another thread may end.
pub(crate) struct Ended {
    // Dropped first: the number of the file is free afterwards.
    _inherited: Inherited,
    stream: UnixStream,
}

impl Ended {
    /// The connection of a wire.
    pub(crate) fn of(wire: &Wire) -> io::Result<Self> {
        let stream = wire.stream().try_clone()?;
        Ok(Self { _inherited: Inherited::new(stream.as_raw_fd()), stream })
    }

    /// Ends it: whoever waits for it goes on. With `Shutdown::Read` what is sent still goes out.
    pub(crate) fn end(&self, how: Shutdown) {
        // One that is closed already stays closed.
        let _ = self.stream.shutdown(how);
    }
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
        self.stream.end(Shutdown::Both);
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
        let listener = Arc::new(listener);
        let inherited = [Some(listener.as_raw_fd()), database.lock_file()];
        let inherited = inherited.into_iter().flatten().map(Inherited::new).collect();
        let (shared, accepts) = (Arc::clone(&serving), Arc::clone(&listener));
        let accepting = thread::Builder::new().name("telar-share".into());
        let accepting = Some(accepting.spawn(move || shared.accept(&accepts, user))?);
        let folder = folder.to_path_buf();
        Ok(Self { serving, accepting, folder, _inherited: inherited, listener })
    }

    /// Lets nobody in any more, and ends what others run: first what waits, and after this time
    /// what still runs. Their connections are gone when this returns, unless what they run does
    /// not look whether it is to end.
    pub(crate) fn stop(&mut self, grace: Duration) {
        let Some(accepting) = self.accepting.take() else { return };
        let serving = &self.serving;
        serving.stopping.store(true, Ordering::SeqCst);
        // Wakes who waits for connections.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
        // A thread that panicked has ended, too.
        let _ = accepting.join();
        let _ = socket::remove(&self.folder);
        for connection in serving.connections.lock().values() {
            // What runs may end and say so. What comes next is not read.
            connection.stream.end(Shutdown::Read);
        }
        serving.wait(grace);
        serving.processes.lock().values().for_each(|process| process.functions.end());
        serving.connections.lock().values().for_each(|connection| connection.end());
        serving.wait(GRACE);
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
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
            let serving = Arc::clone(self);
            *self.threads.lock() += 1;
            let thread = thread::Builder::new().name("telar-share".into()).stack_size(STACK_BYTES);
            let ends = Ends(Arc::clone(self));
            // Without a thread the connection is closed, and its process hears of it.
            drop(thread.spawn(move || {
                let ends = ends;
                // A connection that fails is one that has ended.
                let _ = serving.serve(stream, user);
                drop(ends);
            }));
        }
    }

    fn number(&self) -> u64 {
        // ORDERING: relaxed: each is given once.
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Serves a connection until it ends.
    fn serve(self: &Arc<Self>, stream: UnixStream, user: u32) -> io::Result<()> {
        let own_user = socket::is_of(&stream, user);
        let mut wire = Wire::new(stream)?;
        let deadline = Instant::now() + GREETING;
        let mut waits = || match Instant::now() > deadline {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        };
        let hello = wire.receive(&mut waits)?.head;
        if !own_user {
            let reason = "it is open by another user".to_owned();
            return wire.send(&Welcome::Refused(reason), &mut waits);
        }
        match hello {
            Hello::Process { version, number, durable } => {
                if let Some(reason) = self.refuses(&version, number, durable) {
                    return wire.send(&Welcome::Refused(reason), &mut waits);
                }
                self.control(wire)
            }
            Hello::Work { process } => {
                let Some(of) = self.processes.lock().get(&process).cloned() else {
                    return wire.send(&gone(), &mut waits);
                };
                let (number, stream) = (self.number(), Ended::of(&wire)?);
                let statement = Mutex::default();
                let connection = Arc::new(Connection { process, stream, statement });
                self.connections.lock().insert(number, Arc::clone(&connection));
                let done = wire.send(&Welcome::In(number), &mut waits);
                let done = done.and_then(|()| Worker::new(self, &of, &connection, wire).run());
                self.connections.lock().remove(&number);
                done
            }
            Hello::Functions { process } => {
                let Some(of) = self.processes.lock().get(&process).cloned() else {
                    return wire.send(&gone(), &mut waits);
                };
                let number = self.number();
                of.functions.answers(number, wire, &Welcome::In(number))
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
        let runtime = runtime_of(self.files.as_ref());
        let runtime = Arc::new(runtime.with_running(Arc::clone(&self.running)));
        let process = self.number();
        let entry = Arc::new(Process { runtime, functions: Functions::default() });
        self.processes.lock().insert(process, entry);
        let mut done = wire.send(&Welcome::In(process), &mut until(&self.stopping));
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
        if let Some(process) = self.processes.lock().remove(&process) {
            process.functions.end();
        }
        if !self.stopping.load(Ordering::SeqCst) {
            let connections = self.connections.lock();
            let own = connections.values().filter(|connection| connection.process == process);
            own.for_each(|connection| connection.end());
        }
        done
    }
}

/// A runtime for the sessions of a process, which read and write files of these formats.
pub(crate) fn runtime_of(files: Option<&Arc<dyn Files>>) -> Runtime {
    match files {
        Some(files) => Runtime::default().with_files(Arc::clone(files)),
        None => Runtime::default(),
    }
}

/// The answer to a connection of a process that has ended.
fn gone() -> Welcome {
    Welcome::Refused("the process has ended".into())
}

/// The end of a thread of a connection.
struct Ends(Arc<Serving>);

impl Drop for Ends {
    fn drop(&mut self) {
        *self.0.threads.lock() -= 1;
        self.0.ended.notify_all();
    }
}
