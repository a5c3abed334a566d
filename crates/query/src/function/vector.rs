//! Similarities and distances of vectors.
//!
//! A vector is a list of numbers. Lists of floats that storage has packed
//! ([`Column::FloatLists`]) are read where they are, without a value for each number: that is how
//! `vector.similarity.cosine(n.embedding, $vector)` of many nodes is computed at the speed of
//! memory. Both ways give the same bits ([`telar_graph::vector`]).

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

/// The numbers of a list.
fn numbers(function: &str, value: &Value) -> Result<Vec<f64>, EvalError> {
    args::list(function, value)?.iter().map(|x| args::number(function, x)).collect()
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

    /// The measure of two lists of numbers.
    pub(super) fn call(self, args: &[Value]) -> Result<f64, EvalError> {
        let (a, b) = (numbers(self.function, &args[0])?, numbers(self.function, &args[1])?);
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
        let name = self.function;
        let packed = if let Column::FloatLists(packed) = other { Some(packed) } else { None };
        let all = || {
            let mut constant = None;
            if let Column::Same(value, _) = other
                && !value.is_null()
            {
                constant = Some(numbers(name, value)?);
            }
            let constant = constant.as_deref().map(Of::new);
            let row = |row: usize| {
                let Some(list) = lists.get(row) else { return Ok(None) };
                watch::work(list.len())?;
                if let Some(constant) = constant {
                    return self.of(list, constant).map(Some);
                }
                if other.is_null(row) {
                    return Ok(None);
                }
                let numbers = match packed.and_then(|packed| packed.get(row)) {
                    Some(other) => other.to_f64(),
                    None => numbers(name, &other.get(row))?,
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
        let Value::List(list) = column.get(row) else { return None };
        let number = |value: &Value| match value {
            Value::Float(x) => Some(*x),
            Value::Int(x) => Some(*x as f64),
            _ => None,
        };
        let numbers: Vec<f64> = list.iter().map(number).collect::<Option<_>>()?;
        self.of(Floats::F64(&numbers))
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
        const MEASURE: $crate::function::vector::Measure =
            $crate::function::vector::Measure { function: concat!($name, "()"), between: $between };
        $crate::function::Function::new(
            $name,
            $category,
            (2, 2),
            concat!($name, "(a :: LIST<INTEGER | FLOAT>, b :: LIST<INTEGER | FLOAT>) :: FLOAT"),
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
];
