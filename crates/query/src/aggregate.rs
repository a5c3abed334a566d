//! Aggregating functions: `count`, `sum`, `avg`, `min`, `max`, `collect`, `stDev`, `stDevP`,
//! `percentileCont` and `percentileDisc`, each also over distinct values.
//!
//! A group of rows has one [`Accumulator`] per aggregation. Rows are fed to it one by one
//! ([`Accumulator::update`]) or a column at a time ([`Accumulator::update_ints`],
//! [`Accumulator::update_floats`], [`Accumulator::update_vertices`], which allocate nothing for
//! `count`, `sum`, `avg`, `min`, `max` and `stDev`). Accumulators of parts of a group can be
//! merged.
//!
//! Nulls count for nothing. Over no value at all `count` and `sum` are 0, `collect` is `[]`, the
//! deviations are 0.0, and the others null.
//!
//! Memory: [`Accumulator::memory_bytes`] says how much an accumulator holds, so that the executor
//! can enforce the limit of a query; it costs nothing to ask.
//!
//! ```
//! use telar_graph::Value;
//! use telar_query::aggregate;
//!
//! let mut sum = aggregate::lookup("sum").unwrap().accumulator(false);
//! for x in [1, 2, 3] {
//!     sum.update(&[Value::Int(x)]).unwrap();
//! }
//! assert_eq!(sum.finish().unwrap(), Value::Int(6));
//! ```
//!
//! Source: openCypher TCK, Aggregation1-8; Neo4j Cypher manual, "Aggregating functions".

mod distinct;
mod number;
pub(crate) mod percentile;

#[cfg(test)]
mod tests;

use telar_graph::{Value, VertexId};

use crate::error::{Detail, EvalError};
use crate::ops;
use crate::watch;
use crate::watch::sizes;

use distinct::Distinct;
use number::{Deviation, Mean, Sum};
use percentile::Percentile;
pub use telar_graph::value::value_bytes;

/// One aggregating function.
#[derive(Debug, Clone, Copy)]
pub struct Aggregate {
    /// Name as Cypher spells it.
    pub name: &'static str,
    /// Its arguments and result, as SHOW FUNCTIONS prints them.
    pub signature: &'static str,
    /// What it yields, in one sentence.
    pub description: &'static str,
    /// How many arguments it takes.
    pub args: usize,
    state: fn() -> State,
}

impl Aggregate {
    /// An accumulator that has seen nothing, which with `distinct` ignores values seen before.
    #[must_use]
    pub fn accumulator(&'static self, distinct: bool) -> Accumulator {
        let seen = distinct.then(Box::default);
        Accumulator { function: self, state: (self.state)(), seen }
    }

    /// # Errors
    ///
    /// `InvalidNumberOfArguments` when the function does not take so many arguments.
    pub fn check_arity(&self, arguments: usize) -> Result<(), EvalError> {
        if arguments == self.args {
            return Ok(());
        }
        Err(EvalError::new(
            Detail::InvalidNumberOfArguments,
            format!("{}() takes {} arguments, not {arguments}", self.name, self.args),
        ))
    }
}

const COUNT: Aggregate = Aggregate {
    name: "count",
    signature: "count(input :: ANY) :: INTEGER",
    description: "The number of values.",
    args: 1,
    state: || State::Count(0),
};

