//! Figures for monitoring, in the format of Prometheus.
//!
//! Counters and histograms are kept as things happen; what can be asked for (sizes, commits, open
//! transactions) is asked when somebody reads. docs/metrics.md lists them all.

mod cluster;
mod follow;
mod near;
mod process;

use std::fmt;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use telar_db::heap;

use crate::dbms::{Database, Dbms};
use cluster::ClusterFigures;
use follow::FollowFigures;
use near::NearFigures;
use process::Process;

/// Upper bounds of the buckets of durations: 100 microseconds to 100 seconds.
const SECONDS: [f64; 13] =
    [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

/// What a peer speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, EncodeLabelValue)]
pub enum Protocol {
    /// Bolt.
    Bolt,
    /// HTTP.
    Http,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByProtocol {
    protocol: Protocol,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDatabase {
    database: String,
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    protocol: &'static str,
    /// `ok`, or the class of the error: `client`, `transient`, `database`.
    outcome: &'static str,
}

/// All figures of a server.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    began: Instant,
    connections: Family<ByProtocol, Gauge>,
    accepted: Family<ByProtocol, Counter>,
    refused: Family<ByProtocol, Counter>,
    statements: Family<ByOutcome, Counter>,
    seconds: Histogram,
    rows: Counter,
    logins_failed: Family<ByProtocol, Counter>,
    asked: Asked,
    process: Process,
    cluster: ClusterFigures,
    follow: FollowFigures,
    /// Held while somebody asks: figures of databases that are gone are taken away then.
    asking: Mutex<()>,
}

/// What is asked when somebody reads.
#[derive(Debug, Default)]
struct Asked {
    uptime: Gauge<f64, AtomicU64>,
    heap: Gauge,
    heap_max: Gauge,
    heap_refused: Counter,
    transactions: Gauge,
    running: Family<ByDatabase, Gauge>,
    commits: Family<ByDatabase, Gauge>,
    memory: Family<ByDatabase, Gauge>,
    log: Family<ByDatabase, Gauge>,
    readers: Family<ByDatabase, Gauge>,
    oldest: Family<ByDatabase, Gauge<f64, AtomicU64>>,
    unsettled: Family<ByDatabase, Gauge>,
    failed: Family<ByDatabase, Gauge>,
    plans: Family<ByDatabase, Gauge>,
    plan_hits: Family<ByDatabase, Counter>,
    plan_misses: Family<ByDatabase, Counter>,
    plans_evicted: Family<ByDatabase, Counter>,
    conflicts: Family<ByDatabase, Counter>,
    write_waits: Family<ByDatabase, Counter>,
    once_ids: Family<ByDatabase, Gauge>,
    once_repeated: Family<ByDatabase, Counter>,
    loaded: Family<ByDatabase, Counter>,
    store: Family<ByDatabase, Gauge>,
    disk: Family<ByDatabase, Gauge>,
    disk_free: Family<ByDatabase, Gauge>,
    archive: Family<ByDatabase, Gauge>,
    log_written: Family<ByDatabase, Counter>,
    log_writes: Family<ByDatabase, Counter>,
    log_time: Family<ByDatabase, Counter<f64, AtomicU64>>,
    checkpoint_age: Family<ByDatabase, Gauge<f64, AtomicU64>>,
    checkpoint_took: Family<ByDatabase, Gauge<f64, AtomicU64>>,
    checkpoint_behind: Family<ByDatabase, Gauge>,
    checkpoints: Family<ByDatabase, Counter>,
    checkpoints_failed: Family<ByDatabase, Counter>,
    backup_age: Family<ByDatabase, Gauge<f64, AtomicU64>>,
    near: NearFigures,
}

/// An open connection; not any more when it is dropped.
#[derive(Debug)]
pub struct OpenConnection(Gauge);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// A statement that ended.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    /// What its peer speaks: `bolt` or `http`.
    pub protocol: &'static str,
    /// The code of its error, if it failed.
    pub error: Option<&'a str>,
    /// How long it took, sending its rows included.
    pub took: Duration,
    /// Rows that it returned.
    pub rows: u64,
}

/// The class of an error by its code.
fn outcome(error: Option<&str>) -> &'static str {
    match error {
        None => "ok",
        Some(code) if code.starts_with("Neo.ClientError.") => "client",
        Some(code) if code.starts_with("Neo.TransientError.") => "transient",
        Some(_) => "database",
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Figures do not grow beyond what the format can say.
fn bounded(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All figures at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("telar"),
            began: Instant::now(),
            connections: Family::default(),
            accepted: Family::default(),
            refused: Family::default(),
            statements: Family::default(),
            seconds: Histogram::new(SECONDS),
            rows: Counter::default(),
            logins_failed: Family::default(),
            asked: Asked::default(),
            process: Process::default(),
            cluster: ClusterFigures::default(),
            follow: FollowFigures::default(),
            asking: Mutex::default(),
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let Self { registry: r, asked, process, cluster, follow, .. } = self;
        process.register(r);
        cluster.register(r);
        follow.register(r);
        r.register("connections", "Connections that are open", self.connections.clone());
        r.register("connections_accepted", "Connections taken in", self.accepted.clone());
        r.register("connections_refused", "Connections above the limit", self.refused.clone());
        r.register("statements", "Statements that ended", self.statements.clone());
        let help = "How long statements took, sending their rows included";
        r.register_with_unit("statement", help, Unit::Seconds, self.seconds.clone());
        r.register("rows", "Rows that were returned", self.rows.clone());
        r.register("logins_failed", "Logins that failed", self.logins_failed.clone());
        r.register_with_unit("uptime", "Since the start", Unit::Seconds, asked.uptime.clone());
        let help = "Transactions that are open over HTTP";
        r.register("http_transactions", help, asked.transactions.clone());
        let help = "Memory that the process has allocated";
        r.register_with_unit("heap", help, Unit::Bytes, asked.heap.clone());
        let help = "Memory that it may allocate";
        r.register_with_unit("heap_max", help, Unit::Bytes, asked.heap_max.clone());
        let help = "Requests that gave way as the server had no memory left";
        r.register("heap_refusals", help, asked.heap_refused.clone());
        let help = "Statements and transactions that run or are open";
        r.register("transactions", help, asked.running.clone());
        let help = "Timestamp of the newest commit: as many were made";
        r.register("commit_timestamp", help, asked.commits.clone());
        let help = "Memory that the graph holds";
        r.register_with_unit("graph_memory", help, Unit::Bytes, asked.memory.clone());
        r.register_with_unit("log", "Log on disk", Unit::Bytes, asked.log.clone());
        let help = "Snapshots and transactions that are open";
        r.register("readers", help, asked.readers.clone());
        let help = "How long what the oldest reader reads is out of date";
        r.register_with_unit("oldest_reader", help, Unit::Seconds, asked.oldest.clone());
        let help = "Entries of adjacency lists that are not settled";
        r.register("unsettled_entries", help, asked.unsettled.clone());
        let help = "1 if the database could not read something or write its log";
        r.register("database_failed", help, asked.failed.clone());
        r.register("plans", "Plans that are kept", asked.plans.clone());
        let help = "Statements whose plan was kept";
        r.register("plan_hits", help, asked.plan_hits.clone());
        let help = "Statements that had to be planned";
        r.register("plan_misses", help, asked.plan_misses.clone());
        let help = "Plans that made room for others";
        r.register("plans_evicted", help, asked.plans_evicted.clone());
        asked.register_storage(r);
    }

    /// Counts a connection for as long as what is returned lives.
    #[must_use]
    pub fn connection(&self, protocol: Protocol) -> OpenConnection {
        let label = ByProtocol { protocol };
        self.accepted.get_or_create(&label).inc();
        let gauge = self.connections.get_or_create(&label).clone();
        gauge.inc();
        OpenConnection(gauge)
    }

    /// Counts a connection that was above the limit.
    pub fn connection_refused(&self, protocol: Protocol) {
        self.refused.get_or_create(&ByProtocol { protocol }).inc();
    }

    /// Counts a login that failed.
    pub fn login_failed(&self, protocol: Protocol) {
        self.logins_failed.get_or_create(&ByProtocol { protocol }).inc();
    }

    /// Counts a statement.
    pub fn statement(&self, ended: &Ended<'_>) {
        let label = ByOutcome { protocol: ended.protocol, outcome: outcome(ended.error) };
        self.statements.get_or_create(&label).inc();
        self.seconds.observe(ended.took.as_secs_f64());
        self.rows.inc_by(ended.rows);
    }

    /// All figures as text; `transactions` are open over HTTP.
    ///
    /// # Errors
    /// None that is known: text into memory.
    pub fn encode(&self, dbms: &Dbms, transactions: usize) -> Result<String, fmt::Error> {
        let _asking = self.asking.lock();
        let asked = &self.asked;
        asked.uptime.set(self.began.elapsed().as_secs_f64());
        asked.transactions.set(signed(transactions));
        self.process.look();
        asked.heap.set(bounded(heap::live()));
        if let Some(budget) = dbms.settings().limits.budget {
            asked.heap_max.set(bounded(budget.limit()));
            asked.heap_refused.inner().store(budget.refused(), Ordering::Relaxed);
        }
        self.cluster.look(dbms);
        self.follow.look(dbms);
        asked.forget();
        for database in dbms.databases() {
            asked.look_at(&database);
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Asked {
    fn register_storage(&self, r: &mut Registry) {
        let help = "Conflicts that statements and commits lost, those that were tried again too";
        r.register("conflicts", help, self.conflicts.clone());
        let help = "Writes that waited for another transaction's";
        r.register("write_waits", help, self.write_waits.clone());
        let help = "Ids of transactions that commit once, as far as they are known";
        r.register("once_ids", help, self.once_ids.clone());
        let help = "Commits that changed nothing, as their id was known";
        r.register("once_repeated", help, self.once_repeated.clone());
        let help = "Segments read from the store, as they were not in memory";
        r.register("segments_loaded", help, self.loaded.clone());
        r.register_with_unit("store", "Store on disk", Unit::Bytes, self.store.clone());
        let help = "File system of the store, all of it";
        r.register_with_unit("disk", help, Unit::Bytes, self.disk.clone());
        let help = "File system of the store, what is free of it";
        r.register_with_unit("disk_free", help, Unit::Bytes, self.disk_free.clone());
        let help = "Log on disk that is kept for backups";
        r.register_with_unit("log_archive", help, Unit::Bytes, self.archive.clone());
        let help = "What was written to the log";
        r.register_with_unit("log_written", help, Unit::Bytes, self.log_written.clone());
        let help = "Writes to the log, each with a sync";
        r.register("log_writes", help, self.log_writes.clone());
        let help = "Time that these took";
        r.register_with_unit("log_write", help, Unit::Seconds, self.log_time.clone());
        let help = "Since the last checkpoint ended";
        r.register_with_unit("checkpoint_age", help, Unit::Seconds, self.checkpoint_age.clone());
        let help = "How long it took";
        let took = self.checkpoint_took.clone();
        r.register_with_unit("checkpoint_duration", help, Unit::Seconds, took);
        let help = "Commits since: what a start after a crash replays";
        r.register("checkpoint_commits_behind", help, self.checkpoint_behind.clone());
        r.register("checkpoints", "Checkpoints that were made", self.checkpoints.clone());
        let help = "Checkpoints that could not be made";
        r.register("checkpoints_failed", help, self.checkpoints_failed.clone());
        let help = "Since the last backup in backup.folder was taken";
        r.register_with_unit("backup_age", help, Unit::Seconds, self.backup_age.clone());
        self.near.register(r);
    }

    /// Takes the figures of all databases away: some may be gone.
    fn forget(&self) {
        let gauges = [
            &self.running,
            &self.commits,
            &self.memory,
            &self.log,
            &self.readers,
            &self.unsettled,
            &self.failed,
            &self.once_ids,
            &self.plans,
            &self.store,
            &self.disk,
            &self.disk_free,
            &self.archive,
            &self.checkpoint_behind,
        ];
        gauges.into_iter().for_each(Family::clear);
        let times = [&self.oldest, &self.checkpoint_age, &self.checkpoint_took, &self.backup_age];
        times.into_iter().for_each(Family::clear);
        let counters = [
            &self.plan_hits,
            &self.plan_misses,
            &self.plans_evicted,
            &self.conflicts,
            &self.write_waits,
            &self.once_repeated,
            &self.loaded,
            &self.log_written,
            &self.log_writes,
            &self.checkpoints,
            &self.checkpoints_failed,
        ];
        counters.into_iter().for_each(Family::clear);
        self.log_time.clear();
        self.near.forget();
    }

    fn look_at(&self, database: &Arc<Database>) {
        let label = ByDatabase { database: database.name().to_string() };
        let health = database.engine().health();
        let set = |family: &Family<ByDatabase, Gauge>, value: i64| {
            family.get_or_create(&label).set(value);
        };
        // They only grow, as long as the database is the same.
        let count = |family: &Family<ByDatabase, Counter>, value: u64| {
            family.get_or_create(&label).inner().store(value, Ordering::Relaxed);
        };
        let time = |family: &Family<ByDatabase, Gauge<f64, AtomicU64>>, value: Duration| {
            family.get_or_create(&label).set(value.as_secs_f64());
        };
        set(&self.running, signed(database.runtime().running().count()));
        set(&self.commits, bounded(health.published.get()));
        set(&self.memory, signed(health.memory.heap()));
        set(&self.readers, signed(health.readers));
        time(&self.oldest, health.oldest_reader_age);
        set(&self.unsettled, bounded(health.settle.unsettled));
        set(&self.failed, i64::from(health.error.is_some()));
        let uses = database.runtime().plan_uses();
        set(&self.plans, signed(uses.kept));
        count(&self.plan_hits, uses.hits);
        count(&self.plan_misses, uses.misses);
        count(&self.plans_evicted, uses.evicted);
        count(&self.conflicts, database.runtime().conflicts());
        count(&self.write_waits, database.engine().write_waits());
        set(&self.once_ids, bounded(health.once.known));
        count(&self.once_repeated, health.once.repeated);
        count(&self.loaded, health.segments_loaded);
        // What follows is there only for what is on disk.
        let log = health.log.unwrap_or_default();
        set(&self.log, bounded(log.bytes_on_disk));
        if let Some(folder) = database.engine().folder() {
            if let Ok(store) = fs::metadata(folder.join("store").join("data.mdb")) {
                set(&self.store, bounded(store.len()));
            }
            if let Some((all, free)) = process::disk(folder) {
                set(&self.disk, bounded(all));
                set(&self.disk_free, bounded(free));
            }
            set(&self.archive, bounded(log.bytes_archived));
            count(&self.log_written, log.bytes_written);
            count(&self.log_writes, log.groups);
            let seconds = log.write_time.as_secs_f64().to_bits();
            self.log_time.get_or_create(&label).inner().store(seconds, Ordering::Relaxed);
        }
        if let Some(checkpoint) = health.checkpoint {
            set(&self.checkpoint_behind, bounded(checkpoint.commits_behind));
            count(&self.checkpoints, checkpoint.made);
            count(&self.checkpoints_failed, checkpoint.failed);
            if let Some(age) = checkpoint.age {
                time(&self.checkpoint_age, age);
                time(&self.checkpoint_took, checkpoint.took);
            }
        }
        if let Some(near) = &health.near {
            self.near.set(&label, near);
        }
        if let Some(age) = database.backup_age() {
            time(&self.backup_age, age);
        }
    }
}

#[test]
fn figures_are_written_as_prometheus_reads_them() {
    let dbms = Dbms::open(None, crate::dbms::DbmsSettings::default()).unwrap();
    let metrics = Metrics::new();
    let open = metrics.connection(Protocol::Bolt);
    let took = Duration::from_millis(2);
    metrics.statement(&Ended { protocol: "bolt", error: None, took, rows: 3 });
    let code = "Neo.ClientError.Statement.SyntaxError";
    metrics.statement(&Ended { protocol: "bolt", error: Some(code), took, rows: 0 });
    let database = Arc::clone(&dbms.databases()[0]);
    for _ in 0..3 {
        database.session().run("RETURN 1", &[]).unwrap();
    }
    let text = metrics.encode(&dbms, 2).unwrap();
    for line in [
        "telar_connections{protocol=\"Bolt\"} 1",
        "telar_statements_total{protocol=\"bolt\",outcome=\"ok\"} 1",
        "telar_statements_total{protocol=\"bolt\",outcome=\"client\"} 1",
        "telar_statement_seconds_bucket{le=\"0.003\"} 2",
        "telar_rows_total 3",
        "telar_http_transactions 2",
        "telar_readers{database=\"telar\"} 0",
        "telar_plans{database=\"telar\"} 1",
        "telar_plan_hits_total{database=\"telar\"} 2",
        "telar_plan_misses_total{database=\"telar\"} 1",
        "telar_plans_evicted_total{database=\"telar\"} 0",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
    drop(open);
    for _ in 0..3 {
        database.session().with_once("one").run("CREATE (:Order)", &[]).unwrap();
    }
    let text = metrics.encode(&dbms, 0).unwrap();
    for line in [
        "telar_connections{protocol=\"Bolt\"} 0",
        "telar_once_ids{database=\"telar\"} 1",
        "telar_once_repeated_total{database=\"telar\"} 2",
    ] {
        assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
    }
}

/// The names in an exposition, as Prometheus stores them.
#[cfg(test)]
fn names(exposition: &str) -> std::collections::BTreeSet<String> {
    let sample = |line: &&str| !line.starts_with('#') && !line.is_empty();
    let name = |line: &str| {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        let histogram = ["_bucket", "_sum", "_count"];
        let base = histogram.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
        base.to_owned()
    };
    exposition.lines().filter(sample).map(name).collect()
}

#[test]
fn every_figure_is_in_the_manual_and_every_figure_of_the_manual_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let backups = folder.path().join("backups");
    fs::create_dir(&backups).unwrap();
    let settings =
        crate::dbms::DbmsSettings { backup_folder: Some(backups.clone()), ..Default::default() };
    let store = folder.path().join("graph.telar");
    let open = || Dbms::open(Some(&store), settings.clone()).unwrap();
    let dbms = open();
    let metrics = Metrics::new();
    drop(metrics.connection(Protocol::Bolt));
    metrics.connection_refused(Protocol::Http);
    metrics.login_failed(Protocol::Http);
    metrics.statement(&Ended { protocol: "bolt", error: None, took: Duration::ZERO, rows: 1 });
    let database = dbms.database(None).unwrap();
    database.session().run("CREATE (:A)", &[]).unwrap();
    database.engine().checkpoint().unwrap();
    let before = metrics.encode(&dbms, 0).unwrap();
    assert!(!before.contains("telar_backup_age_seconds{"), "there is none yet");
    let monday = backups.join("monday");
    database.engine().backup(&monday, &telar_db::maintenance::BackupOptions::default()).unwrap();
    drop(database);
    dbms.close().unwrap();
    // A later start finds the backup.
    let dbms = open();
    let database = dbms.database(None).unwrap();
    database.session().run("CREATE (:A)", &[]).unwrap();
    database.engine().checkpoint().unwrap();
    let text = metrics.encode(&dbms, 0).unwrap();
    assert!(!text.contains("\ntelar_cluster"), "it is in none");
    // What a node of a cluster has beside.
    let node = Dbms::open(
        Some(&folder.path().join("node")),
        crate::dbms::DbmsSettings {
            cluster: Some(crate::dbms::ClusterSettings {
                store: format!("dir:{}", folder.path().join("cluster").display()),
                name: "test".into(),
                node: "a".into(),
                votes: true,
                ..Default::default()
            }),
            ..Default::default()
        },
    );
    let of_cluster = metrics.encode(&node.unwrap(), 0).unwrap();
    assert!(
        of_cluster.contains("telar_cluster_copy_stopped{database=\"telar\"} 0"),
        "{of_cluster}"
    );
    let only_there = of_cluster.lines().filter(|line| line.contains("telar_cluster"));
    let text = only_there.fold(text, |text, line| format!("{text}{line}\n"));
    // And a follower, here of a server that is not there.
    assert!(!text.contains("\ntelar_follow"), "it follows nobody");
    let url = "http://127.0.0.1:1".parse().unwrap();
    let follow = Some(crate::replication::client::Asking {
        url,
        credentials: crate::replication::Credentials::None,
        ca: None,
    });
    let follower = crate::dbms::DbmsSettings { follow, ..Default::default() };
    let follower = Dbms::open(Some(&folder.path().join("follower")), follower).unwrap();
    let of_follower = metrics.encode(&follower, 0).unwrap();
    let only_there = of_follower.lines().filter(|line| line.contains("telar_follow"));
    let text = only_there.fold(text, |text, line| format!("{text}{line}\n"));

    let manual = include_str!("../../../../docs/metrics.md");
    let row = |line: &str| {
        let name = line.strip_prefix("| `telar_")?.split('`').next()?;
        Some(format!("telar_{name}"))
    };
    let documented: std::collections::BTreeSet<String> = manual.lines().filter_map(row).collect();
    let found = names(&text);
    let missing: Vec<_> = found.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/metrics.md: {missing:?}");
    let gone: Vec<_> = documented.difference(&found).collect();
    assert!(gone.is_empty(), "in docs/metrics.md, but not there: {gone:?}\n{text}");
    for name in &found {
        let help = format!("# HELP {} ", name.trim_end_matches("_total"));
        assert!(text.contains(&help), "{name} has no help");
    }
    let value = |name: &str| -> f64 {
        let line =
            text.lines().find(|line| line.starts_with(&format!("{name}{{database=\"telar\"")));
        line.unwrap_or_else(|| panic!("{name}\n{text}"))
            .rsplit(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap()
    };
    assert!(value("telar_store_bytes") > 0.0 && value("telar_disk_free_bytes") > 0.0);
    assert!(value("telar_disk_bytes") >= value("telar_disk_free_bytes"));
    assert!(value("telar_checkpoints_total") >= 1.0 && value("telar_backup_age_seconds") >= 0.0);
}

#[test]
fn figures_of_a_database_go_with_it() {
    let dbms = Arc::new(Dbms::open(None, crate::dbms::DbmsSettings::default()).unwrap());
    let other = Dbms::open(
        None,
        crate::dbms::DbmsSettings { default_database: "other".into(), ..Default::default() },
    );
    let metrics = Metrics::new();
    assert!(metrics.encode(&other.unwrap(), 0).unwrap().contains("database=\"other\""));
    assert!(!metrics.encode(&dbms, 0).unwrap().contains("database=\"other\""));
}

#[test]
fn conflicts_are_counted_whoever_tries_again() {
    let dbms = Dbms::open(None, crate::dbms::DbmsSettings::default()).unwrap();
    let database = dbms.database(None).unwrap();
    let session = database.session();
    session.run("CREATE (:A {x: 0})", &[]).unwrap();
    let mut open = session.begin().unwrap();
    open.run("MATCH (a:A) SET a.x = 1", &telar_db::ValueMap::new()).unwrap();
    session.run("MATCH (a:A) SET a.x = 2", &[]).unwrap();
    assert_eq!(database.runtime().conflicts(), 0);
    assert!(open.commit().unwrap_err().is_retryable());
    assert_eq!(database.runtime().conflicts(), 1);
}
