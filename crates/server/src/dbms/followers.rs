//! Servers that follow this one: which commits they have, so that the log after these is kept.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::CommitTs;

/// Time for which the log is kept for a follower that does not ask any more.
pub(super) const REMEMBERED: Duration = Duration::from_secs(24 * 3600);

/// Most followers that are remembered, of all databases: names come from outside.
const FOLLOWERS_MAX: usize = 1024;

/// Position of a follower in a database.
#[derive(Debug, Clone, Copy)]
struct Seen {
    after: CommitTs,
    at: Instant,
}

/// Positions of followers, by database and follower.
#[derive(Debug, Default)]
pub(super) struct Followers(Mutex<BTreeMap<(String, String), Seen>>);

impl Followers {
    /// Notes that a follower has the commits up to `after`; returns the commit after which the log
    /// of the database is wanted by some follower.
    pub(super) fn note(&self, database: &str, follower: &str, after: CommitTs) -> CommitTs {
        let (now, mut all) = (Instant::now(), self.0.lock());
        all.retain(|_, seen| now.duration_since(seen.at) < REMEMBERED);
        while all.len() >= FOLLOWERS_MAX {
            let oldest = all.iter().min_by_key(|(_, seen)| seen.at).map(|(key, _)| key.clone());
            oldest.map(|key| all.remove(&key));
        }
        all.insert((database.to_owned(), follower.to_owned()), Seen { after, at: now });
        let of_database = all.iter().filter(|((of, _), _)| of == database);
        of_database.map(|(_, seen)| seen.after).min().unwrap_or(after)
    }
}

#[test]
fn the_slowest_follower_counts_and_names_are_bounded() {
    let (followers, ts) = (Followers::default(), CommitTs::from_raw);
    assert_eq!(followers.note("shop", "a", ts(5)), ts(5));
    assert_eq!(followers.note("shop", "b", ts(9)), ts(5));
    assert_eq!(followers.note("other", "a", ts(1)), ts(1));
    assert_eq!(followers.note("shop", "a", ts(8)), ts(8));
    for n in 0..2 * FOLLOWERS_MAX {
        followers.note("shop", &n.to_string(), ts(7));
    }
    assert_eq!(followers.0.lock().len(), FOLLOWERS_MAX);
}
