//! Named places in the code where a test makes something go wrong.
//!
//! ```text
//!  failpoint!("wal::before_sync");                          abort or sleep here
//!  failpoint!("wal::before_sync", |cause| Err(wrap(cause))); … or return from this function
//!
//!  TELAR_FAILPOINTS="wal::before_sync=abort@3;wal::after_sync=sleep(20)"
//!                    └── name ───────┘ └─┬─┘└┬┘
//!                                     action on the n-th hit only (every hit without `@n`)
//!  action: abort | error | sleep(milliseconds)
//! ```
//!
//! Without the feature `failpoints` the macro expands to nothing and none of this is compiled in.
//! With it, hits are counted once the process *listens*: it was started with the variable, which
//! may be empty, or has set something. So `names_hit` lists the failpoints that a workload
//! reaches, and a test can crash at each of them in turn.
//!
//! Cost with the feature: two loads and branches per hit; a lock and a map lookup in a process that
//! listens.

/// Marks a place where a test can make the process die, stall or fail.
///
/// With one argument `abort` and `sleep` work, and `error` panics, because there is nothing to
/// return. The second argument is a closure that makes the enclosing function's result of the
/// injected `std::io::Error`; the macro returns it.
#[macro_export]
#[cfg(feature = "failpoints")]
macro_rules! failpoint {
    ($name:expr) => {
        if let Some(cause) = $crate::failpoint::hit($name) {
            panic!("failpoint {} cannot return an error: {cause}", $name);
        }
    };
    ($name:expr, $result:expr) => {
        if let Some(cause) = $crate::failpoint::hit($name) {
            return $crate::failpoint::apply(cause, $result);
        }
    };
}

/// Marks a place where a test can make the process die, stall or fail: nothing in this build.
#[macro_export]
#[cfg(not(feature = "failpoints"))]
macro_rules! failpoint {
    ($name:expr) => {};
    ($name:expr, $result:expr) => {};
}

#[cfg(feature = "failpoints")]
pub use enabled::{Action, apply, clear, hit, is_set, names_hit, set, set_nth};

#[cfg(feature = "failpoints")]
mod enabled {
    use std::collections::BTreeMap;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
    use std::time::Duration;

    /// The environment variable that sets failpoints from outside the process.
    const VARIABLE: &str = "TELAR_FAILPOINTS";

