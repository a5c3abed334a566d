//! Quantified path patterns, groups and path selectors, by example.

use crate::common;

use common::examples;

/// Three stations in a row and a loop back; prices on the lines.
const STATIONS: &str = "
    CREATE (a:S {n: 'a', h: 1}), (b:S:Big {n: 'b', h: 2}), (c:S {n: 'c', h: 3}),
           (d:T {n: 'd', h: 0})
    CREATE (a)-[:L {p: 1}]->(b), (b)-[:L {p: 2}]->(c), (c)-[:L {p: 3}]->(a), (c)-[:M {p: 4}]->(d)";

#[test]
fn groups_are_repeated() {
    examples(
        STATIONS,
        &[
            (
                "MATCH ({n: 'a'}) ((x)-[r:L]->(y)){1,2} (z)
                 RETURN [v IN x | v.n], [v IN r | v.p], [v IN y | v.n], z.n",
                &["['a', 'b'] | [1, 2] | ['b', 'c'] | 'c'", "['a'] | [1] | ['b'] | 'b'"],
            ),
            // From the end on: lists are in the order of the path nevertheless.
            (
                "MATCH (q) ((x)-[r]->(y)){2} ({n: 'd'}) RETURN q.n, [v IN x | v.n], [v IN r | v.p]",
                &["'b' | ['b', 'c'] | [2, 4]"],
            ),
            // No repetition: both ends are one node, and the lists are empty.
            (
                "MATCH (s:Big) ((x)-[r:M]->(y))* (e) RETURN s.n, e.n, x, r, y",
                &["'b' | 'b' | [] | [] | []"],
            ),
            ("MATCH (s {n: 'a'}) (()-[:L]->())+ (e) RETURN e.n", &["'b'", "'c'", "'a'"]),
            ("MATCH (s {n: 'a'}) (()-->()){,2} (e) RETURN e.n", &["'a'", "'b'", "'c'"]),
            ("MATCH (s {n: 'a'}) (()-->()){3,} (e) RETURN e.n", &["'a'", "'d'"]),
            // Two relationships in each repetition.
            (
                "MATCH ({n: 'a'}) ((x)-[r]->()-[s]->(y)){1,2} (e)
                 RETURN e.n, [v IN r | v.p], [v IN s | v.p]",
                &["'c' | [1] | [2]"],
            ),
            (
                "MATCH (e) ((x)-[r]->()-[s]->(y))+ ({n: 'd'})
                 RETURN e.n, [v IN r | v.p], [v IN s | v.p]",
                &["'b' | [2] | [4]", "'c' | [3, 2] | [1, 4]"],
            ),
            // Conditions on each repetition: labels, properties, WHERE inside and on the group.
            ("MATCH (s {n: 'a'}) ((:S)-[:L]->(:S))+ (e) RETURN e.n", &["'b'", "'c'", "'a'"]),
            ("MATCH (s {n: 'a'}) ((:S)-->(:Big)){1,3} (e) RETURN e.n", &["'b'"]),
            (
                "MATCH (s) ((x)-[r]->(y) WHERE x.h < y.h)+ (e) RETURN s.n, e.n",
                &["'a' | 'b'", "'a' | 'c'", "'b' | 'c'"],
            ),
            ("MATCH (s) ((x WHERE x.h = 3)-[{p: 4}]->(y)){1} (e) RETURN e.n", &["'d'"]),
            // A condition on the lists.
            (
                "MATCH (s) ((x)-[r]->(y)){2,3} (e) WHERE all(v IN x WHERE v.h > 1) RETURN s.n, e.n",
                &["'b' | 'a'", "'b' | 'd'"],
            ),
            // Variables from before are seen inside.
            (
                "MATCH (m {n: 'b'}) MATCH (s) ((x)-[r]->(y) WHERE x.h >= m.h)+ (e)
                 RETURN s.n, e.n",
                &["'b' | 'a'", "'b' | 'c'", "'b' | 'd'", "'c' | 'a'", "'c' | 'd'"],
            ),
            // Nodes that are not written down, and groups next to each other.
            (
                "MATCH ((x)-[:L]->(y)){2} RETURN [v IN x | v.n]",
                &["['a', 'b']", "['b', 'c']", "['c', 'a']"],
            ),
            (
                "MATCH ((x)-[:L]->(y)){2} ((u)-[:M]->(v)){1} RETURN x[0].n, u[0].n, v[0].n",
                &["'a' | 'c' | 'd'"],
            ),
            (
                "MATCH p = (a {n: 'a'})-[:L]->(b) ((x)-[:L]->(y)){1} (c)-[:M]->(d)
                 RETURN [n IN nodes(p) | n.n], length(p)",
                &["['a', 'b', 'c', 'd'] | 3"],
            ),
            // Against the arrow, and either way.
            (
                "MATCH ({n: 'd'}) ((x)<-[r]-(y)){2} (e) RETURN e.n, [v IN r | v.p]",
                &["'b' | [4, 2]"],
            ),
            ("MATCH ({n: 'd'}) ((x)-[r]-(y)){2} (e) RETURN e.n", &["'b'", "'a'"]),
            // Into nodes that are known.
            (
                "MATCH (s {n: 'a'}), (e {n: 'd'}) MATCH p = (s) (()-->())+ (e) RETURN length(p)",
                &["3"],
            ),
            ("MATCH (s) (()-[:L]->()){3} (s) RETURN s.n", &["'a'", "'b'", "'c'"]),
            // OPTIONAL and in subqueries.
            (
                "MATCH (s:T) OPTIONAL MATCH (s) ((x)-->(y))+ (e) RETURN s.n, x, e",
                &["'d' | null | null"],
            ),
            ("MATCH (s) WHERE EXISTS { (s) ((x)-->(y)){3} ({n: 'd'}) } RETURN s.n", &["'a'"]),
            (
                "MATCH (s:S) RETURN s.n, COUNT { (s) (()-->())+ () }",
                &["'a' | 4", "'b' | 4", "'c' | 5"],
            ),
        ],
    );
}

