//! A graph larger than the memory of the process that uses it: made by a rule, so that every list
//! can be checked without being kept.

use std::collections::BTreeSet;

use telar_engine::{BulkOptions, EdgeTypeOptions, Engine, Error};
use telar_graph::{Direction, Topology, Value, VertexId};

use crate::Rng;

/// Vertices of the graph.
const VERTICES: u32 = 1 << 17;
/// Out edges of each vertex, before those that are there twice count once.
const DEGREE: u32 = 24;
/// Transactions of one round of changes, and rounds.
const CHANGES: usize = 400;
const ROUNDS: usize = 3;

fn neighbour(v: u32, i: u32) -> u32 {
    let x = (u64::from(v) << 32 | u64::from(i)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((x ^ x >> 29).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 40) as u32 % VERTICES
}

/// Loads the graph into an empty database.
///
/// # Errors
/// The engine's.
pub fn make(db: &Engine) -> Result<(), Error> {
    let mut load = db.bulk_load(BulkOptions::default())?;
    load.add_vertices(&[], VERTICES as usize, &[])?;
    let ty = load.edge_type("LINK", EdgeTypeOptions::simple())?;
    let ends = |v| (0..DEGREE).map(move |i| (v, neighbour(v, i)));
    load.add_edges(ty, (0..VERTICES).flat_map(ends).collect(), Vec::new())?;
    load.finish(&|_, _, _| ())?;
    db.property_key("stamp").map(drop)
}

/// What was added to the graph: edges, and the vertices with a stamp.
#[derive(Default)]
struct Added {
    edges: BTreeSet<(u32, u32)>,
    stamps: BTreeSet<u32>,
}

fn verify(db: &Engine, added: &Added) -> Result<(), String> {
    let ty = db.find_edge_type("LINK").ok_or("the edge type is missing")?;
    let stamp = db.find_property_key("stamp").ok_or("the property key is missing")?;
    let (mut out, mut inward) = (0u64, 0u64);
    let mut wanted = Vec::new();
    for first in (0..VERTICES).step_by(1 << 13) {
        let reader = db.reader().map_err(|e| e.to_string())?;
        let lists = reader.adjacency(ty, Direction::Out).map_err(|e| e.to_string())?;
        let mut scratch = Vec::new();
        for v in first..first + (1 << 13) {
            wanted.clear();
            wanted.extend((0..DEGREE).map(|i| neighbour(v, i)));
            wanted.extend(added.edges.range((v, 0)..=(v, u32::MAX)).map(|(_, to)| *to));
            wanted.sort_unstable();
            wanted.dedup();
            if lists.sorted(v, &mut scratch) != wanted {
                return Err(format!("the neighbours of vertex {v} are wrong"));
            }
            out += wanted.len() as u64;
        }
        let lists = reader.adjacency(ty, Direction::In).map_err(|e| e.to_string())?;
        inward += (first..first + (1 << 13)).map(|v| u64::from(lists.degree(v))).sum::<u64>();
        for v in added.stamps.range(first..first + (1 << 13)) {
            let value = reader.vertex_property(VertexId::from_raw((*v).into()), stamp);
            if value != Value::Int((*v).into()) {
                return Err(format!("vertex {v} has the stamp {value:?}"));
            }
        }
    }
    if out != inward {
        return Err(format!("{out} edges lead out, {inward} in"));
    }
    db.error().map_or(Ok(()), |e| Err(e.to_string()))
}

/// Reads and changes all over the graph, and checks it before, between and after.
///
/// # Errors
/// What is wrong.
pub fn use_all(db: &Engine) -> Result<(), String> {
    let ty = db.find_edge_type("LINK").ok_or("the edge type is missing")?;
    let stamp = db.find_property_key("stamp").ok_or("the property key is missing")?;
    let (mut added, mut rng) = (Added::default(), Rng::new(11));
    verify(db, &added)?;
    for _ in 0..ROUNDS {
        for _ in 0..CHANGES {
            let [from, to] = [(); 2].map(|()| rng.below(VERTICES.into()) as u32);
            let id = |v: u32| VertexId::from_raw(v.into());
            let change = |txn: &mut telar_engine::Transaction<'_>| {
                txn.set_vertex_property(id(from), stamp, Value::Int(from.into()))?;
                txn.upsert_edge(ty, id(from), id(to))
            };
            db.write(Default::default(), change).map_err(|e: Error| e.to_string())?;
            added.edges.insert((from, to));
            added.stamps.insert(from);
        }
        verify(db, &added)?;
    }
    Ok(())
}
