//! Nodes and relationships that come one by one, as the tables of an import.
//!
//! Nodes of the same labels are a table, relationships of the same type are one, with a column for
//! each property that any of them has. Relationships name nodes by their ids in the source, which
//! are numbered as they come, so that a relationship may come before its nodes.
//!
//! Cost: all properties as columns, and the ids, are held until the import is done.

use std::collections::HashMap;
use std::sync::Arc;

use telar_db::Value;
use telar_db::column::Column;
use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport};

/// Rows of a batch.
const BATCH_ROWS: usize = 1 << 14;

/// Properties of a node or relationship.
pub type Properties = Vec<(Arc<str>, Value)>;

/// A graph, as far as it has come.
#[derive(Debug, Default)]
pub struct Gathered {
    nodes: Groups<Vec<String>>,
    relationships: Groups<String>,
    ids: Ids,
    /// A property of nodes whose texts become integers, if all of them are.
    whole: Option<Arc<str>>,
}

/// A relationship names a node that never came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// The id of the node.
    pub id: String,
    /// Place in the source of the first such relationship.
    pub at: u64,
}

/// Ids of nodes, numbered.
#[derive(Debug, Default)]
struct Ids {
    numbers: HashMap<Arc<str>, i64>,
    /// Id and first mention of each number whose node has not come.
    waiting: HashMap<i64, (Arc<str>, u64)>,
}

impl Ids {
    fn named(&mut self, id: &str, at: u64) -> i64 {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let (number, id): (i64, Arc<str>) = (self.numbers.len() as i64, id.into());
        self.numbers.insert(Arc::clone(&id), number);
        self.waiting.insert(number, (id, at));
        number
    }

    /// The number of a node that comes; none if it has come before.
    fn came(&mut self, id: &str) -> Option<i64> {
        if let Some(number) = self.numbers.get(id) {
            return self.waiting.remove(number).map(|_| *number);
        }
        let number = self.numbers.len() as i64;
        self.numbers.insert(id.into(), number);
        Some(number)
    }
}

/// Rows by what they have in common.
#[derive(Debug)]
struct Groups<K> {
    keys: HashMap<K, usize>,
    groups: Vec<(K, Group)>,
}

impl<K> Default for Groups<K> {
    fn default() -> Self {
        Self { keys: HashMap::new(), groups: Vec::new() }
    }
}

impl<K: Clone + Eq + std::hash::Hash> Groups<K> {
    fn of<Q>(&mut self, key: &Q) -> &mut Group
    where
        Q: ToOwned<Owned = K> + Eq + std::hash::Hash + ?Sized,
        K: std::borrow::Borrow<Q>,
    {
        let at = match self.keys.get(key) {
            Some(at) => *at,
            None => {
                self.keys.insert(key.to_owned(), self.groups.len());
                self.groups.push((key.to_owned(), Group::default()));
                self.groups.len() - 1
            }
        };
        &mut self.groups[at].1
    }
}

/// Rows of a table.
#[derive(Debug, Default)]
struct Group {
    /// Fixed columns: numbers of nodes.
    ends: [Vec<i64>; 2],
    names: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
    /// Values of the rows that are in no batch yet; a column may be shorter than these.
    current: Vec<Vec<Value>>,
    rows: usize,
    /// Rows and columns, of which later ones may be missing.
    batches: Vec<(usize, [Vec<i64>; 2], Vec<Column>)>,
}

impl Group {
    fn push(&mut self, ends: &[i64], properties: Properties) {
        for (end, number) in self.ends.iter_mut().zip(ends) {
            end.push(*number);
        }
        for (name, value) in properties {
            let place = match self.places.get(&name) {
                Some(place) => *place,
                None => {
                    let place = self.names.len();
                    self.names.push(Arc::clone(&name));
                    self.places.insert(name, place);
                    self.current.push(Vec::new());
                    place
                }
            };
            let column = &mut self.current[place];
            match column.len() > self.rows {
                // The last of several.
                true => column[self.rows] = value,
                false => {
                    column.resize(self.rows, Value::Null);
                    column.push(value);
                }
            }
        }
        self.rows += 1;
        if self.rows == BATCH_ROWS {
            self.seal();
        }
    }

    fn seal(&mut self) {
        if self.rows == 0 {
            return;
        }
        let rows = std::mem::take(&mut self.rows);
        let columns = self.current.iter_mut().map(|column| {
            let mut values = std::mem::take(column);
            values.resize(rows, Value::Null);
            Column::of(values)
        });
        let columns = columns.collect();
        self.batches.push((rows, std::mem::take(&mut self.ends), columns));
    }

