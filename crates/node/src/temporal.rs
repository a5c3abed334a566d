//! Dates, times and durations as texts: the classes of JavaScript read and write them here, so that
//! they are those of Cypher.

use std::fmt::Display;
use std::str::FromStr;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::Columns;
use telar_db::value::{Date, DateTime, Duration, LocalDateTime, LocalTime, Time};

use crate::codec;
use crate::error::{Answer, Failure, answer};

/// Texts of values.
#[napi]
pub struct Texts;

#[napi]
impl Texts {
    /// The text of an encoded value, as `toString()` in Cypher.
    #[napi]
    pub fn of(bytes: &[u8]) -> Answer<String> {
        answer(codec::value(bytes).map_err(|e| Failure::range(e.0)).map(|value| match value {
            Value::Date(at) => at.to_string(),
            Value::LocalTime(at) => format!("{at:#}"),
            Value::Time(at) => format!("{at:#}"),
            Value::LocalDateTime(at) => format!("{at:#}"),
            Value::DateTime(at) => format!("{at:#}"),
            Value::Duration(at) => at.to_string(),
            other => other.type_name().to_owned(),
        }))
    }

    /// The value that a text stands for, by the name of its type in Cypher: the one cell of a
    /// chunk.
    #[napi]
    pub fn parse(kind: String, text: String) -> Answer<Buffer> {
        fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, Failure> {
            text.parse().map_err(|e: T::Err| Failure::range(e.to_string()))
        }
        let value = match &*kind {
            "DATE" => parsed::<Date>(&text).map(Value::Date),
            "LOCAL TIME" => parsed::<LocalTime>(&text).map(Value::LocalTime),
            "ZONED TIME" => parsed::<Time>(&text).map(Value::Time),
            "LOCAL DATETIME" => parsed::<LocalDateTime>(&text).map(Value::LocalDateTime),
            "ZONED DATETIME" => parsed::<DateTime>(&text).map(|at| Value::DateTime(at.into())),
            _ => parsed::<Duration>(&text).map(|duration| Value::Duration(duration.into())),
        };
        answer(value.map(|value| {
            let columns = Columns::of([("value".into(), Column::of(vec![value]))]);
            codec::chunk(&columns, 0, 1).into()
        }))
    }
}
