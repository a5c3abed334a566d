//! Settings of full-text indexes.

use telar_graph::{FulltextSettings, IndexKind, Value};
use telar_text::Analyzer;

use super::options::check_options;
use super::refuse;
use crate::error::describe;
use crate::query_error::{ErrorKind, QueryError};

/// Setting: name of the analyzer.
const ANALYZER: &str = "fulltext.analyzer";

/// Setting: true if the index may lag behind. Here none does.
const EVENTUALLY_CONSISTENT: &str = "fulltext.eventually_consistent";

/// The settings that options ask for.
pub(super) fn settings(options: Option<&Value>) -> Result<FulltextSettings, QueryError> {
    let analyzer_name = Analyzer::default().name().to_owned();
    let mut found = FulltextSettings { analyzer: analyzer_name, eventually_consistent: false };
    let Some(options) = options else { return Ok(found) };
    let capability = IndexKind::Fulltext.capability();
    let config = check_options(options, capability.provider, capability.old_providers)?;
    for (key, value) in config.into_iter().flatten() {
        match (&**key, value) {
            (ANALYZER, Value::String(name)) => {
                found.analyzer = analyzer(name)?.name().to_owned();
            }
            (EVENTUALLY_CONSISTENT, Value::Bool(is)) => found.eventually_consistent = *is,
            (ANALYZER, other) => return wrong(ANALYZER, "a STRING", other),
            (EVENTUALLY_CONSISTENT, other) => {
                return wrong(EVENTUALLY_CONSISTENT, "a BOOLEAN", other);
            }
            _ => {
                let message = format!(
                    "there is no setting `{key}`: there are {ANALYZER}, {EVENTUALLY_CONSISTENT}"
                );
                return invalid(message);
            }
        }
    }
    Ok(found)
}

/// The analyzer with this name.
pub(crate) fn analyzer(name: &str) -> Result<Analyzer, QueryError> {
    if let Some(analyzer) = Analyzer::named(name) {
        return Ok(analyzer);
    }
    let known: Vec<&str> = telar_text::analyzer::ALL.iter().map(|known| known.name).collect();
    let near = telar_cypher::suggest::closest(name, known.iter().copied());
    let near = near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default();
    let known = known.join(", ");
    invalid(format!("there is no analyzer `{name}`{near}: there are {known}"))
}

pub(super) fn invalid<T>(message: String) -> Result<T, QueryError> {
    refuse(ErrorKind::InvalidArguments, "InvalidArgumentValue", message)
}

pub(super) fn wrong<T>(key: &str, wanted: &str, found: &Value) -> Result<T, QueryError> {
    invalid(format!("the setting `{key}` cannot be {}: it is {wanted}", describe(found)))
}

/// The settings of a full-text index, as `SHOW INDEXES` lists them.
pub(super) fn config(settings: &FulltextSettings) -> Value {
    Value::map([
        (ANALYZER, Value::from(settings.analyzer.as_str())),
        (EVENTUALLY_CONSISTENT, settings.eventually_consistent.into()),
    ])
}
