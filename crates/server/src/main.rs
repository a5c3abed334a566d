//! The `telar` command.
fn main() {}
