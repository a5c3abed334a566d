//! What a malformed file is told.

use super::*;

#[test]
fn malformed_text_is_placed_by_line_and_column() {
    let cases = [
        ("g.csv", "1,2\n3,abc\n", r#"g.csv:2:3: expected a vertex id, found "abc""#),
        ("g.csv", "1,2\r\n\r\n# x\r\n-3,4\r\n", r#"g.csv:4:1: expected a vertex id, found "-3""#),
        ("g.csv", "1,2\n,4\n", "g.csv:2:1: expected a vertex id, found nothing"),
        ("g.csv", "a,b\n,c\n", "g.csv:2:1: expected a vertex id, found nothing"),
        ("g.csv", "1,2\n3\n", "g.csv:2:1: expected 2 fields, found 1"),
        ("g.csv", "1,2\n3,4,\n", "g.csv:2:1: expected 2 fields, found 3"),
        ("g.txt", "7\n", "g.txt:1:1: expected 2 fields, found 1"),
        ("g.txt", "0 1\n  2 x", r#"g.txt:2:5: expected a vertex id, found "x""#),
        ("g.txt", "0 1 5\n2 3 x\n", r#"g.txt:2:5: expected a finite number, found "x""#),
        ("g.txt", "0 1 nan\n", r#"g.txt:1:5: expected a finite number, found "nan""#),
    ];
    for (file, text, expected) in cases {
        assert_eq!(message(file, text), expected, "{text:?}");
    }
    let expected = r#"g.txt:2:3: expected a vertex id below 2^64, found "18446744073709551616""#;
    assert_eq!(message("g.txt", "0 1\n0 18446744073709551616\n"), expected);
}

#[test]
fn column_counts_characters_and_excerpts_are_short_and_printable() {
    let text = "ä,ö,1\nü,é,x\n";
    assert_eq!(message("g.csv", text), r#"g.csv:2:5: expected a finite number, found "x""#);
    let long = format!("0 1\n0 {}\n", "x".repeat(500));
    let shown = format!("g.txt:2:3: expected a vertex id, found \"{}...\"", "x".repeat(40));
    assert_eq!(message("g.txt", &long), shown);
    assert!(message("g.txt", "0 1\n0 \u{1b}[31m\n").ends_with(r#"found "\u{1b}[31m""#));
}

#[test]
fn broken_quotes_are_named() {
    let open = r#"g.csv:2:3: expected a field that ends with a quote on the same line, "#;
    assert!(message("g.csv", "a,b\nc,\"d\ne,f\n").starts_with(open));
    let tail = r#"g.csv:1:5: expected the end of the quoted field, found "x,b""#;
    assert_eq!(message("g.csv", "\"a\" x,b\n"), tail);
}

#[test]
fn bytes_that_are_no_text_are_refused() {
    let error = EdgeList::parse("g.csv", b"a,b\nc,\xff\n", &EdgeListOptions::default(), &|_| {});
    assert!(error.unwrap_err().to_string().starts_with("g.csv:2:3: expected UTF-8 text, "));
}

#[test]
fn first_fault_in_the_text_wins_over_the_first_found() {
    // Several pieces, each with a fault at its end; whichever thread is first, line 200000 is told.
    let bad = |line: usize| line % 200_000 == 199_999;
    let text: String = (0..800_000)
        .map(|i| if bad(i) { "x 1\n".to_owned() } else { format!("{i} 1\n") })
        .collect();
    for _ in 0..3 {
        let expected = r#"g.txt:200000:1: expected a vertex id, found "x""#;
        assert_eq!(message("g.txt", &text), expected);
    }
}

#[test]
fn kept_ids_must_fit_into_32_bits() {
    let options = EdgeListOptions { numbering: Numbering::Keep, ..Default::default() };
    let error = EdgeList::parse("g.txt", b"0 4294967295\n", &options, &|_| {}).unwrap_err();
    let expected = "g.txt:1:3: expected a vertex id up to 4294967294, as ids are kept, ";
    assert!(error.to_string().starts_with(expected));
}

#[test]
fn malformed_metis_is_told_apart() {
    let cases = [
        ("", "g.metis:1:1: expected a METIS header with a number of vertices below 2^32, found"),
        ("3\n", "g.metis:1:2: expected the number of edges, found nothing"),
        ("3 1 2\n", "g.metis:1:5: expected a METIS format of up to three digits 0 or 1, found"),
        ("3 1 011 99\n", "g.metis:1:9: expected a number of vertex weights up to 64, found"),
        ("3 1 0 1 1\n", "g.metis:1:9: expected the end of the header, found \"1\""),
        ("2 1\n2\n3\n", "g.metis:3:1: expected a vertex number from 1 to 2, found \"3\""),
        ("2 1\n0\n1\n", "g.metis:2:1: expected a vertex number from 1 to 2, found \"0\""),
        ("2 1\n1\n2\n", "g.metis:2:1: expected a neighbour other than itself, found \"1\""),
        ("2 1\n2\n1\n1\n", "g.metis:4:1: expected the end of the file after 2 vertices, found"),
        ("2 1 1\n2 5\n1\n", "g.metis:3:2: expected the weight of the edge, found nothing"),
        ("2 1\n2\n", "g.metis:1:3: expected 1 edges, each in the list of both its ends, found 1"),
    ];
    for (text, expected) in cases {
        let message = message("g.metis", text);
        assert!(message.starts_with(expected), "{text:?}: {message}");
    }
}

#[test]
fn text_beyond_the_limit_is_refused_while_decompressing() {
    let bomb = zstd::encode_all(&vec![b'\n'; 4 << 20][..], 3).unwrap();
    let options = EdgeListOptions { text_bytes_max: 1 << 20, ..Default::default() };
    let error = EdgeList::from_reader("g.txt", &bomb[..], &options, &|_| {}).unwrap_err();
    assert_eq!(error.to_string(), "g.txt: the text is longer than the limit of 1048576 bytes");
}

#[test]
fn damaged_and_missing_files_are_named() {
    let options = EdgeListOptions::default();
    let cut = zstd::encode_all(&b"0 1\n"[..], 3).unwrap();
    let error = EdgeList::from_reader("g.txt.zst", &cut[..6], &options, &|_| {}).unwrap_err();
    assert!(error.to_string().starts_with("g.txt.zst: "));
    let error = EdgeList::read("no/such/file.csv", &options, &|_| {}).unwrap_err();
    assert!(error.to_string().starts_with("no/such/file.csv: "));
}
