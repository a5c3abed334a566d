//! `telar config`: what a server would be told.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand};
use telar_server::config::{self, Loaded, SETTINGS};

use crate::ui::Screen;

/// Show and check the settings of a server.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print every setting with its value and where that comes from; fail on what cannot be used
    Check(Sources),
    /// Print a file with all settings, described, at their defaults
    Template,
}

/// Where settings come from, beside the environment.
#[derive(Debug, Args)]
pub(crate) struct Sources {
    /// File of settings; TELAR_CONFIG names one, too
    #[arg(long, value_name = "FILE", env = "TELAR_CONFIG")]
    config: Option<PathBuf>,
    /// A setting, which goes before file and environment; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl Sources {
    /// Reads the settings; `flags` are set before those of `--set`.
    pub(crate) fn load(&self, flags: &[(String, String, String)]) -> anyhow::Result<Loaded> {
        let mut flags = flags.to_vec();
        for text in &self.set {
            let Some((key, value)) = text.split_once('=') else {
                bail!("--set {text}: expected KEY=VALUE");
            };
            flags.push((format!("--set {key}"), key.to_owned(), value.to_owned()));
        }
        let text = self.config.as_ref().map(fs::read_to_string).transpose();
        let text =
            text.with_context(|| self.config.clone().unwrap_or_default().display().to_string())?;
        let file = self.config.as_deref().zip(text.as_deref());
        let environment = std::env::vars_os().filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        config::load(file, environment, &flags).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            anyhow!("{}", lines.join("\n       "))
        })
    }
}

/// Runs `telar config`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let text = match &options.what {
        What::Check(sources) => table(&sources.load(&[])?),
        What::Template => config::template(),
    };
    Screen::new().line(text.trim_end())?;
    Ok(ExitCode::SUCCESS)
}

/// A line per setting: name, value, origin.
fn table(loaded: &Loaded) -> String {
    let values: Vec<String> =
        SETTINGS.iter().map(|setting| setting.value(&loaded.config)).collect();
    let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let keys = widest(&mut SETTINGS.iter().map(|setting| setting.key.len()));
    let width = widest(&mut values.iter().map(|value| value.chars().count()));
    let mut text = String::new();
    for ((setting, value), origin) in SETTINGS.iter().zip(&values).zip(&loaded.origins) {
        let value = if value.is_empty() { "-" } else { value };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "{:keys$}  {value:width$}  {origin}", setting.key);
    }
    text
}
