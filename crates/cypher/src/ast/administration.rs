//! Commands for a server: users, roles, databases.

use super::{Name, NameOrParameter};
use crate::secret::Secret;

/// A command for a server.
///
/// `N` names a user, role or database and `P` is a password. In a tree either may be a parameter;
/// [`resolve`](Self::resolve) puts in what it stands for.
#[derive(Debug, Clone, PartialEq)]
pub enum Administration<N = NameOrParameter, P = Password> {
    /// `CREATE [OR REPLACE] USER name [IF NOT EXISTS] SET PASSWORD ...`
    CreateUser {
        /// Who.
        name: N,
        /// What to do if there is one.
        existing: Existing,
        /// With a password.
        settings: UserSettings<N, P>,
    },
    /// `ALTER USER name [IF EXISTS] SET ...`
    AlterUser {
        /// Who.
        name: N,
        /// Do nothing if there is none.
        if_exists: bool,
        /// At least one.
        settings: UserSettings<N, P>,
    },
    /// `ALTER CURRENT USER SET PASSWORD FROM old TO new`
    SetOwnPassword {
        /// The one to be replaced.
        old: P,
        /// The one to be set.
        new: P,
    },
    /// `RENAME USER name [IF EXISTS] TO other`
    RenameUser {
        /// Who.
        name: N,
        /// Do nothing if there is none.
        if_exists: bool,
        /// What the user is called then.
        to: N,
    },
    /// `DROP USER name [IF EXISTS]`
    DropUser {
        /// Who.
        name: N,
        /// Do nothing if there is none.
        if_exists: bool,
    },
    /// `GRANT ROLE roles TO users [ON DATABASE database]`
    Grant(RoleGrant<N>),
    /// `REVOKE ROLE roles FROM users [ON DATABASE database]`
    Revoke(RoleGrant<N>),
    /// `CREATE [OR REPLACE] DATABASE name [IF NOT EXISTS]`
    CreateDatabase {
        /// Which.
        name: N,
        /// What to do if there is one.
        existing: Existing,
    },
    /// `DROP DATABASE name [IF EXISTS]`
    DropDatabase {
        /// Which.
        name: N,
        /// Do nothing if there is none.
        if_exists: bool,
    },
    /// `START DATABASE name`
    StartDatabase {
        /// Which.
        name: N,
    },
    /// `STOP DATABASE name`
    StopDatabase {
        /// Which.
        name: N,
    },
}

/// What to do if there is already what is to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// Fail.
    Refuse,
    /// `IF NOT EXISTS`: nothing.
    Keep,
    /// `OR REPLACE`: drop it first.
    Replace,
}

/// A password in a tree.
#[derive(Debug, Clone, PartialEq)]
pub enum Password {
    /// A string.
    Text(Secret),
    /// The name of the parameter, without `$`.
    Parameter(Name),
}

/// What is set of a user.
#[derive(Debug, Clone, PartialEq)]
pub struct UserSettings<N = NameOrParameter, P = Password> {
    /// `SET PASSWORD password`
    pub password: Option<P>,
    /// `SET PASSWORD ... CHANGE [NOT] REQUIRED`
    pub change_required: Option<bool>,
    /// `SET STATUS SUSPENDED`, or `ACTIVE`
    pub suspended: Option<bool>,
    /// `SET HOME DATABASE name`, `REMOVE HOME DATABASE`
    pub home: Option<Home<N>>,
}

/// What becomes of a user's home database.
#[derive(Debug, Clone, PartialEq)]
pub enum Home<N> {
    /// It is this one.
    Set(N),
    /// There is none: the default one is used.
    Remove,
}

/// Roles, who gets or loses them, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct RoleGrant<N = NameOrParameter> {
    /// At least one.
    pub roles: Vec<N>,
    /// At least one.
    pub users: Vec<N>,
    /// Where; everywhere if missing.
    pub database: Option<N>,
}

impl<N, P> Administration<N, P> {
    /// The same command with other names and passwords.
    ///
    /// # Errors
    /// The first one of `name` and `password`.
    pub fn resolve<M, Q, E>(
        &self,
        name: &mut impl FnMut(&N) -> Result<M, E>,
        password: &mut impl FnMut(&P) -> Result<Q, E>,
    ) -> Result<Administration<M, Q>, E> {
        use Administration as A;
        Ok(match self {
            A::CreateUser { name: of, existing, settings } => A::CreateUser {
                name: name(of)?,
                existing: *existing,
                settings: settings.resolve(name, password)?,
            },
            A::AlterUser { name: of, if_exists, settings } => A::AlterUser {
                name: name(of)?,
                if_exists: *if_exists,
                settings: settings.resolve(name, password)?,
            },
            A::SetOwnPassword { old, new } => {
                A::SetOwnPassword { old: password(old)?, new: password(new)? }
            }
            A::RenameUser { name: of, if_exists, to } => {
                A::RenameUser { name: name(of)?, if_exists: *if_exists, to: name(to)? }
            }
            A::DropUser { name: of, if_exists } => {
                A::DropUser { name: name(of)?, if_exists: *if_exists }
            }
            A::Grant(grant) => A::Grant(grant.resolve(name)?),
            A::Revoke(grant) => A::Revoke(grant.resolve(name)?),
            A::CreateDatabase { name: of, existing } => {
                A::CreateDatabase { name: name(of)?, existing: *existing }
            }
            A::DropDatabase { name: of, if_exists } => {
                A::DropDatabase { name: name(of)?, if_exists: *if_exists }
            }
            A::StartDatabase { name: of } => A::StartDatabase { name: name(of)? },
            A::StopDatabase { name: of } => A::StopDatabase { name: name(of)? },
        })
    }
}

impl<N, P> UserSettings<N, P> {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        let Self { password, change_required, suspended, home } = self;
        password.is_none() && change_required.is_none() && suspended.is_none() && home.is_none()
    }

    fn resolve<M, Q, E>(
        &self,
        name: &mut impl FnMut(&N) -> Result<M, E>,
        password: &mut impl FnMut(&P) -> Result<Q, E>,
    ) -> Result<UserSettings<M, Q>, E> {
        let home = match &self.home {
            None => None,
            Some(Home::Remove) => Some(Home::Remove),
            Some(Home::Set(database)) => Some(Home::Set(name(database)?)),
        };
        Ok(UserSettings {
            password: self.password.as_ref().map(password).transpose()?,
            change_required: self.change_required,
            suspended: self.suspended,
            home,
        })
    }
}

impl<N, P> Default for UserSettings<N, P> {
    /// Nothing.
    fn default() -> Self {
        Self { password: None, change_required: None, suspended: None, home: None }
    }
}

impl<N> RoleGrant<N> {
    fn resolve<M, E>(&self, name: &mut impl FnMut(&N) -> Result<M, E>) -> Result<RoleGrant<M>, E> {
        Ok(RoleGrant {
            roles: self.roles.iter().map(&mut *name).collect::<Result<_, E>>()?,
            users: self.users.iter().map(&mut *name).collect::<Result<_, E>>()?,
            database: self.database.as_ref().map(name).transpose()?,
        })
    }
}
