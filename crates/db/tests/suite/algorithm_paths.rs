//! Paths of algorithms as paths of the database, and searches with the library's columns.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::algorithm_texts;

use telar_db::query::PlanDescription;
use telar_db::{Session, Value, ValueMap};

use algorithm_texts::{database, error, shown};

/// Two ways from 0 to 3, with parallel relationships and one to itself, and a node apart.
fn roads(session: &Session) {
    let text = "CREATE (a:P {i: 0}), (b:P {i: 1}), (c:P {i: 2}), (d:P {i: 3}), (:P {i: 4}), \
                (a)-[:ROAD {w: 5, name: 'slow'}]->(b), (a)-[:ROAD {w: 1, name: 'fast'}]->(b), \
                (a)-[:RAIL {w: 2, name: 'rail'}]->(b), (b)-[:ROAD {w: 1, name: 'bd'}]->(d), \
                (a)-[:ROAD {w: 1, name: 'ac'}]->(c), (c)-[:ROAD {w: 4, name: 'cd'}]->(d), \
                (b)-[:ROAD {w: 1, name: 'bb'}]->(b)";
    session.run(text, &[]).unwrap();
    shown(
        session,
        "CALL gds.graph.project('g', 'P', {ROAD: {properties: 'w'}, \
         RAIL: {properties: 'w'}}) YIELD nodeCount",
    );
}

const NAMES: &str =
    "[n IN nodes(path) | n.i] AS nodes, [r IN relationships(path) | r.name] AS names";

#[test]
fn paths_have_the_relationships_of_their_costs() {
    let db = database();
    let session = Session::new(&db);
    roads(&session);
    let weighted = "sourceNode: 0, targetNode: 3, relationshipWeightProperty: 'w'";
    let of = |name: &str, settings: &str| {
        let text = format!(
            "CALL gds.{name}.stream('g', {{{settings}}}) YIELD index, totalCost, path \
             RETURN totalCost, {NAMES} ORDER BY index"
        );
        shown(&session, &text)
    };
    let best = "2.0 [0, 1, 3] ['fast', 'bd']";
    assert_eq!(of("shortestPath.dijkstra", weighted), best);
    let rail = "sourceNode: 0, targetNode: 1, relationshipWeightProperty: 'w', \
                relationshipTypes: ['RAIL']";
    assert_eq!(of("shortestPath.dijkstra", rail), "2.0 [0, 1] ['rail']");
    let two = of("shortestPath.yens", &format!("{weighted}, k: 2"));
    assert_eq!(two, format!("{best}\n5.0 [0, 2, 3] ['ac', 'cd']"));
    let all = of("allShortestPaths.dijkstra", "sourceNode: 0, relationshipWeightProperty: 'w'");
    let expected =
        "0.0 [0] []\n1.0 [0, 1] ['fast']\n1.0 [0, 2] ['ac']\n2.0 [0, 1, 3] ['fast', 'bd']";
    assert_eq!(all, expected);
    assert_eq!(of("allShortestPaths.delta", "sourceNode: 0, relationshipWeightProperty: 'w'"), all);
    // A node to itself, and no path.
    assert_eq!(of("shortestPath.dijkstra", "sourceNode: 4, targetNode: 4"), "0.0 [4] []");
    assert_eq!(of("shortestPath.dijkstra", "sourceNode: 4, targetNode: 0"), "");
    let route = "CALL gds.bellmanFord.stream('g', {sourceNode: 0, \
                 relationshipWeightProperty: 'w'}) YIELD targetNode, route WHERE targetNode = 3 \
                 RETURN length(route), [r IN relationships(route) | r.name]";
    assert_eq!(shown(&session, route), "2 ['fast', 'bd']");
    // Nodes come as nodes, and relationships are those of the database.
    let own = "MATCH (a:P {i: 0}), (d:P {i: 3}) CALL algo.shortestPath.dijkstra( \
               {relationships: 'ROAD', weight: 'w'}, {sourceNode: a, targetNode: d}) YIELD path \
               MATCH (a)-[r]->() WHERE r IN relationships(path) RETURN r.name";
    assert_eq!(shown(&session, own), "'fast'");
    // The longest of parallel ones, where the greatest weight is asked for.
    let longest = "CALL algo.dag.longestPath({relationships: ['RAIL', 'ROAD'], weight: 'w'}) \
                   YIELD path RETURN path";
    assert!(error(&session, longest).message.contains("wants no cycles"));
    shown(&session, "MATCH (b:P {i: 1})-[r:ROAD]->(b) DELETE r");
    let longest = "CALL algo.dag.longestPath({relationships: ['RAIL', 'ROAD'], weight: 'w'}) \
                   YIELD targetNode, path WHERE targetNode.i = 3 \
                   RETURN [r IN relationships(path) | r.name]";
    assert_eq!(shown(&session, longest), "['slow', 'bd']");
}

