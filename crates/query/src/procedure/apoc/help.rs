//! `apoc.help`: the procedures and functions of APOC that are here, by a part of their names.

use telar_graph::Value;

use super::{Entry, Mode};
use crate::function;
use crate::procedure::{CallContext, Rows, signature};
use crate::query_error::QueryError;

pub(super) const PROCEDURES: &[Entry] = &[(
    "apoc.help",
    Mode::Read,
    "proc STRING",
    "type STRING; name STRING; text STRING; signature STRING; roles LIST<STRING>; writes BOOLEAN; \
     core BOOLEAN; isDeprecated BOOLEAN",
    "The procedures and functions of APOC whose names or descriptions hold a text.",
    help,
)];

fn help(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let Value::String(sought) = &arguments[0] else { return Ok(Rows::new()) };
    let sought = sought.to_lowercase();
    let mut rows = Rows::new();
    let mut add = |kind: &str, name: &str, text: &str, signature: String, writes: Value| {
        let fits = |text: &str| text.to_lowercase().contains(&sought);
        if name.starts_with("apoc.") && (fits(name) || fits(text)) {
            rows.push(vec![
                kind.into(),
                name.into(),
                text.into(),
                signature.into(),
                Value::Null,
                writes,
                true.into(),
                false.into(),
            ]);
        }
    };
    for (name, procedure) in call.procedures().iter() {
        let writes = procedure.mode().changes().into();
        add("procedure", name, procedure.description(), signature(name, procedure), writes);
    }
    for f in function::all() {
        add("function", f.name, f.description, f.signature.to_owned(), Value::Null);
    }
    for f in &function::apoc::graph::FUNCTIONS {
        let signature = format!("{}{}", f.name, f.signature);
        add("function", f.name, f.description, signature, Value::Null);
    }
    Ok(rows)
}
