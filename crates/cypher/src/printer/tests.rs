//! Printing what was read, and reading what was printed.

use proptest::prelude::*;

use crate::generate::Generator;
use crate::parser::{parse, parse_unchecked};

/// Cases of the property test; fifty times as many with `TELAR_LONG=1`.
fn cases() -> u32 {
    if std::env::var_os("TELAR_LONG").is_some() { 100_000 } else { 2000 }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn printed_trees_parse_to_equal_trees(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let tree = Generator::new(&bytes).statement();
        let text = tree.to_string();
        match parse_unchecked(&text) {
            Ok(again) => prop_assert!(again == tree, "{}\nis read as\n{}", text, again),
            Err(errors) => prop_assert!(false, "{}\n{}", text, errors.render(&text)),
        }
    }
}

/// Texts that are already as the printer writes them.
#[test]
fn printer_adds_parentheses_only_where_they_are_needed() {
    for text in [
        "RETURN (a + b) * c - d - (e - f)",
        "RETURN a ^ b ^ (c ^ d), -a ^ b, -(a ^ b), (-a).b, -(5), -5, --5, +5",
        "RETURN NOT a = b AND (c OR d) XOR e, (NOT a) = b, a < b <= c, (a < b) = c",
        "RETURN (a IN b) IN c, a IN (b IN c), a.b[0][1..][..2].c, (a IS NULL) IS NULL",
        "RETURN [(x IN xs)], [x IN xs], [x IN xs, y], [(a)-->(b)], [x IN xs AND y], [x IN (a OR b) | x]",
        "MATCH (n) WHERE (n)-->(:A|B {x: 1}) AND n:(A|B) RETURN ((n)-[:R*2..]->()) IS NULL",
        "RETURN `match`, `match`.match, count(*), count(DISTINCT a), exists(a.b)",
        "RETURN CASE a WHEN 1, > 2, IS NULL THEN b ELSE c END",
    ] {
        match parse_unchecked(text) {
            Ok(tree) => assert_eq!(tree.to_string(), text),
            Err(errors) => panic!("{}", errors.render(text)),
        }
    }
}

/// One tree for several spellings.
#[test]
fn printer_chooses_one_spelling() {
    for (text, printed) in [
        ("match(n)where n.a<>1 return*", "MATCH (n) WHERE n.a <> 1 RETURN *"),
        ("MATCH (a)<-[]->(b) FINISH", "MATCH (a)--(b) FINISH"),
        ("MATCH (a)-[:A|:B]-(b)-[:A*2..2]-(c) FINISH", "MATCH (a)-[:A|B]-(b)-[:A*2]-(c) FINISH"),
        ("MATCH (a IS A&B) FINISH", "MATCH (a:A&B) FINISH"),
        (
            "RETURN 0x1F, 0o17, 1_000, .5, 1e3, \"it's\", '\\u00e4'",
            "RETURN 31, 15, 1000, 0.5, 1000.0, 'it\\'s', 'ä'",
        ),
        ("WITH 1 AS a RETURN a OFFSET 1", "WITH 1 AS a RETURN a SKIP 1"),
        (
            "RETURN x :: int not null, y IS TYPED bool list",
            "RETURN x IS :: INTEGER NOT NULL, y IS :: LIST<BOOLEAN>",
        ),
        ("MATCH SHORTEST 1 PATH GROUPS (a)-->(b) FINISH", "MATCH ALL SHORTEST (a)-->(b) FINISH"),
        ("create index for (x:A) on x.a", "CREATE INDEX FOR (n:A) ON (n.a)"),
        ("show all indexes", "SHOW INDEXES"),
    ] {
        match parse(text) {
            Ok(tree) => assert_eq!(tree.to_string(), printed),
            Err(errors) => panic!("{}", errors.render(text)),
        }
    }
}
