//! `apoc.load.json`, `apoc.util.*`: files of the import folder, checks, pauses.

use std::io::Read;
use std::time::{Duration, Instant};

use telar_graph::Value;

use super::args::{self, failed, flag, rows_of};
use super::{Entry, Mode};
use crate::files::open_regular;
use crate::function::apoc::format::formatted;
use crate::function::apoc::json;
use crate::procedure::{CallContext, Rows};
use crate::query_error::{ErrorKind, QueryError};

const R: Mode = Mode::Read;

/// Time between two looks whether the statement is to end.
const PAUSE: Duration = Duration::from_millis(10);

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.load.json",
        R,
        "urlOrKeyOrBinary STRING; path STRING = ''; config MAP = {}",
        "value MAP",
        "The maps of a JSON file in the import folder: of a list each, of several texts each.",
        load_json,
    ),
    (
        "apoc.util.validate",
        R,
        "predicate BOOLEAN; message STRING; params LIST<ANY> = []",
        "",
        "Fails with the message if the condition is true.",
        |_, arguments| {
            if arguments[0] != Value::Bool(true) {
                return Ok(Rows::new());
            }
            let message = args::text("apoc.util.validate", "the message", &arguments[1])?;
            let message = formatted("apoc.util.validate", message, &arguments[2])?;
            Err(failed("apoc.util.validate", &message))
        },
    ),
    (
        "apoc.util.sleep",
        R,
        "duration INTEGER",
        "",
        "Waits so many milliseconds.",
        |call, arguments| {
            let Value::Int(millis) = arguments[0] else { return Ok(Rows::new()) };
            let began = Instant::now();
            let wait = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
            while let Some(left) = wait.checked_sub(began.elapsed()).filter(|left| !left.is_zero())
            {
                call.check()?;
                std::thread::sleep(left.min(PAUSE));
            }
            Ok(Rows::new())
        },
    ),
];

fn load_json(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let name = "apoc.load.json";
    let address = args::text(name, "the address", &arguments[0])?;
    let path = match &arguments[1] {
        Value::String(path) => path,
        _ => "",
    };
    let found = values(call, address, path);
    match found {
        Err(error) if !flag(&args::map(&arguments[2]), "failOnError", true) => {
            call.check().map(|()| drop(error))?;
            Ok(Rows::new())
        }
        found => found,
    }
}

fn values(call: &CallContext<'_>, address: &str, path: &str) -> Result<Rows, QueryError> {
    let wrong = |message: String| {
        let message = format!("apoc.load.json cannot read {address}: {message}");
        QueryError::runtime(ErrorKind::ExternalResource, "ExternalResourceFailed", message)
    };
    let path_of_file = call.import_path(address).map_err(wrong)?;
    let mut file = open_regular(&path_of_file).map_err(|e| wrong(e.to_string()))?;
    let bytes = file.metadata().map_err(|e| wrong(e.to_string()))?.len();
    // The text, and what is made of it.
    call.room(usize::try_from(bytes.saturating_mul(4)).unwrap_or(usize::MAX), "apoc.load.json")?;
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|e| wrong(e.to_string()))?;
    let mut rows = Rows::new();
    for value in json::read_all(&text).map_err(|e| wrong(e.to_string()))? {
        call.check()?;
        match json::at_path(value, path)? {
            Value::Null => {}
            Value::List(list) => rows.extend(rows_of(list.iter().map(as_map))),
            value => rows.push(vec![as_map(&value)]),
        }
    }
    Ok(rows)
}

/// A map as it is; anything else under the key `result`.
fn as_map(value: &Value) -> Value {
    match value {
        Value::Map(_) | Value::Null => value.clone(),
        other => Value::map([("result", other.clone())]),
    }
}
