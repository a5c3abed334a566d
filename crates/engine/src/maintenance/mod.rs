//! What operators do with a database: back up, restore, check, repair, compact, upgrade, watch.
//!
//! Modules in reading order:
//!
//! - [`backup`](crate::Engine::backup): a directory with the values of one checkpoint and the log
//!   after it, taken while writers go on; `manifest` says what is in it, `image` holds the values.
//! - [`restore()`]: from a full backup and the incremental ones after it to any commit between.
//! - [`check()`]: every checksum and invariant, of a database or a backup; goes on after a finding.
//! - [`repair()`]: rebuilds what can be rebuilt without guessing, into a new directory.
//! - [`promote_copy()`]: makes a copy of a log a database of its own.
//! - [`Staging`]: where a new database is put together before it gets its name.
//! - [`compact()`], [`upgrade()`]: the store without free pages; older formats.
//! - [`Health`]: what to watch while it runs.
//!
//! docs/operations.md is the operators' manual.

mod assemble;
mod backup;
mod check;
mod compact;
mod health;
mod image;
mod manifest;
mod promote;
mod reindex;
mod repair;
mod restore;
mod staging;
mod upgrade;

pub use crate::once::OnceHealth;
pub use crate::store::identity::Identity;
pub use crate::store::progress::NearHealth;
pub use backup::{BackupDone, BackupOptions};
pub use check::{CheckReport, Finding, Severity, check};
pub use compact::{Compacted, compact};
pub use health::{CheckpointHealth, Health, HistoryHealth, LogHealth};
pub use manifest::{BasedOn, FileEntry, Manifest};
pub use promote::promote_copy;
pub use repair::{RepairOptions, Repaired, repair};
pub use restore::{RestoreOptions, RestorePoint, Restored, restore};
pub use staging::Staging;
pub use upgrade::{Upgraded, upgrade};

/// Wall-clock time, as operators name it and as the log keeps it: milliseconds since 1970, UTC.
///
/// ```
/// use telar_engine::maintenance::time;
///
/// let ms = time::parse("2026-11-21T10:44:07.25Z")?;
/// assert_eq!(time::show(ms), "2026-11-21T10:44:07.25Z");
/// # Ok::<(), String>(())
/// ```
pub mod time {
    pub use crate::clock::wall::{now_ms, parse, show};
}
