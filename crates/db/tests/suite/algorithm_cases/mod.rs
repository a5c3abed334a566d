//! One case for each algorithm, on one small graph.
#![allow(dead_code, reason = "each test file uses some of the fields")]

/// Four nodes `P` in a triangle with a tail, weights at all relationships but the last; one node
/// `Q` that is not chosen.
///
/// ```text
///  a -1-> b -2-> c ---> d ---> x
///  └──────5──────^
/// ```
pub(crate) const GRAPH: &str = "CREATE \
    (a:P {name: 'a', lat: 0.0, lon: 0.0, group: 1, vec: [1.0, 0.0]}), \
    (b:P {name: 'b', lat: 0.0, lon: 1.0, group: 1, vec: [1.0, 1.0]}), \
    (c:P {name: 'c', lat: 0.0, lon: 2.0, group: 1, vec: [0.0, 1.0]}), \
    (d:P {name: 'd', lat: 0.0, lon: 3.0, group: 2, vec: [0.0, 2.0]}), \
    (x:Q {name: 'x'}), \
    (a)-[:K {w: 1}]->(b), (b)-[:K {w: 2.0}]->(c), (a)-[:K {w: 5}]->(c), (c)-[:K]->(d), \
    (d)-[:K {w: 1}]->(x), (d)-[:L]->(a)";

/// An algorithm on [`GRAPH`] with weights.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Settings, with `; ` between them; `$a` is a node.
    pub(crate) settings: &'static str,
    /// Setting that the error names if the settings are missing.
    pub(crate) needs: &'static str,
    pub(crate) rows: &'static [&'static str],
    pub(crate) figures: &'static [(&'static str, &'static str)],
    /// Entries of its lists.
    pub(crate) edges: i64,
    /// Values that `write` leaves, if it can.
    pub(crate) written: Option<&'static str>,
    /// True if rows are some of the nodes, and `write` tells them from the others.
    pub(crate) marks: bool,
}

