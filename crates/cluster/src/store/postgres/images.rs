//! Images in PostgreSQL: pieces of 1 MiB.
//!
//! An image is put in one transaction, so it is there whole or not at all. A reader has a
//! connection of its own, whose transaction sees one state of the tables: what is replaced or
//! deleted meanwhile is read to its end.
//!
//! Cost: a put is one statement for each piece, and doubles in the server's own log; a piece that
//! is read is one statement.

use std::io::{self, Read};

use tokio_postgres::Row;

use super::client::{Client, Error};
use super::pool::READ;
use super::{Postgres, from_sql};
use crate::store::{ImageInfo, Images, Name, StoreError};

const PIECE_BYTES: usize = 1 << 20;

const PUT: &str = "INSERT INTO telar.image (name, piece, body) VALUES ($1, $2, $3)";
const DELETE: &str = "DELETE FROM telar.image WHERE name = $1";
const PIECE: &str = "SELECT body FROM telar.image WHERE name = $1 AND piece = $2";
const LIST: &str = "
    SELECT name, sum(octet_length(body))::bigint FROM telar.image
    WHERE starts_with(name, $1) GROUP BY name ORDER BY name";
const SNAPSHOT: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Reason why a put ended early.
enum Ended {
    Content(io::Error),
    Database(Error),
}

impl From<Error> for Ended {
    fn from(cause: Error) -> Self {
        Self::Database(cause)
    }
}

/// Fills `piece` from `content`; returns how many bytes there were.
fn fill(content: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < piece.len() {
        match content.read(&mut piece[filled..]) {
            Ok(0) => break,
            Ok(bytes) => filled += bytes,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(filled)
}

fn put(client: &mut Client, key: &str, content: &mut dyn Read) -> Result<(), Ended> {
    client.transaction(|client| {
        client.execute(DELETE, &[&key])?;
        let mut buffer = vec![0; PIECE_BYTES];
        for piece in 0_i64.. {
            let bytes = fill(content, &mut buffer).map_err(Ended::Content)?;
            // An empty image has one piece, too: it is there.
            if bytes > 0 || piece == 0 {
                client.send(bytes, PUT, &[&key, &piece, &&buffer[..bytes]])?;
            }
            if bytes < PIECE_BYTES {
                break;
            }
        }
        Ok(())
    })
}

/// An image that is being read.
struct Reader {
    client: Client,
    key: String,
    /// Number of the piece that is read next.
    next: i64,
    piece: Vec<u8>,
    at: usize,
}

impl Reader {
    /// Reads the next piece; false after the last one.
    fn advance(&mut self) -> Result<bool, Error> {
        let row = self.client.query_opt(PIECE, &[&self.key, &self.next])?;
        let Some(row) = row else { return Ok(false) };
        (self.piece, self.at) = (row.get(0), 0);
        self.next += 1;
        Ok(true)
    }
}

impl Read for Reader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let there = self.advance().map_err(|cause| io::Error::other(cause.to_string()))?;
            if !there {
                return Ok(0);
            }
        }
        let bytes = out.len().min(self.piece.len() - self.at);
        out[..bytes].copy_from_slice(&self.piece[self.at..self.at + bytes]);
        self.at += bytes;
        Ok(bytes)
    }
}

impl Images for Postgres {
    fn put(&self, name: &Name, content: &mut dyn Read) -> Result<(), StoreError> {
        let key = self.named(name);
        let mut broken = None;
        let done = self.change_much(|client| match put(client, &key, content) {
            Ok(()) => Ok(()),
            Err(Ended::Database(cause)) => Err(cause),
            // Its transaction is rolled back.
            Err(Ended::Content(cause)) => {
                broken = Some(cause);
                Ok(())
            }
        });
        match broken {
            Some(cause) => {
                Err(StoreError::io("read what is put as", name.as_str().as_ref(), cause))
            }
            None => done,
        }
    }

    fn get(&self, name: &Name) -> Result<Option<Box<dyn Read + Send>>, StoreError> {
        let unavailable = |cause| self.unavailable(&cause);
        let mut client = self.pool.connect(READ).map_err(unavailable)?;
        client.set_patience(READ.patience);
        let begun = client.batch_execute(SNAPSHOT);
        let (key, piece) = (self.named(name), Vec::new());
        let mut reader = Reader { client, key, next: 0, piece, at: 0 };
        match begun.and_then(|()| reader.advance()) {
            Ok(there) => Ok(there.then(|| Box::new(reader) as Box<dyn Read + Send>)),
            Err(cause) => {
                if reader.client.is_silent() {
                    self.pool.set_aside(reader.client, READ);
                }
                Err(unavailable(cause))
            }
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<ImageInfo>, StoreError> {
        let begins = format!("{}{prefix}", self.prefix);
        let rows = self.ask_much(|client| client.query(LIST, &[&begins]))?;
        let info = |row: &Row| {
            // Those of clusters whose names are prefixed are not this store's.
            let name = row.get::<_, &str>(0).strip_prefix(&*self.prefix);
            let name = Name::new(name?).ok()?;
            Some(from_sql(row.get(1)).map(|bytes| ImageInfo { name, bytes }))
        };
        rows.iter().filter_map(info).collect()
    }

    fn delete(&self, name: &Name) -> Result<(), StoreError> {
        let key = self.named(name);
        self.ask_much(|client| client.execute(DELETE, &[&key])).map(drop)
    }
}
