//! Which commit was the newest at a time of the wall clock.

use crate::commit::record;
use crate::error::Error;
use crate::shared::Shared;
use crate::wal::follow::{Followed, Follower};

/// The newest commit that was made at or before `time_ms`, up to the published one, among those the
/// log tells; commits without a time count to the one before them. `None` if the log begins later.
///
/// Cost: the first record of each log file, and one file.
pub(crate) fn commit_at_time(shared: &Shared, time_ms: u64) -> Result<Option<u64>, Error> {
    let published = shared.clock.published();
    let Some(whole) = super::follower(shared, 0) else {
        let records = shared.memory_log.all();
        let times = records.iter().map(|(ts, payload)| (*ts, record::time_ms(payload)));
        return Ok(newest_before(times.filter(|(ts, _)| *ts <= published), time_ms));
    };
    let unreadable = |source| Error::File {
        action: "cannot read the log of",
        path: shared.durable.as_ref().map(|d| d.store.root().into()).unwrap_or_default(),
        source,
    };
    let durable = shared.durable.as_ref().map_or(0, |d| d.wal.durable_ts());
    let limit = published.min(durable);
    let files = whole.files().map_err(unreadable)?;
    // The last file that begins in time has the commit, or the first that has any time at all.
    for (first_ts, _) in files.iter().rev() {
        let mut from = super::follower(shared, first_ts - 1);
        let mut times = Vec::new();
        while let Some(follower) = &mut from
            && let Some((ts, time)) = next_time(follower, limit).map_err(unreadable)??
        {
            let late = times.is_empty() && time.is_some_and(|t| t > time_ms);
            times.push((ts, time));
            let next_file = files.iter().any(|(first, _)| *first == ts + 1);
            if late || next_file {
                break;
            }
        }
        if let Some(found) = newest_before(times.into_iter(), time_ms) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Timestamp and time of the next commit up to `limit`.
#[expect(clippy::type_complexity, reason = "two ways to fail, and the end")]
fn next_time(
    follower: &mut Follower,
    limit: u64,
) -> std::io::Result<Result<Option<(u64, Option<u64>)>, Error>> {
    let ts = follower.next_ts();
    if ts > limit {
        return Ok(Ok(None));
    }
    Ok(match follower.next()? {
        Ok(Followed::Record(payload)) => Ok(Some((ts, record::time_ms(&payload)))),
        Ok(Followed::Missing { .. }) => Ok(None),
        Err(e) => Err(e.into()),
    })
}

fn newest_before(times: impl Iterator<Item = (u64, Option<u64>)>, time_ms: u64) -> Option<u64> {
    let (mut found, mut before) = (None, false);
    for (ts, time) in times {
        before = time.map_or(before, |time| time <= time_ms);
        if before {
            found = Some(ts);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::newest_before;

    #[test]
    fn commits_without_a_time_belong_to_the_one_before() {
        let times = [(3, None), (4, Some(10)), (5, None), (6, Some(30)), (7, Some(20)), (8, None)];
        let at = |time| newest_before(times.into_iter(), time);
        assert_eq!(
            [at(9), at(10), at(15), at(20), at(29)],
            [None, Some(5), Some(5), Some(8), Some(8)]
        );
        assert_eq!(at(30), Some(8));
    }
}
