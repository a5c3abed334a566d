//! Upgrade of a database that an older program wrote, one format version at a time.
//!
//! | from | to | what changes |
//! |---|---|---|
//! | 1 | 2 | an identity; commits with a time, and change lists, from then on |
//! | 2 | 3 | nothing at once; the next checkpoint says which values there are |
//!
//! A step may be interrupted anywhere and is then done again: the format mark is replaced last, by
//! one rename. Older programs refuse the database from then on; a newer mark than ours is refused
//! here. Upgrading is asked for by name and never happens by opening, since there is no way back
//! but a backup.

use std::path::Path;

use crate::error::Error;
use crate::failpoint;
use crate::store::identity::{self, Identity};
use crate::store::{FORMAT_VERSION, Lock, create_format, read_format};

/// One step: from a version to the next.
struct Step {
    from: u32,
    changes: &'static str,
    run: fn(&Path) -> Result<(), Error>,
}

/// Every step there is, in order.
const STEPS: [Step; 2] = [STEP_1, STEP_2];

const STEP_1: Step = Step {
    from: 1,
    changes: "the database gets an identity; commits are logged with their time, and checkpoints \
              note what they wrote, so that backups can be incremental and restored to a time",
    run: |root| match identity::read(root) {
        Ok(_) => Ok(()),
        Err(_) => identity::write(root, Identity::new()),
    },
};

const STEP_2: Step = Step {
    from: 2,
    changes: "opening no longer reads the graph, once a checkpoint has noted which values there are",
    run: |_| Ok(()),
};
const _: () = assert!(STEPS.len() + 1 == FORMAT_VERSION as usize);

/// What an upgrade did.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upgraded {
    /// Version found.
    pub from: u32,
    /// Version now.
    pub to: u32,
    /// What each step changed.
    pub changes: Vec<&'static str>,
}

/// Brings the database in `path`, which must not be open, to the format of this program. Does
/// nothing if it has that already.
///
/// # Errors
/// [`Error::NotADatabase`], [`Error::NewerFormat`], [`Error::Locked`], [`Error::File`]. The
/// database is as before, or can be upgraded again.
pub fn upgrade(path: impl AsRef<Path>) -> Result<Upgraded, Error> {
    let root = path.as_ref();
    let none = || Error::NotADatabase { path: root.into(), reason: "it has no FORMAT file".into() };
    read_format(root)?.ok_or_else(none)?;
    let lock = Lock::take(root, false)?;
    // Once more: somebody else may have upgraded it before we had the lock.
    let from = read_format(root)?.ok_or_else(none)?;
    let mut changes = Vec::new();
    for step in STEPS.iter().filter(|step| step.from >= from) {
        (step.run)(root)?;
        failpoint!("upgrade::step");
        changes.push(step.changes);
    }
    if from < FORMAT_VERSION {
        create_format(root)?;
    }
    drop(lock);
    Ok(Upgraded { from, to: FORMAT_VERSION, changes })
}
