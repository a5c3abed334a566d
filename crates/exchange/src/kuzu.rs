//! The folder of `EXPORT DATABASE` of Kuzu and Ladybug: tables as files, and the statements that
//! made them.
//!
//! ```text
//!  folder/ schema.cypher   CREATE NODE TABLE, CREATE REL TABLE: types, primary keys
//!          copy.cypher     COPY table (columns) FROM "file" (options)
//!          Person.csv, Knows_Person_Person.parquet ...
//! ```
//!
//! Ladybug 0.22 writes `nodes_Person.parquet` and `rels_Knows.parquet`, whose columns have the
//! names of the properties, beside `schema.cypher`, and no copy.cypher.
//!
//! A node table is a label, its primary key a unique constraint; a relationship table is a type.
//! The columns of a file are those of its `COPY`, behind the keys of both ends.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use telar_db::import::UniqueKey;
use telar_db::query::QueryError;

use crate::failed;
use crate::tables::{
    ColumnMapping, EndMapping, Mapping, NodeFiles, Options, RelationshipFiles, Source,
};

const SCHEMA: &str = "schema.cypher";
const COPY: &str = "copy.cypher";

/// Contents of a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Export {
    /// Its files.
    pub mapping: Mapping,
    /// Primary keys.
    pub unique: Vec<UniqueKey>,
    /// Remarks on values that are not as they were.
    pub notes: Vec<String>,
}

/// A table: types by column, and the primary key of nodes.
#[derive(Default)]
struct Table {
    types: HashMap<String, String>,
    /// Columns in their order.
    columns: Vec<String>,
    key: Option<String>,
    /// Labels at both ends of relationships.
    ends: Option<(String, String)>,
}

/// True if a folder is of this form.
#[must_use]
pub fn is_export(folder: &Path) -> bool {
    let is_ladybug = || {
        let text = std::fs::read_to_string(folder.join(SCHEMA)).unwrap_or_default();
        text.contains("icebug-disk")
    };
    folder.join(SCHEMA).is_file() && (folder.join(COPY).is_file() || is_ladybug())
}

/// Reads which tables and files a folder has.
///
/// # Errors
/// If a statement is not as Kuzu writes it, with its line, or a file is missing.
pub fn read(folder: &Path) -> Result<Export, QueryError> {
    let text = |name: &str| {
        let path = folder.join(name);
        let text = std::fs::read_to_string(&path);
        text.map_err(|e| failed(&path.display().to_string(), e))
    };
    let mut tables = HashMap::new();
    for (line, statement) in statements(&text(SCHEMA)?) {
        if let Some((name, table)) = table(&statement) {
            tables.insert(name, table);
        } else if statement.to_ascii_uppercase().contains(" TABLE ") {
            return Err(unclear(folder, SCHEMA, line, "a table that is declared in another way"));
        }
    }
    let mut export = Export::default();
    if !folder.join(COPY).is_file() {
        let mut names: Vec<&String> = tables.keys().collect();
        names.sort();
        for name in names {
            export.add(folder, &Copy::of_ladybug(name, &tables[name]), &tables[name], &tables)?;
        }
        return Ok(export);
    }
    for (line, statement) in statements(&text(COPY)?) {
        let Some(copy) = Copy::parse(&statement) else {
            return Err(unclear(folder, COPY, line, "a COPY of another form"));
        };
        let Some(table) = tables.get(&copy.table) else {
            let what = format!("the table {} is not in {SCHEMA}", copy.table);
            return Err(unclear(folder, COPY, line, &what));
        };
        export.add(folder, &copy, table, &tables)?;
    }
    let indexes = text("index.cypher").unwrap_or_default();
    if !indexes.trim().is_empty() {
        export.notes.push("indexes of index.cypher are not made: they are Kuzu's own".to_owned());
    }
    Ok(export)
}

fn unclear(folder: &Path, file: &str, line: usize, what: &str) -> QueryError {
    failed(&format!("{}:{line}", folder.join(file).display()), what)
}

