//! Procedures and functions that clients know from APOC.

use crate::common;

use common::{database, show};
use telar_db::query::{ErrorKind, Limits, StatementKind};
use telar_db::{Session, Value};

/// Rows with commas between the columns: sorted, unless the text asks for an order.
fn rows(session: &Session, text: &str) -> Vec<String> {
    rows_with(session, text, &[])
}

fn rows_with(session: &Session, text: &str, parameters: &[(&str, Value)]) -> Vec<String> {
    let result = session.run(text, parameters).unwrap_or_else(|e| panic!("{text}: {e}"));
    let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(", ");
    let mut rows: Vec<String> = result.rows.iter().map(row).collect();
    if !text.contains("ORDER BY") {
        rows.sort();
    }
    rows
}

fn fails(session: &Session, text: &str, words: &str) {
    let error = session.run(text, &[]).expect_err(text);
    assert!(error.message.contains(words), "{text}: {error}");
}

/// There are more paths than any memory holds.
#[test]
fn paths_are_found_as_they_are_asked_for() {
    let db = database("UNWIND range(1, 30) AS i CREATE (:X {i: i})");
    let session = Session::new(&db);
    session.run("MATCH (a:X), (b:X) WHERE a.i < b.i CREATE (a)-[:R]->(b)", &[]).unwrap();
    for more in ["", ", bfs: false", ", uniqueness: 'NODE_PATH'"] {
        let call = format!("CALL apoc.path.expandConfig(s, {{maxLevel: 20{more}}}) YIELD path");
        let first = format!("MATCH (s:X {{i: 1}}) {call} RETURN length(path) LIMIT 3");
        assert_eq!(rows(&session, &first).len(), 3, "{first}");
    }
    // Of several starts, each with paths of its own, and of none.
    let each = "MATCH (s:X) CALL apoc.path.expand(s, 'R>', null, 1, 1) YIELD path RETURN count(*)";
    assert_eq!(rows(&session, each), ["435"]);
    let none = "CALL apoc.path.expandConfig([], {}) YIELD path RETURN count(path)";
    assert_eq!(rows(&session, none), ["0"]);
    let optional = "MATCH (s:X {i: 30}) CALL apoc.path.expandConfig(s, {relationshipFilter: 'R>', \
                    minLevel: 1, optional: true}) YIELD path RETURN path";
    assert_eq!(rows(&session, optional), ["null"]);
    let allowed = "MATCH (s:X {i: 1}), (b:X {i: 2}) CALL apoc.path.expandConfig(s, \
                   {allowlistNodes: [b], maxLevel: 1}) YIELD path RETURN length(path)";
    assert_eq!(rows(&session, allowed), ["0", "1"]);
    let limited = "MATCH (s:X {i: 1}) CALL apoc.path.expandConfig(s, {maxLevel: 9, limit: 700}) \
                   YIELD path RETURN count(path)";
    assert_eq!(rows(&session, limited), ["700"]);
}

#[test]
fn nodes_are_merged_by_labels_and_properties_that_are_values() {
    let db = database("");
    let session = Session::new(&db);
    let merge = "CALL apoc.merge.node(['P', 'Q``r'], {id: $id}, {made: 1}, {met: 1}) YIELD node
                 RETURN node.id, node.made, node.met, labels(node)";
    let first = session.run(merge, &[("id", 1.into())]).unwrap();
    assert_eq!((first.counters.nodes_created, first.counters.labels_added), (1, 2));
    assert_eq!(first.counters.properties_set, 2);
    assert_eq!(first.kind, StatementKind::ReadWrite);
    let with = |id: i64| rows_with(&session, merge, &[("id", id.into())]);
    assert_eq!(with(1), ["1, 1, 1, ['P', 'Q``r']"]);
    assert_eq!(with(2), ["2, 1, null, ['P', 'Q``r']"]);
    assert_eq!(rows(&session, "MATCH (n) RETURN count(n)"), ["2"]);
    // Three and two arguments, no label, several finds, many rows that find what others made.
    let text = "UNWIND range(0, 9) AS i CALL apoc.merge.node([], {k: i % 3}) YIELD node
                RETURN count(*), count(DISTINCT node)";
    assert_eq!(rows(&session, text), ["10, 3"]);
    session.run("CREATE (:P {a: 1}), (:P {a: 1})", &[]).unwrap();
    let text = "CALL apoc.merge.node(['P'], {a: 1}, {}, {b: 2}) YIELD node RETURN node.b";
    assert_eq!(rows(&session, text), ["2", "2"]);
    let text = "CALL apoc.merge.nodeWithStats(['S'], {a: 1}) YIELD stats
                RETURN stats.nodesCreated, stats.propertiesSet, stats.labelsAdded";
    assert_eq!(rows(&session, text), ["1, 1, 1"]);
    assert_eq!(rows(&session, text), ["0, 0, 0"]);
    fails(&session, "CALL apoc.merge.node(['P'], {})", "at least one identifying property");
    fails(&session, "CALL apoc.merge.node(['P'], null)", "at least one identifying property");
    fails(&session, "CALL apoc.merge.node([''], {a: 1})", "a label of a node must be a STRING");
    fails(&session, "CALL apoc.merge.node(['P'], {a: null})", "whose value is null");
}

#[test]
fn relationships_are_merged_with_five_and_six_arguments() {
    let db = database("CREATE (:A {id: 1}), (:B {id: 2})");
    let session = Session::new(&db);
    let five = "MATCH (a:A), (b:B) CALL apoc.merge.relationship(a, 'T', {}, {x: 1}, b) YIELD rel
                RETURN type(rel), rel.x, startNode(rel).id";
    let made = session.run(five, &[]).unwrap();
    assert_eq!(made.counters.relationships_created, 1);
    assert_eq!(rows(&session, five), ["'T', 1, 1"]);
    let six = "MATCH (a:A), (b:B) CALL apoc.merge.relationship(a, 'T', {k: 7}, {x: 2}, b, {y: 3})
               YIELD rel RETURN rel.k, rel.x, rel.y";
    assert_eq!(rows(&session, six), ["7, 2, null"]);
    assert_eq!(rows(&session, six), ["7, 2, 3"]);
    assert_eq!(rows(&session, "MATCH ()-[r:T]->() RETURN count(r)"), ["2"]);
    let bad =
        "MATCH (a:A), (b:B) CALL apoc.merge.relationship(a, '', {}, {}, b) YIELD rel RETURN 1";
    fails(&session, bad, "without a relationship type");
    let bad = "MATCH (a:A) CALL apoc.merge.relationship(a, 'T', {}, {}, null) YIELD rel RETURN 1";
    fails(&session, bad, "the end node must be a NODE, found NULL");
    let bad = "MATCH (a:A), (b:B) DETACH DELETE b WITH a, b
               CALL apoc.merge.relationship(a, 'T', {}, {}, b) YIELD rel RETURN rel";
    fails(&session, bad, "deleted");
}