const PLAIN: Case = Case {
    name: "",
    settings: "",
    needs: "",
    rows: &[],
    figures: &[],
    edges: 4,
    written: None,
    marks: false,
};

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "pageRank",
        settings: "dampingFactor: 0.5; maxIterations: 1",
        rows: &["a 0.156", "b 0.177", "c 0.385", "d 0.281"],
        figures: &[("ranIterations", "1"), ("didConverge", "false")],
        written: Some("a 0.156, b 0.177, c 0.385, d 0.281"),
        ..PLAIN
    },
    Case {
        name: "articleRank",
        settings: "dampingFactor: 0.5; maxIterations: 1",
        rows: &["a 0.500", "b 0.528", "c 0.739", "d 0.643"],
        figures: &[("ranIterations", "1"), ("didConverge", "false")],
        written: Some("a 0.500, b 0.528, c 0.739, d 0.643"),
        ..PLAIN
    },
    Case {
        name: "eigenvector",
        settings: "maxIterations: 1",
        rows: &["a 0.103", "b 0.206", "c 0.825", "d 0.516"],
        figures: &[("ranIterations", "1"), ("didConverge", "false")],
        written: Some("a 0.103, b 0.206, c 0.825, d 0.516"),
        ..PLAIN
    },
    Case {
        name: "hits",
        settings: "maxIterations: 1",
        rows: &["a 0.000 0.861", "b 0.123 0.335", "c 0.862 0.383", "d 0.492 0.000"],
        figures: &[("ranIterations", "1"), ("didConverge", "false")],
        written: Some("a 0.000, b 0.123, c 0.862, d 0.492"),
        ..PLAIN
    },
    Case {
        name: "degree",
        rows: &["a 6.000", "b 2.000", "c 4.000", "d 0.000"],
        written: Some("a 6.000, b 2.000, c 4.000, d 0.000"),
        ..PLAIN
    },
    Case {
        name: "betweenness",
        rows: &["a 0.000", "b 2.000", "c 2.000", "d 0.000"],
        written: Some("a 0.000, b 2.000, c 2.000, d 0.000"),
        ..PLAIN
    },
    Case {
        name: "closeness",
        rows: &["a 0.000", "b 1.000", "c 1.000", "d 0.600"],
        written: Some("a 0.000, b 1.000, c 1.000, d 0.600"),
        ..PLAIN
    },
    Case {
        name: "closeness.harmonic",
        rows: &["a 0.000", "b 0.333", "c 0.667", "d 0.667"],
        written: Some("a 0.000, b 0.333, c 0.667, d 0.667"),
        ..PLAIN
    },
    Case {
        name: "wcc",
        rows: &["a 0", "b 0", "c 0", "d 0"],
        figures: &[("componentCount", "1")],
        written: Some("a 0, b 0, c 0, d 0"),
        ..PLAIN
    },
    Case {
        name: "scc",
        rows: &["a 0", "b 1", "c 2", "d 3"],
        figures: &[("componentCount", "4")],
        written: Some("a 0, b 1, c 2, d 3"),
        ..PLAIN
    },
    Case {
        name: "labelPropagation",
        rows: &["a 0", "b 0", "c 2", "d 0"],
        figures: &[("communityCount", "2"), ("ranIterations", "10"), ("didConverge", "false")],
        written: Some("a 0, b 0, c 2, d 0"),
        ..PLAIN
    },
    Case {
        name: "louvain",
        edges: 8,
        rows: &["a 0 null", "b 0 null", "c 0 null", "d 0 null"],
        figures: &[
            ("communityCount", "1"),
            ("modularity", "0.000"),
            ("ranLevels", "1"),
            ("modularities", "[0.000]"),
            ("didConverge", "true"),
        ],
        written: Some("a 0, b 0, c 0, d 0"),
        ..PLAIN
    },
    Case {
        name: "leiden",
        edges: 8,
        rows: &["a 0 null", "b 0 null", "c 0 null", "d 0 null"],
        figures: &[
            ("communityCount", "1"),
            ("modularity", "0.000"),
            ("ranLevels", "1"),
            ("modularities", "[0.000]"),
            ("didConverge", "true"),
        ],
        written: Some("a 0, b 0, c 0, d 0"),
        ..PLAIN
    },
    Case {
        name: "modularity",
        settings: "communityProperty: 'group'",
        needs: "communityProperty",
        edges: 8,
        rows: &["1 3 -0.028 0.200", "2 1 -0.028 1.000"],
        figures: &[("modularity", "-0.056"), ("averageConductance", "0.600")],
        ..PLAIN
    },
    Case {
        name: "triangleCount",
        edges: 8,
        rows: &["a 1", "b 1", "c 1", "d 0"],
        figures: &[("globalTriangleCount", "1")],
        written: Some("a 1, b 1, c 1, d 0"),
        ..PLAIN
    },
    Case {
        name: "localClusteringCoefficient",
        edges: 8,
        rows: &["a 1.000", "b 1.000", "c 0.333", "d 0.000"],
        figures: &[("averageClusteringCoefficient", "0.583")],
        written: Some("a 1.000, b 1.000, c 0.333, d 0.000"),
        ..PLAIN
    },
    Case {
        name: "kcore",
        edges: 8,
        rows: &["a 2", "b 2", "c 2", "d 1"],
        figures: &[("degeneracy", "2")],
        written: Some("a 2, b 2, c 2, d 1"),
        ..PLAIN
    },
    Case {
        name: "ktruss",
        edges: 8,
        rows: &["a 3", "b 3", "c 3", "d 2"],
        figures: &[("largestTruss", "3")],
        written: Some("a 3, b 3, c 3, d 2"),
        ..PLAIN
    },
    Case {
        name: "bfs",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &["a 0", "b 1", "c 1", "d 2"],
        figures: &[("reachedNodes", "4"), ("depth", "2")],
        written: Some("a 0, b 1, c 1, d 2"),
        ..PLAIN
    },
    Case {
        name: "dfs",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &["a 0", "b 1", "c 2", "d 3"],
        figures: &[("reachedNodes", "4"), ("depth", "3")],
        written: Some("a 0, b 1, c 2, d 3"),
        ..PLAIN
    },
    Case {
        name: "shortestPath",
        settings: "sourceNode: $a; targetNode: $d",
        needs: "sourceNode",
        rows: &["0 a d 2.000 [a,c,d] [0.000,1.000,2.000]"],
        written: Some("ad 2.000"),
        ..PLAIN
    },
    Case {
        name: "shortestPath.dijkstra",
        settings: "sourceNode: $a; targetNode: $d",
        needs: "sourceNode",
        rows: &["0 a d 7.000 [a,b,c,d] [0.000,1.000,3.000,7.000]"],
        written: Some("ad 7.000"),
        ..PLAIN
    },
    Case {
        name: "shortestPath.astar",
        settings: "sourceNode: $a; targetNode: $d; latitudeProperty: 'lat'; longitudeProperty: 'lon'",
        needs: "sourceNode",
        rows: &["0 a d 9.000 [a,c,d] [0.000,5.000,9.000]"],
        written: Some("ad 9.000"),
        ..PLAIN
    },
    Case {
        name: "shortestPath.yens",
        settings: "sourceNode: $a; targetNode: $d; k: 3",
        needs: "sourceNode",
        rows: &[
            "0 a d 7.000 [a,b,c,d] [0.000,1.000,3.000,7.000]",
            "1 a d 9.000 [a,c,d] [0.000,5.000,9.000]",
        ],
        written: Some("ad 7.000, ad 9.000"),
        ..PLAIN
    },
    Case {
        name: "allShortestPaths.delta",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &[
            "0 a a 0.000 [a] [0.000]",
            "1 a b 1.000 [a,b] [0.000,1.000]",
            "2 a c 3.000 [a,b,c] [0.000,1.000,3.000]",
            "3 a d 7.000 [a,b,c,d] [0.000,1.000,3.000,7.000]",
        ],
        written: Some("aa 0.000, ab 1.000, ac 3.000, ad 7.000"),
        ..PLAIN
    },
    Case {
        name: "allShortestPaths.dijkstra",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &[
            "0 a a 0.000 [a] [0.000]",
            "1 a b 1.000 [a,b] [0.000,1.000]",
            "2 a c 3.000 [a,b,c] [0.000,1.000,3.000]",
            "3 a d 7.000 [a,b,c,d] [0.000,1.000,3.000,7.000]",
        ],
        written: Some("aa 0.000, ab 1.000, ac 3.000, ad 7.000"),
        ..PLAIN
    },
    Case {
        name: "sssp",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &["a 0.000", "b 1.000", "c 3.000", "d 7.000"],
        written: Some("a 0.000, b 1.000, c 3.000, d 7.000"),
        ..PLAIN
    },
    Case {
        name: "bellmanFord",
        settings: "sourceNode: $a",
        needs: "sourceNode",
        rows: &[
            "0 a a 0.000 [a] [0.000] false",
            "1 a b 1.000 [a,b] [0.000,1.000] false",
            "2 a c 3.000 [a,b,c] [0.000,1.000,3.000] false",
            "3 a d 7.000 [a,b,c,d] [0.000,1.000,3.000,7.000] false",
        ],
        figures: &[("containsNegativeCycle", "false")],
        written: Some("aa 0.000, ab 1.000, ac 3.000, ad 7.000"),
        ..PLAIN
    },
    Case {
        name: "allShortestPaths.pairs",
        rows: &["a b 1.000", "a c 3.000", "a d 7.000", "b c 2.000", "b d 6.000", "c d 4.000"],
        written: Some("ab 1.000, ac 3.000, ad 7.000, bc 2.000, bd 6.000, cd 4.000"),
        ..PLAIN
    },
    Case {
        name: "allShortestPaths",
        rows: &["a b 1.000", "a c 3.000", "a d 7.000", "b c 2.000", "b d 6.000", "c d 4.000"],
        written: Some("ab 1.000, ac 3.000, ad 7.000, bc 2.000, bd 6.000, cd 4.000"),
        ..PLAIN
    },
    Case {
        name: "spanningTree",
        edges: 8,
        rows: &["b a 1.000", "c b 2.000", "d c 4.000"],
        figures: &[("totalWeight", "7.000"), ("treeCount", "1"), ("effectiveNodeCount", "4")],
        written: Some("ba 1.000, cb 2.000, dc 4.000"),
        ..PLAIN
    },
    Case {
        name: "dag.topologicalSort",
        rows: &["a 0", "b 1", "c 2", "d 3"],
        written: Some("a 0, b 1, c 2, d 3"),
        ..PLAIN
    },
    Case {
        name: "dag.longestPath",
        rows: &[
            "0 a a 0.000 [a] [0.000]",
            "1 a b 1.000 [a,b] [0.000,1.000]",
            "2 a c 5.000 [a,c] [0.000,5.000]",
            "3 a d 9.000 [a,c,d] [0.000,5.000,9.000]",
        ],
        written: Some("aa 0.000, ab 1.000, ac 5.000, ad 9.000"),
        ..PLAIN
    },
    Case { name: "bridges", edges: 8, rows: &["c d"], ..PLAIN },
    Case {
        name: "articulationPoints",
        edges: 8,
        rows: &["c"],
        figures: &[("articulationPointCount", "1")],
        written: Some("a 0, b 0, c 1, d 0"),
        marks: true,
        ..PLAIN
    },
    Case {
        name: "maxFlow",
        settings: "sourceNodes: $a; targetNodes: $d",
        needs: "sourceNodes",
        rows: &["a c 4.000 false", "c d 4.000 true"],
        figures: &[("totalFlow", "4.000")],
        written: Some("ac 4.000, cd 4.000"),
        ..PLAIN
    },
    Case {
        name: "randomWalk",
        settings: "walkLength: 3; walksPerNode: 1",
        rows: &["[a,c,d]", "[b,c,d]", "[c,d]"],
        ..PLAIN
    },
    Case { name: "cycles", figures: &[("cycleCount", "0"), ("isLimited", "false")], ..PLAIN },
    Case {
        name: "nodeSimilarity",
        rows: &["a b 0.333", "b a 0.333"],
        figures: &[("nodesCompared", "3"), ("similarityPairs", "2")],
        written: Some("ab 0.333, ba 0.333"),
        ..PLAIN
    },
    Case {
        name: "knn",
        settings: "nodeProperties: 'vec'; topK: 1",
        needs: "nodeProperties",
        rows: &["a b 0.707", "b a 0.707", "c d 1.000", "d c 1.000"],
        figures: &[
            ("ranIterations", "1"),
            ("didConverge", "true"),
            ("nodePairsConsidered", "12"),
            ("nodesCompared", "4"),
            ("similarityPairs", "4"),
        ],
        written: Some("ab 0.707, ba 0.707, cd 1.000, dc 1.000"),
        ..PLAIN
    },
    Case {
        name: "fastRP",
        settings: "embeddingDimension: 2",
        rows: &["a [1.000,0.000]", "b [0.000,0.000]", "c [0.000,0.000]", "d [0.000,0.000]"],
        written: Some("a [1.000,0.000], b [0.000,0.000], c [0.000,0.000], d [0.000,0.000]"),
        ..PLAIN
    },
    Case {
        name: "partition",
        edges: 8,
        rows: &["a 0", "b 1", "c 0", "d 1"],
        figures: &[("edgeCut", "0.750"), ("balance", "1.000")],
        written: Some("a 0, b 1, c 0, d 1"),
        ..PLAIN
    },
    Case {
        name: "ordering",
        edges: 8,
        rows: &["a 3", "b 2", "c 1", "d 0"],
        figures: &[("meanLogGap", "0.250"), ("bandwidth", "2"), ("sameSegment", "1.000")],
        written: Some("a 3, b 2, c 1, d 0"),
        ..PLAIN
    },
];
