//! Limit of open files, and the connections that fit into it.
//!
//! A connection is a file. A process without free files can neither refuse a connection nor open a
//! file of a store. So the connection limits must fit into the limit of open files.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Upper bound on the files that are reserved for stores, logs, temporary files of queries, and
/// threads. A quarter of all files is reserved, within this bound and [`OWN_MIN`].
const OWN_MAX: u64 = 512;
/// Lower bound on the reserved files: an empty server, its first database, and connections that are
/// about to end.
const OWN_MIN: u64 = 64;
/// Lower bound on the limit of open files: with fewer, a server is of no use.
pub const FILES_MIN: u64 = 96;

/// Limit of open files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Limit before it was raised; `None` for no limit.
    pub before: Option<u64>,
    /// Limit now; `None` for no limit.
    pub now: Option<u64>,
}

/// Raises the soft limit of open files to the hard one. It stays as it is if the system refuses.
#[must_use]
pub fn raise_limit() -> Limit {
    let Rlimit { current: before, maximum } = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: maximum, maximum };
    let now = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => maximum,
        Err(_) => before,
    };
    Limit { before, now }
}

/// Makes connection limits fit into `files`: multiplies all of them by the same factor, and leaves
/// each at least 1. Returns true if they changed.
pub fn fit(files: Option<u64>, wanted: &mut [&mut usize]) -> bool {
    let Some(files) = files else { return false };
    let room = files.saturating_sub((files / 4).clamp(OWN_MIN, OWN_MAX)) as u128;
    let all: u128 = wanted.iter().map(|count| **count as u128).sum();
    if all <= room {
        return false;
    }
    for count in wanted {
        let share = **count as u128 * room / all;
        **count = usize::try_from(share).unwrap_or(usize::MAX).max(1);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(files: Option<u64>, mut wanted: [usize; 3]) -> Option<[usize; 3]> {
        let [a, b, c] = &mut wanted;
        fit(files, &mut [a, b, c]).then_some(wanted)
    }

    #[test]
    fn connections_take_what_the_server_leaves() {
        assert_eq!(fitted(None, [usize::MAX; 3]), None);
        assert_eq!(fitted(Some(4096), [1000, 500, 1000]), None);
        assert_eq!(fitted(Some(1024), [300, 300, 168]), None, "just as many as there are");
        assert_eq!(fitted(Some(1024), [300, 300, 169]), Some([299, 299, 168]));
        assert_eq!(fitted(Some(1024), [1000, 500, 1000]), Some([307, 153, 307]));
        assert_eq!(fitted(Some(FILES_MIN), [1000, 500, 10]), Some([21, 10, 1]));
        assert_eq!(fitted(Some(0), [5, 5, 5]), Some([1, 1, 1]));
        let most = fitted(Some(u64::MAX - 1), [usize::MAX; 3]).unwrap();
        assert!(most.iter().all(|count| *count > usize::MAX / 4));
    }

    #[test]
    fn the_limit_becomes_the_hard_one() {
        let hard = getrlimit(Resource::Nofile).maximum;
        assert_eq!(raise_limit().now, hard);
        assert_eq!(raise_limit(), Limit { before: hard, now: hard });
    }
}