#[test]
fn what_is_merged_is_part_of_the_transaction() {
    let db = database("");
    let session = Session::new(&db);
    let call = "CALL apoc.merge.node(['P'], {id: 1}) YIELD node RETURN node.id";
    let none = Default::default();
    let mut transaction = session.begin().unwrap();
    for _ in 0..2 {
        assert_eq!(transaction.run(call, &none).unwrap().rows, [[Value::Int(1)]]);
    }
    assert_eq!(transaction.run("MATCH (n) RETURN n.id", &none).unwrap().rows.len(), 1);
    transaction.rollback();
    assert_eq!(rows(&session, "MATCH (n) RETURN count(n)"), ["0"]);
    let reader = Session::new(&db).read_only();
    for text in [
        call,
        "CALL apoc.create.node([], {})",
        "CALL apoc.cypher.doIt('CREATE ()')",
        "CALL apoc.refactor.mergeNodes([])",
    ] {
        assert_eq!(reader.run(text, &[]).unwrap_err().kind, ErrorKind::AccessMode, "{text}");
    }
    assert_eq!(
        session.run(&format!("EXPLAIN {call}"), &[]).unwrap().kind,
        StatementKind::ReadWrite
    );
    assert_eq!(rows(&session, "MATCH (n) RETURN count(n)"), ["0"]);
    let shown = "SHOW PROCEDURES YIELD name, mode WHERE name = 'apoc.merge.node' RETURN mode";
    assert_eq!(rows(&session, shown), ["'WRITE'"]);
    // With a constraint, one of two transactions that merge the same makes it.
    session.run("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE", &[]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Session::new(&db).run(call, &[]).unwrap());
        }
    });
    assert_eq!(rows(&session, "MATCH (n) RETURN count(n)"), ["1"]);
}

#[test]
fn labels_and_properties_are_changed_by_names_that_are_values() {
    let db = database("CREATE (:A {n: 1}), (:A {n: 2})-[:R {x: 1}]->(:B)");
    let session = Session::new(&db);
    let text = "CALL apoc.create.node(['X', 'Y'], {a: 1, no: null}) YIELD node
                RETURN labels(node), properties(node)";
    assert_eq!(rows(&session, text), ["['X', 'Y'], {a: 1}"]);
    let text = "CALL apoc.create.nodes(['X'], [{a: 1}, {a: 2}]) YIELD node RETURN node.a";
    assert_eq!(rows(&session, text), ["1", "2"]);
    let text = "MATCH (a:A), (b:B) CALL apoc.create.relationship(a, 'S', {x: a.n}, b) YIELD rel
                RETURN rel.x ORDER BY rel.x";
    assert_eq!(rows(&session, text), ["1", "2"]);
    // A node, an id, an element id, lists of all of them, null.
    for of in ["n", "id(n)", "elementId(n)", "[n, id(n), [n]]", "[null, n]"] {
        let text = format!(
            "MATCH (n:B) CALL apoc.create.addLabels({of}, ['L']) YIELD node
                            WITH DISTINCT node RETURN labels(node)"
        );
        assert_eq!(rows(&session, &text), ["['B', 'L']"], "{of}");
    }
    assert_eq!(
        rows(&session, "CALL apoc.create.addLabels(null, ['L']) YIELD node RETURN 1").len(),
        0
    );
    fails(&session, "CALL apoc.create.addLabels(99999, ['L'])", "no node with the id 99999");
    fails(&session, "CALL apoc.create.addLabels(1.5, ['L'])", "expected a NODE, its id");
    let text = "MATCH (n:B) CALL apoc.create.setLabels(n, ['B', 'M']) YIELD node
                CALL apoc.create.removeLabels(node, ['B', 'None']) YIELD node AS m RETURN labels(m)";
    assert_eq!(rows(&session, text), ["['M']"]);
    let text = "MATCH (n:M) CALL apoc.create.setProperties(n, ['a', 'b'], [1, [2]]) YIELD node
                CALL apoc.create.setProperty(node, 'c', 3) YIELD node AS m
                CALL apoc.create.removeProperties(m, ['a']) YIELD node AS k RETURN properties(k)";
    assert_eq!(rows(&session, text), ["{b: [2], c: 3}"]);
    let text = "MATCH ()-[r:R]->() CALL apoc.create.setRelProperties([r], ['y'], [2]) YIELD rel
                CALL apoc.create.setRelProperty(rel, 'z', 3) YIELD rel AS s
                CALL apoc.create.removeRelProperties(s, ['x']) YIELD rel AS t RETURN properties(t)";
    assert_eq!(rows(&session, text), ["{y: 2, z: 3}"]);
    fails(
        &session,
        "MATCH (n:M) CALL apoc.create.setProperties(n, ['a'], []) YIELD node RETURN 1",
        "1 keys and 0 values",
    );
    let deleted = "MATCH (n:M) DETACH DELETE n WITH n CALL apoc.create.addLabels(n, ['L'])";
    fails(&session, &format!("{deleted} YIELD node RETURN 1"), "has deleted the NODE");
}

