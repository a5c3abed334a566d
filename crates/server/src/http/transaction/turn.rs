//! Turns: one request with an open transaction, on a thread of its own.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use telar_db::ValueMap;
use telar_db::value::LocalDateTime;

use super::ended;
use super::open::{Held, Open, Transactions};
use crate::dbms::{Client, Done, Failure, Options};
use crate::http::App;
use crate::http::output::Output;
use crate::http::summary::{Ending, OpenTransaction};

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) struct Job {
    /// Statements to run; none, to keep the transaction alive or to commit it.
    pub(super) text: Option<String>,
    pub(super) parameters: ValueMap,
    pub(super) include_counters: bool,
    pub(super) commit: bool,
    pub(super) output: Output,
}

/// A request that has the transaction to itself. Dropping it ends the transaction: so does a panic.
#[derive(Debug)]
pub(super) struct Turn {
    app: App,
    open: Arc<Open>,
    /// The transaction, unless it has yet to begin, or is over.
    held: Option<Box<Held>>,
    /// True once nothing is left to do: the transaction has ended, or goes on without this.
    done: bool,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if !self.done {
            self.close(None);
        }
    }
}

/// A moment from now, in UTC, to the second.
fn in_utc(after: Duration) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + after;
    let seconds = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
    let at = LocalDateTime::from_epoch(seconds, 0).map(|at| at.to_string()).unwrap_or_default();
    // Seconds that are zero are left out of a local time; here they are not.
    if at.len() == "2026-01-01T00:00".len() { format!("{at}:00Z") } else { format!("{at}Z") }
}

impl Turn {
    /// The turn of the request that begins the transaction.
    pub(super) fn first(app: App, open: Arc<Open>) -> Self {
        Self { app, open, held: None, done: false }
    }

    /// The turn of a later request.
    pub(super) fn next(app: App, open: Arc<Open>, held: Box<Held>) -> Self {
        Self { app, open, held: Some(held), done: false }
    }

    /// Begins the transaction and does the first job.
    pub(super) fn begin(mut self, client: Client, options: &Options, job: Job) {
        match client.begin(options) {
            Ok(work) => {
                self.held = Some(Box::new(Held { work, client }));
                self.run(job);
            }
            Err(failure) => {
                self.end(Some(&failure));
                job.output.fail(&failure);
            }
        }
    }

    /// Does a job, and answers.
    pub(super) fn run(mut self, job: Job) {
        let Job { text, parameters, include_counters, commit, mut output } = job;
        let Some(held) = &mut self.held else { return };
        let done = text.map(|text| held.work.run(&text, &parameters, &mut output)).transpose();
        let done = match done {
            Ok(done) => done,
            Err(failure) => {
                // Whoever hung up has ended it himself.
                let is_terminated = failure.code == ended::TERMINATED;
                let why = self.open.why_terminated(&held.client).filter(|_| is_terminated);
                let own = is_terminated && why.is_none();
                let failure = why.unwrap_or(failure);
                self.end(Some(&failure).filter(|_| !own));
                return output.fail(&failure);
            }
        };
        let ending = |done: &Option<Done>, bookmark, transaction, output: Output| {
            let summary = done.as_ref().map(|done| &done.summary);
            output.end(&Ending { summary, include_counters, bookmark, transaction });
        };
        if commit {
            let Some(Held { work, client }) = self.held.take().map(|held| *held) else { return };
            let committed = work.commit();
            drop(client);
            self.end(None);
            return match committed {
                Ok(bookmark) => ending(&done, Some(bookmark.to_string()), None, output),
                Err(failure) => output.fail(&failure),
            };
        }
        let (id, expires) = (self.open.id.clone(), in_utc(self.app.transactions.idle()));
        // Before the answer: whoever has read that may ask for it again.
        self.give_back();
        ending(&done, None, Some(OpenTransaction { id, expires }), output);
    }

    /// Leaves the transaction to the next request, unless it was told to end.
    fn give_back(mut self) {
        let Some(held) = self.held.take() else { return };
        match self.open.give_back(held) {
            Ok(()) => self.done = true,
            Err(held) => self.held = Some(held),
        }
    }

    /// Undoes the transaction, if it has not committed, and ends it.
    pub(super) fn end(mut self, why: Option<&Failure>) {
        self.close(why);
        self.done = true;
    }

    fn close(&mut self, why: Option<&Failure>) {
        self.app.transactions.remove(&self.open, why);
        drop(self.held.take());
        Transactions::finish(&self.open);
    }
}

#[test]
fn moments_are_utc_to_the_second() {
    let text = in_utc(Duration::from_secs(60));
    assert!(text.len() == "2026-01-01T00:00:00Z".len() && text.ends_with('Z'), "{text}");
}
