//! Values that fit their checksums and contradict each other: what a bug would leave.

use std::path::Path;
use std::sync::Arc;

use telar_graph::{Value, VertexId};

use super::check;
use crate::catalog::places::{Placed, decode as decode_places, encode as encode_places};
use crate::checkpoint::meta;
use crate::column::chunk::PropertyChunk;
use crate::column::{Chunk, property};
use crate::format::{Kind, key, seal, unseal};
use crate::index::key::{Entry, SortKey};
use crate::index::page::encode_all;
use crate::index::{Definition, Index};
use crate::maintenance::{RepairOptions, repair};
use crate::packed::{get_run, put_run};
use crate::settings::Settings;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::changes::{self, Key};
use crate::store::progress::Totals;
use crate::{
    ConstraintKind, ConstraintSpec, EdgeTypeOptions, Engine, Error, IndexKind, IndexSpec,
    IndexTarget,
};

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
    let indexes: Vec<Arc<Index>> = meta
        .indexes
        .into_iter()
        .map(|(id, definition)| Arc::new(Index::stored(id, definition, 0)))
        .collect();
    meta::encode(&shared, meta.at, &totals, &added, &indexes, &mut value);
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
    let key = db.property_key("k").unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..2000 {
        txn.create_vertex(&[label]).unwrap();
    }
    for v in 0..2000 {
        let id = VertexId::from_raw;
        for to in [(v + 1) % 2000, (v + 1000) % 2000] {
            txn.upsert_edge(simple, id(v), id(to)).unwrap();
            txn.create_edge(multi, id(v), id(to), &[(key, 1.into())]).unwrap();
        }
    }
    txn.commit().unwrap();
    db.close().unwrap();
}

/// Three vertices with edges without ordinals, which got properties; closed.
fn made_with_places(root: &Path) {
    let db = Engine::open(root, Settings::default()).unwrap();
    let ty = db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap();
    let key = db.property_key("k").unwrap();
    let mut txn = db.begin().unwrap();
    for _ in 0..3 {
        txn.create_vertex(&[]).unwrap();
    }
    let id = VertexId::from_raw;
    for (src, dst) in [(0, 1), (0, 2), (1, 2)] {
        let edge = txn.create_edge(ty, id(src), id(dst), &[]).unwrap();
        txn.set_edge_property(edge, key, 1.into()).unwrap();
    }
    txn.create_edge(ty, id(2), id(0), &[(key, 1.into())]).unwrap();
    txn.commit().unwrap();
    db.close().unwrap();
}

#[test]
fn places_that_contradict_others_are_found() {
    let places = key(Kind::Places, 0, 0, 0);
    let placed = |src, dst, place| Placed { src, dst, place };
    let cases = [
        ("is that of another edge", placed(1, 2, 2)),
        ("or an ordinal", placed(1, 2, 4)),
        ("out of range", placed(1, 2, 5)),
        ("out of range", placed(1, 3, 3)),
        ("out of order", placed(0, 2, 3)),
    ];
    for (part, last) in cases {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("graph");
        made_with_places(&root);
        assert_eq!(check(&root).unwrap().worst(), None);
        rewrite(&root, places, &mut |body| {
            let mut all = decode_places(0, body).unwrap();
            assert_eq!(all, [placed(0, 1, 1), placed(0, 2, 2), placed(1, 2, 3)]);
            all[2] = last;
            body.clear();
            encode_places(&all, body);
        });
        let report = check(&root).unwrap();
        let found = report.findings.iter().any(|f| f.what.contains(part));
        assert!(found, "{part}: {:#?}", report.findings);
    }
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

/// Fifty vertices in a ring, with a unique number each, as have the edges; closed. Returns the
/// definitions of the two indexes.
fn made_with_indexes(root: &Path) -> [Definition; 2] {
    let db = Engine::open(root, Settings::default()).unwrap();
    let (label, n) = (db.label("Thing").unwrap(), db.property_key("n").unwrap());
    let ty = db.edge_type("NEXT", EdgeTypeOptions::general()).unwrap();
    let (name, target) = ("things".to_owned(), IndexTarget::Vertices(label));
    let (properties, kind) = (vec![n], ConstraintKind::Unique);
    let unique = ConstraintSpec { name, target, properties: properties.clone(), kind };
    let (name, target) = ("edges".to_owned(), IndexTarget::Edges(ty));
    let range = IndexSpec { name, target, properties };
    db.create_constraint(unique.clone()).unwrap();
    db.create_index(range.clone()).unwrap();
    let mut txn = db.begin().unwrap();
    for number in 0..50 {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, n, Value::Int(number)).unwrap();
    }
    for v in 0..50 {
        let [src, dst] = [v, (v + 1) % 50].map(VertexId::from_raw);
        txn.create_edge(ty, src, dst, &[(n, Value::Int(v as i64))]).unwrap();
    }
    txn.commit().unwrap();
    db.close().unwrap();
    [unique.into(), Definition::of(IndexKind::Range, range)]
}

