//! What connections cost: counted in the process, as an operator sees it.

use std::fs;
use std::time::{Duration, Instant};

use crate::client::{Answer, BEGIN, COMMIT, Client, PATIENCE};
use crate::data::{Data, map};
use crate::process::Process;
use crate::program::{logged_in, start};

/// Some 75 are usual; with the heaps of the threads on huge pages it were 1,400.
const KIB_EACH: usize = 300;

/// KiB of a process in memory.
fn resident_kib(process: &Process) -> usize {
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
}

/// A server on which everything has run once, connections that have a transaction open, and what
/// the process takes without them.
fn connections(count: usize) -> (Process, Vec<Client>, usize) {
    let (server, address) = start(&["--memory", "--no-auth"]);
    let mut first = logged_in(address);
    first.rows("CREATE INDEX FOR (p:Person) ON (p.id)");
    first.rows("UNWIND range(1, 1000) AS i CREATE (:Person {id: i, name: 'somebody'})");
    use_it(&mut first, 1);
    let before = resident_kib(&server);
    let clients = (0..count).map(|_| logged_in(address)).collect();
    (server, clients, before)
}

/// A read and a write in a transaction that stays open.
fn use_it(client: &mut Client, id: usize) {
    client.ask(BEGIN, [map([])]).success();
    let person = format!("MATCH (p:Person {{id: {id}}})");
    assert_eq!(client.rows(&format!("{person} RETURN p.name")).len(), 1);
    assert_eq!(client.rows(&format!("{person} SET p.age = {id} RETURN p")).len(), 1);
}

#[test]
fn a_connection_that_is_used_lightly_costs_little() {
    let (server, mut clients, before) = connections(200);
    let each = |server| resident_kib(server).saturating_sub(before) / 200;
    for (id, client) in clients.iter_mut().enumerate() {
        use_it(client, id + 1);
    }
    let used = each(&server);
    assert!(used < KIB_EACH, "{used} KiB for each connection in use");
    for client in &mut clients {
        client.ask(COMMIT, []).success();
    }
    let idle = each(&server);
    assert!(idle < KIB_EACH, "{idle} KiB for each idle connection");
}

#[test]
fn what_an_expression_makes_of_one_batch_is_counted() {
    let (server, address) =
        start(&["--memory", "--no-auth", "--set", "limits.statement_memory=64MiB"]);
    let mut client = logged_in(address);
    let keys = (0..20_000_i64).map(|i| (format!("key{i}"), Data::Int(i)));
    let parameters = Data::Map(keys.collect());
    for text in [
        "WITH range(1, 100000) AS l UNWIND range(1, 100000) AS i RETURN sum(size(l[1..]))",
        "WITH $m AS m UNWIND range(1, 100000) AS i RETURN sum(size(keys(m {.*, i: i})))",
        "UNWIND range(1, 100000) AS i RETURN sum(size(keys(properties($m))))",
    ] {
        let parameters = map([("m", parameters.clone())]);
        let answer = client.run_with(text, parameters, map([]));
        let code = match answer {
            Answer::Success(_) => client.pull(-1).1.code(),
            answer => answer.code(),
        };
        assert_eq!(code, "Neo.TransientError.General.MemoryPoolOutOfMemoryError", "{text}");
        client.reset().success();
        let kib = resident_kib(&server);
        assert!(kib < 400 << 10, "{kib} KiB after {text}");
    }
}

#[test]
fn what_a_connection_needed_once_is_given_back_when_it_is_silent() {
    let (server, mut clients, before) = connections(40);
    let numbers = Data::List((0..50_000).map(|i: i64| Data::Int(i << 32)).collect());
    for client in &mut clients {
        let numbers = map([("numbers", numbers.clone())]);
        client.run_with("UNWIND $numbers AS n RETURN n", numbers, map([])).success();
        assert_eq!(client.pull(-1).0.len(), 50_000);
    }
    // Without another word from anybody.
    let begun = Instant::now();
    loop {
        let each = resident_kib(&server).saturating_sub(before) / clients.len();
        if each < KIB_EACH {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "{each} KiB for each idle connection");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(clients[7].int("RETURN 1"), 1);
}
