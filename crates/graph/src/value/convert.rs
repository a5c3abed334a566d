//! Conversions between [`Value`] and the usual Rust types.
//!
//! Into a value: what always fits converts with `From`, what may not (`u64`, `usize`) with
//! `TryFrom`. Out of a value: `TryFrom<&Value>`, strict about the type; an integer is not a float.

use std::sync::Arc;

use super::{
    Date, DateTime, Duration, LocalDateTime, LocalTime, Path, Point, Time, Value, ValueMap, Vector,
};
use crate::ids::{EdgeId, VertexId};

/// Why a conversion to or from a [`Value`] failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// The value is of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// Cypher name of the type asked for.
        expected: &'static str,
        /// Cypher name of the value's type.
        found: &'static str,
    },
    /// The integer does not fit the target type.
    #[error("integer {found} does not fit {target}")]
    OutOfRange {
        /// The integer.
        found: i128,
        /// The type that cannot hold it.
        target: &'static str,
    },
}

macro_rules! from {
    ($($source:ty => |$x:ident| $value:expr;)*) => {
        $(
            impl From<$source> for Value {
                #[inline]
                fn from($x: $source) -> Self {
                    $value
                }
            }
        )*
    };
}

from! {
    bool => |x| Self::Bool(x);
    i8 => |x| Self::Int(i64::from(x));
    i16 => |x| Self::Int(i64::from(x));
    i32 => |x| Self::Int(i64::from(x));
    i64 => |x| Self::Int(x);
    u8 => |x| Self::Int(i64::from(x));
    u16 => |x| Self::Int(i64::from(x));
    u32 => |x| Self::Int(i64::from(x));
    f32 => |x| Self::Float(f64::from(x));
    f64 => |x| Self::Float(x);
    &str => |x| Self::String(x.into());
    String => |x| Self::String(x.into());
    Arc<str> => |x| Self::String(x);
    &[u8] => |x| Self::Bytes(x.into());
    Vec<u8> => |x| Self::Bytes(x.into());
    Arc<[u8]> => |x| Self::Bytes(x);
    Vec<Value> => |x| Self::List(x.into());
    Arc<[Value]> => |x| Self::List(x);
    ValueMap => |x| Self::Map(Arc::new(x));
    Date => |x| Self::Date(x);
    LocalTime => |x| Self::LocalTime(x);
    Time => |x| Self::Time(x);
    LocalDateTime => |x| Self::LocalDateTime(x);
    DateTime => |x| Self::DateTime(Arc::new(x));
    Duration => |x| Self::Duration(Arc::new(x));
    Point => |x| Self::Point(Arc::new(x));
    Vector => |x| Self::Vector(Arc::new(x));
    VertexId => |x| Self::Vertex(x);
    EdgeId => |x| Self::Edge(Arc::new(x));
    Path => |x| Self::Path(Arc::new(x));
}

/// `None` becomes null.
impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(x: Option<T>) -> Self {
        x.map_or(Self::Null, Into::into)
    }
}

macro_rules! try_from_unsigned {
    ($($source:ty),*) => {
        $(
            impl TryFrom<$source> for Value {
                type Error = ConversionError;

                fn try_from(x: $source) -> Result<Self, ConversionError> {
                    i64::try_from(x).map(Self::Int).map_err(|_| ConversionError::OutOfRange {
                        found: i128::try_from(x).unwrap_or(i128::MAX),
                        target: "INTEGER",
                    })
                }
            }
        )*
    };
}

try_from_unsigned!(u64, usize);

macro_rules! try_from_value {
    ($($target:ty, $expected:literal, $pattern:pat => $result:expr;)*) => {
        $(
            impl<'a> TryFrom<&'a Value> for $target {
                type Error = ConversionError;

                fn try_from(value: &'a Value) -> Result<Self, ConversionError> {
                    match value {
                        $pattern => Ok($result),
                        other => Err(ConversionError::WrongType {
                            expected: $expected,
                            found: other.type_name(),
                        }),
                    }
                }
            }
        )*
    };
}

try_from_value! {
    bool, "BOOLEAN", Value::Bool(x) => *x;
    i64, "INTEGER", Value::Int(x) => *x;
    f64, "FLOAT", Value::Float(x) => *x;
    &'a str, "STRING", Value::String(x) => x;
    String, "STRING", Value::String(x) => x.to_string();
    &'a [u8], "BYTES", Value::Bytes(x) => x;
    &'a [Value], "LIST", Value::List(x) => x;
    &'a ValueMap, "MAP", Value::Map(x) => x;
    Date, "DATE", Value::Date(x) => *x;
    LocalTime, "LOCAL TIME", Value::LocalTime(x) => *x;
    Time, "ZONED TIME", Value::Time(x) => *x;
    LocalDateTime, "LOCAL DATETIME", Value::LocalDateTime(x) => *x;
    &'a DateTime, "ZONED DATETIME", Value::DateTime(x) => x;
    &'a Duration, "DURATION", Value::Duration(x) => x;
    &'a Point, "POINT", Value::Point(x) => x;
    VertexId, "NODE", Value::Vertex(x) => *x;
    EdgeId, "RELATIONSHIP", Value::Edge(x) => **x;
    &'a Path, "PATH", Value::Path(x) => x;
}

macro_rules! try_from_value_narrow {
    ($($target:ty),*) => {
        $(
            impl TryFrom<&Value> for $target {
                type Error = ConversionError;

                fn try_from(value: &Value) -> Result<Self, ConversionError> {
                    let wide = i64::try_from(value)?;
                    Self::try_from(wide).map_err(|_| ConversionError::OutOfRange {
                        found: i128::from(wide),
                        target: stringify!($target),
                    })
                }
            }
        )*
    };
}

try_from_value_narrow!(i8, i16, i32, u8, u16, u32, u64, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_values_convert_in_and_out() {
        assert_eq!(i64::try_from(&Value::from(7_u32)), Ok(7));
        assert_eq!(<&str>::try_from(&Value::from("telar")), Ok("telar"));
        assert_eq!(<&[u8]>::try_from(&Value::from(vec![1_u8, 2])), Ok(&[1, 2][..]));
        assert!(Value::from(None::<i64>).is_null());
        assert_eq!(Value::from(Some(true)), Value::Bool(true));
    }

    #[test]
    fn wrong_type_or_range_is_an_error() {
        assert_eq!(
            bool::try_from(&Value::Int(1)).unwrap_err().to_string(),
            "expected BOOLEAN, found INTEGER"
        );
        assert_eq!(
            Value::try_from(u64::MAX).unwrap_err().to_string(),
            "integer 18446744073709551615 does not fit INTEGER"
        );
        assert_eq!(
            u8::try_from(&Value::Int(-1)).unwrap_err().to_string(),
            "integer -1 does not fit u8"
        );
    }
}
