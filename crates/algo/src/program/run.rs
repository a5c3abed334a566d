//! Execution of vertex programs in steps.
//!
//! Result: the value of each vertex at the end, and how it ended.
//!
//! Method: bulk-synchronous. In a step each thread works on the blocks of its partitions; idle
//! threads take blocks of the partition that has most left. What a block sends is collected in a
//! buffer per destination partition, and afterwards each partition takes its messages out of all
//! buffers, in the order of blocks: random writes stay within one partition's inboxes, no lock is
//! taken, and messages are combined in an order that does not depend on threads. Long steps are cut
//! into waves, each with a slice of every partition, so that buffers stay bounded.
//!
//! PERF: 11 steps of PageRank over an R-MAT graph of 2^20 vertices and 2^24 edges, 2 threads of a
//! busy machine: 4.3 to 4.8 s with batching and 10.6 to 15.7 s without; sharing made no difference
//! where partitions are even. A kernel that pulls ([`crate::pagerank`]) took 1.2 s at that time: it
//! writes no messages.
//!
//! Cost: per step a pass over the vertices and the lists of vertices that scatter. *Memory*: per
//! vertex its value and 1 byte; two inbox slots with a combiner, or else one entry of 4 bytes and
//! the message per message; at most about [`Settings::buffered`] messages of 4 bytes and their
//! content each in buffers, which grow by doubling.
//!
//! Source: Grace (see [`super`]), section 4.1 batching updates and 4.2 balancing load.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use telar_graph::topology::Topology;

use super::blocks::{Block, Parts, count, inside, lock};
use super::{Ended, Outcome, Settings, Step, VertexProgram};
use crate::control::{Control, Error, Result};

/// Messages between two questions whether to stop.
const CHECK: usize = 1 << 16;

/// Messages by destination partition.
type Buffers<M> = Vec<Vec<(u32, M)>>;

