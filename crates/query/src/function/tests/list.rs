//! The list of functions in docs/query.md against the table.

use crate::{aggregate, function};

/// Rows of the table in docs/query.md, as the tables of the code would print them.
fn rows() -> String {
    let scalar = function::all().iter().map(|f| (f.category, f.signature, f.description));
    let aggregating = aggregate::all().iter().map(|a| ("Aggregating", a.signature, a.description));
    let mut rows: Vec<String> = scalar
        .chain(aggregating)
        .map(|(category, signature, description)| {
            let signature = signature.replace('|', "\\|");
            format!("| {category} | `{signature}` | {description} |")
        })
        .collect();
    rows.sort();
    rows.join("\n")
}

/// `TELAR_BLESS=1` writes the list.
#[test]
fn the_documented_list_is_the_table() {
    const BEGIN: &str = "<!-- functions: begin -->\n";
    const END: &str = "\n<!-- functions: end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/query.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("docs/query.md has a list of functions");
    let (listed, after) = rest.split_once(END).expect("the list of functions has an end");
    let header = "| Category | Signature | Yields |\n|---|---|---|\n";
    let expected = format!("{header}{}", rows());
    if std::env::var_os("TELAR_BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
    } else {
        assert!(listed == expected, "docs/query.md is stale; TELAR_BLESS=1 writes it anew");
    }
}
