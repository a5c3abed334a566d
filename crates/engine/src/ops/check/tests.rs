//! Values that fit their checksums and contradict each other: what a bug would leave.

use std::path::Path;

use telar_graph::VertexId;

use super::check;
use crate::checkpoint::changes::Key;
use crate::checkpoint::{Kind, Totals, changes, key, meta, seal, unseal};
use crate::packed::{get_run, put_run};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::Store;
use crate::{EdgeTypeOptions, Engine};

/// Changes the body of a stored value, and makes every checksum fit again.
fn rewrite(root: &Path, changed: Key, change: &mut dyn FnMut(&mut Vec<u8>)) {
    let store = Store::open(root, &Settings::default()).unwrap();
    let mut txn = store.write().unwrap();
    let database = store.database();
    let mut value = database.get(&txn, &changed).unwrap().unwrap().to_vec();
    let mut body = value.split_off(4);
    change(&mut body);
    value.extend(body);
    seal(&changed, &mut value);
    database.put(&mut txn, &changed, &value).unwrap();
    let meta_key = key(Kind::Meta, 0, 0, 0);
    let mut totals = Totals::default();
    for item in database.iter(&txn).unwrap() {
        let (key, value) = item.unwrap();
        if key != meta_key && !changes::is_list(key) {
            let (crc, _) = unseal(key, value).unwrap();
            totals.put(key.try_into().unwrap(), None, crc);
        }
    }
    let (_, body) = unseal(&meta_key, database.get(&txn, &meta_key).unwrap().unwrap()).unwrap();
    let shared = Shared::empty(Settings::default());
    let meta = meta::decode(body, &shared).unwrap();
    let added = meta::Additions::default();
    meta::encode(&shared, meta.at, &totals, &added, &[], &mut value);
    seal(&meta_key, &mut value);
    database.put(&mut txn, &meta_key, &value).unwrap();
    txn.commit().unwrap();
}

/// Two thousand vertices with two edges each, of a type of each kind, closed.
fn made(root: &Path) {
    let db = Engine::open(root, Settings::default()).unwrap();
    let simple = db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap();
    let multi = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
    let label = db.label("Thing").unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..2000 {
        txn.create_vertex(&[label]).unwrap();
    }
    for v in 0..2000 {
        let id = VertexId::from_raw;
        for to in [(v + 1) % 2000, (v + 1000) % 2000] {
            txn.upsert_edge(simple, id(v), id(to)).unwrap();
            txn.create_edge(multi, id(v), id(to), &[]).unwrap();
        }
    }
    txn.commit().unwrap();
    db.close().unwrap();
}

/// Where the neighbours of a segment begin in the body, and the first of their columns.
const NEIGHBOURS: usize = 1025 * 4;

fn put(body: &mut [u8], at: usize, word: u32) {
    body[at..at + 4].copy_from_slice(&word.to_le_bytes());
}

/// Replaces number `index` of the packed run of `len` numbers that makes up the end of `body`.
fn put_packed(body: &mut Vec<u8>, at: usize, (len, index): (usize, usize), number: i64) {
    let mut numbers = Vec::new();
    let mut run = &body[at..];
    get_run(&mut run, len, |n| numbers.push(n)).unwrap();
    assert!(run.is_empty());
    numbers[index] = number;
    body.truncate(at);
    put_run(&numbers, body);
}

fn assert_found(changed: Key, part: &str, change: &mut dyn FnMut(&mut Vec<u8>)) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("graph");
    made(&root);
    assert_eq!(check(&root).unwrap().worst(), None);
    rewrite(&root, changed, change);
    let report = check(&root).unwrap();
    let found = report.findings.iter().any(|f| f.what.contains(part));
    assert!(found, "{part}: {:#?}", report.findings);
}

#[test]
fn contradictions_between_values_are_found() {
    let (out, inward) = (0, 1);
    let (simple, multi) = (0, 1);
    let lists = |ty, direction| key(Kind::Adjacency, ty, direction, 0);
    // Vertex 0 has the neighbours 1 and 1000 in its out list, 1000 and 1999 in its in list.
    assert_found(lists(simple, inward), "do not mirror", &mut |body| put(body, NEIGHBOURS, 7));
    assert_found(lists(simple, out), "is not sorted", &mut |body| put(body, NEIGHBOURS, 1999));
    assert_found(lists(simple, out), "above 2000", &mut |body| put(body, NEIGHBOURS + 4, 2000));
    assert_found(lists(simple, out), "do not ascend", &mut |body| put(body, 4, 9));
    let columns = NEIGHBOURS + 2048 * 4;
    let first = (2048, 0);
    assert_found(lists(multi, out), "as another one has", &mut |body| {
        put_packed(body, columns, first, 2);
    });
    assert_found(lists(multi, out), "out of range", &mut |body| {
        put_packed(body, columns, first, 4_000_000);
    });
    let states = key(Kind::States, 0, 0, 0);
    assert_found(states, "5 has edges and does not exist", &mut |body| {
        put_packed(body, 0, (1024, 5), 0);
    });
    assert_found(states, "label set that does not exist", &mut |body| {
        put_packed(body, 0, (1024, 5), 77);
    });
}
