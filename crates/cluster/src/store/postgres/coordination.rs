//! Values in PostgreSQL. A version is never used twice: all come from one sequence.

use tokio_postgres::Row;

use super::{Failure, Postgres, from_sql, to_sql};
use crate::store::coordination::VALUE_BYTES_MAX;
use crate::store::error::check_size;
use crate::store::{Coordination, Entry, Name, PutIf, StoreError, Version};

impl Postgres {
    fn entry(&self, row: &Row) -> Result<Entry, StoreError> {
        let key: &str = row.get(0);
        let key = Name::new(key.strip_prefix(self.prefix.as_str()).unwrap_or(key))?;
        Ok(Entry { key, version: Version::from_raw(from_sql(row.get(1))?), value: row.get(2) })
    }
}

impl Coordination for Postgres {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        let key = self.named(key);
        let get = "SELECT key, version, value FROM telar.value WHERE key = $1";
        let row = self.ask(|client| client.query_opt(get, &[&key]))?;
        row.map(|row| self.entry(&row)).transpose()
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        check_size(value.len(), VALUE_BYTES_MAX)?;
        let (name, version) = (self.named(key), to_sql(expected.get())?);
        let insert = "INSERT INTO telar.value (key, version, value)
                      VALUES ($1, nextval('telar.version'), $2)
                      ON CONFLICT DO NOTHING RETURNING version";
        let update = "UPDATE telar.value SET version = nextval('telar.version'), value = $2
                      WHERE key = $1 AND version = $3 RETURNING version";
        let put = self.change(|client| match expected {
            Version::ABSENT => client.query_opt(insert, &[&name, &value]),
            _ => client.query_opt(update, &[&name, &value, &version]),
        });
        match put {
            Ok(Some(row)) => Ok(PutIf::Won(Version::from_raw(from_sql(row.get(0))?))),
            Ok(None) => Ok(PutIf::Lost(self.get(key)?)),
            Err(Failure::Unknown(cause)) => Ok(PutIf::Unknown(cause)),
            Err(Failure::NotDone(cause)) => Err(cause),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        let prefix = format!("{}{prefix}", self.prefix);
        let list = "SELECT key, version, value FROM telar.value
                    WHERE starts_with(key, $1) ORDER BY key";
        let rows = self.ask(|client| client.query(list, &[&prefix]))?;
        // Keys of other clusters have a percent sign.
        let own =
            rows.iter().filter(|row| !row.get::<_, &str>(0)[self.prefix.len()..].contains('%'));
        own.map(|row| self.entry(row)).collect()
    }
}
