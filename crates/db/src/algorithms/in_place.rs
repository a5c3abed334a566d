//! Lists of a statement's snapshot as kernels read them: in place, through the waist.
//!
//! Only where vertices are numbered as storage does and one type in one direction is all that was
//! chosen; everything else is packed first (`projection`).
//!
//! A kernel cannot fail in the middle of a list: an error is kept, lists come out empty from then
//! on, and who started the kernel asks for it afterwards.

use std::ops::Range;
use std::sync::OnceLock;

use parking_lot::Mutex;
use telar_graph::{Direction, EdgeTypeId, Graph, ReadError, Run, Topology, VertexId};
use telar_query::{QueryError, SharedSnapshot};

/// Vertices whose degrees are asked for at once.
const DEGREES: u32 = 4096;

/// Lists of one type in one direction.
pub(super) struct InPlace<'a> {
    snapshot: &'a dyn SharedSnapshot,
    ty: EdgeTypeId,
    direction: Direction,
    vertices: u32,
    degrees: OnceLock<Vec<u32>>,
    failed: Mutex<Option<QueryError>>,
}

impl<'a> InPlace<'a> {
    /// Lists of the vertices below `vertices`.
    pub(super) fn new(
        snapshot: &'a dyn SharedSnapshot,
        ty: EdgeTypeId,
        direction: Direction,
        vertices: u32,
    ) -> Self {
        let degrees = OnceLock::new();
        Self { snapshot, ty, direction, vertices, degrees, failed: Mutex::new(None) }
    }

    /// The same lists the other way round.
    pub(super) fn reversed(&self) -> Self {
        Self::new(self.snapshot, self.ty, self.direction.reverse(), self.vertices)
    }

    /// The first error of a read.
    pub(super) fn finish(self) -> Result<(), QueryError> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn read(&self, mut work: impl FnMut(&dyn Graph) -> Result<(), ReadError>) {
        self.snapshot.read(&mut |graph| {
            if let Err(error) = work(graph) {
                self.failed.lock().get_or_insert_with(|| error.into());
            }
        });
    }

    fn runs(&self, sources: &[VertexId], mut each: impl FnMut(usize, &[u32])) {
        let mut narrowed = Vec::new();
        self.read(|graph| {
            graph.for_each_run(sources, self.ty, self.direction, &mut |place, run| {
                each(place, run.narrow(&mut narrowed));
            })
        });
    }

    /// Degrees of all vertices, which are read at the first call: 4 bytes each.
    pub(super) fn degrees(&self) -> &[u32] {
        self.degrees.get_or_init(|| self.read_degrees())
    }

    fn read_degrees(&self) -> Vec<u32> {
        let mut degrees = Vec::with_capacity(self.vertices as usize);
        let mut some = Vec::new();
        for first in (0..self.vertices).step_by(DEGREES as usize) {
            let sources = ids(first..self.vertices.min(first.saturating_add(DEGREES)));
            some.clear();
            self.read(|graph| graph.degrees(&sources, self.ty, self.direction, &mut some));
            some.resize(sources.len(), 0);
            degrees.extend(some.iter().map(|degree| *degree as u32));
        }
        degrees
    }
}

fn ids(vertices: Range<u32>) -> Vec<VertexId> {
    vertices.map(|v| VertexId::from_raw(v.into())).collect()
}

impl Topology for InPlace<'_> {
    fn vertex_bound(&self) -> u32 {
        self.vertices
    }

    fn degree(&self, v: u32) -> u32 {
        self.degrees()[v as usize]
    }

    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        self.runs(&[VertexId::from_raw(v.into())], |_, run| f(run));
    }

    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        let mut narrowed = Vec::new();
        let vertices = u64::from(vertices.start)..u64::from(vertices.end);
        self.read(|graph| {
            let each = &mut |v: u64, run: Run<'_>| f(v as u32, run.narrow(&mut narrowed));
            graph.for_each_run_of(vertices.clone(), self.ty, self.direction, each)
        });
    }

    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        let sources: Vec<VertexId> =
            vertices.iter().map(|v| VertexId::from_raw((*v).into())).collect();
        self.runs(&sources, |place, run| f(vertices[place], run));
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        let (u, v) = (VertexId::from_raw(u.into()), VertexId::from_raw(v.into()));
        let ends = if self.direction == Direction::Out { (u, v) } else { (v, u) };
        let mut found = Vec::with_capacity(1);
        self.read(|graph| graph.search_edges(&[ends], self.ty, &mut found));
        found.first() == Some(&true)
    }

    fn prefetch(&self, _: u32) {}
}
