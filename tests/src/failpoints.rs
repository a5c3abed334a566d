//! Failpoints of child processes.

use std::process::Output;

/// The failpoints that a child has passed which listens (`TELAR_FAILPOINTS` is set), in the order
/// in which it says so: lines `hit NAME`.
///
/// # Panics
/// If the child has failed.
#[must_use]
pub fn passed(output: &Output) -> Vec<String> {
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines().filter_map(|line| line.strip_prefix("hit ")).map(str::to_owned).collect()
}
