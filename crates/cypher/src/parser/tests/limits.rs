//! Work grows with the text, and depth has a limit.

use super::*;

/// Looks at tokens that parsing `text` takes, whatever the outcome.
fn steps(text: &str) -> usize {
    let mut statements = Statements::new(text);
    while statements.next().is_some() {}
    statements.steps
}

#[test]
fn parsing_twice_the_text_takes_twice_the_steps() {
    let repeated = |head: &str, part: &str, tail: &str, times: usize| {
        format!("{head}{}{tail}", part.repeat(times))
    };
    for (head, part, tail) in [
        ("RETURN 1", ", 1", ""),
        ("RETURN [", "[x IN y], ", "1]"),
        ("RETURN [", "(a)-->(b) AND x, ", "1]"),
        ("RETURN x", " OR a.b.c = 1", ""),
        ("RETURN 1", " < 2", ""),
        ("RETURN 1", " + 2", ""),
        ("MATCH (a)", "-[:R*1..2]->(b {c: 1})", " RETURN a"),
        ("MATCH (a)", " ((x)--(y))+", " RETURN a"),
        ("MATCH (a)", ", (b)", " RETURN a"),
        ("", "CREATE (a:A:B) ", ""),
        ("RETURN 1", " UNION RETURN 1", ""),
        ("RETURN 1", "; RETURN 1", ""),
        ("", "RETURN ( ; ", ""),
        ("", "MATCH (a RETURN ", ""),
        ("RETURN CASE", " WHEN a THEN b", " END"),
        ("RETURN n:A", "|B&C", ""),
        ("CALL p", ".a", "()"),
        ("RETURN ", "(", ""),
        ("RETURN ", "(a)-", ""),
        ("RETURN ", "[x IN ", ""),
        ("RETURN ", "f(a.b", ""),
        ("MATCH ", "(a {b: ", ""),
    ] {
        let (once, twice) =
            (steps(&repeated(head, part, tail, 2000)), steps(&repeated(head, part, tail, 4000)));
        assert!(twice <= 2 * once + 100, "{head}{part}...: {once}, then {twice}");
    }
}

/// Nesting that each level of the grammar can have. Far more than the limit must neither overflow
/// the stack nor take long; as much as people write must be accepted.
#[test]
fn nesting_has_a_limit_and_is_an_error_beyond_it() {
    let cases = [
        ("RETURN ", "(", "1", ")", ""),
        ("RETURN ", "[", "1", "]", ""),
        ("RETURN ", "{a: ", "1", "}", ""),
        ("RETURN ", "-", "a", "", ""),
        ("RETURN ", "NOT ", "a", "", ""),
        ("RETURN ", "f(", "1", ")", ""),
        ("RETURN ", "[x IN ", "a", " | x]", ""),
        ("RETURN ", "[x IN xs WHERE ", "a", "]", ""),
        ("RETURN ", "[(a)-->(b) | ", "a", "]", ""),
        ("RETURN ", "all(x IN xs WHERE ", "a", ")", ""),
        ("RETURN ", "reduce(a = 1, x IN xs | ", "a", ")", ""),
        ("RETURN ", "CASE WHEN ", "a", " THEN 1 END", ""),
        ("RETURN ", "CASE a WHEN > ", "1", " THEN 1 END", ""),
        ("RETURN ", "n {a: ", "1", "}", ""),
        ("RETURN ", "EXISTS { (a {b: ", "1", "}) }", ""),
        ("RETURN ", "COUNT { MATCH (a) WHERE ", "a", " RETURN a }", ""),
        ("RETURN ", "COLLECT { RETURN ", "a", " AS a }", ""),
        ("RETURN n:", "!", "A", "", ""),
        ("RETURN n:", "(", "A", ")", ""),
        ("RETURN ", "a:$(", "a", ")", ""),
        ("RETURN a IS :: ", "LIST<", "INT", ">", ""),
        ("RETURN ", "a[", "1", "]", ""),
        ("MATCH ", "(", "(a)-->(b)", ")+", " RETURN 1"),
        ("MATCH ", "(a WHERE EXISTS { ", "(a)", " })", " RETURN 1"),
        ("", "CALL { ", "RETURN 1 AS a", " }", " RETURN 1"),
        ("", "FOREACH (a IN b | ", "CREATE (a)", ")", ""),
        // These make high trees without nested texts.
        ("RETURN a", ".b", "", "", ""),
        ("RETURN a", "[0]", "", "", ""),
        ("RETURN a", ":A.b", "", "", ""),
        ("RETURN a IS :: INT", " LIST", "", "", ""),
    ];
    let thread = std::thread::Builder::new().stack_size(3 << 19);
    let run = thread.spawn(move || {
        for (head, open, middle, close, tail) in cases {
            let text = |times: usize| {
                format!("{head}{}{middle}{}{tail}", open.repeat(times), close.repeat(times))
            };
            // `CALL` in `CALL` returns nothing that is used, which only `check` minds.
            let deep = text(25);
            let tree = parse_unchecked(&deep).unwrap_or_else(|e| panic!("{}", e.render(&deep)));
            assert_eq!(parse_unchecked(&tree.to_string()).as_ref(), Ok(&tree), "{deep}");
            // As deep as is accepted: whatever walks the tree must have room on the stack.
            let deepest = (1..NESTING_MAX as usize + 2)
                .rev()
                .find_map(|times| parse_unchecked(&text(times)).ok())
                .unwrap();
            check::check(&deepest).ok();
            assert!(format!("{deepest:?}").len() > deepest.clone().to_string().len());
            for times in [NESTING_MAX as usize + 1, 1000, 20_000] {
                let text = text(times);
                let errors = parse(&text).unwrap_err();
                let message = &errors.first().message;
                assert!(message.contains("levels deep"), "{head}{open}...: {message}");
            }
        }
    });
    run.unwrap().join().unwrap();
}

