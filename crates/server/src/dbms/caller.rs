//! Who runs a statement, and what that one may do: the server as queries see it.

use std::sync::Arc;

use parking_lot::Mutex;
use telar_db::query::cypher::Secret;
use telar_db::query::cypher::ast::Administration;
use telar_db::query::{
    Counters, ErrorKind, Host, Prepared, QueryError, Routes, Running, ServerCommand,
    ShownConnection, ShownDatabase, ShownPrivilege, ShownServer, ShownSetting, ShownSlow,
    ShownUser,
};

use super::Dbms;
use super::audit::Event;
use super::client::Peer;
use super::failure::{forbidden, invalid, server_error};
use super::names::{ALIAS, SYSTEM};
use super::passwords::Attempt;
use super::state::{Command, Given, Role, State, User};
use super::stranger;

/// Who somebody is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Identity {
    /// Nobody has to log in, and everybody may do everything.
    Anyone,
    /// A user.
    User { name: Arc<str>, number: u64 },
}

impl Identity {
    pub(super) fn name(&self) -> Arc<str> {
        match self {
            Self::Anyone => Arc::default(),
            Self::User { name, .. } => Arc::clone(name),
        }
    }

    /// The user, as long as there is one, with the rights of this moment; none for anyone.
    ///
    /// # Errors
    /// If the user was dropped or suspended since.
    pub(super) fn user<'s>(&self, state: &'s State) -> Result<Option<&'s User>, QueryError> {
        let Self::User { name, number } = self else { return Ok(None) };
        match state.users.get(&**name) {
            Some(user) if user.number == *number && !user.suspended => Ok(Some(user)),
            _ => {
                let message = "the user is no longer there: log in again";
                Err(server_error(ErrorKind::AuthorizationExpired, message))
            }
        }
    }
}

/// Who runs statements in one database, by itself or in a transaction.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) dbms: Arc<Dbms>,
    pub(super) peer: Arc<Peer>,
    /// With whose rights.
    pub(super) identity: Identity,
    /// The administrator who acts on behalf of the former.
    pub(super) actor: Option<Identity>,
    pub(super) database: Arc<str>,
    /// The least role that all that was allowed so far needs.
    pub(super) needed: Mutex<Option<Role>>,
    /// Set in a transaction of several statements.
    pub(super) transaction: Option<Mutex<Pending>>,
}

/// What a transaction did so far. Commands for the server wait for its commit, and come alone: they
/// and the graph could not be changed in one step.
#[derive(Debug, Default)]
pub(super) struct Pending {
    commands: Vec<Command>,
    texts: Vec<String>,
    writes: bool,
}

fn mixed() -> QueryError {
    let message = "a transaction cannot both change the graph and give commands to the server";
    server_error(ErrorKind::TransactionType, message)
}

pub(super) fn expired() -> QueryError {
    let message = "Permission denied.\n\nThe credentials you provided were valid, but must be \
                   changed before you can use this instance. If this is the first time you are \
                   using Telar, this is to ensure you are not using the default credentials in \
                   production. If you are not using default credentials, you are getting this \
                   message because an administrator requires a password change.\nChanging your \
                   password is easy to do via `ALTER CURRENT USER SET PASSWORD FROM 'current \
                   password' TO 'new password'`.";
    server_error(ErrorKind::CredentialsExpired, message)
}

impl Caller {
    pub(super) fn is_system(&self) -> bool {
        *self.database == *SYSTEM
    }

    /// Whether a name is that of the database that is used.
    pub(super) fn is_here(&self, name: &str) -> bool {
        *name == *self.database || (name == ALIAS && self.database == *self.dbms.default_name())
    }

