//! Figures of a node of a cluster: what it leads, and how far it is behind.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{ByDatabase, bounded, signed};
use crate::dbms::Dbms;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByState {
    state: &'static str,
}

/// The figures; a server without a cluster has none.
#[derive(Debug, Default)]
pub(super) struct ClusterFigures {
    members: Family<ByState, Gauge>,
    leads: Family<ByDatabase, Gauge>,
    epoch: Family<ByDatabase, Gauge>,
    behind: Family<ByDatabase, Gauge>,
    stopped: Family<ByDatabase, Gauge>,
    log_bytes: Family<ByDatabase, Gauge>,
    log_full: Family<ByDatabase, Gauge>,
}

impl ClusterFigures {
    pub(super) fn register(&self, r: &mut Registry) {
        let help = "Members of the cluster, as this node sees them";
        r.register("cluster_members", help, self.members.clone());
        let help = "1 on the node that leads the database";
        r.register("cluster_leads", help, self.leads.clone());
        let help = "Number of the leadership that this node knows of";
        r.register("cluster_epoch", help, self.epoch.clone());
        let help = "Commits that another member has and this copy has not";
        r.register("cluster_commits_behind", help, self.behind.clone());
        let help = "1 if the copy does not follow: it has stopped, or its disk fails";
        r.register("cluster_copy_stopped", help, self.stopped.clone());
        let help = "Bytes of the log in the store, on the node that leads the database";
        r.register("cluster_log_bytes", help, self.log_bytes.clone());
        let help = "1 if the log takes no more commits (cluster.log_bytes)";
        r.register("cluster_log_full", help, self.log_full.clone());
    }

    pub(super) fn look(&self, dbms: &Dbms) {
        let Self { members: _, leads, epoch, behind, stopped, log_bytes, log_full } = self;
        let all = [leads, epoch, behind, stopped, log_bytes, log_full];
        all.into_iter().for_each(Family::clear);
        let Some(standing) = dbms.standing_in_cluster() else { return };
        for (state, count) in [("there", standing.live), ("gone", standing.gone)] {
            self.members.get_or_create(&ByState { state }).set(signed(count));
        }
        for copy in standing.copies {
            let label = ByDatabase { database: copy.database };
            let set = |family: &Family<ByDatabase, Gauge>, value| {
                family.get_or_create(&label).set(value);
            };
            set(&self.leads, i64::from(copy.leads));
            set(&self.epoch, bounded(copy.epoch));
            set(&self.behind, bounded(copy.behind));
            set(&self.stopped, i64::from(copy.stopped));
            set(&self.log_bytes, bounded(copy.log_bytes));
            set(&self.log_full, i64::from(copy.log_full));
        }
    }
}
