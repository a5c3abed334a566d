//! Local moving on several threads: the sweeps of Louvain and the queue of Leiden.
//!
//! Method: the nodes of a sweep are cut into batches. The best move of each node of a batch is
//! found in parallel, with the communities as they were before the batch. Then the moves are made
//! one by one, in the order of nodes: the weights to the old and the new community are corrected
//! for neighbours that moved in the same batch, so the gain is known exactly. Nodes whose move
//! gains nothing any more are a batch of their own; what gains nothing then either is replaced by
//! the best move there is at that time. So modularity only grows, as with one move after the
//! other, and the result depends on the batches, which are the same for any number of threads.
//! Neighbours often have numbers that are near, so a batch is made of short blocks far apart. A
//! sweep after the first only looks at neighbours of nodes that moved.
//!
//! Cost: O(degree) per node in parallel; one after the other only O(degree) per node that moves.
//! *Memory*: 37 bytes per node, and 12 per node and running thread.
//!
//! Source: after Lu, Halappanavar and Kalyanaraman, "Parallel heuristics for scalable community
//! detection", Parallel Computing 2015, section 5 (moves from the state before a set of vertices,
//! sets that are nearly independent), with the correction in place of a colouring; fewer nodes per
//! sweep as Ozaki, Tezuka and Inaba, "A simple acceleration method for the Louvain algorithm",
//! 2016, and Traag, Waltman and van Eck, "From Louvain to Leiden", 2019, and in parallel Sahu,
//! "GVE-Leiden", 2023.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use super::levels::{Level, Move, Near, Partition};
use super::steps::{self, Meter};
use crate::control::{Control, Result};
use crate::scratch::Pool;

/// Sizes of batches; they change the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batches {
    /// Batches of a sweep.
    pub(super) count: usize,
    /// Nodes that follow each other in a batch.
    pub(super) block: usize,
    /// Edges and nodes of a sweep below which nodes are moved one after the other.
    pub(super) least: usize,
}

impl Default for Batches {
    /// PERF: with fewer batches more moves come too late, with more the threads wait more often
    /// (telar bench algorithms, scaling/Louvain).
    fn default() -> Self {
        Self { count: 32, block: 64, least: 1 << 15 }
    }
}

/// Nodes, by their places in a list, whose communities are improved.
pub(super) struct Moves<'a, 'g> {
    level: &'a Level<'g>,
    resolution: f64,
    batches: Batches,
    pub(super) partition: Partition,
    /// Number of the batch at work; 0 comes before the first.
    batch: u32,
    /// Batch in which each node moved last, and its community before.
    moved_in: Vec<u32>,
    before: Vec<u32>,
    /// Batch in which each node was looked at last.
    seen_in: Vec<u32>,
    /// Nodes that moved in the sweep.
    moved: Vec<u32>,
    /// Nodes that belong to the next sweep.
    waits: Vec<AtomicBool>,
    nears: Pool<Near>,
}

impl<'a, 'g> Moves<'a, 'g> {
    pub(super) fn new(
        level: &'a Level<'g>,
        communities: Vec<u32>,
        resolution: f64,
        batches: Batches,
    ) -> Self {
        let n = level.nodes();
        Self {
            level,
            resolution,
            batches,
            partition: Partition::new(level, communities),
            batch: 0,
            moved_in: vec![0; n],
            before: vec![0; n],
            seen_in: vec![0; n],
            moved: Vec::new(),
            waits: (0..n).map(|_| AtomicBool::new(false)).collect(),
            nears: Pool::new(),
        }
    }

    /// Improves the communities of `nodes` once each, and returns the gain of modularity. Runs
    /// inside of [`Control::install`].
    pub(super) fn sweep(&mut self, nodes: &[u32], control: &Control<'_>) -> Result<f64> {
        self.moved.clear();
        let edges = |v: &u32| self.level.graph.of(*v).len() + 1;
        if nodes.iter().map(edges).sum::<usize>() < self.batches.least {
            return self.one_by_one(nodes, control);
        }
        let Batches { count, block, .. } = self.batches;
        let blocks: Vec<&[u32]> = nodes.chunks(block).collect();
        let mut gain = 0.0;
        let mut again = Vec::new();
        for batch in 0..count.min(blocks.len()) {
            let of_batch: Vec<&[u32]> = blocks.iter().skip(batch).step_by(count).copied().collect();
            gain += self.batch(&of_batch, Some(&mut again), control)?;
            if !again.is_empty() {
                gain += self.batch(&again.chunks(block).collect::<Vec<_>>(), None, control)?;
                again.clear();
            }
        }
        Ok(gain)
    }

    /// Improves the communities of the nodes of a batch. Those whose move gains nothing any more
    /// come into `again`, if there is such a list; else they make the best move there is.
    fn batch(
        &mut self,
        blocks: &[&[u32]],
        mut again: Option<&mut Vec<u32>>,
        control: &Control<'_>,
    ) -> Result<f64> {
        self.batch += 1;
        let mut gain = 0.0;
        let mut meter = Meter::new(control);
        let mut near = self.near();
        for step in self.best_moves(blocks, control)?.into_iter().flatten() {
            meter.add(1 + self.level.graph.of(step.node).len())?;
            match (self.make(step), &mut again) {
                (0.0, Some(again)) => again.push(step.node),
                (0.0, None) => gain += self.improve(step.node, &mut near),
                (more, _) => gain += more,
            }
        }
        for &v in blocks.iter().copied().flatten() {
            self.seen_in[v as usize] = self.batch;
        }
        self.nears.put(near);
        Ok(gain)
    }

