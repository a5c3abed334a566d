//! Depth-first search for the cycles through one root.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{Cycles, Most, Settings, TimeOrder};
use crate::control::{Control, Result};
use crate::csr::Csr;
use crate::paths::path::{NONE, Pace};

/// Cycles of one task between two looks at the limit.
const LOOK: u64 = 1 << 10;

/// Cycles of one task, and the limit.
pub(super) struct Sink<'a> {
    pub(super) task: usize,
    /// Cycles of each task of the batch so far.
    pub(super) counts: &'a [AtomicU64],
    pub(super) limit: u64,
    pub(super) most: Most,
    pub(super) found: Cycles,
}

impl Sink<'_> {
    /// True if no more cycles of this task are kept, whatever comes.
    fn is_full(&self) -> bool {
        let before = self.counts[..self.task].iter().map(|count| count.load(Relaxed)).sum::<u64>();
        self.found.len() as u64 > self.limit || before > self.limit
    }
}

/// Memory of one thread. All of it is zero, false or empty between two roots.
pub(super) struct Scratch {
    /// Hops to the root, 0 if not known.
    back: Vec<u8>,
    on_path: Vec<bool>,
    /// Vertices with `back` set.
    near: Vec<u32>,
    path: Vec<Step>,
    frames: Vec<Frame>,
}

impl Scratch {
    pub(super) fn new(n: usize) -> Self {
        Self {
            back: vec![0; n],
            on_path: vec![false; n],
            near: Vec::new(),
            path: Vec::new(),
            frames: Vec::new(),
        }
    }
}

/// An edge of the path, and what holds up to it.
#[derive(Clone, Copy)]
struct Step {
    from: u32,
    edge: u64,
    earliest: f64,
    latest: f64,
    /// Place of the edge that broke the conditions, or [`NONE`].
    broken: u32,
}

/// Edges of a vertex that are left to try, as places in the order by time or of the graph.
struct Frame {
    v: u32,
    places: Range<usize>,
}

pub(super) struct Search<'a, 'b> {
    pub(super) graph: &'a Csr,
    pub(super) incoming: &'a Csr,
    pub(super) settings: &'a Settings<'a>,
    /// Empty without times.
    pub(super) by_time: Vec<u32>,
    /// `None` if all vertices are roots.
    pub(super) is_root: Option<Vec<bool>>,
    pub(super) control: &'a Control<'b>,
}

impl Search<'_, '_> {
    /// True unless `v` was a root before `root`.
    #[inline]
    fn is_open(&self, v: u32, root: u32) -> bool {
        v > root || self.is_root.as_ref().is_some_and(|is_root| !is_root[v as usize])
    }

    fn time(&self, edge: u64) -> f64 {
        self.settings.times.map_or(0.0, |times| times[edge as usize])
    }

    /// True if times may go from `a` to `b`.
    fn in_order(&self, a: f64, b: f64) -> bool {
        match self.settings.order {
            TimeOrder::Any => true,
            TimeOrder::Ascending => a < b,
            TimeOrder::NotDescending => a <= b,
        }
    }

    /// True if edge `b` may follow `a`.
    fn follows(&self, a: u64, b: u64) -> bool {
        let amounts = self.settings.amounts.zip(self.settings.amount_ratio.as_ref());
        self.in_order(self.time(a), self.time(b))
            && amounts.is_none_or(|(amounts, ratio)| {
                let (a, b) = (amounts[a as usize], amounts[b as usize]);
                ratio.start() * a <= b && b <= ratio.end() * a
            })
    }

    /// Reports all cycles through `root` over open vertices.
    pub(super) fn from(&self, root: u32, scratch: &mut Scratch, sink: &mut Sink<'_>) -> Result<()> {
        if self.graph.of(root).is_empty() || self.incoming.of(root).is_empty() || sink.is_full() {
            return Ok(());
        }
        let mut pace = Pace::new(self.control);
        let depth = (self.settings.max_length / 2).min(254) as u8;
        let all_found = self.find_near(root, depth, scratch, &mut pace)?;
        scratch.frames.push(self.frame(root, root, &[]));
        while let Some(frame) = scratch.frames.last_mut() {
            let Some(place) = frame.places.next() else {
                scratch.on_path[frame.v as usize] = false;
                scratch.frames.pop();
                scratch.path.pop();
                continue;
            };
            pace.spend(0)?;
            let from = frame.v;
            let first = self.graph.first_edge(from);
            let edge = self.by_time.get(place).map_or(place as u64, |&at| first + u64::from(at));
            let to = self.graph.of(from)[(edge - first) as usize];
            if to != root && (!self.is_open(to, root) || scratch.on_path[to as usize]) {
                continue;
            }
            let Some(step) = self.step(from, edge, &scratch.path) else { continue };
            let length = scratch.path.len() as u32 + 1;
            if to == root {
                if length >= self.settings.min_length {
                    scratch.path.push(step);
                    self.close(&scratch.path, sink);
                    scratch.path.pop();
                    if sink.found.limited {
                        break;
                    }
                }
                continue;
            }
            let left = self.settings.max_length - length;
            let hops = u32::from(scratch.back[to as usize]);
            let known = all_found || left <= u32::from(depth);
            if left == 0 || hops > left || (hops == 0 && known) {
                continue;
            }
            scratch.on_path[to as usize] = true;
            scratch.path.push(step);
            let frame = self.frame(to, root, &scratch.path);
            scratch.frames.push(frame);
        }
        for frame in scratch.frames.drain(..) {
            scratch.on_path[frame.v as usize] = false;
        }
        scratch.path.clear();
        scratch.near.drain(..).for_each(|v| scratch.back[v as usize] = 0);
        Ok(())
    }