#[test]
fn relationships_are_unique_over_the_whole_match() {
    examples(
        "CREATE (a {n: 'a'})-[:R {p: 1}]->(b {n: 'b'})-[:R {p: 2}]->(a)",
        &[
            ("MATCH ({n: 'a'}) (()-->()){3} () RETURN 1", &[]),
            ("MATCH ({n: 'a'}) (()-->()){2} (e) RETURN e.n", &["'a'"]),
            (
                "MATCH (x)-[r]->(y) (()-[s]->())+ (z) RETURN r.p, [v IN s | v.p]",
                &["1 | [2]", "2 | [1]"],
            ),
            (
                "MATCH (x)-[r]->(y), ({n: 'a'}) (()-[s]->())+ (z) RETURN r.p, [v IN s | v.p]",
                &["2 | [1]"],
            ),
            (
                "MATCH (()-[r]->())+ (()-[s]->())+ RETURN [v IN r | v.p], [v IN s | v.p]",
                &["[1] | [2]", "[2] | [1]"],
            ),
            // Another MATCH may use them again.
            (
                "MATCH (x {n: 'a'})-[r]->(y) MATCH (x) (()-[s]->()){1} () RETURN r.p, s[0].p",
                &["1 | 1"],
            ),
        ],
    );
}

#[test]
fn relationships_are_repeated() {
    examples(
        STATIONS,
        &[
            (
                "MATCH ({n: 'a'})-[r:L]->{1,2}(e) RETURN [v IN r | v.p], e.n",
                &["[1, 2] | 'c'", "[1] | 'b'"],
            ),
            ("MATCH ({n: 'a'})-->+(e:T) RETURN e.n", &["'d'"]),
            ("MATCH (:T)<-[:M|L]-{2}(e) RETURN e.n", &["'b'"]),
            ("MATCH (s:T)-[r]-*(e) RETURN count(*), min(size(r)), max(size(r))", &["8 | 0 | 4"]),
            ("MATCH ({n: 'a'})-[r WHERE r.p < 3]->+(e) RETURN e.n", &["'b'", "'c'"]),
            (
                "MATCH p = ({n: 'a'})-[r:L {p: 1}]->+()-[:L]->(e) RETURN length(p), e.n",
                &["2 | 'c'"],
            ),
        ],
    );
}

#[test]
fn paths_in_parentheses() {
    examples(
        STATIONS,
        &[
            ("MATCH ((a)-[r]->(b) WHERE a.h > b.h) RETURN a.n, b.n", &["'c' | 'a'", "'c' | 'd'"]),
            (
                "MATCH p = ((a)-[r]->(b) WHERE a.h > b.h) RETURN length(p), b.n",
                &["1 | 'a'", "1 | 'd'"],
            ),
            ("MATCH ((a)-[r]->(b) WHERE r.p > 3) ((x)<--(y))+ (z) RETURN z.n", &[]),
            ("MATCH (((a)-[:L]->(b)) ((x)-[:M]->(y)){1}) RETURN a.n, y[0].n", &["'b' | 'd'"]),
        ],
    );
}

