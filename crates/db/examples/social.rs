//! Friends of friends: transactions, a snapshot that stays as it is, and a conflict that is
//! retried.
//!
//! `cargo run -p telar-db --example social`
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::HashMap;

use telar_db::{Direction, EdgeTypeOptions, Error, Isolation, Value, VertexId};

fn main() -> Result<(), Error> {
    let db = telar_db::open_in_memory()?;
    let person = db.label("Person")?;
    let (name, visits) = (db.property_key("name")?, db.property_key("visits")?);
    let knows = db.edge_type("KNOWS", EdgeTypeOptions::simple())?;

    // One transaction: all of it or nothing.
    let names = ["Ada", "Bob", "Cleo", "Dan", "Eve"];
    let (people, _) = db.write(Isolation::Snapshot, |txn| {
        let mut people = Vec::new();
        for who in names {
            let vertex = txn.create_vertex(&[person])?;
            txn.set_vertex_property(vertex, name, who.into())?;
            people.push(vertex);
        }
        for (a, b) in [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4)] {
            txn.upsert_edge(knows, people[a], people[b])?;
        }
        Ok::<_, Error>(people)
    })?;

    // A snapshot; later writes do not show in it.
    let snapshot = db.snapshot()?;
    db.write(Isolation::Snapshot, |txn| txn.remove_edge(knows, people[0], people[1]))?;
    let reader = snapshot.reader();
    let mut ways: HashMap<VertexId, usize> = HashMap::new();
    for first in reader.edges(people[0], knows, Direction::Out) {
        for second in reader.edges(first.dst, knows, Direction::Out) {
            *ways.entry(second.dst).or_default() += 1;
        }
    }
    let mut suggestions: Vec<_> = ways.into_iter().collect();
    suggestions.sort_unstable();
    for (vertex, ways) in suggestions {
        let who = reader.vertex_property(vertex, name);
        println!("Ada might know {} ({ways} way)", <&str>::try_from(&who).unwrap_or("?"));
    }

    // Concurrent increments: `write` runs a transaction again if another one was first.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let result = db.write(Isolation::Snapshot, |txn| {
                        let before = i64::try_from(&txn.vertex_property(people[0], visits)?);
                        let after = Value::Int(before.unwrap_or(0) + 1);
                        txn.set_vertex_property(people[0], visits, after)
                    });
                    result.expect("conflicts are retried, and nothing else can go wrong here");
                }
            });
        }
    });
    let count = db.reader()?.vertex_property(people[0], visits);
    println!("visits counted by 4 threads: {}", i64::try_from(&count).unwrap_or(0));
    Ok(())
}
