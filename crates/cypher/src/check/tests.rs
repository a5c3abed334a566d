//! Each rule refuses what it must, with its detail, and nothing that is near it.

use crate::diagnostic::Detail;
use crate::parser::parse;

/// The detail of the first error and the text it is about.
fn refused(text: &str) -> (Detail, &str) {
    match parse(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => (errors.first().detail, errors.first().span.text(text)),
    }
}

#[test]
fn clauses_out_of_order_are_refused() {
    use Detail::{InvalidClauseComposition as Composition, UnexpectedSyntax};
    for (text, detail, place) in [
        ("RETURN 1 AS a MATCH (n) RETURN n", Composition, "RETURN 1 AS a"),
        ("FINISH RETURN 1", Composition, "FINISH"),
        ("MATCH (n) USE g RETURN n", Composition, "USE g"),
        ("MATCH (n)", Composition, "MATCH (n)"),
        ("MATCH (n) WITH n", Composition, "WITH n"),
        ("UNWIND [1] AS x", Composition, "UNWIND [1] AS x"),
        ("CREATE (n) WITH n LOAD CSV FROM 'f' AS r", Composition, "LOAD CSV FROM 'f' AS r"),
        ("MATCH (n) CALL p() YIELD x", Composition, "CALL p() YIELD x"),
        ("MATCH (n) ORDER BY n.x LIMIT 1", Composition, "ORDER BY n.x LIMIT 1"),
        ("MATCH (n) LET x = 1", Composition, "LET x = 1"),
        ("MATCH (n) FILTER n.x", Composition, "FILTER n.x"),
        ("RETURN 1 AS x LIMIT 1 LIMIT 2", Composition, "RETURN 1 AS x LIMIT 1"),
        ("CALL { RETURN 1 AS x }", Composition, "CALL { RETURN 1 AS x }"),
        ("RETURN EXISTS { CREATE (n) }", Composition, "CREATE (n)"),
        ("RETURN COUNT { CALL { CREATE (n) } RETURN 1 }", Composition, "CREATE (n)"),
        ("RETURN COLLECT { MATCH (n) }", Composition, "MATCH (n)"),
        ("RETURN COLLECT { MATCH (n) RETURN * }", Composition, "RETURN *"),
        ("RETURN EXISTS { CALL p() }", Composition, "CALL p()"),
        ("RETURN COUNT { MATCH (n) UNION MATCH (m) }", Composition, "MATCH (n)"),
        ("CALL { CREATE () } IN TRANSACTIONS OF 0 ROWS", UnexpectedSyntax, "0"),
        ("CALL { CREATE () } IN TRANSACTIONS OF 'a' ROWS", UnexpectedSyntax, "'a'"),
        (
            "CALL { CREATE () } IN TRANSACTIONS OF COUNT { () } ROWS",
            UnexpectedSyntax,
            "COUNT { () }",
        ),
        ("CALL { CREATE () } IN 0 CONCURRENT TRANSACTIONS", UnexpectedSyntax, "0"),
        ("CALL { CREATE () } IN x CONCURRENT TRANSACTIONS", UnexpectedSyntax, "x"),
        ("AT TIMESTAMP 5 CREATE (n)", Composition, "CREATE (n)"),
        ("AT TIMESTAMP 5 CALL { MATCH (n) DELETE n }", Composition, "DELETE n"),
        ("MATCH (n) CALL p RETURN n", Detail::InvalidArgumentPassingMode, "CALL p"),
        ("CALL p() YIELD * RETURN 1", UnexpectedSyntax, "YIELD *"),
        ("CALL { RETURN 1 } RETURN 1", Detail::NoExpressionAlias, "1"),
        ("CALL { RETURN 1 AS a UNION RETURN a.b } RETURN a", Detail::NoExpressionAlias, "a.b"),
        ("CALL (a) { RETURN a, count(*) } RETURN 1", Detail::NoExpressionAlias, "count(*)"),
        ("CALL { WITH a + 1 AS b RETURN b } RETURN b", UnexpectedSyntax, "WITH a + 1 AS b"),
        ("CALL { WITH a AS b RETURN b } RETURN b", UnexpectedSyntax, "WITH a AS b"),
        ("CALL { WITH a, 1 AS z RETURN z } RETURN z", UnexpectedSyntax, "WITH a, 1 AS z"),
        ("CALL { WITH DISTINCT a RETURN a AS b } RETURN b", UnexpectedSyntax, "WITH DISTINCT a"),
        ("CALL { WITH a LIMIT 1 RETURN a AS b } RETURN b", UnexpectedSyntax, "WITH a LIMIT 1"),
        (
            "CALL { WITH a WHERE a > 0 RETURN a AS b } RETURN b",
            UnexpectedSyntax,
            "WITH a WHERE a > 0",
        ),
    ] {
        assert_eq!(refused(text), (detail, place), "{text}");
    }
}