#[test]
fn paths_are_selected() {
    // Two ways of two steps, two of three, parallel ones among them.
    let graph = "
        CREATE (a {n: 'a', w: 1}), (b {n: 'b', w: 5}), (c {n: 'c', w: 2}), (d {n: 'd', w: 1}),
               (e {n: 'e', w: 3}), (f {n: 'f', w: 3})
        CREATE (a)-[:R {i: 1}]->(b)-[:R {i: 2}]->(d), (a)-[:R {i: 3}]->(c)-[:R {i: 4}]->(d),
               (a)-[:R {i: 5}]->(e)-[:R {i: 6}]->(f)-[:R {i: 7}]->(d), (e)-[:R {i: 8}]->(f)";
    examples(
        graph,
        &[
            ("MATCH p = SHORTEST 1 ({n: 'a'})-->+({n: 'd'}) RETURN length(p)", &["2"]),
            ("MATCH p = ANY SHORTEST ({n: 'a'})-[*]->({n: 'd'}) RETURN length(p)", &["2"]),
            ("MATCH p = ANY ({n: 'a'})-->+({n: 'd'}) RETURN count(*)", &["1"]),
            ("MATCH p = ANY 3 ({n: 'a'})-->+({n: 'd'}) RETURN count(DISTINCT p)", &["3"]),
            ("MATCH p = ALL SHORTEST ({n: 'a'})-->+({n: 'd'}) RETURN length(p)", &["2", "2"]),
            ("MATCH p = SHORTEST 3 ({n: 'a'})-->+({n: 'd'}) RETURN length(p)", &["2", "2", "3"]),
            (
                "MATCH p = SHORTEST 9 ({n: 'a'})-->+({n: 'd'}) RETURN length(p)",
                &["2", "2", "3", "3"],
            ),
            ("MATCH p = SHORTEST 1 GROUP ({n: 'a'})-->+({n: 'd'}) RETURN length(p)", &["2", "2"]),
            (
                "MATCH p = SHORTEST 2 PATH GROUPS ({n: 'a'})-->+({n: 'd'}) RETURN length(p)",
                &["2", "2", "3", "3"],
            ),
            // For each pair of end nodes.
            (
                "MATCH p = SHORTEST 1 ({n: 'a'})-->+(x) RETURN x.n, length(p)",
                &["'b' | 1", "'c' | 1", "'d' | 2", "'e' | 1", "'f' | 2"],
            ),
            (
                "MATCH p = SHORTEST 2 ({n: 'a'}) (()-->())+ (x {n: 'f'}) RETURN length(p)",
                &["2", "2"],
            ),
            // What is inside is a condition on the paths to choose from ...
            (
                "MATCH p = SHORTEST 1 ({n: 'a'}) ((x)-->(y) WHERE y.w < 4)+ ({n: 'd'})
                 RETURN [v IN y | v.n]",
                &["['c', 'd']"],
            ),
            ("MATCH p = SHORTEST 1 (({n: 'a'})-->+({n: 'd'}) WHERE true) RETURN length(p)", &["2"]),
            (
                "MATCH SHORTEST 1 (p = ({n: 'a'})-->+({n: 'd'}) WHERE length(p) > 2) RETURN 1",
                &["1"],
            ),
            (
                "MATCH p = SHORTEST 1 (({n: 'a'})-[r]->+({n: 'd'}) WHERE size(r) > 2)
                 RETURN length(p)",
                &["3"],
            ),
            // ... and WHERE behind it is one on those chosen.
            ("MATCH p = SHORTEST 1 ({n: 'a'})-[r]->+({n: 'd'}) WHERE size(r) > 2 RETURN 1", &[]),
            // In shortestPath() it belongs to the search.
            (
                "MATCH (a {n: 'a'}), (d {n: 'd'})
                 MATCH p = shortestPath((a)-[*]->(d)) WHERE length(p) > 2 RETURN length(p)",
                &["3"],
            ),
            (
                "MATCH p = shortestPath(({n: 'a'})-[*]->({n: 'd'}))
                 WHERE none(v IN nodes(p) WHERE v.w = 5) RETURN [v IN nodes(p) | v.n]",
                &["['a', 'c', 'd']"],
            ),
            (
                "MATCH p = allShortestPaths(({n: 'a'})-[r*]->({n: 'd'}))
                 WHERE size(r) <> 2 RETURN [v IN r | v.i]",
                &["[5, 6, 7]", "[5, 8, 7]"],
            ),
            // Longer patterns.
            (
                "MATCH p = SHORTEST 1 ({n: 'a'})-->+(m {n: 'f'})-->({n: 'd'}) RETURN length(p), m.n",
                &["3 | 'f'"],
            ),
            (
                "MATCH (a {n: 'a'}), p = ALL SHORTEST (a)-->(x)-->+(y {n: 'd'})
                 RETURN x.n, length(p)",
                &["'b' | 2", "'c' | 2"],
            ),
            ("MATCH ANY (a {n: 'e'})-[r]->(b) RETURN b.n, type(r)", &["'f' | 'R'"]),
            ("OPTIONAL MATCH p = SHORTEST 2 ({n: 'd'})-->+(x) RETURN p", &["null"]),
            ("MATCH (a {n: 'a'}) RETURN COUNT { SHORTEST 3 (a)-->+({n: 'd'}) }", &["3"]),
            ("MATCH SHORTEST 2 (a {n: 'a'}) RETURN a.n", &["'a'"]),
            ("MATCH SHORTEST 0 (a)-->+(b) RETURN 1", &["InvalidPathPattern..."]),
            // A condition inside with a search of its own.
            (
                "MATCH p = SHORTEST 1 ({n: 'a'}) ((x)-->(y) WHERE NOT EXISTS {
                     (y)-[*3]->() })+ ({n: 'f'}) RETURN length(p)",
                &["2"],
            ),
        ],
    );
}