    /// The table, with the columns of the ends first.
    fn table(mut self, ends: &[&str]) -> Table {
        self.seal();
        let count = self.names.len();
        let batches = self.batches.into_iter().map(|(rows, numbers, columns)| {
            let fixed = numbers.into_iter().take(ends.len()).map(Column::from);
            let missing = count - columns.len();
            let nulls = (0..missing).map(|_| Column::Same(Value::Null, rows));
            fixed.chain(columns).chain(nulls).collect::<Vec<_>>()
        });
        let batches: Vec<_> = batches.collect();
        let names = ends.iter().map(|name| Arc::from(*name)).chain(self.names);
        Table::new(names.collect::<Vec<Arc<str>>>(), batches)
    }

    /// True if all texts of a column are whole numbers as they are written usually.
    fn is_whole(&self, name: &str) -> bool {
        let Some(place) = self.places.get(name) else { return true };
        let is_whole = |value: &Value| match value {
            Value::String(text) => text.parse::<i64>().is_ok_and(|n| n.to_string() == **text),
            value => value.is_null(),
        };
        let all = |column: &Column| (0..column.len()).all(|row| is_whole(&column.get(row)));
        self.batches.iter().all(|(_, _, columns)| columns.get(*place).is_none_or(all))
    }

    fn make_whole(&mut self, name: &str) {
        let Some(place) = self.places.get(name) else { return };
        for column in self.batches.iter_mut().filter_map(|batch| batch.2.get_mut(*place)) {
            let values =
                std::mem::take(column).into_values().into_iter().map(|value| match value {
                    Value::String(text) => text.parse().map_or(Value::Null, Value::Int),
                    other => other,
                });
            *column = Column::of(values.collect());
        }
    }
}

impl Gathered {
    /// A graph without nodes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes integers of a property of nodes, if all of its texts are whole numbers.
    #[must_use]
    pub fn with_whole(mut self, property: &str) -> Self {
        self.whole = Some(property.into());
        self
    }

    /// Adds a node; false if one with this id has come before.
    #[must_use]
    pub fn node(&mut self, id: &str, labels: &[String], properties: Properties) -> bool {
        let Some(number) = self.ids.came(id) else { return false };
        self.nodes.of(labels).push(&[number], properties);
        true
    }

    /// Adds a relationship; `at` is where it is in the source.
    pub fn relationship(&mut self, ty: &str, ends: [&str; 2], properties: Properties, at: u64) {
        let ends = ends.map(|id| self.ids.named(id, at));
        self.relationships.of(ty).push(&ends, properties);
    }

    /// The tables of an import.
    ///
    /// # Errors
    /// If a relationship names a node that is not there.
    pub fn finish(mut self) -> Result<TableImport<'static>, Missing> {
        if let Some((id, at)) = self.ids.waiting.into_values().min_by_key(|(_, at)| *at) {
            return Err(Missing { id: id.to_string(), at });
        }
        if let Some(name) = &self.whole {
            let groups = &mut self.nodes.groups;
            groups.iter_mut().for_each(|(_, group)| group.seal());
            if groups.iter().all(|(_, group)| group.is_whole(name)) {
                groups.iter_mut().for_each(|(_, group)| group.make_whole(name));
            }
        }
        let used = |name: &str| {
            let own = |group: &Group| group.places.contains_key(name);
            self.nodes.groups.iter().any(|(_, group)| own(group))
                || self.relationships.groups.iter().any(|(_, group)| own(group))
        };
        let [id, start, end] = [":ID", ":START_ID", ":END_ID"].map(|name| {
            let mut name = name.to_owned();
            while used(&name) {
                name.push('_');
            }
            name
        });
        let mut import = TableImport { as_is: true, ..TableImport::default() };
        for (labels, group) in self.nodes.groups {
            import.ids.push((import.nodes.len(), id.clone()));
            let rows = Box::new(group.table(&[&id]));
            import.nodes.push(NodeTable { labels, rows });
        }
        let own = |column: &str| End {
            column: column.to_owned(),
            label: String::new(),
            key: String::new(),
        };
        for (ty, group) in self.relationships.groups {
            let rows = Box::new(group.table(&[&start, &end]));
            let (from, to) = (own(&start), own(&end));
            import.relationships.push(RelationshipTable { ty, from, to, rows });
        }
        Ok(import)
    }
}
