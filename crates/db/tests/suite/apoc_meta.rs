//! `apoc.meta.*`, `apoc.schema.relationships`, `apoc.help`, `apoc.cypher.runMany`.

use crate::common;

use common::{database, show};
use telar_db::{Session, Value};

fn rows(session: &Session, text: &str) -> Vec<String> {
    let result = session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(", ");
    result.rows.iter().map(row).collect()
}

const GRAPH: &str = "CREATE (a:Person {name: 'Ada', born: 1815}), (c:Person:Author {name: 'C'}), \
                     (b:Book {title: 'F'}), (a)-[:KNOWS {since: 1833}]->(c), (c)-[:WROTE]->(b), \
                     (a)-[:KNOWS]->(c)";

#[test]
fn the_schema_says_of_properties_of_relationships_if_they_are_indexed() {
    let db = database(GRAPH);
    let session = Session::new(&db);
    let since = "CALL apoc.meta.schema() YIELD value WITH value.KNOWS.properties.since AS p \
                 RETURN p.type, p.indexed, p.unique, p.existence, p.array";
    assert_eq!(rows(&session, since), ["'INTEGER', false, false, false, false"]);
    session.run("CREATE INDEX FOR ()-[k:KNOWS]-() ON (k.since)", &[]).unwrap();
    assert_eq!(rows(&session, since), ["'INTEGER', true, false, false, false"]);
    let at_node = "CALL apoc.meta.schema() YIELD value \
                   RETURN value.Person.relationships.KNOWS.properties.since.indexed";
    assert_eq!(rows(&session, at_node), ["true"]);
    let shown = "CALL apoc.schema.relationships() YIELD name, type, properties, status, \
                 relationshipType RETURN name, type, properties, status, relationshipType";
    assert_eq!(rows(&session, shown), ["':KNOWS(since)', 'RANGE', ['since'], 'ONLINE', 'KNOWS'"]);
}

#[test]
fn the_schema_is_about_the_labels_and_types_that_are_asked_for() {
    let db = database(GRAPH);
    let session = Session::new(&db);
    let names = |config: &str| {
        let text = format!(
            "CALL apoc.meta.schema({config}) YIELD value UNWIND keys(value) AS k \
                            RETURN k ORDER BY k"
        );
        rows(&session, &text).join(" ").replace('\'', "")
    };
    assert_eq!(names("{}"), "Author Book KNOWS Person WROTE");
    assert_eq!(names("{includeLabels: ['Person']}"), "KNOWS Person WROTE");
    assert_eq!(names("{excludeLabels: ['Person'], excludeRels: ['KNOWS']}"), "Author Book WROTE");
    assert_eq!(names("{includeRels: ['WROTE'], includeLabels: ['Book']}"), "Book WROTE");
    let at = "CALL apoc.meta.schema({excludeRels: ['KNOWS']}) YIELD value \
              RETURN keys(value.Person.relationships)";
    assert_eq!(rows(&session, at), ["['WROTE']"]);
}

#[test]
fn properties_are_counted_by_labels_and_types() {
    let db = database(GRAPH);
    let session = Session::new(&db);
    let nodes = "CALL apoc.meta.nodeTypeProperties({excludeLabels: ['Book']}) \
                 YIELD nodeType, propertyName, propertyTypes, mandatory, propertyObservations, \
                 totalObservations RETURN nodeType, propertyName, propertyTypes, mandatory, \
                 propertyObservations, totalObservations ORDER BY nodeType, propertyName";
    assert_eq!(
        rows(&session, nodes),
        [
            "':`Author`:`Person`', 'name', ['String'], true, 1, 1",
            "':`Person`', 'born', ['Long'], true, 1, 1",
            "':`Person`', 'name', ['String'], true, 1, 1",
        ]
    );
    let edges = "CALL apoc.meta.relTypeProperties() YIELD * \
                 RETURN relType, sourceNodeLabels, targetNodeLabels, propertyName, mandatory, \
                 propertyObservations, totalObservations ORDER BY relType";
    let edges = edges.replace(
        "YIELD *",
        "YIELD relType, sourceNodeLabels, targetNodeLabels, \
        propertyName, mandatory, propertyObservations, totalObservations",
    );
    assert_eq!(
        rows(&session, &edges),
        [
            "':`KNOWS`', ['Person'], ['Author', 'Person'], 'since', false, 1, 2",
            "':`WROTE`', ['Author', 'Person'], ['Book'], null, false, 0, 1",
        ]
    );
}

