//! A subject that knows what each scenario expects, and answers so. It shows that the harness lets
//! right answers pass and, once an answer is changed, that it notices.

use std::collections::VecDeque;

use super::step::{ExpectedRows, Procedure, Step};
use super::subject::{Effects, Failure, GraphState, Phase, Rows, Subject};
use super::suite::{Graphs, Scenario};
use super::value::{Entries, Node, Relationship, TckValue};

/// What the subject answers to one query, and the graph afterwards.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Rows or an error.
    pub result: Result<Rows, Failure>,
    /// The graph when the query is done.
    pub state: GraphState,
}

/// Answers in the order of the queries.
#[derive(Debug, Clone)]
pub struct Script {
    /// The graph before the first query.
    pub state: GraphState,
    /// One per query.
    pub answers: VecDeque<Answer>,
    /// Which of the answers is that of the tested query.
    pub tested: usize,
}

impl Subject for Script {
    fn run(&mut self, _: &str, _: &Entries) -> Result<Rows, Failure> {
        let answer = self.answers.pop_front().expect("the script has an answer per query");
        self.state = answer.state;
        answer.result
    }

    fn state(&mut self) -> Result<GraphState, String> {
        Ok(self.state.clone())
    }

    fn register(&mut self, _: &Procedure) -> Result<(), String> {
        Ok(())
    }
}

impl Script {
    /// The answers that a scenario wants.
    #[must_use]
    pub fn of(scenario: &Scenario, graphs: &Graphs) -> Self {
        let effects = scenario.steps.iter().find_map(|step| match step {
            Step::Effects(effects) => Some(effects.clone()),
            _ => None,
        });
        let [before, after] = states(&effects.unwrap_or_default());
        let mut script = Self { state: before.clone(), answers: VecDeque::new(), tested: 0 };
        let mut add = |state: &GraphState| {
            let (state, result) = (state.clone(), Ok(Rows::default()));
            script.answers.push_back(Answer { state, result });
            script.answers.len() - 1
        };
        let (mut last, mut tested) = (0, 0);
        let mut results = Vec::new();
        for step in &scenario.steps {
            match step {
                Step::NamedGraph(name) => graphs[name].iter().for_each(|_| {
                    add(&before);
                }),
                Step::Execute(_) => drop(add(&before)),
                Step::Query(_) => {
                    last = add(&after);
                    tested = last;
                }
                Step::ControlQuery(_) => last = add(&after),
                Step::Rows(rows) => results.push((last, Ok(answer(rows)))),
                Step::Error(error) => {
                    let phase = error.phase.unwrap_or(Phase::Runtime);
                    let (kind, detail) = (error.kind.clone(), error.detail.clone());
                    let message = String::new();
                    results.push((last, Err(Failure { phase, kind, detail, message })));
                }
                _ => {}
            }
        }
        for (query, result) in results {
            script.answers[query].result = result;
        }
        script.tested = tested;
        script
    }

    /// The answer to the tested query.
    ///
    /// # Panics
    /// If it was given already.
    pub fn tested(&mut self) -> &mut Answer {
        let tested = self.tested;
        &mut self.answers[tested]
    }
}

/// The rows themselves; where order does not matter, in another one.
fn answer(expected: &ExpectedRows) -> Rows {
    let (columns, mut rows) = (expected.columns.clone(), expected.rows.clone());
    if !expected.in_order {
        rows.reverse();
    }
    if expected.any_list_order {
        rows.iter_mut().flatten().for_each(|value| {
            if let TckValue::List(elements) = value {
                elements.reverse();
            }
        });
    }
    Rows { columns, rows }
}

/// Two graphs between which a query has these effects.
fn states(effects: &Effects) -> [GraphState; 2] {
    let count = |name: &str| effects.0.get(name).copied().unwrap_or(0);
    // Node 0 stays and bears labels and properties; what is gone has ids from 1, what is new from
    // 1000.
    let state = |sign: &str, first: u64| {
        let names = |what: &str| -> Vec<String> {
            let count = count(&format!("{sign}{what}"));
            (0..count).map(|n| format!("{what}{}", first + n)).collect()
        };
        let mut stays = Node { labels: names("labels").into_iter().collect(), ..Node::default() };
        let properties = names("properties").into_iter().map(|key| (key, TckValue::Int(1)));
        stays.properties = properties.collect();
        let mut state = GraphState::default();
        state.nodes.insert(0, stays);
        for n in 0..count(&format!("{sign}nodes")) {
            state.nodes.insert(first + n, Node::default());
        }
        for n in 0..count(&format!("{sign}relationships")) {
            state.relationships.insert([0, 0, 0, first + n], Relationship::default());
        }
        state
    };
    [state("-", 1), state("+", 1000)]
}
