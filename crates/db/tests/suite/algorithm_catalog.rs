//! Graphs with a name that hold something: made by a query, or with what `mutate` left.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Session, Value};

fn database() -> Database {
    telar_db::open_in_memory().unwrap()
}

/// Persons who know each other, and what they bought.
fn shop(session: &Session) {
    let text = "CREATE (a:Person {name: 'a', age: 20}), (b:Person {name: 'b', age: 30}), \
                (c:Person {name: 'c'}), (d:Person {name: 'd', age: 50}), (x:Item {name: 'x'}), \
                (y:Item {name: 'y'}), (a)-[:KNOWS {w: 2}]->(b), (b)-[:KNOWS {w: 3}]->(c), \
                (c)-[:KNOWS]->(a), (a)-[:BOUGHT]->(x), (b)-[:BOUGHT]->(x), (b)-[:BOUGHT]->(y), \
                (d)-[:BOUGHT]->(y)";
    session.run(text, &[]).unwrap();
}

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

/// All values as text, a row to a line.
fn shown(session: &Session, text: &str) -> String {
    let of_row = |row: &Vec<Value>| row.iter().map(telar_db::query::literal).collect::<Vec<_>>();
    let lines: Vec<_> = rows(session, text).iter().map(|row| of_row(row).join(" ")).collect();
    lines.join("\n")
}

fn error(session: &Session, text: &str) -> String {
    let error = session.run(text, &[]).expect_err(text);
    assert!(matches!(error.kind, ErrorKind::Argument | ErrorKind::Syntax), "{text}: {error:?}");
    error.message
}

const NAMES: &str = "gds.util.asNode(nodeId).name AS name";

#[test]
fn a_query_makes_a_graph_of_its_rows() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let made = shown(
        &session,
        "MATCH (s:Person)-[r:KNOWS]->(t) \
         WITH gds.graph.project('g', s, t, {sourceNodeLabels: labels(s), \
              targetNodeLabels: labels(t), relationshipType: type(r), \
              relationshipProperties: {w: coalesce(r.w, 5)}, \
              sourceNodeProperties: {years: s.age}}) AS g \
         RETURN g.graphName, g.nodeCount, g.relationshipCount, keys(g)",
    );
    let keys = "['configuration', 'graphName', 'nodeCount', 'projectMillis', 'relationshipCount']";
    assert_eq!(made, format!("'g' 3 3 {keys}"));
    let of_query = shown(
        &session,
        &format!("CALL gds.pageRank.stream('g') YIELD nodeId, score RETURN {NAMES}, score"),
    );
    let of_selection = shown(
        &session,
        "CALL algo.pageRank({nodes: 'Person', relationships: 'KNOWS'}) YIELD node, score \
         WITH node, score WHERE node.name <> 'd' RETURN node.name, score",
    );
    assert_eq!(of_query.lines().count(), 3);
    // A ring: all are equal; beside a lone fourth all are, too, only less.
    assert_ne!(of_query, of_selection);
    let degrees = format!(
        "CALL gds.degree.stream('g', {{relationshipWeightProperty: 'w'}}) YIELD nodeId, score \
         RETURN {NAMES}, score ORDER BY name"
    );
    assert_eq!(shown(&session, &degrees), "'a' 2.0\n'b' 3.0\n'c' 5.0");
    // Values of the query, null where it had none; of the database, too.
    let stream = |property: &str| {
        format!(
            "CALL gds.graph.nodeProperty.stream('g', '{property}') YIELD nodeId, propertyValue \
             RETURN {NAMES}, propertyValue ORDER BY name"
        )
    };
    assert_eq!(shown(&session, &stream("years")), "'a' 20\n'b' 30\n'c' NULL");
    assert_eq!(shown(&session, &stream("name")), "'a' 'a'\n'b' 'b'\n'c' 'c'");
    // It is fixed, but for nodes that are deleted.
    rows(&session, "MATCH (a {name: 'a'}), (c {name: 'c'}) CREATE (a)-[:KNOWS {w: 100}]->(c)");
    assert_eq!(shown(&session, &degrees), "'a' 2.0\n'b' 3.0\n'c' 5.0");
    rows(&session, "MATCH (c {name: 'c'}) DETACH DELETE c");
    assert_eq!(shown(&session, &degrees), "'a' 2.0\n'b' 0.0");
    let relationships = "CALL gds.graph.relationshipProperty.stream('g', 'w') \
                         YIELD sourceNodeId, relationshipType, propertyValue \
                         RETURN sourceNodeId, relationshipType, propertyValue";
    assert_eq!(shown(&session, relationships), "0 'KNOWS' 2.0");
    let list = "CALL gds.graph.list('g') YIELD nodeCount, sizeInBytes, schema, configuration \
                RETURN nodeCount, sizeInBytes > 0, schema, configuration.live";
    let schema = "{nodes: {Person: {years: 'Any (DefaultValue(null), TRANSIENT)'}}, relationships: \
                  {KNOWS: {w: 'Float (DefaultValue(NaN), PERSISTENT, Aggregation.NONE)'}}}";
    assert_eq!(shown(&session, list), format!("2 TRUE {schema} FALSE"));
    rows(&session, "CALL gds.graph.drop('g')");
    assert_eq!(shown(&session, "RETURN gds.graph.exists('g')"), "FALSE");
}

