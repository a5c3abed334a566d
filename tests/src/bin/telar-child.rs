//! The process that the crash tests kill: opens a database and works on it until it dies.
//!
//! ```text
//!  telar-child run DIR THREADS DURABILITY SEED COUNT    work; COUNT 0: until killed
//!  telar-child open DIR THREADS                         open, verify, say what is there
//!  telar-child close DIR THREADS                        the same, then close with a checkpoint
//!  telar-child load DIR                                 one bulk load more, then say what is there
//!  telar-child loaded DIR                               open, verify the loads, say how many
//!  telar-child large DIR make                           make a large graph
//!  telar-child large DIR KIB                            use it within a memory limit
//!  telar-child merge DIR SESSIONS DURABILITY SEED       merge relationships until killed
//!  telar-child merged DIR SESSIONS                      open, verify them, say what is there
//!  telar-child vectors DIR 1 DURABILITY 0 COUNT         write vectors; COUNT 0: until killed
//!  telar-child near DIR                                 open, verify what is near, say so
//!  telar-child hold DIR                                 open and wait for standard input to end
//!  telar-child backups DIR THREADS DURABILITY SEED INTO work, and back up into INTO/0, INTO/1, ...
//!  telar-child backup DIR INTO DURABILITY SINCE         one backup, since another one or -
//!  telar-child compact DIR · upgrade DIR · restore DIR BACKUP · repair DIR DAMAGED ·
//!              reorder DIR SOURCE
//!
//!  lines written:  backup N ·
//!                  ready · ack THREAD N · flushed THREAD N · state N.. · hit NAME
//!                  error KIND TEXT · wrong TEXT · failed TEXT (a commit or a checkpoint)
//!                  refused TEXT, accepted (of a commit after one that failed)
//! ```

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use telar_db::algo::ordering::Method;
use telar_db::reorder::{ReorderError, ReorderOptions, reorder};
use telar_engine::maintenance::{self, BackupOptions, RepairOptions, RestoreOptions};
use telar_engine::{Durability, Engine, Error, Retention, Settings};
use telar_tests::Rng;
use telar_tests::unit::{self, Schema};

/// Writes a line at once, whole, so that a kill cannot leave half of it in a buffer of ours.
fn say(line: &str) {
    let line = line.replace('\n', " ") + "\n";
    // The reader may be gone; then nobody is interested.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
    let _ = std::io::stdout().lock().flush();
}

fn say_error(e: &Error) {
    let variant = format!("{e:?}");
    let variant: String = variant.chars().take_while(char::is_ascii_alphanumeric).collect();
    say(&format!("error {variant} {:?} {e}", e.kind()));
}

fn settings(durability: &str) -> Settings {
    let mut settings = Settings::default();
    if durability == "async" {
        settings.durability = Durability::Async { interval_ms: 7 };
    }
    settings.wal_file_bytes = 4 << 10;
    settings.checkpoint_wal_bytes = 256 << 10;
    settings.store_bytes_max = 1 << 30;
    settings.background_interval_ms = 20;
    settings.log_archive_bytes_max = 64 << 10;
    settings.retain = Retention::commits(40);
    settings
}

/// One thread, the same steps every time: for failpoints, and to make databases of a known content.
fn work_in_order(db: &Engine, count: i64) -> Result<(), Error> {
    let schema = Schema::new(db, 1)?;
    let first = schema.last(db)?[0] + 1;
    for n in first..first + count {
        if let Err(e) = schema.run(db, 0, n) {
            if matches!(e, Error::Log(_)) {
                let again = schema.run(db, 0, n).err();
                say(&again.map_or_else(|| "accepted".to_owned(), |e| format!("refused {e}")));
            }
            return Err(e);
        }
        say(&format!("ack 0 {n}"));
        if n % 10 == 9 {
            db.settle();
        }
        if n % 37 == 36 {
            db.checkpoint()?;
        }
    }
    Ok(())
}

