//! The queue of what happens, the store, the network, and what goes wrong.

use std::collections::BTreeMap;

use super::checker::{History, LogSlot, Outcome, Read};
use super::node::{Applied, Clock, Node, Prefix};
use crate::replica::election::fault::Fault;
use crate::replica::election::{
    Action, Content, Election, Event, Lease, LeaseOutcome, Role, SeenSlot, Settings, SlotOutcome,
};
use crate::store::simulated::Memory;
use crate::store::{Body, Entry, Name, Put, PutIf, Slot, StoreError, Version};

const SECOND: u64 = 1_000_000;
/// With faults, and after them.
const FAULTS_US: u64 = 25 * SECOND;
const END_US: u64 = 38 * SECOND;
/// Clocks are up to 5 % too fast or too slow: together less than margin / TTL.
const DRIFT: u64 = 50_000;

#[derive(Debug)]
enum Happening {
    Tick {
        node: usize,
        start: u64,
    },
    /// A request reaches the store.
    Arrive {
        node: usize,
        start: u64,
        action: Action,
    },
    /// An event reaches a node.
    Deliver {
        node: usize,
        start: u64,
        event: Event,
    },
    /// A strict read asks whether it may answer.
    ReadEnds {
        node: usize,
        start: u64,
        invoked: u64,
        prefix: Prefix,
    },
    Client,
    Trouble,
    Start {
        node: usize,
    },
}

pub(super) struct World {
    now: u64,
    number: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    random: u64,
    memory: Memory,
    stream: Name,
    key: Name,
    nodes: Vec<Node>,
    slow_until: u64,
    down_until: u64,
    starts: u64,
    fault: Option<Fault>,
    history: History,
}

impl World {
    pub(super) fn new(seed: u64, fault: Option<Fault>) -> Self {
        let mut world = Self {
            now: 0,
            number: 0,
            queue: BTreeMap::new(),
            random: seed.wrapping_mul(0x2545_F491_4F6C_DD1D),
            memory: Memory::default(),
            stream: Name::new("graph").unwrap(),
            key: Name::new("lease").unwrap(),
            nodes: Vec::new(),
            slow_until: 0,
            down_until: 0,
            starts: 0,
            fault,
            history: History::default(),
        };
        for node in 0..2 + usize::try_from(seed % 3).unwrap() {
            let offset_us = world.below(1_000_000 * SECOND);
            let rate = 1_000_000 - DRIFT + world.below(2 * DRIFT + 1);
            world.nodes.push(Node {
                clock: Clock { offset_us, rate },
                start: 0,
                election: None,
                applied: Applied::default(),
                paused_until: 0,
                requests_cut_until: 0,
                answers_cut_until: 0,
                tick_at: 0,
            });
            world.schedule(0, Happening::Start { node });
        }
        world.schedule(1000, Happening::Client);
        world.schedule(SECOND, Happening::Trouble);
        world
    }

