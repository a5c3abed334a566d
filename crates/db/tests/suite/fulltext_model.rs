//! Full-text indexes against an evaluator that reads all documents: the same hits and scores, now,
//! in transactions before they commit, and at every retained commit, while documents come, change
//! and go, the index settles, and the database is closed and opened again.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

/// A node: its labels, and the text of `p` and `q`.
#[derive(Debug, Clone, Default, PartialEq)]
struct Document {
    labels: BTreeSet<&'static str>,
    texts: [Vec<&'static str>; 2],
}

/// Nodes by number.
type State = BTreeMap<i64, Document>;

const WORDS: [&str; 5] = ["aa", "ab", "ba", "bb", "cc"];
const FIELDS: [&str; 2] = ["p", "q"];
const LABELS: [&str; 3] = ["A", "B", "C"];

/// A query, as the evaluator has it.
#[derive(Debug, Clone, Copy)]
enum Query {
    Term(Option<usize>, &'static str),
    Phrase(&'static str, &'static str),
    /// A term of which this is true.
    Matching(fn(&str) -> bool),
    Both(&'static str, &'static str),
    /// The first, and one of the others.
    BothOf(&'static str, [&'static str; 2]),
    /// The first; the other adds.
    Needed(&'static str, &'static str),
    Either(&'static str, &'static str),
    Without(&'static str, &'static str),
}

const QUERIES: [(&str, Query); 14] = [
    ("aa", Query::Term(None, "aa")),
    ("q:ab", Query::Term(Some(1), "ab")),
    ("p:cc", Query::Term(Some(0), "cc")),
    ("\"aa ba\"", Query::Phrase("aa", "ba")),
    ("b*", Query::Matching(|term| term.starts_with("b"))),
    ("*b", Query::Matching(|term| term.ends_with("b"))),
    ("/a[ab]|cc/", Query::Matching(|term| ["aa", "ab", "cc"].contains(&term))),
    ("[ab TO bb]", Query::Matching(|term| ["ab", "ba", "bb"].contains(&term))),
    ("*", Query::Matching(|_| true)),
    ("aa AND bb", Query::Both("aa", "bb")),
    ("cc AND (aa bb)", Query::BothOf("cc", ["aa", "bb"])),
    ("+aa ab", Query::Needed("aa", "ab")),
    ("ab cc", Query::Either("ab", "cc")),
    ("ba -aa", Query::Without("ba", "aa")),
];

/// The scores of a query over the documents of a state.
fn evaluate(state: &State, query: Query) -> BTreeMap<i64, f64> {
    let is_in = |d: &Document| d.labels.contains("A") || d.labels.contains("B");
    let documents: Vec<(i64, &Document)> =
        state.iter().filter(|(_, d)| is_in(d)).map(|(id, d)| (*id, d)).collect();
    let score = |field: usize, sought: &[&str]| -> BTreeMap<i64, f64> {
        let texts = || documents.iter().map(|(id, d)| (*id, &d.texts[field]));
        let n = texts().filter(|(_, t)| !t.is_empty()).count() as f64;
        let average = texts().map(|(_, t)| t.len()).sum::<usize>() as f64 / n;
        let idf: f64 = sought
            .iter()
            .map(|term| texts().filter(|(_, t)| t.contains(term)).count() as f64)
            .map(|df| (1.0 + (n - df + 0.5) / (df + 0.5)).ln())
            .sum();
        texts()
            .filter_map(|(id, text)| {
                let tf = text.windows(sought.len()).filter(|w| *w == sought).count() as f64;
                let length = text.len() as f64;
                let score = idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / average));
                (tf > 0.0).then_some((id, score))
            })
            .collect()
    };
    let sum = |of: &[BTreeMap<i64, f64>]| {
        let mut sum: BTreeMap<i64, f64> = BTreeMap::new();
        for (id, score) in of.iter().flatten() {
            *sum.entry(*id).or_default() += score;
        }
        sum
    };
    let both = |a: BTreeMap<i64, f64>, b: BTreeMap<i64, f64>| {
        let both = sum(&[a.clone(), b.clone()]).into_iter();
        both.filter(|(id, _)| a.contains_key(id) && b.contains_key(id)).collect()
    };
    let everywhere = |sought: &[&str]| sum(&[score(0, sought), score(1, sought)]);
    match query {
        Query::Term(Some(field), term) => score(field, &[term]),
        Query::Term(None, term) => everywhere(&[term]),
        Query::Phrase(a, b) => everywhere(&[a, b]),
        Query::Matching(matches) => {
            let count = |(id, d): &(i64, &Document)| {
                let has = |t: &&Vec<&str>| t.iter().any(|word| matches(word));
                (*id, d.texts.iter().filter(has).count() as f64)
            };
            documents.iter().map(count).filter(|(_, n)| *n > 0.0).collect()
        }
        Query::Both(a, b) => both(everywhere(&[a]), everywhere(&[b])),
        Query::BothOf(a, [b, c]) => {
            both(everywhere(&[a]), sum(&[everywhere(&[b]), everywhere(&[c])]))
        }
        Query::Needed(a, b) => {
            let a = everywhere(&[a]);
            let sum = sum(&[a.clone(), everywhere(&[b])]);
            sum.into_iter().filter(|(id, _)| a.contains_key(id)).collect()
        }
        Query::Either(a, b) => sum(&[everywhere(&[a]), everywhere(&[b])]),
        Query::Without(a, b) => {
            let b = everywhere(&[b]);
            everywhere(&[a]).into_iter().filter(|(id, _)| !b.contains_key(id)).collect()
        }
    }
}

