//! Whether the statement on this thread is to go on: asked by whatever takes long.
//!
//! A statement is given up when its time is over, when somebody ends it, or when it holds much of
//! what a server is out of ([`Budget`]). Operators ask through
//! their `Exec`, batch by batch. What works inside of a batch, before a plan is there, or after its
//! rows have left it, has none: parsing and planning, functions on long texts, comparisons of long
//! lists, encoders of results. They ask here:
//!
//! ```text
//!  Session ── watched(limits) ─┬─ parse, bind, plan ──── check, work
//!                              ├─ operators, functions ─ check, work
//!                              └─ sink: encoders ─────── check, work
//! ```
//!
//! Helpers of a statement watch on their own threads. On a thread that watches nothing, everything
//! goes on.
//!
//! Cost: [`check`] reads the clock and two flags, some tens of nanoseconds; [`work`] counts, and
//! checks every [`UNITS`] units.

mod limits;
pub mod sizes;

pub use limits::Limits;

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use telar_graph::{Value, heap};

use crate::budget::{Budget, SMALL_BYTES, settle_grant};
use crate::error::{Detail, EvalError};

/// Units of work between two looks at the clock. A unit is an element, or some bytes of a text, and
/// takes up to a microsecond.
pub const UNITS: usize = 1 << 12;

/// What ends a statement.
#[derive(Debug, Clone, Default)]
struct Watch {
    deadline: Option<Instant>,
    flags: [Option<Arc<AtomicBool>>; 2],
    /// Bytes that a row of the result may take, written out.
    memory: Option<usize>,
    budget: Option<&'static Budget>,
}

thread_local! {
    static WATCH: RefCell<Watch> = RefCell::default();
    static DONE: Cell<usize> = const { Cell::new(0) };
}

/// What was watched before, put back when dropped.
struct Outer(Option<Watch>);

impl Drop for Outer {
    fn drop(&mut self) {
        // Whatever was granted inside is allocated by now, or was not wanted after all.
        settle_grant();
        if let Some(outer) = self.0.take() {
            WATCH.replace(outer);
            sizes::forget();
        }
    }
}

/// Runs `f`, inside of which [`check`] and [`work`] fail once these limits say so.
pub fn watched<T>(limits: &Limits, f: impl FnOnce() -> T) -> T {
    let flags = [limits.cancelled.clone(), limits.terminated.clone()];
    let budget = limits.budget;
    let watch = Watch { deadline: limits.deadline, flags, memory: limits.memory, budget };
    let _outer = Outer(Some(WATCH.replace(watch)));
    f()
}

/// Whether the statement on this thread goes on.
///
/// # Errors
/// `TimedOut` after its deadline, `Terminated` if somebody wants it to end,
/// `MemoryBudgetExceeded` if the server has no memory left for it.
pub fn check() -> Result<(), EvalError> {
    WATCH.with_borrow(|watch| ended(watch.deadline, watch.flags.iter().flatten(), watch.budget))
}

/// True once the statement on this thread is to be given up.
pub(crate) fn is_over() -> bool {
    check().is_err()
}

/// The same for a deadline, flags and a budget.
pub(crate) fn ended<'f>(
    deadline: Option<Instant>,
    flags: impl IntoIterator<Item = &'f Arc<AtomicBool>>,
    budget: Option<&Budget>,
) -> Result<(), EvalError> {
    raised(flags)?;
    if let Some(budget) = budget {
        settle_grant();
        budget.room(heap::since_mark(), 0)?;
    }
    if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
        let message = "the query took longer than its time limit";
        return Err(EvalError::new(Detail::TimedOut, message));
    }
    Ok(())
}

/// Whether somebody wants it to end.
#[inline]
pub(crate) fn raised<'f>(
    flags: impl IntoIterator<Item = &'f Arc<AtomicBool>>,
) -> Result<(), EvalError> {
    // ORDERING: relaxed, as nothing else is read because of the flag.
    if flags.into_iter().any(|flag| flag.load(Ordering::Relaxed)) {
        return Err(EvalError::new(Detail::Terminated, "the query was terminated"));
    }
    Ok(())
}

