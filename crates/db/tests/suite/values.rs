//! Values, their texts and the names of columns, as Neo4j 5.26 has them. Every row of these tables
//! was asked of a Neo4j 5.26.30.

use crate::common;

use common::{examples, fresh_examples};
use telar_db::Session;

const STORED: &str = "CREATE (:M {title: 'T', n: 1, s: 'abc', l: [1, 2], d: date('2020-01-01'),
    t: localtime('12:00'), zt: time('12:00Z'), ld: localdatetime('2021-06-01T12:00'),
    dt: datetime('2021-06-01T12:00[Europe/Stockholm]'), du: duration('PT0.5S'),
    p: point({x: 1, y: 2}), g: point({longitude: 1, latitude: 2, height: 3})})";

#[test]
fn columns_without_a_name_are_called_by_their_text() {
    let db = common::database(STORED);
    let session = Session::new(&db);
    for (items, names) in [
        ("m {.title}", "m"),
        ("m{.*}", "m"),
        ("(m {.title}), m . n", "m, m . n"),
        ("m { .title , .n } , m.title", "m, m.title"),
        ("`m`, `m`.n", "m, `m`.n"),
        ("`m` {.title}", "m"),
        ("m {.title}.title, [m {.title}]", "m {.title}.title, [m {.title}]"),
        ("collect(m {.title})", "collect(m {.title})"),
        ("m /* c */ . title, m.title // tail", "m /* c */ . title, m.title"),
        ("/* a */ m.title /* b */, /* c */ m.n /* d */", "m.title, m.n"),
        ("m.n+1, count( * ), [ x IN m.l | x ]", "m.n+1, count( * ), [ x IN m.l | x ]"),
        ("$p, $`p`, $ p, m.`title`, \"q\", 'x'", "$p, $`p`, $ p, m.`title`, \"q\", 'x'"),
        (
            "- 1, 0xff, TRUE, Null, (1), ((3)), ( 1 + 2 )",
            "- 1, 0xff, TRUE, Null, (1), ((3)), ( 1 + 2 )",
        ),
        ("(m), (m.n), ((m.s))", "m, (m.n), ((m.s))"),
        ("1 AS `x``y`, exists { (m) }", "x`y, exists { (m) }"),
        ("CASE WHEN   true THEN 1   ELSE 2 END", "CASE WHEN   true THEN 1   ELSE 2 END"),
    ] {
        let text = format!("MATCH (m:M) RETURN {items}");
        let parameters = [("p", telar_db::Value::Int(1))];
        let found = session.run(&text, &parameters).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(found.columns.join(", "), names, "{text}");
    }
    examples(
        STORED,
        &[
            ("MATCH (m:M) WITH m {.title} RETURN m.title", &["'T'"]),
            ("CALL { MATCH (m:M) RETURN m {.title} } RETURN *", &["{title: 'T'}"]),
            ("MATCH (m:M) RETURN m {.title} ORDER BY m.title", &["{title: 'T'}"]),
            ("MATCH (m:M) RETURN m {.title}, m {.n}", &["ColumnNameConflict: ..."]),
        ],
    );
}

#[test]
fn texts_of_times_have_their_seconds() {
    examples(
        STORED,
        &[
            (
                "MATCH (m:M) RETURN [x IN [m.t, m.zt, m.ld, m.dt, m.d, m.du] | toString(x)]",
                &["['12:00:00', '12:00:00Z', '2021-06-01T12:00:00', \
                   '2021-06-01T12:00:00+02:00[Europe/Stockholm]', '2020-01-01', 'PT0.5S']"],
            ),
            (
                "MATCH (m:M) RETURN [x IN [m.t, m.zt, m.ld, m.dt, m.d, m.du] | x + '']",
                &["['12:00:00', '12:00:00Z', '2021-06-01T12:00:00', \
                   '2021-06-01T12:00:00+02:00[Europe/Stockholm]', '2020-01-01', 'PT0.5S']"],
            ),
            (
                "MATCH (m:M) RETURN '-' + m.t, '-' + m.dt, '-' + m.du",
                &["'-12:00:00' | '-2021-06-01T12:00:00+02:00[Europe/Stockholm]' | '-PT0.5S'"],
            ),
            (
                "MATCH (m:M) RETURN m.p + '', '' + m.g, toString(m.p)",
                &["'point({x: 1.0, y: 2.0, crs: 'cartesian'})' | \
                   'point({x: 1.0, y: 2.0, z: 3.0, crs: 'wgs-84-3d'})' | \
                   'point({x: 1.0, y: 2.0, crs: 'cartesian'})'"],
            ),
            (
                "RETURN toStringOrNull(localtime('12:00')), toStringList([time('12:00Z')]), \
                 toString(localtime('12:00:00.1')), toString(localtime('12:00:01.12'))",
                &["'12:00:00' | ['12:00:00Z'] | '12:00:00.1' | '12:00:01.12'"],
            ),
            (
                "RETURN toString(localdatetime({year: 12345})), toString(time('23:00-00:30'))",
                &["'+12345-01-01T00:00:00' | '23:00:00-00:30'"],
            ),
            ("MATCH (m:M) RETURN m.t + null, null + m.p", &["null | null"]),
            ("MATCH (m:M) RETURN m.t + 1", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN true + m.p", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN m.s + {a: 1}", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN m.s + m", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN m.s || m.d", &["InvalidArgumentType: ..."]),
        ],
    );
}

