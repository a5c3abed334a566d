//! Text to records and fields (RFC 4180, with LF or CRLF).
//!
//! A field that begins with the quote ends with it; within, the quote is doubled, and delimiters
//! and line ends are text. A quote elsewhere in a field is text as well.

/// Characters that mean something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub(super) delimiter: u8,
    pub(super) quote: u8,
    /// Blanks around a field do not belong to it.
    pub(super) trim: bool,
}

/// A field within its text, quotes left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Field {
    start: u32,
    end: u32,
    pub(super) quoted: bool,
    /// There are doubled quotes in it.
    doubled: bool,
}

impl Field {
    /// The bytes of the field; `scratch` holds them where quotes had to be taken out.
    pub(super) fn bytes<'a>(
        &self,
        text: &'a [u8],
        quote: u8,
        scratch: &'a mut Vec<u8>,
    ) -> &'a [u8] {
        let raw = &text[self.start as usize..self.end as usize];
        if !self.doubled {
            return raw;
        }
        scratch.clear();
        let mut rest = raw.iter();
        while let Some(byte) = rest.next() {
            scratch.push(*byte);
            if *byte == quote {
                rest.next();
            }
        }
        scratch
    }

    /// Whether nothing was written: not even a pair of quotes.
    #[inline]
    pub(super) fn is_absent(&self) -> bool {
        self.start == self.end && !self.quoted
    }
}

/// Why a record ends where it should not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The text ends inside quotes.
    OpenQuote,
    /// Something stands between a closing quote and the next delimiter.
    AfterQuote,
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

impl Dialect {
    /// Reads the record at `at` into `fields`; returns where the next one begins. The text ends
    /// with a whole record. After [`Broken::AfterQuote`] the record's line is passed over.
    #[inline]
    pub(super) fn record(
        self,
        text: &[u8],
        mut at: usize,
        fields: &mut Vec<Field>,
    ) -> (usize, Result<(), Broken>) {
        fields.clear();
        loop {
            let (next, field) = match text.get(at) {
                Some(byte) if *byte == self.quote || (self.trim && is_blank(*byte)) => {
                    match self.careful(text, at) {
                        Ok(found) => found,
                        Err((next, broken)) => return (next, Err(broken)),
                    }
                }
                _ => self.plain(text, at),
            };
            fields.push(field);
            match text.get(next) {
                Some(byte) if *byte == self.delimiter => at = next + 1,
                Some(_) => return (next + 1, Ok(())),
                None => return (next, Ok(())),
            }
        }
    }

    /// A field without quotes around it: up to the next delimiter or line end.
    #[inline]
    fn plain(self, text: &[u8], at: usize) -> (usize, Field) {
        let is_end = |byte: &u8| *byte == self.delimiter || *byte == b'\n';
        let next = text[at..].iter().position(is_end).map_or(text.len(), |n| at + n);
        let mut end = next;
        if text.get(next) != Some(&self.delimiter) && end > at && text[end - 1] == b'\r' {
            end -= 1;
        }
        if self.trim {
            while end > at && is_blank(text[end - 1]) {
                end -= 1;
            }
        }
        (next, Field { start: at as u32, end: end as u32, quoted: false, doubled: false })
    }

    #[cold]
    fn careful(self, text: &[u8], mut at: usize) -> Result<(usize, Field), (usize, Broken)> {
        if self.trim {
            let blanks = text[at..].iter().take_while(|b| is_blank(**b) && **b != self.delimiter);
            at += blanks.count();
        }
        if text.get(at) != Some(&self.quote) {
            return Ok(self.plain(text, at));
        }
        let start = at + 1;
        let (mut end, mut doubled) = (start, false);
        loop {
            let quote = text[end..].iter().position(|b| *b == self.quote);
            end += quote.ok_or((text.len(), Broken::OpenQuote))?;
            if text.get(end + 1) != Some(&self.quote) {
                break;
            }
            doubled = true;
            end += 2;
        }
        let mut next = end + 1;
        while self.trim && text.get(next).is_some_and(|b| is_blank(*b) && *b != self.delimiter) {
            next += 1;
        }
        if text.get(next) == Some(&b'\r') && matches!(text.get(next + 1), Some(b'\n') | None) {
            next += 1;
        }
        match text.get(next) {
            Some(byte) if *byte != self.delimiter && *byte != b'\n' => {
                let line = text[next..].iter().position(|b| *b == b'\n');
                Err((line.map_or(text.len(), |n| next + n + 1), Broken::AfterQuote))
            }
            _ => {
                let (start, end) = (start as u32, end as u32);
                Ok((next, Field { start, end, quoted: true, doubled }))
            }
        }
    }

