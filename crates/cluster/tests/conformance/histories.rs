//! Histories of slots and of values with versions, for a checker of linearizability.
//!
//! Clients, each with a handle of its own, put and read, all at once. What they asked and were
//! told, and when, goes as lines of JSON into a file of the folder `TELAR_HISTORIES`, if that is
//! set. `tools/porcupine.sh` checks such files with Porcupine. What is always checked here: there
//! is contention, and every outcome is one that the traits know.
//!
//! ```text
//! {"object":"slot/3","call":1200,"return":5600,"op":"put","next":4,"value":"2.17","result":"won"}
//! {"object":"value/1","call":900,"return":null,"op":"put_if","expected":7,"value":"0.4","result":"unknown"}
//! ```
//!
//! Times are nanoseconds of one clock. A call whose outcome is unknown may take effect at any time
//! after it began, or never: it has no end. A call that failed did not happen, and is made again.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telar_cluster::store::{
    Coordination, Entry, ErrorKind, Log, Put, PutIf, Slot, StoreError, Version,
};

use crate::rng::Rng;
use crate::{Fixture, name, range};

/// Longest time without an answer of the store.
const PATIENCE: Duration = Duration::from_secs(60);

/// Calls that are recorded, of all clients.
struct History {
    start: Instant,
    calls: Mutex<Vec<Value>>,
}

/// The effect of a call.
enum Outcome {
    /// It did, or showed that it did not.
    Known(Value),
    /// Nobody knows.
    Unknown,
    /// It did not.
    Failed,
}

impl History {
    fn new() -> Self {
        Self { start: Instant::now(), calls: Mutex::default() }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap()
    }

    /// Makes a call on `object`, and records it with what `asked` says of it.
    fn call(&self, object: &str, mut asked: Value, mut run: impl FnMut() -> Outcome) {
        let patience = Instant::now() + PATIENCE;
        let (call, end, result) = loop {
            let call = self.now();
            let outcome = run();
            let end = self.now();
            match outcome {
                Outcome::Known(result) => break (call, Some(end), result),
                Outcome::Unknown => break (call, None, json!({"result": "unknown"})),
                Outcome::Failed => {
                    assert!(Instant::now() < patience, "no answer about {object}");
                    thread::sleep(Duration::from_millis(10));
                }
            }
        };
        let line = asked.as_object_mut().unwrap();
        line.extend(result.as_object().unwrap().clone());
        line.extend([
            ("object".into(), object.into()),
            ("call".into(), call.into()),
            ("return".into(), end.into()),
        ]);
        self.calls.lock().unwrap().push(asked);
    }

    /// Writes the calls down, and returns how many had each result.
    fn finish(self, of: &str) -> impl Fn(&str) -> usize {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let calls = self.calls.into_inner().unwrap();
        if let Some(folder) = std::env::var_os("TELAR_HISTORIES") {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let file = format!("{of}-{}-{number}.jsonl", std::process::id());
            let lines: String = calls.iter().map(|call| format!("{call}\n")).collect();
            fs::create_dir_all(&folder).unwrap();
            fs::write(std::path::Path::new(&folder).join(file), lines).unwrap();
        }
        move |result| calls.iter().filter(|call| call["result"] == result).count()
    }
}

/// Clients, each with a handle of its own, that make their calls all at once; `of` says which, by
/// the number of the call and a name of its own. The results, counted.
fn clients<S>(
    of: &str,
    open: impl Fn() -> S + Sync,
    call: impl Fn(&mut S, &History, u64, &str, &mut Rng) + Sync,
) -> impl Fn(&str) -> usize {
    const CLIENTS: u64 = 4;
    const CALLS: u64 = 60;
    let history = History::new();
    thread::scope(|scope| {
        let (history, open, call) = (&history, &open, &call);
        for client in 0..CLIENTS {
            scope.spawn(move || {
                let (mut own, mut random) = (open(), Rng::new(client));
                for number in 0..CALLS {
                    let name = format!("{client}.{number}");
                    call(&mut own, history, number, &name, &mut random);
                }
            });
        }
    });
    history.finish(of)
}

fn failed(error: &StoreError) -> Outcome {
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    Outcome::Failed
}

fn slot(found: Option<&Slot>) -> Value {
    match found {
        None => json!({"result": "nothing"}),
        Some(slot) => {
            let body = String::from_utf8(slot.body.clone()).unwrap();
            json!({"result": "found", "found": body, "found_next": slot.range.next()})
        }
    }
}

