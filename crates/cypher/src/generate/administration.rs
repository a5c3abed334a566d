//! Random commands for a server.

use super::Generator;
use crate::ast::*;
use crate::secret::Secret;

impl Generator<'_> {
    pub(super) fn administration(&mut self) -> Administration {
        use Administration as A;
        let name = self.name_or_parameter();
        match self.pick(11) {
            0 => {
                let mut settings = self.user_settings(false);
                settings.password.get_or_insert_with(|| Password::Text(Secret::new("long enough")));
                A::CreateUser { name, existing: self.existing(), settings }
            }
            1 => {
                let mut settings = self.user_settings(true);
                if settings.is_empty() {
                    settings.suspended = Some(self.chance());
                }
                A::AlterUser { name, if_exists: self.chance(), settings }
            }
            2 => A::SetOwnPassword { old: self.password(), new: self.password() },
            3 => A::DropUser { name, if_exists: self.chance() },
            4 => A::Grant(self.role_grant()),
            5 => A::Revoke(self.role_grant()),
            6 => A::CreateDatabase { name, existing: self.existing() },
            7 => A::DropDatabase { name, if_exists: self.chance() },
            8 => A::StartDatabase { name },
            9 => A::StopDatabase { name },
            _ => A::RenameUser { name, if_exists: self.chance(), to: self.name_or_parameter() },
        }
    }

    fn existing(&mut self) -> Existing {
        self.one_of(&[Existing::Refuse, Existing::Keep, Existing::Replace])
    }

    fn password(&mut self) -> Password {
        if self.chance() {
            Password::Parameter(self.name())
        } else {
            Password::Text(Secret::new("it's"))
        }
    }

    fn user_settings(&mut self, alters: bool) -> UserSettings {
        let home = |g: &mut Self| match alters && g.chance() {
            true => Home::Remove,
            false => Home::Set(g.name_or_parameter()),
        };
        UserSettings {
            password: self.maybe(Self::password),
            change_required: self.maybe(Self::chance),
            suspended: self.maybe(Self::chance),
            home: self.maybe(home),
        }
    }

    fn role_grant(&mut self) -> RoleGrant {
        RoleGrant {
            roles: self.some(1, Self::name_or_parameter),
            users: self.some(1, Self::name_or_parameter),
            database: self.maybe(Self::name_or_parameter),
        }
    }
}