/// Notes that so many units of work are about to be done, and checks from time to time.
///
/// # Errors
/// As [`check`].
#[inline]
pub fn work(units: usize) -> Result<(), EvalError> {
    let done = DONE.get() + units.min(UNITS);
    if done < UNITS {
        DONE.set(done);
        return Ok(());
    }
    DONE.set(0);
    check()
}

/// Whether there is room for so many bytes more: asked before they are allocated, where it may be
/// many.
///
/// # Errors
/// `MemoryBudgetExceeded`.
#[inline]
pub fn room(bytes: usize) -> Result<(), EvalError> {
    if bytes < SMALL_BYTES {
        return Ok(());
    }
    WATCH.with_borrow(|watch| match &watch.budget {
        Some(budget) => budget.grant(heap::since_mark(), bytes),
        None => Ok(()),
    })
}

/// Notes what an encoder writes: so many units of work, in a row that takes so many bytes so far.
///
/// # Errors
/// As [`check`], and `ResultTooLarge` if a row takes more than a statement may hold.
#[inline]
pub fn wrote(units: usize, row_bytes: usize) -> Result<(), EvalError> {
    let done = DONE.get() + units.min(UNITS);
    if done < UNITS {
        DONE.set(done);
        return Ok(());
    }
    DONE.set(0);
    check()?;
    match WATCH.with_borrow(|watch| watch.memory) {
        Some(most) if row_bytes > most => {
            let message = format!(
                "a row of the result takes more than the {most} bytes that a statement may hold; \
                 limits.statement_memory (Limits::memory) raises it"
            );
            Err(EvalError::new(Detail::ResultTooLarge, message))
        }
        _ => Ok(()),
    }
}

/// How much work it is to write a value, without what is in it.
#[must_use]
pub fn units_of(value: &Value) -> usize {
    /// Bytes that are copied in the time of a unit.
    const BYTES: usize = 256;
    match value {
        Value::String(text) => 1 + text.len() / BYTES,
        Value::Bytes(bytes) => 1 + bytes.len() / BYTES,
        Value::Vector(vector) => 1 + vector.bytes() / BYTES,
        // They are read from the graph.
        Value::Vertex(_) | Value::Edge(_) => 16,
        _ => 1,
    }
}

/// Checks before a value is compared, hashed or handed to a function, if that may take long.
///
/// # Errors
/// As [`check`].
#[inline]
pub(crate) fn before(value: &Value) -> Result<(), EvalError> {
    if is_large(value) { check() } else { work(1) }
}

/// Bytes of a value, without what is in its elements.
pub(crate) fn shallow_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        Value::Vector(vector) => vector.bytes(),
        Value::List(list) => size_of_val(&**list),
        _ => size_of::<Value>(),
    }
}

/// Whether to compare, hash or copy a value may take more than some microseconds.
#[inline]
pub(crate) fn is_large(value: &Value) -> bool {
    /// Bytes of a text that is read in a microsecond.
    const TEXT_BYTES: usize = 4 << 10;
    match value {
        Value::List(_) | Value::Map(_) => true,
        Value::String(text) => text.len() > TEXT_BYTES,
        _ => false,
    }
}

#[test]
fn what_is_watched_ends_when_it_is_told_and_what_was_before_goes_on() {
    let flag = Arc::new(AtomicBool::new(false));
    let limits = Limits { cancelled: Some(Arc::clone(&flag)), ..Limits::default() };
    let over = Limits { deadline: Some(Instant::now()), ..Limits::default() };
    watched(&limits, || {
        check().unwrap();
        watched(&over, || assert_eq!(check().unwrap_err().detail, Detail::TimedOut));
        check().unwrap();
        flag.store(true, Ordering::Relaxed);
        assert_eq!(check().unwrap_err().detail, Detail::Terminated);
        assert!((0..=UNITS).any(|_| work(1).is_err()) && work(usize::MAX).is_err());
    });
    check().unwrap();
    work(usize::MAX).unwrap();
}
