//! Wrong usage: what somebody may have meant by a flag that does not exist.
//!
//! What can be set of a server has flags only in part, and other servers call theirs differently.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use telar_db::query::cypher::suggest::closest;
use telar_server::config::SETTINGS;

/// Flags of other programs, and what to say instead.
type Others = &'static [(&'static [&'static str], &'static str)];

const SERVE: Others = &[
    (
        &["-p", "--port", "--host", "--address", "--listen", "--bind", "-a"],
        "--bolt ADDRESS:PORT says where drivers connect, --http ADDRESS:PORT where HTTP is served",
    ),
    (&["--bolt-port", "--bolt-address", "--bolt-host"], "--bolt ADDRESS:PORT"),
    (&["--http-port", "--http-address", "--http-host", "--https"], "--http ADDRESS:PORT"),
    (
        &["-d", "--data", "--data-dir", "--dir", "--path", "--db", "--store", "--folder"],
        "the directory is an argument without a flag: telar serve graph.telar",
    ),
    (
        &["-u", "--user", "--username", "--password", "--initial-password"],
        "TELAR_AUTH_INITIAL_PASSWORD sets the password of the first user, neo4j",
    ),
    (&["--insecure", "--auth", "--no-password"], "--no-auth lets everybody in"),
    (&["-c"], "--config FILE"),
];

const SHELL: Others = &[
    (
        &["-p", "--password"],
        "a password is asked for, or taken from the variable TELAR_PASSWORD: in an argument other \
         users of the machine could see it",
    ),
    (
        &["-a", "--address", "--host", "--port", "--uri", "--url"],
        "the server is an argument without a flag: telar shell bolt://127.0.0.1:7687",
    ),
    (&["-e", "--query", "--execute", "--cypher"], "-c QUERY runs a query and ends"),
];

const MCP: Others = &[
    (&["-p", "--port", "--host", "--address", "--listen", "--transport"], "--http ADDRESS:PORT"),
    (
        &["-d", "--db", "--path", "--uri", "--url"],
        "the directory or the server is an argument without a flag: telar mcp graph.telar",
    ),
    (&["--read-write", "--write", "--writes", "--allow-write"], "--allow-writes"),
    (&["--read-only"], "nothing is written without --allow-writes"),
    (&["--password"], "TELAR_PASSWORD has the password"),
    (&["--token"], "TELAR_MCP_TOKEN has the token"),
];

/// The error with a hint at what exists, in place of those that would mislead.
pub(crate) fn explained(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(flag)) = error.get(ContextKind::InvalidArg) else { return error };
    let command = std::env::args().nth(1).unwrap_or_default();
    let flag = flag.split('=').next().unwrap_or_default();
    let hint = match &*command {
        "serve" => other(SERVE, flag).or_else(|| setting(flag)),
        "shell" => other(SHELL, flag),
        "mcp" => other(MCP, flag),
        _ => None,
    };
    // That a flag could be passed as a value helps nobody: these are directories and files.
    error.remove(ContextKind::Suggested);
    if let Some(hint) = hint {
        error.remove(ContextKind::SuggestedArg);
        let hint = ContextValue::StyledStrs(vec![StyledStr::from(hint)]);
        error.insert(ContextKind::Suggested, hint);
    }
    error
}

fn other(others: Others, flag: &str) -> Option<String> {
    let (_, hint) = others.iter().find(|(flags, _)| flags.contains(&flag))?;
    Some((*hint).to_owned())
}

/// `--statement-timeout` for `limits.statement_timeout`.
fn setting(flag: &str) -> Option<String> {
    let name = flag.trim_start_matches('-').replace('-', "_");
    let is_meant = |key: &str| {
        key.replace('.', "_") == name || key.split_once('.').is_some_and(|(_, tail)| tail == name)
    };
    let mut meant: Vec<&str> =
        SETTINGS.iter().map(|setting| setting.key).filter(|key| is_meant(key)).collect();
    if meant.is_empty() {
        let joined: Vec<String> = SETTINGS.iter().map(|s| s.key.replace('.', "_")).collect();
        let near = closest(&name, joined.iter().map(String::as_str))?;
        let at = joined.iter().position(|joined| joined == near)?;
        meant.push(SETTINGS[at].key);
    }
    let forms: Vec<String> = meant.iter().map(|key| format!("--set {key}=VALUE")).collect();
    Some(forms.join(" or "))
}