/// The outcome of a call on a slot, which may have been trimmed meanwhile.
fn unless_trimmed(result: Result<Outcome, StoreError>) -> Outcome {
    match result {
        Ok(outcome) => outcome,
        Err(StoreError::Trimmed { .. }) => Outcome::Known(json!({"result": "trimmed"})),
        Err(error) => failed(&error),
    }
}

fn on_slot(log: &dyn Log, history: &History, own: &str, stream: u64, random: &mut Rng) {
    let object = format!("slot/{stream}");
    let stream = name(&object);
    match random.below(10) {
        0..4 => {
            let next = 2 + random.below(3);
            let asked = json!({"op": "put", "value": own, "next": next});
            history.call(&object, asked, || {
                unless_trimmed(log.put_once(&stream, range(1, next), own.as_bytes()).map(|put| {
                    match put {
                        Put::Won => Outcome::Known(json!({"result": "won"})),
                        Put::Lost(found) => Outcome::Known(slot(Some(&found))),
                        Put::Unknown(_) => Outcome::Unknown,
                    }
                }))
            });
        }
        4..8 => history.call(&object, json!({"op": "read"}), || {
            let read = log.read(&stream, 1, usize::MAX);
            unless_trimmed(read.map(|slots| Outcome::Known(slot(slots.first()))))
        }),
        _ => {
            let before = 2 + random.below(3);
            history.call(&object, json!({"op": "trim", "before": before}), || {
                match log.trim(&stream, before) {
                    Ok(mark) => Outcome::Known(json!({"result": "mark", "mark": mark})),
                    Err(error) => {
                        failed(&error);
                        // Some of it may be done.
                        Outcome::Unknown
                    }
                }
            });
        }
    }
}

/// Clients put, read and trim the first slot of streams that all of them use at once.
pub(crate) fn slots_are_linearizable(store: &impl Fixture) {
    let open = || store.open().log;
    let count = clients("slots", open, |log, history, number, own, random| {
        // All at about the same stream, and none for long.
        let stream = number / 6 + random.below(2);
        on_slot(&**log, history, own, stream, random);
    });
    assert!(count("won") > 3, "{} won", count("won"));
    assert!(count("found") > 20, "{} found", count("found"));
}

fn entry(found: Option<&Entry>) -> Value {
    match found {
        None => json!({"result": "nothing"}),
        Some(entry) => {
            let value = String::from_utf8(entry.value.clone()).unwrap();
            json!({"result": "found", "found": value, "version": entry.version.get()})
        }
    }
}

fn on_value(
    values: &dyn Coordination,
    history: &History,
    own: &str,
    (key, seen): (u64, &mut Version),
    random: &mut Rng,
) {
    let object = format!("value/{key}");
    let key = name(&object);
    let saw = |seen: &mut Version, found: Option<&Entry>| {
        *seen = found.map_or(Version::ABSENT, |entry| entry.version);
        Outcome::Known(entry(found))
    };
    if random.below(2) == 0 {
        history.call(&object, json!({"op": "get"}), || match values.get(&key) {
            Ok(found) => saw(seen, found.as_ref()),
            Err(error) => failed(&error),
        });
        return;
    }
    let expected = *seen;
    let asked = json!({"op": "put_if", "value": own, "expected": expected.get()});
    history.call(&object, asked, || match values.put_if(&key, expected, own.as_bytes()) {
        Ok(PutIf::Won(version)) => {
            *seen = version;
            Outcome::Known(json!({"result": "won", "version": version.get()}))
        }
        Ok(PutIf::Lost(found)) => saw(seen, found.as_ref()),
        Ok(PutIf::Unknown(_)) => Outcome::Unknown,
        Err(error) => failed(&error),
    });
}

/// Clients read and replace a few values, as nodes do with the leases of a cluster.
pub(crate) fn values_are_linearizable(store: &impl Fixture) {
    let open = || (store.open().coordination, [Version::ABSENT; 2]);
    let count = clients("values", open, |(values, seen), history, _, own, random| {
        let key = random.below(2);
        on_value(&**values, history, own, (key, &mut seen[key as usize]), random);
    });
    assert!(count("won") > 5, "{} won", count("won"));
    assert!(count("found") > 20, "{} found", count("found"));
}
