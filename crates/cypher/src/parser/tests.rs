//! What the grammar accepts, what its errors say, and that neither takes long.

use super::*;
use crate::ast::{Clause, Expr, ExprKind, StatementKind};

mod administration;
mod limits;
mod messages;

/// The tree of a text that has one.
#[track_caller]
fn accepted(text: &str) -> Statement {
    match parse(text) {
        Ok(statement) => statement,
        Err(errors) => panic!("{}", errors.render(text)),
    }
}

/// The clauses of a query.
fn clauses(text: &str) -> Vec<Clause> {
    match accepted(text).kind {
        StatementKind::Query { query, .. } => query.first.clauses,
        kind => panic!("{kind:?}"),
    }
}

/// The only expression that a text returns.
fn returned(text: &str) -> Expr {
    match clauses(text).pop() {
        Some(Clause::Return(mut clause)) => clause.projection.items.remove(0).expr,
        clause => panic!("{clause:?}"),
    }
}

#[test]
fn keywords_are_names_wherever_names_may_stand() {
    for text in [
        "MATCH (match:MATCH {match: 1})-[where:WHERE]->(return) RETURN match.match AS return",
        "WITH 1 AS with, 2 AS order, 3 AS limit RETURN with + order ORDER BY order LIMIT 3",
        "MATCH create = (a)-->(b) RETURN create",
        "CREATE index = (a)-[:A]->(b)",
        "UNWIND [1] AS unwind RETURN unwind, case, distinct, exists, count, all, not",
        "RETURN {case: 1, when: 2, null: 3}.null, $match, match.all(1), any(1)",
        "MATCH (is), (where), (is:is), (n IS is) RETURN [in IN xs | in], [x IN xs WHERE x.in]",
        "MATCH (call) CALL call.call(call) YIELD yield AS call RETURN *",
        "MATCH any = ANY SHORTEST (shortest)-->(all) SET set:set, on.on = 1 FINISH",
        "FOREACH (foreach IN [1] | CREATE (foreach))",
        "RETURN CASE contains WHEN in THEN starts WHEN is THEN 1 ELSE end.end END",
    ] {
        accepted(text);
    }
}

#[test]
fn patterns_and_expressions_in_parentheses_are_told_apart() {
    let pattern = |text: &str| {
        matches!(returned(text).kind, ExprKind::Logical { ref operands, .. }
        if matches!(operands[0].kind, ExprKind::Pattern(_)))
    };
    for text in [
        "RETURN (a)-->() OR x",
        "RETURN (a)<--(b) OR x",
        "RETURN (a)--(b) OR x",
        "RETURN (:A)-[r]-(b) OR x",
        "RETURN ({x: 1})<-[:R]->(b) OR x",
        "RETURN (a:A|B {x: [1, 2]} WHERE a.x > (1 + 2))-[{y: ']'}]-(b) OR x",
        "RETURN (WHERE a.x)-->() OR x",
        "RETURN (a IS A)-->() OR x",
        "RETURN (not:A)--(b) OR x",
        "RETURN (not)-[r]-(b) OR x",
        "RETURN (count {x: 1})--(b) OR x",
        "RETURN (exists {})--(b) OR x",
    ] {
        assert!(pattern(text), "{text}");
    }
    for text in [
        "RETURN (a) - -b OR x",
        "RETURN (a) < -1 OR x",
        "RETURN (a)-[b] OR x",
        "RETURN (a.b)--(b) OR x",
        "RETURN (a IS NULL) - -(b) OR x",
        "RETURN (1)--(b) OR x",
        "RETURN (a)--(1) OR x",
        "RETURN (NOT $a)--(b) OR x",
        "RETURN (NOT $a)-[b]-(c) OR x",
        "RETURN (NOT {a: 1})-[b]-(c) OR x",
        "RETURN (COUNT {(a)-->()})--(b) OR x",
        "RETURN (COUNT {MATCH (a) RETURN a})--(b) OR x",
        "RETURN (EXISTS {(a)-->()})-[b]-(c) OR x",
        "RETURN (COLLECT {RETURN 1 AS x})-[b]-(c) OR x",
        "RETURN ((a)) OR x",
    ] {
        assert!(!pattern(text), "{text}");
    }
}

