//! The place where statements run: a database that the shell has opened, another process that
//! shares it, or a server.

use telar_db::ValueMap;
use telar_db::query::{Columns, QueryResult};
use telar_server::bolt::client::{Answer, Client};
use telar_share::{Session, Statement, Transaction};

use super::script::Trouble;

/// Where statements run.
pub(crate) enum Backend {
    Embedded(Box<Embedded>),
    Server(Box<Client>),
}

/// A database in a folder or in memory, and the transaction that is open in it.
pub(crate) struct Embedded {
    pub(crate) session: Session,
    pub(crate) transaction: Option<Transaction>,
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
            Self::Embedded(embedded) => {
                let (statement, mut rows) = (Statement::new(text, parameters), Columns::default());
                let summary = match &mut embedded.transaction {
                    Some(open) => open.stream(&statement, &mut rows)?,
                    None => embedded.session.run(&statement, &mut rows)?,
                };
                QueryResult::of_columns(&rows, summary).into()
            }
            Self::Server(client) => client.run(text, parameters)?,
        })
    }

    /// The names of labels, relationship types and property keys.
    pub(crate) fn names(&mut self) -> Result<[Vec<String>; 3], Trouble> {
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
