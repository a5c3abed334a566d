//! Which field of a record means what, decided before any record is parsed.

use super::error::{Fault, Problem};
use super::field::{Delimiter, Field, Fields, Line, Lines};
use super::number::parse_u64;
use super::options::{Columns, EdgeListOptions, Format, Header, IdKind, Numbering};

/// Header names of the first endpoint, lower case, letters and digits only.
const FROM_NAMES: [&str; 14] = [
    "from",
    "source",
    "src",
    "start",
    "u",
    "fromid",
    "sourceid",
    "srcid",
    "startid",
    "fromnodeid",
    "fromnode",
    "sourcenode",
    "sourcevertex",
    "fromvertex",
];
/// Header names of the second endpoint.
const TO_NAMES: [&str; 15] = [
    "to",
    "target",
    "dst",
    "dest",
    "destination",
    "end",
    "v",
    "toid",
    "targetid",
    "dstid",
    "endid",
    "tonodeid",
    "tonode",
    "targetnode",
    "tovertex",
];
/// Largest id that can be kept as it is: the number of vertices must fit into 32 bits too.
const KEPT_ID_MAX: u64 = u32::MAX as u64 - 1;

/// What a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    From,
    To,
    /// The column with this index in [`Layout::names`].
    Column(usize),
    Skip,
}

/// How to read every record of a delimited file.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) delimiter: Delimiter,
    /// By position.
    pub(super) roles: Vec<Role>,
    /// Names of the columns.
    pub(super) names: Vec<String>,
    /// Whether a record may have fields beyond `roles`.
    pub(super) open_ended: bool,
    /// True for numeric ids.
    pub(super) numeric: bool,
    /// Largest numeric id allowed.
    pub(super) id_max: u64,
    /// Offset of the first record that is data.
    pub(super) data_start: usize,
}

/// The format of `text`, never [`Format::Auto`].
pub(super) fn format_of(file: &str, text: &[u8], options: &EdgeListOptions) -> Format {
    if options.format != Format::Auto {
        return options.format;
    }
    let name = file.to_ascii_lowercase();
    let name =
        [".gz", ".zst", ".zstd"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => Format::Csv,
        Some("tsv") => Format::Tsv,
        Some("metis" | "graph") => Format::Metis,
        _ => match Lines::new(text, 0..text.len()).next_record() {
            Some(record) if record.text.contains(&b',') => Format::Csv,
            _ => Format::Snap,
        },
    }
}

/// The layout of `text`, `None` if it has no record at all.
pub(super) fn detect(
    text: &[u8],
    format: Format,
    options: &EdgeListOptions,
) -> Result<Option<Layout>, Fault> {
    let delimiter = match format {
        Format::Csv => Delimiter::Byte(b','),
        Format::Tsv => Delimiter::Byte(b'\t'),
        Format::Auto | Format::Snap | Format::Metis => Delimiter::Blanks,
    };
    let mut lines = Lines::new(text, 0..text.len());
    let Some(first) = lines.next_record() else {
        return Ok(None);
    };
    let second = lines.next_record();
    let fields = first.fields(delimiter).collect()?;
    let has_header = match options.header {
        Header::Present => true,
        Header::Absent => false,
        Header::Auto => is_header(&fields, second.map(|line| line.fields(delimiter)))?,
    };
    if fields.len() < 2 {
        let problem = Problem::FieldCount { expected: 2, found: fields.len() };
        return Err(Fault { offset: first.offset, problem });
    }
    let (from, to) = has_header.then(|| endpoints_by_name(&fields)).flatten().unwrap_or((0, 1));
    let data = if has_header { second } else { Some(first) };
    let numeric = match options.ids {
        IdKind::Numbers => true,
        IdKind::Texts => false,
        IdKind::Auto => numeric_endpoints(data, delimiter, from, to)?,
    };
    let mut layout = Layout {
        delimiter,
        roles: Vec::new(),
        names: Vec::new(),
        open_ended: options.columns == Columns::Ignore,
        numeric,
        id_max: if options.numbering == Numbering::Keep { KEPT_ID_MAX } else { u64::MAX },
        data_start: data.map_or(text.len(), |line| line.offset),
    };
    layout.assign_roles(&fields, from, to, has_header)?;
    Ok(Some(layout))
}

impl Layout {
    fn assign_roles(
        &mut self,
        fields: &[Field<'_>],
        from: usize,
        to: usize,
        named: bool,
    ) -> Result<(), Fault> {
        let used = if self.open_ended { from.max(to) + 1 } else { fields.len() };
        for (position, field) in fields.iter().enumerate().take(used) {
            let role = if position == from {
                Role::From
            } else if position == to {
                Role::To
            } else if self.open_ended {
                Role::Skip
            } else {
                let text = if named { field.as_str()?.into_owned() } else { String::new() };
                let name = match (text.as_str(), position) {
                    ("", 2) => "weight".to_owned(),
                    ("", 3) => "time".to_owned(),
                    ("", _) => format!("column{}", position + 1),
                    (name, _) => name.to_owned(),
                };
                self.names.push(name);
                Role::Column(self.names.len() - 1)
            };
            self.roles.push(role);
        }
        Ok(())
    }
}

fn is_header(fields: &[Field<'_>], second: Option<Fields<'_>>) -> Result<bool, Fault> {
    if endpoints_by_name(fields).is_some() {
        return Ok(true);
    }
    let Some(second) = second else {
        return Ok(false);
    };
    let numbers = |fields: &[Field<'_>], expected: bool| match fields {
        [from, to, ..] => [from, to].iter().all(|f| parse_u64(f.text).is_some() == expected),
        _ => false,
    };
    Ok(numbers(fields, false) && numbers(&second.collect()?, true))
}

fn endpoints_by_name(fields: &[Field<'_>]) -> Option<(usize, usize)> {
    let position = |names: &[&str]| {
        fields.iter().position(|field| names.contains(&plain_name(field.text).as_str()))
    };
    Some((position(&FROM_NAMES)?, position(&TO_NAMES)?))
}

/// `From_Node-ID` and `fromNodeId` are one name: lower case, letters and digits only.
fn plain_name(name: &[u8]) -> String {
    let plain = name.iter().filter(|byte| byte.is_ascii_alphanumeric());
    plain.map(|byte| char::from(byte.to_ascii_lowercase())).collect()
}

fn numeric_endpoints(
    data: Option<Line<'_>>,
    delimiter: Delimiter,
    from: usize,
    to: usize,
) -> Result<bool, Fault> {
    let Some(data) = data else { return Ok(true) };
    let fields = data.fields(delimiter).collect()?;
    let is_number = |at: usize| fields.get(at).is_none_or(|f| parse_u64(f.text).is_some());
    Ok(is_number(from) && is_number(to))
}