#[test]
fn what_is_no_list_is_a_list_of_one() {
    examples(
        STORED,
        &[
            (
                "MATCH (m:M) RETURN any(x IN m.s WHERE x = 'abc'), all(x IN m.n WHERE x > 0), \
                 none(x IN m.n WHERE x > 0), single(x IN m.d WHERE true)",
                &["true | true | false | true"],
            ),
            (
                "MATCH (m:M) RETURN [x IN m.s | x], 'abc' IN m.s, 1 IN m.n, 2 IN m.n, null IN m.s",
                &["['abc'] | true | true | false | null"],
            ),
            (
                "MATCH (m:M) RETURN reduce(a = '', x IN m.s | a + x), m.s[0..1]",
                &["'abc' | ['abc']"],
            ),
            (
                "MATCH (m:M) RETURN m.n[0..1], m.n[1..], m.s[..0], tail(m.n)",
                &["[1] | [] | [] | []"],
            ),
            (
                "UNWIND [{m: {a: 1}}] AS x RETURN any(y IN x.m WHERE y.a = 1), 1 IN x.m, \
                 [y IN x.m | y.a], reduce(s = 0, y IN x.m | s + y.a)",
                &["true | false | [1] | 1"],
            ),
            ("MATCH (m:M) UNWIND m.s AS x RETURN x", &["'abc'"]),
            (
                "MATCH (m:M) RETURN [x IN m.no | x], 1 IN m.no, any(x IN m.no WHERE true)",
                &["null | null | null"],
            ),
            ("MATCH (m:M) RETURN size(m.n)", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN head(m.s)", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN m.n[0]", &["InvalidArgumentType: ..."]),
            // What can be seen not to be a list is refused before the query runs.
            ("RETURN any(x IN 'abc' WHERE x = 1)", &["InvalidArgumentType: ..."]),
            ("WITH 'abc' AS s RETURN [x IN s | x]", &["InvalidArgumentType: ..."]),
            ("MATCH (m:M) RETURN m IN m", &["InvalidArgumentType: ..."]),
        ],
    );
    fresh_examples(
        STORED,
        &[
            (
                "MATCH (m:M) FOREACH (x IN m.s | CREATE (:F {v: x}));MATCH (f:F) RETURN f.v",
                &["'abc'"],
            ),
            ("MATCH (m:M) FOREACH (x IN m.no | CREATE (:F));MATCH (f:F) RETURN f", &[]),
            // An index answers as a scan does.
            (
                "CREATE INDEX FOR (m:M) ON (m.n);UNWIND [{v: 1}, {v: [1, 2]}, {v: null}] AS x \
                 MATCH (m:M) WHERE m.n IN x.v RETURN x.v",
                &["1", "[1, 2]"],
            ),
        ],
    );
}

#[test]
fn equal_values_without_an_order_are_neither_smaller_nor_greater() {
    examples(
        STORED,
        &[
            (
                "WITH duration('P1D') AS x RETURN x >= x, x <= duration('P1D'), x < x, x > x, \
                 x >= duration('P2D'), duration('PT24H') >= x",
                &["true | true | null | null | null | null"],
            ),
            (
                "WITH point({x: 1, y: 2}) AS p RETURN p >= p, p <= p, p < p, p > p, \
                 p <= point({x: 2, y: 3}), p >= point({x: 1, y: 2, z: 3})",
                &["true | true | null | null | null | null"],
            ),
            (
                "WITH {a: 1} AS m RETURN m >= m, m <= {a: 1}, m < m, m >= {a: 2}, m < {a: 2}, \
                 m >= {a: null}, m >= {b: 1}",
                &["true | true | false | false | true | null | false"],
            ),
            ("MATCH (m:M) RETURN m >= m, m <= m, m < m", &["true | true | false"]),
            ("MATCH p = (m:M) RETURN p >= p, p <= p, p < p", &["true | true | false"]),
            (
                "RETURN [duration('P1D')] >= [duration('P1D')], \
                 [duration('P1D')] <= [duration('P2D')], \
                 [1, duration('P1D')] < [1, duration('P1D'), 2], [{a: 1}] <= [{a: 1}]",
                &["true | null | true | true"],
            ),
            (
                "RETURN [1, null] <= [1, null], null <= null, 0.0/0.0 <= 0.0/0.0",
                &["null | null | false"],
            ),
        ],
    );
    let condition = "m.p <= point({x: 1, y: 2}) AND m.du >= duration('PT0.5S')";
    let asked = format!("MATCH (m:M) WHERE {condition} RETURN count(*)");
    let with_index = format!("CREATE INDEX FOR (m:M) ON (m.du);{asked}");
    fresh_examples(STORED, &[(&asked, &["1"]), (&with_index, &["1"])]);
}