/// Statements of a script with their lines.
fn statements(text: &str) -> Vec<(usize, String)> {
    let (mut all, mut current, mut begin) = (Vec::new(), String::new(), 1);
    let mut quote = None;
    for (line, piece) in (1..).zip(text.split_inclusive('\n')) {
        for character in piece.chars() {
            match (quote, character) {
                (Some(open), c) if c == open => quote = None,
                (None, '`' | '"' | '\'') => quote = Some(character),
                (None, ';') => {
                    all.push((begin, current.trim().to_owned()));
                    current.clear();
                    continue;
                }
                _ => {}
            }
            if current.is_empty() && character.is_whitespace() {
                continue;
            }
            if current.is_empty() {
                begin = line;
            }
            current.push(character);
        }
    }
    all.push((begin, current.trim().to_owned()));
    all.retain(|(_, statement)| !statement.is_empty());
    all
}

/// Parts of a text between commas that stand in no brackets and quotes.
fn parts(text: &str) -> Vec<&str> {
    let (mut all, mut depth, mut begin, mut quote) = (Vec::new(), 0, 0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '`' | '"' | '\'') => quote = Some(character),
            (None, '(' | '[') => depth += 1,
            (None, ')' | ']') => depth -= 1,
            (None, ',') if depth == 0 => {
                all.push(text[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    all.push(text[begin..].trim());
    all.retain(|part| !part.is_empty());
    all
}

/// A name at the beginning of a text, and what follows it.
fn name(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('`') {
        let end = rest.find('`')?;
        return Some((rest[..end].to_owned(), rest[end + 1..].trim_start()));
    }
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| (text[..end].to_owned(), text[end..].trim_start()))
}

/// Rest of a text that begins with these words, in any case.
fn after<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    words.iter().try_fold(text, |rest, word| {
        let rest = rest.trim_start();
        let head = rest.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| &rest[word.len()..])
    })
}

