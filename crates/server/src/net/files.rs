//! Open files: how many the process may have, and how many of them are left for connections.
//!
//! A connection is a file. A process that has used up its files cannot even refuse the next one,
//! nor open the next file of a store, so connections are bounded by what the system allows, too.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside those of connections: stores, logs, temporary files of queries, threads' own. A
/// quarter of what there is, but never more than this, nor less than [`OWN_MIN`].
const OWN_MAX: u64 = 512;
/// What an empty server opens, its first database, and connections that are about to end.
const OWN_MIN: u64 = 64;
/// Fewer files than this serve nobody.
pub const FILES_MIN: u64 = 96;

/// How many files may be open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// Before it was raised; none if there was no limit.
    pub before: Option<u64>,
    /// Now.
    pub now: Option<u64>,
}

/// Lets this process have as many open files as it may allow itself: the soft limit becomes the
/// hard one. It stays as it is if the system does not want that.
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

/// Makes `wanted`, numbers of connections, fit into `files`: all of them less by the same factor,
/// and one at least. Whether they had to change.
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
