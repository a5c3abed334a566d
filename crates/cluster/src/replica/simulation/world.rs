//! Nodes, clients, and what happens to them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use telar_engine::{Engine, Error, Snapshot};
use telar_graph::{LabelId, Value, VertexId};
use tempfile::TempDir;

use super::Fault;
use super::clock::{SimulatedClock, advance, set_meanwhile};
use super::history::{History, Known, Numbers};
use super::store::Reached;
use crate::replica::election::{Role, Settings};
use crate::replica::time::Clock;
use crate::replica::{Replica, ReplicaError, ReplicaOptions};
use crate::store::simulated::{Faults, Simulated};
use crate::store::{Log, Name, Stores};

const SECOND: u64 = 1_000_000;
/// Until then things go wrong.
const FAULTS_US: u64 = 40 * SECOND;
/// All copies are equal by then.
const END_US: u64 = FAULTS_US + 60 * SECOND;
/// A clock may be so many millionths too fast, and another too slow: together less than margin /
/// TTL.
const DRIFT: u64 = 50_000;
/// Bytes of a log file's header.
const HEADER_BYTES: u64 = 32;

pub(super) struct Node {
    /// Dropped before its folder.
    replica: RefCell<Option<Rc<Replica>>>,
    pub(super) folder: TempDir,
    clock: SimulatedClock,
    cut_log: Arc<AtomicBool>,
    pub(super) cut_coordination: Arc<AtomicBool>,
    /// True while no node of the store is reached, for a stale read.
    alone: Arc<AtomicBool>,
    pub(super) cut_until: Cell<u64>,
    pub(super) paused_until: Cell<u64>,
    /// Time at which a node that is down starts.
    starts_at: Cell<u64>,
    loses_power: Cell<bool>,
    role: Cell<Role>,
    /// Commits and bytes on disk for good: as the others know, and of its last log file.
    pub(super) kept: Cell<Option<u64>>,
    pub(super) synced: RefCell<(PathBuf, u64)>,
    /// True once the others do not wait for it any more.
    pub(super) given_up: Cell<bool>,
}

pub(super) struct World {
    world_us: Arc<AtomicU64>,
    pub(super) store: Simulated,
    pub(super) stream: Name,
    pub(super) nodes: Vec<Node>,
    random: Cell<u64>,
    pub(super) fault: Option<Fault>,
    known: RefCell<Known>,
    refused: RefCell<Numbers>,
    pub(super) history: RefCell<History>,
    failure: RefCell<Option<String>>,
}

fn settings() -> telar_engine::Settings {
    let mut settings = telar_engine::Settings::default();
    settings.background_interval_ms = 0;
    settings.checkpoint_wal_bytes = 0;
    settings.wal_file_bytes = 4096;
    settings.store_bytes_max = 1 << 26;
    settings
}

pub(super) fn folder() -> TempDir {
    // Nothing here depends on what a sync does.
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { TempDir::new_in(memory).unwrap() } else { TempDir::new().unwrap() }
}

/// Every vertex with its labels and its number.
fn dump(snapshot: &Snapshot<'_>, engine: &Engine) -> BTreeMap<u64, (Vec<LabelId>, Value)> {
    let reader = snapshot.reader();
    let key = engine.find_property_key("number");
    let value = |v| key.map_or(Value::Null, |key| reader.vertex_property(v, key));
    let all = (0..reader.vertex_bound().get()).map(VertexId::from_raw);
    all.filter_map(|v| Some((v.get(), (reader.labels(v)?, value(v))))).collect()
}

pub(super) fn last_log_file(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder.join("wal")).ok()?;
    files.map(|file| file.unwrap().path()).max()
}

fn numbers_of(snapshot: &Snapshot<'_>, engine: &Engine) -> Numbers {
    let all = dump(snapshot, engine).into_values();
    all.filter_map(|(_, value)| if let Value::Int(n) = value { Some(n) } else { None }).collect()
}

