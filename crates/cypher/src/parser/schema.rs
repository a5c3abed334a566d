//! Commands that create and drop indexes and constraints.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    CreateConstraint, CreateIndex, DropCommand, EntityKind, Expr, IndexKind, IndexTarget, Name,
    NameOrParameter, Requirement, StatementKind,
};
use crate::diagnostic::{Detail, Diagnostic};
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

/// `(n:A|B)` or `()-[r:A|B]-()` of a command.
struct Entity {
    kind: EntityKind,
    variable: Name,
    labels: Vec<Name>,
    span: Span,
}

impl Parser<'_> {
    /// Whether the `CREATE` that is `ahead` behind the next token is no clause.
    pub(super) fn is_schema_command_at(&self, ahead: usize) -> bool {
        let kind = IndexKind::ALL.iter().any(|kind| self.is_word_at(ahead + 1, kind.word()));
        let word = ahead + if kind { 2 } else { 1 };
        matches!(self.ahead(word), T::Keyword(K::Index | K::Constraint))
            && self.ahead(word + 1) != T::Equal
    }

    pub(super) fn create_command(&mut self) -> Parsed<StatementKind> {
        self.bump();
        if self.eat(K::Constraint) {
            let constraint = self.create_constraint()?;
            return Ok(StatementKind::CreateConstraint(Box::new(constraint)));
        }
        let index = self.create_index()?;
        Ok(StatementKind::CreateIndex(Box::new(index)))
    }

    /// `RANGE`, `TEXT`, ..., if it is there.
    pub(super) fn index_kind(&mut self) -> Option<IndexKind> {
        IndexKind::ALL.into_iter().find(|kind| self.eat_unlisted_word(&[kind.word()]))
    }

    fn create_index(&mut self) -> Parsed<CreateIndex> {
        let kind = self.index_kind().unwrap_or(IndexKind::Range);
        self.expect(K::Index)?;
        let (name, if_not_exists) =
            self.name_and_condition("CREATE INDEX name FOR (n:Label) ON (n.key)")?;
        self.expect(K::For)?;
        let entity = self.entity()?;
        self.expect(K::On)?;
        let mut variable = None;
        let target = match kind {
            IndexKind::Lookup => self.lookup_target(&entity)?,
            IndexKind::Fulltext => {
                self.expect(K::Each)?;
                self.expect(T::LeftBracket)?;
                let keys = self.list(|parser| parser.key_of(&entity.variable))?;
                self.expect(T::RightBracket)?;
                self.properties_target(entity, keys)?
            }
            IndexKind::Vector => {
                let keys = self.keys_of(&entity.variable)?;
                variable = Some(entity.variable.clone());
                self.properties_target(entity, keys)?
            }
            _ => {
                let keys = self.keys_of(&entity.variable)?;
                if let [_, second, ..] = entity.labels.as_slice() {
                    return self.refuse(second.span, "such an index has one label or type");
                }
                self.properties_target(entity, keys)?
            }
        };
        let mut filters = Vec::new();
        if let Some(variable) = variable
            && self.eat(K::With)
        {
            self.expect(T::LeftBracket)?;
            filters = self.list(|parser| parser.key_of(&variable))?;
            self.expect(T::RightBracket)?;
        }
        let options = self.options()?;
        Ok(CreateIndex { kind, name, if_not_exists, target, filters, options })
    }

    fn properties_target(&self, entity: Entity, keys: Vec<Name>) -> Parsed<IndexTarget> {
        if entity.labels.is_empty() {
            return self.refuse(entity.span, "a label or type is missing here");
        }
        Ok(IndexTarget::Properties { entity: entity.kind, labels: entity.labels, keys })
    }

    /// `EACH labels(n)`, `EACH type(r)`
    fn lookup_target(&mut self, entity: &Entity) -> Parsed<IndexTarget> {
        self.eat(K::Each);
        self.expect_word(match entity.kind {
            EntityKind::Node => "LABELS",
            EntityKind::Relationship => "TYPE",
        })?;
        self.expect(T::LeftParen)?;
        self.variable_of(&entity.variable)?;
        self.expect(T::RightParen)?;
        if let Some(label) = entity.labels.first() {
            return self.refuse(label.span, "a lookup index is of all labels or types");
        }
        Ok(IndexTarget::Lookup { entity: entity.kind })
    }

    fn create_constraint(&mut self) -> Parsed<CreateConstraint> {
        let (name, if_not_exists) = self
            .name_and_condition("CREATE CONSTRAINT name FOR (n:Label) REQUIRE n.key IS UNIQUE")?;
        self.expect(K::For)?;
        let mut entity = self.entity()?;
        self.expect(K::Require)?;
        let keys = self.keys_of(&entity.variable)?;
        let requirement = self.requirement(entity.kind)?;
        let options = self.options()?;
        if let Some(second) = entity.labels.get(1) {
            return self.refuse(second.span, "a constraint has one label or type");
        }
        let Some(label) = entity.labels.pop() else {
            return self.refuse(entity.span, "a label or type is missing here");
        };
        let kind = entity.kind;
        Ok(CreateConstraint {
            name,
            if_not_exists,
            entity: kind,
            label,
            keys,
            requirement,
            options,
        })
    }

    fn requirement(&mut self, entity: EntityKind) -> Parsed<Requirement> {
        if self.eat(T::ColonColon) {
            return self.type_expr().map(Requirement::Typed);
        }
        self.expect(K::Is)?;
        if self.eat(T::ColonColon) || self.eat(K::Typed) {
            return self.type_expr().map(Requirement::Typed);
        }
        if self.eat(K::Not) {
            self.expect(K::Null)?;
            return Ok(Requirement::NotNull);
        }
        let start = self.span();
        let named = if self.eat_word("NODE") {
            EntityKind::Node
        } else if self.eat_any(&["RELATIONSHIP", "REL"]) {
            EntityKind::Relationship
        } else {
            entity
        };
        if named != entity {
            return self.refuse(start, "this is not what the constraint is for");
        }
        if self.eat_any(&["UNIQUE"]) {
            return Ok(Requirement::Unique);
        }
        self.expect_word("KEY")?;
        Ok(Requirement::Key)
    }

    pub(super) fn drop_command(&mut self) -> Parsed<StatementKind> {
        self.bump();
        let constraint = self.eat(K::Constraint);
        if !constraint {
            self.expect(K::Index)?;
        }
        let name = self.name_or_parameter("a name")?;
        let if_exists = self.eat(K::If);
        if if_exists {
            self.expect(K::Exists)?;
        }
        Ok(StatementKind::Drop(DropCommand { constraint, name, if_exists }))
    }

    pub(super) fn name_or_parameter(&mut self, what: &'static str) -> Parsed<NameOrParameter> {
        match self.kind() {
            T::Dollar => self.parameter().map(NameOrParameter::Parameter),
            _ => self.name(what).map(NameOrParameter::Name),
        }
    }

    /// `[name] [IF NOT EXISTS]`
    fn name_and_condition(
        &mut self,
        form: &'static str,
    ) -> Parsed<(Option<NameOrParameter>, bool)> {
        let next = self.ahead(1);
        let absent = match self.kind() {
            T::Keyword(K::If) => next == T::Keyword(K::Not),
            T::Keyword(K::For) => next == T::LeftParen,
            T::Keyword(K::On) => {
                let message = "this form of the command is of the past";
                let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.span(), message);
                return Err(Box::new(error.with_help(format!("write {form}"))));
            }
            _ => false,
        };
        let name =
            if absent { None } else { Some(self.name_or_parameter("a name, IF NOT EXISTS, FOR")?) };
        let if_not_exists = self.eat(K::If);
        if if_not_exists {
            self.expect(K::Not)?;
            self.expect(K::Exists)?;
        }
        Ok((name, if_not_exists))
    }

    /// `(n:A|B)`, `()-[r:A|B]-()`, arrows as one likes.
    fn entity(&mut self) -> Parsed<Entity> {
        let start = self.expect(T::LeftParen)?;
        let kind =
            if self.eat(T::RightParen) { EntityKind::Relationship } else { EntityKind::Node };
        if kind == EntityKind::Relationship {
            self.eat(T::Less);
            self.expect(T::Minus)?;
            self.expect(T::LeftBracket)?;
        }
        let variable = self.name("a variable")?;
        let mut labels = Vec::new();
        if self.eat(T::Colon) {
            labels.push(self.name("a label or type")?);
            while self.eat(T::Bar) {
                labels.push(self.name("a label or type")?);
            }
        }
        if kind == EntityKind::Relationship {
            self.expect(T::RightBracket)?;
            self.expect(T::Minus)?;
            self.eat(T::Greater);
            self.expect(T::LeftParen)?;
        }
        self.expect(T::RightParen)?;
        Ok(Entity { kind, variable, labels, span: self.since(start) })
    }

    /// `n.a`, `(n.a, n.b)`
    fn keys_of(&mut self, variable: &Name) -> Parsed<Vec<Name>> {
        if !self.eat(T::LeftParen) {
            return Ok(vec![self.key_of(variable)?]);
        }
        let keys = self.list(|parser| parser.key_of(variable))?;
        self.expect(T::RightParen)?;
        Ok(keys)
    }

    fn key_of(&mut self, variable: &Name) -> Parsed<Name> {
        self.variable_of(variable)?;
        self.expect(T::Dot)?;
        self.name("a property key")
    }

    /// The variable of the command, which has only one.
    fn variable_of(&mut self, variable: &Name) -> Parsed<()> {
        let found = self.name("a variable")?;
        if found.text == variable.text {
            return Ok(());
        }
        let message = format!("the variable {} is not defined", found.text);
        let error = Diagnostic::syntax(Detail::UndefinedVariable, found.span, message);
        Err(Box::new(error.with_help(format!("did you mean {}?", variable.text))))
    }

    fn options(&mut self) -> Parsed<Option<Expr>> {
        if !self.eat(K::Options) {
            return Ok(None);
        }
        if !matches!(self.kind(), T::LeftBrace | T::Dollar) {
            self.note(Expected::Text("a map"));
            return self.fail();
        }
        self.expression().map(Some)
    }
}
