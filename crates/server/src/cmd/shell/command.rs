//! What begins with a colon: settings and help, not queries.

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::output::Format;
use super::state::State;
use super::text;
use crate::ui::Screen;
use telar_db::query::Entities;

/// Whether the shell goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    GoOn,
    Quit,
}

/// Names of the commands, with what follows them and what they do.
pub(crate) const COMMANDS: [(&str, &str, &str); 12] = [
    (":help", "", "this list"),
    (":begin", "", "begin a transaction of several statements"),
    (":commit", "", "commit it"),
    (":rollback", "", "undo it"),
    (":param", "NAME => EXPRESSION", "set a parameter; without anything, list them"),
    (":clear", "", "forget all parameters"),
    (":format", "table|csv|json|graph", "how results are shown"),
    (":timing", "on|off", "whether rows and times are shown after tables"),
    (":pager", "on|off", "whether long results go page by page"),
    (":schema", "", "labels, relationship types, property keys, indexes"),
    (":source", "FILE", "run the statements of a file"),
    (":quit", "", "end (also :exit, Ctrl-D)"),
];

fn switch(argument: &str) -> anyhow::Result<bool> {
    match argument {
        "on" => Ok(true),
        "off" => Ok(false),
        other => bail!("say on or off, not {other:?}"),
    }
}

/// Runs a command.
pub(crate) fn run(line: &str, state: &mut State<'_, '_>) -> anyhow::Result<Next> {
    let line = line.trim().trim_end_matches(';');
    let (name, argument) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let argument = argument.trim();
    let screen = Screen::new();
    match name {
        ":help" => {
            for (name, argument, does) in COMMANDS {
                screen.line(format!("  {:<32} {does}", format!("{name} {argument}")))?;
            }
            screen.line(
                "Statements end with a semicolon. Up and down go through what was typed before.",
            )?;
        }
        ":begin" => state.begin()?,
        ":commit" => state.commit()?,
        ":rollback" => state.rollback()?,
        ":param" | ":params" if argument.is_empty() => {
            for (name, value) in &state.parameters {
                let value = text::show(value, &Entities::default());
                screen.line(format!("{name} => {value}"))?;
            }
        }
        ":param" | ":params" => state.set_parameter(argument)?,
        ":clear" => state.parameters.clear(),
        ":format" => {
            let format = Format::from_str(argument, true);
            state.format = format.map_err(|_| {
                anyhow::anyhow!("there are the formats table, csv, json, graph; not {argument:?}")
            })?;
        }
        ":timing" => state.timing = switch(argument)?,
        ":pager" => state.paging = switch(argument)?,
        ":schema" => schema(state, screen)?,
        ":source" => {
            let script = std::fs::read_to_string(argument);
            state.run_script(&script.with_context(|| format!("reading {argument}"))?)?;
        }
        ":quit" | ":exit" | ":q" => return Ok(Next::Quit),
        other => bail!("there is no command {other}; :help lists them"),
    }
    Ok(Next::GoOn)
}

fn schema(state: &State<'_, '_>, screen: Screen) -> anyhow::Result<()> {
    let db = state.db;
    let types: Vec<String> = db.edge_types().into_iter().map(|(name, _)| name).collect();
    screen.line(format!("labels: {}", db.labels().join(", ")))?;
    screen.line(format!("relationship types: {}", types.join(", ")))?;
    screen.line(format!("property keys: {}", db.property_keys().join(", ")))?;
    for index in db.indexes() {
        screen.line(format!("{:?} {}", index.kind, index.name))?;
    }
    Ok(())
}
