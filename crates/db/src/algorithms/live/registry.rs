//! The live algorithms of a database: their names, their states, and how readers bring them up to
//! date.
//!
//! ```text
//!   reader at commit S ──► answer at hand, of commit A >= S - maxLag? ──► rows
//!                           │ no
//!                           ▼
//!                  state of commit A ── change stream A+1 ..= S ──► state of S ──► answer
//!                           │ gap, damage, too much
//!                           └──► from scratch at S
//! ```
//!
//! Nothing runs in the background: whoever reads pays for what changed since the last read, and
//! others who want the same wait for that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_algo::control::Control;
use telar_engine::{Engine, Snapshot};
use telar_graph::Graph;
use telar_query::cypher::suggest::closest;
use telar_query::{CallContext, ErrorKind, QueryError, SharedSnapshot};

use super::changes::{Collected, collect};
use super::definition::Definition;
use super::files::Files;
use super::state::{Answer, State};
use crate::algorithms::config::wrong;
use crate::algorithms::projection::Source;
use crate::backend::query_error;

/// Most live algorithms of a database.
const ALGORITHMS_MAX: usize = 256;

/// Longest wait for another reader between two looks at the limits of the statement.
const WAIT: Duration = Duration::from_millis(5);

/// Changes that are followed rather than computed from scratch: this share of the relationships,
/// and so many.
const FOLLOWED_SHARE: u64 = 10;
const FOLLOWED_MIN: u64 = 1024;

/// A live algorithm.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) definition: Definition,
    facts: Mutex<Facts>,
    answer: Mutex<Option<Arc<Answer>>>,
    /// None before the first read, and after one that failed.
    state: Mutex<Option<State>>,
}

/// Facts about a live algorithm, which can be read while its state changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    /// Commit that the state is of; none before the first read.
    pub(super) as_of: Option<u64>,
    /// Commit that the stored state is of.
    saved: Option<u64>,
    pub(super) nodes: u64,
    pub(super) bytes: u64,
    /// Times that changes were followed, and that it was computed from scratch.
    pub(super) updates: u64,
    pub(super) rebuilds: u64,
    /// Why it was computed from scratch the last time.
    pub(super) reason: Option<String>,
    /// Time that the last update took.
    pub(super) took: Duration,
    /// A stored state was looked for.
    loaded: bool,
}

/// The live algorithms of a database.
#[derive(Debug)]
pub(super) struct Registry {
    files: Option<Files>,
    names: Mutex<Names>,
    /// Why the definitions cannot be read.
    damaged: Option<String>,
}

#[derive(Debug, Default)]
struct Names {
    by_name: BTreeMap<Arc<str>, Arc<Live>>,
    next: u64,
}

impl Live {
    fn new(definition: Definition) -> Self {
        Self {
            definition,
            facts: Mutex::default(),
            answer: Mutex::default(),
            state: Mutex::default(),
        }
    }

    pub(super) fn facts(&self) -> Facts {
        self.facts.lock().clone()
    }
}

/// A snapshot of its own, where the statement's will not do.
struct Own(Snapshot<'static>);

impl SharedSnapshot for Own {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        work(&self.0);
    }
}

impl Registry {
    /// That of a database, read when it is first asked for.
    pub(super) fn of(db: &Engine) -> Result<Arc<Self>, QueryError> {
        let registry = db.attached(|| Self::load(db));
        match &registry.damaged {
            None => Ok(registry),
            Some(reason) => Err(database(format!("live algorithms: {reason}"))),
        }
    }

    fn load(db: &Engine) -> Self {
        let files = Files::of(db);
        match files.as_ref().map_or_else(|| Ok(Default::default()), Files::load) {
            Err(reason) => Self { files, names: Mutex::default(), damaged: Some(reason) },
            Ok(definitions) => {
                let live = |of: Definition| (Arc::clone(&of.name), Arc::new(Live::new(of)));
                let by_name = definitions.all.into_iter().map(live).collect();
                let names = Mutex::new(Names { by_name, next: definitions.next });
                Self { files, names, damaged: None }
            }
        }
    }

    /// All of them, by name.
    pub(super) fn all(&self) -> Vec<Arc<Live>> {
        self.names.lock().by_name.values().cloned().collect()
    }

