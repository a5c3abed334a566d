//! `CALL` of a procedure.

use super::prelude::*;
use crate::estimate::LIST;
use crate::procedure;

/// Calls a procedure for every row.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) input: Plan,
    pub(crate) name: Arc<str>,
    pub(crate) procedure: procedure::Bound,
    pub(crate) arguments: Vec<Expr>,
    /// Number of each column of the procedure that is used, and its slot.
    pub(crate) yields: Vec<(usize, Slot)>,
    pub(crate) optional: bool,
}

impl Operator for Call {
    input!(input);
    inner!();
    exprs!(arguments);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        self.yields.iter().map(|(_, slot)| *slot).collect()
    }

    fn shape(&self) -> Shape {
        Shape::Combines
    }

    fn effects(&self, effects: &mut Effects) {
        effects.reads_everything();
        if self.procedure.0.mode() == procedure::Mode::Write {
            effects.writes_everything();
        }
    }

    fn writes(&self) -> bool {
        self.procedure.0.mode().changes()
    }

    fn is_repeatable(&self) -> bool {
        false
    }

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        rows.first * LIST
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        match self.name.contains(' ') {
            // No procedure has a name like `SHOW INDEXES`.
            true => {
                let text = format!("{} {}", self.name, p.exprs(&self.arguments));
                ("Show", text.trim_end().to_owned())
            }
            false => ("ProcedureCall", format!("{}({})", self.name, p.exprs(&self.arguments))),
        }
    }
}