fn work(db: &Engine, threads: usize, seed: u64) -> Result<(), Error> {
    let schema = Schema::new(db, threads)?;
    let last = schema.last(db)?;
    let done: Vec<AtomicI64> = last.iter().map(|n| AtomicI64::new(*n)).collect();
    let stop = AtomicBool::new(false);
    let failed = |what: &str, e: &Error| {
        if !stop.swap(true, Ordering::SeqCst) {
            say(&format!("failed {what}: {e}"));
        }
    };
    std::thread::scope(|scope| {
        for (t, done) in done.iter().enumerate() {
            let (schema, stop, failed) = (&schema, &stop, &failed);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let n = done.load(Ordering::Relaxed) + 1;
                    match schema.run(db, t, n) {
                        Ok(()) => {
                            say(&format!("ack {t} {n}"));
                            done.store(n, Ordering::SeqCst);
                        }
                        Err(e) if e.is_retryable() => {}
                        Err(e) => failed("commit", &e),
                    }
                }
            });
        }
        let mut rng = Rng::new(seed);
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(rng.below(25)));
            match rng.below(3) {
                0 => db.settle(),
                1 => {
                    if let Err(e) = db.checkpoint() {
                        failed("checkpoint", &e);
                    }
                }
                _ => {
                    let before: Vec<i64> = done.iter().map(|n| n.load(Ordering::SeqCst)).collect();
                    if let Err(e) = db.flush() {
                        failed("flush", &e);
                        continue;
                    }
                    for (t, n) in before.iter().enumerate() {
                        say(&format!("flushed {t} {n}"));
                    }
                }
            }
        }
    });
    Ok(())
}

fn back_up(db: &Engine, into: &Path, since: Option<PathBuf>) -> Result<(), Error> {
    let mut options = BackupOptions::default();
    options.since = since;
    db.backup(into, &options).map(drop)
}

/// A chain of four backups after the other, until killed.
fn back_up_forever(db: &Engine, into: &Path) {
    for n in 0u32.. {
        let since = (n % 4 != 0).then(|| into.join((n - 1).to_string()));
        match back_up(db, &into.join(n.to_string()), since) {
            Ok(()) => say(&format!("backup {n}")),
            Err(e) => return say(&format!("failed backup {n}: {e}")),
        }
    }
}

/// What is done to a database that is not open.
fn offline(mode: &str, dir: &str, other: &str) -> Option<Result<(), Error>> {
    Some(match mode {
        "compact" => maintenance::compact(dir).map(drop),
        "upgrade" => maintenance::upgrade(dir).map(drop),
        "restore" => {
            maintenance::restore(&[other.into()], dir, &RestoreOptions::default()).map(drop)
        }
        "reorder" => {
            let options = ReorderOptions::new(Method::Rcm);
            reorder(other.as_ref(), dir.as_ref(), &options, &|_| {}).map(drop).map_err(
                |e| match e {
                    ReorderError::Engine(e) => e,
                    other => Error::BulkLoad { reason: other.to_string() },
                },
            )
        }
        "repair" => maintenance::repair(other, dir, RepairOptions::default()).map(drop),
        _ => return None,
    })
}

fn say_hits() {
    for name in telar_engine::failpoint::names_hit() {
        say(&format!("hit {name}"));
    }
}

