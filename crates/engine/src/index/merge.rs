//! Sorted runs as one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::error::Error;

/// Calls `f` with what `next` takes from all runs, each of which is sorted, in order; of equals,
/// that of the earlier run first.
///
/// Cost: a step in a heap of the runs for each, none where a run goes on being the least.
pub(crate) fn merge<R, T: Ord>(
    runs: &mut [R],
    next: impl Fn(&mut R) -> Result<Option<T>, Error>,
    mut f: impl FnMut(T) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut heap = BinaryHeap::with_capacity(runs.len());
    for (number, run) in runs.iter_mut().enumerate() {
        heap.extend(next(run)?.map(|first| Reverse((first, number))));
    }
    while let Some(mut least) = heap.peek_mut() {
        let Reverse((entry, number)) = &mut *least;
        match next(&mut runs[*number])? {
            Some(following) => f(std::mem::replace(entry, following))?,
            None => f(PeekMut::pop(least).0.0)?,
        }
    }
    Ok(())
}
