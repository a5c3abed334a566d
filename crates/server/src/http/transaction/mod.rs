//! Transactions of several requests.
//!
//! ```text
//!  begin ──► place, id, thread ──► worker: transaction ◄── commands ◄── requests with its id
//!                                   │
//!                                   └─ ends: commit, rollback, error, nothing asked for too long
//! ```
//!
//! - Only who began it can use it, one request at a time; for others it is not there.
//! - It is off the list before the answer that ends it is sent.
//! - Of those that were ended from outside it is remembered why, for whoever asks for them next:
//!   the last so many.
//! - A client that hangs up while a statement of it runs ends the statement and the transaction.

mod ended;
mod worker;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, SyncSender};
use std::thread;
use std::time::Duration;

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use tokio::sync::oneshot;

use self::ended::Ended;
use self::worker::{Command, Deadline, Job, Worker};
use super::App;
use super::input::{self, Caller};
use super::output::Output;
use super::refusal::Refusal;
use super::reply::{Ends, Pending, reply};
use crate::dbms::{Failure, Owner, Place, Quota};

/// The open transactions.
#[derive(Debug)]
pub(crate) struct Transactions {
    open: Arc<Mutex<HashMap<String, Entry>>>,
    ended: Arc<Ended>,
    places: Arc<Quota>,
    idle: Duration,
}

#[derive(Debug, Clone)]
struct Entry {
    database: String,
    owner: Owner,
    commands: SyncSender<Command>,
    /// Set while a request is with it.
    busy: Arc<AtomicBool>,
    ends: Ends,
}

/// An entry of the list; off it, and out of its place, when closed or dropped.
#[derive(Debug)]
struct Listed {
    id: String,
    open: Arc<Mutex<HashMap<String, Entry>>>,
    ended: Arc<Ended>,
    place: Mutex<Option<Place>>,
}

impl Listed {
    /// Remembers why it was ended, if nobody asked for that, and closes it.
    fn end(&self, why: &Failure) {
        // Who looks for it finds it in one of them at any time.
        if ended::is_from_outside(why)
            && let Some(entry) = self.open.lock().get(&self.id)
        {
            self.ended.add(&self.id, &entry.owner, &entry.database, why);
        }
        self.close();
    }

    fn close(&self) {
        self.open.lock().remove(&self.id);
        // Before the answer that ends it is sent: whoever has read that finds the place free.
        self.place.lock().take();
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.close();
    }
}

impl Transactions {
    pub(crate) fn new(places: Arc<Quota>, idle: Duration) -> Self {
        Self { open: Arc::default(), ended: Arc::default(), places, idle }
    }

    /// How many are open.
    pub(crate) fn len(&self) -> usize {
        self.open.lock().len()
    }

    /// Ends all of them; what they have not committed is undone.
    pub(crate) fn close(&self) {
        for (_, entry) in self.open.lock().drain() {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            entry.ends.cancelled.store(true, Ordering::Relaxed);
        }
    }

    /// The transaction of this caller with this id.
    fn find(&self, database: &str, owner: &Owner, id: &str) -> Result<Entry, Refusal> {
        let found = self.open.lock().get(id).cloned();
        let own = found.filter(|entry| entry.owner == *owner && entry.database == database);
        own.ok_or_else(|| match self.ended.find(database, owner, id) {
            Some(why) => why.into(),
            None => Refusal::no_transaction(id),
        })
    }

    /// Why there is no answer of a transaction that was there.
    fn gone(&self, entry: &Entry, id: &str) -> Refusal {
        match self.ended.find(&entry.database, &entry.owner, id) {
            Some(why) => why.into(),
            None => Refusal::no_transaction(id),
        }
    }
}

