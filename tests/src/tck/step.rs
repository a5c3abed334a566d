//! What the steps of a scenario ask for.

use super::gherkin::{RawStep, Table};
use super::literal;
use super::subject::{Effects, Phase};
use super::value::{Entries, TckValue};

/// One step of a scenario.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Start from nothing: the subject is new.
    EmptyGraph,
    /// Start from the graph with this name.
    NamedGraph(String),
    /// Run a query that prepares the graph.
    Execute(String),
    /// Give these parameters to the queries that follow.
    Parameters(Entries),
    /// Make a procedure known.
    Procedure(Procedure),
    /// Run the query that is tested.
    Query(String),
    /// Run a query that looks at what the tested one did.
    ControlQuery(String),
    /// Compare the rows of the last query.
    Rows(ExpectedRows),
    /// The last query gave no rows.
    Empty,
    /// Compare what the tested query did to the graph.
    Effects(Effects),
    /// The tested query failed.
    Error(ExpectedError),
}

/// A procedure that answers from a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Procedure {
    /// Its name, with dots.
    pub name: String,
    /// Names and types of the arguments.
    pub inputs: Vec<(String, String)>,
    /// Names and types of the columns it yields.
    pub outputs: Vec<(String, String)>,
    /// Arguments, then what is yielded for them.
    pub rows: Vec<Vec<TckValue>>,
}

/// Rows of a result.
#[derive(Debug, Clone, PartialEq)]
pub struct ExpectedRows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// A value per column.
    pub rows: Vec<Vec<TckValue>>,
    /// Whether the order of rows matters.
    pub in_order: bool,
    /// Whether the order of elements in lists does not.
    pub any_list_order: bool,
}

/// An error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedError {
    /// Its type, such as `SyntaxError`.
    pub kind: String,
    /// When it is raised; `None` for any time.
    pub phase: Option<Phase>,
    /// The detail word; `*` for any.
    pub detail: String,
}

impl Step {
    /// Reads a step.
    ///
    /// # Errors
    /// What is not understood.
    pub fn parse(raw: &RawStep) -> Result<Self, String> {
        let text = raw.text.split('#').next().unwrap_or_default().trim_end();
        let block = || raw.block.clone().ok_or_else(|| "the step has no text block".to_owned());
        let rows = |order: &str, lists: &str| {
            let in_order = order == "in order";
            ExpectedRows::parse(&raw.table, in_order, !lists.is_empty()).map(Self::Rows)
        };
        match text {
            "an empty graph" | "any graph" => return Ok(Self::EmptyGraph),
            "having executed:" => return block().map(Self::Execute),
            "executing query:" => return block().map(Self::Query),
            "executing control query:" => return block().map(Self::ControlQuery),
            "parameters are:" => return parameters(&raw.table).map(Self::Parameters),
            "the result should be empty" => return Ok(Self::Empty),
            "no side effects" => return Ok(Self::Effects(Effects::default())),
            "the side effects should be:" => {
                return Effects::parse(&raw.table).map(Self::Effects);
            }
            _ => {}
        }
        if let Some(name) = between(text, "the ", " graph") {
            return Ok(Self::NamedGraph(name.to_owned()));
        }
        if let Some(signature) = text.strip_prefix("there exists a procedure ") {
            let signature = signature.trim_end().strip_suffix(':');
            let signature = signature.ok_or("the signature does not end with a colon")?;
            return Procedure::parse(signature, &raw.table).map(Self::Procedure);
        }
        if let Some(how) = between(text, "the result should be", ":") {
            let (how, lists) = match how.strip_suffix(" (ignoring element order for lists)") {
                Some(how) => (how, "any"),
                None => (how, ""),
            };
            match how {
                "" if !lists.is_empty() => return rows("in any order", lists),
                ", in any order" | ", in order" => return rows(&how[2..], lists),
                _ => {}
            }
        }
        match ExpectedError::parse(text) {
            Some(error) => Ok(Self::Error(error)),
            None => Err(format!("unknown step: {text}")),
        }
    }
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    text.strip_prefix(before)?.strip_suffix(after)
}

/// Two columns: name, value.
fn parameters(table: &Table) -> Result<Entries, String> {
    let pair = |row: &Vec<String>| match row.as_slice() {
        [name, value] => Ok((name.clone(), literal::parse(value)?)),
        _ => Err("a parameter needs a name and a value".to_owned()),
    };
    table.iter().map(pair).collect()
}

fn values(row: &[String]) -> Result<Vec<TckValue>, String> {
    row.iter().map(|cell| literal::parse(cell)).collect()
}

impl ExpectedRows {
    fn parse(table: &Table, in_order: bool, any_list_order: bool) -> Result<Self, String> {
        let (columns, rows) = table.split_first().ok_or("the result has no header")?;
        let rows = rows.iter().map(|row| values(row)).collect::<Result<_, _>>()?;
        Ok(Self { columns: columns.clone(), rows, in_order, any_list_order })
    }
}

