//! Reads of many vertices at once are what reads one by one are, in any state of a segment.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use proptest::prelude::*;
use telar_engine::{EdgeTypeOptions, Engine, Reader, Retention};
use telar_graph::{Column, EdgeId, LabelId, PropertyKeyId, Value, VertexId, View};

use common::no_background;

/// Vertices of a run: four segments, the last one not full.
const VERTICES: u64 = 3 * 1024 + 100;

#[derive(Debug, Clone)]
enum Op {
    Int(u64, i64),
    Text(u64),
    Clear(u64),
    Label(u64),
    Delete(u64),
    /// Every so many vertices in one commit.
    All(u64),
    Settle,
    Keep,
}

fn op() -> impl Strategy<Value = Op> {
    let vertex = || 0..VERTICES;
    prop_oneof![
        4 => (vertex(), -5i64..5).prop_map(|(v, n)| Op::Int(v, n)),
        1 => vertex().prop_map(Op::Text),
        1 => vertex().prop_map(Op::Clear),
        2 => vertex().prop_map(Op::Label),
        2 => vertex().prop_map(Op::Delete),
        1 => (1u64..4).prop_map(Op::All),
        2 => Just(Op::Settle),
        2 => Just(Op::Keep),
    ]
}

struct Names {
    labels: [LabelId; 2],
    key: PropertyKeyId,
}

