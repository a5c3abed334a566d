//! The checkers find each anomaly in a small history that has it, and none where there is none.

use telar_tests::graph::{self, Level};
use telar_tests::history::{Kind, Op, Set, Txn};
use telar_tests::oracle;

fn read(key: u64, ids: &[i64]) -> Op {
    Op::ReadList { key, ids: ids.to_vec() }
}

fn append(key: u64, id: i64) -> Op {
    Op::Append { key, id }
}

/// A transaction that ran at the same time as all the others.
fn txn(read_ts: u64, commit_ts: u64, ops: Vec<Op>) -> Txn {
    let (begin, end) = (0, 100);
    Txn { thread: 0, read_ts, commit_ts: Some(commit_ts), begin, end, counts: (0, 0), ops }
}

fn kind(history: &[Txn], level: Level) -> Option<Kind> {
    graph::check(history, level).err().map(|e| e.kind)
}

#[test]
fn serial_history_has_no_anomaly() {
    let history = [
        txn(0, 1, vec![read(1, &[]), append(1, 7), append(1, 8)]),
        txn(1, 2, vec![read(1, &[7, 8]), append(1, 9), read(1, &[7, 8, 9])]),
        txn(2, 2, vec![read(1, &[7, 8, 9])]),
    ];
    assert_eq!(kind(&history, Level::Serializable), None);
    oracle::check(&history, Level::Serializable).unwrap();
}

#[test]
fn dirty_reads_are_found() {
    let mut aborted = txn(0, 0, vec![read(1, &[]), append(1, 7)]);
    aborted.commit_ts = None;
    let history = [aborted, txn(0, 0, vec![read(1, &[7])])];
    assert_eq!(kind(&history, Level::Snapshot), Some(Kind::G1a));
    let between = [
        txn(0, 1, vec![append(1, 7), append(1, 8)]),
        txn(0, 0, vec![read(1, &[7])]),
        txn(1, 1, vec![read(1, &[7, 8])]),
    ];
    assert_eq!(kind(&between, Level::Snapshot), Some(Kind::G1b));
}

#[test]
fn lost_updates_are_found() {
    let history = [
        txn(0, 1, vec![read(1, &[]), append(1, 7)]),
        txn(0, 2, vec![read(1, &[]), append(1, 8)]),
        txn(2, 2, vec![read(1, &[8])]),
    ];
    assert_eq!(kind(&history, Level::Snapshot), Some(Kind::LostUpdate));
    oracle::check(&history, Level::Snapshot).unwrap_err();
}

#[test]
fn cycles_are_told_apart() {
    let overwrites = [
        txn(0, 1, vec![append(1, 7), append(2, 8)]),
        txn(0, 2, vec![append(1, 9), append(2, 10)]),
        txn(2, 2, vec![read(1, &[7, 9]), read(2, &[10, 8])]),
    ];
    assert_eq!(kind(&overwrites, Level::Snapshot), Some(Kind::G0));
    let information = [
        txn(0, 1, vec![append(1, 7), read(2, &[8])]),
        txn(0, 2, vec![append(2, 8), read(1, &[7])]),
        txn(2, 2, vec![read(1, &[7]), read(2, &[8])]),
    ];
    assert_eq!(kind(&information, Level::Snapshot), Some(Kind::G1c));
    let skewed_read = [
        txn(0, 1, vec![append(1, 7), append(2, 8)]),
        txn(0, 0, vec![read(1, &[7]), read(2, &[])]),
        txn(1, 1, vec![read(1, &[7]), read(2, &[8])]),
    ];
    assert_eq!(kind(&skewed_read, Level::Snapshot), Some(Kind::GSingle));
    let skewed_write = [
        txn(0, 1, vec![read(1, &[]), read(2, &[]), append(1, 7)]),
        txn(0, 2, vec![read(1, &[]), read(2, &[]), append(2, 8)]),
        txn(2, 2, vec![read(1, &[7]), read(2, &[8])]),
    ];
    assert_eq!(kind(&skewed_write, Level::Snapshot), None);
    assert_eq!(kind(&skewed_write, Level::Serializable), Some(Kind::G2));
    oracle::check(&skewed_write, Level::Serializable).unwrap_err();
}

#[test]
fn long_fork_is_found() {
    let fork = [
        txn(0, 1, vec![append(1, 7)]),
        txn(0, 2, vec![append(2, 8)]),
        txn(1, 1, vec![read(1, &[7]), read(2, &[])]),
        txn(1, 1, vec![read(1, &[]), read(2, &[8])]),
        txn(2, 2, vec![read(1, &[7]), read(2, &[8])]),
    ];
    // Forbidden under both: two readers disagree about which write came first.
    assert_eq!(kind(&fork, Level::Snapshot), Some(Kind::GSingle));
}

#[test]
fn stale_reads_are_found() {
    let mut writer = txn(0, 1, vec![append(1, 7)]);
    writer.end = 10;
    let mut reader = txn(0, 0, vec![read(1, &[])]);
    reader.begin = 20;
    let history = [writer, reader, txn(1, 1, vec![read(1, &[7])])];
    assert_eq!(kind(&history, Level::Snapshot), Some(Kind::GSingle));
}

#[test]
fn phantoms_are_found() {
    let insert = |item, v| Op::Insert { item, sets: vec![Set::Out(v)] };
    let empty = |v| Op::ReadSet { set: Set::Out(v), members: Vec::new() };
    let mut history =
        [txn(0, 1, vec![empty(2), insert(5, 1)]), txn(0, 2, vec![empty(1), insert(6, 2)])];
    history.iter_mut().for_each(|t| t.counts = (1, 0));
    assert_eq!(kind(&history, Level::Snapshot), None);
    assert_eq!(kind(&history, Level::Serializable), Some(Kind::G2));
    oracle::check(&history, Level::Snapshot).unwrap();
    oracle::check(&history, Level::Serializable).unwrap_err();
    history[0].counts = (0, 0);
    oracle::check(&history, Level::Snapshot).unwrap_err();
}

#[test]
fn half_seen_transactions_are_found() {
    let insert = |item, v| Op::Insert { item, sets: vec![Set::Out(v), Set::In(v)] };
    let half = |set, members: &[u64]| Op::ReadSet { set, members: members.to_vec() };
    let history = [
        txn(0, 1, vec![insert(5, 1), insert(6, 2)]),
        txn(0, 0, vec![half(Set::Out(1), &[5]), half(Set::Out(2), &[])]),
    ];
    assert_eq!(kind(&history, Level::Snapshot), Some(Kind::GSingle));
    let one_sided = [
        txn(0, 1, vec![insert(5, 1)]),
        txn(1, 1, vec![half(Set::Out(1), &[5]), half(Set::In(1), &[])]),
    ];
    assert_eq!(kind(&one_sided, Level::Snapshot), Some(Kind::GSingle));
}

#[test]
fn missing_own_writes_are_found() {
    let history = [txn(0, 1, vec![append(1, 7), read(1, &[])])];
    assert_eq!(kind(&history, Level::Snapshot), Some(Kind::OwnWrites));
}
