//! Everything that tiny's expected answers cover, on whatever holds tiny.

use telar_bench::snb::{
    ANSWERS, Archive, Ask, Counts, Expected, Queries, check_reads, counts_after_updates, name,
    updates,
};

/// The answers after all updates.
pub(crate) const ANSWERS_AFTER: &str = "expected-neo4j-5.26.30-after-updates.json";

/// Runs all reads, applies all updates, compares what there is then with the expected counts, and
/// runs all reads again. Returns how many answers were right.
///
/// # Errors
/// Every answer and count that was not the expected one. An update that fails ends the check.
pub(crate) fn check_tiny(
    archive: &Archive,
    queries: &Queries,
    ask: Ask<'_>,
    count: &dyn Fn() -> Result<Counts, String>,
) -> Result<usize, Vec<String>> {
    let one = |problem: String| vec![problem];
    let before = Expected::read(archive, ANSWERS).map_err(one)?;
    let after = Expected::read(archive, ANSWERS_AFTER).map_err(one)?;
    let mut problems = Vec::new();
    let mut right = 0;
    let mut reads =
        |expected: &Expected, when: &str, ask: Ask<'_>| match check_reads(queries, expected, ask) {
            Ok(count) => right += count,
            Err(wrong) => problems.extend(wrong.into_iter().map(|w| format!("{when}: {w}"))),
        };
    reads(&before, "before updates", ask);
    for update in updates(archive).map_err(one)? {
        let text = queries.text(name(update.kind)).map_err(one)?;
        let problem = |e| one(format!("{:?} at {}: {e}", update.kind, update.time));
        ask(text, &update.parameters).map_err(problem)?;
    }
    reads(&after, "after updates", ask);
    let (want, got) = (counts_after_updates(archive).map_err(one)?, count().map_err(one)?);
    if want != got {
        problems.push(format!("counts after updates: want {want:?}, got {got:?}"));
    }
    if problems.is_empty() { Ok(right) } else { Err(problems) }
}
