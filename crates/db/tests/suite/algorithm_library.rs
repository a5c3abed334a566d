//! Calls as the client of Neo4j's Graph Data Science library makes them: it sends every setting
//! with its default, and reads these columns. Recorded from `graphdatascience` 2.2.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use telar_db::query::ErrorKind;
use telar_db::{Session, Value};

/// Settings that the client adds to every call.
const EVERY: &str = "nodeLabels: ['*'], relationshipTypes: ['*'], jobId: 'a-b-c', sudo: false, \
                     logProgress: true, concurrency: 4";

/// Algorithm, its settings, and columns of `stats`, beside those that all have.
const CALLS: &[(&str, &str, &str)] = &[
    (
        "pageRank",
        "dampingFactor: 0.85, maxIterations: 20, scaler: 'NONE', tolerance: 1e-07",
        "ranIterations, didConverge, centralityDistribution",
    ),
    (
        "articleRank",
        "dampingFactor: 0.85, maxIterations: 20, scaler: 'NONE', tolerance: 1e-07",
        "ranIterations, didConverge, centralityDistribution",
    ),
    (
        "eigenvector",
        "maxIterations: 20, tolerance: 1e-07, scaler: 'NONE'",
        "ranIterations, didConverge, centralityDistribution",
    ),
    (
        "hits",
        "hitsIterations: 20, authProperty: 'auth', hubProperty: 'hub', partitioning: 'AUTO'",
        "ranIterations, didConverge",
    ),
    ("degree", "orientation: 'NATURAL'", "centralityDistribution"),
    ("betweenness", "", "centralityDistribution"),
    ("closeness", "useWassermanFaust: false", "centralityDistribution"),
    ("closeness.harmonic", "", "centralityDistribution"),
    ("wcc", "consecutiveIds: false, threshold: 0.0", "componentCount, componentDistribution"),
    ("scc", "consecutiveIds: false", "componentCount, componentDistribution"),
    (
        "labelPropagation",
        "consecutiveIds: false, maxIterations: 10",
        "communityCount, communityDistribution, ranIterations, didConverge",
    ),
    (
        "louvain",
        "consecutiveIds: false, includeIntermediateCommunities: false, maxIterations: 10, \
         maxLevels: 10, tolerance: 0.0001",
        "modularity, modularities, ranLevels, communityCount, communityDistribution",
    ),
    (
        "leiden",
        "consecutiveIds: false, gamma: 1.0, includeIntermediateCommunities: false, maxLevels: 10, \
         theta: 0.01, tolerance: 0.0001",
        "modularity, modularities, didConverge, ranLevels, communityCount, communityDistribution",
    ),
    ("triangleCount", "", "globalTriangleCount, nodeCount"),
    ("localClusteringCoefficient", "", "averageClusteringCoefficient, nodeCount"),
    ("kcore", "", "degeneracy"),
    ("articulationPoints", "", "articulationPointCount"),
    ("bridges", "", ""),
    (
        "fastRP",
        "embeddingDimension: 8, iterationWeights: [0.0, 1.0, 1.0], normalizationStrength: 0.0, \
         nodeSelfInfluence: 0.0, propertyRatio: 0.0",
        "nodeCount",
    ),
    (
        "randomWalk",
        "inOutFactor: 1.0, returnFactor: 1.0, walkBufferSize: 1000, walkLength: 4, walksPerNode: 2",
        "",
    ),
    ("bfs", "maxDepth: -1, sourceNode: 0", ""),
    ("dfs", "maxDepth: -1, sourceNode: 0", ""),
    ("maxFlow", "sourceNodes: [0], targetNodes: [4]", "totalFlow"),
    ("spanningTree", "sourceNode: 0, objective: 'minimum'", "effectiveNodeCount, totalWeight"),
    ("shortestPath.dijkstra", "sourceNode: 0, targetNodes: 4", ""),
    ("allShortestPaths.delta", "sourceNode: 0, delta: 2.0", ""),
    ("allShortestPaths.dijkstra", "sourceNode: 0", ""),
    ("bellmanFord", "sourceNode: 0", ""),
    (
        "knn",
        "nodeProperties: ['x'], topK: 2, similarityCutoff: 0.0, deltaThreshold: 0.001, \
         maxIterations: 100, sampleRate: 0.5, perturbationRate: 0.0, randomJoins: 10, \
         initialSampler: 'UNIFORM'",
        "nodesCompared, similarityPairs, similarityDistribution, didConverge, ranIterations, \
         nodePairsConsidered",
    ),
    (
        "nodeSimilarity",
        "topK: 10, bottomK: 10, topN: 0, bottomN: 0, similarityCutoff: 1e-42, degreeCutoff: 1, \
         upperDegreeCutoff: 2147483647, similarityMetric: 'JACCARD', useComponents: false",
        "nodesCompared, similarityPairs, similarityDistribution",
    ),
];

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

