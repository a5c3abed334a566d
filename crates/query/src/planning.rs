//! Rules of planning that no answer may depend on.

/// Which rules planning follows: all of them, but for tests that compare answers.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Planning {
    /// Patterns are found in the order that is expected to be cheapest, by indexes where there are
    /// any, and conditions are tested as soon as they can be. Otherwise nodes and relationships are
    /// found as they are written, and conditions tested in the end.
    pub order: bool,
    /// Counts of all nodes or relationships of a kind are taken from what knows them.
    pub count_store: bool,
    /// Rows are grouped by a node first where the keys are its properties.
    pub grouping: bool,
    /// Columns that nobody reads are left out.
    pub pruning: bool,
    /// Rows of which only the number is wanted, or whether there are any, are not made. Needs
    /// `pruning`.
    pub shortcuts: bool,
    /// The first rows by a property come from an index on it.
    pub index_order: bool,
    /// The same wherever it can be done, whether it pays or not: for tests.
    pub at_any_cost: bool,
}

impl Planning {
    /// None of the rules.
    pub const NAIVE: Self = Self {
        order: false,
        count_store: false,
        grouping: false,
        pruning: false,
        shortcuts: false,
        index_order: false,
        at_any_cost: false,
    };
}

impl Default for Planning {
    /// All of them.
    fn default() -> Self {
        Self {
            order: true,
            count_store: true,
            grouping: true,
            pruning: true,
            shortcuts: true,
            index_order: true,
            at_any_cost: false,
        }
    }
}
