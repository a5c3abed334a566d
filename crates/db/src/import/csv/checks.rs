//! Constraints of the database, and those that come with an import, row by row.

use telar_engine::{BulkName, Column};

use super::error::CsvError;
use super::header::Role;
use super::ids::IdSpace;
use super::rows::{BadRow, TypeEdges, Vertices};
use super::{Run, Source, UniqueKey};

impl Run<'_> {
    /// Makes the unique constraints that were asked for.
    pub(super) fn make_unique(&mut self, nodes: &[Source<'_>]) -> Result<(), CsvError> {
        for UniqueKey { label, key } in &self.import.unique {
            let is_key = |role: &Role| match role {
                Role::Property { name, .. } | Role::Id { name, .. } => name == key,
                _ => false,
            };
            let in_files = nodes.iter().any(|source| source.roles.iter().any(is_key));
            if !in_files && self.db.find_property_key(key).is_none() {
                let text = format!("{label}.{key} is to be unique, but no column is named {key:?}");
                return Err(CsvError::Options(text));
            }
            let (name, label) = (format!("unique_{label}_{key}"), self.load.label(label)?);
            let key = self.load.property_key(key)?;
            self.load.make_unique(&name, label, &[key])?;
        }
        Ok(())
    }

    /// A constraint on a label that nobody has is a mistake.
    pub(super) fn check_unique(&mut self) -> Result<(), CsvError> {
        for UniqueKey { label, key } in &self.import.unique {
            let number = self.load.label(label)?;
            if self.db.find_label(label).is_none() && !self.labels.contains(&number) {
                let text = format!("{label}.{key} is to be unique, but no vertex is a {label:?}");
                return Err(CsvError::Options(text));
            }
        }
        Ok(())
    }

    /// Takes the ids of rows and checks constraints; returns the rows that must be left out, which
    /// are bad then.
    pub(super) fn check_vertices(
        &mut self,
        rows: &mut Vertices,
        mut space: Option<&mut IdSpace>,
        sets: &[Vec<BulkName>],
        columns: &[(BulkName, Column)],
    ) -> Vec<usize> {
        let (mut dropped, mut vertex) = (Vec::new(), self.vertices);
        let constrained = self.load.has_constraints();
        if space.is_none() && !constrained {
            return dropped;
        }
        let ends = rows.runs.iter().scan(0, |end, (set, n)| {
            *end += n;
            Some((*set, *end))
        });
        let mut runs = ends.peekable();
        for row in 0..rows.rows {
            while runs.next_if(|(_, end)| *end <= row).is_some() {}
            let mut check = || {
                if let Some((set, _)) = runs.peek().filter(|_| constrained) {
                    self.load.check_vertex(&sets[*set], columns, row)?;
                }
                if let Some(space) = space.as_deref_mut() {
                    let id = rows.ids.get(row, space.kind);
                    if !space.add(id, vertex) {
                        let space = match &*space.name {
                            "" => String::new(),
                            name => format!(" in the id space {name}"),
                        };
                        return Err(format!(
                            "another vertex has the id {id} already{space}; ids of files that \
                             count each for itself need spaces of their own: :ID(Person)"
                        ));
                    }
                }
                Ok(())
            };
            match check() {
                Ok(()) => {
                    self.load.keep_checked();
                    vertex += 1;
                }
                Err(reason) => {
                    let (start, end) = rows.places[row];
                    let (start, end) = (start as usize, end as usize);
                    rows.bad.push(BadRow { start, end, reason });
                    dropped.push(row);
                }
            }
        }
        dropped
    }

    /// Takes out edges that break a constraint, which are bad then.
    pub(super) fn check_edges(
        &mut self,
        ty: BulkName,
        edges: &mut TypeEdges,
        columns: &mut [(BulkName, Column)],
        bad: &mut Vec<BadRow>,
    ) {
        if !self.load.has_constraints() {
            return;
        }
        let mut dropped = Vec::new();
        for row in 0..edges.ends.len() {
            match self.load.check_edge(ty, columns, row) {
                Ok(()) => self.load.keep_checked(),
                Err(reason) => {
                    let (start, end) = edges.places[row];
                    bad.push(BadRow { start: start as usize, end: end as usize, reason });
                    dropped.push(row);
                }
            }
        }
        if !dropped.is_empty() {
            columns.iter_mut().for_each(|(_, c)| *c = c.without(&dropped));
            let (mut row, mut gone) = (0, dropped.iter().peekable());
            edges.ends.retain(|_| {
                row += 1;
                gone.next_if(|d| **d == row - 1).is_none()
            });
        }
    }
}
