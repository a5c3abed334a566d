//! From file, environment and flags to settings, with where each came from.

use std::fmt;
use std::path::{Path, PathBuf};

use telar_db::query::ShownSetting;
use telar_db::query::cypher::suggest::closest;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Config, SETTINGS, Setting};

/// Variables of the environment with the prefix of settings that are none.
const OTHERS: [&str; 6] = [
    "TELAR_CONFIG",
    "TELAR_LONG",
    "TELAR_SHARED",
    "TELAR_FAILPOINTS",
    "TELAR_USER",
    "TELAR_PASSWORD",
];

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// A variable of the environment.
    Environment(String),
    /// A flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => write!(f, "{name}"),
            Self::Flag(flag) => write!(f, "{flag}"),
        }
    }
}

/// Something that cannot be used, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `file:line:column`, a variable, a flag; empty for what is about several.
    pub place: String,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.is_empty() {
            true => f.write_str(&self.message),
            false => write!(f, "{}: {}", self.place, self.message),
        }
    }
}

/// Settings, and where each comes from, in the order of [`SETTINGS`].
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The settings.
    pub config: Config,
    /// Where each comes from.
    pub origins: Vec<Origin>,
}

impl Loaded {
    /// The settings as `SHOW SETTINGS` lists them.
    #[must_use]
    pub fn shown(&self) -> Vec<ShownSetting> {
        let defaults = Config::default();
        let all = SETTINGS.iter().zip(&self.origins);
        let shown = all.map(|(setting, origin)| ShownSetting {
            name: setting.key.into(),
            value: setting.value(&self.config).into(),
            default: setting.value(&defaults).into(),
            description: setting.help.into(),
            form: setting.form.into(),
            explicit: *origin != Origin::Default,
        });
        shown.collect()
    }
}

/// What is read and what is wrong with it.
struct Loader {
    loaded: Loaded,
    problems: Vec<Problem>,
}

fn unknown(key: &str) -> String {
    let near = closest(key, SETTINGS.iter().map(|setting| setting.key));
    let help = near.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default();
    format!("there is no setting '{key}'{help}")
}

impl Loader {
    fn set(&mut self, key: &str, text: &str, place: &str, origin: Origin) {
        let wrong = match SETTINGS.iter().position(|setting| setting.key == key) {
            None => unknown(key),
            Some(at) => match (SETTINGS[at].set)(&mut self.loaded.config, text) {
                Ok(()) => {
                    self.loaded.origins[at] = origin;
                    return;
                }
                Err(message) => format!("{key}: {message}"),
            },
        };
        self.problems.push(Problem { place: place.to_owned(), message: wrong });
    }

    fn problem(&mut self, place: String, message: impl Into<String>) {
        self.problems.push(Problem { place, message: message.into() });
    }

    fn file(&mut self, path: &Path, text: &str) {
        let place = |at: usize| {
            let before = &text[..text.floor_char_boundary(at)];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            (line, format!("{}:{line}:{column}", path.display()))
        };
        let table = match DeTable::parse(text) {
            Ok(table) => table.into_inner(),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                return self.problem(place(at).1, error.message());
            }
        };
        for (section, value) in table {
            let at = section.span().start;
            let section = section.into_inner();
            let DeValue::Table(entries) = value.into_inner() else {
                let message =
                    format!("'{section}' is no section: settings stand below [{section}]");
                self.problem(place(at).1, message);
                continue;
            };
            for (name, value) in entries {
                let (line, place_of) = place(name.span().start);
                let key = format!("{section}.{}", name.into_inner());
                match text_of(&value) {
                    Some(text) => {
                        let origin = Origin::File { path: path.to_owned(), line };
                        self.set(&key, &text, &place_of, origin);
                    }
                    None => {
                        let message = format!("{key}: expected a text, a number or true or false");
                        self.problem(place_of, message);
                    }
                }
            }
        }
    }

    fn environment(&mut self, variables: impl Iterator<Item = (String, String)>) {
        let names: Vec<String> = SETTINGS.iter().map(Setting::variable).collect();
        for (name, value) in variables.filter(|(name, _)| name.starts_with("TELAR_")) {
            match names.iter().position(|known| *known == name) {
                Some(at) => {
                    let origin = Origin::Environment(name.clone());
                    self.set(SETTINGS[at].key, &value, &name, origin);
                }
                // Others may use the prefix, but hardly a name that is almost one of these.
                None if OTHERS.contains(&&*name) => {}
                None => {
                    if let Some(near) = closest(&name, names.iter().map(String::as_str)) {
                        self.problem(
                            name,
                            format!("there is no such setting; did you mean {near}?"),
                        );
                    }
                }
            }
        }
    }
}

/// A value as text, if it is one; of a list of texts its elements with commas.
fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .ok()
            .map(|number| number.to_string()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Array(all) => {
            let text = |element: &Spanned<DeValue<'_>>| match element.get_ref() {
                DeValue::String(text) => Some(text.to_string()),
                _ => None,
            };
            Some(all.iter().map(text).collect::<Option<Vec<_>>>()?.join(", "))
        }
        _ => None,
    }
}

/// Reads settings: a file with its text, then the environment, then flags, each as what it was
/// called, key and value.
///
/// # Errors
/// Everything that is wrong, at least one thing.
pub fn load(
    file: Option<(&Path, &str)>,
    environment: impl Iterator<Item = (String, String)>,
    flags: &[(String, String, String)],
) -> Result<Loaded, Vec<Problem>> {
    let origins = vec![Origin::Default; SETTINGS.len()];
    let loaded = Loaded { config: Config::default(), origins };
    let mut loader = Loader { loaded, problems: Vec::new() };
    if let Some((path, text)) = file {
        loader.file(path, text);
    }
    loader.environment(environment);
    for (flag, key, value) in flags {
        loader.set(key, value, flag, Origin::Flag(flag.clone()));
    }
    if loader.problems.is_empty() {
        let conflicts = loader.loaded.config.conflicts();
        conflicts.into_iter().for_each(|message| loader.problem(String::new(), message));
    }
    if loader.problems.is_empty() { Ok(loader.loaded) } else { Err(loader.problems) }
}