#[test]
fn columns_without_alias_are_named_by_their_text() {
    let text = "RETURN n . name ,(a+ b), - 1 // c\n,`x y` AS z";
    let Some(Clause::Return(clause)) = clauses(text).pop() else { panic!() };
    let items = clause.projection.items;
    let names: Vec<&str> = items.iter().map(|item| item.expr.span.text(text)).collect();
    assert_eq!(names, ["n . name", "(a+ b)", "- 1", "`x y`"]);
    assert_eq!(items[3].span.text(text), "`x y` AS z");
}

#[test]
fn statements_are_parsed_one_by_one() {
    let text = "RETURN 1; RETRUN 2 ;; /* ; */ RETURN ';' // ;\n";
    let results: Vec<_> = parse_all(text).collect();
    assert_eq!(results.len(), 3);
    assert!(results[0].is_ok() && results[1].is_err() && results[2].is_ok());
    let texts: Vec<&str> = split(text).into_iter().map(|span| span.text(text)).collect();
    assert_eq!(texts, ["RETURN 1", "RETRUN 2", "RETURN ';'"]);
    assert_eq!(results[2].as_ref().unwrap().span.text(text), "RETURN ';'");
    assert!(parse_all(" ; // nothing").next().is_none());
    assert!(
        parse("").is_err() && parse("RETURN 1;").is_ok() && parse("RETURN 1; RETURN 2").is_err()
    );
}

#[test]
fn an_expression_stands_alone() {
    let parsed = |text: &str| parse_expression(text, &|| true);
    let tree = parsed("n:A AND n.x > 1 // of all").unwrap();
    assert_eq!(tree.span.text("n:A AND n.x > 1 // of all"), "n:A AND n.x > 1");
    for (text, place) in [
        ("", 0),
        ("n.x >", 5),
        ("n.x AS y", 4),
        ("1; 2", 1),
        ("1, 2", 1),
        ("RETURN 1", 7),
        ("'x", 0),
    ] {
        let errors = parsed(text).unwrap_err();
        assert_eq!(errors.first().span.start(), place, "{text}: {errors:?}");
    }
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(parsed(&deep).is_err());
    assert!(parse_expression(&"1 + ".repeat(100_000), &|| false).is_err());
}

#[test]
fn lexer_errors_belong_to_their_statement() {
    let results: Vec<_> = parse_all("RETURN 1; RETURN #; RETURN 2; RETURN 'x").collect();
    let good: Vec<bool> = results.iter().map(Result::is_ok).collect();
    assert_eq!(good, [true, false, true, false]);
}