#[test]
fn patterns_that_their_clause_cannot_use_are_refused() {
    use Detail::UnexpectedSyntax;
    for (text, detail, place) in [
        ("CREATE (a)-->(b)", Detail::NoSingleRelationshipType, "-->"),
        ("CREATE (a)-[:A|B]->(b)", Detail::NoSingleRelationshipType, "-[:A|B]->"),
        ("MERGE (a)-[r:A&B]-(b)", Detail::NoSingleRelationshipType, "-[r:A&B]-"),
        ("CREATE (a)-[:A]-(b)", Detail::RequiresDirectedRelationship, "-[:A]-"),
        ("CREATE (a)<-[:A]->(b)", Detail::RequiresDirectedRelationship, "<-[:A]->"),
        ("CREATE (a)-[:A*2]->(b)", Detail::CreatingVarLength, "-[:A*2]->"),
        ("MERGE (a)-[:A]->+(b)", Detail::CreatingVarLength, "-[:A]->+"),
        ("CREATE (a:A|B)", UnexpectedSyntax, "A|B"),
        ("CREATE (a:!B)", UnexpectedSyntax, "!B"),
        ("MERGE (a WHERE a.x = 1)", UnexpectedSyntax, "a.x = 1"),
        ("CREATE ((a)-[:A]->(b)){2}", UnexpectedSyntax, "((a)-[:A]->(b)){2}"),
        ("MATCH (n $p) RETURN n", Detail::InvalidParameterUse, "$p"),
        ("MERGE (a)-[r:A $p]->(b)", Detail::InvalidParameterUse, "$p"),
        ("MATCH ((a)-->(b)){3,2} RETURN 1", UnexpectedSyntax, "{3,2}"),
        ("MATCH ((a)-->(b)){0} RETURN 1", UnexpectedSyntax, "{0}"),
        (
            "MATCH shortestPath((a)-->()-->(b)) RETURN 1",
            UnexpectedSyntax,
            "shortestPath((a)-->()-->(b))",
        ),
    ] {
        assert_eq!(refused(text), (detail, place), "{text}");
    }
}

#[test]
fn patterns_are_no_values() {
    for text in [
        "MATCH (a) RETURN (a)-->() AS x",
        "MATCH (a) RETURN size((a)-->())",
        "MATCH (a) SET a.x = head(nodes((a)-->()))",
        "MATCH (a) RETURN [(a)-->()]",
        "MATCH (a) RETURN CASE (a)-->() WHEN true THEN 1 END",
        "MATCH (a) WHERE (a)-->() = true RETURN 1",
    ] {
        assert_eq!(refused(text), (Detail::UnexpectedSyntax, "(a)-->()"), "{text}");
    }
}

#[test]
fn what_is_near_a_rule_is_accepted() {
    for text in [
        "USE g MATCH (n) RETURN n",
        "CALL p",
        "CALL p YIELD *",
        "CALL p() YIELD x WHERE x > 1",
        "MATCH (n) CALL p(n)",
        "CALL { CREATE (n) }",
        "RETURN EXISTS { MATCH (n) }, COUNT { MATCH (n) RETURN n }, COLLECT { RETURN 1 AS x }",
        "CREATE (a) WITH a MATCH (b) RETURN b",
        "CREATE (a) MATCH (b) RETURN b",
        "WITH 1 AS x, 2 AS y WITH x, y AS z RETURN *",
        "CREATE (a:A:B:$(x) $p)-[:A $q]->(b)<-[:$(t)]-(c)",
        "MERGE (a)-[:A]-(b)",
        "CREATE ()-[r]->()",
        "MATCH (a) RETURN NOT (a)-->(), exists((a)-->()), [x IN [1] WHERE (a)-->()]",
        "MATCH (a) RETURN CASE WHEN (a)-->() THEN 1 END, [(a)-->(b) | b]",
        "MATCH (a), (b) RETURN shortestPath((a)-[*]->(b))",
        "MATCH ((a)-->(b)){0,1} FINISH",
        "MATCH (a) FILTER (a)-->() LET x = NOT (a)--() RETURN x",
    ] {
        if let Err(errors) = parse(text) {
            panic!("{}", errors.render(text));
        }
    }
}
