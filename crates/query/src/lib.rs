//! openCypher over any view of a graph: bind, plan, execute.
//!
//! - [`error`]: what can go wrong while an expression or a query runs.
//! - [`ops`]: the operators on values.
//! - [`function`]: the table of scalar functions.
//! - [`aggregate`]: accumulators of the aggregating functions.

//! - [`value_type`]: the types that `IS ::` tests and `valueType()` names.

pub mod aggregate;
pub mod error;
pub mod function;
pub mod ops;
pub mod value_type;

pub use error::EvalError;
