//! What begins with a colon: settings and help, not queries.

use anyhow::{Context, bail};
use clap::ValueEnum;

use super::backend::Backend;
use super::output::{Format, Layout};
use super::script::Place;
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
pub(crate) const COMMANDS: [(&str, &str, &str); 17] = [
    (":help", "", "this list"),
    (":begin", "", "begin a transaction of several statements"),
    (":commit", "", "commit it"),
    (":rollback", "", "undo it"),
    (":param", "NAME => EXPRESSION", "set a parameter; without anything, list them"),
    (":clear", "", "forget all parameters"),
    (":explain", "STATEMENT", "show how a statement would run"),
    (":profile", "STATEMENT", "run a statement and show what each step took"),
    (":use", "DATABASE", "another database of the server; without a name, the user's own"),
    (":format", "table|csv|json|graph", "how results are shown"),
    (":vertical", "on|off|auto", "whether each value of a table gets a line, as after \\G"),
    (":timing", "on|off", "whether rows and times are shown after tables"),
    (":pager", "on|off", "whether long results go page by page"),
    (":schema", "", "labels, relationship types, property keys, indexes, constraints"),
    (":source", "FILE", "run the statements of a file"),
    (":history", "COUNT", "what was typed last"),
    (":quit", "", "end (also exit, quit, Ctrl-D)"),
];

fn switch(argument: &str) -> anyhow::Result<bool> {
    match argument {
        "on" => Ok(true),
        "off" => Ok(false),
        other => bail!("say on or off, not {other:?}"),
    }
}

/// Runs a command.
pub(crate) fn run(line: &str, state: &mut State) -> anyhow::Result<Next> {
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
                "Statements end with a semicolon, or with \\G for a line per value. Comments begin \
                 with //.\nUp and down go through what was typed before; Ctrl-C ends what runs.",
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
        ":explain" | ":profile" if argument.is_empty() => {
            bail!("{name} is followed by a statement")
        }
        ":explain" | ":profile" => {
            let text = format!("{} {argument}", name[1..].to_uppercase());
            state.run_statement(&text, Place { file: None, line: 1, column: 1 })?;
        }
        ":use" => match &mut state.backend {
            Backend::Server(client) if client.in_transaction() => {
                bail!("a transaction has one database: end it before");
            }
            Backend::Server(client) => {
                let name = argument.trim_matches('`');
                client.set_database(Some(name.to_owned()).filter(|name| !name.is_empty()));
                state.forget_names();
            }
            Backend::Embedded { .. } => {
                bail!("this shell has opened one database: there is no other")
            }
        },
        ":format" => {
            let format = Format::from_str(argument, true);
            state.format = format.map_err(|_| {
                anyhow::anyhow!("there are the formats table, csv, json, graph; not {argument:?}")
            })?;
        }
        ":vertical" => {
            state.layout = match argument {
                "" | "on" => Layout::Vertical,
                "off" => Layout::Wide,
                "auto" => Layout::Auto,
                other => bail!("say on, off or auto, not {other:?}"),
            };
        }
        ":timing" => state.timing = switch(argument)?,
        ":pager" => state.paging = switch(argument)?,
        ":schema" => schema(state, screen)?,
        ":source" => {
            let script = std::fs::read_to_string(argument);
            let script = script.with_context(|| format!("reading {argument}"))?;
            state.run_script(&script, Some(argument))?;
        }
        ":history" => bail!("there is no history here: nothing was typed"),
        ":quit" | ":exit" | ":q" => return Ok(Next::Quit),
        other => bail!("there is no command {other}; :help lists them"),
    }
    Ok(Next::GoOn)
}

fn schema(state: &mut State, screen: Screen) -> anyhow::Result<()> {
    let [labels, types, keys] = state.names();
    screen.line(format!("labels: {}", labels.join(", ")))?;
    screen.line(format!("relationship types: {}", types.join(", ")))?;
    screen.line(format!("property keys: {}", keys.join(", ")))?;
    for (what, query) in [
        ("index", "SHOW INDEXES YIELD name, type, labelsOrTypes, properties"),
        ("constraint", "SHOW CONSTRAINTS YIELD name, type, labelsOrTypes, properties"),
    ] {
        let answer =
            state.query(query).map_err(|trouble| anyhow::anyhow!("{}", trouble.message))?;
        for row in &answer.rows {
            let known = row.iter().filter(|value| !value.is_null());
            let cells: Vec<String> = known.map(text::plain).collect();
            screen.line(format!("{what} {}", cells.join(" ")))?;
        }
    }
    Ok(())
}