impl World {
    pub(super) fn run(seed: u64, fault: Option<Fault>) -> Result<History, String> {
        // A replica reads log and lease when it is time to: it has no watch that could be stale.
        let faults =
            Faults { lost_request: 25, lost_answer: 25, late: 40, failed_read: 30, stale: 0 };
        let mut world = Self {
            world_us: Arc::default(),
            store: Simulated::new(seed, faults),
            stream: Name::new("graph").unwrap(),
            nodes: Vec::new(),
            random: Cell::new(seed.wrapping_mul(0x2545_F491_4F6C_DD1D)),
            fault,
            known: RefCell::default(),
            refused: RefCell::default(),
            history: RefCell::default(),
            failure: RefCell::default(),
        };
        for _ in 0..2 + seed % 2 {
            let (offset_us, rate) = (world.below(SECOND * 1000), 1_000_000 - DRIFT);
            let rate = rate + world.below(2 * DRIFT + 1);
            world.nodes.push(Node {
                folder: folder(),
                clock: SimulatedClock { world_us: Arc::clone(&world.world_us), offset_us, rate },
                cut_log: Arc::default(),
                cut_coordination: Arc::default(),
                alone: Arc::default(),
                cut_until: Cell::new(0),
                paused_until: Cell::new(0),
                starts_at: Cell::new(0),
                loses_power: Cell::new(false),
                role: Cell::new(Role::Follower),
                kept: Cell::new(None),
                synced: RefCell::default(),
                given_up: Cell::new(false),
                replica: RefCell::new(None),
            });
        }
        let world = Rc::new(world);
        let weak = Rc::downgrade(&world);
        set_meanwhile(Some(Rc::new(move |time| {
            if let Some(world) = weak.upgrade() {
                world.pass(time, true);
            }
        })));
        world.live();
        let result = world.end();
        set_meanwhile(None);
        result.map(|()| world.history.borrow().clone())
    }