    /// The user with whose rights statements run, if anybody has any, as long as all who are part
    /// of it are there.
    ///
    /// # Errors
    /// If the user was dropped or suspended since, or the one who acts for the user was, or may not
    /// any more.
    fn current<'s>(&self, state: &'s State) -> Result<Option<&'s User>, QueryError> {
        if let Some(actor) = &self.actor
            && actor.user(state)?.is_some_and(|user| !user.may_impersonate())
        {
            let (actor, name) = (actor.name(), self.identity.name());
            let message = format!("user '{actor}' may no longer act for user '{name}'");
            return Err(forbidden(message));
        }
        self.identity.user(state)
    }

    /// Refuses what somebody without any role may not even have planned, wherever it is to run.
    pub(super) fn admit_anywhere(&self, text: &str) -> Result<(), QueryError> {
        let state = self.dbms.state();
        match self.current(&state)? {
            Some(user) if user.grants.is_empty() => {
                let admitted = stranger::admit(text, &self.identity.name(), &self.database);
                admitted.map_err(|error| if user.change_required { expired() } else { error })
            }
            _ => Ok(()),
        }
    }

    /// Notes that something was allowed to those who have this role.
    fn note(&self, needed: Role) {
        let mut noted = self.needed.lock();
        *noted = (*noted).max(Some(needed));
    }

    /// Refuses with a message that names the user and the roles that were not enough.
    fn refuse(&self, what: &str, user: &User) -> QueryError {
        let held = user.grants.iter().map(|grant| match &grant.database {
            None => grant.role.name().to_owned(),
            Some(database) => format!("{} on {database}", grant.role.name()),
        });
        let held = held.collect::<Vec<_>>().join(", ");
        let name = self.identity.name();
        forbidden(format!("{what} is not allowed for user '{name}' with roles [{held}]"))
    }

    /// What the caller may do here, if anything; none for the system database.
    fn role(&self, user: &User) -> Option<Role> {
        user.role_in(&self.database)
    }

    fn given<'a>(&'a self, by: &'a str) -> Given<'a> {
        Given { by, default: self.dbms.default_name() }
    }

    /// Hashes the passwords of a command, and compares the old one.
    fn hashed(&self, command: &ServerCommand) -> Result<Command, QueryError> {
        let passwords = &self.dbms.passwords;
        let Administration::SetOwnPassword { old, new } = command else {
            return command.resolve(&mut |name| Ok(name.clone()), &mut |password: &Secret| {
                passwords.hash(password)
            });
        };
        let state = self.dbms.state();
        let Some(user) = self.current(&state)? else {
            return Err(invalid("nobody logs in here: there is no password to be changed"));
        };
        let name = self.identity.name();
        let attempts = &self.dbms.attempts;
        attempts.check(&name)?;
        let stored = Some(&*user.hash);
        let address = self.peer.address.map(|address| address.ip().to_canonical());
        let attempt = Attempt { user: &name, password: old.reveal(), stored, address };
        let verified = passwords.verify(&attempt, || attempts.check(&name))?;
        if !verified.right {
            attempts.failed(&name, true);
            return Err(invalid("the old password is wrong"));
        }
        if old.reveal() == new.reveal() {
            return Err(invalid("Old password and new password cannot be the same."));
        }
        Ok(Command::SetOwnPassword { old: user.hash.clone(), new: passwords.hash(new)? })
    }

    fn audit(&self, text: &str, error: Option<&'static str>) {
        let name = self.identity.name();
        let actor = self.actor.as_ref().map(Identity::name);
        let (user, on_behalf_of) = match &actor {
            None => (&*name, None),
            Some(actor) => (&**actor, Some(&*name)),
        };
        let (command, database) = (Some(text), Some(&*self.database));
        let event = Event { event: "command", error, user, on_behalf_of, database, command };
        self.dbms.audit.write(&self.peer, &event);
    }

    /// Executes commands, all or none, with the rights of this moment.
    fn execute(&self, commands: &[Command], texts: &[String]) -> Result<u64, QueryError> {
        let name = self.identity.name();
        let may = |state: &State| {
            let user = self.current(state)?;
            let own = |command: &Command| matches!(command, Command::SetOwnPassword { .. });
            match user {
                Some(user) if !user.is_admin() && !commands.iter().all(own) => {
                    Err(self.refuse("administering the server", user))
                }
                _ => Ok(()),
            }
        };
        let done = self.dbms.execute(commands, &self.given(&name), may);
        let error = done.as_ref().err().map(QueryError::code);
        texts.iter().for_each(|text| self.audit(text, error));
        done
    }

    /// Executes what the transaction has given to the server.
    pub(super) fn commit(&self) -> Result<(), QueryError> {
        let Some(pending) = &self.transaction else { return Ok(()) };
        let Pending { commands, texts, .. } = std::mem::take(&mut *pending.lock());
        if commands.is_empty() {
            return Ok(());
        }
        self.execute(&commands, &texts).map(|_| ())
    }

    /// What a statement wants to do, and whether `user` may.
    fn check(&self, plan: &Prepared, user: &User) -> Result<(), QueryError> {
        if let Some(command) = plan.administration() {
            let own = matches!(command, Administration::SetOwnPassword { .. });
            return match own || user.is_admin() {
                true => Ok(()),
                false => {
                    let refused = self.refuse("administering the server", user);
                    self.audit(plan.text(), Some(refused.code()));
                    Err(refused)
                }
            };
        }
        // What is left there for those without a role has been looked at.
        if plan.asks_only_server() || (self.is_system() && self.role(user).is_none()) {
            return Ok(());
        }
        let changes = plan.writes() || plan.changes_schema();
        let (needed, what) = match changes && !plan.explains() {
            true => (Role::Writer, "changing"),
            false => (Role::Reader, "reading"),
        };
        match self.role(user) {
            Some(role) if role >= needed => {
                self.note(needed);
                Ok(())
            }
            _ => Err(self.refuse(&format!("{what} the database '{}'", self.database), user)),
        }
    }
}