/// Text in brackets at the beginning of a text, and the rest.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.trim_start().strip_prefix('(')?;
    let (mut depth, mut quote) = (1, None);
    for (at, character) in inner.char_indices() {
        match (quote, character) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '`' | '"' | '\'') => quote = Some(character),
            (None, '(') => depth += 1,
            (None, ')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}

/// A statement that makes a table.
fn table(statement: &str) -> Option<(String, Table)> {
    let node = after(statement, &["CREATE", "NODE", "TABLE"]);
    let rel = || after(statement, &["CREATE", "REL", "TABLE"]);
    let rest = node.or_else(rel)?;
    let rest = after(rest, &["IF", "NOT", "EXISTS"]).unwrap_or(rest);
    let rest = after(rest, &["GROUP "]).unwrap_or(rest);
    let (own, rest) = name(rest)?;
    let (inner, _) = bracketed(rest)?;
    let mut table = Table::default();
    for part in parts(inner) {
        if let Some(key) = after(part, &["PRIMARY", "KEY"]) {
            table.key = name(bracketed(key)?.0).map(|(key, _)| key);
        } else if let Some(ends) = after(part, &["FROM "]) {
            let (from, rest) = name(ends)?;
            table.ends = Some((from, name(after(rest, &["TO "])?)?.0));
        } else if let Some((column, ty)) = name(part)
            && !ty.is_empty()
        {
            table.columns.push(column.clone());
            table.types.insert(column, ty.to_ascii_uppercase());
        }
    }
    Some((own, table))
}

/// A statement that fills a table.
struct Copy {
    table: String,
    columns: Vec<String>,
    file: String,
    options: BTreeMap<String, String>,
    /// True if columns are found by name, and those of the ends are `from` and `to`.
    named: bool,
}

impl Copy {
    /// The file of a table that Ladybug writes.
    fn of_ladybug(name: &str, table: &Table) -> Self {
        let mut options = BTreeMap::new();
        let file = match &table.ends {
            None => format!("nodes_{name}.parquet"),
            Some((from, to)) => {
                options.insert("from".to_owned(), from.clone());
                options.insert("to".to_owned(), to.clone());
                format!("rels_{name}.parquet")
            }
        };
        Self { table: name.to_owned(), columns: table.columns.clone(), file, options, named: true }
    }

    fn parse(statement: &str) -> Option<Self> {
        let (table, rest) = name(after(statement, &["COPY"])?)?;
        let (columns, rest) = match bracketed(rest) {
            Some((columns, rest)) => (columns, rest),
            None => ("", rest),
        };
        let rest = after(rest, &["FROM"])?.trim_start();
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (file, rest) = rest[1..].split_once(quote)?;
        let mut options = BTreeMap::new();
        for part in bracketed(rest).map_or(Vec::new(), |(inner, _)| parts(inner)) {
            let (key, value) = part.split_once('=')?;
            let value = value.trim().trim_matches(['\'', '"']);
            options.insert(key.trim().to_ascii_lowercase(), value.to_owned());
        }
        let columns = parts(columns).into_iter().filter_map(|part| Some(name(part)?.0));
        let (columns, file) = (columns.collect(), file.to_owned());
        Some(Self { table, columns, file, options, named: false })
    }
}

/// The type of a column of CSV as a mapping names it; none: as it looks.
fn csv_type(ty: &str) -> Option<&'static str> {
    let base = ty.split(['(', ' ']).next().unwrap_or_default();
    if let Some(element) = ty.strip_suffix(']').and_then(|ty| ty.rsplit_once('[')) {
        return Some(match csv_type(element.0) {
            Some("int") => "int[]",
            Some("float") => "float[]",
            Some("boolean") => "boolean[]",
            Some("date") => "date[]",
            Some("string") => "string[]",
            // Lists of lists and the like stay as they are written.
            _ => "string",
        });
    }
    Some(match base {
        "INT64" | "INT32" | "INT16" | "INT8" | "UINT32" | "UINT16" | "UINT8" | "SERIAL" => "int",
        "DOUBLE" | "FLOAT" | "DECIMAL" => "float",
        "BOOL" | "BOOLEAN" => "boolean",
        "DATE" => "date",
        "TIMESTAMP_TZ" => "datetime",
        "TIMESTAMP" | "TIMESTAMP_NS" | "TIMESTAMP_MS" | "TIMESTAMP_SEC" => "localdatetime",
        "INTERVAL" => "interval",
        // They may be beyond 64 bits with a sign: numbers if all fit, texts else.
        "UINT64" | "INT128" => return None,
        _ => "string",
    })
}

