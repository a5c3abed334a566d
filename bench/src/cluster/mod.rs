//! A replicated database beside a single server, and the stores under it.
//!
//! - This file: rates and latencies of commits, with one client and with many, on a single database
//!   at `full` and on a node that leads over a store, in turns; one put of the store beside them.
//! - `follow`: how far a follower is behind, and how fast one catches up.
//! - `pressure`: groups of several sizes at several rates into a store, with a kill in the middle.
//!
//! A commit is a statement that makes a node with a property, in a session, as users write it. What
//! was acknowledged is counted in the end. Node, follower and clients are one process.

mod follow;
pub mod pressure;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::{Replica, ReplicaOptions, election};
use telar_cluster::store::{Log, Name, Put, SlotRange, Stores, random, without_password};
use telar_db::{CommitTs, Database, Session, Settings, Value};

use crate::histogram::Histogram;
use crate::report::{Report, Table, digits};

/// Stores to measure, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// URLs of stores; a folder of its own in `folder` if there is none.
    pub stores: Vec<String>,
    /// Clients beside the single one.
    pub clients: usize,
    /// Time of each measurement.
    pub turn: Duration,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Folder on the disk to measure on.
    pub folder: PathBuf,
}

/// An error, as text: there is nothing a caller could do but show it.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Longest wait for a leader, or for a follower to catch up.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes of a slot that stands for the group of a small commit.
const PUT_BYTES: usize = 200;

/// Commits, or puts, of some clients for some time.
#[derive(Debug, Clone, Copy, Default)]
struct Load {
    count: u64,
    /// Per second.
    rate: f64,
    /// Milliseconds.
    p50: f64,
    p99: f64,
}

impl Load {
    fn of(latencies: &Histogram, took: Duration) -> Self {
        let ms = |share| latencies.quantile(share) as f64 / 1e6;
        let count = latencies.count();
        Self { count, rate: count as f64 / took.as_secs_f64(), p50: ms(0.5), p99: ms(0.99) }
    }

    /// The median of each figure.
    fn median(of: &[Self]) -> Self {
        let figure = |figure: fn(&Self) -> f64| {
            let mut all: Vec<f64> = of.iter().map(figure).collect();
            all.sort_by(f64::total_cmp);
            all.get(all.len() / 2).copied().unwrap_or_default()
        };
        let count = of.iter().map(|load| load.count).sum();
        Self { count, rate: figure(|l| l.rate), p50: figure(|l| l.p50), p99: figure(|l| l.p99) }
    }
}

fn nanos(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Commits by so many clients for `turn`, all together at most `rate` per second if it is said;
/// `done` is told of each commit.
fn commits(
    session: &Session,
    clients: usize,
    turn: Duration,
    rate: Option<f64>,
    done: &(dyn Fn(CommitTs) + Sync),
) -> Result<Load, Failed> {
    let ids = AtomicU64::new(0);
    let begun = Instant::now();
    let one = |number: usize| -> Result<Histogram, Failed> {
        let mut latencies = Histogram::default();
        let pause = rate.map(|rate| Duration::from_secs_f64(clients as f64 / rate));
        let mut due = begun + pause.unwrap_or_default().mul_f64(number as f64 / clients as f64);
        while begun.elapsed() < turn {
            if let Some(pause) = pause {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                due += pause;
            }
            // ORDERING: relaxed, as only the number counts.
            let id = ids.fetch_add(1, Ordering::Relaxed) as i64;
            let from = Instant::now();
            let result = session.run("CREATE (:Item {id: $id})", &[("id", Value::Int(id))])?;
            latencies.record(nanos(from));
            done(result.at);
        }
        Ok(latencies)
    };
    let all: Vec<Result<Histogram, Failed>> = thread::scope(|scope| {
        let clients: Vec<_> = (0..clients).map(|number| scope.spawn(move || one(number))).collect();
        let joined = |client: thread::ScopedJoinHandle<'_, _>| {
            client.join().expect("INVARIANT: errors are returned")
        };
        clients.into_iter().map(joined).collect()
    });
    let mut latencies = Histogram::default();
    for one in all {
        latencies.merge(&one?);
    }
    Ok(Load::of(&latencies, begun.elapsed()))
}

/// Puts one small slot after the other, into a stream of its own.
fn puts(log: &dyn Log, turn: Duration) -> Result<Load, Failed> {
    let (stream, body) = (new_name("put")?, vec![7; PUT_BYTES]);
    let mut latencies = Histogram::default();
    let begun = Instant::now();
    for ts in 1.. {
        if begun.elapsed() >= turn {
            break;
        }
        let from = Instant::now();
        match log.put_once(&stream, SlotRange::new(ts, ts + 1)?, &body)? {
            Put::Won => latencies.record(nanos(from)),
            other => return Err(format!("a put ended with {other:?}").into()),
        }
    }
    Ok(Load::of(&latencies, begun.elapsed()))
}

/// A name that nobody else has in the store.
fn new_name(what: &str) -> Result<Name, Failed> {
    Ok(Name::new(format!("bench-{what}-{:016x}", random()?))?)
}

fn node(stores: &Stores, path: PathBuf, stream: &Name, leads: bool) -> Result<Replica, Failed> {
    let options = ReplicaOptions {
        path,
        engine: Settings::default(),
        node: if leads { "leader" } else { "follower" }.to_owned(),
        stream: stream.clone(),
        votes: leads,
        election: election::Settings::default(),
    };
    let replica = Replica::start(stores, options)?;
    if leads && !replica.wait_to_lead(PATIENCE) {
        return Err(format!("no leader: {:?}", replica.stopped()).into());
    }
    Ok(replica)
}

