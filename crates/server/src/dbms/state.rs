//! Users, grants and databases: one value, of which every change makes a new one.
//!
//! Nothing here touches a file or a database. [`State::apply`] says what a command makes of the
//! state; [`Dbms`](super::Dbms) brings files and open databases in line with it.
//!
//! Invariants: names are valid (`names.rs`); each user number and folder is given once; a grant
//! names a database that there is, or none; there is a user who can log in and has the role admin.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use telar_db::query::cypher::ast::{Administration, Existing, Home, RoleGrant, UserSettings};
use telar_db::query::{QueryError, ShownPrivilege};

use super::failure::{database_exists, forbidden, invalid, no_database};
use super::names::{self, ALIAS};

/// A command whose passwords are hashed.
pub(super) type Command = Administration<std::sync::Arc<str>, String>;

/// What a user may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Role {
    /// Read data and schema.
    Reader,
    /// And change them.
    Writer,
    /// And users, databases, and what others run.
    Admin,
}

impl Role {
    pub(super) const NAMES: [&'static str; 3] = ["admin", "reader", "writer"];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Admin => "admin",
        }
    }

    /// What the role allows, in the words of Neo4j's privileges.
    pub(super) fn privileges(self) -> Vec<ShownPrivilege> {
        let of = |action, resource, segment| ShownPrivilege { action, resource, segment };
        let mut all = vec![
            of("access", "database", "database"),
            of("match", "all_properties", "NODE(*)"),
            of("match", "all_properties", "RELATIONSHIP(*)"),
            of("execute", "database", "PROCEDURE(*)"),
            of("show_index", "database", "database"),
            of("show_constraint", "database", "database"),
        ];
        if self >= Self::Writer {
            all.extend([
                of("write", "graph", "NODE(*)"),
                of("write", "graph", "RELATIONSHIP(*)"),
                of("token", "database", "database"),
                of("index", "database", "database"),
                of("constraint", "database", "database"),
            ]);
        }
        if self == Self::Admin {
            all.push(of("transaction_management", "database", "USER(*)"));
            all.push(of("dbms_actions", "database", "database"));
        }
        all
    }

    pub(super) fn parse(name: &str) -> Result<Self, QueryError> {
        let all = [Self::Reader, Self::Writer, Self::Admin];
        all.into_iter().find(|role| role.name() == name).ok_or_else(|| {
            let roles = "there are reader, writer and admin";
            invalid(format!("there is no role named '{name}': {roles}"))
        })
    }
}

/// A role, and where it holds.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Grant {
    pub(super) role: Role,
    /// Everywhere, if there is none.
    pub(super) database: Option<String>,
}

/// Who may log in.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct User {
    /// Given once: a user who is dropped and made again is another one.
    pub(super) number: u64,
    /// The password, as argon2 writes it.
    pub(super) hash: String,
    pub(super) change_required: bool,
    pub(super) suspended: bool,
    pub(super) home: Option<String>,
    pub(super) grants: BTreeSet<Grant>,
}

impl User {
    /// What the user may do in a database, if anything.
    pub(super) fn role_in(&self, database: &str) -> Option<Role> {
        let holds = |grant: &&Grant| grant.database.as_ref().is_none_or(|of| of == database);
        self.grants.iter().filter(holds).map(|grant| grant.role).max()
    }

    /// Whether the user may act for others.
    pub(super) fn may_impersonate(&self) -> bool {
        self.is_admin() && !self.change_required
    }

    pub(super) fn is_admin(&self) -> bool {
        self.grants.iter().any(|grant| grant.role == Role::Admin)
    }
}

/// A database beside the default one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// Its folder, given once: a database that is dropped and made again has another one.
    pub(super) folder: String,
    pub(super) online: bool,
}

/// Everything that a server knows beside its graphs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct State {
    /// The format of this file.
    pub(super) format: u32,
    /// The next number for a user or folder.
    pub(super) next: u64,
    pub(super) users: BTreeMap<String, User>,
    pub(super) databases: BTreeMap<String, Entry>,
    /// Folders of no database: of one that is being made, or was dropped.
    pub(super) garbage: BTreeSet<String>,
}

/// Who gives a command, and what it cannot touch.
pub(super) struct Given<'a> {
    pub(super) by: &'a str,
    /// The name of the default database.
    pub(super) default: &'a str,
}

impl State {
    pub(super) const FORMAT: u32 = 1;

    /// The user there is on the first start.
    pub(super) const FIRST_USER: &str = "neo4j";

