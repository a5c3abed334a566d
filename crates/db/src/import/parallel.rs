//! Work on many pieces of one text at once.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use super::error::Fault;

/// Size of a piece of text. Large enough that starting one costs nothing, small enough that the
/// threads end together and progress moves.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// Cuts `text[start..]` into pieces of about `chunk_bytes` that end at the end of a line.
pub(super) fn chunks(text: &[u8], start: usize, chunk_bytes: usize) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity((text.len() - start).div_ceil(chunk_bytes));
    let mut from = start;
    while from < text.len() {
        let to = from.saturating_add(chunk_bytes - 1);
        let rest = text.get(to..).unwrap_or_default();
        let to = rest.iter().position(|&b| b == b'\n').map_or(text.len(), |at| to + at + 1);
        pieces.push(from..to);
        from = to;
    }
    pieces
}

/// Calls `work` on each piece, on up to `threads` threads, and returns the results in the order of
/// the pieces. `done` runs on the calling thread, in the order in which pieces end. If pieces fail,
/// the fault of the first of them in the text is returned, whichever failed first.
pub(super) fn map_chunks<T: Send>(
    pieces: &[Range<usize>],
    threads: usize,
    work: impl Fn(usize, Range<usize>) -> Result<T, Fault> + Sync,
    mut done: impl FnMut(&Range<usize>, &T),
) -> Result<Vec<T>, Fault> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.min(pieces.len()) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                // ORDERING: relaxed, only the counter itself is shared; results go by the channel.
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(piece) = pieces.get(index) else {
                        return;
                    };
                    let result = work(index, piece.clone());
                    if result.is_err() {
                        // Pieces are taken in order: those before this one are with a thread.
                        next.fetch_max(pieces.len(), Ordering::Relaxed);
                    }
                    if sender.send((index, result)).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut results: Vec<Option<Result<T, Fault>>> = pieces.iter().map(|_| None).collect();
        for (index, result) in receiver {
            if let Ok(value) = &result {
                done(&pieces[index], value);
            }
            results[index] = Some(result);
        }
        // Only pieces behind a failed one can be missing, and that one ends the collection.
        results.into_iter().flatten().collect()
    })
}

/// Calls `work` once with each item, on up to `threads` threads.
pub(super) fn for_each<T: Send>(items: Vec<T>, threads: usize, work: impl Fn(T) + Sync) {
    if items.is_empty() {
        return;
    }
    let mut shares: Vec<Vec<T>> = Vec::new();
    let share = items.len().div_ceil(threads.max(1));
    let mut items = items.into_iter();
    loop {
        let part: Vec<T> = items.by_ref().take(share).collect();
        if part.is_empty() {
            break;
        }
        shares.push(part);
    }
    let work = &work;
    thread::scope(|scope| {
        for part in shares {
            scope.spawn(move || part.into_iter().for_each(work));
        }
    });
}
