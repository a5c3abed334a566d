//! Bounds on what one call may build.
//!
//! The executor counts the memory of a query between calls; these bounds keep a single call from
//! asking for terabytes first. They are far above what a property may hold.

use telar_graph::Value;
use telar_graph::value::NESTING_MAX;

use crate::error::EvalError;

/// Longest string that a function or operator builds: 256 MiB.
pub const STRING_BYTES_MAX: usize = 1 << 28;

/// Most elements of a list that a function or operator builds: 2^24, of 24 bytes each, are 384 MiB.
pub const LIST_LEN_MAX: usize = 1 << 24;

/// # Errors
///
/// `ResultTooLarge` when a string of so many bytes is too long.
pub fn check_string(what: &str, bytes: usize) -> Result<(), EvalError> {
    if bytes > STRING_BYTES_MAX {
        return Err(EvalError::too_large(what, "bytes", STRING_BYTES_MAX));
    }
    Ok(())
}

/// # Errors
///
/// `ResultTooLarge` when a list of so many elements is too long.
pub fn check_list(what: &str, elements: usize) -> Result<(), EvalError> {
    if elements > LIST_LEN_MAX {
        return Err(EvalError::too_large(what, "elements", LIST_LEN_MAX));
    }
    Ok(())
}

/// # Errors
///
/// `ResultTooLarge` when a list of this element would nest deeper than [`NESTING_MAX`].
pub fn check_element(element: &Value) -> Result<(), EvalError> {
    if element.nests_within(NESTING_MAX - 1) {
        return Ok(());
    }
    Err(EvalError::too_large("the list", "levels", NESTING_MAX as usize))
}

/// Appends characters, within the bound of strings.
///
/// # Errors
///
/// `ResultTooLarge` beyond it.
pub(crate) fn extend(out: &mut String, chars: impl Iterator<Item = char>) -> Result<(), EvalError> {
    for c in chars {
        out.push(c);
        check_string("the string", out.len())?;
    }
    Ok(())
}
