//! The election of one node.

use std::collections::VecDeque;
use std::time::Duration;

use super::fault::Fault;
use super::register::{Register, Request};
use super::{Action, Content, Event, Lease, Moment, Role, SeenSlot, Settings, SlotOutcome};
use crate::store::SlotRange;

/// This node does not lead, or cannot be sure that it does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this node does not lead{}", leader.as_ref().map(|node| format!(" ({node} does)")).unwrap_or_default())]
pub struct NotLeader {
    /// The node that leads, as far as this one knows.
    pub leader: Option<String>,
}

/// A slot that this node puts.
#[derive(Clone, Copy, Debug)]
struct Put {
    slot: SeenSlot,
    content: Content,
    /// The first request for it.
    asked: Option<u64>,
    /// The request under way and when it was sent; else when to ask again.
    request: Option<(u64, Moment)>,
    due: Moment,
}

/// The election of one node: a state machine without I/O.
///
/// Cost: a step is constant time but for the slots that it is handed.
#[derive(Debug)]
pub struct Election {
    settings: Settings,
    holder: u64,
    votes: bool,
    /// False while the node could not lead, whether it votes or not.
    fit: bool,
    role: Role,
    register: Register,
    /// The epoch that this node leads, or is about to.
    epoch: u64,
    /// The timestamp after this node's last epoch record.
    leads_from: u64,
    /// The first timestamp that is not known from the log.
    next: u64,
    /// The slot that holds the timestamp before that, if it is known.
    last: Option<SeenSlot>,
    /// The largest epoch in the log.
    log_epoch: u64,
    /// The slot that is being put.
    put: Option<Put>,
    /// A group whose outcome was not known when this node stopped leading.
    unresolved: Option<(u64, SeenSlot)>,
    queue: VecDeque<(u64, u64)>,
    /// No more groups are taken; the lease is given up after the one under way.
    draining: bool,
    /// The node that the lease is to be given to, while draining.
    successor: Option<String>,
    /// The log was read to its end since this node became a candidate.
    at_end: bool,
    reading: Option<(u64, Moment)>,
    read_due: Moment,
    requests: u64,
    nonces: u64,
    actions: Vec<Action>,
    fault: Option<Fault>,
}

