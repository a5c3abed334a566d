//! Sums, means and deviations.

use telar_graph::Value;
use telar_graph::value::Duration;

use crate::error::{Detail, EvalError, describe};

/// The value as a float.
pub(super) fn number(function: &str, value: &Value) -> Result<f64, EvalError> {
    match value {
        Value::Int(x) => Ok(*x as f64),
        Value::Float(x) => Ok(*x),
        other => Err(unusable(function, other)),
    }
}

fn unusable(function: &str, value: &Value) -> EvalError {
    EvalError::new(
        Detail::InvalidArgumentType,
        format!("{function}() cannot take {} here", describe(value)),
    )
}

/// The error of a number among durations, or the other way round.
fn mixed(function: &str) -> EvalError {
    let message = format!("{function}() cannot take numbers and durations together");
    EvalError::new(Detail::InvalidArgumentType, message)
}

/// Adds to a sum that may not have begun.
fn add_duration(sum: &mut Option<Box<Duration>>, by: &Duration) -> Result<(), EvalError> {
    let added = sum.as_deref().copied().unwrap_or_default().checked_add(by)?;
    *sum = Some(Box::new(added));
    Ok(())
}

/// A running sum. Integers are summed in 128 bits, so that only the whole sum can overflow, and
/// apart from floats, so that their order does not matter.
#[derive(Debug, Default)]
pub(super) struct Sum {
    ints: i128,
    floats: f64,
    /// Boxed, so that the many accumulators of numbers stay small.
    durations: Option<Box<Duration>>,
    has_ints: bool,
    has_floats: bool,
}

impl Sum {
    pub(super) fn add(&mut self, function: &str, value: &Value) -> Result<(), EvalError> {
        match value {
            Value::Int(x) => self.add_ints(function, &[*x]),
            Value::Float(x) => self.add_floats(function, &[*x]),
            Value::Duration(_) if self.has_ints || self.has_floats => Err(mixed(function)),
            Value::Duration(x) => add_duration(&mut self.durations, x),
            other => Err(unusable(function, other)),
        }
    }

    pub(super) fn add_ints(&mut self, function: &str, values: &[i64]) -> Result<(), EvalError> {
        if self.durations.is_some() && !values.is_empty() {
            return Err(mixed(function));
        }
        self.has_ints |= !values.is_empty();
        // Fewer than 2^64 values of less than 2^63 fit 128 bits.
        self.ints += values.iter().copied().map(i128::from).sum::<i128>();
        Ok(())
    }

    pub(super) fn add_floats(&mut self, function: &str, values: &[f64]) -> Result<(), EvalError> {
        if self.durations.is_some() && !values.is_empty() {
            return Err(mixed(function));
        }
        self.has_floats |= !values.is_empty();
        for value in values {
            self.floats += value;
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, function: &str, other: &Self) -> Result<(), EvalError> {
        let numbers = self.has_ints || self.has_floats || other.has_ints || other.has_floats;
        if (self.durations.is_some() || other.durations.is_some()) && numbers {
            return Err(mixed(function));
        }
        if let Some(theirs) = &other.durations {
            add_duration(&mut self.durations, theirs)?;
        }
        self.ints += other.ints;
        self.floats += other.floats;
        self.has_ints |= other.has_ints;
        self.has_floats |= other.has_floats;
        Ok(())
    }

    pub(super) fn finish(&self) -> Result<Value, EvalError> {
        if let Some(sum) = &self.durations {
            return Ok((**sum).into());
        }
        if self.has_floats {
            return Ok(Value::Float(self.floats + self.ints as f64));
        }
        i64::try_from(self.ints).map(Value::Int).map_err(|_| EvalError::overflow("sum()"))
    }
}

/// A running mean, which no sum of its numbers can overflow.
#[derive(Debug)]
pub(super) enum Mean {
    /// Of integers only, as long as their sum fits: their order does not matter.
    Ints {
        sum: i64,
        count: u64,
    },
    Numbers {
        mean: f64,
        count: u64,
    },
    Durations {
        sum: Box<Duration>,
        count: u64,
    },
}

impl Default for Mean {
    fn default() -> Self {
        Self::Ints { sum: 0, count: 0 }
    }
}

impl Mean {
    pub(super) fn add(&mut self, function: &str, value: &Value) -> Result<(), EvalError> {
        match value {
            Value::Duration(value) => self.add_durations(function, value, 1),
            Value::Int(x) => self.add_ints(function, &[*x]),
            other => self.add_mean(function, number(function, other)?, 1),
        }
    }