/// A name that cannot be guessed.
fn new_id() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 12];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::too_many("no randomness for a new id"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a request asks of its transaction, with the answer to come.
fn job(
    app: &App,
    caller: &Caller,
    request: super::Request,
    ends: &Ends,
    commit: bool,
) -> (Job, Pending) {
    let (reply, pending) =
        reply(caller.media.name, StatusCode::ACCEPTED, app.settings.stall_timeout, ends.clone());
    let job = Job {
        text: request.text().map(str::to_owned),
        parameters: request.parameters,
        include_counters: request.include_counters,
        commit,
        output: Output::new(caller.media.format, reply),
    };
    (job, pending)
}

/// `POST /db/{name}/query/v2/tx`
pub(crate) async fn begin(
    State(app): State<App>,
    Path(name): Path<String>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    let mut request = input::read(&app, request).await?;
    if app.is_closing() {
        return Err(Refusal::closing());
    }
    let ends = Ends::default();
    let options = input::options(name.clone(), &mut request, &ends);
    input::await_bookmarks(&app, &caller.client, &options).await?;
    let transactions = &app.transactions;
    let place = transactions.places.take(caller.client.standing());
    let place = place.map_err(|full| full.failure("transactions", "http.transactions"))?;
    let (job, pending) = job(&app, &caller, request, &ends, false);
    let id = new_id()?;
    let (commands, commands_of) = mpsc::sync_channel(1);
    let busy = Arc::new(AtomicBool::new(true));
    let (database, owner) = (name, caller.owner);
    let (ends_too, busy_too) = (ends.clone(), Arc::clone(&busy));
    let entry = Entry { database, owner, commands, busy: busy_too, ends: ends_too };
    transactions.open.lock().insert(id.clone(), entry);
    let (open, place) = (Arc::clone(&transactions.open), Mutex::new(Some(place)));
    let listed = Listed { id: id.clone(), open, ended: Arc::clone(&transactions.ended), place };
    let deadline = Deadline::of(app.dbms.time_limit(options.timeout));
    let idle = transactions.idle;
    let worker = Worker { listed, busy, ends, idle, deadline, commands: commands_of };
    let client = caller.client;
    let thread = thread::Builder::new().name("http-tx".to_owned());
    let begun = thread.spawn(move || worker.run(&client, &options, job));
    begun.map_err(|e| Refusal::too_many(format!("no thread for the transaction: {e}")))?;
    pending.response().await.ok_or_else(|| Refusal::no_transaction(&id))
}

/// Hands a request to an open transaction.
async fn ask(
    app: App,
    (name, id): (String, String),
    caller: Caller,
    request: HttpRequest,
    commit: bool,
) -> Result<Response, Refusal> {
    let request = input::read(&app, request).await?;
    let entry = app.transactions.find(&name, &caller.owner, &id)?;
    // ORDERING: acquire and release, so that requests to a transaction follow one another.
    if entry.busy.swap(true, Ordering::AcqRel) {
        let message = "another request to this transaction is running".to_owned();
        let code = "Neo.ClientError.Transaction.TransactionAccessedConcurrently";
        return Err(Failure::new(code, message).into());
    }
    let (job, pending) = job(&app, &caller, request, &entry.ends, commit);
    let transactions = &app.transactions;
    let sent = entry.commands.try_send(Command::Run(Box::new(job)));
    sent.map_err(|_| transactions.gone(&entry, &id))?;
    pending.response().await.ok_or_else(|| transactions.gone(&entry, &id))
}

/// `POST /db/{name}/query/v2/tx/{id}`
pub(crate) async fn go_on(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    ask(app, place, caller, request, false).await
}

/// `POST /db/{name}/query/v2/tx/{id}/commit`
pub(crate) async fn commit(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    ask(app, place, caller, request, true).await
}

/// `DELETE /db/{name}/query/v2/tx/{id}`: ends a statement that runs, too.
pub(crate) async fn roll_back(
    State(app): State<App>,
    Path((name, id)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, Refusal> {
    let entry = app.transactions.find(&name, &caller.owner, &id)?;
    // ORDERING: acquire and release, as in `ask`.
    if entry.busy.swap(true, Ordering::AcqRel) {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        entry.ends.cancelled.store(true, Ordering::Relaxed);
    }
    let (done, done_of) = oneshot::channel();
    if entry.commands.try_send(Command::RollBack(done)).is_ok() {
        // An error says that it has ended by itself meanwhile.
        let _ = done_of.await;
    }
    Ok(([(CONTENT_TYPE, "application/json")], "{}").into_response())
}
