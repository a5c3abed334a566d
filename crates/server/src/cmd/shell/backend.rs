//! Where statements run: in a database that the shell has opened, or on a server.

use telar_db::{Database, QueryTransaction, Session, ValueMap};
use telar_server::bolt::client::{Answer, Client};

use super::script::Trouble;

/// Where statements run.
pub(crate) enum Backend {
    Embedded(Box<Embedded>),
    Server(Box<Client>),
}

/// A database of the shell's own, and the transaction that is open in it.
pub(crate) struct Embedded {
    pub(crate) db: Database,
    pub(crate) session: Session,
    pub(crate) transaction: Option<QueryTransaction>,
}

impl Backend {
    pub(crate) fn in_transaction(&self) -> bool {
        match self {
            Self::Embedded(embedded) => embedded.transaction.is_some(),
            Self::Server(client) => client.in_transaction(),
        }
    }

    pub(crate) fn begin(&mut self) -> Result<(), Trouble> {
        match self {
            Self::Embedded(embedded) => {
                embedded.transaction = Some(embedded.session.begin()?);
            }
            Self::Server(client) => client.begin()?,
        }
        Ok(())
    }

    /// Commits the transaction, if one is open.
    pub(crate) fn commit(&mut self) -> Result<(), Trouble> {
        match self {
            Self::Embedded(embedded) => {
                embedded.transaction.take().map_or(Ok(()), |open| open.commit().map(drop))?;
            }
            Self::Server(client) => client.commit()?,
        }
        Ok(())
    }

    /// Undoes the transaction, if one is open.
    pub(crate) fn rollback(&mut self) -> Result<(), Trouble> {
        match self {
            Self::Embedded(embedded) => drop(embedded.transaction.take()),
            Self::Server(client) => client.rollback()?,
        }
        Ok(())
    }

    /// Runs a statement, in the transaction if one is open.
    pub(crate) fn run(&mut self, text: &str, parameters: &ValueMap) -> Result<Answer, Trouble> {
        Ok(match self {
            Self::Embedded(embedded) => match &mut embedded.transaction {
                Some(open) => open.run(text, parameters)?.into(),
                None => embedded.session.run_with(text, parameters)?.into(),
            },
            Self::Server(client) => client.run(text, parameters)?,
        })
    }

    /// The names of labels, relationship types and property keys.
    pub(crate) fn names(&mut self) -> Result<[Vec<String>; 3], Trouble> {
        if let Self::Embedded(embedded) = self {
            let db = &embedded.db;
            let types = db.edge_types().into_iter().map(|(name, _)| name).collect();
            return Ok([db.labels(), types, db.property_keys()].map(|mut names: Vec<String>| {
                names.retain(|name| !name.is_empty());
                names
            }));
        }
        let mut names = |procedure: &str| -> Result<Vec<String>, Trouble> {
            let answer = self.run(&format!("CALL {procedure}()"), &ValueMap::new())?;
            let name = |value| match value {
                telar_db::Value::String(name) => Some(name.to_string()),
                _ => None,
            };
            Ok(answer.rows.into_iter().flatten().filter_map(name).collect())
        };
        Ok([names("db.labels")?, names("db.relationshipTypes")?, names("db.propertyKeys")?])
    }
}
