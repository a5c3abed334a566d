//! Percentiles.

use telar_graph::Value;

use super::number::number;
use crate::error::{Detail, EvalError, describe};

/// The numbers of a group, and which share of them is asked for.
#[derive(Debug)]
pub(super) struct Percentile {
    numbers: Vec<Value>,
    /// That of the first row; none before.
    fraction: Option<f64>,
    continuous: bool,
}

/// The second argument of a percentile.
pub(crate) fn fraction(value: &Value) -> Result<f64, EvalError> {
    let fraction = match value {
        Value::Int(x) => *x as f64,
        Value::Float(x) => *x,
        other => return Err(EvalError::wrong_type("a number in 0.0..=1.0", &describe(other))),
    };
    if (0.0..=1.0).contains(&fraction) {
        return Ok(fraction);
    }
    Err(EvalError::new(
        Detail::NumberOutOfRange,
        format!("a percentile must be a number in the range 0.0 to 1.0, got {fraction}"),
    ))
}

impl Percentile {
    pub(super) const fn new(continuous: bool) -> Self {
        Self { numbers: Vec::new(), fraction: None, continuous }
    }

    pub(super) fn add(
        &mut self,
        function: &str,
        value: &Value,
        fraction: Option<f64>,
    ) -> Result<(), EvalError> {
        number(function, value)?;
        self.fraction = self.fraction.or(fraction);
        self.numbers.push(value.clone());
        Ok(())
    }

    pub(super) const fn fraction(&self) -> Option<f64> {
        self.fraction
    }

    pub(super) fn merge(&mut self, mut other: Self) {
        self.fraction = self.fraction.or(other.fraction);
        self.numbers.append(&mut other.numbers);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        size_of::<Self>() + self.numbers.capacity() * size_of::<Value>()
    }

    /// Null over no number.
    pub(super) fn finish(&mut self) -> Value {
        let (Some(fraction), Some(last)) = (self.fraction, self.numbers.len().checked_sub(1))
        else {
            return Value::Null;
        };
        self.numbers.sort_unstable();
        let at = |index: usize| self.numbers.get(index.min(last)).cloned().unwrap_or_default();
        if !self.continuous {
            // The smallest value with at least that share of the values at or below it.
            let rank = (fraction * self.numbers.len() as f64).ceil() as usize;
            return at(rank.saturating_sub(1));
        }
        let position = fraction * last as f64;
        let below = position.floor();
        if position == below {
            return at(below as usize);
        }
        let float = |index: usize| match at(index) {
            Value::Int(x) => x as f64,
            Value::Float(x) => x,
            _ => f64::NAN,
        };
        let (low, high) = (float(below as usize), float(position.ceil() as usize));
        let share = position - below;
        // Between two infinities of one sign there is no distance.
        Value::Float(if low == high { low } else { low * (1.0 - share) + high * share })
    }
}