impl Export {
    fn add(
        &mut self,
        folder: &Path,
        copy: &Copy,
        table: &Table,
        tables: &HashMap<String, Table>,
    ) -> Result<(), QueryError> {
        // A path of the machine that wrote it says nothing here.
        let file = copy.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let path = folder.join(file).display().to_string();
        let truth = |key: &str| copy.options.get(key).map(|v| v.eq_ignore_ascii_case("true"));
        let is_csv = file.ends_with(".csv");
        let delimiter = copy.options.get("delim").or(copy.options.get("delimiter"));
        let options = Options {
            header: is_csv.then(|| truth("header").unwrap_or(false)),
            delimiter: is_csv.then(|| delimiter.and_then(|d| d.chars().next()).unwrap_or(',')),
            ..Options::default()
        };
        let source = Source::look(&path, &options).map_err(|e| {
            match table.types.values().any(|ty| ty == "SERIAL") && !is_csv {
                true => failed(
                    &e.message,
                    "Kuzu writes columns of the type SERIAL as no type of \
                        Parquet: EXPORT DATABASE with (format='csv', header=true) can be read",
                ),
                false => e,
            }
        })?;
        if source.names.is_empty() {
            // A table without rows has a file without text.
            return Ok(());
        }
        let ends = copy.options.get("from").zip(copy.options.get("to"));
        let first = if ends.is_some() { 2 } else { 0 };
        if source.names.len() != first + copy.columns.len() {
            let (expected, found) = (first + copy.columns.len(), source.names.len());
            return Err(failed(&path, format!("expected {expected} columns, found {found}")));
        }
        // The name in the file of a column of the table, and of an end.
        let own = |column: &String| {
            let at = copy.columns.iter().position(|other| other == column)?;
            let name =
                if copy.named { column.clone() } else { source.names[first + at].to_string() };
            source.names.iter().any(|known| **known == *name).then_some(name)
        };
        let mut columns = BTreeMap::new();
        for column in &copy.columns {
            let Some(name) = own(column) else {
                return Err(failed(&path, format!("there is no column {column}")));
            };
            let ty = table.types.get(column).map(String::as_str).unwrap_or_default();
            self.note(is_csv, &copy.table, column, ty);
            let ty = match (is_csv, ty) {
                (true, ty) => csv_type(ty),
                (false, "UUID") => Some("uuid"),
                (false, _) => None,
            };
            let ty = ty.map(str::to_owned);
            let property = Some(column.clone());
            columns.insert(name, ColumnMapping { property, ty, ignore: false });
        }
        let files = vec![path];
        let Some(ends) = ends else {
            let id = table.key.as_ref().and_then(own);
            let labels = vec![copy.table.clone()];
            if let Some(key) = &table.key {
                self.unique.push(UniqueKey { label: copy.table.clone(), key: key.clone() });
            }
            self.mapping.nodes.push(NodeFiles { files, labels, id, options, columns });
            return Ok(());
        };
        let end = |at: usize, label: &String, columns: &mut BTreeMap<_, _>| {
            let of = tables.get(label);
            let key = of.and_then(|table| table.key.clone());
            let ty = of.zip(key.as_ref()).and_then(|(of, key)| of.types.get(key));
            let ty = ty.and_then(|ty| csv_type(ty)).filter(|_| is_csv).map(str::to_owned);
            let column = match copy.named {
                true => ["from", "to"][at].to_owned(),
                false => source.names[at].to_string(),
            };
            // No property: both ends may have the same name, and that of a property.
            let property = Some(format!("{column} of end {at}"));
            columns.insert(column.clone(), ColumnMapping { property, ty, ignore: false });
            EndMapping { column: Some(column), label: Some(label.clone()), key }
        };
        let (from, to) = (end(0, ends.0, &mut columns), end(1, ends.1, &mut columns));
        let ty = copy.table.clone();
        self.mapping.relationships.push(RelationshipFiles {
            files,
            ty,
            from,
            to,
            options,
            columns,
        });
        Ok(())
    }

    /// Notes a column of CSV whose values Kuzu writes in a form that does not say all.
    fn note(&mut self, is_csv: bool, table: &str, column: &str, ty: &str) {
        if !is_csv {
            return;
        }
        let what = match csv_type(ty) {
            Some("string[]") => "Kuzu writes texts in lists without quotes: they are cut at commas",
            Some("string") if !matches!(ty, "STRING" | "UUID" | "BLOB") => "is kept as text",
            _ => return,
        };
        self.notes.push(format!("{table}.{column}, {ty}: {what}; format='parquet' keeps it"));
    }
}

#[test]
fn statements_of_kuzu_are_taken_apart() {
    let text = "CREATE NODE TABLE `P;x` (`id` INT64,`d` DECIMAL(18,3),\n`s` STRUCT(a INT64, b \
                STRING)[], PRIMARY KEY(`id`));\nCREATE REL TABLE R (FROM P TO P, n STRING, ONE_ONE);";
    let all = statements(text);
    assert_eq!(all.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3]);
    let (name, found) = table(&all[0].1).unwrap();
    assert_eq!((&*name, found.key.as_deref()), ("P;x", Some("id")));
    assert_eq!(found.types["s"], "STRUCT(A INT64, B STRING)[]");
    assert_eq!(found.types["d"], "DECIMAL(18,3)");
    assert_eq!(table(&all[1].1).unwrap().1.types["n"], "STRING");
    let copy =
        Copy::parse("COPY `R` (`n`) FROM \"a/R.csv\" (to='P', from='Q', delim=';')").unwrap();
    assert_eq!((&*copy.table, &copy.columns[..], &*copy.file), ("R", &["n".into()][..], "a/R.csv"));
    assert_eq!((&*copy.options["from"], &*copy.options["delim"]), ("Q", ";"));
}
