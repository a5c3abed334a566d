//! The openCypher TCK, run in process.
//!
//! ```text
//!  *.feature ─ gherkin.rs ─► outlines expanded ─ step.rs ─► scenarios with typed steps
//!                                                             │        literal.rs  expected values
//!                                                             ▼
//!   a Subject (subject.rs) ◄── queries, parameters ──── run.rs ──► outcome ─► report.rs
//!     fresh for each scenario    rows, failures, state ──► compare.rs         known.rs
//! ```
//!
//! The files are not part of the repository: they lie in the shared folder (`tck/features`,
//! `tck/graphs`), and whoever finds none passes. What counts as passed is what the TCK says, with
//! the leniency of its runner over Bolt: an error must be raised in the right phase and leave the
//! graph as it was; its type and detail word are counted, not demanded.
//!
//! - [`gherkin`]: the part of Gherkin that the TCK uses.
//! - [`step`]: what each line of a scenario asks for.
//! - [`literal`], [`value`]: expected values, parsed and compared.
//! - [`subject`]: what is tested, and the side effects that it had.
//! - [`mod@compare`]: expected rows against those that came.
//! - [`run`]: one scenario against one subject.
//! - [`suite`]: the whole folder.
//! - [`known`]: scenarios that are known to fail.
//! - [`report`]: counts by folder.
//! - [`scripted`]: a subject that knows the answers, to test the harness with.
//! - [`telar`]: Telar as the subject.
//! - [`graph`]: Telar's values and graphs in the words of the TCK.

pub mod compare;
pub mod gherkin;
pub mod graph;
pub mod known;
pub mod literal;
pub mod report;
pub mod run;
pub mod scripted;
pub mod step;
pub mod subject;
pub mod suite;
pub mod telar;
pub mod value;

#[cfg(test)]
mod scripted_tests;
