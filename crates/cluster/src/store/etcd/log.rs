//! Streams in etcd.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Etcd;
use super::gateway::{ANSWER_TIMEOUT, Failure};
use super::status::Status;
use super::wire::{self, Done, KeyValue, Transaction, after, encode, range};
use crate::store::error::check_size;
use crate::store::{Log, Name, PartName, Put, Slot, SlotRange, StoreError};

/// Slots asked for at once: 4 MiB.
const SLOTS_MAX: usize = 16;
/// Pages of a read, which take a few milliseconds each: whoever reads hears of them soon.
const PAGES_MAX: usize = 32;
/// Timestamps in which slots are looked for at once.
const WINDOW: u64 = 1 << 16;
/// Parts listed at once.
const PARTS_MAX: usize = 1000;
/// Attempts of a put, as the mark may be made, or moved, meanwhile.
const TRIES_MAX: u32 = 4;

struct Keys(String);

impl Keys {
    fn new(store: &Etcd, stream: &Name) -> Self {
        Self(format!("{}log/{}/", store.prefix, stream.as_str().replace('/', "%")))
    }

    fn mark(&self) -> String {
        format!("{}mark", self.0)
    }

    fn slots(&self) -> String {
        format!("{}slot/", self.0)
    }

    fn slot(&self, first: u64) -> String {
        format!("{}slot/{}", self.0, digits(first))
    }

    fn parts(&self) -> String {
        format!("{}part/", self.0)
    }

    fn part(&self, part: PartName) -> String {
        format!("{}part/{part}", self.0)
    }
}

fn digits(number: u64) -> String {
    format!("{number:020}")
}

fn slot_of(found: &KeyValue) -> Result<Slot, StoreError> {
    let key = found.key()?;
    let damaged = |why: &str| StoreError::damaged(key.clone(), why);
    let first = key.rsplit('/').next().and_then(|text| text.parse().ok());
    let first = first.ok_or_else(|| damaged("its key has no number"))?;
    let mut body = found.value()?;
    let next = body.first_chunk().copied().map(u64::from_le_bytes);
    let range = next.and_then(|next| SlotRange::new(first, next).ok());
    let range = range.ok_or_else(|| damaged("it does not begin with its end"))?;
    body.drain(..8);
    Ok(Slot { range, body })
}

fn mark_of(found: &[KeyValue]) -> Result<Option<u64>, StoreError> {
    let Some(found) = found.first() else { return Ok(None) };
    let text = String::from_utf8(found.value()?).ok();
    let mark = text.and_then(|text| text.parse().ok());
    mark.map(Some).ok_or_else(|| wire::strange("a trim mark is no number"))
}

fn check_mark(stream: &Name, mark: Option<u64>, asked: u64) -> Result<(), StoreError> {
    match mark {
        Some(oldest) if asked < oldest => {
            Err(StoreError::Trimmed { stream: stream.clone(), asked, oldest })
        }
        _ => Ok(()),
    }
}

/// The request that puts `value` at the end of a log: behind the slot that begins at `before`, or
/// else at the trim mark.
fn put_request(keys: &Keys, first: u64, before: Option<u64>, value: &[u8]) -> Value {
    let (slot, mark) = (keys.slot(first), keys.mark());
    let free =
        json!({ "key": encode(slot.as_bytes()), "target": "CREATE", "create_revision": "0" });
    let is_mark = |result: &str, value: u64| {
        json!({ "key": encode(mark.as_bytes()), "target": "VALUE", "result": result,
                "value": encode(digits(value).as_bytes()) })
    };
    let follows = match before {
        Some(before) => {
            let key = encode(keys.slot(before).as_bytes());
            let there = json!({ "key": key, "target": "CREATE", "result": "GREATER",
                                "create_revision": "0" });
            vec![is_mark("LESS", first + 1), there]
        }
        None => vec![is_mark("EQUAL", first)],
    };
    let compare: Vec<_> = std::iter::once(free).chain(follows).collect();
    json!({
        "compare": compare,
        "success": [{ "request_put": wire::put(slot.as_bytes(), value) }],
        "failure": [
            { "request_range": wire::range(slot.as_bytes(), None, 1, false) },
            { "request_range": wire::range(mark.as_bytes(), None, 1, false) },
        ],
    })
}

