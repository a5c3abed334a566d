//! How long small queries take on a generated graph, plans cached.
//!
//! ```text
//! cargo test --release -p telar-tests --test query_times -- --ignored --nocapture
//! ```
//!
//! 100,000 persons (id, name, age, city) who know each other, in memory. Answers are compared with
//! those of a plain adjacency list first. Then processor time of the one thread, microseconds per
//! query: the median of some rounds of many queries, parameters made beforehand. The last column is
//! the fastest round.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::print_stdout, reason = "it measures, for people")]

use std::collections::HashSet;
use std::sync::Arc;

use telar_bench::measure::{Samples, time};
use telar_db::query::prepare;
use telar_db::{
    BulkOptions, Column, ConstraintKind, ConstraintSpec, Database, EdgeTypeOptions, IndexTarget,
    Session, Value, ValueMap,
};
use telar_generate::rng::Rng;
use telar_generate::{SocialNetwork, social};

const PERSONS: u32 = 100_000;
const ROUNDS: usize = 9;

/// Persons of the network whose triangles are counted.
const TRIANGLE_PERSONS: u32 = 20_000;

fn column(values: impl Iterator<Item = Value>) -> Column {
    let mut column = Column::new();
    values.for_each(|value| column.push(value));
    column
}

/// The network as a database, with a key on the number of a person.
fn database(network: &SocialNetwork) -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let mut load = db.bulk_load(BulkOptions::default()).unwrap();
    let person = load.label("Person").unwrap();
    let [id, name, age, city] =
        ["id", "name", "age", "city"].map(|k| load.property_key(k).unwrap());
    let persons = || network.persons.iter();
    let columns = [
        (id, column((0..network.persons.len() as i64).map(Value::Int))),
        (name, column(persons().map(|p| p.name().as_str().into()))),
        (age, column(persons().map(|p| Value::Int(p.age.into())))),
        (city, column(persons().map(|p| p.city.into()))),
    ];
    load.add_vertices(&[person], network.persons.len(), &columns).unwrap();
    let first = load.first_vertex().unwrap().get() as u32;
    let knows = load.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
    let since = load.property_key("since").unwrap();
    let ends = network.knows.iter().map(|k| (first + k.a, first + k.b)).collect();
    let days = column(network.knows.iter().map(|k| Value::Int(k.since_ms)));
    load.add_edges(knows, ends, vec![(since, days)]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    let target = IndexTarget::Vertices(db.find_label("Person").unwrap());
    let properties = vec![db.find_property_key("id").unwrap()];
    let kind = ConstraintKind::Unique;
    let name = "person".to_owned();
    db.create_constraint(ConstraintSpec { name, target, properties, kind }).unwrap();
    db
}

fn parameters(id: u32) -> ValueMap {
    ValueMap::from([(Arc::from("id"), Value::Int(id.into()))])
}

/// Whom each person knows, both ways.
fn friends(network: &SocialNetwork) -> Vec<Vec<u32>> {
    let mut friends = vec![Vec::new(); network.persons.len()];
    for k in &network.knows {
        friends[k.a as usize].push(k.b);
        friends[k.b as usize].push(k.a);
    }
    friends
}

const POINT: &str = "MATCH (p:Person {id: $id}) RETURN p.name";
const ONE_HOP: &str = "MATCH (p:Person {id: $id})-[:KNOWS]-(f) RETURN f.id";
const TWO_HOPS: &str =
    "MATCH (p:Person {id: $id})-[:KNOWS]-()-[:KNOWS]-(f) RETURN count(DISTINCT f)";
const NODES: &str = "MATCH (p:Person) RETURN count(*)";
const RELATIONSHIPS: &str = "MATCH ()-[r:KNOWS]->() RETURN count(r)";
const SUM: &str = "MATCH (p:Person) RETURN avg(p.age)";
const CREATE: &str = "CREATE (:Note {id: $id})";

fn check(session: &Session, network: &SocialNetwork, ids: &[u32]) {
    let friends = friends(network);
    let run = |text: &str, id: u32| session.run_with(text, &parameters(id)).unwrap().rows;
    for id in ids.iter().take(50).copied() {
        let name = network.persons[id as usize].name();
        assert_eq!(run(POINT, id), [[Value::from(name.as_str())]]);
        let near = &friends[id as usize];
        let mut found: Vec<Value> = run(ONE_HOP, id).concat();
        let mut want: Vec<Value> = near.iter().map(|f| Value::Int((*f).into())).collect();
        found.sort();
        want.sort();
        assert_eq!(found, want);
        // Back over the relationship it came by is no path; over another one there is none.
        let two = |f: &u32| friends[*f as usize].iter().filter(|g| **g != id).copied();
        let far: HashSet<u32> = near.iter().flat_map(two).collect();
        assert_eq!(run(TWO_HOPS, id), [[Value::Int(far.len() as i64)]]);
    }
    assert_eq!(run(NODES, 0), [[Value::Int(PERSONS.into())]]);
    assert_eq!(run(RELATIONSHIPS, 0), [[Value::Int(network.knows.len() as i64)]]);
}

