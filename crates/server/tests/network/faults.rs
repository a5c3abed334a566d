//! Faults: packets between the ports of the bridge that are lost, processes that stand still or
//! die.

use crate::hosts::{NODES, STORE, Servers, run};

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
    /// The leader is killed, and started again in the end.
    LeaderDies,
    /// The leader stands still, as a machine may, and goes on as if nothing had happened.
    LeaderStops,
    /// The store does.
    StoreStops,
}

/// One after the other.
pub(crate) const FAULTS: [Fault; 7] = [
    Fault::FromLeader,
    Fault::ToLeader,
    Fault::Follower,
    Fault::Loss,
    Fault::LeaderDies,
    Fault::LeaderStops,
    Fault::StoreStops,
];

impl Fault {
    /// True if another node reaches the store as ever, and commits go on. Where packets of all are
    /// lost, connections wait for seconds, and leases lapse; and whoever asks a process that stands
    /// still waits until it goes on. Nothing wrong is all that is promised then.
    pub(crate) fn leaves_a_way(self) -> bool {
        !matches!(self, Self::Loss | Self::LeaderStops | Self::StoreStops)
    }

    /// Begins the fault, while the node of this number leads.
    pub(crate) fn begin(self, leader: usize, servers: &mut Servers) -> Trouble {
        match self {
            Self::LeaderDies => {
                servers.kill(leader);
                Trouble::Dead(leader)
            }
            Self::LeaderStops => Trouble::stopped(servers.node_id(leader)),
            Self::StoreStops => Trouble::stopped(servers.store_id()),
            _ => Trouble::Lost(Packets::lose(&self.rules(leader))),
        }
    }

    /// What is lost, for `nft`, while the node of this number leads.
    fn rules(self, leader: usize) -> Vec<String> {
        let way = |from: &str, to: &str| format!("ip saddr {from} ip daddr {to} drop");
        let leads = NODES[leader].1;
        let follows = NODES[(leader + 1) % NODES.len()].1;
        match self {
            Self::FromLeader => vec![way(leads, STORE.1)],
            Self::ToLeader => vec![way(STORE.1, leads)],
            Self::Follower => vec![way(follows, STORE.1), way(STORE.1, follows)],
            Self::Loss => vec!["ip protocol tcp numgen random mod 100 < 30 drop".to_owned()],
            Self::LeaderDies | Self::LeaderStops | Self::StoreStops => Vec::new(),
        }
    }
}

/// A fault that has begun.
#[derive(Debug)]
pub(crate) enum Trouble {
    Lost(Packets),
    /// The process of this number stands still.
    Stopped(Standstill),
    /// The node of this number is not there.
    Dead(usize),
}

impl Trouble {
    fn stopped(process: u32) -> Self {
        Self::Stopped(Standstill::begin(process))
    }

    /// Ends it.
    pub(crate) fn end(self, servers: &mut Servers) {
        match self {
            Self::Lost(packets) => drop(packets),
            Self::Stopped(standstill) => drop(standstill),
            Self::Dead(node) => servers.start_again(node),
        }
    }
}

/// A process that stands still until this is dropped.
#[derive(Debug)]
pub(crate) struct Standstill(u32);

impl Standstill {
    fn begin(process: u32) -> Self {
        run("kill", &format!("-STOP {process}"));
        Self(process)
    }
}

impl Drop for Standstill {
    fn drop(&mut self) {
        run("kill", &format!("-CONT {}", self.0));
    }
}

/// Packets that are lost until this is dropped.
#[derive(Debug)]
pub(crate) struct Packets;

impl Packets {
    fn lose(rules: &[String]) -> Self {
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

impl Drop for Packets {
    fn drop(&mut self) {
        run("nft", "delete table bridge faults");
    }
}
