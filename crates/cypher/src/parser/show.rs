//! SHOW and TERMINATE.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    CommandOutput, ConstraintFilter, ConstraintKind, DatabaseFilter, EntityKind, Executable, Expr,
    ExprKind, NameOrParameter, PrivilegeFilter, Projection, ProjectionItem, Show, ShowTarget,
    StatementKind, Terminate, TransactionCommand, TransactionCommands,
};
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    pub(super) fn show(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let target = self.show_target()?;
        let output = self.output()?;
        if let ShowTarget::Transactions { ids } = &target
            && self.goes_on(&output)
        {
            return self.transaction_commands(false, ids.clone(), output);
        }
        Ok(StatementKind::Show(Box::new(Show { target, output })))
    }

    /// True if another command takes the rows that this one yields.
    fn goes_on(&self, output: &CommandOutput) -> bool {
        let next = matches!(self.kind(), T::Keyword(K::Show | K::Terminate));
        let named = output.yields.as_ref().is_some_and(|yields| !yields.star);
        next && named && output.returns.is_none()
    }

    /// The commands behind the first one, which yields `output`.
    fn transaction_commands(
        &mut self,
        terminates: bool,
        ids: Vec<Expr>,
        output: CommandOutput,
    ) -> Parsed<StatementKind> {
        let (mut terminates, mut ids, mut output) = (terminates, ids, output);
        let mut commands = Vec::new();
        loop {
            let CommandOutput { yields, filter, returns } = output;
            let Some(yields) = yields.filter(|yields| !yields.star) else {
                self.note(Expected::Text("YIELD with the names of columns"));
                return self.fail();
            };
            commands.push(TransactionCommand { terminates, ids, yields, filter });
            if let Some(returns) = returns {
                let commands = TransactionCommands { commands, returns };
                return Ok(StatementKind::Transactions(Box::new(commands)));
            }
            terminates = self.eat(K::Terminate);
            if !terminates {
                self.note(Expected::Word("RETURN"));
                self.expect(K::Show)?;
            }
            if !self.eat(K::Transactions) {
                self.expect_word("TRANSACTION")?;
            }
            ids = if terminates { self.list(Self::expression)? } else { self.names_of_rows()? };
            output = self.output()?;
        }
    }

    pub(super) fn terminate(&mut self) -> Parsed<StatementKind> {
        self.bump();
        if !self.eat(K::Transactions) {
            self.expect_word("TRANSACTION")?;
        }
        let ids = self.list(Self::expression)?;
        let output = self.output()?;
        if self.goes_on(&output) {
            return self.transaction_commands(true, ids, output);
        }
        Ok(StatementKind::Terminate(Box::new(Terminate { ids, output })))
    }

    fn show_target(&mut self) -> Parsed<ShowTarget> {
        for word in [
            "INDEXES",
            "CONSTRAINTS",
            "FUNCTIONS",
            "PROCEDURES",
            "TRANSACTIONS",
            "SETTINGS",
            "DATABASES",
            "SERVERS",
            "USERS",
            "ROLES",
            "PRIVILEGES",
        ] {
            self.note(Expected::Word(word));
        }
        if self.eat_unlisted_word(&["PROCEDURES", "PROCEDURE"]) {
            return self.executable().map(ShowTarget::Procedures);
        }
        if self.eat_unlisted_word(&["TRANSACTIONS", "TRANSACTION"]) {
            let ids = self.names_of_rows()?;
            return Ok(ShowTarget::Transactions { ids });
        }
        if self.eat_unlisted_word(&["SETTINGS", "SETTING"]) {
            let names = self.names_of_rows()?;
            return Ok(ShowTarget::Settings { names });
        }
        if self.eat_unlisted_word(&["SERVERS", "SERVER"]) {
            return Ok(ShowTarget::Servers);
        }
        if self.eat_unlisted_word(&["DATABASES"]) {
            return Ok(ShowTarget::Databases(DatabaseFilter::All));
        }
        if self.eat_unlisted_word(&["DATABASE"]) {
            let name = self.database_name()?;
            return Ok(ShowTarget::Databases(DatabaseFilter::Named(name)));
        }
        for (word, filter) in [("DEFAULT", DatabaseFilter::Default), ("HOME", DatabaseFilter::Home)]
        {
            if self.eat_unlisted_word(&[word]) {
                self.expect_word("DATABASE")?;
                return Ok(ShowTarget::Databases(filter));
            }
        }
        if let Some(users) = self.show_users()? {
            return Ok(users);
        }
        if let Some(functions) = self.show_functions()? {
            return Ok(functions);
        }
        let all = self.eat_unlisted(K::All);
        if let Some(kind) = self.index_kind() {
            self.expect_indexes()?;
            return Ok(ShowTarget::Indexes { kind: Some(kind) });
        }
        if self.eat_indexes() {
            return Ok(ShowTarget::Indexes { kind: None });
        }
        let filter = if all { ConstraintFilter::default() } else { self.constraint_filter()? };
        if self.eat_word("CONSTRAINTS") || self.eat_unlisted(K::Constraint) {
            return Ok(ShowTarget::Constraints(filter));
        }
        self.fail()
    }

    /// Users, roles and privileges.
    fn show_users(&mut self) -> Parsed<Option<ShowTarget>> {
        let functions = self.is_word("USER") && self.is_word_at(1, "DEFINED");
        if !functions && self.eat_unlisted_word(&["USERS", "USER"]) {
            let names = self.privileged("the name of a user")?;
            return Ok(Some(match names {
                Some(names) => ShowTarget::Privileges(PrivilegeFilter::Users(names)),
                None => {
                    let auth = self.eat(K::With);
                    if auth {
                        self.expect_word("AUTH")?;
                    }
                    ShowTarget::Users { auth }
                }
            }));
        }
        if self.kind() == T::Keyword(K::All) && self.is_word_at(1, "PRIVILEGES") {
            self.bump();
        }
        if self.is_word("PRIVILEGES") {
            self.privileged("")?;
            return Ok(Some(ShowTarget::Privileges(PrivilegeFilter::All)));
        }
        if self.eat_unlisted_word(&["CURRENT"]) {
            self.expect_word("USER")?;
            return Ok(Some(ShowTarget::CurrentUser));
        }
        let populated = self.eat_unlisted_word(&["POPULATED"]);
        let roles = |at| self.is_word_at(at, "ROLES") || self.is_word_at(at, "ROLE");
        if self.kind() == T::Keyword(K::All) && roles(1) {
            self.bump();
        }
        if !self.eat_unlisted_word(&["ROLES", "ROLE"]) {
            return if populated { self.fail() } else { Ok(None) };
        }
        if !populated && let Some(names) = self.privileged("a role")? {
            if names.is_empty() {
                return self.fail();
            }
            return Ok(Some(ShowTarget::Privileges(PrivilegeFilter::Roles(names))));
        }
        let users = self.eat(K::With);
        if users {
            self.expect_word("USERS")?;
        }
        Ok(Some(ShowTarget::Roles { populated, users }))
    }

    /// `names PRIVILEGES`, if that is what follows; `what` the names are of.
    fn privileged(&mut self, what: &'static str) -> Parsed<Option<Vec<NameOrParameter>>> {
        let names = match self.kind() {
            T::Keyword(K::Yield | K::Where | K::With) => return Ok(None),
            _ if self.is_word("PRIVILEGES") => Vec::new(),
            kind if kind.is_name() || kind == T::Dollar => {
                self.list(|parser| parser.name_or_parameter(what))?
            }
            _ => return Ok(None),
        };
        self.expect_word("PRIVILEGES")?;
        if self.kind() == T::Keyword(K::As) {
            let message = "roles are not made of privileges that commands grant: see GRANT ROLE";
            return self.refuse(self.span(), message);
        }
        Ok(Some(names))
    }

    fn eat_indexes(&mut self) -> bool {
        self.eat_unlisted_word(&["INDEXES"]) || self.eat_unlisted(K::Index)
    }

    fn expect_indexes(&mut self) -> Parsed<()> {
        if self.eat_indexes() { Ok(()) } else { self.fail() }
    }

    fn show_functions(&mut self) -> Parsed<Option<ShowTarget>> {
        let mut built_in = None;
        let mut only_functions = true;
        if self.eat_unlisted_word(&["BUILT"]) {
            self.expect(K::In)?;
            built_in = Some(true);
        } else if self.eat_unlisted_word(&["USER"]) {
            self.expect_word("DEFINED")?;
            built_in = Some(false);
        } else {
            only_functions = false;
            let all = self.kind() == T::Keyword(K::All);
            if all && (self.is_word_at(1, "FUNCTIONS") || self.is_word_at(1, "FUNCTION")) {
                self.bump();
            }
        }
        if self.eat_unlisted_word(&["FUNCTIONS", "FUNCTION"]) {
            let executable = self.executable()?;
            return Ok(Some(ShowTarget::Functions { built_in, executable }));
        }
        if only_functions { self.fail() } else { Ok(None) }
    }

    fn executable(&mut self) -> Parsed<Executable> {
        if !self.eat_word("EXECUTABLE") {
            return Ok(Executable::Any);
        }
        if !self.eat(K::By) {
            return Ok(Executable::ByCurrentUser);
        }
        if self.is_word("CURRENT") && self.is_word_at(1, "USER") {
            self.bump();
            self.bump();
            return Ok(Executable::ByCurrentUser);
        }
        self.name("the name of a user").map(Executable::By)
    }

    /// The expressions that say of which transactions or settings rows are wanted; none: of all.
    fn names_of_rows(&mut self) -> Parsed<Vec<Expr>> {
        let output = matches!(self.kind(), T::Keyword(K::Yield | K::Where));
        if !output && self.begins_expression_at(0) {
            return self.list(Self::expression);
        }
        Ok(Vec::new())
    }

    fn constraint_filter(&mut self) -> Parsed<ConstraintFilter> {
        let entity = if self.eat_unlisted_word(&["NODE"]) {
            Some(EntityKind::Node)
        } else if self.eat_unlisted_word(&["RELATIONSHIP", "REL"]) {
            Some(EntityKind::Relationship)
        } else {
            None
        };
        let property = self.eat_unlisted_word(&["PROPERTY"]);
        let kind = if property && self.eat_unlisted_word(&["TYPE"]) {
            Some(ConstraintKind::PropertyType)
        } else if self.eat_unlisted_word(&["EXISTENCE", "EXIST"]) {
            Some(ConstraintKind::Existence)
        } else if !property && self.eat_unlisted_word(&["UNIQUE", "UNIQUENESS"]) {
            Some(ConstraintKind::Unique)
        } else if !property && self.eat_unlisted_word(&["KEY"]) {
            Some(ConstraintKind::Key)
        } else {
            None
        };
        if kind.is_none() && (property || entity.is_some()) {
            return self.fail();
        }
        Ok(ConstraintFilter { entity, kind })
    }

    /// `YIELD ... WHERE ... RETURN ...`
    fn output(&mut self) -> Parsed<CommandOutput> {
        let yields = if self.eat(K::Yield) { Some(self.yield_columns()?) } else { None };
        let filter = self.filter()?;
        let returns = if yields.is_some() && self.kind() == T::Keyword(K::Return) {
            Some(self.return_clause()?)
        } else {
            None
        };
        Ok(CommandOutput { yields, filter, returns })
    }

    fn yield_columns(&mut self) -> Parsed<Projection> {
        let start = self.span();
        let star = self.eat(T::Star);
        let items = if star {
            Vec::new()
        } else {
            self.list(|parser| {
                let start = parser.span();
                let column = parser.name("the name of a column")?;
                let span = column.span;
                let expr = Expr { kind: ExprKind::Variable(column), span };
                let alias = if parser.eat(K::As) { Some(parser.name("a variable")?) } else { None };
                Ok(ProjectionItem { expr, alias, span: parser.since(start) })
            })?
        };
        self.limits(start, false, star, items)
    }
}
