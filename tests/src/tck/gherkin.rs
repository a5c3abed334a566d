//! The part of Gherkin that the TCK uses: features, one background, scenarios, outlines with tables
//! of examples, tags, comments, text blocks and tables as arguments of steps.
//!
//! ```text
//! @tag                                   Given / When / Then / And / But / *  text
//! Feature: name                              """            | cell | cell |
//!   free text                                text block     \|  \\  \n   in cells
//!   Background:                              """
//!     steps
//!   Scenario: name
//!     steps
//!   Scenario Outline: name               <column> in steps, blocks and tables stands for the cell
//!     steps
//!     Examples:
//!       | column |
//! ```
//!
//! A text block loses the indentation of the quotes that open it. Whatever else stands in a file is
//! an error with its line, so that no scenario is lost unnoticed.

/// What a line is indented with.
const BLANKS: [char; 2] = [' ', '\t'];

/// A table: rows of cells.
pub type Table = Vec<Vec<String>>;

/// One step as it stands in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawStep {
    /// The text after the keyword.
    pub text: String,
    /// The text block below it.
    pub block: Option<String>,
    /// The table below it; empty if there is none.
    pub table: Table,
    /// Line of the step, from 1.
    pub line: usize,
}

/// A scenario, or one example of an outline, with the steps of the background before its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawScenario {
    /// Its name.
    pub name: String,
    /// Which example of the outline it is, from 1; 0 for a plain scenario.
    pub example: usize,
    /// Tags of the feature, the scenario and the examples, without `@`.
    pub tags: Vec<String>,
    /// What to do, in order.
    pub steps: Vec<RawStep>,
    /// Line of the scenario, or of the row of the example.
    pub line: usize,
}

/// What one file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Feature {
    /// Its name.
    pub name: String,
    /// How many scenarios and outlines the file has.
    pub written: usize,
    /// Scenarios, outlines expanded.
    pub scenarios: Vec<RawScenario>,
}

/// A scenario or an outline before it is expanded.
#[derive(Debug, Default)]
struct Outline {
    name: String,
    is_outline: bool,
    tags: Vec<String>,
    steps: Vec<RawStep>,
    examples: Vec<Examples>,
    line: usize,
}

#[derive(Debug, Default)]
struct Examples {
    tags: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

/// Reads a file.
///
/// # Errors
/// The line that is not understood, and why.
pub fn parse(text: &str) -> Result<Feature, String> {
    let mut reader = Reader::default();
    let mut lines = (1..).zip(text.lines());
    while let Some((number, line)) = lines.next() {
        let result = if line.trim() == "\"\"\"" {
            let indent = line.len() - line.trim_start_matches(BLANKS).len();
            block(&mut lines, indent).and_then(|block| reader.block(block))
        } else {
            reader.line(number, line.trim())
        };
        result.map_err(|problem| format!("line {number}: {problem}"))?;
    }
    reader.finish()
}

/// The text up to the closing quotes.
fn block<'t>(
    lines: &mut impl Iterator<Item = (usize, &'t str)>,
    indent: usize,
) -> Result<String, String> {
    let mut text = Vec::new();
    for (_, line) in lines {
        if line.trim() == "\"\"\"" {
            return Ok(text.join("\n"));
        }
        let blank = line.len() - line.trim_start_matches(BLANKS).len();
        text.push(line[indent.min(blank)..].replace("\\\"\\\"\\\"", "\"\"\""));
    }
    Err("a text block is not closed".to_owned())
}

/// Where the reader is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    /// Below the feature's name, where free text may stand.
    Feature,
    Background,
    Steps,
    Examples,
}

