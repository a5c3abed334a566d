//! Lists of a full-text index: as they are expected, whichever way they are read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use telar_graph::update::IndexedObjects;
use telar_graph::view::FulltextPostings;
use telar_graph::{
    EdgeId, FulltextSettings, IndexId, IndexKind, IndexOptions, IndexSettings, PropertyKeyId,
    Update, Value, VertexId, View,
};
use telar_text::key;

use super::{GATHERED_MAX, STEP, key_range};
use crate::catalog::EdgeTypeOptions;
use crate::{Engine, Settings, Snapshot};

/// Terms of which one is in every document, one in some of them, and one too long for the head of a
/// key.
const TERMS: [&str; 3] = ["all", "some", "incomprehensibilities"];

/// Occurrences of each term in a document.
type Counts = [u32; 3];

fn text(counts: Counts) -> Value {
    let words = TERMS.iter().zip(counts).flat_map(|(term, n)| (0..n).map(move |_| *term));
    Value::from(words.collect::<Vec<_>>().join(" ").as_str())
}

fn counts(i: usize) -> Counts {
    [1 + (i % 3) as u32, u32::from(i.is_multiple_of(4)), u32::from(i % 5 == 2)]
}

fn make(db: &Engine, name: &str, objects: IndexedObjects, key: PropertyKeyId) -> IndexId {
    let settings = FulltextSettings { analyzer: "simple".to_owned(), eventually_consistent: false };
    let options = IndexOptions {
        settings: IndexSettings::Fulltext(settings),
        of: name.to_owned(),
        part: 0,
        except: Vec::new(),
    };
    let mut txn = db.begin().unwrap();
    txn.create_rule(name, objects, &[key], IndexKind::Fulltext.into(), Some(&options)).unwrap();
    txn.commit().unwrap();
    db.indexes().into_iter().find(|info| info.name == name).unwrap().id
}

/// Documents of a moment.
#[derive(Debug, Clone, Default)]
struct Documents {
    vertices: BTreeMap<VertexId, Counts>,
    edges: BTreeMap<EdgeId, Counts>,
}

fn beginning(term: &str) -> Vec<u8> {
    [&[1], term.as_bytes()].concat()
}

fn frequencies<D: Copy + Ord>(documents: &BTreeMap<D, Counts>, term: usize) -> Vec<(D, u32)> {
    let of = documents.iter().map(|(object, counts)| (*object, counts[term]));
    of.filter(|(_, frequency)| *frequency > 0).collect()
}

/// Compares lists with what is expected of a snapshot.
fn compare(snapshot: &Snapshot<'_>, [vertices, edges]: [IndexId; 2], expected: &Documents) {
    let reader = snapshot.reader();
    for (number, term) in TERMS.iter().enumerate() {
        let wanted = frequencies(&expected.vertices, number);
        let list = |index: IndexId| {
            let mut go_on = || ControlFlow::Continue(());
            snapshot.fulltext_postings(index, &beginning(term), &mut go_on).unwrap()
        };
        match list(vertices) {
            FulltextPostings::Vertices(list) => {
                let found: Vec<_> = list
                    .iter()
                    .map(|(v, impact)| (crate::adjacency::vertex_id(v), impact.frequency))
                    .collect();
                assert_eq!(found, wanted, "{term}");
            }
            FulltextPostings::Edges(_) => panic!("vertices have no edges' lists"),
        }
        match list(edges) {
            FulltextPostings::Edges(list) => {
                let found: Vec<_> = list.iter().map(|(e, impact)| (e, impact.frequency)).collect();
                assert_eq!(found, frequencies(&expected.edges, number), "{term}");
            }
            FulltextPostings::Vertices(_) => panic!("edges have no vertices' lists"),
        }
        // The ways that a list is read, whatever is kept of it.
        let (from, to) = key::postings(&beginning(term));
        let range = key_range(&(&from[..]..&to[..]));
        let index = reader.fulltext(vertices).unwrap();
        let mut ways = [Vec::new(), Vec::new()];
        let mut go_on = || ControlFlow::Continue(());
        let [ordered, by_object] = &mut ways;
        let give = &mut |[v]: [u32; 1], impact| ordered.push((v, impact));
        assert!(reader.in_order(index, &range, &mut go_on, give).unwrap().is_continue());
        let give = &mut |[v]: [u32; 1], impact| by_object.push((v, impact));
        assert!(reader.by_object(index, &range, &mut go_on, give).unwrap().is_continue());
        ways.iter_mut().for_each(|way| way.sort_unstable());
        let [ordered, by_object] = ways;
        assert_eq!(ordered, by_object, "{term}");
        assert_eq!(ordered.len(), wanted.len(), "{term}");
    }
}

