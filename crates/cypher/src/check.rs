//! Rules about whole queries that need no names and no types: which clause may follow which.

use crate::ast::Statement;
use crate::diagnostic::Diagnostics;

pub(crate) fn check(_: &Statement) -> Result<(), Diagnostics> {
    Ok(())
}
