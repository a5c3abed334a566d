//! Figures of the files that keep graphs of vector indexes (docs/search.md): one that is refused
//! costs a build.

use std::sync::atomic::Ordering;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use telar_db::maintenance::NearHealth;

use super::ByDatabase;

/// The figures; a database in memory has none.
#[derive(Debug, Default)]
pub(super) struct NearFigures {
    read: Family<ByDatabase, Counter>,
    refused: Family<ByDatabase, Counter>,
    written: Family<ByDatabase, Counter>,
    failed: Family<ByDatabase, Counter>,
}

impl NearFigures {
    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Graphs of vector indexes that were read from a file";
        r.register("vector_graphs_read", help, self.read.clone());
        let help = "Files of such graphs that could not be used: the graph is built anew";
        r.register("vector_graphs_refused", help, self.refused.clone());
        let help = "Graphs of vector indexes that were written to a file";
        r.register("vector_graphs_written", help, self.written.clone());
        let help = "Graphs of vector indexes that could not be written";
        r.register("vector_graphs_failed", help, self.failed.clone());
    }

    /// Takes the figures of all databases away.
    pub(super) fn forget(&self) {
        [&self.read, &self.refused, &self.written, &self.failed]
            .into_iter()
            .for_each(Family::clear);
    }

    pub(super) fn set(&self, of: &ByDatabase, health: &NearHealth) {
        let counts = [
            (&self.read, health.read),
            (&self.refused, health.refused),
            (&self.written, health.written),
            (&self.failed, health.failed),
        ];
        for (family, count) in counts {
            family.get_or_create(of).inner().store(count, Ordering::Relaxed);
        }
    }
}