#[test]
fn the_number_of_paths_may_be_a_parameter() {
    let db = common::database("CREATE (a:A)-[:R]->(:B), (a)-[:R]->(:C)-[:R]->(:B)");
    let session = telar_db::Session::new(&db);
    let query = "MATCH p = SHORTEST $k GROUPS (:A)-->+(b:B) RETURN length(p)";
    let run = |k: telar_db::Value| common::rows_with(&session, query, &[("k", k)]);
    assert_eq!(run(1.into()), ["1", "2"]);
    assert!(run(0.into())[0].contains("at least 1"));
    assert!(run("x".into())[0].contains("an integer"));
}

#[test]
fn patterns_that_mean_nothing_are_refused() {
    examples(
        "CREATE ()",
        &[
            ("MATCH (x) ((x)-->(y))+ RETURN 1", &["VariableAlreadyBound..."]),
            ("MATCH ((x)-->(y))+ (y) RETURN 1", &["VariableAlreadyBound..."]),
            ("MATCH ((x)-->(y))+ ((x)-->(z))+ RETURN 1", &["VariableAlreadyBound..."]),
            ("MATCH (n) MATCH ((n)-->())+ RETURN 1", &["VariableAlreadyBound..."]),
            ("MATCH (n)-[r]->() MATCH ()-[r]->+() RETURN 1", &["VariableAlreadyBound..."]),
            ("MATCH (s)-[e]->() ((x)-->(y) WHERE x.h = e.h)+ RETURN 1", &["UndefinedVariable..."]),
            ("MATCH ((x))+ RETURN 1", &["InvalidPathPattern..."]),
            ("MATCH ((x)-[*]->(y))+ RETURN 1", &["InvalidPathPattern..."]),
            ("MATCH ((x) ((y)-->())+ (z))+ RETURN 1", &["InvalidPathPattern..."]),
            ("MATCH (p = (x)-->(y))+ RETURN 1", &["InvalidPathPattern..."]),
            ("MATCH (a) ((b)-->(c)) RETURN 1", &["InvalidPathPattern..."]),
            ("MATCH ()-[r*2]->{2}() RETURN 1", &["InvalidRelationshipPattern..."]),
            ("MATCH ((x)-->(y))+ RETURN x.name", &["InvalidArgumentType..."]),
        ],
    );
}
#[test]
fn dense_graphs_are_not_walked_over_and_over() {
    // 31^30 paths lead from each node, and none to the last.
    examples(
        "UNWIND range(1, 32) AS i CREATE (:N {i: i}) WITH count(*) AS all CREATE (:Z)
         WITH all MATCH (a:N), (b:N) WHERE a <> b CREATE (a)-[:R]->(b)",
        &[
            ("MATCH SHORTEST 1 ({i: 1}) ((x)-[r]->(y) WHERE y.i > 0)+ (:Z) RETURN 1", &[]),
            ("MATCH ALL SHORTEST ({i: 1}) ((x)-[r]->(y))+ (:Z) RETURN 1", &[]),
            ("MATCH ANY ({i: 1})-->+(:Z) RETURN 1", &[]),
            ("MATCH p = allShortestPaths(({i: 1})-[*]-(:Z)) RETURN 1", &[]),
            (
                "MATCH p = ALL SHORTEST ({i: 1}) ((x)-->(y) WHERE y.i < 9)+ ({i: 2}) RETURN x, y",
                &["[()] | [()]"],
            ),
            ("MATCH p = SHORTEST 3 ({i: 1})-->+({i: 2}) RETURN length(p)", &["1", "2", "2"]),
            ("MATCH p = SHORTEST 2 GROUPS ({i: 1})-->+({i: 2}) RETURN count(p)", &["31"]),
            ("MATCH ({i: 1})-->{2}({i: 2}) RETURN count(*)", &["30"]),
        ],
    );
}