#[derive(Debug, Default)]
struct Reader {
    place: Place,
    feature: String,
    feature_tags: Vec<String>,
    tags: Vec<String>,
    background: Vec<RawStep>,
    outlines: Vec<Outline>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), String> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        if line.starts_with('@') {
            let tags = line.split_whitespace().take_while(|word| word.starts_with('@'));
            self.tags.extend(tags.map(|tag| tag[1..].to_owned()));
            return Ok(());
        }
        if line.starts_with('|') {
            return self.row(number, cells(line)?);
        }
        if let Some((keyword, name)) = line.split_once(':')
            && self.section(number, keyword, name.trim())?
        {
            return Ok(());
        }
        let keywords = ["Given ", "When ", "Then ", "And ", "But ", "* "];
        match keywords.iter().find_map(|keyword| line.strip_prefix(keyword)) {
            Some(text) => {
                let text = text.trim().to_owned();
                let step = RawStep { text, line: number, ..RawStep::default() };
                self.steps()?.push(step);
                Ok(())
            }
            None if self.place == Place::Feature => Ok(()),
            None => Err(format!("neither a keyword nor a step: {line}")),
        }
    }

    /// Begins a section if `keyword` is one.
    fn section(&mut self, line: usize, keyword: &str, name: &str) -> Result<bool, String> {
        match keyword {
            "Feature" if self.place == Place::Start => {
                self.feature = name.to_owned();
                self.feature_tags = std::mem::take(&mut self.tags);
                self.place = Place::Feature;
            }
            "Background" if self.place == Place::Feature => self.place = Place::Background,
            "Scenario" | "Example" | "Scenario Outline" | "Scenario Template"
                if self.place != Place::Start =>
            {
                let is_outline = matches!(keyword, "Scenario Outline" | "Scenario Template");
                let tags = std::mem::take(&mut self.tags);
                let name = name.to_owned();
                self.outlines.push(Outline { name, is_outline, tags, line, ..Outline::default() });
                self.place = Place::Steps;
            }
            "Examples" | "Scenarios" if matches!(self.place, Place::Steps | Place::Examples) => {
                let tags = std::mem::take(&mut self.tags);
                let outline = self.outlines.last_mut().filter(|outline| outline.is_outline);
                let outline = outline.ok_or("examples of a scenario that is no outline")?;
                outline.examples.push(Examples { tags, ..Examples::default() });
                self.place = Place::Examples;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Where a step belongs here.
    fn steps(&mut self) -> Result<&mut Vec<RawStep>, String> {
        match (self.place, self.outlines.last_mut()) {
            (Place::Background, _) => Ok(&mut self.background),
            (Place::Steps, Some(outline)) => Ok(&mut outline.steps),
            _ => Err("a step outside a scenario".to_owned()),
        }
    }

    fn row(&mut self, line: usize, row: Vec<String>) -> Result<(), String> {
        if self.place == Place::Examples {
            let examples = self.outlines.last_mut().and_then(|o| o.examples.last_mut());
            let examples = examples.ok_or("a table without examples")?;
            if examples.rows.first().is_some_and(|(_, header)| header.len() != row.len()) {
                return Err("a row with another number of cells than the header".to_owned());
            }
            examples.rows.push((line, row));
            return Ok(());
        }
        let step = self.steps()?.last_mut().ok_or("a table without a step")?;
        if step.table.first().is_some_and(|header| header.len() != row.len()) {
            return Err("a row with another number of cells than the header".to_owned());
        }
        step.table.push(row);
        Ok(())
    }

    fn block(&mut self, block: String) -> Result<(), String> {
        let step = self.steps()?.last_mut().ok_or("a text block without a step")?;
        match step.block.replace(block) {
            None => Ok(()),
            Some(_) => Err("a second text block for one step".to_owned()),
        }
    }

    fn finish(self) -> Result<Feature, String> {
        if self.place == Place::Start {
            return Err("no feature".to_owned());
        }
        let mut feature =
            Feature { name: self.feature, written: self.outlines.len(), scenarios: Vec::new() };
        for outline in self.outlines {
            let expanded = outline.expand(&self.background, &self.feature_tags);
            feature.scenarios.extend(expanded?);
        }
        Ok(feature)
    }
}

impl Outline {
    fn expand(&self, before: &[RawStep], tags: &[String]) -> Result<Vec<RawScenario>, String> {
        let steps = || before.iter().chain(&self.steps);
        let tags = |more: &[String]| [tags, &self.tags, more].concat();
        let name = || self.name.clone();
        if !self.is_outline {
            let steps = steps().cloned().collect();
            return Ok(vec![RawScenario {
                name: name(),
                example: 0,
                tags: tags(&[]),
                steps,
                line: self.line,
            }]);
        }
        let mut scenarios = Vec::new();
        for examples in &self.examples {
            let Some(((_, header), rows)) = examples.rows.split_first() else {
                return Err(format!("line {}: examples without a table", self.line));
            };
            for (line, row) in rows {
                let fill = |text: &str| substitute(text, header, row);
                scenarios.push(RawScenario {
                    name: name(),
                    example: scenarios.len() + 1,
                    tags: tags(&examples.tags),
                    steps: steps().map(|step| step.map(&fill)).collect(),
                    line: *line,
                });
            }
        }
        if scenarios.is_empty() {
            return Err(format!("line {}: an outline without examples", self.line));
        }
        Ok(scenarios)
    }
}

impl RawStep {
    fn map(&self, f: &impl Fn(&str) -> String) -> Self {
        Self {
            text: f(&self.text),
            block: self.block.as_deref().map(f),
            table: self.table.iter().map(|row| row.iter().map(|c| f(c)).collect()).collect(),
            line: self.line,
        }
    }
}

/// `text` with each `<column>` replaced by its cell; in one pass, so that a cell may hold `<`.
fn substitute(text: &str, header: &[String], row: &[String]) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        filled.push_str(before);
        let found = header.iter().zip(row).find_map(|(column, cell)| {
            let behind = after.strip_prefix(column.as_str())?.strip_prefix('>')?;
            Some((cell, behind))
        });
        match found {
            Some((cell, behind)) => {
                filled.push_str(cell);
                rest = behind;
            }
            None => {
                filled.push('<');
                rest = after;
            }
        }
    }
    filled + rest
}

