//! A follower beside a leader that commits: how far behind it is, and how fast it catches up.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::Replica;
use telar_cluster::store::{Name, Stores};
use telar_db::{CommitTs, Session};

use super::{Failed, Load, Options, PATIENCE, commits, nanos, node};
use crate::histogram::Histogram;

/// Time between two looks at the follower.
const LOOK: Duration = Duration::from_micros(500);

/// Log and folder of the nodes.
pub(super) struct Place<'p> {
    pub(super) stores: &'p Stores,
    pub(super) folder: &'p Path,
    pub(super) stream: &'p Name,
}

/// Figures of a follower.
pub(super) struct Followed {
    /// Time from the acknowledgement of a commit until the follower shows it.
    pub(super) lag: Load,
    /// Reads that see everything acknowledged before them, while nobody writes and at that rate.
    pub(super) latest: [Load; 2],
    /// Commits per second while it catches up, its opening included.
    pub(super) catch_up: f64,
    /// Commits that were made.
    pub(super) made: u64,
}

fn wait_until(follower: &Replica, shows: CommitTs) -> Result<(), Failed> {
    let end = Instant::now() + PATIENCE;
    while follower.position().is_none_or(|position| position < shows) {
        if Instant::now() >= end || follower.stopped().is_some() {
            let why = follower.stopped();
            return Err(format!("the follower does not come to {shows}: {why:?}").into());
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

/// Records for each acknowledged commit when the follower shows it.
fn watch(
    follower: &Replica,
    acknowledged: &Mutex<VecDeque<(CommitTs, Instant)>>,
    ended: &AtomicBool,
) -> Histogram {
    let mut lags = Histogram::default();
    loop {
        // Asked first: what was acknowledged before the end is looked at after it.
        let is_last = ended.load(Ordering::Acquire);
        let position = follower.position();
        let mut waiting = acknowledged.lock().expect("INVARIANT: nobody panics with it");
        waiting.retain(|(ts, since)| {
            let shows = position.is_some_and(|position| position >= *ts);
            if shows {
                lags.record(u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX));
            }
            !shows
        });
        if is_last && waiting.is_empty() {
            return lags;
        }
        drop(waiting);
        thread::sleep(LOOK);
    }
}

/// Begins one read after the other that sees everything acknowledged before it.
fn latest(follower: &Replica, ended: &AtomicBool) -> Result<Load, Failed> {
    let (mut latencies, begun) = (Histogram::default(), Instant::now());
    while !ended.load(Ordering::Acquire) {
        let engine = follower.engine()?;
        let from = Instant::now();
        wait_until(follower, follower.last_acknowledged(&engine)?)?;
        drop(engine.snapshot()?);
        latencies.record(nanos(from));
    }
    Ok(Load::of(&latencies, begun.elapsed()))
}

pub(super) fn run(
    place: &Place<'_>,
    leader: &Replica,
    session: &Session,
    options: &Options,
    top_rate: f64,
    stage: &mut dyn FnMut(&str),
) -> Result<Followed, Failed> {
    let Place { stores, folder, stream } = *place;
    let last = || leader.position().unwrap_or(CommitTs::ZERO);
    let path = folder.join("follower");
    stage("a follower, which has nothing yet");
    let follower = node(stores, path.clone(), stream, false)?;
    wait_until(&follower, last())?;
    stage("a follower, at half the rate");
    let (acknowledged, ended) = (Mutex::new(VecDeque::new()), AtomicBool::new(false));
    let turn = options.turn * 3;
    let (load, lags) = thread::scope(|scope| {
        let watcher = scope.spawn(|| watch(&follower, &acknowledged, &ended));
        let note = |ts| {
            let mut acknowledged = acknowledged.lock().expect("INVARIANT: nobody panics with it");
            acknowledged.push_back((ts, Instant::now()));
        };
        let load = commits(session, options.clients, turn, Some(top_rate / 2.0), &note);
        // What came is seen, or an error ends the wait.
        let seen = wait_until(&follower, last());
        ended.store(true, Ordering::Release);
        let lags = watcher.join().expect("INVARIANT: it does not panic");
        seen.and(load).map(|load| (load, lags))
    })?;
    let lag = Load::of(&lags, turn);
    stage("latest reads of it, alone and at half the rate");
    let mut made = load.count;
    let mut beside = |rate: Option<f64>| -> Result<Load, Failed> {
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let reader = scope.spawn(|| latest(&follower, &ended));
            let load = match rate {
                Some(_) => commits(session, options.clients, options.turn, rate, &|_| {}),
                None => {
                    thread::sleep(options.turn);
                    Ok(Load::default())
                }
            };
            ended.store(true, Ordering::Release);
            let read = reader.join().expect("INVARIANT: errors are returned");
            made += load?.count;
            read
        })
    };
    let latest = [beside(None)?, beside(Some(top_rate / 2.0))?];
    drop(follower);
    stage("a follower that was away");
    let away = commits(session, options.clients, turn, None, &|_| {})?;
    let begun = Instant::now();
    let follower = node(stores, path, stream, false)?;
    wait_until(&follower, last())?;
    let catch_up = away.count as f64 / begun.elapsed().as_secs_f64();
    Ok(Followed { lag, latest, catch_up, made: made + away.count })
}
