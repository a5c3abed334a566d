//! Streams in PostgreSQL.

use std::sync::PoisonError;
use std::time::Duration;

use tokio_postgres::Row;

use super::{Failure, Postgres, from_sql, to_sql};
use crate::store::error::check_size;
use crate::store::{Log, Name, PartName, Put, Slot, SlotRange, StoreError};

/// Time between two looks for a slot.
const POLL: Duration = Duration::from_millis(10);
/// Slots asked for at once.
const SLOTS_MAX: i64 = 16;
/// How often a put looks at what is in its way.
const TRIES_MAX: u32 = 4;

const MAKE_MARK: &str =
    "INSERT INTO telar.mark (stream, mark) VALUES ($1, 1) ON CONFLICT DO NOTHING";
/// The last timestamp before `$2` that a slot has.
macro_rules! last_before {
    () => {
        "(SELECT last FROM telar.slot WHERE stream = $1 AND first < $2 ORDER BY first DESC LIMIT 1)"
    };
}
const PUT: &str = concat!(
    "INSERT INTO telar.slot (stream, first, last, body)
    SELECT $1, $2, $3, $4
    FROM (SELECT mark FROM telar.mark WHERE stream = $1 FOR SHARE) AS locked
    WHERE locked.mark <= $2 AND (locked.mark = $2 OR $2::bigint - 1 = ",
    last_before!(),
    ") ON CONFLICT DO NOTHING"
);
// A transaction that writes: its commit waits until the standby has all that came before it.
const FLUSH: &str = "SELECT pg_logical_emit_message(true, 'telar', '')";
const FOLLOWS: &str = concat!(
    "SELECT coalesce((SELECT mark FROM telar.mark WHERE stream = $1), 1) = $2::bigint
        OR coalesce($2::bigint - 1 = ",
    last_before!(),
    ", false)"
);
const SLOTS: &str = "
    SELECT first, last, body FROM telar.slot
    WHERE stream = $1 AND first >= coalesce(
        (SELECT max(first) FROM telar.slot WHERE stream = $1 AND first <= $2), $2)
      AND last >= $2
    ORDER BY first LIMIT $3";
const LAST: &str = "
    SELECT first, last FROM telar.slot
    WHERE stream = $1 AND first <= $2 ORDER BY first DESC LIMIT 1";
const BYTES: &str = "
    SELECT (SELECT coalesce(sum(octet_length(body)), 0) FROM telar.slot WHERE stream = $1)::bigint
         + (SELECT coalesce(sum(octet_length(body)), 0) FROM telar.part WHERE stream = $1)::bigint";
const MARK: &str = "SELECT mark FROM telar.mark WHERE stream = $1";
const SLOT: &str = "SELECT first, last, body FROM telar.slot WHERE stream = $1 AND first = $2";

fn range_of(row: &Row) -> Result<SlotRange, StoreError> {
    let (first, last) = (from_sql(row.get(0))?, from_sql(row.get(1))?);
    SlotRange::new(first, last + 1)
}

fn slot_of(row: &Row) -> Result<Slot, StoreError> {
    Ok(Slot { range: range_of(row)?, body: row.get(2) })
}

impl Postgres {
    /// The trim mark, which is not behind `asked`.
    fn check_mark(&self, stream: &Name, asked: u64) -> Result<u64, StoreError> {
        let key = self.named(stream);
        let row = self.ask(|client| client.query_opt(MARK, &[&key]))?;
        let oldest = row.map_or(Ok(1), |row| from_sql(row.get(0)))?;
        if asked < oldest {
            return Err(StoreError::Trimmed { stream: stream.clone(), asked, oldest });
        }
        Ok(oldest)
    }

    fn make_mark(&self, key: &str) -> Result<(), StoreError> {
        if !self.marked.lock().unwrap_or_else(PoisonError::into_inner).contains(key) {
            self.repeat(|client| client.execute(MAKE_MARK, &[&key]))?;
            self.marked.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned());
        }
        Ok(())
    }
}

impl Log for Postgres {
    fn body_bytes_max(&self) -> usize {
        self.body_bytes_max
    }

    fn put_once(&self, stream: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        check_size(body.len(), self.body_bytes_max)?;
        let key = self.named(stream);
        let (first, last) = (to_sql(range.first())?, to_sql(range.next() - 1)?);
        self.make_mark(&key)?;
        for _ in 0..TRIES_MAX {
            match self.change(|client| client.send(body.len(), PUT, &[&key, &first, &last, &body]))
            {
                Ok(1) => return Ok(Put::Won),
                Ok(_) => {}
                Err(Failure::Unknown(cause)) => return Ok(Put::Unknown(cause)),
                Err(Failure::NotDone(cause)) => return Err(cause),
            }
            // A primary that was started again shows what no standby has yet. In one session: of
            // one server.
            let found = self.change(|client| {
                let found = client.query_opt(SLOT, &[&key, &first])?;
                client.query_one(FLUSH, &[])?;
                Ok(found)
            });
            let found = match found {
                Ok(found) => found,
                Err(failure) => return Ok(Put::Unknown(failure.cause())),
            };
            self.check_mark(stream, range.first())?;
            if let Some(row) = found {
                return Ok(Put::Lost(slot_of(&row)?));
            }
            let follows = self.ask(|client| client.query_one(FOLLOWS, &[&key, &first]))?;
            if !follows.get::<_, bool>(0) {
                return Err(StoreError::Missing { stream: stream.clone(), at: range.first() - 1 });
            }
        }
        let why = "a slot is neither free nor there".to_owned();
        Err(StoreError::Unavailable { store: self.url.clone(), why })
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        let key = self.named(stream);
        let (mut slots, mut bytes, mut is_gap) = (Vec::<Slot>::new(), 0, false);
        let slots_max = if bytes_max == 0 { 1 } else { SLOTS_MAX };
        'pages: loop {
            let next = slots.last().map_or(from, |slot| slot.range.next());
            let Ok(at) = to_sql(next) else { break };
            let rows = self.ask(|client| client.query(SLOTS, &[&key, &at, &slots_max]));
            let rows = match rows {
                Ok(rows) => rows,
                Err(cause) if slots.is_empty() => return Err(cause),
                // What was read is whole; the next read meets the failure again.
                Err(_) => break,
            };
            let is_last = rows.len() < usize::try_from(slots_max).unwrap_or(usize::MAX);
            for row in &rows {
                let slot = slot_of(row)?;
                let next = slots.last().map_or(from, |slot| slot.range.next());
                // A gap is where trimming is, or what is damaged: the mark says which. What follows
                // it would be asked for again and again.
                is_gap = slot.range.first() > next;
                if is_gap || !slots.is_empty() && bytes >= bytes_max {
                    break 'pages;
                }
                bytes += slot.body.len();
                slots.push(slot);
            }
            if is_last || bytes >= bytes_max {
                break;
            }
        }
        // Last: what was removed while this read went on is not the end of the log.
        self.check_mark(stream, from)?;
        if is_gap && slots.is_empty() {
            return Err(StoreError::Missing { stream: stream.clone(), at: from });
        }
        Ok(slots)
    }

    fn poll_interval(&self) -> Duration {
        POLL
    }

    fn oldest(&self, stream: &Name) -> Result<u64, StoreError> {
        self.check_mark(stream, u64::MAX)
    }

    fn bytes(&self, stream: &Name) -> Result<u64, StoreError> {
        let key = self.named(stream);
        from_sql(self.ask_much(|client| client.query_one(BYTES, &[&key]))?.get(0))
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        let key = self.named(stream);
        let at = i64::try_from(before).unwrap_or(i64::MAX);
        // The mark after the slot: where none is left, another may just have trimmed it.
        let last = self.ask(|client| client.query_opt(LAST, &[&key, &at]))?;
        let old = self.check_mark(stream, u64::MAX)?;
        let Some(row) = last else { return Ok(old) };
        let range = range_of(&row)?;
        let mark = range.trim_mark(before);
        if mark <= old {
            return Ok(old);
        }
        let mark = to_sql(mark)?;
        let trimmed = self.change_much(|client| {
            client.transaction(|client| {
                // Before the slots: puts that are under way hold a share of this row.
                let set = "UPDATE telar.mark SET mark = greatest(mark, $2) WHERE stream = $1
                           RETURNING mark";
                let mark: i64 = client.query_one(set, &[&key, &mark])?.get(0);
                let slots = "DELETE FROM telar.slot WHERE stream = $1 AND first < $2";
                client.execute(slots, &[&key, &mark])?;
                let parts = "DELETE FROM telar.part WHERE stream = $1 AND slot < $2";
                client.execute(parts, &[&key, &mark])?;
                Ok(mark)
            })
        });
        from_sql(trimmed?)
    }

    fn put_part(&self, stream: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        check_size(bytes.len(), self.body_bytes_max)?;
        let (key, slot, name) = (self.named(stream), to_sql(part.slot)?, part.to_string());
        let put = "INSERT INTO telar.part (stream, slot, name, body) VALUES ($1, $2, $3, $4)
                   ON CONFLICT DO NOTHING";
        self.repeat(|client| client.send(bytes.len(), put, &[&key, &slot, &name, &bytes])).map(drop)
    }

    fn read_part(&self, stream: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        let (key, name) = (self.named(stream), part.to_string());
        let read = "SELECT body FROM telar.part WHERE stream = $1 AND name = $2";
        let row = self.ask(|client| client.query_opt(read, &[&key, &name]))?;
        Ok(row.map(|row| row.get(0)))
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        // Names begin with the slot's digits, and sort as slots do.
        let (key, first) = (self.named(stream), format!("{from:020}"));
        let list = "SELECT name FROM telar.part WHERE stream = $1 AND name >= $2 ORDER BY name";
        let rows = self.ask_much(|client| client.query(list, &[&key, &first]))?;
        Ok(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect())
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        let (key, name) = (self.named(stream), part.to_string());
        let remove = "DELETE FROM telar.part WHERE stream = $1 AND name = $2";
        self.repeat(|client| client.execute(remove, &[&key, &name])).map(drop)
    }

    fn concerns(&self) -> Result<Vec<String>, StoreError> {
        let shown = |name: &str| {
            let show = "SELECT current_setting($1)";
            self.ask(|client| client.query_one(show, &[&name])).map(|row| row.get::<_, String>(0))
        };
        let mut all = Vec::new();
        if shown("synchronous_standby_names")?.is_empty() {
            all.push(
                "PostgreSQL has no synchronous standby (synchronous_standby_names is empty): what \
                 was acknowledged last is lost with its disk"
                    .to_owned(),
            );
        }
        if shown("fsync")? != "on" {
            all.push("PostgreSQL does not sync its disk (fsync is off)".to_owned());
        }
        Ok(all)
    }
}
