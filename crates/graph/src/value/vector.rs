//! Vectors: so many numbers of one type, as one value.
//!
//! Invariants: a vector has 1 to [`DIMENSION_MAX`] coordinates, each of them finite.
//!
//! Order: by coordinate type, then by dimension, then coordinate by coordinate. Zeros of both
//! signs are equal, and keep their bits.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::Value;
use crate::column::Floats;

/// Most coordinates of a vector, as in Neo4j.
pub const DIMENSION_MAX: usize = 4096;

/// Why a vector cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum VectorError {
    /// It has no coordinates, or too many.
    #[error(
        "Invalid vector dimensions. The number of vector dimensions must be between 1 and \
         {DIMENSION_MAX}, but is {0}."
    )]
    Dimension(i64),
    /// A coordinate is NaN or infinite.
    #[error("Invalid vector coordinates. All vector coordinates must be finite, found {0}.")]
    NotFinite(f64),
    /// A coordinate does not fit the coordinate type.
    #[error("The numeric value {value} is outside the range of {ty}.")]
    OutOfRange {
        /// The coordinate, as Cypher writes it.
        value: String,
        /// The coordinate type.
        ty: CoordinateType,
    },
    /// A coordinate is no number.
    #[error("A vector has coordinates of type INTEGER or FLOAT, found {0}.")]
    NotANumber(&'static str),
}

/// A type of numbers that has vectors: what the macros below need of it.
trait Coordinate: Copy + PartialOrd {
    /// The number whose type is not known, `None` if it does not fit.
    fn of(number: Number) -> Option<Self>;
    /// The number as Cypher knows it.
    fn number(self) -> Number;
    /// The lowest bits, as many as the type has, are in the order of the numbers and one for equal
    /// ones; those above are 0.
    fn ordered(self) -> u64;
}

/// A number of Cypher.
#[derive(Debug, Clone, Copy)]
enum Number {
    Int(i64),
    Float(f64),
}

impl Number {
    fn wide(self) -> f64 {
        match self {
            Self::Int(x) => x as f64,
            Self::Float(x) => x,
        }
    }

    fn value(self) -> Value {
        match self {
            Self::Int(x) => Value::Int(x),
            Self::Float(x) => Value::Float(x),
        }
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Coordinate for $ty {
            fn of(number: Number) -> Option<Self> {
                match number {
                    Number::Int(x) => Self::try_from(x).ok(),
                    // What stands behind the point is cut off.
                    Number::Float(x) => {
                        let whole = x.trunc();
                        let fits = whole >= Self::MIN as f64 && whole < -(Self::MIN as f64);
                        fits.then_some(whole as Self)
                    }
                }
            }

            fn number(self) -> Number {
                Number::Int(self.into())
            }

            fn ordered(self) -> u64 {
                let bits = self.cast_unsigned() ^ Self::MIN.cast_unsigned();
                bits.into()
            }
        }
    )*};
}
integers!(i8 i16 i32 i64);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Coordinate for $ty {
            fn of(number: Number) -> Option<Self> {
                let x = number.wide() as Self;
                x.is_finite().then_some(x)
            }

            fn number(self) -> Number {
                Number::Float(self.into())
            }

            fn ordered(self) -> u64 {
                let bits = (self + 0.0).to_bits();
                let sign = (-0.0 as Self).to_bits();
                let ordered = if bits & sign == 0 { bits | sign } else { !bits };
                ordered.into()
            }
        }
    )*};
}
floats!(f32 f64);