static TABLE: [Aggregate; 10] = [
    Aggregate {
        name: "avg",
        signature: "avg(input :: INTEGER | FLOAT | DURATION) :: INTEGER | FLOAT | DURATION",
        description: "The mean of the values.",
        args: 1,
        state: || State::Mean(Mean::default()),
    },
    Aggregate {
        name: "collect",
        signature: "collect(input :: ANY) :: LIST<ANY>",
        description: "The list of the values, in the order of the rows.",
        args: 1,
        state: || State::Collect { values: Vec::new(), bytes: 0 },
    },
    COUNT,
    Aggregate {
        name: "max",
        signature: "max(input :: ANY) :: ANY",
        description: "The value that ORDER BY puts last.",
        args: 1,
        state: || State::Extreme { best: Value::Null, wants: std::cmp::Ordering::Greater },
    },
    Aggregate {
        name: "min",
        signature: "min(input :: ANY) :: ANY",
        description: "The value that ORDER BY puts first.",
        args: 1,
        state: || State::Extreme { best: Value::Null, wants: std::cmp::Ordering::Less },
    },
    Aggregate {
        name: "percentileCont",
        signature: "percentileCont(input :: FLOAT, percentile :: FLOAT) :: FLOAT",
        description: "The value below which a share of the values lies, between two neighbours.",
        args: 2,
        state: || State::Percentile(Box::new(Percentile::new(true))),
    },
    Aggregate {
        name: "percentileDisc",
        signature: "percentileDisc(input :: INTEGER | FLOAT, percentile :: FLOAT) :: \
                    INTEGER | FLOAT",
        description: "The value below which a share of the values lies, one of the values.",
        args: 2,
        state: || State::Percentile(Box::new(Percentile::new(false))),
    },
    Aggregate {
        name: "stDev",
        signature: "stDev(input :: INTEGER | FLOAT) :: FLOAT",
        description: "The standard deviation of a sample.",
        args: 1,
        state: || State::Deviation(Deviation::default(), Population::Sample),
    },
    Aggregate {
        name: "stDevP",
        signature: "stDevP(input :: INTEGER | FLOAT) :: FLOAT",
        description: "The standard deviation of a whole population.",
        args: 1,
        state: || State::Deviation(Deviation::default(), Population::Whole),
    },
    Aggregate {
        name: "sum",
        signature: "sum(input :: INTEGER | FLOAT | DURATION) :: INTEGER | FLOAT | DURATION",
        description: "The sum of the values.",
        args: 1,
        state: || State::Sum(Sum::default()),
    },
];

/// The aggregating function with this name, in any case.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Aggregate> {
    TABLE.iter().find(|aggregate| aggregate.name.eq_ignore_ascii_case(name))
}

/// Every aggregating function, by name.
#[must_use]
pub fn all() -> &'static [Aggregate] {
    &TABLE
}

/// The accumulator of an aggregation: of the function with this name, or with `rows` of `count(*)`.
///
/// # Errors
///
/// `UnknownFunction` when there is no such function.
pub fn accumulator(name: &str, distinct: bool, rows: bool) -> Result<Accumulator, EvalError> {
    if rows {
        return Ok(Accumulator::of_rows());
    }
    let aggregate = lookup(name).ok_or_else(|| {
        let message = format!("there is no aggregating function {name:?}");
        EvalError::new(Detail::UnknownFunction, message)
    })?;
    Ok(aggregate.accumulator(distinct))
}

/// Whose standard deviation.
#[derive(Debug, Clone, Copy)]
enum Population {
    Sample,
    Whole,
}

/// What has been learnt of the values.
#[derive(Debug)]
enum State {
    Count(i64),
    Sum(Sum),
    Mean(Mean),
    /// Null before the first value; a value replaces one that it compares to as `wants`.
    Extreme {
        best: Value,
        wants: std::cmp::Ordering,
    },
    Collect {
        values: Vec<Value>,
        bytes: usize,
    },
    Deviation(Deviation, Population),
    Percentile(Box<Percentile>),
}

/// One aggregation over one group of rows.
#[derive(Debug)]
pub struct Accumulator {
    function: &'static Aggregate,
    state: State,
    seen: Option<Box<Distinct>>,
}

// There is one for each group.
const _: () = assert!(size_of::<Accumulator>() <= 64);

impl Accumulator {
    /// The accumulator of `count(*)`, whose rows have no arguments.
    #[must_use]
    pub const fn of_rows() -> Self {
        Self { function: &COUNT, state: State::Count(0), seen: None }
    }

    /// Takes the arguments of one row: one, or for percentiles two; none for `count(*)`.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentType` for a value that the function cannot use; `NumberOutOfRange` for a
    /// percentile outside 0..=1; `InvalidNumberOfArguments`; `ResultTooLarge` where values nest too
    /// deep for a list of them. Afterwards the accumulator is what it was before.
    pub fn update(&mut self, args: &[Value]) -> Result<(), EvalError> {
        let Some(value) = args.first() else {
            return self.update_rows(1);
        };
        let fraction = match (&self.state, args.get(1)) {
            (State::Percentile(_), Some(fraction)) => Some(percentile::fraction(fraction)?),
            (State::Percentile(_), None) => return Err(self.wrong_arity(args.len())),
            _ => None,
        };
        if value.is_null() {
            return Ok(());
        }
        watch::before(value)?;
        match (&mut self.state, &mut self.seen) {
            // Nothing can go wrong: one look is enough.
            (State::Count(count), Some(seen)) => {
                *count += i64::from(seen.insert(value));
                return Ok(());
            }
            (_, Some(seen)) if seen.contains(value) => return Ok(()),
            _ => {}
        }
        let name = self.function.name;
        match &mut self.state {
            State::Count(count) => *count += 1,
            State::Sum(sum) => sum.add(name, value)?,
            State::Mean(mean) => mean.add(name, value)?,
            State::Extreme { best, wants } => replace_if(best, *wants, value)?,
            State::Collect { values, bytes } => {
                sizes::check_element(value)?;
                *bytes += value_bytes(value);
                values.push(value.clone());
            }
            State::Deviation(deviation, _) => deviation.add(number::number(name, value)?),
            State::Percentile(percentile) => percentile.add(name, value, fraction)?,
        }
        if let Some(seen) = &mut self.seen {
            seen.insert(value);
        }
        Ok(())
    }