#[test]
fn help_finds_procedures_and_functions() {
    let db = database("");
    let session = Session::new(&db);
    let help = "CALL apoc.help('meta.schema') YIELD type, name, writes RETURN type, name, writes";
    assert_eq!(rows(&session, help), ["'procedure', 'apoc.meta.schema', false"]);
    let both = "CALL apoc.help('apoc.') YIELD type RETURN DISTINCT type ORDER BY type";
    assert_eq!(rows(&session, both), ["'function'", "'procedure'"]);
    let all = "CALL apoc.help('') YIELD name WHERE NOT name STARTS WITH 'apoc.' RETURN name";
    assert_eq!(rows(&session, all), [""; 0]);
}

#[test]
fn several_texts_run_one_after_the_other() {
    let db = database("");
    let session = Session::new(&db);
    let many = "CALL apoc.cypher.runMany(\"CREATE (:X {s: 'a;b'}); MATCH (x:X) RETURN x.s AS s, $n AS n;\", \
                {n: 1}) YIELD row, result RETURN row, result.s, result.n, result.nodesCreated, result.rows";
    assert_eq!(
        rows(&session, many),
        ["-1, null, null, 1, 0", "0, 'a;b', 1, null, null", "-1, null, null, 0, 1",]
    );
    let bare = "CALL apoc.cypher.runMany('RETURN 1 AS one; ', {}, {statistics: false}) YIELD result \
                RETURN result";
    assert_eq!(rows(&session, bare), ["{one: 1}"]);
    let wrong = session.run("CALL apoc.cypher.runMany('CREATE (:Y); RETURN', {})", &[]);
    assert!(wrong.unwrap_err().message.contains("RETURN"));
    assert_eq!(rows(&session, "MATCH (y:Y) RETURN count(y)"), ["0"]);
    let write =
        "CALL apoc.cypher.runWrite('CREATE (n:Z) RETURN 1 AS one') YIELD value RETURN value";
    assert_eq!(rows(&session, write), ["{one: 1}"]);
}

#[test]
fn a_schema_is_made_as_it_is_to_be() {
    let db = database("");
    let session = Session::new(&db);
    let run = |text: &str| _ = session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    run("CREATE INDEX kept FOR (p:P) ON (p.a)");
    run("CREATE INDEX old FOR (p:P) ON (p.z)");
    run("CREATE INDEX of_knows FOR ()-[k:KNOWS]-() ON (k.since)");
    run("CREATE FULLTEXT INDEX words FOR (p:P) ON EACH [p.text]");
    let assert = "CALL apoc.schema.assert({P: ['a', ['b', 'c']]}, {Q: ['id']}";
    let yields = "YIELD label, key, keys, unique, action RETURN label, key, keys, unique, action";
    assert_eq!(
        rows(&session, &format!("{assert}, false) {yields}")),
        [
            "'P', 'a', ['a'], false, 'KEPT'",
            "'P', 'b', ['b', 'c'], false, 'CREATED'",
            "'Q', 'id', ['id'], true, 'CREATED'",
        ]
    );
    let mut again = rows(&session, &format!("{assert}) {yields}"));
    again.sort();
    assert_eq!(
        again,
        [
            "'KNOWS', 'since', ['since'], false, 'DROPPED'",
            "'P', 'a', ['a'], false, 'KEPT'",
            "'P', 'b', ['b', 'c'], false, 'KEPT'",
            "'P', 'z', ['z'], false, 'DROPPED'",
            "'Q', 'id', ['id'], true, 'KEPT'",
        ]
    );
    let left = "SHOW INDEXES YIELD name, type, owningConstraint WHERE owningConstraint IS NULL \
                AND type <> 'LOOKUP' RETURN type ORDER BY type";
    assert_eq!(rows(&session, left), ["'FULLTEXT'", "'RANGE'", "'RANGE'"]);
    let wrong = session.run("CALL apoc.schema.assert({P: 'a'}, {})", &[]).unwrap_err();
    assert!(wrong.message.contains("a LIST of keys"), "{wrong}");
}
