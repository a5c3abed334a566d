//! Settings of a database: plain values, checked once when it is opened.

use std::time::Duration;

use crate::error::Error;
use crate::wal::Durability;

/// How much of the past is kept. A database remembers it, so that tools that open it lose nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Retention {
    /// As the last checkpoint of the database says; nothing for a new one.
    #[default]
    AsStored,
    /// Nothing. What was kept is dropped by the next checkpoint.
    Off,
    /// What either limit wants; at least one is not 0.
    Keep {
        /// The last so many commits.
        commits: u64,
        /// The commits of the last so many milliseconds.
        ms: u64,
    },
}

impl Retention {
    /// The last `commits` commits.
    #[must_use]
    pub fn commits(commits: u64) -> Self {
        Self::Keep { commits, ms: 0 }
    }

    /// What was committed, or replaced, within `time`.
    #[must_use]
    pub fn time(time: Duration) -> Self {
        Self::Keep { commits: 0, ms: u64::try_from(time.as_millis()).unwrap_or(u64::MAX) }
    }
}

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// When a commit returns. Default: once it is on disk.
    pub durability: Durability,
    /// Size at which a new log file is begun, in bytes. Default: 64 MiB; at least 4 KiB.
    pub wal_file_bytes: u64,
    /// Log written since the last checkpoint that starts another, in bytes. Default: 256 MiB;
    /// 0 means that only `checkpoint()` and closing write one.
    pub checkpoint_wal_bytes: u64,
    /// Largest size of the checkpoint store, in bytes; address space is reserved for it, memory and
    /// disk are not. Default: 1 TiB.
    pub store_bytes_max: u64,
    /// Most memory held for the graph, in bytes; above it, what the store holds is dropped and read
    /// again when it is touched. Default: half of the machine's memory, or of the control group's;
    /// at least 1 MiB. Not for databases in memory, which have no store. See `docs/memory.md`.
    pub memory_limit_bytes: Option<u64>,
    /// Length from which a neighbour list is kept as a hub: in chunks that settle and latch one by
    /// one, instead of in one slice. Default: 65,536, as measured; at least 1,024. Lists that were
    /// hubs stay so until the database is opened again.
    pub hub_entries_min: usize,
    /// Most bytes of log kept in `archive/` after a checkpoint no longer needs it, so that backups
    /// can be restored to any commit between them; the oldest files go first. Default: 0, none.
    pub log_archive_bytes_max: u64,
    /// How far back the past can be read: snapshots at past timestamps and the change stream.
    /// Default: as the database was last opened with; none for a new one.
    pub retain: Retention,
    /// Milliseconds between background passes that settle idle segments. Default: 200; 0 for none.
    pub background_interval_ms: u64,
    /// Time for which the id of a transaction that commits once is known, so that it can be sent
    /// again ([`Transaction::commit_once`](crate::Transaction::commit_once)). Default: 10 minutes.
    /// The last 131,072 ids are known at most.
    pub once_window: Duration,
    /// Say in the lock file that this process lets others in: whoever finds the database locked
    /// then waits for its socket and does not give up. Default: no.
    pub shared: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            wal_file_bytes: 64 << 20,
            checkpoint_wal_bytes: 256 << 20,
            store_bytes_max: 1 << 40,
            memory_limit_bytes: None,
            hub_entries_min: 65_536,
            log_archive_bytes_max: 0,
            retain: Retention::AsStored,
            background_interval_ms: 200,
            once_window: Duration::from_secs(600),
            shared: false,
        }
    }
}

impl Settings {
    /// The defaults, with commits that return before they are on disk; the log is written and
    /// synced every `interval_ms` milliseconds. A crash loses at most the last interval and one
    /// sync.
    #[must_use]
    pub fn asynchronous(interval_ms: u64) -> Self {
        Self { durability: Durability::Async { interval_ms }, ..Self::default() }
    }

    /// Checks every value.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first one that makes no sense.
    pub fn validate(&self) -> Result<(), Error> {
        let check = |ok: bool, name, reason: &str| {
            if ok { Ok(()) } else { Err(Error::Setting { name, reason: reason.to_owned() }) }
        };
        check(
            self.durability != Durability::Replicated,
            "durability",
            "a replicated database is opened to follow (Engine::open_to_follow)",
        )?;
        if let Durability::Async { interval_ms } = self.durability {
            check(
                (1..=60_000).contains(&interval_ms),
                "durability",
                "the interval of async commits must be 1 to 60000 milliseconds",
            )?;
        }
        check(
            self.memory_limit_bytes.is_none_or(|limit| limit >= 1 << 20),
            "memory_limit_bytes",
            "must be at least 1 MiB",
        )?;
        check(self.hub_entries_min >= 1024, "hub_entries_min", "must be at least 1024")?;
        check(
            self.retain != Retention::Keep { commits: 0, ms: 0 },
            "retain",
            "a limit on commits or time must be at least 1; `Off` keeps nothing",
        )?;
        check(self.wal_file_bytes >= 4096, "wal_file_bytes", "must be at least 4096")?;
        check(
            self.store_bytes_max >= 1 << 20 && self.store_bytes_max <= 1 << 46,
            "store_bytes_max",
            "must be 1 MiB to 64 TiB",
        )
    }
}