#[test]
fn rows_make_types_labels_lone_nodes_and_directions() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let made = shown(
        &session,
        "MATCH (s) OPTIONAL MATCH (s)-[r]->(t) \
         RETURN gds.graph.project('all', s, t, {sourceNodeLabels: labels(s), \
         targetNodeLabels: labels(t), relationshipType: type(r)}, \
         {undirectedRelationshipTypes: ['KNOWS']}) AS g",
    );
    assert!(made.contains("nodeCount: 6") && made.contains("relationshipCount: 10"), "{made}");
    let degree = |settings: &str| {
        shown(
            &session,
            &format!(
                "CALL gds.degree.stream('all', {{{settings}}}) YIELD nodeId, score \
                 RETURN {NAMES}, score ORDER BY name"
            ),
        )
        .replace('\n', ", ")
    };
    assert_eq!(degree(""), "'a' 3.0, 'b' 4.0, 'c' 2.0, 'd' 1.0, 'x' 0.0, 'y' 0.0");
    assert_eq!(
        degree("relationshipTypes: ['KNOWS'], nodeLabels: ['Person']"),
        "'a' 2.0, 'b' 2.0, 'c' 2.0, 'd' 0.0"
    );
    assert_eq!(
        degree("relationshipTypes: 'BOUGHT'"),
        "'a' 1.0, 'b' 2.0, 'c' 0.0, 'd' 1.0, 'x' 0.0, 'y' 0.0"
    );
    assert!(
        error(&session, "CALL gds.wcc.stats('all', {relationshipTypes: 'LIKES'})")
            .contains("no type LIKES")
    );
    assert!(
        error(&session, "CALL gds.wcc.stats('all', {nodeLabels: 'Persn'})")
            .contains("did you mean Person")
    );
    let types = shown(
        &session,
        "CALL gds.graph.relationships.stream('all', ['BOUGHT']) \
         YIELD sourceNodeId, targetNodeId, relationshipType \
         RETURN count(*), collect(DISTINCT relationshipType)",
    );
    assert_eq!(types, "4 ['BOUGHT']");
    let labelled = "CALL gds.graph.nodeProperties.stream('all', ['name', 'age'], ['Item'], \
                    {listNodeLabels: true}) YIELD nodeProperty, propertyValue, nodeLabels \
                    RETURN nodeProperty, propertyValue, nodeLabels";
    assert_eq!(
        shown(&session, labelled),
        "'name' 'x' ['Item']\n'age' NULL ['Item']\n'name' 'y' ['Item']\n'age' NULL ['Item']"
    );
}

#[test]
fn groups_make_a_graph_each_and_no_rows_make_none() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let made = "MATCH (s)-[r]->(t) \
                WITH type(r) AS type, gds.graph.project('of ' + type(r), s, t) AS g, count(*) AS n \
                RETURN type, g.graphName, g.relationshipCount, n ORDER BY type DESC LIMIT 5";
    assert_eq!(shown(&session, made), "'KNOWS' 'of KNOWS' 3 3\n'BOUGHT' 'of BOUGHT' 4 4");
    let none = "MATCH (s:Nobody)-->(t) RETURN gds.graph.project('none', s, t) AS g";
    assert_eq!(shown(&session, none), "NULL");
    assert_eq!(shown(&session, "CALL gds.graph.list() YIELD graphName RETURN count(*)"), "2");
    // Beside all variables in scope, and in a subquery.
    let all = "MATCH (s {name: 'a'})-[r:KNOWS]->(t) \
               WITH *, gds.graph.project('one', s, t) AS g RETURN s.name, t.name, g.nodeCount";
    assert_eq!(shown(&session, all), "'a' 'b' 2");
    let within = "UNWIND ['KNOWS', 'BOUGHT'] AS type CALL (type) { MATCH (s)-[r]->(t) \
                  WHERE type(r) = type RETURN gds.graph.project('in ' + type, s, t) AS g } \
                  RETURN g.relationshipCount";
    assert_eq!(shown(&session, within), "3\n4");
}

