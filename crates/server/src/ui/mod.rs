//! Output of the subcommands.

mod progress;

pub(crate) use progress::Progress;
pub(crate) use telar_cli::{Screen, number};