    pub(super) fn run(mut self) -> History {
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            if at > END_US {
                break;
            }
            self.now = at;
            self.happen(happening);
            let reading = |node: &&Node| {
                let (now, next) = (node.clock.local(at), node.applied.prefix().next);
                let may = |election: &Election| election.may_read(now, next).is_ok();
                node.election.as_ref().is_some_and(may)
            };
            if self.nodes.iter().filter(reading).count() > 1 {
                self.history.two_readers.get_or_insert(at);
            }
        }
        let slots = self.memory.read(&self.stream, 1, usize::MAX).unwrap();
        self.history.log = slots.iter().map(log_slot).collect();
        // Time for a lease to lapse, and for the log to be read.
        self.history.healed = FAULTS_US + 8 * SECOND;
        self.history
    }

    fn below(&mut self, n: u64) -> u64 {
        // SplitMix64.
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.random ^ (self.random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn schedule(&mut self, after: u64, happening: Happening) {
        self.number += 1;
        self.queue.insert((self.now + after, self.number), happening);
    }

    fn has_faults(&self) -> bool {
        self.now < FAULTS_US
    }

    /// True if `happening` has to wait until `node` goes on; it is put off then. Processes that are
    /// gone take nothing.
    fn is_away(&self, node: usize, start: u64) -> Option<u64> {
        let node = &self.nodes[node];
        if node.start != start || node.election.is_none() {
            return Some(u64::MAX);
        }
        node.paused_until.checked_sub(self.now).filter(|left| *left > 0)
    }

    fn happen(&mut self, happening: Happening) {
        if let Happening::Tick { node, start }
        | Happening::Deliver { node, start, .. }
        | Happening::ReadEnds { node, start, .. } = happening
            && let Some(after) = self.is_away(node, start)
        {
            if after != u64::MAX {
                self.schedule(after, happening);
            }
            return;
        }
        match happening {
            Happening::Tick { node, .. } => {
                self.nodes[node].tick_at = u64::MAX;
                self.step(node, Event::Tick);
            }
            Happening::Deliver { node, event, .. } => self.step(node, event),
            Happening::Arrive { node, start, action } => self.arrive(node, start, action),
            Happening::ReadEnds { node, invoked, prefix, .. } => {
                let found = &self.nodes[node];
                let now = found.clock.local(self.now);
                let may = |election: &Election| election.may_read(now, prefix.next).is_ok();
                if found.election.as_ref().is_some_and(may) {
                    self.history.reads.push(Read { invoked, answered: self.now, prefix });
                }
            }
            Happening::Client => self.client(),
            Happening::Trouble => self.trouble(),
            Happening::Start { node } => self.start(node),
        }
    }

    fn start(&mut self, node: usize) {
        self.starts += 1;
        let (start, fault) = (self.starts, self.fault);
        let found = &mut self.nodes[node];
        let now = found.clock.local(self.now);
        found.start = start;
        found.applied = Applied::default();
        let name = format!("node-{node}");
        let election = Election::new(Settings::default(), start, &name, true, 1, None, now);
        found.election = Some(election.with_fault(fault));
        found.tick_at = u64::MAX;
        self.step(node, Event::Tick);
    }

    fn step(&mut self, node: usize, event: Event) {
        let found = &mut self.nodes[node];
        let Some(election) = found.election.as_mut() else { return };
        let actions = election.step(found.clock.local(self.now), event);
        for action in actions {
            self.act(node, action);
        }
        let found = &self.nodes[node];
        if let Some(election) = &found.election {
            let (start, at) = (found.start, found.clock.global(election.wake_at()));
            let at = at.max(self.now + 1);
            if at < found.tick_at {
                self.nodes[node].tick_at = at;
                self.schedule(at - self.now, Happening::Tick { node, start });
            }
        }
    }

    fn act(&mut self, node: usize, action: Action) {
        match action {
            Action::Apply(slot) => self.apply(node, slot),
            Action::Acknowledge { id, slot } => {
                let at = self.now;
                let outcome = &mut self.history.appends[usize::try_from(id).unwrap()];
                if let Outcome::Open = outcome {
                    *outcome = Outcome::Acknowledged { at, slot };
                    self.apply(node, slot);
                }
            }
            Action::Refuse { id } => {
                let outcome = &mut self.history.appends[usize::try_from(id).unwrap()];
                if let Outcome::Open = outcome {
                    *outcome = Outcome::Refused;
                }
            }
            Action::Became(_) => {}
            action => {
                let lost = self.has_faults() && self.one_in(40);
                let cut = self.nodes[node].requests_cut_until > self.now;
                if !lost && !cut {
                    let (start, after) = (self.nodes[node].start, self.latency());
                    self.schedule(after, Happening::Arrive { node, start, action });
                }
            }
        }
    }

    fn apply(&mut self, node: usize, slot: SeenSlot) {
        if !self.nodes[node].applied.push(slot) {
            self.history.disorder.get_or_insert(self.now);
        }
    }

    fn latency(&mut self) -> u64 {
        if self.has_faults() && self.one_in(60) {
            return self.below(6 * SECOND);
        }
        if self.slow_until > self.now {
            return 50_000 + self.below(SECOND);
        }
        500 + self.below(8000)
    }

    /// A request arrives: the store carries it out, whether its sender still lives or not.
    fn arrive(&mut self, node: usize, start: u64, action: Action) {
        if self.down_until > self.now {
            return;
        }
        let event = match action {
            Action::ReadLease { request } => {
                let found = self.memory.get(&self.key).map(|entry| lease_of(&entry));
                Event::LeaseRead { request, found }
            }
            Action::WriteLease { request, expected, lease } => {
                let outcome = match self.memory.put_if(&self.key, expected, &lease.encode()) {
                    PutIf::Won(version) => LeaseOutcome::Won(version),
                    PutIf::Lost(found) => LeaseOutcome::Lost(found.as_ref().map(lease_of)),
                    PutIf::Unknown(_) => LeaseOutcome::Unknown,
                };
                Event::LeaseWritten { request, outcome }
            }
            Action::ReadLog { request, from } => {
                let slots = self.memory.read(&self.stream, from, 2000).unwrap();
                let slots = slots.iter().map(|slot| log_slot(slot).slot).collect();
                Event::LogRead { request, slots }
            }
            Action::PutSlot { request, slot, content } => {
                let outcome = self.put(slot, content);
                let is_own = matches!(outcome, SlotOutcome::Lost(found) if found == slot);
                self.history.resolved += usize::from(is_own);
                Event::SlotPut { request, outcome }
            }
            _ => return,
        };
        // Some stores say that they do not know, instead of nothing.
        let event = match event {
            Event::SlotPut { request, .. } if self.has_faults() && self.one_in(30) => {
                Event::SlotPut { request, outcome: SlotOutcome::Unknown }
            }
            Event::LeaseWritten { request, .. } if self.has_faults() && self.one_in(30) => {
                Event::LeaseWritten { request, outcome: LeaseOutcome::Unknown }
            }
            Event::LogRead { request, .. } | Event::LeaseRead { request, .. }
                if self.has_faults() && self.one_in(30) =>
            {
                Event::Failed { request }
            }
            event => event,
        };
        self.answer(node, start, event);
    }

    fn answer(&mut self, node: usize, start: u64, event: Event) {
        let lost = self.has_faults() && self.one_in(40);
        let cut = self.nodes[node].answers_cut_until > self.now;
        if !lost && !cut {
            let after = self.latency();
            self.schedule(after, Happening::Deliver { node, start, event });
        }
    }

    fn put(&mut self, slot: SeenSlot, content: Content) -> SlotOutcome {
        let payload = match content {
            Content::Epoch => Vec::new(),
            Content::Group(id) => id.to_le_bytes().to_vec(),
        };
        let body = Body::new(slot.epoch, slot.writer, slot.nonce, 0, 0, &payload).unwrap();
        let bytes = [&body.header()[..], &payload].concat();
        match self.memory.put_once(&self.stream, slot.range, &bytes) {
            Ok(Put::Won) => {
                self.history.won.push(slot.range.first());
                SlotOutcome::Won
            }
            Ok(Put::Lost(found)) => SlotOutcome::Lost(log_slot(&found).slot),
            Ok(Put::Unknown(_)) => SlotOutcome::Unknown,
            // Only who breaks a rule is past the end.
            Err(StoreError::Missing { .. }) if self.fault.is_some() => SlotOutcome::Unknown,
            Err(cause) => panic!("{cause}"),
        }
    }

    fn leader(&self) -> Option<usize> {
        let leads = |node: &Node| {
            node.election.as_ref().is_some_and(|election| election.role() == Role::Leader)
        };
        self.nodes.iter().rposition(leads)
    }

    /// A client appends or reads, at a leader or anywhere.
    fn client(&mut self) {
        let next = 2000 + self.below(40_000);
        self.schedule(next, Happening::Client);
        let any = usize::try_from(self.below(self.nodes.len() as u64)).unwrap();
        let node = if self.one_in(3) { any } else { self.leader().unwrap_or(any) };
        let start = self.nodes[node].start;
        if self.one_in(2) {
            let id = self.history.appends.len() as u64;
            self.history.appends.push(Outcome::Open);
            let event = Event::Append { id, commits: 1 + self.below(5) };
            let after = self.below(3000);
            self.schedule(after, Happening::Deliver { node, start, event });
        } else if self.is_away(node, start).is_none() {
            let (invoked, prefix) = (self.now, self.nodes[node].applied.prefix());
            let after = if self.one_in(8) { self.below(3 * SECOND) } else { self.below(3000) };
            self.schedule(after, Happening::ReadEnds { node, start, invoked, prefix });
        }
    }

    fn trouble(&mut self) {
        if !self.has_faults() {
            return;
        }
        let next = 100_000 + self.below(2 * SECOND);
        self.schedule(next, Happening::Trouble);
        let any = usize::try_from(self.below(self.nodes.len() as u64)).unwrap();
        let node = if self.one_in(2) { any } else { self.leader().unwrap_or(any) };
        let until = self.now + 50_000 + self.below(6 * SECOND);
        let kind = self.below(10);
        let found = &mut self.nodes[node];
        let start = found.start;
        match kind {
            0 | 1 => found.paused_until = until,
            2 => {
                found.election = None;
                let after = 10_000 + self.below(4 * SECOND);
                self.schedule(after, Happening::Start { node });
            }
            3 => found.requests_cut_until = until,
            4 => found.answers_cut_until = until,
            5 => (found.requests_cut_until, found.answers_cut_until) = (until, until),
            6 => self.down_until = self.now + self.below(3 * SECOND),
            7 => self.slow_until = until,
            8 => {
                // It ends in order, some time after it was told to.
                found.election.iter_mut().for_each(Election::retire);
                let event = Event::Release { to: None };
                self.schedule(0, Happening::Deliver { node, start, event });
                self.schedule(until - self.now, Happening::Start { node });
            }
            _ => {
                // To another one, to itself, or to anybody.
                let to = until.is_multiple_of(2).then(|| format!("node-{any}"));
                self.schedule(0, Happening::Deliver { node, start, event: Event::Release { to } });
            }
        }
    }
}

fn lease_of(entry: &Entry) -> (Version, Lease) {
    (entry.version, Lease::decode(&entry.value).unwrap())
}

fn log_slot(slot: &Slot) -> LogSlot {
    let (body, payload) = Body::decode(&slot.body).unwrap();
    let id = payload.first_chunk().map(|bytes| u64::from_le_bytes(*bytes));
    let (range, writer, nonce) = (slot.range, body.identity.writer, body.identity.nonce);
    LogSlot { slot: SeenSlot { range, epoch: body.epoch, writer, nonce }, id }
}