fn number(n: i64) -> SortKey {
    SortKey::of(&[Value::Int(n)]).unwrap()
}

/// An index that fits its checksums and not the values is found, and repaired.
#[test]
fn indexes_that_contradict_the_values_are_found_and_made_anew() {
    let things = || (0..50).map(|v| (number(v), [v as u32, 0, 0]));
    // Ordinals begin with 1.
    let edges = || (0..50).map(|v| (number(v), [v as u32 + 1, v as u32, (v as u32 + 1) % 50]));
    let mut same = things().collect::<Vec<_>>();
    same[8].0 = number(7);
    let mut bent = edges().collect::<Vec<_>>();
    bent[3].1[2] = 40;
    let cases: [(usize, Vec<Entry<3>>, &[&str]); 5] = [
        (
            0,
            things().filter(|(_, item)| item[0] != 7).collect(),
            &["1 values have no entry: of vertex 7"],
        ),
        (
            0,
            things().chain([(number(99), [7, 0, 0])]).collect(),
            &["1 entries have no such value: of vertex 7"],
        ),
        (
            0,
            same,
            &[
                "2 objects share a key",
                "entries have no such value: of vertex 8",
                "no entry: of vertex 8",
            ],
        ),
        (
            1,
            edges().skip(9).collect(),
            &["9 values have no entry: of the edges with ordinals 1, 2, 3, 4, 5, ..."],
        ),
        (
            1,
            bent,
            &["no entry: of the edge with ordinal 4", "no such value: of the edge with ordinal 4"],
        ),
    ];
    for (index, mut entries, wanted) in cases {
        let dir = tempfile::tempdir().unwrap();
        let (root, to) = (dir.path().join("graph"), dir.path().join("repaired"));
        let definition = &made_with_indexes(&root)[index];
        assert_eq!(check(&root).unwrap().findings, []);
        entries.sort_unstable();
        rewrite(&root, key(Kind::Index, index as u16, 0, 0), &mut |body| {
            *body = encode_all(definition, &entries)[0].1[4..].to_vec();
        });
        let report = check(&root).unwrap();
        for what in wanted {
            let place = format!("index {}", definition.name);
            let found = report.findings.iter().any(|f| f.place == place && f.what.contains(what));
            assert!(found, "{what}: {:#?}", report.findings);
        }
        let done = repair(&root, &to, RepairOptions::default()).unwrap();
        assert!(done.done[0].contains("made anew with 50 entries"), "{:?}", done.done);
        assert_eq!(check(&to).unwrap().findings, []);
    }
}

/// Values that break a unique constraint cannot be indexed: the repair says so.
#[test]
fn a_unique_index_is_not_made_anew_of_values_that_break_it() {
    let dir = tempfile::tempdir().unwrap();
    let (root, to) = (dir.path().join("graph"), dir.path().join("repaired"));
    made_with_indexes(&root);
    rewrite(&root, key(Kind::VertexProperty, 0, 0, 0), &mut |body| {
        let mut values: Box<[Value; 1024]> = Box::new([const { Value::Null }; 1024]);
        (0..50).for_each(|v| values[v] = Value::Int(v.max(1) as i64));
        body.clear();
        property::encode(&PropertyChunk::build(&values), body);
    });
    let report = check(&root).unwrap();
    assert!(report.findings.iter().any(|f| f.what.contains("no entry: of vertex 0")));
    let refused = repair(&root, &to, RepairOptions::default()).unwrap_err();
    assert!(matches!(&refused, Error::NotRepairable { .. }), "{refused}");
    assert!(refused.to_string().contains("share a key of things"), "{refused}");
    assert!(!to.exists());
}
