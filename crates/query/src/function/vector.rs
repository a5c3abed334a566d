//! Vectors, and their similarities and distances.
//!
//! Similarities take VECTOR values and lists of numbers alike. Vectors and lists of floats that
//! storage has packed ([`Column::FloatLists`]) are read where they are, without a value for each
//! number: that is how `vector.similarity.cosine(n.embedding, $vector)` of many nodes is computed
//! at the speed of memory. Both ways give the same bits ([`telar_graph::vector`]).

mod construct;
mod distance;

#[cfg(test)]
mod tests;

use telar_graph::column::{Column, Floats};
use telar_graph::{Similarity, Value, vector};

use super::{Function, args};
use crate::error::EvalError;
use crate::watch;

/// A similarity or distance of two vectors of one length that is not 0.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    /// The function, as errors name it.
    pub(super) function: &'static str,
    /// Lists are refused.
    pub(super) vectors_only: bool,
    /// Computes it, of two vectors and the square of the second.
    pub(super) between: fn(Floats<'_>, Of<'_>) -> Result<f64, EvalError>,
}

/// The second of two vectors.
#[derive(Clone, Copy)]
pub(super) struct Of<'v> {
    numbers: &'v [f64],
    square: f64,
}

impl<'v> Of<'v> {
    fn new(numbers: &'v [f64]) -> Self {
        Self { numbers, square: vector::products(Floats::F64(numbers), numbers).square }
    }

    /// The cosine of the angle between them; `None` if one has no length, or none that is finite.
    pub(super) fn cosine(self, a: Floats<'_>) -> Option<f64> {
        let sums = vector::products(a, self.numbers);
        let norms = (sums.square * self.square).sqrt();
        (norms != 0.0 && norms.is_finite()).then(|| sums.product / norms)
    }

    /// The correlation of their numbers; `None` if those of one are all equal.
    pub(super) fn correlation(self, a: Floats<'_>) -> Option<f64> {
        let (a, b) = (centred(a.to_f64()), centred(self.numbers.to_vec()));
        Of::new(&b).cosine(Floats::F64(&a))
    }

    /// The square of their distance.
    pub(super) fn distance_squared(self, a: Floats<'_>) -> f64 {
        vector::distance_squared(a, self.numbers)
    }
}

/// Numbers less their mean.
fn centred(mut numbers: Vec<f64>) -> Vec<f64> {
    let mean = numbers.iter().sum::<f64>() / numbers.len() as f64;
    numbers.iter_mut().for_each(|x| *x -= mean);
    numbers
}

/// The numbers of a list or vector.
fn numbers(function: &str, value: &Value) -> Result<Vec<f64>, EvalError> {
    match value {
        Value::Vector(vector) => Ok(vector.to_f64()),
        Value::List(list) => list.iter().map(|x| args::number(function, x)).collect(),
        other => Err(EvalError::argument_type(function, "a LIST or VECTOR", other)),
    }
}

impl Measure {
    fn of(self, a: Floats<'_>, b: Of<'_>) -> Result<f64, EvalError> {
        if a.len() == b.numbers.len() && !a.is_empty() {
            return (self.between)(a, b);
        }
        Err(EvalError::argument_value(format!(
            "{} expects two vectors of one dimension, found {} and {} numbers",
            self.function,
            a.len(),
            b.numbers.len()
        )))
    }

    /// The numbers of a list, unless vectors only are taken, or of a vector.
    fn numbers(self, value: &Value) -> Result<Vec<f64>, EvalError> {
        if self.vectors_only && !matches!(value, Value::Vector(_)) {
            return Err(EvalError::argument_type(self.function, "a VECTOR", value));
        }
        numbers(self.function, value)
    }

    /// The measure of two lists of numbers or vectors.
    pub(super) fn call(self, args: &[Value]) -> Result<f64, EvalError> {
        let (a, b) = (self.numbers(&args[0])?, self.numbers(&args[1])?);
        self.of(Floats::F64(&a), Of::new(&b))
    }

    /// The measure of each row of two columns; `None` if neither is one of packed lists.
    pub(super) fn column(self, args: &[&Column], rows: usize) -> Option<Result<Column, EvalError>> {
        let (lists, other) = match args {
            [Column::FloatLists(lists), other] | [other, Column::FloatLists(lists)] => {
                (lists, *other)
            }
            _ => return None,
        };
        // Whichever comes first: neither a sum nor a distance asks for the order.
        let packed = if let Column::FloatLists(packed) = other { Some(packed) } else { None };
        let all = || {
            let mut constant = None;
            if let Column::Same(value, _) = other
                && !value.is_null()
                && (0..rows).any(|row| !lists.is_null(row))
            {
                constant = Some(self.numbers(value)?);
            }
            let constant = constant.as_deref().map(Of::new);
            let row = |row: usize| {
                let Some(list) = lists.get(row) else { return Ok(None) };
                watch::work(list.len())?;
                if constant.is_none() && other.is_null(row) {
                    return Ok(None);
                }
                if self.vectors_only && !lists.is_vector(row) {
                    return self.numbers(&lists.value(row)).map(|_| None);
                }
                if let Some(constant) = constant {
                    return self.of(list, constant).map(Some);
                }
                let numbers = match packed {
                    Some(packed) if !self.vectors_only || packed.is_vector(row) => {
                        packed.get(row).map(Floats::to_f64).unwrap_or_default()
                    }
                    _ => self.numbers(&other.get(row))?,
                };
                self.of(list, Of::new(&numbers)).map(Some)
            };
            let found: Result<Vec<Option<f64>>, EvalError> = (0..rows).map(row).collect();
            let mut column = Column::default();
            column.extend(found?);
            Ok(column)
        };
        Some(all())
    }
}