    /// Where the last whole record of `text` ends, a line end included; 0 if none does.
    pub(super) fn last_end(self, text: &[u8]) -> usize {
        if !text.contains(&self.quote) {
            return text.iter().rposition(|b| *b == b'\n').map_or(0, |n| n + 1);
        }
        let (mut at, mut end, mut fields) = (0, 0, Vec::new());
        while at < text.len() {
            let (next, result) = self.record(text, at, &mut fields);
            // A quote that is open here may be closed by what follows.
            if result == Err(Broken::OpenQuote) || text[next - 1] != b'\n' {
                break;
            }
            (at, end) = (next, next);
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: Dialect = Dialect { delimiter: b',', quote: b'"', trim: false };
    const TRIM: Dialect = Dialect { trim: true, ..PLAIN };

    fn records(dialect: Dialect, text: &[u8]) -> Vec<Result<Vec<String>, Broken>> {
        let (mut at, mut fields, mut found, mut scratch) = (0, vec![], vec![], vec![]);
        while at < text.len() {
            let (next, result) = dialect.record(text, at, &mut fields);
            let read = |f: &Field| {
                String::from_utf8_lossy(f.bytes(text, dialect.quote, &mut scratch)).into_owned()
            };
            found.push(result.map(|()| fields.iter().map(read).collect()));
            assert!(next > at);
            at = next;
        }
        found
    }

    fn strings(fields: &[&str]) -> Result<Vec<String>, Broken> {
        Ok(fields.iter().map(|f| (*f).to_owned()).collect())
    }

    #[test]
    fn records_follow_rfc_4180() {
        let text = b"a,b\r\n\"x,\"\"y\"\"\n\",\"\"\n,\n5\" pipe, z \"\n\"end\"";
        let wanted = [
            strings(&["a", "b"]),
            strings(&["x,\"y\"\n", ""]),
            strings(&["", ""]),
            strings(&["5\" pipe", " z \""]),
            strings(&["end"]),
        ];
        assert_eq!(records(PLAIN, text), wanted);
        assert_eq!(records(TRIM, b" a ,\t\"b \" \r\n"), [strings(&["a", "b "])]);
    }

    #[test]
    fn broken_quotes_are_told_from_open_ones() {
        assert_eq!(records(PLAIN, b"\"a\"b,c\nd\n"), [Err(Broken::AfterQuote), strings(&["d"])]);
        assert_eq!(records(PLAIN, b"a,\"b\nc\n"), [Err(Broken::OpenQuote)]);
        assert_eq!(PLAIN.last_end(b"a,b\nc,\"d\ne"), 4);
        assert_eq!(PLAIN.last_end(b"a,\"b\n\"\nc"), 7);
        assert_eq!(PLAIN.last_end(b"a\nb"), 2);
        assert_eq!(PLAIN.last_end(b"ab"), 0);
    }

    fn quoted(field: &str, style: u8) -> String {
        let special = field.contains(['"', ',', '\n', '\r']);
        match style {
            0 if !special => field.to_owned(),
            _ => format!("\"{}\"", field.replace('"', "\"\"")),
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            rows in proptest::collection::vec(
                proptest::collection::vec(("[a\",\n\r ]{0,6}", 0..2u8), 1..5), 1..10),
            crlf: bool,
        ) {
            let end = if crlf { "\r\n" } else { "\n" };
            let line = |row: &Vec<(String, u8)>| {
                let fields: Vec<_> = row.iter().map(|(f, style)| quoted(f, *style)).collect();
                fields.join(",") + end
            };
            let text: String = rows.iter().map(line).collect();
            let wanted: Vec<_> =
                rows.iter().map(|r| Ok(r.iter().map(|(f, _)| f.clone()).collect())).collect();
            prop_assert_eq!(records(PLAIN, text.as_bytes()), wanted);
            prop_assert_eq!(PLAIN.last_end(text.as_bytes()), text.len());
        }

        #[test]
        fn any_bytes_are_records_or_errors(
            text in proptest::collection::vec(
                prop_oneof![any::<u8>(), Just(b'"'), Just(b','), Just(b'\n')], 0..60),
            trim: bool,
        ) {
            let dialect = Dialect { trim, ..PLAIN };
            records(dialect, &text);
            prop_assert!(dialect.last_end(&text) <= text.len());
        }
    }
}