    fn count(&self) -> u64 {
        match self {
            Self::Ints { count, .. } | Self::Numbers { count, .. } => *count,
            Self::Durations { count, .. } => *count,
        }
    }

    fn add_durations(&mut self, function: &str, more: &Duration, by: u64) -> Result<(), EvalError> {
        *self = match self {
            Self::Durations { sum, count } => {
                Self::Durations { sum: Box::new(sum.checked_add(more)?), count: *count + by }
            }
            numbers if numbers.count() > 0 => return Err(mixed(function)),
            _ => Self::Durations { sum: Box::new(*more), count: by },
        };
        Ok(())
    }

    pub(super) fn add_ints(&mut self, function: &str, values: &[i64]) -> Result<(), EvalError> {
        for x in values {
            match self {
                Self::Ints { sum, count } if sum.checked_add(*x).is_some() => {
                    *sum += x;
                    *count += 1;
                }
                _ => self.add_mean(function, *x as f64, 1)?,
            }
        }
        Ok(())
    }

    pub(super) fn add_float(&mut self, function: &str, x: f64) -> Result<(), EvalError> {
        self.add_mean(function, x, 1)
    }

    /// Takes `by` numbers, at least one, of mean `x`.
    fn add_mean(&mut self, function: &str, x: f64, by: u64) -> Result<(), EvalError> {
        let (mean, count) = match self {
            Self::Ints { count: 0, .. } => (0.0, 0),
            Self::Ints { sum, count } => (*sum as f64 / *count as f64, *count),
            Self::Numbers { mean, count } => (*mean, *count),
            Self::Durations { .. } => return Err(mixed(function)),
        };
        let count = count + by;
        *self = Self::Numbers { mean: moved(mean, x, by as f64 / count as f64), count };
        Ok(())
    }

    pub(super) fn merge(&mut self, function: &str, other: &Self) -> Result<(), EvalError> {
        match (&mut *self, other) {
            (_, theirs) if theirs.count() == 0 => Ok(()),
            (Self::Ints { sum, count }, Self::Ints { sum: theirs, count: more })
                if sum.checked_add(*theirs).is_some() =>
            {
                *sum += theirs;
                *count += more;
                Ok(())
            }
            (_, Self::Ints { sum, count }) => {
                self.add_mean(function, *sum as f64 / *count as f64, *count)
            }
            (_, Self::Numbers { mean, count }) => self.add_mean(function, *mean, *count),
            (_, Self::Durations { sum, count }) => self.add_durations(function, sum, *count),
        }
    }

    pub(super) fn finish(&self) -> Result<Value, EvalError> {
        Ok(match self {
            Self::Ints { count: 0, .. } => Value::Null,
            Self::Ints { sum, count } => Value::Float(*sum as f64 / *count as f64),
            Self::Numbers { mean, .. } => Value::Float(*mean),
            Self::Durations { sum, count } => sum.checked_div_f64(*count as f64)?.into(),
        })
    }
}

/// A mean, moved towards `x` by the share of the numbers of which that is the mean.
fn moved(mean: f64, x: f64, share: f64) -> f64 {
    if share == 1.0 {
        return x;
    }
    let moved = mean + (x - mean) * share;
    // The difference of two floats may overflow, and from infinity there is none.
    if moved.is_finite() { moved } else { mean * (1.0 - share) + x * share }
}

/// A running deviation.
///
/// Source: B. P. Welford, "Note on a method for calculating corrected sums of squares and
/// products", Technometrics 4 (1962); for merging, T. F. Chan and others, 1979.
#[derive(Debug, Default)]
pub(super) struct Deviation {
    count: u64,
    mean: f64,
    /// Sum of the squares of the distances from the mean.
    squares: f64,
}

impl Deviation {
    pub(super) fn add(&mut self, x: f64) {
        self.count += 1;
        let before = x - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (x - self.mean);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if count == 0 {
            return;
        }
        let apart = other.mean - self.mean;
        let share = other.count as f64 / count as f64;
        self.mean += apart * share;
        self.squares += other.squares + apart * apart * share * self.count as f64;
        self.count = count;
    }

    /// The root of the squares over the count less `lost`; 0 for one value, null for none.
    pub(super) fn finish(&self, lost: u64) -> Value {
        Value::Float(match self.count {
            0 => return Value::Null,
            1 => 0.0,
            count => (self.squares / (count - lost) as f64).sqrt(),
        })
    }
}
