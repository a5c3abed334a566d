//! What the sessions of one database share.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_query::{Prepared, Procedures, Running};

/// Plans kept; when there are more, all are forgotten.
const PLANS_MAX: usize = 1024;

/// What the sessions of one database share: what they can call, the plans that were made, and the
/// list of what runs.
#[derive(Debug)]
pub struct Runtime {
    procedures: Procedures,
    plans: Mutex<Plans>,
}

impl Default for Runtime {
    /// With the built-in procedures.
    fn default() -> Self {
        Self::new(Procedures::builtin())
    }
}

impl Runtime {
    /// With these procedures.
    #[must_use]
    pub fn new(procedures: Procedures) -> Self {
        Self { procedures, plans: Mutex::default() }
    }

    /// What `CALL` can run.
    #[must_use]
    pub fn procedures(&self) -> &Procedures {
        &self.procedures
    }

    /// What runs in the sessions.
    #[must_use]
    pub fn running(&self) -> &Arc<Running> {
        &self.procedures.running
    }

    /// The plan for `text`, if it was made for these indexes.
    pub(crate) fn plan(&self, text: &str, version: u64) -> Option<Arc<Prepared>> {
        let mut plans = self.plans.lock();
        if plans.version != version {
            plans.by_text.clear();
            plans.version = version;
        }
        plans.by_text.get(text).cloned()
    }

    pub(crate) fn keep(&self, plan: &Arc<Prepared>, version: u64) {
        let mut plans = self.plans.lock();
        if plans.by_text.len() >= PLANS_MAX {
            plans.by_text.clear();
        }
        if plans.version == version {
            plans.by_text.insert(Box::from(&**plan.text()), Arc::clone(plan));
        }
    }
}

/// Plans by text, as long as the indexes are those they were made for.
#[derive(Debug, Default)]
struct Plans {
    version: u64,
    by_text: HashMap<Box<str>, Arc<Prepared>>,
}
