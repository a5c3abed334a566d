//! Commands for a server as text. Passwords are masked.

use std::fmt::{self, Formatter};

use super::{name_or_parameter, parameter, separated};
use crate::ast::{Administration, Existing, Home, Password, RoleGrant, UserSettings};
use crate::secret::MASK;

pub(super) fn administration(f: &mut Formatter<'_>, command: &Administration) -> fmt::Result {
    use Administration as A;
    match command {
        A::CreateUser { name, existing, settings } => {
            f.write_str(if *existing == Existing::Replace {
                "CREATE OR REPLACE USER "
            } else {
                "CREATE USER "
            })?;
            name_or_parameter(f, name)?;
            f.write_str(if *existing == Existing::Keep { " IF NOT EXISTS" } else { "" })?;
            user_settings(f, settings)
        }
        A::AlterUser { name, if_exists, settings } => {
            f.write_str("ALTER USER ")?;
            name_or_parameter(f, name)?;
            f.write_str(if *if_exists { " IF EXISTS" } else { "" })?;
            user_settings(f, settings)
        }
        A::SetOwnPassword { old, new } => {
            f.write_str("ALTER CURRENT USER SET PASSWORD FROM ")?;
            password(f, old)?;
            f.write_str(" TO ")?;
            password(f, new)
        }
        A::RenameUser { name, if_exists, to } => {
            f.write_str("RENAME USER ")?;
            name_or_parameter(f, name)?;
            f.write_str(if *if_exists { " IF EXISTS TO " } else { " TO " })?;
            name_or_parameter(f, to)
        }
        A::DropUser { name, if_exists } => {
            f.write_str("DROP USER ")?;
            name_or_parameter(f, name)?;
            f.write_str(if *if_exists { " IF EXISTS" } else { "" })
        }
        A::Grant(grant) => {
            f.write_str("GRANT ROLE ")?;
            role_grant(f, grant, " TO ")
        }
        A::Revoke(grant) => {
            f.write_str("REVOKE ROLE ")?;
            role_grant(f, grant, " FROM ")
        }
        A::CreateDatabase { name, existing } => {
            f.write_str(if *existing == Existing::Replace {
                "CREATE OR REPLACE DATABASE "
            } else {
                "CREATE DATABASE "
            })?;
            name_or_parameter(f, name)?;
            f.write_str(if *existing == Existing::Keep { " IF NOT EXISTS" } else { "" })
        }
        A::DropDatabase { name, if_exists } => {
            f.write_str("DROP DATABASE ")?;
            name_or_parameter(f, name)?;
            f.write_str(if *if_exists { " IF EXISTS" } else { "" })
        }
        A::StartDatabase { name } => {
            f.write_str("START DATABASE ")?;
            name_or_parameter(f, name)
        }
        A::StopDatabase { name } => {
            f.write_str("STOP DATABASE ")?;
            name_or_parameter(f, name)
        }
    }
}

fn password(f: &mut Formatter<'_>, of: &Password) -> fmt::Result {
    match of {
        Password::Text(_) => write!(f, "'{MASK}'"),
        Password::Parameter(name) => parameter(f, name),
    }
}

fn user_settings(f: &mut Formatter<'_>, settings: &UserSettings) -> fmt::Result {
    let UserSettings { password: secret, change_required, suspended, home } = settings;
    if secret.is_some() || change_required.is_some() {
        f.write_str(" SET PASSWORD")?;
    }
    if let Some(secret) = secret {
        f.write_str(" ")?;
        password(f, secret)?;
    }
    f.write_str(match change_required {
        None => "",
        Some(true) => " CHANGE REQUIRED",
        Some(false) => " CHANGE NOT REQUIRED",
    })?;
    f.write_str(match suspended {
        None => "",
        Some(true) => " SET STATUS SUSPENDED",
        Some(false) => " SET STATUS ACTIVE",
    })?;
    match home {
        None => Ok(()),
        Some(Home::Remove) => f.write_str(" REMOVE HOME DATABASE"),
        Some(Home::Set(name)) => {
            f.write_str(" SET HOME DATABASE ")?;
            name_or_parameter(f, name)
        }
    }
}

fn role_grant(f: &mut Formatter<'_>, grant: &RoleGrant, link: &str) -> fmt::Result {
    separated(f, &grant.roles, ", ", name_or_parameter)?;
    f.write_str(link)?;
    separated(f, &grant.users, ", ", name_or_parameter)?;
    if let Some(database) = &grant.database {
        f.write_str(" ON DATABASE ")?;
        name_or_parameter(f, database)?;
    }
    Ok(())
}
