//! Partitions of a vertex program, their blocks of vertices, and the inboxes of these.
//!
//! ```text
//!   vertices   0 ............................................ n
//!   partitions |     0     |     1     |     2     |    3     |   receive messages together
//!   blocks     |  |  |  |  |  |  |  |  |  |  |  |  |  |  |  | |   are worked on together
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use telar_graph::topology::Topology;

use super::{Partitioning, VertexProgram};
use crate::control::{Control, Error, Result};

/// Largest number of partitions.
const PARTITIONS_MAX: u32 = 4096;

/// Vertices of one entry of the table that leads from a vertex to its partition.
const TABLE_SHIFT: u32 = 10;

/// Number of partitions that settings ask for, of a graph with `n` vertices.
pub(super) fn count(partitioning: &Partitioning, n: u32) -> u32 {
    match partitioning {
        Partitioning::Auto => (n / 1024).clamp(1, 64).max(n.div_ceil(1 << 16).min(512)),
        Partitioning::Range(count) | Partitioning::Degree(count) => *count,
        Partitioning::Ends(ends) => ends.len() as u32,
    }
}

/// The vertex after the last of each partition.
fn ends<T: Topology>(
    partitioning: &Partitioning,
    graph: &T,
    n: u32,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    let count = count(partitioning, n);
    if !(1..=PARTITIONS_MAX).contains(&count) {
        return Err(Error::invalid(format!(
            "{count} partitions; a vertex program takes 1 to {PARTITIONS_MAX}"
        )));
    }
    let share = |total: u64, part: u32| total * u64::from(part + 1) / u64::from(count);
    match partitioning {
        Partitioning::Ends(ends) => {
            if !ends.is_sorted() || ends.last() != Some(&n) {
                return Err(Error::invalid(format!(
                    "ends of partitions must ascend up to the number of vertices, {n}"
                )));
            }
            Ok(ends.clone())
        }
        Partitioning::Degree(_) => {
            // A vertex counts as an edge, so that vertices without edges are spread too.
            let weight =
                |v: u32| 1 + if v < graph.vertex_bound() { u64::from(graph.degree(v)) } else { 0 };
            let total = (0..n).map(weight).sum();
            let (mut ends, mut sum) = (Vec::with_capacity(count as usize), 0);
            for v in 0..n {
                if v & 0xffff == 0 {
                    control.check()?;
                }
                while sum >= share(total, ends.len() as u32) && (ends.len() as u32) < count - 1 {
                    ends.push(v);
                }
                sum += weight(v);
            }
            ends.resize(count as usize, n);
            Ok(ends)
        }
        _ => Ok((0..count).map(|part| share(u64::from(n), part) as u32).collect()),
    }
}

/// Messages to the vertices of a block.
pub(super) struct Inbox<M> {
    /// One slot per vertex, for programs that combine.
    slots: Vec<Option<M>>,
    /// Place in the block and message in order of arrival, for programs that do not.
    list: Vec<(u32, M)>,
    /// Messages that wait.
    pub(super) waiting: usize,
}

impl<M> Inbox<M> {
    fn new(len: u32, combines: bool) -> Self {
        let slots = (0..if combines { len } else { 0 }).map(|_| None).collect();
        Self { slots, list: Vec::new(), waiting: 0 }
    }

    /// Adds a message to the vertex at place `at`.
    #[inline]
    pub(super) fn add<P: VertexProgram<Message = M>>(&mut self, program: &P, at: u32, message: M) {
        if P::COMBINES {
            match &mut self.slots[at as usize] {
                Some(known) => program.combine(known, message),
                slot => {
                    *slot = Some(message);
                    self.waiting += 1;
                }
            }
        } else {
            self.list.push((at, message));
            self.waiting += 1;
        }
    }

    /// Takes the combined message to the vertex at place `at`.
    #[inline]
    pub(super) fn take(&mut self, at: u32) -> Option<M> {
        if self.waiting == 0 {
            return None;
        }
        let taken = self.slots[at as usize].take();
        self.waiting -= usize::from(taken.is_some());
        taken
    }

    /// Takes all messages: the places in ascending order, and the messages beside them.
    pub(super) fn take_list(&mut self) -> (Vec<u32>, Vec<M>) {
        self.waiting = 0;
        self.list.sort_by_key(|(at, _)| *at);
        self.list.drain(..).unzip()
    }
}

/// Values of the vertices of a block.
pub(super) struct Work<P: VertexProgram> {
    pub(super) values: Vec<P::Vertex>,
    /// False for a vertex that voted to halt.
    pub(super) awake: Vec<bool>,
    /// Number of true entries of `awake`.
    pub(super) awake_count: usize,
    /// Added to the aggregate in this step.
    pub(super) partial: Option<P::Aggregate>,
}

