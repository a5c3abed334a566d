//! What the sessions of one database share.

use std::sync::Arc;

use parking_lot::Mutex;
use telar_query::{Prepared, Procedures, Running, Workers};

use crate::plans::{PlanUses, Plans};

/// Plans kept.
const PLANS_MAX: usize = 1024;

/// What the sessions of one database share: what they can call, the plans that were made, the list
/// of what runs, and the threads that help long queries.
#[derive(Debug)]
pub struct Runtime {
    procedures: Procedures,
    plans: Mutex<Plans>,
    workers: Arc<Workers>,
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
        let plans = Mutex::new(Plans::new(PLANS_MAX));
        Self { procedures, plans, workers: Arc::clone(Workers::of_program()) }
    }

    /// The same, with these threads for queries that only read, in place of those that all of the
    /// program's runtimes share.
    #[must_use]
    pub fn with_workers(self, workers: Arc<Workers>) -> Self {
        Self { workers, ..self }
    }

    /// The threads that help long queries.
    #[must_use]
    pub fn workers(&self) -> &Arc<Workers> {
        &self.workers
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