/// Whoever wants a text parsed is asked while it is, and no more once it has said no.
#[test]
fn a_text_that_nobody_wants_any_more_is_left() {
    let text = format!("RETURN [1{}]", ", 1".repeat(100_000));
    let tokens = 2 * 100_000;
    for last in [0, 1, 30, 60] {
        let asked = std::cell::Cell::new(0);
        let goes_on = || {
            asked.set(asked.get() + 1);
            asked.get() <= last
        };
        assert!(parse_while(&text, &goes_on).is_err());
        // Both the lexer and the parser ask, and each stops at once.
        assert!((last + 1..=last + 2).contains(&asked.get()), "{last}: {}", asked.get());
    }
    let asked = std::cell::Cell::new(0);
    let goes_on = || {
        asked.set(asked.get() + 1);
        true
    };
    assert!(parse_while(&text, &goes_on).is_ok());
    assert!(asked.get() >= 2 * (tokens / ASKED_EVERY) - 2);
}

#[test]
fn parts_of_a_statement_have_a_limit() {
    let refused = |text: &str, what: &str| {
        let errors = parse(text).unwrap_err();
        assert!(errors.first().message.contains(what), "{}", errors.first().message);
    };
    refused(&("WITH 1 AS x ".repeat(PARTS_MAX) + "RETURN x"), "more than 32768");
    accepted(&("WITH 1 AS x ".repeat(PARTS_MAX - 1) + "RETURN x"));
    refused(&("WITH 1 AS x LIMIT 1 ".repeat(PARTS_MAX / 2) + "RETURN x"), "more than 32768");
    let hops = PATTERN_PARTS_MAX / 2;
    refused(&format!("MATCH (a){} RETURN a", "-->()".repeat(hops)), "more than 4096");
    accepted(&format!("MATCH (a){} RETURN a", "-->()".repeat(hops - 1)));
    let clause = format!("MATCH (a){} ", "-->()".repeat(hops - 1));
    refused(&(clause.repeat(9) + "RETURN a"), "more than 32768");
    // What is created stands beside each other.
    accepted(&"CREATE (a)-[:R]->(b) ".repeat(PARTS_MAX));
}

#[test]
fn long_chains_that_people_generate_are_accepted() {
    for (head, part, tail) in [
        ("RETURN x", " OR x", ""),
        ("RETURN x", " AND x", ""),
        ("RETURN 1", " < 2", ""),
        ("RETURN 1", " + 2", ""),
        ("RETURN 1", " + 2 * 3 - 4", ""),
        ("RETURN 'a'", " || 'b'", ""),
        ("RETURN 1", " * 2 / 3 % 4", ""),
        ("RETURN 1", " ^ 2", ""),
        ("RETURN (1 + 2)", " - (3 - 4)", ""),
        ("RETURN [1", ", 1", "]"),
        ("CREATE (a)", ", (a)-[:A]->(b)", ""),
        ("CREATE (a)", "-[:A]->(b)", ""),
        ("CREATE (a)", " CREATE (a)", ""),
        ("RETURN 1 AS a", " UNION RETURN 1 AS a", ""),
        ("RETURN n:A", "|A", ""),
    ] {
        let text = format!("{head}{}{tail}", part.repeat(10_000));
        let tree = accepted(&text);
        assert_eq!(accepted(&tree.to_string()), tree);
    }
}