    /// Takes so many rows of `count(*)`.
    ///
    /// # Errors
    ///
    /// `InvalidNumberOfArguments` when this is another function.
    pub fn update_rows(&mut self, rows: usize) -> Result<(), EvalError> {
        match (&mut self.state, &self.seen) {
            (State::Count(count), None) => {
                // Rows are counted one by one somewhere: 2^63 of them take centuries.
                *count = count.saturating_add_unsigned(rows as u64);
                Ok(())
            }
            _ => Err(self.wrong_arity(0)),
        }
    }

    /// Takes a column of vertices; what [`Accumulator::update`] would do row by row.
    ///
    /// # Errors
    ///
    /// As [`Accumulator::update`].
    pub fn update_vertices(&mut self, values: &[VertexId]) -> Result<(), EvalError> {
        match (&mut self.state, &mut self.seen) {
            (State::Count(_), None) => self.update_rows(values.len()),
            (State::Count(count), Some(seen)) => {
                *count = count.saturating_add_unsigned(seen.insert_vertices(values) as u64);
                Ok(())
            }
            _ => values.iter().try_for_each(|vertex| self.update(&[Value::Vertex(*vertex)])),
        }
    }

    /// Whether it holds more than a few numbers, so that what it holds must be watched.
    #[must_use]
    pub fn keeps_values(&self) -> bool {
        let kept = matches!(
            self.state,
            State::Extreme { .. } | State::Collect { .. } | State::Percentile(_)
        );
        kept || self.seen.is_some()
    }

    /// Takes a column of integers of rows without nulls; what [`Accumulator::update`] would do row
    /// by row.
    ///
    /// # Errors
    ///
    /// As [`Accumulator::update`].
    pub fn update_ints(&mut self, values: &[i64]) -> Result<(), EvalError> {
        match (&mut self.state, &self.seen) {
            (State::Count(_), None) => self.update_rows(values.len()),
            (State::Sum(sum), None) => sum.add_ints(self.function.name, values),
            (State::Mean(mean), None) => mean.add_ints(self.function.name, values),
            (State::Extreme { best, wants }, None) => {
                let column = values.iter().copied();
                let found = if wants.is_lt() { column.min() } else { column.max() };
                if let Some(found) = found {
                    replace_if(best, *wants, &Value::Int(found))?;
                }
                Ok(())
            }
            (State::Deviation(deviation, _), None) => {
                values.iter().for_each(|x| deviation.add(*x as f64));
                Ok(())
            }
            _ => values.iter().try_for_each(|x| self.update(&[Value::Int(*x)])),
        }
    }

    /// Takes a column of floats of rows without nulls; what [`Accumulator::update`] would do row by
    /// row.
    ///
    /// # Errors
    ///
    /// As [`Accumulator::update`].
    pub fn update_floats(&mut self, values: &[f64]) -> Result<(), EvalError> {
        match (&mut self.state, &self.seen) {
            (State::Count(_), None) => self.update_rows(values.len()),
            (State::Sum(sum), None) => sum.add_floats(self.function.name, values),
            (State::Mean(mean), None) => {
                values.iter().try_for_each(|x| mean.add_float(self.function.name, *x))
            }
            (State::Extreme { best, wants }, None) => {
                values.iter().try_for_each(|x| replace_if(best, *wants, &Value::Float(*x)))
            }
            (State::Deviation(deviation, _), None) => {
                values.iter().for_each(|x| deviation.add(*x));
                Ok(())
            }
            _ => values.iter().try_for_each(|x| self.update(&[Value::Float(*x)])),
        }
    }

