//! Tables of few rows: one transaction, beside which others go on.

use std::collections::HashMap;

use telar_engine::{EdgeTypeOptions, Engine, Error, Isolation, Transaction};
use telar_graph::column::Column;
use telar_graph::{PropertyKeyId, Value, VertexId};
use telar_query::QueryError;

use super::keys::{self, KeyMap, KeyedVertices, SEVERAL};
use super::{
    End, Nodes, Rejects, Relationships, TableReport, Tables, checked, edge_type_options, missing,
    same_nodes,
};
use crate::backend::query_error;
use crate::import::outcome::{ImportProgress, ImportStage};

/// Errors of the engine, and those of rows.
enum Failed {
    Engine(Error),
    Row(QueryError),
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

impl Failed {
    fn of(error: QueryError) -> Self {
        Self::Row(error)
    }
}

/// Imports tables that were read to their ends.
pub(super) fn run(
    db: &Engine,
    tables: &Tables<'_>,
    rejects: Rejects,
    progress: &dyn Fn(ImportProgress) -> Result<(), QueryError>,
) -> Result<TableReport, QueryError> {
    let (most, as_is) = (rejects.most, rejects.as_is);
    let mut work = Work { db, report: TableReport::default(), rejects, progress, new: Vec::new() };
    let done = db.write(Isolation::default(), |txn: &mut Transaction<'_>| {
        // A transaction that lost a conflict begins again.
        work.report = TableReport::default();
        work.rejects = Rejects { most, rows: Vec::new(), as_is };
        work.new.clear();
        work.write(txn, tables)
    });
    match done {
        Ok(((), committed)) => {
            let rejected = work.rejects.rows;
            let edges = committed.edges_added;
            let duplicates = work.report.edges - edges;
            Ok(TableReport { ts: committed.ts, edges, duplicates, rejected, ..work.report })
        }
        Err(Failed::Engine(e)) => Err(query_error(db, &e)),
        Err(Failed::Row(e)) => Err(e),
    }
}

struct Work<'a> {
    db: &'a Engine,
    report: TableReport,
    rejects: Rejects,
    progress: &'a dyn Fn(ImportProgress) -> Result<(), QueryError>,
    /// Keys of new nodes, for each kind of end.
    new: Vec<(End, KeyedVertices)>,
}