impl Host for Caller {
    fn admit(&self, text: &str) -> Result<(), QueryError> {
        let state = self.dbms.state();
        match self.current(&state)? {
            Some(user) if self.role(user).is_none() => {
                let admitted = stranger::admit(text, &self.identity.name(), &self.database);
                admitted.map_err(|error| if user.change_required { expired() } else { error })
            }
            _ => Ok(()),
        }
    }

    fn still_allows(&self) -> Result<(), QueryError> {
        let state = self.dbms.state();
        let Some(user) = self.current(&state)? else { return Ok(()) };
        match *self.needed.lock() {
            None => Ok(()),
            Some(_) if user.change_required => Err(expired()),
            Some(needed) if self.role(user) >= Some(needed) => Ok(()),
            Some(_) => Err(self.refuse(&format!("going on in '{}'", self.database), user)),
        }
    }

    fn allow(&self, plan: &Prepared) -> Result<(), QueryError> {
        let changes = plan.writes() || plan.changes_schema();
        if let Some(name) = plan.database().filter(|name| !self.is_here(name)) {
            let own = &self.database;
            let message = format!("a transaction has one database: this one {own}, not {name}");
            return Err(server_error(ErrorKind::TransactionType, message));
        }
        let state = self.dbms.state();
        if let Some(user) = self.current(&state)? {
            let own = matches!(plan.administration(), Some(Administration::SetOwnPassword { .. }));
            if user.change_required && !own {
                return Err(expired());
            }
            self.check(plan, user)?;
        }
        if plan.explains() {
            return Ok(());
        }
        if self.is_system() && changes {
            let message = "the system database holds no graph: it takes commands for the server";
            return Err(server_error(ErrorKind::NotSystemDatabase, message));
        }
        if let Some(pending) = &self.transaction {
            let mut pending = pending.lock();
            let administers = plan.administration().is_some();
            if (changes && !pending.commands.is_empty()) || (administers && pending.writes) {
                return Err(mixed());
            }
            pending.writes |= changes;
        }
        Ok(())
    }

