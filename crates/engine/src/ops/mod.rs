//! What operators do with a database: back up, restore, check, repair, compact, upgrade, watch.
//!
//! Modules in reading order:
//!
//! - [`backup`](crate::Engine::backup): a directory with the values of one checkpoint and the log
//!   after it, taken while writers go on; `manifest` says what is in it, `image` holds the values.
//! - [`restore()`]: from a full backup and the incremental ones after it to any commit between.
//! - [`check()`]: every checksum and invariant, of a database or a backup; goes on after a finding.
//! - [`repair()`]: rebuilds what can be rebuilt without guessing, into a new directory.
//! - [`compact()`], [`upgrade()`]: the store without free pages; older formats.
//! - [`Health`]: what to watch while it runs.
//!
//! docs/operations.md is the operators' manual.

pub(crate) mod archive;
mod assemble;
mod backup;
mod check;
mod compact;
pub(crate) mod health;
pub(crate) mod identity;
mod image;
mod manifest;
mod reindex;
mod repair;
mod restore;
pub mod time;
mod upgrade;

pub use backup::{BackupDone, BackupOptions};
pub use check::{CheckReport, Finding, Severity, check};
pub use compact::{Compacted, compact};
pub use health::{CheckpointHealth, Health, HistoryHealth, LogHealth};
pub use identity::Identity;
pub use manifest::{BasedOn, FileEntry, Manifest};
pub use repair::{RepairOptions, Repaired, repair};
pub use restore::{RestoreOptions, RestorePoint, Restored, restore};
pub use upgrade::{Upgraded, upgrade};