#[test]
#[ignore = "measures; run it in a release build"]
fn times() {
    let network = social(PERSONS, 1);
    let db = database(&network);
    let session = Session::new(&db);
    let mut rng = Rng::new(7);
    let ids: Vec<u32> = (0..2000).map(|_| rng.below(PERSONS.into()) as u32).collect();
    check(&session, &network, &ids);
    println!("{} persons, {} relationships: answers are right", PERSONS, network.knows.len());
    let given: Vec<ValueMap> = ids.iter().map(|id| parameters(*id)).collect();
    let line = |name: &str, queries: usize, mut run: Box<dyn FnMut(&ValueMap) + '_>| {
        let mut samples = Samples::default();
        for round in 0..=ROUNDS {
            let given = given.iter().cycle().skip(round * queries).take(queries);
            let ((), elapsed) = time(|| given.for_each(&mut run));
            // The first round warms up.
            if round > 0 {
                samples.push(elapsed.cpu_s / queries as f64);
            }
        }
        let (median, min) = (samples.median() * 1e6, samples.min() * 1e6);
        println!("{name:<22} {median:>10.2} us {min:>10.2}");
    };
    let only = std::env::var("TELAR_QUERY").unwrap_or_default();
    for (name, queries, text) in [
        ("point read", 2000, POINT),
        ("1 hop", 1000, ONE_HOP),
        ("2 hops distinct", 100, TWO_HOPS),
        ("count nodes", 20, NODES),
        ("count relationships", 20, RELATIONSHIPS),
        ("average", 2, SUM),
        ("create", 2000, CREATE),
    ] {
        if only.is_empty() || name == only {
            let run = |given: &ValueMap| drop(session.run_with(text, given).unwrap());
            line(name, queries, Box::new(run));
        }
    }
    let reader = db.reader().unwrap();
    let plan = |_: &ValueMap| {
        prepare(POINT, &reader, session.runtime().procedures()).unwrap();
    };
    line("plan a point read", 200, Box::new(plan));
    let index = db.find_index("person").unwrap();
    let name = db.find_property_key("name").unwrap();
    let engine = |given: &ValueMap| {
        let reader = db.reader().unwrap();
        let found = reader.index_find(index, std::slice::from_ref(&given["id"])).unwrap();
        std::hint::black_box(reader.vertex_property(found.unwrap(), name));
    };
    line("the engine's part", 2000, Box::new(engine));
}

