//! One key per edge and direction, without value.
//!
//! ```text
//!  ├ 0 ┼ vertex ┤                  vertex
//!  ├ 1 ┼ source ┼ target ┤         out-entry
//!  ├ 2 ┼ target ┼ source ┤         in-entry
//! ```
//!
//! The kind has one byte, the others four, big-endian, so that a list is a range of keys and a
//! direction one of the lists of all vertices.
//! Invariant: an out-entry is there iff its in-entry is.
//! Cost: an insert is a search of the tree per direction; a list one search and a step per
//! neighbour, each of which is copied.

use super::packing::{COPY_NUMBERS, NUMBER_BYTES, Packing, Side, ordered, ordered_at};
use super::store::{Reach, Read, Transaction};
use std::ops::Range;
use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

const VERTEX: u8 = 0;
const EDGE_KEY_BYTES: usize = 1 + 2 * NUMBER_BYTES;

/// One key per edge.
#[derive(Clone, Debug, Default)]
pub struct EdgeKeys;

fn kind(side: Side) -> u8 {
    match side {
        Side::Out => 1,
        Side::In => 2,
    }
}

fn vertex_key(v: u32) -> [u8; 1 + NUMBER_BYTES] {
    let [a, b, c, d] = ordered(v);
    [VERTEX, a, b, c, d]
}

fn edge_key(side: Side, u: u32, v: u32) -> [u8; EDGE_KEY_BYTES] {
    let mut key = [kind(side); EDGE_KEY_BYTES];
    key[1..].copy_from_slice([ordered(u), ordered(v)].as_flattened());
    key
}

/// Neighbours of one vertex on their way to the caller.
struct Run<F> {
    f: F,
    v: u32,
    copy: [u32; COPY_NUMBERS],
    len: usize,
}

impl<F: FnMut(u32, &[u32])> Run<F> {
    fn new(f: F) -> Self {
        Self { f, v: 0, copy: [0; COPY_NUMBERS], len: 0 }
    }

    #[inline]
    fn push(&mut self, v: u32, neighbour: u32) {
        if v != self.v || self.len == COPY_NUMBERS {
            self.flush();
            self.v = v;
        }
        self.copy[self.len] = neighbour;
        self.len += 1;
    }

    fn flush(&mut self) {
        if self.len > 0 {
            (self.f)(self.v, &self.copy[..self.len]);
            self.len = 0;
        }
    }
}

impl Packing for EdgeKeys {
    const NAME: &'static str = "edge keys";
    const PREFIX_BYTES: usize = 1 + NUMBER_BYTES;

    fn add_vertex(&self, txn: &mut impl Transaction, v: u32) {
        txn.put(&vertex_key(v), &[]);
    }

    fn add(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool {
        txn.add(&edge_key(side, u, v))
    }

    fn remove(&self, txn: &mut impl Transaction, side: Side, u: u32, v: u32) -> bool {
        txn.remove(&edge_key(side, u, v))
    }

    fn pairs(&self, out: &Csr, incoming: &Csr, put: &mut dyn FnMut(&[u8], &[u8])) {
        let n = out.vertex_bound();
        for v in 0..n {
            put(&vertex_key(v), &[]);
        }
        for (side, lists) in [(Side::Out, out), (Side::In, incoming)] {
            for u in 0..n {
                for v in lists.list(u) {
                    put(&edge_key(side, u, *v), &[]);
                }
            }
        }
    }

    #[inline]
    fn list(&self, reader: &impl Read, side: Side, u: u32, mut f: impl FnMut(&[u32])) {
        let from = edge_key(side, u, 0);
        let mut run = Run::new(|_, neighbours: &[u32]| f(neighbours));
        reader.walk(&from, Reach::Prefix, |key, _| {
            let ours = key.starts_with(&from[..Self::PREFIX_BYTES]);
            if ours {
                run.push(u, ordered_at(key, Self::PREFIX_BYTES));
            }
            ours
        });
        run.flush();
    }

    fn scan(
        &self,
        reader: &impl Read,
        side: Side,
        vertices: Range<u32>,
        f: impl FnMut(u32, &[u32]),
    ) {
        if vertices.is_empty() {
            return;
        }
        let mut run = Run::new(f);
        reader.walk(&edge_key(side, vertices.start, 0), Reach::All, |key, _| {
            if key[0] != kind(side) {
                return false;
            }
            let v = ordered_at(key, 1);
            if v >= vertices.end {
                return false;
            }
            run.push(v, ordered_at(key, Self::PREFIX_BYTES));
            true
        });
        run.flush();
    }

    fn contains(&self, reader: &impl Read, side: Side, u: u32, v: u32) -> bool {
        reader.get(&edge_key(side, u, v), |value| value.is_some())
    }

    fn degree(&self, reader: &impl Read, side: Side, u: u32) -> u32 {
        let from = edge_key(side, u, 0);
        let mut degree = 0;
        reader.walk(&from, Reach::Prefix, |key, _| {
            let ours = key.starts_with(&from[..Self::PREFIX_BYTES]);
            degree += u32::from(ours);
            ours
        });
        degree
    }
}