/// Messages of one block.
struct Outbox<M> {
    /// False while all buffers are empty.
    used: bool,
    buffers: Buffers<M>,
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes<P: VertexProgram>(n: u64, m: u64, settings: &Settings) -> u64 {
    let slot = size_of::<Option<P::Message>>() as u64;
    let entry = size_of::<(u32, P::Message)>() as u64;
    let value = size_of::<P::Vertex>() as u64;
    let inboxes = if P::COMBINES { 2 * n * slot } else { 4 * m * entry };
    let parts = u64::from(count(&settings.partitioning, n.try_into().unwrap_or(u32::MAX)));
    let blocks = n / u64::from(settings.block.max(1)) + parts;
    let buffers = if settings.batching { 2 * m.min(2 * settings.buffered) * entry } else { 0 };
    2 * n * (value + 1) + inboxes + buffers + blocks * (512 + 24 * parts)
}

/// Runs `program` over the edges of `graph`, whose vertices are `0..n`.
///
/// # Panics
/// If a message is sent to a vertex that is not below `n`.
pub fn run<P: VertexProgram, T: Topology>(
    program: &P,
    graph: &T,
    n: u32,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Outcome<P::Vertex, P::Aggregate>> {
    if settings.max_iterations == 0 {
        return Err(Error::invalid("max_iterations is 0; a vertex program takes at least 1 step"));
    }
    if settings.buffered == 0 {
        return Err(Error::invalid("buffered is 0; it is at least 1 message"));
    }
    if settings.is_asynchronous && !P::COMBINES {
        return Err(Error::invalid("only programs with a combiner run asynchronously"));
    }
    let cut = (&settings.partitioning, settings.block);
    let mut parts = Parts::new(program, graph, n, cut, control)?;
    let blocks = parts.parts.iter().map(|part| part.blocks.len()).max().unwrap_or(0) as u32;
    let mut edges = 0;
    for v in 0..n.min(graph.vertex_bound()) {
        if v & 0xffff == 0 {
            control.check()?;
        }
        edges += u64::from(graph.degree(v));
    }
    // Blocks of each partition in a wave.
    let wave = match settings.batching && !settings.is_asynchronous {
        true => u64::from(blocks) * settings.buffered / edges.max(1),
        false => u64::from(blocks),
    };
    let wave = wave.clamp(1, u64::from(blocks.max(1))) as u32;
    let mut outboxes = Vec::new();
    if settings.batching && !settings.is_asynchronous {
        let empty = || {
            let buffers = parts.parts.iter().map(|_| Vec::new()).collect();
            Mutex::new(Outbox { used: false, buffers })
        };
        outboxes.resize_with(parts.parts.len() * wave as usize, empty);
    }
    let mut outcome = Outcome {
        vertices: Vec::new(),
        steps: 0,
        messages: 0,
        aggregate: P::Aggregate::default(),
        ended: Ended::StepLimit,
    };
    while outcome.steps < settings.max_iterations {
        let sent = AtomicU64::new(0);
        for first in (0..blocks).step_by(wave as usize) {
            let at = Wave {
                program,
                graph,
                parts: &parts,
                outboxes: &outboxes,
                blocks: (first, wave),
                number: outcome.steps,
                vertices: n,
                aggregated: &outcome.aggregate,
                sent: &sent,
                settings,
                control,
            };
            at.work()?;
            deliver(program, &mut parts, &mut outboxes, control)?;
        }
        outcome.messages += sent.into_inner();
        let (aggregate, alive) = turn(program, &mut parts, settings.is_asynchronous);
        outcome.aggregate = aggregate;
        outcome.steps += 1;
        control.report(u64::from(outcome.steps), u64::from(settings.max_iterations));
        if !alive {
            outcome.ended = Ended::Halted;
            break;
        }
        if program.converged(outcome.steps - 1, &outcome.aggregate) {
            outcome.ended = Ended::Converged;
            break;
        }
    }
    outcome.vertices.reserve_exact(n as usize);
    for block in parts.parts.iter_mut().flat_map(|part| &mut part.blocks) {
        outcome.vertices.append(&mut inside(&mut block.work).values);
    }
    Ok(outcome)
}

/// Ends a step: inboxes change places; returns the aggregate, and false if all sleep.
fn turn<P: VertexProgram>(
    program: &P,
    parts: &mut Parts<P>,
    is_asynchronous: bool,
) -> (P::Aggregate, bool) {
    let (mut aggregate, mut alive) = (None, false);
    for block in parts.parts.iter_mut().flat_map(|part| &mut part.blocks) {
        let work = inside(&mut block.work);
        match (&mut aggregate, work.partial.take()) {
            (Some(all), Some(partial)) => program.reduce(all, partial),
            (all @ None, partial) => *all = partial,
            (_, None) => {}
        }
        if !is_asynchronous {
            std::mem::swap(&mut block.now, &mut block.next);
        }
        alive |= work.awake_count > 0 || inside(&mut block.now).waiting > 0;
    }
    (aggregate.unwrap_or_default(), alive)
}

/// Puts the messages of all outboxes into inboxes, each partition on one thread.
fn deliver<P: VertexProgram>(
    program: &P,
    parts: &mut Parts<P>,
    outboxes: &mut [Mutex<Outbox<P::Message>>],
    control: &Control<'_>,
) -> Result<()> {
    if outboxes.is_empty() {
        return Ok(());
    }
    let shift = parts.shift;
    // High diameters make many steps with few messages; what is empty must not cost in them.
    let mut full: Vec<&mut Outbox<_>> =
        outboxes.iter_mut().map(inside).filter(|outbox| outbox.used).collect();
    control.install(|| {
        parts.parts.par_iter_mut().enumerate().with_max_len(1).try_for_each(|(number, part)| {
            let mut inboxes = part.inboxes();
            for outbox in &full {
                for messages in outbox.buffers[number].chunks(CHECK) {
                    control.check()?;
                    inboxes.deliver(program, shift, messages);
                }
            }
            Ok(())
        })
    })?;
    control.install(|| {
        full.par_iter_mut().for_each(|outbox| {
            outbox.used = false;
            outbox.buffers.iter_mut().for_each(Vec::clear);
        });
    });
    Ok(())
}

/// Work of a slice of each partition in one step.
struct Wave<'a, P: VertexProgram, T> {
    program: &'a P,
    graph: &'a T,
    parts: &'a Parts<P>,
    /// One per block of the wave, or none where messages go to inboxes at once.
    outboxes: &'a [Mutex<Outbox<P::Message>>],
    /// The first block of each partition, and their number.
    blocks: (u32, u32),
    number: u32,
    vertices: u32,
    aggregated: &'a P::Aggregate,
    sent: &'a AtomicU64,
    settings: &'a Settings,
    control: &'a Control<'a>,
}

impl<P: VertexProgram, T: Topology> Wave<'_, P, T> {
    /// Works on all blocks of the wave, on all threads.
    fn work(&self) -> Result<()> {
        let parts = &self.parts.parts;
        let (first, wave) = self.blocks;
        let taken: Vec<AtomicU32> = parts.iter().map(|_| AtomicU32::new(0)).collect();
        let len = |part: usize| (parts[part].blocks.len() as u32).saturating_sub(first).min(wave);
        // ORDERING: a counter hands out each block once; locks and the end of the wave order the
        // rest.
        let left = |part: usize| len(part).saturating_sub(taken[part].load(Relaxed));
        let take = |part: usize| {
            let at = taken[part].fetch_add(1, Relaxed);
            (at < len(part)).then(|| self.block(part, at)).transpose()
        };
        let threads = self.control.threads();
        let own = |thread: usize| {
            let bound = |thread: usize| thread * parts.len() / threads;
            for part in bound(thread)..bound(thread + 1) {
                while take(part)?.is_some() {}
            }
            while self.settings.sharing
                && let Some(part) = (0..parts.len()).max_by_key(|part| left(*part))
                && left(part) > 0
            {
                take(part)?;
            }
            Ok(())
        };
        self.control.install(|| (0..threads).into_par_iter().with_max_len(1).try_for_each(own))
    }

