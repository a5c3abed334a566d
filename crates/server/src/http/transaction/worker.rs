//! The thread of an open transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use telar_db::ValueMap;
use telar_db::value::LocalDateTime;
use tokio::sync::oneshot;

use super::{Listed, ended};
use crate::dbms::{Client, Done, Failure, Options, Work};
use crate::http::output::Output;
use crate::http::reply::Ends;
use crate::http::summary::{Ending, OpenTransaction};
use crate::net::TICK;

/// What a transaction can be asked for.
#[derive(Debug)]
pub(super) enum Command {
    Run(Box<Job>),
    RollBack(oneshot::Sender<()>),
}

/// A request, and where its answer goes.
#[derive(Debug)]
pub(super) struct Job {
    /// What to run; nothing, to keep the transaction alive or to commit it.
    pub(super) text: Option<String>,
    pub(super) parameters: ValueMap,
    pub(super) include_counters: bool,
    pub(super) commit: bool,
    pub(super) output: Output,
}

#[derive(Debug)]
pub(super) struct Worker {
    pub(super) listed: Listed,
    pub(super) busy: Arc<AtomicBool>,
    pub(super) ends: Ends,
    pub(super) idle: Duration,
    pub(super) deadline: Option<Deadline>,
    pub(super) commands: Receiver<Command>,
}

/// When a transaction is over, whatever it does.
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

    fn is_over(&self) -> bool {
        Instant::now() >= self.at
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

impl Worker {
    /// Runs the transaction to its end.
    pub(super) fn run(self, client: &Client, options: &Options, first: Job) {
        let mut first = Some(first);
        let done = client.transaction(options, |work| self.serve(work, first.take()));
        if let (Err(failure), Some(job)) = (done, first) {
            self.listed.end(&failure);
            job.output.fail(&failure);
        }
    }

    /// The next thing to do; none if nobody asked in time. Who asks for the end gets it here.
    ///
    /// # Errors
    /// It was ended from outside.
    fn next(&self) -> Result<Option<Command>, Failure> {
        let begun = Instant::now();
        while begun.elapsed() < self.idle {
            if self.ends.is_terminated() {
                let message = "the transaction was terminated, and undone";
                return Err(Failure::new(ended::TERMINATED, message));
            }
            if let Some(Deadline { whose, .. }) = self.deadline.as_ref().filter(|d| d.is_over()) {
                let message = format!("the transaction took longer than it may{whose}: undone");
                return Err(Failure::new(ended::TIMED_OUT, message));
            }
            match self.commands.recv_timeout(TICK.min(self.idle)) {
                Ok(command) => return Ok(Some(command)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        Ok(None)
    }

    fn serve(&self, mut work: Work<'_, '_>, first: Option<Job>) {
        let mut job = first;
        loop {
            let Job { text, parameters, include_counters, commit, mut output } = match job.take() {
                Some(job) => job,
                None => match self.next() {
                    Ok(Some(Command::Run(job))) => *job,
                    Ok(Some(Command::RollBack(done))) => {
                        work.rollback();
                        self.listed.close();
                        // Who asked may have gone.
                        let _ = done.send(());
                        return;
                    }
                    Ok(None) => return self.listed.close(),
                    Err(why) => {
                        work.rollback();
                        return self.listed.end(&why);
                    }
                },
            };
            let done = text.map(|text| work.run(&text, &parameters, &mut output)).transpose();
            let done = match done {
                Ok(done) => done,
                Err(failure) => {
                    work.rollback();
                    // Whoever hung up has ended it himself.
                    match failure.code == ended::TERMINATED && !self.ends.is_terminated() {
                        true => self.listed.close(),
                        false => self.listed.end(&failure),
                    }
                    return output.fail(&failure);
                }
            };
            let ending = |done: &Option<Done>, bookmark, transaction, output: Output| {
                let summary = done.as_ref().map(|done| &done.summary);
                output.end(&Ending { summary, include_counters, bookmark, transaction });
            };
            if commit {
                let committed = work.commit();
                self.listed.close();
                return match committed {
                    Ok(bookmark) => ending(&done, Some(bookmark.to_string()), None, output),
                    Err(failure) => output.fail(&failure),
                };
            }
            let id = self.listed.id.clone();
            let open = OpenTransaction { id, expires: in_utc(self.idle) };
            // ORDERING: release, as the next request goes on where this one ended.
            self.busy.store(false, Ordering::Release);
            ending(&done, None, Some(open), output);
        }
    }
}

#[test]
fn moments_are_utc_to_the_second() {
    let text = in_utc(Duration::from_secs(60));
    assert!(text.len() == "2026-01-01T00:00:00Z".len() && text.ends_with('Z'), "{text}");
}