#[test]
fn what_is_wrong_with_a_row_is_said() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let cases = [
        (
            "MATCH (s) RETURN gds.graph.project('g', null, s)",
            "source node of gds.graph.project is null",
        ),
        ("MATCH (s) RETURN gds.graph.project('g', 's', s)", "a node or its number"),
        ("RETURN gds.graph.project('g', 99, 1)", "names node 99"),
        (
            "MATCH (s) RETURN gds.graph.project('g', s, s, {relationshipTyp: 'A'})",
            "did you mean relationshipType",
        ),
        (
            "MATCH (s) RETURN gds.graph.project('g', s, s, {relationshipProperties: {w: 'x'}})",
            "is a number",
        ),
        (
            "MATCH (s) RETURN gds.graph.project('g', s, s, {}, {undirected: ['A']})",
            "no setting undirected",
        ),
        ("MATCH (s) RETURN gds.graph.project('', s, s)", "is empty"),
        ("MATCH (s) RETURN gds.graph.project('g')", "takes a name, a source, a target"),
        ("MATCH (s) RETURN [gds.graph.project('g', s, s)]", "stands alone"),
        ("MATCH (s) WITH gds.graph.project('g', s, s) RETURN 1", "needs a name"),
        (
            "MATCH (s) RETURN gds.graph.project('g', s, s) AS a, gds.graph.project('h', s, s) AS b",
            "one gds.graph.project() at a time",
        ),
        ("MATCH (s) RETURN gds.graph.project('g', s, count(*))", "aggregat"),
    ];
    for (text, expected) in cases {
        let message = error(&session, text);
        assert!(message.contains(expected), "{text}: {message}");
    }
    assert_eq!(shown(&session, "CALL gds.graph.list() YIELD graphName RETURN count(*)"), "0");
    rows(&session, "MATCH (s) RETURN gds.graph.project('g', s, s)");
    let again = error(&session, "MATCH (s) RETURN gds.graph.project('g', s, s)");
    assert!(again.contains("already exists"), "{again}");
}