#[test]
fn merged_nodes_have_all_that_both_had() {
    let db = database("");
    let session = Session::new(&db);
    let graph = "CREATE (a:A {n: 1, x: 'a'}), (b:B {n: 2, y: 'b', x: 'b'}), (c:C {n: 3}),
                 (a)-[:R {w: 1}]->(c), (b)-[:R {w: 2}]->(c), (c)-[:S]->(b), (a)-[:T]->(b),
                 (b)-[:U]->(b)";
    let merge = |config: &str| {
        session.run("MATCH (n) DETACH DELETE n", &[]).unwrap();
        session.run(graph, &[]).unwrap();
        let text = format!(
            "MATCH (a:A), (b:B) CALL apoc.refactor.mergeNodes([a, b, a]{config}) YIELD node
             RETURN labels(node), properties(node)"
        );
        let found = rows(&session, &text);
        let all = "MATCH (n)-[r]->(m) RETURN n.n, type(r), r.w, m.n ORDER BY n.n, type(r), r.w";
        (found, rows(&session, all))
    };
    let (node, all) = merge("");
    assert_eq!(node, ["['A', 'B'], {n: 2, x: 'b', y: 'b'}"]);
    assert_eq!(
        all,
        ["2, 'R', 1, 3", "2, 'R', 2, 3", "2, 'T', null, 2", "2, 'U', null, 2", "3, 'S', null, 2"]
    );
    let (node, all) = merge(", {properties: 'discard', mergeRels: true}");
    assert_eq!(node, ["['A', 'B'], {n: 1, x: 'a', y: 'b'}"]);
    assert_eq!(all, ["1, 'R', 1, 3", "1, 'T', null, 1", "1, 'U', null, 1", "3, 'S', null, 1"]);
    let (node, all) = merge(", {properties: 'combine', mergeRels: true, produceSelfRel: false}");
    assert_eq!(node, ["['A', 'B'], {n: [1, 2], x: ['a', 'b'], y: 'b'}"]);
    assert_eq!(all, ["[1, 2], 'R', [1, 2], 3", "3, 'S', null, [1, 2]"]);
    let (node, _) = merge(", {properties: {n: 'combine', `x|y`: 'discard', `.*`: 'overwrite'}}");
    assert_eq!(node, ["['A', 'B'], {n: [1, 2], x: 'a', y: 'b'}"]);
    // What is not there, and what cannot be.
    assert_eq!(rows(&session, "CALL apoc.refactor.mergeNodes([]) YIELD node RETURN node").len(), 0);
    fails(&session, "CALL apoc.refactor.mergeNodes([], {properties: 'mix'})", "found `mix`");
    let text = "MATCH (a:A) CALL apoc.refactor.mergeNodes([a]) YIELD node RETURN node = a";
    assert_eq!(rows(&session, text), ["true"]);
}

#[test]
fn relationships_are_replaced() {
    let db = database("CREATE (a:A)-[:R {w: 1}]->(b:B), (a)-[:R {w: 2}]->(b), (:C)");
    let session = Session::new(&db);
    let text = "MATCH (:A)-[r:R]->(:B) WITH r ORDER BY r.w WITH collect(r) AS rels
                CALL apoc.refactor.mergeRelationships(rels, {properties: 'combine'}) YIELD rel
                RETURN rel.w";
    assert_eq!(rows(&session, text), ["[1, 2]"]);
    let step =
        |call: &str| session.run(&format!("MATCH ()-[r]->(), (c:C) CALL {call}"), &[]).unwrap();
    let all = || rows(&session, "MATCH (a)-[r]->(b) RETURN labels(a), type(r), r.w, labels(b)");
    step("apoc.refactor.setType(r, 'Q') YIELD output RETURN output");
    assert_eq!(all(), ["['A'], 'Q', [1, 2], ['B']"]);
    step("apoc.refactor.invert(r) YIELD output RETURN output");
    assert_eq!(all(), ["['B'], 'Q', [1, 2], ['A']"]);
    step("apoc.refactor.to(r, c) YIELD output RETURN output");
    assert_eq!(all(), ["['B'], 'Q', [1, 2], ['C']"]);
    step("apoc.refactor.from(r, c) YIELD output RETURN output");
    assert_eq!(all(), ["['C'], 'Q', [1, 2], ['C']"]);
}

#[test]
fn query_texts_are_run() {
    let db = database("CREATE (:A {n: 1})");
    let session = Session::new(&db);
    let run = |text: &str| rows(&session, text);
    let text =
        "CALL apoc.cypher.run('RETURN x + $x AS y, 2 AS z', {x: 2}) YIELD value RETURN value";
    assert_eq!(run(text), ["{y: 4, z: 2}"]);
    let text = "MATCH (a:A) CALL apoc.cypher.doIt('SET a.m = $m RETURN a.m AS m', {a: a, m: 5})
                YIELD value RETURN value.m, a.m";
    assert_eq!(run(text), ["5, 5"]);
    fails(&session, "CALL apoc.cypher.run('CREATE (:X)')", "READ");
    fails(&session, "CALL apoc.cypher.doIt('CREATE INDEX FOR (n:A) ON (n.n)')", "indexes");
    fails(&session, "CALL apoc.cypher.run('RETURN 1 +')", "RETURN 1 +");
    let text = "UNWIND [true, false, null] AS c
                CALL apoc.when(c, 'RETURN 1 AS r', 'RETURN 2 AS r') YIELD value RETURN value.r";
    assert_eq!(run(text), ["1", "2", "2"]);
    let text = "CALL apoc.do.when(true, 'CREATE (n:X) RETURN n', '') YIELD value
                RETURN labels(value.n)";
    assert_eq!(run(text), ["['X']"]);
    let text = "CALL apoc.case([false, 'RETURN 1 AS r', true, 'RETURN 2 AS r'], '') YIELD value
                RETURN value.r";
    assert_eq!(run(text), ["2"]);
    let text = "CALL apoc.do.case([false, 'RETURN 1 AS r'], 'CREATE (n:Y) RETURN 3 AS r')
                YIELD value RETURN value.r";
    assert_eq!(run(text), ["3"]);
    assert_eq!(run("MATCH (n) RETURN labels(n)[0] ORDER BY labels(n)[0]"), ["'A'", "'X'", "'Y'"]);
}

