//! Every scenario of the TCK that evaluates expressions on no graph, read from its feature files.
//!
//! The calculator knows `WITH … RETURN …` and no other clause; scenarios with more are left to the
//! tests of the whole language. The files are not part of the repository (docs/testing.md).

use std::path::{Path, PathBuf};

use telar_graph::Value;

use super::calculator::{Failure, Scope, evaluate, evaluate_in};

#[path = "../../../../../tests/src/test_data.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod test_data;

/// Scenarios of the shared folder that the calculator can run, at least.
const RUN_MIN: usize = 700;

#[test]
fn expressions_of_the_tck_have_the_results_that_it_says() {
    let Some(folder) = test_data::shared("tck/features/expressions") else { return };
    let (mut run, mut failures) = (0, Vec::new());
    for file in files(&folder) {
        let text = std::fs::read_to_string(&file).unwrap();
        for (title, steps, examples) in scenarios(&text) {
            for example in examples {
                let steps = example.iter().fold(steps.clone(), |steps, (name, value)| {
                    steps.replace(&format!("<{name}>"), value)
                });
                match check(&steps) {
                    Ok(()) => run += 1,
                    Err(Mismatch::NotForUs) => {}
                    Err(Mismatch::Wrong(what)) => {
                        let name = file.file_stem().unwrap().to_string_lossy();
                        failures.push(format!("{name} {title}: {what}\n{steps}"));
                    }
                }
            }
        }
    }
    println!("{run} scenarios run");
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n"));
    assert!(run >= RUN_MIN, "only {run} scenarios could be run");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

type Example = Vec<(String, String)>;

/// Title, steps and examples of each scenario; one that is no outline has one empty example.
fn scenarios(text: &str) -> Vec<(String, String, Vec<Example>)> {
    let mut found = Vec::new();
    for scenario in text.split("\n  Scenario").skip(1) {
        let (title, body) = scenario.split_once('\n').unwrap_or((scenario, ""));
        let body: Vec<&str> = body.lines().map(str::trim).filter(|l| !l.starts_with('#')).collect();
        let body = body.join("\n");
        let (steps, table) = body.split_once("Examples:").unwrap_or((&body, ""));
        let rows: Vec<Vec<String>> = table.lines().filter_map(cells).collect();
        let examples = match rows.split_first() {
            None => vec![Example::new()],
            Some((names, rows)) => rows
                .iter()
                .map(|row| names.iter().cloned().zip(row.iter().cloned()).collect())
                .collect(),
        };
        found.push((title.to_owned(), steps.to_owned(), examples));
    }
    found
}

/// The cells of `| a | b |`.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().replace("\\\\", "\\")).collect())
}

enum Mismatch {
    /// The scenario uses more than expressions.
    NotForUs,
    Wrong(String),
}

/// Runs `WITH a AS x, … RETURN …` and compares with the table, or with the error, that follows.
fn check(steps: &str) -> Result<(), Mismatch> {
    let mut parts = steps.split("\"\"\"");
    let (before, query) = (parts.next(), parts.next());
    let (Some(before), Some(query), Some(then), None) = (before, query, parts.next(), parts.next())
    else {
        return Err(Mismatch::NotForUs);
    };
    if before.contains("having executed") {
        return Err(Mismatch::NotForUs);
    }
    let scope = parameters(before).ok_or(Mismatch::NotForUs)?;
    if let Some((_, error)) = then.split_once("should be raised at ") {
        return check_error(query, scope, error);
    }
    let rows: Vec<Vec<String>> = then.lines().filter_map(cells).collect();
    let [_, expected] = rows.as_slice() else { return Err(Mismatch::NotForUs) };
    let found = match run(query, scope) {
        Ok(found) => found,
        Err(Failure::Syntax(_)) => return Err(Mismatch::NotForUs),
        Err(Failure::Eval(error)) => return Err(Mismatch::Wrong(error.to_string())),
    };
    if found.len() != expected.len() {
        return Err(Mismatch::NotForUs);
    }
    for (found, expected) in found.into_iter().zip(expected) {
        let Ok(wanted) = evaluate(expected) else { return Err(Mismatch::NotForUs) };
        let any_order = then.contains("ignoring element order");
        let found = sorted(as_text(found), any_order);
        if found != sorted(wanted, any_order) {
            return Err(Mismatch::Wrong(format!("found {found:?}, expected {expected}")));
        }
    }
    Ok(())
}