    /// Takes what another accumulator of the same function has taken; for `collect`, after its own.
    ///
    /// # Errors
    ///
    /// As [`Accumulator::update`]; `InvalidArgumentValue` when the functions are not the same.
    pub fn merge(&mut self, other: Self) -> Result<(), EvalError> {
        if self.function.name != other.function.name || self.seen.is_some() != other.seen.is_some()
        {
            let message =
                format!("cannot merge {}() with {}()", self.function.name, other.function.name);
            return Err(EvalError::argument_value(message));
        }
        if let Some(seen) = other.seen {
            if let (State::Count(count), Some(ours)) = (&mut self.state, &mut self.seen) {
                *count = count.saturating_add_unsigned(ours.absorb(*seen) as u64);
                return Ok(());
            }
            let fraction = match &other.state {
                State::Percentile(theirs) => theirs.fraction().map(Value::Float),
                _ => None,
            };
            let mut take = |value: Value| match &fraction {
                Some(fraction) => self.update(&[value, fraction.clone()]),
                None => self.update(&[value]),
            };
            // A set has no order, but a list has.
            return match other.state {
                State::Collect { values, .. } => values.into_iter().try_for_each(take),
                _ => seen.into_values().try_for_each(&mut take),
            };
        }
        let name = self.function.name;
        match (&mut self.state, other.state) {
            (State::Count(ours), State::Count(theirs)) => *ours = ours.saturating_add(theirs),
            (State::Sum(ours), State::Sum(theirs)) => ours.merge(name, &theirs)?,
            (State::Mean(ours), State::Mean(theirs)) => ours.merge(name, &theirs)?,
            (State::Extreme { best, wants }, State::Extreme { best: theirs, .. })
                if !theirs.is_null() =>
            {
                replace_if(best, *wants, &theirs)?;
            }
            (
                State::Collect { values, bytes },
                State::Collect { values: mut theirs, bytes: more },
            ) => {
                values.append(&mut theirs);
                *bytes += more;
            }
            (State::Deviation(ours, _), State::Deviation(theirs, _)) => ours.merge(&theirs),
            (State::Percentile(ours), State::Percentile(theirs)) => ours.merge(*theirs),
            // One name has one kind of state; what is left is an extreme of nothing.
            _ => {}
        }
        Ok(())
    }

    /// The value of the aggregation. Lists of values move out; nothing may be added afterwards.
    ///
    /// # Errors
    ///
    /// `IntegerOverflow` when a sum of integers or a duration does not fit.
    pub fn finish(&mut self) -> Result<Value, EvalError> {
        Ok(match &mut self.state {
            State::Count(count) => Value::Int(*count),
            State::Sum(sum) => sum.finish()?,
            State::Mean(mean) => mean.finish()?,
            State::Extreme { best, .. } => std::mem::take(best),
            State::Collect { values, bytes } => {
                *bytes = 0;
                let list = Value::from(std::mem::take(values));
                sizes::check_value(&list)?;
                list
            }
            State::Deviation(deviation, population) => match population {
                Population::Sample => deviation.finish(1),
                Population::Whole => deviation.finish(0),
            },
            State::Percentile(percentile) => percentile.finish()?,
        })
    }

    /// Bytes that the accumulator holds: itself, and what it keeps of values. What values share
    /// with others counts in full.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let kept = match &self.state {
            State::Count(_) | State::Sum(_) | State::Mean(_) | State::Deviation(..) => 0,
            State::Extreme { best, .. } => value_bytes(best) - size_of::<Value>(),
            State::Collect { values, bytes } => {
                *bytes + (values.capacity() - values.len()) * size_of::<Value>()
            }
            State::Percentile(percentile) => percentile.memory_bytes(),
        };
        size_of::<Self>() + kept + self.seen.as_ref().map_or(0, |seen| seen.memory_bytes())
    }

    fn wrong_arity(&self, found: usize) -> EvalError {
        EvalError::new(
            Detail::InvalidNumberOfArguments,
            format!("{}() does not take {found} arguments", self.function.name),
        )
    }
}

/// Puts `value`, which is not null, in the place of null or of a value that it beats.
#[inline]
fn replace_if(best: &mut Value, wants: std::cmp::Ordering, value: &Value) -> Result<(), EvalError> {
    if best.is_null() || ops::order(value, best)? == wants {
        *best = value.clone();
    }
    Ok(())
}