#[test]
fn numbers_and_points_as_neo4j_computes_them() {
    let expected = "P4DT16H4M23.333333333S | PT0.666666666S | PT0.000000003S | P10DT3H29M42S | \
                    PT7H59M59.711999999S | PT-0.333333333S | P22DT4H3M39.571428572S | \
                    PT2M59.639999999S | P1M14DT9H55M40.738218019S";
    let quoted: Vec<String> = expected.split(" | ").map(|text| format!("'{text}'")).collect();
    let durations = format!("[{}]", quoted.join(", "));
    examples(
        "",
        &[
            ("UNWIND [null, null] AS x RETURN stDev(x), stDevP(x), sum(x)", &["null | null | 0"]),
            ("UNWIND [] AS x RETURN stDev(x), stDevP(x)", &["null | null"]),
            ("UNWIND [null, 1] AS x RETURN stDev(x), stDevP(x)", &["0.0 | 0.0"]),
            (
                "RETURN [x IN [
                    duration({days: 14, minutes: 12, seconds: 70, nanoseconds: 1}) / 3,
                    duration({seconds: 2}) / 3, duration({nanoseconds: 7}) / 2,
                    duration({months: 1}) / 3, duration({days: 1}) * 0.33333,
                    duration({seconds: -1}) / 3,
                    duration({months: 5, days: 3, seconds: 7, nanoseconds: 11}) / 7,
                    duration('PT0.0499H'),
                    duration({months: 9, days: -2, seconds: -62268, nanoseconds: 3506004367})
                        / 6.047
                 ] | toString(x)]",
                &[&durations],
            ),
            (
                "RETURN toString(duration({months: -0.35, days: 2.473, hours: -2.61, \
                 seconds: -1.5358427}))",
                &["'P-8DT-6H-55M-41.435842699S'"],
            ),
            (
                "RETURN point({x: 1, y: 2, z: 3, k: null}), point({x: 1, y: 2, crs: null}), \
                 point({x: 1, y: null})",
                &["null | null | null"],
            ),
            ("RETURN point({x: 1, y: 2, k: 'a'}).x", &["1.0"]),
            (
                "RETURN toString(datetime({year: 2020, timezone: 'America/Los Angeles'})), \
                 toString(datetime('2020-01-01T00:00[America/Los Angeles]'))",
                &["'2020-01-01T00:00:00-08:00[America/Los_Angeles]' | \
                   '2020-01-01T00:00:00-08:00[America/Los_Angeles]'"],
            ),
            ("RETURN datetime({year: 2020, timezone: ' Europe/Stockholm'})", &["Invalid..."]),
        ],
    );
}

#[test]
fn lists_that_are_stored_hold_one_type() {
    let refused: &[&str] = &["InvalidPropertyType: ..."];
    fresh_examples(
        "CREATE (:N)",
        &[
            ("CREATE (n:L {a: [1, 2.5]}) RETURN n.a", &["[1.0, 2.5]"]),
            (
                "MATCH (n:N) SET n.a = [1.0, 2] RETURN n.a, n.a[1] IS :: FLOAT",
                &["[1.0, 2.0] | true"],
            ),
            ("MATCH (n:N) SET n += {a: [1, 2.0]} RETURN n.a", &["[1.0, 2.0]"]),
            ("MATCH (n:N) CREATE (n)-[r:R {a: [1, 2.0]}]->(n) RETURN r.a", &["[1.0, 2.0]"]),
            (
                "MERGE (n:L {a: [1, 2.5]});MERGE (n:L {a: [1, 2.5]});MATCH (n:L) RETURN n.a",
                &["[1.0, 2.5]"],
            ),
            ("CREATE (n:L {a: [9007199254740993, 0.5]}) RETURN n.a[0]", &["9007199254740992.0"]),
            ("CREATE (n:L {a: []}) RETURN n.a", &["[]"]),
            ("CREATE (n:L {a: [1, 'a']})", refused),
            ("CREATE (n:L {a: [true, 1]})", refused),
            ("CREATE (n:L {a: [date(), localdatetime()]})", refused),
            ("CREATE (n:L {a: [duration('P1D'), 1]})", refused),
            ("CREATE (n:L {a: [point({x: 1, y: 2}), point({x: 1, y: 2, z: 3})]})", refused),
            ("CREATE (n:L {a: [1, null]})", refused),
            ("CREATE (n:L {a: [[1]]})", refused),
            ("CREATE (n:L {a: [{b: 1}]})", refused),
            ("MATCH (n:N) SET n.a = [1, 'a']", refused),
        ],
    );
}