#[expect(clippy::too_many_lines, reason = "one arm for each job")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let argument = |i: usize| arguments.get(i).map_or("", String::as_str);
    let number = |i: usize| argument(i).parse::<i64>().unwrap_or(0);
    if let Some(done) = offline(argument(1), argument(2), argument(3)) {
        if let Err(e) = done {
            say_error(&e);
            return ExitCode::from(8);
        }
        say_hits();
        return ExitCode::SUCCESS;
    }
    let mut settings = settings(argument(4));
    if argument(1) == "large" {
        settings = Settings::asynchronous(20);
        settings.background_interval_ms = 10;
        settings.memory_limit_bytes = u64::try_from(number(3) << 10).ok().filter(|n| *n > 0);
    }
    let db = match Engine::open(argument(2), settings) {
        Ok(db) => db,
        Err(e) => {
            say_error(&e);
            return ExitCode::from(3);
        }
    };
    say("ready");
    match argument(1) {
        "run" => {
            let done = match number(6) {
                0 => work(&db, number(3) as usize, number(5) as u64),
                count => work_in_order(&db, count),
            };
            if let Err(e) = done {
                say(&format!("failed {e}"));
                return ExitCode::from(4);
            }
            say_hits();
        }
        "merge" => {
            let acknowledge = |session, n| say(&format!("ack {session} {n}"));
            let (sessions, seed) = (number(3) as usize, number(5) as u64);
            if let Err(e) = telar_tests::merges::work(&db, sessions, seed, acknowledge) {
                say(&format!("failed {e}"));
                return ExitCode::from(4);
            }
        }
        "merged" => match telar_tests::merges::verify(&db, number(3) as usize) {
            Ok(done) => {
                let done: Vec<String> = done.iter().map(ToString::to_string).collect();
                say(&format!("state {}", done.join(" ")));
            }
            Err(e) => {
                say(&format!("wrong {e}"));
                return ExitCode::from(5);
            }
        },
        "vectors" => {
            let acknowledge = |n| say(&format!("ack 0 {n}"));
            let done = match number(6) {
                0 => telar_tests::vectors::work(&db, 0, acknowledge),
                count => telar_tests::vectors::work_until_written(&db, count, acknowledge),
            };
            if let Err(e) = done {
                say(&format!("failed {e}"));
                return ExitCode::from(4);
            }
            say_hits();
        }
        "unindex" => {
            if let Err(e) = telar_tests::vectors::drop_index(&db) {
                say(&format!("failed {e}"));
                return ExitCode::from(4);
            }
            say_hits();
        }
        "near" => match telar_tests::vectors::verify(&db) {
            Ok([last, read, refused]) => say(&format!("state {last} {read} {refused}")),
            Err(e) => {
                say(&format!("wrong {e}"));
                return ExitCode::from(5);
            }
        },
        "large" => {
            let done = match argument(3) {
                "make" => telar_tests::large::make(&db).map_err(|e| e.to_string()),
                _ => telar_tests::large::use_all(&db),
            };
            if let Err(e) = done {
                say(&format!("wrong {e}"));
                return ExitCode::from(5);
            }
        }
        "load" => {
            if let Err(e) = telar_tests::load::load(&db) {
                say(&format!("failed {e}"));
                // What an error left must be as good as what a crash leaves, at once.
                match telar_tests::load::verify(&db) {
                    Ok(loads) => say(&format!("state {loads}")),
                    Err(e) => say(&format!("wrong {e}")),
                }
                return ExitCode::from(4);
            }
            say("loaded");
            say_hits();
        }
        "loaded" => match telar_tests::load::verify(&db) {
            Ok(loads) => say(&format!("state {loads}")),
            Err(e) => {
                say(&format!("wrong {e}"));
                return ExitCode::from(5);
            }
        },
        "open" | "close" => match (
            unit::verify(&db, number(3) as usize)
                .and_then(|done| unit::verify_stream(&db).map(|()| done)),
            db.error(),
        ) {
            // Damage is found when a value is first touched; what was read until then is void.
            (_, Some(e)) => {
                say_error(&e);
                return ExitCode::from(3);
            }
            (Ok(done), None) => {
                let done: Vec<String> = done.iter().map(ToString::to_string).collect();
                say(&format!("state {}", done.join(" ")));
                say_hits();
            }
            // A damaged index concerns whoever reads it, and nobody else.
            (Err(e), None) if e.contains("is damaged in the store") => {
                say(&format!("part {e}"));
                return ExitCode::from(3);
            }
            (Err(e), None) => {
                say(&format!("wrong {e}"));
                return ExitCode::from(5);
            }
        },
        "backups" => {
            let into = std::path::PathBuf::from(argument(6));
            std::thread::scope(|scope| {
                scope.spawn(|| back_up_forever(&db, &into));
                drop(work(&db, number(3) as usize, number(5) as u64));
            });
        }
        "backup" => {
            let since = argument(5);
            let since = (since != "-").then(|| since.into());
            if let Err(e) = back_up(&db, argument(3).as_ref(), since) {
                say_error(&e);
                return ExitCode::from(7);
            }
            say("backup");
            say_hits();
        }
        _ => drop(std::io::stdin().read(&mut [0])),
    }
    if ["close", "large"].contains(&argument(1))
        && let Err(e) = db.close()
    {
        say_error(&e);
        return ExitCode::from(6);
    }
    ExitCode::SUCCESS
}