/// Triangles, two hops and two ends that meet, as they are planned, beside the same step by step:
/// a clause for each relationship leaves nothing to be intersected, counted or joined.
/// `TELAR_EXPORT=folder` writes the pairs of numbers of persons there, as `knows.csv`.
#[test]
#[ignore = "measures; run it in a release build"]
fn joins() {
    let network = social(TRIANGLE_PERSONS, 1);
    let db = database(&network);
    let session = Session::new(&db);
    if let Some(folder) = std::env::var_os("TELAR_EXPORT") {
        // For others, to be asked the same.
        let line = |k: &telar_generate::Knows| format!("{},{}\n", k.a, k.b);
        let lines: String = network.knows.iter().map(line).collect();
        std::fs::write(std::path::Path::new(&folder).join("knows.csv"), lines).unwrap();
    }
    let mut known = vec![Vec::new(); network.persons.len()];
    network.knows.iter().for_each(|k| known[k.a as usize].push(k.b));
    known.iter_mut().for_each(|list| list.sort_unstable());
    let closes = |(a, c): (u32, u32)| known[a as usize].binary_search(&c).is_ok();
    let hops = || (0..).zip(&known).flat_map(|(a, list)| list.iter().map(move |b| (a, *b)));
    let paths = || hops().flat_map(|(a, b)| known[b as usize].iter().map(move |c| (a, *c)));
    let (two, three) = (paths().count(), paths().filter(|ends| closes(*ends)).count());
    println!("{} relationships, {two} paths, {three} triangles", network.knows.len());
    let near = "MATCH (a:Person {id: 3})-[:KNOWS]->(m)<-[:KNOWS]-(b:Person {id: 5})";
    for (name, text, plain, want) in [
        (
            "triangles",
            "MATCH (a)-[:KNOWS]->(b)-[:KNOWS]->(c), (a)-[:KNOWS]->(c) RETURN count(*)",
            "MATCH (a)-[:KNOWS]->(b) MATCH (b)-[:KNOWS]->(c) MATCH (a)-[:KNOWS]->(c) \
             RETURN count(*)",
            Some(three),
        ),
        (
            "two hops",
            "MATCH (a)-[:KNOWS]->()-[:KNOWS]->() RETURN count(*)",
            "MATCH (a)-[:KNOWS]->(b) MATCH (b)-[:KNOWS]->(c) RETURN sum(1)",
            Some(two),
        ),
        (
            "friends in common",
            &format!("{near} RETURN count(*)"),
            &format!("{} RETURN count(*)", near.replace("(m)<-", "(m) MATCH (m)<-")),
            None,
        ),
        (
            "same name and age",
            "MATCH (a:Person), (b:Person) WHERE a.name = b.name AND a.age = b.age + 30 \
             RETURN count(*)",
            "MATCH (a:Person) WITH a LIMIT 500 MATCH (b:Person) WITH a, b \
             WHERE a.name = b.name AND a.age = b.age + 30 RETURN count(*)",
            None,
        ),
    ] {
        let mut counts = Vec::new();
        for text in [text, plain] {
            let mut samples = Samples::default();
            let mut count = Value::Null;
            for _ in 0..3 {
                let (result, elapsed) = time(|| session.run(text, &[]).unwrap());
                count = result.rows[0][0].clone();
                samples.push(elapsed.cpu_s);
            }
            println!("{name:<20} {:>10.3} ms  {count:?}  {text}", samples.median() * 1e3);
            counts.push(count);
        }
        if let Some(want) = want {
            assert_eq!(counts, [Value::Int(want as i64), Value::Int(want as i64)], "{name}");
        }
    }
}

/// The same queries by themselves, and in transactions that have written nothing, or something
/// else: times by themselves are 1.
#[test]
#[ignore = "measures; run it in a release build"]
fn transactions() {
    const SUMS: [(&str, &str); 3] = [
        ("aggregate", "MATCH (p:Person) RETURN sum(p.age)"),
        ("1 hop", "MATCH (p:Person)-[:KNOWS]->(q) RETURN sum(q.age)"),
        ("names", "MATCH (p:Person) RETURN count(DISTINCT p.name)"),
    ];
    const BEFORE: [(&str, &str); 6] = [
        ("nothing written", ""),
        ("a node made", "CREATE (:Other {x: 1})"),
        (
            "an edge of another type",
            "MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:LIKES]->(b)",
        ),
        ("an edge of the type", "MATCH (a:Person {id: 1}), (b:Other) CREATE (a)-[:KNOWS]->(b)"),
        ("another property set", "MATCH (p:Person {id: 1}) SET p.seen = true"),
        ("a node deleted", "MATCH (o:Other) DETACH DELETE o"),
    ];
    let network = social(PERSONS, 1);
    let db = database(&network);
    let session = Session::new(&db).with_workers(Arc::new(telar_db::Workers::new(1)));
    session.run("CREATE (:Other)", &[]).unwrap();
    let none = ValueMap::new();
    for (name, text) in SUMS {
        let alone = session.run(text, &[]).unwrap().rows;
        let mut samples: [Samples; BEFORE.len() + 1] = Default::default();
        for _ in 0..ROUNDS {
            let (_, elapsed) = time(|| session.run(text, &[]).unwrap());
            samples[0].push(elapsed.cpu_s);
            for (samples, (_, written)) in samples[1..].iter_mut().zip(BEFORE) {
                let mut transaction = session.begin().unwrap();
                if !written.is_empty() {
                    transaction.run(written, &none).unwrap();
                }
                let (result, elapsed) = time(|| transaction.run(text, &none).unwrap());
                assert_eq!(result.rows, alone);
                samples.push(elapsed.cpu_s);
            }
        }
        let base = samples[0].median();
        println!("{name}: {:.3} ms by itself", base * 1e3);
        for (samples, (written, _)) in samples[1..].iter().zip(BEFORE) {
            println!("    {written:<24} {:>6.2}", samples.median() / base);
        }
    }
}