/// An error at run time must come with the same word.
fn check_error(query: &str, scope: Scope, error: &str) -> Result<(), Mismatch> {
    let (phase, word) = error.trim().lines().next().unwrap_or_default().split_once(": ").unwrap();
    // What is an error when a query is compiled may have a value.
    if phase == "compile time" {
        return Err(Mismatch::NotForUs);
    }
    match run(query, scope) {
        Err(Failure::Eval(error)) if word == "*" || error.detail.to_string() == word => Ok(()),
        Err(Failure::Syntax(_)) => Err(Mismatch::NotForUs),
        Err(Failure::Eval(error)) => Err(Mismatch::Wrong(format!("{error}, not {word}"))),
        Ok(values) => Err(Mismatch::Wrong(format!("{values:?}, not {word}"))),
    }
}

/// The parameters given before the query; none when one is more than an expression.
fn parameters(before: &str) -> Option<Scope> {
    let Some((_, table)) = before.split_once("parameters are:") else { return Some(Scope::new()) };
    table
        .lines()
        .filter_map(cells)
        .map(|row| match row.as_slice() {
            [name, value] => Some((format!("${name}"), evaluate(value).ok()?)),
            _ => None,
        })
        .collect()
}

/// The values that the query returns.
fn run(query: &str, parameters: Scope) -> Result<Vec<Value>, Failure> {
    let mut scope = parameters.clone();
    let mut rest = query.trim();
    loop {
        let not_for_us = || Failure::Syntax(rest.to_owned());
        let (keyword, after) = rest.split_once(char::is_whitespace).ok_or_else(not_for_us)?;
        let returns = keyword == "RETURN";
        if !returns && keyword != "WITH" {
            return Err(not_for_us());
        }
        let end = ["\nWITH ", "\nRETURN "].iter().filter_map(|next| after.find(next)).min();
        let (body, next) = after.split_at(end.unwrap_or(after.len()));
        let mut values = Vec::new();
        let mut next_scope = parameters.clone();
        for item in items(body) {
            let (expression, name) = item.rsplit_once(" AS ").unwrap_or((&item, &item));
            let value = evaluate_in(expression, &scope)?;
            next_scope.insert(name.trim().to_owned(), value.clone());
            values.push(value);
        }
        if returns {
            return if next.is_empty() { Ok(values) } else { Err(not_for_us()) };
        }
        scope = next_scope;
        rest = next.trim();
    }
}

/// What stands between commas outside brackets and quotes.
fn items(body: &str) -> Vec<String> {
    let (mut items, mut depth, mut quote) = (vec![String::new()], 0, None);
    for c in body.chars() {
        match (quote, c) {
            (Some(open), c) if open == c => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                items.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(item) = items.last_mut() {
            item.push(c);
        }
    }
    items
}

/// The value with temporal values as the texts that the TCK writes for them.
fn as_text(value: Value) -> Value {
    match value {
        Value::Date(x) => x.to_string().into(),
        Value::LocalTime(x) => x.to_string().into(),
        Value::Time(x) => x.to_string().into(),
        Value::LocalDateTime(x) => x.to_string().into(),
        Value::DateTime(x) => x.to_string().into(),
        Value::Duration(x) => x.to_string().into(),
        Value::List(list) => Value::list(list.iter().cloned().map(as_text)),
        other => other,
    }
}

fn sorted(value: Value, any_order: bool) -> Value {
    match value {
        Value::List(list) if any_order => {
            let mut elements = list.to_vec();
            elements.sort();
            elements.into()
        }
        other => other,
    }
}
