//! What tools around language models ask a graph about itself, word for word.

use crate::common;

use common::{database, rows, rows_with};
use telar_db::{Session, Value};

const GRAPH: &str = "CREATE (a:Person {name: 'Ada', born: 1815, tags: ['x']}), \
    (b:Person:Writer {name: 'Bob', born: date('1900-01-01')}), \
    (c:Person {name: 'Cid', born: 1815}), (m:Book {title: 'T'}), \
    (a)-[:WROTE {year: 1843}]->(m), (b)-[:WROTE]->(m), (a)-[:KNOWS]->(b), (a)-[:KNOWS]->(c), \
    ({alone: true})";

/// The three queries of `Neo4jGraph.refresh_schema` of langchain-neo4j 0.11.
const LANGCHAIN: [(&str, &[&str]); 3] = [
    (
        "CALL apoc.meta.data()
        YIELD label, other, elementType, type, property
        WHERE NOT type = \"RELATIONSHIP\" AND elementType = \"node\"
          AND NOT label IN $EXCLUDED_LABELS
        WITH label AS nodeLabels, collect({property:property, type:type}) AS properties
        RETURN {labels: nodeLabels, properties: properties} AS output",
        &[
            "{labels: 'Book', properties: [{property: 'title', type: 'STRING'}]}",
            "{labels: 'Person', properties: [{property: 'born', type: 'INTEGER'}, \
             {property: 'name', type: 'STRING'}, {property: 'tags', type: 'LIST'}]}",
            "{labels: 'Writer', properties: [{property: 'born', type: 'DATE'}, \
             {property: 'name', type: 'STRING'}]}",
        ],
    ),
    (
        "CALL apoc.meta.data()
        YIELD label, other, elementType, type, property
        WHERE NOT type = \"RELATIONSHIP\" AND elementType = \"relationship\"
              AND NOT label in $EXCLUDED_LABELS
        WITH label AS nodeLabels, collect({property:property, type:type}) AS properties
        RETURN {type: nodeLabels, properties: properties} AS output",
        &["{properties: [{property: 'year', type: 'INTEGER'}], type: 'WROTE'}"],
    ),
    (
        "CALL apoc.meta.data()
        YIELD label, other, elementType, type, property
        WHERE type = \"RELATIONSHIP\" AND elementType = \"node\"
        UNWIND other AS other_node
        WITH * WHERE NOT label IN $EXCLUDED_LABELS
            AND NOT other_node IN $EXCLUDED_LABELS
        RETURN {start: label, type: property, end: toString(other_node)} AS output",
        &[
            "{end: 'Book', start: 'Person', type: 'WROTE'}",
            "{end: 'Book', start: 'Writer', type: 'WROTE'}",
            "{end: 'Person', start: 'Person', type: 'KNOWS'}",
            "{end: 'Writer', start: 'Person', type: 'KNOWS'}",
        ],
    ),
];

#[test]
fn langchain_reads_the_schema() {
    let db = database(GRAPH);
    let session = Session::new(&db);
    for (query, expected) in LANGCHAIN {
        let none = [("EXCLUDED_LABELS", Value::list::<&str>([]))];
        assert_eq!(rows_with(&session, query, &none), expected, "{query}");
        let without = [("EXCLUDED_LABELS", Value::list(["Writer", "WROTE"]))];
        let left =
            expected.iter().filter(|row| !row.contains("Writer") && !row.ends_with("'WROTE'}"));
        if !query.contains("other_node") {
            assert_eq!(rows_with(&session, query, &without), left.copied().collect::<Vec<_>>());
        }
    }
}