    /// The one of this name.
    pub(super) fn find(&self, name: &str) -> Result<Arc<Live>, QueryError> {
        let names = self.names.lock();
        names.by_name.get(name).cloned().ok_or_else(|| {
            let near = closest(name, names.by_name.keys().map(|name| &**name));
            let hint = near.map_or("algo.live.create makes one".to_owned(), |near| {
                format!("did you mean {near}?")
            });
            wrong(format!("there is no live algorithm {name}; {hint}"))
        })
    }

    fn check_free(names: &Names, name: &str) -> Result<(), QueryError> {
        if names.by_name.contains_key(name) {
            return Err(wrong(format!(
                "there is a live algorithm {name} already; algo.live.drop('{name}') drops it"
            )));
        }
        if names.by_name.len() >= ALGORITHMS_MAX {
            return Err(wrong(format!(
                "there are {ALGORITHMS_MAX} live algorithms; algo.live.drop drops one"
            )));
        }
        Ok(())
    }

    /// Computes a new one and keeps it from then on.
    pub(super) fn create(
        &self,
        mut definition: Definition,
        call: &CallContext<'_>,
        db: &Engine,
        threads: usize,
    ) -> Result<Arc<Live>, QueryError> {
        {
            let mut names = self.names.lock();
            Self::check_free(&names, &definition.name)?;
            definition.number = names.next;
            names.next += 1;
        }
        let live = Arc::new(Live::new(definition));
        live.facts.lock().loaded = true;
        let mut state = live.state.lock();
        self.follow(&live, &mut state, Reader { call, db, threads })?;
        drop(state);
        let mut names = self.names.lock();
        Self::check_free(&names, &live.definition.name)?;
        let Names { by_name, next } = &mut *names;
        if let Some(files) = &self.files {
            let all = by_name.values().map(|live| &live.definition).chain([&live.definition]);
            files.store(all, *next).map_err(|error| unwritable(files, &error))?;
        }
        by_name.insert(Arc::clone(&live.definition.name), Arc::clone(&live));
        Ok(live)
    }

    /// Forgets one.
    pub(super) fn remove(&self, name: &str) -> Result<Arc<Live>, QueryError> {
        let live = self.find(name)?;
        let mut names = self.names.lock();
        let Names { by_name, next } = &mut *names;
        if let Some(files) = &self.files {
            let others = by_name.values().filter(|other| *other.definition.name != *name);
            let all = others.map(|live| &live.definition);
            files.store(all, *next).map_err(|error| unwritable(files, &error))?;
            files.remove(&live.definition);
        }
        by_name.remove(name);
        Ok(live)
    }