macro_rules! coordinate_types {
    ($($number:literal $kind:ident $ty:ty, $name:literal $($alias:literal)*;)*) => {
        /// The type of the coordinates of a vector, in the order of vectors.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is the type of its name")]
        pub enum CoordinateType {
            $($kind,)*
        }

        impl CoordinateType {
            /// Every type, in order.
            pub const ALL: &[Self] = &[$(Self::$kind,)*];

            /// Its number in the log, in checkpoints and in keys of indexes.
            #[must_use]
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$kind => $number,)*
                }
            }

            /// The type with a number.
            #[must_use]
            pub const fn from_number(number: u8) -> Option<Self> {
                match number {
                    $($number => Some(Self::$kind),)*
                    _ => None,
                }
            }

            /// Bytes of a coordinate.
            #[must_use]
            pub const fn bytes(self) -> usize {
                match self {
                    $(Self::$kind => size_of::<$ty>(),)*
                }
            }

            /// Its name in Cypher.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// The type with this name, in any case; synonyms are known.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                $(if [$name $(, $alias)*].iter().any(|known| known.eq_ignore_ascii_case(name)) {
                    return Some(Self::$kind);
                })*
                None
            }
        }

        /// Coordinates of a vector.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "each has coordinates of the type of its name")]
        pub enum Coordinates {
            $($kind(Box<[$ty]>),)*
        }

        impl Coordinates {
            const fn coordinate_type(&self) -> CoordinateType {
                match self {
                    $(Self::$kind(_) => CoordinateType::$kind,)*
                }
            }

            fn of(ty: CoordinateType, numbers: &[Number]) -> Result<Self, VectorError> {
                fn all<T: Coordinate>(
                    ty: CoordinateType,
                    numbers: &[Number],
                ) -> Result<Box<[T]>, VectorError> {
                    let one = |number: &Number| {
                        T::of(*number).ok_or_else(|| VectorError::OutOfRange {
                            value: match number {
                                Number::Int(x) => x.to_string(),
                                Number::Float(x) => format!("{x:?}"),
                            },
                            ty,
                        })
                    };
                    numbers.iter().map(one).collect()
                }
                Ok(match ty {
                    $(CoordinateType::$kind => Self::$kind(all(ty, numbers)?),)*
                })
            }

            /// Coordinates of these bytes, of which the last may be too few.
            fn of_bytes(ty: CoordinateType, bytes: &[u8], order: ByteOrder) -> Self {
                match ty {
                    $(CoordinateType::$kind => {
                        let all = bytes.as_chunks::<{ size_of::<$ty>() }>().0.iter();
                        Self::$kind(all.map(|b| <$ty>::from_le_bytes(order.of(*b))).collect())
                    })*
                }
            }

            fn put_bytes(&self, order: ByteOrder, out: &mut Vec<u8>) {
                match self {
                    $(Self::$kind(all) => {
                        out.extend(all.iter().flat_map(|x| order.of(x.to_le_bytes())));
                    })*
                }
            }
        }

        /// Evaluates an expression with the coordinates as a slice of their type.
        macro_rules! each {
            ($of:expr, $all:ident => $do:expr) => {
                match $of {
                    $(Coordinates::$kind($all) => $do,)*
                }
            };
        }
    };
}

// Numbers stand in the log, in checkpoints and in keys of indexes and are never given anew.
coordinate_types! {
    0 I8 i8, "INTEGER8" "INT8";
    1 I16 i16, "INTEGER16" "INT16";
    2 I32 i32, "INTEGER32" "INT32";
    3 I64 i64, "INTEGER" "INT" "INTEGER64" "INT64" "SIGNED INTEGER";
    4 F32 f32, "FLOAT32";
    5 F64 f64, "FLOAT" "FLOAT64";
}

impl fmt::Display for CoordinateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Order of the bytes of a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest first, as in storage.
    Little,
    /// The highest first, as in Bolt.
    Big,
}

impl ByteOrder {
    /// Bytes of which the lowest is first, in this order; and back.
    fn of<const N: usize>(self, mut bytes: [u8; N]) -> [u8; N] {
        if self == Self::Big {
            bytes.reverse();
        }
        bytes
    }
}

/// A vector.
#[derive(Debug, Clone)]
pub struct Vector {
    coordinates: Coordinates,
}

impl Vector {
    /// A vector of these coordinates.
    ///
    /// # Errors
    /// [`VectorError`] if there are too few or too many, or one is not finite.
    pub fn new(coordinates: Coordinates) -> Result<Self, VectorError> {
        let dimension = each!(&coordinates, all => all.len());
        Self::check_dimension(dimension as i64)?;
        let infinite = match &coordinates {
            Coordinates::F32(all) => all.iter().find(|x| !x.is_finite()).map(|x| f64::from(*x)),
            Coordinates::F64(all) => all.iter().find(|x| !x.is_finite()).copied(),
            _ => None,
        };
        match infinite {
            Some(x) => Err(VectorError::NotFinite(x)),
            None => Ok(Self { coordinates }),
        }
    }

    /// An error unless a vector may have so many coordinates.
    ///
    /// # Errors
    /// [`VectorError::Dimension`].
    pub fn check_dimension(dimension: i64) -> Result<(), VectorError> {
        let valid = (1..=DIMENSION_MAX as i64).contains(&dimension);
        if valid { Ok(()) } else { Err(VectorError::Dimension(dimension)) }
    }

