//! Connecting to a server: who, and with which password.

use std::borrow::Cow;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, anyhow, bail};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::MemHistory;
use rustyline::validate::Validator;
use rustyline::{Config, Editor, Helper};
use telar_db::ValueMap;
use telar_server::bolt::client::{Address, Client, Error, Login};

/// Where a password stands that nobody is asked for.
pub(crate) const PASSWORD: &str = "TELAR_PASSWORD";
const EXPIRED: &str = "Neo.ClientError.Security.CredentialsExpired";
const UNAUTHORIZED: &str = "Neo.ClientError.Security.Unauthorized";

/// Connects, and asks whoever sits there for what is missing.
pub(crate) fn connect(
    address: &Address,
    user: Option<&str>,
    database: Option<&str>,
    interrupted: &Arc<AtomicBool>,
) -> anyhow::Result<Client> {
    let asks = std::io::stdin().is_terminal();
    let connect = |login: Login| {
        let database = database.map(str::to_owned);
        Client::connect(address.clone(), login, database, Arc::clone(interrupted))
    };
    let client = match user {
        Some(user) => connect(login(user, asks)?),
        None => match connect(Login::default()) {
            // Somebody has to log in, and did not say who.
            Err(error) if error.code() == UNAUTHORIZED && asks => {
                let user = ask("user: ", false)?;
                connect(login(&user, asks)?)
            }
            done => done,
        },
    };
    let mut client = client.map_err(|error| match (&error, user) {
        (Error::Refused { .. }, None) if error.code() == UNAUTHORIZED => {
            anyhow!("{error} -u names the user")
        }
        _ => anyhow!("{error}"),
    })?;
    if asks {
        change_expired(&mut client)?;
    }
    Ok(client)
}

fn login(user: &str, asks: bool) -> anyhow::Result<Login> {
    let password = match std::env::var(PASSWORD) {
        Ok(password) => password,
        Err(_) if asks => ask(&format!("password of {user}: "), true)?,
        Err(_) => bail!("no terminal to ask for the password of {user}: set {PASSWORD}"),
    };
    Ok(Login { user: user.to_owned(), password })
}

/// Asks for a new password, if the server takes nothing else before.
fn change_expired(client: &mut Client) -> anyhow::Result<()> {
    let probe = client.run("RETURN 1", &ValueMap::new());
    if !probe.is_err_and(|error| error.code() == EXPIRED) {
        return Ok(());
    }
    eprintln!("The password of {} has to be changed before anything else.", client.user());
    loop {
        let new = ask("new password: ", true)?;
        if new != ask("the same again: ", true)? {
            eprintln!("These are two different ones.");
            continue;
        }
        match client.change_password(new) {
            Ok(()) => {
                eprintln!("The password is changed.");
                return Ok(());
            }
            Err(error @ Error::Refused { .. }) => eprintln!("{error}"),
            Err(error) => bail!("{error}"),
        }
    }
}

/// Asks for a line; what is typed can be seen unless it is `secret`.
fn ask(prompt: &str, secret: bool) -> anyhow::Result<String> {
    let config = Config::builder().auto_add_history(false).build();
    let history = MemHistory::with_config(&config);
    let mut editor: Editor<Hidden, MemHistory> = Editor::with_history(config, history)?;
    if secret {
        editor.set_helper(Some(Hidden));
    }
    match editor.readline(prompt) {
        Ok(line) => Ok(line),
        Err(ReadlineError::Interrupted | ReadlineError::Eof) => bail!("nothing was entered"),
        Err(error) => Err(error).context("reading from the terminal"),
    }
}

/// Shows stars in place of what is typed.
struct Hidden;

impl Highlighter for Hidden {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        Cow::Owned("*".repeat(line.chars().count()))
    }

    fn highlight_char(&self, _: &str, _: usize, _: CmdKind) -> bool {
        true
    }
}

impl Completer for Hidden {
    type Candidate = String;
}

impl Hinter for Hidden {
    type Hint = String;
}

impl Validator for Hidden {}

impl Helper for Hidden {}
