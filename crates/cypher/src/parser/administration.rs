//! Commands for a server: users, roles, databases.

use super::Parsed;
use super::cursor::Parser;
use crate::ast::{
    Administration, Existing, Home, Name, NameOrParameter, Password, RoleGrant, StatementKind,
    UserSettings,
};
use crate::diagnostic::{Detail, Diagnostic};
use crate::literal;
use crate::secret::Secret;
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// Whether a command for a server stands `at` tokens behind the next one.
    pub(super) fn is_administration_at(&self, at: usize) -> bool {
        let object = |ahead: usize| {
            let at = at + ahead;
            ["USER", "DATABASE", "ROLE"].iter().any(|word| self.is_word_at(at, word))
                && self.ahead(at + 1) != T::Equal
        };
        match self.ahead(at) {
            T::Keyword(K::Create) => {
                let replaces = self.is_word_at(at + 1, "OR") && self.is_word_at(at + 2, "REPLACE");
                object(if replaces { 3 } else { 1 })
            }
            T::Keyword(K::Drop) => object(1),
            T::Word => ["ALTER", "GRANT", "REVOKE", "DENY", "RENAME", "START", "STOP"]
                .iter()
                .any(|word| self.is_word_at(at, word) && self.ahead(at + 1).is_name()),
            _ => false,
        }
    }

    pub(super) fn administration(&mut self) -> Parsed<StatementKind> {
        let command = if self.eat(K::Create) {
            self.create_object()?
        } else if self.eat(K::Drop) {
            self.drop_object()?
        } else if self.eat_word("ALTER") {
            self.alter()?
        } else if self.eat_word("GRANT") {
            Administration::Grant(self.role_grant("TO")?)
        } else if self.eat_word("REVOKE") {
            Administration::Revoke(self.role_grant("FROM")?)
        } else if self.eat_word("RENAME") {
            self.rename()?
        } else if self.is_word("DENY") {
            let message = "nothing is denied: roles are granted, everywhere or on one database";
            return self.refuse(self.span(), message);
        } else {
            let starts = self.eat_word("START");
            if !starts {
                self.expect_word("STOP")?;
            }
            self.expect_word("DATABASE")?;
            let name = self.database_name()?;
            self.wait()?;
            match starts {
                true => Administration::StartDatabase { name },
                false => Administration::StopDatabase { name },
            }
        };
        Ok(StatementKind::Administration(Box::new(command)))
    }

    fn create_object(&mut self) -> Parsed<Administration> {
        let start = self.span();
        let replaces = self.eat(K::Or);
        if replaces {
            self.expect_word("REPLACE")?;
        }
        self.refuse_roles()?;
        let user = self.eat_word("USER");
        if !user {
            self.expect_word("DATABASE")?;
        }
        let name = if user { self.user_name()? } else { self.database_name()? };
        let keeps = self.eat(K::If);
        if keeps {
            self.expect(K::Not)?;
            self.expect(K::Exists)?;
        }
        let existing = match (replaces, keeps) {
            (true, true) => {
                let message = "OR REPLACE and IF NOT EXISTS exclude each other";
                return self.refuse(self.since(start), message);
            }
            (true, false) => Existing::Replace,
            (false, true) => Existing::Keep,
            (false, false) => Existing::Refuse,
        };
        if !user {
            self.wait()?;
            return Ok(Administration::CreateDatabase { name, existing });
        }
        let settings = self.user_settings(true)?;
        if settings.password.is_none() {
            return self.refuse(self.since(start), "SET PASSWORD is missing: a user needs one");
        }
        Ok(Administration::CreateUser { name, existing, settings })
    }

    fn drop_object(&mut self) -> Parsed<Administration> {
        self.refuse_roles()?;
        let user = self.eat_word("USER");
        if !user {
            self.expect_word("DATABASE")?;
        }
        let name = if user { self.user_name()? } else { self.database_name()? };
        let if_exists = self.if_exists()?;
        if user {
            return Ok(Administration::DropUser { name, if_exists });
        }
        if self.eat_unlisted_word(&["DESTROY"]) {
            self.expect_word("DATA")?;
        }
        self.wait()?;
        Ok(Administration::DropDatabase { name, if_exists })
    }

    fn alter(&mut self) -> Parsed<Administration> {
        if self.eat_word("CURRENT") {
            self.expect_word("USER")?;
            self.expect(K::Set)?;
            self.expect_word("PASSWORD")?;
            self.expect(K::From)?;
            let old = self.password()?;
            self.expect_word("TO")?;
            return Ok(Administration::SetOwnPassword { old, new: self.password()? });
        }
        self.expect_word("USER")?;
        let name = self.user_name()?;
        let if_exists = self.if_exists()?;
        let settings = self.user_settings(false)?;
        if settings.is_empty() {
            return self.fail();
        }
        Ok(Administration::AlterUser { name, if_exists, settings })
    }

    fn rename(&mut self) -> Parsed<Administration> {
        self.refuse_roles()?;
        self.expect_word("USER")?;
        let name = self.user_name()?;
        let if_exists = self.if_exists()?;
        self.expect_word("TO")?;
        Ok(Administration::RenameUser { name, if_exists, to: self.user_name()? })
    }

    /// `ROLE roles TO users [ON DATABASE database]`; `link` is the word before the users.
    fn role_grant(&mut self, link: &'static str) -> Parsed<RoleGrant> {
        if !self.eat_any(&["ROLE", "ROLES"]) {
            let message = "only roles are granted: reader, writer and admin";
            let help = "write GRANT ROLE reader TO name ON DATABASE database";
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.span(), message);
            return Err(Box::new(error.with_help(help)));
        }
        let roles = self.list(|parser| parser.name_or_parameter("a role"))?;
        self.expect_word(link)?;
        let users = self.list(Self::user_name)?;
        let database = match self.eat(K::On) {
            true => {
                self.expect_word("DATABASE")?;
                Some(self.database_name()?)
            }
            false => None,
        };
        Ok(RoleGrant { roles, users, database })
    }

    /// Any number of `SET ...` and `REMOVE ...`, each thing once.
    fn user_settings(&mut self, creates: bool) -> Parsed<UserSettings> {
        let mut settings = UserSettings::default();
        loop {
            let start = self.span();
            let was_set = if self.eat(K::Set) {
                self.user_setting(&mut settings)?
            } else if !creates && self.eat(K::Remove) {
                self.expect_word("HOME")?;
                self.expect_word("DATABASE")?;
                settings.home.replace(Home::Remove).is_some()
            } else {
                return Ok(settings);
            };
            if was_set {
                return self.refuse(self.since(start), "this is set twice");
            }
        }
    }

    /// What stands behind `SET`. Whether it was set before.
    fn user_setting(&mut self, settings: &mut UserSettings) -> Parsed<bool> {
        let plaintext = self.eat_unlisted_word(&["PLAINTEXT"]);
        if self.eat_word("PASSWORD") {
            let mut was_set = false;
            if plaintext || !self.is_word("CHANGE") {
                was_set |= settings.password.replace(self.password()?).is_some();
                if !self.is_word("CHANGE") {
                    return Ok(was_set);
                }
            }
            self.expect_word("CHANGE")?;
            let required = !self.eat(K::Not);
            self.expect_word("REQUIRED")?;
            return Ok(was_set | settings.change_required.replace(required).is_some());
        }
        if self.eat_word("STATUS") {
            let suspended = self.eat_word("SUSPENDED");
            if !suspended {
                self.expect_word("ACTIVE")?;
            }
            return Ok(settings.suspended.replace(suspended).is_some());
        }
        self.expect_word("HOME")?;
        self.expect_word("DATABASE")?;
        let home = Home::Set(self.database_name()?);
        Ok(settings.home.replace(home).is_some())
    }

    /// A string or a parameter.
    fn password(&mut self) -> Parsed<Password> {
        match self.kind() {
            T::Dollar => self.parameter().map(Password::Parameter),
            T::String => {
                let span = self.bump().span;
                let text = literal::string(span.text(self.source), span)?;
                Ok(Password::Text(Secret::new(text)))
            }
            // What stands here is not repeated: it may be the password, without quotes.
            _ => self.refuse(self.span(), "a password is a string or a parameter"),
        }
    }

    fn user_name(&mut self) -> Parsed<NameOrParameter> {
        self.name_or_parameter("the name of a user")
    }

    /// A name, perhaps with dots in it.
    pub(super) fn database_name(&mut self) -> Parsed<NameOrParameter> {
        let what = "the name of a database";
        let first = self.name_or_parameter(what)?;
        let NameOrParameter::Name(first) = first else { return Ok(first) };
        let mut text = String::from(first.text);
        while self.kind() == T::Dot {
            self.bump();
            text.push('.');
            text.push_str(&self.name(what)?.text);
        }
        Ok(NameOrParameter::Name(Name { text: text.into(), span: self.since(first.span) }))
    }

    fn if_exists(&mut self) -> Parsed<bool> {
        let if_exists = self.eat(K::If);
        if if_exists {
            self.expect(K::Exists)?;
        }
        Ok(if_exists)
    }

    /// `WAIT [n SECONDS]`, `NOWAIT`: a command has done its work when it returns, in any case.
    fn wait(&mut self) -> Parsed<()> {
        if self.eat_unlisted_word(&["NOWAIT"]) || !self.eat_unlisted_word(&["WAIT"]) {
            return Ok(());
        }
        if self.eat(T::Integer) && !self.eat_unlisted_word(&["SEC", "SECOND"]) {
            self.expect_word("SECONDS")?;
        }
        Ok(())
    }

    fn refuse_roles(&self) -> Parsed<()> {
        if !self.is_word("ROLE") {
            return Ok(());
        }
        self.refuse(self.span(), "there are the roles reader, writer and admin, and no others")
    }
}