#[test]
fn rows_say_what_rules_there_are_and_how_much_is_connected() {
    let db = database("");
    let session = Session::new(&db);
    for rule in [
        "CREATE CONSTRAINT FOR (p:Person) REQUIRE p.name IS UNIQUE",
        "CREATE INDEX FOR (p:Person) ON (p.born, p.tags)",
        "CREATE CONSTRAINT FOR (b:Book) REQUIRE b.title IS NODE KEY",
        "CREATE INDEX FOR ()-[w:WROTE]-() ON (w.year)",
    ] {
        session.run(rule, &[]).unwrap_or_else(|e| panic!("{rule}: {e}"));
    }
    session.run(GRAPH, &[]).unwrap_or_else(|e| panic!("{e}"));
    let properties = rows(
        &session,
        "CALL apoc.meta.data({sample: 100}) YIELD label, property, count, unique, \
         index, existence, type, array, elementType WHERE type <> 'RELATIONSHIP' \
         RETURN label, property, count, unique, index, existence, array, elementType",
    );
    assert_eq!(
        properties,
        [
            "'Book' | 'title' | 1 | true | true | true | false | 'node'",
            "'Person' | 'born' | 3 | false | true | false | false | 'node'",
            "'Person' | 'name' | 3 | true | true | false | false | 'node'",
            "'Person' | 'tags' | 1 | false | true | false | true | 'node'",
            "'WROTE' | 'year' | 1 | false | true | false | false | 'relationship'",
            "'Writer' | 'born' | 1 | false | false | false | false | 'node'",
            "'Writer' | 'name' | 1 | false | false | false | false | 'node'",
        ]
    );
    let connections = rows(
        &session,
        "CALL apoc.meta.data() \
         YIELD label, property, count, array, type, leftCount, rightCount, left, right, other, \
         otherLabels, sample, elementType \
         WHERE type = 'RELATIONSHIP' AND otherLabels = [] AND sample IS NULL \
         RETURN label, property, count, array, leftCount, rightCount, left, right, other, \
         elementType",
    );
    assert_eq!(
        connections,
        [
            "'KNOWS' | 'Person' | 1 | true | 2 | 0 | 2 | 0 | ['Person', 'Writer'] | 'relationship'",
            "'Person' | 'KNOWS' | 1 | true | 2 | 0 | 2 | 0 | ['Person', 'Writer'] | 'node'",
            "'Person' | 'WROTE' | 2 | false | 2 | 0 | 1 | 0 | ['Book'] | 'node'",
            "'WROTE' | 'Person' | 2 | false | 2 | 0 | 1 | 0 | ['Book'] | 'relationship'",
            "'WROTE' | 'Writer' | 1 | false | 1 | 0 | 1 | 0 | ['Book'] | 'relationship'",
            "'Writer' | 'WROTE' | 1 | false | 1 | 0 | 1 | 0 | ['Book'] | 'node'",
        ]
    );
    let refused =
        rows(&session, "CALL apoc.meta.data({labels: ['Person']}) YIELD label RETURN label");
    assert!(refused[0].contains("knows no configuration `labels`"), "{refused:?}");
}

/// What `get_schema(driver, is_enhanced=True)` of neo4j-graphrag 1.22 asks besides.
#[test]
fn graphrag_reads_how_often_things_occur() {
    let db = database("");
    let session = Session::new(&db);
    for rule in [
        "CREATE CONSTRAINT person FOR (p:Person) REQUIRE p.name IS UNIQUE",
        "CREATE INDEX born FOR (p:Person) ON (p.born)",
        "CREATE INDEX both FOR (p:Person) ON (p.name, p.born)",
        "CREATE INDEX FOR ()-[w:WROTE]-() ON (w.year)",
        "CREATE CONSTRAINT title FOR (b:Book) REQUIRE b.title IS NOT NULL",
        "CREATE INDEX none FOR (n:None) ON (n.x)",
    ] {
        session.run(rule, &[]).unwrap_or_else(|e| panic!("{rule}: {e}"));
    }
    session.run(GRAPH, &[]).unwrap_or_else(|e| panic!("{e}"));
    let counts = rows(
        &session,
        "CALL apoc.meta.graph({sample: 1000, maxRels: 100}) YIELD nodes, relationships \
         RETURN nodes, [rel in relationships | {name:apoc.any.property(rel, 'type'), \
         count: apoc.any.property(rel, 'count')}] AS relationships",
    );
    assert_eq!(
        counts,
        ["[{count: 1, name: 'Book'}, {count: 3, name: 'Person'}, {count: 1, name: 'Writer'}] | \
          [{count: 2, name: 'WROTE'}, {count: 1, name: 'WROTE'}, {count: 2, name: 'KNOWS'}, \
          {count: 1, name: 'KNOWS'}]"]
    );
    let indexes = rows(
        &session,
        "CALL apoc.schema.nodes() YIELD label, properties, type, size, valuesSelectivity \
         WHERE type = 'RANGE' RETURN label, properties, size, size * valuesSelectivity AS distinct",
    );
    assert_eq!(
        indexes,
        [
            "'None' | ['x'] | 0 | 0.0",
            "'Person' | ['born'] | 3 | 2.0",
            "'Person' | ['name', 'born'] | 3 | 3.0",
            "'Person' | ['name'] | 3 | 3.0",
        ]
    );
    let rules = rows(
        &session,
        "CALL apoc.schema.nodes() YIELD name, status, type, populationProgress, userDescription \
         WHERE type <> 'RANGE' RETURN name, status, type, populationProgress, userDescription",
    );
    assert_eq!(
        rules,
        [
            "':Book(title)' | '' | 'NODE_PROPERTY_EXISTENCE' | 0.0 | 'title'",
            "':Person(name)' | '' | 'UNIQUENESS' | 0.0 | 'person'",
        ]
    );
    for (of, values) in [
        ("'Person', 'born'", "[Date(Date(-25567)), 1815]"),
        ("'', 'name'", "['Ada', 'Bob', 'Cid']"),
        ("'Person', 'nothing'", "[]"),
        ("'Nothing', 'name'", "[]"),
    ] {
        let call = format!("CALL apoc.schema.properties.distinct({of}) YIELD value RETURN value");
        assert_eq!(rows(&session, &call), [values], "{of}");
    }
    let any = "MATCH (p:Person {name: 'Ada'}) RETURN apoc.any.property(p, 'born') AS b";
    assert_eq!(rows(&session, any), ["1815"]);
}
