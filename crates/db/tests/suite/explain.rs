//! Plans as people read them, and what `PROFILE` measures.

use telar_db::query::PlanDescription;
use telar_db::{Database, Session, ValueMap};

fn sample() -> Database {
    let db = telar_db::open_in_memory().expect("a database in memory");
    let session = Session::new(&db);
    for text in [
        "CREATE INDEX name FOR (n:Person) ON (n.name)",
        "UNWIND range(0, 9) AS i CREATE (:Person {name: 'p' + i, age: 20 + i})",
        "UNWIND range(0, 4) AS i CREATE (:City {name: 'c' + i})",
        "MATCH (p:Person), (c:City) WHERE p.age % 5 = toInteger(right(c.name, 1)) \
         CREATE (p)-[:LIVES_IN]->(c)",
    ] {
        session.run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
    }
    db
}

fn plan(db: &Database, text: &str) -> PlanDescription {
    let result = Session::new(db).run(text, &[]);
    let result = result.unwrap_or_else(|e| panic!("{text}\n{e}"));
    result.plan.unwrap_or_else(|| panic!("{text}: no plan"))
}

/// The plans below are what people see: a change here is meant, or it is a mistake.
#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn plans_name_variables_and_conditions() {
    let db = sample();
    let cases = [
        (
            "MATCH (p:Person {name: 'p1'})-[:LIVES_IN]->(c) WHERE c.name STARTS WITH 'c' \
             RETURN p.age + 1 AS older, c",
            r"
Operator               Estimated  Details
Keep                           1  older, c
  Projection                   1  p.age + 1 AS older
    Filter                     1  c.name STARTS WITH 'c'
      Expand                   1  (p)-[anon_0:LIVES_IN]->(c)
        NodeIndexSeek          1  RANGE INDEX (p:Person(name)) WHERE p.name = 'p1'
          Unit                 1
",
        ),
        (
            "MATCH (p:Person)-[r:LIVES_IN|KNOWS]-(c:City) WITH c, count(*) AS people, \
             collect(DISTINCT p.name) AS of WHERE people > 1 RETURN c.name, people \
             ORDER BY people DESC, c.name LIMIT 3",
            r"
Operator                             Estimated  Details
Keep                                         2  `c.name`, people
  Limit                                      2  3
    Top                                      2  people DESC, `c.name` LIMIT 3
      Projection                             2  c.name
        Keep                                 2  c, people
          Filter                             2  people > 1
            Projection                       5  count(*) AS people, collect(DISTINCT p.name) AS of
              GroupedAggregation             5  count(*), collect(DISTINCT p.name) BY c
                Filter                      10  p:Person
                  Expand                    10  (c)-[r:LIVES_IN|KNOWS]-(p)
                    NodeByLabelScan          5  (c:City)
                      Unit                   1
",
        ),
        (
            "MATCH (a:Person) WHERE a.name > $p AND NOT a.old \
             OPTIONAL MATCH (a)-[:KNOWS*1..2]->(b) RETURN a, b",
            r"
Operator                    Estimated  Details
Keep                                1  a, b
  OptionalApply                     1  b
    Filter                          1  a.name > $p AND NOT a.old
      NodeIndexSeekByRange          3  RANGE INDEX (a:Person(name)) WHERE a.name > $p
        Unit                        1
    VarExpand                       0  (a)-[anon_0:KNOWS*1..2]->(b)
      Argument                      1
",
        ),
        (
            "MATCH (a:Person) WHERE EXISTS { (a)-[:LIVES_IN]->(:City) } AND (a.age < 3 OR a:City) \
             RETURN [x IN [] WHERE x > 2 | -x] AS l, \
             CASE a.age WHEN 1 THEN 2 ELSE null END AS c",
            r"
Operator               Estimated  Details
Keep                           4  l, c
  Projection                   4  [x IN [] WHERE x > 2 | -x] AS l, CASE a.age WHEN 1 THEN 2 END AS c
    Filter                     4  EXISTS { ... } AND (a.age < 3 OR a:City)
      NodeByLabelScan         10  (a:Person)
        Unit                   1
      ExpandCount              1  (a)-[:LIVES_IN]->(:City) AS anon_3
        Argument               1
",
        ),
        (
            "MATCH (p:Person {name: 'p1'}) MERGE (p)-[k:KNOWS]->(q:City) \
             ON CREATE SET q.new = 1, q:New DETACH DELETE p",
            r"
Operator             Estimated  Details
DetachDelete                 1  p
  Merge                      1  (q:City), (p)-[k:KNOWS]->(q) ON CREATE SET q.new = 1, q:New
    Eager                    1
      NodeIndexSeek          1  RANGE INDEX (p:Person(name)) WHERE p.name = 'p1'
        Unit                 1
    Projection               0  q, k
      Filter                 0  q:City
        Expand               0  (p)-[k:KNOWS]->(q)
          Argument           1
",
        ),
        (
            "UNWIND [1, 2] AS x RETURN x UNION ALL CALL db.labels() YIELD label RETURN label AS x",
            r"
Operator               Estimated  Details
Union                         12
  Keep                         2  x
    Projection                 2  x
      Keep                     2  x
        Unwind                 2  [1, 2] AS x
          Unit                 1
  Keep                        10  x
    Projection                10  label AS x
      Keep                    10  label
        ProcedureCall         10  db.labels()
          Unit                 1
",
        ),
        (
            "CREATE CONSTRAINT c FOR (n:A) REQUIRE (n.x, n.y) IS NODE KEY",
            r"
Operator          Estimated  Details
CreateConstraint          0  c NODE_KEY (:A {x, y})
",
        ),
        (
            "SHOW INDEXES YIELD name WHERE name = 'it\\'s' RETURN count(*)",
            r"
Operator          Estimated  Details
Keep                      1  count(*)
  Projection              1  count(*)
    Aggregation           1  count(*)
      Keep                1
        Filter            1  name = 'it\'s'
          Show           10  SHOW INDEXES
            Unit          1
",
        ),
    ];
    let mut wrong = String::new();
    for (text, expected) in cases {
        let found = plan(&db, &format!("EXPLAIN {text}")).to_string();
        if found != expected.trim_start_matches('\n') {
            wrong.push_str(&format!("{text}\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn plan_is_a_tree_with_the_variables_of_each_operator() {
    let db = sample();
    let root = plan(&db, "EXPLAIN MATCH (p:Person)-[]->(c) WITH p, c.name AS n RETURN p, n");
    assert_eq!(root.operator, "Keep");
    let names =
        |p: &PlanDescription| p.identifiers.iter().map(|n| n.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&root), ["p", "n"]);
    let mut leaf = &root;
    while let Some(child) = leaf.children.first() {
        leaf = child;
    }
    assert_eq!(leaf.operator, "Unit");
    assert!(root.measured.is_none() && leaf.identifiers.is_empty());
    // Nothing ran.
    let before = Session::new(&db).run("MATCH (n) RETURN count(*)", &[]).unwrap().rows;
    plan(&db, "EXPLAIN CREATE (:Person)");
    assert_eq!(Session::new(&db).run("MATCH (n) RETURN count(*)", &[]).unwrap().rows, before);
    assert!(Session::new(&db).run("RETURN 1", &[]).unwrap().plan.is_none());
}

fn find<'p>(plan: &'p PlanDescription, operator: &str) -> Vec<&'p PlanDescription> {
    let mut found: Vec<_> = (plan.operator == operator).then_some(plan).into_iter().collect();
    found.extend(plan.children.iter().flat_map(|child| find(child, operator)));
    found
}