/// Compares both ways of reading, for vertices in order, in disorder and few of them.
fn compare(reader: &Reader<'_>, names: &Names, few: &[u64]) {
    let key = names.key;
    let ordered: Vec<u64> = (0..VERTICES + 2000).collect();
    let mixed: Vec<u64> = ordered.iter().map(|n| n * 1237 % (VERTICES + 2000)).collect();
    let ints: Vec<u64> = ordered
        .iter()
        .copied()
        .filter(|n| matches!(reader.vertex_property(VertexId::from_raw(*n), key), Value::Int(_)))
        .collect();
    let texts: Vec<u64> = ordered
        .iter()
        .copied()
        .filter(|n| !matches!(reader.vertex_property(VertexId::from_raw(*n), key), Value::Int(_)))
        .collect();
    let there = &ordered[..VERTICES as usize];
    for numbers in [&ordered[..], there, &mixed, few, &ints, &texts, &[u64::MAX, 1 << 40]] {
        let vertices: Vec<_> = numbers.iter().map(|n| VertexId::from_raw(*n)).collect();
        let expected: Vec<Value> =
            vertices.iter().map(|v| reader.vertex_property(*v, key)).collect();
        let mut found = Column::default();
        reader.vertex_properties(&vertices, key, &mut found).unwrap();
        // Of their type if they have one, as a column that is made of the values.
        let typed = Column::of(expected.clone());
        assert_eq!(format!("{found:?}"), format!("{typed:?}"));
        let mut found = Column::from(vec![true]);
        reader.vertex_properties(&vertices, key, &mut found).unwrap();
        assert_eq!(found.into_values()[1..], expected);
        for label in names.labels {
            let mut found = vec![true];
            reader.have_label(&vertices, label, &mut found).unwrap();
            let expected = vertices
                .iter()
                .map(|v| reader.labels(*v).is_some_and(|labels| labels.contains(&label)));
            assert_eq!(found[1..], expected.collect::<Vec<_>>());
        }
    }
    for label in [None, Some(names.labels[0]), Some(names.labels[1])] {
        for (from, to) in [(0, VERTICES + 9), (1000, 1100), (2048, 3072), (5, 5), (3100, 9999)] {
            let vertex = VertexId::from_raw;
            let mut found = Vec::new();
            reader.scan(label, vertex(from), vertex(to), &mut found).unwrap();
            let expected = (from..to).map(vertex).filter(|v| {
                let labels = reader.labels(*v);
                labels.is_some_and(|all| label.is_none_or(|label| all.contains(&label)))
            });
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn batched_reads_are_single_reads(
        ops in proptest::collection::vec(op(), 1..60),
        few in proptest::collection::vec(0..VERTICES, 0..9),
    ) {
        let mut settings = no_background();
        settings.retain = Retention::commits(20);
        let db = Engine::in_memory(settings).unwrap();
        let labels = ["A", "B"].map(|name| db.label(name).unwrap());
        let names = Names { labels, key: db.property_key("p").unwrap() };
        let other = db.property_key("other").unwrap();
        let mut txn = db.begin().unwrap();
        for n in 0..VERTICES {
            let v = txn.create_vertex(&labels[..1]).unwrap();
            // One segment without the property, one with values of another type.
            match n / 1024 {
                1 => {}
                3 => txn.set_vertex_property(v, names.key, format!("t{n}").as_str().into()).unwrap(),
                _ => txn.set_vertex_property(v, names.key, Value::Int(n as i64)).unwrap(),
            }
        }
        txn.commit().unwrap();
        let mut kept = Vec::new();
        let mut times = vec![db.published()];
        for op in ops {
            let vertex = VertexId::from_raw;
            let mut txn = db.begin().unwrap();
            // What is gone already is refused: nothing changes then.
            let _ = match op {
                Op::Int(v, n) => txn.set_vertex_property(vertex(v), names.key, Value::Int(n)),
                Op::Text(v) => txn.set_vertex_property(vertex(v), names.key, "text".into()),
                Op::Clear(v) => txn.set_vertex_property(vertex(v), names.key, Value::Null),
                Op::Label(v) => txn.add_label(vertex(v), labels[1]).map(drop),
                Op::Delete(v) => txn.delete_vertex(vertex(v), true),
                Op::All(step) => {
                    for v in (0..VERTICES).step_by(step as usize).map(vertex) {
                        let value = if step == 2 { Value::Null } else { Value::Int(-9) };
                        // Those that are gone refuse it.
                        let _ = txn.set_vertex_property(v, names.key, value);
                        let _ = txn.set_vertex_property(v, other, Value::Int(1));
                        let _ = txn.add_label(v, labels[1]);
                    }
                    Ok(())
                }
                Op::Settle => {
                    db.settle();
                    Ok(())
                }
                Op::Keep => {
                    kept.push(db.snapshot().unwrap());
                    Ok(())
                }
            };
            txn.commit().unwrap();
            times.push(db.published());
        }
        kept.push(db.snapshot().unwrap());
        for ts in times.iter().rev().take(12).step_by(5) {
            kept.push(db.snapshot_at(*ts).unwrap());
        }
        for snapshot in &kept {
            compare(&snapshot.reader(), &names, &few);
        }
    }
    #[test]
    fn batched_reads_of_edges_are_single_reads(
        ops in proptest::collection::vec((0..3000usize, -3i64..9, 0..9u8), 1..60),
        few in proptest::collection::vec(0..3000usize, 0..9),
    ) {
        let mut settings = no_background();
        settings.retain = Retention::commits(20);
        let db = Engine::in_memory(settings).unwrap();
        let key = db.property_key("p").unwrap();
        let types = ["A", "B", "C"]
            .map(|name| db.edge_type(name, EdgeTypeOptions::general()).unwrap());
        let mut txn = db.begin().unwrap();
        let ends = [0, 1].map(|_| txn.create_vertex(&[]).unwrap());
        // Two types have the property, of the third nobody has it.
        let edges: Vec<EdgeId> = (0..3000)
            .map(|n| {
                let ty = types[usize::from(n % 7 == 0) + usize::from(n % 21 == 0)];
                let int: &[_] = if ty == types[2] { &[] } else { &[(key, Value::Int(n))] };
                txn.create_edge(ty, ends[0], ends[1], int).unwrap()
            })
            .collect();
        txn.commit().unwrap();
        let mut kept = vec![db.snapshot().unwrap()];
        for (at, int, what) in ops {
            let mut txn = db.begin().unwrap();
            match what {
                0 => db.settle(),
                1 => kept.push(db.snapshot().unwrap()),
                2 => txn.set_edge_property(edges[at], key, Value::Null).unwrap(),
                3 => txn.set_edge_property(edges[at], key, "text".into()).unwrap(),
                _ => txn.set_edge_property(edges[at], key, Value::Int(int)).unwrap(),
            }
            txn.commit().unwrap();
        }
        kept.push(db.snapshot().unwrap());
        for snapshot in &kept {
            let reader = snapshot.reader();
            let one = |edge: &EdgeId| reader.edge_property(*edge, key);
            let is_int = |edge: &EdgeId| matches!(one(edge), Value::Int(_));
            let ints: Vec<EdgeId> = edges.iter().copied().filter(is_int).collect();
            let few: Vec<EdgeId> = few.iter().map(|at| edges[*at]).collect();
            let scattered: Vec<EdgeId> =
                (0..ints.len()).map(|n| ints[n * 1237 % ints.len()]).collect();
            for some in [&edges, &ints, &few, &scattered] {
                let mut found = Column::default();
                reader.edge_properties(some, key, &mut found).unwrap();
                let want = Column::of(some.iter().map(one).collect());
                assert_eq!(format!("{found:?}"), format!("{want:?}"));
            }
        }
    }
}
