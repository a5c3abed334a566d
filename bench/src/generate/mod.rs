//! Seeded graphs: the same parameters and seed give the same edges on every machine.
//!
//! | generator | shape | stands for |
//! |---|---|---|
//! | [`rmat`] | skewed degrees, no locality | the graphs of Graph500 and of the storage studies |
//! | [`uniform`] | every vertex alike | the worst case for caches |
//! | [`star`] | one hub | the longest list a store must append to |
//! | [`knows`] | persons, power-law degrees | the comparison of query engines |
//! | [`social`] | persons, communities, friendships with dates | the demo |
//!
//! Edges are `(source, target)` pairs over dense vertex numbers; [`edges`] cleans, turns and mixes
//! them.

pub mod edges;
mod knows;
mod names;
mod rmat;
mod social;
mod star;
mod uniform;

pub use knows::{Acquaintance, KnowsGraph, knows};
pub(crate) use names::{CITIES, FAMILY, GIVEN};
pub use rmat::{Rmat, rmat};
pub use social::{Knows, Person, SocialNetwork, social};
pub use star::star;
pub use uniform::uniform;

/// Source and target of a directed edge.
pub type Edge = (u32, u32);
