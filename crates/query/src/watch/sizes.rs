//! Bounds on what one call may build.
//!
//! The executor counts the memory of a query between calls; these bounds keep a single call from
//! asking for terabytes first. They are far above what a property may hold.

use std::cell::RefCell;
use std::sync::Arc;

use telar_graph::Value;
use telar_graph::value::NESTING_MAX;

use crate::error::EvalError;
use crate::watch;

/// Longest string that a function or operator builds: 256 MiB.
pub const STRING_BYTES_MAX: usize = 1 << 28;

/// Most elements of a list that a function or operator builds: 2^24, of 24 bytes each, are 384 MiB.
pub const LIST_LEN_MAX: usize = 1 << 24;

/// # Errors
///
/// `ResultTooLarge` when a string of so many bytes is too long, `MemoryBudgetExceeded`.
pub fn check_string(what: &str, bytes: usize) -> Result<(), EvalError> {
    if bytes > STRING_BYTES_MAX {
        return Err(EvalError::too_large(what, "bytes", STRING_BYTES_MAX));
    }
    // It is there twice while it becomes a value.
    watch::room(bytes.saturating_mul(2))
}

/// # Errors
///
/// `ResultTooLarge` when a list of so many elements is too long, `MemoryBudgetExceeded`.
pub fn check_list(what: &str, elements: usize) -> Result<(), EvalError> {
    if elements > LIST_LEN_MAX {
        return Err(EvalError::too_large(what, "elements", LIST_LEN_MAX));
    }
    watch::room(elements.saturating_mul(2 * size_of::<Value>()))
}

/// Most elements of a value with everything in it, written out: what a list shares with others
/// counts as often as it comes, and so do 16 bytes of text. A list of [`LIST_LEN_MAX`] numbers is
/// half of it; written out, the largest value takes some hundred megabytes.
///
/// Sharing makes `reduce(s = [1], i IN range(1, 60) | [s, s])` some kilobytes in memory and 2^60
/// elements for whoever writes, compares or hashes it. So whatever builds a value of others asks
/// [`check_value`], and whoever walks over one knows that the walk ends soon.
pub const VALUE_ELEMENTS_MAX: usize = 1 << 25;

/// Bytes of a text that count as an element.
const TEXT_BYTES: usize = 16;

/// Elements from which on it is remembered how many a list or map has, while it is shared.
const REMEMBERED_MIN: usize = 1 << 10;

/// Lists and maps of which it is remembered on each thread.
const REMEMBERED: usize = 64;

/// How much there is in a value.
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    elements: usize,
    /// Lists and maps in each other.
    levels: u32,
}

thread_local! {
    /// What large lists and maps hold, which come again and again: each is counted once, not for
    /// each row that has it. They are kept here, so that no other comes to their address; until
    /// the statement ends.
    static KNOWN: RefCell<Vec<Option<(Value, Extent)>>> = const { RefCell::new(Vec::new()) };
}

/// Forgets what the values of a statement hold, once it has ended.
pub(crate) fn forget() {
    // PERF: telar bench cypher, point: most statements have none.
    if KNOWN.with_borrow(Vec::is_empty) {
        return;
    }
    // The values are dropped when nothing is borrowed any more.
    drop(KNOWN.take());
}

/// # Errors
///
/// `ResultTooLarge` when a value holds more than [`VALUE_ELEMENTS_MAX`] elements, or lists and maps
/// more than [`NESTING_MAX`] deep.
pub fn check_value(value: &Value) -> Result<(), EvalError> {
    match value {
        Value::List(_) | Value::Map(_) => extent(value, NESTING_MAX).map(|_| ()),
        _ => Ok(()),
    }
}

/// # Errors
///
/// As [`check_value`], for a list with this element.
pub fn check_element(element: &Value) -> Result<(), EvalError> {
    match element {
        Value::List(_) | Value::Map(_) => extent(element, NESTING_MAX - 1).map(|_| ()),
        _ => Ok(()),
    }
}