fn session() -> Session {
    let session = Session::new(&telar_db::open_in_memory().unwrap());
    let graph = "UNWIND range(0, 4) AS i CREATE (:P {i: i, x: 1.5 * i})
                 WITH count(*) AS all MATCH (a:P), (b:P) WHERE b.i = a.i + 1 OR b.i = a.i + 2
                 CREATE (a)-[:K {w: 1.0 + b.i, v: 3}]->(b)";
    rows(&session, graph);
    let project = "CALL gds.graph.project('g', 'P', {K: {properties: ['w', 'v']}})";
    rows(&session, project);
    session
}

#[test]
fn settings_of_the_client_are_taken_and_its_columns_are_there() {
    let session = session();
    for (algorithm, settings, columns) in CALLS {
        let settings = match settings.is_empty() {
            true => EVERY.to_owned(),
            false => format!("{settings}, {EVERY}"),
        };
        let call = |mode: &str, columns: &str| {
            let yields = if columns.is_empty() { "" } else { " YIELD " };
            format!("CALL gds.{algorithm}.{mode}('g', {{{settings}}}){yields}{columns}")
        };
        rows(&session, &call("stream", ""));
        let common = "preProcessingMillis, computeMillis, postProcessingMillis, configuration";
        let columns = if columns.is_empty() { "" } else { &format!(", {columns}") };
        let figures = rows(&session, &call("stats", &format!("{common}{columns}")));
        assert!(!figures[0].contains(&Value::Null), "{algorithm}: {figures:?}");
        let common = "nodeCount, relationshipCount, requiredMemory, treeView, mapView, bytesMin, \
                      bytesMax, heapPercentageMin, heapPercentageMax";
        for mode in ["estimate", "stream.estimate", "stats.estimate", "write.estimate"] {
            assert_eq!(rows(&session, &call(mode, common)).len(), 1);
        }
    }
}

#[test]
fn settings_that_would_change_the_result_are_refused() {
    let session = session();
    let refused = |call: &str| {
        let error = session.run(&format!("CALL gds.{call}"), &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Argument, "{call}: {error}");
        error.message
    };
    let message = refused("pageRank.stream('g', {scaler: 'MinMax'})");
    assert!(message.contains("scaler of gds.pageRank.stream can only be 'NONE'"), "{message}");
    let message = refused("wcc.stream('g', {consecutiveIds: true})");
    assert!(message.contains("can only be false, not TRUE"), "{message}");
    let message = refused("wcc.stream('g', {threshold: 0.5})");
    assert!(message.contains("can only be 0, not 0.5"), "{message}");
    refused("wcc.stream('g', {scaler: 'NONE'})");
    let message = refused("graph.project('m', 'P', {K: {aggregation: 'MEAN'}})");
    assert!(message.contains("one of NONE, DEFAULT, SINGLE"), "{message}");
    refused("graph.project('m', 'P', {K: {properties: {w: {aggregation: 1}}}})");
    rows(&session, "CALL gds.graph.project('m', 'P', {K: {aggregation: 'NONE'}})");
    let message = refused(
        "shortestPath.dijkstra.stream('g', {sourceNode: 0, targetNode: 1, targetNodes: [2]})",
    );
    assert!(message.contains("either"), "{message}");
}

