//! The graph of the comparison: as files, as a database, and plain, for the answers.

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use telar_db::import::{CsvGroup, CsvImport, Ids, UniqueKey, import_csv};
use telar_db::{Database, Settings};
use telar_generate::{KnowsGraph, knows};

use crate::import::BenchError;

/// Persons and whom they know.
pub(super) struct World {
    pub(super) graph: KnowsGraph,
    out: Vec<Vec<u32>>,
}

impl World {
    pub(super) fn new(persons: u32, seed: u64) -> Self {
        let graph = knows(persons, seed);
        let mut out = vec![Vec::new(); persons as usize];
        for (a, b, _) in &graph.knows {
            out[*a as usize].push(*b);
        }
        Self { graph, out }
    }

    /// Writes `persons.csv` and `knows.csv`.
    pub(super) fn write_csv(&self, folder: &Path) -> std::io::Result<()> {
        let create = |name: &str| File::create(folder.join(name));
        let mut file = BufWriter::with_capacity(1 << 20, create("persons.csv")?);
        writeln!(file, "id:ID(Person),name:string,age:int,city:string")?;
        for (id, person) in self.graph.persons.iter().enumerate() {
            writeln!(file, "{id},{},{},{}", person.name, person.age, person.city)?;
        }
        file.flush()?;
        let mut file = BufWriter::with_capacity(1 << 20, create("knows.csv")?);
        writeln!(file, ":START_ID(Person),:END_ID(Person),since:int")?;
        for (a, b, since) in &self.graph.knows {
            writeln!(file, "{a},{b},{since}")?;
        }
        file.flush()
    }

    /// A durable database with what [`write_csv`](Self::write_csv) wrote.
    pub(super) fn load(&self, folder: &Path) -> Result<Database, BenchError> {
        let group = |name: &str, file: &str| CsvGroup {
            names: vec![name.to_owned()],
            files: vec![folder.join(file)],
        };
        let mut import = CsvImport::default();
        import.ids = Ids::Integer;
        import.nodes.push(group("Person", "persons.csv"));
        import.relationships.push(group("KNOWS", "knows.csv"));
        import.unique.push(UniqueKey { label: "Person".to_owned(), key: "id".to_owned() });
        let db = telar_db::open_with(folder.join("people.telar"), Settings::default())?;
        import_csv(&db, &import, &|_| {})?;
        Ok(db)
    }

    /// Whom a person knows, by number.
    pub(super) fn known_by(&self, person: u32) -> &[u32] {
        &self.out[person as usize]
    }

    /// How many persons are reached over two relationships.
    pub(super) fn two_hops(&self, person: u32) -> usize {
        let ends = self.known_by(person).iter().flat_map(|x| self.known_by(*x));
        ends.collect::<HashSet<_>>().len()
    }

    /// How many persons are reached over three relationships, no two of them the same.
    pub(super) fn three_hops(&self, person: u32) -> usize {
        let mut ends = HashSet::new();
        for x in self.known_by(person) {
            for y in self.known_by(*x) {
                // person -> x -> person -> x would use the first one twice.
                let again = (*y == person).then_some(*x);
                ends.extend(self.known_by(*y).iter().copied().filter(|z| Some(*z) != again));
            }
        }
        ends.len()
    }

    /// Length of the shortest path from one person to another.
    pub(super) fn distance(&self, from: u32, to: u32) -> Option<u32> {
        let mut distances = vec![u32::MAX; self.out.len()];
        let mut queue = VecDeque::from([from]);
        distances[from as usize] = 0;
        while let Some(v) = queue.pop_front() {
            if v == to {
                return Some(distances[v as usize]);
            }
            for w in self.known_by(v) {
                if distances[*w as usize] == u32::MAX {
                    distances[*w as usize] = distances[v as usize] + 1;
                    queue.push_back(*w);
                }
            }
        }
        None
    }

    /// How many know each person.
    pub(super) fn in_degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.out.len()];
        for (_, b, _) in &self.graph.knows {
            degrees[*b as usize] += 1;
        }
        degrees
    }
}