#[test]
fn directions_are_those_in_which_relationships_were_followed() {
    let db = database();
    let session = Session::new(&db);
    roads(&session);
    for orientation in ["REVERSE", "UNDIRECTED"] {
        let text = format!(
            "CALL gds.graph.project('{orientation}', 'P', {{ROAD: {{orientation: \
             '{orientation}', properties: 'w'}}}}) YIELD nodeCount \
             CALL gds.shortestPath.dijkstra.stream('{orientation}', {{sourceNode: 3, \
             targetNode: 0, relationshipWeightProperty: 'w'}}) YIELD path RETURN {NAMES}"
        );
        assert_eq!(shown(&session, &text), "[3, 1, 0] ['bd', 'fast']", "{orientation}");
    }
}

#[test]
fn a_path_over_relationships_that_only_the_graph_holds_is_null() {
    let db = database();
    let session = Session::new(&db);
    roads(&session);
    let made = "MATCH (a:P)-[r:ROAD]->(b) \
                RETURN gds.graph.project('held', a, b, {relationshipProperties: {w: r.w}})";
    shown(&session, made);
    let text = "CALL gds.shortestPath.dijkstra.stream('held', {sourceNode: 0, targetNode: 3, \
                relationshipWeightProperty: 'w'}) YIELD nodeIds, costs, path \
                RETURN nodeIds, costs, path";
    assert_eq!(shown(&session, text), "[0, 1, 3] [0.0, 1.0, 2.0] NULL");
}

#[test]
fn paths_are_of_the_transaction_and_of_what_it_has_deleted() {
    let db = database();
    let session = Session::new(&db);
    roads(&session);
    let mut transaction = session.begin().unwrap();
    let mut run = |text: &str| {
        transaction.run(text, &ValueMap::new()).unwrap_or_else(|e| panic!("{text}: {e}")).rows
    };
    run("MATCH ()-[r {name: 'fast'}]->() DELETE r");
    run("MATCH (a {i: 0}), (d {i: 3}) CREATE (a)-[:ROAD {w: 1.5, name: 'new'}]->(d)");
    let text = "CALL gds.shortestPath.dijkstra.stream('g', {sourceNode: 0, targetNode: 3, \
                relationshipWeightProperty: 'w'}) YIELD path \
                RETURN [r IN relationships(path) | r.name]";
    assert_eq!(run(text), [[Value::list(["new"])]]);
}

#[test]
fn searches_have_the_columns_of_the_library() {
    let db = database();
    let session = Session::new(&db);
    roads(&session);
    for (name, expected) in [
        ("shortestPath.dijkstra", "index, sourceNode, targetNode, totalCost, nodeIds, costs, path"),
        ("shortestPath.yens", "index, sourceNode, targetNode, totalCost, nodeIds, costs, path"),
        ("shortestPath.astar", "index, sourceNode, targetNode, totalCost, nodeIds, costs, path"),
        (
            "allShortestPaths.delta",
            "index, sourceNode, targetNode, totalCost, nodeIds, costs, path",
        ),
        (
            "allShortestPaths.dijkstra",
            "index, sourceNode, targetNode, totalCost, nodeIds, costs, path",
        ),
        ("dag.longestPath", "index, sourceNode, targetNode, totalCost, nodeIds, costs, path"),
        (
            "bellmanFord",
            "index, sourceNode, targetNode, totalCost, nodeIds, costs, route, isNegativeCycle",
        ),
        ("bfs", "sourceNode, nodeIds, path"),
        ("dfs", "sourceNode, nodeIds, path"),
        ("articulationPoints", "nodeId"),
        ("bridges", "from, to"),
    ] {
        let text = format!(
            "SHOW PROCEDURES YIELD name, signature WHERE name = 'gds.{name}.stream' \
             RETURN [c IN split(split(split(signature, ') :: (')[1], ')')[0], ', ') | \
             trim(split(c, '::')[0])]"
        );
        let columns = shown(&session, &text).replace(['\'', '[', ']'], "");
        assert_eq!(columns, expected, "{name}");
    }
    let search = |name: &str, settings: &str| {
        let text = format!(
            "CALL gds.{name}.stream('g', {{{settings}}}) YIELD sourceNode, nodeIds, path \
             RETURN sourceNode, nodeIds, [n IN nodes(path) | n.i]"
        );
        shown(&session, &text)
    };
    assert_eq!(search("bfs", "sourceNode: 0"), "0 [0, 1, 2, 3] NULL");
    assert_eq!(search("bfs", "sourceNode: 0, targetNodes: [1, 3]"), "0 [0, 1] [0, 1]");
    assert_eq!(search("bfs", "sourceNode: 4"), "4 [4] [4]");
    assert_eq!(search("bfs", "sourceNode: 0, maxDepth: 1"), "0 [0, 1, 2] NULL");
    assert_eq!(search("dfs", "sourceNode: 0"), "0 [0, 1, 3, 2] NULL");
    assert_eq!(search("dfs", "sourceNode: 0, targetNodes: 3"), "0 [0, 1, 3] [0, 1, 3]");
    assert_eq!(search("dfs", "sourceNode: 0, maxDepth: 1"), "0 [0, 1, 2] NULL");
    assert_eq!(search("dfs", "sourceNode: 0, maxDepth: -1"), "0 [0, 1, 3, 2] NULL");
    let own = "CALL algo.dfs({relationships: 'ROAD'}, {sourceNode: 0}) YIELD node, depth \
               RETURN node.i, depth";
    assert_eq!(shown(&session, own), "0 0\n1 1\n3 2\n2 1");
    let stats = "CALL gds.dfs.stats('g', {sourceNode: 0}) YIELD reachedNodes, depth";
    assert_eq!(shown(&session, stats), "4 2");
    let estimate =
        "CALL gds.dfs.stream.estimate('g', {sourceNode: 0}) YIELD bytesMax RETURN bytesMax > 0";
    assert_eq!(shown(&session, estimate), "TRUE");
    assert!(
        error(&session, "CALL gds.dfs.stream('g', {sourceNode: 99})").message.contains("node 99")
    );
}

