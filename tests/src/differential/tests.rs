//! The generator makes what it should, the evaluator agrees with itself and with answers worked out
//! by hand, and a wrong answer is noticed.

use super::evaluate::evaluate;
use super::expression::{Expression, Operator, Val};
use super::graph::Edge;
use super::query::{Clause, EdgePattern, Item, ItemValue, NodePattern, Path, Projection, Towards};
use super::*;
use crate::tck::step::Procedure;
use crate::tck::subject::{Failure, GraphState, Phase, Rows};
use crate::tck::value::{Node, Relationship, TckValue};

/// Answers as the evaluator does, by making the same queries from the same seed; perhaps but for
/// one row.
struct Twin {
    rng: Rng,
    graph: RandomGraph,
    created: bool,
    drops_rows: bool,
}

impl Twin {
    fn new(seed: u64, drops_rows: bool) -> Self {
        let mut rng = Rng::new(seed);
        let graph = RandomGraph::new(&mut rng);
        Self { rng, graph, created: false, drops_rows }
    }
}

impl Subject for Twin {
    fn run(&mut self, text: &str, _: &Entries) -> Result<Rows, Failure> {
        if !self.created {
            self.created = true;
            assert_eq!(text, self.graph.create());
            return Ok(Rows::default());
        }
        let (query, mut expected) = case(&mut self.rng, &self.graph);
        assert_eq!(text, query.to_string());
        if self.drops_rows {
            expected.rows.pop();
        }
        Ok(Rows { columns: expected.columns, rows: expected.rows })
    }

    fn state(&mut self) -> Result<GraphState, String> {
        Ok(GraphState::default())
    }

    fn register(&mut self, _: &Procedure) -> Result<(), String> {
        Ok(())
    }
}

/// Gives one answer, whatever is asked.
struct Fixed(Result<Rows, Failure>);

impl Fixed {
    fn ints(rows: &[i64]) -> Self {
        let rows = rows.iter().map(|n| vec![TckValue::Int(*n)]).collect();
        Self(Ok(Rows { columns: vec!["n".to_owned()], rows }))
    }

    fn fails(kind: &str) -> Self {
        let (detail, message) = (String::new(), String::new());
        Self(Err(Failure { phase: Phase::Runtime, kind: kind.to_owned(), detail, message }))
    }
}

impl Subject for Fixed {
    fn run(&mut self, _: &str, _: &Entries) -> Result<Rows, Failure> {
        self.0.clone()
    }

    fn state(&mut self) -> Result<GraphState, String> {
        Ok(GraphState::default())
    }

    fn register(&mut self, _: &Procedure) -> Result<(), String> {
        Ok(())
    }
}

#[test]
fn subjects_agree_on_rows_and_their_order_unless_one_is_given_up() {
    let agreed = |in_order, mut one: Fixed, mut other: Fixed| {
        agree(&("RETURN n".to_owned(), in_order), &mut one, &mut other)
    };
    let ints = |in_order, a: &[i64], b: &[i64]| agreed(in_order, Fixed::ints(a), Fixed::ints(b));
    assert_eq!(ints(true, &[1, 2], &[1, 2]), Ok(Some(true)));
    assert_eq!(ints(false, &[1, 2], &[2, 1]), Ok(Some(true)));
    assert_eq!(ints(false, &[], &[]), Ok(Some(false)));
    assert!(ints(true, &[1, 2], &[2, 1]).is_err());
    assert!(ints(false, &[1, 2], &[1]).is_err());
    let late = Fixed::fails("TransactionTimedOut");
    assert_eq!(agreed(true, Fixed::ints(&[1]), late), Ok(None));
    assert!(agreed(true, Fixed::ints(&[1]), Fixed::fails("Panic")).is_err());
}

#[test]
fn right_answers_pass_and_a_missing_row_is_noticed() {
    for seed in 0..20 {
        let with_rows = check(seed, 20, &mut Twin::new(seed, false)).unwrap();
        let wrong = check(seed, 20, &mut Twin::new(seed, true));
        match with_rows {
            0 => assert_eq!(wrong, Ok(0)),
            _ => assert!(wrong.unwrap_err().starts_with(&format!("seed {seed}\nCREATE "))),
        }
    }
}

#[test]
fn queries_have_rows_and_use_the_whole_grammar() {
    let mut rng = Rng::new(1);
    let (mut texts, mut with_rows) = (String::new(), 0);
    for _ in 0..50 {
        let graph = RandomGraph::new(&mut rng);
        for _ in 0..20 {
            let (query, expected) = case(&mut rng, &graph);
            with_rows += u32::from(!expected.rows.is_empty());
            texts += &format!("{query}\n");
        }
    }
    assert!(with_rows > 600, "{with_rows} of 1000 queries have rows");
    for part in [
        "OPTIONAL MATCH",
        "UNWIND",
        "WITH DISTINCT",
        "RETURN DISTINCT",
        "ORDER BY",
        " DESC",
        "SKIP",
        "LIMIT",
        "EXISTS {",
        "COUNT {",
        "*0..2",
        "<-[",
        "collect(",
        "sum(",
        "count(*)",
        "count(DISTINCT",
        "IS NULL",
        "XOR",
        "STARTS WITH",
        " IN [",
        "CASE WHEN",
        "coalesce(",
        "type(",
        "size(",
        " {i: ",
    ] {
        assert!(texts.contains(part), "no query has {part}");
    }
}