/// Vectors that are ranked by how near they are to one, which is not empty and is admitted by the
/// similarity.
pub(crate) struct Ranked {
    similarity: Similarity,
    numbers: Vec<f64>,
    square: f64,
}

impl Ranked {
    pub(crate) fn new(similarity: Similarity, numbers: Vec<f64>) -> Self {
        let square = Of::new(&numbers).square;
        Self { similarity, numbers, square }
    }

    /// The score of the vector in a row, as the function of the similarity gives it; `None` if
    /// there is no vector that can be compared.
    pub(crate) fn score(&self, column: &Column, row: usize) -> Option<f64> {
        if let Column::FloatLists(lists) = column {
            return self.of(lists.get(row)?);
        }
        let value = column.get(row);
        let list = match &value {
            Value::List(list) => list,
            Value::Vector(vector) => return self.of(Floats::F64(&vector.to_f64())),
            _ => return None,
        };
        let number = |value: &Value| match value {
            Value::Float(x) => Some(*x),
            Value::Int(x) => Some(*x as f64),
            _ => None,
        };
        let numbers: Vec<f64> = list.iter().map(number).collect::<Option<_>>()?;
        self.of(Floats::F64(&numbers))
    }

    /// Brings the vector in a row closer, which will be [compared](Self::score) soon.
    pub(crate) fn prefetch(&self, column: &Column, row: usize) {
        if let Column::FloatLists(lists) = column
            && row < lists.len()
            && let Some(vector) = lists.get(row)
        {
            telar_graph::vector::prefetch(vector);
        }
    }

    /// The square of the distance of a vector that has this score; of vectors of length 1 where
    /// angles are compared.
    pub(crate) fn distance_squared(&self, score: f64) -> f64 {
        match self.similarity {
            Similarity::Cosine => 4.0 * (1.0 - score),
            Similarity::Euclidean => score.recip() - 1.0,
        }
    }

    fn of(&self, vector: Floats<'_>) -> Option<f64> {
        if vector.len() != self.numbers.len() {
            return None;
        }
        let of = Of { numbers: &self.numbers, square: self.square };
        match self.similarity {
            Similarity::Cosine => of.cosine(vector).map(|cosine| f64::midpoint(1.0, cosine)),
            Similarity::Euclidean => {
                let squared = of.distance_squared(vector);
                squared.is_finite().then(|| (1.0 + squared).recip())
            }
        }
    }
}

/// A function of two vectors.
macro_rules! measures {
    ($category:literal, $name:literal, $about:expr, $between:expr) => {{
        const MEASURE: $crate::function::vector::Measure = $crate::function::vector::Measure {
            function: concat!($name, "()"),
            vectors_only: false,
            between: $between,
        };
        $crate::function::Function::new(
            $name,
            $category,
            (2, 2),
            concat!(
                $name,
                "(a :: LIST<INTEGER | FLOAT> | VECTOR, ",
                "b :: LIST<INTEGER | FLOAT> | VECTOR) :: FLOAT"
            ),
            $about,
            |args, _| MEASURE.call(args).map(telar_graph::Value::Float),
        )
        .by_column(|args, rows| MEASURE.column(args, rows))
    }};
}
pub(super) use measures;

pub(super) static FUNCTIONS: &[Function] = &[
    measures!(
        "Vector",
        "vector.similarity.cosine",
        "How alike the directions of two vectors are, from 0 to 1.",
        |a, b| match b.cosine(a) {
            Some(cosine) => Ok(f64::midpoint(1.0, cosine)),
            None => Err(EvalError::argument_value(
                "vector.similarity.cosine() expects vectors of finite, positive length",
            )),
        }
    ),
    measures!(
        "Vector",
        "vector.similarity.euclidean",
        "How near the ends of two vectors are: 1 / (1 + the square of their distance).",
        |a, b| {
            let squared = b.distance_squared(a);
            if squared.is_finite() {
                return Ok((1.0 + squared).recip());
            }
            Err(EvalError::argument_value(
                "vector.similarity.euclidean() expects vectors of finite numbers",
            ))
        }
    ),
    Function::new(
        "vector",
        "Vector",
        (3, 3),
        "vector(vectorValue :: STRING | LIST<INTEGER | FLOAT>, dimension :: INTEGER, \
         coordinateType :: STRING) :: VECTOR",
        "The vector of these numbers, which are made to fit the coordinate type.",
        |args, _| construct::vector(args),
    ),
    Function::new(
        "vector_dimension_count",
        "Vector",
        (1, 1),
        "vector_dimension_count(vector :: VECTOR) :: INTEGER",
        "The number of coordinates of a vector.",
        |args, _| match &args[0] {
            Value::Vector(vector) => Ok(Value::Int(vector.dimension() as i64)),
            other => Err(EvalError::argument_type("vector_dimension_count()", "a VECTOR", other)),
        },
    ),
    Function::new(
        "vector_distance",
        "Vector",
        (3, 3),
        "vector_distance(vector1 :: VECTOR, vector2 :: VECTOR, vectorDistanceMetric :: STRING) \
         :: FLOAT",
        "The distance of two vectors by a metric: the smaller, the more alike they are.",
        |args, _| distance::distance(args),
    )
    .by_column(distance::distance_column),
    Function::new(
        "vector_norm",
        "Vector",
        (2, 2),
        "vector_norm(vector :: VECTOR, vectorDistanceMetric :: STRING) :: FLOAT",
        "The distance of a vector from the origin by a metric.",
        |args, _| distance::norm(args),
    ),
];
