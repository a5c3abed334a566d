//! What time it is.
//!
//! `datetime()` and `datetime.statement()` are the same throughout a statement, and
//! `datetime.transaction()` throughout a transaction; `datetime.realtime()` is the clock itself.
//! An argument may name a time zone.

use telar_graph::Value;

use super::{Kind, Zone, construct, in_zone};
use crate::error::EvalError;
use crate::function::{Context, Eval, Function, Moment};
use crate::query_error::ErrorKind;

/// Which clock.
#[derive(Clone, Copy)]
enum Which {
    Statement,
    Transaction,
    RealTime,
}

const fn f(
    name: &'static str,
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Temporal", (0, 1), signature, description, eval).reads_context()
}

/// The four functions of one type.
macro_rules! clocks {
    ($name:literal, $kind:expr, $result:literal, $what:literal) => {
        [
            f(
                $name,
                concat!($name, "(input = DEFAULT_TEMPORAL_ARGUMENT :: ANY) :: ", $result),
                concat!("The ", $what, " in a text, a map or another value, or else now."),
                |args, context| match args {
                    [input, ..] => construct::construct($kind, input, context),
                    [] => current($kind, Which::Statement, args, context),
                },
            ),
            f(
                concat!($name, ".realtime"),
                concat!(
                    $name,
                    ".realtime(timezone = DEFAULT_TEMPORAL_ARGUMENT :: ANY) :: ",
                    $result
                ),
                concat!("The ", $what, " that the clock shows."),
                |args, context| current($kind, Which::RealTime, args, context),
            )
            .volatile(),
            f(
                concat!($name, ".statement"),
                concat!(
                    $name,
                    ".statement(timezone = DEFAULT_TEMPORAL_ARGUMENT :: ANY) :: ",
                    $result
                ),
                concat!("The ", $what, " when the statement began."),
                |args, context| current($kind, Which::Statement, args, context),
            ),
            f(
                concat!($name, ".transaction"),
                concat!(
                    $name,
                    ".transaction(timezone = DEFAULT_TEMPORAL_ARGUMENT :: ANY) :: ",
                    $result
                ),
                concat!("The ", $what, " when the transaction began."),
                |args, context| current($kind, Which::Transaction, args, context),
            ),
        ]
    };
}

/// Every clock function, type by type.
const TABLE: [[Function; 4]; 5] = [
    clocks!("date", Kind::Date, "DATE", "date"),
    clocks!("datetime", Kind::DateTime, "ZONED DATETIME", "date and time"),
    clocks!("localdatetime", Kind::LocalDateTime, "LOCAL DATETIME", "local date and time"),
    clocks!("localtime", Kind::LocalTime, "LOCAL TIME", "local time"),
    clocks!("time", Kind::Time, "ZONED TIME", "time"),
];

pub(in crate::function) static FUNCTIONS: &[Function] = TABLE.as_flattened();

fn current(
    kind: Kind,
    clock: Which,
    args: &[Value],
    context: &Context,
) -> Result<Value, EvalError> {
    let moment = match clock {
        Which::Statement => context.statement,
        Which::Transaction => context.transaction,
        Which::RealTime => context.clock.now(),
    };
    let zone = match args.first() {
        None => context.zone.clone(),
        Some(Value::String(name)) => Zone::parse(name)?,
        Some(Value::Map(map)) => match map.iter().next() {
            Some((key, Value::String(name))) if map.len() == 1 && &**key == "timezone" => {
                Zone::parse(name)?
            }
            _ => {
                let error = EvalError::argument_value("expected a map of one timezone");
                return Err(error.of_kind(ErrorKind::ProcedureFailed));
            }
        },
        Some(other) => {
            let error = EvalError::argument_type(kind.name(), "the name of a time zone", other);
            return Err(error.of_kind(ErrorKind::ProcedureFailed));
        }
    };
    at(kind, &zone, moment)
}

/// What clocks in the zone show at a moment, as a value of this type.
pub(super) fn at(kind: Kind, zone: &Zone, moment: Moment) -> Result<Value, EvalError> {
    let now = in_zone(zone, moment)?;
    Ok(match kind {
        Kind::Date => now.date().into(),
        Kind::LocalTime => now.time().into(),
        Kind::Time => telar_graph::value::Time::new(now.time(), now.offset()).into(),
        Kind::LocalDateTime => now.local().into(),
        Kind::DateTime => now.into(),
    })
}
