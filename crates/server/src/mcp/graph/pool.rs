//! Connections to a server, over Bolt.

use std::sync::Arc;

use parking_lot::Mutex;
use telar_db::ValueMap;

use super::{Answered, Flag};
use crate::bolt::client::{self, Address, Client, Login};
use crate::mcp::Settings;
use crate::mcp::failure::Failure;
use crate::mcp::gather::{Gather, Room};

/// Connections to a server.
pub(super) struct Pool {
    pub(super) address: Address,
    login: Login,
    database: Option<String>,
    idle: Mutex<Vec<Client>>,
}

/// A connection of a pool, which gets it back.
pub(super) struct Lent<'p> {
    pool: &'p Pool,
    client: Option<Client>,
}

impl Pool {
    /// Connections of this user, of which one is made at once.
    ///
    /// # Errors
    /// If the server cannot be connected to, or does not let the user in.
    pub(super) fn new(
        address: Address,
        login: Login,
        database: Option<String>,
    ) -> Result<Self, client::Error> {
        let pool = Self { address, login, database, idle: Mutex::default() };
        let client = pool.connect(&Flag::default())?;
        pool.idle.lock().push(client);
        Ok(pool)
    }

    /// A connection on which a transaction was begun. One that the server has closed while it was
    /// idle is found out by this, and replaced.
    pub(super) fn begin(
        &self,
        settings: &Settings,
        flag: &Flag,
        write: bool,
    ) -> Result<Lent<'_>, Failure> {
        loop {
            let idle = self.idle.lock().pop();
            let was_idle = idle.is_some();
            let mut client = match idle {
                Some(client) => client,
                None => self.connect(flag)?,
            };
            client.set_interrupt(Arc::clone(flag));
            client.set_read_only(!write);
            client.set_timeout(Some(settings.timeout));
            match client.begin() {
                Err(client::Error::Lost(_)) if was_idle => {}
                begun => {
                    let lent = Lent { pool: self, client: Some(client) };
                    return begun.map(|()| lent).map_err(Failure::from);
                }
            }
        }
    }

    fn connect(&self, flag: &Flag) -> Result<Client, client::Error> {
        let (address, login) = (self.address.clone(), self.login.clone());
        Client::connect(address, login, self.database.clone(), Arc::clone(flag))
    }
}

impl Lent<'_> {
    pub(super) fn client(&mut self) -> &mut Client {
        self.client.as_mut().expect("INVARIANT: it is there until the end")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let Some(mut client) = self.client.take() else { return };
        if client.in_transaction() {
            // The flag that ended the call is not to end this.
            client.set_interrupt(Flag::default());
            if client.rollback().is_err() {
                return;
            }
        }
        self.pool.idle.lock().push(client);
    }
}

/// Runs a statement on a connection.
///
/// # Errors
/// Those of the statement.
pub(super) fn run(
    client: &mut Client,
    text: &str,
    parameters: &ValueMap,
    room: Room,
) -> Result<Answered, Failure> {
    // One more says that there are more.
    let answer = client.run_first(text, parameters, room.rows + 1)?;
    Answered::of_answer(Gather::new(room), answer)
}