#[test]
fn the_schema_is_a_map() {
    let db = database(
        "CREATE (a:P:Q {name: 'a', born: 1}), (:P {name: 'b'})-[:WROTE {year: 1}]->(b:Book),
         (a)-[:WROTE]->(b), (a)-[:KNOWS]->(a)",
    );
    let session = Session::new(&db);
    session.run("CREATE CONSTRAINT FOR (p:P) REQUIRE p.name IS UNIQUE", &[]).unwrap();
    let text = "CALL apoc.meta.schema({sample: 1000}) YIELD value RETURN value.";
    let of = |key: &str| rows(&session, &format!("{text}{key}"));
    assert_eq!(
        of("P"),
        ["{count: 2, labels: ['Q'], properties: {born: {existence: false, indexed: false, \
          type: 'INTEGER', unique: false}, name: {existence: false, indexed: true, \
          type: 'STRING', unique: true}}, relationships: {KNOWS: {count: 1, direction: 'out', \
          labels: ['P', 'Q'], properties: {}}, WROTE: {count: 2, direction: 'out', \
          labels: ['Book'], properties: {year: {array: false, existence: false, indexed: false, \
          type: 'INTEGER', unique: false}}}}, type: 'node'}"]
    );
    assert_eq!(
        of("WROTE"),
        ["{count: 2, properties: {year: {array: false, existence: false, indexed: false, \
          type: 'INTEGER', unique: false}}, type: 'relationship'}"]
    );
    assert_eq!(of("Book.relationships.WROTE.direction"), ["'in'"]);
    assert_eq!(of("Book.relationships.WROTE.labels"), ["['P', 'Q']"]);
    let text = "CALL apoc.meta.subGraph({}) YIELD nodes, relationships
                RETURN [n IN nodes | n.name], size(relationships)";
    assert_eq!(rows(&session, text), ["['Book', 'P', 'Q'], 6"]);
    let text = "CALL apoc.meta.subGraph({labels: ['P', 'Book'], rels: ['WROTE']})
                YIELD nodes, relationships RETURN [n IN nodes | n.name], relationships";
    assert_eq!(
        rows(&session, text),
        ["['Book', 'P'], [{count: 2, from: 'P', to: 'Book', type: 'WROTE'}]"]
    );
    let text = "CALL apoc.meta.stats() YIELD nodeCount, relCount, labels, relTypes
                RETURN nodeCount, relCount, labels, relTypes['(:P)-[:WROTE]->()'],
                       relTypes['()-[:KNOWS]->(:Q)'], relTypes['()-[:WROTE]->()']";
    assert_eq!(rows(&session, text), ["3, 3, {Book: 1, P: 2, Q: 1}, 2, 1, 2"]);
    let empty = Session::new(&database(""));
    assert_eq!(rows(&empty, "CALL apoc.meta.schema() YIELD value RETURN value"), ["{}"]);
}

/// A chain `1 -A-> 2 -B-> 3 -A-> 4`, a way back `4 -B-> 1`, and a leaf `2 -A-> 5`.
const ROADS: &str = "CREATE (a:City {n: 1}), (b:City:Stop {n: 2}), (c:Town {n: 3}),
    (d:City:End {n: 4}), (e:Leaf {n: 5}), (a)-[:A]->(b), (b)-[:B]->(c), (c)-[:A]->(d),
    (d)-[:B]->(a), (b)-[:A]->(e)";

#[test]
fn what_can_be_reached_is_found() {
    let db = database(ROADS);
    let session = Session::new(&db);
    let nodes = |config: &str| {
        let text = format!(
            "MATCH (a {{n: 1}}) CALL apoc.path.subgraphNodes(a, {config}) YIELD node
             RETURN node.n ORDER BY node.n"
        );
        rows(&session, &text).join(" ")
    };
    assert_eq!(nodes("{}"), "1 2 3 4 5");
    assert_eq!(nodes("{maxLevel: 1}"), "1 2 4");
    assert_eq!(nodes("{maxLevel: 1, minLevel: 1}"), "2 4");
    assert_eq!(nodes("{relationshipFilter: 'A>'}"), "1 2 5");
    assert_eq!(nodes("{relationshipFilter: '<B'}"), "1 4");
    assert_eq!(nodes("{relationshipFilter: 'A>|B>', labelFilter: '-Town'}"), "1 2 5");
    assert_eq!(nodes("{labelFilter: '+City|Leaf'}"), "1 2 4 5");
    assert_eq!(nodes("{labelFilter: '/Stop|>End'}"), "2 4");
    assert_eq!(nodes("{labelFilter: '>City', filterStartNode: true}"), "1 2 4");
    assert_eq!(nodes("{limit: 2}"), "1 2");
    assert_eq!(nodes("{bfs: false}"), "1 2 3 4 5");
    assert_eq!(nodes("{endNodes: [a]}"), "1");
    assert_eq!(nodes("{labelFilter: '>None', optional: true}"), "null");
    assert_eq!(nodes("{labelFilter: '>None'}"), "");
    assert_eq!(nodes("{relationshipFilter: 'A>,B>'}"), "1 2 3 4");
    assert_eq!(nodes("{sequence: 'City,A>,Stop,B>', filterStartNode: true}"), "1 2");
    let all = "MATCH (a {n: 1}) CALL apoc.path.subgraphAll(a, {labelFilter: '+City'})
               YIELD nodes, relationships
               RETURN [n IN nodes | n.n], [r IN relationships | type(r)]";
    assert_eq!(rows(&session, all), ["[1, 2, 4], ['A', 'B']"]);
    // Several nodes to begin at, also as ids.
    let text = "MATCH (a {n: 1}), (e {n: 5})
                CALL apoc.path.subgraphNodes([a, id(e)], {maxLevel: 0}) YIELD node RETURN node.n";
    assert_eq!(rows(&session, text), ["1", "5"]);
    fails(
        &session,
        "MATCH (a) CALL apoc.path.subgraphAll(a, {minLevel: 2}) YIELD nodes RETURN 1",
        "can only be 0 or 1",
    );
}