    /// A vector of numbers, each made to fit the type: integers become floats, perhaps less exact,
    /// and floats are cut to integers.
    ///
    /// # Errors
    /// [`VectorError`] if one is no number, not finite or out of the range of the type, or there
    /// are too few or too many.
    pub fn of_values(ty: CoordinateType, values: &[Value]) -> Result<Self, VectorError> {
        Self::check_dimension(values.len() as i64)?;
        let number = |value: &Value| match value {
            Value::Int(x) => Ok(Number::Int(*x)),
            Value::Float(x) if x.is_finite() => Ok(Number::Float(*x)),
            Value::Float(x) => Err(VectorError::NotFinite(*x)),
            other => Err(VectorError::NotANumber(other.type_name())),
        };
        let numbers: Result<Vec<Number>, VectorError> = values.iter().map(number).collect();
        Self::new(Coordinates::of(ty, &numbers?)?)
    }

    /// The vector with these bytes.
    ///
    /// # Errors
    /// [`VectorError`] if the bytes are not those of 1 to [`DIMENSION_MAX`] finite numbers.
    pub fn of_bytes(
        ty: CoordinateType,
        bytes: &[u8],
        order: ByteOrder,
    ) -> Result<Self, VectorError> {
        if !bytes.len().is_multiple_of(ty.bytes()) {
            return Err(VectorError::Dimension(0));
        }
        Self::check_dimension((bytes.len() / ty.bytes()) as i64)?;
        Self::new(Coordinates::of_bytes(ty, bytes, order))
    }

    /// Appends the bytes of its coordinates.
    pub fn put_bytes(&self, order: ByteOrder, out: &mut Vec<u8>) {
        self.coordinates.put_bytes(order, out);
    }

    /// The type of its coordinates.
    #[must_use]
    pub const fn coordinate_type(&self) -> CoordinateType {
        self.coordinates.coordinate_type()
    }

    /// How many coordinates it has.
    #[must_use]
    pub const fn dimension(&self) -> usize {
        each!(&self.coordinates, all => all.len())
    }

    /// Its coordinates.
    #[must_use]
    pub const fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// Heap bytes.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.dimension() * self.coordinate_type().bytes()
    }

    /// Its coordinates where they are, if they are floats.
    #[must_use]
    pub const fn floats(&self) -> Option<Floats<'_>> {
        match &self.coordinates {
            Coordinates::F32(all) => Some(Floats::F32(all)),
            Coordinates::F64(all) => Some(Floats::F64(all)),
            _ => None,
        }
    }

    /// Its coordinates as floats of 64 bits: integers beyond 2^53 lose digits.
    #[must_use]
    pub fn to_f64(&self) -> Vec<f64> {
        each!(&self.coordinates, all => all.iter().map(|x| x.number().wide()).collect())
    }

    /// Its coordinates as values: integers, or floats.
    #[must_use]
    pub fn to_values(&self) -> Vec<Value> {
        each!(&self.coordinates, all => all.iter().map(|x| x.number().value()).collect())
    }

    /// Its coordinates as bits that compare as they do, and are equal as they are.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.dimension()).map(|at| each!(&self.coordinates, all => all[at].ordered()))
    }
}

impl Ord for Vector {
    fn cmp(&self, other: &Self) -> Ordering {
        let shape = |of: &Self| (of.coordinate_type(), of.dimension());
        shape(self).cmp(&shape(other)).then_with(|| self.ordered().cmp(other.ordered()))
    }
}

impl PartialOrd for Vector {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Vector {
    fn eq(&self, other: &Self) -> bool {
        match (&self.coordinates, &other.coordinates) {
            (Coordinates::F32(a), Coordinates::F32(b)) => a == b,
            (Coordinates::F64(a), Coordinates::F64(b)) => a == b,
            _ => self.cmp(other).is_eq(),
        }
    }
}

impl Eq for Vector {}

impl Hash for Vector {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.coordinate_type(), self.dimension()).hash(state);
        self.ordered().for_each(|bits| state.write_u64(bits));
    }
}

/// The shortest text that is this number again, once it is read as 64 bits and rounded.
fn short(x: f32) -> String {
    let short = format!("{x:?}");
    let read: Result<f64, _> = short.parse();
    if read.is_ok_and(|read| (read as f32).to_bits() == x.to_bits()) {
        return short;
    }
    format!("{:?}", f64::from(x))
}

/// As Cypher makes it: `vector([1.0, 0.5], 2, FLOAT32)`.
impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("vector([")?;
        for at in 0..self.dimension() {
            if at > 0 {
                f.write_str(", ")?;
            }
            match &self.coordinates {
                Coordinates::F32(all) => f.write_str(&short(all[at]))?,
                all => match each!(all, all => all[at].number()) {
                    Number::Int(x) => write!(f, "{x}")?,
                    Number::Float(x) => write!(f, "{x:?}")?,
                },
            }
        }
        write!(f, "], {}, {})", self.dimension(), self.coordinate_type())
    }
}

#[cfg(test)]
mod tests;