    /// Works on the vertices of one block.
    fn block(&self, part: usize, at: u32) -> Result<()> {
        self.control.check()?;
        let (first, wave) = self.blocks;
        let block = &self.parts.parts[part].blocks[(first + at) as usize];
        let mut outbox =
            self.outboxes.get(part * wave as usize + at as usize).map(|outbox| lock(outbox));
        let mut local: Buffers<P::Message> = Vec::new();
        if self.settings.is_asynchronous && self.settings.batching {
            local.resize_with(self.parts.parts.len(), Vec::new);
        }
        let to = match &mut outbox {
            Some(outbox) => Some(&mut outbox.buffers),
            None => (!local.is_empty()).then_some(&mut local),
        };
        let mut post = Post { wave: self, to, sent: 0 };
        let done = self.vertices_of(block, &mut post);
        let sent = post.sent;
        self.sent.fetch_add(sent as u64, Relaxed);
        if let Some(outbox) = &mut outbox {
            outbox.used = sent > 0;
        }
        for (part, messages) in local.into_iter().enumerate() {
            for (v, message) in messages {
                self.parts.parts[part].post(self.program, self.parts.shift, v, message, true);
            }
        }
        done
    }

    fn vertices_of(&self, block: &Block<P>, post: &mut Post<'_, P, T>) -> Result<()> {
        let mut work = lock(&block.work);
        let work = &mut *work;
        let (places, mut list) =
            if P::COMBINES { Default::default() } else { lock(&block.now).take_list() };
        // In a synchronous step nothing else comes into this inbox.
        let mut held = (!self.settings.is_asynchronous).then(|| lock(&block.now));
        if work.awake_count == 0 && places.is_empty() {
            let waiting = match &held {
                Some(inbox) => inbox.waiting,
                None => lock(&block.now).waiting,
            };
            if waiting == 0 {
                return Ok(());
            }
        }
        let bound = self.graph.vertex_bound();
        let mut step = Step {
            program: self.program,
            number: self.number,
            vertices: self.vertices,
            v: block.first,
            degree: 0,
            aggregated: self.aggregated,
            partial: work.partial.take(),
            scattered: None,
            sent: Vec::new(),
            halted: false,
        };
        let mut from = 0;
        for (at, (value, awake)) in work.values.iter_mut().zip(&mut work.awake).enumerate() {
            let mut one = None;
            let messages = if P::COMBINES {
                one = match &mut held {
                    Some(inbox) => inbox.take(at as u32),
                    None => lock(&block.now).take(at as u32),
                };
                one.as_mut_slice()
            } else {
                let len = places[from..].iter().take_while(|place| **place == at as u32).count();
                from += len;
                &mut list[from - len..from]
            };
            if !*awake && messages.is_empty() {
                continue;
            }
            step.v = block.first + at as u32;
            step.degree = if step.v < bound { self.graph.degree(step.v) } else { 0 };
            step.halted = false;
            self.program.apply(value, messages, &mut step);
            work.awake_count -= usize::from(*awake);
            *awake = !step.halted;
            work.awake_count += usize::from(*awake);
            drop(one);
            if let Some(message) = step.scattered.take()
                && step.degree > 0
            {
                post.scatter(step.v, &message)?;
            }
            for (u, message) in step.sent.drain(..) {
                post.message(u, message)?;
            }
        }
        work.partial = step.partial;
        Ok(())
    }
}

/// Way of the messages of one block.
struct Post<'a, P: VertexProgram, T> {
    wave: &'a Wave<'a, P, T>,
    /// Buffers by destination partition; without them inboxes are locked.
    to: Option<&'a mut Buffers<P::Message>>,
    sent: usize,
}

impl<P: VertexProgram, T: Topology> Post<'_, P, T> {
    fn scatter(&mut self, v: u32, message: &P::Message) -> Result<()> {
        let mut done = Ok(());
        self.wave.graph.for_each_run(v, |run| {
            if done.is_ok() {
                done = run.chunks(CHECK).try_for_each(|piece| self.all(piece, message));
            }
        });
        done
    }

    /// Sends the same message to some vertices.
    fn all(&mut self, to: &[u32], message: &P::Message) -> Result<()> {
        self.count(to.len())?;
        match &mut self.to {
            Some(outbox) => {
                let places = &self.wave.parts.places;
                to.iter().for_each(|&u| outbox[places.part_of(u)].push((u, message.clone())));
            }
            None => to.iter().for_each(|&u| self.post(u, message.clone())),
        }
        Ok(())
    }

    /// Counts messages, and checks now and then.
    fn count(&mut self, messages: usize) -> Result<()> {
        let before = self.sent / CHECK;
        self.sent += messages;
        if self.sent / CHECK == before { Ok(()) } else { self.wave.control.check() }
    }

    /// Puts a message into the inbox of `u` at once.
    fn post(&self, u: u32, message: P::Message) {
        let Wave { program, parts, settings, .. } = self.wave;
        let part = &parts.parts[parts.places.part_of(u)];
        part.post(*program, parts.shift, u, message, settings.is_asynchronous);
    }

    /// Sends a message to `u`.
    fn message(&mut self, u: u32, message: P::Message) -> Result<()> {
        self.count(1)?;
        match &mut self.to {
            Some(outbox) => outbox[self.wave.parts.places.part_of(u)].push((u, message)),
            None => self.post(u, message),
        }
        Ok(())
    }
}
