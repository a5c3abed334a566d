//! From LDBC's CSV files to a database.
//!
//! The files have headers of their own, so each is written again with a header that the importer
//! understands: ids are whole numbers in a space per kind of vertex, dates stay milliseconds since
//! 1970, an empty field is no property.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use telar_db::import::{CsvGroup, CsvImport, UniqueKey, import_csv};
use telar_db::{Database, IndexSpec, IndexTarget, VertexId, View};

use super::archive::Archive;

/// A file of vertices.
struct Nodes {
    path: &'static str,
    labels: &'static [&'static str],
    /// The header that the file has.
    header: &'static str,
    /// The header for the importer.
    columns: &'static str,
    /// The column that holds a further label, in small letters.
    label_column: Option<usize>,
}

const NODES: [Nodes; 8] = [
    Nodes {
        path: "static/place_0_0.csv",
        labels: &["Place"],
        header: "id|name|url|type",
        columns: "id:ID(Place)|name|url|:LABEL",
        label_column: Some(3),
    },
    Nodes {
        path: "static/organisation_0_0.csv",
        labels: &["Organisation"],
        header: "id|type|name|url",
        columns: "id:ID(Organisation)|:LABEL|name|url",
        label_column: Some(1),
    },
    Nodes {
        path: "static/tag_0_0.csv",
        labels: &["Tag"],
        header: "id|name|url",
        columns: "id:ID(Tag)|name|url",
        label_column: None,
    },
    Nodes {
        path: "static/tagclass_0_0.csv",
        labels: &["TagClass"],
        header: "id|name|url",
        columns: "id:ID(TagClass)|name|url",
        label_column: None,
    },
    Nodes {
        path: "dynamic/person_0_0.csv",
        labels: &["Person"],
        header: "id|firstName|lastName|gender|birthday|creationDate|locationIP|browserUsed|\
                 language|email",
        columns: "id:ID(Person)|firstName|lastName|gender|birthday:long|creationDate:long|\
                  locationIP|browserUsed|speaks:string[]|email:string[]",
        label_column: None,
    },
    Nodes {
        path: "dynamic/forum_0_0.csv",
        labels: &["Forum"],
        header: "id|title|creationDate",
        columns: "id:ID(Forum)|title|creationDate:long",
        label_column: None,
    },
    Nodes {
        path: "dynamic/post_0_0.csv",
        labels: &["Post", "Message"],
        header: "id|imageFile|creationDate|locationIP|browserUsed|language|content|length",
        columns: "id:ID(Post)|imageFile|creationDate:long|locationIP|browserUsed|language|content|\
                  length:long",
        label_column: None,
    },
    Nodes {
        path: "dynamic/comment_0_0.csv",
        labels: &["Comment", "Message"],
        header: "id|creationDate|locationIP|browserUsed|content|length",
        columns: "id:ID(Comment)|creationDate:long|locationIP|browserUsed|content|length:long",
        label_column: None,
    },
];

/// What queries look up by `id`.
const UNIQUE: [&str; 11] = [
    "Person",
    "Forum",
    "Post",
    "Comment",
    "Message",
    "Tag",
    "TagClass",
    "Place",
    "City",
    "Country",
    "Organisation",
];

/// What queries look up by another property.
const INDEXES: [(&str, &str); 4] =
    [("Person", "firstName"), ("Tag", "name"), ("TagClass", "name"), ("Country", "name")];

/// The files again in `folder`, as the importer reads them, and how.
///
/// # Errors
/// The file that is missing or other than expected.
pub fn write_csv(archive: &Archive, folder: &Path) -> Result<CsvImport, String> {
    let mut import = CsvImport::default();
    // No file quotes anything: a character that stands in none of them.
    (import.delimiter, import.quote) = (b'|', 1);
    import.ids = telar_db::import::Ids::Integer;
    let key = |label: &&str| UniqueKey { label: (*label).to_owned(), key: "id".to_owned() };
    import.unique = UNIQUE.iter().map(key).collect();
    for nodes in &NODES {
        let file = nodes.rewrite(archive, folder)?;
        let names = nodes.labels.iter().map(|&label| label.to_owned()).collect();
        import.nodes.push(CsvGroup { names, files: vec![file] });
    }
    for path in archive.paths("static/").chain(archive.paths("dynamic/")) {
        if let Some(ty) = edge_type(path) {
            let file = rewrite_edges(archive, path, folder)?;
            import.relationships.push(CsvGroup { names: vec![ty], files: vec![file] });
        }
    }
    Ok(import)
}

/// Loads the network into `db`, which is empty, with the constraints and indexes that its queries
/// want.
///
/// # Errors
/// The file that is missing or other than expected; of the import.
pub fn load(archive: &Archive, db: &Database) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let import = write_csv(archive, folder.path())?;
    import_csv(db, &import, &|_| {}).map_err(|e| e.to_string())?;
    for (label, key) in INDEXES {
        let id = |e: telar_db::Error| e.to_string();
        let target = IndexTarget::Vertices(db.label(label).map_err(id)?);
        let properties = vec![db.property_key(key).map_err(id)?];
        let name = format!("{label} {key}");
        db.create_index(IndexSpec { name, target, properties }).map_err(id)?;
    }
    Ok(())
}

