//! Histories that programs in other languages have recorded, as text.
//!
//! One transaction in each line, in any order; the last line is what was read in the end, by one
//! transaction, of every list and of the set:
//!
//! ```text
//!  {"thread": 3, "begin": 17, "end": 21, "outcome": "acknowledged", "ops": [...]}
//!
//!  outcome  acknowledged, refused, unknown
//!  op       ["read", KEY, [ID, ...]] · ["append", KEY, ID] · ["marked", [ITEM, ...]] · ["mark", ITEM]
//! ```

use serde_json::Value;

use crate::graph::{Found, Level, check};
use crate::history::{Op, Set};
use crate::outcomes::{Counts, Outcome, Recorded, resolved, txns};

/// Reads a history, and looks for anomalies that snapshot isolation forbids, and for transactions
/// that did not see what had ended before they began.
///
/// # Errors
/// The fault of a line, or of the history.
pub fn check_text(text: &str) -> Result<(Counts, Found), String> {
    let lines = text.lines().enumerate();
    let read = |(at, line): (usize, &str)| {
        recorded(line).ok_or_else(|| format!("line {}: no transaction: {line}", at + 1))
    };
    let mut history = lines.map(read).collect::<Result<Vec<_>, _>>()?;
    if history.is_empty() {
        return Err("no transaction was recorded".into());
    }
    let counts = resolved(&mut history);
    let found = check(&txns(&history), Level::Snapshot);
    found.map(|found| (counts, found)).map_err(|e| format!("{:?}: {}", e.kind, e.text))
}

fn recorded(line: &str) -> Option<Recorded> {
    let line: Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| line.get(name)?.as_u64();
    let outcome = match line.get("outcome")?.as_str()? {
        "acknowledged" => Outcome::Acknowledged,
        "refused" => Outcome::Refused,
        "unknown" => Outcome::Unknown,
        _ => return None,
    };
    let ops = line.get("ops")?.as_array()?.iter().map(op).collect::<Option<_>>()?;
    let thread = usize::try_from(number("thread")?).ok()?;
    Some(Recorded::new(thread, (number("begin")?, number("end")?), ops, outcome))
}

fn op(op: &Value) -> Option<Op> {
    match &op.as_array()?[..] {
        [kind, key, ids] if kind == "read" => {
            let ids = ids.as_array()?.iter().map(Value::as_i64).collect::<Option<_>>()?;
            Some(Op::ReadList { key: key.as_u64()?, ids })
        }
        [kind, key, id] if kind == "append" => {
            Some(Op::Append { key: key.as_u64()?, id: id.as_i64()? })
        }
        [kind, members] if kind == "marked" => {
            let members = members.as_array()?.iter().map(Value::as_u64);
            let mut members = members.collect::<Option<Vec<_>>>()?;
            members.sort_unstable();
            Some(Op::ReadSet { set: Set::Label, members })
        }
        [kind, item] if kind == "mark" => {
            Some(Op::Insert { item: item.as_u64()?, sets: vec![Set::Label] })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: &str = r#"{"thread": 0, "begin": 0, "end": 1, "outcome": "acknowledged",
        "ops": [["read", 0, []], ["append", 0, 7], ["mark", 1]]}"#;
    const LOST: &str = r#"{"thread": 1, "begin": 2, "end": 3, "outcome": "unknown",
        "ops": [["read", 0, [7]], ["append", 0, 8]]}"#;

    fn text(lines: &[&str]) -> String {
        let lines: Vec<_> = lines.iter().map(|line| line.replace('\n', " ")).collect();
        lines.join("\n")
    }

    fn last(ids: &str) -> String {
        let ops = format!(r#"[["read", 0, [{ids}]], ["marked", [1]]]"#);
        format!(r#"{{"thread": 2, "begin": 8, "end": 9, "outcome": "acknowledged", "ops": {ops}}}"#)
    }

    #[test]
    fn what_is_not_known_is_decided_by_the_last_reads() {
        let (counts, found) = check_text(&text(&[WRITTEN, LOST, &last("7, 8")])).unwrap();
        assert_eq!((counts.acknowledged, counts.unknown_made), (2, 1));
        assert_eq!(found.ww, 1);
        let (counts, _) = check_text(&text(&[WRITTEN, LOST, &last("7")])).unwrap();
        assert_eq!((counts.acknowledged, counts.unknown_not_made), (2, 1));
    }

    #[test]
    fn what_is_wrong_is_found() {
        // What was acknowledged is not there, and what was refused is.
        let error = check_text(&text(&[WRITTEN, LOST, &last("")])).unwrap_err();
        assert!(error.starts_with("LostUpdate"), "{error}");
        let refused = LOST.replace("unknown", "refused");
        let error = check_text(&text(&[WRITTEN, &refused, &last("7, 8")])).unwrap_err();
        assert!(error.starts_with("G1a"), "{error}");
        // A read of what was before a commit that had ended.
        let stale = r#"{"thread": 1, "begin": 2, "end": 3, "outcome": "acknowledged",
            "ops": [["read", 0, []]]}"#;
        assert!(check_text(&text(&[WRITTEN, stale, &last("7")])).is_err());
        assert!(check_text("").unwrap_err().contains("no transaction"));
        let cut = &WRITTEN.replace('\n', " ")[..50];
        assert!(check_text(cut).unwrap_err().starts_with("line 1:"));
        let other = WRITTEN.replace("mark", "paint");
        assert!(check_text(&text(&[&other])).unwrap_err().starts_with("line 1:"));
    }
}
