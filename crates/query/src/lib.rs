//! openCypher over any view of a graph: bind, plan, execute.
//!
//! - [`error`]: what can go wrong while an expression or a query runs.

pub mod error;

pub use error::EvalError;