impl ExpectedError {
    /// `a SyntaxError should be raised at compile time: UndefinedVariable`
    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(" should be raised at ")?;
        let (phase, detail) = rest.split_once(": ")?;
        let phase = match phase {
            "compile time" => Some(Phase::Compile),
            "runtime" => Some(Phase::Runtime),
            "any time" => None,
            _ => return None,
        };
        let kind = kind.strip_prefix("a ").or_else(|| kind.strip_prefix("an "))?;
        let word = |text: &str| !text.is_empty() && text.chars().all(char::is_alphanumeric);
        let known = word(kind) && (word(detail) || detail == "*");
        known.then(|| Self { kind: kind.to_owned(), phase, detail: detail.to_owned() })
    }
}

impl Procedure {
    /// `test.my.proc(name :: STRING?, id :: INTEGER?) :: (city :: STRING?)`
    fn parse(signature: &str, table: &Table) -> Result<Self, String> {
        let bad = || format!("not a signature: {signature}");
        let (name, rest) = signature.split_once('(').ok_or_else(bad)?;
        let (inputs, outputs) = rest.split_once(") :: (").ok_or_else(bad)?;
        let outputs = outputs.trim_end().strip_suffix(')').ok_or_else(bad)?;
        let fields = |text: &str| -> Result<Vec<(String, String)>, String> {
            let fields = text.split(',').map(str::trim).filter(|field| !field.is_empty());
            let field = |field: &str| {
                let (name, ty) = field.split_once("::").ok_or_else(bad)?;
                Ok((name.trim().to_owned(), ty.trim().to_owned()))
            };
            fields.map(field).collect()
        };
        let (inputs, outputs) = (fields(inputs)?, fields(outputs)?);
        let named = inputs.iter().chain(&outputs).map(|(name, _)| name);
        let (header, rows) = table.split_first().ok_or("the procedure has no table")?;
        if !named.eq(header) {
            return Err(format!("the table of {name} has other columns than its signature"));
        }
        let rows = rows.iter().map(|row| values(row)).collect::<Result<_, _>>()?;
        Ok(Self { name: name.trim().to_owned(), inputs, outputs, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(text: &str, block: Option<&str>, table: &[&[&str]]) -> Result<Step, String> {
        let table = table.iter().map(|row| row.iter().map(|&c| c.to_owned()).collect()).collect();
        let (text, block) = (text.to_owned(), block.map(str::to_owned));
        Step::parse(&RawStep { text, block, table, line: 1 })
    }

    #[test]
    fn results_say_what_order_means() {
        let table: &[&[&str]] = &[&["a", "b"], &["1", "[2]"]];
        for (how, in_order, any_list_order) in [
            (", in any order:", false, false),
            (", in order:", true, false),
            (" (ignoring element order for lists):", false, true),
            (", in order (ignoring element order for lists):", true, true),
        ] {
            let found = step(&format!("the result should be{how}"), None, table);
            let columns = vec!["a".to_owned(), "b".to_owned()];
            let rows = vec![vec![TckValue::Int(1), TckValue::List(vec![TckValue::Int(2)])]];
            let expected = ExpectedRows { columns, rows, in_order, any_list_order };
            assert_eq!(found, Ok(Step::Rows(expected)), "{how}");
        }
        assert!(step("the result should be, in any order:", None, &[]).is_err());
        assert!(step("the result should be, in any order:", None, &[&["a"], &["x"]]).is_err());
    }

    #[test]
    fn errors_have_type_phase_and_detail() {
        let error = |kind: &str, phase, detail: &str| {
            let (kind, detail) = (kind.to_owned(), detail.to_owned());
            Ok(Step::Error(ExpectedError { kind, phase, detail }))
        };
        assert_eq!(
            step("a SyntaxError should be raised at compile time: UndefinedVariable", None, &[]),
            error("SyntaxError", Some(Phase::Compile), "UndefinedVariable")
        );
        assert_eq!(
            step("an ArgumentError should be raised at any time: *", None, &[]),
            error("ArgumentError", None, "*")
        );
        assert!(step("a SyntaxError should be raised at lunch: A", None, &[]).is_err());
        assert!(step("a SyntaxError should be raised at runtime: ", None, &[]).is_err());
    }

    #[test]
    fn procedures_answer_from_tables() {
        let text = "there exists a procedure test.my.proc(in :: INTEGER?) :: (a :: STRING?) :";
        let Ok(Step::Procedure(found)) = step(text, None, &[&["in", "a"], &["1", "'x'"]]) else {
            panic!("no procedure")
        };
        assert_eq!(found.name, "test.my.proc");
        assert_eq!(found.inputs, [("in".to_owned(), "INTEGER?".to_owned())]);
        assert_eq!(found.outputs, [("a".to_owned(), "STRING?".to_owned())]);
        assert_eq!(found.rows, [[TckValue::Int(1), TckValue::string("x")]]);
        assert!(step(text, None, &[&["a", "in"]]).is_err());
        let nothing = step("there exists a procedure test.doNothing() :: ():", None, &[&[]]);
        assert!(matches!(nothing, Ok(Step::Procedure(p)) if p.inputs.is_empty()));
    }

    #[test]
    fn steps_that_nobody_knows_are_errors() {
        assert_eq!(step("no side effects#", None, &[]), Ok(Step::Effects(Effects::default())));
        for text in ["no effects", "the result should be:", "executing query:", "the graph"] {
            assert!(step(text, None, &[]).is_err(), "{text}");
        }
    }
}
