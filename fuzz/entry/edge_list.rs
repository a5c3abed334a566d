//! Parses a file of edges: the first byte picks name, header, numbering and threads.

use telar_db::import::{EdgeList, EdgeListOptions, Header};

/// Takes any bytes.
pub(crate) fn edge_list(bytes: &[u8]) {
    let Some((&how, text)) = bytes.split_first() else {
        return;
    };
    let names = ["a.txt", "a.csv", "a.tsv", "a.graph"];
    let mut options = EdgeListOptions::default();
    options.threads = 1 + usize::from(how >> 2 & 1);
    options.text_bytes_max = 1 << 20;
    options.header =
        [Header::Auto, Header::Present, Header::Absent, Header::Auto][usize::from(how >> 3 & 3)];
    let read = EdgeList::parse(names[usize::from(how & 3)], text, &options, &|_| {});
    match read {
        Ok(list) => {
            for (from, to) in &list.edges {
                for end in [from, to] {
                    assert!(list.original_id(*end).is_some(), "vertex {end} has no id");
                }
            }
            for column in &list.columns {
                assert_eq!(column.values.len(), list.edges.len(), "a column of another length");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