#[test]
fn mutate_keeps_values_for_the_next_algorithm() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    rows(&session, "CALL gds.graph.project('g', 'Person', {KNOWS: {orientation: 'UNDIRECTED'}})");
    let row = shown(
        &session,
        "CALL gds.louvain.mutate('g', {mutateProperty: 'community'}) \
         YIELD nodePropertiesWritten, mutateMillis, communityCount, modularity \
         RETURN nodePropertiesWritten, mutateMillis >= 0, communityCount",
    );
    assert_eq!(row, "4 TRUE 2");
    // Nothing is in the database.
    assert_eq!(shown(&session, "MATCH (n) WHERE n.community IS NOT NULL RETURN count(*)"), "0");
    let again = error(&session, "CALL gds.wcc.mutate('g', {mutateProperty: 'community'})");
    assert!(again.contains("already exists"), "{again}");
    assert!(error(&session, "CALL gds.wcc.mutate('g')").contains("needs mutateProperty"));
    // Other algorithms read it as they read a stored one.
    let quality = "CALL gds.modularity.stats('g', {communityProperty: 'community'}) \
                   YIELD modularity RETURN modularity";
    let stored = "CALL gds.louvain.write('g', {writeProperty: 'stored'})";
    let held = shown(&session, quality);
    rows(&session, stored);
    assert_eq!(held, shown(&session, &quality.replace("'community'", "'stored'")));
    rows(
        &session,
        "CALL gds.fastRP.mutate('g', {mutateProperty: 'e', embeddingDimension: 8, randomSeed: 1})",
    );
    let pairs = shown(
        &session,
        "CALL gds.knn.mutate('g', {nodeProperties: 'e', topK: 1, mutateRelationshipType: 'NEAR', \
         mutateProperty: 'score', randomSeed: 1, concurrency: 1}) \
         YIELD relationshipsWritten RETURN relationshipsWritten",
    );
    assert_eq!(pairs, "4");
    let degree = |types: &str| {
        format!(
            "CALL gds.degree.stream('g', {{relationshipTypes: {types}}}) YIELD score RETURN sum(score)"
        )
    };
    assert_eq!(shown(&session, &degree("['NEAR']")), "4.0");
    assert_eq!(shown(&session, &degree("['KNOWS']")), "6.0");
    assert_eq!(shown(&session, &degree("['KNOWS', 'NEAR']")), "10.0");
    assert_eq!(shown(&session, &degree("['*']")), "10.0");
    // Into the database, under another name.
    let written = "CALL gds.graph.nodeProperties.write('g', [{community: 'club'}]) \
                   YIELD propertiesWritten, nodeProperties RETURN propertiesWritten, nodeProperties";
    assert_eq!(shown(&session, written), "4 ['club']");
    assert_eq!(shown(&session, "MATCH (n:Person) WHERE n.club = n.stored RETURN count(*)"), "4");
    let written = "CALL gds.graph.relationship.write('g', 'NEAR', 'score') \
                   YIELD relationshipsWritten, propertiesWritten \
                   RETURN relationshipsWritten, propertiesWritten";
    assert_eq!(shown(&session, written), "4 4");
    assert_eq!(shown(&session, "MATCH ()-[r:NEAR]->() WHERE r.score > -1 RETURN count(*)"), "4");
    // A node that came later has no value; one that went is not shown.
    rows(
        &session,
        "CREATE (:Person {name: 'new'}) WITH 1 AS x MATCH (n {name: 'a'}) DETACH DELETE n",
    );
    let values = "CALL gds.graph.nodeProperty.stream('g', 'community') YIELD propertyValue \
                  RETURN count(*), count(propertyValue)";
    assert_eq!(shown(&session, values), "4 3");
    let dropped = "CALL gds.graph.nodeProperties.drop('g', ['community']) \
                   YIELD propertiesRemoved RETURN propertiesRemoved";
    assert_eq!(shown(&session, dropped), "4");
    assert!(error(&session, dropped).contains("holds no values of community"));
    assert!(error(&session, values).contains("no node of the graph has the property community"));
    let dropped = "CALL gds.graph.relationships.drop('g', 'NEAR') \
                   YIELD deletedRelationships, deletedProperties \
                   RETURN deletedRelationships, deletedProperties";
    assert_eq!(shown(&session, dropped), "4 {score: 4}");
    assert!(error(&session, dropped).contains("holds no relationships of type NEAR"));
}

#[test]
fn properties_of_nodes_have_other_names_and_defaults() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    rows(
        &session,
        "CALL gds.graph.project('g', {Person: {properties: ['name', {years: {property: 'age', \
         defaultValue: -1}}]}}, '*')",
    );
    let years = format!(
        "CALL gds.graph.nodeProperty.stream('g', 'years') YIELD nodeId, propertyValue \
         RETURN {NAMES}, propertyValue ORDER BY name"
    );
    assert_eq!(shown(&session, &years), "'a' 20\n'b' 30\n'c' -1\n'd' 50");
    let near = "CALL gds.graph.nodeProperty.stream('g', 'yeers')";
    assert!(error(&session, near).contains("did you mean years"));
}

#[test]
fn types_that_share_a_name_for_different_properties_are_refused() {
    let db = database();
    let session = Session::new(&db);
    rows(&session, "CREATE (a:P)-[:K {w: 2, x: 3}]->(:P)<-[:L {w: 5, y: 7}]-(a)");
    // All types say the same, or use names of their own.
    let same = "{K: {properties: 'w'}, L: {properties: ['w']}}";
    rows(
        &session,
        &format!("CALL gds.graph.project('same', 'P', {same}, {{relationshipProperties: 'w'}})"),
    );
    let own = "{K: {properties: {a: 'x'}}, L: {properties: {b: {property: 'y', defaultValue: 1}}}}";
    rows(&session, &format!("CALL gds.graph.project('own', 'P', {own})"));
    for other in ["{w: 'y'}", "{w: {property: 'y', defaultValue: 3}}"] {
        let types = format!("{{K: {{properties: 'w'}}, L: {{properties: {other}}}}}");
        let message = error(&session, &format!("CALL gds.graph.project('g', 'P', {types})"));
        assert!(
            message.contains("w of gds.graph.project is w for one type and y"),
            "{other}: {message}"
        );
    }
}

