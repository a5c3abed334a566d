//! Types that a constraint can demand of a property.

use std::borrow::Cow;

use crate::Value;
use crate::value::{CoordinateType, Vector};

macro_rules! property_types {
    ($($number:literal $name:ident $text:literal => $pattern:pat,)*) => {
        /// A type of property values.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the type of its name")]
        pub enum PropertyType {
            $($name,)*
            /// Vectors of one type and dimension.
            Vector(CoordinateType, u16),
        }

        impl PropertyType {
            /// Its number in the log and in checkpoints.
            #[must_use]
            pub fn number(self) -> u64 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Vector(ty, dimension) => {
                        VECTOR | u64::from(ty.number()) << 8 | u64::from(dimension) << 16
                    }
                }
            }

            /// The type with a number.
            #[must_use]
            pub fn from_number(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => Self::vector_of_number(number),
                }
            }

            /// Its name in Cypher.
            #[must_use]
            pub fn name(self) -> Cow<'static, str> {
                match self {
                    $(Self::$name => $text.into(),)*
                    Self::Vector(ty, dimension) => {
                        format!("VECTOR<{ty} NOT NULL>({dimension})").into()
                    }
                }
            }

            /// Every type, those of vectors left out.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Whether `value` is of this type. Null is of every type.
            #[must_use]
            pub fn admits(self, value: &Value) -> bool {
                match self {
                    $(Self::$name => matches!(value, Value::Null | $pattern),)*
                    Self::Vector(ty, dimension) => match value {
                        Value::Vector(vector) => {
                            vector.coordinate_type() == ty
                                && vector.dimension() == usize::from(dimension)
                        }
                        other => other.is_null(),
                    },
                }
            }
        }
    };
}

/// Lowest byte of the number of a type of vectors, whose coordinate type and dimension are above.
const VECTOR: u64 = 16;

impl PropertyType {
    /// The name of a value's type, with what tells vectors apart.
    #[must_use]
    pub fn name_of(value: &Value) -> Cow<'static, str> {
        match value {
            Value::Vector(vector) => {
                Self::Vector(vector.coordinate_type(), vector.dimension() as u16).name()
            }
            other => other.type_name().into(),
        }
    }

    fn vector_of_number(number: u64) -> Option<Self> {
        let ty = CoordinateType::from_number((number >> 8) as u8)?;
        let dimension = u16::try_from(number >> 16).ok()?;
        let valid = number & 0xff == VECTOR && Vector::check_dimension(dimension.into()).is_ok();
        valid.then_some(Self::Vector(ty, dimension))
    }
}

// Numbers stand in the log and in checkpoints and are never given anew.
property_types! {
    1 Bool "BOOLEAN" => Value::Bool(_),
    2 Int "INTEGER" => Value::Int(_),
    3 Float "FLOAT" => Value::Float(_),
    4 String "STRING" => Value::String(_),
    5 Bytes "BYTES" => Value::Bytes(_),
    6 List "LIST" => Value::List(_),
    7 Map "MAP" => Value::Map(_),
    8 Date "DATE" => Value::Date(_),
    9 LocalTime "LOCAL TIME" => Value::LocalTime(_),
    10 Time "ZONED TIME" => Value::Time(_),
    11 LocalDateTime "LOCAL DATETIME" => Value::LocalDateTime(_),
    12 DateTime "ZONED DATETIME" => Value::DateTime(_),
    13 Duration "DURATION" => Value::Duration(_),
    14 Point "POINT" => Value::Point(_),
    15 Number "INTEGER | FLOAT" => Value::Int(_) | Value::Float(_),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_numbers_of_their_own() {
        assert_eq!(PropertyType::ALL.len(), 15);
        for number in 1..=15 {
            let ty = PropertyType::from_number(number).unwrap();
            assert_eq!(ty.number(), number);
            assert!(ty.admits(&Value::Null));
        }
        assert!(PropertyType::Number.admits(&Value::Float(1.0)));
        assert!(!PropertyType::Int.admits(&Value::Float(1.0)));
        let vectors = PropertyType::Vector(CoordinateType::F32, 3);
        assert_eq!(PropertyType::from_number(vectors.number()), Some(vectors));
        assert_eq!(vectors.name(), "VECTOR<FLOAT32 NOT NULL>(3)");
        for number in [16, 16 | 4 << 8, 17 | 4 << 8 | 3 << 16, 16 | 6 << 8 | 3 << 16, u64::MAX] {
            assert_eq!(PropertyType::from_number(number), None);
        }
        let vector = |ty, n: i64| {
            Value::from(Vector::of_values(ty, &vec![Value::Int(1); n as usize]).unwrap())
        };
        assert!(vectors.admits(&vector(CoordinateType::F32, 3)) && vectors.admits(&Value::Null));
        assert!(!vectors.admits(&vector(CoordinateType::F64, 3)));
        assert!(!vectors.admits(&vector(CoordinateType::F32, 2)));
        assert!(!vectors.admits(&Value::list([1.0, 1.0, 1.0])));
    }
}
