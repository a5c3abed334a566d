//! Stacks that are deep enough for a plan.

/// Stack that anything may take: a regular expression, a read from the store.
const STACK_LEAST: usize = 256 << 10;
/// Stack of a level of the tree, of the plan or of an expression, in an unoptimised build.
const STACK_PER_LEVEL: usize = 16 << 10;
/// Levels that may be of any kind; of more than these most are operators of a plan.
const LEVELS_OF_ANY_KIND: usize = 256;
/// Stack of an operator of a plan: of its own call, or of the call of whoever walks over it. Some
/// 1,500 bytes were met in an optimised build.
const STACK_PER_OPERATOR: usize = if cfg!(debug_assertions) { 16 << 10 } else { 4 << 10 };
/// The smallest stack that is made; only what is touched of it takes memory.
const STACK_NEW: usize = 64 << 20;
/// Whoever needs more than this gets a stack of its own, wherever it runs: what it touches is given
/// back afterwards, while the stack of a thread that serves a connection is kept.
const STACK_KEPT: usize = 16 << 20;

/// Runs `f` with a stack that is deep enough for so many levels, on any thread.
///
/// Plans are as deep as a statement is long: 20,000 clauses are a plan of 60,000 levels. Their
/// number is known, and bounded ([`PARTS_MAX`](telar_cypher::parser::PARTS_MAX)), so no walk over a
/// plan has to look after its stack, those that the compiler makes included (`Drop`, `Debug`).
///
/// PERF: query_times: a stack of its own costs 10 us, as much as all else of a small query.
pub(crate) fn with_stack<T>(levels: usize, f: impl FnOnce() -> T) -> T {
    let of_any_kind = levels.min(LEVELS_OF_ANY_KIND);
    let operators = levels - of_any_kind;
    let needed = STACK_LEAST
        .saturating_add(of_any_kind.saturating_mul(STACK_PER_LEVEL))
        .saturating_add(operators.saturating_mul(STACK_PER_OPERATOR));
    if needed > STACK_KEPT {
        return stacker::grow(needed.max(STACK_NEW), f);
    }
    stacker::maybe_grow(needed, STACK_NEW, f)
}