#[test]
fn paths_are_found() {
    let db = database(ROADS);
    let session = Session::new(&db);
    let paths = |call: &str| {
        let text = format!(
            "MATCH (a {{n: 1}}), (d {{n: 4}}) CALL {call} YIELD path
             RETURN [n IN nodes(path) | n.n] AS p ORDER BY size(p), p"
        );
        rows(&session, &text)
    };
    assert_eq!(
        paths("apoc.path.expand(a, 'A>|B>', '', 1, 2)"),
        ["[1, 2]", "[1, 2, 3]", "[1, 2, 5]"]
    );
    assert_eq!(paths("apoc.path.expand(a, 'A>|B>', '>Leaf', 0, 5)"), ["[1, 2, 5]"]);
    let config = "{relationshipFilter: 'A>|B>', minLevel: 4, maxLevel: 6";
    assert_eq!(paths(&format!("apoc.path.expandConfig(a, {config}}})")), ["[1, 2, 3, 4, 1]"]);
    assert_eq!(
        paths(&format!("apoc.path.expandConfig(a, {config}, uniqueness: 'NODE_PATH'}})")).len(),
        0
    );
    assert_eq!(
        paths(&format!("apoc.path.expandConfig(a, {config}, uniqueness: 'NONE', maxLevel: 5}})")),
        ["[1, 2, 3, 4, 1]", "[1, 2, 3, 4, 1, 2]"]
    );
    assert_eq!(
        paths("apoc.path.expandConfig(a, {terminatorNodes: [d]})"),
        ["[1, 4]", "[1, 2, 3, 4]"]
    );
    assert_eq!(
        paths("apoc.path.spanningTree(a, {relationshipFilter: 'A>|B>'})"),
        ["[1]", "[1, 2]", "[1, 2, 3]", "[1, 2, 5]", "[1, 2, 3, 4]"]
    );
    fails(
        &session,
        "MATCH (a) CALL apoc.path.expandConfig(a, {uniqueness: 'X'}) YIELD path RETURN 1",
        "no uniqueness",
    );
}

