//! The harness against a subject whose answers are known: right ones pass, every wrong one fails.

use super::run::run;
use super::scripted::Script;
use super::step::Step;
use super::subject::{Failure, Phase, Rows};
use super::suite::{Scenario, Suite};
use super::value::{Node, TckValue};

fn suite() -> Option<Suite> {
    Some(Suite::read(&crate::shared("tck")?).unwrap())
}

#[test]
fn right_answers_pass_every_scenario() {
    let Some(suite) = suite() else { return };
    for scenario in &suite.scenarios {
        let mut script = Script::of(scenario, &suite.graphs);
        let outcome = run(scenario, &suite.graphs, &mut script);
        assert_eq!(outcome.result, Ok(()), "{}", scenario.id);
        assert!(script.answers.is_empty(), "{}: a query was not run", scenario.id);
        let wanted = scenario.steps.iter().any(|step| matches!(step, Step::Error(_)));
        assert_eq!(outcome.error.is_some(), wanted, "{}", scenario.id);
        assert!(outcome.error.is_none_or(|e| e.raised && e.phase && e.kind && e.detail));
    }
}

/// Runs the scenario with changed answers; `None` if the change does not apply.
fn fails(
    suite: &Suite,
    scenario: &Scenario,
    change: &dyn Fn(&mut Script) -> Option<()>,
) -> Option<bool> {
    let mut script = Script::of(scenario, &suite.graphs);
    change(&mut script)?;
    Some(run(scenario, &suite.graphs, &mut script).result.is_err())
}

fn failure() -> Failure {
    let (kind, detail) = ("SyntaxError".to_owned(), "UnexpectedSyntax".to_owned());
    Failure { phase: Phase::Compile, kind, detail, message: String::new() }
}

/// The rows of the answer to the tested query.
fn rows(script: &mut Script) -> Option<&mut Rows> {
    script.tested().result.as_mut().ok()
}

/// Another value that is like this one.
fn other(value: &TckValue) -> TckValue {
    match value {
        TckValue::Null => TckValue::Bool(false),
        TckValue::Bool(value) => TckValue::Bool(!value),
        TckValue::Int(n) => TckValue::float(*n as f64),
        TckValue::Float(f) if f.get().is_finite() => TckValue::float(f.get() * 1.000_001 + 1e-300),
        TckValue::Float(_) => TckValue::float(0.0),
        TckValue::String(text) => TckValue::String(format!("{text} ")),
        TckValue::List(elements) if elements.is_empty() => TckValue::List(vec![TckValue::Null]),
        TckValue::List(elements) => {
            let mut elements = elements.clone();
            elements[0] = other(&elements[0]);
            TckValue::List(elements)
        }
        TckValue::Map(entries) => {
            let mut entries = entries.clone();
            entries.insert("another key".to_owned(), TckValue::Null);
            TckValue::Map(entries)
        }
        TckValue::Node(node) => {
            let mut node = node.clone();
            node.labels.insert("AnotherLabel".to_owned());
            TckValue::Node(node)
        }
        TckValue::Relationship(relationship) => {
            let mut relationship = relationship.clone();
            relationship.properties.insert("another key".to_owned(), TckValue::Int(1));
            TckValue::Relationship(relationship)
        }
        TckValue::Path(path) => {
            let mut path = path.clone();
            match path.steps.last_mut() {
                Some(hop) => hop.forward = !hop.forward,
                None => drop(path.start.labels.insert("AnotherLabel".to_owned())),
            }
            TckValue::Path(path)
        }
    }
}

#[test]
fn every_changed_answer_fails() {
    let Some(suite) = suite() else { return };
    type Change = (&'static str, &'static dyn Fn(&mut Script) -> Option<()>);
    let changes: [Change; 10] = [
        ("a row is missing", &|s| rows(s)?.rows.pop().map(drop)),
        ("a row comes twice", &|s| {
            let rows = &mut rows(s)?.rows;
            let last = rows.last()?.clone();
            rows.push(last);
            Some(())
        }),
        ("a value is another", &|s| {
            let value = rows(s)?.rows.first_mut()?.first_mut()?;
            *value = other(value);
            Some(())
        }),
        ("the last value is another", &|s| {
            let value = rows(s)?.rows.last_mut()?.last_mut()?;
            *value = other(value);
            Some(())
        }),
        ("a column has another name", &|s| {
            rows(s)?.columns.first_mut()?.push('x');
            Some(())
        }),
        ("a node is new", &|s| {
            s.tested().state.nodes.insert(u64::MAX, Node::default());
            Some(())
        }),
        ("a property changed", &|s| {
            let node = s.tested().state.nodes.get_mut(&0)?;
            node.properties.insert("another".to_owned(), TckValue::Int(0));
            Some(())
        }),
        ("the query fails", &|s| {
            rows(s)?;
            s.tested().result = Err(failure());
            Some(())
        }),
        ("the query does not fail", &|s| {
            s.tested().result.as_ref().err()?;
            s.tested().result = Ok(Rows::default());
            Some(())
        }),
        ("preparing fails", &|s| {
            let first = s.answers.front_mut().filter(|_| s.tested > 0)?;
            first.result = Err(failure());
            Some(())
        }),
    ];
    for (name, change) in changes {
        let mut tried = 0;
        for scenario in &suite.scenarios {
            let checks_effects =
                scenario.steps.iter().any(|step| matches!(step, Step::Effects(_) | Step::Error(_)));
            if !checks_effects && matches!(name, "a node is new" | "a property changed") {
                continue;
            }
            if let Some(failed) = fails(&suite, scenario, change) {
                assert!(failed, "{name}, and nobody noticed: {}", scenario.id);
                tried += 1;
            }
        }
        assert!(tried > 50, "{name}: {tried} scenarios only");
    }
}

#[test]
fn order_and_phase_and_control_queries_are_checked() {
    let Some(suite) = suite() else { return };
    let (mut orders, mut phases, mut controls) = (0, 0, 0);
    for scenario in &suite.scenarios {
        let in_order =
            scenario.steps.iter().any(|step| matches!(step, Step::Rows(rows) if rows.in_order));
        let turned = fails(&suite, scenario, &|s| {
            let rows = rows(s).filter(|_| in_order)?;
            let original = rows.rows.clone();
            rows.rows.reverse();
            (original != rows.rows).then_some(())
        });
        let phase = scenario.steps.iter().find_map(|step| match step {
            Step::Error(error) => error.phase,
            _ => None,
        });
        let late = fails(&suite, scenario, &|s| {
            let failure = s.tested().result.as_mut().err()?;
            failure.phase = match phase? {
                Phase::Compile => Phase::Runtime,
                Phase::Runtime => Phase::Compile,
            };
            Some(())
        });
        let controlled = fails(&suite, scenario, &|s| {
            let last = s.answers.len() - 1;
            (last > s.tested).then(|| s.answers[last].result = Err(failure()))
        });
        for (count, failed) in
            [(&mut orders, turned), (&mut phases, late), (&mut controls, controlled)]
        {
            assert_ne!(failed, Some(false), "nobody noticed: {}", scenario.id);
            *count += u32::from(failed.is_some());
        }
    }
    assert!(orders > 30 && phases > 100 && controls > 10, "{orders} {phases} {controls}");
}
