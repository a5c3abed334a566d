//! The place of each vertex in the new order.

use std::ops::Range;

use telar_algo::control::Control;
use telar_algo::csr::{Csr, Piece};
use telar_engine::Reader;
use telar_graph::{Direction, VertexId, View};

use super::{Names, ReorderError, ReorderOptions};
use crate::import::ImportStage;

/// Vertices that are read at once.
const PIECE: usize = 1 << 12;

/// No place: there is no such vertex.
const NONE: u32 = u32::MAX;

/// Vertices by place, and places by id.
pub(super) struct Numbering {
    /// The vertex of each place.
    pub(super) vertices: Vec<VertexId>,
    places: Vec<u32>,
}

impl Numbering {
    /// Computes the order over edges of all types.
    pub(super) fn new(
        reader: &Reader<'_>,
        names: &Names,
        options: &ReorderOptions,
        step: &dyn Fn(ImportStage, u64, u64),
    ) -> Result<Self, ReorderError> {
        let mut vertices = Vec::new();
        for ids in reader.partitions().all(PIECE as u64) {
            reader.scan(None, ids.start, ids.end, &mut vertices)?;
        }
        let mut places = vec![NONE; reader.vertex_bound().get() as usize];
        (0..).zip(&vertices).for_each(|(number, v)| places[v.get() as usize] = number);
        let mut numbering = Self { vertices, places };
        let total = numbering.vertices.len() as u64;
        step(ImportStage::Ordering, 0, total);
        let graph = numbering.lists(reader, names, options.method.takes_directed())?;
        let order = options.method.order(&graph, options.seed, &Control::default())?;
        drop(graph);
        step(ImportStage::Ordering, total, total);
        let old = std::mem::take(&mut numbering.vertices);
        numbering.vertices = vec![VertexId::from_raw(0); old.len()];
        for (v, place) in old.into_iter().zip(order) {
            numbering.places[v.get() as usize] = place;
            numbering.vertices[place as usize] = v;
        }
        Ok(numbering)
    }

    /// The place of a vertex that exists.
    pub(super) fn place(&self, v: VertexId) -> u32 {
        self.places[v.get() as usize]
    }

    /// Vertices of all places, in pieces, with the place of the first.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (Range<u32>, &[VertexId])> {
        (0..)
            .step_by(PIECE)
            .zip(self.vertices.chunks(PIECE))
            .map(|(first, vertices)| (first..first + vertices.len() as u32, vertices))
    }

    /// Lists of all types together, in both directions unless `directed`.
    fn lists(
        &self,
        reader: &Reader<'_>,
        names: &Names,
        directed: bool,
    ) -> Result<Csr, ReorderError> {
        let directions =
            if directed { &[Direction::Out][..] } else { &[Direction::Out, Direction::In] };
        let mut lists = vec![Vec::new(); PIECE];
        let mut pieces = Vec::new();
        for (_, vertices) in self.pieces() {
            lists.iter_mut().for_each(Vec::clear);
            for (ty, ..) in &names.types {
                for direction in directions {
                    View::for_each_run(reader, vertices, *ty, *direction, &mut |place, run| {
                        lists[place].extend(run.ids().map(|v| self.place(v)));
                    })?;
                }
            }
            let mut piece = Piece::new();
            lists.iter().take(vertices.len()).for_each(|list| piece.push(list, &[]));
            pieces.push(piece);
        }
        Ok(Csr::join(pieces))
    }
}
