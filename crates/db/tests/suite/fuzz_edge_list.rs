//! The entry point of the fuzz target `edge_list`, on random and on nearly valid bytes.

use crate::random;

#[path = "../../../../fuzz/entry/edge_list.rs"]
mod entry;

#[test]
fn edge_lists_take_any_bytes() {
    let valid: Vec<Vec<u8>> = [
        "\0# comment\n1 2\n2\t3 4.5\n",
        "\x01from,to,weight\n\"a\",b,1\nb,c,2\n",
        "\x02from\tto\n7\t9\n",
        "\x033 2\n2 3\n1\n1\n",
        "\x04\u{feff}18446744073709551615 0\r\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    random::run(2, 6_000, 60, &valid, entry::edge_list);
}
