//! The open transactions: the list of them, and the state of each.
//!
//! ```text
//!  Running ──give_back──► Idle ──take──► Running ──close──► Gone
//!     ▲ begin                └─────────────close───────────►
//! ```
//!
//! An idle transaction is a value on the list and holds no thread. As long as there are any, one
//! task looks at all of them every 50 ms (`sweep`) and ends those that are over. If a request asks
//! for one of them before, it is ended then.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::ended::{self, Ended};
use super::turn::Turn;
use crate::dbms::{AccessMode, Client, Failure, Options, Owner, Place, Quota, Standing, Work};
use crate::http::App;
use crate::http::refusal::Refusal;
use crate::http::reply::Ends;
use crate::net::TICK;

/// The open transactions.
#[derive(Debug)]
pub(crate) struct Transactions {
    list: Mutex<List>,
    ended: Ended,
    places: Arc<Quota>,
    /// Time that one may wait for its next request.
    idle: Duration,
    /// Told when one is added.
    added: Notify,
}

#[derive(Debug, Default)]
struct List {
    by_id: HashMap<String, Arc<Open>>,
    /// True once the server ends: nothing is added any more.
    closed: bool,
}

/// An open transaction.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: String,
    pub(super) ends: Ends,
    database: String,
    access: AccessMode,
    owner: Owner,
    deadline: Option<Deadline>,
    state: Mutex<State>,
    /// Given up when it has ended.
    place: Mutex<Option<Place>>,
    /// True once it has ended.
    is_ended: watch::Sender<bool>,
}

#[derive(Debug)]
enum State {
    /// A request has it.
    Running {
        /// True if it is to end after this request.
        stopped: bool,
    },
    /// It waits for its next request.
    Idle(Box<Held>, Instant),
    /// It ends, or has ended.
    Gone,
}

/// A transaction with the client that began it, which stays on the list of clients so long.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) work: Work,
    pub(super) client: Client,
}

/// Reason why a request cannot have a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Busy {
    /// Another request has it.
    Running,
    /// It is over.
    Gone,
}

/// Time at which a transaction is over, whatever it does.
#[derive(Debug)]
pub(super) struct Deadline {
    at: Instant,
    /// Setting or request that it comes from, for the message.
    whose: &'static str,
}

impl Deadline {
    /// So much time from now.
    pub(super) fn of(limit: Option<(Duration, &'static str)>) -> Option<Self> {
        let (time, whose) = limit?;
        Some(Self { at: Instant::now().checked_add(time)?, whose })
    }
}

impl Open {
    /// One that is about to begin, for the request that begins it.
    pub(super) fn new(
        id: String,
        (database, access): (String, AccessMode),
        owner: Owner,
        ends: Ends,
        deadline: Option<Deadline>,
        place: Place,
    ) -> Self {
        let state = Mutex::new(State::Running { stopped: false });
        let place = Mutex::new(Some(place));
        let (is_ended, _) = watch::channel(false);
        Self { id, ends, database, access, owner, deadline, state, place, is_ended }
    }

    /// Takes it for a request, or to end it.
    pub(super) fn take(&self) -> Result<Box<Held>, Busy> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut *state, State::Running { stopped: false }) {
            State::Idle(held, _) => Ok(held),
            running @ State::Running { .. } => {
                *state = running;
                Err(Busy::Running)
            }
            State::Gone => {
                *state = State::Gone;
                Err(Busy::Gone)
            }
        }
    }

    /// Puts it back for the next request, unless it was told to end meanwhile.
    pub(super) fn give_back(&self, held: Box<Held>) -> Result<(), Box<Held>> {
        let mut state = self.state.lock();
        match *state {
            State::Running { stopped: false } => {
                *state = State::Idle(held, Instant::now());
                Ok(())
            }
            _ => Err(held),
        }
    }

    /// Tells the request that has it to end, and the transaction with it.
    pub(super) fn stop(&self) {
        if let State::Running { stopped } = &mut *self.state.lock() {
            *stopped = true;
        }
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ends.cancelled.store(true, Ordering::Relaxed);
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&self) {
        // An error says that the sender is gone, and it is a part of this.
        let _ = self.is_ended.subscribe().wait_for(|ended| *ended).await;
    }

    /// Reason of its end, if it was ended from outside and `client` has it: a command, or this node
    /// leads its database no more.
    pub(super) fn why_terminated(&self, client: &Client) -> Option<Failure> {
        let database = Some(self.database.clone());
        let options = Options { database, access: self.access, ..Options::default() };
        self.ends.is_terminated().then(|| client.terminated(&options))
    }

    /// True if it is over, idle since then; with the reason, if that came from outside.
    fn is_over(&self, client: &Client, since: Instant, idle: Duration) -> (bool, Option<Failure>) {
        let now = Instant::now();
        let late = self.deadline.as_ref().filter(|deadline| now >= deadline.at);
        let why = self.why_terminated(client).or_else(|| {
            late.map(|Deadline { whose, .. }| {
                let message = format!("the transaction took longer than it may{whose}: undone");
                Failure::new(ended::TIMED_OUT, message)
            })
        });
        (why.is_some() || now.saturating_duration_since(since) >= idle, why)
    }
}

