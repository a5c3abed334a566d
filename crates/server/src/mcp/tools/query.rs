//! `read_query` and `write_query`: statements of Cypher.

use serde_json::{Map, Value as Json, json};
use telar_db::query::cypher::ast::StatementKind;
use telar_db::query::cypher::parse;

use super::super::graph::Answered;
use super::{Arguments, Context, Failure, Settings, Tool, at_schema, parts, set};

pub(super) const READ: Tool = Tool {
    name: "read_query",
    title: "Run a query that reads",
    description: "Runs one statement of openCypher that only reads, such as MATCH ... RETURN, CALL \
        of a procedure that reads, SHOW INDEXES or EXPLAIN, and returns its rows. Statements that \
        write are refused. Read the schema first. Put values into parameters. Return single \
        properties rather than whole nodes, with LIMIT. 'at' reads the past.",
    arguments: |_| {
        let arguments = json!({
            "query": {
                "type": "string",
                "description": "One statement, such as MATCH (p:Person {name: $name}) RETURN p.age",
            },
            "parameters": parameters_schema(),
            "at": at_schema(),
        });
        (arguments, &["query"])
    },
    output: output_schema,
    writes: false,
    run: read,
};

pub(super) const WRITE: Tool = Tool {
    name: "write_query",
    title: "Run a query that writes",
    description: "Runs one statement of openCypher that changes the graph, its indexes or \
        constraints, such as CREATE, MERGE, SET, DELETE or CREATE INDEX, as one transaction, and \
        says what was changed. After an error nothing was changed. MERGE on a key makes it safe to \
        repeat.",
    arguments: |_| {
        let arguments = json!({
            "query": {
                "type": "string",
                "description": "One statement, such as MERGE (p:Person {name: $name}) SET p.age = $age",
            },
            "parameters": parameters_schema(),
        });
        (arguments, &["query"])
    },
    output: output_schema,
    writes: true,
    run: write,
};

fn parameters_schema() -> Json {
    json!({
        "type": "object",
        "description": "Values of the parameters, by name without $. A value that JSON has no type \
            for is written as {\"$type\": \"Date\", \"_value\": \"2026-11-23\"}",
    })
}

fn output_schema() -> Json {
    json!({
        "type": "object",
        "properties": {
            "columns": { "type": "array", "items": { "type": "string" } },
            "rows": { "type": "array", "items": { "type": "array" } },
            "truncated": parts::truncated(),
            "counters": { "type": "object", "description": "What was changed" },
            "plan": { "type": "string", "description": "Of EXPLAIN and PROFILE" },
            "notices": { "type": "array", "items": { "type": "string" } },
            "at": parts::at(),
        },
        "required": ["columns", "rows"],
    })
}

fn read(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let text = arguments.required_text("query")?;
    let parameters = arguments.parameters("parameters")?;
    let past = arguments.past()?;
    arguments.end()?;
    check_kind(&text, context.settings)?;
    let mut reading = context.read(past)?;
    let mut done = reading.run(&text, &parameters, context.room())?;
    done.at = reading.finish();
    Ok(answer(&done))
}

/// Refuses commands that a session that only reads would run. What a query does is told by its
/// plan, and refused by the session.
fn check_kind(text: &str, settings: &Settings) -> Result<(), Failure> {
    // Syntax errors are told when the statement runs.
    let Ok(statement) = parse(text) else { return Ok(()) };
    let is_read = match &statement.kind {
        StatementKind::Query { .. } | StatementKind::Show(_) => true,
        StatementKind::Transactions(commands) => {
            commands.commands.iter().all(|command| !command.terminates)
        }
        _ => false,
    };
    if is_read {
        return Ok(());
    }
    let instead = match settings.allow_writes {
        true => "write_query runs it",
        false => "this server allows no writes (mcp.allow_writes; of telar mcp, --allow-writes)",
    };
    Err(Failure::new(format!("read_query only reads, and this statement does more: {instead}")))
}

fn write(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let text = arguments.required_text("query")?;
    let parameters = arguments.parameters("parameters")?;
    arguments.end()?;
    if let Ok(statement) = parse(&text)
        && matches!(statement.kind, StatementKind::Administration(_))
    {
        let message = "write_query changes a graph; users, roles and databases are for operators";
        return Err(Failure::new(message));
    }
    let Context { graph, settings, flag } = context;
    let done = graph.write(settings, flag, (&text, &parameters), context.room())?;
    Ok(answer(&done))
}

fn answer(done: &Answered) -> Json {
    let columns: Vec<&str> = done.rows.columns.iter().map(|name| &**name).collect();
    let mut answer = json!({ "columns": columns, "rows": done.rows.rows });
    set(&mut answer, "truncated", done.rows.remark());
    let changed = done.counters.named().into_iter().filter(|(_, count)| *count > 0);
    let changed: Map<String, Json> = changed.map(|(name, n)| (name.to_owned(), n.into())).collect();
    set(&mut answer, "counters", (!changed.is_empty()).then_some(changed));
    set(&mut answer, "plan", done.plan.clone());
    set(&mut answer, "notices", (!done.remarks.is_empty()).then(|| done.remarks.clone()));
    set(&mut answer, "at", done.at);
    answer
}