/// The cells of a row: `\|` is a bar, `\\` a backslash, `\n` a line end, another backslash itself.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut chars = line.chars().skip(1);
    let mut closed = true;
    while let Some(c) = chars.next() {
        closed = c == '|';
        match c {
            '|' => cells.push(std::mem::take(&mut cell).trim_matches(BLANKS).to_owned()),
            '\\' => match chars.next() {
                Some('n') => cell.push('\n'),
                Some(c @ ('|' | '\\')) => cell.push(c),
                Some(other) => cell.extend(['\\', other]),
                None => cell.push('\\'),
            },
            c => cell.push(c),
        }
    }
    if closed { Ok(cells) } else { Err("a row that does not end with |".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
# A comment.
@all
Feature: Name - with: colon
  Free text, Scenario less.

  Background:
    Given any graph

  @one @two # not a tag
  Scenario: [1] Plain
    When executing query:
      """
      RETURN 1 # stays
        AS a

      """
    # Between steps.
    Then the result should be, in any order:
      | a \| b | \\ | 'x\ny\z' |
      | 1      |    | <a>      |
    And no side effects

  Scenario Outline: [2] Outline <a>
    When executing query:
      """
      RETURN <a> < <bb>, <c>
      """
    Then <a> is:
      | <bb> |

    Examples: first
      | a   | bb  |
      | <bb> | 2  |
    @late
    Examples:
      | bb | a |
      | x  | y |
"#;

    #[test]
    fn a_file_gives_scenarios_with_background_tags_and_examples() {
        let feature = parse(FILE).unwrap();
        assert_eq!((feature.name.as_str(), feature.written), ("Name - with: colon", 2));
        let names: Vec<_> =
            feature.scenarios.iter().map(|s| (s.name.as_str(), s.example, s.line)).collect();
        assert_eq!(
            names,
            [("[1] Plain", 0, 11), ("[2] Outline <a>", 1, 34), ("[2] Outline <a>", 2, 38)]
        );
        let plain = &feature.scenarios[0];
        assert_eq!(plain.tags, ["all", "one", "two"]);
        assert_eq!(plain.steps.len(), 4);
        assert_eq!(plain.steps[0].text, "any graph");
        assert_eq!(plain.steps[1].block.as_deref(), Some("RETURN 1 # stays\n  AS a\n"));
        assert_eq!(plain.steps[2].table, [["a | b", "\\", "'x\ny\\z'"], ["1", "", "<a>"]]);
        let [first, second] = &feature.scenarios[1..] else { panic!("two examples") };
        // The cell that looks like a column is not replaced again.
        assert_eq!(first.steps[1].block.as_deref(), Some("RETURN <bb> < 2, <c>"));
        assert_eq!(first.steps[2].table, [["2"]]);
        assert_eq!(second.steps[2].text, "y is:");
        assert_eq!(second.tags, ["all", "late"]);
    }

    #[test]
    fn a_bar_alone_is_a_row_without_cells() {
        assert_eq!(cells("|"), Ok(vec![]));
        assert_eq!(cells("||"), Ok(vec![String::new()]));
        assert!(cells("| a").is_err());
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        let bad = [
            ("", "no feature"),
            ("Feature: a\nScenario: b\nRETURN 1", "line 3: neither"),
            ("Feature: a\nGiven x", "line 2: a step outside"),
            ("Feature: a\nScenario: b\n| a |", "line 3: a table without"),
            ("Feature: a\nScenario: b\nGiven x\n\"\"\"\nq", "line 4: a text block is not closed"),
            ("Feature: a\nScenario: b\nGiven x\n| a |\n| b | c |", "line 5: a row with another"),
            ("Feature: a\nScenario: b\nExamples:", "line 3: examples of a scenario"),
            ("Feature: a\nScenario Outline: b\nGiven x", "line 2: an outline without"),
            ("Feature: a\nScenario Outline: b\nExamples:\n", "line 2: examples without"),
            (
                "Feature: a\nScenario: b\nGiven x\n\"\"\"\n\"\"\"\n\"\"\"\n\"\"\"",
                "line 6: a second",
            ),
        ];
        for (text, expected) in bad {
            let problem = parse(text).unwrap_err();
            assert!(problem.starts_with(expected), "{text:?}: {problem}");
        }
    }
}
