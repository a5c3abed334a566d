//! Parser of the notation in which the TCK writes expected values and parameters.
//!
//! ```text
//! value = null | true | false | number | NaN | Inf | 'text' | [value, ..] | {key: value, ..}
//!       | (:Label:Label {key: value})  |  [:TYPE {key: value}]  |  <(..)-[..]->(..)<-[..]-(..)>
//! ```
//!
//! In texts only `\'` and `\\` are escapes. Names may stand in backticks.

use super::value::{Entries, Hop, Node, Path, Relationship, TckValue};

/// Parses one value.
///
/// # Errors
/// What is wrong, and where.
pub fn parse(text: &str) -> Result<TckValue, String> {
    let mut parser = Parser { text, at: 0 };
    let value = parser.value()?;
    parser.blanks();
    if parser.at == text.len() { Ok(value) } else { Err(parser.bad("text follows the value")) }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn bad(&self, why: &str) -> String {
        format!("{why} at byte {} of {:?}", self.at, self.text)
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    /// Whether `token` comes next, after blanks.
    fn sees(&mut self, token: &str) -> bool {
        self.blanks();
        self.rest().starts_with(token)
    }

    fn takes(&mut self, token: &str) -> bool {
        let sees = self.sees(token);
        self.at += if sees { token.len() } else { 0 };
        sees
    }

    fn needs(&mut self, token: &str) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(self.bad(&format!("expected {token}"))) }
    }

    fn value(&mut self) -> Result<TckValue, String> {
        self.blanks();
        match self.rest().bytes().next() {
            Some(b'\'') => Ok(TckValue::string(self.string()?)),
            Some(b'[') if self.rest()[1..].trim_start().starts_with(':') => {
                self.relationship().map(TckValue::Relationship)
            }
            Some(b'[') => {
                let mut elements = Vec::new();
                self.at += 1;
                self.separated("]", |parser| {
                    elements.push(parser.value()?);
                    Ok(())
                })?;
                Ok(TckValue::List(elements))
            }
            Some(b'{') => self.map().map(TckValue::Map),
            Some(b'(') => self.node().map(TckValue::Node),
            Some(b'<') => self.path().map(|path| TckValue::Path(Box::new(path))),
            Some(_) => self.word(),
            None => Err(self.bad("no value")),
        }
    }

    /// A number or one of the words.
    fn word(&mut self) -> Result<TckValue, String> {
        let end = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}' | ')' | ':');
        let word = self.rest().split(end).next().unwrap_or_default();
        let value = match word {
            "null" => Some(TckValue::Null),
            "true" => Some(TckValue::Bool(true)),
            "false" => Some(TckValue::Bool(false)),
            "NaN" => Some(TckValue::float(f64::NAN)),
            "Inf" | "Infinity" => Some(TckValue::float(f64::INFINITY)),
            "-Inf" | "-Infinity" => Some(TckValue::float(f64::NEG_INFINITY)),
            number => self::number(number),
        };
        let value = value.ok_or_else(|| self.bad("no value"))?;
        self.at += word.len();
        Ok(value)
    }

    fn string(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((i, c)) = chars.next() {
            match c {
                '\'' => {
                    self.at += i + 1;
                    return Ok(text);
                }
                '\\' => match chars.next_if(|(_, c)| matches!(c, '\'' | '\\')) {
                    Some((_, escaped)) => text.push(escaped),
                    None => text.push('\\'),
                },
                c => text.push(c),
            }
        }
        Err(self.bad("a text is not closed"))
    }

    /// Items between commas up to `end`; the opening bracket is read already.
    fn separated(
        &mut self,
        end: &str,
        mut item: impl FnMut(&mut Self) -> Result<(), String>,
    ) -> Result<(), String> {
        if self.takes(end) {
            return Ok(());
        }
        loop {
            item(self)?;
            if self.takes(end) {
                return Ok(());
            }
            self.needs(",")?;
        }
    }

    fn name(&mut self) -> Result<String, String> {
        self.blanks();
        if let Some(quoted) = self.rest().strip_prefix('`') {
            let mut name = String::new();
            let mut chars = quoted.char_indices().peekable();
            while let Some((i, c)) = chars.next() {
                if c == '`' && chars.next_if(|(_, c)| *c == '`').is_none() {
                    self.at += i + 2;
                    return Ok(name);
                }
                name.push(c);
            }
            return Err(self.bad("a name is not closed"));
        }
        let letter = |c: char| c.is_alphanumeric() || c == '_';
        let length = self.rest().find(|c| !letter(c)).unwrap_or(self.rest().len());
        let name = &self.rest()[..length];
        if name.is_empty() || name.starts_with(char::is_numeric) {
            return Err(self.bad("expected a name"));
        }
        self.at += length;
        Ok(name.to_owned())
    }

    fn map(&mut self) -> Result<Entries, String> {
        let mut entries = Entries::new();
        self.needs("{")?;
        self.separated("}", |parser| {
            let key = parser.name()?;
            parser.needs(":")?;
            let value = parser.value()?;
            match entries.insert(key, value) {
                None => Ok(()),
                Some(_) => Err(parser.bad("a key stands twice")),
            }
        })?;
        Ok(entries)
    }

    fn properties(&mut self) -> Result<Entries, String> {
        if self.sees("{") { self.map() } else { Ok(Entries::new()) }
    }

    fn node(&mut self) -> Result<Node, String> {
        self.needs("(")?;
        let mut node = Node::default();
        while self.takes(":") {
            node.labels.insert(self.name()?);
        }
        node.properties = self.properties()?;
        self.needs(")")?;
        Ok(node)
    }

    fn relationship(&mut self) -> Result<Relationship, String> {
        self.needs("[")?;
        self.needs(":")?;
        let ty = self.name()?;
        let properties = self.properties()?;
        self.needs("]")?;
        Ok(Relationship { ty, properties })
    }

    fn path(&mut self) -> Result<Path, String> {
        self.needs("<")?;
        let mut path = Path { start: self.node()?, steps: Vec::new() };
        while !self.takes(">") {
            let forward = !self.takes("<-");
            if forward {
                self.needs("-")?;
            }
            let relationship = self.relationship()?;
            self.needs(if forward { "->" } else { "-" })?;
            path.steps.push(Hop { forward, relationship, node: self.node()? });
        }
        Ok(path)
    }
}