    fn near(&self) -> Near {
        self.nears.take().unwrap_or_else(|| Near::new(self.level.nodes()))
    }

    fn one_by_one(&mut self, nodes: &[u32], control: &Control<'_>) -> Result<f64> {
        let mut gain = 0.0;
        let mut meter = Meter::new(control);
        let mut near = self.near();
        for &v in nodes {
            meter.add(1 + self.level.graph.of(v).len())?;
            self.batch += 1;
            self.seen_in[v as usize] = self.batch;
            gain += self.improve(v, &mut near);
        }
        self.nears.put(near);
        Ok(gain)
    }

    /// Best moves of nodes, with the communities as they are, in the order of nodes.
    fn best_moves(&self, blocks: &[&[u32]], control: &Control<'_>) -> Result<Vec<Vec<Move>>> {
        let task = |block: &&[u32]| {
            control.check()?;
            let mut meter = Meter::new(control);
            let mut near = self.near();
            let mut found = Vec::new();
            for &v in *block {
                meter.add(1 + self.level.graph.of(v).len())?;
                found.extend(self.partition.best(self.level, v, self.resolution, &mut near));
            }
            self.nears.put(near);
            Ok(found)
        };
        blocks.par_iter().map(task).collect()
    }

    /// Makes the best move of `v` as communities are now.
    fn improve(&mut self, v: u32, near: &mut Near) -> f64 {
        let best = self.partition.best(self.level, v, self.resolution, near);
        best.map_or(0.0, |step| self.note(&step))
    }

    /// Makes a move that was found before the batch if it still gains.
    fn make(&mut self, mut step: Move) -> f64 {
        let communities = &self.partition.communities;
        let v = step.node as usize;
        let old = communities[v];
        for (u, weight) in self.level.graph.weighted(step.node) {
            if self.moved_in[u as usize] != self.batch || u == step.node {
                continue;
            }
            let (was, is) = (self.before[u as usize], communities[u as usize]);
            let change = |community: u32| match (was == community, is == community) {
                (true, false) => -weight,
                (false, true) => weight,
                _ => 0.0,
            };
            step.to_old += change(old);
            step.to_new += step.target.map_or(0.0, change);
        }
        self.note(&step)
    }

    /// Makes a move if it gains, and notes it.
    fn note(&mut self, step: &Move) -> f64 {
        let v = step.node as usize;
        let old = self.partition.communities[v];
        let gain = self.partition.make(self.level, step, self.resolution);
        if gain > 0.0 {
            self.before[v] = old;
            self.moved_in[v] = self.batch;
            self.moved.push(step.node);
        }
        gain
    }

    /// Nodes whose best community may have changed in the last sweep: neighbours of nodes that
    /// moved, outside of the new community, unless they were looked at later than that. Runs
    /// inside of [`Control::install`].
    pub(super) fn next(&self, control: &Control<'_>) -> Result<Vec<u32>> {
        self.moved.par_chunks(64).try_for_each(|moved| {
            let mut meter = Meter::new(control);
            for &v in moved {
                meter.add(1 + self.level.graph.of(v).len())?;
                let (community, batch) = self.place(v);
                for &u in self.level.graph.of(v) {
                    if self.partition.communities[u as usize] != community
                        && self.seen_in[u as usize] <= batch
                    {
                        self.waits[u as usize].store(true, Relaxed);
                    }
                }
            }
            Ok(())
        })?;
        let waiting = |range: Range<u32>| {
            Ok(range.filter(|&v| self.waits[v as usize].swap(false, Relaxed)).collect::<Vec<_>>())
        };
        let n = self.level.nodes() as u32;
        Ok(steps::map_ranges(control, n, steps::GRAIN as u32, waiting)?.concat())
    }

    /// Moves nodes until none gains. Runs inside of [`Control::install`].
    pub(super) fn settle(&mut self, control: &Control<'_>) -> Result<()> {
        let mut queue: Vec<u32> = (0..self.level.nodes() as u32).collect();
        while !queue.is_empty() {
            let edges = |v: &u32| self.level.graph.of(*v).len() + 1;
            if queue.iter().map(edges).sum::<usize>() < self.batches.least {
                return self.settle_from(queue, control);
            }
            self.sweep(&queue, control)?;
            queue = self.next(control)?;
        }
        Ok(())
    }

    /// Community of a node, and the batch in which it went there.
    fn place(&self, v: u32) -> (u32, u32) {
        (self.partition.communities[v as usize], self.moved_in[v as usize])
    }

    /// Moves the nodes of a queue, and what they add to it, on one thread.
    fn settle_from(&mut self, nodes: Vec<u32>, control: &Control<'_>) -> Result<()> {
        let mut queued = vec![false; self.level.nodes()];
        nodes.iter().for_each(|&v| queued[v as usize] = true);
        let mut queue = VecDeque::from(nodes);
        let mut meter = Meter::new(control);
        let mut near = self.near();
        while let Some(v) = queue.pop_front() {
            queued[v as usize] = false;
            meter.add(1 + self.level.graph.of(v).len())?;
            let Some(step) = self.partition.best(self.level, v, self.resolution, &mut near) else {
                continue;
            };
            if self.partition.make(self.level, &step, self.resolution) > 0.0 {
                let community = self.partition.communities[v as usize];
                for &u in self.level.graph.of(v) {
                    if !queued[u as usize] && self.partition.communities[u as usize] != community {
                        queued[u as usize] = true;
                        queue.push_back(u);
                    }
                }
            }
        }
        self.nears.put(near);
        Ok(())
    }
}
