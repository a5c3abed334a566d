//! Figures of a server that follows another one: how far its copies are behind.

use std::sync::atomic::AtomicU64;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::{ByDatabase, bounded};
use crate::dbms::Dbms;

/// The figures; a server that follows nobody has none.
#[derive(Debug, Default)]
pub(super) struct FollowFigures {
    connected: Family<ByDatabase, Gauge>,
    commits: Family<ByDatabase, Gauge>,
    behind: Family<ByDatabase, Gauge<f64, AtomicU64>>,
    images: Family<ByDatabase, Counter>,
}

impl FollowFigures {
    pub(super) fn register(&self, r: &mut Registry) {
        let help = "1 if the server that is followed answered the last request";
        r.register("follow_connected", help, self.connected.clone());
        let help = "Commits that the source is known to have and the copy has not";
        r.register("follow_commits_behind", help, self.commits.clone());
        let help = "Since the copy had all commits that the source was known to have";
        r.register_with_unit("follow_behind", help, Unit::Seconds, self.behind.clone());
        let help = "Whole copies that were fetched";
        r.register("follow_images", help, self.images.clone());
    }

    pub(super) fn look(&self, dbms: &Dbms) {
        [&self.connected, &self.commits].into_iter().for_each(Family::clear);
        self.behind.clear();
        self.images.clear();
        for (name, seen) in dbms.following() {
            let label = ByDatabase { database: name.to_string() };
            self.connected.get_or_create(&label).set(i64::from(seen.connected));
            self.commits.get_or_create(&label).set(bounded(seen.commits_behind));
            self.behind.get_or_create(&label).set(seen.behind.as_secs_f64());
            self.images.get_or_create(&label).inc_by(seen.images);
        }
    }
}
