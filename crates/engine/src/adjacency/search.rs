//! Search in sorted ids.
//!
//! A binary search of a long list waits for memory at every step. Here each step looks at three
//! places at once, whose cache misses overlap, and leaves a quarter: half as many waits. The last
//! few cache lines are searched in halves: they come together anyway, and lists that are in the
//! cache, as most short ones are, have nothing to wait for.
//!
//! PERF: `telar bench kernel`, search, insert_single_mps, insert_batch64_mps, delete_mps. At RMAT
//! scale 20, quarters gave 2.4 and 3.8 M inserts/s (single, batches of 64) and 1.7 M deletes/s;
//! eighths 2.1, 3.4 and 1.4; halves 2.2, 3.7 and 0.95.

use crate::words::prefetch;

/// Lists this short, some cache lines, are searched in halves.
const HALVED_MAX: usize = 64;
/// A step looks at the borders between so many parts.
const PARTS: usize = 4;

/// One step: how many ids, in whole quarters, are smaller than `id`, and the quarter behind them.
#[inline(always)]
fn step(ids: &[u32], id: u32) -> (usize, &[u32]) {
    let part = ids.len() / PARTS;
    let skip = part * (1..PARTS).map(|i| usize::from(ids[i * part - 1] < id)).sum::<usize>();
    (skip, &ids[skip..skip + ids.len() - (PARTS - 1) * part])
}

/// The number of ids in sorted `ids` that are smaller than `id`.
#[inline]
pub(crate) fn lower_bound(ids: &[u32], id: u32) -> usize {
    let (mut rest, mut before) = (ids, 0);
    while rest.len() > HALVED_MAX {
        let (skip, quarter) = step(rest, id);
        before += skip;
        rest = quarter;
    }
    before + rest.partition_point(|x| *x < id)
}

/// Looks for several ids, each in its own sorted list, without saying where they are: one step of
/// each search after the other, so that all wait for memory together. The lists end up as the few
/// entries among which the ids would be; those, and the way there, are in the cache then.
pub(crate) fn warm_together(searches: &mut [(&[u32], u32)]) {
    let hint = |ids: &[u32]| {
        for place in 1..PARTS {
            prefetch(ids.as_ptr().wrapping_add(place * (ids.len() / PARTS)).wrapping_sub(1));
        }
    };
    searches.iter().for_each(|(ids, _)| hint(ids));
    let mut open = true;
    while std::mem::take(&mut open) {
        for (ids, id) in searches.iter_mut().filter(|(ids, _)| ids.len() > HALVED_MAX) {
            *ids = step(ids, *id).1;
            hint(ids);
            open = true;
        }
    }
}

/// The place of `id` in sorted `ids`: the first, if it occurs more than once.
#[inline]
pub(crate) fn find_sorted(ids: &[u32], id: u32) -> Option<usize> {
    let at = lower_bound(ids, id);
    (ids.get(at) == Some(&id)).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_bound_is_what_partition_point_finds() {
        for len in (0..150u32).chain([1000, 4096, 4097, 70_001]) {
            // Each id twice; gaps between them.
            let ids: Vec<u32> = (0..len).map(|i| i / 2 * 5 + 3).collect();
            let step = (len / 200).max(1);
            for id in (0..len * 3 + 9).step_by(step as usize).chain([0, u32::MAX]) {
                let expected = ids.partition_point(|x| *x < id);
                assert_eq!(lower_bound(&ids, id), expected, "{id} among {len}");
                let found = find_sorted(&ids, id);
                assert_eq!(found, (ids.get(expected) == Some(&id)).then_some(expected));
            }
        }
    }
}
