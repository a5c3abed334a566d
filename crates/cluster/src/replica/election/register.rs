//! One node's view of the lease's register: what it saw, since when, and what it wrote.

use std::collections::VecDeque;
use std::time::Duration;

use super::fault::Fault;
use super::{Lease, LeaseOutcome, Moment, Settings};
use crate::store::Version;

/// Own writes whose time is remembered: far more than are ever under way.
const SENT_MAX: usize = 32;

/// Times of patience, from the first answer after the lease had run out on, after which it is taken
/// whatever the store answered between: where that is silent again and again, its holder may never
/// have time.
const PATIENCES_MAX: u32 = 3;

/// Sight of the register, and since when.
#[derive(Clone, Debug)]
struct Seen {
    version: Version,
    lease: Option<Lease>,
    since: Moment,
    /// The first answer that showed it unchanged for longer than a lease lasts.
    over_since: Option<Moment>,
}

/// A request for the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Read,
    Write { expected: Version, lease: Lease },
}

#[derive(Clone, Debug)]
struct UnderWay {
    request: u64,
    sent: Moment,
    written: Option<Lease>,
}

#[derive(Debug)]
pub(super) struct Register {
    settings: Settings,
    holder: u64,
    node: String,
    seen: Option<Seen>,
    /// The first and the last of the answers that came one after the other.
    answers: Option<(Moment, Moment)>,
    counter: u64,
    sent: VecDeque<(u64, Moment)>,
    under_way: Option<UnderWay>,
    /// A write has an unknown outcome: read before writing again.
    in_doubt: bool,
    valid_until: Option<Moment>,
    /// When to do something next.
    due: Moment,
    /// Not to be taken by this node before: it gave it up.
    leave_until: Option<Moment>,
    fault: Option<Fault>,
}

impl Register {
    pub(super) fn new(settings: Settings, holder: u64, node: String, now: Moment) -> Self {
        Self {
            settings,
            holder,
            node,
            seen: None,
            answers: None,
            counter: 0,
            sent: VecDeque::new(),
            under_way: None,
            in_doubt: false,
            valid_until: None,
            due: now,
            leave_until: None,
            fault: None,
        }
    }