/// Counts a value, which may have so many levels.
fn extent(value: &Value, levels: u32) -> Result<Extent, EvalError> {
    let (address, shared) = match value {
        Value::List(list) => (list.as_ptr().addr(), Arc::strong_count(list) > 1),
        Value::Map(map) => (Arc::as_ptr(map).addr(), Arc::strong_count(map) > 1),
        Value::String(text) => {
            return Ok(Extent { elements: 1 + text.len() / TEXT_BYTES, levels: 0 });
        }
        Value::Bytes(bytes) => {
            return Ok(Extent { elements: 1 + bytes.len() / TEXT_BYTES, levels: 0 });
        }
        Value::Path(path) => return Ok(Extent { elements: 1 + path.edges().len(), levels: 0 }),
        _ => return Ok(Extent { elements: 1, levels: 0 }),
    };
    let too_deep = || EvalError::too_large("the value", "levels", NESTING_MAX as usize);
    if let Some(known) = known(address, value) {
        return if known.levels <= levels { Ok(known) } else { Err(too_deep()) };
    }
    let below = levels.checked_sub(1).ok_or_else(too_deep)?;
    let mut all = Extent { elements: 1, levels: 1 };
    let mut add = |element: &Value| {
        let Extent { elements, levels } = match element {
            // PERF: lists of numbers are counted as fast as they are made.
            Value::Int(_) | Value::Float(_) | Value::Bool(_) | Value::Null => {
                Extent { elements: 1, levels: 0 }
            }
            element => extent(element, below)?,
        };
        all.elements += elements;
        all.levels = all.levels.max(levels + 1);
        if all.elements > VALUE_ELEMENTS_MAX {
            let what = "the value, written out,";
            return Err(EvalError::too_large(what, "elements", VALUE_ELEMENTS_MAX));
        }
        watch::work(1)
    };
    match value {
        Value::List(list) => list.iter().try_for_each(&mut add)?,
        Value::Map(map) => map.values().try_for_each(&mut add)?,
        _ => {}
    }
    if shared && all.elements >= REMEMBERED_MIN {
        KNOWN.with_borrow_mut(|known| {
            known.resize(REMEMBERED, None);
            known[place(address)].replace((value.clone(), all))
        });
    }
    Ok(all)
}

fn place(address: usize) -> usize {
    (address >> 4).wrapping_mul(0x9e37_79b9) >> 7 & (REMEMBERED - 1)
}

fn known(address: usize, value: &Value) -> Option<Extent> {
    let same = |(known, extent): &(Value, Extent)| {
        let same = match (known, value) {
            (Value::List(a), Value::List(b)) => Arc::ptr_eq(a, b),
            (Value::Map(a), Value::Map(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        same.then_some(*extent)
    };
    KNOWN.with_borrow(|known| known.get(place(address))?.as_ref().and_then(same))
}

/// Appends characters, within the bound of strings.
///
/// # Errors
///
/// `ResultTooLarge` beyond it.
pub(crate) fn extend(out: &mut String, chars: impl Iterator<Item = char>) -> Result<(), EvalError> {
    for c in chars {
        watch::work(1)?;
        out.push(c);
        check_string("the string", out.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of itself, so many times over.
    fn doubled(times: u32) -> Value {
        (0..times).fold(Value::list([1]), |list, _| Value::list([list.clone(), list]))
    }

    #[test]
    fn what_is_shared_counts_as_often_as_it_is_written() {
        assert!(check_value(&doubled(20)).is_ok());
        let error = check_value(&doubled(60)).unwrap_err();
        assert!(error.message.contains("33554432 elements"), "{error}");
        // Through maps, and of texts.
        let map = Value::map([("a", doubled(22)), ("b", doubled(22))]);
        assert!(check_value(&map).is_ok());
        assert!(check_value(&Value::list([map.clone(), map])).is_err());
        let text = Value::from("x".repeat(1 << 20));
        assert!(check_value(&Value::from(vec![text.clone(); 256])).is_ok());
        assert!(check_value(&Value::from(vec![text; 513])).is_err());
        forget();
    }

    #[test]
    fn levels_are_counted_whether_or_not_a_value_is_remembered() {
        let long = Value::from((0..2000).map(Value::Int).collect::<Vec<_>>());
        let nest = |times| (0..times).fold(long.clone(), |inner, _| Value::list([inner]));
        for _ in 0..2 {
            assert!(check_value(&nest(NESTING_MAX - 1)).is_ok());
            assert!(check_value(&nest(NESTING_MAX)).is_err());
            assert!(check_element(&nest(NESTING_MAX - 2)).is_ok());
            assert!(check_element(&nest(NESTING_MAX - 1)).is_err());
        }
        KNOWN.with_borrow(|known| assert!(known.iter().flatten().count() > 0));
        forget();
        KNOWN.with_borrow(|known| assert!(known.is_empty()));
    }
}