/// Who answers a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// A node that has asked the leader how far the log goes: the read is linearizable.
    Leader,
    /// The node of this number, by what it has.
    Node(usize),
}

/// A slot and what follows it, read at one revision.
struct Page {
    slots: Vec<Slot>,
    revision: u64,
    is_last: bool,
}

impl Etcd {
    fn transact(&self, body: &Value) -> Result<Transaction, Failure> {
        self.gateway.change_for_sure("/v3/kv/txn", body)
    }

    fn page(
        &self,
        stream: &Name,
        keys: &Keys,
        from: u64,
        slots_max: usize,
        asked: Asked,
    ) -> Result<Page, StoreError> {
        let (slots, at) = (keys.slots(), keys.slot(from));
        // etcd counts what a range holds, however few of it are wanted.
        let window_end = from.saturating_add(WINDOW);
        let end = keys.slot(window_end);
        let following = range(at.as_bytes(), Some(end.as_bytes()), slots_max, false);
        let mut ranges = vec![range(keys.mark().as_bytes(), None, 1, false), following];
        if !self.boundaries.knows(&keys.0, from) {
            ranges.push(range(slots.as_bytes(), Some(at.as_bytes()), 1, true));
        }
        let asks_before = ranges.len() == 3;
        if asked != Asked::Leader {
            ranges = ranges.into_iter().map(wire::serializable).collect();
        }
        let ranges: Vec<Value> =
            ranges.into_iter().map(|range| json!({ "request_range": range })).collect();
        let (path, body) = ("/v3/kv/txn", json!({ "success": ranges }));
        let found: Transaction = match asked {
            Asked::Leader => self.gateway.ask(path, &body)?,
            Asked::Node(node) => self.gateway.ask_one(node, path, &body)?,
        };
        let mark = mark_of(found.range(0)?)?;
        check_mark(stream, mark, from)?;
        let mut slots = Vec::new();
        if asks_before && let Some(before) = found.range(2)?.first() {
            // It holds `from`, if none begins there.
            let before = slot_of(before)?;
            self.boundaries.note(&keys.0, [before.range]);
            slots.extend(Some(before).filter(|slot| slot.range.next() > from));
        }
        let following = found.range(1)?;
        for kv in following {
            let slot = slot_of(kv)?;
            let next = slots.last().map_or(from, |last: &Slot| last.range.next());
            if slot.range.first() != next {
                if slots.is_empty() {
                    return Err(StoreError::Missing { stream: stream.clone(), at: next });
                }
                break;
            }
            slots.push(slot);
        }
        self.boundaries.note(&keys.0, slots.iter().map(|slot| slot.range));
        // The next one would begin where the last one ends.
        let next = slots.last().map_or(from, |last: &Slot| last.range.next());
        let is_last = following.len() < slots_max && next < window_end;
        Ok(Page { slots, revision: found.header.revision()?, is_last })
    }

    /// The beginning of the slot that ends at `at`; none if there is none.
    fn slot_before(&self, keys: &Keys, at: u64) -> Result<Option<u64>, StoreError> {
        if let Some(first) = self.boundaries.before(&keys.0, at) {
            return Ok(Some(first));
        }
        let (slots, end) = (keys.slots(), keys.slot(at));
        let last = range(slots.as_bytes(), Some(end.as_bytes()), 1, true);
        let found: wire::Range = self.gateway.ask("/v3/kv/range", &last)?;
        let Some(last) = found.kvs.first() else { return Ok(None) };
        let last = slot_of(last)?.range;
        self.boundaries.note(&keys.0, [last]);
        Ok(Some(last.first()).filter(|_| last.next() == at))
    }