/// Fails unless the database has so many nodes: all that was acknowledged, and nothing twice.
fn check_count(session: &Session, expected: u64) -> Result<(), Failed> {
    let found = session.run("MATCH (i:Item) RETURN count(i)", &[])?.rows;
    if found != [[Value::Int(expected as i64)]] {
        return Err(format!("{expected} commits were acknowledged, {found:?} are there").into());
    }
    Ok(())
}

/// One store, measured.
struct Measured {
    put: Load,
    single: [Load; 2],
    cluster: [Load; 2],
}

fn measure(
    stores: &Stores,
    leader: &Session,
    options: &Options,
    folder: &Path,
    stage: &mut dyn FnMut(&str),
) -> Result<(Measured, u64), Failed> {
    let db = Database::open(folder.join("single"), Settings::default())?;
    let single = Session::new(&db);
    let turn = options.turn;
    let (mut put, mut of_single, mut of_cluster) = (vec![], [vec![], vec![]], [vec![], vec![]]);
    for round in 1..=options.rounds {
        stage(&format!("round {round}: puts"));
        put.push(puts(&*stores.log, turn)?);
        for (at, clients) in [1, options.clients].into_iter().enumerate() {
            stage(&format!("round {round}: {clients} clients"));
            of_single[at].push(commits(&single, clients, turn, None, &|_| {})?);
            of_cluster[at].push(commits(leader, clients, turn, None, &|_| {})?);
        }
    }
    let sum = |of: &[Vec<Load>; 2]| of.iter().flatten().map(|load| load.count).sum::<u64>();
    check_count(&single, sum(&of_single))?;
    check_count(leader, sum(&of_cluster))?;
    let made = sum(&of_cluster);
    let [single, cluster] = [of_single, of_cluster].map(|of| of.map(|of| Load::median(&of)));
    Ok((Measured { put: Load::median(&put), single, cluster }, made))
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Failures of a store, the disk or a database; an acknowledged commit that is missing.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Table), Failed> {
    let mut report = Report::new("cluster");
    report.parameter("clients", options.clients);
    report.parameter("rounds", options.rounds);
    let mut table = Table::new(["store", "what", "per s", "p50 ms", "p99 ms", "ratio", "wanted"]);
    let folder = tempfile::tempdir_in(&options.folder)?;
    let mut urls = options.stores.clone();
    if urls.is_empty() {
        urls.push(format!("dir:{}", folder.path().join("store").display()));
    }
    for (number, url) in urls.iter().enumerate() {
        let shown = without_password(url);
        let shown = shown.split(':').next().unwrap_or_default().to_owned();
        let folder = folder.path().join(number.to_string());
        let (stores, stream) = (Stores::open(url)?, new_name("log")?);
        let leader = node(&stores, folder.join("leader"), &stream, true)?;
        let session = Session::new(&leader.engine()?);
        let (measured, made) = measure(&stores, &session, options, &folder, stage)?;
        let Measured { put, single: [single_1, single_n], cluster: [cluster_1, cluster_n] } =
            measured;
        let n = options.clients;
        let mut line = |what: &str, load: Load, ratio: Option<(f64, &str)>| {
            report.figure(format!("{shown}: {what}: per s"), load.rate);
            report.figure(format!("{shown}: {what}: p50 ms"), load.p50);
            report.figure(format!("{shown}: {what}: p99 ms"), load.p99);
            if let Some((ratio, _)) = ratio {
                report.ratio(format!("{shown}: {what}"), ratio);
            }
            let (ratio, wanted) = ratio
                .map_or((String::new(), String::new()), |(ratio, wanted)| {
                    (digits(ratio), wanted.to_owned())
                });
            let figures = [load.rate, load.p50, load.p99].map(digits);
            let [rate, p50, p99] = figures;
            table.push([shown.clone(), what.to_owned(), rate, p50, p99, ratio, wanted]);
        };
        line("one put", put, None);
        line("single server, 1 client", single_1, None);
        let ratio = (cluster_1.p50 / put.p50, "<= 1.3 x one put");
        line("leader, 1 client", cluster_1, Some(ratio));
        line(&format!("single server, {n} clients"), single_n, None);
        let ratio = (cluster_n.rate / single_n.rate, ">= 0.5 x single server");
        line(&format!("leader, {n} clients"), cluster_n, Some(ratio));
        let place = follow::Place { stores: &stores, folder: &folder, stream: &stream };
        let followed = follow::run(&place, &leader, &session, options, cluster_n.rate, stage)?;
        check_count(&session, made + followed.made)?;
        let rate = cluster_n.rate / 2.0;
        let lag = Load { rate, ..followed.lag };
        line("lag of a follower at half that rate", lag, Some((lag.p99, "p99 <= 100 ms")));
        let [alone, beside] = followed.latest;
        line("latest reads of it, one client", alone, None);
        line("the same at half that rate", beside, None);
        let (p50, p99) = (f64::NAN, f64::NAN);
        let caught = Load { count: followed.made, rate: followed.catch_up, p50, p99 };
        let ratio = (followed.catch_up / cluster_n.rate, ">= 2 x that rate");
        line("catching up", caught, Some(ratio));
    }
    Ok((report, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_measures_a_folder_and_counts_what_was_acknowledged() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            stores: Vec::new(),
            clients: 3,
            turn: Duration::from_millis(100),
            rounds: 1,
            folder: folder.path().to_owned(),
        };
        let (report, _) = run(&options, &mut |_| {}).unwrap();
        let json = report.to_json().to_string();
        for what in ["one put", "leader, 1 client", "leader, 3 clients", "catching up"] {
            assert!(json.contains(&format!("dir: {what}: per s")), "{what}: {json}");
        }
    }
}