/// What is a spelling of something else is printed as that.
#[test]
fn other_spellings_are_read() {
    for (text, printed) in [
        ("CYPHER 5 RETURN 1", "RETURN 1"),
        ("cypher 25 runtime=slotted explain cypher planner = COST RETURN 1", "EXPLAIN RETURN 1"),
        ("PROFILE CYPHER replan=force MATCH (n) FINISH", "PROFILE MATCH (n) FINISH"),
        ("CYPHER SHOW INDEXES", "SHOW INDEXES"),
        ("INSERT (a)-[:R]->(b)", "CREATE (a)-[:R]->(b)"),
        ("MATCH DIFFERENT RELATIONSHIPS (a) FINISH", "MATCH (a) FINISH"),
        ("MATCH REPEATABLE ELEMENT BINDINGS (a) FINISH", "MATCH REPEATABLE ELEMENTS (a) FINISH"),
        ("MATCH (n) ORDER BY n.a SKIP 1 FINISH", "MATCH (n) WITH * ORDER BY n.a SKIP 1 FINISH"),
        (
            "UNWIND xs AS x OFFSET 2 LIMIT 3 LIMIT 1 RETURN x",
            "UNWIND xs AS x WITH * SKIP 2 LIMIT 3 WITH * LIMIT 1 RETURN x",
        ),
        ("WITH ALL 1 AS x FILTER WHERE x > 0 RETURN ALL x", "WITH 1 AS x FILTER x > 0 RETURN x"),
        (
            "WITH ALL count(*) AS all MATCH (all) RETURN 1",
            "WITH count(*) AS `all` MATCH (`all`) RETURN 1",
        ),
        ("WITH 1 AS all WITH all MATCH (n) FINISH", "WITH 1 AS `all` WITH `all` MATCH (n) FINISH"),
        ("RETURN all, all.x, all(y), all + 1", "RETURN `all`, `all`.x, `all`(y), `all` + 1"),
        ("RETURN trim(x FROM y), trim(from y)", "RETURN trim(BOTH x FROM y), trim(BOTH FROM y)"),
        (
            "RETURN trim(from), trim(from + x), trim(x + from), trim(from.x), trim(from[0])",
            "RETURN trim(`from`), trim(`from` + x), trim(x + `from`), trim(`from`.x), \
             trim(`from`[0])",
        ),
        (
            "RETURN trim(both.x FROM trim(leading f(from) FROM y))",
            "RETURN trim(BOTH both.x FROM trim(LEADING f(`from`) FROM y))",
        ),
        // The case of the name is kept. Found by fuzzing.
        ("RETURN tRim(x FROM y)", "RETURN tRim(BOTH x FROM y)"),
        (
            "RETURN vector(int8, 3, int8), vector(a, 1, Signed Integer), vector(int, float, f)",
            "RETURN vector(int8, 3, 'INTEGER8'), vector(a, 1, 'INTEGER'), vector(int, float, `f`)",
        ),
        (
            "RETURN vector_distance(dot, cosine, dot), vector_norm(v, `dot`), f.vector(a, b, int)",
            "RETURN vector_distance(dot, cosine, 'DOT'), vector_norm(v, `dot`), f.vector(a, b, int)",
        ),
        (
            "RETURN x IS :: VECTOR<INT NOT NULL>(3), x IS :: vector(4096)!, x IS :: VECTOR",
            "RETURN x IS :: VECTOR<INTEGER>(3), x IS :: VECTOR(4096) NOT NULL, x IS :: VECTOR",
        ),
        ("MATCH (n) NODETACH DELETE n", "MATCH (n) DELETE n"),
        ("RETURN (1 + 2) + 3 * (4 * 5) - (6 - 7)", "RETURN 1 + 2 + 3 * (4 * 5) - (6 - 7)"),
        ("RETURN ((2 ^ 3) ^ 4) ^ (5 ^ 6)", "RETURN 2 ^ 3 ^ 4 ^ (5 ^ 6)"),
    ] {
        assert_eq!(accepted(text).to_string(), printed);
        assert_eq!(accepted(printed), accepted(text));
    }
}

#[test]
fn options_that_do_not_exist_are_refused() {
    for (text, place, message) in [
        ("CYPHER 4.4 RETURN 1", "4.4", "there is no Cypher 4.4 here"),
        ("CYPHER runtme=slotted RETURN 1", "runtme", "there is no option runtme"),
        ("CYPHER planner=rule RETURN 1", "rule", "rule is no value of the option planner"),
        ("CYPHER replan=skip CYPHER 5 replan= RETURN 1", "RETURN", "return is no value"),
        ("CYPHER replan=skip replan=force RETURN 1", "force", "has two values"),
        ("EXPLAIN PROFILE RETURN 1", "PROFILE", "cannot be combined"),
    ] {
        let errors = parse(text).expect_err(text);
        let error = errors.first();
        assert_eq!(error.span.text(text), place, "{text}");
        assert!(error.message.contains(message), "{text}: {}", error.message);
    }
    let errors = parse("CYPHER runtme=slotted RETURN 1").unwrap_err();
    assert_eq!(errors.first().help.as_deref(), Some("did you mean runtime?"));
}

