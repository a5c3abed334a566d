//! Copies of an ordinary database that takes commits: by backups, and by its log.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use telar_engine::maintenance::{
    BackupOptions, RestoreOptions, Severity, check, promote_copy, restore,
};
use telar_engine::{BulkOptions, Engine, Error, Retention, Settings};
use telar_graph::CommitTs;
use tempfile::TempDir;

use common::cases;
use common::plain::{Model, Names, Step, apply, check_snapshot, step};

const NOW: Duration = Duration::ZERO;

fn settings() -> Settings {
    let mut settings = common::no_background();
    settings.store_bytes_max = 1 << 28;
    settings.wal_file_bytes = 4096;
    settings.retain = Retention::Off;
    settings.hub_entries_min = 1024;
    settings
}

/// An ordinary database and a copy of it.
struct Pair {
    folder: TempDir,
    source: Option<Engine>,
    copy: Option<Engine>,
    images: usize,
}

impl Pair {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory) } else { TempDir::new() };
        let mut pair = Self { folder: folder.unwrap(), source: None, copy: None, images: 0 };
        pair.source = Some(Engine::open(pair.path("source"), settings()).unwrap());
        pair
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn copy_path(&self) -> PathBuf {
        self.path(&format!("copy-{}", self.images))
    }

    fn source(&self) -> &Engine {
        self.source.as_ref().unwrap()
    }

    fn copy(&self) -> &Engine {
        self.copy.as_ref().unwrap()
    }

    fn image(&mut self) {
        self.copy = None;
        self.images += 1;
        let backup = self.path(&format!("backup-{}", self.images));
        self.source().backup(&backup, &BackupOptions::default()).unwrap();
        restore(&[backup], self.copy_path(), &RestoreOptions::default()).unwrap();
        self.open_copy();
    }

    fn open_copy(&mut self) {
        self.copy = Some(Engine::open_to_follow(self.copy_path(), settings()).unwrap());
    }

    /// Follows to the end of the source's log; false if an image was needed.
    fn follow(&mut self, bytes_max: usize) -> bool {
        let read = || {
            let mut log = self.source().log_after(self.copy().published())?;
            while let Some(records) = log.next_within(bytes_max, NOW)? {
                self.copy().apply(records.as_group())?;
                assert_eq!(self.copy().published(), log.position());
                log = self.source().log_at(log.into_place());
            }
            Ok(())
        };
        match read() {
            Ok(()) => true,
            Err(Error::NotRetained { .. } | Error::Diverged { .. }) => {
                self.image();
                false
            }
            Err(e) => panic!("{e}"),
        }
    }

    fn keep(&self, bytes_max: u64) {
        self.source().keep_log(self.copy().published(), bytes_max, Duration::from_secs(60));
    }
}

#[derive(Debug, Clone)]
enum Between {
    Nothing,
    Follow { bytes_max: usize },
    Checkpoint { source: bool },
    Settle,
    Reopen { source: bool, close: bool },
}

fn between() -> impl Strategy<Value = Between> {
    let any = any::<bool>();
    prop_oneof![
        3 => Just(Between::Nothing),
        3 => (1usize..3000).prop_map(|bytes_max| Between::Follow { bytes_max }),
        2 => any.prop_map(|source| Between::Checkpoint { source }),
        1 => Just(Between::Settle),
        2 => (any, any).prop_map(|(source, close)| Between::Reopen { source, close }),
    ]
}

fn end(db: Option<Engine>, close: bool) {
    if let Some(db) = db.filter(|_| close) {
        db.close().unwrap();
    }
}

