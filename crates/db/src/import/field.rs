//! Text to lines, lines to fields.
//!
//! Both iterators carry absolute offsets, so that any fault can be placed. Neither allocates.

use std::borrow::Cow;
use std::ops::Range;

use super::error::Fault;

/// What stands between two fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delimiter {
    /// Any number of spaces and tabs, also around the line.
    Blanks,
    /// This byte, once. Fields may be quoted; blanks around a field do not belong to it.
    Byte(u8),
}

/// A line without its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line<'a> {
    pub(super) offset: usize,
    pub(super) text: &'a [u8],
}

impl<'a> Line<'a> {
    /// True for `#` and `%` lines.
    pub(super) fn is_comment(&self) -> bool {
        matches!(self.text.trim_ascii_start().first(), Some(b'#' | b'%'))
    }

    /// True if there is nothing but blanks.
    pub(super) fn is_blank(&self) -> bool {
        self.text.trim_ascii_start().is_empty()
    }

    /// The fields of the line.
    pub(super) fn fields(&self, delimiter: Delimiter) -> Fields<'a> {
        Fields { line: *self, position: 0, ended: false, delimiter }
    }
}

/// Lines of a range of the text. Ends LF and CRLF are both taken off.
pub(super) struct Lines<'a> {
    text: &'a [u8],
    position: usize,
    end: usize,
}

impl<'a> Lines<'a> {
    /// The lines that begin in `range`, which must end at the end of a line.
    pub(super) fn new(text: &'a [u8], range: Range<usize>) -> Self {
        Self { text, position: range.start, end: range.end.min(text.len()) }
    }

    /// The next line that is neither blank nor a comment.
    pub(super) fn next_record(&mut self) -> Option<Line<'a>> {
        self.find(|line| match line.text.first() {
            // PERF: nearly every line of nearly every file is a record that begins with a digit.
            Some(b'0'..=b'9') => true,
            _ => !line.is_blank() && !line.is_comment(),
        })
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    fn next(&mut self) -> Option<Line<'a>> {
        let rest = self.text.get(self.position..self.end)?;
        if rest.is_empty() {
            return None;
        }
        let offset = self.position;
        let length = rest.iter().position(|&byte| byte == b'\n');
        self.position += length.map_or(rest.len(), |length| length + 1);
        let text = &rest[..length.unwrap_or(rest.len())];
        Some(Line { offset, text: text.strip_suffix(b"\r").unwrap_or(text) })
    }
}

/// One field of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct Field<'a> {
    /// Where its text begins, after an opening quote.
    pub(super) offset: usize,
    /// Its text without quotes; doubled quotes inside are still doubled.
    pub(super) text: &'a [u8],
    /// Whether `text` has doubled quotes.
    pub(super) escaped: bool,
}

impl<'a> Field<'a> {
    /// The text, unescaped.
    pub(super) fn as_str(&self) -> Result<Cow<'a, str>, Fault> {
        let text = std::str::from_utf8(self.text)
            .map_err(|_| Fault::unexpected(self.offset, "UTF-8 text", self.text))?;
        Ok(if self.escaped { Cow::Owned(text.replace("\"\"", "\"")) } else { Cow::Borrowed(text) })
    }
}

/// Fields of a line.
pub(super) struct Fields<'a> {
    line: Line<'a>,
    position: usize,
    ended: bool,
    delimiter: Delimiter,
}

impl<'a> Fields<'a> {
    /// The next field, `None` at the end of the line.
    pub(super) fn next_field(&mut self) -> Result<Option<Field<'a>>, Fault> {
        match self.delimiter {
            Delimiter::Blanks => Ok(self.next_word()),
            Delimiter::Byte(_) if self.ended => Ok(None),
            Delimiter::Byte(separator) => self.next_separated(separator).map(Some),
        }
    }

    /// All remaining fields.
    pub(super) fn collect(mut self) -> Result<Vec<Field<'a>>, Fault> {
        let mut fields = Vec::new();
        while let Some(field) = self.next_field()? {
            fields.push(field);
        }
        Ok(fields)
    }

    /// What has not been read yet.
    fn rest(&self) -> &'a [u8] {
        self.line.text.get(self.position..).unwrap_or_default()
    }

    fn skip_blanks(&mut self, separator: u8) {
        let is_blank = |byte: u8| is_blank(byte) && byte != separator;
        self.position += self.rest().iter().take_while(|&&byte| is_blank(byte)).count();
    }

    fn next_word(&mut self) -> Option<Field<'a>> {
        self.skip_blanks(b'\n');
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let length = rest.iter().position(|&byte| is_blank(byte)).unwrap_or(rest.len());
        let offset = self.line.offset + self.position;
        self.position += length;
        Some(Field { offset, text: &rest[..length], escaped: false })
    }

    fn next_separated(&mut self, separator: u8) -> Result<Field<'a>, Fault> {
        self.skip_blanks(separator);
        let rest = self.rest();
        if let [b'"', quoted @ ..] = rest {
            return self.next_quoted(separator, quoted);
        }
        let length = rest.iter().position(|&byte| byte == separator);
        let offset = self.line.offset + self.position;
        self.ended = length.is_none();
        self.position += length.map_or(rest.len(), |length| length + 1);
        let text = rest[..length.unwrap_or(rest.len())].trim_ascii_end();
        Ok(Field { offset, text, escaped: false })
    }

    /// `quoted` is the rest of the line after an opening quote.
    fn next_quoted(&mut self, separator: u8, quoted: &'a [u8]) -> Result<Field<'a>, Fault> {
        let start = self.position + 1;
        let mut length = 0;
        let mut escaped = false;
        loop {
            match quoted.get(length..).unwrap_or_default() {
                [b'"', b'"', ..] => {
                    escaped = true;
                    length += 2;
                }
                [b'"', ..] => break,
                [_, ..] => length += 1,
                [] => {
                    let at = self.line.offset + self.position;
                    let expected = "a field that ends with a quote on the same line";
                    return Err(Fault::unexpected(at, expected, self.rest()));
                }
            }
        }
        let field = Field { offset: self.line.offset + start, text: &quoted[..length], escaped };
        self.position = start + length + 1;
        self.skip_blanks(separator);
        match self.rest() {
            [] => self.ended = true,
            [next, ..] if *next == separator => self.position += 1,
            rest => {
                let at = self.line.offset + self.position;
                return Err(Fault::unexpected(at, "the end of the quoted field", rest));
            }
        }
        Ok(field)
    }
}

/// True for what separates words within a line. A carriage return counts, so that a stray one
/// does not become part of an id.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}