#[test]
fn parallel_relationships_become_one() {
    let db = database();
    let session = Session::new(&db);
    let text = "CREATE (a:P {name: 'a'}), (b:P {name: 'b'}), (a)-[:K {w: 2}]->(b), \
                (a)-[:K {w: 5}]->(b), (a)-[:L {w: 1}]->(b), (b)-[:K {w: 4}]->(a), \
                (b)-[:K {w: 1}]->(b), (b)-[:K]->(b)";
    rows(&session, text);
    // What a relationship projection gives: edges, and sums of weights of a and b.
    let cases = [
        ("'K'", "5 2.0 3.0"),
        ("{K: {aggregation: 'NONE', properties: 'w'}}", "5 7.0 6.0"),
        ("{K: {aggregation: 'SINGLE'}}", "3 1.0 2.0"),
        ("{K: {properties: {w: {aggregation: 'SUM'}}}}", "3 7.0 6.0"),
        ("{K: {properties: {w: {aggregation: 'MAX'}}}}", "3 5.0 5.0"),
        ("{K: {aggregation: 'MIN', properties: 'w'}}", "3 2.0 5.0"),
        ("{K: {properties: {w: {property: '*', aggregation: 'COUNT'}}}}", "3 2.0 3.0"),
        ("{K: {aggregation: 'SINGLE'}, L: {}}", "4 2.0 2.0"),
        ("{K: {aggregation: 'SINGLE'}, L: {aggregation: 'SINGLE'}}", "4 2.0 2.0"),
        ("{A: {type: '*', aggregation: 'SINGLE'}}", "3 1.0 2.0"),
        ("{A: {type: '*', aggregation: 'SUM', properties: 'w'}}", "3 8.0 6.0"),
        ("{K: {orientation: 'UNDIRECTED', aggregation: 'SINGLE'}}", "3 1.0 2.0"),
    ];
    for (projection, expected) in cases {
        rows(&session, &format!("CALL gds.graph.project('g', 'P', {projection})"));
        let weighted =
            if projection.contains('w') { "relationshipWeightProperty: 'w'" } else { "" };
        let found = shown(
            &session,
            &format!(
                "CALL gds.wcc.stats('g') YIELD relationshipCount \
                 CALL gds.degree.stream('g', {{{weighted}}}) YIELD nodeId, score \
                 WITH relationshipCount, score ORDER BY nodeId \
                 WITH relationshipCount, collect(score) AS all \
                 RETURN relationshipCount, all[0], all[1]"
            ),
        );
        assert_eq!(found, expected, "{projection}");
        rows(&session, "CALL gds.graph.drop('g')");
    }
    let live =
        "CALL algo.live.create('n', 'degree', {relationships: {K: {aggregation: 'SINGLE'}}})";
    assert!(error(&session, live).contains("does not support aggregation"));
}

#[test]
fn what_graphs_hold_is_bounded_by_the_memory_of_a_statement() {
    let db = database();
    let session = Session::new(&db);
    rows(&session, "UNWIND range(1, 20000) AS i CREATE (:P {i: i})");
    rows(&session, "CALL gds.graph.project('g', 'P', '*')");
    let small = Limits { memory: Some(2 << 20), ..Limits::default() };
    let limited = Session::new(&db).with_limits(small);
    let mut held = 0;
    let error = loop {
        let text = format!("CALL gds.degree.mutate('g', {{mutateProperty: 'd{held}'}})");
        match limited.run(&text, &[]) {
            Ok(_) => held += 1,
            Err(error) => break error,
        }
        assert!(held < 100, "nothing bounds it");
    };
    assert!(held > 0, "{}", error.message);
    assert!((1..20).contains(&held), "{held}");
    assert!(error.message.contains("graphs with names hold"), "{}", error.message);
    rows(&session, "CALL gds.graph.nodeProperties.drop('g', 'd0')");
    limited.run("CALL gds.degree.mutate('g', {mutateProperty: 'again'})", &[]).unwrap();
}
