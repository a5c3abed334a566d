//! What the sessions of one database share.

use std::sync::Arc;

use parking_lot::Mutex;
use telar_query::{Prepared, Procedures, Running};

use crate::plans::{PlanUses, Plans};

/// Plans kept.
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
        Self { procedures, plans: Mutex::new(Plans::new(PLANS_MAX)) }
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

    /// How well the plans that are kept serve, since this was made.
    #[must_use]
    pub fn plan_uses(&self) -> PlanUses {
        self.plans.lock().uses()
    }

    /// The plan for `text`, if it was made for this version.
    pub(crate) fn plan(&self, text: &str, version: u64) -> Option<Arc<Prepared>> {
        self.plans.lock().find(text, version)
    }

    pub(crate) fn keep(&self, plan: &Arc<Prepared>, version: u64) {
        self.plans.lock().keep(plan, version);
    }
}
