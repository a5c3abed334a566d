//! Everything that tiny's expected answers cover, on one subject that holds tiny.

use super::archive::Archive;
use super::load::{Counts, counts_after_updates};
use super::reads::{Expected, Queries, check_reads};
use super::update::updates;
use crate::tck::subject::{GraphState, Subject};

/// Runs all reads, applies all updates, compares what there is then with the expected counts, and
/// runs all reads again. Returns how many answers were right.
///
/// # Errors
/// Every answer and count that was not the expected one. An update that fails ends the check.
pub fn check_tiny(
    archive: &Archive,
    queries: &Queries,
    subject: &mut dyn Subject,
) -> Result<usize, Vec<String>> {
    let one = |problem: String| vec![problem];
    let before = Expected::read(archive, "expected-neo4j-5.26.30.json").map_err(one)?;
    let after =
        Expected::read(archive, "expected-neo4j-5.26.30-after-updates.json").map_err(one)?;
    let mut problems = Vec::new();
    let mut right = 0;
    let mut reads = |expected: &Expected, when: &str, subject: &mut dyn Subject| match check_reads(
        queries, expected, subject,
    ) {
        Ok(count) => right += count,
        Err(wrong) => problems.extend(wrong.into_iter().map(|w| format!("{when}: {w}"))),
    };
    reads(&before, "before updates", subject);
    for update in updates(archive).map_err(one)? {
        queries.apply(subject, &update).map_err(one)?;
    }
    reads(&after, "after updates", subject);
    let (want, got) =
        (counts_after_updates(archive).map_err(one)?, count(&subject.state().map_err(one)?));
    if want != got {
        problems.push(format!("counts after updates: want {want:?}, got {got:?}"));
    }
    if problems.is_empty() { Ok(right) } else { Err(problems) }
}

fn count(state: &GraphState) -> Counts {
    let mut counts = Counts::new();
    for node in state.nodes.values() {
        let labels: Vec<&str> = node.labels.iter().map(String::as_str).collect();
        *counts.entry(labels.join(":")).or_default() += 1;
    }
    for relationship in state.relationships.values() {
        *counts.entry(relationship.ty.clone()).or_default() += 1;
    }
    counts
}