    /// The state of these bytes: JSON.
    ///
    /// # Errors
    /// What is wrong with them.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |e: serde_json::Error| format!("it is damaged: {e}");
        let json: serde_json::Value = serde_json::from_slice(bytes).map_err(damaged)?;
        match json["format"].as_u64() {
            Some(format) if format > u64::from(Self::FORMAT) => {
                Err(format!("it is of format {format}, of a newer program"))
            }
            _ => serde_json::from_value(json).map_err(damaged),
        }
    }

    /// The state on the first start: one user, who may do everything.
    pub(super) fn first(hash: String, change_required: bool) -> Self {
        let admin = Grant { role: Role::Admin, database: None };
        let user = User {
            number: 0,
            hash,
            change_required,
            suspended: false,
            home: None,
            grants: BTreeSet::from([admin]),
        };
        Self {
            format: Self::FORMAT,
            next: 1,
            users: BTreeMap::from([(Self::FIRST_USER.to_owned(), user)]),
            databases: BTreeMap::new(),
            garbage: BTreeSet::new(),
        }
    }

    /// Takes grants and homes away that name a database that there is none of.
    pub(super) fn forget_missing(&mut self, default: &str) {
        let Self { users, databases, .. } = self;
        let there = |name: &String| name == default || databases.contains_key(name);
        for user in users.values_mut() {
            user.grants.retain(|grant| grant.database.as_ref().is_none_or(there));
            user.home = user.home.take().filter(there);
        }
    }

    /// The next number for a user or folder.
    pub(super) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next - 1
    }

    /// Does a command. Whether anything has changed.
    ///
    /// # Errors
    /// If it cannot be done; the state is then worth nothing.
    pub(super) fn apply(
        &mut self,
        command: &Command,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        use Administration as A;
        let changed = match command {
            A::CreateUser { name, existing, settings } => {
                self.create_user(name, *existing, settings, given)
            }
            A::AlterUser { name, if_exists, settings } => {
                self.alter_user(name, *if_exists, settings, given)
            }
            A::SetOwnPassword { old, new } => self.set_own_password(old, new, given),
            A::RenameUser { name, if_exists, to } => self.rename_user(name, *if_exists, to),
            A::DropUser { name, if_exists } => self.drop_user(name, *if_exists, given),
            A::Grant(grant) => self.grant(grant, true, given),
            A::Revoke(grant) => self.grant(grant, false, given),
            A::CreateDatabase { name, existing } => self.create_database(name, *existing, given),
            A::DropDatabase { name, if_exists } => self.drop_database(name, *if_exists, given),
            A::StartDatabase { name } => self.switch_database(name, true, given),
            A::StopDatabase { name } => self.switch_database(name, false, given),
        }?;
        let can_administer = |user: &User| user.is_admin() && !user.suspended;
        if !self.users.values().any(can_administer) {
            return Err(forbidden("after this nobody could administer the server"));
        }
        Ok(changed)
    }

    fn user_mut(&mut self, name: &str) -> Result<&mut User, QueryError> {
        let found = self.users.get_mut(name);
        found.ok_or_else(|| invalid(format!("there is no user named '{name}'")))
    }

    fn create_user(
        &mut self,
        name: &str,
        existing: Existing,
        settings: &UserSettings<std::sync::Arc<str>, String>,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        names::check_user(name)?;
        match (self.users.contains_key(name), existing) {
            (true, Existing::Refuse) => {
                return Err(invalid(format!("there is already a user named '{name}'")));
            }
            (true, Existing::Keep) => return Ok(false),
            (true, Existing::Replace) => drop(self.drop_user(name, false, given)?),
            (false, _) => {}
        }
        let Some(hash) = settings.password.clone() else {
            return Err(invalid("a user needs a password"));
        };
        let user = User {
            number: self.number(),
            hash,
            change_required: settings.change_required.unwrap_or(true),
            suspended: settings.suspended.unwrap_or(false),
            home: self.home(settings, given)?.flatten(),
            grants: BTreeSet::new(),
        };
        self.users.insert(name.to_owned(), user);
        Ok(true)
    }

    /// The home that is set; the inner option is none if it is removed.
    fn home(
        &self,
        settings: &UserSettings<std::sync::Arc<str>, String>,
        given: &Given<'_>,
    ) -> Result<Option<Option<String>>, QueryError> {
        match &settings.home {
            None => Ok(None),
            Some(Home::Remove) => Ok(Some(None)),
            Some(Home::Set(name)) => self.known(name, given).map(|name| Some(Some(name))),
        }
    }

    fn alter_user(
        &mut self,
        name: &str,
        if_exists: bool,
        settings: &UserSettings<std::sync::Arc<str>, String>,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        if if_exists && !self.users.contains_key(name) {
            return Ok(false);
        }
        if name == given.by && settings.suspended.is_some() {
            return Err(forbidden("nobody can change his own status"));
        }
        let home = self.home(settings, given)?;
        let user = self.user_mut(name)?;
        if let Some(hash) = &settings.password {
            user.hash.clone_from(hash);
            user.change_required = true;
        }
        user.change_required = settings.change_required.unwrap_or(user.change_required);
        user.suspended = settings.suspended.unwrap_or(user.suspended);
        if let Some(home) = home {
            user.home = home;
        }
        Ok(true)
    }

    fn set_own_password(
        &mut self,
        old: &str,
        new: &str,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        let user = self.user_mut(given.by)?;
        // Verified against this one before the command came here.
        if user.hash != old {
            return Err(invalid("the password has been changed meanwhile"));
        }
        new.clone_into(&mut user.hash);
        user.change_required = false;
        Ok(true)
    }

    /// The user's number stays; sessions that know him by the old name do not.
    fn rename_user(&mut self, name: &str, if_exists: bool, to: &str) -> Result<bool, QueryError> {
        names::check_user(to)?;
        if if_exists && !self.users.contains_key(name) {
            return Ok(false);
        }
        self.user_mut(name)?;
        if self.users.contains_key(to) {
            return Err(invalid(format!("there is already a user named '{to}'")));
        }
        let user = self.users.remove(name);
        Ok(user.map(|user| self.users.insert(to.to_owned(), user)).is_some())
    }

    fn drop_user(
        &mut self,
        name: &str,
        if_exists: bool,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        if name == given.by {
            return Err(forbidden("nobody can drop himself"));
        }
        if if_exists && !self.users.contains_key(name) {
            return Ok(false);
        }
        self.user_mut(name)?;
        Ok(self.users.remove(name).is_some())
    }

    fn grant(
        &mut self,
        grant: &RoleGrant<std::sync::Arc<str>>,
        give: bool,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        let database = grant.database.as_ref().map(|name| self.known(name, given)).transpose()?;
        let mut changed = false;
        for role in &grant.roles {
            let role = Role::parse(role)?;
            if role == Role::Admin && database.is_some() {
                return Err(invalid("the role admin holds everywhere: leave out ON DATABASE"));
            }
            for name in &grant.users {
                let user = self.user_mut(name)?;
                let grant = Grant { role, database: database.clone() };
                changed |= match give {
                    true => user.grants.insert(grant),
                    false => user.grants.remove(&grant),
                };
            }
        }
        Ok(changed)
    }

    /// The name of a database that there is.
    fn known(&self, name: &str, given: &Given<'_>) -> Result<String, QueryError> {
        let lower = name.to_ascii_lowercase();
        match lower == given.default || lower == ALIAS {
            true => Ok(given.default.to_owned()),
            false if self.databases.contains_key(&lower) => Ok(lower),
            false => Err(no_database(name)),
        }
    }

    /// The name of a database that is not the default one.
    fn other(name: &str, given: &Given<'_>) -> Result<String, QueryError> {
        let lower = name.to_ascii_lowercase();
        if lower == given.default || lower == ALIAS {
            let message = format!("'{name}' is the default database, which is always there");
            return Err(invalid(message));
        }
        Ok(lower)
    }

    fn create_database(
        &mut self,
        name: &str,
        existing: Existing,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        let lower = names::database(name)?;
        match (self.known(&lower, given).is_ok(), existing) {
            (true, Existing::Refuse) => return Err(database_exists(name)),
            (true, Existing::Keep) => return Ok(false),
            (true, Existing::Replace) => drop(self.drop_database(name, false, given)?),
            (false, _) => {}
        }
        let folder = format!("{lower}-{}", self.number());
        self.databases.insert(lower, Entry { folder, online: true });
        Ok(true)
    }

    fn drop_database(
        &mut self,
        name: &str,
        if_exists: bool,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        let lower = Self::other(name, given)?;
        match self.databases.remove(&lower) {
            Some(entry) => {
                self.garbage.insert(entry.folder);
            }
            None if if_exists => return Ok(false),
            None => return Err(no_database(name)),
        }
        // Whoever makes one of this name again says who may use it.
        for user in self.users.values_mut() {
            user.grants.retain(|grant| grant.database.as_ref() != Some(&lower));
        }
        Ok(true)
    }

    fn switch_database(
        &mut self,
        name: &str,
        online: bool,
        given: &Given<'_>,
    ) -> Result<bool, QueryError> {
        let lower = Self::other(name, given)?;
        let entry = self.databases.get_mut(&lower).ok_or_else(|| no_database(name))?;
        Ok(std::mem::replace(&mut entry.online, online) != online)
    }
}