    /// The slots from `from` on, and the revision of the first look.
    fn read_at(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
        asked: Asked,
    ) -> Result<(Vec<Slot>, u64), StoreError> {
        let keys = Keys::new(self, stream);
        let (mut slots, mut bytes, mut revision) = (Vec::<Slot>::new(), 0, None);
        for _ in 0..PAGES_MAX {
            let next = slots.last().map_or(from, |slot| slot.range.next());
            let slots_max = if bytes_max == 0 { 1 } else { SLOTS_MAX };
            let page = self.page(stream, &keys, next, slots_max, asked);
            let page = match page {
                Ok(page) => page,
                Err(cause) if slots.is_empty() => return Err(cause),
                // What was read before is whole; the next read says what is wrong with the rest.
                Err(_) => return Ok((slots, revision.unwrap_or_default())),
            };
            let revision = *revision.get_or_insert(page.revision);
            for slot in page.slots {
                if !slots.is_empty() && bytes >= bytes_max {
                    return Ok((slots, revision));
                }
                bytes += slot.body.len();
                slots.push(slot);
            }
            if page.is_last || bytes >= bytes_max {
                break;
            }
        }
        Ok((slots, revision.unwrap_or_default()))
    }
}

impl Log for Etcd {
    fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        check_size(body.len(), self.body_bytes_max)?;
        let (keys, first) = (Keys::new(self, stream), range.first());
        let mark = keys.mark();
        let value = [&range.next().to_le_bytes()[..], body].concat();
        let mut before = self.slot_before(&keys, first)?;
        for _ in 0..TRIES_MAX {
            let found = match self.transact(&put_request(&keys, first, before, &value)) {
                Ok(found) => found,
                Err(Failure::Unknown(cause)) => return Ok(Put::Unknown(cause)),
                Err(failure) => return Err(failure.cause()),
            };
            if found.succeeded {
                self.boundaries.note(&keys.0, [range]);
                return Ok(Put::Won);
            }
            let there = mark_of(found.range(1)?)?;
            check_mark(stream, there, first)?;
            if let Some(slot) = found.range(0)?.first() {
                return Ok(Put::Lost(slot_of(slot)?));
            }
            if let Some(there) = there {
                if there < first {
                    return Err(StoreError::Missing { stream: stream.clone(), at: first - 1 });
                }
                // What was before it has been trimmed since.
                before = None;
                continue;
            }
            // The first slot of the stream: a value that is not there compares as nothing.
            let make = json!({
                "compare": [
                    { "key": encode(mark.as_bytes()), "target": "CREATE", "create_revision": "0" },
                ],
                "success": [{ "request_put": wire::put(mark.as_bytes(), digits(1).as_bytes()) }],
            });
            self.transact(&make).map_err(Failure::cause)?;
        }
        let why = "the trim mark does not stay".to_owned();
        Err(StoreError::Unavailable { store: "etcd".into(), why })
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        Ok(self.read_at(stream, from, bytes_max, Asked::Leader)?.0)
    }

    fn reads_stale(&self) -> bool {
        true
    }

    fn read_stale(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<Slot>, StoreError> {
        // What a node shows was committed by most of them, and synced. One that has just been
        // started lacks more than others.
        let (mut answers, mut failure) = (false, None);
        for node in 0..self.gateway.endpoints() {
            match self.read_at(stream, from, bytes_max, Asked::Node(node)) {
                Ok((slots, _)) if slots.is_empty() => answers = true,
                Ok((slots, _)) => return Ok(slots),
                Err(cause) => failure = Some(cause),
            }
        }
        failure.filter(|_| !answers).map_or(Ok(Vec::new()), Err)
    }

    fn follow(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
        wait: Duration,
    ) -> Result<Vec<Slot>, StoreError> {
        let end = Instant::now() + wait;
        let slots = Keys::new(self, stream).slots();
        loop {
            let (found, revision) = self.read_at(stream, from, bytes_max, Asked::Leader)?;
            let left = end.saturating_duration_since(Instant::now());
            if !found.is_empty() || left.is_zero() {
                return Ok(found);
            }
            self.gateway.watch(&watch(&slots, revision + 1), left);
        }
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        let keys = Keys::new(self, stream);
        let (slots, at) = (keys.slots(), keys.slot(before.saturating_add(1)));
        let last = range(slots.as_bytes(), Some(at.as_bytes()), 1, true);
        let mark = range(keys.mark().as_bytes(), None, 1, false);
        let ranges = [last, mark].map(|range| json!({ "request_range": range }));
        let found: Transaction =
            self.gateway.ask("/v3/kv/txn", &json!({ "success": ranges.to_vec() }))?;
        let old = mark_of(found.range(1)?)?.unwrap_or(1);
        let Some(last) = found.range(0)?.first() else { return Ok(old) };
        let range = slot_of(last)?.range;
        let mark = range.trim_mark(before);
        if mark <= old {
            return Ok(old);
        }
        let key = keys.mark();
        let delete = |from: &str, to: &str| {
            let (from, to) = (encode(from.as_bytes()), encode(to.as_bytes()));
            json!({ "request_delete_range": { "key": from, "range_end": to } })
        };
        let trim = json!({
            "compare": [
                { "key": encode(key.as_bytes()), "target": "VALUE", "result": "LESS",
                  "value": encode(digits(mark).as_bytes()) },
            ],
            "success": [
                { "request_put": wire::put(key.as_bytes(), digits(mark).as_bytes()) },
                delete(&slots, &keys.slot(mark)),
                // Parts of slots before the mark: their names begin with the slot's digits.
                delete(&keys.parts(), &format!("{}{}", keys.parts(), digits(mark))),
            ],
            "failure": [{ "request_range": wire::range(key.as_bytes(), None, 1, false) }],
        });
        let found: Transaction =
            self.gateway.change(ANSWER_TIMEOUT, "/v3/kv/txn", &trim).map_err(Failure::cause)?;
        if found.succeeded {
            return Ok(mark);
        }
        Ok(mark_of(found.range(0)?)?.unwrap_or(old))
    }

    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(bytes.len(), self.body_bytes_max)?;
        let key = Keys::new(self, stream).part(part);
        let put = wire::put(key.as_bytes(), bytes);
        self.gateway.ask::<Done>("/v3/kv/put", &put).map(drop)
    }

    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        let key = Keys::new(self, stream).part(part);
        let part = range(key.as_bytes(), None, 1, false);
        for range in [wire::serializable(part.clone()), part] {
            let found: wire::Range = self.gateway.ask("/v3/kv/range", &range)?;
            if let Some(found) = found.kvs.first() {
                return found.value().map(Some);
            }
        }
        Ok(None)
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        let prefix = Keys::new(self, stream).parts();
        let end = after(&prefix);
        // Names begin with the slot's digits.
        let first = format!("{prefix}{}", digits(from));
        let (mut from, mut names) = (first.into_bytes(), Vec::new());
        loop {
            let mut request = range(&from, Some(&end), PARTS_MAX, false);
            request["keys_only"] = true.into();
            let found: wire::Range = self.gateway.ask("/v3/kv/range", &request)?;
            for kv in &found.kvs {
                let key = kv.key()?;
                let name = key.strip_prefix(&prefix);
                names.extend(name.and_then(|name| name.parse::<PartName>().ok()));
                // The smallest key after this one.
                from = key.into_bytes();
                from.push(0);
            }
            if found.kvs.len() < PARTS_MAX {
                return Ok(names);
            }
        }
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        let key = Keys::new(self, stream).part(part);
        let delete = json!({ "key": encode(key.as_bytes()) });
        self.gateway.ask::<Done>("/v3/kv/deleterange", &delete).map(drop)
    }

    fn concerns(&self) -> Result<Vec<String>, StoreError> {
        let status: Status = self.gateway.ask("/v3/maintenance/status", &json!({}))?;
        Ok(status.concerns())
    }
}

/// A watch of what begins with `prefix`, from `revision` on.
pub(super) fn watch(prefix: &str, revision: u64) -> Value {
    json!({ "create_request": {
        "key": encode(prefix.as_bytes()),
        "range_end": encode(&after(prefix)),
        "start_revision": revision.to_string(),
    } })
}