/// A function and what it is.
const FUNCTIONS: &[(&str, &str)] = &[
    ("apoc.coll.toSet([1, 2, 1, null, null])", "[1, 2, null]"),
    ("apoc.coll.toSet(null)", "null"),
    ("apoc.coll.flatten([1, [2, [3]], []])", "[1, 2, [3]]"),
    ("apoc.coll.flatten([1, [2, [3]], []], true)", "[1, 2, 3]"),
    ("apoc.coll.contains([1, 2], 2)", "true"),
    ("apoc.coll.containsAll([1, 2, 3], [1, 4])", "false"),
    ("apoc.coll.indexOf(['a', 'b'], 'b')", "1"),
    ("apoc.coll.sum([1, 2.5, null])", "3.5"),
    ("apoc.coll.avg([1, 2])", "1.5"),
    ("apoc.coll.avg([])", "null"),
    ("[apoc.coll.min([3, 1, 2]), apoc.coll.max(['b', 'c'])]", "[1, 'c']"),
    ("apoc.coll.sort([3, 1, 2])", "[1, 2, 3]"),
    ("apoc.coll.sortMaps([{a: 1}, {a: 2}], 'a')", "[{a: 2}, {a: 1}]"),
    ("apoc.coll.sortMaps([{a: 2}, {a: 1}], '^a')", "[{a: 1}, {a: 2}]"),
    ("apoc.coll.union([1, 2], [2, 3])", "[1, 2, 3]"),
    ("apoc.coll.intersection([1, 2, 2], [2, 3])", "[2]"),
    ("apoc.coll.subtract([1, 2, 1], [2])", "[1]"),
    ("apoc.coll.removeAll([1, 2, 1], [2])", "[1, 1]"),
    ("apoc.coll.disjunction([1, 2], [2, 3])", "[1, 3]"),
    ("apoc.coll.zip([1, 2], ['a'])", "[[1, 'a'], [2, null]]"),
    ("apoc.coll.pairs([1, 2, 3])", "[[1, 2], [2, 3], [3, null]]"),
    ("apoc.coll.pairsMin([1, 2, 3])", "[[1, 2], [2, 3]]"),
    ("apoc.coll.partition([1, 2, 3], 2)", "[[1, 2], [3]]"),
    ("apoc.coll.frequencies(['a', 'a', 'b'])", "[{count: 2, item: 'a'}, {count: 1, item: 'b'}]"),
    ("apoc.coll.frequenciesAsMap(['a', 'a', 1])", "{1: 1, a: 2}"),
    ("apoc.coll.duplicates([1, 2, 1])", "[1]"),
    ("apoc.coll.insert([1, 3], 1, 2)", "[1, 2, 3]"),
    ("apoc.coll.set([1, 3], 1, null)", "[1, 3]"),
    ("apoc.coll.insert([1, 3], 1, null)", "[1, 3]"),
    // As in APOC, null is no element, and mostly a list without elements.
    ("[apoc.coll.contains(null, 1), apoc.coll.contains([1, null], null)]", "[false, true]"),
    ("[apoc.coll.containsAll(null, [1]), apoc.coll.containsAll([1], null)]", "[false, false]"),
    ("[apoc.coll.containsAll([1], []), apoc.coll.containsAll([], [])]", "[true, false]"),
    ("[apoc.coll.indexOf(null, 5), apoc.coll.occurrences(null, 5)]", "[-1, 0]"),
    ("[apoc.coll.union(null, [2]), apoc.coll.union([1], null)]", "[[2], [1]]"),
    ("[apoc.coll.unionAll(null, [2, 2]), apoc.coll.disjunction([1], null)]", "[[2, 2], [1]]"),
    ("apoc.coll.union(null, null)", "null"),
    ("[apoc.coll.subtract([1], null), apoc.coll.removeAll([1], null)]", "[[1], [1]]"),
    ("[apoc.coll.subtract(null, [1]), apoc.coll.removeAll(null, [1])]", "[null, null]"),
    ("[apoc.coll.intersection(null, [1]), apoc.coll.sort(null)]", "[[], []]"),
    ("[apoc.coll.sortMaps(null, 'a'), apoc.coll.duplicates(null)]", "[[], []]"),
    ("[apoc.coll.partition(null, 2), apoc.coll.frequencies(null)]", "[[], []]"),
    ("[apoc.coll.different(null), apoc.coll.frequenciesAsMap(null)]", "[false, {}]"),
    ("[apoc.coll.sum([]), apoc.coll.sum(null), apoc.coll.sum([null])]", "[null, null, null]"),
    ("apoc.coll.sortMaps([{b: 3}, {a: 1}, {a: 2}], 'a')", "[{a: 2}, {a: 1}, {b: 3}]"),
    ("apoc.coll.sortMaps([{a: 1}, {b: 3}], '^a')", "[{b: 3}, {a: 1}]"),
    ("apoc.coll.set([1, 3], 2, 9)", "[1, 3]"),
    ("apoc.coll.remove([1, 2, 3], 1)", "[1, 3]"),
    ("apoc.map.clean({a: 1, b: '', c: null, d: 2}, ['d'], [''])", "{a: 1}"),
    ("apoc.map.clean(null, [], [])", "null"),
    ("apoc.map.merge({a: 1, b: 1}, {b: 2})", "{a: 1, b: 2}"),
    ("apoc.map.merge({a: 1}, null)", "{a: 1}"),
    ("apoc.map.mergeList([{a: 1}, {b: 2}])", "{a: 1, b: 2}"),
    ("apoc.map.fromPairs([['a', 1], ['b', [2]]])", "{a: 1, b: [2]}"),
    ("apoc.map.fromLists(['a'], [1])", "{a: 1}"),
    ("apoc.map.fromValues(['a', 1, 'b', 2])", "{a: 1, b: 2}"),
    ("apoc.map.setKey({a: 1}, 'b', null)", "{a: 1, b: null}"),
    ("apoc.map.removeKey({a: 1, b: {a: 1}}, 'a')", "{b: {a: 1}}"),
    ("apoc.map.removeKeys({a: 1, b: {a: 1, c: 2}}, ['a'], {recursive: true})", "{b: {c: 2}}"),
    ("apoc.map.get({a: 1}, 'b', 2)", "2"),
    ("apoc.map.submap({a: 1, b: 2}, ['a'])", "{a: 1}"),
    ("apoc.map.mget({a: 1}, ['a', 'b'], [0, 5])", "[1, 5]"),
    ("apoc.map.values({a: 1}, ['a', 'b'], true)", "[1, null]"),
    ("apoc.map.sortedProperties({b: 1, A: 2})", "[['A', 2], ['b', 1]]"),
    (
        "apoc.map.groupByMulti([{k: 'x'}, {k: 'x', v: 1}, {}], 'k')",
        "{x: [{k: 'x'}, {k: 'x', v: 1}]}",
    ),
    ("apoc.map.flatten({a: {b: 1, c: {d: 2}}})", "{a.b: 1, a.c.d: 2}"),
    ("apoc.date.convertFormat('2020-11-04', 'date', 'basic_date')", "'20201104'"),
    (
        "apoc.date.convertFormat('2020-11-04T22', 'date_hour', 'date_hour_minute')",
        "'2020-11-04T22:00'",
    ),
    ("apoc.text.join(['a', 'b', 'c'], ', ')", "'a, b, c'"),
    ("apoc.text.split('a1b22c', '[0-9]+')", "['a', 'b', 'c']"),
    ("apoc.text.split('a,b,,', ',')", "['a', 'b']"),
    ("apoc.text.split('a,b,c', ',', 2)", "['a', 'b,c']"),
    ("apoc.text.replace('Hello World', '[^a-z]', '')", "'elloorld'"),
    ("apoc.text.replace('ab', '(a)(b)', '$2\\$$1')", "'b$a'"),
    ("apoc.text.regexGroups('a=1 b=2', '(\\w)=(\\d)')", "[['a=1', 'a', '1'], ['b=2', 'b', '2']]"),
    ("apoc.text.indexOf('äbcb', 'b')", "1"),
    ("apoc.text.indexesOf('abcb', 'b')", "[1, 3]"),
    ("apoc.text.capitalize('hello world')", "'Hello world'"),
    ("apoc.text.capitalizeAll('hello world')", "'Hello World'"),
    ("apoc.text.camelCase('FOO_BAR baz')", "'fooBarBaz'"),
    ("apoc.text.upperCamelCase('foo bar')", "'FooBar'"),
    ("apoc.text.snakeCase('fooBar baz')", "'foo-bar-baz'"),
    ("apoc.text.clean('Hello, World!')", "'helloworld'"),
    ("apoc.text.clean('Hello Wörld, Straße, Café')", "'hellowoerldstrassecafe'"),
    ("apoc.text.compareCleaned('Café', 'cafe')", "true"),
    ("[apoc.text.compareCleaned(null, 'a'), apoc.text.regexGroups(null, 'a')]", "[false, []]"),
    ("[apoc.text.indexOf('x', null), apoc.text.indexOf(null, 'x')]", "[-1, null]"),
    ("apoc.text.slug('Hello, World!', '_')", "'Hello_World_'"),
    ("[apoc.text.camelCase('fooBar'), apoc.text.camelCase('FOO_BAR')]", "['foobar', 'fooBar']"),
    ("[apoc.text.snakeCase('FOOBar'), apoc.text.snakeCase('FOO_BAR')]", "['f-o-o-bar', 'foo-bar']"),
    ("apoc.text.replace('abc', '(?<x>b)', '${x}!')", "'ab!c'"),
    ("apoc.text.replace('abc', '(b)', '$1$12')", "'abb2c'"),
    (
        "apoc.text.format('%s %.2f %% %05d|%-4s|%+d', ['a', 2.5, 42, 'b', 7])",
        "'a 2.50 % 00042|b   |+7'",
    ),
    (
        "apoc.text.format('%e %x %b %s%n', [12345.678, 255, true, null])",
        "'1.234568e+04 ff true null\n'",
    ),
    ("apoc.text.distance('kitten', 'sitting')", "3"),
    ("apoc.text.levenshteinSimilarity('ab', 'ac')", "0.5"),
    ("apoc.text.sorensenDiceSimilarity('night', 'nacht')", "0.25"),
    ("apoc.text.fuzzyMatch('telar', 'telra')", "false"),
    ("apoc.text.format('%s is %d', ['x', 1])", "'x is 1'"),
    ("apoc.text.slug('a b, c')", "'a-b-c'"),
    ("apoc.text.urlencode('a b&c')", "'a+b%26c'"),
    ("apoc.text.urldecode('a+b%26c')", "'a b&c'"),
    ("apoc.text.repeat('ab', 2)", "'abab'"),
    ("apoc.convert.toJson({a: [1, 'x', null]})", "'{\"a\":[1,\"x\",null]}'"),
    ("apoc.convert.fromJsonMap('{\"a\": {\"b\": [1, 2]}}')", "{a: {b: [1, 2]}}"),
    ("apoc.convert.fromJsonMap('{\"a\": {\"b\": 1}}', '$.a')", "{b: 1}"),
    ("apoc.convert.fromJsonList('[1, {\"a\": 2}]')", "[1, {a: 2}]"),
    ("apoc.convert.toList('a')", "['a']"),
    ("apoc.date.format(0)", "'1970-01-01 00:00:00'"),
    ("apoc.date.format(1609459200, 's', 'EEE dd MMM yyyy', 'UTC')", "'Fri 01 Jan 2021'"),
    (
        "apoc.date.format(0, 'ms', \"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\", '+01:00')",
        "'1970-01-01T01:00:00.000+01:00'",
    ),
    ("apoc.date.parse('2021-01-01 00:00:00', 's')", "1609459200"),
    ("apoc.date.parse('01/Feb/21 03 PM', 'h', 'dd/MMM/yy hh a')", "447831"),
    ("apoc.date.parse('20210101', 'd', 'yyyyMMdd')", "18628"),
    ("apoc.date.toISO8601(0)", "'1970-01-01T00:00:00.000Z'"),
    ("apoc.date.fromISO8601('2021-01-01T00:00:00Z')", "1609459200000"),
    ("apoc.date.convert(2, 'd', 'h')", "48"),
    ("apoc.date.convertFormat('2021-02-03', 'yyyy-MM-dd', 'dd.MM.yyyy')", "'03.02.2021'"),
    ("apoc.date.add(1, 'd', 12, 'h')", "1"),
    ("apoc.date.field(0, 'years')", "1970"),
    ("size(apoc.create.uuid())", "36"),
    ("apoc.version()", "'5.26.0'"),
    ("apoc.util.validatePredicate(false, 'no', [])", "true"),
];