impl Transactions {
    pub(crate) fn new(places: Arc<Quota>, idle: Duration) -> Self {
        let (list, ended, added) = (Mutex::default(), Ended::default(), Notify::new());
        Self { list, ended, places, idle, added }
    }

    /// Number of those that are open.
    pub(crate) fn len(&self) -> usize {
        self.list.lock().by_id.len()
    }

    /// Time that one may wait for its next request.
    pub(super) fn idle(&self) -> Duration {
        self.idle
    }

    /// A place for one more.
    pub(super) fn place(&self, standing: Standing) -> Result<Place, Failure> {
        let place = self.places.take(standing);
        place.map_err(|full| full.failure("transactions", "http.transactions"))
    }

    /// Puts one on the list; false once the server ends.
    pub(super) fn add(&self, open: &Arc<Open>) -> bool {
        let mut list = self.list.lock();
        if !list.closed {
            list.by_id.insert(open.id.clone(), Arc::clone(open));
            self.added.notify_one();
        }
        !list.closed
    }

    /// The transaction of this caller with this id.
    pub(super) fn find(
        &self,
        database: &str,
        owner: &Owner,
        id: &str,
    ) -> Result<Arc<Open>, Refusal> {
        let found = self.list.lock().by_id.get(id).map(Arc::clone);
        let own = found.filter(|open| open.owner == *owner && open.database == database);
        own.ok_or_else(|| match self.ended.find(database, owner, id) {
            Some(why) => why.into(),
            None => Refusal::no_transaction(id),
        })
    }

    /// Why there is no answer of a transaction that was there.
    pub(super) fn gone(&self, open: &Open) -> Refusal {
        match self.ended.find(&open.database, &open.owner, &open.id) {
            Some(why) => why.into(),
            None => Refusal::no_transaction(&open.id),
        }
    }

    /// Remembers why one has ended, if nobody asked for that. Who looks for it finds it on the
    /// list or here at any time.
    fn remember(&self, open: &Open, why: Option<&Failure>) {
        let is_from_outside =
            |why: &&Failure| ended::is_from_outside(why) || open.ends.is_terminated();
        if let Some(why) = why.filter(is_from_outside) {
            self.ended.add(&open.id, &open.owner, &open.database, why);
        }
    }

    /// Takes one off the list, before it is undone.
    pub(super) fn remove(&self, open: &Open, why: Option<&Failure>) {
        self.remember(open, why);
        *open.state.lock() = State::Gone;
        self.list.lock().by_id.remove(&open.id);
    }

    /// Takes one off the list if it is idle and over.
    fn take_over(&self, open: &Open) -> Option<Box<Held>> {
        let mut state = open.state.lock();
        let State::Idle(held, since) = &*state else { return None };
        let (is_over, why) = open.is_over(&held.client, *since, self.idle);
        if !is_over {
            return None;
        }
        self.remember(open, why.as_ref());
        let State::Idle(held, _) = std::mem::replace(&mut *state, State::Gone) else { return None };
        drop(state);
        self.list.lock().by_id.remove(&open.id);
        Some(held)
    }

    /// Gives up the place of one that is off the list and undone, and tells those who wait for it.
    pub(super) fn finish(open: &Open) {
        open.place.lock().take();
        open.is_ended.send_replace(true);
    }

    /// Ends all of them; what they have not committed is undone.
    pub(crate) fn close(&self) {
        let all = {
            let mut list = self.list.lock();
            list.closed = true;
            std::mem::take(&mut list.by_id)
        };
        for open in all.into_values() {
            match open.take() {
                Ok(held) => {
                    self.remove(&open, None);
                    drop(held);
                    Self::finish(&open);
                }
                // The request that has it ends it.
                Err(_) => open.stop(),
            }
        }
    }
}

/// Ends transactions that are over though nobody asks for them, until the server ends.
pub(crate) async fn sweep(app: App) {
    let transactions = &app.transactions;
    // An interval of 0 would be none.
    let tick = TICK.min(transactions.idle).max(Duration::from_millis(1));
    loop {
        let wait = async {
            match transactions.len() {
                0 => transactions.added.notified().await,
                _ => sleep(tick).await,
            }
        };
        tokio::select! {
            () = app.closed() => return,
            () = wait => {}
        }
        let all: Vec<Arc<Open>> = transactions.list.lock().by_id.values().map(Arc::clone).collect();
        all.iter().for_each(|open| end_if_over(&app, open));
    }
}

/// Ends a transaction that is idle and over.
pub(super) fn end_if_over(app: &App, open: &Arc<Open>) {
    let Some(held) = app.transactions.take_over(open) else { return };
    let turn = Turn::next(app.clone(), Arc::clone(open), held);
    // What it has written may take a while to be undone.
    tokio::task::spawn_blocking(move || turn.end(None));
}
