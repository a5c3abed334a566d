//! An open database, its sessions, and what it means to close it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use napi_derive::napi;
use parking_lot::{Mutex, RwLock};
use telar_share::{Options, Session, Shared};

use crate::error::{Answer, Failure, answer};
use crate::hub::{Hub, Outcome};
use crate::pool::Admission;
use crate::settings::{Limiting, Opening};

/// Time that closing waits for statements that it has ended.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// A session. Every job that uses the database holds one.
pub(crate) struct Runner {
    pub(crate) session: Session,
}

/// The place of a session's runner, until the database is closed.
type Slot = RwLock<Option<Arc<Runner>>>;

/// Transactions and streams: what is open for longer than a call.
pub(crate) trait Ends: Send + Sync {
    /// Ends it; what runs ends soon.
    fn end(&self);

    /// True once it holds nothing of the database any more.
    fn has_ended(&self) -> bool;
}

/// An open database, which its sessions share.
pub(crate) struct Opened {
    database: Mutex<Option<Shared>>,
    slots: Mutex<Vec<Weak<Slot>>>,
    open: Mutex<Vec<Weak<dyn Ends>>>,
    /// Flags of statements that can be aborted one by one.
    flags: Mutex<Vec<Weak<AtomicBool>>>,
    /// Ends all other statements, at the end of the environment.
    ended: Arc<AtomicBool>,
    /// Held while it is being closed.
    closing: Mutex<()>,
    path: Option<PathBuf>,
}

/// Adds to a list of what may be gone already; cost: a constant, amortized.
fn remember<T: ?Sized>(list: &Mutex<Vec<Weak<T>>>, new: Weak<T>) {
    let mut list = list.lock();
    if list.len() == list.capacity() {
        list.retain(|other| other.strong_count() > 0);
    }
    list.push(new);
}

fn closed() -> Failure {
    Failure::closed("the database is closed: open it again")
}

impl Opened {
    fn new(
        path: Option<PathBuf>,
        opening: &Opening,
        ended: &Arc<AtomicBool>,
    ) -> Result<(Arc<Self>, Runner), Failure> {
        let database = Shared::open_until(opening.of(path.clone())?, Some(ended))?;
        // Another process, which may be the one that reads them, has another current folder.
        let whole = |folder: PathBuf| std::path::absolute(&folder).unwrap_or(folder);
        let import_folder = opening.import_folder.as_ref().map(PathBuf::from);
        let import_folder = import_folder.or_else(|| std::env::current_dir().ok()).map(whole);
        let export_folder = opening.export_folder.as_ref().map(PathBuf::from).map(whole);
        let export_folder = export_folder.or_else(|| import_folder.clone());
        let options = Options { import_folder, export_folder, ..Options::default() };
        let session = database.session(options).with_cancelled(ended);
        let opened = Self {
            database: Mutex::new(Some(database)),
            slots: Mutex::default(),
            open: Mutex::default(),
            flags: Mutex::default(),
            ended: Arc::clone(ended),
            closing: Mutex::default(),
            path,
        };
        Ok((Arc::new(opened), Runner { session }))
    }

    fn slot(&self, runner: Runner) -> Arc<Slot> {
        let slot = Arc::new(RwLock::new(Some(Arc::new(runner))));
        remember(&self.slots, Arc::downgrade(&slot));
        slot
    }

    /// The database itself.
    pub(crate) fn database(&self) -> Result<Shared, Failure> {
        self.database.lock().clone().ok_or_else(closed)
    }

    /// Notes what is to be ended before the database is closed.
    pub(crate) fn note(&self, open: Weak<dyn Ends>) {
        remember(&self.open, open);
    }

    /// A flag for one statement.
    pub(crate) fn flag(&self, flag: &Arc<AtomicBool>) {
        remember(&self.flags, Arc::downgrade(flag));
    }

    /// The flag that is set at the end of the environment.
    pub(crate) fn ended(&self) -> &Arc<AtomicBool> {
        &self.ended
    }

    /// Ends transactions and streams, and writes a checkpoint, or lets go of what another process
    /// has open. Statements that run are waited for.
    pub(crate) fn close(&self) -> Result<(), Failure> {
        let _closing = self.closing.lock();
        let Some(database) = self.database.lock().take() else { return Ok(()) };
        let slots = std::mem::take(&mut *self.slots.lock());
        let runners = slots.iter().filter_map(Weak::upgrade).filter_map(|slot| slot.write().take());
        let runners: Vec<Arc<Runner>> = runners.collect();
        let open = std::mem::take(&mut *self.open.lock());
        let open: Vec<_> = open.iter().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|open| open.end());
        let deadline = Instant::now() + LAST_WORDS;
        let busy = || {
            runners.iter().any(|runner| Arc::strong_count(runner) > 1)
                || open.iter().any(|open| !open.has_ended())
        };
        while busy() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        drop(runners);
        Ok(database.close()?)
    }

    /// Tells everything to end: nobody waits for it any more.
    fn end(&self) {
        for flag in self.flags.lock().iter().filter_map(Weak::upgrade) {
            // ORDERING: relaxed: statements look again and again.
            flag.store(true, Ordering::Relaxed);
        }
        let open: Vec<_> = self.open.lock().iter().filter_map(Weak::upgrade).collect();
        open.iter().for_each(|open| open.end());
    }

    fn is_owner(&self) -> bool {
        self.database.lock().as_ref().is_some_and(Shared::is_owner)
    }
}

