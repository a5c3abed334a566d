//! Seeded graphs: the same parameters and seed give the same edges on every machine.
//!
//! | generator | shape | stands for |
//! |---|---|---|
//! | [`rmat`] | skewed degrees, no locality | the graphs of Graph500 and of the storage studies |
//! | [`uniform`] | every vertex alike | the worst case for caches |
//! | [`star`] | one hub | the longest list a store must append to |
//! | [`knows`] | persons, power-law degrees | the comparison of query engines |
//! | [`social`] | persons, communities, friendships with dates | the demonstration |
//!
//! Edges are `(source, target)` pairs over dense vertex numbers; [`edges`] cleans, turns and mixes
//! them. [`csr`] is the flat adjacency that answers and speeds are compared with. Benchmarks, tests
//! and `telar demo` use this crate.

pub mod csr;
pub mod edges;
mod knows;
pub mod mem;
pub mod names;
mod rmat;
pub mod rng;
mod social;
mod star;
mod uniform;

pub use knows::{Acquaintance, KnowsGraph, knows};
pub use rmat::{Rmat, rmat};
pub use social::{Knows, Person, SocialNetwork, social};
pub use star::star;
pub use uniform::uniform;

/// Source and target of a directed edge.
pub type Edge = (u32, u32);
