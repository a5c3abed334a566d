//! What each format means.

use std::cell::RefCell;
use std::io::Write;

use super::*;

fn numbers(ids: &[u64]) -> Option<OriginalIds> {
    Some(OriginalIds::Numbers(ids.to_vec()))
}

#[test]
fn snap_skips_comments_blank_lines_and_extra_blanks() {
    let text = "# Nodes: 3\n% also a comment\n\n0\t1\n  1   2  \n \t \n# end\n2 0";
    let graph = read("a.txt", text).unwrap();
    assert_eq!(graph.edges, [(0, 1), (1, 2), (2, 0)]);
    assert_eq!((graph.vertex_count, &graph.original_ids), (3, &None));
    assert!(graph.columns.is_empty() && !graph.undirected);
}

#[test]
fn line_ends_lf_crlf_and_none_read_alike() {
    let expected = read("a.csv", "from,to,w\n5,6,1\n6,7,2\n").unwrap();
    for text in ["from,to,w\r\n5,6,1\r\n6,7,2\r\n", "from,to,w\n5,6,1\n6,7,2", "5,6,1\r\n6,7,2"] {
        let graph = read("a.csv", text).unwrap();
        assert_eq!(graph.edges, expected.edges);
        assert_eq!(graph.columns[0].values, expected.columns[0].values);
    }
}

#[test]
fn text_without_records_is_an_empty_graph() {
    for text in ["", "\n", "\r\n\r\n", "# only a comment", "\u{feff}", "from,to\n"] {
        for file in ["a.txt", "a.csv", "a.tsv"] {
            if file == "a.tsv" && text.starts_with("from") {
                continue;
            }
            let graph = read(file, text).unwrap();
            assert_eq!((graph.edges.len(), graph.vertex_count), (0, 0), "{file} {text:?}");
        }
    }
}

#[test]
fn header_names_find_the_endpoints_in_any_position() {
    let text = "Weight,Target_ID,when,Source-ID\n0.5,2,10,1\n1,1,-20,2\n";
    let graph = read("a.csv", text).unwrap();
    assert_eq!(original_edges(&graph)[0], ("1".to_owned(), "2".to_owned()));
    assert_eq!(graph.column("Weight").unwrap().values, ColumnValues::Floats(vec![0.5, 1.0]));
    assert_eq!(graph.column("when").unwrap().values, ColumnValues::Integers(vec![10, -20]));
}

#[test]
fn header_of_unknown_names_shows_by_the_numbers_below_it() {
    let graph = read("a.csv", "person,friend,since\n0,1,1999\n").unwrap();
    assert_eq!((graph.edges.len(), graph.columns[0].name.as_str()), (1, "since"));
    let texts = read("a.csv", "ann,bob\ncid,ann\n").unwrap();
    assert_eq!(texts.edges, [(0, 1), (2, 0)]);
}

#[test]
fn header_option_overrules_the_guess() {
    let options = EdgeListOptions { header: Header::Present, ..Default::default() };
    let graph = EdgeList::parse("a.csv", b"ann,bob\ncid,ann\n", &options, &|_| {}).unwrap();
    assert_eq!(graph.edges, [(0, 1)]);
    let options = EdgeListOptions { header: Header::Absent, ..Default::default() };
    let graph = EdgeList::parse("a.csv", b"from,to\n", &options, &|_| {}).unwrap();
    assert_eq!(graph.vertex_count, 2);
}

#[test]
fn columns_without_names_are_weight_time_and_numbered() {
    let graph = read("a.txt", "0 1 2 3 4 5\n").unwrap();
    let names: Vec<_> = graph.columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["weight", "time", "column5", "column6"]);
}

#[test]
fn ignored_columns_may_hold_anything() {
    let options = EdgeListOptions { columns: Columns::Ignore, ..Default::default() };
    let text = b"0,1,likes,x\n1,0\n1,1,\"a\"\n";
    let graph = EdgeList::parse("a.csv", text, &options, &|_| {}).unwrap();
    assert_eq!((graph.edges.len(), graph.columns.len()), (3, 0));
}

