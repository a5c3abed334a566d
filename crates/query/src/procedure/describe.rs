//! Arguments and results, as `SHOW PROCEDURES` and `SHOW FUNCTIONS` describe them.

use telar_graph::Value;

/// An argument or column as `SHOW PROCEDURES` and `SHOW FUNCTIONS` describe it.
pub(super) fn described(name: &str, of: &str, default: Option<String>) -> Value {
    let text = format!("{name} :: {of}");
    let mut entries = vec![
        ("name", Value::from(name)),
        ("type", of.into()),
        ("description", text.into()),
        ("isDeprecated", false.into()),
    ];
    entries.extend(default.map(|default| ("default", default.into())));
    Value::map(entries)
}

/// The arguments of a signature `name(a :: A, b = 1 :: B) :: R`, and its result.
pub(super) fn taken_apart(signature: &str) -> (Vec<Value>, &str) {
    let (head, result) = signature.rsplit_once(") :: ").unwrap_or((signature, ""));
    let (_, inside) = head.split_once('(').unwrap_or_default();
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inside[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inside[start..]);
    let argument = |part: &str| {
        let (name, of) = part.trim().split_once(" :: ")?;
        let (name, default) = match name.split_once(" = ") {
            Some((name, default)) => (name, Some(default.to_owned())),
            None => (name, None),
        };
        Some(described(name, of, default))
    };
    (parts.into_iter().filter_map(argument).collect(), result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{aggregate, function};

    #[test]
    fn signatures_are_taken_apart() {
        let (arguments, result) = taken_apart("f(a :: LIST<A, B>, b = 1 :: STRING) :: INTEGER");
        assert_eq!(result, "INTEGER");
        assert_eq!(arguments[0], described("a", "LIST<A, B>", None));
        assert_eq!(arguments[1], described("b", "STRING", Some("1".to_owned())));
        assert_eq!(taken_apart("pi() :: FLOAT"), (Vec::new(), "FLOAT"));
    }

    /// Every signature in the tables has a result, and at least the arguments it cannot do without.
    #[test]
    fn the_tables_have_such_signatures() {
        for f in function::all() {
            let (arguments, result) = taken_apart(f.signature);
            assert!(!result.is_empty() && arguments.len() >= f.args_min, "{}", f.signature);
        }
        for f in aggregate::all() {
            assert_eq!(taken_apart(f.signature).0.len(), f.args, "{}", f.signature);
        }
    }
}