impl Election {
    /// Returns the election of the process `holder` (a random number per start) of node `node`,
    /// which knows the log up to before timestamp `next`, and of it the slot `last` that holds the
    /// timestamp before, if that was not trimmed. Only one that `votes` ever leads.
    #[must_use]
    pub fn new(
        settings: Settings,
        holder: u64,
        node: &str,
        votes: bool,
        next: u64,
        last: Option<SeenSlot>,
        now: Moment,
    ) -> Self {
        Self {
            register: Register::new(settings.clone(), holder, node.to_owned(), now),
            settings,
            holder,
            votes,
            fit: true,
            role: Role::Follower,
            epoch: 0,
            leads_from: 0,
            next,
            last,
            log_epoch: last.map_or(0, |last| last.epoch),
            put: None,
            unresolved: None,
            queue: VecDeque::new(),
            draining: false,
            successor: None,
            at_end: false,
            reading: None,
            read_due: now,
            requests: 0,
            nonces: 0,
            actions: Vec::new(),
            fault: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_fault(mut self, fault: Option<Fault>) -> Self {
        self.fault = fault;
        if let Some(fault) = fault {
            self.register.set_fault(fault);
        }
        self
    }

    /// Returns the role.
    #[must_use]
    pub fn role(&self) -> Role {
        self.role
    }

    /// Returns the first timestamp that is not known from the log.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns the slot that holds the timestamp before [`next`](Self::next), if it is known.
    #[must_use]
    pub fn last(&self) -> Option<SeenSlot> {
        self.last
    }

    /// Returns the timestamp after the slot that is being put, or else [`next`](Self::next): what
    /// other nodes may read in the log of what this one writes.
    #[must_use]
    pub fn put_end(&self) -> u64 {
        self.put.map_or(self.next, |put| put.slot.range.next())
    }

    /// Returns the lease that was last seen: the leader, as far as this node knows.
    #[must_use]
    pub fn lease(&self) -> Option<&Lease> {
        self.register.lease()
    }

    /// Never leads again, since the node is about to end. What it leads is given up by
    /// [`Event::Release`]; a lease that it only learns of now to have won, by itself.
    pub fn retire(&mut self) {
        self.votes = false;
    }

    /// Takes no lease unless it is `fit`: its copy takes what is in the log. What it leads is given
    /// up by [`Event::Release`]; a lease that it only learns of later to have won, by itself.
    pub fn set_fit(&mut self, fit: bool) {
        self.fit = fit;
    }

    fn may_lead(&self) -> bool {
        self.votes && self.fit
    }

    /// True while the register may say that this node holds the lease: others would wait for it to
    /// lapse.
    #[must_use]
    pub fn may_hold_lease(&self) -> bool {
        self.register.may_be_own()
    }

    /// Returns the time since the lease was seen to change. A leader changes it several times in a
    /// TTL.
    #[must_use]
    pub fn lease_age(&self, now: Moment) -> Option<Duration> {
        self.register.since().map(|since| now.since(since))
    }

    /// Returns the epoch if a snapshot that was taken *before* this call may answer a strict read:
    /// it has every commit that was acknowledged by then, by any node. It shows the timestamps
    /// before `snapshot`.
    ///
    /// A snapshot from before this node's epoch record may lack what others wrote, although the
    /// node leads now.
    ///
    /// # Errors
    /// [`NotLeader`] if another node may have led since the snapshot.
    pub fn may_read(&self, now: Moment, snapshot: u64) -> Result<u64, NotLeader> {
        let lapsed = !self.register.is_valid(now) && self.fault != Some(Fault::ReadsAfterLapse);
        let old = snapshot < self.leads_from && self.fault != Some(Fault::ReadsOldSnapshots);
        if self.role != Role::Leader || lapsed || old {
            return Err(self.not_leader());
        }
        Ok(self.epoch)
    }

    fn not_leader(&self) -> NotLeader {
        let other = self.lease().filter(|lease| lease.holder != self.holder && !lease.released);
        NotLeader { leader: other.map(|lease| lease.node.clone()) }
    }

    /// Returns when [`Event::Tick`] is wanted at the latest.
    #[must_use]
    pub fn wake_at(&self) -> Moment {
        let timeout = self.settings.request_timeout;
        let read = match self.reading {
            Some((_, sent)) => Some(sent.after(timeout)),
            None => self.reads_log().then_some(self.read_due),
        };
        let put = self.put.map(|put| match put.request {
            Some((_, sent)) => sent.after(timeout),
            None => put.due,
        });
        let wake = self.register.wake_at();
        read.into_iter().chain(put).fold(wake, Moment::min)
    }

    fn reads_log(&self) -> bool {
        match self.role {
            Role::Follower => true,
            Role::Candidate => !self.at_end,
            Role::Leader => false,
        }
    }

    /// Takes an event; returns what is to be done, in order.
    ///
    /// `now` never goes back. Answers may be missing, late, or come after a request's time-out; no
    /// answer may come that the store did not give.
    pub fn step(&mut self, now: Moment, event: Event) -> Vec<Action> {
        match event {
            Event::Tick => {}
            Event::LeaseRead { request, found } => {
                if self.register.on_read(now, request, found) {
                    self.follow_lease(now);
                }
            }
            Event::LeaseWritten { request, outcome } => {
                if self.register.on_written(now, request, outcome) {
                    self.follow_lease(now);
                }
            }
            Event::LogRead { request, slots } => self.on_log(now, request, &slots),
            Event::Found { slots } => self.see_all(now, &slots),
            Event::SlotPut { request, outcome } => self.on_put(now, request, outcome),
            Event::Failed { request } => self.on_failed(now, request),
            Event::Append { id, commits } => {
                self.queue.push_back((id, commits.max(1)));
            }
            Event::Look => self.read_due = self.read_due.min(now),
            Event::Release { to } => {
                self.draining = self.role != Role::Follower;
                self.successor = to;
            }
        }
        self.drive(now);
        std::mem::take(&mut self.actions)
    }

    /// Makes the role what the register says.
    fn follow_lease(&mut self, now: Moment) {
        let own = self.register.own().map(|lease| lease.epoch);
        match (self.role, own) {
            (Role::Follower, Some(epoch)) if epoch > self.log_epoch && self.may_lead() => {
                self.epoch = epoch;
                self.at_end = false;
                self.read_due = now;
                self.become_role(Role::Candidate);
            }
            (Role::Candidate | Role::Leader, own) if own != Some(self.epoch) => self.depose(now),
            _ => {}
        }
    }

    fn become_role(&mut self, role: Role) {
        self.role = role;
        self.actions.push(Action::Became(role));
    }

    /// Stops leading, or trying to. What waits is refused; what is under way is resolved by
    /// reading.
    fn depose(&mut self, now: Moment) {
        if let Some(Put { slot, content: Content::Group(id), .. }) = self.put.take() {
            self.unresolved = Some((id, slot));
        }
        self.draining = false;
        self.read_due = now;
        self.become_role(Role::Follower);
    }

    /// Slots are what they are however late an answer comes: a node that needs longer than the
    /// time-out to read what it lacks would else read the same for ever.
    fn on_log(&mut self, now: Moment, request: u64, slots: &[SeenSlot]) {
        if self.reading.is_some_and(|(number, _)| number == request) {
            self.reading = None;
            let is_end = slots.is_empty();
            self.read_due = if is_end { now.after(self.settings.follow_every) } else { now };
            self.at_end = is_end;
        }
        self.see_all(now, slots);
    }

    fn see_all(&mut self, now: Moment, slots: &[SeenSlot]) {
        for slot in slots {
            self.see(now, *slot);
        }
    }

    fn on_failed(&mut self, now: Moment, request: u64) {
        if self.reading.is_some_and(|(number, _)| number == request) {
            self.reading = None;
            self.read_due = now.after(self.settings.retry_after);
        } else {
            self.register.on_failed(now, request);
        }
    }

    /// Takes an answer however late it comes, as [`on_log`](Self::on_log) does.
    fn on_put(&mut self, now: Moment, request: u64, outcome: SlotOutcome) {
        let Some(put) = self.put.as_mut() else { return };
        let is_current = put.request.is_some_and(|(number, _)| number == request);
        let is_known = outcome != SlotOutcome::Unknown;
        let is_late = put.asked.is_some_and(|first| first <= request) && is_known;
        if !is_current && !is_late {
            return;
        }
        put.request = None;
        let slot = put.slot;
        match outcome {
            SlotOutcome::Won => self.see(now, slot),
            SlotOutcome::Lost(_) if self.fault == Some(Fault::KeepsLeading) => {
                self.next = slot.range.next();
                put.slot.range = range(self.next, 1);
                (put.asked, put.due) = (None, now);
            }
            SlotOutcome::Lost(slot) => self.see(now, slot),
            SlotOutcome::Unknown if self.fault == Some(Fault::UnknownIsWon) => self.see(now, slot),
            SlotOutcome::Unknown => self.doubt_put(now),
        }
    }

    /// The outcome of the put is unknown: it is asked again, as the same.
    fn doubt_put(&mut self, now: Moment) {
        if let Some(put) = &mut self.put {
            put.request = None;
            put.due = now.after(self.settings.retry_after);
            if self.fault == Some(Fault::NewIdentity) {
                self.nonces += 1;
                put.slot.nonce = self.nonces;
            }
        }
    }

    /// Takes the next slot of the log, whoever wrote it. A copy whose log a power failure has cut
    /// may have its beginning.
    fn see(&mut self, now: Moment, slot: SeenSlot) {
        let is_next = (slot.range.first()..slot.range.next()).contains(&self.next);
        if !is_next {
            // Known already: two requests met it.
            return;
        }
        self.next = slot.range.next();
        self.last = Some(slot);
        self.log_epoch = self.log_epoch.max(slot.epoch);
        let put = self.put.take();
        if let Some(put) = put.filter(|put| put.slot == slot) {
            match put.content {
                Content::Group(id) => self.acknowledge(id, slot),
                Content::Epoch => {
                    self.actions.push(Action::Apply(slot));
                    self.resolve(slot);
                    self.leads_from = self.next;
                    self.become_role(Role::Leader);
                }
            }
            return;
        }
        if !self.resolve(slot) {
            self.actions.push(Action::Apply(slot));
        }
        if let Some(Put { content: Content::Group(id), .. }) = put {
            self.actions.push(Action::Refuse { id });
        }
        match self.role {
            Role::Leader => self.depose(now),
            Role::Candidate if self.log_epoch >= self.epoch => self.depose(now),
            Role::Candidate => self.at_end = false,
            Role::Follower => {}
        }
    }

    fn acknowledge(&mut self, id: u64, slot: SeenSlot) {
        self.actions.push(Action::Acknowledge { id, slot });
    }

    /// Answers for the group of a former leadership that `slot` decides on; true if it is the slot.
    fn resolve(&mut self, slot: SeenSlot) -> bool {
        let Some((id, own)) = self.unresolved else { return false };
        if own.range.first() != slot.range.first() {
            return false;
        }
        self.unresolved = None;
        if own == slot {
            self.acknowledge(id, slot);
        } else {
            self.actions.push(Action::Refuse { id });
        }
        own == slot
    }

    /// Starts what is due.
    fn drive(&mut self, now: Moment) {
        self.check_timeouts(now);
        self.drive_put(now);
        self.drive_release(now);
        let (keep, may_lead) = (self.role != Role::Follower, self.may_lead());
        let requests = &mut self.requests;
        let number = || next_number(requests);
        let wanted = self.register.drive(now, keep, may_lead, self.log_epoch, number);
        self.ask_register(wanted);
        if self.reads_log() && self.reading.is_none() && now >= self.read_due {
            let request = next_number(&mut self.requests);
            self.reading = Some((request, now));
            self.actions.push(Action::ReadLog { request, from: self.next });
        }
    }

    fn ask_register(&mut self, wanted: Option<(u64, Request)>) {
        self.actions.extend(wanted.map(|(request, what)| match what {
            Request::Read => Action::ReadLease { request },
            Request::Write { expected, lease } => Action::WriteLease { request, expected, lease },
        }));
    }

    fn check_timeouts(&mut self, now: Moment) {
        let timeout = self.settings.request_timeout;
        let over = |(_, sent): (u64, Moment)| now >= sent.after(timeout);
        if self.reading.is_some_and(over) {
            self.reading = None;
            self.read_due = now;
        }
        if self.put.and_then(|put| put.request).is_some_and(over) {
            if self.fault == Some(Fault::UnknownIsWon) {
                let slot = self.put.map(|put| put.slot);
                slot.into_iter().for_each(|slot| self.see(now, slot));
            } else {
                self.doubt_put(now);
            }
        }
    }

    /// Puts what is to be put: an epoch record at the end of the log, the next group, or again what
    /// has an unknown outcome.
    fn drive_put(&mut self, now: Moment) {
        if self.put.is_none() && self.role == Role::Candidate && self.at_end {
            self.start(now, Content::Epoch, 1);
        }
        // A lapsed leader takes nothing new: it would only learn later that it is none.
        let leads = self.role == Role::Leader && !self.draining && self.register.is_valid(now);
        if !leads {
            for (id, _) in self.queue.drain(..) {
                self.actions.push(Action::Refuse { id });
            }
        } else if self.put.is_none()
            && let Some((id, commits)) = self.queue.pop_front()
        {
            self.start(now, Content::Group(id), commits);
        }
        if let Some(put) = &mut self.put
            && put.request.is_none()
            && now >= put.due
        {
            let request = next_number(&mut self.requests);
            put.asked.get_or_insert(request);
            put.request = Some((request, now));
            let (slot, content) = (put.slot, put.content);
            self.actions.push(Action::PutSlot { request, slot, content });
        }
    }

    fn start(&mut self, now: Moment, content: Content, commits: u64) {
        self.nonces += 1;
        let (epoch, writer, nonce) = (self.epoch, self.holder, self.nonces);
        let slot = SeenSlot { range: range(self.next, commits), epoch, writer, nonce };
        self.put = Some(Put { slot, content, asked: None, request: None, due: now });
        if let (Content::Group(id), Some(Fault::AcknowledgesEarly)) = (content, self.fault) {
            self.acknowledge(id, slot);
        }
    }

    fn drive_release(&mut self, now: Moment) {
        // Won by a write that was under way when the node retired, or was not fit any more.
        let unwanted =
            !self.may_lead() && self.role == Role::Follower && self.register.own().is_some();
        let busy = self.put.is_some_and(|put| put.content != Content::Epoch);
        if busy || !(self.draining || unwanted) {
            return;
        }
        let requests = &mut self.requests;
        let successor = self.successor.as_deref();
        if let Some(wanted) = self.register.release(now, successor, || next_number(requests)) {
            if !unwanted {
                self.depose(now);
            }
            self.ask_register(Some(wanted));
        }
    }
}

fn next_number(requests: &mut u64) -> u64 {
    *requests += 1;
    *requests
}

/// The range of `commits` timestamps from `first` on.
fn range(first: u64, commits: u64) -> SlotRange {
    SlotRange::new(first, first.saturating_add(commits))
        .expect("INVARIANT: timestamps begin at 1, and a group has a commit")
}