/// Vertices that one thread works on at a time.
pub(super) struct Block<P: VertexProgram> {
    /// The first vertex.
    pub(super) first: u32,
    pub(super) work: Mutex<Work<P>>,
    /// Messages for this step.
    pub(super) now: Mutex<Inbox<P::Message>>,
    /// Messages for the next step.
    pub(super) next: Mutex<Inbox<P::Message>>,
}

/// A range of vertices that receive their messages together.
pub(super) struct Part<P: VertexProgram> {
    first: u32,
    pub(super) blocks: Vec<Block<P>>,
}

/// Lock of a mutex; a panic of another thread ends the run anyway.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Value of a mutex, for its only owner.
pub(super) fn inside<T>(mutex: &mut Mutex<T>) -> &mut T {
    mutex.get_mut().unwrap_or_else(PoisonError::into_inner)
}

impl<P: VertexProgram> Part<P> {
    /// Inboxes of the next step, for the only owner.
    pub(super) fn inboxes(&mut self) -> Inboxes<'_, P::Message> {
        let inboxes = self.blocks.iter_mut().map(|block| inside(&mut block.next)).collect();
        Inboxes { first: self.first, inboxes }
    }

    /// Delivers a message to the inbox of this step or of the next, beside other threads.
    pub(super) fn post(&self, program: &P, shift: u32, v: u32, message: P::Message, now: bool) {
        let at = v - self.first;
        let block = &self.blocks[(at >> shift) as usize];
        let inbox = if now { &block.now } else { &block.next };
        lock(inbox).add(program, at & ((1 << shift) - 1), message);
    }
}

/// Inboxes of all blocks of a partition.
pub(super) struct Inboxes<'a, M> {
    first: u32,
    inboxes: Vec<&'a mut Inbox<M>>,
}

impl<M: Clone> Inboxes<'_, M> {
    /// Delivers messages to vertices of the partition.
    pub(super) fn deliver<P: VertexProgram<Message = M>>(
        &mut self,
        program: &P,
        shift: u32,
        messages: &[(u32, M)],
    ) {
        for (v, message) in messages {
            let at = v - self.first;
            let inbox = &mut *self.inboxes[(at >> shift) as usize];
            inbox.add(program, at & ((1 << shift) - 1), message.clone());
        }
    }
}

/// All partitions.
pub(super) struct Parts<P: VertexProgram> {
    pub(super) parts: Vec<Part<P>>,
    pub(super) places: Places,
    /// Logarithm of the vertices of a block.
    pub(super) shift: u32,
}

/// Leads from a vertex to its partition.
pub(super) struct Places {
    ends: Vec<u32>,
    /// Partition of the first of each 2^[`TABLE_SHIFT`] vertices.
    table: Vec<u32>,
}

impl Places {
    /// Partition of `v`.
    #[inline]
    pub(super) fn part_of(&self, v: u32) -> usize {
        let mut part = self.table[(v >> TABLE_SHIFT) as usize] as usize;
        while v >= self.ends[part] {
            part += 1;
        }
        part
    }
}

impl<P: VertexProgram> Parts<P> {
    /// Cuts `n` vertices and gives each its first value.
    pub(super) fn new<T: Topology>(
        program: &P,
        graph: &T,
        n: u32,
        (partitioning, block): (&Partitioning, u32),
        control: &Control<'_>,
    ) -> Result<Self> {
        if !(1..=1 << 30).contains(&block) {
            return Err(Error::invalid(format!("block is {block}; it is 1 to 2^30 vertices")));
        }
        let size = block.next_power_of_two();
        let ends = ends(partitioning, graph, n, control)?;
        let mut parts = Vec::with_capacity(ends.len());
        let mut first = 0;
        for &end in &ends {
            let mut blocks = Vec::with_capacity((end - first).div_ceil(size) as usize);
            let mut start = first;
            while start < end {
                control.check()?;
                let len = size.min(end - start);
                blocks.push(Block {
                    first: start,
                    work: Mutex::new(Work {
                        values: (start..start + len).map(|v| program.init(v)).collect(),
                        awake: vec![true; len as usize],
                        awake_count: len as usize,
                        partial: None,
                    }),
                    now: Mutex::new(Inbox::new(len, P::COMBINES)),
                    next: Mutex::new(Inbox::new(len, P::COMBINES)),
                });
                start += len;
            }
            parts.push(Part { first, blocks });
            first = end;
        }
        let table = (0..n.div_ceil(1 << TABLE_SHIFT))
            .map(|at| ends.partition_point(|&end| end <= at << TABLE_SHIFT) as u32)
            .collect();
        Ok(Self { parts, places: Places { ends, table }, shift: size.trailing_zeros() })
    }
}