#[test]
fn quoted_fields_hold_separators_and_doubled_quotes() {
    let text = "from,to\n\"Smith, Ann\" , \"5\"\"x\"\n#comment\n Bob ,\"Smith, Ann\"\n";
    let graph = read("a.csv", text).unwrap();
    let ids = ["Smith, Ann", "5\"x", "Bob"].map(Box::from);
    assert_eq!(graph.original_ids, Some(OriginalIds::Texts(ids.to_vec())));
    assert_eq!(graph.edges, [(0, 1), (2, 0)]);
}

#[test]
fn numeric_ids_with_gaps_close_ranks_and_keep_their_order() {
    let dense = read("a.txt", "40 10\n20 40\n").unwrap();
    assert_eq!((&dense.edges[..], dense.vertex_count), (&[(2, 0), (1, 2)][..], 3));
    assert_eq!(dense.original_ids, numbers(&[10, 20, 40]));
    let sparse = read("a.txt", "18446744073709551615 0\n5000000000 7\n").unwrap();
    assert_eq!(sparse.edges, [(3, 0), (2, 1)]);
    assert_eq!(sparse.original_ids, numbers(&[0, 7, 5_000_000_000, u64::MAX]));
}

#[test]
fn kept_numbers_leave_gaps_as_vertices() {
    let options = EdgeListOptions { numbering: Numbering::Keep, ..Default::default() };
    let graph = EdgeList::parse("a.txt", b"40 10\n", &options, &|_| {}).unwrap();
    assert_eq!((graph.edges, graph.vertex_count), (vec![(40, 10)], 41));
    assert_eq!(graph.original_ids, None);
}

#[test]
fn metis_keeps_one_direction_and_its_weights() {
    // The path 1-2-3 and the isolated 4; sizes, two vertex weights and edge weights.
    let text = "% path\n4 2 111 2\n9 1 1 2 7\n9 1 1 1 7 3 8\n% between\n9 1 1 2 8\n9 1 1\n";
    let graph = read("a.metis", text).unwrap();
    assert_eq!((&graph.edges[..], graph.vertex_count), (&[(0, 1), (1, 2)][..], 4));
    assert_eq!(graph.column("weight").unwrap().values, ColumnValues::Integers(vec![7, 8]));
    assert!(graph.undirected);
    for text in ["4 1\n2\n1\n\n\n", "4 1\n2\n1", "4 1 0\r\n2 \r\n1 \r\n\r\n\r\n\r\n"] {
        let graph = read("a.graph", text).unwrap();
        assert_eq!((&graph.edges[..], graph.vertex_count), (&[(0, 1)][..], 4), "{text:?}");
    }
}

#[test]
fn compression_is_recognised_by_content() {
    let text = b"0 1\n1 2\n";
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text).unwrap();
    let zstd = zstd::encode_all(&text[..], 3).unwrap();
    // Several members or frames in a row are one text.
    for bytes in [text.to_vec(), gzip.finish().unwrap(), zstd] {
        let options = EdgeListOptions::default();
        let twice = [&bytes[..], &bytes[..]].concat();
        let graph = EdgeList::from_reader("a.txt", &twice[..], &options, &|_| {}).unwrap();
        assert_eq!(graph.edges, [(0, 1), (1, 2), (0, 1), (1, 2)]);
    }
}

#[test]
fn extension_below_a_compression_suffix_tells_the_format() {
    assert_eq!(read("A.METIS.ZST", "2 1\n2\n1\n").unwrap().edges, [(0, 1)]);
    assert_eq!(read("a.tsv.gz", "a b\tc\n").unwrap().edges, [(0, 1)]);
}

#[test]
fn progress_ends_at_the_whole_text() {
    let text: String = (0..300_000).map(|i| format!("{i} {}\n", i + 1)).collect();
    let seen = RefCell::new(Vec::new());
    let options = EdgeListOptions::default();
    EdgeList::parse("a.txt", text.as_bytes(), &options, &|p| seen.borrow_mut().push(p)).unwrap();
    let seen = seen.into_inner();
    assert!(seen.len() > 3 && seen.is_sorted_by_key(|p| (p.bytes_done, p.edges)));
    let total = text.len() as u64;
    let last = Progress { bytes_done: total, bytes_total: total, edges: 300_000 };
    assert_eq!(seen.last(), Some(&last));
}
