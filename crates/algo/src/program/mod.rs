//! Vertex programs: a graph algorithm as what one vertex does with the messages it got.
//!
//! | module | holds |
//! |---|---|
//! | [`run`](mod@run) | the steps: who works on which vertices, and how messages travel |
//! | `blocks` | partitions, blocks of vertices and their inboxes |
//! | [`both`] | two topologies seen as one, for programs that ignore direction |
//! | [`pagerank`] | PageRank as a program |
//! | [`components`] | weakly connected components as a program |
//! | [`hops`] | hops from one vertex as a program |
//! | [`labels`] | label propagation (CDLP) as a program without a combiner |
//!
//! ```text
//!   step k      gather            apply                     scatter
//!   inbox of v ───────► messages ───────► value of v changed ───────► inbox of each neighbour,
//!                       or their                                      read in step k + 1
//!                       combination
//! ```
//!
//! A program is a [`VertexProgram`]: the value kept per vertex (beside the graph, never in it), the
//! messages, and [`apply`](VertexProgram::apply). All vertices take part in step 0. A vertex that
//! [votes to halt](Step::halt) sleeps until a message arrives; the run ends when all sleep and no
//! message is on its way, when the program says it has [converged](VertexProgram::converged), or
//! after [`Settings::max_iterations`] steps.
//!
//! # Example
//!
//! Largest number that a vertex can be reached from, by its own rules: each vertex tells its
//! neighbours when it learns of a larger number.
//!
//! ```
//! use telar_algo::control::Control;
//! use telar_algo::csr::Csr;
//! use telar_algo::program::{Settings, Step, VertexProgram, run};
//!
//! struct Largest;
//!
//! impl VertexProgram for Largest {
//!     type Vertex = u32;
//!     type Message = u32;
//!     type Aggregate = u64;
//!     const COMBINES: bool = true;
//!
//!     fn init(&self, v: u32) -> u32 {
//!         v
//!     }
//!
//!     // Two messages on the way to the same vertex become one.
//!     fn combine(&self, into: &mut u32, message: u32) {
//!         *into = (*into).max(message);
//!     }
//!
//!     // Number of vertices that changed, seen by all in the next step.
//!     fn reduce(&self, into: &mut u64, value: u64) {
//!         *into += value;
//!     }
//!
//!     fn apply(&self, value: &mut u32, messages: &mut [u32], step: &mut Step<'_, Self>) {
//!         let best = messages.first().copied().unwrap_or(0);
//!         if step.number() == 0 || best > *value {
//!             *value = best.max(*value);
//!             step.aggregate(1);
//!             step.scatter(*value);
//!         }
//!         step.halt();
//!     }
//! }
//!
//! let graph = Csr::from_edges(4, &[(3, 1), (1, 0), (0, 1)]);
//! let outcome = run(&Largest, &graph, 4, &Settings::default(), &Control::default())?;
//! assert_eq!(outcome.vertices, [3, 3, 2, 3]);
//! # Ok::<(), telar_algo::control::Error>(())
//! ```
//!
//! Source: Prabhakaran et al., "Managing large graphs on multi-cores with graph awareness", USENIX
//! ATC 2012 (Grace, section 4); Malewicz et al., "Pregel", SIGMOD 2010.

mod blocks;
pub mod both;
pub mod components;
pub mod hops;
pub mod labels;
pub mod pagerank;
pub mod run;

pub use run::{bytes, run};

/// An algorithm as seen by one vertex.
///
/// In synchronous runs the result depends neither on the number of threads nor, as long as
/// `combine` and `reduce` are associative, on partitions. Sums of floating-point numbers are not
/// associative to the last bit: they are equal for any number of threads, and may differ in the
/// last bits between partitionings, and from run to run with [`Settings::batching`] off.
pub trait VertexProgram: Sync {
    /// Value kept for each vertex.
    type Vertex: Send;
    /// Content of a message.
    type Message: Clone + Send + Sync;
    /// Value that all vertices add to in a step and all see in the next; `()` for none.
    type Aggregate: Default + Clone + Send + Sync;

    /// True if messages to the same vertex become one by [`combine`](Self::combine). A vertex then
    /// gets at most one message in a step, and messages take one slot per vertex instead of one per
    /// edge.
    const COMBINES: bool = false;

    /// Value of vertex `v` before step 0.
    fn init(&self, v: u32) -> Self::Vertex;

    /// Puts `message` into `into`, another message to the same vertex. It has to be associative;
    /// for asynchronous runs, and with batching off, also commutative.
    fn combine(&self, into: &mut Self::Message, message: Self::Message) {
        let _ = (into, message);
    }

    /// Adds `value` to the aggregate; associative.
    fn reduce(&self, into: &mut Self::Aggregate, value: Self::Aggregate) {
        let _ = (into, value);
    }

