//! What the subcommands share for talking to people.

pub(crate) mod number;
mod progress;
mod screen;

pub(crate) use progress::Progress;
pub(crate) use screen::Screen;
