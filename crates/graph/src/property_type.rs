//! Types that a constraint can demand of a property.

use crate::Value;

macro_rules! property_types {
    ($($number:literal $name:ident $text:literal => $pattern:pat,)*) => {
        /// A type of property values.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "each is the type of its name")]
        pub enum PropertyType {
            $($name,)*
        }

        impl PropertyType {
            /// Its number in the log and in checkpoints.
            #[must_use]
            pub fn number(self) -> u64 {
                match self {
                    $(Self::$name => $number,)*
                }
            }

            /// The type with a number.
            #[must_use]
            pub fn from_number(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$name),)*
                    _ => None,
                }
            }

            /// Its name in Cypher.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }

            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Whether `value` is of this type. Null is of every type.
            #[must_use]
            pub fn admits(self, value: &Value) -> bool {
                match self {
                    $(Self::$name => matches!(value, Value::Null | $pattern),)*
                }
            }
        }
    };
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
        assert_eq!(PropertyType::from_number(16), None);
    }
}
