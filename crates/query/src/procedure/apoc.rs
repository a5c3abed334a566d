//! Procedures that clients know from APOC, with its names, arguments and columns.
//!
//! - `create`: nodes, relationships, labels and properties; `merge`: the same unless they exist.
//! - `refactor`: nodes and relationships made one, turned round, given another type.
//! - `paths`: what can be reached from some nodes; `filter`: the conditions on the way.
//! - `cypher`: query texts as arguments.
//! - `periodic`: batches in transactions of their own; `load`: files, checks, pauses.
//! - `export`: a graph or the rows of a query, as files or texts.
//! - `assert`: the indexes and constraints that are to be.
//! - `meta`: what a graph has, as one map.
//! - `help`: which of them there are.
//! - `args`: arguments and errors of all of them.

mod args;
mod assert;
mod create;
mod cypher;
mod export;
mod filter;
mod help;
mod load;
mod merge;
mod meta;
mod paths;
mod periodic;
mod refactor;

use std::sync::Arc;

use telar_graph::Value;

use super::show::Shown;
use super::{CallContext, Field, Mode, Procedures, RowSource, Rows, known};
use crate::query_error::QueryError;

type Run = fn(&mut CallContext<'_>, &[Value]) -> Result<Rows, QueryError>;
type Stream = fn(&mut CallContext<'_>, &[Value]) -> Result<Box<dyn RowSource>, QueryError>;

/// One entry of the lists: name, mode, arguments, columns, description, code. Arguments are
/// written `name TYPE`, and `name TYPE = {}` or `= []` if they may be left out.
type Entry = (&'static str, Mode, &'static str, &'static str, &'static str, Run);

/// The same of a procedure whose rows are made as they are asked for.
type StreamEntry = (&'static str, Mode, &'static str, &'static str, &'static str, Stream);

fn field(text: &str) -> Field {
    let (text, default) = match text.split_once(" = ") {
        Some((text, default)) => (text, Some(default)),
        None => (text, None),
    };
    let (name, of) = text.split_once(' ').expect("INVARIANT: a name and a type");
    let field = Field::new(name, of);
    match default {
        None => field,
        Some("{}") => field.or(Value::map::<&str, Value>([])),
        Some("[]") => field.or(Value::list::<Value>([])),
        Some("true") => field.or(true),
        Some("false") => field.or(false),
        Some(number) => match number.parse::<i64>() {
            Ok(number) => field.or(number),
            Err(_) => field.or(number.trim_matches('\'')),
        },
    }
}

fn fields(text: &str) -> Vec<Field> {
    text.split("; ").filter(|part| !part.is_empty()).map(field).collect()
}

pub(super) fn add(procedures: &mut Procedures) {
    let lists: [&[Entry]; 10] = [
        create::PROCEDURES,
        merge::PROCEDURES,
        refactor::PROCEDURES,
        cypher::PROCEDURES,
        meta::PROCEDURES,
        paths::PROCEDURES,
        periodic::PROCEDURES,
        load::PROCEDURES,
        help::PROCEDURES,
        assert::PROCEDURES,
    ];
    let mut put = |name, procedure| procedures.add(name, Arc::new(procedure));
    for (name, mode, arguments, columns, description, run) in lists.concat() {
        let run =
            move |call: &mut CallContext<'_>, arguments: &[Value]| run(call, arguments).map(known);
        put(name, Shown::of(mode, description, fields(arguments), fields(columns), run));
    }
    export::add(procedures);
    let mut put = |name: &str, procedure| procedures.add(name, Arc::new(procedure));
    for (name, mode, arguments, columns, description, stream) in paths::STREAMS {
        put(name, Shown::of(*mode, description, fields(arguments), fields(columns), *stream));
    }
}
