//! Standing of a node in its cluster, for figures.

use std::sync::Arc;

use super::super::Dbms;

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
    /// True if it does not follow.
    pub(crate) stopped: bool,
    /// Bytes of its log in the store, and whether that takes no more: 0 unless the node leads.
    pub(crate) log_bytes: u64,
    pub(crate) log_full: bool,
}

impl Dbms {
    /// Standing of this node in its cluster; none for a server without one.
    pub(crate) fn standing_in_cluster(&self) -> Option<NodeStanding> {
        let cluster = self.cluster.as_ref()?;
        let members = cluster.members(None);
        let live = members.iter().filter(|seen| seen.is_live()).count();
        let standing = |(name, folder): (Arc<str>, String)| {
            let copy = cluster.copy(&folder)?;
            let positions = members.iter().filter_map(|seen| seen.member.positions.get(&folder));
            let furthest = positions.copied().max().unwrap_or(0);
            let own = copy.replica.position().map_or(0, |position| position.get());
            Some(CopyStanding {
                database: name.to_string(),
                leads: copy.leads(),
                epoch: copy.replica.epoch(),
                behind: furthest.saturating_sub(own),
                stopped: copy.replica.trouble().is_some(),
                log_bytes: copy.log.bytes(),
                log_full: copy.log.is_full(),
            })
        };
        let copies = self.folders().into_iter().filter_map(standing).collect();
        Some(NodeStanding { live, gone: members.len() - live, copies })
    }
}
