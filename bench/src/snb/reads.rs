//! The 21 reads, with their parameters and expected answers.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value as Json;
use telar_db::ValueMap;

use super::answer::{self, Order, Rows};
use super::archive::Archive;

/// What answers queries: given a text and its parameters.
pub type Ask<'a> = &'a mut dyn FnMut(&str, &ValueMap) -> Result<Rows, String>;

/// The texts of all queries, by name: `complex-1`, `short-1`, `update-1`.
#[derive(Debug, Clone, Default)]
pub struct Queries(BTreeMap<String, String>);

impl Queries {
    /// Reads a folder of `interactive-*.cypher`.
    ///
    /// # Errors
    /// It cannot be read, or does not hold the 29 queries.
    pub fn read(folder: &Path) -> Result<Self, String> {
        let mut queries = Self::default();
        let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
        for entry in std::fs::read_dir(folder).map_err(problem)? {
            let path = entry.map_err(problem)?.path();
            let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
            if let Some(name) = name.as_deref().and_then(|n| n.strip_prefix("interactive-")) {
                let text = std::fs::read_to_string(&path).map_err(problem)?;
                queries.0.insert(name.to_owned(), text);
            }
        }
        let updates = (1..=8).map(|n| format!("update-{n}"));
        let mut wanted = READS.iter().map(|(name, _)| (*name).to_owned()).chain(updates);
        match wanted.find(|name| !queries.0.contains_key(name)) {
            None => Ok(queries),
            Some(name) => Err(format!("{} has no query {name}", folder.display())),
        }
    }

    /// All names and texts.
    pub fn all(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The text of a query.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn text(&self, name: &str) -> Result<&str, String> {
        self.0.get(name).map(String::as_str).ok_or_else(|| format!("no query {name}"))
    }
}

/// Rows come in any order.
const BAG: Option<Order> = Some(Order { keys: &[], lists: &[] });

/// Every read, and what its `ORDER BY` leaves open; `None` if nothing.
pub const READS: [(&str, Option<Order>); 21] = [
    // Universities and companies are collected from rows in no order.
    ("complex-1", Some(Order { keys: &[2, 1, 0], lists: &[11, 12] })),
    ("complex-2", None),
    ("complex-3", None),
    ("complex-4", None),
    ("complex-5", None),
    ("complex-6", None),
    ("complex-7", None),
    ("complex-8", None),
    ("complex-9", None),
    ("complex-10", None),
    ("complex-11", None),
    // So are tag names.
    ("complex-12", Some(Order { keys: &[4, 0], lists: &[3] })),
    ("complex-13", BAG),
    // Ordered by weight only.
    ("complex-14", Some(Order { keys: &[1], lists: &[] })),
    ("short-1", BAG),
    ("short-2", None),
    ("short-3", None),
    ("short-4", BAG),
    ("short-5", BAG),
    ("short-6", BAG),
    // Ordered by date and author only.
    ("short-7", Some(Order { keys: &[2, 3], lists: &[] })),
];

/// Answers that Neo4j gave.
#[derive(Debug, Clone)]
pub struct Expected {
    parameters: Json,
    answers: Json,
}

impl Expected {
    /// The answers in this file of the archive, to the parameters in `params.json`.
    ///
    /// # Errors
    /// A file is missing, or does not hold as many answers as parameters for every read.
    pub fn read(archive: &Archive, file: &str) -> Result<Self, String> {
        let expected =
            Self { parameters: archive.json("params.json")?, answers: archive.json(file)? };
        for (name, _) in READS {
            let count = |json: &Json| json[name].as_array().map(Vec::len);
            let (parameters, answers) = (count(&expected.parameters), count(&expected.answers));
            if parameters.is_none() || parameters != answers {
                return Err(format!("{file}: {answers:?} answers to {parameters:?} {name}"));
            }
        }
        Ok(expected)
    }

    /// Every set of parameters of a read.
    ///
    /// # Errors
    /// One is no object.
    pub fn parameters(&self, name: &str) -> Result<Vec<ValueMap>, String> {
        let sets = self.parameters[name].as_array().into_iter().flatten();
        sets.map(answer::parameters).collect()
    }

    /// The answer to a read with the parameters at this place; null if there is none.
    #[must_use]
    pub fn answer(&self, name: &str, place: usize) -> &Json {
        &self.answers[name][place]
    }

    /// The parameters of a read and its answers, for other programs.
    pub(super) fn sets(&self, name: &str) -> impl Iterator<Item = (&Json, &Json)> {
        let parameters = self.parameters[name].as_array().into_iter().flatten();
        parameters.zip(self.answers[name].as_array().into_iter().flatten())
    }
}

/// Runs every read with every set of parameters, and compares the answers. Returns how many were
/// right.
///
/// # Errors
/// Every answer that was not the expected one.
pub fn check_reads(
    queries: &Queries,
    expected: &Expected,
    ask: Ask<'_>,
) -> Result<usize, Vec<String>> {
    let (mut right, mut wrong) = (0, Vec::new());
    for (name, _) in READS {
        let (more, problems) = check_read(queries, expected, name, ask);
        right += more;
        wrong.extend(problems);
    }
    if wrong.is_empty() { Ok(right) } else { Err(wrong) }
}

/// The same for one read: how many answers were right, and those that were not.
pub(super) fn check_read(
    queries: &Queries,
    expected: &Expected,
    name: &str,
    ask: Ask<'_>,
) -> (usize, Vec<String>) {
    let order = READS.iter().find(|read| read.0 == name).and_then(|read| read.1);
    let (mut right, mut wrong) = (0, Vec::new());
    for (parameters, answer) in expected.sets(name) {
        let mut check = || {
            let rows = ask(queries.text(name)?, &answer::parameters(parameters)?)?;
            answer::compare(order, answer, &rows)
        };
        match check() {
            Ok(()) => right += 1,
            Err(problem) => wrong.push(format!("{name} {parameters}: {problem}")),
        }
    }
    (right, wrong)
}