impl Work<'_> {
    fn write(&mut self, txn: &mut Transaction<'_>, tables: &Tables<'_>) -> Result<(), Failed> {
        for end in tables.relationships.iter().flat_map(|table| &table.ends) {
            if !self.new.iter().any(|(known, _)| same_nodes(known, end)) {
                self.new.push((end.clone(), KeyedVertices::default()));
            }
        }
        for (number, table) in tables.nodes.iter().enumerate() {
            self.nodes(txn, number, table)?;
        }
        let mut maps = Vec::new();
        for (end, new) in std::mem::take(&mut self.new) {
            let wanted = tables.relationships.iter().flat_map(|table| {
                let columns = (0..2).filter(|side| same_nodes(&table.ends[*side], &end));
                let batches = move |side| table.rows.ahead.iter().map(move |b| &b[table.at[side]]);
                columns.flat_map(batches)
            });
            let wanted: Vec<&Column> = wanted.collect();
            let mut all = keys::existing(self.db, &end, Some(&wanted)).map_err(Failed::of)?;
            all.add_all(new, 0);
            maps.push((end, KeyMap::new(&all)));
        }
        for (number, table) in tables.relationships.iter().enumerate() {
            self.relationships(txn, tables.nodes.len() + number, table, &maps)?;
        }
        Ok(())
    }

    /// The columns of a batch as properties hold them, and the rows that cannot come in.
    fn checked(
        &self,
        names: &[std::sync::Arc<str>],
        columns: &[Column],
    ) -> (Vec<Column>, HashMap<usize, String>) {
        let mut bad = HashMap::new();
        let checked = names.iter().zip(columns).map(|(name, column)| {
            let (column, more) = checked(column.clone(), name, self.rejects.as_is);
            bad.extend(more);
            column
        });
        (checked.collect(), bad)
    }

    fn nodes(
        &mut self,
        txn: &mut Transaction<'_>,
        number: usize,
        table: &Nodes<'_>,
    ) -> Result<(), Failed> {
        let db = self.db;
        let labels = table.labels.iter().map(|label| db.label(label));
        let labels = labels.collect::<Result<Vec<_>, _>>()?;
        let keys = table.names.iter().enumerate().filter(|(at, _)| Some(*at) != table.id);
        let keys = keys.map(|(at, name)| Ok((at, db.property_key(name)?)));
        let keys: Vec<(usize, PropertyKeyId)> = keys.collect::<Result<_, Error>>()?;
        let mut begin = 0;
        for columns in &table.rows.ahead {
            let (columns, bad) = self.checked(&table.names, columns);
            let rows = columns.first().map_or(0, Column::len);
            let mut made = Vec::with_capacity(rows);
            for row in 0..rows {
                if let Some(reason) = bad.get(&row) {
                    let (place, reason) = (begin + row as u64, reason.clone());
                    let rows = table.rows.rows.as_ref();
                    self.rejects.take(number, rows, place, reason).map_err(Failed::of)?;
                    continue;
                }
                let vertex = txn.create_vertex(&labels)?;
                for (at, key) in keys.iter().filter(|(at, _)| !columns[*at].is_null(row)) {
                    txn.set_vertex_property(vertex, *key, columns[*at].get(row))?;
                    self.report.properties += 1;
                }
                made.push((row as u32, vertex.get() as u32));
            }
            for (end, new) in &mut self.new {
                if let Some(key) = table.key(end) {
                    let kept: Vec<u32> = made.iter().map(|(row, _)| *row).collect();
                    new.add(columns[key].gather(&kept), made.iter().map(|(_, vertex)| *vertex));
                }
            }
            self.report.vertices += made.len() as u64;
            begin += rows as u64;
            let done = self.report.vertices;
            let progress = ImportProgress { stage: ImportStage::Vertices, done, total: done };
            (self.progress)(progress).map_err(Failed::of)?;
        }
        Ok(())
    }

    fn relationships(
        &mut self,
        txn: &mut Transaction<'_>,
        number: usize,
        table: &Relationships<'_>,
        maps: &[(End, KeyMap)],
    ) -> Result<(), Failed> {
        let db = self.db;
        let options = edge_type_options(db, &table.ty);
        let ty = db.edge_type(&table.ty, options)?;
        let simple = options == EdgeTypeOptions::simple();
        let keys = table.names.iter().enumerate().filter(|(at, _)| !table.at.contains(at));
        let keys = keys.map(|(at, name)| Ok((at, db.property_key(name)?)));
        let keys: Vec<(usize, PropertyKeyId)> = keys.collect::<Result<_, Error>>()?;
        let [from, to] = table.ends.each_ref().map(|end| {
            let map = maps.iter().find(|(known, _)| same_nodes(known, end));
            &map.expect("INVARIANT: there is a map for every end").1
        });
        let mut begin = 0;
        for batch in &table.rows.ahead {
            let found = [from.find_all(&batch[table.at[0]]), to.find_all(&batch[table.at[1]])];
            let mut bad = HashMap::new();
            let values = keys.iter().map(|(at, key)| {
                let (column, more) =
                    checked(batch[*at].clone(), &table.names[*at], self.rejects.as_is);
                bad.extend(more);
                (*key, column)
            });
            let columns: Vec<(PropertyKeyId, Column)> = values.collect();
            let rows = batch.first().map_or(0, Column::len);
            for row in 0..rows {
                let lost = (0..2).find(|side| found[*side][row] >= SEVERAL);
                let reason = match lost {
                    Some(side) => {
                        let key = batch[table.at[side]].get(row);
                        Some(missing(&table.ends[side], &key, found[side][row]))
                    }
                    None => bad.remove(&row),
                };
                if let Some(reason) = reason {
                    let (place, rows) = (begin + row as u64, table.rows.rows.as_ref());
                    self.rejects.take(number, rows, place, reason).map_err(Failed::of)?;
                    continue;
                }
                let [from, to] = found.each_ref().map(|f| VertexId::from_raw(u64::from(f[row])));
                let values = columns.iter().map(|(key, column)| (*key, column.get(row)));
                let values: Vec<(PropertyKeyId, Value)> =
                    values.filter(|(_, value)| !value.is_null()).collect();
                if simple && values.is_empty() {
                    txn.upsert_edge(ty, from, to)?;
                } else {
                    txn.create_edge(ty, from, to, &values)?;
                }
                self.report.properties += values.len() as u64;
                self.report.edges += 1;
            }
            begin += rows as u64;
            let done = self.report.edges;
            let progress = ImportProgress { stage: ImportStage::Edges, done, total: done };
            (self.progress)(progress).map_err(Failed::of)?;
        }
        Ok(())
    }
}
