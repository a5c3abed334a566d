//! Results of a transaction that wait to be read while others run: as messages, ready to be sent.

use std::collections::BTreeMap;

use super::chunk;
use super::link::{Exit, Link};
use super::message::Demand;
use crate::dbms::Failure;

/// Results by their number in the transaction.
#[derive(Debug)]
pub(crate) struct Kept {
    results: BTreeMap<i64, Result>,
    /// Bytes that more may take.
    room: usize,
}

/// Rows of one statement.
#[derive(Debug, Default)]
pub(crate) struct Result {
    /// The RECORDs, then the SUCCESS, with chunks around them.
    messages: Vec<u8>,
    /// Where each RECORD ends.
    ends: Vec<usize>,
    /// RECORDs that were sent.
    sent: usize,
}

impl Result {
    /// Keeps a row, unless that takes more than `room`.
    pub(crate) fn push<E>(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), E>,
        room: usize,
    ) -> std::result::Result<bool, E> {
        chunk::write(&mut self.messages, write)?;
        self.ends.push(self.messages.len());
        Ok(self.bytes() <= room)
    }

    fn bytes(&self) -> usize {
        self.messages.len() + size_of_val(&self.ends[..])
    }

    /// Where the first RECORD begins that was not sent.
    fn start(&self) -> usize {
        self.sent.checked_sub(1).map_or(0, |last| self.ends[last])
    }
}

impl Kept {
    /// Nothing yet; up to so many bytes.
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { results: BTreeMap::new(), room: bytes_max }
    }

    /// Bytes that another result may take.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Whether there is anything to read.
    pub(crate) fn is_empty(&self) -> bool {
        self.results.is_empty()
    }

    /// Keeps the rest of a result; `summary` writes what follows its rows.
    pub(crate) fn add(&mut self, qid: i64, mut result: Result, summary: impl FnOnce(&mut Vec<u8>)) {
        chunk::write(&mut result.messages, summary);
        self.room = self.room.saturating_sub(result.bytes());
        self.results.insert(qid, result);
    }

    /// Answers a demand for a result that is kept. Whether there is one: if not, the client knows.
    pub(crate) fn serve(
        &mut self,
        link: &mut Link,
        demand: Demand,
    ) -> std::result::Result<bool, Exit> {
        let qid = demand.qid.unwrap_or(-1);
        let Some(result) = self.results.get_mut(&qid) else {
            let message = format!("the transaction has no result {qid} that waits to be read");
            link.failure(&Failure::new("Neo.ClientError.Request.Invalid", message));
            return Ok(false);
        };
        let left = result.ends.len() - result.sent;
        let wanted = demand.rows.and_then(|rows| usize::try_from(rows).ok()).unwrap_or(left);
        for _ in 0..wanted.min(left) {
            let start = result.start();
            result.sent += 1;
            if !demand.discard {
                link.answer_written(&result.messages[start..result.start()]);
                link.relieve()?;
            }
        }
        if wanted < left {
            link.success(|map| map.bool("has_more", true));
            return Ok(true);
        }
        link.answer_written(&result.messages[result.start()..]);
        self.room += result.bytes();
        self.results.remove(&qid);
        Ok(true)
    }
}
