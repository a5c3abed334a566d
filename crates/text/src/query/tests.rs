//! What is read of queries, and what is refused.

use proptest::prelude::*;

use super::*;

/// The tree in the words of Lucene's `Query.toString`.
fn shown(clause: &Clause) -> String {
    let field = clause.field.as_ref().map(|field| format!("{field}:")).unwrap_or_default();
    let boost = match clause.boost {
        1.0 => String::new(),
        boost => format!("^{boost}"),
    };
    let end = |end: &Option<String>| end.clone().unwrap_or_else(|| "*".to_owned());
    let text = match &clause.node {
        Node::Words(text) => text.clone(),
        Node::Phrase { text, slop: 0 } => format!("\"{text}\""),
        Node::Phrase { text, slop } => format!("\"{text}\"~{slop}"),
        Node::Wildcard(pieces) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.as_str(),
                Piece::One => "?",
                Piece::Any => "*",
            })
            .collect(),
        Node::Fuzzy { term, similarity } => format!("{term}~{similarity}"),
        Node::Regex(text) => format!("/{text}/"),
        Node::Range { from, from_included, to, to_included } => format!(
            "{}{} TO {}{}",
            if *from_included { '[' } else { '{' },
            end(from),
            end(to),
            if *to_included { ']' } else { '}' }
        ),
        Node::All => "*".to_owned(),
        Node::Boolean(clauses) => {
            let clauses: Vec<String> = clauses
                .iter()
                .map(|(occur, clause)| {
                    let mark = match occur {
                        Occur::Should => "",
                        Occur::Must => "+",
                        Occur::MustNot => "-",
                    };
                    format!("{mark}{}", shown(clause))
                })
                .collect();
            format!("({})", clauses.join(" "))
        }
    };
    format!("{field}{text}{boost}")
}

/// What Lucene's parser makes of them, from its own tests (`QueryParserTestBase`) where it has
/// them.
#[test]
fn queries_are_read_as_lucene_does() {
    let cases = [
        ("term", "term"),
        ("term term term", "term term term"),
        ("a AND b", "(+a +b)"),
        ("(a AND b)", "(+a +b)"),
        ("c OR (a AND b)", "(c (+a +b))"),
        ("a AND NOT b", "(+a -b)"),
        ("a AND -b", "(+a -b)"),
        ("a AND !b", "(+a -b)"),
        ("a && b", "(+a +b)"),
        ("a OR b", "(a b)"),
        ("a || b", "(a b)"),
        ("a OR !b", "(a -b)"),
        ("a OR b AND c", "(a +b +c)"),
        ("a AND b OR c", "(+a +b c)"),
        ("+term -term term", "(+term -term term)"),
        ("foo:term AND anotherTerm", "(+foo:term +anotherTerm)"),
        ("term AND \"phrase phrase\"", "(+term +\"phrase phrase\")"),
        ("\"hello there\"", "\"hello there\""),
        ("germ term^2.0", "(germ term^2)"),
        ("(term)^2.0", "term^2"),
        ("(germ term)^2.0", "germ term^2"),
        ("(foo OR bar) AND (baz OR boo)", "(+(foo bar) +(baz boo))"),
        ("((a OR b) AND NOT c) OR d", "((+(a b) -c) d)"),
        ("term*", "term*"),
        ("term*^2", "term*^2"),
        ("te?m", "te?m"),
        ("*rm", "*rm"),
        ("*", "*"),
        ("*:*", "*:*"),
        ("title:*", "title:*"),
        ("term~", "term~2"),
        ("term~1", "term~1"),
        ("term~0.7", "term~0.7"),
        ("term~^2", "term~2^2"),
        ("term^2~", "term~2^2"),
        ("\"a b\"~5^2", "\"a b\"~5^2"),
        ("[a TO c]", "[a TO c]"),
        ("x:{a TO \"b c\"]", "x:{a TO b c]"),
        ("[* TO b}", "[* TO b}"),
        ("[\"*\" TO *]", "[* TO *]"),
        ("/[mb]oat/", "/[mb]oat/"),
        ("f:/a\\/b/ x", "(f:/a/b/ x)"),
        ("f:(a b^3 c)", "(f:a f:b^3 f:c)"),
        ("f:(a OR g:b)", "(f:a g:b)"),
        // graphiti escapes letters, too.
        ("group_id:\"g\\-1\" AND (\\Of \\AND \\NOT)", "(+group_id:\"g-1\" +Of AND NOT)"),
        ("a\\ b", "a b"),
        ("\\+a \\u0041", "+a A"),
        ("a - b", "(a - b)"),
        ("a-b a+b &a", "a-b a+b &a"),
        ("  spaced\u{3000}out ", "spaced out"),
        ("NOT a", "(-a)"),
        ("ANDY ORB", "ANDY ORB"),
    ];
    for (text, expected) in cases {
        assert_eq!(parse(text).map(|clause| shown(&clause)), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn what_is_no_query_says_where() {
    let cases = [
        ("", 0),
        ("   ", 3),
        ("(a", 2),
        ("a)", 1),
        ("()", 1),
        ("a AND", 5),
        ("AND a", 0),
        ("a AND OR b", 6),
        ("\"a", 0),
        ("a /b", 2),
        ("[a b]", 4),
        ("[a TO b", 0),
        ("[TO b]", 5),
        ("a]", 1),
        ("a^", 2),
        ("a~1.5", 1),
        ("a\\", 1),
        ("a:", 2),
        ("+ +", 3),
        ("^2", 0),
        ("~", 0),
    ];
    for (text, column) in cases {
        match parse(text) {
            Ok(clause) => panic!("{text} is {}", shown(&clause)),
            Err(error) => assert_eq!(error.column, column, "{text}: {error}"),
        }
    }
    let deep = format!("{}a{}", "(".repeat(DEPTH_MAX), ")".repeat(DEPTH_MAX));
    assert_eq!(parse(&deep).map(|clause| shown(&clause)), Ok("a".to_owned()));
    let error = parse(&"(".repeat(100_000)).unwrap_err();
    assert_eq!(error.column, DEPTH_MAX);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(
        text in "([a-c ]|AND|OR|NOT|TO|\\\\u00|[-+!(){}\\[\\]^\"~*?:\\\\/&|.0-9]|\\PC){0,40}"
    ) {
        let _ = parse(&text);
    }
}
