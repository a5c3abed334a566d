//! Steps that a server must be given within a short limit, on a machine that may be busy.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

/// Time after which no attempt is repeated.
const PATIENCE: Duration = Duration::from_secs(120);

/// Repeats an attempt that fails, if this machine was too slow for it: if it took at least the
/// limit that ends it. An attempt that takes longer sets the cell to the time since which the limit
/// counts.
pub(crate) fn within<T>(limit: Duration, mut attempt: impl FnMut(&Cell<Instant>) -> T) -> T {
    let begun = Instant::now();
    loop {
        let since = Cell::new(Instant::now());
        match catch_unwind(AssertUnwindSafe(|| attempt(&since))) {
            Ok(done) => return done,
            Err(failure) if since.get().elapsed() < limit || begun.elapsed() >= PATIENCE => {
                resume_unwind(failure)
            }
            Err(_) => {}
        }
    }
}