/// The rows of a query text in a session or a transaction.
type Run<'r> = dyn FnMut(&str) -> Vec<Vec<Value>> + 'r;

fn compare(state: &State, past: &str, run: &mut Run<'_>) {
    for (text, query) in QUERIES {
        let text = format!(
            "{past} CALL db.index.fulltext.queryNodes('i', '{text}') YIELD node, score \
             RETURN node.id, score"
        );
        let found: Vec<(i64, f64)> = run(&text).iter().map(|row| hit(row)).collect();
        assert!(found.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{text}: {found:?}");
        compare_best(&text, &found, run);
        let (count, found) = (found.len(), found.into_iter().collect::<BTreeMap<_, _>>());
        let expected = evaluate(state, query);
        let near = |(a, b): ((&i64, &f64), (&i64, &f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-4;
        let same = count == expected.len() && found.iter().zip(&expected).all(near);
        assert!(same, "{text}\nfound    {found:?}\nexpected {expected:?}\n{state:?}");
    }
}

/// The best two are the first two of all.
fn compare_best(text: &str, all: &[(i64, f64)], run: &mut Run<'_>) {
    let best = run(&text.replace("') YIELD", "', {limit: 2}) YIELD"));
    let best: Vec<(i64, f64)> = best.into_iter().map(|row| hit(&row)).collect();
    assert_eq!(best, all[..all.len().min(2)], "{text}");
}

fn hit(row: &[Value]) -> (i64, f64) {
    match row {
        [Value::Int(id), Value::Float(score)] => (*id, *score),
        _ => panic!("{row:?}"),
    }
}

#[derive(Debug, Clone)]
enum Step {
    Create(Document),
    /// The text of a field of one of the nodes.
    Set(usize, usize, Vec<&'static str>),
    Label(usize, &'static str, bool),
    Delete(usize),
    /// Several, one of which ends well or not.
    Transaction(Vec<Step>, bool),
    Checkpoint,
    Reopen,
}

fn texts() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&WORDS[..]), 0..5)
}

fn writes() -> BoxedStrategy<Step> {
    let labels = prop::sample::subsequence(&LABELS[..], 0..=3);
    let document = (labels, texts(), texts()).prop_map(|(labels, p, q)| {
        let labels = labels.into_iter().collect();
        Step::Create(Document { labels, texts: [p, q] })
    });
    prop_oneof![
        4 => document,
        4 => (any::<usize>(), 0..2usize, texts()).prop_map(|(at, field, text)| {
            Step::Set(at, field, text)
        }),
        2 => (any::<usize>(), prop::sample::select(&LABELS[..]), any::<bool>())
            .prop_map(|(at, label, is)| Step::Label(at, label, is)),
        1 => any::<usize>().prop_map(Step::Delete),
    ]
    .boxed()
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => writes(),
        3 => (prop::collection::vec(writes(), 1..6), any::<bool>())
            .prop_map(|(steps, commits)| Step::Transaction(steps, commits)),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..24)
}

/// The value of a text: a string, a list if it has three words, null if it has none.
fn literal(text: &[&str]) -> String {
    match text {
        [] => "null".to_owned(),
        [_, _, _] => format!("['{}']", text.join(" ")),
        text => format!("'{}'", text.join(" ")),
    }
}

/// Does a write, to the state and in the database.
fn write(step: &Step, state: &mut State, next: &mut i64, run: &mut Run<'_>) {
    let node = |at: usize| state.keys().nth(at % state.len().max(1)).copied();
    match step {
        Step::Create(document) => {
            let id = *next;
            *next += 1;
            let labels: String = document.labels.iter().map(|label| format!(":{label}")).collect();
            let [p, q] = document.texts.each_ref().map(|text| literal(text));
            run(&format!("CREATE (n{labels} {{id: {id}, p: {p}, q: {q}}})"));
            state.insert(id, document.clone());
        }
        Step::Set(at, field, text) => {
            let Some(id) = node(*at) else { return };
            let value = literal(text);
            run(&format!("MATCH (n {{id: {id}}}) SET n.{} = {value}", FIELDS[*field]));
            state.get_mut(&id).unwrap().texts[*field] = text.clone();
        }
        Step::Label(at, label, is) => {
            let Some(id) = node(*at) else { return };
            let word = if *is { "SET" } else { "REMOVE" };
            run(&format!("MATCH (n {{id: {id}}}) {word} n:{label}"));
            let labels = &mut state.get_mut(&id).unwrap().labels;
            if *is {
                labels.insert(label)
            } else {
                labels.remove(label)
            };
        }
        Step::Delete(at) => {
            let Some(id) = node(*at) else { return };
            run(&format!("MATCH (n {{id: {id}}}) DELETE n"));
            state.remove(&id);
        }
        _ => unreachable!("no write"),
    }
}

fn open(dir: &std::path::Path) -> Database {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(1000);
    telar_db::open_with(dir, settings).unwrap()
}

fn rows(db: &Database, text: &str) -> Vec<Vec<Value>> {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}")).rows
}