#[test]
fn texts_are_what_the_parser_reads() {
    let mut rng = Rng::new(2);
    for _ in 0..50 {
        let graph = RandomGraph::new(&mut rng);
        let queries = (0..20).map(|_| generate::query(&mut rng).to_string());
        for text in queries.chain([graph.create()]) {
            if let Err(errors) = telar_cypher::parse(&text) {
                panic!("{text}\n{}", errors.render(&text));
            }
        }
    }
}

/// `WHERE p`, `WHERE NOT p` and `WHERE p IS NULL` share out the rows of no `WHERE`.
#[test]
fn filters_share_out_the_rows() {
    let mut tried = 0;
    for seed in 0..300 {
        let mut rng = Rng::new(seed);
        let graph = RandomGraph::new(&mut rng);
        let mut query = generate::query(&mut rng);
        query.clauses.truncate(1);
        let Some(Clause::Match { paths, filter: Some(filter), .. }) = query.clauses.pop() else {
            continue;
        };
        let names: Vec<String> = paths.iter().flat_map(|path| path.names().cloned()).collect();
        let item = |name: &String| Item {
            value: ItemValue::Expression(Expression::Variable(name.clone())),
            name: name.clone(),
        };
        query.result = Projection { items: names.iter().map(item).collect(), ..query.result };
        query.result = Projection { items: query.result.items, ..Projection::default() };
        let mut rows = |filter: Option<Expression>| {
            let paths = paths.clone();
            query.clauses =
                vec![Clause::Match { optional: false, paths, hints: Vec::new(), filter }];
            evaluate(&query, &graph).map(|expected| expected.rows)
        };
        let not = Expression::Not(filter.clone().into());
        let unknown = Expression::IsNull(filter.clone().into(), true);
        let Some(mut all) = rows(None) else { continue };
        let mut parts = Vec::new();
        for part in [filter, not, unknown] {
            parts.extend(rows(Some(part)).unwrap());
        }
        all.sort();
        parts.sort();
        assert_eq!(all, parts, "seed {seed}: {query}");
        tried += 1;
    }
    assert!(tried > 100, "{tried}");
}

/// `(0:A {i: 1})-[:R]->(1:B)`, a second such edge, a loop at 1, and a vertex alone.
fn small() -> RandomGraph {
    let node = |label: &str, i: Option<i64>| Node {
        labels: [label.to_owned()].into(),
        properties: i.map(|i| ("i".to_owned(), TckValue::Int(i))).into_iter().collect(),
    };
    let edge = |from, to| {
        let relationship = Relationship { ty: "R".to_owned(), ..Relationship::default() };
        Edge { from, to, relationship }
    };
    RandomGraph {
        nodes: vec![node("A", Some(1)), node("B", None), node("C", Some(2))],
        edges: vec![edge(0, 1), edge(0, 1), edge(1, 1)],
    }
}

fn count_of(towards: Towards, length: Option<(usize, usize)>) -> Option<i64> {
    let node = |name: &str| NodePattern { name: Some(name.to_owned()), ..NodePattern::default() };
    let edge = EdgePattern { name: None, types: vec![], towards, length, properties: vec![] };
    let paths = vec![Path { start: node("a"), steps: vec![(edge, node("b"))] }];
    let clauses = vec![Clause::Match { optional: false, paths, hints: Vec::new(), filter: None }];
    let items = vec![Item { value: ItemValue::CountRows, name: "c".to_owned() }];
    let query = Query { clauses, result: Projection { items, ..Projection::default() } };
    match evaluate(&query, &small())?.rows[..] {
        [ref row] => match row[..] {
            [TckValue::Int(count)] => Some(count),
            _ => None,
        },
        _ => None,
    }
}

#[test]
fn patterns_match_as_worked_out_by_hand() {
    // Three edges; walked both ways the loop still counts once.
    assert_eq!(count_of(Towards::Right, None), Some(3));
    assert_eq!(count_of(Towards::Left, None), Some(3));
    assert_eq!(count_of(Towards::Both, None), Some(5));
    // No step leaves each of three vertices at itself.
    assert_eq!(count_of(Towards::Right, Some((0, 1))), Some(6));
    // Over either parallel edge and then the loop.
    assert_eq!(count_of(Towards::Right, Some((2, 2))), Some(2));
    // 0-1-0 twice, 1-0-1 twice, 0-1-1 twice, 1-1-0 twice.
    assert_eq!(count_of(Towards::Both, Some((2, 2))), Some(8));
}

#[test]
fn unknown_is_neither_true_nor_false() {
    let graph = small();
    let null = || Box::new(Expression::Literal(Val::Null));
    let bool = |truth| Box::new(Expression::Literal(Val::Bool(truth)));
    let value =
        |operator, a, b| Expression::Binary(operator, a, b).value(&Default::default(), &graph);
    assert_eq!(value(Operator::And, null(), bool(false)), Val::Bool(false));
    assert_eq!(value(Operator::And, null(), bool(true)), Val::Null);
    assert_eq!(value(Operator::Or, bool(true), null()), Val::Bool(true));
    assert_eq!(value(Operator::Or, null(), bool(false)), Val::Null);
    assert_eq!(value(Operator::Xor, null(), bool(true)), Val::Null);
    assert_eq!(value(Operator::Equal, null(), null()), Val::Null);
    let list = |elements| Expression::In(bool(true), elements).value(&Default::default(), &graph);
    assert_eq!(list(vec![]), Val::Bool(false));
    assert_eq!(list(vec![*null(), *bool(false)]), Val::Null);
    assert_eq!(list(vec![*null(), *bool(true)]), Val::Bool(true));
}