#[test]
fn weight_is_the_property_that_the_call_names() {
    let session = session();
    let sum = |settings: &str| {
        let text = format!("CALL gds.degree.stream('g', {settings}) YIELD score RETURN sum(score)");
        rows(&session, &text).remove(0).remove(0)
    };
    assert_eq!(sum("{}"), Value::Float(7.0));
    assert_eq!(sum("{relationshipWeightProperty: 'v'}"), Value::Float(21.0));
    assert_eq!(sum("{relationshipWeightProperty: 'w'}"), Value::Float(4.0 * 3.5 + 3.0 * 4.0));
}

#[test]
fn catalogue_says_what_the_client_asks() {
    let session = session();
    let text = "CALL gds.graph.list('g') YIELD graphName, database, databaseLocation, \
                configuration, memoryUsage, sizeInBytes, nodeCount, relationshipCount, \
                creationTime, modificationTime, schema, schemaWithOrientation, density, \
                degreeDistribution
                RETURN database, density, degreeDistribution.max, \
                schemaWithOrientation.relationships.K.direction, keys(schema.relationships.K)";
    let row = [
        "telar".into(),
        Value::Float(7.0 / 20.0),
        Value::Float(2.0),
        "DIRECTED".into(),
        Value::list(["v", "w"]),
    ];
    assert_eq!(rows(&session, text), [row]);
    let text = "RETURN gds.graph.exists('g'), gds.graph.exists('h'), gds.version() = '2.13.0', \
                [n IN gds.util.asNodes([0, 4]) | n.i], gds.util.asNodes([])";
    let row = [
        true.into(),
        false.into(),
        true.into(),
        Value::list([0, 4]),
        Value::list([] as [Value; 0]),
    ];
    assert_eq!(rows(&session, text), [row]);
    let text = "CALL gds.graph.drop('g', false, '', '') YIELD graphName RETURN graphName";
    assert_eq!(rows(&session, text), [["g".into()]]);
    assert_eq!(rows(&session, text).len(), 0);
    for name in ["gds.debug.arrow", "gds.debug.sysInfo", "gds.license.state", "gds.version"] {
        assert!(!rows(&session, &format!("CALL {name}()")).is_empty());
    }
}

#[test]
fn similarity_functions_are_those_of_the_manual() {
    let session = session();
    let text = "WITH [5, 8, 7, 5, 4, 9] AS a, [7, 8, 6, 6, 4, 5] AS b
                RETURN round(gds.similarity.cosine(a, b), 4),
                       round(gds.similarity.pearson(a, b), 4),
                       round(gds.similarity.euclideanDistance(a, b), 4),
                       round(gds.similarity.euclidean(a, b), 4),
                       round(gds.similarity.jaccard([1, 5, 3], [5.0, 2, 1, 1]), 4),
                       round(gds.similarity.overlap([1, 5, 3], [5.0, 2, 1, 1]), 4),
                       gds.similarity.cosine([0, 0], [1, 2]), gds.similarity.pearson(null, b)";
    // By hand: the product is 232, the squares are 260 and 226, from the means 4, 19.33 and 10, the
    // distance is the root of 22; {1, 3, 5} shares 1 and 5 with {1, 2, 5}.
    let found = rows(&session, text).remove(0);
    let wanted = [0.9571, 0.2877, 4.6904, 0.1757, 0.5, 0.6667, 0.0].map(Value::Float);
    assert_eq!(found[..7], wanted);
    assert_eq!(found[7], Value::Null);
    let text = "RETURN gds.util.isFinite(gds.util.infinity()), gds.util.isInfinite(gds.util.NaN()), \
                gds.util.isFinite(1)";
    assert_eq!(rows(&session, text), [[false.into(), true.into(), true.into()]]);
    assert!(session.run("RETURN gds.similarity.cosine([1], [1, 2])", &[]).is_err());
}
