//! What the worker says, one line each:
//!
//! ```text
//!  ready SECONDS                                        open took so long; writers start
//!  commit WRITER STEP TIMESTAMP ATTEMPTS                the writer's STEPth transaction is on disk
//!  rank TIMESTAMP SECONDS BEHIND DIFFERENCE VERTEX...   PageRank of a live snapshot
//! ```
//!
//! A line is one write to the pipe, far below the size up to which such a write is whole or absent.

use std::fmt;

/// A line of the worker's.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Message {
    /// The database is open.
    Ready { seconds: f64 },
    /// A transaction was acknowledged.
    Commit(Commit),
    /// An analysis ended.
    Rank(Rank),
}

/// An acknowledged transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Commit {
    pub(super) writer: usize,
    /// Counted from 1.
    pub(super) step: u64,
    pub(super) ts: u64,
    /// One more than there were conflicts.
    pub(super) attempts: u64,
}

/// PageRank of a live snapshot.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Rank {
    /// Timestamp of the snapshot.
    pub(super) ts: u64,
    pub(super) seconds: f64,
    /// Transactions committed between the opening of the snapshot and the end of the analysis.
    pub(super) behind: u64,
    /// Largest difference from the same on a frozen copy of the snapshot, where one was made.
    pub(super) difference: Option<f64>,
    /// The vertices with the highest scores.
    pub(super) top: Vec<u32>,
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { seconds } => write!(f, "ready {seconds}"),
            Self::Commit(Commit { writer, step, ts, attempts }) => {
                write!(f, "commit {writer} {step} {ts} {attempts}")
            }
            Self::Rank(Rank { ts, seconds, behind, difference, top }) => {
                write!(f, "rank {ts} {seconds} {behind} ")?;
                match difference {
                    Some(difference) => write!(f, "{difference:e}")?,
                    None => f.write_str("-")?,
                }
                top.iter().try_for_each(|v| write!(f, " {v}"))
            }
        }
    }
}

impl Message {
    /// The message in a line; `None` if it is none.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let kind = words.next()?;
        let message = match kind {
            "ready" => Self::Ready { seconds: words.next()?.parse().ok()? },
            "commit" => Self::Commit(Commit {
                writer: words.next()?.parse().ok()?,
                step: words.next()?.parse().ok()?,
                ts: words.next()?.parse().ok()?,
                attempts: words.next()?.parse().ok()?,
            }),
            "rank" => Self::Rank(Rank {
                ts: words.next()?.parse().ok()?,
                seconds: words.next()?.parse().ok()?,
                behind: words.next()?.parse().ok()?,
                difference: match words.next()? {
                    "-" => None,
                    number => Some(number.parse().ok()?),
                },
                top: words.by_ref().map(|v| v.parse().ok()).collect::<Option<_>>()?,
            }),
            _ => return None,
        };
        words.next().is_none().then_some(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_pipe() {
        let rank = |difference, top| {
            Message::Rank(Rank { ts: 9, seconds: 0.25, behind: 3, difference, top })
        };
        let messages = [
            Message::Ready { seconds: 0.125 },
            Message::Commit(Commit { writer: 3, step: 1, ts: 77, attempts: 2 }),
            rank(None, vec![1, 2, 3]),
            rank(Some(1.5e-17), vec![]),
            rank(Some(f64::INFINITY), vec![4]),
        ];
        for message in messages {
            assert_eq!(Message::parse(&message.to_string()), Some(message));
        }
    }

    #[test]
    fn other_lines_are_no_messages() {
        for line in ["", "hello", "commit 1 2 3", "commit 1 2 3 4 5", "rank 1 2 3", "ready"] {
            assert_eq!(Message::parse(line), None, "{line}");
        }
    }
}