#[test]
fn functions_are_those_of_apoc() {
    let session = Session::new(&database(""));
    let mut wrong = Vec::new();
    for (text, expected) in FUNCTIONS {
        let found = match session.run(&format!("RETURN {text}"), &[]) {
            Ok(result) => show(&result.rows[0][0]),
            Err(e) => e.to_string(),
        };
        if found != *expected {
            wrong.push(format!("{text}: {found}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (text, words) in [
        ("RETURN apoc.coll.toSet(1)", "LIST"),
        ("RETURN apoc.text.replace('a', '(', '')", "invalid pattern"),
        ("RETURN apoc.text.replace('abc', 'b', '$2')", "no group 2"),
        ("RETURN apoc.text.replace('abc', 'b', '${y}')", "no group y"),
        ("RETURN apoc.text.format('%s', [])", "there is no value for `%s`"),
        ("RETURN apoc.text.format('%d', ['x'])", "`%d` takes no STRING"),
        ("RETURN apoc.text.format('%99999d', [1])", "is no place"),
        ("RETURN apoc.convert.fromJsonMap('{}', '$..a')", "only names, positions and [*]"),
        ("RETURN apoc.convert.fromJsonMap('{')", "invalid JSON at byte"),
        ("RETURN apoc.convert.fromJsonMap('[1]')", "a map"),
        ("RETURN apoc.map.get({a: 1}, 'b')", "has no key `b`"),
        ("RETURN apoc.date.format(0, 'x')", "knows no unit `x`"),
        ("RETURN apoc.date.parse('x')", "is no time of the pattern"),
        ("RETURN apoc.util.validatePredicate(true, 'bad %s', [1])", "bad 1"),
        ("RETURN apoc.coll.partition([1], 0)", "positive batchSize"),
    ] {
        fails(&session, text, words);
    }
}

#[test]
fn functions_read_nodes_and_relationships() {
    let db = database(
        "CREATE (a:A {n: 1, j: '{\"x\": [1]}'})-[:R {w: 2}]->(b:B), (b)-[:S]->(a), (a)-[:S]->(a)",
    );
    let session = Session::new(&db);
    let of = |e: &str| rows(&session, &format!("MATCH (a:A)-[r:R]->(b) RETURN {e}"));
    assert_eq!(
        of("apoc.node.degree(a), apoc.node.degree(a, 'S'), apoc.node.degree(b)"),
        ["3, 2, 2"]
    );
    assert_eq!(of("apoc.node.degree(a, 'S>'), apoc.node.degree(a, '<S')"), ["1, 2"]);
    assert_eq!(of("apoc.node.degree.in(a), apoc.node.degree.out(a, 'R')"), ["2, 1"]);
    assert_eq!(of("apoc.node.relationship.types(a)"), ["['R', 'S']"]);
    assert_eq!(of("apoc.node.relationship.types(b, 'R>|S')"), ["['S']"]);
    assert_eq!(of("apoc.node.relationship.exists(b, 'R>')"), ["false"]);
    assert_eq!(
        of("apoc.any.properties(r), apoc.any.properties(a, ['n', 'no'])"),
        ["{w: 2}, {n: 1}"]
    );
    assert_eq!(of("apoc.any.property(a, 'n')"), ["1"]);
    assert_eq!(of("apoc.convert.getJsonProperty(a, 'j', '$.x[0]')"), ["1"]);
    assert_eq!(
        of("apoc.convert.toJson(b)"),
        ["'{\"id\":\"1\",\"labels\":[\"B\"],\"type\":\"node\"}'"]
    );
    let json = of("apoc.convert.toJson([r])");
    assert!(json[0].contains("\"label\":\"R\"") && json[0].contains("\"start\":{"), "{json:?}");
    assert_eq!(of("apoc.node.degree(null), apoc.convert.toJson(null)"), ["null, null"]);
    let shown = "SHOW FUNCTIONS YIELD name WHERE name IN ['apoc.node.degree', 'apoc.coll.toSet',
                 'apoc.convert.toJson'] RETURN count(*)";
    assert_eq!(rows(&session, shown), ["3"]);
}

#[test]
fn batches_are_committed_one_by_one() {
    let db = database("UNWIND range(1, 25) AS i CREATE (:N {i: i})");
    let session = Session::new(&db);
    let text = "CALL apoc.periodic.iterate('MATCH (n:N) RETURN n, n.i AS i', 'SET n.j = i + $add',
                {batchSize: 10, parallel: true, params: {add: 1}})
                YIELD batches, total, committedOperations, failedOperations, updateStatistics
                RETURN batches, total, committedOperations, failedOperations,
                       updateStatistics.propertiesSet";
    assert_eq!(rows(&session, text), ["3, 25, 25, 0, 25"]);
    assert_eq!(rows(&session, "MATCH (n:N) WHERE n.j = n.i + 1 RETURN count(n)"), ["25"]);
    // One batch fails; the others stay. Within a transaction that is undone they stay, too.
    let failing = "CALL apoc.periodic.iterate('UNWIND range(1, 6) AS i RETURN i',
                   'CREATE (:M {i: 12 / (i - 3)})', {batchSize: 2, failedParams: 1, retries: 1})
                   YIELD batches, failedBatches, retries, errorMessages, failedParams, operations
                   RETURN batches, failedBatches, retries, size(errorMessages), failedParams,
                          operations.committed";
    let failing = failing.replace("size(errorMessages)", "size(keys(errorMessages))");
    let mut transaction = session.begin().unwrap();
    let result = transaction.run(&failing, &Default::default()).unwrap();
    let shown: Vec<String> = result.rows[0].iter().map(show).collect();
    assert_eq!(shown.join(", "), "3, 1, 1, 1, {1: [{i: 3}]}, 4");
    transaction.rollback();
    assert_eq!(rows(&session, "MATCH (m:M) RETURN count(m)"), ["4"]);
    for mode in ["SINGLE", "BATCH", "BATCH_SINGLE"] {
        let action = match mode {
            "BATCH_SINGLE" => "UNWIND $_batch AS row CREATE (:K {i: row.i})",
            _ => "CREATE (:K {i: i})",
        };
        let text = format!(
            "CALL apoc.periodic.iterate('UNWIND [1, 2, 3] AS i RETURN i', '{action}',
             {{batchMode: '{mode}', batchSize: 2}}) YIELD total RETURN total"
        );
        assert_eq!(rows(&session, &text), ["3"], "{mode}");
    }
    assert_eq!(rows(&session, "MATCH (k:K) RETURN sum(k.i)"), ["18"]);
    let text = "CALL apoc.periodic.commit('MATCH (k:K) WITH k LIMIT $n DELETE k
                RETURN count(*)', {n: 4}) YIELD updates, executions RETURN updates, executions";
    assert_eq!(rows(&session, text), ["9, 4"]);
    let empty = "CALL apoc.periodic.iterate('MATCH (z:Z) RETURN z', 'DELETE z', {})
                 YIELD batches, total RETURN batches, total";
    assert_eq!(rows(&session, empty), ["0, 0"]);
    fails(&session, "CALL apoc.periodic.commit('MATCH (n) DELETE n')", "must contain a LIMIT");
    fails(&session, "CALL apoc.periodic.iterate('RETURN 1 AS i', 'CREATE', {})", "CREATE");
    fails(&session, "CALL apoc.periodic.iterate('CREATE ()', 'RETURN 1', {})", "changes the graph");
    let reader = Session::new(&db).read_only();
    assert_eq!(reader.run(text, &[]).unwrap_err().kind, ErrorKind::AccessMode);
}