    /// Work of one vertex in one step. `messages` is what was sent to it in the step before.
    fn apply(
        &self,
        value: &mut Self::Vertex,
        messages: &mut [Self::Message],
        step: &mut Step<'_, Self>,
    );

    /// True if the run is to end after step `number`, in which vertices made `aggregate`.
    fn converged(&self, number: u32, aggregate: &Self::Aggregate) -> bool {
        let _ = (number, aggregate);
        false
    }
}

/// Place of a vertex in the run, and its way to speak to others.
#[derive(Debug)]
pub struct Step<'a, P: VertexProgram + ?Sized> {
    program: &'a P,
    number: u32,
    vertices: u32,
    v: u32,
    degree: u32,
    aggregated: &'a P::Aggregate,
    partial: Option<P::Aggregate>,
    scattered: Option<P::Message>,
    sent: Vec<(u32, P::Message)>,
    halted: bool,
}

impl<P: VertexProgram + ?Sized> Step<'_, P> {
    /// Number of this step, from 0.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Number of vertices of the graph.
    #[must_use]
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// Number of this vertex.
    #[must_use]
    pub fn vertex(&self) -> u32 {
        self.v
    }

    /// Number of neighbours that [`scatter`](Self::scatter) reaches, parallel edges counted each.
    #[must_use]
    pub fn degree(&self) -> u32 {
        self.degree
    }

    /// Aggregate of the step before; the default value in step 0.
    #[must_use]
    pub fn aggregated(&self) -> &P::Aggregate {
        self.aggregated
    }

    /// Adds to the aggregate of this step.
    pub fn aggregate(&mut self, value: P::Aggregate) {
        match &mut self.partial {
            Some(partial) => self.program.reduce(partial, value),
            None => self.partial = Some(value),
        }
    }

    /// Sends `message` along every edge of this vertex. The last call of a step counts.
    pub fn scatter(&mut self, message: P::Message) {
        self.scattered = Some(message);
    }

    /// Sends `message` to vertex `u`, neighbour or not. The run panics if `u` is not a vertex.
    pub fn send(&mut self, u: u32, message: P::Message) {
        self.sent.push((u, message));
    }

    /// Votes to halt: without a message this vertex is not called again.
    pub fn halt(&mut self) {
        self.halted = true;
    }
}

/// Cut of the vertices into partitions, which are ranges of vertex numbers. A partitioning by
/// [`crate::partition`] becomes ranges when vertices are renumbered part by part.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Partitioning {
    /// As many ranges of the same number of vertices as suit caches and threads.
    #[default]
    Auto,
    /// This number of ranges of the same number of vertices; 1 to 4096.
    Range(u32),
    /// This number of ranges of about the same number of edges; 1 to 4096.
    Degree(u32),
    /// The vertex after the last of each range, not descending, the last one being the number of
    /// vertices; 1 to 4096 of them.
    Ends(Vec<u32>),
}

/// Settings of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Steps after which to end in any case; at least 1.
    pub max_iterations: u32,
    /// Messages are seen in the step that sends them by vertices whose turn is still to come. Only
    /// for programs with a combiner that gives the same whatever the order and repetition of
    /// messages (minimum, maximum, union). The number of steps then depends on threads, and the
    /// result does not.
    pub is_asynchronous: bool,
    /// Ranges of vertices that receive their messages together.
    pub partitioning: Partitioning,
    /// Messages are collected per destination partition and delivered partition by partition. Off:
    /// each is put into its inbox at once, under a lock.
    pub batching: bool,
    /// A thread that is done with its own partitions takes blocks of the partition that has most
    /// left.
    pub sharing: bool,
    /// Vertices that a thread takes at once; at least 1, rounded up to a power of two.
    pub block: u32,
    /// Messages that are collected before they are delivered, about; at least 1.
    pub buffered: u64,
}

impl Default for Settings {
    /// 100 steps, synchronous, automatic partitions, batching and sharing on, blocks of 2048
    /// vertices, 2^24 messages.
    fn default() -> Self {
        Self {
            max_iterations: 100,
            is_asynchronous: false,
            partitioning: Partitioning::Auto,
            batching: true,
            sharing: true,
            block: 2048,
            buffered: 1 << 24,
        }
    }
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All vertices had voted to halt and no message was left.
    Halted,
    /// The program said that it had converged.
    Converged,
    /// [`Settings::max_iterations`] were done.
    StepLimit,
}

/// Result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<V, A> {
    /// Value per vertex.
    pub vertices: Vec<V>,
    /// Steps done.
    pub steps: u32,
    /// Messages sent in all steps, before combining.
    pub messages: u64,
    /// Aggregate of the last step.
    pub aggregate: A,
    /// Why the run ended.
    pub ended: Ended,
}
