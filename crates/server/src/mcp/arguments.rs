//! Arguments of a tool, read one by one; what was not read is an error.

use serde_json::{Map, Value as Json};
use telar_db::json::read_mixed_value;
use telar_db::{Value, ValueMap};

use super::failure::Failure;
use super::past::Past;

/// Arguments that have not been read.
#[derive(Debug)]
pub(crate) struct Arguments(Map<String, Json>);

impl Arguments {
    pub(crate) fn new(arguments: Map<String, Json>) -> Self {
        Self(arguments)
    }

    fn take(&mut self, name: &str) -> Option<Json> {
        self.0.remove(name).filter(|json| !json.is_null())
    }

    /// An argument that is read by `read`, if it is given.
    fn read<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Json) -> Option<T>,
    ) -> Result<Option<T>, Failure> {
        let Some(json) = self.take(name) else { return Ok(None) };
        read(&json).map(Some).ok_or_else(|| Failure::argument(name, expected))
    }

    /// # Errors
    /// If it is something else than a text.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Failure> {
        self.read(name, "a string", |json| json.as_str().map(str::to_owned))
    }

    /// # Errors
    /// If it is missing, or something else than a text.
    pub(crate) fn required_text(&mut self, name: &str) -> Result<String, Failure> {
        self.text(name)?.ok_or_else(|| Failure::argument(name, "a string, which is required"))
    }

    /// # Errors
    /// If it is something else than texts.
    pub(crate) fn texts(&mut self, name: &str) -> Result<Vec<String>, Failure> {
        let read = |json: &Json| {
            let texts = json.as_array()?.iter().map(|text| Some(text.as_str()?.to_owned()));
            texts.collect::<Option<Vec<_>>>()
        };
        Ok(self.read(name, "a list of strings", read)?.unwrap_or_default())
    }

    /// # Errors
    /// If it is something else than a truth value.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Failure> {
        Ok(self.read(name, "true or false", Json::as_bool)?.unwrap_or_default())
    }

    /// A number of things, `usual` unless it is given.
    ///
    /// # Errors
    /// If it is no integer of `least` to `most`.
    pub(crate) fn count(
        &mut self,
        name: &str,
        usual: usize,
        (least, most): (usize, usize),
    ) -> Result<usize, Failure> {
        let read = |json: &Json| {
            let count = usize::try_from(json.as_u64()?).ok()?;
            (least..=most).contains(&count).then_some(count)
        };
        let expected = format!("an integer from {least} to {most}");
        Ok(self.read(name, &expected, read)?.unwrap_or(usual.min(most)))
    }

    /// # Errors
    /// If it is no integer of 0 or more.
    pub(crate) fn cursor(&mut self, name: &str) -> Result<Option<i64>, Failure> {
        let read = |json: &Json| json.as_i64().filter(|cursor| *cursor >= 0);
        self.read(name, "an integer of 0 or more: a cursor or commit of an earlier answer", read)
    }

    /// # Errors
    /// If it is something else than numbers, or none.
    pub(crate) fn vector(&mut self, name: &str) -> Result<Option<Value>, Failure> {
        let read = |json: &Json| {
            let numbers = json.as_array().filter(|numbers| !numbers.is_empty())?;
            let numbers = numbers.iter().map(|number| number.as_f64().map(Value::Float));
            Some(Value::list(numbers.collect::<Option<Vec<_>>>()?))
        };
        self.read(name, "a list of numbers", read)
    }

    /// A value of a property.
    ///
    /// # Errors
    /// If it stands for no value.
    pub(crate) fn value(&mut self, name: &str) -> Result<Option<Value>, Failure> {
        let Some(json) = self.take(name) else { return Ok(None) };
        read_mixed_value(json).map(Some).map_err(|why| Failure::argument(name, &why))
    }

    /// Parameters of a statement.
    ///
    /// # Errors
    /// If it is no object, or a value in it stands for none.
    pub(crate) fn parameters(&mut self, name: &str) -> Result<ValueMap, Failure> {
        let entries = match self.take(name) {
            None => return Ok(ValueMap::new()),
            Some(Json::Object(entries)) => entries,
            Some(_) => return Err(Failure::argument(name, "an object of names and values")),
        };
        let read = |(key, json): (String, Json)| {
            let value = read_mixed_value(json);
            let value = value.map_err(|why| Failure::argument(&format!("{name}.{key}"), &why))?;
            Ok((key.into(), value))
        };
        entries.into_iter().map(read).collect()
    }

    /// The state of the graph that is to be read, if it is not the present.
    ///
    /// # Errors
    /// If it is neither a commit nor a text.
    pub(crate) fn past(&mut self) -> Result<Option<Past>, Failure> {
        let read = |json: &Json| match json {
            Json::String(time) => Some(match time.parse() {
                Ok(commit) if commit >= 0 => Past::Commit(commit),
                _ => Past::Time(time.clone()),
            }),
            json => json.as_i64().filter(|commit| *commit >= 0).map(Past::Commit),
        };
        self.read("at", "a commit (an integer) or a time such as \"2026-11-23T09:00:00Z\"", read)
    }

    /// # Errors
    /// If there is an argument that nobody has read.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(name) => Err(Failure::new(format!("there is no argument '{name}'"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(json: Json) -> Arguments {
        let Json::Object(arguments) = json else { panic!("{json}") };
        Arguments::new(arguments)
    }

    #[test]
    fn what_is_not_as_it_should_be_is_named() {
        let mut given = arguments(json!({
            "query": 1, "k": 0, "many": 1001, "vector": [1, "x"], "names": "a", "at": -1,
            "parameters": {"x": {"$type": "Date", "_value": "nonsense"}}, "extra": null, "left": 1,
        }));
        let errors = [
            given.text("query").unwrap_err(),
            given.required_text("gone").unwrap_err(),
            given.count("k", 10, (1, 1000)).unwrap_err(),
            given.count("many", 10, (1, 1000)).unwrap_err(),
            given.vector("vector").unwrap_err(),
            given.texts("names").unwrap_err(),
            given.past().unwrap_err(),
            given.parameters("parameters").unwrap_err(),
        ];
        let named = ["query", "gone", "k", "many", "vector", "names", "at", "parameters.x"];
        for (error, name) in errors.iter().zip(named) {
            assert!(error.to_string().starts_with(&format!("argument '{name}': ")), "{error}");
        }
        assert_eq!(given.text("extra").unwrap(), None);
        let left = given.end().unwrap_err();
        assert_eq!(left.to_string(), "there is no argument 'left'");
    }

    #[test]
    fn what_is_right_is_read() {
        let mut given = arguments(json!({
            "at": "12", "vector": [1, 0.5], "parameters": {
                "day": {"$type": "Date", "_value": "2026-11-23"}, "list": [1, null],
            },
        }));
        assert_eq!(given.past().unwrap(), Some(Past::Commit(12)));
        assert_eq!(given.vector("vector").unwrap(), Some(Value::list([1.0, 0.5])));
        let parameters = given.parameters("parameters").unwrap();
        assert!(matches!(parameters["day"], Value::Date(_)));
        assert_eq!(given.count("k", 10, (1, 5)).unwrap(), 5);
        given.end().unwrap();
        let time = arguments(json!({"at": "2026-11-23"})).past().unwrap();
        assert_eq!(time, Some(Past::Time("2026-11-23".into())));
    }
}
