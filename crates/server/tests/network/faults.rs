//! Faults of the network: packets between the ports of the bridge that are lost.

use crate::hosts::{NODES, STORE, run};

/// A kind of fault.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    /// What the leader sends to the store is lost: it does not renew its lease.
    FromLeader,
    /// What the store sends to the leader is lost: it does not know whether its writes are there.
    ToLeader,
    /// A follower and the store are cut off from each other.
    Follower,
    /// Three of ten packets are lost, everywhere.
    Loss,
}

/// One after the other.
pub(crate) const FAULTS: [Fault; 4] =
    [Fault::FromLeader, Fault::ToLeader, Fault::Follower, Fault::Loss];

impl Fault {
    /// True if another node reaches the store as ever, and commits go on. Where packets of all are
    /// lost, connections wait for seconds, and leases lapse: nothing wrong is all that is promised.
    pub(crate) fn leaves_a_way(self) -> bool {
        !matches!(self, Self::Loss)
    }

    /// What is lost, for `nft`, while the node of this number leads.
    pub(crate) fn rules(self, leader: usize) -> Vec<String> {
        let way = |from: &str, to: &str| format!("ip saddr {from} ip daddr {to} drop");
        let leads = NODES[leader].1;
        let follows = NODES[(leader + 1) % NODES.len()].1;
        match self {
            Self::FromLeader => vec![way(leads, STORE.1)],
            Self::ToLeader => vec![way(STORE.1, leads)],
            Self::Follower => vec![way(follows, STORE.1), way(STORE.1, follows)],
            Self::Loss => vec!["ip protocol tcp numgen random mod 100 < 30 drop".to_owned()],
        }
    }
}

/// Faults that go on until this is dropped.
#[derive(Debug)]
pub(crate) struct Faults;

impl Faults {
    pub(crate) fn begin(rules: &[String]) -> Self {
        let faults = Self;
        run("nft", "add table bridge faults");
        let hook = "{ type filter hook forward priority 0 ; policy accept ; }";
        run("nft", &format!("add chain bridge faults forward {hook}"));
        for rule in rules {
            run("nft", &format!("add rule bridge faults forward {rule}"));
        }
        faults
    }
}

impl Drop for Faults {
    fn drop(&mut self) {
        run("nft", "delete table bridge faults");
    }
}