    /// What happens at a failpoint.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Action {
        /// The process dies at once, as if killed.
        Abort,
        /// The enclosing function returns an `io::Error`.
        Error,
        /// The thread sleeps for this many milliseconds.
        SleepMs(u64),
    }

    #[derive(Default)]
    struct Point {
        hits: u64,
        /// The action, and the hit it waits for (every hit if none).
        armed: Option<(Action, Option<u64>)>,
    }

    // std's atomic and lock, not `crate::sync`'s: they are used outside of shuttle's executions as
    // well.
    //
    // Without this one every hit would take the lock: threads that a test wants to race would take
    // turns.
    static LISTENS: LazyLock<AtomicBool> =
        LazyLock::new(|| AtomicBool::new(std::env::var_os(VARIABLE).is_some()));

    // One registry for the process: failpoints are reached from code that knows nothing of tests.
    static POINTS: LazyLock<Mutex<BTreeMap<String, Point>>> = LazyLock::new(|| {
        let text = std::env::var(VARIABLE).unwrap_or_default();
        Mutex::new(parse(&text).unwrap_or_else(|error| panic!("{VARIABLE}: {error}")))
    });

    fn listens() -> bool {
        // What is set is met by this thread, and by those that learn of it from this thread.
        LISTENS.load(Ordering::Relaxed)
    }

    fn points() -> MutexGuard<'static, BTreeMap<String, Point>> {
        POINTS.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn parse(text: &str) -> Result<BTreeMap<String, Point>, String> {
        let mut parsed = BTreeMap::new();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            let (name, rest) =
                entry.split_once('=').ok_or_else(|| format!("no '=' in '{entry}'"))?;
            let (action, nth) = match rest.split_once('@') {
                Some((action, nth)) => (action, Some(number(nth)?)),
                None => (rest, None),
            };
            let armed = Some((parse_action(action.trim())?, nth));
            parsed.insert(name.trim().to_owned(), Point { hits: 0, armed });
        }
        Ok(parsed)
    }

    fn parse_action(text: &str) -> Result<Action, String> {
        let sleep = text.strip_prefix("sleep(").and_then(|rest| rest.strip_suffix(')'));
        match (text, sleep) {
            ("abort", _) => Ok(Action::Abort),
            ("error", _) => Ok(Action::Error),
            (_, Some(milliseconds)) => Ok(Action::SleepMs(number(milliseconds)?)),
            _ => Err(format!("unknown action '{text}'")),
        }
    }

    fn number(text: &str) -> Result<u64, String> {
        text.trim().parse().map_err(|error| format!("'{text}': {error}"))
    }

    /// Makes every hit of `name` do `action`.
    pub fn set(name: &str, action: Action) {
        arm(name, action, None);
    }

    /// Makes the `nth` hit of `name` from now on (the next one is 1) do `action`.
    pub fn set_nth(name: &str, action: Action, nth: u64) {
        arm(name, action, Some(nth));
    }

    fn arm(name: &str, action: Action, nth: Option<u64>) {
        let armed = Some((action, nth));
        points().insert(name.to_owned(), Point { hits: 0, armed });
        LISTENS.store(true, Ordering::Relaxed);
    }

    /// Forgets every setting and every count.
    pub fn clear() {
        points().clear();
    }

    /// Returns the names of the failpoints hit since the process listens, or since the last
    /// [`clear`], sorted.
    pub fn names_hit() -> Vec<String> {
        let points = points();
        points.iter().filter(|(_, point)| point.hits > 0).map(|(name, _)| name.clone()).collect()
    }

    /// Returns whether the next hit of `name` does something.
    ///
    /// For places that must prepare for it, as a torn write that has to be torn first.
    pub fn is_set(name: &str) -> bool {
        listens()
            && points().get(name).is_some_and(|point| match point.armed {
                Some((_, Some(nth))) => point.hits + 1 == nth,
                armed => armed.is_some(),
            })
    }

    /// Counts a hit of `name` and does what is set; returns the error to inject, if any.
    #[inline]
    pub fn hit(name: &str) -> Option<io::Error> {
        if listens() { act(name) } else { None }
    }

    fn act(name: &str) -> Option<io::Error> {
        let mut points = points();
        if !points.contains_key(name) {
            points.insert(name.to_owned(), Point::default());
        }
        let point = points.get_mut(name)?;
        point.hits += 1;
        let (action, nth) = point.armed?;
        if nth.is_some_and(|nth| nth != point.hits) {
            return None;
        }
        drop(points);
        match action {
            Action::Abort => std::process::abort(),
            Action::Error => Some(io::Error::other(format!("failpoint {name}"))),
            Action::SleepMs(milliseconds) => {
                std::thread::sleep(Duration::from_millis(milliseconds));
                None
            }
        }
    }

    /// Returns `result(cause)`; it gives the closure of the macro its argument's type.
    #[doc(hidden)]
    pub fn apply<R>(cause: io::Error, result: impl FnOnce(io::Error) -> R) -> R {
        result(cause)
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn failpoint_variable_is_parsed_or_refused() {
            let parsed = parse(" a::b = abort@3 ; c=sleep(20);d=error;").unwrap();
            assert_eq!(parsed["a::b"].armed, Some((Action::Abort, Some(3))));
            assert_eq!(parsed["c"].armed, Some((Action::SleepMs(20), None)));
            assert_eq!(parsed["d"].armed, Some((Action::Error, None)));
            for wrong in ["a", "a=explode", "a=abort@x", "a=sleep(x)"] {
                assert!(parse(wrong).is_err(), "{wrong}");
            }
        }
    }
}
