//! The queries of the comparison, what they are asked with, and their answers.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use telar_db::{Value, ValueMap};
use telar_generate::rng::Rng;

use super::world::World;
use crate::figures::Bound;

/// A query, and what is known of it.
pub(super) struct Question {
    /// A word for tables and files.
    pub(super) key: &'static str,
    /// For people.
    pub(super) what: &'static str,
    pub(super) text: &'static str,
    /// Milliseconds of processor time that it may take.
    pub(super) bound_ms: f64,
    pub(super) asked: Vec<Asked>,
    /// Whether the order of the rows is a part of the answer.
    pub(super) ordered: bool,
}

/// Parameters, and the rows that they give.
pub(super) struct Asked {
    pub(super) parameters: Vec<(&'static str, Value)>,
    pub(super) rows: Vec<Vec<Value>>,
}

impl Asked {
    /// The parameters, as a session takes them.
    pub(super) fn map(&self) -> ValueMap {
        self.parameters.iter().map(|(key, value)| ((*key).into(), value.clone())).collect()
    }
}

impl Question {
    pub(super) fn bound(&self) -> Bound {
        Bound::AtMost(self.bound_ms)
    }

    pub(super) fn to_json(&self) -> Json {
        let asked = self.asked.iter().map(|asked| {
            let parameters = asked.parameters.iter().map(|(k, v)| ((*k).to_owned(), plain(v)));
            let parameters: serde_json::Map<_, _> = parameters.collect();
            let rows = asked.rows.iter().map(|row| row.iter().map(plain).collect::<Vec<_>>());
            json!({ "parameters": parameters, "rows": rows.collect::<Vec<_>>() })
        });
        let asked: Vec<Json> = asked.collect();
        let Self { key, what, text, ordered, .. } = self;
        json!({ "key": key, "what": what, "text": text, "ordered": ordered, "asked": asked })
    }
}

fn plain(value: &Value) -> Json {
    match value {
        Value::Int(n) => json!(n),
        Value::Float(x) => json!(x),
        Value::String(text) => json!(&**text),
        other => unreachable!("INVARIANT: no question has a value like {other:?}"),
    }
}

/// All questions that read, each asked `times` times with other persons.
pub(super) fn reads(world: &World, times: usize, rng: &mut Rng) -> Vec<Question> {
    let persons = world.graph.persons.len();
    let mut about_one = |what, key, text, bound_ms, answer: &dyn Fn(u32) -> Vec<Vec<Value>>| {
        let mut asked = Vec::new();
        for _ in 0..times {
            let person = rng.index(persons) as u32;
            let parameters = vec![("id", Value::Int(i64::from(person)))];
            asked.push(Asked { parameters, rows: answer(person) });
        }
        Question { key, what, text, bound_ms, asked, ordered: false }
    };
    let int = |n: usize| Value::Int(n as i64);
    let mut questions = vec![
        about_one(
            "person by id",
            "point",
            "MATCH (p:Person {id: $id}) RETURN p.name, p.age, p.city",
            0.008,
            &|person| {
                let person = &world.graph.persons[person as usize];
                let name = Value::from(person.name.as_str());
                vec![vec![name, Value::Int(person.age), Value::from(person.city)]]
            },
        ),
        about_one(
            "1-hop neighbours",
            "one_hop",
            "MATCH (:Person {id: $id})-[:KNOWS]->(f:Person) RETURN f.id",
            0.015,
            &|person| world.known_by(person).iter().map(|f| vec![int(*f as usize)]).collect(),
        ),
        about_one(
            "2-hop count distinct",
            "two_hops",
            "MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(f:Person) \
             RETURN count(DISTINCT f)",
            0.05,
            &|person| vec![vec![int(world.two_hops(person))]],
        ),
        about_one(
            "3-hop count distinct",
            "three_hops",
            "MATCH (:Person {id: $id})-[:KNOWS]->(:Person)-[:KNOWS]->(:Person)-[:KNOWS]->\
             (f:Person) RETURN count(DISTINCT f)",
            2.0,
            &|person| vec![vec![int(world.three_hops(person))]],
        ),
    ];
    questions.push(shortest(world, times, rng));
    questions.extend([aggregate(world), oldest(world), most_known(world)]);
    questions
}

fn shortest(world: &World, times: usize, rng: &mut Rng) -> Question {
    let persons = world.graph.persons.len();
    let mut asked = Vec::new();
    while asked.len() < times && persons > 1 {
        let (a, b) = (rng.index(persons) as u32, rng.index(persons) as u32);
        if a == b {
            continue;
        }
        let distance = world.distance(a, b);
        let rows = distance.map(|d| vec![Value::Int(i64::from(d))]).into_iter().collect();
        let parameters = vec![("a", Value::Int(a.into())), ("b", Value::Int(b.into()))];
        asked.push(Asked { parameters, rows });
    }
    Question {
        key: "shortest",
        what: "shortest path, two random persons",
        text: "MATCH (a:Person {id: $a}), (b:Person {id: $b}), \
               p = shortestPath((a)-[:KNOWS*]->(b)) RETURN length(p)",
        bound_ms: 0.3,
        asked,
        ordered: false,
    }
}

fn aggregate(world: &World) -> Question {
    let mut cities: BTreeMap<&str, (i64, i64)> = BTreeMap::new();
    for person in &world.graph.persons {
        let (persons, ages) = cities.entry(person.city).or_default();
        (*persons, *ages) = (*persons + 1, *ages + person.age);
    }
    let rows = cities.into_iter().map(|(city, (persons, ages))| {
        let mean = Value::Float(ages as f64 / persons as f64);
        vec![Value::from(city), Value::Int(persons), mean]
    });
    Question {
        key: "aggregate",
        what: "aggregate over all persons",
        text: "MATCH (p:Person) \
               RETURN p.city AS city, count(*) AS persons, avg(p.age) AS age ORDER BY city",
        bound_ms: 3.0,
        asked: vec![Asked { parameters: Vec::new(), rows: rows.collect() }],
        ordered: true,
    }
}

/// The ten first of `(what, person)`, the largest first.
fn top_ten(mut all: Vec<(i64, i64)>) -> Vec<Vec<Value>> {
    all.sort_unstable_by_key(|(what, person)| (-what, *person));
    let ten = all.into_iter().take(10);
    ten.map(|(what, person)| vec![Value::Int(person), Value::Int(what)]).collect()
}

fn oldest(world: &World) -> Question {
    let ages = (0..).zip(&world.graph.persons).map(|(id, person)| (person.age, id));
    Question {
        key: "top_age",
        what: "top 10 persons by a property",
        text: "MATCH (p:Person) RETURN p.id AS id, p.age AS age ORDER BY age DESC, id LIMIT 10",
        bound_ms: 0.8,
        asked: vec![Asked { parameters: Vec::new(), rows: top_ten(ages.collect()) }],
        ordered: true,
    }
}

fn most_known(world: &World) -> Question {
    let degrees = (0..).zip(world.in_degrees()).map(|(id, degree)| (i64::from(degree), id));
    Question {
        key: "top_in_degree",
        what: "top in-degree",
        text: "MATCH (:Person)-[:KNOWS]->(p:Person) \
               RETURN p.id AS id, count(*) AS known ORDER BY known DESC, id LIMIT 10",
        bound_ms: 15.0,
        asked: vec![Asked { parameters: Vec::new(), rows: top_ten(degrees.collect()) }],
        ordered: true,
    }
}
