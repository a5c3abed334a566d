//! Numeric columns beside the edges.

use super::error::Fault;
use super::field::Field;
use super::number::{parse_f64, parse_i64};

/// A named numeric column with one value per edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// The name in the header; without one `weight`, `time`, then `column5`, `column6`, ...
    pub name: String,
    /// The values, in the order of the edges.
    pub values: ColumnValues,
}

/// Values of a column: whole numbers if every value in the file is one, else decimal numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnValues {
    /// Every value is a whole number of 64 bits.
    Integers(Vec<i64>),
    /// Some value is not; all are finite.
    Floats(Vec<f64>),
}

impl Default for ColumnValues {
    fn default() -> Self {
        Self::Integers(Vec::new())
    }
}

impl ColumnValues {
    /// Returns the number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }

    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the value of edge `index` as a decimal number, `None` beyond the last edge.
    pub fn get_f64(&self, index: usize) -> Option<f64> {
        match self {
            Self::Integers(values) => values.get(index).map(|&value| value as f64),
            Self::Floats(values) => values.get(index).copied(),
        }
    }

    /// Adds the number in `field`.
    pub(super) fn push(&mut self, field: &Field<'_>) -> Result<(), Fault> {
        if let Self::Integers(values) = self
            && let Some(value) = parse_i64(field.text)
        {
            values.push(value);
            return Ok(());
        }
        let value = parse_f64(field.text)
            .ok_or_else(|| Fault::unexpected(field.offset, "a finite number", field.text))?;
        self.floats().push(value);
        Ok(())
    }

    /// Moves all of `part` to the end.
    pub(super) fn append(&mut self, part: Self) {
        match (&mut *self, part) {
            (Self::Integers(values), Self::Integers(mut part)) => values.append(&mut part),
            (_, mut part) => self.floats().append(part.floats()),
        }
    }

    /// The values as floats, converted first if need be. Both conversions from text (through `i64`
    /// or direct) round to the nearest float, so the order of arrival does not show in the result.
    fn floats(&mut self) -> &mut Vec<f64> {
        if let Self::Integers(values) = self {
            *self = Self::Floats(values.iter().map(|&value| value as f64).collect());
        }
        match self {
            Self::Floats(values) => values,
            Self::Integers(_) => unreachable!("INVARIANT: converted above"),
        }
    }
}
