//! Tables that become nodes and relationships, without a statement for each row.

use napi_derive::napi;
use parking_lot::Mutex;
use telar_db::import::UniqueKey;
use telar_db::import::table::{End, NodeTable, RelationshipTable, TableImport};
use telar_share::Shared;

use crate::database::Database;
use crate::error::{Answer, Failure, answer};
use crate::hub::{Hub, Outcome};
use crate::pool::Admission;
use crate::tables::Rows;

/// Tables that come in together, as one commit.
#[napi]
pub struct Load {
    database: Database,
    tables: Mutex<Option<TableImport<'static>>>,
}

/// The ends of the relationships of a table.
#[napi(object, object_to_js = false)]
pub struct Ends {
    /// Column that names the node which they leave.
    pub src: String,
    /// Column that names the node which they lead to.
    pub dst: String,
    /// Label of the first.
    pub src_label: String,
    /// Label of the second.
    pub dst_label: String,
    /// Property of the first; without it, that of its unique constraint.
    pub src_key: Option<String>,
    /// The same of the second.
    pub dst_key: Option<String>,
}

/// A row that was left out.
#[napi(object, object_from_js = false)]
pub struct Rejected {
    /// Number of the table: those of nodes come first.
    pub table: u32,
    /// Number of the row, from 0.
    pub row: i64,
    /// Why.
    pub reason: String,
}

/// The report of a load.
#[napi(object, object_from_js = false)]
pub struct Report {
    /// Nodes.
    pub nodes: i64,
    /// Relationships.
    pub relationships: i64,
    /// Values of properties.
    pub properties: i64,
    /// Relationships that were there already.
    pub duplicates: i64,
    /// The commit timestamp.
    pub timestamp: i64,
    /// Rows that were left out.
    pub rejected: Vec<Rejected>,
}

fn used_up() -> Failure {
    Failure::closed("the load is committed: begin another one")
}

#[napi]
impl Load {
    /// A load without tables; `unique` are constraints that are made with it, as `Person.id`.
    #[napi]
    pub fn begin(database: &Database, unique: Vec<String>, bad_rows: Option<f64>) -> Answer<Load> {
        let key = |text: String| match text.split_once('.') {
            Some((label, key)) if !label.is_empty() && !key.is_empty() => {
                Ok(UniqueKey { label: label.to_owned(), key: key.to_owned() })
            }
            _ => Err(Failure::range(format!("unique is like 'Person.id', not {text:?}"))),
        };
        let unique = unique.into_iter().map(key).collect::<Result<_, _>>();
        answer(unique.map(|unique| {
            let bad_rows = bad_rows.map(|rows| rows as u64);
            let tables = TableImport { unique, bad_rows, ..TableImport::default() };
            Self { database: database.clone(), tables: Mutex::new(Some(tables)) }
        }))
    }

    /// Adds a table of nodes.
    #[napi]
    pub fn nodes(&self, labels: Vec<String>, rows: &Rows) -> Answer<bool> {
        answer(rows.reader().and_then(|rows| {
            let mut tables = self.tables.lock();
            let tables = tables.as_mut().ok_or_else(used_up)?;
            tables.nodes.push(NodeTable { labels, rows });
            Ok(true)
        }))
    }

    /// Adds a table of relationships.
    #[napi]
    pub fn relationships(&self, ty: String, rows: &Rows, ends: Ends) -> Answer<bool> {
        let add = || {
            let Ends { src, dst, src_label, dst_label, src_key, dst_key } = ends;
            let from = self.end(src, src_label, src_key)?;
            let to = self.end(dst, dst_label, dst_key)?;
            let rows = rows.reader()?;
            let mut tables = self.tables.lock();
            let tables = tables.as_mut().ok_or_else(used_up)?;
            tables.relationships.push(RelationshipTable { ty, from, to, rows });
            Ok(true)
        };
        answer(add())
    }

    /// Brings everything in, on a thread.
    #[napi]
    pub fn commit(&self, hub: &Hub, number: u32) {
        let (tables, database) = (self.tables.lock().take(), self.database.clone());
        hub.run(number, Admission::Free, move || {
            let mut tables = tables.ok_or_else(used_up)?;
            let runner = database.runner()?;
            let (opened, shared) = (database.opened(), database.opened().database()?);
            let TableImport { relationships, unique, .. } = &mut tables;
            let ends = relationships.iter_mut().flat_map(|table| [&mut table.from, &mut table.to]);
            for end in ends.filter(|end| end.key.is_empty()) {
                end.key = key_of(&shared, unique, &end.label)?;
            }
            let done = shared.import(tables, Some(opened.ended()))?;
            drop(runner);
            let rejected = done.rejected.into_iter().map(|row| Rejected {
                table: row.table as u32,
                row: row.row.cast_signed(),
                reason: row.reason,
            });
            Ok(Outcome::Report(Report {
                nodes: done.vertices.cast_signed(),
                relationships: done.edges.cast_signed(),
                properties: done.properties.cast_signed(),
                duplicates: done.duplicates.cast_signed(),
                timestamp: done.ts.get().cast_signed(),
                rejected: rejected.collect(),
            }))
        });
    }
}

impl Load {
    /// One end of relationships. Where another process would be asked for the key, that is done by
    /// the load: JavaScript does not wait for that process.
    fn end(&self, column: String, label: String, key: Option<String>) -> Result<End, Failure> {
        let database = self.database.opened().database()?;
        let key = match key {
            Some(key) => key,
            None if database.is_owner() => {
                let tables = self.tables.lock();
                key_of(&database, &tables.as_ref().ok_or_else(used_up)?.unique, &label)?
            }
            None => String::new(),
        };
        Ok(End { column, label, key })
    }
}

/// The property that names nodes of a label: of the one unique constraint that is there, or is made
/// with the load.
fn key_of(database: &Shared, unique: &[UniqueKey], label: &str) -> Result<String, Failure> {
    let made = unique.iter().filter(|unique| unique.label == label);
    let mut keys: Vec<String> = made.map(|unique| unique.key.clone()).collect();
    for key in database.unique_keys(label)? {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    match &*keys {
        [key] => Ok(key.clone()),
        [] => Err(Failure::wrong_type(format!(
            "nothing says by which property a {label} is known: give srcKey and dstKey, or make it \
             unique (CREATE CONSTRAINT FOR (n:{label}) REQUIRE n.id IS UNIQUE)"
        ))),
        several => Err(Failure::wrong_type(format!(
            "a {label} is unique by {}: say by which it is known, srcKey or dstKey",
            several.join(", ")
        ))),
    }
}
