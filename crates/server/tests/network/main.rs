//! A cluster whose network fails: three nodes and an etcd, each in a network namespace of its own.
//!
//! ```text
//!  hub: bridge 10.77.0.254 ─┬─ a  10.77.0.1 ┐
//!       clients, faults     ├─ b  10.77.0.2 ├ telar serve
//!                           ├─ c  10.77.0.3 ┘
//!                           └─ s  10.77.0.9   etcd
//! ```
//!
//! Clients commit and read at all nodes, which promise strict reads (`cluster.follower_reads`),
//! while packets between nodes and store are lost (those of the leader, those to it, all of a
//! follower, and three of ten of all), the leader is killed, and leader and store stand still
//! for longer than a lease lasts. Histories go through the checker of anomalies. Clients are on
//! the bridge itself, so what they send is not lost.
//!
//! Needs root, `ip`, `nft` and `etcd`; without one of them it is counted as skipped. Namespaces
//! have names of this process, and go with it. `TELAR_LONG=1` repeats the faults.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

mod clients;
mod faults;
#[path = "../../../../tests/src/graph.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is public where the file lives")]
mod graph;
#[path = "../../../../tests/src/history.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is public where the file lives")]
mod history;
mod hosts;
#[path = "../../../../tests/src/outcomes.rs"]
#[allow(unreachable_pub, dead_code, reason = "it is public where the file lives")]
mod outcomes;
#[path = "../../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
#[path = "../../../../tests/src/test_data.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "of this file only the note about what is skipped is used"
)]
mod test_data;

use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use clients::World;
use faults::FAULTS;
use hosts::{HUB_VARIABLE, Hosts, NODES, Servers, missing};
use outcomes::{resolved, txns};

/// Longest wait for commits, while one node cannot reach the store and once the network is whole:
/// another node has to take over; machines may be busy.
const TAKE_OVER: Duration = Duration::from_secs(40);

/// Time for which a fault lasts, at least: longer than a lease.
const LASTS: Duration = Duration::from_secs(8);

#[test]
fn histories_of_a_cluster_whose_network_fails_are_clean() {
    // The part that runs in the hub's namespace, as another process of this program.
    if let Some(hub) = std::env::var_os(HUB_VARIABLE) {
        return in_hub(&hub.into_string().unwrap());
    }
    if let Some(what) = missing() {
        return test_data::skipped(&what);
    }
    let hosts = Hosts::new();
    let this = std::env::current_exe().unwrap();
    let name = "histories_of_a_cluster_whose_network_fails_are_clean";
    let mut command = Command::new("ip");
    command.args(["netns", "exec", &hosts.hub()]).arg(this).args([name, "--exact", "--nocapture"]);
    let done = command.env(HUB_VARIABLE, hosts.hub()).status().unwrap();
    assert!(done.success(), "it failed in the hub: {done}");
}

fn in_hub(hub: &str) {
    let folder = tempfile::tempdir().unwrap();
    let servers = &mut Servers::start(hub, folder.path());
    let world = &World::new(NODES.map(|(_, address)| address));
    world.prepare();
    let mut history = thread::scope(|scope| {
        let clients: Vec<_> =
            (0..clients::CLIENTS).map(|thread| scope.spawn(move || world.go_on(thread))).collect();
        let _end = clients::EndWhenDropped(world);
        let rounds = if std::env::var_os("TELAR_LONG").is_some() { 10 } else { 1 };
        for round in 0..rounds {
            for fault in FAULTS {
                let leader = world.leader();
                let trouble = fault.begin(leader, servers);
                let (begun, before) = (Instant::now(), world.acknowledged());
                thread::sleep(LASTS);
                if fault.leaves_a_way() {
                    world.await_commits(before + 20, TAKE_OVER);
                }
                let (took, commits) = (begun.elapsed(), world.acknowledged() - before);
                trouble.end(servers);
                let longest = world.longest_gap.swap(0, Ordering::Relaxed);
                println!(
                    "round {round}, {fault:?} while {} led: {commits} commits in {:.1} s, \
                     {longest} ms without one at most",
                    NODES[leader].0,
                    took.as_secs_f64()
                );
                world.await_commits(world.acknowledged() + 20, TAKE_OVER);
            }
        }
        world.end();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
    });
    history.push(world.last_reads());
    let counts = resolved(&mut history);
    let found = graph::check(&txns(&history), graph::Level::Snapshot)
        .unwrap_or_else(|e| panic!("{:?}: {}", e.kind, e.text));
    println!("{counts:?}, {found:?}");
    // A test that meets no conflict and no trouble tests nothing.
    assert!(counts.acknowledged > 200 && counts.refused > 0 && found.wr > 100, "{counts:?}");
}
