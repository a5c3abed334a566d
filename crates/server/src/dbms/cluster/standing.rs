//! Standing of a node in its cluster, for figures.

use std::sync::Arc;

use super::super::Dbms;
use super::Cluster;

/// A node among the others.
#[derive(Debug)]
pub(crate) struct NodeStanding {
    /// Members that are there, this one among them.
    pub(crate) live: usize,
    /// Members that have ended, or are silent.
    pub(crate) gone: usize,
    /// This node's copies.
    pub(crate) copies: Vec<CopyStanding>,
}

/// A node's copy of a database.
#[derive(Debug)]
pub(crate) struct CopyStanding {
    pub(crate) database: String,
    /// True if the node leads it.
    pub(crate) leads: bool,
    /// Number of the leadership, as far as the node knows.
    pub(crate) epoch: u64,
    /// Commits that some other member has.
    pub(crate) behind: u64,
    /// True if it does nothing any more.
    pub(crate) stopped: bool,
}

impl Dbms {
    /// Standing of this node in its cluster; none for a server without one.
    pub(crate) fn standing_in_cluster(&self) -> Option<NodeStanding> {
        let cluster = self.cluster.as_ref()?;
        let members = cluster.members(None);
        let live = members.iter().filter(|seen| seen.is_live()).count();
        let state = self.state();
        let default = Arc::clone(self.default_name());
        let folder = Cluster::default_folder(&default);
        let others = state.databases.iter().map(|(name, entry)| (&**name, &*entry.folder));
        let all = [(&*default, &*folder)].into_iter().chain(others);
        let standing = |(name, folder): (&str, &str)| {
            let copy = cluster.copy(folder)?;
            let positions = members.iter().filter_map(|seen| seen.member.positions.get(folder));
            let furthest = positions.copied().max().unwrap_or(0);
            let own = copy.replica.position().map_or(0, |position| position.get());
            Some(CopyStanding {
                database: name.to_owned(),
                leads: copy.leads(),
                epoch: copy.replica.epoch(),
                behind: furthest.saturating_sub(own),
                stopped: copy.replica.stopped().is_some(),
            })
        };
        let copies = all.filter_map(standing).collect();
        Some(NodeStanding { live, gone: members.len() - live, copies })
    }
}