fn number(word: &str) -> Option<TckValue> {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    // The parser of floats also reads words such as `inf`.
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if let Ok(number) = word.parse() {
        return Some(TckValue::Int(number));
    }
    if unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    word.parse().ok().map(TckValue::float)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_value_is_read_and_printed_back() {
        for text in [
            "null",
            "true",
            "-9223372036854775808",
            "1.0",
            "-1e-100",
            "NaN",
            "-Inf",
            "''",
            r"'it\'s a \\ '",
            "[]",
            "[1, [null], 'a']",
            "{}",
            "{`a b`: 1, k: {x: []}}",
            "()",
            "({p: 1})",
            "(:A:B {p: 'x'})",
            "[:T]",
            "[:T {p: 1}]",
            "<()>",
            "<(:A)-[:T]->(:B {p: 1})<-[:T {q: 2}]-()>",
        ] {
            let value = parse(text).unwrap_or_else(|problem| panic!("{problem}"));
            assert_eq!(value.to_string(), text);
        }
    }

    #[test]
    fn spellings_that_mean_the_same_are_the_same() {
        for (a, b) in [
            ("( :B:A{p:1} )", "(:A:B {p: 1})"),
            ("{b: 1, a: 2}", "{a: 2,b: 1}"),
            ("1.00", "1e0"),
            (".5", "0.5"),
            ("Infinity", "Inf"),
            ("'12:00:00.500'", "'12:00:00.5'"),
        ] {
            assert_eq!(parse(a), parse(b), "{a} {b}");
        }
    }

    #[test]
    fn escapes_are_only_those_of_quotes_and_backslashes() {
        assert_eq!(parse(r"'a\nb\\'"), Ok(TckValue::String(r"a\nb\".to_owned())));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "nul",
            "nullx",
            "1 2",
            "'a",
            "[1",
            "[1,]",
            "{a}",
            "{a: 1, a: 2}",
            "{1: 2}",
            "(A)",
            "(:)",
            "[:]",
            "<>",
            "<(:A)->(:B)>",
            "<(:A)-[:T]-(:B)>",
            "<(:A)-[:T]->",
            "inf",
            "--1",
            "9223372036854775808",
            "`a`",
            "1a",
            "0x1F",
        ] {
            assert!(parse(text).is_err(), "{text} was read as {:?}", parse(text));
        }
    }
}
