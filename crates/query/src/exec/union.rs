//! `UNION ALL`: the rows of several plans, one plan after the other.

use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::query_error::QueryError;

pub(crate) struct Union<'p> {
    parts: std::vec::IntoIter<Source<'p>>,
    current: Option<Source<'p>>,
}

impl<'p> Union<'p> {
    pub(crate) fn new(parts: Vec<Source<'p>>) -> Self {
        let mut parts = parts.into_iter();
        Self { current: parts.next(), parts }
    }
}

impl Operator for Union<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(current) = &mut self.current {
            if let Some(batch) = current.next(cx)? {
                return Ok(Some(batch));
            }
            self.current = self.parts.next();
        }
        Ok(None)
    }
}