/// One of everything that has a form of its own: each is accepted and printed as it is here.
#[test]
fn statements_of_every_kind_are_accepted() {
    for text in [
        "EXPLAIN MATCH (n) RETURN n",
        "PROFILE AT TIMESTAMP $ts MATCH (n) RETURN n",
        "USE graph.byName('x') MATCH (n) USING INDEX SEEK n:A(b) USING SCAN n:A WHERE n.b RETURN n",
        "MATCH (a)-->(b) USING JOIN ON a, b USING TEXT INDEX a:A(b, c) FINISH",
        "CALL db.labels() YIELD label AS l WHERE l <> 'x' RETURN count(*)",
        "CALL (*) { CREATE () } IN 4 CONCURRENT TRANSACTIONS OF 10 ROWS ON ERROR BREAK REPORT STATUS AS s RETURN s",
        "CALL (a, b) { RETURN 1 AS x UNION ALL RETURN 2 AS x } RETURN x",
        "OPTIONAL CALL p(1) YIELD x RETURN x",
        "LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS row FIELDTERMINATOR ';' CREATE (:A {b: row.b})",
        "MERGE (a:A {b: 1}) ON CREATE SET a.c = 1, a += {d: 2} ON MATCH SET a:B:$(x), a[k] = v",
        "MATCH (a) REMOVE a.b, a[k], a:B SET a = {} DETACH DELETE a, a.b",
        "MATCH p = SHORTEST 2 GROUPS ((a)-[r:R WHERE r.x]->(b) WHERE a.y){2,} (c)-[:!%]->{3}(d) FINISH",
        "MATCH p = ANY $k (a)-[*..3 {x: 1}]-(b:A&(B|!C)) RETURN p",
        "MATCH (n:$(l)) RETURN n {.*, .a, b: 1, c}, n IS NOT :: LIST<ANY<INTEGER NOT NULL | STRING NOT NULL>>",
        "RETURN EXISTS { (a)-->(b) WHERE a.x }, COUNT { MATCH (a) }, COLLECT { RETURN 1 AS x }",
        "RETURN reduce(a = 0, x IN xs | a + x), all(x IN xs WHERE x), x IS NOT NFD NORMALIZED",
        "CREATE VECTOR INDEX a IF NOT EXISTS FOR (n:A) ON (n.b) OPTIONS {c: 1}",
        "CREATE FULLTEXT INDEX FOR ()-[r:A|B]-() ON EACH [r.a, r.b]",
        "CREATE LOOKUP INDEX $name FOR ()-[r]-() ON EACH type(r)",
        "CREATE CONSTRAINT FOR (n:A) REQUIRE (n.a, n.b) IS NODE KEY",
        "CREATE CONSTRAINT c FOR ()-[r:A]-() REQUIRE (r.a) IS :: LIST<DATE NOT NULL>",
        "DROP CONSTRAINT c IF EXISTS",
        "SHOW TEXT INDEXES YIELD name AS n, type ORDER BY n SKIP 1 LIMIT 2 WHERE type = 'x' RETURN n",
        "SHOW RELATIONSHIP PROPERTY EXISTENCE CONSTRAINTS WHERE TRUE",
        "SHOW BUILT IN FUNCTIONS EXECUTABLE BY joe YIELD *",
        "SHOW HOME DATABASE",
        "SHOW TRANSACTIONS 'a', $b",
        "TERMINATE TRANSACTIONS $ids YIELD message",
        "USE a.b SHOW INDEXES",
        "USE graph.byName('x') CREATE TEXT INDEX FOR (n:A) ON (n.b)",
        "USE `create` DROP INDEX a",
        "MATCH REPEATABLE ELEMENTS p = (a)-->{1,3}(b) FINISH",
        "MATCH repeatable = (a) LET x = 1, y = a + 2 - 3 FILTER x > 1 OR y RETURN x",
        "RETURN trim(BOTH 'x' FROM y), trim(LEADING FROM y), trim(TRAILING both FROM -`from`.a)",
        "RETURN trim(a), trim(a, b), trim(both), trim(`from`), trim(BOTH (a + b) FROM c + d)",
    ] {
        assert_eq!(accepted(text).to_string(), text);
    }
}