    fn administer(&self, command: &ServerCommand, text: &str) -> Result<Counters, QueryError> {
        let hashed = self.hashed(command).inspect_err(|e| self.audit(text, Some(e.code())))?;
        let mut counters = Counters::default();
        let Some(pending) = &self.transaction else {
            counters.system_updates = self.execute(&[hashed], &[text.to_owned()])?;
            return Ok(counters);
        };
        let mut pending = pending.lock();
        // What is wrong with it is said now; it is done with the commit.
        let name = self.identity.name();
        let mut state = State::clone(&self.dbms.state());
        for before in &pending.commands {
            state.apply(before, &self.given(&name))?;
        }
        counters.system_updates = u64::from(state.apply(&hashed, &self.given(&name))?);
        pending.commands.push(hashed);
        pending.texts.push(text.to_owned());
        Ok(counters)
    }

    fn databases(&self) -> Vec<ShownDatabase> {
        let state = self.dbms.state();
        let Ok(user) = self.current(&state) else { return Vec::new() };
        let visible = |name: &str| user.is_none_or(|user| user.role_in(name).is_some());
        let home = self.dbms.home(&state, user);
        let mut shown = self.dbms.shown(&state, &home);
        shown.retain(|database| *database.name == *SYSTEM || visible(&database.name));
        shown
    }

    fn users(&self, only_current: bool) -> Result<Vec<ShownUser>, QueryError> {
        let state = self.dbms.state();
        let current = self.current(&state)?;
        if let Some(user) = current
            && !only_current
            && !user.is_admin()
        {
            return Err(self.refuse("seeing all users", user));
        }
        let own = self.identity.name();
        let wanted = |name: &str| !only_current || (current.is_some() && *name == *own);
        let shown = |(name, user): (&String, &User)| ShownUser {
            name: name.as_str().into(),
            grants: user
                .grants
                .iter()
                .map(|grant| (grant.role.name(), grant.database.as_deref().map(Arc::from)))
                .collect(),
            change_required: user.change_required,
            suspended: user.suspended,
            home: user.home.as_deref().map(Arc::from),
        };
        Ok(state.users.iter().filter(|(name, _)| wanted(name)).map(shown).collect())
    }

    fn roles(&self) -> &'static [&'static str] {
        &Role::NAMES
    }

    fn privileges(&self, role: &str) -> Vec<ShownPrivilege> {
        Role::parse(role).map(Role::privileges).unwrap_or_default()
    }

    fn settings(&self) -> Result<Vec<ShownSetting>, QueryError> {
        let state = self.dbms.state();
        match self.identity.user(&state)? {
            Some(user) if !user.is_admin() => Err(self.refuse("seeing settings", user)),
            _ => Ok(self.dbms.settings().shown.to_vec()),
        }
    }

    fn servers(&self) -> Result<Vec<ShownServer>, QueryError> {
        let state = self.dbms.state();
        match self.identity.user(&state)? {
            Some(user) if !user.is_admin() => Err(self.refuse("seeing servers", user)),
            _ => Ok(self.dbms.servers()),
        }
    }

    fn running(&self) -> Vec<(Arc<str>, Arc<Running>)> {
        let running = |database: Arc<super::Database>| {
            (Arc::clone(database.name()), Arc::clone(database.runtime().running()))
        };
        self.dbms.databases().into_iter().map(running).collect()
    }

    fn connections(&self) -> Vec<ShownConnection> {
        let (own, all) = (self.identity.name(), self.is_admin());
        self.dbms.clients.shown(|user| all || *user == *own)
    }

    fn slow(&self) -> Vec<ShownSlow> {
        let own = (!self.is_admin()).then_some(&self.identity);
        self.dbms.slow.shown(own)
    }

    fn routes(&self, database: &str, asked: Option<&str>) -> Option<Routes> {
        self.dbms.routes(database, asked)
    }

    fn end_connection(&self, id: &str) -> Option<Arc<str>> {
        let (own, all) = (self.identity.name(), self.is_admin());
        self.dbms.clients.end(id, |user| all || *user == *own)
    }

    fn is_admin(&self) -> bool {
        let state = self.dbms.state();
        self.current(&state).is_ok_and(|user| user.is_none_or(User::is_admin))
    }

    fn user(&self) -> Arc<str> {
        self.identity.name()
    }
}