/// They would change nothing, and the statement around them would not notice.
#[test]
fn batches_inside_of_what_commits_itself_are_refused() {
    let db = database("");
    let session = Session::new(&db);
    let inner = "CALL apoc.periodic.iterate('RETURN 1 AS y', 'CREATE (:N)', {}) YIELD total \
                 RETURN total";
    let refused = "can only be executed in an implicit transaction";
    let quoted = inner.replace('\'', "\\'");
    fails(
        &session,
        &format!("CALL apoc.cypher.doIt('{quoted}', {{}}) YIELD value RETURN 1"),
        refused,
    );
    let in_subquery =
        format!("UNWIND [1] AS k CALL (k) {{ {inner} }} IN TRANSACTIONS RETURN total");
    fails(&session, &in_subquery, refused);
    // A transaction of several statements is another one, which they do not wait for.
    let none = telar_db::ValueMap::new();
    let commit = "CALL apoc.periodic.commit('CREATE (:N) WITH 1 AS x LIMIT 1 RETURN 0', {})";
    for text in [inner, commit] {
        let mut transaction = session.begin().unwrap();
        transaction.run(text, &none).unwrap();
        transaction.rollback();
    }
    assert_eq!(rows(&session, "MATCH (n:N) RETURN count(n)"), ["2"]);
    // Batches inside of batches say so where their rows are counted.
    let outer = format!(
        "CALL apoc.periodic.iterate('RETURN 1 AS x', '{quoted}', {{}}) \
                         YIELD failedBatches, committedOperations RETURN *"
    );
    assert_eq!(rows(&session, &outer), ["0, 1"]);
    assert_eq!(rows(&session, "MATCH (n:N) RETURN count(n)"), ["2"]);
}

#[test]
fn json_files_come_from_the_import_folder_only() {
    let db = database("");
    let folder = tempfile::tempdir().unwrap();
    let import_folder = Some(folder.path().to_owned());
    let session = Session::new(&db).with_limits(Limits { import_folder, ..Limits::default() });
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("list.json", r#"[{"a": 1}, {"a": 2, "b": ["x"]}, 3]"#);
    write("lines.json", "{\"a\": 1}\n{\"a\": 2}\n");
    write("deep.json", r#"{"items": {"all": [{"a": 7}]}}"#);
    write("bad.json", "{");
    let load =
        |of: &str| rows(&session, &format!("CALL apoc.load.json({of}) YIELD value RETURN value"));
    assert_eq!(load("'list.json'"), ["{a: 1}", "{a: 2, b: ['x']}", "{result: 3}"]);
    assert_eq!(load("'file:///lines.json'"), ["{a: 1}", "{a: 2}"]);
    assert_eq!(load("'deep.json', '$.items.all'"), ["{a: 7}"]);
    assert_eq!(load("'none.json', '', {failOnError: false}").len(), 0);
    for (file, words) in [
        ("bad.json", "invalid JSON"),
        ("none.json", "none.json"),
        ("../x.json", "import folder"),
        ("https://x.y/z.json", ""),
    ] {
        fails(&session, &format!("CALL apoc.load.json('{file}')"), words);
    }
    fails(&Session::new(&db), "CALL apoc.load.json('list.json')", "import folder");
    let text = "CALL apoc.load.json('list.json') YIELD value WITH value WHERE value.a IS NOT NULL
                CALL apoc.merge.node(['J'], {a: value.a}, apoc.map.removeKey(value, 'a'))
                YIELD node RETURN node.a, node.b";
    assert_eq!(rows(&session, text), ["1, null", "2, ['x']"]);
    fails(&session, "CALL apoc.util.validate(true, 'no %s', ['way'])", "no way");
    session.run("CALL apoc.util.validate(false, 'no', [])", &[]).unwrap();
    session.run("CALL apoc.util.sleep(5)", &[]).unwrap();
}