#[test]
fn lists_are_what_a_snapshot_has_whichever_way_they_are_read() {
    const COUNT: usize = 3 * GATHERED_MAX + 7;
    let settings = Settings { background_interval_ms: 0, ..Settings::default() };
    let db = Engine::in_memory(settings).unwrap();
    let label = db.label("D").unwrap();
    let ty = db.edge_type("T", EdgeTypeOptions::general()).unwrap();
    let key = db.property_key("t").unwrap();
    let indexes = [
        make(&db, "v", IndexedObjects::Vertices(label), key),
        make(&db, "e", IndexedObjects::Edges(ty), key),
    ];
    let mut first = Documents::default();
    compare(&db.snapshot().unwrap(), indexes, &first);
    let mut txn = db.begin().unwrap();
    for i in 0..COUNT {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, key, text(counts(i))).unwrap();
        first.vertices.insert(v, counts(i));
        // Ordinals and ends in another order than the vertices.
        let other = first.vertices.keys().nth(i * 7 % (i + 1)).copied().unwrap();
        let e = txn.create_edge(ty, other, v, &[]).unwrap();
        txn.set_edge_property(e, key, text(counts(i + 1))).unwrap();
        first.edges.insert(e, counts(i + 1));
    }
    txn.commit().unwrap();
    let before = db.snapshot().unwrap();

    let mut second = first.clone();
    let mut txn = db.begin().unwrap();
    for (i, v) in first.vertices.keys().copied().enumerate() {
        match i % 6 {
            1 => {
                txn.set_vertex_property(v, key, text(counts(i + 3))).unwrap();
                second.vertices.insert(v, counts(i + 3));
            }
            2 => {
                txn.remove_label(v, label).unwrap();
                second.vertices.remove(&v);
            }
            3 => {
                txn.set_vertex_property(v, key, Value::Int(1)).unwrap();
                second.vertices.remove(&v);
            }
            _ => {}
        }
    }
    for (i, e) in first.edges.keys().copied().enumerate() {
        match i % 5 {
            1 => {
                txn.delete_edge(e).unwrap();
                second.edges.remove(&e);
            }
            2 => {
                txn.set_edge_property(e, key, text(counts(i))).unwrap();
                second.edges.insert(e, counts(i));
            }
            _ => {}
        }
    }
    txn.commit().unwrap();
    let after = db.snapshot().unwrap();
    for _ in 0..2 {
        compare(&after, indexes, &second);
        compare(&before, indexes, &first);
        // What no reader wants is dropped, and runs are packed anew.
        db.settle();
    }
    drop(before);
    db.settle();
    compare(&after, indexes, &second);
}

#[test]
fn a_list_that_is_given_up_is_not_kept() {
    let db = Engine::in_memory(Settings::default()).unwrap();
    let label = db.label("D").unwrap();
    let key = db.property_key("t").unwrap();
    let index = make(&db, "v", IndexedObjects::Vertices(label), key);
    let mut txn = db.begin().unwrap();
    for _ in 0..2 * GATHERED_MAX + 1 {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, key, Value::from("all")).unwrap();
    }
    txn.commit().unwrap();
    let snapshot = db.snapshot().unwrap();
    let list = |questions: usize| {
        let mut asked = 0;
        let mut go_on = || {
            asked += 1;
            if asked > questions { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let list = snapshot.fulltext_postings(index, &beginning("all"), &mut go_on).unwrap();
        match list {
            FulltextPostings::Vertices(list) => (list.len(), asked),
            FulltextPostings::Edges(_) => panic!("vertices have no edges' lists"),
        }
    };
    let steps = GATHERED_MAX.div_ceil(STEP);
    assert_eq!(list(0), (0, 1));
    assert_eq!(list(1), (STEP.min(GATHERED_MAX), 2));
    assert_eq!(list(steps), (GATHERED_MAX, steps + 1));
    assert_eq!(list(usize::MAX), (2 * GATHERED_MAX + 1, 2 * steps + 1));
    // It is known now.
    assert_eq!(list(0), (2 * GATHERED_MAX + 1, 0));
}
