//! Properties over random graphs and random bytes.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;

/// Edges with ids of one of the shapes that are numbered differently.
fn numeric_edges() -> impl Strategy<Value = Vec<(u64, u64)>> {
    prop_oneof![Just(8_u64), Just(1 << 12), Just(1 << 40), Just(u64::MAX)]
        .prop_flat_map(|bound| prop::collection::vec((0..=bound, 0..=bound), 0..80))
}

fn text_edges() -> impl Strategy<Value = Vec<(String, String)>> {
    let text = "[a-c\",\u{e4}]([a-c\", \u{e4}]{0,2}[a-c\",\u{e4}])?";
    prop::collection::vec((text, text), 1..40)
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// The usual number of cases, many more in long mode (docs/testing.md).
fn config() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("TELAR_LONG").is_some_and(|value| value == "1") {
        config.cases *= 100;
    }
    config
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn numbers_round_trip(edges in numeric_edges(), crlf: bool, csv: bool, last_end: bool) {
        let end = if crlf { "\r\n" } else { "\n" };
        let separator = if csv { "," } else { "\t " };
        let mut text = String::new();
        for (from, to) in &edges {
            write!(text, "{from}{separator}{to}{end}").unwrap();
        }
        if !last_end {
            text.truncate(text.trim_end().len());
        }
        let graph = read("g", &text).unwrap();
        let expected: Vec<_> = edges.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        prop_assert_eq!(original_edges(&graph), expected);
        let mut ids: Vec<u64> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(graph.vertex_count as usize, ids.len());
        // Numbers keep their order, so vertex i is the i-th smallest id.
        for (number, id) in (0..).zip(&ids) {
            prop_assert_eq!(graph.original_id(number), Some(OriginalId::Number(*id)));
        }
    }

    #[test]
    fn texts_round_trip_in_order_of_first_appearance(edges in text_edges()) {
        let lines = edges.iter().map(|(a, b)| format!("{},{}\n", quoted(a), quoted(b)));
        let text = format!("from,to\n{}", lines.collect::<String>());
        let options = EdgeListOptions { ids: IdKind::Texts, ..Default::default() };
        let graph = EdgeList::parse("g.csv", text.as_bytes(), &options, &|_| {}).unwrap();
        prop_assert_eq!(original_edges(&graph), edges.clone());
        let mut next = 0;
        for number in graph.edges.iter().flat_map(|&(from, to)| [from, to]) {
            prop_assert!(number <= next);
            next = next.max(number + 1);
        }
        prop_assert_eq!(next, graph.vertex_count);
    }

    #[test]
    fn columns_round_trip(
        rows in prop::collection::vec((any::<i64>(), -1e300_f64..1e300), 1..40),
    ) {
        let lines = rows.iter().map(|(whole, decimal)| format!("0,1,{whole},{decimal:?}\n"));
        let graph = read("g.csv", &lines.collect::<String>()).unwrap();
        let (whole, decimal): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        prop_assert_eq!(&graph.columns[0].values, &ColumnValues::Integers(whole));
        prop_assert_eq!(&graph.columns[1].values, &ColumnValues::Floats(decimal));
    }

    #[test]
    fn pieces_cover_the_text_and_end_at_line_ends(
        text in "[a\n]{0,60}", start in 0_usize..20, size in 1_usize..12,
    ) {
        let text = text.as_bytes();
        let start = start.min(text.len());
        let mut next = start;
        for piece in parallel::chunks(text, start, size) {
            prop_assert_eq!(piece.start, next);
            prop_assert!(piece.end == text.len() || text[piece.end - 1] == b'\n');
            prop_assert!(piece.end > piece.start);
            next = piece.end;
        }
        prop_assert_eq!(next, text.len());
    }

    #[test]
    fn arbitrary_bytes_are_read_or_refused(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            "[0-9 ,\t\n\r\"#%a.+-]{0,200}".prop_map(String::into_bytes),
            "[0-9]{1,2} [0-9] [01]{1,3}\n([0-9 \n]{0,100})".prop_map(String::into_bytes),
        ],
        file in prop::sample::select(vec!["g", "g.csv", "g.tsv", "g.metis"]),
        keep: bool,
    ) {
        let numbering = if keep { Numbering::Keep } else { Numbering::Compact };
        let options = EdgeListOptions { numbering, text_bytes_max: 1 << 20, ..Default::default() };
        if let Ok(graph) = EdgeList::from_reader(file, &bytes[..], &options, &|_| {}) {
            prop_assert!(graph.edges.iter().all(|&(a, b)| a.max(b) < graph.vertex_count));
            prop_assert!(graph.columns.iter().all(|c| c.values.len() == graph.edges.len()));
        }
    }
}

#[test]
fn result_does_not_depend_on_the_number_of_threads() {
    let numbers: String = (0..200_000_u64).map(|i| format!("{} {}\n", i * i, i / 3)).collect();
    let texts: String = (0..200_000).map(|i| format!("n{},m{},{i}.5\n", i % 997, i / 7)).collect();
    for (file, text) in [("g.txt", numbers), ("g.csv", texts)] {
        let read = |threads| {
            let options = EdgeListOptions { threads, ..Default::default() };
            EdgeList::parse(file, text.as_bytes(), &options, &|_| {}).unwrap()
        };
        assert_eq!(read(1), read(5));
    }
}