fn run(transactions: &[(Vec<Step>, Between)], keep: bool) {
    let mut pair = Pair::new();
    let names = Names::new(pair.source());
    let mut model = Model::default();
    pair.image();
    for (steps, between) in transactions {
        let mut txn = pair.source().begin().unwrap();
        let writes = steps.iter().filter(|step| step.is_write());
        writes.for_each(|step| apply(step, &mut txn, &mut model, &names));
        txn.commit().unwrap();
        if keep {
            pair.keep(1 << 30);
        }
        match *between {
            Between::Nothing => {}
            Between::Follow { bytes_max } => {
                let followed = pair.follow(bytes_max);
                assert!(followed || !keep, "the log was kept");
                check_snapshot(&pair.copy().snapshot().unwrap(), &model, &names);
            }
            Between::Checkpoint { source: true } => drop(pair.source().checkpoint().unwrap()),
            Between::Checkpoint { source: false } => drop(pair.copy().checkpoint().unwrap()),
            Between::Settle => pair.source().settle(),
            Between::Reopen { source: true, close } => {
                end(pair.source.take(), close);
                pair.source = Some(Engine::open(pair.path("source"), settings()).unwrap());
            }
            Between::Reopen { source: false, close } => {
                end(pair.copy.take(), close);
                pair.open_copy();
            }
        }
    }
    pair.follow(1 << 20);
    check_snapshot(&pair.copy().snapshot().unwrap(), &model, &names);
    // By hand: from now on it is a database like any other.
    pair.copy = None;
    let (copy, last) = (pair.copy_path(), pair.source().published());
    assert!(matches!(Engine::open(&copy, settings()), Err(Error::IsACopy { .. })));
    assert_eq!(promote_copy(&copy, settings()).unwrap(), last);
    assert_eq!(promote_copy(&copy, settings()).unwrap(), last, "once is enough");
    let promoted = Engine::open(&copy, settings()).unwrap();
    for (steps, _) in transactions.iter().take(3) {
        let mut txn = promoted.begin().unwrap();
        let writes = steps.iter().filter(|step| step.is_write());
        writes.for_each(|step| apply(step, &mut txn, &mut model, &names));
        txn.commit().unwrap();
        check_snapshot(&promoted.snapshot().unwrap(), &model, &names);
    }
    promoted.close().unwrap();
    let findings = check(&copy).unwrap().findings;
    let wrong: Vec<_> = findings.iter().filter(|f| f.severity != Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    #[test]
    fn copies_are_equal_to_a_source_that_goes_on(
        transactions in proptest::collection::vec(
            (proptest::collection::vec(step(), 1..8), between()),
            1..30,
        ),
        keep in any::<bool>(),
    ) {
        run(&transactions, keep);
    }
}

/// Commits of some KiB.
fn write(db: &Engine, commits: usize) {
    let (label, key) = (db.label("L").unwrap(), db.property_key("text").unwrap());
    for _ in 0..commits {
        let mut txn = db.begin().unwrap();
        let vertex = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(vertex, key, "x".repeat(3000).into()).unwrap();
        txn.commit().unwrap();
    }
}

fn archived(pair: &Pair) -> usize {
    std::fs::read_dir(pair.path("source/archive")).map_or(0, Iterator::count)
}

#[test]
fn the_log_is_kept_for_those_who_follow_and_no_longer() {
    let mut pair = Pair::new();
    write(pair.source(), 1);
    pair.image();
    write(pair.source(), 20);
    pair.keep(1 << 20);
    pair.source().checkpoint().unwrap();
    assert!(archived(&pair) > 10);
    assert!(pair.follow(4096), "it was kept");
    // Who follows has it now.
    pair.keep(1 << 20);
    write(pair.source(), 1);
    pair.source().checkpoint().unwrap();
    assert!(archived(&pair) <= 2, "{}", archived(&pair));
    // The limit counts more than who follows.
    write(pair.source(), 20);
    pair.keep(16 << 10);
    pair.source().checkpoint().unwrap();
    assert!((1..=5).contains(&archived(&pair)), "{}", archived(&pair));
    let after = pair.copy().published();
    assert!(matches!(pair.source().log_after(after), Err(Error::NotRetained { .. })));
    assert!(!pair.follow(4096));
    assert_eq!(pair.copy().published(), pair.source().published());
    // Nobody has asked for too long.
    pair.source().keep_log(pair.copy().published(), 1 << 20, NOW);
    write(pair.source(), 3);
    pair.source().checkpoint().unwrap();
    assert_eq!(archived(&pair), 0);
}

#[test]
fn what_no_log_has_needs_an_image() {
    let mut pair = Pair::new();
    write(pair.source(), 2);
    pair.image();
    let mut load = pair.source().bulk_load(BulkOptions::default()).unwrap();
    let label = load.label("Bulk").unwrap();
    load.add_vertices(&[label], 10, &[]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    write(pair.source(), 2);
    assert!(!pair.follow(4096));
    assert_eq!(pair.copy().published(), pair.source().published());
    // A copy that is ahead, or a database without a log.
    let beyond = CommitTs::from_raw(pair.source().published().get() + 1);
    assert!(matches!(pair.source().log_after(beyond), Err(Error::NotRetained { .. })));
    let memory = Engine::in_memory(settings()).unwrap();
    assert!(memory.log_after(CommitTs::from_raw(0)).is_err());
    // Nothing comes for a while.
    let mut log = pair.source().log_after(pair.source().published()).unwrap();
    assert_eq!(log.next_within(4096, Duration::from_millis(20)).unwrap(), None);
}
