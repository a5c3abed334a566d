//! What operators are called, one name for each variant of [`Plan`]: memory errors use them, and
//! tests go through all of them.

use super::Plan;

macro_rules! names {
    ($($variant:ident)*) => {
        /// Names of all operators that a plan can have.
        pub const OPERATORS: &[&str] = &[$(stringify!($variant)),*];

        impl Plan {
            /// The name among [`OPERATORS`]; what people see is in `explain.rs`.
            pub(crate) const fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant { .. } => stringify!($variant),)*
                }
            }
        }
    };
}

names! {
    Unit Argument Match NodeScan IndexSeek RelationshipSeek NodeById Expand VarExpand ShortestPath Repeat
    Select Filter Extend Keep Prune Aggregate CountStore Distinct Sort Skip Limit Unwind Apply
    InTransactions Union Eager Create Merge Set Delete Foreach Call LoadCsv Parallel
    Intersect Degrees HashJoin
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_have_names() {
        assert!(OPERATORS.contains(&Plan::Unit.name()));
    }
}