#[test]
fn profile_counts_rows_and_hits_of_each_operator() {
    let db = sample();
    let text = "MATCH (p:Person)-[:LIVES_IN]->(c) WHERE p.age >= 25 RETURN c.name AS name";
    let root = plan(&db, &format!("PROFILE {text}"));
    let rows = |operator: &str| find(&root, operator)[0].measured.unwrap().rows;
    assert_eq!(rows("NodeByLabelScan"), 10);
    assert_eq!(rows("Expand"), 5);
    assert_eq!(rows("Filter"), 5);
    assert_eq!(rows("Projection"), 5);
    let scan = find(&root, "NodeByLabelScan")[0].measured.unwrap();
    assert_eq!(scan.hits, 10);
    // A name for each row, whose node must exist.
    assert!(find(&root, "Projection")[0].measured.unwrap().hits >= 5);
    assert_eq!(find(&root, "Keep")[0].measured.unwrap().hits, 0);
    let table = root.to_string();
    assert!(table.starts_with("Operator"), "{table}");
    assert!(
        table.lines().next().unwrap().contains("Rows  Hits  Time/ms  Memory/KiB  Details"),
        "{table}"
    );
    // The answer is that of the query itself.
    let session = Session::new(&db);
    let profiled = session.run(&format!("PROFILE {text}"), &[]).unwrap();
    assert_eq!(profiled.rows, session.run(text, &[]).unwrap().rows);
    assert_eq!(profiled.columns, ["name".into()]);
}

#[test]
fn profile_says_who_holds_memory() {
    let db = sample();
    let text = "PROFILE UNWIND range(1, 20000) AS x WITH x ORDER BY -x \
                WITH DISTINCT x % 10 AS y RETURN y, count(*) AS c";
    let root = plan(&db, text);
    let measured = |operator: &str| find(&root, operator)[0].measured.unwrap();
    let sort = measured("Sort").memory;
    // A row has at least a number and its key.
    assert!(sort > 20_000 * 24, "{root}");
    for operator in ["Distinct", "GroupedAggregation"] {
        let held = measured(operator).memory;
        assert!(held > 0 && held < 100_000, "{operator}: {root}");
    }
    assert_eq!(measured("Unwind").memory, 0);
    let whole = root.measured.unwrap().query_memory;
    assert!(whole >= sort && whole < sort + 200_000, "{whole}: {root}");
    assert_eq!(measured("Unwind").query_memory, whole);
}

#[test]
fn profile_adds_up_what_inner_plans_do() {
    let db = sample();
    let root = plan(
        &db,
        "PROFILE MATCH (p:Person) WHERE COUNT { (p)-[:LIVES_IN]->(c:City) } = 1 \
         OPTIONAL MATCH (p)-[:KNOWS]->(q) RETURN p, q",
    );
    // Ten people live somewhere; nobody knows anybody, which leaves each with a null.
    let rows = |operator| find(&root, operator)[0].measured.unwrap().rows;
    assert_eq!((rows("ExpandCount"), rows("Expand")), (10, 0), "{root}");
    assert_eq!(find(&root, "OptionalApply")[0].measured.unwrap().rows, 10);
}

#[test]
fn profile_of_an_update_does_it_once() {
    let db = sample();
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    let result = transaction
        .run(
            "PROFILE MATCH (c:City) SET c.seen = true CREATE (:Log {of: c.name})",
            &ValueMap::new(),
        )
        .unwrap();
    assert_eq!((result.counters.properties_set, result.counters.nodes_created), (10, 5));
    let plan = result.plan.unwrap();
    assert_eq!(find(&plan, "Set")[0].measured.unwrap().rows, 5);
    assert!(find(&plan, "Create")[0].measured.unwrap().hits >= 15);
    transaction.commit().unwrap();
    assert_eq!(session.run("MATCH (n:Log) RETURN n", &[]).unwrap().rows.len(), 5);
}