    pub(super) fn below(&self, n: u64) -> u64 {
        // SplitMix64.
        let random = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(random);
        let z = (random ^ (random >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }

    pub(super) fn one_in(&self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(super) fn now(&self) -> u64 {
        self.world_us.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self, why: String) {
        self.failure.borrow_mut().get_or_insert(why);
    }

    pub(super) fn replica(&self, node: usize) -> Option<Rc<Replica>> {
        self.nodes[node].replica.borrow().clone()
    }

    /// Lets time pass, and each node act. `within` says that a commit waits meanwhile.
    fn pass(&self, time: Duration, within: bool) {
        advance(&self.world_us, time);
        let now = self.now();
        for (number, node) in self.nodes.iter().enumerate() {
            if node.cut_until.get() <= now {
                node.cut_log.store(false, Ordering::Relaxed);
                node.cut_coordination.store(false, Ordering::Relaxed);
                node.alone.store(false, Ordering::Relaxed);
            }
            match self.replica(number) {
                Some(replica) if node.paused_until.get() <= now => {
                    let found = replica.pump();
                    self.history.borrow_mut().found_stale += u64::from(found);
                    self.note_role(number, replica.role());
                    if replica.is_behind() && !within {
                        // It is opened again, and finds out what it lacks.
                        *node.replica.borrow_mut() = None;
                        node.starts_at.set(now);
                    }
                }
                Some(_) => {}
                // A copy that a commit holds open cannot be opened.
                None if !within && node.starts_at.get() <= now => self.start(number),
                None => {}
            }
        }
        if within && now < FAULTS_US && self.one_in(60) {
            self.trouble(7);
        }
    }

    fn note_role(&self, node: usize, role: Role) {
        let before = self.nodes[node].role.replace(role);
        let mut history = self.history.borrow_mut();
        match (before, role) {
            (Role::Leader, Role::Leader) => {}
            (_, Role::Leader) => history.takeovers += 1,
            (Role::Leader, _) => history.reopened += 1,
            _ => {}
        }
    }

    fn start(&self, number: usize) {
        let node = &self.nodes[number];
        if node.loses_power.replace(false) {
            self.lose_power(number);
        }
        let reached = |cut: &Arc<AtomicBool>| {
            let alone = Arc::clone(&node.alone);
            Arc::new(Reached { store: self.store.clone(), cut: cut.clone(), alone })
        };
        let (log, coordination) = (reached(&node.cut_log), reached(&node.cut_coordination));
        let stores = Stores { log, coordination, images: None };
        let options = ReplicaOptions {
            path: node.folder.path().to_owned(),
            engine: settings(),
            node: format!("node-{number}"),
            stream: self.stream.clone(),
            votes: true,
            election: Settings::default(),
        };
        match Replica::open(&stores, options, Clock::Simulated(node.clock.clone())) {
            Ok(replica) => {
                let replica = replica.with_fault(self.fault);
                *node.replica.borrow_mut() = Some(Rc::new(replica));
                node.role.set(Role::Follower);
                // What was replayed is synced.
                self.note_synced(number);
            }
            Err(ReplicaError::Behind { .. }) if node.given_up.get() => {
                if !self.bootstrap(number) {
                    node.starts_at.set(self.now() + SECOND / 10);
                }
            }
            Err(ReplicaError::Store(_) | ReplicaError::Engine(Error::Locked { .. })) => {
                node.starts_at.set(self.now() + SECOND / 10)
            }
            Err(error) => {
                node.starts_at.set(u64::MAX);
                self.fail(format!("node {number} lacks everything, it does not start: {error}"));
            }
        }
    }

    /// Remains of a log file that was not synced, after a power failure.
    fn lose_power(&self, number: usize) {
        let Some(last) = last_log_file(self.nodes[number].folder.path()) else { return };
        let synced = self.nodes[number].synced.borrow();
        let synced = if synced.0 == last { synced.1 } else { HEADER_BYTES };
        let file = OpenOptions::new().read(true).write(true).open(last).unwrap();
        let bytes = file.metadata().unwrap().len();
        if bytes > synced {
            let left = synced + self.below(bytes - synced);
            file.set_len(left).unwrap();
            if self.one_in(2) {
                // The length was stored, and not what is there.
                file.set_len(bytes).unwrap();
            }
            self.history.borrow_mut().lost_power += 1;
        }
    }

    fn crash(&self, number: usize) {
        let node = &self.nodes[number];
        if let Some(replica) = node.replica.borrow_mut().take() {
            // Nothing goes out any more: a commit that waits is not decided.
            replica.core().stop("the process died");
            node.starts_at.set(self.now() + self.below(4 * SECOND));
            node.loses_power.set(self.one_in(3));
            node.role.set(Role::Follower);
            self.history.borrow_mut().crashes += 1;
        }
    }

    pub(super) fn any(&self) -> usize {
        usize::try_from(self.below(self.nodes.len() as u64)).unwrap()
    }

    pub(super) fn leader(&self) -> Option<usize> {
        let leads = |n: &usize| self.replica(*n).is_some_and(|r| r.role() == Role::Leader);
        (0..self.nodes.len()).rev().find(leads)
    }

    fn leader_or_any(&self) -> usize {
        let any = self.any();
        if self.one_in(3) { any } else { self.leader().unwrap_or(any) }
    }

    /// One of the first `kinds` of trouble: the last one commits, and may not happen in a commit.
    fn trouble(&self, kinds: u64) {
        let number = self.leader_or_any();
        let node = &self.nodes[number];
        let until = self.now() + 50_000 + self.below(7 * SECOND);
        match self.below(kinds) {
            0 | 1 => self.crash(number),
            2 => node.paused_until.set(until),
            3 => {
                node.cut_until.set(until);
                node.cut_log.store(true, Ordering::Relaxed);
            }
            4 => {
                node.cut_until.set(until);
                node.cut_coordination.store(true, Ordering::Relaxed);
            }
            5 => {
                node.cut_until.set(until);
                node.cut_log.store(true, Ordering::Relaxed);
                node.cut_coordination.store(true, Ordering::Relaxed);
                node.alone.store(until.is_multiple_of(2), Ordering::Relaxed);
            }
            6 => {
                if let Some(replica) = self.replica(number) {
                    // To another one, to itself, or to anybody.
                    match until.is_multiple_of(2) {
                        true => replica.release_to(&format!("node-{}", until % 3)),
                        false => replica.release(),
                    }
                }
            }
            _ => {
                if let Some(engine) = self.replica(number).and_then(|r| r.engine().ok()) {
                    // Of a deposed leader it fails, and the one before stays in force.
                    drop(engine.checkpoint());
                    engine.settle();
                }
            }
        }
    }

    fn live(&self) {
        while self.now() < FAULTS_US && self.failure.borrow().is_none() {
            self.pass(Duration::from_micros(1000 + self.below(60_000)), false);
            match self.below(20) {
                0..10 => drop(self.commit(self.leader_or_any())),
                10..15 => self.read(self.leader_or_any()),
                15..18 => self.show(self.any()),
                18 => self.trouble(8),
                _ => {
                    self.keep(self.any());
                    self.trim();
                }
            }
        }
    }

    /// A client's transaction; true if it was told that it is done.
    fn commit(&self, number: usize) -> bool {
        let paused = self.nodes[number].paused_until.get() > self.now();
        let Some(engine) = self.replica(number).filter(|_| !paused).and_then(|r| r.engine().ok())
        else {
            return false;
        };
        let n = {
            let mut known = self.known.borrow_mut();
            known.tried += 1;
            known.tried
        };
        let outcome = self.write(&engine, n);
        let mut history = self.history.borrow_mut();
        match outcome {
            Ok(()) => {
                history.acknowledged += 1;
                self.known.borrow_mut().acknowledged.insert(n);
                return true;
            }
            Err(Error::NotLeader { .. }) => {
                history.refused += 1;
                self.refused.borrow_mut().insert(n);
            }
            Err(Error::Log(_)) => history.undecided += 1,
            // What an engine that leads no more has left unpublished is in its way.
            Err(error) if error.is_retryable() => {}
            Err(error) => {
                drop(history);
                self.fail(format!("node {number} refuses a commit: {error}"));
            }
        }
        false
    }

    fn write(&self, engine: &Engine, n: i64) -> Result<(), Error> {
        let (number, scratch) = (engine.label("Number")?, engine.label("Scratch")?);
        let key = engine.property_key("number")?;
        if self.one_in(20) {
            engine.label(&format!("Label{n}"))?;
        }
        let mut txn = engine.begin()?;
        let old = txn.scan(Some(scratch))?;
        if self.one_in(2)
            && let Some(old) = old.first()
        {
            txn.delete_vertex(*old, true)?;
        }
        // Ids of deleted ones come back here.
        txn.create_vertex(&[scratch])?;
        let vertex = txn.create_vertex(&[number])?;
        txn.set_vertex_property(vertex, key, n.into())?;
        txn.commit().map(drop)
    }

    fn read(&self, number: usize) {
        if self.nodes[number].paused_until.get() > self.now() {
            return;
        }
        let Some(replica) = self.replica(number) else { return };
        let (Ok(engine), Ok(snapshot)) = (replica.engine(), replica.strict_snapshot()) else {
            return;
        };
        self.history.borrow_mut().reads += 1;
        let shown = numbers_of(&snapshot, &engine);
        if let Err(why) = self.known.borrow().check_strict(number, &shown) {
            self.fail(why);
        }
    }

    fn show(&self, number: usize) {
        let Some(engine) = self.replica(number).and_then(|r| r.engine().ok()) else { return };
        let snapshot = engine.snapshot().unwrap();
        let (ts, shown) = (snapshot.read_ts().get(), numbers_of(&snapshot, &engine));
        if let Err(why) = self.known.borrow_mut().show(number, ts, shown) {
            self.fail(why);
        }
    }

    /// Ends all trouble, waits until the copies are equal, and compares them.
    fn end(&self) -> Result<(), String> {
        for node in &self.nodes {
            node.cut_until.set(0);
            node.paused_until.set(0);
            node.starts_at.set(node.starts_at.get().min(self.now()));
        }
        let failed = || self.failure.borrow().clone().map_or(Ok(()), Err);
        let mut done = false;
        while !done && self.now() < END_US {
            failed()?;
            self.pass(Duration::from_millis(20), false);
            done = self.leader().is_some_and(|leader| self.commit(leader));
        }
        if !done {
            return Err("nobody takes commits after all trouble".into());
        }
        for _ in 0..500 {
            self.pass(Duration::from_millis(20), false);
        }
        failed()?;
        self.compare()
    }

    fn compare(&self) -> Result<(), String> {
        let last = self.last();
        self.history.borrow_mut().last = last;
        let mut first = None;
        for number in 0..self.nodes.len() {
            let lacks = |why: String| format!("node {number} lacks commits up to {last}: {why}");
            let replica = self.replica(number).ok_or_else(|| lacks("it is down".into()))?;
            let engine = replica.engine().map_err(|error| lacks(error.to_string()))?;
            let snapshot = engine.snapshot().unwrap();
            if snapshot.read_ts().get() != last {
                return Err(lacks(format!("it is at {}", snapshot.read_ts())));
            }
            let found = dump(&snapshot, &engine);
            let numbers = numbers_of(&snapshot, &engine);
            let known = self.known.borrow();
            if let Some(lost) = known.acknowledged.difference(&numbers).next() {
                return Err(format!("node {number} lost {lost}, which was acknowledged"));
            }
            if let Some(there) = self.refused.borrow().intersection(&numbers).next() {
                return Err(format!("node {number} has {there}, which was refused"));
            }
            let later = numbers.difference(&known.acknowledged).count();
            self.history.borrow_mut().found_later = later as u64;
            match &first {
                None => first = Some((found, engine.labels())),
                Some(first) if *first == (found, engine.labels()) => {}
                Some(_) => return Err(format!("node {number} differs from the first")),
            }
        }
        Ok(())
    }

    /// The last commit of the log.
    fn last(&self) -> u64 {
        loop {
            let Ok(oldest) = Log::oldest(&self.store, &self.stream) else { continue };
            if let Ok(slots) = Log::read(&self.store, &self.stream, oldest, usize::MAX) {
                return slots.last().map_or(oldest, |slot| slot.range.next()) - 1;
            }
        }
    }
}