    /// Values of a commit that is at most `max_lag` commits before what the statement sees.
    pub(super) fn read(
        &self,
        live: &Live,
        call: &CallContext<'_>,
        db: &Engine,
        max_lag: u64,
    ) -> Result<Arc<Answer>, QueryError> {
        let wanted = call.graph().read_ts().get();
        let at_hand = || {
            let answer = live.answer.lock();
            answer.clone().filter(|answer| answer.as_of.saturating_add(max_lag) >= wanted)
        };
        let mut state = loop {
            if let Some(answer) = at_hand() {
                return Ok(answer);
            }
            call.check()?;
            if let Some(state) = live.state.try_lock_for(WAIT) {
                break state;
            }
        };
        if let Some(answer) = at_hand() {
            return Ok(answer);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        self.follow(live, &mut state, Reader { call, db, threads })?;
        let Some(state) = &mut *state else { return Err(database("there is no state")) };
        // 16 bytes for each node, and as much to put them in order.
        call.room(32 * state.slots.used(), &live.definition.name)?;
        let answer = Arc::new(state.answer());
        *live.answer.lock() = Some(Arc::clone(&answer));
        Ok(answer)
    }

    /// Brings a state to what the statement sees, or to what is visible by now.
    fn follow(
        &self,
        live: &Live,
        state: &mut Option<State>,
        reader: Reader<'_, '_>,
    ) -> Result<(), QueryError> {
        let begun = Instant::now();
        let Reader { call, db, .. } = reader;
        let mut reason = None;
        if state.is_none() {
            reason = Some(self.load_state(live, state));
        }
        let as_of = state.as_ref().map_or(0, |state| state.as_of);
        let own;
        let check = || call.check();
        // A transaction that has written shows what is not committed.
        let source = if call.snapshot().is_some() && call.graph().read_ts().get() >= as_of {
            Source::of_call(call, &check)
        } else {
            own = Own(db.snapshot_owned().map_err(|error| query_error(db, &error))?);
            Source { graph: &own.0, shared: Some(&own), check: &check }
        };
        let limits = call.limits().clone();
        let stop = move || limits.check().is_err();
        let progress = call.progress_of_threads();
        let control = Control::default().stopped_by(&stop).seen_by(&progress);
        // What fails in the middle is of no use.
        if let Some(mut found) = state.take() {
            match catch_up(&live.definition, &mut found, &source, db, &control)? {
                None => *state = Some(found),
                Some(why) => reason = Some(why),
            }
        }
        let rebuilt = state.is_none();
        if rebuilt {
            let room = |bytes: u64| {
                call.room(usize::try_from(bytes).unwrap_or(usize::MAX), &live.definition.name)
            };
            let pool = rayon::ThreadPoolBuilder::new().num_threads(reader.threads);
            let pool = pool.thread_name(|n| format!("algorithm-{n}")).build();
            let pool = pool.map_err(|error| database(format!("no threads: {error}")))?;
            let control = control.on(&pool);
            *state = Some(State::build(&live.definition, &source, &control, &room)?);
        }
        let Some(found) = state else { return Ok(()) };
        {
            let mut facts = live.facts.lock();
            facts.as_of = Some(found.as_of);
            (facts.nodes, facts.bytes) = (found.slots.used() as u64, found.bytes());
            facts.took = begun.elapsed();
            match rebuilt {
                true => (facts.rebuilds, facts.reason) = (facts.rebuilds + 1, reason),
                false => facts.updates += 1,
            }
        }
        if rebuilt && !db.is_read_only() {
            // A stored state never holds what a crash could undo.
            db.flush().map_err(|error| query_error(db, &error))?;
            self.save(live, found);
        }
        Ok(())
    }

    /// Looks for a stored state, once; says what comes of it.
    fn load_state(&self, live: &Live, state: &mut Option<State>) -> String {
        let mut facts = live.facts.lock();
        let Some(files) = self.files.as_ref().filter(|_| !facts.loaded) else {
            return match facts.rebuilds {
                0 => "it was created".into(),
                _ => "a read ended in the middle".into(),
            };
        };
        facts.loaded = true;
        match files.read(&live.definition) {
            Ok(found) => {
                facts.saved = Some(found.as_of);
                *state = Some(found);
                "the stored state was read".into()
            }
            Err(reason) => reason,
        }
    }

    /// Stores a state, if that is possible: without it, the next opening computes it.
    fn save(&self, live: &Live, state: &mut State) {
        if let Some(files) = &self.files
            && live.facts.lock().saved != Some(state.as_of)
            && files.save(&live.definition, state).is_ok()
        {
            live.facts.lock().saved = Some(state.as_of);
        }
    }
}

impl Drop for Registry {
    /// Stores the states: the database is about to be closed.
    fn drop(&mut self) {
        for live in self.all() {
            if let Some(state) = &mut *live.state.lock() {
                self.save(&live, state);
            }
        }
    }
}

/// Whoever reads.
struct Reader<'a, 'c> {
    call: &'a CallContext<'c>,
    db: &'a Engine,
    /// Threads for computing from scratch.
    threads: usize,
}

/// Follows the change stream up to the source; why not, if it cannot.
fn catch_up(
    definition: &Definition,
    state: &mut State,
    source: &Source<'_>,
    db: &Engine,
    control: &Control<'_>,
) -> Result<Option<String>, QueryError> {
    let target = source.graph.read_ts().get();
    if state.as_of > target {
        let reason = format!("its state was that of commit {}, after the newest", state.as_of);
        return Ok(Some(reason));
    }
    if state.as_of == target {
        return Ok(None);
    }
    let resolved = definition.resolve(source.graph)?;
    let most = (state.edges / FOLLOWED_SHARE + FOLLOWED_MIN) as usize;
    match collect(db, (state.as_of, target), &resolved, most, source.check)? {
        Collected::Gap(reason) => Ok(Some(reason)),
        Collected::Changes(changes) => {
            let followed = state.apply(&changes, source.graph, &resolved, control)?;
            Ok((!followed).then(|| "following the changes would have cost as much".into()))
        }
    }
}

/// Error of the database itself.
pub(super) fn database(message: impl Into<String>) -> QueryError {
    QueryError::runtime(ErrorKind::Database, "DatabaseError", message)
}

fn unwritable(files: &Files, error: &std::io::Error) -> QueryError {
    database(format!("cannot write to {}: {error}", files.place().display()))
}