    /// Marks open vertices at most `depth` hops before the root; true if no others lead there.
    fn find_near(
        &self,
        root: u32,
        depth: u8,
        scratch: &mut Scratch,
        pace: &mut Pace<'_, '_>,
    ) -> Result<bool> {
        let mut level = 0..0;
        for hops in 1..=depth {
            let end = scratch.near.len();
            for at in level.start..level.end.max(usize::from(hops == 1)) {
                let v = if hops == 1 { root } else { scratch.near[at] };
                pace.spend(self.incoming.of(v).len())?;
                for &u in self.incoming.of(v) {
                    let back = &mut scratch.back[u as usize];
                    if u != root && *back == 0 && self.is_open(u, root) {
                        *back = hops;
                        scratch.near.push(u);
                    }
                }
            }
            level = end..scratch.near.len();
            if level.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The path with one more edge, unless it breaks the conditions for good.
    fn step(&self, from: u32, edge: u64, path: &[Step]) -> Option<Step> {
        let time = self.time(edge);
        let (Some(first), Some(last)) = (path.first(), path.last()) else {
            return Some(Step { from, edge, earliest: time, latest: time, broken: NONE });
        };
        let (earliest, latest) = (last.earliest.min(time), last.latest.max(time));
        if self.settings.window.is_some_and(|window| latest - earliest > window) {
            return None;
        }
        let mut broken = last.broken;
        if !self.follows(last.edge, edge) {
            if broken != NONE {
                return None;
            }
            broken = path.len() as u32;
        }
        // After the break times must lead up to the edge of the root again.
        if broken != NONE && !self.in_order(time, self.time(first.edge)) {
            return None;
        }
        Some(Step { from, edge, earliest, latest, broken })
    }

    /// Edges of `v` whose times do not rule them out after `path`.
    fn frame(&self, v: u32, root: u32, path: &[Step]) -> Frame {
        let first = self.graph.first_edge(v) as usize;
        let mut places = first..first + self.graph.of(v).len();
        if self.by_time.is_empty() && self.is_root.is_none() {
            // Smaller vertices were roots before.
            places.start += self.graph.of(v).partition_point(|&to| to < root);
        }
        if let (Some(begin), Some(last)) = (path.first(), path.last())
            && !self.by_time.is_empty()
        {
            let list = &self.by_time[places.clone()];
            let time = |place: &u32| self.time((first + *place as usize) as u64);
            let (mut low, mut high) = (0, list.len());
            if let Some(window) = self.settings.window {
                low = list.partition_point(|place| last.latest - time(place) > window);
                high = list.partition_point(|place| time(place) - last.earliest <= window);
            }
            if last.broken != NONE && self.settings.order != TimeOrder::Any {
                let (least, most) = (self.time(last.edge), self.time(begin.edge));
                low = low.max(list.partition_point(|place| time(place) < least));
                high = high.min(list.partition_point(|place| time(place) <= most));
            }
            places = first + low..first + high.max(low);
        }
        Frame { v, places }
    }

    /// Reports the closed path, if its last edge may be followed by its first.
    fn close(&self, path: &[Step], sink: &mut Sink<'_>) {
        let (Some(first), Some(last)) = (path.first(), path.last()) else { return };
        let start = match (self.follows(last.edge, first.edge), last.broken) {
            (true, NONE) => {
                let least = path.iter().enumerate().min_by_key(|step| step.1.from);
                least.map_or(0, |step| step.0)
            }
            (true, broken) => broken as usize,
            (false, NONE) => 0,
            (false, _) => return,
        };
        let steps = || path[start..].iter().chain(&path[..start]);
        let (vertices, edges) = (steps().map(|step| step.from), steps().map(|step| step.edge));
        sink.found.push(path.len(), vertices, edges, sink.most);
        let count = sink.counts[sink.task].fetch_add(1, Relaxed) + 1;
        if count > sink.limit || (count.is_multiple_of(LOOK) && sink.is_full()) {
            sink.found.limited = true;
        }
    }
}