/// The databases that one JavaScript thread has open, until the end of its environment.
#[derive(Default)]
pub(crate) struct Environment {
    /// Set at its end: all statements end, and nothing is opened any more.
    ended: Arc<AtomicBool>,
    all: Mutex<Vec<Weak<Opened>>>,
}

impl Environment {
    /// Ends everything and closes it.
    pub(crate) fn quit(&self) {
        // ORDERING: relaxed: statements look again and again; `add` looks after the mutex.
        self.ended.store(true, Ordering::Relaxed);
        let all = std::mem::take(&mut *self.all.lock());
        let all: Vec<Arc<Opened>> = all.iter().filter_map(Weak::upgrade).collect();
        all.iter().for_each(|opened| opened.end());
        // Those that ask another one of them go first: they would take over.
        let (owners, guests): (Vec<_>, Vec<_>) = all.iter().partition(|opened| opened.is_owner());
        for opened in guests.into_iter().chain(owners) {
            // What was committed is in the log, whatever an error says here.
            let _ = opened.close();
        }
    }

    /// Notes a database that was opened; closes it if the environment has ended meanwhile.
    fn add(&self, database: &Database) -> Result<(), Failure> {
        remember(&self.all, Arc::downgrade(&database.opened));
        // ORDERING: relaxed: `quit` sets the flag before it takes the mutex. If it did not find the
        // database, the mutex came here after that.
        match self.ended.load(Ordering::Relaxed) {
            true => database.opened.close().and_then(|()| Err(closed())),
            false => Ok(()),
        }
    }
}

/// A session of an open database.
#[napi]
#[derive(Clone)]
pub struct Database {
    opened: Arc<Opened>,
    slot: Arc<Slot>,
}

impl Database {
    fn open_at(
        environment: &Environment,
        path: Option<String>,
        opening: &Opening,
    ) -> Result<Self, Failure> {
        let path = path.map(PathBuf::from);
        let (opened, runner) = Opened::new(path, opening, &environment.ended)?;
        let slot = opened.slot(runner);
        let database = Self { opened, slot };
        environment.add(&database)?;
        Ok(database)
    }

    /// The runner, unless the database is closed.
    pub(crate) fn runner(&self) -> Result<Arc<Runner>, Failure> {
        self.slot.read().clone().ok_or_else(closed)
    }

    pub(crate) fn opened(&self) -> &Arc<Opened> {
        &self.opened
    }
}

#[napi]
impl Database {
    /// Opens a database on a thread.
    #[napi]
    pub fn open(hub: &Hub, number: u32, path: Option<String>, opening: Opening) {
        let environment = Arc::clone(&hub.environment);
        hub.run(number, Admission::Free, move || {
            Ok(Outcome::Database(Self::open_at(&environment, path, &opening)?))
        });
    }

    /// The same, at once.
    #[napi]
    pub fn open_sync(hub: &Hub, path: Option<String>, opening: Opening) -> Answer<Database> {
        answer(Self::open_at(&hub.environment, path, &opening))
    }

    /// Another session, with other limits.
    #[napi]
    pub fn session(&self, limiting: Limiting) -> Answer<Database> {
        let session = || {
            let runner = self.runner()?;
            let options = limiting.apply(runner.session.options().clone())?;
            Ok(runner.session.with_options(options))
        };
        answer(session().map(|session| {
            let slot = self.opened.slot(Runner { session });
            Self { opened: Arc::clone(&self.opened), slot }
        }))
    }

    /// The folder of the database.
    #[napi]
    pub fn path(&self) -> Option<String> {
        self.opened.path.as_ref().map(|path| path.to_string_lossy().into_owned())
    }

    /// True if this process has the database open itself; false where it asks another one.
    #[napi]
    pub fn is_owner(&self) -> Answer<bool> {
        answer(self.opened.database().map(|database| database.is_owner()))
    }

    /// True once it is closed.
    #[napi]
    pub fn closed(&self) -> bool {
        self.opened.database.lock().is_none()
    }

    /// Closes the database, or lets go of it, on a thread.
    #[napi]
    pub fn close(&self, hub: &Hub, number: u32) {
        let opened = Arc::clone(&self.opened);
        hub.run(number, Admission::Free, move || {
            opened.close()?;
            Ok(Outcome::Nothing)
        });
    }

    /// Closes the database.
    #[napi]
    pub fn close_sync(&self) -> Answer<bool> {
        answer(self.opened.close().map(|()| true))
    }

    /// Writes a checkpoint.
    #[napi]
    pub fn checkpoint(&self, hub: &Hub, number: u32) {
        let opened = Arc::clone(&self.opened);
        hub.run(number, Admission::Free, move || {
            opened.database()?.checkpoint()?;
            Ok(Outcome::Nothing)
        });
    }

    /// Copies the database into a new folder.
    #[napi]
    pub fn backup(&self, hub: &Hub, number: u32, path: String) {
        let opened = Arc::clone(&self.opened);
        hub.run(number, Admission::Free, move || {
            opened.database()?.backup(PathBuf::from(path).as_path())?;
            Ok(Outcome::Nothing)
        });
    }
}