#[test]
fn articulation_points_are_written_as_one_and_others_as_zero() {
    let db = database();
    let session = Session::new(&db);
    let text = "CREATE (a:P {i: 0})-[:K]->(b:P {i: 1})-[:K]->(c:P {i: 2}), (:P {i: 3}), \
                (b)-[:K]->(a), (c)-[:K]->(c)";
    session.run(text, &[]).unwrap();
    shown(&session, "CALL gds.graph.project('g', 'P', 'K') YIELD nodeCount");
    let written = "CALL gds.articulationPoints.write('g', {writeProperty: 'cut'}) \
                   YIELD articulationPointCount, nodePropertiesWritten \
                   RETURN articulationPointCount, nodePropertiesWritten";
    assert_eq!(shown(&session, written), "1 4");
    let all = "MATCH (p:P) RETURN p.i, p.cut ORDER BY p.i";
    assert_eq!(shown(&session, all), "0 0\n1 1\n2 0\n3 0");
    let kept = written
        .replace("write('g'", "mutate('g'")
        .replace("writeProperty: 'cut'", "mutateProperty: 'kept'");
    assert_eq!(shown(&session, &kept), "1 4");
    let stream = "CALL gds.graph.nodeProperty.stream('g', 'kept') YIELD nodeId, propertyValue \
                  RETURN nodeId, propertyValue ORDER BY nodeId";
    assert_eq!(shown(&session, stream), "0 0\n1 1\n2 0\n3 0");
    assert!(
        error(&session, "CALL gds.articulationPoints.write('g')")
            .message
            .contains("needs writeProperty")
    );
    shown(&session, "MATCH (p) DETACH DELETE p");
    assert_eq!(shown(&session, written), "0 0");
}

#[test]
fn a_path_takes_nothing_where_it_is_not_used() {
    let db = database();
    let session = Session::new(&db);
    session.run("UNWIND range(0, 1999) AS i CREATE (:P {i: i})", &[]).unwrap();
    session.run("CREATE RANGE INDEX FOR (p:P) ON (p.i)", &[]).unwrap();
    let link =
        "UNWIND range(0, 1998) AS i MATCH (a:P {i: i}), (b:P {i: i + 1}) CREATE (a)-[:K]->(b)";
    session.run(link, &[]).unwrap();
    let hits = |yields: &str| {
        let text = format!(
            "PROFILE CALL algo.allShortestPaths.dijkstra({{relationships: 'K'}}, \
             {{sourceNode: 0}}) \
             YIELD index, {yields} RETURN max(length) AS length"
        );
        let result = session.run(&text, &[]).unwrap();
        assert_eq!(result.rows, [[Value::Int(1999)]], "{text}");
        fn sum(plan: &PlanDescription) -> u64 {
            let own = plan.measured.as_ref().map_or(0, |measured| measured.hits);
            own + plan.children.iter().map(sum).sum::<u64>()
        }
        sum(&result.plan.unwrap())
    };
    let without = hits("nodes WITH size(nodes) - 1 AS length");
    let with = hits("path WITH length(path) AS length");
    assert!(with >= without + 1999, "{with} with paths, {without} without");
}
