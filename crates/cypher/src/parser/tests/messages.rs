//! What the errors say, as people see it.

use super::*;

/// Compares the rendered errors of a text with what they should be, which begins on a new line.
#[track_caller]
fn shows(text: &str, expected: &str) {
    let errors = parse(text).expect_err(text);
    let found = errors.render(text);
    assert_eq!(found.trim_end(), expected.trim(), "\n{found}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn misspelled_words_are_recognised() {
    shows(
        "MATCH (n) RETRUN n",
        r#"
UnexpectedSyntax: expected a relationship, ',', USING, WHERE or a clause, found 'RETRUN'
  --> line 1, column 11
1 | MATCH (n) RETRUN n
  |           ^^^^^^
help: did you mean RETURN?
"#,
    );
    shows(
        "MTCH (n) RETURN n",
        r#"
UnexpectedSyntax: expected a clause, found 'MTCH'
  --> line 1, column 1
1 | MTCH (n) RETURN n
  | ^^^^
help: did you mean MATCH?
"#,
    );
    shows(
        "MATCH (n) WEHRE n.x = 1 RETURN n",
        r#"
UnexpectedSyntax: expected a relationship, ',', USING, WHERE or a clause, found 'WEHRE'
  --> line 1, column 11
1 | MATCH (n) WEHRE n.x = 1 RETURN n
  |           ^^^^^
help: did you mean WHERE?
"#,
    );
    shows(
        "RETURN count(DISTNCT n)",
        r#"
UnexpectedSyntax: expected an operator, ',' or ')', found 'n'
  --> line 1, column 22
1 | RETURN count(DISTNCT n)
  |                      ^
help: did you mean DISTINCT where 'DISTNCT' stands?
"#,
    );
    shows(
        "RETURN n.name STRTS WITH 'a'",
        r#"
UnexpectedSyntax: expected an operator, AS, ',', ORDER, SKIP, LIMIT or a clause, found 'STRTS'
  --> line 1, column 15
1 | RETURN n.name STRTS WITH 'a'
  |               ^^^^^
help: did you mean STARTS?
"#,
    );
    shows(
        "RETURN 1 ODER BY 1",
        r#"
UnexpectedSyntax: expected an operator, AS, ',', ORDER, SKIP, LIMIT or a clause, found 'ODER'
  --> line 1, column 10
1 | RETURN 1 ODER BY 1
  |          ^^^^
help: did you mean ORDER?
"#,
    );
    shows(
        "SHOW INDEKSES",
        concat!(
            "UnexpectedSyntax: expected INDEXES, CONSTRAINTS, FUNCTIONS, PROCEDURES, TRANSACTIONS, ",
            "SETTINGS, DATABASES, SERVERS, ..., found 'INDEKSES'\n",
            "  --> line 1, column 6\n",
            "1 | SHOW INDEKSES\n",
            "  |      ^^^^^^^^\n",
            "help: did you mean INDEXES?",
        ),
    );
    shows(
        "RETURN x IS :: INTEGR",
        r#"
UnexpectedSyntax: expected a type, found 'INTEGR'
  --> line 1, column 16
1 | RETURN x IS :: INTEGR
  |                ^^^^^^
help: did you mean INTEGER?
"#,
    );
    shows(
        "RETURN a.b.c :: LIST<STRNG>",
        r#"
UnexpectedSyntax: expected a type, found 'STRNG'
  --> line 1, column 22
1 | RETURN a.b.c :: LIST<STRNG>
  |                      ^^^^^
help: did you mean STRING?
"#,
    );
    shows(
        "SHOW FUNCTION EXECUTABEL",
        r#"
UnexpectedSyntax: expected EXECUTABLE, YIELD or WHERE, found 'EXECUTABEL'
  --> line 1, column 15
1 | SHOW FUNCTION EXECUTABEL
  |               ^^^^^^^^^^
help: did you mean EXECUTABLE?
"#,
    );
    shows(
        "LOAD CSV WITH HEADER FROM 'x' AS row RETURN row",
        r#"
UnexpectedSyntax: expected HEADERS, found 'HEADER'
  --> line 1, column 15
1 | LOAD CSV WITH HEADER FROM 'x' AS row RETURN row
  |               ^^^^^^
help: did you mean HEADERS?
"#,
    );
    shows(
        "CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIKE",
        r#"
UnexpectedSyntax: expected '::', TYPED, NOT, NODE, RELATIONSHIP, UNIQUE or KEY, found 'UNIKE'
  --> line 1, column 52
1 | CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIKE
  |                                                    ^^^^^
help: did you mean UNIQUE?
"#,
    );
    shows(
        "FOO",
        r#"
UnexpectedSyntax: expected a clause, found 'FOO'
  --> line 1, column 1
1 | FOO
  | ^^^
"#,
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn missing_parts_are_named() {
    shows(
        "MATCH (n)\nWHERE n.age >\nRETURN n",
        r#"
UnexpectedSyntax: expected an operator or a clause, found 'n'
  --> line 3, column 8
3 | RETURN n
  |        ^
help: 'RETURN' is read as a name here: is something missing before it?
"#,
    );
    shows(
        "MATCH (n:Person RETURN n",
        r#"
UnexpectedSyntax: expected '&', ':', properties, WHERE or ')', found 'RETURN'
  --> line 1, column 17
1 | MATCH (n:Person RETURN n
  |                 ^^^^^^
note: this '(' is never closed
  --> line 1, column 7
1 | MATCH (n:Person RETURN n
  |       ^
"#,
    );
    shows(
        "RETURN [1, 2",
        r#"
UnexpectedSyntax: expected ',' or ']', found end of text
  --> line 1, column 13
1 | RETURN [1, 2
  |             ^
note: this '[' is never closed
  --> line 1, column 8
1 | RETURN [1, 2
  |        ^
"#,
    );
    shows(
        "RETURN 1 +",
        r#"
UnexpectedSyntax: expected an expression, found end of text
  --> line 1, column 11
1 | RETURN 1 +
  |           ^
"#,
    );
    shows(
        "RETURN",
        r#"
UnexpectedSyntax: expected '*' or an expression, found end of text
  --> line 1, column 7
1 | RETURN
  |       ^
"#,
    );
    shows(
        "",
        r#"
UnexpectedSyntax: there is no statement
  --> line 1, column 1
1 |
  | ^
"#,
    );
    shows(
        "UNWIND [1] RETURN 1",
        r#"
UnexpectedSyntax: expected AS, found 'RETURN'
  --> line 1, column 12
1 | UNWIND [1] RETURN 1
  |            ^^^^^^
"#,
    );
    shows(
        "MATCH (n) SET n RETURN n",
        r#"
UnexpectedSyntax: expected '=', '+=', IS, ':' or '.', found 'RETURN'
  --> line 1, column 17
1 | MATCH (n) SET n RETURN n
  |                 ^^^^^^
"#,
    );
    shows(
        "RETURN CASE x END",
        r#"
UnexpectedSyntax: expected WHEN, found 'END'
  --> line 1, column 15
1 | RETURN CASE x END
  |               ^^^
"#,
    );
    shows(
        "CALL foo() YIELD",
        r#"
UnexpectedSyntax: expected '*' or the name of a column, found end of text
  --> line 1, column 17
1 | CALL foo() YIELD
  |                 ^
"#,
    );
    shows(
        "CALL { RETURN 1 AS x",
        r#"
UnexpectedSyntax: expected ',', ORDER, SKIP, LIMIT, a clause, UNION or '}', found end of text
  --> line 1, column 21
1 | CALL { RETURN 1 AS x
  |                     ^
note: this '{' is never closed
  --> line 1, column 6
1 | CALL { RETURN 1 AS x
  |      ^
"#,
    );
    shows(
        "RETURN all(x IN xs)",
        r#"
UnexpectedSyntax: expected WHERE, found ')'
  --> line 1, column 19
1 | RETURN all(x IN xs)
  |                   ^
"#,
    );
    shows(
        "MATCH SHORTEST (a)-->(b) RETURN a",
        r#"
UnexpectedSyntax: expected GROUPS, GROUP or the number of paths, found '('
  --> line 1, column 16
1 | MATCH SHORTEST (a)-->(b) RETURN a
  |                ^
"#,
    );
    shows(
        "RETURN {a 1}",
        r#"
UnexpectedSyntax: expected ':', found '1'
  --> line 1, column 11
1 | RETURN {a 1}
  |           ^
"#,
    );
    shows(
        "RETURN {1: 2}",
        r#"
UnexpectedSyntax: expected '}' or a key, found '1'
  --> line 1, column 9
1 | RETURN {1: 2}
  |         ^
"#,
    );
    shows(
        "MATCH\t(ä:Ö) RETURN ä.",
        r#"
UnexpectedSyntax: expected a property key, found end of text
  --> line 1, column 22
1 | MATCH	(ä:Ö) RETURN ä.
  |      	               ^
"#,
    );
}

#[test]
fn patterns_say_what_they_miss() {
    shows(
        "MATCH (a)-[:R->(b) RETURN a",
        r#"
InvalidRelationshipPattern: expected '&', ':', '*', properties, WHERE or ']', found '-'
  --> line 1, column 14
1 | MATCH (a)-[:R->(b) RETURN a
  |              ^
note: this '[' is never closed
  --> line 1, column 11
1 | MATCH (a)-[:R->(b) RETURN a
  |           ^
"#,
    );
    shows(
        "MATCH (a)-[:R..]->(b) RETURN a",
        r#"
InvalidRelationshipPattern: expected '&', ':', '*', properties, WHERE or ']', found '..'
  --> line 1, column 14
1 | MATCH (a)-[:R..]->(b) RETURN a
  |              ^^
"#,
    );
    shows(
        "MATCH (a)-[:R*-2]->(b) RETURN a",
        r#"
InvalidRelationshipPattern: expected '..', properties, WHERE or ']', found '-'
  --> line 1, column 15
1 | MATCH (a)-[:R*-2]->(b) RETURN a
  |               ^
"#,
    );
    shows(
        "MATCH (a)-x->(b) RETURN a",
        r#"
UnexpectedSyntax: expected '[' or '-', found 'x'
  --> line 1, column 11
1 | MATCH (a)-x->(b) RETURN a
  |           ^
"#,
    );
    shows(
        "MATCH (a)(b) RETURN a",
        r#"
UnexpectedSyntax: between two nodes there must be a relationship
  --> line 1, column 10
1 | MATCH (a)(b) RETURN a
  |          ^
"#,
    );
    shows(
        "MATCH ((a)-->(b))+-->(c) RETURN a",
        r#"
UnexpectedSyntax: a relationship stands between nodes, not behind parentheses
  --> line 1, column 19
1 | MATCH ((a)-->(b))+-->(c) RETURN a
  |                   ^
"#,
    );
}

#[test]
fn literals_say_what_is_wrong_with_them() {
    shows(
        "RETURN 12ab, 0x",
        r#"
InvalidNumberLiteral: '12ab' is no number
  --> line 1, column 8
1 | RETURN 12ab, 0x
  |        ^^^^
"#,
    );
    shows(
        "RETURN 017",
        r#"
InvalidNumberLiteral: '017' is no number: an integer does not begin with 0
  --> line 1, column 8
1 | RETURN 017
  |        ^^^
help: write 0o17 if it is octal
"#,
    );
    shows(
        "RETURN 9223372036854775808",
        r#"
IntegerOverflow: the integer 9223372036854775808 is too large
  --> line 1, column 8
1 | RETURN 9223372036854775808
  |        ^^^^^^^^^^^^^^^^^^^
help: integers go from -9223372036854775808 to 9223372036854775807
"#,
    );
    shows(
        "RETURN 1e999",
        r#"
FloatingPointOverflow: the number 1e999 is too large for a float
  --> line 1, column 8
1 | RETURN 1e999
  |        ^^^^^
"#,
    );
    shows(
        "RETURN 'it's'",
        r#"
UnexpectedSyntax: this string has no end
  --> line 1, column 13
1 | RETURN 'it's'
  |             ^
help: close it with '
"#,
    );
    shows(
        "RETURN '\\uXYZ'",
        r#"
InvalidUnicodeLiteral: after '\u' come 4 hexadecimal digits
  --> line 1, column 9
1 | RETURN '\uXYZ'
  |         ^^^^^
"#,
    );
    shows(
        "RETURN 1 — 2",
        r#"
InvalidUnicodeCharacter: the character '—' has no meaning here
  --> line 1, column 10
1 | RETURN 1 — 2
  |          ^
help: write '-'
"#,
    );
    shows(
        "RETURN “a”",
        r#"
InvalidUnicodeCharacter: the character '“' has no meaning here
  --> line 1, column 8
1 | RETURN “a”
  |        ^
help: write straight quotes: ' or "

InvalidUnicodeCharacter: the character '”' has no meaning here
  --> line 1, column 10
1 | RETURN “a”
  |          ^
help: write straight quotes: ' or "
"#,
    );
    shows(
        "RETURN `` + 1",
        r#"
UnexpectedSyntax: a name has at least one character
  --> line 1, column 8
1 | RETURN `` + 1
  |        ^^
"#,
    );
    shows(
        "RETURN 1 /* x",
        r#"
UnexpectedSyntax: this comment has no end
  --> line 1, column 10
1 | RETURN 1 /* x
  |          ^^
help: close it with '*/'
"#,
    );
}

#[test]
fn several_errors_are_reported() {
    shows(
        "MATCH (n) WERE n.x RETURN n.; MATCH",
        r#"
UnexpectedSyntax: expected a relationship, ',', USING, WHERE or a clause, found 'WERE'
  --> line 1, column 11
1 | MATCH (n) WERE n.x RETURN n.; MATCH
  |           ^^^^
help: did you mean WHERE?

UnexpectedSyntax: expected a property key, found ';'
  --> line 1, column 29
1 | MATCH (n) WERE n.x RETURN n.; MATCH
  |                             ^
"#,
    );
    shows(
        "MATCH (a:) RETURN a.\nWITH 1 x RETURN 1",
        r#"
UnexpectedSyntax: expected a label or type, found ')'
  --> line 1, column 10
1 | MATCH (a:) RETURN a.
  |          ^

UnexpectedSyntax: expected AS, ',', ORDER, SKIP, LIMIT or a clause, found '1'
  --> line 2, column 6
2 | WITH 1 x RETURN 1
  |      ^
"#,
    );
}

#[test]
fn rules_are_explained() {
    shows(
        "CREATE INDEX ON :Person(name)",
        r#"
UnexpectedSyntax: this form of the command is of the past
  --> line 1, column 14
1 | CREATE INDEX ON :Person(name)
  |              ^^
help: write CREATE INDEX name FOR (n:Label) ON (n.key)
"#,
    );
    shows(
        "CREATE INDEX FOR (n:Person) ON (m.name)",
        r#"
UndefinedVariable: the variable m is not defined
  --> line 1, column 33
1 | CREATE INDEX FOR (n:Person) ON (m.name)
  |                                 ^
help: did you mean n?
"#,
    );
    shows(
        "MATCH (n) DELETE n:Person",
        r#"
InvalidDelete: DELETE deletes nodes, relationships and paths, not their labels
  --> line 1, column 18
1 | MATCH (n) DELETE n:Person
  |                  ^^^^^^^^
help: labels are removed with REMOVE n:Label
"#,
    );
    shows(
        "FOREACH (x IN xs | RETURN x)",
        r#"
InvalidClauseComposition: only updating clauses can stand inside FOREACH
  --> line 1, column 20
1 | FOREACH (x IN xs | RETURN x)
  |                    ^^^^^^
help: use a CALL subquery
"#,
    );
    shows(
        "MATCH (n) RETURN n;\nRETURN 1 1",
        r#"
UnexpectedSyntax: only one statement is expected, and a second one begins here
  --> line 2, column 1
2 | RETURN 1 1
  | ^^^^^^
"#,
    );
    shows(
        "RETURN 1 UNION RETURN 2 UNION ALL RETURN 3",
        r#"
InvalidClauseComposition: UNION and UNION ALL cannot be mixed in one query
  --> line 1, column 25
1 | RETURN 1 UNION RETURN 2 UNION ALL RETURN 3
  |                         ^^^^^^^^^
help: put one of them into a CALL subquery
"#,
    );
    shows(
        "MATCH (n $p) RETURN n",
        r#"
InvalidParameterUse: a parameter cannot stand for all properties of what is to be found
  --> line 1, column 10
1 | MATCH (n $p) RETURN n
  |          ^^
help: name the properties: {key: $p.key}
"#,
    );
    shows(
        "MATCH (n) RETURN (n)-->()",
        r#"
UnexpectedSyntax: a pattern stands only where a truth value is wanted
  --> line 1, column 18
1 | MATCH (n) RETURN (n)-->()
  |                  ^^^^^^^^
help: use EXISTS { }, COUNT { }, or a comprehension: [p = (a)-->(b) | p]
"#,
    );
    shows(
        "MATCH (n)",
        r#"
InvalidClauseComposition: a query cannot end with MATCH
  --> line 1, column 1
1 | MATCH (n)
  | ^^^^^^^^^
help: add RETURN, FINISH or an updating clause
"#,
    );
    shows(
        "CREATE (a)--(b)",
        r#"
NoSingleRelationshipType: a relationship that is created has exactly one type
  --> line 1, column 11
1 | CREATE (a)--(b)
  |           ^^
"#,
    );
}

/// What people write who come from SQL; arrows without ends are none.
#[test]
fn comments_of_sql_are_told_how_they_begin_here() {
    let help = |text: &str| parse(text).expect_err(text).render(text);
    for text in [
        "-- all of them\nMATCH (n) RETURN n",
        "MATCH (n)\n-- all of them\nRETURN n",
        "MATCH (n) -- all of them\nRETURN n",
        "RETURN 1 -- the first",
        "--",
    ] {
        assert!(help(text).contains("begins with //"), "{text}: {}", help(text));
    }
    for text in
        ["MATCH (a) -- (b) RETRUN a", "MATCH (a)--(b) RETRUN a", "RETURN 1 - - 2 3", "RETURN"]
    {
        assert!(!help(text).contains("begins with //"), "{text}: {}", help(text));
    }
}