    #[cfg(test)]
    pub(super) fn set_fault(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    /// The lease that was last seen.
    pub(super) fn lease(&self) -> Option<&Lease> {
        self.seen.as_ref()?.lease.as_ref()
    }

    /// Since when the register has been seen as it is.
    pub(super) fn since(&self) -> Option<Moment> {
        self.seen.as_ref().map(|seen| seen.since)
    }

    /// The lease, if it is this process's own.
    pub(super) fn own(&self) -> Option<&Lease> {
        self.lease().filter(|lease| lease.holder == self.holder && !lease.released)
    }

    /// True if the register says so, or may by a write whose outcome is not known.
    pub(super) fn may_be_own(&self) -> bool {
        let writes = self.under_way.as_ref().is_some_and(|found| found.written.is_some());
        writes || self.in_doubt || self.own().is_some()
    }

    /// True while nobody else can have taken the lease over.
    pub(super) fn is_valid(&self, now: Moment) -> bool {
        self.valid_until.is_some_and(|until| now < until)
    }

    /// When [`drive`](Self::drive) has something to do.
    pub(super) fn wake_at(&self) -> Moment {
        match &self.under_way {
            Some(under_way) => under_way.sent.after(self.settings.request_timeout),
            None => self.due,
        }
    }

    /// The next request, if it is time for one. `keep` says that this node leads or is about to;
    /// `epoch` is the largest in the log.
    pub(super) fn drive(
        &mut self,
        now: Moment,
        keep: bool,
        votes: bool,
        epoch: u64,
        number: impl FnOnce() -> u64,
    ) -> Option<(u64, Request)> {
        if self.under_way.as_ref().is_some_and(|_| now >= self.wake_at()) {
            // An answer that comes later is not looked at.
            let written = self.under_way.take().is_some_and(|found| found.written.is_some());
            self.in_doubt |= written;
            self.due = now;
        }
        if self.under_way.is_some() || now < self.due {
            return None;
        }
        let request = match &self.seen {
            Some(seen) if !self.in_doubt => match &seen.lease {
                Some(lease) if keep && self.own().is_some() => {
                    let lease = lease.clone();
                    self.write(seen.version, lease)
                }
                _ if votes && !keep && self.may_take(now, seen, epoch) => {
                    let last = seen.lease.as_ref().map_or(0, |lease| lease.epoch);
                    let (holder, node) = (self.holder, self.node.clone());
                    let epoch = last.max(epoch) + 1;
                    let lease =
                        Lease { epoch, holder, counter: 0, released: false, node, successor: None };
                    self.write(seen.version, lease)
                }
                _ => Request::Read,
            },
            _ => Request::Read,
        };
        let number = number();
        self.send(now, number, &request);
        self.due = now.after(match request {
            Request::Write { .. } => self.settings.renew_every,
            Request::Read => self.settings.watch_every,
        });
        Some((number, request))
    }

    /// The write that gives the lease up, to `successor` if one is named; it is not valid from now
    /// on. None if a request is under way or in doubt.
    pub(super) fn release(
        &mut self,
        now: Moment,
        successor: Option<&str>,
        number: impl FnOnce() -> u64,
    ) -> Option<(u64, Request)> {
        if self.under_way.is_some() || self.in_doubt {
            return None;
        }
        let (version, lease) = (self.seen.as_ref()?.version, self.own()?.clone());
        self.valid_until = None;
        self.leave_until = Some(now.after(self.settings.ttl));
        let successor = successor.map(str::to_owned);
        let request = self.write(version, Lease { released: true, successor, ..lease });
        let number = number();
        self.send(now, number, &request);
        Some((number, request))
    }

    fn write(&self, expected: Version, lease: Lease) -> Request {
        Request::Write { expected, lease: Lease { counter: self.counter + 1, ..lease } }
    }

    fn send(&mut self, now: Moment, request: u64, what: &Request) {
        let written = match what {
            Request::Read => None,
            Request::Write { lease, .. } => {
                self.counter = lease.counter;
                if self.sent.len() == SENT_MAX {
                    self.sent.pop_front();
                }
                self.sent.push_back((lease.counter, now));
                Some(lease.clone())
            }
        };
        self.under_way = Some(UnderWay { request, sent: now, written });
    }

    /// The lease may be taken: nobody holds it, or its holder cannot believe so any more.
    fn may_take(&self, now: Moment, seen: &Seen, epoch: u64) -> bool {
        if self.leave_until.is_some_and(|until| now < until) {
            return false;
        }
        let Some(lease) = &seen.lease else { return true };
        if self.own().is_some_and(|own| own.epoch > epoch) {
            // Taken already, by a write whose answer was lost.
            return false;
        }
        let patience = match (lease.released, &lease.successor) {
            (false, _) => self.settings.ttl + self.settings.margin,
            // Nobody reads by it: the wait is a courtesy.
            (true, Some(successor)) if *successor != self.node => self.settings.ttl,
            (true, _) => return true,
        };
        let is_over = now.since(seen.since) >= patience;
        let is_long_over =
            seen.over_since.is_some_and(|since| now.since(since) >= patience * PATIENCES_MAX);
        let is_free = is_over && self.holder_had_time(now, is_long_over);
        is_free || self.fault == Some(Fault::TakesOverAtOnce)
    }

    /// True if the store answers, and has for as long as a holder of the lease needs to renew it;
    /// or, where it answers in fits and starts, has answered just now.
    fn holder_had_time(&self, now: Moment, is_long_over: bool) -> bool {
        // Later than that the last request was not answered in time.
        let is_fresh = |last| now.since(last) < self.settings.request_timeout;
        let answers = self.answers.filter(|(_, last)| is_fresh(*last));
        answers.is_some_and(|(first, _)| is_long_over || now.since(first) >= self.grace())
    }

    /// Time without an answer after which the store counts as silent: longer than one request that
    /// times out.
    fn pause(&self) -> Duration {
        self.settings.request_timeout * 3 / 2
    }

    /// Time that a holder of the lease needs to renew it once the store answers again: a request
    /// from before times out, and a read comes before the next write.
    fn grace(&self) -> Duration {
        let Settings { request_timeout, retry_after, watch_every, .. } = self.settings;
        request_timeout + 2 * retry_after + watch_every
    }

    /// Takes the answer to a read.
    pub(super) fn on_read(
        &mut self,
        now: Moment,
        request: u64,
        found: Option<(Version, Lease)>,
    ) -> bool {
        if !self.answers(request) {
            return false;
        }
        self.in_doubt = false;
        self.observe(now, found);
        true
    }

    /// Takes the answer to a write.
    pub(super) fn on_written(&mut self, now: Moment, request: u64, outcome: LeaseOutcome) -> bool {
        let written = self.under_way.as_ref().and_then(|found| found.written.clone());
        if !self.answers(request) {
            return false;
        }
        match (outcome, written) {
            (LeaseOutcome::Won(version), Some(lease)) => self.observe(now, Some((version, lease))),
            (LeaseOutcome::Lost(found), _) => self.observe(now, found),
            _ => {
                self.in_doubt = true;
                self.due = now.after(self.settings.retry_after);
            }
        }
        true
    }

    /// Takes the failure of a read.
    pub(super) fn on_failed(&mut self, now: Moment, request: u64) -> bool {
        if !self.answers(request) {
            return false;
        }
        self.due = now.after(self.settings.retry_after);
        true
    }

    fn answers(&mut self, request: u64) -> bool {
        let answers = self.under_way.as_ref().is_some_and(|found| found.request == request);
        if answers {
            self.under_way = None;
        }
        answers
    }

    fn observe(&mut self, now: Moment, found: Option<(Version, Lease)>) {
        let goes_on = |last: Moment| now.since(last) < self.pause();
        let since = self.answers.filter(|(_, last)| goes_on(*last)).map_or(now, |(first, _)| first);
        self.answers = Some((since, now));
        let (version, lease) = match found {
            Some((version, lease)) => (version, Some(lease)),
            None => (Version::ABSENT, None),
        };
        let lasts = self.settings.ttl + self.settings.margin;
        match &mut self.seen {
            Some(seen) if seen.version == version => {
                if seen.over_since.is_none() && now.since(seen.since) >= lasts {
                    seen.over_since = Some(now);
                }
            }
            _ => self.seen = Some(Seen { version, lease, since: now, over_since: None }),
        }
        let own = self.own().map(|lease| lease.counter);
        match own {
            Some(counter) => {
                let sent = self.sent.iter().find(|(number, _)| *number == counter);
                let from = match self.fault {
                    Some(Fault::ValidFromAnswer) => Some(now),
                    _ => sent.map(|(_, sent)| *sent),
                };
                let until = from.map(|from| from.after(self.settings.ttl));
                self.valid_until = self.valid_until.max(until);
            }
            None => {
                self.valid_until = None;
                self.due = self.due.min(now.after(self.settings.watch_every));
            }
        }
    }
}
