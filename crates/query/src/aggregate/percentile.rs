//! Percentiles.

use std::cmp::Ordering;

use telar_graph::Value;

use super::number::number;
use crate::error::{Detail, EvalError, describe};
use crate::watch;

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
    pub(super) fn finish(&mut self) -> Result<Value, EvalError> {
        let (Some(fraction), Some(last)) = (self.fraction, self.numbers.len().checked_sub(1))
        else {
            return Ok(Value::Null);
        };
        let mut at = |index: usize| select(&mut self.numbers, index.min(last));
        if !self.continuous {
            // The smallest value with at least that share of the values at or below it.
            let rank = (fraction * (last + 1) as f64).ceil() as usize;
            return at(rank.saturating_sub(1));
        }
        let position = fraction * last as f64;
        let below = position.floor();
        if position == below {
            return at(below as usize);
        }
        let mut float = |index: usize| {
            at(index).map(|number| match number {
                Value::Int(x) => x as f64,
                Value::Float(x) => x,
                _ => f64::NAN,
            })
        };
        let (low, high) = (float(below as usize)?, float(position.ceil() as usize)?);
        let share = position - below;
        // Between two infinities of one sign there is no distance.
        Ok(Value::Float(if low == high { low } else { low * (1.0 - share) + high * share }))
    }
}

/// The number that has this place in their order, as long as the statement goes on: there may be
/// tens of millions.
fn select(numbers: &mut [Value], place: usize) -> Result<Value, EvalError> {
    /// Numbers that are put in order in a millisecond or so.
    const FEW: usize = 1 << 14;
    let (mut from, mut to, mut random) = (0, numbers.len(), numbers.len());
    while to - from > FEW {
        let mut sample: Vec<Value> = Vec::with_capacity(9);
        for _ in 0..9 {
            // The multiplier of Knuth's MMIX, and an odd number.
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            sample.push(numbers[from + (random >> 33) % (to - from)].clone());
        }
        sample.sort_unstable();
        let pivot = &sample[4];
        // from..less are smaller, less..at are equal, more..to are larger.
        let (mut less, mut at, mut more) = (from, from, to);
        while at < more {
            watch::work(1)?;
            match numbers[at].cmp(pivot) {
                Ordering::Less => {
                    numbers.swap(less, at);
                    less += 1;
                    at += 1;
                }
                Ordering::Equal => at += 1,
                Ordering::Greater => {
                    more -= 1;
                    numbers.swap(at, more);
                }
            }
        }
        if place < less {
            to = less;
        } else if place >= more {
            from = more;
        } else {
            return Ok(numbers[place].clone());
        }
    }
    Ok(numbers[from..to].select_nth_unstable(place - from).1.clone())
}

#[test]
fn numbers_are_selected_as_if_they_were_sorted() {
    let mut sorted: Vec<Value> = (0..50_000).map(|i| Value::Int(i * 7_919 % 30_011)).collect();
    sorted.extend((0..10_000).map(|_| Value::Float(7.0)));
    let mut numbers = sorted.clone();
    sorted.sort_unstable();
    for place in [0, 1, 17, 9_999, 30_000, 59_998, 59_999] {
        assert_eq!(select(&mut numbers, place).unwrap(), sorted[place], "{place}");
    }
}
