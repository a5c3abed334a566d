//! Figures for monitoring, in the format of Prometheus.
//!
//! Counters and histograms are kept as things happen; what can be asked for (sizes, commits, open
//! transactions) is asked when somebody reads.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::dbms::{Database, Dbms};

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
}

/// What is asked when somebody reads.
#[derive(Debug, Default)]
struct Asked {
    uptime: Gauge<f64, AtomicU64>,
    transactions: Gauge,
    resident: Gauge,
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

/// Bytes of this process in memory, where the system says.
fn resident_bytes() -> Option<i64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: i64 = text.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(i64::try_from(rustix::param::page_size()).ok()?)
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
        };
        metrics.register();
        metrics
    }

    fn register(&mut self) {
        let Self { registry: r, asked, .. } = self;
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
        let help = "Memory of the process";
        r.register_with_unit("process_resident", help, Unit::Bytes, asked.resident.clone());
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
        let asked = &self.asked;
        asked.uptime.set(self.began.elapsed().as_secs_f64());
        asked.transactions.set(signed(transactions));
        if let Some(bytes) = resident_bytes() {
            asked.resident.set(bytes);
        }
        for database in dbms.databases() {
            asked.look_at(&database);
        }
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

impl Asked {
    fn look_at(&self, database: &Arc<Database>) {
        let label = ByDatabase { database: database.name().to_string() };
        let health = database.engine().health();
        let set = |family: &Family<ByDatabase, Gauge>, value: i64| {
            family.get_or_create(&label).set(value);
        };
        set(&self.commits, i64::try_from(health.published.get()).unwrap_or(i64::MAX));
        set(&self.memory, signed(health.memory.heap()));
        let log = health.log.map_or(0, |log| log.bytes_on_disk);
        set(&self.log, i64::try_from(log).unwrap_or(i64::MAX));
        set(&self.readers, signed(health.readers));
        let oldest = health.oldest_reader_age.as_secs_f64();
        self.oldest.get_or_create(&label).set(oldest);
        set(&self.unsettled, i64::try_from(health.settle.unsettled).unwrap_or(i64::MAX));
        set(&self.failed, i64::from(health.error.is_some()));
        let uses = database.runtime().plan_uses();
        set(&self.plans, signed(uses.kept));
        // They only grow, as long as the database is the same.
        let count = |family: &Family<ByDatabase, Counter>, value: u64| {
            family.get_or_create(&label).inner().store(value, Ordering::Relaxed);
        };
        count(&self.plan_hits, uses.hits);
        count(&self.plan_misses, uses.misses);
        count(&self.plans_evicted, uses.evicted);
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
    let text = metrics.encode(&dbms, 0).unwrap();
    assert!(text.contains("telar_connections{protocol=\"Bolt\"} 0"), "{text}");
}
