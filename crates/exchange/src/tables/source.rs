//! Files of rows as they are: format, delimiter, columns and their types.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use telar_db::query::{FileFormat, QueryError, TableReader};
use telar_files::{Reading, Rejected};

use super::mapping::Options;
use super::unclear;
use crate::failed;

/// Longest header that is looked at.
const HEADER_BYTES_MAX: u64 = 1 << 20;

/// A file of rows, and how it is read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Its path, as it was given.
    pub path: String,
    /// Options for reading it.
    pub reading: Reading,
    /// Names of its columns.
    pub names: Vec<Arc<str>>,
    /// The names of the types that its columns are taken for, where the file does not say.
    pub types: Vec<Option<&'static str>>,
}

/// The format of a file: by its first bytes, or by its name.
fn format_of(path: &str) -> Result<FileFormat, QueryError> {
    let file = open(path)?;
    let mut head = Vec::new();
    file.take(8).read_to_end(&mut head).map_err(|e| failed(path, e))?;
    match &head[..] {
        [b'P', b'A', b'R', b'1', ..] => return Ok(FileFormat::Parquet),
        [b'A', b'R', b'R', b'O', b'W', b'1', ..] => return Ok(FileFormat::Arrow),
        [b'P', b'K', 3, 4, ..] => {
            let what = "this is an archive (zip, xlsx, ods): unpack it, or save its table as CSV";
            return Err(failed(path, what));
        }
        [b'S', b'Q', b'L', b'i', b't', b'e', ..] => {
            return Err(failed(path, "this is an SQLite database: write its tables as CSV"));
        }
        // In a text in a western language every other byte is 0.
        [0, 1..=255, 0, 1..=255, ..] | [1..=255, 0, 1..=255, 0, ..] => {
            let what = "this text is UTF-16 without a byte order mark: iconv -f UTF-16LE -t UTF-8 \
                        makes it UTF-8";
            return Err(failed(path, what));
        }
        _ => {}
    }
    Ok(FileFormat::of_path(path).unwrap_or(FileFormat::Csv))
}

fn open(path: &str) -> Result<File, QueryError> {
    let file = File::open(path).map_err(|e| failed(path, e))?;
    match file.metadata().map_err(|e| failed(path, e))?.is_dir() {
        true => Err(failed(path, "is a folder")),
        false => Ok(file),
    }
}

/// The first line of a text that is not blank.
fn header(path: &str) -> Result<String, QueryError> {
    let text = telar_files::open_text(open(path)?).map_err(|e| failed(path, e))?;
    let mut text = BufReader::new(text.take(HEADER_BYTES_MAX));
    let mut line = Vec::new();
    while line.trim_ascii().is_empty() {
        line.clear();
        if text.read_until(b'\n', &mut line).map_err(|e| failed(path, e))? == 0 {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}

/// True if a file is text whose first record has columns as neo4j-admin names them: `:ID`,
/// `:START_ID`, `name:int`; or no file but a pipe.
///
/// # Errors
/// If it cannot be read.
pub fn is_neo4j_admin(path: &str) -> Result<bool, QueryError> {
    // What comes through a pipe can be read once, and these are.
    if !std::fs::metadata(path).map_err(|e| failed(path, e))?.is_file() {
        return Ok(true);
    }
    if format_of(path)? != FileFormat::Csv {
        return Ok(false);
    }
    let header = header(path)?;
    let fields = header.split([',', ';', '\t', '|']).map(|field| field.trim().trim_matches('"'));
    let is_typed = |field: &str| {
        let Some((_, ty)) = field.rsplit_once(':') else { return false };
        let end = ty.find(['(', '{', '[']).unwrap_or(ty.len());
        TYPES.iter().any(|known| known.eq_ignore_ascii_case(&ty[..end]))
    };
    // An option in braces has a colon, too: `id:ID{id-type:long}`.
    let bare = |field: &str| field[..field.find('{').unwrap_or(field.len())].to_owned();
    Ok(fields.map(bare).any(|field| is_typed(&field)))
}

/// Types of neo4j-admin's columns.
const TYPES: [&str; 25] = [
    "ID",
    "START_ID",
    "END_ID",
    "TYPE",
    "LABEL",
    "IGNORE",
    "int",
    "integer",
    "long",
    "byte",
    "short",
    "float",
    "double",
    "boolean",
    "bool",
    "char",
    "string",
    "date",
    "time",
    "localtime",
    "datetime",
    "localdatetime",
    "duration",
    "point",
    "vector",
];

impl Source {
    /// Looks at a file: its columns, and of which types they are taken to be.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn look(path: &str, options: &Options) -> Result<Self, QueryError> {
        let format = match &options.format {
            Some(name) => FileFormat::of_name(name).ok_or_else(|| {
                let known = "csv, parquet, arrow and json";
                unclear(format!("{path}: there is no format '{name}'; there are {known}"))
            })?,
            None => format_of(path)?,
        };
        let mut reading = Reading::new(format);
        reading.null.clone_from(&options.null);
        reading.options.header = options.header.unwrap_or(true);
        if format == FileFormat::Csv {
            reading.options.delimiter = match options.delimiter {
                Some(given) => u8::try_from(given).map_err(|_| {
                    unclear(format!("{path}: the delimiter {given:?} is no ASCII character"))
                })?,
                None => telar_files::delimiter(&header(path)?),
            };
        }
        let (names, types) = match format {
            FileFormat::Csv => {
                let types = telar_files::csv_types(open(path)?, path, &reading)?;
                types.into_iter().map(|(name, ty)| (name, Some(ty.name()))).unzip()
            }
            _ => {
                let names = telar_files::read(open(path)?, path, &reading)?.names().to_vec();
                let types = names.iter().map(|_| None).collect();
                (names, types)
            }
        };
        Ok(Self { path: path.to_owned(), reading, names, types })
    }

    /// Reads its rows, with these types of columns of text.
    pub(super) fn read(
        &self,
        types: Vec<(String, String)>,
        rejected: Option<&Rejected>,
    ) -> Result<Box<dyn TableReader>, QueryError> {
        let mut reading = self.reading.clone();
        if reading.options.format == FileFormat::Csv {
            reading.options.types = types;
        }
        reading.rejected = rejected.cloned();
        telar_files::read(open(&self.path)?, &self.path, &reading)
    }
}