fn published(db: &Database) -> u64 {
    Session::new(db).run("RETURN 1", &[]).unwrap().at.get()
}

/// Returns the number of states of the past that were compared.
fn follow(steps: &[Step], before: usize) -> usize {
    let dir = tempfile::tempdir().unwrap();
    let mut db = open(dir.path());
    let (mut state, mut next) = (State::new(), 0);
    let mut past: Vec<(u64, State)> = Vec::new();
    let create = "CREATE FULLTEXT INDEX i FOR (n:A|B) ON EACH [n.p, n.q]";
    for (at, step) in steps.iter().enumerate() {
        if at == before.min(steps.len() - 1) {
            rows(&db, create);
        }
        match step {
            Step::Checkpoint => {
                db.checkpoint().unwrap();
            }
            Step::Reopen => {
                drop(db);
                db = open(dir.path());
            }
            Step::Transaction(writes, commits) => {
                let session = Session::new(&db);
                let mut transaction = session.begin().unwrap();
                let (mut own, mut own_next) = (state.clone(), next);
                let mut run = |text: &str| {
                    let found = transaction.run(text, &ValueMap::new());
                    found.unwrap_or_else(|e| panic!("{text}: {e}")).rows
                };
                for step in writes {
                    write(step, &mut own, &mut own_next, &mut run);
                    if at >= before {
                        compare(&own, "", &mut run);
                    }
                }
                if at >= before {
                    compare(&state, "", &mut |text| rows(&db, text));
                }
                if *commits {
                    transaction.commit().unwrap();
                    (state, next) = (own, own_next);
                } else {
                    transaction.rollback();
                }
            }
            step => write(step, &mut state, &mut next, &mut |text| rows(&db, text)),
        }
        if at >= before.min(steps.len() - 1) {
            compare(&state, "", &mut |text| rows(&db, text));
        }
        past.push((published(&db), state.clone()));
    }
    past.dedup_by_key(|(ts, _)| *ts);
    for (ts, state) in &past {
        compare(state, &format!("AT TIMESTAMP {ts}"), &mut |text| rows(&db, text));
    }
    past.len()
}

/// A transaction that reads, and is left open while others write: its documents as they were.
struct Held {
    transaction: telar_db::QueryTransaction,
    state: State,
}

impl Held {
    fn compare(&mut self) {
        let transaction = &mut self.transaction;
        compare(&self.state, "", &mut |text| {
            let found = transaction.run(text, &ValueMap::new());
            found.unwrap_or_else(|e| panic!("{text}: {e}")).rows
        });
    }
}

/// Compares what transactions that began at other commits find, while documents change.
fn follow_held(steps: &[(Step, bool)]) {
    let mut settings = Settings::default();
    settings.background_interval_ms = 1;
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    rows(&db, "CREATE FULLTEXT INDEX i FOR (n:A|B) ON EACH [n.p, n.q]");
    let (mut state, mut next) = (State::new(), 0);
    let mut held: Vec<Held> = Vec::new();
    for (step, holds) in steps {
        write(step, &mut state, &mut next, &mut |text| rows(&db, text));
        if *holds {
            if held.len() > 1 {
                held.remove(0);
            }
            held.push(Held { transaction: session.begin().unwrap(), state: state.clone() });
        }
        // Older commits are read before newer ones, and after them.
        if next % 2 == 0 {
            held.iter_mut().for_each(Held::compare);
        }
        compare(&state, "", &mut |text| rows(&db, text));
        held.iter_mut().rev().for_each(Held::compare);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, max_shrink_iters: 200, ..Default::default() })]
    #[test]
    fn transactions_find_what_was_when_they_began(
        steps in prop::collection::vec((writes(), prop::bool::weighted(0.3)), 1..16),
    ) {
        follow_held(&steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, ..Default::default() })]
    #[test]
    fn hits_and_scores_are_those_of_all_documents(steps in steps(), before in 0..6usize) {
        prop_assert!(follow(&steps, before) > 0);
    }

    // Beside the other one, as it takes its time.
    #[test]
    fn hits_and_scores_of_an_index_made_later_are_those_of_all_documents(
        steps in steps(),
        before in 6..12usize,
    ) {
        prop_assert!(follow(&steps, before) > 0);
    }
}