/// The same constraints and indexes in Cypher, for other servers.
pub(super) fn schema() -> Vec<String> {
    let unique = UNIQUE.iter().map(|label| {
        format!("CREATE CONSTRAINT {label}_id FOR (n:{label}) REQUIRE n.id IS UNIQUE")
    });
    let index = |(label, key): &(&str, &str)| {
        format!("CREATE INDEX {label}_{key} FOR (n:{label}) ON (n.{key})")
    };
    unique.chain(INDEXES.iter().map(index)).collect()
}

/// `dynamic/person_workAt_organisation_0_0.csv` holds edges of type `WORK_AT`.
fn edge_type(path: &str) -> Option<String> {
    let name = path.rsplit('/').next()?.strip_suffix("_0_0.csv")?;
    let [_, ty, _] = name.split('_').collect::<Vec<_>>()[..] else { return None };
    let mut words = String::new();
    for c in ty.chars() {
        if c.is_ascii_uppercase() {
            words.push('_');
        }
        words.push(c.to_ascii_uppercase());
    }
    Some(words)
}

impl Nodes {
    fn rewrite(&self, archive: &Archive, folder: &Path) -> Result<PathBuf, String> {
        let rows = rows_below(archive, self.path, |header| match header == self.header {
            true => Ok(()),
            false => Err(format!("the header is {header}")),
        })?;
        let row = |line: &str| match self.label_column {
            None => line.to_owned(),
            Some(column) => {
                let mut fields: Vec<String> = line.split('|').map(str::to_owned).collect();
                if let Some(first) = fields.get_mut(column).and_then(|label| label.get_mut(..1)) {
                    first.make_ascii_uppercase();
                }
                fields.join("|")
            }
        };
        write(folder, self.path, self.columns, rows.1.lines().map(row))
    }
}

/// `Person.id|Organisation.id|workFrom` becomes `:START_ID(Person)|:END_ID(Organisation)|..:long`.
fn rewrite_edges(archive: &Archive, path: &str, folder: &Path) -> Result<PathBuf, String> {
    let (columns, rows) = rows_below(archive, path, |header| {
        let mut fields = header.split('|');
        let mut space = || fields.next()?.strip_suffix(".id");
        let (Some(from), Some(to)) = (space(), space()) else {
            return Err(format!("the header is {header}"));
        };
        let ends = format!(":START_ID({from})|:END_ID({to})");
        Ok(fields.fold(ends, |header, name| format!("{header}|{name}:long")))
    })?;
    write(folder, path, &columns, rows.lines().map(str::to_owned))
}

/// What `header` makes of the header, and the text below it.
fn rows_below<'a, T>(
    archive: &'a Archive,
    path: &str,
    header: impl FnOnce(&str) -> Result<T, String>,
) -> Result<(T, &'a str), String> {
    let (first, rows) = archive.text(path)?.split_once('\n').unwrap_or_default();
    Ok((header(first).map_err(|problem| format!("{path}: {problem}"))?, rows))
}

fn write(
    folder: &Path,
    path: &str,
    header: &str,
    rows: impl Iterator<Item = String>,
) -> Result<PathBuf, String> {
    let file = folder.join(path.replace('/', "_"));
    let save = || -> std::io::Result<()> {
        let mut out = std::io::BufWriter::new(std::fs::File::create(&file)?);
        writeln!(out, "{header}")?;
        for row in rows {
            writeln!(out, "{row}")?;
        }
        out.flush()
    };
    save().map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(file)
}

/// How many vertices have each set of labels (`Comment:Message`), how many edges each type.
pub type Counts = BTreeMap<String, u64>;

/// What the archive says that there is after all updates.
///
/// # Errors
/// It does not say, or not as lines of name and count.
pub fn counts_after_updates(archive: &Archive) -> Result<Counts, String> {
    let line = |line: &str| {
        let (name, count) = line.rsplit_once(' ')?;
        let mut labels: Vec<&str> = name.split(':').collect();
        labels.sort_unstable();
        Some((labels.join(":"), count.parse().ok()?))
    };
    let text = archive.text("expected-counts-after-updates.txt")?;
    let lines = text.lines().map(|text| line(text).ok_or_else(|| format!("not a count: {text}")));
    lines.collect()
}

/// Counts a database.
///
/// # Errors
/// It cannot be read.
pub fn counts(db: &Database) -> Result<Counts, String> {
    let snapshot = db.snapshot().map_err(|e| e.to_string())?;
    let reader = snapshot.reader();
    let names = db.labels();
    let mut counts = Counts::new();
    let mut vertices = Vec::new();
    let (first, text) = (VertexId::from_raw(0), |e: telar_graph::ReadError| e.to_string());
    reader.scan(None, first, reader.vertex_bound(), &mut vertices).map_err(text)?;
    for vertex in vertices {
        let set = reader.labels(vertex).ok_or("a vertex that was found does not exist")?;
        let mut set: Vec<&str> =
            set.iter().map(|label| names[usize::from(label.get())].as_str()).collect();
        set.sort_unstable();
        *counts.entry(set.join(":")).or_default() += 1;
    }
    let edges = telar_graph::Counts::statistics(&reader).map_err(text)?.edges_by_type;
    for ((name, _), count) in db.edge_types().into_iter().zip(edges).filter(|(_, n)| *n > 0) {
        counts.insert(name, count);
    }
    match snapshot.error() {
        None => Ok(counts),
        Some(error) => Err(error.to_string()),
    }
}
